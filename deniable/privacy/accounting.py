"""Accountants compute the cost of mechanism events on one set of rows, and the noise that a budget requires.

The theorems themselves do not belong here (composition), nor do candidates tested for plausible deniability
(seed_accounting). Events on disjoint parts are composed part by part, and the parts by composition.parallel or
composition.joint_split.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from math import ceil, expm1, inf, log, sqrt
from typing import Any, Protocol, TypeAlias, TypeVar

import numpy as np

from deniable.foundation.errors import InvalidInput
from deniable.privacy.composition import advanced_composition, epsilon_to_zcdp, require_delta, zcdp_to_epsilon
from deniable.privacy.loss import (
    DiscreteGaussianEvent,
    DiscreteLaplaceEvent,
    ExponentialEvent,
    Guarantee,
    MechanismEvent,
    PoissonAttemptsEvent,
    PrivacyTestEvent,
)
from deniable.privacy.loss_laws import MOST_INTEGERS, grid_step, pld_by_hand, without_law
from deniable.privacy.remembered import REMEMBERED, question

__all__ = [
    "Guarantee",
    "LossComposer",
    "MechanismEvent",
    "best",
    "best_again",
    "calibrate_discrete_gaussian",
    "calibrate_discrete_laplace",
    "compose",
    "four_digits",
    "least_noise",
    "pld_by_either",
    "pld_by_library",
]

LossComposer: TypeAlias = Callable[[Sequence[MechanismEvent], float], float]
"""Total epsilon of events at a total delta, by privacy loss distributions; infinite if none is certified."""

_REMEMBERED = 4096
# A cached figure may exceed that of our own derivation by this share; the library's exceeds it by less.
_AGREEMENT = 1e-3
# One composition by Fourier transform misplaces at most about this much probability.
_ROUNDING = 64 * 2.0**-53
# The library certifies nothing at a delta less than this many times what it may misplace.
_MARGIN = 10
# The cost of discrete Gaussian noise this wide, relative to its sensitivity, is within this share of its limit.
_SMOOTH_SIGMA = 1000
_SMOOTHNESS = Fraction(1, 10_000)
# Calibrated noise is rounded to this many decimal digits, so that all machines obtain the same value.
_DIGITS = 4
_SMALLEST, _PER_DECADE = 1000, 9000
# The search for the least noise of a plan: largest number of steps, and the relative slack at which it stops.
_SEARCH = 6
_FINE_ENOUGH = 1e-3
# The library's epsilon exceeds ours, at a delta less what the library may misplace, by at most this share.
_LIBRARY_AGREES = 4e-6


def pld_by_library(events: Sequence[MechanismEvent], delta: float) -> float:
    """Epsilon by composing privacy loss distributions; infinite if delta is too close to the rounding errors."""
    return _composed_by_library(tuple(_merged(events)), delta)


@lru_cache(_REMEMBERED)
def _composed_by_library(events: tuple[MechanismEvent, ...], delta: float) -> float:
    """See `pld_by_library`; cached, because the steps of all releases need the same calibrations.

    A cached figure is used only if our own derivation certifies it, that is, finds no larger epsilon.
    """
    misplaced = _misplaced(events)
    if delta < _MARGIN * misplaced or without_law(events) or _only_by_hand(events):
        return inf
    asked = question("epsilon", events, delta)
    known = REMEMBERED.recall(asked)
    if known is not None:
        least = pld_by_hand(events, delta)
        if least <= known <= least * (1 + _AGREEMENT):
            return known
    found = _composed(events, delta, misplaced)
    REMEMBERED.note(asked, found)
    return found


def _composed(events: tuple[MechanismEvent, ...], delta: float, misplaced: float) -> float:
    step = grid_step(events)
    total = None
    for event in events:
        one = _loss_distribution(event, step)
        composed = one.self_compose(event.outputs) if event.outputs > 1 else one
        total = composed if total is None else total.compose(composed)
    return inf if total is None else float(total.get_epsilon_for_delta(delta - misplaced))


def _misplaced(events: Sequence[MechanismEvent]) -> float:
    """The probability that the library may misplace, which is reserved."""
    return _ROUNDING * sum(event.outputs for event in events)


def _only_by_hand(events: Sequence[MechanismEvent]) -> bool:
    """Whether the library has no distribution for an event."""
    return any(isinstance(event, PoissonAttemptsEvent) for event in events)


def _as_by_library(events: Sequence[MechanismEvent], delta: float) -> float:
    """The epsilon of `pld_by_either` up to a few millionths, by our own derivation: the library is slow to import."""
    misplaced = _misplaced(events)
    certified = delta >= _MARGIN * misplaced
    return pld_by_hand(events, delta - misplaced if certified else delta)


def pld_by_either(events: Sequence[MechanismEvent], delta: float) -> float:
    """Epsilon by the library, or by our own derivation if delta is too small for the library to certify any.

    In the latter case the claim rests on a single derivation, because verification uses the same one.
    """
    by_library = pld_by_library(events, delta)
    return by_library if by_library < inf else pld_by_hand(events, delta)


def compose(
    events: Sequence[MechanismEvent], delta: float | Fraction, *, pld: LossComposer = pld_by_either
) -> dict[str, Guarantee]:
    """Total cost of several events on the same rows, by each accountant that applies.

    `basic` sums epsilons; `advanced` is advanced composition (composition.advanced_composition); `zcdp` sums rho of
    zCDP and converts once; `pld` composes privacy loss distributions, rounded pessimistically.

    Args:
        events: the events.
        delta: total delta; at 0 only basic composition applies, and at 1 any mechanism satisfies it.
        pld: composes privacy loss distributions.

    Returns:
        For each accountant that certifies a finite epsilon, its guarantee.

    Raises:
        InvalidInput: the events include candidates tested, or delta is not in [0, 1].
    """
    if any(isinstance(event, PrivacyTestEvent) for event in events):
        raise InvalidInput(
            "candidates tested for plausible deniability are composed by seed_accounting, got them among other events; "
            "compose them separately and sum the guarantees with composition.sequential."
        )
    if delta == 1:
        # Any mechanism is (0, 1)-differentially private.
        return {"trivial": Guarantee(0.0, 1.0, "trivial")}
    if delta != 0:
        require_delta(float(delta))
    spent = sum((event.outputs * event.delta for event in events), start=Fraction(0))
    slack = float(Fraction(delta) - spent)
    if slack < 0:
        return {}
    totals = {"basic": Guarantee(_basic(events), float(spent), "basic")}
    if slack > 0 and events:
        totals["advanced"] = Guarantee(_advanced(events, slack), float(delta), "advanced")
        totals["zcdp"] = Guarantee(_zcdp(events, slack), float(delta), "zcdp")
        totals["pld"] = Guarantee(pld(events, float(delta)), float(delta), "pld")
    return {name: guarantee for name, guarantee in totals.items() if guarantee.epsilon < inf}


def best(events: Sequence[MechanismEvent], delta: float | Fraction, *, pld: LossComposer = pld_by_either) -> Guarantee:
    """The tightest guarantee for several events on the same rows.

    Args:
        events: the events.
        delta: total delta.
        pld: composes privacy loss distributions.

    Raises:
        InvalidInput: no accountant certifies a finite epsilon.
    """
    totals = compose(events, delta, pld=pld)
    if not totals:
        raise InvalidInput(
            f"delta must exceed what the events spend of it, got {float(delta):g}; raise it, or use noise with pure "
            "differential privacy."
        )
    return min(totals.values(), key=lambda guarantee: guarantee.epsilon)


def best_again(events: Sequence[MechanismEvent], delta: float | Fraction) -> Guarantee:
    """The tightest guarantee as computed in verification, without the library's privacy loss distributions.

    Raises:
        InvalidInput: no accountant certifies a finite epsilon.
    """
    return best(events, delta, pld=pld_by_hand)


@lru_cache(_REMEMBERED)
def calibrate_discrete_laplace(
    *, outputs: int, epsilon: float | Fraction, delta: float | Fraction, sensitivity: int = 1
) -> Fraction:
    """Largest epsilon per output, with four digits, at which discrete Laplace noise stays within a budget.

    The noise has scale sensitivity / (this epsilon). Sensitivity 1 is the worst case: its privacy losses are those of
    randomized response, which dominates every mechanism with that epsilon, so the result holds for other sensitivities.

    Args:
        outputs: number of integers that one record can change.
        epsilon: total epsilon.
        delta: total delta; 0 for pure differential privacy.
        sensitivity: largest change of one integer.
    """
    budget = _exact(epsilon)

    def fits(index: int) -> bool:
        event = DiscreteLaplaceEvent(
            query="", part="", outputs=outputs, sensitivity=sensitivity, scale=sensitivity / _decimal(index)
        )
        return best([event], delta).epsilon <= budget

    sure = _index_below(budget / outputs)
    if delta == 0:
        return _decimal(sure)
    asked = question("epsilon per output", (), outputs, budget, Fraction(delta), sensitivity)
    return _decimal(_searched(asked, fits, sure, 1))


@lru_cache(_REMEMBERED)
def calibrate_discrete_gaussian(
    *, outputs: int, epsilon: float | Fraction, delta: float | Fraction, sensitivity: int = 1
) -> Fraction:
    """Smallest variance, with four digits, at which discrete Gaussian noise stays within a budget.

    The cost depends slightly on how fine the grid of integers is. The variance found suffices for the given
    sensitivity, and also after multiplying the sensitivity by any integer of at least 100 and the variance by its
    square: noise calibrated for sensitivity 1 may be scaled to a large sensitivity that becomes known later.

    Args:
        outputs: number of integers that one record can change.
        epsilon: total epsilon.
        delta: total delta, above 0.
        sensitivity: largest change of one integer.

    Raises:
        InvalidInput: delta is 0.
    """
    budget = _exact(epsilon)

    def spends(variance: Fraction, scale: int) -> float:
        event = DiscreteGaussianEvent(
            query="", part="", outputs=outputs, sensitivity=sensitivity * scale, variance=variance * scale**2
        )
        return best([event], delta).epsilon

    def fits(index: int) -> bool:
        variance = _decimal(index)
        finer = ceil(_SMOOTH_SIGMA / sqrt(variance))
        return all(spends(variance, scale) <= budget * (1 - _SMOOTHNESS) for scale in {1, finer})

    by_zcdp = outputs * sensitivity**2 / (2 * epsilon_to_zcdp(float(budget * (1 - _SMOOTHNESS)), float(delta)))
    asked = question("variance", (), outputs, budget, Fraction(delta), sensitivity)
    return _decimal(_searched(asked, fits, _index_below(Fraction(by_zcdp)) + 1, -1))


class Scaled(Protocol):
    """A plan with adjustable noise."""

    @property
    def guarantee(self) -> Guarantee:
        """Its total cost."""

    @property
    def events(self) -> tuple[MechanismEvent, ...]:
        """Events that upper-bound the cost of the mechanisms applied to the data."""


_Plan = TypeVar("_Plan", bound=Scaled)


def least_noise(
    plan: Callable[[float], _Plan], rho: float, epsilon: Fraction, delta: Fraction, *, otherwise: str
) -> _Plan:
    """The plan with approximately the least noise within a budget; all its amounts are scaled together.

    The search needs our own derivation of costs alone. The guarantee of the plan found, which is what is charged, is
    computed by the library too.

    Args:
        plan: makes the plan with a given total rho of zero-concentrated differential privacy.
        rho: a rho that is certainly within the budget. A tight accountant allows about a tenth more.
        epsilon: total epsilon.
        delta: total delta, above 0.
        otherwise: what to do if delta alone permits any amount of noise, for the message.

    Raises:
        InvalidInput: delta alone permits any amount of noise.
    """
    good = rho * (1 - _FINE_ENOUGH)
    found, step = plan(good), 1.1
    asked = question("least noise", found.events, good, epsilon, delta)
    known = REMEMBERED.recall(asked)
    if known is not None and known >= good:
        again = plan(known)
        if again.guarantee.epsilon <= epsilon:
            return again
    spent = best(found.events, delta, pld=_as_by_library).epsilon
    if not spent:
        raise InvalidInput(
            "epsilon must be large enough relative to delta to scale Gaussian noise, got epsilon "
            f"{float(epsilon):g} and delta {float(delta):g}, which alone covers the noise; {otherwise}."
        )
    for _ in range(_SEARCH):
        tried = plan(good * step)
        cost = best(tried.events, delta, pld=_as_by_library).epsilon
        # Epsilon grows like a power of rho.
        power = log(cost / spent) / log(step) if cost > spent else 1.0
        if cost * (1 + _LIBRARY_AGREES) <= epsilon:
            good, found, spent = good * step, tried, cost
            step = (float(epsilon) / cost) ** (1 / power) * (1 - 1e-4)
        else:
            step = 1 + (step * (float(epsilon) / cost) ** (1 / power) - 1) * 0.98
        if step < 1 + _FINE_ENOUGH:
            break
    REMEMBERED.note(asked, good)
    return found


def four_digits(value: float, direction: int) -> Fraction:
    """Round a non-negative number to four digits, up or down: machines may differ by one unit of the last digit."""
    return _decimal(_index_below(Fraction(value)) + (direction > 0)) if value else Fraction(0)


def _merged(events: Sequence[MechanismEvent]) -> list[MechanismEvent]:
    """Merge events that differ only in their query: composing a distribution with itself is faster."""
    outputs: dict[MechanismEvent, int] = {}
    for event in events:
        kind = replace(event, query="", part="", outputs=1, sampling_rate=Fraction(1))
        outputs[kind] = outputs.get(kind, 0) + event.outputs
    return [replace(kind, outputs=times) for kind, times in outputs.items()]


def _basic(events: Sequence[MechanismEvent]) -> float:
    total = Fraction(0)
    for event in events:
        if event.epsilon is None:
            return inf
        total += event.outputs * event.epsilon
    return float(total)


def _advanced(events: Sequence[MechanismEvent], slack: float) -> float:
    pairs = [(float(event.epsilon), event.outputs) for event in events if event.epsilon is not None]
    return advanced_composition(pairs, slack) if len(pairs) == len(events) else inf


def _zcdp(events: Sequence[MechanismEvent], slack: float) -> float:
    total = Fraction(0)
    for event in events:
        if event.rho is None:
            return inf
        total += event.outputs * event.rho
    return zcdp_to_epsilon(float(total), slack)


def _loss_distribution(event: MechanismEvent, step: float) -> Any:
    """The privacy loss distribution of one output, discretised pessimistically."""
    # Slow to import, and not needed where noise is only drawn.
    from dp_accounting.pld import common, pld_pmf  # noqa: PLC0415
    from dp_accounting.pld import privacy_loss_distribution as pld  # noqa: PLC0415

    if isinstance(event, DiscreteLaplaceEvent):
        # Sensitivity 1 at the same epsilon dominates; see calibrate_discrete_laplace.
        sensitivity = event.sensitivity if event.sensitivity <= MOST_INTEGERS else 1
        return pld.from_discrete_laplace_mechanism(
            float(event.epsilon / sensitivity), sensitivity, value_discretization_interval=step, use_connect_dots=True
        )
    if isinstance(event, DiscreteGaussianEvent):
        return pld.PrivacyLossDistribution(_gaussian_masses(sqrt(event.variance), event.sensitivity, step))
    if isinstance(event, ExponentialEvent):
        epsilon = float(event.epsilon)
        last = ceil(epsilon / step)
        grid = np.arange(-last, last + 1) * step
        # The supremum over epsilon-bounded-range mechanisms, which adaptive choices may attain:
        # outcomes with loss t have P-probability (e^epsilon - e^t) / (e^epsilon - 1), others t - epsilon.
        inside = np.clip(grid, -epsilon, epsilon)
        curve = np.expm1((epsilon - inside) / 2) ** 2 * np.exp(inside) / expm1(epsilon)
        curve = np.where(grid < -epsilon, -np.expm1(grid), curve)
        return pld.PrivacyLossDistribution(
            pld_pmf.create_pmf_pessimistic_connect_dots_fixed_gap(step, -last, last, np.clip(curve, 0, 1))
        )
    if event.epsilon is None:
        raise InvalidInput(f"an event must have an epsilon to be composed, got one of the mechanism {event.mechanism}.")
    return pld.from_privacy_parameters(
        common.DifferentialPrivacyParameters(float(event.epsilon), float(event.delta)),
        value_discretization_interval=step,
    )


def _gaussian_masses(sigma: float, sensitivity: int, step: float) -> Any:
    """The losses of the library's `from_discrete_gaussian_mechanism`, bit for bit, without its loops over integers."""
    from dp_accounting.pld import pld_pmf, privacy_loss_mechanism  # noqa: PLC0415

    law = privacy_loss_mechanism.DiscreteGaussianPrivacyLoss(sigma, sensitivity)
    bounds = law.connect_dots_bounds()
    noise = np.arange(bounds.lower_x, bounds.upper_x + 1)
    losses = sensitivity * (-0.5 * sensitivity - noise) / sigma**2 / step
    grid = np.unique(np.concatenate([np.floor(losses), np.ceil(losses)])).astype(np.int64)
    epsilons = grid * step
    # The largest noise whose loss is at least each epsilon.
    largest = -0.5 * sensitivity - epsilons * sigma**2 / sensitivity
    places = np.floor(np.clip(largest, bounds.lower_x - 1, bounds.upper_x)).astype(np.int64)
    deltas = law.mu_upper_cdf(places) - np.exp(epsilons + law.mu_lower_log_cdf(places))
    return pld_pmf.create_pmf_pessimistic_connect_dots(step, grid, np.clip(deltas, 0, 1))


def _exact(epsilon: float | Fraction) -> Fraction:
    """A budget as its decimal literal: 0.3 is three tenths."""
    exact = epsilon if isinstance(epsilon, Fraction) else Fraction(str(epsilon))
    if exact <= 0:
        raise InvalidInput(f"epsilon must be above 0, got {epsilon}.")
    return exact


def _decimal(index: int) -> Fraction:
    """The index-th decimal number with four digits, counted from 1."""
    decade, digits = divmod(index, _PER_DECADE)
    return (_SMALLEST + digits) * _power_of_ten(decade - _DIGITS + 1)


def _index_below(value: Fraction) -> int:
    """Index of the largest decimal number with four digits that is at most a value."""
    decade = len(str(int(value))) - 1 if value >= 1 else -len(str(int(1 / value)))
    if value == _power_of_ten(decade + 1):
        decade += 1
    return decade * _PER_DECADE + int(value / _power_of_ten(decade - _DIGITS + 1)) - _SMALLEST


def _power_of_ten(exponent: int) -> Fraction:
    power: Fraction = Fraction(10) ** exponent
    return power


def _searched(asked: str, fits: Callable[[int], bool], start: int, direction: int) -> int:
    """The last index that fits, searched from one that certainly does; a cached index is used if it fits."""
    known = REMEMBERED.recall(asked)
    if known == start:
        return start
    if known is not None and known == int(known) and direction * (known - start) > 0 and fits(int(known)):
        return int(known)
    found = _last_that_fits(fits, start, direction)
    REMEMBERED.note(asked, found)
    return found


def _last_that_fits(fits: Callable[[int], bool], start: int, direction: int) -> int:
    """The last index that fits, moving in one direction from an index that fits."""
    stride = 1
    while fits(start + direction * stride):
        stride *= 4
    good, bad = start + direction * (stride // 4), start + direction * stride
    while abs(bad - good) > 1:
        middle = (good + bad) // 2
        good, bad = (middle, bad) if fits(middle) else (good, middle)
    return good
