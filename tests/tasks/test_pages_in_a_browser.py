"""Every page as a browser shows it: nothing asked of others, no error, nothing cut; the explorer counts like pandas."""

import csv
import json
import re
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any, Literal

import pandas as pd
import pytest
from playwright.sync_api import Page as Shown

from reports.pages import explorer
from reports.pages.compare_page import render_comparison
from reports.pages.comparison import compare, read_side
from reports.pages.explorer import EXPLORER, write_explorer
from reports.pages.report import render_report
from schemas.provenance import RECORD
from stores.keys.signed_record import read_signed
from stores.publication.release_folder import CSV
from tests.browser import Browser, browser
from tests.evaluated_release import EvaluatedRelease
from tests.html_page import Page
from tests.reported_release import CHANGES, content_of
from tests.whole_release import SEEDLESS, Drawn, drawn_release

NAMES = ("index", "explore", "report", "compare")
COLOURS: tuple[Literal["light", "dark"], ...] = ("light", "dark")
LOGLINEAR = {**SEEDLESS, "learner": {**SEEDLESS["learner"], "kind": "loglinear"}}
TOO_WIDE = """() => {
    const held = (element) => element.closest(".scroll, .unseen, .skip, svg, [hidden]") !== null;
    return [...document.querySelectorAll("body *")]
        .filter((element) => !held(element) && element.getBoundingClientRect().right > innerWidth + 0.5)
        .map((element) => `${element.tagName}.${element.className} ${element.textContent.slice(0, 40)}`);
}"""
CUT = """() => [...document.querySelectorAll(".scroll")]
    .filter((element) => element.scrollWidth > element.clientWidth && getComputedStyle(element).overflowX !== "auto")
    .map((element) => element.getAttribute("aria-label"))"""


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Drawn:
    made = drawn_release(tmp_path_factory.mktemp("browsed"), "people-1", bytes(range(32)), **LOGLINEAR)
    made.publish()
    return made


@pytest.fixture(scope="module")
def folder(drawn: Drawn, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The release folder with the other pages in it."""
    other = drawn_release(
        tmp_path_factory.mktemp("beside"), "people-2", bytes(range(1, 33)), **{**LOGLINEAR, "title": "Others"}
    )
    other.publish()
    sides = [
        read_side(place, read_signed(place / RECORD), None)
        for place in (each.workspace.release_folder for each in (drawn, other))
    ]
    place = drawn.workspace.release_folder
    (place / "compare.html").write_text(render_comparison(compare(*sides)), encoding="utf-8")
    evaluated = EvaluatedRelease(tmp_path_factory.mktemp("reported"), CHANGES)
    (place / "report.html").write_text(render_report(content_of(evaluated)), encoding="utf-8")
    return place


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser(tmp_path_factory.mktemp("browser")) as started:
        yield started
    assert started.asked_elsewhere == []


def opened(chromium: Browser, place: Path, *, ran: bool = False, **how: Any) -> Shown:
    """A page of the folder, of which nothing was said on the console."""
    page = chromium.page(place.parent.as_uri(), **how)
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(place.as_uri())
    if ran:
        page.click("#run")
    assert said == []
    return page


@pytest.mark.parametrize("name", NAMES)
def test_nothing_of_a_page_is_cut(chromium: Browser, folder: Path, name: str) -> None:
    page = opened(chromium, folder / f"{name}.html", width=400, ran=name == "explore")
    # What is folded away must have room too.
    page.eval_on_selector_all("details", "all => all.forEach(each => { each.open = true; })")
    for colours in COLOURS:
        page.emulate_media(color_scheme=colours)
        for width in (400, 1280):
            page.set_viewport_size({"width": width, "height": 900})
            assert page.evaluate(f"matchMedia('(prefers-color-scheme: {colours})').matches")
            assert page.evaluate("innerWidth") == width
            assert page.evaluate("document.documentElement.scrollWidth") <= width, colours
            assert page.evaluate(TOO_WIDE) == [], (width, colours)
            assert page.evaluate(CUT) == [], (width, colours)


@pytest.mark.parametrize("name", ["index", "report", "compare"])
def test_a_page_for_reading_has_no_script_and_is_whole_without_any(chromium: Browser, folder: Path, name: str) -> None:
    page = opened(chromium, folder / f"{name}.html", scripts=False)
    assert page.inner_text("h1")
    assert "<script" not in (folder / f"{name}.html").read_text(encoding="utf-8")


def test_headings_are_never_parted_from_what_they_are_about(chromium: Browser, folder: Path) -> None:
    """On paper: a heading, and a picture or table below it, are asked to stay together."""
    page = opened(chromium, folder / "report.html")
    page.emulate_media(media="print")
    loose = page.eval_on_selector_all(
        "h2, h3",
        "all => all.filter(each => getComputedStyle(each).breakAfter !== 'avoid').map(each => each.textContent)",
    )
    assert loose == []
    torn = page.eval_on_selector_all(
        "figure",
        "all => all.filter(each => getComputedStyle(each).breakInside !== 'avoid').map(each => each.textContent)",
    )
    assert torn == []


def test_a_framed_cell_of_the_heatmap_leads_to_its_pair(chromium: Browser, folder: Path) -> None:
    page = opened(chromium, folder / "report.html", height=500)
    links = page.locator("svg.heat a")
    assert links.count() == page.locator("figure[id^=pair-]").count() > 0
    links.nth(0).click()
    name = page.url.partition("#")[2]
    assert page.evaluate(f"document.getElementById('{name}').getBoundingClientRect().top < innerHeight")


def test_the_explorer_does_nothing_before_it_is_asked(chromium: Browser, folder: Path) -> None:
    page = opened(chromium, folder / EXPLORER)
    assert page.locator("#tools").is_hidden()
    assert page.locator("#cross td").count() == 0
    page.click("#run")
    assert page.locator("#tools").is_visible()
    assert page.locator("#cross td").count() > 0


def test_the_explorer_says_what_to_do_where_scripts_are_off(chromium: Browser, folder: Path) -> None:
    page = opened(chromium, folder / EXPLORER, scripts=False)
    assert "Scripts are turned off in this browser." in page.inner_text("main")
    assert page.locator("#run").is_disabled()


def test_the_explorers_policy_lets_its_own_script_run_and_no_other(chromium: Browser, folder: Path) -> None:
    text = (folder / EXPLORER).read_text(encoding="utf-8")
    [policy] = re.findall(r'Content-Security-Policy" content="([^"]*)"', text)
    assert policy.startswith("default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-")
    assert "unsafe-eval" not in policy
    changed = folder / "changed.html"
    changed.write_text(text.replace('"use strict";', '"use strict"; '), encoding="utf-8")
    page = chromium.page(folder.as_uri())
    page.goto(changed.as_uri())
    changed.unlink()
    assert page.locator("#run").is_disabled()


def counted(page: Shown) -> list[list[int]]:
    """The numbers of records that the cross-tabulation shows."""
    rows: list[list[str]] = page.eval_on_selector_all(
        "#cross tbody tr",
        "rows => rows.map(row => [...row.querySelectorAll('td[data-count]')].map(cell => cell.dataset.count))",
    )
    return [[int(cell) for cell in row] for row in rows]


def expected(table: pd.DataFrame, drawn: Drawn, down: str, across: str) -> list[list[int]]:
    domain = drawn.workspace.spec.domain
    values = [list(map(str, domain.attributes[domain.index(name)].values)) for name in (down, across)]
    found = pd.crosstab(table[down], table[across]).reindex(index=values[0], columns=values[1], fill_value=0)
    return found.to_numpy().tolist()


@pytest.mark.parametrize(("down", "across"), [("age", "school"), ("school", "employed"), ("employed", "sex")])
def test_the_explorers_cross_tabulation_is_that_of_pandas(
    chromium: Browser, folder: Path, drawn: Drawn, down: str, across: str
) -> None:
    table = pd.read_csv(folder / CSV, dtype=str, keep_default_na=False)
    names = drawn.workspace.spec.domain.names
    page = opened(chromium, folder / EXPLORER, ran=True)
    page.select_option("#down", str(names.index(down)))
    page.select_option("#across", str(names.index(across)))
    assert counted(page) == expected(table, drawn, down, across)
    # The same of some records: those of women, of some schools.
    page.select_option("#by", str(names.index("sex")))
    page.select_option("#values", ["0"])
    page.click("#keep")
    page.select_option("#by", str(names.index("school")))
    page.select_option("#values", ["1", "2"])
    page.click("#keep")
    kept = table[(table["sex"] == "f") & table["school"].isin(["some", "degree"])]
    assert counted(page) == expected(kept, drawn, down, across)
    assert page.inner_text("#kept") == f"{len(kept)} of {len(table)} records"
    assert page.locator("#filters li").count() == 2
    page.locator("#filters button").nth(0).click()
    page.locator("#filters button").nth(0).click()
    assert counted(page) == expected(table, drawn, down, across)


def test_the_explorer_gives_intervals_of_what_was_counted_and_says_so_where_there_are_none(
    chromium: Browser, folder: Path, drawn: Drawn
) -> None:
    names = drawn.workspace.spec.domain.names
    measured = json.loads((folder / "measured.json").read_text(encoding="utf-8"))
    page = opened(chromium, folder / EXPLORER, ran=True)
    page.select_option("#one", str(names.index("sex")))
    assert page.inner_text("#histogram-about").startswith("The intervals are for the confidential records")
    shown = page.locator("#histogram tbody tr td:last-child").all_inner_texts()
    [releases] = [table["releases"] for table in measured["tables"] if table["attributes"] == ["sex"]]
    times = sum(each["multiplier"] for each in releases)
    noisy = [sum(each["sums"][value] for each in releases) / times for value in (0, 1)]
    for text, count in zip(shown, noisy, strict=True):
        low, high = (float(end) for end in re.findall(r"([\d.]+)%", text))
        assert low < 100 * count / measured["records"] < high
    page.select_option("#by", str(names.index("sex")))
    page.select_option("#values", ["0"])
    page.click("#keep")
    said = page.inner_text("#histogram-about")
    assert said == "No intervals are shown: no confidential counts were made for filtered records."
    assert set(page.locator("#histogram tbody tr td:last-child").all_inner_texts()) == {"none"}


def test_a_reader_picks_a_pair_and_sees_estimates_with_intervals(chromium: Browser, folder: Path, drawn: Drawn) -> None:
    names = drawn.workspace.spec.domain.names
    with (folder / "intervals.csv").open(newline="") as text:
        rows = [row for row in csv.DictReader(text) if row["table"] == "school x employed"]
    page = opened(chromium, folder / EXPLORER, ran=True)
    for first, second in (("school", "employed"), ("employed", "school")):
        page.select_option("#first", str(names.index(first)))
        page.select_option("#second", str(names.index(second)))
        seen = []
        for line in page.locator("#estimates tbody tr").all():
            seen += line.locator("td").all_inner_texts()
        by = rows
        if first == "employed":
            by = [row for value in ("no", "yes") for row in rows if row["values_2"] == value]
        shown = [[float(part.rstrip("%")) for part in text.split() if part != "to"] for text in seen]
        # To two decimals, of shares that the page has to five.
        assert shown == [pytest.approx(_shares(row), abs=0.0056) for row in by]
    assert "Grade: measured" in page.inner_text("#estimates-about")
    page.select_option("#shown", "counts")
    assert page.locator("#estimates tbody td").nth(0).inner_text().split()[0].replace(",", "").isdigit()
    page.select_option("#second", "-1")
    assert page.locator("#estimates tbody td").count() == 2
    # Of a pair that was not counted together there is a sentence, and no number.
    apart = [
        (a, b)
        for a, b in combinations(range(len(names)), 2)
        if f"{a},{b}" not in json.loads(page.inner_text("#data"))["measured"]
    ]
    for a, b in apart[:1]:
        page.select_option("#first", str(a))
        page.select_option("#second", str(b))
        assert "not counted together" in page.inner_text("#estimates-about")
        assert page.locator("#estimates td").count() == 0


def _shares(row: dict[str, str]) -> list[float]:
    return [100 * float(row[name]) for name in ("share", "share_low", "share_high")]


def test_the_page_has_error_bars_of_the_strongest_tables(chromium: Browser, folder: Path) -> None:
    page = opened(chromium, folder / "index.html")
    page.eval_on_selector_all("#intervals details", "all => all.forEach(each => { each.open = true; })")
    assert "no synthetic record and no model was used" in page.inner_text("#intervals")
    widths = page.eval_on_selector_all(
        "#intervals .track",
        "all => all.map(each => [each, each.children[1]].map(e => e.getBoundingClientRect()))"
        ".map(([track, band]) => [band.left - track.left, track.right - band.right, band.width])",
    )
    assert len(widths) >= 6
    for left, right, width in widths:
        assert min(left, right) >= -1
        assert width > 0


def test_of_a_table_without_noisy_counts_the_explorer_has_no_interval(
    tmp_path: Path, drawn: Drawn, folder: Path
) -> None:
    for name in (CSV, "synthetic.parquet"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    write_explorer(tmp_path, release_id="people-1", spec=drawn.workspace.spec, records=400)
    text = (tmp_path / EXPLORER).read_text(encoding="utf-8")
    [data] = re.findall(r'type="application/json">(.*?)</script>', text)
    found = json.loads(data)
    assert [attribute["counted"] for attribute in found["attributes"]] == [None] * 4
    assert found["pairs"] == found["measured"] == {}
    assert 'id="estimates"' not in text


def test_of_a_large_table_the_explorer_holds_the_first_records_and_says_so(
    monkeypatch: pytest.MonkeyPatch, chromium: Browser, tmp_path: Path, drawn: Drawn, folder: Path
) -> None:
    spec = drawn.workspace.spec
    bits = sum(map(explorer.bits_of, spec.domain.attributes))
    monkeypatch.setattr(explorer, "MOST_BYTES", 100 * bits // 8 + 1)
    (tmp_path / "synthetic.parquet").write_bytes((folder / "synthetic.parquet").read_bytes())
    shown = explorer.rows_to_show(spec.domain, 400)
    assert 90 <= shown <= 110
    place = write_explorer(tmp_path, release_id="people-1", spec=spec, records=400)
    page = opened(chromium, place, ran=True)
    assert "the first of 400 in synthetic.csv" in Page(place.read_text(encoding="utf-8")).words
    first = pd.read_csv(folder / CSV, dtype=str, keep_default_na=False).head(shown)
    names = spec.domain.names
    page.select_option("#down", str(names.index("school")))
    page.select_option("#across", str(names.index("employed")))
    assert counted(page) == expected(first, drawn, "school", "employed")


def test_the_explorer_is_made_of_published_files_and_nothing_else(tmp_path: Path, drawn: Drawn, folder: Path) -> None:
    """The table and what was measured, in a folder of their own, give the same bytes."""
    for name in ("synthetic.parquet", "measured.json", "intervals.csv"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    again = write_explorer(tmp_path, release_id="people-1", spec=drawn.workspace.spec, records=400)
    assert again.read_bytes() == (folder / EXPLORER).read_bytes()


def test_what_a_value_is_called_cannot_end_the_data_in_the_explorer(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, drawn: Drawn, folder: Path
) -> None:
    spec = drawn.workspace.spec
    hostile = {"sex": {"f": "</script><script>alert(1)</script>"}}
    monkeypatch.setattr(type(spec), "labels", property(lambda _spec: hostile))
    (tmp_path / "synthetic.parquet").write_bytes((folder / "synthetic.parquet").read_bytes())
    text = write_explorer(tmp_path, release_id="people-1", spec=spec, records=400).read_text(encoding="utf-8")
    assert text.count("<script") == 2
    assert "alert(1)" in text
