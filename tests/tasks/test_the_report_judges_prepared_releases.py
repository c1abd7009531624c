"""The report's own verdict on releases whose quality is known: fit, unfit or unsafe, as its first lines say."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from deniable.evaluation.derived.verdict import ESSENTIAL, verdict_of
from deniable.evaluation.uses import USES, Grade
from reports.pages.attack_rows import attack_rows
from reports.pages.fitness import JudgedUse, fitness_of, overall_of
from reports.pages.headline_figures import Estimate
from reports.pages.report import ReportContent, render_report
from tests.blind_trial import write_pages
from tests.html_page import Element, Page
from tests.prepared_releases import PREPARED, TABLES, prepare

BY_DAY = ("of a log-linear model", "of 499 people", "with a memorised group")

_kinds = [(name, table) for name in PREPARED for table in TABLES]


def _require_verdict(content: ReportContent, name: str) -> None:
    """Require the verdict of a prepared release on the first screen of its report."""
    fitness = fitness_of(content.utility, content.spec)
    attacks = attack_rows(content.risk, content.spec.evaluation.scope)
    verdict = PREPARED[name].verdict
    assert overall_of(fitness, attacks, content.accounts).verdict == verdict
    page = Page(render_report(content))
    page.require_sound()
    said = overall_in(page).text
    assert said.startswith(f"{'✓' if verdict == 'fit' else '✗'} {verdict.capitalize()} ")
    # The title says nothing of how the release was prepared.
    assert [each.text for each in page.all("h1")] == ["Made-up people"]
    assert is_green(page) == (verdict == "fit")
    if verdict == "unsafe":
        assert "An attack succeeds" in said
        assert PREPARED[name].attacked in said


def overall_in(page: Page) -> Element:
    """The verdict on the first screen."""
    [overall] = [each for each in page.all("p") if each.attributes.get("class") == "overall"]
    return overall


def is_green(page: Page) -> bool:
    """Whether anything above the contents of the report is green."""
    header = page.all("header")
    shown = [each for each in page.all("span") if any(head in each.up() for head in header)]
    return any("met" in (each.attributes.get("class") or "").split() for each in shown)


@pytest.mark.parametrize("name", BY_DAY)
def test_the_verdict_is_right_by_day(name: str, tmp_path: Path) -> None:
    _require_verdict(prepare(name, 0, tmp_path), name)


@pytest.mark.nightly
@pytest.mark.parametrize(("name", "table"), _kinds)
def test_the_verdict_is_right_for_two_tables_each(name: str, table: int, tmp_path: Path) -> None:
    _require_verdict(prepare(name, table, tmp_path), name)


def test_a_fit_release_whose_guarantee_says_next_to_nothing_is_not_shown_in_green(tmp_path: Path) -> None:
    content = prepare("of a log-linear model", 0, tmp_path)
    total = content.accounts.total
    assert total is not None
    page = Page(
        render_report(replace(content, accounts=replace(content.accounts, total=replace(total, epsilon=21.76))))
    )
    page.require_sound()
    assert overall_in(page).text.startswith(
        "! Fit, but hardly bounded Its guarantee says next to nothing: anyone who sees the whole release and starts "
        "from even odds may guess whether a given record was in the confidential table correctly up to 100% of the "
        "time. "
    )
    assert not is_green(page)
    assert "rules of this report is fit, but hardly bounded." in page.words


def test_pages_of_a_blind_trial_have_neutral_names_and_a_key(tmp_path: Path) -> None:
    write_pages(tmp_path / "pages", tmp_path / "key.json", ["of 499 people"])
    [page] = (tmp_path / "pages").iterdir()
    key = json.loads((tmp_path / "key.json").read_text(encoding="utf-8"))
    assert [own["release"] for own in key.values()] == ["of 499 people"]
    assert [*key] == [page.name] == ["release-01.html"]
    assert "of 499 people" not in page.read_text(encoding="utf-8")


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


def test_a_release_is_not_fit_as_long_as_something_essential_is_undecided() -> None:
    grades: dict[str, Grade | None] = dict.fromkeys((use.name for use in USES), "good")
    assert verdict_of(grades, [], []) == "fit"
    for name in ESSENTIAL:
        assert verdict_of({**grades, name: None}, [name], []) == "not decided"
    assert verdict_of({**grades, "rare": None}, ["rare"], []) == "fit"


@pytest.mark.parametrize(
    ("value", "reach", "to_decide"),
    [
        (
            0.1,
            0.1,
            "hold out and release about 4 times as many records; a larger epsilon would make the error smaller.",
        ),
        (0.04, 0.22, "hold out and release about 4 times as many records."),
        (0.149, 0.1, "hold out and release many more records; a larger epsilon would make the error smaller."),
    ],
)
def test_what_would_decide_a_use_is_said(value: float, reach: float, to_decide: str) -> None:
    use = next(each for each in USES if each.name == "totals")
    said = JudgedUse(use, "amount_mean_gap_worst", Estimate(value, reach), None, "").why_undecided
    assert said.startswith("It is not decided whether it may be used for totals of amounts: its error is from ")
    assert said.endswith(f", and usable up to 0.15. To decide it, {to_decide}")
