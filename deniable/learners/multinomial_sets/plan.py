"""The urns of all sets, and the cost of all draws, fixed before any record is read.

Needs no compiled code, because verification derives the same.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import Any, Final

from deniable.foundation.domain import Domain
from deniable.foundation.errors import InvalidInput
from deniable.privacy.loss import ApproximateEvent, MechanismEvent
from deniable.privacy.urn_costs import UNIT, prior_for, require_mass, urn_epsilon

FORMAT: Final = "deniable/sets/1"
QUERY: Final = "a synthetic set, drawn from exact counts"
MOST_SETS = 50
MOST_CELLS = 10_000


@dataclass(frozen=True)
class SetsPlan:
    """A spec's request, in numbers.

    Attributes:
        cells: number of cells of the cross-classification, K.
        sets: number of sets, M.
        size: number of records in a set.
        epsilon: total budget of all sets.
        shared: whether all sets are drawn from one urn.
    """

    cells: int
    sets: int
    size: int
    epsilon: Fraction
    shared: bool = False

    @property
    def urns(self) -> int:
        """Number of urns: one for each set, or one for all."""
        return 1 if self.shared else self.sets

    @property
    def draws(self) -> int:
        """Number of draws from an urn."""
        return self.sets * self.size if self.shared else self.size

    @property
    def prior(self) -> int:
        """Prior weight of each cell, in units of 1 / 2^20 records.

        Raises:
            InvalidInput: the budget is too small.
        """
        return prior_for(self.epsilon / self.urns, self.draws)

    @property
    def prior_records(self) -> int:
        """The weight of the prior of an urn, in records, rounded."""
        return round(Fraction(self.prior * self.cells, UNIT))

    @property
    def events(self) -> tuple[MechanismEvent, ...]:
        """The events of the urns; empty if there is only one cell."""
        if self.cells == 1:
            return ()
        cost = urn_epsilon(self.prior, self.draws)
        return (ApproximateEvent(query=QUERY, part="parameters", outputs=self.urns, epsilon_per_output=cost),)


def plan_of(asked: Mapping[str, Any], domain: Domain, records: int) -> SetsPlan:
    """The plan of a learner's entry, as a document or as fields.

    Args:
        asked: the entry.
        domain: the public domain.
        records: total number of records of all sets.

    Raises:
        InvalidInput: there are too many cells, the records do not divide into sets, or the budget is too small.
    """
    cells, sets = prod(domain.cardinalities), asked["sets"]
    if cells > MOST_CELLS:
        raise InvalidInput(
            f"the cross-classification of all attributes must have at most {MOST_CELLS:,} cells, got {cells:,}; "
            "leave out attributes."
        )
    if records % sets:
        raise InvalidInput(f"synthesis.records must be a multiple of the {sets} sets, got {records:,}; round it.")
    plan = SetsPlan(cells, sets, records // sets, Fraction(asked["epsilon"]), asked["shared"])
    require_mass(plan.prior, cells, plan.draws)
    return plan


def caution_of_prior(plan: SetsPlan, people: int | None) -> str:
    """A caution if the prior of an urn outweighs the people in it, a clause; empty if it does not.

    Args:
        plan: the plan.
        people: a public number of people in the table; if there is none, the prior is compared with the records that
            are drawn from an urn.
    """
    whom = f"{plan.draws:,} records of an urn" if people is None else f"{people:,} people"
    if plan.cells == 1 or plan.prior_records <= (plan.draws if people is None else people):
        return ""
    return (
        f"the prior of each urn, which hides the people, weighs as much as {plan.prior_records:,} records, more than "
        f"the {whom}, so that the sets show mostly the prior, in which all {plan.cells:,} combinations of values are "
        "equally common: raise learner.epsilon, leave out attributes, draw fewer records, or use another learner"
    )


def urns_document(asked: Mapping[str, Any]) -> dict[str, Any]:
    """The public description of the urns besides the number of records; the prior weight follows from both."""
    return {
        "format": FORMAT,
        "sets": asked["sets"],
        "shared": asked["shared"],
        "epsilon": str(Fraction(asked["epsilon"])),
        "people": asked["people"],
        "unit": UNIT,
    }
