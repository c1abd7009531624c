"""Fits with the library mbi (McKenna's Private-PGM), which the optional extra `pgm` installs.

It receives only released tables, so that a fault in it can cost accuracy but not privacy. Models and counts are
returned as NumPy arrays, and everything else is the same as with our own engine. Its last digits depend on the
processor: a replay on another machine may find another model. Floats have 64 bits, because with 32 the fit stalls
above 100,000 records; compiled code is not stored on disk. JAX has both settings for the whole process, so they are
put back after each fit, and fits take turns.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from threading import Lock
from typing import Any

import numpy as np

from deniable.foundation.errors import InvalidInput
from deniable.learners.aim.engine import (
    CELLS_PER_SECOND,
    DRAFT_ITERATIONS,
    FINAL_ITERATIONS,
    Released,
    Work,
    expected_counts,
    noisy_tables,
)
from deniable.learners.aim.workload import Attributes
from deniable.models.graphical.elementary import Cells
from deniable.models.graphical.fitting import fixed_total
from deniable.models.graphical.graphical_model import GraphicalModel
from deniable.models.graphical.junction_tree import JunctionTree

_BLOCK = 50
"""Number of iterations per block in the library."""
_COMPILING = 5.0
"""Seconds of a common processor to compile for a new set of tables."""
_SETTINGS = {"jax_enable_x64": True, "jax_enable_compilation_cache": False}
_turn = Lock()


def require_mbi() -> None:
    """Refuse to plan with a library that is not installed.

    Raises:
        InvalidInput: it is not installed.
    """
    if find_spec("mbi") is None:
        raise InvalidInput(
            "the engine mbi must be installed to fit a model with it, and is not; run make pgm (or pip install "
            "'deniable[pgm]'), or ask for the own engine with engine: own."
        )


@dataclass(eq=False)
class MbiEngine:
    """The library's mirror descent; see `deniable.learners.aim.engine.Engine`.

    Attributes:
        sizes: number of values of each attribute.
        work: the bound on work.
    """

    sizes: tuple[int, ...]
    work: Work
    _last: Any = field(default=None, init=False)

    @property
    def is_over(self) -> bool:
        """Whether the bound on work is reached."""
        return self.work.is_over

    def fitted(self, released: Sequence[Released], start: GraphicalModel | None) -> GraphicalModel:
        """The model after a round, beginning with the last one."""
        return self._fitted(released, start, DRAFT_ITERATIONS)

    def finally_fitted(self, released: Sequence[Released], start: GraphicalModel) -> GraphicalModel:
        """The model after all rounds; fitting may stop at any iteration."""
        return self._fitted(released, start, FINAL_ITERATIONS)

    def expected(self, model: GraphicalModel, attributes: Attributes) -> Cells:
        """The model's counts of a table."""
        return expected_counts(self.work, model, attributes)

    def _fitted(self, released: Sequence[Released], start: GraphicalModel | None, iterations: int) -> GraphicalModel:
        tables = noisy_tables(released)
        tree = JunctionTree.of(self.sizes, [own.attributes for own in tables])
        allowed = self._allowed(tree, iterations)
        if start is not None and not allowed:
            return start
        total = fixed_total(tables)
        with _library() as mbi:
            domain = mbi.Domain([str(i) for i in range(len(self.sizes))], self.sizes)
            measured = [
                mbi.LinearMeasurement(own.counts.ravel(), tuple(map(str, own.attributes)), float(own.deviation))
                for own in tables
            ]
            if measured:
                self._last = mbi.estimation.MirrorDescent().estimate(
                    domain, measured, total, iters=allowed or _BLOCK, warm_start=self._last
                )
            return GraphicalModel(tree, tuple(self._table(tree, clique, total) for clique in tree.cliques), total)

    def _allowed(self, tree: JunctionTree, iterations: int) -> int:
        """Number of iterations within the bound on work, in whole blocks; all of them are charged."""
        if self.is_over:
            return 0
        block = _BLOCK * tree.cells / CELLS_PER_SECOND
        blocks = -(-iterations // _BLOCK)
        if self.work.most - self.work.done < _COMPILING + blocks * block:
            blocks = max(int((self.work.most - self.work.done - _COMPILING) / block), 0)
            self.work.add(self.work.most - self.work.done)
        else:
            self.work.add(_COMPILING + blocks * block)
        return blocks * _BLOCK

    def _table(self, tree: JunctionTree, clique: Attributes, total: float) -> Cells:
        """Expected counts of a clique, with axes in ascending order of the attributes."""
        shape = tree.shape(clique)
        held = set() if self._last is None else {int(name) for own in self._last.cliques for name in own}
        known = tuple(i for i in clique if i in held)
        if not known:
            return np.full(shape, total / np.prod(shape))
        factor = self._last.project(tuple(map(str, known)))
        counts = np.asarray(factor.transpose(tuple(map(str, known))).datavector(flatten=False), np.float64)
        counts = np.maximum(counts, 0.0) * (total / counts.sum())
        # Attributes in no table are uniform.
        wide = counts.reshape([self.sizes[i] if i in held else 1 for i in clique])
        return np.ascontiguousarray(np.broadcast_to(wide, shape) * (counts.size / np.prod(shape)))


@contextmanager
def _library() -> Iterator[Any]:
    """Import the library and set JAX as it needs it; afterwards others find JAX as it was."""
    import jax  # noqa: PLC0415 - installed with an optional extra

    settings: Any = jax.config
    with _turn:
        before = {name: getattr(settings, name) for name in _SETTINGS}
        try:
            for name, value in _SETTINGS.items():
                settings.update(name, value)
            # Imported after they are set, because the library warns otherwise.
            import mbi  # noqa: PLC0415

            yield mbi
        finally:
            for name, value in before.items():
                settings.update(name, value)
