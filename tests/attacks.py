"""Attacks that are applied to broken and honest mechanisms alike; each returns whether it has found a fault.

An attack knows everything public: the code, the domain, the stated epsilon, and all records except one. It has none of
the release's secrets. Secrets and records are the same in every run, so an attack either always or never finds a
mechanism. Where an attack draws conclusions from draws, the probability of accusing an honest mechanism is at most
FALSE_ALARM.
"""

import hashlib
from collections.abc import Callable, Iterable
from functools import partial
from math import exp, log, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, stats

from benchmarks.attack_floats import as_integers, telling
from tests.noisy_answers import Answer, Records, Release, counted

FALSE_ALARM = 1e-9
EPSILON = 1.0
GUESSES = 200
"""Releases with the target, and as many without, that the attack on one person sees."""

_VALUES, _RUNS, _RECORDS_OF_EACH = 64, 100, 20
_MOST_CERTAIN = 4
"""The audit guesses one record in so many: those of which it is most certain."""

Law = Callable[[Any], NDArray[np.float64]]
"""The probability of each output, given a table."""


def secret(name: str, number: int = 0) -> bytes:
    """Return a secret of 32 bytes, the same in every run."""
    return hashlib.sha256(f"{name} {number}".encode()).digest()


def people() -> Records:
    """Return records of two attributes with 64 values; the attack knows all records except the last."""
    number = np.arange(_VALUES * _RECORDS_OF_EACH)
    return np.stack([number % _VALUES, number % _VALUES], axis=1)


SIZES = (_VALUES, _VALUES)


def is_recomputed(release: Release) -> bool:
    """Run the public code on guessed records with the attacker's own secret: is the result what was published?"""
    published = release(people(), SIZES, EPSILON, secret("of the release"))
    right, wrong = (release(guess, SIZES, EPSILON, secret("of the attacker")) for guess in (people(), people()[:-1]))
    return _are_equal(published, right) and not _are_equal(published, wrong)


def is_found_by_difference(release: Release) -> bool:
    """Publish two versions of the data one after the other: do the outputs differ by the exact difference?"""
    before, after = (release(records, SIZES, EPSILON, secret("of both")) for records in (people()[:-1], people()))
    exact = [counted(people()[-1:], SIZES, answer.attributes) for answer in after]
    moved = [one.counts - other.counts for one, other in zip(after, before, strict=True)]
    return all(np.allclose(there, right, atol=0.1) for there, right in zip(moved, exact, strict=True))


def _are_equal(some: list[Answer], others: list[Answer]) -> bool:
    return all(np.array_equal(one.counts, other.counts) for one, other in zip(some, others, strict=True))


def is_audited(release: Release) -> bool:
    """Include each of many records by a coin toss, and guess the tosses for the records about which most is revealed.

    For any mechanism with epsilon, the number of right guesses among r is stochastically dominated by a binomial number
    of r trials with success probability e^epsilon / (1 + e^epsilon). Runs on separate records with separate secrets are
    combined.

    Source: Steinke, Nasr, Jagielski 2023, "Privacy auditing with one (1) training run".
    """
    right, guesses = 0, _VALUES // _MOST_CERTAIN
    for run in range(_RUNS):
        tossed = np.random.default_rng([run, 1]).integers(2, size=_VALUES)
        there = np.repeat(np.arange(_VALUES), tossed)
        records = np.concatenate([people(), np.stack([there, there], axis=1)])
        certainty = np.zeros(_VALUES)
        for answer in release(records, SIZES, EPSILON, secret("audit", run)):
            more = (answer.counts - counted(people(), SIZES, answer.attributes))[
                (np.arange(_VALUES),) * len(answer.attributes)
            ]
            certainty += (np.abs(more) - np.abs(more - 1)) / answer.scale
        guessed = np.argsort(-np.abs(certainty), kind="stable")[:guesses]
        right += int(((certainty > 0) == tossed)[guessed].sum())
    return _right_by_chance(right, guesses * _RUNS, EPSILON) < FALSE_ALARM


def _right_by_chance(right: int, guesses: int, epsilon: float, delta: float = 0.0, canaries: int = 0) -> float:
    """Bound the probability of so many right guesses of coins for any mechanism with epsilon and delta."""
    chance = 1 / (1 + exp(-epsilon))
    beyond = float(stats.binom.sf(right - 1, guesses, chance))
    if not delta:
        return beyond
    fewer = stats.binom.sf(right - 1 - np.arange(1, right + 1), guesses, chance) - beyond
    return min(1.0, beyond + 2 * canaries * delta * float((fewer / np.arange(1, right + 1)).max()))


def refuted_epsilon(
    right: int, guesses: int, *, delta: float = 0.0, canaries: int = 0, alarm: float = FALSE_ALARM
) -> float:
    """Return the largest epsilon that a run with a given number of right guesses refutes.

    Args:
        right: number of right guesses.
        guesses: number of guesses.
        delta: what the mechanism claims beside epsilon.
        canaries: number of records with a coin toss; needed with delta.
        alarm: probability of refuting an epsilon that holds.
    """
    if _right_by_chance(right, guesses, 0.0, delta, canaries) > alarm:
        return 0.0
    return float(
        optimize.brentq(lambda epsilon: _right_by_chance(right, guesses, epsilon, delta, canaries) - alarm, 0, 40)
    )


def is_found_by_guessing(with_target: Iterable[bool], without: Iterable[bool], delta: float = 0.0) -> bool:
    """Count one event, fixed beforehand, in releases with and without the target: does epsilon exceed the stated one?

    Args:
        with_target: for each release of the records with the target, whether the event happened.
        without: the same for releases without the target.
        delta: what the mechanism claims beside EPSILON.
    """
    counted_in = [(sum(happened), len(happened)) for happened in (list(with_target), list(without))]
    return shown_epsilon(*counted_in, delta=delta, either=True) > EPSILON


def shown_epsilon(
    there: tuple[int, int],
    elsewhere: tuple[int, int],
    *,
    delta: float = 0.0,
    alarm: float = FALSE_ALARM,
    either: bool = False,
) -> float:
    """Return a lower bound on epsilon from the frequency of an event in releases of two neighbouring tables; 0 if none.

    Args:
        there: number of releases with the target in which the event happened, and their total number.
        elsewhere: the same for releases without the target.
        delta: what the mechanism claims beside epsilon.
        alarm: probability that the bound exceeds the true epsilon; it is divided among four bounds of proportions.
        either: whether the event may be more probable without the target.
    """
    (low, high), (other_low, other_high) = (_proportion(*each, alarm / 4) for each in (there, elsewhere))
    pairs = [(low, other_high), (1 - other_high, 1 - low)]
    if either:
        pairs += [(other_low, high), (1 - high, 1 - other_low)]
    return max(0.0, *(log(max(more - delta, 1e-300) / less) for more, less in pairs))


def _proportion(hits: int, cases: int, alarm: float) -> tuple[float, float]:
    """Return bounds of a probability, each of which is wrong with probability `alarm` (Clopper, Pearson 1934)."""
    low = float(stats.beta.ppf(alarm, hits, cases - hits + 1)) if hits else 0.0
    return low, float(stats.beta.isf(alarm, hits + 1, cases - hits)) if hits < cases else 1.0


def relative_risk(attack: tuple[int, int], control: tuple[int, int]) -> tuple[float, float, float]:
    """Return the excess of an attack's success over a control's, relative to the control's failures; 95 % interval.

    Args:
        attack: numbers of right guesses and of guesses, for people whose records were used.
        control: the same for people whose records were not used.

    Source: Giomi, Boenisch, Wehmeyer, Tasnádi 2023, with Wilson's intervals.
    """
    (own, error), (other, its_error) = (wilson(*each) for each in (attack, control))
    risk = (own - other) / (1 - other)
    half = sqrt((error / (1 - other)) ** 2 + (its_error * (1 - own) / (1 - other) ** 2) ** 2)
    return risk, risk - half, risk + half


def wilson(hits: int, cases: int) -> tuple[float, float]:
    """Return the centre and half-width of Wilson's 95 % interval for a probability."""
    z, share = float(stats.norm.ppf(0.975)), hits / cases
    scale = 1 + z * z / cases
    spread = sqrt(share * (1 - share) / cases + z * z / (4 * cases * cases))
    return (share + z * z / (2 * cases)) / scale, z * spread / scale


def reconstructed(queries: NDArray[np.float64], answers: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return the secret bits that best fit the answers to subset sums: least absolute deviations, then rounding.

    Source: Dinur, Nissim 2003; the linear program of Dwork, McSherry, Talwar 2007.
    """
    asked, bits = queries.shape
    own = np.eye(asked)
    program = optimize.linprog(
        np.r_[np.zeros(bits), np.ones(asked)],
        A_ub=np.block([[queries, -own], [-queries, -own]]),
        b_ub=np.r_[answers, -answers],
        bounds=[(0, 1)] * bits + [(0, None)] * asked,
        method="highs",
    )
    return np.asarray(program.x[:bits] > 0.5)


def is_beyond_its_law(law: Law, pairs: Iterable[tuple[Any, Any]], epsilon: float, delta: float = 0.0) -> bool:
    """Enumerate every output on every pair of small neighbouring tables: are epsilon and delta exceeded?"""
    worst = 0.0
    for one, other in pairs:
        first, second = law(one), law(other)
        for more, less in ((first, second), (second, first)):
            worst = max(worst, float(np.maximum(more - exp(epsilon) * less, 0).sum(axis=-1).max()))
    return worst > delta + 1e-12


def is_told_by_its_last_bits(release: Release) -> bool:
    """Are there numbers that the count can give with some noise, but that one person more or less cannot?"""
    empty, sizes = np.zeros((0, 2), np.int64), (500, 500)
    found = 0
    for answer in release(empty, sizes, EPSILON, secret("last bits")):
        counts = counted(empty, sizes, answer.attributes)
        possible = partial(as_integers, multiplier=1)
        if answer.counts.dtype.kind == "f":
            possible = partial(_is_logarithm, scale=answer.scale)
        assert possible(answer.counts, counts).all()
        found += telling(answer.counts, counts, possible).telling
    return found > 0


def _is_logarithm(values: NDArray[Any], counts: NDArray[np.int64], *, scale: float) -> NDArray[np.bool_]:
    """Whether counts could give values by adding the logarithm of one of 2^53 numbers, times the scale."""
    noise = values - counts
    nearest = np.rint(np.exp(-np.abs(noise) / scale) * 2.0**53)
    candidates = np.clip(nearest + np.arange(-16, 17)[:, None], 1, 2.0**53) / 2.0**53
    return np.asarray((counts + np.sign(noise) * (-scale * np.log(candidates)) == values).any(axis=0))
