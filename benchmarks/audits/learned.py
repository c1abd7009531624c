"""Audits of steps that release noisy integers and choices, whichever learner they are of: no learner is named here."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, TypeVar

import numpy as np

from benchmarks.audits.auditing import Neighbours, Shift
from benchmarks.audits.bounds import divergence_of_shift, kullback_leibler
from benchmarks.audits.tracing import Answer, Chosen, Noised, NotAlike, Untraceable, losses_of, traced
from deniable.foundation.domain import Codes, Domain
from deniable.foundation.keys import Parameter, ReleaseKey, WordStream
from deniable.foundation.tables import Tally
from deniable.mechanisms import Made, PlannedStep

T = TypeVar("T", bound=Tally)

MOST_EQUAL = 240
"""Largest number of copies of the differing record."""
_CENTRE = 80


@dataclass(frozen=True)
class Rows:
    """Counts rows in memory, as the counter of a release does."""

    codes: Codes

    def count(self, empty: Callable[[], T], name: str) -> T:  # noqa: ARG002 - of its protocol
        """Count all rows."""
        tally = empty()
        tally.add(self.codes)
        return tally

    def advance(self, amount: int) -> None:
        """Do not report progress."""


@dataclass
class StepExperiment:
    """A step, as planned and run in a release.

    Attributes:
        step: the step.
        given: products of earlier steps.
        history: makes earlier answers, which are forced in every run and determine the query that is audited; by
            default there are none, and all answers are audited.
    """

    step: PlannedStep
    given: Mapping[str, Any] = field(default_factory=dict)
    history: Callable[[], Sequence[Answer]] = tuple

    @cached_property
    def before(self) -> Sequence[Answer]:
        """The earlier answers, made once."""
        return self.history()

    def run(self, codes: Codes, key: ReleaseKey, forced: Sequence[Answer] | None = None) -> tuple[list[Answer], Made]:
        """Run the step with a key, or force its answers."""

        def open_stream(*, mechanism: str, parameters: dict[str, Parameter]) -> WordStream:
            return key.stream(step=self.step.name, mechanism=mechanism, inputs="audit", parameters=parameters)

        drawn = list(self.before) if forced is None and self.before else forced
        with traced(drawn, draws_on=forced is None and bool(self.before)) as trace:
            made = self.step.run(Rows(codes), self.given, open_stream)
        return trace.answers, made

    def forced(self, run: Codes, tables: Sequence[Codes], key: ReleaseKey) -> list[list[Answer]]:
        """Return the answers of a run, and the same answers of each of several tables.

        Raises:
            Untraceable: something public depends on the table although all answers are the same.
        """
        answers, made = self.run(run, key)
        found = []
        for table in tables:
            if table is run:
                found.append(answers)
                continue
            other, again = self.run(table, key, answers)
            for product in self.step.makes:
                if product.is_public and repr(made.products[product.name]) != repr(again.products[product.name]):
                    raise Untraceable(f"the product {product.name} depends on more than noisy integers and choices.")
            if made.figures != again.figures:
                raise Untraceable("public figures depend on more than noisy integers and choices.")
            found.append(other)
        return [own[len(self.before) :] for own in found]

    def log_probabilities(self, run: Codes, tables: Sequence[Codes], key: ReleaseKey) -> list[float]:
        """See `auditing.Experiment`."""
        return [sum(each.log_probability() for each in answers) for answers in self.forced(run, tables, key)]

    def shifts(self, one: Codes, other: Codes, key: ReleaseKey) -> list[Shift] | None:
        """See `auditing.Experiment`."""
        try:
            return list(losses_of(*self.forced(one, (one, other), key)))
        except NotAlike:
            return None

    def divergence(self, one: Codes, other: Codes, key: ReleaseKey) -> float:
        """See `auditing.Experiment`: the sum over answers, given those before."""
        total = 0.0
        for first, second in zip(*self.forced(one, (one, other), key), strict=True):
            if isinstance(first, Noised) and isinstance(second, Noised):
                total += divergence_of_shift(first.law, first.exact - second.exact) / first.copies
            if isinstance(first, Chosen) and isinstance(second, Chosen):
                both = (each.weights - np.logaddexp.reduce(each.weights) for each in (first, second))
                total += kullback_leibler(*both)
        return total


def made_up(numbers: list[int]) -> Any:
    """Return the generator of a made-up table, which is the same in every audit."""
    return np.random.default_rng(numbers)  # noqa: TID251 - nothing is published or hidden by it


def series_of(domain: Domain, together: int = 1) -> tuple[Neighbours, ...]:
    """Return series of tables of a domain, in each of which one record is absent, there, and there many times.

    Args:
        domain: the domain.
        together: number of copies of the record by which neighbours differ: all records of a person.
    """
    sizes = np.asarray(domain.cardinalities)
    first, last = np.zeros(len(sizes), np.int64), sizes - 1
    nobody = np.zeros((0, len(sizes)), np.int64)
    what = "the record" if together == 1 else f"all {together} equal records of a person"

    def series(words: str, rest: Any, record: Any, centre: int) -> Neighbours:
        return Neighbours(
            f"{words}, with and without {what}",
            partial(_table, np.asarray(rest, np.uint16), np.asarray(record, np.uint16), together),
            centre,
            MOST_EQUAL,
        )

    found = [
        series("no other records", nobody, first, 0),
        series("other records equal to it", nobody, first, _CENTRE),
        series("60 equal records that differ from it", np.tile(last, (60, 1)), first, 0),
        series("records equal to it, and as many that differ", np.tile(last, (_CENTRE, 1)), first, _CENTRE),
    ]
    for number in range(8):
        draw = made_up([number, len(sizes)])
        hidden = draw.integers(2, size=(120, 1))
        follows = draw.random(len(sizes)) < 0.6
        rest = np.where(
            follows & (draw.random((120, len(sizes))) < 0.9),
            hidden * last,
            draw.integers(sizes, size=(120, len(sizes))),
        )
        record = np.where(draw.random(len(sizes)) < 0.5, first, last)
        found.append(series(f"120 dependent records (number {number})", rest, record, 30 if number % 2 else 0))
    found.append(series("20,000 equal records that differ from it", np.tile(last, (20_000, 1)), first, 0))
    for number in range(16):
        draw = made_up([number, len(sizes), 1])
        rest = draw.integers(sizes, size=(1 + number % 6, len(sizes)))
        record = draw.integers(sizes)
        found.append(series(f"{len(rest)} other records (number {number})", rest, record, 0))
    for number in range(8):
        draw = made_up([number, len(sizes), 2])
        record = np.where(draw.random(len(sizes)) < 0.5, first, last)
        found.append(
            series(
                f"60 equal records, with which it agrees in part (number {number})", np.tile(last, (60, 1)), record, 0
            )
        )
    return tuple(found)


def series_of_many(domain: Domain, records: int) -> Neighbours:
    """Return tables of many dependent records, of which learners ask more than they ask of a few."""
    draw = made_up([records, len(domain)])
    sizes = np.asarray(domain.cardinalities)
    hidden = draw.integers(min(sizes), size=(records, 1))
    free = draw.integers(sizes, size=(records, len(sizes)))
    rest = np.where(draw.random((records, len(sizes))) < 0.6, hidden, free).astype(np.uint16)
    table = partial(_table, rest, np.zeros(len(sizes), np.uint16), 1)
    return Neighbours(f"{records:,} dependent records, with and without the record", table, 0, MOST_EQUAL)


def _table(rest: Codes, record: Codes, together: int, number: int) -> Codes:
    return np.concatenate([rest, np.tile(record, (number * together, 1))]).astype(np.uint16)
