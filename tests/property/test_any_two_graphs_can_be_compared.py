"""For any two graphs, the comparison states what became of each dependence of either, and can be drawn."""

from hypothesis import given, settings
from hypothesis import strategies as st

from reports.pages.comparison import changed_edges
from reports.plots.graph_plot import draw_graph_changes
from tests.extent import drawn

NAMES = [f"attribute {number}" for number in range(7)]
orders = st.permutations(NAMES)
choices = st.lists(st.booleans(), min_size=21, max_size=21)


def graph(order: list[str], chosen: list[bool]) -> dict[str, dict[str, float]]:
    """An acyclic graph: the chosen ones of all pairs, each from the earlier to the later."""
    pairs = [(parent, child) for place, child in enumerate(order) for parent in order[:place]]
    parents: dict[str, dict[str, float]] = {name: {} for name in order}
    for (parent, child), wanted in zip(pairs, chosen, strict=True):
        if wanted:
            parents[child][parent] = 0.5
    return parents


@settings(max_examples=drawn(60))
@given(orders, choices, orders, choices)
def test_any_two_graphs_can_be_compared(
    one: list[str], of_one: list[bool], other: list[str], of_other: list[bool]
) -> None:
    graphs = graph(one, of_one), graph(other, of_other)
    before, after = ({(parent, child) for child in into for parent in into[child]} for into in graphs)
    changes = changed_edges(*graphs)
    assert {edge for edge, change in changes.items() if change == "kept"} == before & after
    assert {edge for edge, change in changes.items() if change != "removed"} == after
    assert {edge for edge, change in changes.items() if change == "turned"} == {e for e in after if e[::-1] in before}
    assert {edge for edge, change in changes.items() if change == "removed"} == {
        edge for edge in before - after if edge[::-1] not in after
    }
    draw_graph_changes(NAMES, changes, None)
