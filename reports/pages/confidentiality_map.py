"""The page of an R-U confidentiality map: a picture, the figures behind it, and how to read both."""

from reports.figures.confidentiality_map import ConfidentialityMap
from reports.pages.pages import picture, render_page
from reports.plots.confidentiality_map import draw_map


def render_map(shown: ConfidentialityMap) -> str:
    """Make the page; it is internal, unless the real table is public.

    Args:
        shown: the map.

    Returns:
        HTML that loads nothing from outside itself.
    """
    words = (
        f"What was measured of synthetic tables beside {shown.title}, by the epsilon of the whole table, with the "
        "epsilon of one record below it."
    )
    return render_page("confidentiality_map.html.jinja", {"map": shown, "drawn": picture(draw_map(shown), words)})
