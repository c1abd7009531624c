"""Adds to the step that makes a model a certificate of its error: one more number, drawn once the model is fixed.

Its meaning (measurements.certificate) and its cost (certificate_costs) do not belong here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from deniable.foundation.domain import Domain
from deniable.foundation.errors import InvalidInput
from deniable.foundation.keys import Parameter, StreamOpener
from deniable.foundation.noise import DiscreteGaussian, DiscreteLaplace
from deniable.learners.certificate_costs import CertificateCost
from deniable.learners.loglinear.estimation.counting import Partition, SmallTables
from deniable.learners.under_rules import modelled_counter
from deniable.measurements.certificate import (
    POPULATION,
    Certificate,
    Counts,
    Workload,
    largest_error,
    records_of,
    scaled,
    workload_of,
)
from deniable.measurements.document import Measurements
from deniable.measurements.noisy_tables import NoiseLaw
from deniable.mechanisms import CERTIFICATE, MEASURED, MODEL, Counter, Made, PartDelta, PlannedStep, Run
from deniable.models.model_formats import model_from_document
from deniable.privacy.accounting import best

if TYPE_CHECKING:
    from deniable.learners.entry import LearnerEntry

E = TypeVar("E", bound="LearnerEntry")

_BLOCK = 100_000
"""Number of records of the population drawn per batch."""
_TWO = 2
_ROUNDING = 1e-12


def without_certificate(entry: E) -> E:
    """The entry with which the learner itself is planned: its budget without the certificate's share."""
    budget: Any = entry.parameters  # type: ignore[attr-defined] # of every learner that certifies
    left = _cost(entry, lambda delta: delta).left
    return entry.model_copy(update={"certificate": None, "parameters": budget.model_copy(update={"epsilon": left})})


def certified(step: PlannedStep, entry: "LearnerEntry", domain: Domain, delta_of: PartDelta) -> PlannedStep:
    """The step with its certificate; a step without measurements is returned unchanged.

    Args:
        step: the step of `without_certificate`, on the whole table.
        entry: the spec's entry.
        domain: the table's domain.
        delta_of: see PartDelta.

    Raises:
        InvalidInput: there is no pair of attributes, or the sum exceeds the budget.
    """
    if MEASURED not in step.makes:
        return step
    counted = sum(size > 1 for size in domain.modelled.cardinalities)
    if counted < _TWO:
        raise InvalidInput(
            f"learner.certificate must be left out for a table with fewer than two attributes of several values, got "
            f"{counted}: there is no pair whose error it could bound."
        )
    cost = _cost(entry, delta_of)
    event = cost.event(step.events)
    events = (*step.events, event)
    guarantee = best(events, cost.delta)
    if guarantee.epsilon > float(cost.epsilon) * (1 + _ROUNDING):
        raise InvalidInput(
            f"model and certificate together must cost at most epsilon {float(cost.epsilon):g}, got "
            f"{guarantee.epsilon:g}; change learner.certificate.share."
        )
    law = _law_of(cost, step)
    return replace(
        step,
        events=events,
        guarantee=guarantee,
        parameters={**step.parameters, "certificate": [law.law, law.amount]},
        shown={**step.shown, "certificate_share": float(cost.share)},
        makes=(*step.makes, CERTIFICATE),
        run=partial(_run, step.run, domain, law),
    )


def _cost(entry: "LearnerEntry", delta_of: PartDelta) -> CertificateCost:
    budget: Any = entry.parameters  # type: ignore[attr-defined] # of every learner that certifies
    share = Fraction(0) if entry.certificate is None else entry.certificate.share
    return CertificateCost(budget.epsilon, delta_of(budget.delta), share)


def _law_of(cost: CertificateCost, step: PlannedStep) -> NoiseLaw:
    noise = cost.noise(step.events)
    return NoiseLaw(noise, cost.amount(noise))


def _run(
    run: Run, domain: Domain, law: NoiseLaw, counter: Counter, given: Mapping[str, Any], open_stream: StreamOpener
) -> Made:
    made = run(counter, given, open_stream)
    measured = Measurements.from_document(domain.modelled, made.products[MEASURED.name])
    # Everything up to here was released, and determines the query and the counts with which it compares.
    workload, records = workload_of(measured), records_of(measured)
    counted: Sequence[Counts] = []
    model: tuple[Counts, ...] = ()
    if workload.pairs:
        partition = Partition(tuple(own.astype("uint16") for own in measured.buckets))
        population = _population(domain, made.products[MODEL.name], partition, workload, open_stream)
        model = tuple(scaled(own, records, POPULATION) for own in population)
        own = modelled_counter(domain, counter) if domain.modelled is not domain else counter
        counted = own.count(partial(SmallTables, partition, workload.pairs), "certificate").tables
    certificate = Certificate(
        domain=domain.modelled,
        part=measured.universe.part,
        workload=workload,
        records=records,
        population=POPULATION,
        model=model,
        released=noisy_error(counted, model, law, open_stream, domain.modelled, workload),
        noise=law,
    )
    return replace(made, products={**made.products, CERTIFICATE.name: certificate.document()})


def noisy_error(
    tables: Sequence[Counts],
    model: Sequence[Counts],
    law: NoiseLaw,
    open_stream: StreamOpener,
    domain: Domain,
    workload: Workload,
) -> int:
    """The largest error of the model plus noise, an integer.

    Args:
        tables: counts of the rows, confidential.
        model: the model's counts, of the same shapes.
        law: the law of the noise.
        open_stream: opens the streams of the step.
        domain: the modelled attributes.
        workload: the pairs.
    """
    parameters: dict[str, Parameter] = {
        "law": law.law,
        "amount": law.amount,
        "domain": domain.digest,
        "pairs": [[domain.names[i] for i in pair] for pair in workload.pairs],
    }
    stream = open_stream(mechanism="certificate", parameters=parameters)
    drawn = DiscreteLaplace(law.amount) if law.law == "laplace" else DiscreteGaussian(law.amount)
    return int((largest_error(tables, model) + drawn.sample(stream, 1))[0])


def _population(
    domain: Domain,
    document: Mapping[str, Any],
    partition: Partition,
    workload: Workload,
    open_stream: StreamOpener,
) -> list[Counts]:
    """Counts of records drawn from the model under its rules; exact tables would need the full joint distribution."""
    net, tally = model_from_document(domain, document), SmallTables(partition, workload.pairs)
    columns = domain.subset(domain.modelled.names)
    stream = open_stream(mechanism="certificate_population", parameters={"records": POPULATION})
    for begun in range(0, POPULATION, _BLOCK):
        rows = min(_BLOCK, POPULATION - begun)
        tally.add(net.sample_evenly(stream.take(rows * len(domain)))[:, columns])
    return tally.tables
