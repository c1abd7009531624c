"""Fits a graphical model to the released tables, within a bound on work.

Everything here is a function of released integers. The bound counts work and uses no clock: with a clock, the number
of rounds would depend on the time to process confidential counts, and a replay would stop elsewhere. An iteration is
charged for the cells of the model's cliques, at the rate of a common processor.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import inf, prod, sqrt
from typing import Protocol

import numpy as np

from deniable.foundation.tables import Counts
from deniable.learners.aim.workload import Attributes
from deniable.models.graphical.elementary import Cells
from deniable.models.graphical.fitting import ImpossibleCells, NoisyTable, fit
from deniable.models.graphical.graphical_model import GraphicalModel
from deniable.models.graphical.junction_tree import JunctionTree

DRAFT_ITERATIONS = 100
"""Largest number of iterations after a round; each fit starts from the last model."""
FINAL_ITERATIONS = 1000
"""Largest number of iterations of the last fit."""


@dataclass(frozen=True, eq=False)
class Released:
    """A released noisy table.

    Attributes:
        attributes: its attributes.
        sums: noisy counts.
        variance: variance of their noise.
        turn: its number among all queries, from 1.
        reason: the reason for measuring it.
    """

    attributes: Attributes
    sums: Counts
    variance: Fraction
    turn: int
    reason: str


class Engine(Protocol):
    """Fits models to released tables."""

    @property
    def is_over(self) -> bool:
        """Whether the bound on work is reached."""

    def fitted(self, released: Sequence[Released], start: GraphicalModel | None) -> GraphicalModel:
        """The model after a round, starting from the last one."""

    def expected(self, model: GraphicalModel, attributes: Attributes) -> Cells:
        """The model's counts of a table."""

    def finally_fitted(self, released: Sequence[Released], start: GraphicalModel) -> GraphicalModel:
        """The model after all rounds."""


@dataclass(eq=False)
class Work:
    """Work done, in seconds of a common processor.

    Attributes:
        most: the bound, or infinity.
        done: work so far.
    """

    most: float = inf
    done: float = field(default=0.0, init=False)

    @property
    def is_over(self) -> bool:
        """Whether the bound is reached."""
        return self.done >= self.most

    def add(self, seconds: float) -> bool:
        """Add work; return whether more is permitted."""
        self.done += seconds
        return not self.is_over


CELLS_PER_SECOND = 5e6
"""Cells of cliques that one core processes per second in an iteration; see README.md for measurements."""
CELLS_OF_A_TABLE = 1e3
"""Overhead of a table of any size, in cells."""
JOINED_PER_SECOND = 2e7
"""Cells of a joint table of several cliques that one core processes per second."""


@dataclass(eq=False)
class OwnEngine:
    """The engine of `deniable.models.graphical`: belief propagation and mirror descent, the same on all machines.

    Attributes:
        sizes: number of values of each attribute.
        work: the bound on work.
        impossible: combinations of two attributes that rules forbid; used if within a measured table.
    """

    sizes: tuple[int, ...]
    work: Work
    impossible: tuple[ImpossibleCells, ...] = ()

    @property
    def is_over(self) -> bool:
        """Whether the bound on work is reached."""
        return self.work.is_over

    def fitted(self, released: Sequence[Released], start: GraphicalModel | None) -> GraphicalModel:
        """The model after a round; see `Engine`."""
        return self._fitted(released, start, DRAFT_ITERATIONS)

    def finally_fitted(self, released: Sequence[Released], start: GraphicalModel) -> GraphicalModel:
        """The model after all rounds; fitting may stop at any iteration."""
        return start if self.is_over else self._fitted(released, start, FINAL_ITERATIONS)

    def expected(self, model: GraphicalModel, attributes: Attributes) -> Cells:
        """The model's counts of a table; see `Engine`."""
        return expected_counts(self.work, model, attributes)

    def _fitted(self, released: Sequence[Released], start: GraphicalModel | None, iterations: int) -> GraphicalModel:
        tables = noisy_tables(released)
        tree = JunctionTree.of(self.sizes, [own.attributes for own in tables])
        cells = tree.cells + CELLS_OF_A_TABLE * (len(tables) + len(tree.cliques))
        found = fit(
            self.sizes,
            tables,
            impossible=[own for own in self.impossible if any({*own.attributes} <= {*t.attributes} for t in tables)],
            start=start,
            iterations=iterations,
            may_go_on=lambda _, __: self.work.add(cells / CELLS_PER_SECOND),
        )
        return found.model


def expected_counts(work: Work, model: GraphicalModel, attributes: Attributes) -> Cells:
    """The model's counts of a table; the computation counts as work."""
    work.add(joined_cells(model.tree, attributes) / JOINED_PER_SECOND)
    return model.marginal(attributes)


def joined_cells(tree: JunctionTree, attributes: Attributes) -> float:
    """Approximate number of cells processed for a table that joins attributes of several cliques."""
    home = tree.home(attributes)
    if home is not None:
        return CELLS_OF_A_TABLE + prod(tree.shape(tree.cliques[home]))
    joined = JunctionTree.of(tree.sizes, [*tree.cliques, attributes])
    together = joined.home(attributes)
    return CELLS_OF_A_TABLE + tree.cells + prod(joined.shape(joined.cliques[together or 0]))


def noisy_tables(released: Sequence[Released]) -> list[NoisyTable]:
    """The tables in floating point, with all releases of one table combined by precision."""
    by_table: dict[Attributes, list[Released]] = {}
    for own in released:
        by_table.setdefault(own.attributes, []).append(own)
    found = []
    for attributes, releases in by_table.items():
        precision = sum(1 / own.variance for own in releases)
        # Precisions are exact fractions: each weight is rounded once, and sums follow the order of the releases.
        shares = [float(1 / own.variance / precision) for own in releases]
        counts = np.zeros(releases[0].sums.shape)
        for share, own in zip(shares, releases, strict=True):
            counts += share * own.sums
        found.append(NoisyTable(attributes, counts, sqrt(float(1 / precision))))
    return found
