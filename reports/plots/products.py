"""Pictures of a learner's output, for the record of its step."""

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from reports.figures.marginals import DescribedTable
from reports.plots.graph_plot import draw_graph, parents_of, weights_of
from reports.plots.measured import measured_of
from reports.plots.ratio_pictures import draw_ratios
from reports.plots.theme import drawn_once, svg_file
from schemas.spec.release_spec import ReleaseSpec

Products: TypeAlias = Mapping[str, Any]


def _graph(made: Products, spec: ReleaseSpec) -> str:
    domain, weights = spec.domain, weights_of(made["graph"])
    figure = drawn_once(draw_graph, domain.names, parents_of(weights), domain.target, weights)
    return svg_file(figure, title=f"The dependences between {len(domain)} attributes.")


def _measured(made: Products, spec: ReleaseSpec) -> str | None:
    """The pairs of attributes with the strongest dependence; None if no pair was measured."""
    shown = measured_of(made["measured"], DescribedTable.of(spec), weights_of(made["graph"]))
    return draw_ratios(shown.ratios) if shown.ratios else None


_PICTURES: Final[Mapping[str, Callable[[Products, ReleaseSpec], str | None]]] = {
    "graph": _graph,
    "measured": _measured,
}


def picture_of(name: str, made: Products, spec: ReleaseSpec) -> str | None:
    """Draw one output of a step, as the text of an SVG file; None if this kind of output has no picture.

    Args:
        name: name of the output.
        made: all outputs of the step, by name.
        spec: the release spec.
    """
    draw = _PICTURES.get(name)
    return None if draw is None else draw(made, spec)
