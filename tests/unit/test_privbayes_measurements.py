"""What PrivBayes measured is published as integers, and held against the spec, the domain and the events, offline."""

import copy
import json
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from deniable.foundation.domain import Attribute, Codes, Domain
from deniable.foundation.keys import ReleaseKey
from deniable.learners.privbayes.spec import Entry
from deniable.learners.privbayes.steps import steps
from deniable.learners.privbayes.verification import check_measured
from deniable.measurements.document import Measurements
from deniable.record.schema_document import describe_domain

Document = dict[str, Any]
DOMAIN = Domain(
    (
        Attribute("age", tuple(range(9)), "numeric", (0, 0, 0, 0, 1, 1, 2, 2, 2)),
        Attribute("sex", ("f", "m"), "nominal", (0, 1)),
        Attribute("planet", ("earth",), "nominal", (0,)),
        Attribute("town", ("a", "b", "c"), "nominal", (0, 1, 1)),
        Attribute("owns", ("no", "yes"), "nominal", (0, 1)),
        Attribute("work", ("p", "q", "r"), "nominal", (0, 1, 2)),
    )
)
ASKED: Document = {"kind": "privbayes", "structure": {"epsilon": 10, "degree": 2}, "parameters": {"epsilon": 10}}
ENTRY = Entry.model_validate(ASKED)


class Rows:
    """Counts rows that are held in memory."""

    def __init__(self, codes: Codes) -> None:
        self.codes = codes

    def count(self, empty: Callable[[], Any], _: str) -> Any:
        tally = empty()
        tally.add(self.codes)
        return tally


@pytest.fixture(scope="module")
def made() -> Document:
    draw = np.random.default_rng(list(b"people"))
    codes = np.stack([draw.integers(size, size=400) for size in DOMAIN.cardinalities], axis=1).astype(np.uint16)
    found: Document = {}
    for step in steps(ENTRY, DOMAIN, lambda delta: delta):
        open_stream = partial(ReleaseKey(bytes(range(32))).stream, step=step.name, inputs="people")
        found |= step.run(Rows(codes), {name: found[name] for name in step.reads}, open_stream).products
    return found


@pytest.fixture(scope="module")
def measured(made: Document) -> Document:
    document: Document = json.loads(json.dumps(made["measured"]))
    return document


def record(*, states: bool = True) -> Document:
    """A record of the release, with what the check reads."""
    planned = steps(ENTRY, DOMAIN, lambda delta: delta)
    events = [[event.to_record() for event in step.events] for step in planned]
    cost = [{"step": step.name, "events": own} for step, own in zip(planned, events, strict=True)]
    outputs = [{"name": "measured"}] if states else [{"name": "model"}]
    spec = {"learner": json.loads(ENTRY.model_dump_json())}
    return {
        "spec": {"document": spec},
        "cost": {"steps": json.loads(json.dumps(cost))},
        "steps": [{"step": "learn_parameters", "outputs": outputs}],
    }


def faults(document: Document, *, states: bool = True) -> str:
    described = json.loads(json.dumps(describe_domain(DOMAIN, {}, {})))
    return "; ".join(
        fault for each in check_measured(record(states=states), described, document) for fault in each.faults
    )


def test_the_tables_are_those_of_the_network(made: Document, measured: Document) -> None:
    assert faults(measured) == ""
    found = Measurements.from_document(DOMAIN, measured)
    chosen = [DOMAIN.subset([family["attribute"], *family["parents"]]) for family in made["network"]]
    assert [set(table.attributes) for table in found.tables] == [set(family) for family in chosen[2:]]
    assert found.tables[0].by_values == found.tables[0].attributes
    assert [table.by_values for table in found.tables[1:]] == [family[:1] for family in chosen[3:]]
    assert found.records == pytest.approx(400, abs=60)


def test_a_release_that_published_none_is_not_faulty_but_one_that_lost_them_is() -> None:
    assert faults({}, states=False) == ""
    assert "is missing" in faults({})


def last(document: Document) -> Document:
    table: Document = document["tables"][-1]
    return table


CHANGES: dict[str, tuple[Callable[[Document], Any], str]] = {
    "less noise": (
        lambda found: last(found)["releases"][0].update(noise={"law": "laplace", "scale": "1/7"}),
        "must be released once, with Laplace noise of scale",
    ),
    "other noise": (
        lambda found: last(found)["releases"][0].update(noise={"law": "gaussian", "variance": "900"}),
        "must be released once, with Laplace noise of scale",
    ),
    "a table released twice": (
        lambda found: last(found)["releases"].append({**last(found)["releases"][0], "turn": len(found["tables"]) + 1}),
        "must be released once",
    ),
    "a table less": (lambda found: found["tables"].pop(), "one of each further attribute"),
    "other buckets": (
        lambda found: found["buckets"].update(age=[0, 0, 0, 0, 0, 1, 2, 2, 2]),
        "the buckets of the schema",
    ),
    "an order in which a parent comes later": (lambda found: found["order"].reverse(), "must be of an attribute"),
    "other records": (lambda found: found.update(records=found["records"] + 1), "records is"),
    "a sum that is a float": (
        lambda found: found["tables"][0]["releases"][0].update(
            sums=(np.asarray(found["tables"][0]["releases"][0]["sums"]) + 0.5).tolist()
        ),
        "must be 64-bit integers, got float64",
    ),
    "another learner": (lambda found: found.update(learner="loglinear"), "must be of the learner privbayes"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_was_changed_is_found(measured: Document, change: str) -> None:
    altered = copy.deepcopy(measured)
    made, said = CHANGES[change]
    made(altered)
    assert said in faults(altered)


def test_more_than_was_paid_for_is_found(measured: Document) -> None:
    """Events of wider noise do not cover what was released."""
    cheap = record()
    for event in cheap["cost"]["steps"][1]["events"]:
        event["scale"] = "100"
    described = json.loads(json.dumps(describe_domain(DOMAIN, {}, {})))
    found = "; ".join(fault for each in check_measured(cheap, described, measured) for fault in each.faults)
    assert "but events cover" in found
