"""A spec may have the attributes of its declared analyses counted together, so that noisy counts answer them."""

from fractions import Fraction
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deniable.foundation.domain import Attribute, Domain
from deniable.foundation.errors import InvalidInput
from deniable.inference.estimation import Inference
from deniable.inference.regression import regress
from deniable.learners.loglinear.plan import DECLARED_PER_ATTRIBUTE, Layout, LoglinearRecipe, pairs_of
from deniable.learners.mapped import Rows, stream
from deniable.learners.registry import steps_of
from deniable.measurements.document import Measurements
from flows.cli.planning import show_plan
from schemas.spec.release_spec import load_spec
from tests.published import Published
from tests.small_release import QUICK, write_small_release
from tests.whole_release import drawn_release

LEARNER: dict[str, Any] = {
    "kind": "loglinear",
    "noise": "gaussian",
    "parameters": {"epsilon": 4, "delta": 1e-6},
    "counted_together": "analyses",
}
ANALYSES: list[dict[str, str]] = [{"regress": "age ~ sex + school"}, {"mean": "age", "by": "sex"}, {"mean": "age"}]


def declaring(**changes: Any) -> dict[str, Any]:
    """Changes to a small spec that declares analyses, and has what they need counted together."""
    return {**QUICK, "learner": {**LEARNER, **changes}, "evaluation__analyses": ANALYSES}


def test_the_analyses_of_a_spec_stand_for_their_attributes(tmp_path: Path) -> None:
    spec = load_spec(write_small_release(tmp_path / "spec", **declaring()))
    assert dict(spec.learner)["counted_together"] == (("age", "school", "sex"), ("age", "sex"))
    [derived] = [each for each in spec.derived if each.entry == "learner.counted_together"]
    assert derived.reason == "the attributes of the declared analyses"
    written = load_spec(write_small_release(tmp_path / "written", **declaring(counted_together=[["age", "sex"]])))
    assert dict(written.learner)["counted_together"] == (("age", "sex"),)


@pytest.mark.parametrize(
    ("sets", "said"),
    [
        ([["age"]], "must have two or more different attributes in each set, got age"),
        ([["age", "age"]], "must have two or more different attributes in each set, got age, age"),
        ([["age", "shoe"]], "must name attributes of the schema, .*; got shoe"),
        ("uses", "or `analyses` if the evaluation declares some, got 'uses'"),
    ],
)
def test_sets_that_cannot_be_counted_are_refused(sets: Any, said: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=said):
        load_spec(write_small_release(tmp_path / "spec", **declaring(counted_together=sets)))


def test_the_word_analyses_needs_some(tmp_path: Path) -> None:
    changes = {**declaring(), "evaluation__analyses": None}
    del changes["evaluation__analyses"]
    with pytest.raises(InvalidInput, match="or `analyses` if the evaluation declares some"):
        load_spec(write_small_release(tmp_path / "spec", **changes))


def wide(attributes: int) -> Domain:
    return Domain(tuple(Attribute(f"a{i}", (0, 1, 2), "nominal", (0, 1, 2)) for i in range(attributes)), target="a0")


def test_declared_pairs_have_room_in_every_table() -> None:
    for attributes in range(2, 300, 7):
        plain = Layout.of(wide(attributes))
        most = DECLARED_PER_ATTRIBUTE * attributes
        layout = plain.with_declared([*combinations(range(attributes), 2)][:most])
        # At most all but four shares of each attribute are spent on single attributes again.
        assert layout.first_tables <= max(4 * attributes, 1)
        assert layout.shares == plain.shares
        assert plain.with_declared(()) == plain


def test_too_many_pairs_are_refused_before_anything_is_read() -> None:
    names = wide(40).names
    with pytest.raises(InvalidInput, match="counted_together must have at most 80 pairs of this table's attributes"):
        LoglinearRecipe(Fraction(1), Fraction(1, 10**9), together=(names,)).calibrate(wide(40))
    assert pairs_of([("a2", "a1", "gone"), ("a1", "a2")], wide(3)) == ((1, 2),)


def measured_by(folder: Path, together: list[list[str]] | None) -> Measurements:
    """What is measured of people whose twelve attributes are independent, so that hardly a pair would be chosen."""
    names = [f"c{i}" for i in range(12)]
    lines = ", ".join(f'"{name}": numeric(0, 4)' for name in names)
    schema = f"from schemas.table import numeric, table\nschema = table({{{lines}}}, description='x')\n"
    people = np.random.default_rng(5).integers(0, 5, (3000, 12))
    learner = {**LEARNER, "counted_together": together, "parameters": {"epsilon": 1, "delta": 1e-6}}
    if together is None:
        del learner["counted_together"]
    evaluation = {"classifiers": ["tree"], "quasi_identifiers": ["c1"], "train_rows": 400, "sensitive": ["c3"]}
    evaluation |= {"known": ["c1"], "target": "c0"}
    path = write_small_release(folder, people=[], schema=schema, **{**QUICK, "learner": learner}, evaluation=evaluation)
    spec = load_spec(path)
    found: dict[str, Any] = {}
    for step in steps_of(spec.learner, spec.domain, lambda delta: delta):
        found |= step.run(Rows(people.astype(np.uint16)), found, partial(stream, 0, step.name)).products
    return Measurements.from_document(spec.domain, found["measured"])


def test_what_is_counted_together_is_answered_by_noisy_counts(tmp_path: Path) -> None:
    sets = [["c4", "c7", "c9"], ["c2", "c11"]]
    pairs = {frozenset(pair) for own in sets for pair in combinations(own, 2)}

    def counted(measured: Measurements) -> set[frozenset[str]]:
        names = [[measured.domain.names[i] for i in table.attributes] for table in measured.tables]
        return {frozenset(pair) for own in names for pair in combinations(own, 2)}

    without, with_sets = measured_by(tmp_path / "without", None), measured_by(tmp_path / "with", sets)
    assert not pairs <= counted(without)
    assert pairs <= counted(with_sets)
    told = regress(Inference(with_sets), "c4", ["c7", "c9"])
    assert {answer.grade for answer in told.answers} == {"measured"}
    assert {table.reason for table in with_sets.tables} >= {"declared", "tree", "target"}


def test_a_release_whose_analyses_are_counted_verifies(tmp_path: Path) -> None:
    release = drawn_release(tmp_path, **declaring())
    release.publish()
    release.seal()
    report = Published.of(release).verify(with_ledger=True)
    assert report.holds, [check.faults for check in report.checks if check.faults]


def test_a_learner_that_counts_each_attribute_alone_is_warned_of(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    changes = {**QUICK, "evaluation__analyses": ANALYSES}
    show_plan(load_spec(write_small_release(tmp_path / "spec", people=[], **changes)), tmp_path / "state")
    told = " ".join(capsys.readouterr().out.split())
    assert (
        "the learner marginals counts each attribute alone, so that these are lost: regression of age on sex, school; "
        "mean of age by sex; choose a learner of dependences" in told
    )
