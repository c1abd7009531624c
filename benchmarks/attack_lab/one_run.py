"""The audit of one run: many made-up people, each of whom a coin lets in, and an attacker who guesses the coins.

Each of the people has a value of their own in every attribute. The attacker knows everyone else, sees the noisy
integers of a single run, and guesses for half of the people, those of whom they are surest, whether they are in. Too
many right guesses refute the epsilon of the step, with a probability of 0.1 % of a bound that is too large. Integers in
which several of the people are counted together are left out.

A step that keeps its claim shows next to nothing: at epsilon 1 the best attacker guesses little better than a coin. A
twin that is planned for many times the epsilon must be found.

Source: Steinke, Nasr and Jagielski 2023, Privacy auditing with one (1) training run, Theorem 5.2.
"""

from dataclasses import dataclass
from math import exp
from typing import Final

import numpy as np
from scipy import stats

from benchmarks.attack_lab.planned import ALARM, Attacked, Floats, attacked, gains, noised, steps
from benchmarks.audits.auditing import key_of
from benchmarks.audits.learned import made_up
from benchmarks.audits.tracing import Noised
from deniable.foundation.domain import Codes
from schemas.spec.plan import plan_release

PEOPLE: Final = 240
_GUESSED: Final = PEOPLE // 2
_OTHERS: Final = 2000
_TIMES_OF_TWIN: Final = 60
_TOLERANCE: Final = 1e-6
_LARGEST: Final = 30.0

SCHEMA: Final = f"""
from schemas.table import nominal, table

schema = table(
    {{name: nominal(list(range({PEOPLE}))) for name in ("age", "sex", "school", "employed")}},
    description="Made-up people with a value of their own in every attribute.",
    target="employed",
)
"""


@dataclass(frozen=True)
class OneRun:
    """What one run showed of a step.

    Attributes:
        name: the step.
        claimed: the epsilon of the step.
        delta: its delta.
        right: right guesses.
        guessed: guesses.
        found: a lower bound on epsilon.
        power: the bound if all guesses were right.
        twin: the lower bound for the twin with too little noise.
    """

    name: str
    claimed: float
    delta: float
    right: int
    guessed: int
    found: float
    power: float
    twin: float

    @property
    def faults(self) -> list[str]:
        """What must not be."""
        wrong = []
        if self.found > self.claimed:
            wrong.append(f"{self.name} claims {self.claimed:.4g}, and {self.found:.4g} was found in one run")
        if self.power > self.claimed >= self.twin:
            wrong.append(f"{self.name}: a twin with too little noise was not found in one run ({self.twin:.4g})")
        return wrong


def names() -> tuple[str, ...]:
    """The steps that are audited; `aim` takes minutes for a table with so many values."""
    return tuple(name for name in steps(schema=SCHEMA) if not name.startswith("aim"))


def audited(name: str) -> OneRun:
    """Audit a step and its twin, each by a single run."""
    step = attacked(name, steps(schema=SCHEMA)[name])
    stated = plan_release(step.spec).cost(step.step).guarantee
    if stated is None:
        raise ValueError(f"{name} claims nothing")
    right, twin = _right(step), _right(step.at(_TIMES_OF_TWIN))
    return OneRun(
        name=name,
        claimed=stated.epsilon,
        delta=stated.delta,
        right=right,
        guessed=_GUESSED,
        found=bound(right, _GUESSED, PEOPLE, stated.delta),
        power=bound(_GUESSED, _GUESSED, PEOPLE, stated.delta),
        twin=bound(twin, _GUESSED, PEOPLE, stated.delta),
    )


def _right(step: Attacked) -> int:
    """How many of the guesses of which the attacker is surest are right, in one run."""
    draw, width = made_up(list(step.name.encode())), len(step.spec.domain)
    others = draw.integers(PEOPLE, size=(_OTHERS, width)).astype(np.uint16)
    coins = draw.integers(2, size=PEOPLE).astype(bool)
    people = np.repeat(np.arange(PEOPLE, dtype=np.uint16)[:, np.newaxis], width, axis=1)
    scores = _scores(step, others, people, coins)
    # Guesses about people of whom nothing is known are those of a coin, which is fixed beforehand.
    surest = np.argsort(-np.abs(scores), kind="stable")[:_GUESSED]
    guesses = np.where(scores[surest] == 0, np.arange(_GUESSED) % 2 == 0, scores[surest] > 0)
    return int((guesses == coins[surest]).sum())


def _scores(step: Attacked, others: Codes, people: Codes, coins: np.ndarray) -> Floats:
    """For each of the people, the log ratio of the probabilities of all integers that count them and nobody else."""
    key = key_of(step.name, "one run", 0)
    answers, _ = step.experiment.run(np.concatenate([others, people[coins]]), key)

    def exact(table: Codes) -> list[Noised]:
        return noised(step.experiment.run(table, key, answers, draws_on=False)[0])

    # Who is counted in an integer is seen if each of the people is counted as often as their number says.
    without = exact(others)
    once = exact(np.concatenate([others, people]))
    often = exact(np.concatenate([others, np.repeat(people, np.arange(1, len(people) + 1), axis=0)]))
    scores = np.zeros(len(people))
    for seen, none, one, many in zip(noised(answers), without, once, often, strict=True):
        counted = (one.exact - none.exact) // seen.copies
        numbers = np.abs((many.exact - none.exact) // seen.copies) - 1
        alone = np.abs(counted) == 1
        out = none.exact
        there = Noised(seen.law, seen.copies, out + counted * seen.copies, seen.released)
        absent = Noised(seen.law, seen.copies, out, seen.released)
        np.add.at(scores, numbers[alone], gains(there, absent, by_entry=True)[alone])
    return scores


def bound(right: int, guessed: int, people: int, delta: float, alarm: float = ALARM) -> float:
    """The largest epsilon that is refuted: with it, so many right guesses have at most the probability of an alarm.

    Args:
        right: right guesses.
        guessed: guesses; the attacker abstains from the others.
        people: number of people with a coin.
        delta: the delta of the claim.
        alarm: the probability of a bound that is too large.
    """
    low, high = 0.0, _LARGEST
    if _chance(right, guessed, people, low, delta) > alarm:
        return 0.0
    while high - low > _TOLERANCE:
        middle = (low + high) / 2
        low, high = (middle, high) if _chance(right, guessed, people, middle, delta) <= alarm else (low, middle)
    return low


def _chance(right: int, guessed: int, people: int, epsilon: float, delta: float) -> float:
    """The largest probability of so many right guesses about a step of an epsilon and a delta."""
    share = 1 / (1 + exp(-epsilon))
    beyond = float(stats.binom.sf(right - 1, guessed, share))
    if not delta:
        return beyond
    below = [
        float(stats.binom.cdf(right - 1, guessed, share) - stats.binom.cdf(right - i - 1, guessed, share)) / i
        for i in range(1, right + 1)
    ]
    return beyond + 2 * people * delta * max(below, default=0.0)
