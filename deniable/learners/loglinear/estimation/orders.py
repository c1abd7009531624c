"""Orders of the attributes along which a model is fitted.

Tables of two attributes with a third imply a dependence between the two only if the third is not the last of the
three: along a bad order that dependence is lost, and the tables contradict each other. No rule finds the best order,
so several are tried. Fitting a model along an order does not belong here.
"""

from collections.abc import Mapping

import numpy as np

from deniable.learners.loglinear.estimation.fitting import Shape
from deniable.models.loglinear.flat_tables import Attributes

_STARTS = 2


def candidate_orders(
    distances: Mapping[Attributes, float], shape: Shape, guides: Mapping[int, int]
) -> list[tuple[int, ...]]:
    """Orders that begin with the target and a starting attribute, then add the one most associated with those placed.

    Args:
        distances: distance of each measured pair of attributes from independence, as a share of the records.
        shape: the attributes.
        guides: for some attributes, another that must precede it and has no guide itself.
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
    orders = [_grown([*placed, start], distances, cells) for start in dict.fromkeys(starts)]
    return list(dict.fromkeys(_guides_first(order, guides) for order in orders)) or [tuple(placed)]


def _guides_first(order: tuple[int, ...], guides: Mapping[int, int]) -> tuple[int, ...]:
    """The order with each late guide moved to just before the first attribute that needs it."""
    moved = list(order)
    for guide in dict.fromkeys(guides.values()):
        first = min(moved.index(attribute) for attribute, own in guides.items() if own == guide)
        if moved.index(guide) > first:
            moved.remove(guide)
            moved.insert(first, guide)
    return tuple(moved)


def _grown(placed: list[int], distances: Mapping[Attributes, float], cells: np.ndarray) -> tuple[int, ...]:
    """Order attributes greedily by their summed distances with those placed; equal sums go to the most cells."""
    order = list(placed)
    left = [i for i in range(len(cells)) if i not in order]
    while left:
        tied = dict.fromkeys(left, 0.0)
        for (i, j), distance in distances.items():
            if (i in tied) != (j in tied):
                tied[i if i in tied else j] += distance
        order.append(max(left, key=lambda i: (tied[i], cells[i], -i)))
        left.remove(order[-1])
    return tuple(order)
