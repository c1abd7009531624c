"""Commute distances and flows, by hand; and the example of commuters, from the script to a spec that is accepted."""

import shutil
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from deniable.evaluation.commutes import Commuters, Places, largest_flows, mean_commutes, miles
from deniable.evaluation.contract import Value
from deniable.evaluation.metrics.places.commutes import BY_DESTINATION, GAP, OVERLAP, TOTALS, _compared
from deniable.foundation.errors import InvalidInput
from deniable.learners.origin_destination.verification import relation
from deniable.record.statement import relation_in
from papers import __main__ as command
from papers.onthemap import attributes, commuting, data, states
from papers.onthemap.commuting import WORKED_OUT, biases
from papers.onthemap.methods import AREAS, COPY, METHODS, NOISY, Drawn, drawn
from papers.onthemap.sampling import of_state
from papers.onthemap.states import made_up_state
from reports.plots.commutes import draw_commutes, series_of_commutes
from schemas.spec.plan import plan_release
from schemas.spec.release_spec import load_spec

ROOT = Path(__file__).resolve().parents[2]
TABLE = Commuters(np.array([0, 0, 1, 2, 2, 2], np.uint16), np.array([0, 0, 0, 1, 1, 1], np.uint16))
HOMES = np.array([[41.0, -71.0], [42.0, -71.0], [41.0, -72.0]])
WORKS = np.array([[41.0, -71.0], [41.0, -72.0], [41.5, -71.5]])


def test_a_degree_of_latitude_is_69_miles_and_one_of_longitude_is_shorter() -> None:
    assert miles(HOMES[:1], HOMES[1:2])[0] == pytest.approx(69.1, abs=0.1)
    assert miles(HOMES[:1], HOMES[2:])[0] == pytest.approx(69.1 * np.cos(np.radians(41)), abs=0.1)
    assert miles(HOMES, HOMES).tolist() == [0, 0, 0]


def test_mean_commutes_are_by_destination() -> None:
    workers, means = mean_commutes(TABLE, HOMES, WORKS)
    assert workers.tolist() == [3, 3, 0]
    assert means[:2] == pytest.approx([69.1 / 3, 0], abs=0.1)
    assert np.isnan(means[2])


def test_whoever_comes_from_an_origin_without_a_place_has_no_commute() -> None:
    nowhere = np.array([*HOMES[:2], [np.nan, np.nan]])
    workers, means = mean_commutes(TABLE, nowhere, WORKS)
    assert workers.tolist() == [3, 3, 0]
    assert means[:1] == pytest.approx([69.1 / 3], abs=0.1)
    assert np.isnan(means[1:]).all()
    places = Places(0, 1, nowhere, WORKS)
    codes = codes_of((0, 0, 2), (1, 0, 1), (2, 1, 3))
    assert len(places.commuters(codes).origins) == 3
    others = codes_of((0, 0, 2), (2, 0, 1), (2, 1, 3))
    found = {name: value.value for name, value in _compared(codes, others, places).items()}
    assert found[GAP] == pytest.approx(69.1 / 3, abs=0.1)
    assert found[OVERLAP] == pytest.approx(5 / 6)
    assert {*_compared(codes_of((2, 1, 1)), codes, places)} == {OVERLAP, TOTALS}


def test_flows_are_the_largest_first() -> None:
    assert largest_flows(TABLE, 3, 2).tolist() == [[2, 1, 3], [0, 0, 2]]


def codes_of(*flows: tuple[int, int, int]) -> np.ndarray:
    """Records of flows: origin, destination and workers of each."""
    return np.repeat(np.array([flow[:2] for flow in flows], np.uint16), [flow[2] for flow in flows], axis=0)


def compared(released: np.ndarray, real: np.ndarray) -> dict[str, Value]:
    return _compared(released, real, Places(0, 1, HOMES, WORKS))


def test_figures_of_commutes_are_those_worked_out_by_hand() -> None:
    """At the first destination one of three lives a degree away, and two in the release; the second has one more."""
    real = codes_of((0, 0, 2), (1, 0, 1), (2, 1, 1))
    released = codes_of((0, 0, 1), (1, 0, 2), (2, 1, 3))
    found = {name: value.value for name, value in compared(released, real).items()}
    degree = float(miles(HOMES[:1], HOMES[1:2])[0])
    assert found[GAP] == pytest.approx(2 / 6 * degree - 1 / 4 * degree)
    assert found[BY_DESTINATION] == pytest.approx(3 / 4 * (2 / 3 - 1 / 3) * degree)
    assert found[OVERLAP] == pytest.approx(1 / 6 + 1 / 4 + 1 / 4)
    assert found[TOTALS] == pytest.approx(1 / 4)
    assert {value.value for value in compared(real, real).values()} == {0, 1}
    nowhere_alike = compared(codes_of((0, 0, 5)), codes_of((1, 1, 3)))
    assert (nowhere_alike[OVERLAP].value, nowhere_alike[TOTALS].value) == (0, 1)


def test_errors_of_figures_of_commutes_are_how_they_vary() -> None:
    """Over 300 releases and holdouts of one law each; those of figures with a kink may be larger."""
    draw = np.random.default_rng(3)
    laws = [draw.dirichlet([2.0] * 6) for _ in range(2)]
    cells = np.array([(home, work) for home in range(3) for work in range(2)], np.uint16)
    runs = [
        compared(*(cells[draw.choice(6, number, p=law)] for law, number in zip(laws, (900, 400), strict=True)))
        for _ in range(300)
    ]
    for name in (GAP, BY_DESTINATION, OVERLAP, TOTALS):
        spread = float(np.std([run[name].value for run in runs]))
        stated = float(np.mean([run[name].error or 0 for run in runs]))
        assert 0.8 < stated / spread < (1.2 if name == GAP else 1.6), name


def test_a_spec_may_bound_commutes_if_it_names_places(example: Path) -> None:
    said = example.read_text(encoding="utf-8")
    bounded = said.replace("evaluation:", "thresholds: {commute_gap_max: 2, flow_overlap_min: 0.1}\n\nevaluation:")
    example.write_text(bounded, encoding="utf-8")
    assert load_spec(example).thresholds == {"commute_gap_max": 2, "flow_overlap_min": 0.1}
    example.write_text(bounded[: bounded.index("  commutes:")], encoding="utf-8")
    with pytest.raises(InvalidInput, match="a threshold must be the name of a figure"):
        load_spec(example)


def test_the_picture_has_two_maps_and_a_comparison_or_is_left_out() -> None:
    workers, means = mean_commutes(TABLE, HOMES, WORKS)
    flows = np.concatenate([HOMES[[2, 0]], WORKS[[1, 0]], [[3], [2]]], axis=1)
    series = series_of_commutes(workers, {"real": means, "released": means + 1}, {"real": flows, "released": flows[:1]})
    assert series["commutes/workers"] == (3, 3), "a destination without workers is not compared"
    figure = draw_commutes(series)
    assert figure is not None
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles == ["Released flows", "Real flows", "Mean commute of each destination"]
    assert draw_commutes({}) is None


@pytest.fixture
def example(tmp_path: Path) -> Path:
    """The made-up state, written by the example's script."""
    script = shutil.copy(ROOT / "examples" / "commuters" / "make_commuters.py", tmp_path)
    subprocess.run([sys.executable, script], check=True, env={})
    return tmp_path / "commuters.yaml"


def test_the_example_is_a_spec_that_charges_one_destination(example: Path) -> None:
    spec = load_spec(example)
    (charged,) = [step for step in plan_release(spec).steps if step.part is not None]
    assert charged.guarantee is not None
    assert charged.guarantee.epsilon >= 4.6
    assert spec.evaluation.commutes is not None
    stated = relation_in(relation(spec.learner.model_dump()))["neighbouring_relation"]
    assert "the number of workers of each destination, is public" in stated
    totals = spec.learner.model_dump()["totals"]
    assert sum(totals.values()) == spec.synthesis.records
    assert len((example.parent / "commuters.csv").read_text(encoding="utf-8").splitlines()) == 1 + sum(totals.values())


def test_attributes_of_the_example_are_specs_that_are_charged_to_the_budget_of_the_origins(example: Path) -> None:
    specs = [load_spec(example), *(load_spec(example.parent / f"commuters_{name}.yaml") for name in states.ATTRIBUTES)]
    totals = [plan_release(spec).accounts.total for spec in specs]
    assert {spec.budget.dataset for spec in specs} == {"commuters-replaced"}
    assert sum(total.epsilon for total in totals if total) == pytest.approx(4.6 + 3, abs=1e-4)
    assert len({tuple(sorted((spec.learner.model_dump()["totals"] or {}).items())) for spec in specs}) == 1


@pytest.mark.slow
def test_the_workers_of_a_real_state_are_a_spec_too(tmp_path: Path, shared: Path) -> None:
    script = shutil.copy(ROOT / "examples" / "commuters" / "make_commuters.py", tmp_path)
    subprocess.run([sys.executable, script], check=True, env={"DENIABLE_LODES": str(shared / "data/lodes_ri_2019")})
    spec = load_spec(tmp_path / "commuters.yaml")
    assert spec.synthesis.records == 406_052 + 70_737, "those of the main file, and of other states"
    homes = spec.domain.attributes[0]
    others = [value for value in homes.values if str(value).startswith("state")]
    assert len(others) == 50
    assert "state 25" in others
    assert len({homes.buckets[homes.values.index(value)] for value in others}) == 50, "each is an area by itself"
    assert not {*others} & set(spec.evaluation.commutes.places if spec.evaluation.commutes else ())
    assert spec.domain.cardinalities[1] == 241
    assert spec.evaluation.commutes is not None
    ages = load_spec(tmp_path / "commuters_age.yaml")
    assert ages.synthesis.records == spec.synthesis.records
    assert ages.domain.attributes[0].values == ("29 or younger", "30 to 54", "55 or older")


@pytest.mark.slow
def test_methods_of_a_made_up_state_are_in_the_order_of_their_prior_workers() -> None:
    state = made_up_state(12, 200, 10)
    found = {name: drawn(state, np.arange(12), name) for name in (*METHODS, NOISY)}
    assert set(WORKED_OUT) < set(found)
    assert found["pure, origins"].prior > 3 * found["pure, areas"].prior > 0
    assert found["pure, areas"].prior > found[AREAS].prior
    assert found["pure, origins"].bias > found[AREAS].bias
    assert found[NOISY].prior == 0
    assert all((each.real == found[AREAS].real).all() for each in found.values())
    everyone = Commuters(np.repeat(state.origin, state.workers), np.repeat(state.destination, state.workers))
    workers, means = mean_commutes(everyone, state.origin_place, state.destination_place)
    assert found[AREAS].workers.tolist() == workers.tolist() == list(state.totals)
    assert found[AREAS].real == pytest.approx(means)
    copy = drawn(state, np.arange(12), COPY)
    assert (copy.prior, copy.overlap) == (0, 1)
    assert abs(copy.errors).max() < 1e-9


def test_the_weights_of_theorem_4_4_are_not_those_of_the_origins_that_remain() -> None:
    part = of_state(made_up_state(12, 2000, 10))
    assert part.verdict == "corrected"
    assert [check.words for check in part.checks if not check.holds] == []
    assert part.table is not None
    added = {name: (published, ours) for name, published, _, ours in part.table.rows if "epsilon" in name}
    assert added == {
        "added to epsilon, by Theorem 5.2": ("3.97", "3.97"),
        "added to epsilon, by Theorem D": ("", "3.30"),
        "epsilon in all, 15 workers": ("8.57", "7.90"),
    }


def test_quantiles_of_commutes_count_workers_and_not_pairs() -> None:
    near, far = np.array([[41.0, -71.0]]), np.array([[42.0, -71.0]])
    one = np.zeros(2, np.int64)
    state = states.State(
        one, np.arange(2), np.array([9, 1]), near, np.concatenate([near, far]), np.arange(2), one[:1], {}
    )
    found = data.commutes_of(state)
    assert (found[0.5], found[0.9]) == (0, 0)
    assert found[0.99] == pytest.approx(69.1, abs=0.1)


def test_shares_of_attributes_are_compared_by_destination() -> None:
    real = {"age": np.array([[3, 1, 0], [0, 0, 4]])}
    ours = {"age": np.array([[1, 1, 2], [0, 2, 2]])}
    found = attributes.measured(real, ours, Fraction(1))
    assert found.off["age"].tolist() == [0.5, 0.5]
    assert found.state["age"] == 0.25


def test_as_many_attributes_are_drawn_as_there_are_workers_and_prior_workers_move_them() -> None:
    counts = np.array([[900, 0, 0], [0, 0, 0], [2, 3, 5]])
    pure, bounded = (attributes.drawn(counts, Fraction(1), "age", pure=pure) for pure in (True, False))
    assert pure.sum(axis=1).tolist() == bounded.sum(axis=1).tolist() == [900, 0, 10]
    # Of 900 workers and 3 times 524 prior workers of pure privacy, 58 % have the attribute.
    assert 450 < pure[0, 0] < 600 < bounded[0, 0] < 900


def test_workers_have_the_attributes_of_their_pairs() -> None:
    state = made_up_state(20, 100, 5)
    rows = attributes.workers_of(state)
    assert len(rows) == state.workers.sum()
    for column, (name, counts) in enumerate(attributes.counts_of(state).items(), start=1):
        found = np.zeros_like(counts)
        np.add.at(found, (rows[:, 0], rows[:, column]), 1)
        assert (found == counts).all(), name


def test_biases_are_judged_by_their_standard_errors() -> None:
    def of_bias(bias: float) -> Drawn:
        errors = bias + 0.6 * np.sqrt(100) * np.tile([-1.0, 1.0], 50)
        return Drawn(np.arange(100), np.zeros(100), errors, 0.0, np.zeros(100))

    assert of_bias(3).deviation == pytest.approx(0.6)
    near = biases({name: of_bias(bias + 2) for name, bias in WORKED_OUT.items()})
    assert [check.holds for check in near] == [True] * len(WORKED_OUT)
    assert [check.holds for check in biases({name: of_bias(bias + 3) for name, bias in WORKED_OUT.items()})] == [
        False
    ] * len(WORKED_OUT)


@pytest.mark.slow
def test_the_parts_of_a_made_up_state_have_what_holds_for_any_state(monkeypatch: pytest.MonkeyPatch) -> None:
    state = made_up_state(60, 1000, 40)
    monkeypatch.setattr(commuting, "the_state", lambda: state)
    for part in (commuting.figure_1(), commuting.figure_3()):
        assert [check.words for check in part.checks if not check.holds] == []
    for part in (commuting.figure_2(), commuting.figure_4()):
        assert part.table is not None
        assert part.table.rows


def test_a_folder_without_the_files_of_a_state_is_refused_in_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(states.PLACE, str(tmp_path))
    states.the_state.cache_clear()
    try:
        with pytest.raises(SystemExit) as refused:
            command.main(["002", "--to", str(tmp_path / "var"), "--pages", str(tmp_path / "pages")])
    finally:
        states.the_state.cache_clear()
    assert refused.value.code != 0
    assert "which has 0 and 0; correct it, or unset it for a made-up state" in capsys.readouterr().err
    assert not (tmp_path / "var").exists()


def test_a_state_that_is_made_up_or_another_is_named_on_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    state = made_up_state(5, 50, 4)
    monkeypatch.setattr(states, "the_state", lambda: state)
    monkeypatch.delenv(states.PLACE, raising=False)
    assert "is made up, because DENIABLE_LODES names no folder" in states.words_for_made_up()
    monkeypatch.setenv(states.PLACE, "elsewhere")
    assert "is another than LODES of Rhode Island 2019" in states.words_for_made_up()
    monkeypatch.setattr(states, "RHODE_ISLAND", int(state.workers.sum()))
    assert states.words_for_made_up() == ""


def test_places_must_be_of_all_values(example: Path) -> None:
    text = example.read_text(encoding="utf-8")
    (example.parent / "less.yaml").write_text(text.replace('"t00":', '"t99":'), encoding="utf-8")
    with pytest.raises(InvalidInput, match="1 missing and 1 unknown"):
        load_spec(example.parent / "less.yaml")
