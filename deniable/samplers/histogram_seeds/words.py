"""The texts of this sampler (deniable.samplers.words)."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Final

from deniable.privacy.loss import noise_in_words
from deniable.samplers.words import Box, Figures

WHY_NONE: Final = ""
"""A release of such records always has a guarantee."""

KEPT_PREFIXES = "those that begin with a prefix of the histogram; the others are drawn from the model alone"
"""The records with guaranteed plausible seeds, if the mass lost to the threshold is restored."""


def stated(synthesis: Mapping[str, Any], costs: Figures) -> dict[str, Any]:
    """The cost of the histogram, and the number of people who share each of its prefixes."""
    promised = {
        "k": synthesis["k"],
        "except_with_probability": float(Fraction(synthesis["beta"] or 0)),
        "up_to_rows": synthesis["max_rows"],
        **({} if synthesis["epsilon_rows"] is None else {"of_records": KEPT_PREFIXES}),
    }
    histogram = {
        **(costs["histogram"] or {}),
        "resampled_attributes": synthesis["omega"],
        "noise": noise_in_words("laplace"),
        "plausible_seeds": None if synthesis["k"] is None else promised,
    }
    return {"histogram": histogram}


def shown(_: Mapping[str, Any]) -> Mapping[str, Any]:
    """The distribution of the noise."""
    return {"histogram_noise": noise_in_words("laplace")}


def tells(_: Mapping[str, Any]) -> Sequence[str]:
    """Nothing beyond what every publication discloses."""
    return ()


def box(_: Mapping[str, Any]) -> Box | None:
    """Noisy counts of prefixes."""
    return Box("Noisy prefixes", (), "Records begin as prefixes that are counted with noise, {started}.")


def plausible_seeds(synthesis: Mapping[str, Any]) -> tuple[str, str] | None:
    """The number of people who share each prefix, if the spec guarantees one."""
    if synthesis["k"] is None:
        return None
    which = " that begins with a prefix of the histogram" if synthesis["epsilon_rows"] else ""
    return (
        f"k = {synthesis['k']}",
        f"of each record{which}, but with probability {float(Fraction(synthesis['beta'])):g}",
    )
