"""`deniable release rehearse`: releases of public records at several epsilons, without the confidential source."""

import json
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from prefect.settings import PREFECT_API_URL
from ruamel.yaml import YAML

from deniable.foundation.domain import Attribute, Domain
from deniable.foundation.errors import InvalidInput
from deniable.foundation.rules import Impossible
from deniable.record.summary import summary_lines
from flows.cli.planning import show_plan
from flows.rehearsing.rehearsal import at_epsilon, most_cautious
from flows.rehearsing.stand_ins import records_of_schema, stand_in_for
from flows.release import release
from reports.pages.rehearsal import render_rehearsal, sentence_of
from schemas.provenance import RECORD
from schemas.rehearsal import Grade, Rehearsal, Rung, StandIn
from schemas.spec.loading import read_yaml
from schemas.spec.release_spec import load_spec
from stores.keys.signed_record import read_signed
from stores.ledger.accounts import admit
from stores.ledger.charging import policy_of
from stores.ledger.state_ledger import state_ledger
from stores.record.folder_verification import verified_release
from stores.record.record_reader import keys_to_trust, trusted_where
from stores.record.rehearsals import keep_rehearsal, last_rehearsal
from tests.commands import carry_out
from tests.flows.canaries import files_with_canaries, people_with_canaries
from tests.small_release import NAMES, made_up_people, write_small_release

SHORT: dict[str, Any] = {
    "name": "short",
    "dataset": "people.py",
    "source": "people.csv",
    "epsilon": 1,
    "synthesis": {"records": 300},
    "evaluation": {"classifiers": ["tree"]},
}


def write_spec(folder: Path, people: list[list[str]], **kept: Any) -> Path:
    """Write a short spec, its schema and its table to a folder."""
    spec = write_small_release(folder, people=people, **kept).with_name("short.yaml")
    with spec.open("w", encoding="utf-8") as file:
        YAML(typ="safe", pure=True).dump(SHORT, file)
    return spec


@pytest.fixture
def served(prefect: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let commands in this process use its server."""
    monkeypatch.setenv("PREFECT_API_URL", str(PREFECT_API_URL.value()))


def rehearsal(*grades: Grade, ended: str = "2026-11-28T12:00:00.000000Z", dataset: str = "people") -> Rehearsal:
    """A rehearsal with a grade for shares at each of several epsilons."""
    rungs = tuple(
        Rung(
            epsilon=str(number + 1),
            total=number + 1,
            uses={"shares": grade, "means": "good"},
            width=0.1 / (number + 1),
            group_size=None,
            passed=None,
            seconds=1,
            memory=100,
        )
        for number, grade in enumerate(grades)
    )
    return Rehearsal(
        dataset=dataset,
        title="People",
        learner="marginals",
        guarantee="seedless",
        records=300,
        ended=ended,
        stand_in=StandIn(kind="schema", name="", sha256="0" * 64, rows=500),
        repeats=1,
        own="1",
        rungs=rungs,
    )


@pytest.mark.usefixtures("served")
def test_it_needs_no_source_and_charges_and_publishes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec, state = write_spec(tmp_path / "spec", made_up_people(700)), tmp_path / "state"
    public = tmp_path / "elsewhere.csv"
    (tmp_path / "spec/people.csv").rename(public)
    asked: list[str | Path] = [spec, "--on", public, "--epsilon", "0.01", "--repeats", "1"]
    assert carry_out("release rehearse", asked, state) == 0
    said = capsys.readouterr().out
    assert "on the public table elsewhere.csv, 700 records" in said
    found = last_rehearsal(state, "people")
    assert found is not None
    assert [rung.epsilon for rung in found.rungs] == ["0.01", "1"]
    noisy, clear = found.rungs
    # Laws of the noise: a hundredth of epsilon has intervals that are nearly a hundred times as wide, up to all.
    assert (noisy.width or 0) > 5 * (clear.width or 1)
    assert (noisy.uses["shares"], noisy.uses["tables"]) != (clear.uses["shares"], clear.uses["tables"])
    assert noisy.uses["shares"] != "good"
    assert noisy.total == pytest.approx(0.01, rel=0.01)
    # Neither a ledger entry, nor a release, nor what was drawn is left.
    assert not state_ledger(state).charges("people")
    assert not list((state / "releases").glob("*"))
    assert not list((state / "scratch").glob("*"))


def test_a_stand_in_is_not_the_source(tmp_path: Path) -> None:
    spec = load_spec(write_spec(tmp_path, made_up_people(50)))
    (tmp_path / "link.csv").symlink_to(tmp_path / "people.csv")
    for name in ("people.csv", "link.csv"):
        with pytest.raises(InvalidInput, match="is the confidential source"):
            stand_in_for(spec, tmp_path / "state", table=tmp_path / name)
    with pytest.raises(InvalidInput, match="must exist"):
        stand_in_for(spec, tmp_path / "state", table=tmp_path / "nowhere.csv")


def test_a_copy_of_a_source_that_has_an_account_is_no_stand_in(tmp_path: Path) -> None:
    state = tmp_path / "state"
    confidential = load_spec(write_small_release(tmp_path / "spec"))
    assert confidential.budget is not None
    admit(state, confidential, state_ledger(state), policy_of(confidential, confidential.budget))
    copied, other = tmp_path / "copy.csv", tmp_path / "other.csv"
    copied.write_bytes((tmp_path / "spec" / "people.csv").read_bytes())
    other.write_bytes(copied.read_bytes() + b"20,f,none,no\n")
    with pytest.raises(InvalidInput, match="has those of dataset people, which has an account"):
        stand_in_for(confidential, state, table=copied)
    assert stand_in_for(confidential, state, table=other).what.kind == "table"


def test_records_of_a_schema_have_all_its_values(tmp_path: Path) -> None:
    spec = load_spec(write_spec(tmp_path, made_up_people(50)))
    standing = stand_in_for(spec, tmp_path / "state", rows=4000)
    assert standing.what.kind == "schema"
    assert standing.codes.shape == (4000, 4)
    for column, size in zip(standing.codes.T, spec.domain.cardinalities, strict=True):
        shares = np.bincount(column, minlength=size) / 4000
        assert np.abs(shares - 1 / size).max() < 0.05


def test_records_of_a_schema_satisfy_its_rules() -> None:
    sizes = (3, 4)
    attributes = (Attribute(f"a{i}", tuple(range(size)), "nominal", (0,) * size) for i, size in enumerate(sizes))
    rule = Impossible("codebook", (("a0", (0, 1)), ("a1", (2,))))
    domain = Domain(tuple(attributes), rules=(rule,))
    codes = records_of_schema(domain, 3000).codes
    assert len(codes) == 3000
    assert rule.holds(domain, codes).all()
    found = {tuple(row) for row in codes.tolist()}
    assert found == set(product(range(3), range(4))) - {(0, 2), (1, 2)}


def test_the_grade_that_permits_least_counts() -> None:
    assert most_cautious(["good", "do not", "with caution"]) == "do not"
    assert most_cautious(["good", "with caution"]) == "with caution"
    assert most_cautious(["not decided", "good"]) == "not decided"
    assert most_cautious(["good", "good"]) == "good"


def test_only_what_is_drawn_depends_on_the_rung(tmp_path: Path) -> None:
    path = write_spec(tmp_path, made_up_people(50))
    half, own = (at_epsilon(read_yaml(path), path, Fraction(each)) for each in ("0.5", "1"))
    assert half.learner != own.learner
    assert half.synthesis == own.synthesis
    assert own.learner == load_spec(path).learner
    long = write_small_release(tmp_path / "long")
    with pytest.raises(InvalidInput, match="must be left out"):
        at_epsilon(read_yaml(long), long, Fraction(1))


def test_the_last_one_of_the_dataset_that_ended_before_counts(tmp_path: Path) -> None:
    first, second = (rehearsal("good", ended=f"2026-11-2{day}T12:00:00.000000Z") for day in (7, 8))
    other = rehearsal("good", ended="2026-11-29T12:00:00.000000Z", dataset="others")
    for each in (second, first, other):
        assert keep_rehearsal(tmp_path, each, "page").read_text(encoding="utf-8") == "page"
    (tmp_path / "rehearsals/torn.json").write_text("{", encoding="utf-8")
    assert last_rehearsal(tmp_path, "people") == second
    assert last_rehearsal(tmp_path, "people", "2026-11-28T00:00:00.000000Z") == first
    assert last_rehearsal(tmp_path, "people", "2026-11-27T00:00:00.000000Z") is None
    assert first.digest != second.digest
    assert Rehearsal.model_validate_json(first.model_dump_json()).digest == first.digest


def test_a_plan_names_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec, state = load_spec(write_spec(tmp_path / "spec", made_up_people(50))), tmp_path / "state"
    show_plan(spec, state)
    assert "rehearsed" not in capsys.readouterr().out
    keep_rehearsal(state, rehearsal("good", "good"), "page")
    show_plan(spec, state)
    said = " ".join(capsys.readouterr().out.split())
    assert "rehearsed 2026-11-28 on records drawn from the schema, 500 records, at epsilon 1, 2" in said


def test_the_page_states_the_least_epsilon_and_its_limits() -> None:
    shown = rehearsal("do not", "not decided", "good", "good")
    assert sentence_of(shown).startswith("At epsilon 3, 2 of 2 uses were good (shares of one attribute, means)")
    page = render_rehearsal(shown)
    assert page.count("not to be used") == 1
    assert "neither associations nor rare values" in page
    assert shown.digest in page
    useless = tuple(rung.model_copy(update={"uses": {"shares": "do not"}}) for rung in shown.rungs)
    assert sentence_of(shown.model_copy(update={"rungs": useless})).startswith("No use was good")


@pytest.mark.nightly
@pytest.mark.usefixtures("served")
def test_the_record_of_the_release_that_follows_names_it(tmp_path: Path) -> None:
    spec, state = write_spec(tmp_path / "spec", people_with_canaries(), names=[*NAMES, "name"]), tmp_path / "state"
    asked: list[str | Path] = [spec, "--schema", "--rows", "500", "--epsilon", "1", "--repeats", "1"]
    assert carry_out("release rehearse", asked, state) == 0
    assert files_with_canaries(state) == {}
    found = last_rehearsal(state, "people")
    assert found is not None
    first = release(spec, state).workspace.release_folder
    record = read_signed(first / RECORD).record
    assert record.rehearsal is not None
    assert record.rehearsal.digest == found.digest
    assert (record.rehearsal.stand_in, record.rehearsal.epsilons) == ("schema", ("1",))
    assert verified_release(first, keys_to_trust(state), trusted_where(state)).holds
    predicate = record.to_predicate()
    assert json.loads(json.dumps(predicate))["rehearsal"]["sha256"] == found.stand_in.sha256
    assert any("records drawn from the schema, at epsilon 1" in line for line in summary_lines(predicate))
    # The next rehearsal is on that release.
    standing = stand_in_for(load_spec(spec), state)
    assert (standing.what.kind, standing.what.name, len(standing.codes)) == ("release", first.name, 300)
