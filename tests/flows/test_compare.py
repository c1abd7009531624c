"""Two releases are compared by their signed records: every change is named, and nothing internal is disclosed."""

import re
import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deniable.foundation.errors import DeniableError, InvalidInput, Refused
from reports.pages.compare_page import render_comparison, summary
from reports.pages.comparison import Comparison, MarginalPair, compare, distance_at_most, distance_by_chance, read_side
from schemas.provenance import RECORD
from stores.keys.signed_record import read_signed
from stores.ledger.charging import note_publication
from tests.commands import carry_out
from tests.html_page import Page
from tests.small_release import made_up_people
from tests.whole_release import Drawn, drawn_release

KEY, OTHER_KEY = bytes(range(32)), bytes(range(1, 33))
CHANGED = {
    "title": "Made-up <people> again",
    "synthesis__k": 30,
    "synthesis__records": 500,
    "learner__structure__epsilon": 2,
    "thresholds": {},
}


@dataclass(frozen=True)
class Pair:
    """Two releases in one state folder."""

    one: Drawn
    other: Drawn

    @property
    def state(self) -> Path:
        return self.one.workspace.state

    def comparison(self, *, public: bool = False) -> Comparison:
        sides = []
        for drawn in (self.one, self.other):
            workspace = drawn.workspace
            internal = None if public else read_signed(workspace.shelf / RECORD)
            sides.append(read_side(workspace.release_folder, read_signed(workspace.release_folder / RECORD), internal))
        return compare(*sides)


def released(folder: Path, name: str, key: bytes, **changes: Any) -> Drawn:
    drawn = drawn_release(folder, name, key, **changes)
    note_publication(drawn.workspace, drawn.publish())
    drawn.seal()
    return drawn


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Pair:
    folder = tmp_path_factory.mktemp("compared")
    one = released(folder, "people-1", KEY)
    schema = folder / "spec" / "people.py"
    text = schema.read_text().replace("width=5", "width=4").replace('["f", "m"]', '{"f": "female", "m": "male"}')
    schema.with_name("changed.py").write_text(text)
    people = made_up_people(3100)
    return Pair(one, released(folder, "people-2", OTHER_KEY, people=people, dataset="changed.py", **CHANGED))


@pytest.fixture(scope="module")
def page(pair: Pair) -> Page:
    return Page(render_comparison(pair.comparison()))


def run(pair: Pair, *arguments: object) -> int:
    return carry_out("release compare", list(map(str, arguments)), pair.state)


def internal_numbers(pair: Pair) -> set[str]:
    """Numbers that only internal records have, as pages write them; not those that might be anything."""
    found = set()
    for drawn in (pair.one, pair.other):
        internal = read_signed(drawn.workspace.shelf / RECORD).record.internal
        assert internal is not None
        for value in internal.figures.values():
            found |= {f"{value:,.0f}", f"{value:.0f}"} if value > 100 else {f"{value:.4f}", f"{value:.6f}", repr(value)}
    return {number for number in found if len(re.sub(r"\D", "", number).lstrip("0")) >= 4}


def test_the_page_is_sound_and_always_the_same(pair: Pair, page: Page) -> None:
    page.require_sound()
    assert render_comparison(pair.comparison()) == page.html
    assert "Made-up <people> again" in page.words


def test_every_entry_of_the_spec_that_differs_is_named_and_no_other(pair: Pair, page: Page) -> None:
    differences = {item.place: (item.one, item.other) for item in pair.comparison().spec}
    assert differences == {
        "title": ("Made-up people", "Made-up <people> again"),
        "dataset": ("people.py", "changed.py"),
        "synthesis.k": ("20", "30"),
        "synthesis.records": ("400", "500"),
        "learner.structure.epsilon": ("1", "2"),
        "thresholds.tvd_2way_max": ("0.5", None),
    }
    [spec] = [table for table in page.all("table") if "Entries of the spec" in table.text]
    assert len([row for row in page.all("tr") if spec in row.up()]) == 1 + len(differences)


def test_what_changed_in_schema_and_domain_is_named(pair: Pair) -> None:
    changes = {item.place: (item.one, item.other) for item in pair.comparison().schema}
    assert set(changes) == {"file", "age: buckets"}
    assert changes["age: buckets"] == ("4 buckets", "5 buckets")


def test_commitments_are_compared_under_one_key_only(pair: Pair, tmp_path: Path) -> None:
    assert pair.comparison().snapshot == "unknown"
    assert any("cannot be determined" in sentence for sentence in summary(pair.comparison()))
    again = released(tmp_path / "again", "people-3", KEY, synthesis__records=300)
    assert Pair(pair.one, again).comparison().snapshot == "same"
    grown = released(tmp_path / "grown", "people-4", KEY, people=made_up_people(3001))
    comparison = Pair(pair.one, grown).comparison()
    assert comparison.snapshot == "another"
    assert any("from different rows" in sentence for sentence in summary(comparison))


def test_costs_figures_and_distances_are_those_of_the_records_and_the_tables(pair: Pair) -> None:
    comparison = pair.comparison()
    costs = {cost.title: cost for cost in comparison.costs}
    assert costs["learn structure"].one.epsilon == pytest.approx(0.99, abs=0.02)
    assert costs["learn structure"].more == pytest.approx(1.0, abs=0.05)
    assert costs["learn parameters"].more == 0
    figures = {figure.name: figure for figure in comparison.figures or ()}
    assert (figures["rows_clean"].one, figures["rows_clean"].other, figures["rows_clean"].more) == (3000, 3100, 100)
    assert [pair.name for pair in comparison.marginals] == ["age", "sex", "school", "employed"]
    for marginal in comparison.marginals:
        sides = (comparison.one.shares[marginal.name], comparison.other.shares[marginal.name])
        assert marginal.distance == pytest.approx(sum(abs(a - b) for a, b in zip(*sides, strict=True)) / 2)


def test_chance_alone_puts_tables_as_far_apart_as_is_said() -> None:
    draw = np.random.default_rng(list(b"chance"))
    shares = [0.5, 0.3, 0.15, 0.05]
    tables = [draw.multinomial(size, shares, 4000) / size for size in (400, 900)]
    distances = np.abs(tables[0] - tables[1]).sum(axis=1) / 2
    assert distance_by_chance(shares, 400, 900) == pytest.approx(distances.mean(), rel=0.03)


def test_hardly_any_two_tables_drawn_alike_are_further_apart_than_chance_is_said_to_put_them() -> None:
    draw = np.random.default_rng(list(b"at most"))
    shares = [0.5, 0.3, 0.15, 0.05]
    tables = [draw.multinomial(size, shares, 4000) / size for size in (400, 900)]
    distances = np.abs(tables[0] - tables[1]).sum(axis=1) / 2
    most = distance_at_most(shares, 400, 900)
    assert (distances > most).mean() < 0.01
    # Shares that are off by twice that are found out nearly always.
    off = [0.5 + 2 * most, 0.3 - 2 * most, 0.15, 0.05]
    other = draw.multinomial(900, off, 4000) / 900
    assert (np.abs(tables[0] - other).sum(axis=1) / 2 > most).mean() > 0.9


def test_no_distance_is_drawn_anywhere_but_in_proportion(pair: Pair) -> None:
    comparison = pair.comparison()
    alike = MarginalPair("age", distance=0.01, by_chance=0.03, at_most=0.05)
    apart = MarginalPair("sex", distance=0.09, by_chance=0.01, at_most=0.03)
    others = tuple(replace(alike, name=name) for name in ("school", "employed"))
    page = Page(render_comparison(replace(comparison, marginals=(alike, apart, *others))))
    [table] = [table for table in page.all("table") if "Total variation distance" in table.text]
    rows = [row for row in page.all("tr") if table in row.up() and row.children[0].tag == "th"][1:]
    assert [row.children[0].text for row in rows] == ["sex beyond chance", "age", "school", "employed"]
    places = []
    for row in rows[:2]:
        spans = [element for element in page.all("span") if row in element.up()]
        for kind, style in (("point", "left"), ("ground", "left"), ("range", "width")):
            [found] = [span for span in spans if kind in span.attributes.get("class", "").split()]
            places.append(float(re.findall(rf"{style}: ([\d.]+)%", found.attributes["style"])[-1]))
    values = [0.09, 0.01, 0.03, 0.01, 0.03, 0.05]
    assert [place / places[0] for place in places] == pytest.approx([value / 0.09 for value in values], rel=0.01)
    assert "The two synthetic tables differ by more than chance alone in sex." in page.words


def test_what_changed_comes_first_and_what_did_not_is_one_list(pair: Pair, page: Page) -> None:
    sections = [section.attributes["id"] for section in page.all("section")]
    assert sections[0] == "short"
    assert {"asked", "cost", "figures"} < set(sections)
    assert sections[-1] == "same"
    alone = Pair(pair.one, pair.one)
    same = Page(render_comparison(alone.comparison()))
    same.require_sound()
    sections = [section.attributes["id"] for section in same.all("section")]
    assert sections == ["short", "records", "figures", "same"]
    [listed] = [section for section in same.all("section") if section.attributes["id"] == "same"]
    for what in ("every entry of the spec", "schema and public domain", "every dependence", "the cost of each step"):
        assert what in listed.text


def test_each_dependence_of_either_graph_is_kept_added_gone_or_turned(pair: Pair) -> None:
    comparison = pair.comparison()
    graphs = [
        {(parent, child) for child, into in side.parents.items() for parent in into}
        for side in (comparison.one, comparison.other)
    ]
    assert {edge for edge in comparison.edges if comparison.edges[edge] != "removed"} == graphs[1]
    assert set(comparison.edges_that("kept")) == graphs[0] & graphs[1]
    assert all(edge in graphs[0] for edge in comparison.edges_that("removed"))
    assert all(edge[::-1] in graphs[0] for edge in comparison.edges_that("turned"))


def test_the_command_prints_what_differs_and_leaves_the_page_to_cleared_staff(
    pair: Pair, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(pair, "people-1", "people-2") == 0
    said = capsys.readouterr().out
    shown = ("people-1", "synthesis.k", "age: buckets", "cannot be determined", "whole release", "tvd_2way", "--all")
    for words in shown:
        assert words in said
    rest = ("learn structure", "rows_clean", "3,100", "distance of A and B")
    assert not [words for words in rest if words in said]
    assert run(pair, "people-1", "people-2", "--all") == 0
    everything = capsys.readouterr().out
    for words in (*shown[:-1], *rest):
        assert words in everything
    assert max(map(len, (said + everything).replace(str(pair.state), "").splitlines())) <= 80
    written = pair.state / "comparisons" / "people-1-people-2.html"
    assert str(written) in said
    assert written.stat().st_mode & 0o077 == 0
    assert "Internal: measured on real records" in Page(written.read_text()).words


def test_what_is_public_holds_no_internal_number(
    pair: Pair, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    numbers = internal_numbers(pair)
    assert {"3,100", "3,000"} <= numbers
    assert len(numbers) > 50
    internal = tmp_path / "internal.html"
    run(pair, "people-1", "people-2", "--all", "--out", internal)
    said = capsys.readouterr().out
    shown = Page(internal.read_text()).words
    assert len([number for number in numbers if number in shown]) > 50
    assert {"3,100", "3,000"} <= {number for number in numbers if number in said}

    public = tmp_path / "public.html"
    run(pair, "people-1", "people-2", "--all", "--public", "--out", public)
    page = Page(public.read_text())
    page.require_sound()
    for text in (page.words, capsys.readouterr().out):
        written = set(re.findall(r"(?<![\w.])[\d,.]*\d(?!\w)", text))
        # A distance of marginals is public, and may be written as something internal is.
        assert not numbers & written - {f"{pair.distance:.4f}" for pair in pair.comparison().marginals}
    assert "Public: from the published folders only" in page.words


def test_what_is_public_is_written_only_where_it_is_asked_for(pair: Pair, capsys: pytest.CaptureFixture[str]) -> None:
    before = sorted(pair.state.rglob("people-1-people-2.html"))
    run(pair, "people-1", "people-2", "--public")
    assert "No page was written" in capsys.readouterr().out
    assert sorted(pair.state.rglob("people-1-people-2.html")) == before


def test_folders_can_be_compared_anywhere_without_what_is_internal(
    pair: Pair, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folders = [tmp_path / name for name in ("a", "b")]
    for folder, drawn in zip(folders, (pair.one, pair.other), strict=True):
        shutil.copytree(drawn.workspace.release_folder, folder)
    keys = pair.state / "keys" / "trusted.json"
    assert carry_out("release compare", [*folders, "--keys", keys], tmp_path / "elsewhere") == 0
    said = capsys.readouterr().out
    assert "rows_clean" not in said
    assert "No page was written" in said


@pytest.mark.parametrize("file_name", ["synthetic.csv", "graph.json", "index.html", RECORD])
def test_a_release_that_was_altered_is_not_compared(pair: Pair, tmp_path: Path, file_name: str) -> None:
    copy = tmp_path / "people-2"
    shutil.copytree(pair.other.workspace.release_folder, copy)
    content = bytearray((copy / file_name).read_bytes())
    content[len(content) // 2] ^= 1
    (copy / file_name).write_bytes(content)
    with pytest.raises(DeniableError):
        run(pair, "people-1", copy, "--keys", pair.state / "keys" / "trusted.json")


def test_an_internal_page_never_lies_in_a_release_folder(pair: Pair) -> None:
    page = pair.other.workspace.release_folder / "compare.html"
    with pytest.raises(Refused, match="release folder"):
        run(pair, "people-1", "people-2", "--out", page)
    assert not page.exists()


def test_a_release_that_is_not_there_is_named(pair: Pair) -> None:
    with pytest.raises(InvalidInput, match="people-9"):
        run(pair, "people-1", "people-9")
