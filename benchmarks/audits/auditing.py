"""Audits one mechanism: chooses the worst of its neighbouring tables, and bounds its epsilon from below."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from math import inf, isfinite
from time import perf_counter
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from benchmarks.audits.bounds import (
    ALARM,
    epsilon_by_counting,
    epsilon_of_runs,
    epsilon_of_shifts,
    predicted,
    threshold_of,
)
from benchmarks.audits.tracing import Law, Untraceable
from deniable.foundation.errors import Refused
from deniable.foundation.keys import ReleaseKey
from deniable.privacy.loss import Guarantee

Floats = NDArray[np.float64]
Shift = tuple[Law, int, int]

_TILTS = (0.6, 1.0)
"""How often the differing record is there in tables that are run, relative to what Gaussian noise asks for."""
_PILOT, _LARGEST_PILOT = 3, 60
"""Runs with which tables are compared first; the better half is compared with twice as many."""
_FEWEST, _FEWEST_WEIGHTED, _FEWEST_COUNTED = 3, 60, 60
_MORE_COUNTED = 10
"""Counting takes so many times more runs than weighting, as far as time permits."""
_SAME = 12
"""Runs whose differences must be equal before the loss is computed from them alone."""
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Neighbours:
    """A series of tables, each a neighbour of the next.

    Attributes:
        words: what they are, for the page.
        table: the table of a number.
        centre: the two audited tables are this one and the next.
        last: number of the last table; the first is 0.
    """

    words: str
    table: Callable[[int], Any]
    centre: int
    last: int

    def others(self, tilt: float) -> list[int]:
        """Return tables that may be run instead of the two, in which the differing record is absent or multiplied.

        Args:
            tilt: how often about, for a loss near epsilon to be usual.
        """
        tilts = {0, *(round(tilt * each) for each in _TILTS)}
        found = {self.centre - each for each in tilts} | {self.centre + 1 + each for each in tilts}
        return sorted({min(max(each, 0), self.last) for each in found})


class Experiment(Protocol):
    """A mechanism whose outputs have known probabilities."""

    def log_probabilities(self, run: Any, tables: Sequence[Any], key: ReleaseKey) -> list[float]:
        """Run the mechanism on a table, and return the log probabilities of its output under several tables.

        Logarithms are up to a constant that is the same for all tables.
        """

    def shifts(self, one: Any, other: Any, key: ReleaseKey) -> list[Shift] | None:
        """Return how noisy integers differ between two tables, if the output consists of them; otherwise None."""

    def divergence(self, one: Any, other: Any, key: ReleaseKey) -> float | None:
        """Return an estimate of the divergence between two tables, by which series are compared; None to not do so."""


@dataclass(frozen=True)
class Case:
    """An audit.

    Attributes:
        name: the mechanism.
        claim: what it claims for the neighbours.
        experiment: the mechanism.
        series: tables among which the worst neighbours are looked for.
        kind: kind of mechanism, under which the page lists it.
        most_runs: largest number of runs; fewer for slow mechanisms.
        patience: how much longer than others it may take, if its bound is from weighted runs.
    """

    name: str
    claim: Guarantee
    experiment: Experiment
    series: tuple[Neighbours, ...]
    kind: str = ""
    most_runs: int = 100_000
    patience: float = 1.0


@dataclass(frozen=True)
class Audit:
    """The result of an audit.

    Attributes:
        name: the mechanism.
        kind: its kind.
        epsilon: the epsilon that it claims.
        delta: the delta at which it claims this.
        shown: lower bound on its epsilon at delta, from exact likelihood ratios.
        counted: lower bound from how often an event happened, regardless of the stated laws; None if not counted.
        method: how `shown` was computed: `closed form`, `largest ratio` or `weighted runs`.
        neighbours: the neighbouring tables.
        runs: number of runs of the mechanism for `shown`.
        counted_runs: number of runs for `counted`.
        seconds: time that it took.
        found: what was found beside epsilon: what the mechanism may not do.
    """

    name: str
    kind: str
    epsilon: float
    delta: float
    shown: float
    counted: float | None
    method: str
    neighbours: str
    runs: int
    counted_runs: int
    seconds: float
    found: str = ""

    @property
    def exceeds(self) -> bool:
        """Whether the claim is refuted."""
        return bool(self.found) or max(self.shown, self.counted or 0.0) > self.epsilon * (1 + _ROUNDING)


@dataclass
class Budget:
    """What an audit may take.

    Attributes:
        runs: number of runs.
        seconds: seconds.
        counted: number of runs on each table by which events are counted; ten times as many as others by default.
    """

    runs: int
    seconds: float
    counted: int | None = None
    _began: float = field(default_factory=perf_counter)

    def left(self, share: float) -> bool:
        """Whether a share of the time is not used up."""
        return perf_counter() - self._began < share * self.seconds

    @property
    def used(self) -> float:
        """Seconds so far."""
        return perf_counter() - self._began


def key_of(name: str, purpose: str, number: int) -> ReleaseKey:
    """Return the key of a run: the same in every audit of the same name."""
    return ReleaseKey(sha256(f"audit {name} {purpose} {number}".encode()).digest())


def audit(case: Case, budget: Budget) -> Audit:
    """Audit a mechanism: in closed form where its outputs differ alike in all runs, otherwise by runs.

    Args:
        case: the mechanism.
        budget: what the audit may take.
    """
    try:
        return _audited(case, budget)
    except Untraceable as fault:
        words = case.series[0].words
        return _result(case, budget, inf, None, ("refused", words), (0, 0), str(fault))


def _audited(case: Case, budget: Budget) -> Audit:
    runs = min(budget.runs, case.most_runs)
    series, divergence = _worst_series(case, budget)
    shown, method, done = _in_closed_form(case, series, runs), "closed form", _SAME
    if shown is None:
        budget.seconds *= case.patience if case.claim.delta else 1.0
        # The loss of Gaussian noise has mean `divergence`, and twice that for every further record.
        tilt = case.claim.epsilon / (2 * divergence) if divergence else float(series.last)
        used = Weighted(case, series, budget, min(tilt, float(series.last)))
        method = "largest ratio" if case.claim.delta == 0 else "weighted runs"
        shown, done = used.largest_ratio(runs) if case.claim.delta == 0 else used.bound(runs)
    counted, of = _by_counting(case, series, runs, budget)
    return _result(case, budget, shown, counted, (method, series.words), (done, of))


def _result(
    case: Case,
    budget: Budget,
    shown: float,
    counted: float | None,
    how: tuple[str, str],
    runs: tuple[int, int],
    found: str = "",
) -> Audit:
    return Audit(
        name=case.name,
        kind=case.kind,
        epsilon=case.claim.epsilon,
        delta=case.claim.delta,
        shown=shown,
        counted=counted,
        method=how[0],
        neighbours=how[1],
        runs=runs[0],
        counted_runs=runs[1],
        seconds=budget.used,
        found=found,
    )


def _worst_series(case: Case, budget: Budget) -> tuple[Neighbours, float]:
    """The series with the largest divergence between its two tables, from a run on each, and this divergence."""
    best, found = -1.0, case.series[0]
    for number, series in enumerate(case.series):
        pair = series.table(series.centre), series.table(series.centre + 1)
        key = key_of(case.name, f"series {number}", 0)
        try:
            divergences = [case.experiment.divergence(one, other, key) for one, other in (pair, pair[::-1])]
        except Refused:  # too few records for this mechanism
            continue
        mean = float(np.mean([each for each in divergences if each is not None] or [0.0]))
        if mean > best + _ROUNDING:
            best, found = mean, series
        if not budget.left(0.2):
            break
    return found, max(best, 0.0)


def _in_closed_form(case: Case, series: Neighbours, runs: int) -> float | None:
    """Epsilon at delta if all runs show the same differences of noisy integers; None if they do not."""
    pair = series.table(series.centre), series.table(series.centre + 1)
    there: set[tuple[Shift, ...]] = set()
    for number in range(min(_SAME, runs)):
        found = case.experiment.shifts(*pair, key_of(case.name, "shifts", number))
        if found is None:
            return None
        # The noise is symmetric: it makes no difference in which of the two tables a count is larger.
        there.add(tuple(sorted(((law, copies, abs(shift)) for law, copies, shift in found), key=str)))
        if len(there) > 1:
            return None
    return epsilon_of_shifts(there.pop(), case.claim.delta)


@dataclass
class Weighted:
    """Runs on a third table, weighted by exact probabilities.

    Attributes:
        case: the audit.
        series: the tables.
        budget: what it may take.
        tilt: see `Neighbours.others`.
    """

    case: Case
    series: Neighbours
    budget: Budget
    tilt: float

    def runs_on(
        self, table: int, purpose: str, numbers: range, share: float, fewest: int = _FEWEST
    ) -> tuple[Floats, Floats, Floats]:
        """Run the mechanism, and return the log probabilities under both tables and under the one that was run."""
        pair = self.series.centre, self.series.centre + 1
        wanted = [self.series.table(each) for each in (*pair, table)]
        found = []
        for number in numbers:
            key = key_of(self.case.name, f"{purpose} {table}", number)
            found.append(self.case.experiment.log_probabilities(wanted[-1], wanted, key))
            if not self.budget.left(share) and number - numbers[0] >= fewest:
                break
        one, other, own = np.asarray(found).T
        return one, other, own

    def largest_ratio(self, runs: int) -> tuple[float, int]:
        """Return the largest ratio among outputs, whose probabilities are exact, and the number of runs."""
        tables, done, largest = self.series.others(self.tilt), 0, 0.0
        each = max(runs // len(tables), 1)
        for place, table in enumerate(tables, 1):
            one, other, _ = self.runs_on(table, "largest", range(each), 0.1 + 0.5 * place / len(tables))
            ratios = np.abs(one - other)
            largest, done = max(largest, float(ratios.max())), done + len(one)
        return largest, done

    def bound(self, runs: int) -> tuple[float, int]:
        """Return the lower bound on epsilon at delta, and the number of runs."""
        delta = self.case.claim.delta
        table, upwards, pilot = self._best_table(runs)
        _, largest = predicted(*_oriented(pilot, upwards=upwards), delta, runs)
        logs = self.runs_on(table, "bound", range(runs), 0.85, _FEWEST_WEIGHTED)
        return epsilon_of_runs(*_oriented(logs, upwards=upwards), delta, largest), len(logs[0])

    def _best_table(self, runs: int) -> tuple[int, bool, tuple[Floats, Floats, Floats]]:
        """The table and direction with the largest bound in a few runs, by halving."""
        delta, left = self.case.claim.delta, self.series.others(self.tilt)
        logs: dict[int, tuple[Floats, Floats, Floats]] = {}
        done, pilot = 0, min(max(runs // 10, _PILOT), _LARGEST_PILOT)
        while True:
            for place, table in enumerate(left, 1):
                more = self.runs_on(table, "pilot", range(done, pilot), 0.2 + 0.15 * place / len(left))
                before = logs.get(table)
                logs[table] = more if before is None else _joined(before, more)
            ranked = sorted(
                (
                    (predicted(*_oriented(logs[table], upwards=up), delta, runs)[0], table, up)
                    for table in left
                    for up in (True, False)
                ),
                reverse=True,
            )
            if len(left) <= 2 or not self.budget.left(0.3):
                _, table, upwards = ranked[0]
                return table, upwards, logs[table]
            best = list(dict.fromkeys(table for _, table, _ in ranked))
            left, done, pilot = best[: max(len(left) // 2, 2)], pilot, 2 * pilot


def _joined(before: tuple[Floats, Floats, Floats], more: tuple[Floats, Floats, Floats]) -> Any:
    return tuple(np.concatenate(both) for both in zip(before, more, strict=True))


def _oriented(logs: tuple[Floats, Floats, Floats], *, upwards: bool) -> tuple[Floats, Floats]:
    """Losses and weights if the first table is the larger one, or the smaller one."""
    smaller, larger, own = logs
    first, second = (larger, smaller) if upwards else (smaller, larger)
    with np.errstate(invalid="ignore"):
        return np.where(np.isfinite(first), first - second, -inf), first - own


def _by_counting(case: Case, series: Neighbours, runs: int, budget: Budget) -> tuple[float | None, int]:
    """The bound from counting an event, chosen by a quarter of the runs, in the others; and the number of runs."""
    numbers = series.centre, series.centre + 1
    tables = [series.table(number) for number in numbers]
    found: tuple[list[float], list[float]] = ([], [])
    outcome = getattr(case.experiment, "outcome", None)
    outcomes: tuple[list[Any], list[Any]] = ([], [])
    began = budget.used
    for run in range(_MORE_COUNTED * runs if budget.counted is None else budget.counted):
        for place, own in enumerate(tables):
            key = key_of(case.name, f"count {place}", run)
            one, other = case.experiment.log_probabilities(own, tables, key)
            found[place].append(_finite(other - one))
            if outcome is not None:
                outcomes[place].append(outcome(own, key))
        if run == 2 and (budget.used - began) / 3 * _FEWEST_COUNTED > budget.seconds / 4:
            return None, 0
        if not budget.left(1.0) and run >= _FEWEST_COUNTED:
            break
    smaller, larger = (np.asarray(each) for each in found)
    quarter = len(smaller) // 4
    if quarter < 10:
        return None, 2 * len(smaller)
    delta = case.claim.delta
    events = [
        [
            own >= threshold_of(there[:quarter], elsewhere[:quarter], delta, len(there) - quarter)
            for own in (there, elsewhere)
        ]
        for there, elsewhere in ((larger, smaller), (-smaller, -larger))
    ]
    if outcome is not None:
        events.append(_telling(outcomes[1], outcomes[0], quarter))
    pilots = [epsilon_by_counting(*(np.repeat(own[:quarter], 3) for own in event), delta) for event in events]
    best = events[int(np.argmax(pilots))]
    return epsilon_by_counting(*(own[quarter:] for own in best), delta, ALARM), 2 * len(smaller)


def _telling(there: Sequence[Any], elsewhere: Sequence[Any], quarter: int) -> list[NDArray[np.bool_]]:
    """Whether an output is one of those that were more frequent on the first table than on the second, in a quarter."""
    counts = Counter(there[:quarter])
    counts.subtract(Counter(elsewhere[:quarter]))
    telling = {each for each, more in counts.items() if more > 0}
    return [np.array([each in telling for each in own]) for own in (there, elsewhere)]


def _finite(loss: float) -> float:
    return loss if isfinite(loss) else float(np.copysign(1e6, loss))


def audits(cases: Sequence[Case], runs: int, seconds: float) -> Iterator[Audit]:
    """Audit several mechanisms, one after the other."""
    for case in cases:
        yield audit(case, Budget(runs, seconds))
