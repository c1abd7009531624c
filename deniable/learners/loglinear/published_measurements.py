"""Verification of `measured.json`: this learner released integers, and only what was paid for.

The first version of the file held means of noisy counts as floating-point numbers. They were rounded after the exact
count had been added, so their last digits depend on it: a release with such means does not have the guarantee that it
states, and the check fails. How the counts enter the model does not belong here; only replay can verify that, because
the words of the simulated populations come from the release key.

Source: Mironov 2012, "On significance of the least significant bits for differential privacy".
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import isclose, isfinite, pi, prod, sqrt
from typing import Any

import numpy as np

from deniable.foundation.checks import Check, found
from deniable.foundation.domain import Attribute, Domain
from deniable.foundation.errors import InvalidInput
from deniable.learners.loglinear.estimation.buckets import value_counts
from deniable.models.noisy_marginals import Cells, NoisyMarginal
from deniable.privacy.loss import (
    ApproximateEvent,
    DiscreteGaussianEvent,
    DiscreteLaplaceEvent,
    MechanismEvent,
    from_record,
)

MEASURED = "measured.json"
FORMAT = "deniable/measured/2"

_INTEGERS = "what was measured was released as integers"
_PAID = "what was measured is what was paid for, each question once"
_FIGURES = "the counts that measured.json states are those that its integers come to"
_ENTRIES = {
    "format",
    "noise",
    "amount",
    "records",
    "signal",
    "order",
    "buckets",
    "attributes",
    "tables",
    "choices",
}
_STEP = "learn_parameters"
_TWO, _LARGEST = 2, 3
# Logarithms on two machines differ in the last digits; the denoiser takes many of them.
_FLOATING, _DENOISED = 1e-9, 1e-6


def check_measured(
    record: Mapping[str, Any], described: Mapping[str, Any], document: Mapping[str, Any]
) -> tuple[Check, ...]:
    """Check the measurements against the domain and against the events that were paid for.

    Args:
        record: the record's predicate, in the shape of records.
        described: `schema.json`.
        document: `measured.json`; empty if it cannot be read.
    """
    if not document:
        return (Check(_INTEGERS, (f"{MEASURED} is missing, or is not a JSON document",)),)
    if "format" not in document:
        means = found(lambda: _faults_of_means(document, _events(record)))
        return (Check(_INTEGERS, means, "means of integers, in which no rounding tells anything"),)
    made: list[_Measured] = []

    def form() -> Iterator[str]:
        made.append(_Measured(document, Domain.from_document(described).modelled))
        yield from made[0].faults_of_form()

    faults = found(form)
    if faults:
        return (Check(_INTEGERS, faults),)
    [measured] = made
    counted = [entry.table for entry in measured.entries]
    note = (
        f"{sum(len(table.releases) for table in counted)} releases of {len(counted)} tables, "
        f"{sum(prod(release.sums.shape) for table in counted for release in table.releases):,} numbers"
    )
    return (
        Check(_INTEGERS, (), note),
        Check(_PAID, found(lambda: _faults_of_account(measured, _events(record)))),
        Check(_FIGURES, found(lambda: _faults_of_figures(measured, _events(record)))),
    )


def _events(record: Mapping[str, Any]) -> tuple[MechanismEvent, ...]:
    """The events of the step that made the measurements."""
    steps = [step for step in record["cost"]["steps"] if step["step"] == _STEP]
    return tuple(from_record(event) for step in steps for event in step["events"])


@dataclass(frozen=True, eq=False)
class _Entry:
    """One table, as in the document.

    Attributes:
        name: its name in a fault.
        attributes: column numbers of its attributes.
        by_values: those of them that are counted by values.
        table: its releases.
        denoised: its denoised counts.
        differences: attributes that it states to be released as differences; none in a one-way marginal.
    """

    name: str
    attributes: tuple[int, ...]
    by_values: tuple[int, ...]
    table: NoisyMarginal
    denoised: Cells
    differences: Any


class _Measured:
    """The document, read with the public domain."""

    def __init__(self, document: Mapping[str, Any], domain: Domain) -> None:
        self.document, self.domain = document, domain
        self.noise, self.amount = document.get("noise"), Fraction(str(document.get("amount", 0)))

    @cached_property
    def ones(self) -> list[_Entry]:
        """One-way marginals."""
        return [
            self._entry(f"attribute {name}", (self.domain.index(name),), (self.domain.index(name),), entry)
            for name, entry in self.document["attributes"].items()
        ]

    @cached_property
    def tables(self) -> list[_Entry]:
        """Tables of several attributes."""
        index = self.domain.index
        return [
            self._entry(
                f"table {number} ({', '.join(map(str, entry['attributes']))})",
                tuple(index(name) for name in entry["attributes"]),
                tuple(index(name) for name in entry["by_values"]),
                entry,
            )
            for number, entry in enumerate(self.document["tables"], 1)
        ]

    @cached_property
    def entries(self) -> list[_Entry]:
        """All tables."""
        return [*self.ones, *self.tables]

    @cached_property
    def sizes(self) -> list[int]:
        """Number of buckets of each attribute."""
        return [max(self.document["buckets"][name]) + 1 for name in self.domain.names]

    def faults_of_form(self) -> Iterator[str]:
        """Faults of a document that is not of this version, or holds anything but integers of the right shape."""
        if self.document["format"] != FORMAT:
            yield f"{MEASURED} must be of the format {FORMAT}, got {self.document['format']}; take a later version"
            return
        if set(self.document) != _ENTRIES:
            yield f"{MEASURED} must have the entries of its format, got {', '.join(sorted(self.document))}"
        if self.noise not in ("gaussian", "laplace") or self.amount <= 0:
            yield f"{MEASURED} must name its noise, and an amount above 0"
        yield from self._faults_of_buckets()
        counted = [attribute.name for attribute in self.domain.attributes if attribute.cardinality > 1]
        if list(self.document["attributes"]) != counted:
            yield f"{MEASURED} must have each attribute of several values by itself, in the order of the domain"
        for entry in self.entries:
            yield from (f"{MEASURED}, {entry.name}: {fault}" for fault in self._faults_of_entry(entry))
        asked = Counter((entry.attributes, entry.by_values) for entry in self.entries)
        yield from (f"{MEASURED} has a table of {attributes} twice" for (attributes, _), n in asked.items() if n > 1)
        for choice in self.document["choices"]:
            if not _is_choice(choice):
                yield f"{MEASURED}: a choice must be one of its candidates, got {choice}"

    def _entry(
        self, name: str, attributes: tuple[int, ...], by_values: tuple[int, ...], entry: Mapping[str, Any]
    ) -> _Entry:
        try:
            table = NoisyMarginal.from_document(attributes, entry["releases"], self.noise, str(self.amount))  # type: ignore[arg-type]
        except InvalidInput as error:
            raise InvalidInput(f"{MEASURED}, {name}: {error}") from None
        denoised = np.asarray(entry["denoised"], np.float64)
        return _Entry(name, attributes, by_values, table, denoised, entry.get("differences"))

    def _faults_of_buckets(self) -> Iterator[str]:
        buckets = self.document["buckets"]
        if list(buckets) != list(self.domain.names):
            yield f"{MEASURED} must have the buckets of each attribute, in the order of the domain"
            return
        for attribute in self.domain.attributes:
            own = buckets[attribute.name]
            whole = len(own) == attribute.cardinality and all(type(bucket) is int for bucket in own)
            if not whole or sorted(set(own)) != list(range(len(set(own)))):
                yield f"{MEASURED}: each value of {attribute.name} must have a bucket, numbered from 0 without a gap"

    def _faults_of_entry(self, entry: _Entry) -> Iterator[str]:
        several = len(entry.attributes) > 1
        if several and not (
            list(entry.attributes) == sorted(set(entry.attributes))
            and len(entry.attributes) <= _LARGEST
            and (not entry.by_values or (len(entry.attributes) == _TWO and len(entry.by_values) == 1))
            and set(entry.by_values) <= set(entry.attributes)
        ):
            yield "its attributes must be two or three in the order of the domain, one of two by values at most"
            return
        cells = tuple(self.domain.cardinalities[i] if i in entry.by_values else self.sizes[i] for i in entry.attributes)
        asked = tuple(1 if several and size == _TWO else size for size in cells)
        if not entry.table.releases:
            yield "it must have been released"
        for release in entry.table.releases:
            if release.sums.shape != asked:
                yield f"its sums must have the shape {asked}, got {release.sums.shape}"
            multiplier = release.shares if self.noise == "gaussian" else 1
            if release.multiplier != multiplier:
                yield f"its multiplier must be {multiplier}, got {release.multiplier}"
        if entry.denoised.shape != cells:
            yield f"its denoised counts must have the shape {cells}, got {entry.denoised.shape}"
        elif not (np.isfinite(entry.denoised).all() and (entry.denoised >= 0).all()):
            yield "its denoised counts must be numbers, none below 0"
        if several:
            twos = [self.domain.names[i] for i, size in zip(entry.attributes, cells, strict=True) if size == _TWO]
            if entry.differences != twos:
                yield f"its differences must be those of {', '.join(twos) or 'no attribute'}"


def _is_choice(choice: Any) -> bool:
    return (
        isinstance(choice, dict)
        and set(choice) == {"purpose", "candidates", "chosen"}
        and choice["purpose"] in ("tree", "extra")
        and type(choice["candidates"]) is int
        and type(choice["chosen"]) is int
        and 0 <= choice["chosen"] < choice["candidates"]
    )


def _faults_of_means(document: Mapping[str, Any], events: Sequence[MechanismEvent]) -> Iterator[str]:
    """Faults of a document of the first version: all means with Gaussian noise that are not exact.

    A mean over a power of two of releases is exact. An attribute that was measured twice states the shares of both
    times; its event states those of the first.
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
            f"{MEASURED} holds noisy counts as floating-point numbers: the last digits of up to {cells:,} of them, in "
            f"{len(leaking)} tables with shares not a power of two, depend on the exact count, so THE RELEASE IS NOT "
            "PRIVATE: the epsilon and delta that it states do not hold. Withdraw it and everything that came with it, "
            "notify all who have it, and release again with this version; its charge remains"
        )


def _is_exact(shares: int) -> bool:
    """Whether a mean over this number of releases needs no rounding: the number is a power of two."""
    return shares & (shares - 1) == 0


def _faults_of_account(measured: _Measured, events: Sequence[MechanismEvent]) -> Iterator[str]:
    """Faults where more was measured than the events cover, or a query is counted twice."""
    alone = _counts(events)[: len(measured.ones)]
    again = 0
    for one, event in zip(measured.ones, alone, strict=True):
        first, *more = sorted(one.table.releases, key=lambda release: release.turn)
        name = measured.domain.names[one.attributes[0]]
        shares = _shares(event, measured.amount)
        if event.query != f"counts of {name}" or shares != first.shares:
            yield f"{one.name} was first given {first.shares} shares, but its event has {shares}"
        again += sum(release.shares for release in more)
    planned = _shares_of_tables(measured, events)
    asked = again + sum(entry.table.shares for entry in measured.tables)
    if asked > planned:
        yield f"tables of several and repeated single attributes were given {asked} shares, but events have {planned}"
    made = Counter(choice["purpose"] for choice in measured.document["choices"])
    for purpose, number in made.items():
        paid = sum(event.query.startswith(f"choice of {purpose} table") for event in events)
        if number > paid:
            yield f"{number} choices were made for the purpose {purpose}, but events have {paid}"
    turns = [release.turn for entry in measured.entries for release in entry.table.releases]
    if len(set(turns)) < len(turns):
        yield "two releases have the same turn"
    if max(turns, default=0) > len(turns) + len(measured.document["choices"]):
        yield "a turn belongs to no release and no choice: a query is missing from the document"


def _counts(events: Sequence[MechanismEvent]) -> list[MechanismEvent]:
    """The events of noisy counts: first those of one-way marginals, then those of tables."""
    return [event for event in events if isinstance(event, DiscreteGaussianEvent | DiscreteLaplaceEvent)]


def _shares_of_tables(measured: _Measured, events: Sequence[MechanismEvent]) -> Fraction:
    """Shares that the events cover for tables of several attributes and for repeated one-way marginals."""
    together = [event.epsilon * measured.amount for event in events if isinstance(event, ApproximateEvent)]
    one_by_one = [_shares(event, measured.amount) for event in _counts(events)[len(measured.ones) :]]
    return sum([*together, *one_by_one], Fraction(0))


def _shares(event: MechanismEvent, amount: Fraction) -> Fraction:
    """Number of shares that an event covers; 0 for noise of another amount."""
    if isinstance(event, DiscreteGaussianEvent):
        return Fraction(event.outputs) if event.variance == amount * event.sensitivity**2 else Fraction(0)
    if isinstance(event, DiscreteLaplaceEvent):
        return event.outputs * amount * event.sensitivity / event.scale
    return Fraction(0)


def _faults_of_figures(measured: _Measured, events: Sequence[MechanismEvent]) -> Iterator[str]:
    """Faults where a stated figure does not follow from the integers.

    The denoised counts of tables and the order also depend on the simulated populations, and are compared by replay.
    """
    if not measured.ones:
        return
    tables = [entry.table for entry in measured.tables if not _has_differences(measured, entry) and not entry.by_values]
    ones = [entry.table for entry in measured.ones]
    first = [_first(table) for table in ones]
    figures = {
        "records": _total([*ones, *tables]),
        "signal": _signal(measured, _total(first), events),
    }
    for name, right in figures.items():
        said = measured.document[name]
        if type(said) is not float or not isfinite(said) or not isclose(said, right, rel_tol=_FLOATING):
            yield f"{MEASURED}: {name} is {said}, but its integers give {right}"
    total = _total(ones)
    for entry in measured.ones:
        attribute: Attribute = measured.domain.attributes[entry.attributes[0]]
        known = measured.domain.public_shares.get(entry.attributes[0])
        right_counts = (
            value_counts(attribute, entry.table, total, laplace=measured.noise == "laplace")
            if known is None
            else total * known
        )
        if not np.allclose(entry.denoised, right_counts, rtol=_DENOISED, atol=_DENOISED * total):
            yield f"{MEASURED}: the denoised counts of {attribute.name} do not follow from its integers"


def _has_differences(measured: _Measured, entry: _Entry) -> bool:
    return bool(entry.table.differences(measured.sizes))


def _first(table: NoisyMarginal) -> NoisyMarginal:
    """The table's first release."""
    first = min(table.releases, key=lambda release: release.turn)
    return NoisyMarginal(table.attributes, (first,), table.noise, table.amount)


def _total(tables: Sequence[NoisyMarginal]) -> float:
    """Number of records: the precision-weighted mean of the sums of tables; at least 1."""
    precision = [1 / (float(table.deviation) ** 2 * prod(table.shape)) for table in tables]
    sums = [float(table.values.sum()) for table in tables]
    return max(1.0, sum(p * s for p, s in zip(precision, sums, strict=True)) / sum(precision))


def _signal(measured: _Measured, total: float, events: Sequence[MechanismEvent]) -> float:
    """Records divided by the mean noise of a table, if the tables' shares are divided among two per attribute."""
    m = len(measured.ones)
    if m == 1:
        return total
    each = float(_shares_of_tables(measured, events)) / (2 * m)
    amount = float(measured.amount)
    return total / (amount / each if measured.noise == "laplace" else sqrt(2 / pi * amount / each))
