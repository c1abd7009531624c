"""AIM's engines fit the released tables, and their bound on work is kept; mbi's is tested where it is installed."""

import sys
from fractions import Fraction
from functools import partial
from math import inf
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from deniable.foundation.domain import Attribute, Domain
from deniable.foundation.errors import InvalidInput
from deniable.learners.aim import mbi_engine
from deniable.learners.aim.engine import CELLS_PER_SECOND, Engine, OwnEngine, Released, Work, joined_cells, noisy_tables
from deniable.learners.aim.mbi_engine import MbiEngine
from deniable.learners.aim.spec import Entry
from deniable.learners.aim.steps import steps
from deniable.models.graphical.fitting import fit
from deniable.models.graphical.junction_tree import JunctionTree

SIZES = (2, 3, 4, 3)
DOMAIN = Domain(
    tuple(Attribute(f"a{i}", tuple(range(size)), "nominal", tuple(range(size))) for i, size in enumerate(SIZES))
)


def released(variance: int = 25) -> list[Released]:
    """Tables of a chain and of an attribute by itself; one of them twice."""
    found = []
    for turn, own in enumerate([(0,), (1,), (2,), (0, 1), (1, 2), (0, 1)], 1):
        draw = np.random.default_rng(turn)
        counts = draw.multinomial(2_000, draw.dirichlet(np.ones([SIZES[i] for i in own]).ravel()))
        found.append(Released(own, counts.reshape([SIZES[i] for i in own]), Fraction(variance * turn), turn, "chosen"))
    return found


def test_releases_of_one_table_are_combined_by_their_precision() -> None:
    one, two = (own for own in released() if own.attributes == (0, 1))
    found = next(own for own in noisy_tables(released()) if own.attributes == (0, 1))
    # Variances of 100 and 150: three fifths of the first, two fifths of the second.
    assert np.allclose(found.counts, 0.6 * one.sums + 0.4 * two.sums)
    assert float(found.deviation) ** 2 == pytest.approx(60)


def test_work_of_a_joint_table_grows_with_its_cells() -> None:
    tree = JunctionTree.of(SIZES, [(0, 1), (1, 2)])
    inside, across = joined_cells(tree, (0, 1)), joined_cells(tree, (0, 2))
    assert across - inside == tree.cells + 2 * 3 * 4 - 2 * 3


def fitted(engine: Engine) -> Any:
    model = engine.fitted(released(), None)
    return engine.finally_fitted(released(), model)


def test_the_own_engine_fits_what_was_released() -> None:
    model = fitted(OwnEngine(SIZES, Work()))
    right = fit(SIZES, noisy_tables(released())).model
    assert np.abs(model.marginal((0, 2)) - right.marginal((0, 2))).max() < 1
    assert model.marginal((3,)).tolist() == pytest.approx([model.total / 3] * 3)


def test_an_engine_that_is_over_gives_the_model_that_it_has() -> None:
    work = Work(1e-9)
    engine = OwnEngine(SIZES, work)
    model = engine.fitted(released(), None)
    assert engine.is_over
    assert engine.finally_fitted(released(), model) is model
    assert np.isfinite(model.marginal((0, 2))).all()


@pytest.mark.parametrize(
    ("most", "blocks"), [(inf, 20), (5.0, 0), (5.0 + 3.5 * 50 * 21 / CELLS_PER_SECOND, 3), (5.0 + 1, 20), (1e-9, 0)]
)
def test_the_library_is_given_as_many_iterations_as_the_bound_leaves(most: float, blocks: int) -> None:
    engine = MbiEngine(SIZES, Work(most))
    tree = JunctionTree.of(SIZES, [(0, 1), (1, 2)])
    assert tree.cells == 6 + 12 + 3
    allowed = engine._allowed(tree, 1000)
    assert allowed == 50 * blocks
    assert engine.is_over == (blocks < 20)


def entry(engine: str) -> Entry:
    return Entry.model_validate({"kind": "aim", "engine": engine, "parameters": {"epsilon": 1, "delta": 1e-9}})


def test_a_spec_that_asks_for_a_library_that_is_not_there_is_refused_when_it_is_planned(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(mbi_engine, "find_spec", lambda name: None if name == "mbi" else inf)
    with pytest.raises(InvalidInput, match="run make pgm") as refused:
        steps(entry("mbi"), DOMAIN, lambda delta: delta)
    assert str(refused.value).count(". ") == 0, "one sentence"
    assert steps(entry("own"), DOMAIN, lambda delta: delta)


@pytest.mark.nightly
def test_the_library_fits_what_was_released_as_the_own_engine_does() -> None:
    """What it is given, how it is bounded and what is made of the model are tested by day; `make pgm` installs it."""
    model = fitted(MbiEngine(SIZES, Work()))
    right = fit(SIZES, noisy_tables(released())).model
    assert model.total == pytest.approx(right.total)
    for own in ((0, 1), (1, 2), (0, 2), (2, 3)):
        assert np.abs(model.marginal(own) - right.marginal(own)).max() < 2, own
    assert [table.dtype for table in model.tables] == [np.float64] * len(model.tables)


@pytest.mark.nightly
def test_the_library_is_fitted_and_others_find_jax_as_it_was() -> None:
    import jax  # noqa: PLC0415 - only `make pgm` installs it

    names = ("jax_enable_x64", "jax_enable_compilation_cache")
    before = {name: getattr(jax.config, name) for name in names}
    fitted(MbiEngine(SIZES, Work()))
    assert {name: getattr(jax.config, name) for name in names} == before
    assert jax.numpy.ones(1).dtype == np.float32


class _Settings:
    """JAX's, as they are by default."""

    jax_enable_x64 = False
    jax_enable_compilation_cache = True

    def update(self, name: str, value: object) -> None:
        setattr(self, name, value)

    def asked_to_fit(self) -> None:
        """Fail, as a fit may, once it is set for the library."""
        assert (self.jax_enable_x64, self.jax_enable_compilation_cache) == (True, False)
        raise ZeroDivisionError


def test_jax_is_set_for_the_library_and_put_back_whatever_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = _Settings()
    monkeypatch.setitem(sys.modules, "jax", SimpleNamespace(config=settings))
    monkeypatch.setitem(sys.modules, "mbi", SimpleNamespace())
    with pytest.raises(ZeroDivisionError), mbi_engine._library():
        settings.asked_to_fit()
    assert (settings.jax_enable_x64, settings.jax_enable_compilation_cache) == (False, True)


@pytest.mark.nightly
def test_a_step_with_the_library_makes_a_model_again() -> None:
    from deniable.foundation.keys import ReleaseKey  # noqa: PLC0415
    from tests.unit.test_aim_verification import Rows, asked, faults, planned  # noqa: PLC0415

    open_stream = partial(ReleaseKey(bytes(range(32))).stream, step="learn", inputs="measured")
    changes = {"engine": "mbi", "workload": "pairs", "parameters": {"epsilon": 0.1, "delta": 1e-6}, "max_seconds": 60}
    made = [planned(**changes).run(Rows(), {}, open_stream) for _ in range(2)]
    assert made[0].products == made[1].products
    assert made[0].figures["rounds"] > 3
    assert faults(made[0].products["measured"], asked(**changes), planned(**changes)) == []
