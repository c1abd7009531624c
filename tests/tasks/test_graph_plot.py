"""A dependency graph is laid out so that it can be read, and every picture can stand in a page."""

import re
import xml.etree.ElementTree as ET
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from itertools import combinations, pairwise
from time import sleep

import pytest
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch

from deniable.foundation.errors import InvalidInput
from reports.plots import theme
from reports.plots.graph_plot import Change, draw_graph, draw_graph_changes
from reports.plots.layered_layout import Layout, lay_out
from reports.plots.theme import drawn_once, make_figure, page_svg, svg_file

NAMES = ["age", "school", "work", "hours", "income", "town"]
PARENTS = {"school": ["age"], "work": ["school"], "hours": ["work", "age"], "income": ["hours", "school", "age"]}
WIDTH = 1.0
SVG = "{http://www.w3.org/2000/svg}"


def laid_out(names: list[str], parents: dict[str, list[str]]) -> Layout:
    return lay_out(names, parents, dict.fromkeys(names, WIDTH), gap=0.3, row_width=4)


def test_every_attribute_lies_below_all_that_it_depends_on() -> None:
    places = laid_out(NAMES, PARENTS).places
    assert set(places) == set(NAMES)
    for child, parents in PARENTS.items():
        for parent in parents:
            assert places[parent][1] < places[child][1]


def test_boxes_of_a_layer_do_not_touch() -> None:
    names = [f"attribute {i}" for i in range(12)]
    parents = {name: names[:2] if i % 2 else [names[i - 1]] for i, name in enumerate(names) if i >= 2}
    places = laid_out(names, parents).places
    for (x, y), (other_x, other_y) in combinations(places.values(), 2):
        assert y != other_y or abs(x - other_x) >= WIDTH + 0.3 - 1e-9


def test_an_arrow_that_spans_layers_passes_beside_the_boxes_between() -> None:
    layout = laid_out(NAMES, PARENTS)
    for (parent, child), route in layout.routes.items():
        assert (route[0], route[-1]) == (layout.places[parent], layout.places[child])
        assert [y for _, y in route] == [route[0][1] + step for step in range(len(route))]
        for x, y in route[1:-1]:
            assert all(abs(x - box_x) > WIDTH / 2 for box_x, box_y in layout.places.values() if box_y == y)


def test_a_tree_has_no_crossings_whatever_the_order_of_its_attributes() -> None:
    parents = {"b1": ["b"], "b2": ["b"], "c1": ["c"], "c2": ["c"], "b": ["a"], "c": ["a"]}
    layout = laid_out(["c2", "b1", "a", "c1", "b", "b2", "c"], parents)
    segments = [segment for route in layout.routes.values() for segment in pairwise(route)]
    for ((x0, y0), (x1, _)), ((u0, v0), (u1, _)) in combinations(segments, 2):
        assert y0 != v0 or (x0 - u0) * (x1 - u1) >= 0


def test_attributes_without_dependencies_fill_rows() -> None:
    layout = laid_out(NAMES, {})
    assert layout.depth == 2
    assert layout.width <= 4 + WIDTH


def test_a_cycle_is_refused() -> None:
    with pytest.raises(InvalidInput, match="no cycle, got one among age, work"):
        draw_graph(["age", "work"], {"age": ["work"], "work": ["age"]}, None)
    with pytest.raises(InvalidInput, match=r"one among age, work\."):
        draw_graph(["age", "income", "work"], {"age": ["work"], "work": ["age"], "income": ["work"]}, None)


def test_a_parent_that_is_no_attribute_is_refused() -> None:
    with pytest.raises(InvalidInput, match="got wealth"):
        draw_graph(["age"], {"age": ["wealth"]}, "age")


def test_the_picture_names_every_attribute_and_has_an_arrow_for_every_dependency() -> None:
    figure = draw_graph(NAMES, PARENTS, "income", {("age", "school"): 0.9})
    (axes,) = figure.axes
    assert sorted(text.get_text() for text in axes.texts) == sorted(NAMES)
    assert sum(type(patch).__name__ == "Polygon" for patch in axes.patches) == 7


def test_a_picture_in_a_page_is_one_element_with_text_words_and_the_pages_colours() -> None:
    svg = page_svg(draw_graph(NAMES, PARENTS, "income"), title="What <depends> on what")
    root = ET.fromstring(svg)  # noqa: S314 - drawn one line above
    assert (root.tag, root.get("role"), root.get("aria-label")) == ("svg", "img", "What <depends> on what")
    assert {text.text for text in root.iter("text")} == set(NAMES)
    assert "var(--target)" in svg
    assert "#b8336a" not in svg
    assert "http" not in svg


def test_one_figure_gives_one_picture() -> None:
    first, second = (page_svg(draw_graph(NAMES, PARENTS, "income"), title="A graph") for _ in range(2))
    assert first == second


def test_a_picture_is_arranged_and_drawn_once_for_a_page_and_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    figure, drawn = make_figure(2, 1), []
    figure.subplots(1, 2)
    draw = Figure.draw
    monkeypatch.setattr(Figure, "draw", lambda self, renderer: (drawn.append(self), draw(self, renderer)))
    page_svg(figure, title="Two axes, on a page")
    svg_file(figure, title="Two axes, in a file")
    assert len(drawn) == 1
    # What saves a figure that arranges itself, draws it twice: the count sees it.
    figure.set_layout_engine("constrained")
    figure.savefig(BytesIO())
    assert len(drawn) == 3


def test_a_picture_in_a_file_has_its_own_colours_and_asks_for_nothing_outside_itself() -> None:
    svg = svg_file(draw_graph(NAMES, PARENTS, "income"), title="What <depends> on what")
    root = ET.fromstring(svg)  # noqa: S314 - drawn one line above
    assert root.get("aria-label") == "What <depends> on what"
    assert {text.text for text in root.iter(f"{SVG}text")} == set(NAMES)
    assert "#b8336a" in svg
    assert "var(" not in svg
    assert "DejaVu" not in svg
    assert svg.count("http") == 1, "the namespace alone"


def test_names_within_a_page_are_those_of_one_picture() -> None:
    figure = make_figure(2, 1)
    axes = figure.subplots()
    axes.plot([0, 1], [0, 1], "o", clip_on=True)
    pages = [page_svg(figure, title=title) for title in ("One", "Another")]
    named = [set(re.findall(r'\bid="([^"]+)"', page)) for page in pages]
    used = [set(re.findall(r'(?:href="|url\()#([^")]+)', page)) for page in pages]
    assert named[0]
    assert [used[0] <= named[0], used[1] <= named[1]] == [True, True]
    assert not named[0] & named[1]


def test_pictures_are_drawn_one_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Matplotlib's settings are those of the process: they must not change while a picture is drawn."""
    found, draw = [], theme._draw

    def drawn(figure: Figure) -> theme._Drawing:
        found.append("begun")
        sleep(0.01)
        found.append("ended")
        return draw(figure)

    monkeypatch.setattr(theme, "_draw", drawn)
    with ThreadPoolExecutor(4) as pool:
        pages = list(pool.map(lambda title: page_svg(make_figure(1, 1, arranged=False), title=title), "abcd"))
    assert found == ["begun", "ended"] * 4
    assert len(set(pages)) == 4


def test_pictures_are_kept_until_others_are_drawn() -> None:
    first = drawn_once(draw_graph, NAMES, PARENTS, "income")
    assert drawn_once(draw_graph, list(NAMES), dict(PARENTS), "income") is first
    assert drawn_once(draw_graph, NAMES, PARENTS, None) is not first
    assert drawn_once(draw_graph, NAMES, PARENTS, "income") is not first


def arrows(edges: dict[tuple[str, str], Change]) -> dict[tuple[str, str], PathPatch]:
    """The line of each arrow, by what it leads from and to, as it is drawn."""
    [axes] = draw_graph_changes(NAMES, edges, None).axes
    boxes = {text.get_text(): text.get_position() for text in axes.texts}
    lines = [patch for patch in axes.patches if type(patch) is PathPatch]
    found = {}
    for line in lines:
        vertices = line.get_path().vertices
        ends = [
            min(boxes, key=lambda name: abs(boxes[name][0] - x) + abs(boxes[name][1] - y)) for x, y in vertices[[0, -1]]
        ]
        found[ends[0], ends[1]] = line
    return found


def test_what_became_of_a_dependence_is_told_by_its_line_and_not_by_colour_alone() -> None:
    edges: dict[tuple[str, str], Change] = {
        ("age", "school"): "kept",
        ("school", "work"): "added",
        ("age", "hours"): "removed",
        ("work", "income"): "turned",
    }
    drawn = arrows(edges)
    assert set(drawn) == set(edges)
    looks = {(line.get_linestyle(), line.get_linewidth()) for line in drawn.values()}
    assert len(looks) == 4


def test_a_dependence_that_is_gone_and_would_close_a_circle_points_upwards() -> None:
    edges: dict[tuple[str, str], Change] = {
        ("age", "school"): "kept",
        ("school", "work"): "added",
        ("work", "age"): "removed",
    }
    drawn = arrows(edges)
    assert set(drawn) == set(edges)
    [(_, start), *_, (_, end)] = drawn["work", "age"].get_path().vertices
    assert end < start  # y grows downwards
