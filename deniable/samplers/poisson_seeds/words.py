"""The texts of this sampler (deniable.samplers.words)."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from deniable.samplers.words import Box, Figures

WHY_NONE: Final = ""
"""A release of such records always has a guarantee."""
SEEDED = "those that start from a seed; the others are drawn from the model alone, and the release does not tell which"
"""The records with guaranteed plausible seeds."""


def stated(synthesis: Mapping[str, Any], costs: Figures) -> dict[str, Any]:
    """The cost of all attempts, and the number of plausible seeds of the records from seeds."""
    return {
        "seeds": {
            **(costs["attempts"] or {}),
            **({} if synthesis.get("omega") is None else {"resampled_attributes": synthesis["omega"]}),
            "public_rows": synthesis["public_rows"],
            "plausible_seeds": {"at_least": synthesis["plausible"], "with_certainty": True, "of_records": SEEDED},
        }
    }


def shown(_: Mapping[str, Any]) -> Mapping[str, Any]:
    """Nothing beyond the spec's entry and the costs."""
    return {}


def tells(_: Mapping[str, Any]) -> Sequence[str]:
    """Nothing beyond what every publication discloses."""
    return ()


def box(synthesis: Mapping[str, Any]) -> Box | None:
    """The attempts of the seeds."""
    return Box(
        "Records from seeds",
        (f"at least {synthesis['plausible']} plausible seeds each",),
        "Some records keep attributes of a record that enough others share, {started}.",
    )


def plausible_seeds(synthesis: Mapping[str, Any]) -> tuple[str, str] | None:
    """The number of plausible seeds of each record that starts from one, with certainty."""
    return f"k = {synthesis['plausible']}", "of each record that starts from a seed, with certainty"
