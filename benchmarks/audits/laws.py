"""Audits of outputs whose laws are listed: all outcomes with their probabilities, and runs that must follow them."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from itertools import product
from math import exp, inf, log, prod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from benchmarks.audits.auditing import Bound, Case, Neighbours, key_of
from benchmarks.audits.bounds import (
    Losses,
    epsilon_by_counting,
    epsilon_of_losses,
    misfit_of_counts,
    threshold_of,
)
from benchmarks.audits.tracing import Untraceable
from deniable.foundation.keys import ReleaseKey

Law: TypeAlias = Mapping[Any, float]
"""The log probability of each outcome of a part of an output."""
Output: TypeAlias = Mapping[Hashable, Any]
"""The outcome of each part; None, or no entry, if a part releases nothing."""

_SAME = 1e-9
_FEW = 12
"""So many outcomes of a part are tested one by one, and more of them by ranges."""
_TOGETHER = 4
"""Number of parts whose joint law is tested."""
_TAIL = 40.0
"""Laplace noise is farther from 0 than so many scales with a probability of e^-40."""
_MOST = 128
_CUT = 1e6
"""Losses of outputs that one of two tables cannot have, as they are counted."""


class LawExperiment(ABC):
    """A mechanism whose output consists of independent parts with listed laws."""

    @abstractmethod
    def laws(self, table: Any) -> Mapping[Hashable, Law]:
        """Return the law of each part given a table; parts that are the same for all tables may be left out.

        A part without an entry releases nothing.
        """

    @abstractmethod
    def output(self, table: Any, key: ReleaseKey) -> Output:
        """Run the mechanism."""

    def bound(self, case: Case, runs: int) -> Bound:
        """See `auditing.Experiment`: exact for the laws, which the outputs of runs must follow."""
        shown, series = max(
            ((self._shown(case, series), series) for series in case.series),
            key=lambda found: round(found[0], 6) if found[0] < inf else inf,
        )
        laws = [self.laws(table) for table in series.pair]
        outputs = [
            [self.output(table, key_of(case.name, f"output {place}", run)) for run in range(runs)]
            for place, table in enumerate(series.pair)
        ]
        for own, found in zip(laws, outputs, strict=True):
            if misfit := _misfit(own, [name for name in own if not _are_alike(name, laws)], found):
                raise Untraceable(f"outputs do not follow the stated law: {misfit}.")
        return Bound(shown, "all outputs", series.words, 2 * runs, _by_counting(laws, outputs, case.claim.delta))

    def _shown(self, case: Case, series: Neighbours) -> float:
        one, other = (self.laws(table) for table in series.pair)
        return max(epsilon_of_losses(losses(*both), case.claim.delta) for both in ((one, other), (other, one)))


_NOTHING: Law = {None: 0.0}


def losses(one: Mapping[Hashable, Law], other: Mapping[Hashable, Law]) -> list[Losses]:
    """Return the log ratio and the probability of all outcomes, for each part that differs."""
    found = []
    for name in dict.fromkeys([*one, *other]):
        first, second = one.get(name, _NOTHING), other.get(name, _NOTHING)
        if first == second:
            continue
        here = np.array([*first.values()])
        there = np.array([second.get(outcome, -inf) for outcome in first])
        with np.errstate(invalid="ignore"):
            found.append((np.where(np.isneginf(here), -inf, here - there), np.exp(here)))
    return found


def laplace(exact: int, epsilon: float) -> dict[Any, float]:
    """Return the law of an integer with discrete Laplace noise of scale 1 / epsilon.

    Args:
        exact: the integer, from 0 to 128, so that it has the same outcomes for all tables.
        epsilon: the epsilon.
    """
    reach, whole = int(_TAIL / epsilon), log(np.tanh(epsilon / 2))
    return {number: whole - epsilon * abs(number - exact) for number in range(-reach, _MOST + reach + 1)}


def _are_alike(name: Hashable, laws: Sequence[Mapping[Hashable, Law]]) -> bool:
    return laws[0].get(name) == laws[1].get(name)


def _misfit(laws: Mapping[Hashable, Law], telling: Sequence[Hashable], outputs: Sequence[Output]) -> str:
    """How outputs differ from their laws, part by part and for some parts together; empty if they do not."""
    events: dict[str, tuple[int, int, float]] = {}
    for name, law in laws.items():
        found = Counter(output.get(name) for output in outputs)
        if impossible := set(found) - set(law):
            return f"{_in_words(name)} is {min(map(str, impossible))}, which has no probability"
        for words, outcomes in _ranges(law).items():
            hits = sum(found[outcome] for outcome in outcomes)
            events[f"{_in_words(name)} {words}"] = hits, len(outputs), sum(exp(law[outcome]) for outcome in outcomes)
    there = [*telling, *(name for name in laws if name not in telling)][:_TOGETHER]
    if len(there) > 1:
        halves = {name: _half(laws[name]) for name in there}
        for wanted in product((True, False), repeat=len(there)):
            hits = sum(
                all((output.get(name) in halves[name]) == want for name, want in zip(there, wanted, strict=True))
                for output in outputs
            )
            shares = (sum(exp(laws[name][outcome]) for outcome in halves[name]) for name in there)
            chance = prod(share if want else 1 - share for share, want in zip(shares, wanted, strict=True))
            low = " and ".join(
                f"{_in_words(name)} {'low' if want else 'high'}" for name, want in zip(there, wanted, strict=True)
            )
            events[low] = hits, len(outputs), chance
    return misfit_of_counts(events)


def _in_words(name: Hashable) -> str:
    return " ".join(map(str, name)) if isinstance(name, tuple) else str(name)


def _ranges(law: Law) -> dict[str, list[Any]]:
    """Events by which a law is tested: its outcomes or, if there are many, the first in order, and the likeliest."""
    if len(law) <= _FEW:
        return {f"is {outcome}": [outcome] for outcome in law}
    found = {}
    by_size = sorted(law, key=lambda outcome: (outcome is not None, outcome))
    by_chance = sorted(law, key=law.__getitem__, reverse=True)
    for words, ordered in (("is at most", by_size), ("is as likely as", by_chance)):
        sums = np.cumsum(np.exp([law[outcome] for outcome in ordered]))
        for share in np.linspace(0.1, 0.9, 9):
            place = int(np.searchsorted(sums, share))
            found[f"{words} {ordered[place]}"] = ordered[: place + 1]
    return found


def _half(law: Law) -> set[Any]:
    """About half of the outcomes by probability, the first in order."""
    ordered = sorted(law, key=lambda outcome: (outcome is not None, outcome))
    sums = np.cumsum(np.exp([law[outcome] for outcome in ordered]))
    return set(ordered[: int(np.searchsorted(sums, 0.4)) + 1])


def _by_counting(laws: Sequence[Mapping[Hashable, Law]], outputs: Sequence[Sequence[Output]], delta: float) -> float:
    """The bound from how often one event happened, chosen by a quarter of the runs, in the others."""
    found = [np.array([_loss(laws, output) for output in own]) for own in outputs]
    quarter = len(outputs[0]) // 4
    events = [
        [own >= threshold_of(there[:quarter], elsewhere[:quarter], delta, len(there) - quarter) for own in both]
        for both in ((found[0], found[1]), (-found[1], -found[0]))
        for there, elsewhere in [both]
    ]
    joint = [[tuple(sorted(output.items(), key=str)) for output in own] for own in outputs]
    events += [_telling(joint[0], joint[1], quarter), _telling(joint[1], joint[0], quarter)]
    pilots = [epsilon_by_counting(*(np.repeat(own[:quarter], 3) for own in event), delta) for event in events]
    best = events[int(np.argmax(pilots))]
    return epsilon_by_counting(*(own[quarter:] for own in best), delta)


def _loss(laws: Sequence[Mapping[Hashable, Law]], output: Output) -> float:
    """The log ratio of the probabilities of an output, cut where one of them is 0."""
    total = 0.0
    for name in dict.fromkeys([*laws[0], *laws[1]]):
        first, second = (law.get(name, _NOTHING).get(output.get(name), -inf) for law in laws)
        total += 0.0 if first == second else min(max(first - second, -_CUT), _CUT)
    return total


def _telling(there: Sequence[Any], elsewhere: Sequence[Any], quarter: int) -> list[NDArray[np.bool_]]:
    """Whether an output is one of those that were more frequent on the first table than on the second, in a quarter."""
    counts = Counter(there[:quarter])
    counts.subtract(Counter(elsewhere[:quarter]))
    telling = {each for each, more in counts.items() if more > 0}
    return [np.array([each in telling for each in own]) for own in (there, elsewhere)]
