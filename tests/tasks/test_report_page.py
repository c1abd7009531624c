"""The report shows all parts of a release and asks for nothing from anywhere."""

from dataclasses import replace

import pytest

from schemas.references import Audience
from schemas.synthesis import Seedless
from stores.glance import reach_of
from stores.pages import within
from stores.people_flow import PeopleFlow, draw_people_flow
from stores.report import ReportContent, render_report, write_report
from stores.statement import NOT_COVERED
from tests.evaluated_release import EvaluatedRelease
from tests.html_page import Page
from tests.reported_release import ACCOUNTS, CHANGES, content_of


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> EvaluatedRelease:
    return EvaluatedRelease(tmp_path_factory.mktemp("reported"), CHANGES)


@pytest.fixture(scope="module")
def content(release: EvaluatedRelease) -> ReportContent:
    return content_of(release)


@pytest.fixture(scope="module")
def html(content: ReportContent) -> str:
    return render_report(content)


@pytest.fixture(scope="module")
def page(html: str) -> Page:
    return Page(html)


def test_the_page_is_sound_and_needs_nothing_but_itself(page: Page) -> None:
    page.require_sound()


def test_the_same_content_gives_the_same_page(html: str, content: ReportContent) -> None:
    assert render_report(content) == html


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


def test_all_parts_are_there(page: Page) -> None:
    sections = [section.attributes["id"] for section in page.all("section")]
    assert sections == [
        "glance",
        "people",
        "graph",
        "utility",
        "pairs",
        "attributes",
        "risk",
        "privacy",
        "budget",
        "record",
        "figures",
    ]


def test_every_attribute_is_shown_real_and_released(page: Page, content: ReportContent) -> None:
    [attributes] = [section for section in page.all("section") if section.attributes["id"] == "attributes"]
    panels = [element for element in page.elements if element.attributes.get("class") == "panel"]
    assert len(panels) == 5
    assert all(attributes in panel.up() for panel in panels)
    curves = [element for element in page.all("svg") if "curve" in element.attributes.get("class", "").split()]
    assert [len(curve.children) for curve in curves] == [2, 2, 2]
    shares = content.utility.series
    [sick] = [panel.text for panel in panels if "sick" in panel.text]
    for table in ("holdout", "released"):
        assert all(f"{share:.1%}" in sick for share in shares[f"shares_{table}/sick"])
    distance = dict(zip(content.spec.domain.names, shares["tvd_1way"], strict=True))["sick"]
    assert f"{distance:.3f}" in sick


def test_the_commonest_of_many_names_are_shown_and_the_rest_together(content: ReportContent) -> None:
    schema = content.spec.folder / "wide.py"
    text = schema.read_text()
    try:
        # As many values as the evaluation has shares for, and ten that nobody has.
        towns = '"town": nominal([*range(30), *range(100, 110)])'
        schema.write_text(text.replace('"town": numeric(0, 29)', towns))
        page = Page(render_report(content))
    finally:
        schema.write_text(text)
    page.require_sound()
    [town] = [table for table in page.all("table") if table.text.lstrip().startswith("town")]
    assert len([row for row in page.all("tr") if town in row.up()]) == 1 + 20 + 1
    assert "20 other values" in town.text


def test_every_picture_says_in_words_what_it_shows(page: Page) -> None:
    kinds = [picture.attributes.get("class", "").split() for picture in page.all("svg")]
    pictures = [picture for picture, kind in zip(page.all("svg"), kinds, strict=True) if "curve" not in kind]
    assert [kinds.count(kind) for kind in ([], ["heat"], ["ratios"])] == [6, 1, 6]
    assert all(len(picture.attributes["aria-label"]) > 30 for picture in pictures)
    assert "4,321" in page.text["text"]


def test_the_headlines_are_there(page: Page, content: ReportContent) -> None:
    assert "Made-up <people>" in page.text["h1"]
    assert {"2,500", "k = 20", f"{content.utility.figures['tvd_2way']:.3f}"} <= set(page.text["span"])
    assert "1 of 2 thresholds met" in page.words


def test_met_and_missed_are_told_apart_without_colour(page: Page, content: ReportContent) -> None:
    verdicts = {row.children[0].text: row.text for row in page.all("tr")}
    rows = {
        figure: text for name, text in verdicts.items() for figure in ("tvd_2way", "distinguished") if figure in name
    }
    assert "at most 0.5" in rows["tvd_2way"]
    assert "✓ met" in rows["tvd_2way"]
    assert "at most 0.1" in rows["distinguished"]
    assert "✗ missed" in rows["distinguished"]
    reach = reach_of(content.utility, "distinguished")
    assert within(content.utility.figures["distinguished"], reach) in rows["distinguished"]


def test_what_is_left_of_the_budget_is_shown(page: Page) -> None:
    [budget] = [table for table in page.all("table") if table.attributes.get("class") == "budget"]
    rows = [[" ".join(cell.text.split()) for cell in row.children] for row in page.all("tr") if budget in row.up()]
    assert rows[1:] == [
        ["εlifetime", "", "2.5", "1.25", "6.25", "10"],
        ["δlifetime", "", "0", "0.0003334", "0.0006666", "0.001"],
        ["ε2026", "", "3 together", "0", "2"],
    ]
    widths = [bar.attributes["style"] for bar in page.all("span") if budget in bar.up() and "style" in bar.attributes]
    assert widths[:2] == ["width: 25.00%", "width: 12.50%"]
    assert widths[-1] == "width: 100.00%"


def test_the_verification_of_the_record_is_shown_line_by_line(page: Page, content: ReportContent) -> None:
    [checks] = [element for element in page.all("ul") if element.attributes.get("class") == "checks"]
    assert [" ".join(line.text.split()) for line in checks.children] == [
        "✓ holds the signature is of a key that is trusted (until 2027)",
        "✗ fails every file has the digest that the record states: <PRIVACY.md>",
        "○ not made the ledger is the one that it was taken from (give it by --ledger)",
        "THE RELEASE DOES NOT HOLD",
    ]
    assert "The record does not verify" in page.words
    sound = Page(render_report(replace(content, verification=content.verification[:1])))
    assert "The record verifies" in sound.words
    unverified = Page(render_report(replace(content, verification=())))
    assert "was not verified" in unverified.words
    assert "The record verifies" not in unverified.words


def test_costs_are_never_shown_smaller_than_they_are(page: Page) -> None:
    assert {"ε = 1.01", "ε = 1.187", "ε = 31,240"} <= set(page.text["span"])
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
        weights={},
        accounts=seedless,
        utility=utility,
        flow=replace(content.flow, from_seeds=False),
        spending=None,
        verification=(),
        spec=content.spec.model_copy(
            update={"synthesis": Seedless(guarantee="seedless", records=400, chunk_candidates=512)}
        ),
    )
    page = Page(render_report(changed))
    page.require_sound()
    assert "graph" not in [section.attributes["id"] for section in page.all("section")]
    assert "The spec sets no thresholds." in page.words
    assert "No ledger knows this dataset." in page.words
    assert "Plausible seeds" not in page.words


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
