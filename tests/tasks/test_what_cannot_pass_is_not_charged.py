"""Seeds of which the learnt model predicts that none would pass are refused before they are charged."""

import argparse
from pathlib import Path
from typing import Any

import pytest

from deniable.foundation.domain import Domain
from deniable.foundation.errors import InvalidInput, RefusedForGood
from deniable.plausible_deniability.predictions import order_of
from deniable.plausible_deniability.prefix_choice import EARLIER, STRICTER, choose_length, document_of
from deniable.samplers.poisson_seeds.verification import check_prefix
from flows.cli.release.design import COMMAND
from flows.cli.release.make import COMMAND as MAKE
from flows.cli.running import _complain_of
from schemas.spec.plan import plan_release
from schemas.spec.release_spec import ReleaseSpec, load_spec
from stores.ledger.state_ledger import state_ledger
from stores.releases.resumable_releases import note_beginning
from stores.vault.workspace import Workspace
from tests.published import Published, another, faults, leaves, with_change
from tests.small_release import HISTOGRAM_SEEDS, QUICK, SPEC, write_small_release
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
def test_seeds_that_could_not_pass_are_refused_and_not_charged(
    guarantee: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(RefusedForGood, match=SAID[guarantee]) as refusal:
        drawn_release(tmp_path, "people-1", **HOPELESS[guarantee])
    assert charged(tmp_path) == ["learn_parameters"], "the model, from which it is known"
    # The same command would be refused each time, so that nobody is told to repeat it.
    state, spec = tmp_path / "state", tmp_path / "spec" / "spec.yaml"
    note_beginning(Workspace(state=state, release_id="people-1", spec=load_spec(spec), mlflow_run_id="none"), None)
    assert _complain_of(refusal.value, MAKE, argparse.Namespace(spec=spec), state) == 1
    hint = capsys.readouterr().err.splitlines()[-1]
    assert "resume" not in hint
    assert hint.startswith("The same command would be refused again, whenever it is run. A changed spec begins another")
    assert "release discard people-1 removes what people-1 has done and paid for, and its charges remain." in hint


def test_a_release_of_which_nothing_passed_ends_in_words_and_is_not_to_be_repeated(tmp_path: Path) -> None:
    """A model foresees what twice as many people alike would pass; between that and the truth, exact counts decide."""
    tested = TESTED | {"omega": {1: 1}, "k": 380, "eps0": 3, "epsilon": 9, "candidates": 400, "public_rows": 2400}
    with pytest.raises(
        RefusedForGood, match="at least one candidate must pass the privacy test, got none; raise omega"
    ):
        drawn_release(tmp_path, "people-1", **{**QUICK, "synthesis": tested})
    assert charged(tmp_path) == ["learn_parameters", "synthesize"]


# ---- what spec and schema alone tell, before a model is learnt

SEEDS: dict[str, dict[str, Any]] = {
    "tested_seeds": {**QUICK, "synthesis": TESTED | {"omega": {2: 1}, "k": 40, "public_rows": 1000}},
    "histogram_seeds": HISTOGRAM_SEEDS,
    "poisson_seeds": {
        **QUICK,
        "synthesis": HOPELESS["poisson_seeds"]["synthesis"] | {"plausible": 40, "omega": 2},
    },
}
TOTAL = ',\n    totals=[public_total(30, source="a register")],\n'


def with_total(folder: Path, **changes: Any) -> ReleaseSpec:
    """A spec of a table whose schema states a public total of 30 rows."""
    place = write_small_release(folder, people=[], **changes)
    schema = place.with_name("people.py")
    stated = schema.read_text().replace('target="employed",\n', 'target="employed"' + TOTAL)
    schema.write_text("from schemas.rules import public_total\n" + stated)
    return load_spec(place)


@pytest.mark.parametrize("guarantee", SEEDS)
def test_more_people_alike_than_the_table_has_rows_are_refused_before_anything_is_charged(
    guarantee: str, tmp_path: Path
) -> None:
    synthesis = SEEDS[guarantee]["synthesis"]
    if guarantee == "histogram_seeds":
        synthesis = synthesis | {"k": 40, "beta": 1e-3, "max_rows": 10_000}
    spec = with_total(tmp_path, **{**SEEDS[guarantee], "synthesis": synthesis})
    said = r"must be at most 30, the number of rows that the schema states, .*, got [4-9][0-9]; "
    with pytest.raises(InvalidInput, match=said):
        list(plan_release(spec).steps)


def test_a_threshold_above_the_largest_number_of_rows_is_refused(tmp_path: Path) -> None:
    synthesis = SEEDS["histogram_seeds"]["synthesis"] | {"k": 3000, "beta": 1e-3, "max_rows": 3000}
    spec = load_spec(write_small_release(tmp_path, people=[], **{**HISTOGRAM_SEEDS, "synthesis": synthesis}))
    with pytest.raises(InvalidInput, match=r"threshold .* must be at most 3,000, synthesis\.max_rows, .* got 3,0"):
        list(plan_release(spec).steps)


LIKELY = {
    "tested_seeds": (
        {"k": 400},
        {"k": 120},
        "250 of 1,000 rows, and 0.0% of the candidates would be expected to pass, 0 of 1,500",
    ),
    "histogram_seeds": ({"k": 400}, {"k": 20}, "all 4 combinations of the 2 attributes with the fewest values"),
}


@pytest.mark.parametrize("guarantee", LIKELY)
def test_a_plan_warns_of_a_number_that_few_combinations_can_reach(guarantee: str, tmp_path: Path) -> None:
    many, few, said = LIKELY[guarantee]
    for place, numbers, warned in (("many", many, True), ("few", few, False)):
        synthesis = SEEDS[guarantee]["synthesis"] | numbers
        if guarantee == "histogram_seeds":
            synthesis |= {"beta": 1e-3, "max_rows": 1000}
        folder = tmp_path / place
        spec = load_spec(write_small_release(folder, people=[], **{**SEEDS[guarantee], "synthesis": synthesis}))
        caution = [*plan_release(spec).steps][-1].caution
        assert (said in caution) == warned, caution


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
        # A share is changed in its last digit, so that the same prefix would be chosen.
        changed = with_change(prefix, place, lambda value: value - 1e-6 if isinstance(value, float) else another(value))
        said = faults(published.with_document("prefix.json", changed).verify())
        assert f"prefix.json: {place[0]} is" in said, place


def test_a_stated_prefix_does_not_hold_with_another_model(published: Published) -> None:
    model = published.document("model.json")
    rare = 2**32 // 200  # of 2,400 rows, fewer than the floor
    weights = {
        name: [[2**32 - rare * (len(row) - 1), *([rare] * (len(row) - 1))] for row in rows]
        for name, rows in model["weights"].items()
    }
    said = faults(published.with_document("model.json", {**model, "weights": weights}).verify())
    assert "prefix.json: predicted_to_pass is" in said


def test_a_prefix_that_an_earlier_version_predicted_is_checked_by_its_own_shares(published: Published) -> None:
    """The record says which version drew, so that a later release cannot pass for an earlier one by its format."""
    prefix = published.document("prefix.json")
    shares = [share - 1e-6 for share in prefix["predicted_to_pass"]]
    length = len(prefix["copied_attributes"])
    earlier = document_of(
        prefix["copied_attributes"], shares, length, public_rows=prefix["public_rows"], form=EARLIER
    ) | {"resampled_attributes": prefix["resampled_attributes"]}
    said = faults(published.with_document("prefix.json", earlier).verify())
    assert f"prefix.json: format is {EARLIER}" in said
    record = published.record
    (entry,) = (each for each in record["ledger"]["entries"] if each.get("content", {}).get("step") == "attempt_seeds")
    entry["content"]["mechanism"] = "attempt_seeds/2"
    (check,) = check_prefix(record, published.document("schema.json"), earlier, published.document("model.json"))
    assert check.holds
    assert check.note == "an earlier version predicted the shares, and they were not computed again"


def test_a_prefix_is_checked_by_the_rule_of_the_version_that_chose_it(published: Published) -> None:
    prefix, record, model = published.document("prefix.json"), published.record, published.document("model.json")
    schema = published.document("schema.json")
    shares, names = prefix["predicted_to_pass"], order_of(Domain.from_document(schema), model)
    of_version_3 = document_of(
        names, shares, choose_length(shares, STRICTER), public_rows=prefix["public_rows"], form=STRICTER
    )
    assert check_prefix(record, schema, prefix, model)[0].holds
    assert not check_prefix(record, schema, of_version_3, model)[0].holds
    (entry,) = (each for each in record["ledger"]["entries"] if each.get("content", {}).get("step") == "attempt_seeds")
    entry["content"]["mechanism"] = "attempt_seeds/3"
    assert not check_prefix(record, schema, prefix, model)[0].holds
    assert check_prefix(record, schema, of_version_3, model)[0].holds


def test_a_step_that_costs_more_with_the_model_than_the_total_is_found(published: Published) -> None:
    record = published.record
    less = with_change(record, ("spec", "document", "synthesis", "total"), lambda _: "1.9")
    assert "with the learner's steps, but the spec allows 1.9" in faults(published.signed_again(less).verify())
