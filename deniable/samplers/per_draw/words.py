"""The texts of this sampler (deniable.samplers.words)."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Final

from deniable.samplers.words import Box, Figures

WHY_NONE: Final = "how random the draws are depends on the confidential records"
"""Why a release has no differential privacy, if it has none."""

MORE = (
    "more records would cost more: nothing that was released can be drawn from again, and the number of records was "
    "fixed before the data were read"
)


def stated(synthesis: Mapping[str, Any], costs: Figures) -> dict[str, Any]:
    """The number of charged draws, the cost of one, and the total."""
    draws = costs["draws"] or {}
    return {"draws": {**draws, "records": synthesis["records"], "more": MORE}}


def shown(synthesis: Mapping[str, Any]) -> Mapping[str, Any]:
    """The delta at which the total is stated."""
    return {"delta_of_total": float(Fraction(synthesis["delta"]))}


def tells(_: Mapping[str, Any]) -> Sequence[str]:
    """Nothing beyond what every publication discloses."""
    return ()


def box(synthesis: Mapping[str, Any]) -> Box | None:
    """All draws."""
    return Box(
        "Charged draws",
        (f"{synthesis['records']:,} records",),
        "Records are drawn from exact figures, which are not released, and every draw is charged, {started}.",
    )


def plausible_seeds(_: Mapping[str, Any]) -> tuple[str, str] | None:
    """None are guaranteed."""
    return None
