"""The charge of draws whose randomness depends on the data; needs no compiled code."""

from fractions import Fraction
from typing import Final

from deniable.privacy.loss import ApproximateEvent, MechanismEvent

EVENTS: Final[tuple[MechanismEvent, ...]] = (
    ApproximateEvent(
        query="draws of records from exact counts, with an amount of chance that depends on them",
        part="parameters",
        outputs=1,
        epsilon_per_output=Fraction(0),
        delta_per_output=Fraction(1),
    ),
)
"""All draws: nothing is guaranteed, that is, delta = 1."""
