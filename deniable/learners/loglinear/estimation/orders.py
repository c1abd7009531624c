"""Orders of the attributes to glue tables along.

Tables of two attributes with a third say how the two are tied only if the third is not the last of them: along a bad
order their tie is lost, and the tables contradict each other. No rule finds the best order, so a few are tried. Fitting
a model along an order does not belong here.
"""

from collections.abc import Callable, Mapping

import numpy as np

from deniable.learners.loglinear.estimation.fitting import Shape
from deniable.models.loglinear.flat_tables import Attributes

_RECODING_BONUS = 8.0
_STARTS = 2

Tie = Callable[[float], float]
"""How much a table ties its attributes together, from its distance from independence, which is between 0 and 2."""


def _by_number(distance: float) -> float:
    """Each table counts, one that is close to a recoding more, so that a recoding comes next to what it recodes."""
    return 1 + _RECODING_BONUS * max(0.0, distance - 1)


def _by_strength(distance: float) -> float:
    """Each table counts as much as its attributes are tied."""
    return distance


def candidate_orders(
    distances: Mapping[Attributes, float], shape: Shape, guides: Mapping[int, int]
) -> list[tuple[int, ...]]:
    """Orders that put the target first, then some attribute, and then always the one that is tied most to those placed.

    Args:
        distances: how far each pair of attributes that was measured is from independence, as a share of the records.
        shape: what is known of the attributes.
        guides: for some attributes, one that must come before it and has none itself.
    """
    sizes, target = shape.sizes, shape.target
    cells, strength = np.zeros(len(sizes)), np.zeros(len(sizes))
    for (i, j), distance in distances.items():
        cells[[i, j]] += sizes[i] * sizes[j]
        strength[[i, j]] += distance
    others = [i for i in range(len(sizes)) if i != target]
    starts = [max(others, key=lambda i: (cells[i], -i))] if others else []
    starts += sorted(others, key=lambda i: (-strength[i], i))[:_STARTS]
    placed = [] if target is None else [target]
    orders = [
        _grown([*placed, start], {pair: tie(distance) for pair, distance in distances.items()}, cells)
        for start in dict.fromkeys(starts)
        for tie in (_by_number, _by_strength)
    ]
    return list(dict.fromkeys(_guides_first(order, guides) for order in orders)) or [tuple(placed)]


def _guides_first(order: tuple[int, ...], guides: Mapping[int, int]) -> tuple[int, ...]:
    """The order with each guide that comes too late moved to just before the first attribute that needs it."""
    moved = list(order)
    for guide in dict.fromkeys(guides.values()):
        first = min(moved.index(attribute) for attribute, own in guides.items() if own == guide)
        if moved.index(guide) > first:
            moved.remove(guide)
            moved.insert(first, guide)
    return tuple(moved)


def _grown(placed: list[int], ties: Mapping[Attributes, float], cells: np.ndarray) -> tuple[int, ...]:
    """All attributes, always the one that is tied most to those placed, of most cells among equals."""
    order = list(placed)
    left = [i for i in range(len(cells)) if i not in order]
    while left:
        tied = dict.fromkeys(left, 0.0)
        for (i, j), tie in ties.items():
            if (i in tied) != (j in tied):
                tied[i if i in tied else j] += tie
        order.append(max(left, key=lambda i: (tied[i], cells[i], -i)))
        left.remove(order[-1])
    return tuple(order)
