"""The requirements on this sampler's step, derived from the spec."""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Final

from deniable.foundation.domain import Domain
from deniable.privacy.loss import Guarantee
from deniable.privacy.planned import Delta, Document, ExpectedStep, Planned, beyond_budget, cost_in_words, nothing_wrong
from deniable.privacy.step_costs import StepCost
from deniable.roles import Role
from deniable.samplers.histogram_seeds.noisy_histogram import HistogramRecipe


def planned_histogram(spec: Document, _: Domain, __: StepCost, delta_of: Delta) -> Planned:
    """Noisy counts of prefixes, above a threshold."""
    asked = spec["synthesis"]
    beta, rows = asked["beta"], asked["epsilon_rows"]
    mechanism = HistogramRecipe(
        epsilon=Fraction(asked["epsilon"]),
        delta=delta_of(Fraction(asked["delta"])),
        k=asked["k"],
        beta=None if beta is None else Fraction(beta),
        max_rows=asked["max_rows"],
        epsilon_rows=None if rows is None else Fraction(rows),
    ).calibrate()

    def claim(guarantee: Guarantee | None) -> Iterator[str]:
        if guarantee != mechanism.guarantee:
            yield f"its stated cost is {cost_in_words(guarantee)}, but its cost is {cost_in_words(mechanism.guarantee)}"

    return Planned(mechanism.events, nothing_wrong, claim)


EXPECTED_STEPS: Final[Mapping[str, ExpectedStep]] = {
    Role.HISTOGRAM: ExpectedStep(
        part="seeds",
        makes={"noisy_seeds": "seeds.json"},
        plan=planned_histogram,
        beyond=lambda spec, step, read: beyond_budget(step, spec["synthesis"], read),
    )
}

MAY_FALL_SHORT: Final = False
"""The number of records must be the requested one."""

HOLDS_FOR_SEVERAL_RECORDS: Final = False
"""Whether the guarantee for one record gives one for a person with several, so that several of each may be used."""
