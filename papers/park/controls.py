"""Controls of the maps: a copy of the real table, and real values that are shuffled, by all that is measured."""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Final

import numpy as np

from deniable.foundation.domain import Codes
from papers.bindschaedler.people import People, stream_of
from papers.findings import Check
from papers.park.choices import Sizes, real_table
from papers.park.mapped import BOOTSTRAP, INDEPENDENT, Figures

_EXACT: Final = 1e-6
_CHANCE: Final = (0.01, 0.05)
"""By how much figures of two tables of 1,000 records of one law differ at most: a constant, and a share of them."""


def _order(codes: Codes, what: str) -> Codes:
    return codes[np.argsort(stream_of(what).take(len(codes)), kind="stable")]


@lru_cache(maxsize=2)
def figures_of_controls(people: People, sizes: Sizes) -> tuple[Mapping[str, float], Mapping[str, float]]:
    """What is measured of a copy of the real table in another order, and of real values that are shuffled, by measure.

    Args:
        people: the real people.
        sizes: how much is run; as many records are shuffled as are drawn, and the intruder sees as many of the copy.
    """
    real = real_table(people)
    copy = _order(people.codes, "copy of the map")
    some = copy[: sizes.records]
    shuffled = np.stack([_order(column, f"shuffled {i}") for i, column in enumerate(some.T)], axis=1)
    names = [measure.name for measure in real.measures]
    first, second = (dict(zip(names, real.figures(each, sizes.records), strict=True)) for each in (copy, shuffled))
    return first, second


def controls(people: People, sizes: Sizes, own: Figures, name: str, *, is_distance: bool) -> Iterator[Check]:
    """Whether a copy scores as real and shuffled values as independent ones.

    Args:
        people: the real people.
        sizes: how much is run.
        own: the figures of the measure.
        name: the measure.
        is_distance: whether it is a distance from the real table, which is 0 for a copy; a guess is as good as that
            from as many real records.
    """
    copy, shuffled = (each[name] for each in figures_of_controls(people, sizes))
    if is_distance:
        yield Check(f"control: a copy of the real table is at a distance of 0, {name}: {copy:.2g}", copy < _EXACT)
    else:
        within = _within(own.of(BOOTSTRAP))
        yield Check(
            f"control: as many records of a copy score as resampled real ones, {name}: {copy:.3f}, "
            f"{own.of(BOOTSTRAP):.3f}, within {within:.2g}",
            abs(copy - own.of(BOOTSTRAP)) <= within,
        )
    within = _within(own.of(INDEPENDENT))
    yield Check(
        f"control: shuffled values score as independent ones, {name}: {shuffled:.3f}, {own.of(INDEPENDENT):.3f}, "
        f"within {within:.2g}",
        abs(shuffled - own.of(INDEPENDENT)) <= within,
    )


def _within(figure: float) -> float:
    return _CHANCE[0] + _CHANCE[1] * figure
