"""Audits of steps that release noisy integers and choices, whichever learner they are of: no learner is named here."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import islice
from typing import Any, TypeAlias, TypeVar

import numpy as np

from benchmarks.audits.auditing import Bound, Case, Neighbours, key_of
from benchmarks.audits.bounds import (
    divergence_of_shift,
    epsilon_of_losses,
    epsilon_of_shifts,
    kullback_leibler,
    misfit_of_choices,
    misfit_of_noise,
    ratio_of_choices,
    weakest,
)
from benchmarks.audits.tracing import Answer, Chosen, Noised, Untraceable, shifts_of, traced
from deniable.foundation.domain import Codes, Domain
from deniable.foundation.errors import Refused
from deniable.foundation.keys import Parameter, ReleaseKey, WordStream
from deniable.foundation.tables import Tally
from deniable.mechanisms import Made, PlannedStep

T = TypeVar("T", bound=Tally)
Both: TypeAlias = tuple[Sequence[Answer], Sequence[Answer]]
"""The answers of a run, and the same answers of a neighbouring table."""

PLAIN = 5
"""Number of series, the first ones, in which all other records are equal."""
RUNS = 12
"""Number of runs on each of the worst tables."""
_CANDIDATES = 2
_MOST_SEQUENCES = 400
_CENTRE = 80
_MOVE_SCORES = 12, 30, 39, 54, 58, 103, 123, 138
"""Of 150 tables of three kinds of records, those in which one record moves the scores of PrivBayes farthest."""
_SAME = 1e-9


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

    def run(
        self, codes: Codes, key: ReleaseKey, forced: Sequence[Answer] = (), *, draws_on: bool = True
    ) -> tuple[list[Answer], Made]:
        """Run the step with a key, after some forced answers, or with all answers forced."""

        def open_stream(*, mechanism: str, parameters: dict[str, Parameter]) -> WordStream:
            return key.stream(step=self.step.name, mechanism=mechanism, inputs="audit", parameters=parameters)

        with traced(forced, draws_on=draws_on) as trace:
            made = self.step.run(Rows(codes), self.given, open_stream)
        return trace.answers, made

    def forced(
        self, one: Codes, other: Codes, key: ReleaseKey, forced: Sequence[Answer] | None = None
    ) -> tuple[list[Answer], list[Answer]]:
        """Return the answers of a run, and the same answers of the neighbouring table.

        Raises:
            Untraceable: something public depends on the table although all answers are the same.
        """
        answers, made = self.run(one, key, self.before if forced is None else forced)
        try:
            others, again = self.run(other, key, answers, draws_on=False)
        except Refused as refused:
            raise Untraceable("the neighbouring table is refused although all answers are the same.") from refused
        for product in self.step.makes:
            if product.is_public and repr(made.products[product.name]) != repr(again.products[product.name]):
                raise Untraceable(f"the product {product.name} depends on more than noisy integers and choices.")
        if made.figures != again.figures:
            raise Untraceable("public figures depend on more than noisy integers and choices.")
        return answers[len(self.before) :], others[len(self.before) :]

    def bound(self, case: Case, runs: int) -> Bound:  # noqa: ARG002 - nothing is counted
        """See `auditing.Experiment`: in closed form, from a few runs and their forced repetitions.

        Choices are left out beside noisy integers: these, less the exact counts of one of the two tables of whatever
        was asked, are a function of the output, and their law is that of the noise and its shifts alone, if the shifts
        are those of `bounds.weakest` whatever was chosen. What is a function of the output shows no more than it.
        """
        found = self._of_each_series(case)
        drawn = [first for pairs in found.values() for first, _ in pairs]
        if drawn and all(isinstance(answer, Chosen) for answers in drawn for answer in answers):
            shown, series, number = self._of_all_choices(case, found)
            method, done = "all choices", list(found.values())
        else:
            by_divergence = sorted(found, key=lambda place: (-round(_divergence(found[place]), 6), place))
            more = dict(islice(self._of_more_runs(case, by_divergence), _CANDIDATES))
            if not more:
                raise Untraceable("no table of the audit has enough records for this mechanism.")
            bounds = {
                place: epsilon_of_shifts(weakest([list(shifts_of(*both)) for both in pairs]), case.claim.delta)
                for place, pairs in more.items()
            }
            series = max(bounds, key=lambda place: round(bounds[place], 6))
            shown, method, done = bounds[series], "closed form", [*found.values(), *more.values()]
            number = sum(map(len, done))
        choice = max((ratio for pairs in done for ratio in _ratios_of_choices(pairs)), default=None)
        if choice is not None and method == "closed form":
            method = "closed form, without the choices"
        _require_stated_laws([first for pairs in done for first, _ in pairs])
        return Bound(shown, method, case.series[series].words, number, choice=choice)

    def _of_each_series(self, case: Case) -> dict[int, list[Both]]:
        """The answers of a run and of its repetition on the neighbour, by the number of the series."""
        found = dict[int, list[Both]]()
        for number, series in enumerate(case.series):
            try:
                found[number] = [self.forced(*series.pair, key_of(case.name, "series", number))]
            except Refused:  # too few records for this mechanism
                continue
        return found

    def _of_more_runs(self, case: Case, places: Sequence[int]) -> Iterator[tuple[int, list[Both]]]:
        """The same of more runs, on either table; only of series in which there are always enough records."""
        for place in places:
            pair, found = case.series[place].pair, list[Both]()
            with suppress(Refused):
                for number in range(RUNS):
                    found.append(self.forced(*pair[:: (-1) ** number], key_of(case.name, "runs", number)))
            if len(found) == RUNS:
                yield place, found

    def _of_all_choices(self, case: Case, found: Mapping[int, Any]) -> tuple[float, int, int]:
        """The largest epsilon over the series from all sequences of choices, its series, and their number."""
        best, series, number = -1.0, 0, 0
        for place in found:
            logs = np.asarray(list(self._sequences(case, place)))
            for first, second in (logs.T, logs.T[::-1]):
                epsilon = epsilon_of_losses([(first - second, np.exp(first))], case.claim.delta)
                if epsilon > best + _SAME:
                    best, series = epsilon, place
            number += len(logs)
        return best, series, number

    def _sequences(self, case: Case, place: int) -> Iterator[tuple[float, float]]:
        """Yield the log probabilities of each sequence of choices under two tables; of the first, if there are many."""
        pair, key = case.series[place].pair, key_of(case.name, "series", place)
        left: list[Sequence[Answer]] = [()]
        for _ in range(_MOST_SEQUENCES):
            if not left:
                return
            prefix = left.pop()
            answers, others = self.forced(*pair, key, prefix)
            chosen = [answer for answer in answers if isinstance(answer, Chosen)]
            for turn in range(len(prefix), len(chosen)):
                left += [
                    [*chosen[:turn], Chosen(chosen[turn].weights, other)]
                    for other in range(len(chosen[turn].weights))
                    if other != chosen[turn].picked
                ]
            yield sum(each.log_probability() for each in answers), sum(each.log_probability() for each in others)


def _ratios_of_choices(pairs: Sequence[Both]) -> Iterator[float]:
    for both in pairs:
        for first, second in zip(*both, strict=True):
            if isinstance(first, Chosen) and isinstance(second, Chosen):
                yield ratio_of_choices(first, second)


def _divergence(pairs: Sequence[Both]) -> float:
    """The sum of the divergences of the answers of one run, given those before."""
    total = 0.0
    for first, second in zip(*pairs[0], strict=True):
        if isinstance(first, Noised) and isinstance(second, Noised):
            total += divergence_of_shift(first.law, first.exact - second.exact) / first.copies
        if isinstance(first, Chosen) and isinstance(second, Chosen):
            total += kullback_leibler(*(each.weights - np.logaddexp.reduce(each.weights) for each in (first, second)))
    return total


def _require_stated_laws(drawn: Sequence[Sequence[Answer]]) -> None:
    answers = [answer for run in drawn for answer in run]
    misfit = misfit_of_noise([each for each in answers if isinstance(each, Noised)]) or misfit_of_choices(
        [each for each in answers if isinstance(each, Chosen)]
    )
    if misfit:
        raise Untraceable(f"draws do not follow their stated laws: {misfit}.")


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
        )

    found = [
        series("no other records", nobody, first, 0),
        series("other records equal to it", nobody, first, _CENTRE),
        series("60 equal records that differ from it", np.tile(last, (60, 1)), first, 0),
        series("records equal to it, and as many that differ", np.tile(last, (_CENTRE, 1)), first, _CENTRE),
        series("20,000 equal records that differ from it", np.tile(last, (20_000, 1)), first, 0),
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
    for number in range(8):
        draw = made_up([number, len(sizes), 1])
        rest = draw.integers(sizes, size=(1 + number % 6, len(sizes)))
        record = draw.integers(sizes)
        found.append(series(f"{len(rest)} other records (number {number})", rest, record, 0))
    for number in range(4):
        draw = made_up([number, len(sizes), 2])
        record = np.where(draw.random(len(sizes)) < 0.5, first, last)
        words = f"60 equal records, with which it agrees in part (number {number})"
        found.append(series(words, np.tile(last, (60, 1)), record, 0))
    for number in _MOVE_SCORES:
        draw = made_up([number, len(sizes), 3])
        kinds, record = draw.integers(sizes, size=(3, len(sizes))), draw.integers(sizes)
        rest = np.repeat(kinds, (20, 80, 900), axis=0)
        found.append(series(f"1,000 records of three kinds (number {number})", rest, record, 0))
    return tuple(found)


def series_of_many(domain: Domain, records: int) -> Neighbours:
    """Return tables of many dependent records, of which learners ask more than they ask of a few."""
    draw = made_up([records, len(domain)])
    sizes = np.asarray(domain.cardinalities)
    hidden = draw.integers(min(sizes), size=(records, 1))
    free = draw.integers(sizes, size=(records, len(sizes)))
    rest = np.where(draw.random((records, len(sizes))) < 0.6, hidden, free).astype(np.uint16)
    table = partial(_table, rest, np.zeros(len(sizes), np.uint16), 1)
    return Neighbours(f"{records:,} dependent records, with and without the record", table)


def _table(rest: Codes, record: Codes, together: int, number: int) -> Codes:
    return np.concatenate([rest, np.tile(record, (number * together, 1))]).astype(np.uint16)
