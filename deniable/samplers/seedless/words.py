"""The texts of this sampler (deniable.samplers.words)."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from deniable.samplers.words import Box, Figures

WHY_NONE: Final = ""
"""A release of such records always has a guarantee."""


def stated(_: Mapping[str, Any], __: Figures) -> dict[str, Any]:
    """Nothing beyond the model."""
    return {}


def shown(_: Mapping[str, Any]) -> Mapping[str, Any]:
    """Nothing."""
    return {}


def tells(_: Mapping[str, Any]) -> Sequence[str]:
    """Nothing beyond what every publication discloses."""
    return ()


def box(_: Mapping[str, Any]) -> Box | None:
    """Nothing is computed from seeds."""
    return None


def plausible_seeds(_: Mapping[str, Any]) -> tuple[str, str] | None:
    """None are guaranteed."""
    return None
