"""The requirements on this learner's step, derived from spec and domain."""

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial
from math import isclose
from typing import Final

from deniable.foundation.checks import Check
from deniable.foundation.domain import Domain
from deniable.learners.pegs_noisy.plan import keys_before, scale_of, table_events
from deniable.measurements.checks import check_measurements
from deniable.measurements.document import FILE, Measurements
from deniable.measurements.noisy_tables import estimated_records
from deniable.privacy.loss import MechanismEvent
from deniable.privacy.planned import (
    Delta,
    Document,
    ExpectedStep,
    Planned,
    beyond_budget,
    faults_of_claim,
    nothing_wrong,
)
from deniable.privacy.step_costs import StepCost
from deniable.roles import Role

_FLOATING = 1e-9


def planned_tables(spec: Document, domain: Domain, _: StepCost, __: Delta) -> Planned:
    """One noisy table for each attribute, with the scale that follows from the budget."""
    events = table_events(domain, Fraction(spec["learner"]["parameters"]["epsilon"]))
    return Planned(events, nothing_wrong, lambda guarantee: faults_of_claim(guarantee, events, Fraction(0)))


def check_measured(record: Document, described: Document, document: Document) -> tuple[Check, ...]:
    """Check that the noisy tables are those of the spec's keys."""
    return check_measurements(
        record,
        described,
        document,
        learner="pegs_noisy",
        form=partial(_faults_of_form, record["spec"]["document"]["learner"]),
        figures=_faults_of_figures,
    )


def _faults_of_form(asked: Document, measured: Measurements, _: Sequence[MechanismEvent]) -> Iterator[str]:
    """Faults unless there is one table for each attribute of several values and its key, in order."""
    domain = measured.domain
    keys = keys_before(domain, asked["orders"], asked["key_cells"])
    right = [((*key, i), (i,)) for i, key in enumerate(keys) if domain.cardinalities[i] > 1]
    if [(table.attributes, tuple(table.by_values)) for table in measured.tables] != right:
        yield f"{FILE}: its tables must be those of each attribute and its key, in the order of the schema"
    scale = scale_of(domain, Fraction(asked["parameters"]["epsilon"]))
    for turn, table in enumerate(measured.tables, 1):
        laws = [(each.noise.law, each.noise.amount, each.multiplier, each.turn) for each in table.releases]
        if laws != [("laplace", scale, 1, turn)]:
            yield f"{FILE}: the {measured.named(table)} must be released once, with Laplace noise of scale {scale}"


def _faults_of_figures(measured: Measurements, _: Sequence[MechanismEvent]) -> Iterator[str]:
    right = estimated_records(measured.tables)
    if not isclose(measured.records, right, rel_tol=_FLOATING):
        yield f"{FILE}: records is {measured.records}, but its integers give {right}"


EXPECTED_STEPS: Final[Mapping[str, ExpectedStep]] = {
    Role.PARAMETERS: ExpectedStep(
        part="parameters",
        makes={"graph": "graph.json", "model": "model.json", "measured": FILE},
        plan=planned_tables,
        beyond=lambda spec, step, read: beyond_budget(step, spec["learner"]["parameters"], read),
        checks={FILE: check_measured},
    ),
}
