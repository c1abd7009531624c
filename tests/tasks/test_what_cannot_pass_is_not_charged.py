"""Seeds of which the learnt model predicts that none would pass are refused before they are charged."""

import argparse
from pathlib import Path
from typing import Any

import pytest

from deniable.foundation.errors import Refused
from flows.cli.release.design import COMMAND
from stores.ledger.state_ledger import state_ledger
from tests.published import Published, another, faults, leaves, with_change
from tests.small_release import QUICK, SPEC
from tests.whole_release import Drawn, drawn_release

TESTED = {key: value for key, value in SPEC["synthesis"].items() if key != "omega"}
HOPELESS: dict[str, dict[str, Any]] = {
    "tested_seeds": {**QUICK, "synthesis": TESTED | {"omega": {1: 1}, "k": 900, "eps0": 0.5}},
    "poisson_seeds": {
        **QUICK,
        "synthesis": {
            "guarantee": "poisson_seeds",
            "omega": 1,
            "plausible": 900,
            "epsilon": 2,
            "delta": 1e-6,
            "public_rows": 2400,
            "records": 400,
            "chunk_candidates": 128,
        },
    },
}
SAID = {
    "tested_seeds": "by the public model none has nearly 900 plausible seeds among 1,000 rows; nothing was charged",
    "poisson_seeds": "by the public model none of 520 would, with 3 of 4 attributes copied; nothing was charged",
}


def charged(folder: Path) -> list[str]:
    return [charged.charge.step for charged in state_ledger(folder / "state").charges()]


@pytest.mark.parametrize("guarantee", HOPELESS)
def test_seeds_that_could_not_pass_are_refused_and_not_charged(guarantee: str, tmp_path: Path) -> None:
    with pytest.raises(Refused, match=SAID[guarantee]):
        drawn_release(tmp_path, "people-1", **HOPELESS[guarantee])
    assert charged(tmp_path) == ["learn_parameters"], "the model, from which it is known"


# ---- a prefix that the model chooses

CHOSEN: dict[str, Any] = {
    **QUICK,
    "synthesis": {
        "guarantee": "poisson_seeds",
        "total": 2,
        "delta": 1e-6,
        "public_rows": 2400,
        "records": 400,
        "plausible": 20,
        "chunk_candidates": 128,
    },
}


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Drawn:
    found = drawn_release(tmp_path_factory.mktemp("chosen"), "people-1", **CHOSEN)
    found.publish()
    return found


@pytest.fixture(scope="module")
def published(drawn: Drawn) -> Published:
    return Published.of(drawn)


def test_a_release_whose_model_chooses_the_prefix_says_so_and_holds(drawn: Drawn, published: Published) -> None:
    total = drawn.accounts.joint
    assert total is not None
    assert 1.97 < total.guarantee.epsilon <= 2
    for with_ledger in (False, True):
        report = published.verify(with_ledger=with_ledger)
        assert report.holds, faults(report)
    prefix = published.document("prefix.json")
    assert len(prefix["copied_attributes"]) + prefix["resampled_attributes"] == 4
    assert prefix["predicted_to_pass"] == sorted(prefix["predicted_to_pass"], reverse=True)
    assert "`prefix.json` names them" in published.files["PRIVACY.md"].decode()
    assert "| `prefix.json` |" in published.files["README.md"].decode()
    assert "omega" not in published.record["spec"]["document"]["synthesis"]


def test_a_design_after_the_release_predicts_every_prefix_as_the_release_did(
    drawn: Drawn, published: Published, capsys: pytest.CaptureFixture[str]
) -> None:
    state = drawn.workspace.state
    asked = argparse.Namespace(
        spec=None, after="people-1", curve=False, target=None, out=None, keys=None, k=None, eps0=None, gamma=1
    )
    assert COMMAND.run(asked, state) == 0
    said = capsys.readouterr().out
    prefix = published.document("prefix.json")
    for length, share in enumerate(prefix["predicted_to_pass"], 1):
        (line,) = [line for line in said.splitlines() if line.strip().startswith(f"{length} ")]
        assert f"{share:.1%}" in line
        assert ("chosen" in line) == (length == len(prefix["copied_attributes"]))


def test_no_value_of_the_stated_prefix_can_be_changed(published: Published) -> None:
    prefix = published.document("prefix.json")
    for place in leaves(prefix):
        changed = with_change(prefix, place, lambda value: value / 4 if isinstance(value, float) else another(value))
        said = faults(published.with_document("prefix.json", changed).verify())
        # A prediction that chooses the same prefix cannot be refuted without drawing from the model.
        assert "prefix.json" in said or place[0] == "predicted_to_pass", place


def test_a_step_that_costs_more_with_the_model_than_the_total_is_found(published: Published) -> None:
    record = published.record
    less = with_change(record, ("spec", "document", "synthesis", "total"), lambda _: "1.9")
    assert "with the learner's steps, but the spec allows 1.9" in faults(published.signed_again(less).verify())
