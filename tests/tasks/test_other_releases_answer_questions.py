"""`deniable data infer` on releases of every kind that publishes no noisy tables, and on a survey."""

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deniable.cli.dispatch import main
from deniable.cli.files import HOLDS, UNREADABLE
from deniable.data_user import answer_to, read_release
from deniable.foundation.errors import Refused
from deniable.inference.answers import Answer
from deniable.inference.others.asking import OtherRelease
from stores.tables.tables import read_codes
from tests.mechanisms.table import CHARGED, LEARNERS, SAMPLERS
from tests.published import InMemory, Published
from tests.tasks.test_survey import publish
from tests.whole_release import Drawn, drawn_release

ASKED = {
    "question": "share",
    "what": "",
    "given": "",
    "level": 0.95,
    "estimand": "finite",
    "grade": "bounded",
    "deff": 1.0,
    "sampling": None,
}


def asked(**changes: Any) -> argparse.Namespace:
    return argparse.Namespace(**{**ASKED, **changes})


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Drawn]:
    """A release of each kind."""
    rows = {
        "sets": {
            **LEARNERS["multinomial_sets"].asked,
            "learner": {"kind": "multinomial_sets", "epsilon": 40, "sets": 2},
        },
        "flows": {**LEARNERS["origin_destination"].asked},
        "probabilistic flows": {
            **LEARNERS["origin_destination"].asked,
            "budget": {"epsilon": 1000, "delta": 0.1, "dataset": "people-replaced"},
            "synthesis": {**LEARNERS["origin_destination"].asked["synthesis"], "delta": 1e-4},
            "learner": {
                "kind": "origin_destination",
                "destination": "work",
                "origin": "home",
                "privacy": "pdp",
                "epsilon": 4,
                "delta": 1e-5,
                "totals": {"mill": 240, "port": 100, "school": 45, "farm": 15},
            },
        },
        "pegs": {**LEARNERS["pegs"].asked},
        "prefixes": {**LEARNERS["marginals"].asked, **SAMPLERS["histogram_seeds"]},
        "tested": {**LEARNERS["marginals"].asked, **SAMPLERS["tested_seeds"]},
    }
    assert LEARNERS["pegs"].asked["synthesis"]["guarantee"] == CHARGED
    made = {}
    for name, row in rows.items():
        drawn = drawn_release(tmp_path_factory.mktemp(name), f"people-{name}", bytes(range(32)), **row)
        drawn.publish()
        made[name] = drawn
    return made


def counted(drawn: Drawn, part: str = "parameters") -> np.ndarray:
    [path] = [path for path in drawn.workspace.vault.rglob("*.parquet") if path.stem == part]
    return np.concatenate(list(read_codes(path, drawn.workspace.spec.domain)))


def read(drawn: Drawn, people: int | None = None) -> OtherRelease:
    found = read_release(InMemory(Published.of(drawn).files), people=people)
    assert found.name.startswith("people-")
    assert isinstance(found.inference, OtherRelease)
    return found.inference


def interval_of(found: OtherRelease, **changes: Any) -> tuple[float, float]:
    answer = answer_to(found, asked(**changes))
    assert isinstance(answer, Answer)
    assert answer.grade == "measured"
    assert answer.interval is not None
    return answer.interval.low, answer.interval.high


def test_sets_say_shares_of_the_rows_that_were_counted(folders: dict[str, Drawn]) -> None:
    codes = counted(folders["sets"])
    with pytest.raises(Refused, match="--people N"):
        answer_to(read(folders["sets"]), asked(what="sex=f"))
    low, high = interval_of(read(folders["sets"], 3_000), what="sex=f")
    assert 0 < low <= np.mean(codes[:, 1] == 0) <= high < 1
    wide = interval_of(read(folders["sets"], 3_000), what="sex=f", estimand="population", sampling="simple random")
    assert 0 < wide[0] < wide[1] < 1


def test_flows_say_shares_of_origins_of_a_destination(folders: dict[str, Drawn]) -> None:
    codes = counted(folders["flows"])
    found = read(folders["flows"])
    own = codes[codes[:, 0] == 0, 1]
    low, high = interval_of(found, what="home=h00|h01|h02", given="work=mill")
    assert 0 < low <= np.mean(own <= 2) <= high <= 1
    assert high - low < 0.3
    for question in ("mean", "table", "quantile"):
        with pytest.raises(Refused, match="commuting flows answers shares of origins"):
            answer_to(found, asked(question=question))


def test_flows_of_public_totals_say_how_many_come_from_where(
    folders: dict[str, Drawn], capsys: pytest.CaptureFixture[str]
) -> None:
    drawn = folders["probabilistic flows"]
    codes = counted(drawn)
    found = read(drawn)
    low, high = interval_of(found, question="count", what="work=mill|port & home=h00|h01|h02")
    assert 150 < low < high <= 340
    assert high - low < 150
    low, high = interval_of(found, what="home=h00|h01|h02", given="work=mill")
    assert 0 <= low <= np.mean(codes[codes[:, 0] == 0, 1] <= 2) <= high <= 1
    folder = str(drawn.workspace.release_folder)
    assert main(["data", "infer", folder, "count", "work=mill|port & home=h00|h01|h02"]) == HOLDS
    told = capsys.readouterr().out
    assert "the confidential table (finite)" in told
    assert "the sum over destinations is taken as normal" in told


def test_prefixes_say_counts_of_their_attributes(folders: dict[str, Drawn]) -> None:
    codes = counted(folders["prefixes"], "seeds")
    found = read(folders["prefixes"])
    names = Published.of(folders["prefixes"]).document("seeds.json")["attributes"]
    domain = folders["prefixes"].workspace.spec.domain
    i = domain.index(names[0])
    value = int(np.bincount(codes[:, i]).argmax())
    low, high = interval_of(found, question="count", what=f"{names[0]}={domain.attributes[i].values[value]}")
    assert low <= (codes[:, i] == value).sum() <= high


@pytest.mark.parametrize(("kind", "said"), [("pegs", "law that depends on all"), ("tested", "published no counts")])
def test_what_cannot_be_inferred_is_said_in_a_sentence(
    folders: dict[str, Drawn], kind: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = str(folders[kind].workspace.release_folder)
    assert main(["data", "infer", folder, "count", "sex=f"]) == UNREADABLE
    told = capsys.readouterr().err
    assert said in told
    assert "nothing can be inferred" in told
    assert "Traceback" not in told


def test_the_command_answers_for_a_survey(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = publish(tmp_path / "state")
    question = read_release_question(folder)
    assert main(["data", "infer", str(folder), "share", question]) == HOLDS
    told = capsys.readouterr().out
    assert "law of the responses" in told
    assert main(["data", "infer", str(folder), "mean", question.partition("=")[0]]) == UNREADABLE
    assert "shares of the answers to one question" in capsys.readouterr().err


def read_release_question(folder: Path) -> str:
    from tests.unit.test_local import DOCUMENT  # noqa: PLC0415 - what the survey asks

    first = DOCUMENT["questions"][0]
    assert (folder / "survey.json").is_file()
    return f"{first['name']}={first['values'][0]}"
