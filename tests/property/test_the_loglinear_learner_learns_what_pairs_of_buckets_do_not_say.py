"""Recodings stay in step value by value, and the target may depend on two attributes that each say nothing of it."""

from fractions import Fraction
from functools import partial

import numpy as np
import pytest

from deniable.foundation.domain import Attribute, Codes, Domain
from deniable.foundation.keys import ReleaseKey
from deniable.learners.loglinear import candidate_queries as questions
from deniable.learners.loglinear import learning
from deniable.learners.loglinear.estimation.counting import RowCounter
from deniable.learners.loglinear.learning import Learnt
from deniable.learners.loglinear.mechanism import learn_network
from deniable.learners.loglinear.plan import LoglinearRecipe

RECIPE = LoglinearRecipe(Fraction(1), Fraction(1, 10**9))
ROWS = 30_000
KEYS = range(1, 4)


def domain(*sizes: int, numeric: int = -1) -> Domain:
    kinds = ["numeric" if i == numeric else "nominal" for i in range(len(sizes))]
    return Domain(
        tuple(
            Attribute(f"a{i}", tuple(range(size)), kind, tuple(range(size)))  # type: ignore[arg-type]
            for i, (size, kind) in enumerate(zip(sizes, kinds, strict=True))
        ),
        target="a0",
    )


def learnt(table: Domain, codes: Codes, key: int) -> tuple[Learnt, Codes]:
    """What is learnt with a key, and as many records as there are rows."""
    release_key = ReleaseKey(key.to_bytes(32, "big"))
    open_stream = partial(release_key.stream, step="learn", inputs="")
    net, found = learn_network(RECIPE.calibrate(table), RowCounter(lambda: [codes]), open_stream)
    words = release_key.stream(step="draw", mechanism="", inputs="", parameters={}).take(codes.size)
    return found, net.sample_evenly(words)


def recoded() -> tuple[Domain, Codes]:
    """Years of schooling, most of them rare, and a degree that follows from them."""
    draw = np.random.default_rng(list(b"recoded"))
    years = np.minimum(draw.geometric(0.12, ROWS) - 1, 23)
    others = [draw.integers(2, size=ROWS), years, years // 2, (years // 6 + draw.integers(3, size=ROWS)) % 4]
    columns = [*others, draw.integers(5, size=ROWS), draw.integers(3, size=ROWS)]
    return domain(2, 24, 12, 4, 5, 3, numeric=1), np.stack(columns, axis=1).astype(np.uint16)


def out_of_step(records: Codes) -> float:
    """Share of the records whose degree is not that of their years."""
    return float((records[:, 1] // 2 != records[:, 2]).mean())


@pytest.mark.parametrize("key", KEYS)
def test_a_recoding_is_found_and_stays_in_step(key: int, monkeypatch: pytest.MonkeyPatch) -> None:
    table, codes = recoded()
    found, records = learnt(table, codes, key)
    assert [(guide.guide, guide.attribute) for guide in found.guides] == [(2, 1)]
    assert found.glued.order.index(2) < found.glued.order.index(1)
    monkeypatch.setattr(learning, "_TIED", 2.0)
    without, blind = learnt(table, codes, key)
    assert not without.guides
    assert out_of_step(blind) > 0.05
    assert out_of_step(records) < 0.4 * out_of_step(blind)


def both_together() -> tuple[Domain, Codes]:
    """A target that is whether two attributes are alike, of which each by itself says nothing."""
    draw = np.random.default_rng(list(b"both together"))
    columns = [draw.integers(size, size=ROWS) for size in (2, 2, 2, 4, 5, 3)]
    columns[2] = np.where(draw.random(ROWS) < 0.4, columns[1], columns[2])
    alike = columns[1] == columns[2]
    columns[0] = np.where(draw.random(ROWS) < 0.9, alike, columns[0])
    return domain(2, 2, 2, 4, 5, 3), np.stack(columns, axis=1).astype(np.uint16)


@pytest.mark.parametrize("key", KEYS)
def test_what_two_attributes_say_together_of_the_target_is_learnt(key: int, monkeypatch: pytest.MonkeyPatch) -> None:
    table, codes = both_together()
    real = float((codes[:, 0] == (codes[:, 1] == codes[:, 2])).mean())
    found, records = learnt(table, codes, key)
    assert (0, 1, 2) in [one.attributes for one in found.tables]
    assert float((records[:, 0] == (records[:, 1] == records[:, 2])).mean()) == pytest.approx(real, abs=0.03)
    monkeypatch.setattr(questions, "_TRIPLES_PER_ATTRIBUTE", 0.0)
    _, pairs = learnt(table, codes, key)
    assert float((pairs[:, 0] == (pairs[:, 1] == pairs[:, 2])).mean()) < 0.65
