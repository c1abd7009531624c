"""The choices, the tables and their cost, fixed by spec and domain before any record is read.

Source: Zhang et al. 2017, section 4 (degree and usefulness); Ping, Stoyanovich, Howe 2017 (correlated attribute mode).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import prod, sqrt

from deniable.foundation.domain import Domain
from deniable.privacy.common_events import count_events
from deniable.privacy.loss import ExponentialEvent, MechanismEvent

MOST_PARENTS = 4
FEW_CELLS = 300
"""Largest number of cells of a table if the number of records is not stated; a few thousand records can fill it."""
SENSITIVITY = 4
"""Sensitivity of a score to one record; see README.md."""


def usefulness(rows: int, epsilon: Fraction, attributes: int, degree: int) -> Fraction:
    """Mean count of a cell of binary attributes, divided by the scale of its noise.

    Args:
        rows: number of rows, public.
        epsilon: budget of the tables.
        attributes: number of attributes, m.
        degree: number of parents, k < m.

    Returns:
        n epsilon / ((m - k) 2^(k+3)).
    """
    return rows * epsilon / Fraction((attributes - degree) << (degree + 3))


def useful_degree(rows: int, epsilon: Fraction, attributes: int, least: Fraction) -> int:
    """The largest number of parents at which tables are useful; 0 if there is none."""
    degrees = range(min(MOST_PARENTS, attributes - 1), 0, -1)
    return next((k for k in degrees if usefulness(rows, epsilon, attributes, k) >= least), 0)


def useful_cells(rows: int, epsilon: Fraction, tables: int, least: Fraction) -> int:
    """The largest number of cells at which a table is useful, for attributes with any number of values.

    Usefulness is as above, with the number of cells in place of the 2^(k+1) of binary attributes.
    """
    return max(int(rows * epsilon / (4 * least * max(tables, 1))), 1)


def _fitting(sizes: Sequence[int], most: int, cells_of: Callable[[int], int]) -> tuple[int, int]:
    """The largest degree at which the smallest possible first table is useful, and the largest number of cells.

    The rule of `useful_degree` is for binary attributes. The first table has degree + 1 attributes by value, whatever
    their numbers of values, and cannot be avoided.
    """
    degree = next((k for k in range(most, 0, -1) if prod(sizes[: k + 1]) <= cells_of(k)), 0)
    return degree, cells_of(degree)


@dataclass(frozen=True)
class NetworkPlan:
    """The budget of the network.

    Attributes:
        domain: the public domain.
        degree: number of parents of an attribute, or fewer if fewer attributes are available.
        structure_epsilon: epsilon of all choices.
        parameter_epsilon: epsilon of all tables.
        max_cells: largest number of cells of a candidate table, if smaller ones exist.
    """

    domain: Domain
    degree: int
    structure_epsilon: Fraction
    parameter_epsilon: Fraction
    max_cells: int

    @cached_property
    def counted(self) -> tuple[int, ...]:
        """The attributes with more than one value."""
        return tuple(i for i, size in enumerate(self.domain.cardinalities) if size > 1)

    @property
    def choices(self) -> int:
        """Number of choices: one for each attribute except the first; none if no attribute has parents."""
        return max(len(self.counted) - 1, 0) if self.degree else 0

    @property
    def choice_epsilon(self) -> Fraction:
        """Epsilon of one choice."""
        return self.structure_epsilon / max(self.choices, 1)

    @property
    def tables(self) -> int:
        """Number of tables: the attributes up to the first with a full set of parents have one joint table."""
        return len(self.counted) - self.degree

    @property
    def scale(self) -> Fraction:
        """Scale of the noise of each count."""
        return max(self.tables, 1) / self.parameter_epsilon

    @property
    def pair_noise(self) -> float | None:
        """Standard deviation of the noise of each cell, if tables have several attributes."""
        return sqrt(2) * float(self.scale) if self.degree and self.tables else None

    @property
    def structure_events(self) -> tuple[MechanismEvent, ...]:
        """The mechanisms of the choices."""
        if not self.choices:
            return ()
        query = "choices of the next attribute and its parents"
        return (
            ExponentialEvent(
                query=query, part="structure", outputs=self.choices, epsilon_per_choice=self.choice_epsilon
            ),
        )

    @property
    def parameter_events(self) -> tuple[MechanismEvent, ...]:
        """The mechanisms of the tables."""
        return count_events(self.tables, "laplace", self.scale)


def network_plan(
    domain: Domain,
    *,
    structure_epsilon: Fraction,
    parameter_epsilon: Fraction,
    degree: int | None,
    rows: int | None,
    least: Fraction,
    max_cells: int | None,
) -> NetworkPlan:
    """Plan the network of a spec.

    Args:
        domain: the public domain.
        structure_epsilon: budget of the choices.
        parameter_epsilon: budget of the tables.
        degree: the number of parents, if stated.
        rows: otherwise, a public number of rows.
        least: the usefulness that the degree must then have.
        max_cells: the largest number of cells, if stated.
    """
    sizes = sorted(size for size in domain.cardinalities if size > 1)
    attributes = len(sizes)
    if degree is not None:
        found, cells = min(degree, max(attributes - 1, 0)), FEW_CELLS
    else:
        most = useful_degree(rows or 0, parameter_epsilon, attributes, least)
        found, cells = _fitting(
            sizes, most, lambda k: useful_cells(rows or 0, parameter_epsilon, attributes - k, least)
        )
    return NetworkPlan(domain, found, structure_epsilon, parameter_epsilon, max_cells or cells)
