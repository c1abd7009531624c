"""Every metric and every attack keeps the contract of metrics: it declares what it measures, and measures that."""

import ast
import math
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from deniable.evaluation.analyses.declared import made_for
from deniable.evaluation.classifiers import classifiers
from deniable.evaluation.commutes import Places
from deniable.evaluation.contract import Attack, Figure, Kind, Metric, Scope, Value
from deniable.evaluation.disclosure import Tables
from deniable.evaluation.evidence import AttackEvidence, UtilityEvidence
from deniable.evaluation.registry import ATTACKS, METRICS, derived, figures_of, metrics
from deniable.evaluation.thresholds import SIDES
from deniable.foundation.domain import Attribute, Codes, Domain
from tests.conftest import ROOT
from tests.evaluated_release import KEY, independent, population

NAME = re.compile(r"[a-z][a-z0-9_]*")
ROWS, SOME = 2500, 600
NEEDED = 3.0
"""Standard errors by which a figure must tell a worse release from a good one."""


@dataclass(frozen=True)
class Row:
    """A figure of a metric, and a release that it must show to be worse than a sample of the population."""

    figure: str
    worse: str


# A row for each metric; None if none of its figures is better at any value.
ROWS_OF_METRICS: dict[str, Row | None] = {
    "compared_records": None,
    "marginal_distances": Row("tvd_2way", "independent"),
    "jensen_shannon": Row("jensen_shannon", "young"),
    "mutual_information": Row("mutual_information_gap", "independent"),
    "distinguishing_game": Row("distinguished", "independent"),
    "distinct_records": None,
    "accuracy": Row("accuracy_forest", "independent"),
    "agreement": Row("agreement_forest", "independent"),
    "subsample": Row("equivalent_records_2way", "independent"),
    "groups": Row("group_gap_worst", "independent"),
    "analyses": Row("analysis_overlap", "independent"),
    "numbers": Row("correlation_gap_worst", "independent"),
    "rare_values": Row("rare_values_lost", "young"),
    "undeclared_logic": Row("logic_broken_worst", "independent"),
    "tails": Row("amount_mean_gap_worst", "young"),
    "places.commutes": Row("flow_overlap", "young"),
    "exact_matches": Row("exact_match_excess", "copies"),
    "reproduced_people": Row("reproduced_excess", "copies"),
    "memorised_groups": Row("reproduced_group_excess", "copies"),
    "unique_people": Row("unique_found_excess", "copies"),
    "singled_out": Row("singled_out_excess", "copies"),
    "nearest_records": Row("nearer_to_training", "copies"),
    "inference": Row("inferred_excess_worst", "copies"),
}

DOMAIN = Domain(
    tuple(
        Attribute(name, tuple(range(size)), "numeric", tuple(range(size)))
        for name, size in {"age": 40, "income": 40, "town": 30, "sex": 2, "sick": 2, "trade": 200}.items()
    ),
    target="sex",
)
SCOPE = Scope(sensitive=("sick", "sex"), commutes=True)
PLACES = Places(0, 2, *(np.stack([np.linspace(40, 42, size)] * 2, axis=1) for size in (40, 30)))


def with_trades(codes: Codes) -> Codes:
    """Add a trade that each person has at one age only, so that every trade is rare."""
    return np.column_stack((codes, codes[:, 0] * 5 + codes[:, 2] % 5)).astype(np.uint16)


TRAINING, HOLDOUT = (with_trades(population(ROWS, name)) for name in ("training", "holdout"))
EVERYONE = with_trades(population(3 * ROWS, "everyone"))
RELEASES = {
    "good": with_trades(population(ROWS, "best")),
    "independent": with_trades(independent(ROWS, "independent")),
    "young": EVERYONE[EVERYONE[:, 0] < 20][:ROWS],
    "copies": TRAINING,
}


def evidence_of(kind: Kind, released: Codes, training: Codes, holdout: Codes, pool: ThreadPoolExecutor) -> Any:
    """What is known of a release of the made-up people."""
    m = released.shape[1]
    domain = Domain(DOMAIN.attributes[:m], target=DOMAIN.attributes[min(3, m - 1)].name)
    if kind == "utility":
        words = KEY.stream(step="test", mechanism="classifiers", inputs="", parameters={})
        return UtilityEvidence(
            domain=domain,
            tables={
                "released": released,
                "training": training,
                "baseline": with_trades(independent(len(released), "base"))[:, :m],
            },
            holdout=holdout,
            rows=SOME,
            classifiers=SCOPE.classifiers,
            factories=classifiers(words, 15, [each for each in domain.attributes if each.name != domain.target]),
            groups=[column for column in (3, 4) if column < m],
            pool=pool,
            analyses=made_for(domain),
            places=PLACES if m > PLACES.destination else None,
        )
    tables = Tables(released=released, training=training, holdout=holdout, cardinalities=domain.cardinalities)
    sensitive = [name for name in SCOPE.sensitive if name in domain.names] or domain.names[:1]
    return AttackEvidence(
        domain=domain,
        tables=tables,
        known=[0, 1, 2][: m - 1],
        quasi_identifiers=[0, 1, 2][:m],
        sensitive=sensitive,
        pool=pool,
    )


def measured(name: str, released: Codes, training: Codes = TRAINING, holdout: Codes = HOLDOUT) -> dict[str, Value]:
    """What a metric measures of a release."""
    metric = declared(name)
    with ThreadPoolExecutor(2) as pool:
        evidence = evidence_of(metric.kind, released, training, holdout, pool)
        return dict(metric.measure(evidence))


@cache
def measured_of(name: str, release: str) -> Mapping[str, Value]:
    return measured(name, RELEASES[release])


def declared(name: str) -> Metric[Any]:
    """The metric, or attack, of a module."""
    kinds: tuple[tuple[Kind, tuple[str, ...]], ...] = (("utility", METRICS), ("risk", ATTACKS))
    return next(dict(zip(names, metrics(kind), strict=True))[name] for kind, names in kinds if name in names)


def figures(name: str, scope: Scope = SCOPE) -> dict[str, Figure]:
    return {figure.name: figure for figure in declared(name).figures(scope)}


every_metric = pytest.mark.parametrize("name", [*METRICS, *ATTACKS])


def test_every_module_is_listed_and_has_a_row() -> None:
    assert [*METRICS, *ATTACKS] == list(ROWS_OF_METRICS)
    for room, names, declares in (("metrics", METRICS, "METRIC"), ("attacks", ATTACKS, "ATTACK")):
        place = ROOT / "deniable" / "evaluation" / room
        declaring = [path for path in place.rglob("[a-z]*.py") if f"\n{declares}: " in path.read_text(encoding="utf-8")]
        assert {".".join(path.relative_to(place).with_suffix("").parts) for path in declaring} == set(names)
    assert all(isinstance(metric, Attack) for metric in metrics("risk"))


@every_metric
def test_a_metric_measures_what_it_declares_and_nothing_else(name: str) -> None:
    values, declarations = measured_of(name, "good"), figures(name)
    assert values.keys() == declarations.keys()
    for figure, value in values.items():
        assert math.isfinite(value.value)
        assert (value.error is not None) == declarations[figure].has_error, figure
        assert value.error is None or (math.isfinite(value.error) and value.error >= 0)
        assert not declarations[figure].each or len(value.summarizes) == len(DOMAIN)


@every_metric
def test_what_is_declared_can_be_shown_and_bounded(name: str) -> None:
    everything = figures_of(SCOPE)
    for figure in figures(name).values():
        assert NAME.fullmatch(figure.name)
        assert not figure.name.endswith(tuple(f"_{side}" for side in SIDES))
        assert {*figure.beside} <= {None, *everything}
        assert not isinstance(figure.chance, str) or figure.chance in everything
        # What is shown first must say how sure it is, and what would be good.
        assert not (figure.words or figure.summary or figure.is_listed) or figure.has_error
        assert not figure.words or figure.better != "neither"


def test_no_two_figures_have_one_name() -> None:
    sources = [*map(declared, ROWS_OF_METRICS), *derived()]
    declarations = [figure for source in sources for figure in source.figures(SCOPE)]
    assert len({figure.name for figure in declarations}) == len(declarations) == len(figures_of(SCOPE))


@pytest.mark.parametrize("name", [name for name, row in ROWS_OF_METRICS.items() if row is not None])
def test_a_worse_release_has_a_worse_figure(name: str) -> None:
    row = ROWS_OF_METRICS[name]
    assert row is not None
    figure = figures(name)[row.figure]
    good, bad = (measured_of(name, release)[row.figure] for release in ("good", row.worse))
    chance = figure.chance if isinstance(figure.chance, float) else 0.0
    amounts = {"low": 1, "high": -1, "near": 1}[figure.better] * np.array([good.value, bad.value])
    if figure.better == "near":
        amounts = np.abs(amounts - chance)
    assert amounts[1] - amounts[0] > NEEDED * math.hypot(good.error or 0, bad.error or 0)


@every_metric
def test_a_metric_measures_the_same_again(name: str) -> None:
    assert measured(name, RELEASES["good"]) == measured_of(name, "good")


@every_metric
@pytest.mark.parametrize(("rows", "attributes"), [(1, 5), (2, 5), (3, 1), (40, 2)])
def test_a_metric_says_something_or_nothing_of_a_tiny_table(name: str, rows: int, attributes: int) -> None:
    chosen = [table[:rows, :attributes] for table in (RELEASES["good"], TRAINING, HOLDOUT)]
    for value in measured(name, *chosen).values():
        assert math.isfinite(value.value)
        assert value.error is None or math.isfinite(value.error)


@every_metric
def test_what_depends_on_real_records_is_internal(name: str) -> None:
    public = [figure.name for figure in figures(name).values() if figure.audience == "public"]
    others = measured(
        name, RELEASES["good"], with_trades(population(ROWS - 1, "other")), RELEASES["young"][: ROWS // 2]
    )
    assert all(others[figure] == measured_of(name, "good")[figure] for figure in public)


def test_an_exact_figure_that_is_said_to_be_public_is_found() -> None:
    values, others = (measured("compared_records", RELEASES["good"][:size]) for size in (ROWS, ROWS - 1))
    assert values != others


def test_what_metrics_declare_is_known_without_compiled_code() -> None:
    code = (
        "import sys; from deniable.evaluation import contract, registry; registry.figures_of(contract.Scope());"
        "print(sorted({'numba', 'scipy', 'pandas'} & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# What takes a text apart.
CUTTING = {"startswith", "endswith", "removeprefix", "removesuffix", "partition", "rpartition", "split", "rsplit"}
SHOWING = ("flows", "reports", "stores", "tasks", "schemas")
# Words that name a figure and something else.
OTHERS = {"distinguished"}


def cuts(tree: ast.AST, names: set[str]) -> Iterator[str]:
    """Beginnings and ends of figures' names by which code takes a text apart."""
    parts = {name[:end] for name in names for end in range(2, len(name) + 1) if name[end - 1 : end + 1].count("_")}
    parts |= {name[start:] for name in names for start in range(len(name)) if name[start] == "_"} | names
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in CUTTING:
            texts = [each.value for part in node.args for each in ast.walk(part) if isinstance(each, ast.Constant)]
            yield from (text for text in texts if isinstance(text, str) and text in parts)


def spelt(tree: ast.AST, names: set[str]) -> Iterator[str]:
    """Figures that code names by itself."""
    constants = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant))
    yield from (each for each in constants if isinstance(each, str) and each in names)


def spelt_in_template(text: str, names: set[str]) -> Iterator[str]:
    yield from (word for word in re.findall(r"[a-z0-9_]+", text) if word in names)


@pytest.mark.parametrize("room", [*SHOWING, "deniable/evaluation", "deniable/record"])
def test_names_of_figures_are_neither_taken_apart_nor_spelt_where_they_are_shown(room: str) -> None:
    names = set(figures_of(SCOPE))
    for path in (ROOT / room).rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        assert list(cuts(tree, names)) == [], path
        assert room not in SHOWING or list(spelt(tree, names - OTHERS)) == [], path
    for path in (ROOT / room).rglob("*.jinja"):
        assert list(spelt_in_template(path.read_text(encoding="utf-8"), names - OTHERS)) == [], path


@pytest.mark.parametrize(
    "code",
    ["name.removeprefix('accuracy_loss_')", "name.startswith(('a', 'accuracy_'))", "name.endswith('_excess')"],
)
def test_code_that_takes_the_name_of_a_figure_apart_is_found(code: str) -> None:
    assert list(cuts(ast.parse(code), set(figures_of(SCOPE))))


def test_a_figure_that_is_spelt_is_found() -> None:
    names = set(figures_of(SCOPE))
    assert list(spelt(ast.parse("shown = figures['tvd_2way']"), names)) == ["tvd_2way"]
    assert list(spelt_in_template("{{ figures.unique_share }}", names)) == ["unique_share"]


def test_a_scope_decides_what_there_is() -> None:
    some = replace(SCOPE, classifiers=("tree",), kinds=("utility",), beside=("training",))
    assert "accuracy_tree" in figures_of(some)
    assert not {"accuracy_forest", "tvd_2way_baseline", "exact_match_excess"} & figures_of(some).keys()
