"""Shows two releases side by side: a self-contained page, and a summary of it in a few sentences.

The differences are computed in `reports.pages.comparison`.
"""

from collections import Counter
from dataclasses import dataclass
from typing import Final

from deniable.foundation.domain import Domain
from deniable.privacy.loss import VACUOUS_EPSILON
from reports.figures.line_scale import scale_of
from reports.figures.marginals import DescribedTable, Panel, panels
from reports.pages.comparison import Comparison, CostPair, Snapshot, shared_attributes
from reports.pages.pages import picture, render_page
from reports.plots.graph_plot import Change, draw_graph_changes
from schemas.provenance import Spent

_SNAPSHOTS: Final[dict[Snapshot, str]] = {
    "same": "Both were made from the same rows: their commitments are under the same key and are equal.",
    "another": "They were made from different rows: their commitments are under the same key and differ.",
    "unknown": "Whether both were made from the same rows cannot be determined: their commitments are under different "
    "keys, and no one can compare such commitments without those keys.",
}
_EDGES: Final[dict[Change, str]] = {
    "kept": "kept",
    "added": "added",
    "removed": "removed",
    "turned": "reversed",
}


@dataclass(frozen=True)
class Place:
    """Two values on a line that is as long as the larger one, in percent."""

    one: float
    other: float


def summary(comparison: Comparison) -> list[str]:
    """The differences, one sentence per subject."""
    changes = Counter(comparison.edges.values())
    graph = ", ".join(f"{changes[change]} {word}" for change, word in _EDGES.items() if changes[change])
    return [
        _counted("The specs differ in {}.", len(comparison.spec), "entry", "entries") or "Both have the same spec.",
        _counted("The table schema differs in {}.", len(comparison.schema), "point", "points")
        or "Both have the same table schema.",
        _SNAPSHOTS[comparison.snapshot],
        f"Dependences: {graph}." if graph else "Neither graph has any dependence.",
        _counted("Code, environment, people and signing key differ in {}.", len(comparison.made_by), "point", "points")
        or "Both were made by the same code in the same environment.",
    ]


def _alike(comparison: Comparison) -> list[str]:
    """What is the same in both and has no section of its own."""
    same = {
        "every entry of the spec": not comparison.spec,
        "schema and public domain": not comparison.schema,
        "the input rows": comparison.snapshot == "same",
        "every dependence": all(change == "kept" for change in comparison.edges.values()),
        "the cost of each step": not any(changed(pair) for pair in comparison.costs),
        "code, environment, people and signing key": not comparison.made_by,
    }
    return [what for what, holds in same.items() if holds]


def changed(pair: CostPair) -> bool:
    """Whether the cost of one thing differs between the releases."""
    return pair.one != pair.other


def _counted(sentence: str, number: int, one: str, more: str) -> str:
    """A sentence with a number of things; empty if there are none."""
    return sentence.format(f"{number} {one if number == 1 else more}") if number else ""


def render_comparison(comparison: Comparison) -> str:
    """Make the page.

    Args:
        comparison: the differences.

    Returns:
        HTML that refers to nothing outside itself. It is internal if and only if it compares figures.
    """
    one, other = comparison.one, comparison.other
    names = tuple(dict.fromkeys([*other.table.domain.names, *one.table.domain.names]))
    graph = draw_graph_changes(names, comparison.edges, other.table.domain.target) if comparison.edges else None
    marginals = sorted(comparison.marginals, key=lambda pair: not pair.beyond_chance)
    places = scale_of([value for pair in marginals for value in (pair.distance, pair.at_most)])
    return render_page(
        "compare.html.jinja",
        {
            "comparison": comparison,
            "one": one.record,
            "other": other.record,
            "said": summary(comparison),
            "alike": _alike(comparison),
            "costs_changed": any(map(changed, comparison.costs)),
            "edges_changed": any(change != "kept" for change in comparison.edges.values()),
            "further": [pair for pair in marginals if pair.beyond_chance],
            "graph": graph and picture(graph, "The dependences in both graphs, and how each one changed."),
            "edges": {change: comparison.edges_that(change) for change in ("added", "removed", "turned", "kept")},
            "costs": [(pair, Place(_length(pair.one), _length(pair.other))) for pair in comparison.costs],
            "distances": [
                (pair, *(places.place(value) for value in (pair.distance, pair.by_chance, pair.at_most)))
                for pair in marginals
            ],
            "ticks": places.ticks,
            "figures": comparison.figures or (),
            "panels": _panels(comparison),
        },
    )


def _length(spent: Spent | None) -> float:
    """Length of the bar in percent; a vacuous epsilon fills the bar."""
    if spent is None:
        return 0.0
    return 100.0 if spent.epsilon is None else 100 * min(spent.epsilon / VACUOUS_EPSILON, 1)


def _panels(comparison: Comparison) -> list[Panel]:
    """The distributions of the attributes that have the same values in both tables."""
    one, other = comparison.one, comparison.other
    names = shared_attributes(one.table.domain, other.table.domain)
    if not names:
        return []
    shared = tuple(attribute for attribute in other.table.domain.attributes if attribute.name in names)
    return panels(
        DescribedTable(Domain(shared), other.table.titles, other.table.labels),
        [one.shares, other.shares],
        {pair.name: pair.distance for pair in comparison.marginals},
    )
