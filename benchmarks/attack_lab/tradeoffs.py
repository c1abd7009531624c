"""The trade-off of false alarms and misses: a lower bound on mu of steps whose integers have Gaussian noise.

A step is mu-Gaussian differentially private if no test of two neighbouring tables has fewer misses, at any rate of
false alarms, than the best test of N(0, 1) against N(mu, 1). The step is run many times on either of the two worst
tables. The test is that of Neyman and Pearson with a threshold at 0, fixed beforehand; its two error rates, by the
bounds of Clopper and Pearson, give a mu that is too large with a probability of at most 0.1 %.

Choices are left out: they are no part of a Gaussian account. Neither is `aim`, whose answers decide how much noise the
next ones have. The step is planned for many times the usual epsilon,
where fewer runs show more. A twin with too little noise must be found.

Source: Dong, Roth and Su 2022, Gaussian differential privacy (definition 2.1); Nasr et al. 2023, Tight auditing of
differentially private machine learning, for the bound on mu.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from typing import Any, Final

from scipy import stats

from benchmarks.attack_lab.planned import ALARM, Attacked, attacked, gains, noised, steps
from benchmarks.audits.auditing import key_of
from benchmarks.audits.learned import series_of
from deniable.foundation.domain import Codes

RUNS: Final = 4000
_FEWER: Final[Mapping[str, int]] = {"cfs": 1000, "loglinear": 150, "mst": 50, "nist_mst": 100}
_TIMES, _TIMES_OF_TWIN = 8, 3
_SAME: Final = 1e-9


@dataclass(frozen=True)
class TradeOff:
    """What the test found about a step.

    Attributes:
        name: the step.
        claimed: the mu of its events.
        found: a lower bound on mu.
        power: the largest bound that this number of runs could show.
        twin: the lower bound for the twin with too little noise.
        runs: number of runs on each table.
    """

    name: str
    claimed: float
    found: float
    power: float
    twin: float
    runs: int

    @property
    def faults(self) -> list[str]:
        """What must not be."""
        wrong = []
        if self.found > self.claimed:
            wrong.append(f"{self.name} claims mu {self.claimed:.4g}, and {self.found:.4g} was found")
        if self.power > self.claimed >= self.twin:
            wrong.append(f"{self.name}: a twin with too little noise was not found (mu {self.twin:.4g})")
        return wrong


def names() -> tuple[str, ...]:
    """The steps whose trade-off is tested."""
    return tuple(steps(gaussian=True))


def audited(name: str, runs: int | None = None) -> TradeOff:
    """Test a step and its twin.

    Args:
        name: the step.
        runs: number of runs on each table; by default as many as its speed allows.
    """
    usual = attacked(name, steps(gaussian=True)[name])
    step, twin = usual.at(_TIMES), usual.at(_TIMES * _TIMES_OF_TWIN)
    if runs is None:
        runs = next((own for kind, own in _FEWER.items() if name.startswith(kind)), RUNS)
    pair = worst_pair(step)
    return TradeOff(
        name=name,
        claimed=step.deviations,
        found=_found(step, pair, runs),
        power=bound(runs, 0, runs),
        twin=_found(twin, pair, runs),
        runs=runs,
    )


def worst_pair(step: Attacked) -> tuple[Codes, Codes]:
    """The neighbouring tables, of several, that a record moves farthest in deviations of the noise."""
    return max((series.pair for series in series_of(step.spec.domain)), key=lambda pair: _moved(step, pair))


def _moved(step: Attacked, pair: tuple[Codes, Codes]) -> float:
    answers = step.experiment.forced(*pair, key_of(step.name, "looks for the worst tables", 0))
    return sum(
        float(((one.exact - other.exact) ** 2).sum()) / (one.copies * float(one.law.variance))
        for one, other in zip(*map(noised, answers), strict=True)
    )


def _found(step: Attacked, pair: tuple[Codes, Codes], runs: int) -> float:
    """A lower bound on mu of a step."""
    hits, alarms = (
        sum(_looks_like_first(step, pair, first=first, number=number) for number in range(runs))
        for first in (True, False)
    )
    return bound(hits, alarms, runs)


def _looks_like_first(step: Attacked, pair: tuple[Codes, Codes], *, first: bool, number: int) -> bool:
    tables = pair if first else pair[::-1]
    answers: Any = step.experiment.forced(*tables, key_of(step.name, f"trade-off {first}", number))
    gain = sum(gains(one, other) for one, other in zip(*map(noised, answers), strict=True))
    ratio = gain if first else -gain
    # Integers may be equally likely under both tables; a coin that knows nothing decides then.
    return number % 2 == 0 if abs(ratio) < _SAME else ratio > 0


def bound(hits: int, alarms: int, runs: int) -> float:
    """A lower bound on mu from the hits and the false alarms of a test that was fixed beforehand.

    Args:
        hits: how often the test is right about the first table.
        alarms: how often it is wrong about the second.
        runs: number of runs of each.
    """
    low = float(stats.beta.ppf(ALARM / 2, hits, runs - hits + 1)) if hits else 0.0
    high = float(stats.beta.isf(ALARM / 2, alarms + 1, runs - alarms)) if alarms < runs else 1.0
    found = float(stats.norm.ppf(low) - stats.norm.ppf(high)) if low > 0 and high < 1 else -inf
    return max(found, 0.0)
