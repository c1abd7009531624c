"""Verification of `measured.json`, for every learner: it has only integers, and only what was charged.

A learner adds its own rules: which tables it may measure, which event covers which release, and which figures follow
from the integers. The use of the counts in a model does not belong here.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from math import prod
from typing import Any, TypeAlias

from deniable.foundation.checks import Check, found
from deniable.foundation.domain import Domain
from deniable.measurements.document import FILE, Measurements
from deniable.privacy.loss import (
    ApproximateEvent,
    ConcentratedEvent,
    DiscreteGaussianEvent,
    DiscreteLaplaceEvent,
    ExponentialEvent,
    MechanismEvent,
    from_record,
)
from deniable.roles import Role

_INTEGERS = "what was measured was released as integers"
_PAID = "what was measured is what was paid for, each question once"
_FIGURES = "the counts that measured.json states are those that its integers come to"

Faults: TypeAlias = Callable[[Measurements, Sequence[MechanismEvent]], Iterator[str]]
"""The faults of a learner's measurements, given the events of the step that made them."""


def check_measurements(
    record: Mapping[str, Any],
    described: Mapping[str, Any],
    document: Mapping[str, Any],
    *,
    learner: str,
    step: str = Role.PARAMETERS,
    form: Faults | None = None,
    account: Faults | None = None,
    figures: Faults | None = None,
) -> tuple[Check, ...]:
    """Check the measurements against the domain and against the charged events.

    Args:
        record: the record's predicate, in the shape of records.
        described: `schema.json`.
        document: `measured.json`; empty if it cannot be read.
        learner: name of the learner, which the document must state.
        step: the step that made it.
        form: further faults of form, such as a table that this learner does not measure.
        account: faults where a release or choice is not covered by its event; in addition to `faults_of_account`.
        figures: faults of figures that follow from the integers, such as denoised counts; not checked if omitted.
    """
    if not document:
        return (check_of_integers((f"{FILE} is missing, or is not a JSON document",)),)
    made: list[Measurements] = []

    def faults_of_form() -> Iterator[str]:
        made.append(Measurements.parsed(Domain.from_document(described).modelled, document))
        yield from made[0].faults()
        if made[0].learner != learner:
            yield f"{FILE} must be of the learner {learner}, got {made[0].learner}"
        stated = (record.get("spec", {}).get("document", {}).get("sampling") or {}).get("kind", "unknown")
        if made[0].universe.sampling != stated:
            yield f"{FILE} must state the sampling of the spec, {stated}, got {made[0].universe.sampling}"
        if form is not None:
            yield from form(made[0], events_of(record, step))

    faults = found(faults_of_form)
    if faults:
        return (check_of_integers(faults),)
    [measured] = made

    def faults_of_cost() -> Iterator[str]:
        events = events_of(record, step)
        yield from faults_of_account(measured, events)
        if account is not None:
            yield from account(measured, events)

    releases = [release for table in measured.tables for release in table.every_release]
    note = (
        f"{len(releases)} releases of {len(measured.tables)} tables, "
        f"{sum(prod(release.sums.shape) for release in releases):,} numbers"
    )
    checks = [check_of_integers((), note), Check(_PAID, found(faults_of_cost))]
    if figures is not None:
        checks.append(Check(_FIGURES, found(lambda: figures(measured, events_of(record, step)))))
    return tuple(checks)


def check_of_integers(faults: tuple[str, ...], note: str = "") -> Check:
    """The check of the form of `measured.json`, of any format."""
    return Check(_INTEGERS, faults, note)


def events_of(record: Mapping[str, Any], step: str) -> tuple[MechanismEvent, ...]:
    """The events of a step."""
    steps = [each for each in record["cost"]["steps"] if each["step"] == step]
    return tuple(from_record(event) for each in steps for event in each["events"])


def cost_of(events: Sequence[MechanismEvent], law: str) -> Fraction:
    """The total charge of events in the unit of a law: 2 rho for Gaussian noise, epsilon for Laplace noise.

    An event that charges a whole budget of epsilon or rho, which later answers divide, covers noise as well.
    """
    covered = Fraction(0)
    for event in events:
        if law == "gaussian" and isinstance(event, DiscreteGaussianEvent):
            covered += event.outputs * event.sensitivity**2 / event.variance
        elif law == "gaussian" and isinstance(event, ConcentratedEvent):
            covered += 2 * event.outputs * event.rho
        elif law == "laplace" and isinstance(event, DiscreteLaplaceEvent):
            covered += event.outputs * event.sensitivity / event.scale
        elif law == "laplace" and isinstance(event, ApproximateEvent):
            covered += event.outputs * event.epsilon
    return covered


def faults_of_account(measured: Measurements, events: Sequence[MechanismEvent]) -> Iterator[str]:
    """Faults if the releases, or the choices, cost more than all events together cover.

    Only the learner knows how many choices an event that charges a whole rho covers.
    """
    for law in ("gaussian", "laplace"):
        releases = [each for table in measured.tables for each in table.every_release if each.noise.law == law]
        spent, covered = sum((release.cost for release in releases), Fraction(0)), cost_of(events, law)
        if spent > covered:
            yield f"releases with {law} noise cost {float(spent):.6g}, but events cover {float(covered):.6g}"
    paid = sum(event.outputs for event in events if isinstance(event, ExponentialEvent))
    if len(measured.choices) > paid and not any(isinstance(event, ConcentratedEvent) for event in events):
        yield f"{len(measured.choices)} choices were made, but events have {paid}"
