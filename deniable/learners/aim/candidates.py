"""The candidates of a round, a public function of the measured tables and the remaining rho.

A model is a junction tree of the measured tables. A candidate may enlarge it, and the time to fit it; the permitted
size therefore grows with the rho used so far, and reaches its maximum at the end. A table within an existing clique
does not change the size.

Source: McKenna, Mullins, Sheldon, Miklau 2022, Algorithm 2, line 5.
"""

from collections.abc import Sequence
from fractions import Fraction
from math import prod

from deniable.learners.aim.plan import RoundsPlan
from deniable.learners.aim.workload import Attributes
from deniable.models.graphical.junction_tree import JunctionTree

MEGABYTE = 10**6
BYTES_OF_A_CELL = 8


def size_limit(plan: RoundsPlan, left: Fraction, max_model: Fraction) -> int:
    """Largest number of bytes of a model's cliques.

    Args:
        plan: the budget.
        left: the remaining rho.
        max_model: the size at the end, in megabytes.
    """
    return int((1 - left / plan.rho) * max_model * MEGABYTE)


def countable(plan: RoundsPlan, max_model: Fraction) -> tuple[Attributes, ...]:
    """The tables whose counts may be needed: one-way marginals, and candidates that may fit in a model."""
    sizes, most = plan.domain.cardinalities, size_limit(plan, Fraction(0), max_model)
    larger = [own for own in plan.workload.candidates if len(own) > 1]
    return (
        *((i,) for i in plan.counted),
        *(own for own in larger if BYTES_OF_A_CELL * prod(sizes[i] for i in own) <= most),
    )


def candidates(
    plan: RoundsPlan, measured: Sequence[Attributes], left: Fraction, max_model: Fraction
) -> dict[Attributes, int]:
    """The candidates of a round with their weights; never empty, because one-way marginals are candidates.

    Args:
        plan: the budget.
        measured: the tables that were measured.
        left: the remaining rho.
        max_model: largest size of a model's cliques, in megabytes.
    """
    sizes, limit = plan.domain.cardinalities, size_limit(plan, left, max_model)
    distinct = sorted(set(measured))
    tree = JunctionTree.of(sizes, distinct)
    return {
        own: weight
        for own, weight in plan.workload.candidates.items()
        if tree.home(own) is not None or JunctionTree.of(sizes, [*distinct, own]).bytes <= limit
    }
