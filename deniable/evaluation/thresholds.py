"""Thresholds: bounds of figures, under the name of the figure followed by the side that is bounded."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, cast

Side: TypeAlias = Literal["max", "min"]

SIDES: Final[dict[Side, str]] = {"max": "at most", "min": "at least"}
"""Both sides, in words."""


@dataclass(frozen=True)
class Bound:
    """A threshold.

    Attributes:
        figure: the name of the figure.
        side: whether the bound is a maximum or a minimum.
        value: the bound.
    """

    figure: str
    side: Side
    value: float

    @property
    def name(self) -> str:
        """The threshold's name in a spec."""
        return f"{self.figure}_{self.side}"

    @property
    def words(self) -> str:
        """The bound in words, without its figure."""
        return f"{SIDES[self.side]} {self.value:g}"

    def is_met(self, value: float) -> bool:
        """Whether a value is within the bound."""
        return value <= self.value if self.side == "max" else value >= self.value


def bounds_of(thresholds: Mapping[str, float]) -> list[Bound]:
    """Read thresholds, whose names were checked.

    A record of another version may have thresholds for figures that this version does not declare, so the side is read
    from the end of the name.

    Args:
        thresholds: bounds by the figure's name and `_max` or `_min`.
    """
    parts = [(*name.rpartition("_"), value) for name, value in thresholds.items()]
    return [Bound(figure, cast("Side", side), value) for figure, _, side, value in parts]
