"""Fits a graphical model to noisy tables: weighted least squares over joint distributions with a fixed total.

The noisy tables are public, and so is everything here, as a function of them. The total is the precision-weighted mean
of the tables' totals. It is fixed: least squares with a free total would be biased upwards, because negative counts
are raised to 0.

The method is accelerated entropic mirror descent: one propagation per iteration, a step length adapted to the local
curvature, and a restart whenever the loss rises.

Source: McKenna, Sheldon, Miklau 2019, section 4 (estimation from noisy marginals by proximal algorithms); Auslender and
Teboulle 2006, section 5, and Hanzely, Richtárik, Xiao 2021 (acceleration in Bregman distances).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf, isfinite, sqrt

import numpy as np
from numpy.typing import NDArray

from deniable.foundation.errors import InvalidInput
from deniable.models.graphical.belief_propagation import Beliefs, expanded, propagate, summed
from deniable.models.graphical.elementary import Cells, logarithm
from deniable.models.graphical.graphical_model import GraphicalModel
from deniable.models.graphical.junction_tree import Attributes, JunctionTree

ITERATIONS = 1000
TOLERANCE = 1e-4
_WINDOW = 20
_MOST_HALVINGS = 60
# A step may exceed the last one by this factor.
_BOLDER = 1.5
# Rounding error of the divergence between two joint distributions, as a share of the total.
_ROUNDING = 1e-13
# Minimum probability of a cell of the starting model, so that it can grow again.
_LEAST = 1e-12


@dataclass(frozen=True, eq=False)
class NoisyTable:
    """A noisy marginal in floating point; a function of released integers.

    Attributes:
        attributes: its attributes, in ascending order.
        counts: noisy counts, with one axis per attribute.
        deviation: standard deviation of the noise, for all cells or for each.
    """

    attributes: Attributes
    counts: Cells
    deviation: float | Cells


@dataclass(frozen=True, eq=False)
class ImpossibleCells:
    """Combinations of values that no record can have.

    Attributes:
        attributes: the attributes, in ascending order.
        cells: True where a combination is impossible, with one axis per attribute.
    """

    attributes: Attributes
    cells: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Fit:
    """A fitted model.

    Attributes:
        model: the model.
        loss: half the sum of squared standardised residuals.
        iterations: number of iterations made.
        converged: whether the loss had stopped falling.
    """

    model: GraphicalModel
    loss: float
    iterations: int
    converged: bool


def fixed_total(tables: Sequence[NoisyTable]) -> float:
    """The precision-weighted mean of the tables' totals, at least 1."""
    variances = [float(np.broadcast_to(np.square(own.deviation), own.counts.shape).sum()) for own in tables]
    totals = [float(np.ascontiguousarray(own.counts).sum()) for own in tables]
    if not tables:
        return 1.0
    precision = sum(1 / variance for variance in variances)
    return max(1.0, sum(total / variance for total, variance in zip(totals, variances, strict=True)) / precision)


def fit(
    sizes: Sequence[int],
    tables: Sequence[NoisyTable],
    *,
    impossible: Sequence[ImpossibleCells] = (),
    also: Sequence[Attributes] = (),
    start: GraphicalModel | None = None,
    total: float | None = None,
    iterations: int = ITERATIONS,
    tolerance: float = TOLERANCE,
    may_go_on: Callable[[int, float], bool] = lambda _, __: True,
) -> Fit:
    """Fit a joint distribution to noisy tables.

    If the tables do not determine the best fit, the result is close to the one of maximum entropy.

    Args:
        sizes: number of values of each attribute.
        tables: the noisy tables.
        impossible: combinations of values that have probability 0.
        also: further sets of attributes, each of which some clique must contain.
        start: the starting model; uniform over possible records by default.
        total: the number of records, if known; otherwise `fixed_total`.
        iterations: largest number of iterations.
        tolerance: decrease of the loss over 20 iterations, relative to 1 plus the loss, that counts as convergence.
        may_go_on: called after each iteration with its number and the loss; returns whether to continue.

    Raises:
        InvalidInput: a table does not have the shape of its attributes, or no record is possible.
    """
    _require_shapes(sizes, tables, impossible)
    sets = [*(own.attributes for own in tables), *(own.attributes for own in impossible), *also]
    tree = JunctionTree.of(sizes, sets)
    whole = fixed_total(tables) if total is None else total
    search = _Search(tree, tables, impossible, whole)
    search.begin(_potentials(tree, impossible, start, whole))
    history = [search.loss]
    converged = not tables
    while not converged and len(history) <= iterations:
        search.step()
        history.append(search.loss)
        if not may_go_on(len(history) - 1, search.loss):
            break
        before = history[-_WINDOW - 1] if len(history) > _WINDOW else inf
        converged = before - search.loss <= tolerance * (1 + search.loss)
    model = GraphicalModel(tree, tuple(whole * table for table in search.tables), whole)
    return Fit(model, search.loss, len(history) - 1, converged)


def _require_shapes(sizes: Sequence[int], tables: Sequence[NoisyTable], impossible: Sequence[ImpossibleCells]) -> None:
    shapes = [(own.attributes, own.counts.shape) for own in tables]
    for attributes, shape in [*shapes, *((own.attributes, own.cells.shape) for own in impossible)]:
        right = tuple(sizes[i] for i in attributes)
        if list(attributes) != sorted(set(attributes)) or shape != right:
            raise InvalidInput(
                f"a table of the attributes {attributes} must name each once, in ascending order, and have the shape "
                f"{right}, got {shape}."
            )
    for own in tables:
        if not (np.isfinite(own.counts).all() and np.all(np.asarray(own.deviation) > 0)):
            raise InvalidInput("noisy counts must be finite, and their deviations above 0; leave out what has none.")


def _potentials(
    tree: JunctionTree, impossible: Sequence[ImpossibleCells], start: GraphicalModel | None, total: float
) -> list[Cells]:
    """Starting potentials, minus infinity for impossible cells."""
    if start is None:
        potentials = [np.zeros(tree.shape(clique)) for clique in tree.cliques]
    else:
        share = start.total or total
        potentials = _from_marginals(
            tree, [np.maximum(start.marginal(clique) / share, _LEAST) for clique in tree.cliques]
        )
    for own in impossible:
        home = tree.home(own.attributes)
        if home is None:
            raise LookupError(own.attributes)
        closed = np.where(own.cells, -np.inf, 0.0)
        potentials[home] = potentials[home] + expanded(closed, own.attributes, tree.cliques[home])
    return potentials


def _from_marginals(tree: JunctionTree, tables: Sequence[Cells]) -> list[Cells]:
    """Potentials of the joint distribution with given marginals: each table divided by that of its separator."""
    potentials = []
    for clique, separator, table in zip(tree.cliques, tree.separators, tables, strict=True):
        below = logarithm(summed(table, clique, separator))
        below = np.where(below > -np.inf, below, 0.0)
        potentials.append(logarithm(table) - expanded(below, separator, clique))
    return potentials


class _Search:
    """Accelerated mirror descent.

    The model is `tables`, a weighted mean of the iterates; the last iterate is `leading`.
    """

    tables: list[Cells]
    loss: float

    def __init__(
        self,
        tree: JunctionTree,
        noisy: Sequence[NoisyTable],
        impossible: Sequence[ImpossibleCells],
        total: float,
    ) -> None:
        self.tree, self.noisy, self.total = tree, noisy, total
        self.impossible = impossible
        self.homes = [tree.home(own.attributes) or 0 for own in noisy]
        self.weights = [np.broadcast_to(1 / np.square(own.deviation), own.counts.shape) for own in noisy]
        # The largest possible curvature: one record's change in each table, relative to its divergence.
        self.curvature = 1e-3 * total * sum(float(weight.max(initial=0.0)) for weight in self.weights)

    def begin(self, potentials: list[Cells]) -> None:
        """Start from potentials."""
        self.potentials = potentials
        self.leading = propagate(self.tree, potentials)
        self.tables = list(self.leading.tables)
        self.ahead = self._measured(self.tables)
        self.behind = self.ahead
        self.loss = self._loss(self.behind)
        self.pace = inf

    def step(self) -> None:
        """One iteration; the loss does not rise."""
        before = self.loss
        kept = self.tables, self.behind
        if self._advance() and self.loss <= before:
            return
        self.tables, self.behind = kept
        self.loss = before
        # Restart: the progress is kept, the momentum is discarded.
        self.begin(_from_marginals(self.tree, self.tables))
        restarted = self.tables, self.behind, self.loss
        for _ in range(_MOST_HALVINGS):
            if self._advance() and self.loss <= before:
                return
            self.tables, self.behind, self.loss = restarted
            self.pace = inf
            self.curvature *= 2
        self.tables, self.behind = kept
        self.loss = before

    def _advance(self) -> bool:
        """Take a step whose assumed curvature bounds the actual one; False if no step does."""
        curvature = self.curvature / _BOLDER
        for _ in range(_MOST_HALVINGS):
            share = _share(self.pace, curvature)
            mixed = [(1 - share) * x + share * z for x, z in zip(self.behind, self.ahead, strict=True)]
            slopes = [
                weight * (self.total * own - noisy.counts)
                for weight, own, noisy in zip(self.weights, mixed, self.noisy, strict=True)
            ]
            moves = [-slope * (self.total / (share * curvature)) for slope in slopes]
            found = self._try(moves, curvature)
            if found is None:
                curvature *= 2
                continue
            potentials, beliefs, measured = found
            self.pace = share * share * curvature
            self.curvature = curvature
            self.potentials, self.leading, self.ahead = potentials, beliefs, measured
            self.tables = [(1 - share) * x + share * z for x, z in zip(self.tables, beliefs.tables, strict=True)]
            self.behind = [(1 - share) * x + share * z for x, z in zip(self.behind, measured, strict=True)]
            self.loss = self._loss(self.behind)
            led = self._loss(measured)
            if led < self.loss:
                # The convergence theorem holds for any model with a loss of at most that of the mean.
                self.tables, self.behind, self.loss = list(beliefs.tables), measured, led
            return isfinite(self.loss)
        return False

    def _try(self, moves: Sequence[Cells], curvature: float) -> tuple[list[Cells], Beliefs, list[Cells]] | None:
        """Move the potentials; None if the curvature exceeds the assumed one, or a number is not finite."""
        potentials = list(self.potentials)
        for move, home, noisy in zip(moves, self.homes, self.noisy, strict=True):
            potentials[home] = potentials[home] + expanded(move, noisy.attributes, self.tree.cliques[home])
        beliefs = propagate(self.tree, potentials)
        measured = self._measured(beliefs.tables)
        if not isfinite(beliefs.log_partition):
            return None
        gained = sum(float((move * own).sum()) for move, own in zip(moves, measured, strict=True))
        divergence = gained - (beliefs.log_partition - self.leading.log_partition)
        curved = sum(
            float((weight * np.square(new - old)).sum())
            for weight, new, old in zip(self.weights, measured, self.ahead, strict=True)
        )
        curved *= self.total * self.total / 2
        if not curved <= curvature * (divergence + _ROUNDING):
            return None
        return potentials, beliefs, measured

    def _measured(self, tables: Sequence[Cells]) -> list[Cells]:
        """The model's probabilities of the noisy tables' cells."""
        return [
            summed(tables[home], self.tree.cliques[home], noisy.attributes)
            for home, noisy in zip(self.homes, self.noisy, strict=True)
        ]

    def _loss(self, measured: Sequence[Cells]) -> float:
        return 0.5 * sum(
            float((weight * np.square(self.total * own - noisy.counts)).sum())
            for weight, own, noisy in zip(self.weights, measured, self.noisy, strict=True)
        )


def _share(pace: float, curvature: float) -> float:
    """Weight of the next iterate in the mean: a with a^2 curvature = (1 - a) pace; 1 at the start."""
    if pace == inf:
        return 1.0
    ratio = pace / curvature
    return (sqrt(ratio * ratio + 4 * ratio) - ratio) / 2
