"""`make bench-mechanisms` compares all registered learners at an equal budget, and its page has what it kept."""

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmarks.mechanisms import (
    BUDGET,
    COMPARED,
    DATA,
    DRAWN,
    ITSELF,
    KEPT,
    LEFT_OUT,
    PAGE,
    README,
    ROWS,
    SCORES,
    SHORT_ROWS,
    SHOWN,
    SURVEYED,
    _is_kept,
    claim,
    described,
    drawn,
    example,
    figures_of,
    page,
    protected,
    short,
    table,
)
from benchmarks.risk import RISKS, risks
from benchmarks.surveyed import surveyed
from benchmarks.utility import Half, distances
from deniable.foundation.domain import Attribute, Domain
from deniable.learners.registry import LEARNERS

pytestmark = pytest.mark.slow

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


def test_what_a_command_states_of_a_learner_takes_the_place_of_what_is_chosen() -> None:
    chosen = BUDGET.entry("privbayes", DOMAIN, PUBLIC)
    stated = BUDGET.entry("privbayes", DOMAIN, PUBLIC, {"structure": {"degree": 2}})
    assert (chosen.structure.rows, chosen.structure.degree) == (10_000, None)
    assert (stated.structure.rows, stated.structure.degree) == (None, 2)
    assert stated.structure.epsilon == chosen.structure.epsilon == Fraction(1, 2)
    assert BUDGET.entry("mst", DOMAIN, PUBLIC, {"pooled": "uniform"}).pooled == "uniform"


def test_distances_are_those_of_the_tools(shared: Path) -> None:
    """Single attributes and pairs by hand, of as many records as there are to compare with."""
    half = halves(500)
    found = distances(shared)(half.meta, half.train, half.holdout, half.train)
    both = [np.eye(8)[each.to_numpy()].reshape(len(each), -1) for each in (half.train, half.holdout)]
    joint = [own.T @ own / len(own) for own in both]
    gaps = np.abs(joint[0] - joint[1]).reshape(6, 8, 6, 8).sum(axis=(1, 3)) / 2
    assert found == {
        "tvd1": pytest.approx(np.diag(gaps).mean(), abs=1e-5),
        "tvd2": pytest.approx(gaps[np.triu_indices(6, 1)].mean(), abs=1e-5),
    }


def test_every_learner_is_compared_or_said_not_to_be() -> None:
    assert {"loglinear", "privbayes"} <= set(COMPARED) <= set(LEARNERS)
    assert {*COMPARED, *(row.kind for row in DRAWN.values()), *LEFT_OUT} == set(LEARNERS)
    assert set(SHORT_ROWS) < set(ROWS)
    text = page(PAGE.read_text(encoding="utf-8"), {})
    assert all(f"`{kind}`" in text for kind in LEFT_OUT)


def halves(rows: int = 2000) -> Half:
    """Two halves of one population in which attributes depend on each other, so that few records are alike."""
    people = np.random.Generator(np.random.PCG64(7)).integers(0, 8, (2 * rows, 6))
    domain = Domain(
        tuple(Attribute(name, tuple(range(8)), "nominal", tuple(range(8))) for name in "abcdef"), target="a"
    )
    codes = pd.DataFrame(people, columns=list("abcdef"))
    meta = {"columns": {name: {"size": 8} for name in "abcdef"}}
    return Half(meta, domain, codes[:rows].reset_index(drop=True), codes[rows:].reset_index(drop=True))


def scores(*_: object, **__: object) -> dict[str, float]:
    """Scores of no tool."""
    return dict.fromkeys(SCORES, 0.5)


@pytest.mark.parametrize("row", DRAWN)
def test_the_draws_of_a_table_share_the_whole_budget(row: str) -> None:
    rows = pd.DataFrame(PUBLIC, columns=DOMAIN.names)
    found = drawn(row, Half({}, DOMAIN, rows, rows), scores, 1)
    if DRAWN[row].kind == "diverse":
        assert (found["epsilon"], claim(found), protected(row)) == (None, "none", "none")
        return
    assert 0.98 < found["epsilon"] <= float(BUDGET.epsilon)
    assert claim(found).startswith("ε = ")
    assert protected(row) == "add/remove"


def test_a_survey_claims_the_whole_budget_and_estimates_single_attributes_alone() -> None:
    half = halves()
    found = figures_of(SURVEYED, half, scores, 2)
    assert found is not None
    assert 0.98 < found["epsilon"] <= float(BUDGET.epsilon)
    assert list(found["figures"]) == ["tvd1"]
    # Even shares are near to those of the population; shares of one person in eight with noise are not.
    assert 0.02 < found["figures"]["tvd1"][0] < 0.7
    assert protected(SURVEYED).startswith("local")


def test_shares_of_a_survey_without_noise_are_those_of_the_half_that_answered() -> None:
    half = halves()
    one, other = (part.to_numpy() for part in (half.train, half.holdout))
    counts = [[np.bincount(codes[:, i], minlength=8) for codes in (one, other)] for i in range(6)]
    apart = np.abs([a - b for a, b in counts]) / 2000 / 2
    assert surveyed(half, Fraction(120), 1)["tvd1"] == pytest.approx(apart.sum(axis=1).mean(), abs=1e-3)
    # Codes that are scored together are compared together.
    for column in half.meta["columns"].values():
        column["eval_coarsen"] = 8
    assert surveyed(half, Fraction(120), 1)["tvd1"] == pytest.approx(0, abs=1e-3)


def test_a_row_is_kept_if_all_its_figures_are_of_as_many_keys() -> None:
    own = {"figures": {figure: [0.5, 0.0] for figure in SHOWN}, "keys": 5}
    assert _is_kept("aim", own, 5)
    assert not _is_kept("aim", own, 6)
    assert not _is_kept("aim", None, 1)
    assert not _is_kept("aim", {**own, "figures": {figure: [0.5, 0.0] for figure in SCORES}}, 5)
    assert _is_kept(SURVEYED, {"figures": {"tvd1": [0.5, 0.0]}, "keys": 5}, 5)
    assert _is_kept(ITSELF, {**own, "keys": 1}, 5), "there is nothing to draw"


def test_risks_find_copies_and_nothing_in_what_reads_no_record() -> None:
    half = halves()
    everything, nothing = figures_of(ITSELF, half, scores, 1), figures_of("uniform", half, scores, 1)
    assert everything is not None
    assert nothing is not None
    assert everything["figures"]["nearer"][0] > 0.98
    assert everything["figures"]["guessed"][0] > 0.8
    # Six standard deviations of 2,000 records, a probability of 2e-9 of a false alarm.
    assert abs(nothing["figures"]["nearer"][0] - 0.5) < 6 * 0.5 / 2000**0.5
    assert abs(nothing["figures"]["guessed"][0]) < 6 * (2 * 0.25 / 2000) ** 0.5
    # Whoever is of the other half is not disclosed.
    other = risks(half, half.holdout.to_numpy())
    assert other["nearer"] < 0.02
    assert other["guessed"] < -0.8
    # One copy in ten is found as well.
    mixed = half.holdout.to_numpy().copy()
    mixed[::10] = half.train.to_numpy()[::10]
    assert risks(half, mixed)["nearer"] - other["nearer"] == pytest.approx(0.1, abs=0.02)


def test_the_pages_have_the_figures_that_were_kept() -> None:
    kept = json.loads(KEPT.read_text(encoding="utf-8"))
    assert set(kept) <= set(DATA)
    for path, made in ((PAGE, page), (README, short)):
        written = path.read_text(encoding="utf-8")
        assert made(written, kept) == written


@pytest.mark.parametrize("row", ["independent", "diverse, entropy of 1.5 values", ITSELF])
def test_a_row_that_is_measured_again_has_the_risks_that_were_kept(row: str, tmp_path: Path) -> None:
    """The page is about the code as it is, on records of learners with a model, with urns, and without either."""
    kept = json.loads(KEPT.read_text(encoding="utf-8"))["example"][row]
    made = figures_of(row, example(tmp_path), scores, kept["keys"])
    assert made is not None
    for figure in RISKS:
        assert made["figures"][figure] == kept["figures"][figure], figure
        assert made["figures"][figure] not in ([0.0, 0.0], [0.5, 0.0])
    assert made["rows"] == kept["rows"]


def test_a_table_has_a_row_for_each_learner_the_nearest_pairs_first() -> None:
    figures = {"tvd1": [0.01, 0.0], "tvd3": [0.2, 0.0], "rf_acc": [0.8, 0.0], "disc_acc": [0.7, 0.0]}
    near, far = ({**figures, "tvd2": [pairs, 0.001]} for pairs in (0.03, 0.09))
    own = {**described("uniform", DOMAIN, PUBLIC), "fit": 0.1, "keys": 1, "rows": 10}
    rows = table({"uniform": {**own, "figures": far}, "cfs": {**own, "figures": near}}).splitlines()
    assert [row.split("|")[1].strip() for row in rows[2:]] == ["`cfs`", "`uniform`"]
    assert ".0300 (.0010)" in rows[2]
    assert "| add/remove |" in rows[2]
    assert "| any tables |" in rows[3]
    with pytest.raises(ValueError, match="must have the lines"):
        page("# A page", {})
