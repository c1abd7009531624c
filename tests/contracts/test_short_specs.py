"""A spec of a name, a dataset, a source and an epsilon is complete; what it leaves out follows from spec and schema."""

import json
from collections.abc import Mapping
from fractions import Fraction
from math import exp, log
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from deniable.foundation.domain import Attribute, Domain
from deniable.foundation.errors import InvalidInput
from deniable.learners.registry import LEARNERS
from deniable.ledger.budget import cost_of
from deniable.plausible_deniability.pass_law import shift_of
from deniable.privacy.composition import joint_split
from deniable.privacy.loss import Guarantee
from flows.cli.planning import show_plan
from schemas.spec.defaults import completed, epsilon_of_part
from schemas.spec.plan import plan_release
from schemas.spec.release_spec import ReleaseSpec, load_spec
from stores.ledger.charging import planned_charges
from tests.small_release import SCHEMA, SPEC, write_small_release

SHORT = {"name": "my_people", "dataset": "people.py", "source": "people.csv", "epsilon": 1}


def written(folder: Path, spec: Mapping[str, Any], schema: str = SCHEMA) -> Path:
    """A spec beside the small table."""
    write_small_release(folder, people=[], schema=schema)
    place = folder / "short.yaml"
    with place.open("w") as file:
        YAML(typ="safe", pure=True).dump(dict(spec), file)
    return place


def short(folder: Path, schema: str = SCHEMA, **changes: Any) -> ReleaseSpec:
    """The short spec, with changes."""
    return load_spec(written(folder, {**SHORT, **changes}, schema))


def refusal(folder: Path, **changes: Any) -> str:
    """What is said about a short spec that is refused."""
    with pytest.raises(InvalidInput) as caught:
        short(folder, **changes)
    return str(caught.value)


def test_four_entries_are_a_spec(tmp_path: Path) -> None:
    spec = short(tmp_path)
    assert spec.title == "My people"
    assert spec.source.model_dump() == {"kind": "file", "path": "people.csv", "environment": None}
    assert (spec.max_dropped_share, spec.max_invalid_share) == (Fraction(1, 20), None)
    assert spec.split.probabilities == {"shared": Fraction(4, 5), "holdout": Fraction(1, 5)}
    assert (spec.learner.kind, spec.synthesis.guarantee, spec.synthesis.records) == ("loglinear", "seedless", 10_000)
    assert spec.evaluation.model_dump(exclude={"target", "classifiers", "train_rows"}) == {
        "quasi_identifiers": ("age", "sex", "school"),
        "known": ("age", "sex", "school"),
        "sensitive": ("employed",),
    }


def test_its_epsilon_is_that_of_the_whole_release(tmp_path: Path) -> None:
    total = plan_release(short(tmp_path, epsilon=2, delta=1e-6)).accounts.total
    assert total is not None
    assert 1.99 < total.epsilon <= 2
    assert total.delta <= 1e-6


@given(
    whole=st.fractions(Fraction(1, 1000), Fraction(50), max_denominator=1000),
    read=st.fractions(Fraction(1, 100), Fraction(1), max_denominator=100),
)
def test_the_epsilon_of_a_part_never_gives_more_than_that_of_the_whole(whole: Fraction, read: Fraction) -> None:
    part = epsilon_of_part(whole, read)
    total = joint_split([(read, Guarantee(float(part), 0.0, "basic"))]).epsilon
    assert total <= whole
    assert total >= float(whole) * (1 - 1e-4)
    assert part == whole if read == 1 else float(part) <= log(1 + (exp(whole) - 1) / read)


def test_the_budget_of_a_dataset_that_is_new_is_what_its_release_may_cost(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = short(tmp_path)
    assert spec.budget is not None
    assert (spec.budget.epsilon, spec.budget.delta) == (1, Fraction(1, 10**9))
    assert show_plan(spec, tmp_path / "state") == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "The budget allows this release." in said
    assert "What the spec leaves out, derived from the spec and the schema" in said
    assert "learner.parameters.epsilon 1.14672 (epsilon 1 of the whole release)" in said


def test_a_spec_that_leaves_nothing_out_has_nothing_derived(tmp_path: Path) -> None:
    spec = load_spec(write_small_release(tmp_path, people=[]))
    assert spec.derived == ()
    assert "max_dropped_share" not in spec.model_dump(mode="json", fallback=str)


def test_the_whole_spec_is_what_is_recorded_and_reads_back_alike(tmp_path: Path) -> None:
    """A replay loads the spec of a record, which leaves nothing out."""
    spec = short(tmp_path)
    document = spec.model_dump(mode="json", fallback=str)
    assert "epsilon" not in document
    again = tmp_path / "again.yaml"
    again.write_text(json.dumps(document))
    assert load_spec(again).model_dump() == spec.model_dump()


def test_what_is_derived_follows_from_public_facts_alone(tmp_path: Path) -> None:
    """The source is not opened: it need not exist."""
    place = written(tmp_path, SHORT)
    before = load_spec(place)
    (tmp_path / "people.csv").unlink()
    assert load_spec(place) == before


def test_records_are_as_many_as_the_schema_publicly_states(tmp_path: Path) -> None:
    stated = SCHEMA.replace("from schemas.table", "from schemas.rules import public_total\nfrom schemas.table").replace(
        'target="employed",', 'target="employed",\n    totals=[public_total(4321, source="the yearbook")],'
    )
    assert short(tmp_path, stated).synthesis.records == 4321


def test_an_intruder_does_not_know_what_is_inferred(tmp_path: Path) -> None:
    evaluation = short(tmp_path / "one", evaluation={"known": ["employed", "age"]}).evaluation
    assert (evaluation.sensitive, evaluation.quasi_identifiers) == (("sex",), ("employed", "age"))
    evaluation = short(tmp_path / "two", evaluation={"sensitive": ["age", "sex"]}).evaluation
    assert evaluation.known == ("school", "employed")


@pytest.mark.parametrize(
    ("columns", "target"),
    [
        ('{"a": numeric(0, 50), "b": nominal(["x", "y"]), "c": numeric(0, 99)}', "b"),
        ('{"a": numeric(0, 50), "c": numeric(0, 99), "d": nominal(["x"])}', "a"),
        ('{"d": nominal(["x"])}', "d"),
    ],
)
def test_a_table_without_a_target_has_one_in_the_evaluation(tmp_path: Path, columns: str, target: str) -> None:
    spec = short(tmp_path, f"from schemas.table import nominal, numeric, table\nschema = table({columns})\n")
    assert spec.domain.target == target
    assert target not in spec.evaluation.known


@pytest.mark.parametrize("kind", LEARNERS)
def test_an_epsilon_is_enough_for_learners_with_one_budget(tmp_path: Path, kind: str) -> None:
    asked = {"learner": {"kind": kind}}
    if kind in {"loglinear", "marginals", "independent", "mst", "aim", "pegs_noisy"}:
        total = plan_release(short(tmp_path, **asked)).accounts.total
        assert total is not None
        assert total.epsilon <= 1
    elif kind != "nist_mst":  # which needs a public file as well
        said = refusal(tmp_path, **asked)
        assert f"epsilon: must be left out for a learner of kind {kind}, whose entry has its own budgets." in said


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"epsilon": 0}, "epsilon: must be a number from 1e-06 to 100, the epsilon of the whole release, got 0."),
        ({"epsilon": "one"}, "epsilon: must be a number from 1e-06 to 100, the epsilon of the whole release, got one."),
        ({"epsilon": 101}, "epsilon: must be a number from 1e-06 to 100, the epsilon of the whole release, got 101."),
        ({"delta": 1}, "learner.parameters.delta: must be from 1e-30 to 0.1, got 1."),
        (
            {"learner": {"parameters": {"epsilon": 1}}},
            "epsilon: must be left out if learner.parameters states epsilon or delta; state one of the two.",
        ),
        (
            {"synthesis": SPEC["synthesis"]},
            "epsilon: must be left out unless synthesis.guarantee is seedless or poisson_seeds, because other",
        ),
        ({"split": {"holdout": 0}, "thresholds": {"tvd_2way_max": 1}}, "thresholds: must be left out if split.holdout"),
        *(
            (
                {"split": {"holdout": 0}, "decision": {"exact_figures_decide": True, bounds: {"tvd_2way_max": 1}}},
                "decision: must have neither publish_within nor refuse_beyond if split.holdout is 0, because nothing",
            )
            for bounds in ("publish_within", "refuse_beyond")
        ),
        ({"split": 3}, "split: must be a mapping of keys, got 3."),
        ({"source": 3}, "source: must be a mapping of keys, got 3."),
        ({"dataset": "absent.py"}, "dataset: the dataset must be a file that defines `schema`, but"),
    ],
)
def test_a_short_spec_that_is_wrong_is_refused(tmp_path: Path, change: dict[str, Any], said: str) -> None:
    refused = refusal(tmp_path, **change)
    assert said in refused


def test_an_epsilon_is_asked_for(tmp_path: Path) -> None:
    place = written(tmp_path, {name: value for name, value in SHORT.items() if name != "epsilon"})
    with pytest.raises(InvalidInput) as caught:
        load_spec(place)
    (said,) = str(caught.value).splitlines()[1:]
    assert said.startswith("  epsilon: must be given, the epsilon of the whole release, such as 1; or learner")


def test_nothing_need_be_held_out(tmp_path: Path) -> None:
    spec = short(tmp_path, split={"holdout": 0}, decision={})
    assert spec.split.probabilities == {"shared": 1}
    assert not spec.is_evaluated
    assert spec.decision is not None
    total = plan_release(spec).accounts.total
    assert total is not None
    assert 0.99 < total.epsilon <= 1


@pytest.mark.parametrize(
    ("columns", "target", "reason"),
    [
        ({"a": 25, "b": 3, "c": 2, "d": 40}, "c", "the last attribute with 2 to 20 values"),
        ({"a": 25, "b": 1, "c": 22}, "c", "the attribute with the fewest values, because none has 2 to 20"),
        ({"a": 1, "b": 1}, "a", "the first attribute, because each has a single value"),
    ],
)
def test_the_reason_for_a_target_is_true(columns: dict[str, int], target: str, reason: str) -> None:
    domain = Domain(
        tuple(Attribute(name, tuple(range(size)), "numeric", tuple(range(size))) for name, size in columns.items())
    )
    _, derived, _ = completed({"name": "t", "epsilon": 1}, domain)
    (found,) = (entry for entry in derived if entry.entry == "evaluation.target")
    assert (found.value, found.reason) == (target, reason)


# ---- the total of model and seeds

SEEDED = {"synthesis": {"guarantee": "poisson_seeds", "records": 600, "plausible": 20}}


@pytest.fixture(scope="module")
def seeded(tmp_path_factory: pytest.TempPathFactory) -> ReleaseSpec:
    folder = tmp_path_factory.mktemp("seeded")
    return short(folder, delta=1e-6, synthesis=SEEDED["synthesis"] | {"public_rows": 6000})


@pytest.mark.slow
def test_records_and_plausible_seeds_are_a_whole_entry(seeded: ReleaseSpec) -> None:
    accounts = plan_release(seeded).accounts
    assert accounts.total is not None
    assert 0.98 < accounts.total.epsilon <= 1
    assert accounts.total.delta <= 1e-6
    assert cost_of(planned_charges(seeded, accounts)).epsilon <= 1, "the account that it opens has room for it"
    assert float(cost_of(planned_charges(seeded, accounts)).epsilon) == pytest.approx(accounts.total.epsilon)
    assert "synthesis.public_rows is 6,000, state more if more are read" in [*plan_release(seeded).steps][-1].caution


def test_what_a_total_of_model_and_seeds_leaves_out_is_derived(tmp_path: Path) -> None:
    spec = short(tmp_path, delta=1e-6, **SEEDED)
    assert [(entry.entry, entry.value) for entry in spec.derived if entry.entry.startswith("synthesis")] == [
        ("synthesis.total", "1.14672"),
        ("synthesis.delta", "5e-07"),
        ("synthesis.chunk_candidates", "100000"),
        ("synthesis.public_rows", "600"),
    ]


def test_the_model_gets_most_of_the_total(seeded: ReleaseSpec) -> None:
    budget = seeded.learner.parameters
    mu = shift_of(1.14672, 1e-6)
    assert (shift_of(float(budget.epsilon), 5e-7) / mu) ** 2 == pytest.approx(0.75, rel=2e-3)


@pytest.mark.slow
def test_every_number_may_be_given_by_hand(tmp_path: Path) -> None:
    by_hand = {"omega": 2, "public_rows": 2000, "delta": 2e-7}
    learner = {"parameters": {"epsilon": 0.8, "delta": 7e-7}}
    spec = short(tmp_path, delta=1e-6, learner=learner, synthesis=SEEDED["synthesis"] | by_hand)
    assert (spec.learner.parameters.epsilon, spec.synthesis.omega, spec.synthesis.public_rows) == (
        Fraction(4, 5),
        2,
        2000,
    )
    assert spec.synthesis.delta == Fraction("2e-7")
    total = plan_release(spec).accounts.total
    assert total is not None
    assert total.epsilon <= 1
    assert total.delta == pytest.approx(9e-7, rel=1e-6)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"synthesis": SEEDED["synthesis"] | {"epsilon": 1}}, "must be left out if synthesis states epsilon or total"),
        ({"split": {"seeds": 0.4, "parameters": 0.4, "holdout": 0.2}}, "unless model and seeds read the same records"),
        ({"learner": {"parameters": {"delta": 1e-6}}}, "delta: must be above learner.parameters.delta"),
        ({"delta": 0}, "delta: must be a number above 0 and below 1 for the guarantee poisson_seeds."),
        ({"learner": {"kind": "cfs"}}, "must be left out for a learner of kind cfs, whose entry has its own budgets"),
    ],
)
def test_a_total_that_cannot_be_divided_is_refused(tmp_path: Path, changes: Mapping[str, Any], said: str) -> None:
    assert said in refusal(tmp_path, **{"delta": 1e-6, **SEEDED, **changes})


@pytest.mark.parametrize("budgets", [{}, {"epsilon": 1, "total": 2}])
def test_seeds_have_one_budget(tmp_path: Path, budgets: Mapping[str, Any]) -> None:
    synthesis = SEEDED["synthesis"] | {"delta": 1e-7, "public_rows": 2000, "chunk_candidates": 100} | dict(budgets)
    place = write_small_release(tmp_path, people=[], synthesis=synthesis)
    with pytest.raises(InvalidInput, match=r"synthesis\.total: must be given, .*alone; one of the two"):
        load_spec(place)


@pytest.mark.slow
def test_a_plan_refuses_what_cannot_pass_and_says_what_to_change(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before anything is charged: the model alone leaves nothing, or even odds need more rows than there are."""
    greedy = short(tmp_path / "a", delta=1e-6, learner={"parameters": {"epsilon": 1.14}}, **SEEDED)
    with pytest.raises(InvalidInput, match=r"none passes beside the model .*; lower learner\.parameters\.epsilon"):
        show_plan(greedy, tmp_path / "state")
    few = short(tmp_path / "b", delta=1e-6, synthesis=SEEDED["synthesis"] | {"records": 20, "public_rows": 60})
    with pytest.raises(
        InvalidInput, match=r"even odds need [0-9]+ plausible seeds, and synthesis\.public_rows is 60; "
    ):
        show_plan(few, tmp_path / "state")
    assert not capsys.readouterr().out
