"""`make bench-mechanisms` compares all registered learners at an equal budget, and its page has what it kept."""

import json

import numpy as np
import pandas as pd
import pytest

from benchmarks.mechanisms import (
    BUDGET,
    COMPARED,
    DATA,
    DRAWN,
    KEPT,
    LEFT_OUT,
    PAGE,
    SHOWN,
    claim,
    described,
    drawn,
    page,
    table,
)
from benchmarks.utility import Half
from deniable.foundation.domain import Attribute, Domain
from deniable.learners.registry import LEARNERS

DOMAIN = Domain(
    (
        Attribute("age", tuple(range(12)), "numeric", tuple(range(12))),
        Attribute("sex", ("f", "m"), "nominal", (0, 1)),
        Attribute("town", ("a", "b", "c"), "nominal", (0, 1, 2)),
        Attribute("owns", ("no", "yes"), "nominal", (0, 1)),
    ),
    target="owns",
)
PUBLIC = np.zeros((10_000, len(DOMAIN)), np.uint16)


@pytest.mark.parametrize("kind", COMPARED)
def test_every_learner_spends_the_whole_budget_and_no_more(kind: str) -> None:
    found = described(kind, DOMAIN, PUBLIC)
    assert found["delta"] <= float(BUDGET.delta) * (1 + 1e-12)
    if found["noise"]:
        assert 0.98 < found["epsilon"] <= float(BUDGET.epsilon) * (1 + 1e-12)
        assert claim(found).startswith("ε = ")
    else:
        assert (found["epsilon"], claim(found)) == (0, "reads no record")
    assert {"graph.json", "model.json"} <= set(found["public"])


def test_every_learner_is_compared_or_said_not_to_be() -> None:
    assert {"loglinear", "privbayes"} <= set(COMPARED) <= set(LEARNERS)
    assert {*COMPARED, *(kind for kind, _ in DRAWN.values()), *LEFT_OUT} == set(LEARNERS)
    text = page(PAGE.read_text(encoding="utf-8"), {})
    assert all(f"`{kind}`" in text for kind in LEFT_OUT)


@pytest.mark.parametrize("row", DRAWN)
def test_the_draws_of_a_table_share_the_whole_budget(row: str) -> None:
    rows = pd.DataFrame(PUBLIC, columns=DOMAIN.names)
    found = drawn(row, Half({}, DOMAIN, rows, rows), lambda *_, **__: dict.fromkeys(SHOWN, 0.5), 1)
    assert 0.98 < found["epsilon"] <= float(BUDGET.epsilon)
    assert claim(found).startswith("ε = ")


def test_the_page_has_the_figures_that_were_kept() -> None:
    kept = json.loads(KEPT.read_text(encoding="utf-8"))
    assert set(kept) <= set(DATA)
    written = PAGE.read_text(encoding="utf-8")
    assert page(written, kept) == written


def test_a_table_has_a_row_for_each_learner_the_nearest_pairs_first() -> None:
    figures = {"tvd1": [0.01, 0.0], "tvd3": [0.2, 0.0], "rf_acc": [0.8, 0.0], "disc_acc": [0.7, 0.0]}
    near, far = ({**figures, "tvd2": [pairs, 0.001]} for pairs in (0.03, 0.09))
    own = {**described("uniform", DOMAIN, PUBLIC), "fit": 0.1, "keys": 1, "rows": 10}
    rows = table({"uniform": {**own, "figures": far}, "cfs": {**own, "figures": near}}).splitlines()
    assert [row.split("|")[1].strip() for row in rows[2:]] == ["`cfs`", "`uniform`"]
    assert ".0300 (.0010)" in rows[2]
    with pytest.raises(ValueError, match="must have the lines"):
        page("# A page", {})
