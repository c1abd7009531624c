"""Verification of this learner's `measured.json`: its own rules for tables, their shares and figures.

The first version of the file held means of noisy counts as floating-point numbers. They were rounded after the exact
count had been added, so their last digits depend on it: a release with such means does not have the guarantee that it
states, and the check fails. The use of the counts in the model does not belong here; only replay can verify it,
because the words of the simulated populations come from the release key.

Source: Mironov 2012, "On significance of the least significant bits for differential privacy".
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from math import isclose, pi, sqrt
from typing import Any

import numpy as np

from deniable.foundation.checks import Check, found
from deniable.foundation.domain import Attribute
from deniable.learners.loglinear.estimation.buckets import smooth_value_counts, value_counts
from deniable.learners.loglinear.estimation.tailed_counts import BinnedCounts, tailed_counts
from deniable.measurements.checks import check_measurements, check_of_integers, cost_of, events_of
from deniable.measurements.document import FILE, Measurements
from deniable.measurements.noisy_tables import Cells, MeasuredTable, Release
from deniable.models.noisy_marginals import NoisyMarginal, marginal_of
from deniable.privacy.loss import ApproximateEvent, DiscreteGaussianEvent, DiscreteLaplaceEvent, MechanismEvent
from deniable.roles import Role

_STEP = Role.PARAMETERS
_TWO, _LARGEST = 2, 3
# Logarithms on two machines differ in the last digits, and the denoiser computes many of them.
_FLOATING, _DENOISED = 1e-9, 1e-6


def check_measured(
    record: Mapping[str, Any], described: Mapping[str, Any], document: Mapping[str, Any]
) -> tuple[Check, ...]:
    """Check the measurements against the domain and against the charged events.

    Args:
        record: the record's predicate, in the shape of records.
        described: `schema.json`.
        document: `measured.json`; empty if it cannot be read.
    """
    if document and "format" not in document:
        means = found(lambda: _faults_of_means(document, events_of(record, _STEP)))
        return (check_of_integers(means, "means of integers, in which no rounding tells anything"),)
    return check_measurements(
        record,
        described,
        document,
        learner="loglinear",
        step=_STEP,
        form=_faults_of_form,
        account=_faults_of_account,
        figures=_faults_of_figures,
    )


def _faults_of_form(measured: Measurements, _: Sequence[MechanismEvent]) -> Iterator[str]:
    """Faults of tables that this learner does not measure."""
    domain = measured.domain
    counted = [i for i, size in enumerate(domain.cardinalities) if size > 1]
    if [one.attributes for one in measured.ones] != [(i,) for i in counted]:
        yield f"{FILE} must have each attribute of several values by itself, in the order of the domain"
    laws = {release.noise.law for table in measured.tables for release in table.every_release}
    if len(laws) > 1:
        yield f"{FILE} must have noise of one law, got {' and '.join(sorted(laws))}"
    if laws == {"gaussian"}:
        later = [release for one in measured.ones for release in (*_in_turn(one)[1:], *_binned_in_turn(one)[1:])]
        later += [release for table in measured.larger for release in table.releases]
        amounts = {release.noise.amount for release in later}
        if len(amounts) > 1:
            yield f"{FILE} must have Gaussian noise of one variance beyond single attributes, got {len(amounts)}"
    for table in measured.tables:
        yield from (f"{FILE}, {measured.named(table)}: {fault}" for fault in _faults_of_table(measured, table))
    if set(measured.figures) != {"signal"}:
        yield f"{FILE} must state the signal, and no other figure of its own"
    for choice in measured.choices:
        if choice.purpose not in ("tree", "extra") or choice.attributes is not None:
            yield f"{FILE}: a choice must be one of its candidates, got {choice}"


def _faults_of_table(measured: Measurements, table: MeasuredTable) -> Iterator[str]:
    attributes, by_values = table.attributes, table.by_values
    if len(attributes) == 1:
        if by_values != attributes or table.differences:
            yield "a single attribute must be counted by its values"
    elif len(attributes) > _LARGEST or (by_values and (len(attributes) != _TWO or len(by_values) != 1)):
        yield "its attributes must be two or three, one of two by values at most"
    else:
        twos = tuple(i for i, size in zip(attributes, measured.cells(table), strict=True) if size == _TWO)
        if table.differences != twos:
            names = [measured.domain.names[i] for i in twos]
            yield f"its differences must be those of {', '.join(names) or 'no attribute'}"
    if table.denoised is None:
        yield "it must have denoised counts"
    for release in table.every_release:
        if release.noise.law == "laplace" and release.multiplier != 1:
            yield f"its multiplier must be 1, got {release.multiplier}"


def _faults_of_means(document: Mapping[str, Any], events: Sequence[MechanismEvent]) -> Iterator[str]:
    """Faults of a document of the first version: all means with Gaussian noise that are not exact.

    A mean over a power of two of releases is exact. An attribute that was measured twice states the shares of both
    measurements; its event states those of the first.
    """
    first = {event.query: event.outputs for event in events if isinstance(event, DiscreteGaussianEvent)}
    if not first:
        return
    alone = [
        entry
        for name, entry in document["attributes"].items()
        if not _is_exact(entry["shares"])
        or (entry["shares"] > (shares := first.get(f"counts of {name}", entry["shares"])) and not _is_exact(shares))
    ]
    leaking = [*alone, *(entry for entry in document["tables"] if not _is_exact(entry["shares"]))]
    if leaking:
        cells = sum(np.asarray(entry["noisy"]).size for entry in leaking)
        yield (
            f"{FILE} holds noisy counts as floating-point numbers: the last digits of up to {cells:,} of them, in "
            f"{len(leaking)} tables with shares not a power of two, depend on the exact count, so THE RELEASE IS NOT "
            "PRIVATE: the epsilon and delta that it states do not hold. Withdraw it and everything that came with it, "
            "notify all who have it, and release again with this version; its charge remains"
        )


def _is_exact(shares: int) -> bool:
    """Whether a mean over this number of releases needs no rounding: the number is a power of two."""
    return shares & (shares - 1) == 0


def _faults_of_account(measured: Measurements, events: Sequence[MechanismEvent]) -> Iterator[str]:
    """Faults where a one-way marginal differs from its event, or tables cost more than the rest covers."""
    stated = {event.variance for event in events if isinstance(event, DiscreteGaussianEvent)}
    for table in measured.tables:
        for release in table.every_release:
            if release.noise.law == "gaussian" and release.noise.amount not in stated:
                yield f"the {measured.named(table)} has noise of variance {release.noise.amount}, but no event has"
    names = {id(one): measured.domain.names[one.attributes[0]] for one in measured.ones}
    counted = [(f"counts of {names[id(one)]}", _in_turn(one)) for one in measured.ones]
    counted += [(f"counts of {names[id(one)]} by growing bins", _binned_in_turn(one)) for one in _binned(measured)]
    again = Fraction(0)
    for (query, (first, *more)), event in zip(counted, _counts(events), strict=False):
        covered = cost_of((event,), first.noise.law)
        if event.query != query or covered != first.cost:
            yield f"{query} first had noise of cost {float(first.cost):.6g}, but its event has {float(covered):.6g}"
        elif event.outputs != first.multiplier:
            yield f"{query} first had {first.multiplier} draws of noise, but its event has {event.outputs}"
        again += sum((release.cost for release in more), Fraction(0))
    planned = _cost_of_tables(measured, events)
    asked = again + sum((table.cost for table in measured.larger), Fraction(0))
    if asked > planned:
        yield (
            f"tables of several and repeated single attributes were given noise of cost {float(asked):.6g}, "
            f"but events have {float(planned):.6g}"
        )
    made = Counter(choice.purpose for choice in measured.choices)
    for purpose, number in made.items():
        paid = sum(event.query.startswith(f"choice of {purpose} table") for event in events)
        if number > paid:
            yield f"{number} choices were made for the purpose {purpose}, but events have {paid}"


def _counts(events: Sequence[MechanismEvent]) -> list[MechanismEvent]:
    """The events of noisy counts: first those of one-way marginals, then those of tables."""
    return [event for event in events if isinstance(event, DiscreteGaussianEvent | DiscreteLaplaceEvent)]


def _cost_of_tables(measured: Measurements, events: Sequence[MechanismEvent]) -> Fraction:
    """The charge of the events for tables of several attributes and for repeated one-way marginals."""
    together = [event for event in events if isinstance(event, ApproximateEvent)]
    alone = len(measured.ones) + len(_binned(measured))
    return cost_of([*together, *_counts(events)[alone:]], _law(measured))


def _law(measured: Measurements) -> str:
    return measured.tables[0].releases[0].noise.law


def _faults_of_figures(measured: Measurements, events: Sequence[MechanismEvent]) -> Iterator[str]:
    """Faults where a stated figure does not follow from the integers.

    The denoised counts of tables and the order also depend on the simulated populations, and are compared by replay.
    """
    if not measured.ones:
        return
    tables = [marginal_of(table) for table in measured.larger if not table.differences and not table.by_values]
    ones = [_counted(measured, table) for table in measured.ones]
    first = [_counted(measured, _first(table)) for table in measured.ones]
    figures = {
        "records": (measured.records, _total([*ones, *tables])),
        "signal": (measured.figures["signal"], _signal(measured, _total(first), events)),
    }
    for name, (said, right) in figures.items():
        if not isclose(said, right, rel_tol=_FLOATING):
            yield f"{FILE}: {name} is {said}, but its integers give {right}"
    total = _total(ones)
    for entry, one in zip(measured.ones, ones, strict=True):
        attribute = measured.domain.attributes[entry.attributes[0]]
        known = measured.domain.public_shares.get(entry.attributes[0])
        # Each result follows from the integers.
        rights = [total * np.asarray(known)] if known is not None else _denoised(attribute, one, total)
        if not any(np.allclose(entry.denoised, right, rtol=_DENOISED, atol=_DENOISED * total) for right in rights):  # type: ignore[arg-type]
            yield f"{FILE}: the denoised counts of {attribute.name} do not follow from its integers"


def _denoised(attribute: Attribute, one: NoisyMarginal | BinnedCounts, total: float) -> Iterator[Cells]:
    """The denoised counts of an attribute, as each version of the learner would make them."""
    if isinstance(one, BinnedCounts):
        yield tailed_counts(one, total)
        return
    # Version 2 had no separate prior for nominal attributes with many values. Since version 5, excess of counts is
    # subtracted equally in tables with many attributes.
    for law in (value_counts, smooth_value_counts, partial(value_counts, equally=True)):
        yield law(attribute, one, total)


def _counted(measured: Measurements, table: MeasuredTable) -> NoisyMarginal | BinnedCounts:
    """The noisy counts of an attribute, also of its growing bins if these were counted."""
    own, binned = marginal_of(table), table.of_bins
    if binned is None:
        return own
    return BinnedCounts.of(measured.domain.attributes[table.attributes[0]], own, marginal_of(binned))


def _binned(measured: Measurements) -> list[MeasuredTable]:
    """The one-way marginals that were also counted by growing bins."""
    return [one for one in measured.ones if one.binned]


def _in_turn(table: MeasuredTable) -> list[Release]:
    """The table's releases in chronological order."""
    return sorted(table.releases, key=lambda release: release.turn)


def _binned_in_turn(table: MeasuredTable) -> list[Release]:
    """The releases of the table's growing bins in chronological order."""
    return sorted(table.binned, key=lambda release: release.turn)


def _first(table: MeasuredTable) -> MeasuredTable:
    """The table with its first release only, and the first one of its growing bins."""
    return replace(table, releases=(_in_turn(table)[0],), binned=tuple(_binned_in_turn(table)[:1]))


def _total(tables: Sequence[NoisyMarginal | BinnedCounts]) -> float:
    """Number of records: the precision-weighted mean of the sums of tables; at least 1."""
    found = [table.of_bins if isinstance(table, BinnedCounts) else table for table in tables]
    precision = [1 / table.variance_of_sum for table in found]
    sums = [float(table.values.sum()) for table in found]
    return max(1.0, sum(p * s for p, s in zip(precision, sums, strict=True)) / sum(precision))


def _signal(measured: Measurements, total: float, events: Sequence[MechanismEvent]) -> float:
    """Records divided by the mean noise of a table, if the tables' budget is divided among two per attribute."""
    m = len(measured.ones)
    if m == 1:
        return total
    each = float(_cost_of_tables(measured, events)) / (2 * m)
    return total / (1 / each if _law(measured) == "laplace" else sqrt(2 / pi / each))
