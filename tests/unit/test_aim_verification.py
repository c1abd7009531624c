"""AIM's published measurements are held against the schedule of the spec and against what was paid for, offline."""

import copy
import json
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest

from deniable.foundation.domain import Attribute, Domain
from deniable.foundation.keys import ReleaseKey
from deniable.foundation.tables import Tally
from deniable.learners.aim import engine
from deniable.learners.aim.engine import Work
from deniable.learners.aim.spec import Entry
from deniable.learners.aim.steps import steps
from deniable.learners.aim.verification import EXPECTED_STEPS, check_measured
from deniable.mechanisms import PlannedStep
from deniable.privacy.step_costs import StepCost
from deniable.record.schema_document import describe_domain

SIZES = (2, 3, 1, 5, 4)
DOMAIN = Domain(tuple(Attribute(f"a{i}", tuple(range(size)), "nominal", (0,) * size) for i, size in enumerate(SIZES)))
ROWS = np.random.default_rng(list(b"rows")).integers(SIZES, size=(2_000, len(SIZES))).astype(np.uint16)
ROWS[:, 4] = ROWS[:, 3] % 4
Document = dict[str, Any]


class Rows:
    """Counts rows that are held in memory, and notes what progress is reported."""

    def __init__(self) -> None:
        self.done: list[int] = []

    def count(self, empty: Callable[[], Any], _: str) -> Tally:
        tally: Tally = empty()
        tally.add(ROWS)
        return tally

    def advance(self, amount: int) -> None:
        self.done.append(amount)


def asked(**changes: Any) -> Document:
    return {
        "kind": "aim",
        "parameters": {"epsilon": 1, "delta": 1e-6},
        "max_model": 0.01,
        "workload": "triples",
        "max_seconds": None,
        **changes,
    }


def planned(**changes: Any) -> PlannedStep:
    (step,) = steps(Entry.model_validate(asked(**changes)), DOMAIN, lambda delta: delta)
    return step


def run(step: PlannedStep, counter: Any) -> Any:
    open_stream = partial(ReleaseKey(bytes(range(32))).stream, step="learn", inputs="measured")
    return step.run(counter, {}, open_stream)


@pytest.fixture(scope="module")
def told() -> tuple[Document, Rows]:
    rows = Rows()
    return json.loads(json.dumps(run(planned(), rows).products["measured"])), rows


@pytest.fixture(scope="module")
def measured(told: tuple[Document, Rows]) -> Document:
    return told[0]


def record_of(step: PlannedStep, learner: Document) -> Document:
    return {
        "spec": {"document": {"learner": {**learner, "max_model": str(learner["max_model"])}}},
        "cost": {"steps": [{"step": "learn_parameters", "events": [event.to_record() for event in step.events]}]},
    }


def faults(document: Document, learner: Document | None = None, step: PlannedStep | None = None) -> list[str]:
    record = record_of(step or planned(), learner or asked())
    return [
        fault for check in check_measured(record, describe_domain(DOMAIN, {}, {}), document) for fault in check.faults
    ]


def test_what_was_measured_holds(measured: Document) -> None:
    assert faults(measured) == []


def tables_of_rounds(document: Document) -> list[Document]:
    return [table for table in document["tables"] if len(table["attributes"]) > 1]


def last_release(document: Document) -> Document:
    releases: list[Document] = [release for table in document["tables"] for release in table["releases"]]
    return max(releases, key=lambda release: int(release["turn"]))


def less_noise(document: Document) -> None:
    noise = tables_of_rounds(document)[0]["releases"][0]["noise"]
    noise["variance"] = str(Fraction(noise["variance"]) / 3)


def reduced_without_a_reason_is_left_to_replay(document: Document) -> None:
    """Annealed noise of the first round is possible, but the rounds after it then do not fit what is left."""
    noise = min((each for table in tables_of_rounds(document) for each in table["releases"]), key=lambda r: r["turn"])
    noise["noise"]["variance"] = str(Fraction(noise["noise"]["variance"]) / 4)


def one_way_with_less_noise(document: Document) -> None:
    document["tables"][0]["releases"][0]["noise"]["variance"] = "10"


def without_the_last_round(document: Document) -> None:
    last = last_release(document)
    for table in document["tables"]:
        table["releases"] = [release for release in table["releases"] if release["turn"] != last["turn"]]
    document["tables"] = [table for table in document["tables"] if table["releases"]]
    document["choices"].pop()
    document["figures"]["rounds"] -= 1


def measured_once_more(document: Document) -> None:
    extra = copy.deepcopy(last_release(document))
    extra["turn"] += 1
    document["tables"][-1]["releases"].append({**extra, "sums": document["tables"][-1]["releases"][0]["sums"]})


def fewer_candidates(document: Document) -> None:
    document["choices"][0]["candidates"] += 1


def another_choice(document: Document) -> None:
    first = document["choices"][0]
    first["chosen"] = (first["chosen"] + 1) % first["candidates"]


def choice_of_another_table(document: Document) -> None:
    document["choices"][0]["attributes"] = ["a1"]


def without_attributes(document: Document) -> None:
    document["choices"][0].pop("attributes")


def differently_purposed(document: Document) -> None:
    document["choices"][0]["purpose"] = "tree"


def more_rounds(document: Document) -> None:
    document["figures"]["rounds"] += 1


def more_left(document: Document) -> None:
    document["figures"]["rho_unspent"] += 0.001


def more_spent(document: Document) -> None:
    document["figures"]["rho_of_tables"] *= 1.01


def multiplied(document: Document) -> None:
    tables_of_rounds(document)[0]["releases"][0]["multiplier"] = 2


def laplace(document: Document) -> None:
    tables_of_rounds(document)[0]["releases"][0]["noise"] = {"law": "laplace", "scale": "50"}


def of_others(document: Document) -> None:
    document["learner"] = "loglinear"


def a_figure_more(document: Document) -> None:
    document["figures"]["mean_age"] = 41.0


def buckets(document: Document) -> None:
    document["buckets"]["a1"] = [0, 0, 1]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (less_noise, "must have the noise of the round before, or reduced, or all that was left"),
        (reduced_without_a_reason_is_left_to_replay, "round"),
        (one_way_with_less_noise, "must be the counts of a0 with the noise of their event"),
        (without_the_last_round, "rounds must go on until rho is spent"),
        (measured_once_more, "each release must be that of a one-way marginal or of a round"),
        (fewer_candidates, "candidates, and measure the chosen one"),
        (another_choice, "candidates, and measure the chosen one"),
        (choice_of_another_table, "one choice and one release of the chosen table"),
        (without_attributes, "one choice and one release of the chosen table"),
        (differently_purposed, "must have the noise"),
        (more_rounds, "choices"),
        (more_spent, "rho_of_tables"),
        (more_left, "rho_unspent must be what tables and choices leave"),
        (multiplied, "must have the noise"),
        (laplace, "must have the noise"),
        (of_others, "must be of the learner aim"),
        (a_figure_more, "must state the number of rounds"),
        (buckets, "must have a bucket for each value"),
    ],
)
def test_what_does_not_follow_is_named(measured: Document, change: Callable[[Document], Any], said: str) -> None:
    changed = copy.deepcopy(measured)
    change(changed)
    assert any(said in fault for fault in faults(changed)), faults(changed)


def test_a_table_beyond_the_workload_is_named(measured: Document) -> None:
    found = faults(measured, asked(workload=[{"attributes": ["a0", "a1"], "weight": "1"}]))
    assert any("must be counts of a candidate of the workload" in fault for fault in found)


def test_progress_ends_at_the_whole_that_was_planned(told: tuple[Document, Rows]) -> None:
    _, rows = told
    assert sum(rows.done) == planned().work
    assert len(rows.done) > 3
    assert min(rows.done) >= 0


def test_work_that_reaches_its_bound_ends_the_rounds_and_what_there_is_is_a_model(
    measured: Document, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "CELLS_OF_A_TABLE", 10_000)
    made = run(planned(max_seconds=1), Rows())
    document = json.loads(json.dumps(made.products["measured"]))
    assert made.figures["stopped_early"]
    assert 0 < made.figures["rounds"] < measured["figures"]["rounds"]
    assert made.figures["rounds"] == document["figures"]["rounds"] == len(document["choices"])
    assert made.figures["rho_unspent"] > 0
    assert faults(document, asked(max_seconds=1)) == []
    assert any("rounds must go on" in fault for fault in faults(document)), "no spec without a bound has that"
    assert json.loads(json.dumps(run(planned(max_seconds=1), Rows()).products)) == json.loads(json.dumps(made.products))


def test_the_bound_on_work_reads_no_clock() -> None:
    work = Work(1.0)
    assert work.add(0.5)
    assert not work.add(0.5)
    assert work.is_over


def test_an_amount_that_does_not_use_the_budget_is_named() -> None:
    step, learner = planned(), asked()
    cost = StepCost(
        step="learn_parameters",
        part="parameters",
        probability=Fraction(1),
        events=planned(parameters={"epsilon": 0.5, "delta": 1e-6}).events,
        guarantee=step.guarantee,
    )
    expected = EXPECTED_STEPS["learn_parameters"]
    found = expected.plan({"learner": learner}, DOMAIN, cost, lambda delta: delta)
    assert any("was to be scaled to 1" in fault for fault in found.amounts())
    assert list(found.claim(step.guarantee))
