"""The style of all pictures: colours, fonts, and the adoption of the colours of the surrounding page.

Each thing has the same colour everywhere. The content of a picture does not belong here.
"""

import io
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from threading import Lock
from typing import Any, Final, Literal, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

import matplotlib as mpl
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure

RELEASED: Final = "#1f6fb2"
TRAINING: Final = "#22946e"
BASELINE: Final = "#d07a1f"
HOLDOUT: Final = "#85909f"
TARGET: Final = "#b8336a"
INK: Final = "#18212d"
MUTED: Final = "#5a6675"
GRID: Final = "#dde2e9"
PAPER: Final = "#fefefe"

TABLE_COLOURS: Final = {"released": RELEASED, "training": TRAINING, "baseline": BASELINE, "holdout": HOLDOUT}
"""The colour of each table that is compared."""

_VARIABLES = {
    RELEASED: "--released",
    TRAINING: "--training",
    BASELINE: "--baseline",
    HOLDOUT: "--holdout",
    TARGET: "--target",
    INK: "--ink",
    MUTED: "--muted",
    GRID: "--grid",
    PAPER: "--paper",
}
_ALONE = Markup(
    "<style>text {{ font: 9.5px system-ui, sans-serif; fill: {}; }} .row {{ text-anchor: end; }} "
    ".more {{ fill: {}; }} .title {{ font-size: 10.5px; font-weight: 600; fill: {}; }} .fewer {{ fill: {}; }} "
    ".real {{ fill: {}; opacity: .5; }} "
    ".released {{ fill: none; stroke: {}; stroke-width: 1.5; vector-effect: non-scaling-stroke; }} "
    ".ground {{ fill: none; stroke: {}; }} .middle {{ text-anchor: middle; }}</style>"
).format(MUTED, RELEASED, INK, BASELINE, HOLDOUT, RELEASED, GRID)
_COLOUR = re.compile("|".join(_VARIABLES))
_FONTS = re.compile(r"'DejaVu Sans'[^;\"]*")
_FILE_FONTS = "system-ui,sans-serif"
_NAMES = re.compile(r"(?<=#)[a-z][0-9a-f]{10}\b|(?<=\bid=\")[a-z][0-9a-f]{10}\b")
"""Names of markers and clip paths, where they are defined and where they are used."""
_DIGITS_OF_A_NAME = 8
_JOINED = "stroke-linejoin: round"

_Given = ParamSpec("_Given")
_Figures = TypeVar("_Figures", Figure, dict[str, Figure])
_SVG = "{http://www.w3.org/2000/svg}"
_LEFT_OUT = {f"{_SVG}metadata", f"{_SVG}style"}
_POINTS_PER_INCH = 72
_LARGEST_MAGNIFICATION = 1.6
"""Pixels per point; at four thirds a picture has the size at which it was drawn."""


def make_figure(width_in: float, height_in: float, *, arranged: bool = True) -> Figure:
    """Make an empty figure, with sizes in inches; it arranges its axes itself unless `arranged` is false."""
    return Figure(figsize=(width_in, height_in), facecolor=PAPER, layout="constrained" if arranged else None)


def plain_axes(axes: Axes, *, grid: Literal["x", "y"] | None = None) -> Axes:
    """Remove everything from axes that carries no information, and draw grid lines for `x` or `y` if requested."""
    axes.set_facecolor("none")
    axes.set_axisbelow(True)
    for side, spine in axes.spines.items():
        spine.set_visible(side == "bottom" and grid != "x")
        spine.set_color(GRID)
    axes.tick_params(length=0, labelsize=9, labelcolor=MUTED)
    axes.xaxis.label.set(color=MUTED, fontsize=9)
    axes.yaxis.label.set(color=MUTED, fontsize=9)
    if grid:
        axes.grid(axis=grid, color=GRID, linewidth=0.8)
    return axes


def set_title(axes: Axes, title: str, note: str = "") -> None:
    """Write a left-aligned title above axes, and a note below the title."""
    pad = 18 if note else 6
    axes.set_title(title, loc="left", color=INK, fontsize=10, fontweight="bold", pad=pad)
    if note:
        axes.annotate(note, (0, 1), (0, 6), "axes fraction", "offset points", color=MUTED, fontsize=8.5)


_last: Final[dict[str, tuple[tuple[Any, ...], dict[str, Any], Any]]] = {}


def drawn_once(draw: Callable[_Given, _Figures], *arguments: _Given.args, **named: _Given.kwargs) -> _Figures:
    """The figures that a function draws, which are kept until it draws others: MLflow and several pages show them.

    Args:
        draw: the function.
        arguments: its arguments, which must not be changed afterwards.
        named: its named arguments.
    """
    kept = _last.get(draw.__qualname__)
    if kept is None or kept[:2] != (arguments, named):
        kept = _last[draw.__qualname__] = (arguments, named, draw(*arguments, **named))
    figures: _Figures = kept[2]
    return figures


def page_svg(figure: Figure, *, title: str) -> str:
    """A figure as an SVG element for a page: text stays text, and colours are variables of the page.

    The element refers to nothing outside itself, and the same figure gives the same text.

    Args:
        figure: the figure.
        title: a description for readers who cannot see the picture; it must be unique within a page.

    Returns:
        One `svg` element, as wide as its container, but with limited magnification.
    """
    drawing = _drawn(figure)
    # Markers and clip paths of all pictures of a page share one namespace.
    own = sha256(title.encode()).hexdigest()[:_DIGITS_OF_A_NAME]
    content = _NAMES.sub(lambda match: f"{match.group()}{own}", drawing.content)
    content = _FONTS.sub("var(--font)", content)
    content = _COLOUR.sub(lambda match: f"var({_VARIABLES[match.group()]})", content)
    attributes = {
        "role": "img",
        "aria-label": title,
        "viewBox": f"0 0 {drawing.width:g} {drawing.height:g}",
        "style": f"{_JOINED}; max-width: {_LARGEST_MAGNIFICATION * drawing.width:.0f}px",
    }
    return str(Markup("<svg {}>{}</svg>").format(_written(attributes), Markup(content)))  # noqa: S704 - drawn here


def svg_file(figure: Figure, *, title: str) -> str:
    """A figure as the text of an SVG file, which refers to nothing outside itself.

    Args:
        figure: the figure; if it is on a page too, it is drawn only once.
        title: a description for readers who cannot see the picture.
    """
    drawing = _drawn(figure)
    content = Markup(_FONTS.sub(_FILE_FONTS, drawing.content))  # noqa: S704 - drawn here
    return _file((Markup('<g style="{}">{}</g>').format(_JOINED, content),), (drawing.width, drawing.height), title)


def svg_alone(parts: Iterable[Markup], size: tuple[float, float], words: str) -> str:
    """Return parts of a drawing as a separate SVG file, in the colours of a page.

    Args:
        parts: elements with the classes of pages (reports/templates/page.css).
        size: width and height of the drawing, in its own units.
        words: a description, for readers who cannot see the picture.

    Returns:
        The file's text; it refers to nothing outside itself.
    """
    return _file((_ALONE, *parts), size, words)


def _file(parts: Iterable[Markup], size: tuple[float, float], words: str) -> str:
    """Parts of a drawing on paper, as an SVG file."""
    width, height = size
    return str(
        Markup(
            '<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{}" viewBox="0 0 {:.0f} {:.0f}" '
            'width="{:.0f}" height="{:.0f}"><rect width="100%" height="100%" fill="{}"/>{}</svg>\n'
        ).format(words, width, height, width, height, PAPER, Markup("").join(parts))
    )


@dataclass(frozen=True)
class _Drawing:
    """A figure drawn as SVG, in the colours and fonts of matplotlib.

    Attributes:
        content: the content of its `svg` element.
        width: in points.
        height: in points.
    """

    content: str
    width: float
    height: float


_kept: Final[WeakKeyDictionary[Figure, _Drawing]] = WeakKeyDictionary()
_drawing: Final = Lock()


def _drawn(figure: Figure) -> _Drawing:
    """Draw a figure, once: MLflow and pages show the same picture."""
    # Steps draw in several threads, and matplotlib's settings are those of the process.
    with _drawing:
        if figure not in _kept:
            _kept[figure] = _draw(figure)
        return _kept[figure]


def _draw(figure: Figure) -> _Drawing:
    file = io.BytesIO()
    if (arranging := figure.get_layout_engine()) is not None:
        # Arranging the figure here avoids a second drawing by matplotlib for its layout.
        arranging.execute(figure)
        figure.set_layout_engine(None)
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "deniable"}):
        figure.savefig(file, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    root = ET.fromstring(file.getvalue())  # noqa: S314 - drawn two lines above
    for parent in root.iter():
        for child in [child for child in parent if child.tag in _LEFT_OUT]:
            parent.remove(child)
    for element in root.iter():
        element.tag = _local(element.tag)
        element.attrib = {_local(name): value for name, value in element.items() if (element.tag, name) != ("g", "id")}
    content = "".join(ET.tostring(element, encoding="unicode") for element in root)
    return _Drawing(content, *(side * _POINTS_PER_INCH for side in figure.get_size_inches()))


def _written(attributes: Mapping[str, str]) -> Markup:
    """Attributes of an element, as text."""
    return Markup(" ").join(Markup('{}="{}"').format(name, value) for name, value in attributes.items())


def _local(name: str) -> str:
    """A name without its namespace: SVG within a page has none."""
    return name.rpartition("}")[2]
