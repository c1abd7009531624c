"""The law of the privacy loss of one output of each kind of event, on a grid, and what many outputs cost together.

A second derivation of what `accounting` has a library compute, with nothing but numpy: whoever verifies a claim needs
neither the library nor trust in it. Summing losses up does not belong here (dominating_pair).

An outcome with loss l between two places l_0 < l_1 of the grid, of probability p under P and q = p e^-l under Q, is
divided between them so that both p and q are kept. Its part of the curve, max(p - a q, 0), is convex in a and becomes
the sum of two such that agree with it at e^l_0, at e^l_1 and beyond: nowhere smaller, so that a pair on the grid
dominates the one it is made of. (The same pair as by connecting the dots: Doroshenko, Ghazi, Kamath, Kumar,
Manurangsi 2022; but no curve is subtracted from another.)
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from math import ceil, exp, expm1, inf, sqrt

import numpy as np

from deniable.foundation.errors import InvalidInput
from deniable.privacy.dominating_pair import DominatingPair, Reals, connect_the_dots, epsilon_of_runs
from deniable.privacy.loss import DiscreteGaussianEvent, DiscreteLaplaceEvent, ExponentialEvent, MechanismEvent

MOST_INTEGERS = 10_000
"""Integers that are put on the grid one by one. Beyond, other bounds are used: they are nearly as tight there."""

# Privacy losses are put on a grid with this many steps to an event's typical loss.
_STEPS_PER_LOSS = 100
_LONGEST_GRID = 1 << 21
# Beyond this many standard deviations the mass of a discrete Gaussian is below 1e-30, which is what is charged for it.
_GAUSSIAN_REACH = 12
_GAUSSIAN_TAIL = 1e-30
_MOST_PLACES = 1 << 25
_REMEMBERED = 256


def pld_by_hand(events: Sequence[MechanismEvent], delta: float) -> float:
    """Epsilon of all outputs of some events together at a total delta, infinite where this can certify none.

    Args:
        events: what was done to the same rows; no candidates tested.
        delta: in (0, 1).
    """
    if too_fine(events):
        return inf
    step = grid_step(events)
    # Which part was read and what was asked makes no difference; equal noise is composed as one.
    outputs: dict[MechanismEvent, int] = {}
    for event in events:
        kind = replace(event, query="", part="", outputs=1)
        outputs[kind] = outputs.get(kind, 0) + event.outputs
    return epsilon_of_runs([(loss_law(event, step), times) for event, times in outputs.items()], delta)


def too_fine(events: Sequence[MechanismEvent]) -> bool:
    """Whether noise is on integers too fine to be put on a grid one by one."""
    return any(isinstance(event, DiscreteGaussianEvent) and event.variance > MOST_INTEGERS**2 for event in events)


def grid_step(events: Sequence[MechanismEvent]) -> float:
    """Distance of the losses on the grid that some events are put on together."""
    losses = [_typical_loss(event) for event in events]
    span = sum(event.outputs * loss for event, loss in zip(events, losses, strict=True))
    return max(min(loss for loss in losses if loss > 0) / _STEPS_PER_LOSS, span / _LONGEST_GRID) if span else 1.0


@lru_cache(_REMEMBERED)
def loss_law(event: MechanismEvent, step: float) -> DominatingPair:
    """A pair on a grid that dominates one output of an event.

    Args:
        event: the event; how many outputs it has does not count.
        step: distance of the losses.

    Raises:
        InvalidInput: nothing is known of such an output by itself.
    """
    if isinstance(event, DiscreteLaplaceEvent):
        return _on_grid(step, *_discrete_laplace(event))
    if isinstance(event, DiscreteGaussianEvent):
        return _on_grid(step, *_discrete_gaussian(event), infinity_mass=_GAUSSIAN_TAIL)
    if isinstance(event, ExponentialEvent):
        return _bounded_range(float(event.epsilon_per_choice), step)
    if event.epsilon is None:
        raise InvalidInput(f"an event must have an epsilon to be composed, got one of the mechanism {event.mechanism}.")
    epsilon, delta = float(event.epsilon), float(event.delta)
    lie = 1 / (1 + exp(epsilon))
    return _on_grid(step, np.array([-epsilon, epsilon]), (1 - delta) * np.array([lie, 1 - lie]), infinity_mass=delta)


def _typical_loss(event: MechanismEvent) -> float:
    if event.epsilon is not None:
        return float(event.epsilon)
    return sqrt(2 * event.rho) if event.rho is not None else 0.0


def _on_grid(step: float, losses: Reals, probabilities: Reals, infinity_mass: float = 0.0) -> DominatingPair:
    """Divide the mass of each loss between the two places of the grid around it.

    Args:
        step: distance of the places.
        losses: finite losses, shape (n,).
        probabilities: their probabilities under P, shape (n,).
        infinity_mass: probability under P of what is impossible under Q.
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
    """Losses (|z - s| - |z|) / scale of noise z against noise moved by the sensitivity s, and their probabilities."""
    # Sensitivity 1 is the worst of one epsilon: its losses are those of randomized response.
    sensitivity = event.sensitivity if event.sensitivity <= MOST_INTEGERS else 1
    rate = float(event.epsilon) / sensitivity
    between = np.arange(1, sensitivity)
    decay = exp(-rate)
    losses = rate * np.concatenate([[sensitivity], sensitivity - 2 * between, [-sensitivity]])
    inside = -expm1(-rate) * np.exp(-rate * between)
    return losses, np.concatenate([[1.0], inside, [exp(-rate * sensitivity)]]) / (1 + decay)


def _discrete_gaussian(event: DiscreteGaussianEvent) -> tuple[Reals, Reals]:
    """Losses ((z - s)^2 - z^2) / (2 variance) of noise z against noise moved by the sensitivity s, and their law."""
    variance, sensitivity = float(event.variance), float(event.sensitivity)
    reach = ceil(_GAUSSIAN_REACH * sqrt(variance)) + 1
    z = np.arange(-reach, reach + 1, dtype=np.float64)
    weights = np.exp(-(z**2) / (2 * variance))
    return sensitivity * (sensitivity - 2 * z) / (2 * variance), weights / weights.sum()


def _bounded_range(epsilon: float, step: float) -> DominatingPair:
    """The worst of all mechanisms of bounded range epsilon, which choices made one after the other may reach.

    Outcomes with loss t have P-probability (e^epsilon - e^t) / (e^epsilon - 1), others t - epsilon; the worst t at each
    place of the curve is half way from there to epsilon.
    """
    grid = np.arange(ceil(epsilon / step) + 1) * step
    inside = np.minimum(grid, epsilon)
    curve = np.expm1((epsilon - inside) / 2) ** 2 * np.exp(inside) / expm1(epsilon)
    return connect_the_dots(step, curve, curve)
