"""Privacy loss distributions of one output of each kind of event, on a grid, and the total cost of many outputs.

A second derivation, with numpy alone, of the costs that `accounting` computes with a library: verification requires
neither the library nor trust in it. Summing losses does not belong here (dominating_pair).

An outcome with loss l between two grid points l_0 < l_1, of probability p under P and q = p e^-l under Q, is divided
between them so that both p and q are preserved. Its part of the curve, max(p - a q, 0), is convex in a and becomes the
sum of two such parts that agree with it at and beyond e^l_0 and e^l_1, and are nowhere smaller, so the pair on the
grid dominates the original pair. (The pair equals that of "connect the dots", Doroshenko, Ghazi, Kamath, Kumar,
Manurangsi 2022, but no curve is subtracted from another.)
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from math import ceil, exp, expm1, inf, sqrt

import numpy as np

from deniable.foundation.errors import InvalidInput
from deniable.privacy.dominating_pair import DominatingPair, Reals, connect_the_dots, epsilon_of_runs
from deniable.privacy.loss import (
    ConcentratedEvent,
    DiscreteGaussianEvent,
    DiscreteLaplaceEvent,
    ExponentialEvent,
    MechanismEvent,
    PoissonAttemptsEvent,
)
from deniable.privacy.poisson_pairs import envelope_pair, released_rates

MOST_INTEGERS = 10_000
"""Largest number of integers whose losses are put on the grid individually; beyond it, other bounds are nearly as
tight."""

# Privacy losses are put on a grid with this many steps per typical loss of an event.
_STEPS_PER_LOSS = 100
_LONGEST_GRID = 1 << 21
# Beyond this many standard deviations the mass of a discrete Gaussian is below 1e-30, which is charged.
_GAUSSIAN_REACH = 12
_GAUSSIAN_TAIL = 1e-30
_MOST_PLACES = 1 << 25
_REMEMBERED = 256


def pld_by_hand(events: Sequence[MechanismEvent], delta: float) -> float:
    """Total epsilon of all outputs of some events at a total delta; infinite if none is certified.

    Args:
        events: events on the same rows, without candidates tested.
        delta: in (0, 1).
    """
    if without_law(events):
        return inf
    step = grid_step(events)
    # Part and query are irrelevant; equal noise is composed together.
    outputs: dict[MechanismEvent, int] = {}
    for event in events:
        kind = replace(event, query="", part="", outputs=1)
        outputs[kind] = outputs.get(kind, 0) + event.outputs
    return _composed(tuple(outputs.items()), step, delta)


@lru_cache(_REMEMBERED)
def _composed(outputs: tuple[tuple[MechanismEvent, int], ...], step: float, delta: float) -> float:
    """Total epsilon of events, each with its number of outputs; one plan needs its cost several times."""
    return epsilon_of_runs([(loss_law(event, step), times) for event, times in outputs], delta)


def without_law(events: Sequence[MechanismEvent]) -> bool:
    """Whether losses cannot be put on a grid: the noise spans too many integers, or only zCDP is known."""
    return any(
        isinstance(event, ConcentratedEvent)
        or (isinstance(event, DiscreteGaussianEvent) and event.variance > MOST_INTEGERS**2)
        for event in events
    )


def grid_step(events: Sequence[MechanismEvent]) -> float:
    """Step of the common grid of losses of some events."""
    losses = [_typical_loss(event) for event in events]
    span = sum(event.outputs * loss for event, loss in zip(events, losses, strict=True))
    return max(min(loss for loss in losses if loss > 0) / _STEPS_PER_LOSS, span / _LONGEST_GRID) if span else 1.0


@lru_cache(_REMEMBERED)
def loss_law(event: MechanismEvent, step: float) -> DominatingPair:
    """A pair on a grid that dominates one output of an event.

    Args:
        event: the event; its number of outputs is ignored.
        step: step of the grid of losses.

    Raises:
        InvalidInput: the privacy loss of one output of such an event is unknown.
    """
    if isinstance(event, DiscreteLaplaceEvent):
        return _on_grid(step, *_discrete_laplace(event))
    if isinstance(event, DiscreteGaussianEvent):
        return _on_grid(step, *_discrete_gaussian(event), infinity_mass=_GAUSSIAN_TAIL)
    if isinstance(event, ExponentialEvent):
        return _bounded_range(float(event.epsilon_per_choice), step)
    if isinstance(event, PoissonAttemptsEvent):
        return envelope_pair(released_rates(event.attempts_per_row, event.plausible, event.law), step)
    if event.epsilon is None:
        raise InvalidInput(f"an event must have an epsilon to be composed, got one of the mechanism {event.mechanism}.")
    epsilon, delta = float(event.epsilon), float(event.delta)
    lie = 1 / (1 + exp(epsilon))
    return _on_grid(step, np.array([-epsilon, epsilon]), (1 - delta) * np.array([lie, 1 - lie]), infinity_mass=delta)


def _typical_loss(event: MechanismEvent) -> float:
    if isinstance(event, PoissonAttemptsEvent):
        # Where every attempt passes, one row more changes the mean tau c, whose deviation is its root, by tau.
        return sqrt(float(event.attempts_per_row) / (event.plausible + len(event.law)))
    if event.epsilon is not None:
        return float(event.epsilon)
    return sqrt(2 * event.rho) if event.rho is not None else 0.0


def _on_grid(step: float, losses: Reals, probabilities: Reals, infinity_mass: float = 0.0) -> DominatingPair:
    """Divide the mass of each loss between the two grid points around it.

    Args:
        step: step of the grid.
        losses: finite losses, shape (n,).
        probabilities: their probabilities under P, shape (n,).
        infinity_mass: probability under P of outcomes that are impossible under Q.
    """
    below = np.floor(losses / step).astype(np.int64)
    above = np.clip(np.expm1(below * step - losses) / expm1(-step), 0.0, 1.0)
    first, places = int(below.min()), int(below.max() - below.min()) + 2
    if places > _MOST_PLACES:
        raise InvalidInput(f"losses must be on a grid of at most {_MOST_PLACES:,} places, got {places:,}.")
    masses = np.zeros(places)
    np.add.at(masses, below - first, probabilities * (1 - above))
    np.add.at(masses, below - first + 1, probabilities * above)
    (kept,) = np.nonzero(masses)
    return DominatingPair(step=step, losses=kept + first, probabilities=masses[kept], infinity_mass=infinity_mass)


def _discrete_laplace(event: DiscreteLaplaceEvent) -> tuple[Reals, Reals]:
    """Losses (|z - s| - |z|) / scale of noise z against noise shifted by the sensitivity s, and their probabilities."""
    # Sensitivity 1 is the worst case for a given epsilon: its losses are those of randomized response.
    sensitivity = event.sensitivity if event.sensitivity <= MOST_INTEGERS else 1
    rate = float(event.epsilon) / sensitivity
    between = np.arange(1, sensitivity)
    decay = exp(-rate)
    losses = rate * np.concatenate([[sensitivity], sensitivity - 2 * between, [-sensitivity]])
    inside = -expm1(-rate) * np.exp(-rate * between)
    return losses, np.concatenate([[1.0], inside, [exp(-rate * sensitivity)]]) / (1 + decay)


def _discrete_gaussian(event: DiscreteGaussianEvent) -> tuple[Reals, Reals]:
    """Losses ((z - s)^2 - z^2) / (2 variance) of noise z against noise shifted by sensitivity s, and probabilities."""
    variance, sensitivity = float(event.variance), float(event.sensitivity)
    reach = ceil(_GAUSSIAN_REACH * sqrt(variance)) + 1
    z = np.arange(-reach, reach + 1, dtype=np.float64)
    weights = np.exp(-(z**2) / (2 * variance))
    return sensitivity * (sensitivity - 2 * z) / (2 * variance), weights / weights.sum()


def _bounded_range(epsilon: float, step: float) -> DominatingPair:
    """The worst case of epsilon-bounded-range mechanisms, which adaptive choices may attain.

    Outcomes with loss t have P-probability (e^epsilon - e^t) / (e^epsilon - 1), others have loss t - epsilon; the
    worst t at each point of the curve is half way between the point and epsilon.
    """
    grid = np.arange(ceil(epsilon / step) + 1) * step
    inside = np.minimum(grid, epsilon)
    curve = np.expm1((epsilon - inside) / 2) ** 2 * np.exp(inside) / expm1(epsilon)
    return connect_the_dots(step, curve, curve)
