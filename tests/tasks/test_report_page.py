"""The report shows all parts of a release and asks for nothing from anywhere."""

import re
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise

import pytest

from deniable.loss import Guarantee
from schemas.accounts import Accounts
from schemas.references import Audience
from schemas.synthesis import Seedless
from stores.drawing import draw_graph
from stores.people_flow import PeopleFlow, Stage, draw_people_flow
from stores.report import ReportContent, render_report, write_report
from stores.statement import NOT_COVERED
from tasks.evaluate_risk import evaluate_risk
from tasks.evaluate_utility import evaluate_utility
from tests.evaluated_release import EvaluatedRelease, independent, population

ACCOUNTS = Accounts(
    structure=Guarantee(0.51, 1e-9, "basic"),
    parameters=Guarantee(0.5, 1e-9, "basic"),
    model=Guarantee(1.01, 2e-9, "basic"),
    kind="tested_seeds",
    record=Guarantee(1.1861, 9.3e-10, "theorem 1"),
    record_t=33,
    candidates=Guarantee(31_234.5, 1e-6, "theorem A"),
    total=Guarantee(31_235.5, 1.1e-6, "basic"),
)
VOID = {"meta", "br", "link", "img", "input", "hr"}


class Page(HTMLParser):
    """What a page holds: its elements, its ids, its text by element, and whether every element is closed."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.text: dict[str, list[str]] = {}
        self._open: list[str] = []
        self.feed(html)
        self.close()
        assert not self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if data.strip():
            self.text.setdefault(self._open[-1] if self._open else "", []).append(" ".join(data.split()))

    def attributes(self, *names: str) -> Iterator[str]:
        """Values of attributes of all elements."""
        for _, attributes in self.elements:
            yield from (attributes[name] for name in names if name in attributes)


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> EvaluatedRelease:
    changes = {"thresholds": {"tvd_2way_max": 0.5, "distinguished_max": 0.1}, "title": "Made-up <people>"}
    return EvaluatedRelease(tmp_path_factory.mktemp("reported"), changes)


@pytest.fixture(scope="module")
def content(release: EvaluatedRelease) -> ReportContent:
    released = release.released(population(2500, "best"))
    baseline = release.table("baseline", independent(2000, "baseline"))
    names = release.workspace.spec.domain.names
    return ReportContent(
        release_id="made-up-20260101T000000Z",
        spec=release.workspace.spec,
        accounts=ACCOUNTS,
        flow=PeopleFlow(
            stages=(Stage("in the source", 6000), Stage("valid", 5900, "invalid")),
            parts={name: part.rows or 0 for name, part in release.parts.items()},
            candidates=4321,
            passed=3100,
            released=2500,
        ),
        graph=draw_graph(names, {"income": ["age"], "sex": ["income"]}, "sex"),
        utility=evaluate_utility(release.workspace, released, release.parts, baseline),
        risk=evaluate_risk(release.workspace, released, release.parts),
        labels={"town": "where one lives"},
    )


@pytest.fixture(scope="module")
def html(content: ReportContent) -> str:
    return render_report(content)


@pytest.fixture(scope="module")
def page(html: str) -> Page:
    return Page(html)


def test_the_page_refers_to_nothing_outside_itself(html: str, page: Page) -> None:
    assert not [tag for tag, _ in page.elements if tag in {"script", "link", "img", "iframe", "object", "base", "form"}]
    references = list(page.attributes("href", "src", "srcset", "xlink:href", "data", "action", "poster"))
    assert all(reference.startswith("#") for reference in references)
    assert all(target.startswith("#") for target in re.findall(r"url\((.*?)\)", html))
    assert "@import" not in html
    assert "://" not in html


def test_every_reference_within_the_page_finds_its_target(html: str, page: Page) -> None:
    ids = list(page.attributes("id"))
    assert len(set(ids)) == len(ids)
    references = {reference.removeprefix("#") for reference in page.attributes("href")}
    references |= {target.strip("#\"'") for target in re.findall(r"url\((.*?)\)", html)}
    assert references <= set(ids)


def words_of_flow(flow: PeopleFlow) -> list[str]:
    """What is written in the picture of a flow."""
    [axes] = draw_people_flow(flow).axes
    return [text.get_text() for text in axes.texts]


def test_candidates_that_failed_are_told_from_those_that_passed_and_were_not_wanted(content: ReportContent) -> None:
    words = words_of_flow(content.flow)
    assert "1,221 did not pass" in words
    assert "600 passed, not wanted" in words


def test_nothing_is_drawn_of_candidates_that_there_are_none_of(content: ReportContent) -> None:
    words = " ".join(words_of_flow(replace(content.flow, passed=2500)))
    assert "1,821 did not pass" in words
    assert "not wanted" not in words
    words = " ".join(words_of_flow(replace(content.flow, passed=2500, candidates=2500)))
    assert "pass" not in words


def test_all_parts_are_there_with_headings_in_order(page: Page) -> None:
    sections = [attributes["id"] for tag, attributes in page.elements if tag == "section"]
    assert sections == ["thresholds", "people", "graph", "utility", "marginals", "risk", "privacy", "figures"]
    levels = [int(tag[1]) for tag, _ in page.elements if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))


def test_every_picture_says_in_words_what_it_shows(page: Page) -> None:
    pictures = [attributes for tag, attributes in page.elements if tag == "svg"]
    assert len(pictures) == 7
    assert all(picture["role"] == "img" and len(picture["aria-label"]) > 30 for picture in pictures)
    assert "4,321" in page.text["text"]
    assert "where one lives" in page.text["span"]


def test_the_headlines_are_there(page: Page, content: ReportContent) -> None:
    assert "Made-up <people>" in page.text["h1"]
    shown = page.text["span"]
    assert "1 of 2 thresholds met" in shown
    assert {"met", "missed", "2,500", "k = 20"} <= set(shown)
    assert f"{content.utility.figures['tvd_2way']:.3f}" in shown


def test_costs_are_never_shown_smaller_than_they_are(page: Page) -> None:
    assert {"ε = 1.01", "ε = 1.19", "ε = 31,300"} <= set(page.text["span"])
    assert {"2·10⁻⁹", "9.3·10⁻¹⁰", "1.1·10⁻⁶"} <= set(page.text["td"])


def test_a_vacuous_total_is_called_so_and_what_is_not_covered_is_listed(page: Page) -> None:
    assert "The total for the whole release is vacuous" in page.text["strong"]
    assert set(NOT_COVERED) <= set(page.text["li"])


def test_a_release_without_graph_seeds_baseline_or_thresholds_has_a_report_too(content: ReportContent) -> None:
    seedless = replace(ACCOUNTS, structure=None, kind="seedless", record=None, candidates=None, total=ACCOUNTS.model)
    utility = content.utility.model_copy(
        update={
            "verdicts": (),
            "figures": {name: value for name, value in content.utility.figures.items() if "baseline" not in name},
            "series": {name: value for name, value in content.utility.series.items() if "baseline" not in name},
        }
    )
    changed = replace(
        content,
        graph=None,
        accounts=seedless,
        utility=utility,
        flow=replace(content.flow, from_seeds=False),
        labels={},
        spec=content.spec.model_copy(
            update={"synthesis": Seedless(guarantee="seedless", records=400, chunk_candidates=512)}
        ),
    )
    page = Page(render_report(changed))
    assert "graph" not in page.attributes("id")
    assert "The spec sets none." in page.text["p"]
    assert "Plausible seeds" not in page.text["h2"]


def test_a_release_by_privacy_test_one_says_that_it_has_no_differential_privacy(content: ReportContent) -> None:
    page = Page(render_report(replace(content, accounts=replace(ACCOUNTS, record=None, candidates=None, total=None))))
    assert "no DP" in page.text["span"]
    assert "The whole release has no differential privacy" in page.text["strong"]


def test_the_report_is_written_for_the_internal_audience(release: EvaluatedRelease, content: ReportContent) -> None:
    report = write_report(release.workspace, content)
    assert report.audience is Audience.INTERNAL
    assert report.path == release.workspace.shelf / "report.html"
    assert report.path.stat().st_mode & 0o077 == 0
    assert report.path.read_text(encoding="utf-8") == render_report(content)
