"""The report shows all parts of a release and asks for nothing from anywhere."""

from dataclasses import replace
from fractions import Fraction
from statistics import NormalDist

import numpy as np
import pytest

from deniable.evaluation.registry import attacks, figures_of
from deniable.evaluation.uses import USES
from deniable.privacy.loss import Guarantee
from deniable.privacy.neighbours import RECORD
from deniable.record.statement import not_covered
from deniable.samplers.seedless.spec import Entry as Seedless
from reports.figures.analyses import Inferred, compared_analyses
from reports.figures.decimal_places import digits_of
from reports.figures.marginals import DescribedTable
from reports.figures.numbers import within
from reports.figures.undeclared_logic import undeclared_logic
from reports.figures.value_groups import groups_to_show
from reports.pages.attack_rows import attack_rows
from reports.pages.fitness import equivalent_card, fitness_of
from reports.pages.headline_figures import headline_figures, reach_of
from reports.pages.pages import sampled
from reports.pages.report import ReportContent, render_report, write_report
from reports.pages.report_links import Link
from reports.pages.signing import BEFORE_SIGNING
from reports.plots.budget_line import draw_budget_line
from reports.plots.pairs import changed_most, dependences, information_svgs, pair_errors, shares_of_pair
from reports.plots.record_flow_diagram import RecordFlow, draw_record_flow
from schemas.references import Audience
from schemas.spec.evaluation import NOT_MEASURED
from schemas.spec.plan import plan_release
from schemas.spec.release_spec import load_spec
from tasks.evaluation.evaluate_risk import evaluate_risk
from tasks.evaluation.evaluate_utility import evaluate_utility
from tests.conftest import ROOT
from tests.evaluated_release import EvaluatedRelease, independent, population
from tests.html_page import Page
from tests.reported_release import CHANGES, COSTS, content_of
from tests.stated_accounts import stated_accounts

SMALL = Guarantee(1.0, 1e-9, "basic")


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


def words_of_flow(flow: RecordFlow) -> list[str]:
    """What is written in the picture of a flow."""
    [axes] = draw_record_flow(flow).axes
    return [text.get_text() for text in axes.texts]


def test_candidates_that_failed_are_told_from_those_that_passed_and_were_not_wanted(content: ReportContent) -> None:
    words = words_of_flow(content.flow)
    assert "1,221 did not pass" in words
    assert "600 passed, not needed" in words


def test_nothing_is_drawn_of_candidates_that_there_are_none_of(content: ReportContent) -> None:
    words = " ".join(words_of_flow(replace(content.flow, passed=2500)))
    assert "1,821 did not pass" in words
    assert "not needed" not in words
    words = " ".join(words_of_flow(replace(content.flow, passed=2500, candidates=2500)))
    assert "pass" not in words


def test_all_parts_are_there(page: Page) -> None:
    sections = [section.attributes["id"] for section in page.all("section")]
    assert sections == [
        "fitness",
        "glance",
        "people",
        "graph",
        "utility",
        "analyses",
        "logic",
        "pairs",
        "information",
        "attributes",
        "risk",
        "privacy",
        "budget",
        "record",
        "sign",
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
        # Ten towns more, where nobody lives.
        towns = '"town": nominal([*range(30), *range(100, 110)])'
        schema.write_text(text.replace('"town": numeric(0, 29)', towns))
        series = dict(content.utility.series)
        for table in ("holdout", "released"):
            series[f"shares_{table}/town"] += (0.0,) * 10
        utility = content.utility.model_copy(update={"series": series})
        page = Page(render_report(replace(content, utility=utility)))
    finally:
        schema.write_text(text)
    page.require_sound()
    [town] = [table for table in page.all("table") if table.text.lstrip().startswith("town")]
    assert len([row for row in page.all("tr") if town in row.up()]) == 1 + 20 + 1
    assert "20 other values" in town.text


def test_every_picture_says_in_words_what_it_shows(page: Page) -> None:
    kinds = [picture.attributes.get("class", "").split() for picture in page.all("svg")]
    pictures = [picture for picture, kind in zip(page.all("svg"), kinds, strict=True) if "curve" not in kind]
    assert [kinds.count(kind) for kind in ([], ["heat"], ["ratios"], ["matrix"])] == [7, 1, 6, 3]
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
    [budget] = [table for table in page.all("table") if "budget" in table.attributes.get("class", "").split()]
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
    assert set(not_covered(RECORD)) <= set(page.text["li"])


def test_a_release_without_graph_seeds_baseline_or_thresholds_has_a_report_too(content: ReportContent) -> None:
    costs = {"structure": None, "parameters": COSTS["parameters"], "model": COSTS["model"]}
    seedless = stated_accounts(kind="seedless", **costs, total=COSTS["model"])
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
    assert "This dataset is not in the ledger." in page.words
    assert "Plausible seeds" not in page.words


def test_a_release_by_privacy_test_one_says_that_it_has_no_differential_privacy(content: ReportContent) -> None:
    without = stated_accounts(**COSTS | {"record": None, "candidates": None, "total": None})
    page = Page(render_report(replace(content, accounts=without)))
    assert "no DP" in page.text["span"]
    assert "The whole release has no differential privacy" in page.text["strong"]


def test_the_report_is_written_for_the_internal_audience(release: EvaluatedRelease, content: ReportContent) -> None:
    report = write_report(release.workspace, content)
    assert report.audience is Audience.INTERNAL
    assert report.path == release.workspace.shelf / "report.html"
    assert report.path.stat().st_mode & 0o077 == 0
    assert report.path.read_text(encoding="utf-8") == render_report(content)


def test_all_bars_have_one_scale_and_values_stand_in_the_schemas_order(page: Page, content: ReportContent) -> None:
    lengths = {}
    for table in [table for table in page.all("table") if "bars" in table.attributes.get("class", "").split()]:
        rows = [row for row in page.all("tr") if table in row.up() and row.children[0].attributes["scope"] == "row"]
        for row in rows:
            bars = [
                bar.attributes["style"] for bar in page.all("span") if row in bar.up() and "style" in bar.attributes
            ]
            lengths[table.children[0].children[0].text, row.children[0].text] = [float(bar[7:-1]) for bar in bars]
    shares = content.utility.series
    for name in ("sex", "sick"):
        attribute = content.spec.domain.attributes[content.spec.domain.index(name)]
        assert [value for panel, value in lengths if panel == name] == list(attribute.values)
        for place, value in enumerate(attribute.values):
            expected = [100 * shares[f"shares_{table}/{name}"][place] for table in ("holdout", "released")]
            assert lengths[name, value] == pytest.approx(expected, abs=0.01)


def test_the_heatmap_shows_each_pair_and_frames_those_to_which_the_release_adds_most(
    page: Page, content: ReportContent
) -> None:
    domain, series = content.spec.domain, content.utility.series
    errors = pair_errors(domain, series)
    assert len(errors) == 10
    assert [error.released for error in errors] == list(series["tvd_2way"])
    assert [error.real for error in errors] == list(series["tvd_2way_training"])
    [heat] = [svg for svg in page.all("svg") if svg.attributes.get("class") == "heat"]
    paths = [path.attributes["d"] for path in page.all("path") if heat in path.up()]
    assert sum(path.count("z") for path in paths) == 2 * 10
    worst = sorted(errors, key=lambda error: error.real - error.released)[:6]
    titles = [link.text for link in page.all("a") if heat in link.up()]
    assert sorted(titles) == sorted(
        f"{' and '.join(error.names)}: release {error.released:.3f}, real {error.real:.3f}" for error in worst
    )
    figures = [figure for figure in page.all("figure") if figure.attributes.get("id", "").startswith("pair-")]
    assert [figure.attributes["id"] for figure in figures] == [f"pair-{number}" for number in range(1, 7)]
    for error, figure in zip(worst, figures, strict=True):
        assert f"{error.names[0]} in rows, {error.names[1]} in columns" in figure.text


def test_a_pair_side_by_side_has_the_shares_of_both_tables(content: ReportContent) -> None:
    codes = population(500, "pairs")
    domain = content.spec.domain
    shares = shares_of_pair(codes, domain, ("age", "sex"))
    age = np.asarray(groups_to_show(domain.attributes[domain.index("age")]))
    assert shares.shape == (24, 2)
    for group in (0, 5, 23):
        for sex in (0, 1):
            chosen = (age[codes[:, 0]] == group) & (codes[:, 3] == sex)
            assert shares[group, sex] == pytest.approx(chosen.mean())


def test_the_tile_of_copies_shows_what_is_beyond_chance(page: Page, content: ReportContent) -> None:
    figures = content.risk.figures
    [card] = [item for item in page.all("li") if item.text.strip().startswith("Copies beyond chance")]
    reach = reach_of(content.risk, "exact_match_excess") or 0
    assert f"{100 * figures['exact_match_excess']:+.{digits_of(100 * reach)}f} points" in card.text
    assert f"{figures['exact_match_training']:.1%} equal a person used" in card.text


def test_figures_at_a_glance_have_intervals_and_numbers_on_their_axes(content: ReportContent) -> None:
    for kind, found in (("utility", content.utility), ("risk", content.risk)):
        declared = figures_of(content.spec.evaluation.scope)
        for row in headline_figures(found, kind, declared, content.spec.domain.names):
            assert declared[row.figure].words
            assert row.interval is not None
            released = next(point.place for point in row.points if point.mark == "released")
            assert row.interval[0] <= released <= row.interval[1]
            assert (row.interval[1] - row.interval[0]) > 0
            assert 2 <= len(row.ticks) <= 6
            assert 0 <= min(row.interval[0], released) <= max(row.interval[1], released) <= 100
    told = content.utility.errors["distinguished"]
    share = content.utility.figures["distinguished"]
    assert told == pytest.approx((share * (1 - share) / 1500) ** 0.5)


def rows_of(page: Page, section: str) -> dict[str, str]:
    """The rows of the tables of a section, by their first cells."""
    [element] = [each for each in page.all("section") if each.attributes["id"] == section]
    rows = [row for row in page.all("tr") if element in row.up()]
    return {" ".join(row.children[0].text.split()): " ".join(row.text.split()) for row in rows}


def test_the_first_table_has_a_verdict_for_each_use_with_its_figure_and_its_rule(
    page: Page, content: ReportContent
) -> None:
    fitness = fitness_of(content.utility, content.spec)
    assert fitness is not None
    rows = rows_of(page, "fitness")
    assert [each.use.name for each in fitness.uses] == [use.name for use in USES if use.name != "rare"]
    for each in fitness.uses:
        title = each.use.words.capitalize()
        [row] = [text for name, text in rows.items() if name.startswith(title) and name.endswith(each.figure)]
        assert f"{each.mark} {each.verdict}" in row
        assert within(each.value.value, each.value.reach) in row
        assert f"{each.use.good:g}{each.use.usable:g}" in row.replace(" ", "")
    good = len(fitness.are("good"))
    assert f"Good for {good} of 11 uses, not to be used for 0" in page.words
    assert "Fails none of 4 groups" in page.words
    assert (
        "! Fit, but hardly bounded Its guarantee says next to nothing: anyone who sees the whole release" in page.words
    )
    assert (
        "of the time. No attack of 7 is certainly beyond chance. It is good, or usable with caution, for" in page.words
    )
    assert {"sex f", "sex m", "sick no", "sick yes"} <= rows.keys()


def test_logic_that_records_break_is_shown_with_the_line_that_forbids_it(
    release: EvaluatedRelease, page: Page, content: ReportContent
) -> None:
    assert "No released record breaks any." in page.words
    found = evaluate_utility(release.workspace, release.released(independent(2500, "independent")), release.parts)
    logic = undeclared_logic(found)
    assert logic is not None
    assert logic.broken > 0
    broken = Page(render_report(replace(content, utility=found)))
    broken.require_sound()
    assert f"Released records break {logic.broken} of them" in broken.words
    rows = rows_of(broken, "logic")
    for each in logic.shown:
        row = rows[each.words[0].upper() + each.words[1:]]
        assert each.line in row
        assert f"{each.share:.2%}" in row or f"{each.share:.1%}" in row


def said(page: Page, name: str) -> list[str]:
    """The text of all rows with a name."""
    return [" ".join(row.text.split()) for row in page.all("tr") if " ".join(row.children[0].text.split()) == name]


def test_analyses_are_shown_with_both_intervals_and_what_noisy_counts_tell(page: Page, content: ReportContent) -> None:
    rows = rows_of(page, "analyses")
    chosen = content.spec.analyses
    [made] = [row for name, row in rows.items() if name == f"R{chosen[0].words[1:]}"]
    assert any(verdict in made for verdict in ("good", "with caution", "not decided"))
    assert chosen[0].words == "regression of sex=m on age, income, sick"
    compared = compared_analyses(content.utility, chosen, DescribedTable.of(content.spec))
    assert [each.words for each in compared] == [each.words for each in chosen]
    assert {own.name for own in compared[0].estimates} == {"age", "income", "sick yes"}
    for own in (own for each in compared for own in each.estimates):
        assert any(own.real in row and own.released in row for row in said(page, own.name))
    assert "Noisy counts" not in " ".join(rows)
    told = tuple(
        Inferred({"age": (0.25, 0.125, 0.375)}) if each is chosen[0] else Inferred({}, "too <little> was counted.")
        for each in chosen
    )
    page = Page(render_report(replace(content, inferred=told)))
    page.require_sound()
    assert "0.25 (0.12 to 0.38)" in page.words
    assert "too <little> was counted." in page.words


def test_the_tile_of_equivalent_records_has_an_interval_and_a_limit(page: Page, content: ReportContent) -> None:
    [card] = [item for item in page.all("li") if item.text.strip().startswith("As good as")]
    assert "real records, by pairs: " in card.text
    assert card.text.strip().endswith("of 2,000 that are compared")
    figures = content.utility.figures | {"equivalent_records_2way": 2000.0}
    best = equivalent_card(content.utility.model_copy(update={"figures": figures}))
    assert best is not None
    assert best.value == "2,000 or more"


def test_a_useless_release_is_not_to_be_used_and_fails_its_groups(release: EvaluatedRelease) -> None:
    codes = population(2500, "best")
    codes[:, :2] = np.column_stack((codes[::-1, 0], np.roll(codes[:, 1], 1))) // 4
    utility = evaluate_utility(release.workspace, release.released(codes), release.parts)
    fitness = fitness_of(utility, release.workspace.spec)
    assert fitness is not None
    assert {"shares of one attribute", "means", "correlations and simple regressions"} <= {*fitness.are("do not")}
    assert fitness.failed == fitness.judged == 4
    assert fitness.good_from is None
    assert {group.verdict for group in fitness.groups} == {"fails"}
    assert utility.figures["use_means"] == 0
    assert utility.figures["uses_refused"] >= 3


def test_every_attack_is_shown_with_what_the_adversary_knows_and_its_control(
    page: Page, content: ReportContent
) -> None:
    rows = rows_of(page, "risk")
    assert len(rows) == 1 + 7
    for attack in attacks():
        [figure] = [each for each in attack.figures(content.spec.evaluation.scope) if each.words]
        [row] = [text for name, text in rows.items() if figure.name in name]
        assert all(words in row for words in (attack.knows, attack.seeks, attack.control, "not beyond chance"))
        assert within(content.risk.figures[figure.name], reach_of(content.risk, figure.name)) in row


def test_the_sentence_to_sign_states_bound_findings_power_and_what_remains(
    release: EvaluatedRelease, page: Page, content: ReportContent
) -> None:
    [section] = [each for each in page.all("section") if each.attributes["id"] == "sign"]
    words = " ".join(section.text.split())
    assert "guesses whether a given record was in the confidential table correctly at most" in words
    assert "This bound is next to nothing." in words
    assert (
        "7 attacks were carried out on people used and on people not used; none found anything beyond chance" in words
    )
    rows = attack_rows(content.risk, content.spec.evaluation.scope)
    powers = sorted(row.detectable for row in rows if row.detectable is not None)
    assert f"excesses of {powers[0]:.3f} (" in words
    assert f") to {powers[-1]:.3f} (" in words
    # Four of five times a normal estimate with this mean is certain at 1% for all seven attacks.
    for row in rows:
        if error := content.risk.errors[row.figure.name]:
            beyond = NormalDist().inv_cdf(1 - 0.01 / 7) * error
            assert 1 - NormalDist(row.detectable, error).cdf(beyond) == pytest.approx(0.8, abs=1e-3)
    assert "were not tried" in words
    assert "The verdict by the rules of this report is fit, but hardly bounded. The release is good for" in words
    assert "Meant for: not stated; fill in." in words
    assert "Name, office, date:" in words
    risk = evaluate_risk(release.workspace, release.released(release.training), release.parts)
    copied = Page(render_report(replace(content, risk=risk, accounts=stated_accounts(**{**COSTS, "total": SMALL}))))
    assert "on people not used; 7 succeeded: " in copied.words
    assert BEFORE_SIGNING in " ".join(copied.words.split())
    assert BEFORE_SIGNING not in words
    assert "The verdict by the rules of this report is unsafe." in " ".join(copied.words.split())
    assert "correctly at most 73.2% of the time. 7 attacks" in copied.words
    assert "The account allows an advantage of 0.462 to the best possible attack." in copied.words


def test_a_release_without_evaluation_or_guarantee_has_a_sentence_too(content: ReportContent) -> None:
    plain = Page(render_report(replace(content, utility=NOT_MEASURED, risk=NOT_MEASURED)))
    assert "No attack was carried out, because no record was held out." in plain.words


def test_a_copy_of_the_people_used_makes_every_attack_succeed(release: EvaluatedRelease) -> None:
    risk = evaluate_risk(release.workspace, release.released(release.training), release.parts)
    found = {row.figure.name: row.succeeds for row in attack_rows(risk, release.workspace.spec.evaluation.scope)}
    assert len(found) == 7
    assert all(found.values())


def test_a_release_that_was_not_evaluated_has_no_verdict(content: ReportContent) -> None:
    page = Page(render_report(replace(content, utility=NOT_MEASURED, risk=NOT_MEASURED)))
    page.require_sound()
    assert "of the time. No attack was carried out. No use was judged." in page.words
    assert "○ Not decided" in page.words
    assert "fitness" not in [section.attributes["id"] for section in page.all("section")]
    assert "As good as" not in page.words


def test_the_budget_is_a_line_with_its_cap_and_the_planned_refreshes(page: Page, content: ReportContent) -> None:
    assert content.spending is not None
    [axes] = draw_budget_line(content.spending).axes
    lines = [(list(line.get_xdata()), list(line.get_ydata())) for line in axes.lines]
    assert lines[0] == ([0, 1, 2], [0.0, 2.5, 3.75])
    assert lines[2] == ([2.5, 3, 4], [3.75, 5.0, 6.25])
    assert set(lines[3][1]) == {10.0}
    assert "There is room for 5 more releases like this one." in page.words
    assert "The spec plans 2 more refreshes." in page.words
    unplanned = replace(content.spending, planned=(), room=None)
    assert len(draw_budget_line(unplanned).axes[0].lines) == 3


def test_the_page_leads_to_where_else_the_release_can_be_looked_at(content: ReportContent) -> None:
    links = (Link("Public folder", "../../releases/one/index.html"), Link("MLflow", "http://127.0.0.1:5000/#/runs"))
    page = Page(render_report(replace(content, links=links)))
    found = {link.text: link.attributes["href"] for link in page.all("a")}
    assert {link.title: link.address for link in links}.items() <= found.items()


def test_the_page_says_in_words_why_epsilon_falls(content: ReportContent) -> None:
    spec = load_spec(ROOT / "deployments" / "specs" / "acs_ma_yearly.yaml")
    accounts = plan_release(spec).accounts
    read = sampled(accounts)
    assert read is not None
    assert read.read == pytest.approx(accounts.parameters.epsilon)
    assert read.whole == accounts.total.epsilon == pytest.approx(np.log1p(0.8 * np.expm1(accounts.parameters.epsilon)))
    words = Page(render_report(replace(content, accounts=accounts))).words
    assert "Why 1.14 becomes 0.9936." in words
    assert "only a random 80% of the records are read" in words
    # Of parts with people of their own, or where all are read, there is nothing to say.
    apart = replace(accounts, learnt=tuple(replace(step, part=f"{i}") for i, step in enumerate(accounts.learnt * 2)))
    assert sampled(apart) is None
    whole = replace(accounts, learnt=tuple(replace(step, probability=Fraction(1)) for step in accounts.learnt))
    assert sampled(whole) is None


def test_mutual_information_is_shown_of_the_holdout_and_of_the_release(content: ReportContent, html: str) -> None:
    """Three matrices of all pairs, and the pairs that differ most in figures."""
    domain = content.spec.domain
    found = dependences(domain, content.utility.series)
    assert len(found) == len(domain) * (len(domain) - 1) // 2
    section = html.partition('<section id="information"')[2].partition("</section>")[0]
    assert section.count("<svg") == 3
    [worst, *_] = changed_most(found)
    assert abs(worst.gap) == max(abs(each.gap) for each in found) > 0
    for value in (f"{worst.real:.3f}", f"{worst.released:.3f}", f"{worst.gap:+.3f}"):
        assert f">{value}</td>" in section


def test_a_difference_of_mutual_information_has_a_side(content: ReportContent) -> None:
    """What depends less in the release is orange in the third matrix alone, and equal tables have none."""
    domain = content.spec.domain
    found = [replace(each, real=0.4, released=0.1) for each in dependences(domain, content.utility.series)]
    matrices, most = information_svgs(domain, found, "real")
    assert most == 0.4
    assert ['class="fewer" fill-opacity="0' in matrix for matrix in matrices] == [False, False, True]
    same, _ = information_svgs(domain, [replace(each, released=0.4) for each in found], "real")
    assert same[0].count('fill-opacity="1"') == same[1].count('fill-opacity="1"') == 1
    assert 'fill-opacity="1"' not in same[2]


def test_what_was_not_measured_has_no_mutual_information(content: ReportContent) -> None:
    unmeasured = replace(content, utility=NOT_MEASURED, risk=NOT_MEASURED)
    assert dependences(content.spec.domain, NOT_MEASURED.series) == ()
    assert 'id="information"' not in render_report(unmeasured)
