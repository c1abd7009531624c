"""The report's own verdict on releases whose quality is known: fit, unfit or unsafe, as its first lines say."""

from pathlib import Path

import pytest

from deniable.evaluation.derived.verdict import verdict_of
from reports.pages.attack_rows import attack_rows
from reports.pages.fitness import fitness_of, overall_of
from reports.pages.report import ReportContent, render_report
from tests.html_page import Page
from tests.prepared_releases import PREPARED, TABLES, prepare

BY_DAY = ("of a log-linear model", "of 499 people", "with a memorised group")

_kinds = [(name, table) for name in PREPARED for table in TABLES]


def _require_verdict(content: ReportContent, name: str) -> None:
    """Require the verdict of a prepared release on the first screen of its report."""
    fitness = fitness_of(content.utility, content.spec)
    attacks = attack_rows(content.risk, content.spec.evaluation.scope)
    assert overall_of(fitness, attacks, content.accounts).verdict == PREPARED[name].verdict
    page = Page(render_report(content))
    page.require_sound()
    [overall] = [each for each in page.all("p") if each.attributes.get("class") == "overall"]
    sign = "✓" if PREPARED[name].verdict == "fit" else "✗"
    assert overall.text.startswith(f"{sign} {PREPARED[name].verdict.capitalize()} ")


@pytest.mark.parametrize("name", BY_DAY)
def test_the_verdict_is_right_by_day(name: str, tmp_path: Path) -> None:
    _require_verdict(prepare(name, 0, tmp_path), name)


@pytest.mark.nightly
@pytest.mark.parametrize(("name", "table"), _kinds)
def test_the_verdict_is_right_for_two_tables_each(name: str, table: int, tmp_path: Path) -> None:
    _require_verdict(prepare(name, table, tmp_path), name)


def test_at_least_four_releases_deserve_each_verdict() -> None:
    deserved = [each.verdict for each in PREPARED.values()]
    assert min(deserved.count(verdict) for verdict in ("fit", "unfit", "unsafe")) == 4


def test_a_release_of_which_little_is_known_is_neither_fit_nor_unfit() -> None:
    assert verdict_of({}, [], []) == "not decided"
    assert verdict_of({"shares": None, "tables": None, "means": "good"}, [], []) == "not decided"
    assert verdict_of({"shares": None, "tables": None, "means": "good"}, ["shares", "tables"], []) == "unfit"
    assert verdict_of({"shares": "good", "means": "do not", "rare": "good"}, ["means"], []) == "fit"
    assert verdict_of({"shares": "do not", "means": "good", "rare": "good"}, ["shares"], []) == "unfit"
    assert verdict_of({"shares": "good"}, [], ["an attack"]) == "unsafe"
