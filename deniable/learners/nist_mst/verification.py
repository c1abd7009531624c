"""The requirements on this learner's steps, derived from spec and domain."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from typing import Any, Final

from deniable.foundation.checks import Check, found
from deniable.foundation.domain import Domain
from deniable.learners.mst.plan import Layout
from deniable.learners.mst.published import faults_of_estimates, faults_of_noise, faults_of_tables
from deniable.learners.mst.verification import planned_tables
from deniable.learners.nist_mst.public_selection import Thresholds, WeightedTable, tables_of
from deniable.measurements.checks import check_measurements
from deniable.measurements.document import FILE as MEASURED
from deniable.measurements.document import Measurements
from deniable.privacy.loss import MechanismEvent
from deniable.privacy.neighbours import RECORD, Relation
from deniable.privacy.planned import Delta, Document, ExpectedStep, Planned, beyond_budget
from deniable.privacy.step_costs import StepCost
from deniable.roles import Role

FILE: Final = "selection.json"
FORMAT: Final = "deniable/public-selection/1"

RELATION: Final[Relation] = replace(
    RECORD,
    conditions=(
        (
            "A selection that is not public. The tables of several attributes follow from a file that the producers "
            "vouch is public (`selection.json`); the guarantee holds only if nothing in it comes from the confidential "
            "table."
        ),
    ),
)
"""One record added or removed, on the condition that the file of the selection is public."""

_FOLLOWS = "the tables are those that follow from the public file's figures"


def stated_tables(spec: Document, domain: Domain) -> tuple[WeightedTable, ...]:
    """The tables that a spec lists."""
    listed = spec["learner"]["selection"]["tables"]
    return tuple(WeightedTable(domain.subset(each["attributes"]), each["weight"]) for each in listed)


def planned_parameters(spec: Document, domain: Domain, step: StepCost, delta_of: Delta) -> Planned:
    """Noisy counts of each attribute, and of the tables that the spec lists."""
    tables = stated_tables(spec, domain)
    layout = Layout.of_cliques(domain, [each.attributes for each in tables], [each.weight for each in tables])
    return planned_tables(spec, domain, layout, step, delta_of)


def check_selection(record: Document, described: Document, document: Document) -> tuple[Check, ...]:
    """Check that the spec's tables follow from the figures of the public file.

    Args:
        record: the record's predicate.
        described: `schema.json`.
        document: `selection.json`; empty if it cannot be read.
    """

    def faults() -> Iterator[str]:
        domain = Domain.from_document(described)
        spec = record["spec"]["document"]
        asked = spec["learner"]["selection"]
        right = stated_tables(spec, domain)
        tables = [{"attributes": [domain.names[i] for i in each.attributes], "weight": each.weight} for each in right]
        if set(document) != {"format", "sha256", "information", "tables"} or document["format"] != FORMAT:
            yield f"{FILE} must be of the format {FORMAT}, with its entries and no other"
            return
        if document["sha256"] != asked["sha256"]:
            yield f"{FILE} must be of the file with the digest {asked['sha256']}, got {document['sha256']}"
        if document["tables"] != tables:
            yield f"{FILE} must have the tables that the spec lists"
        pairs = {domain.subset(each["attributes"]): each["nats"] for each in document["information"]}
        counted = [i for i, size in enumerate(domain.cardinalities) if size > 1]
        if list(pairs) != list(combinations(counted, 2)) or not all(type(nats) is float for nats in pairs.values()):
            yield f"{FILE} must state the mutual information of each pair of attributes once, in order"
            return
        thresholds = Thresholds(
            float(Fraction(asked["least_information"])),
            float(Fraction(asked["strong_information"])),
            asked["max_cells"],
        )
        if tables_of(domain, {(a, b): nats for (a, b), nats in pairs.items()}, thresholds) != right:
            yield "the spec lists tables that do not follow from the mutual information in the public file"

    if not document:
        return (Check(_FOLLOWS, (f"{FILE} is missing, or is not a JSON document",)),)
    return (Check(_FOLLOWS, found(faults)),)


def check_measured(
    record: Mapping[str, Any], described: Mapping[str, Any], document: Mapping[str, Any]
) -> tuple[Check, ...]:
    """Check the measurements; see `deniable.measurements.checks.check_measurements`."""

    def faults_of_cliques(measured: Measurements, events: Sequence[MechanismEvent]) -> Iterator[str]:
        yield from faults_of_tables(measured, events)
        listed = [each.attributes for each in stated_tables(record["spec"]["document"], measured.domain)]
        if [table.attributes for table in measured.larger] != listed or measured.choices:
            yield f"{MEASURED} must have the tables that the spec lists, in their order, and no choice"

    return check_measurements(
        record,
        described,
        document,
        learner="nist_mst",
        form=faults_of_cliques,
        account=faults_of_noise,
        figures=faults_of_estimates,
    )


EXPECTED_STEPS: Final[Mapping[str, ExpectedStep]] = {
    Role.STRUCTURE: ExpectedStep(part=None, makes={"selection": FILE}, checks={FILE: check_selection}),
    Role.PARAMETERS: ExpectedStep(
        part="parameters",
        makes={"graph": "graph.json", "model": "model.json", "measured": MEASURED},
        plan=planned_parameters,
        beyond=lambda spec, step, read: beyond_budget(step, spec["learner"]["parameters"], read),
        checks={MEASURED: check_measured},
    ),
}
