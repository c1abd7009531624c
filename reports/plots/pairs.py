"""Pairs of attributes: their errors relative to the holdout, and how strongly they depend on each other.

The figures were measured elsewhere (tasks.evaluation.evaluate_utility), on real records and without noise: they are
internal.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, sqrt
from typing import Final

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from deniable.evaluation.contract import Table
from deniable.evaluation.metrics import marginal_distances, mutual_information
from deniable.evaluation.utility import compared_marginals
from deniable.foundation.domain import Codes, Domain
from reports.figures.marginals import DescribedTable
from reports.figures.value_groups import group_names, groups_to_show
from reports.plots.ratio_pictures import pair_svg

SHOWN: Final = 6
"""Number of pairs shown side by side."""

_PAIRS: Final = 2
_TABLES: Final[tuple[Table, Table]] = ("released", "training")
_LEVELS: Final = 8
_WIDEST, _NARROWEST, _SIDE = 22.0, 4.0, 380.0
_LETTER, _FONT, _GAP = 6.2, 10.0, 34.0
_LONGEST_NAME = 14
_WIDEST_OF_MATRIX, _SIDE_OF_MATRIX = 40.0, 260.0
_MOST_SQUARES = 128
"""A heatmap has at most this many squares a side; in wider tables, each is of a run of neighbouring attributes."""


@dataclass(frozen=True)
class PairError:
    """The distance between a table of two attributes and the same table of the holdout.

    Attributes:
        names: the attributes.
        released: total variation distance of the release.
        real: total variation distance of real training records.
    """

    names: tuple[str, str]
    released: float
    real: float

    @property
    def beyond(self) -> float:
        """The error of the release in excess of the chance error of real records."""
        return self.released - self.real


@dataclass(frozen=True)
class Square:
    """A square of the heatmaps.

    Attributes:
        column: its place from the left.
        row: its place from the top.
        released: total variation distance of the release; the mean over its pairs of attributes if it has several.
        real: that of real training records.
    """

    column: int
    row: int
    released: float
    real: float


@dataclass(frozen=True, eq=False)
class ShownPair:
    """A pair of attributes side by side.

    Attributes:
        error: the error of the release.
        anchor: id of its place on the page.
        picture: the real table and the released one; None if the evaluation kept neither.
    """

    error: PairError
    anchor: str
    picture: Markup | None


def pair_errors(domain: Domain, series: Mapping[str, Sequence[float]]) -> tuple[PairError, ...]:
    """The errors of all pairs, in the order in which they were measured."""
    pairs = compared_marginals(domain.cardinalities).get(_PAIRS, ())
    released, real = (series.get(marginal_distances.name_of(_PAIRS, table), ()) for table in _TABLES)
    errors = zip(pairs, released, real, strict=False)
    return tuple(PairError((domain.names[a], domain.names[b]), one, real) for (a, b), one, real in errors)


def worst_pairs(errors: Sequence[PairError]) -> list[PairError]:
    """The pairs for which the release adds the most error, the worst first."""
    return sorted(errors, key=lambda error: (-error.beyond, error.names))[:SHOWN]


def series_of_pair(table: str, names: Sequence[str]) -> str:
    """Name of the series that contains a table of two attributes."""
    return f"pair_{table}/{'/'.join(names)}"


def shares_of_pair(codes: Codes, domain: Domain, names: Sequence[str]) -> NDArray[np.float64]:
    """Shares of a table of two attributes, by groups of values that a picture can show."""
    chosen = [domain.attributes[domain.index(name)] for name in names]
    groups = [np.asarray(groups_to_show(attribute)) for attribute in chosen]
    table = np.zeros([int(group.max()) + 1 for group in groups])
    cells = tuple(group[codes[:, domain.index(name)]] for group, name in zip(groups, names, strict=True))
    np.add.at(table, cells, 1.0)
    return table / max(len(codes), 1)


def shown_pairs(table: DescribedTable, series: Mapping[str, Sequence[float]]) -> list[ShownPair]:
    """The worst pairs, each with the real table and the released one side by side."""
    worst = worst_pairs(pair_errors(table.domain, series))
    return [
        ShownPair(error, f"pair-{number}", _side_by_side(table, series, error))
        for number, error in enumerate(worst, start=1)
    ]


def _side_by_side(table: DescribedTable, series: Mapping[str, Sequence[float]], error: PairError) -> Markup | None:
    """Both tables, with the ratio of each share to its expected value under independence in the real table."""
    if series_of_pair("holdout", error.names) not in series:
        return None
    chosen = [table.domain.attributes[table.domain.index(name)] for name in error.names]
    names = [
        group_names(attribute, groups_to_show(attribute), table.labels.get(attribute.name, {})) for attribute in chosen
    ]
    shape = [len(those) for those in names]
    real, released = (
        np.asarray(series[series_of_pair(kind, error.names)]).reshape(shape) for kind in ("holdout", "released")
    )
    expected = np.maximum(real.sum(axis=1, keepdims=True) * real.sum(axis=0), 1e-12)
    with np.errstate(divide="ignore"):
        left, right = (np.log2(shares / expected) for shares in (real, released))
    words = f"{' and '.join(error.names)}: real on the left, released on the right, {shape[0]} by {shape[1]} cells"
    return pair_svg((left, right), ("real, the holdout", "released"), (names[0], names[1]), words)


def attributes_of_a_square(domain: Domain) -> int:
    """How many neighbouring attributes share a row, or a column, of the heatmaps."""
    return ceil(len(domain) / _MOST_SQUARES)


def squares_of(domain: Domain, errors: Sequence[PairError]) -> tuple[Square, ...]:
    """The squares of the heatmaps, one for each pair of attributes, or of runs of attributes in a wide table."""
    run = attributes_of_a_square(domain)
    if run == 1:
        return tuple(
            Square(domain.index(error.names[0]), domain.index(error.names[1]), error.released, error.real)
            for error in errors
        )
    size = ceil(len(domain) / run)
    places = np.array([[domain.index(name) // run for name in error.names] for error in errors])
    cells = places[:, 0] * size + places[:, 1]
    values = np.array([(error.released, error.real) for error in errors])
    pairs = np.bincount(cells, minlength=size * size)
    released, real = (np.bincount(cells, column, size * size) for column in values.T)
    return tuple(
        Square(cell // size, cell % size, float(released[cell] / pairs[cell]), float(real[cell] / pairs[cell]))
        for cell in np.flatnonzero(pairs).tolist()
    )


def heatmap_svg(
    domain: Domain, errors: Sequence[PairError], squares: Sequence[Square], linked: Mapping[tuple[str, str], str]
) -> Markup:
    """Two heatmaps with one scale: errors of the release on the left, of real training records on the right.

    Args:
        domain: the attributes.
        errors: the errors of all pairs.
        squares: the squares, as `squares_of` makes them.
        linked: anchors on the page that pairs link to, by the names of the attributes.

    Returns:
        One `svg` element.
    """
    run = attributes_of_a_square(domain)
    firsts = domain.names[::run]
    size = len(firsts)
    cell = min(_WIDEST, max(_NARROWEST, _SIDE / size))
    names = [name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…" for name in firsts]
    margin = _LETTER * max(map(len, names)) + 8
    most = largest(squares)
    side = cell * size
    parts = []
    for place, title in ((margin, "release"), (2 * margin + side + _GAP, "real training records")):
        parts.append(Markup('<text class="title" x="{:.0f}" y="12">{}</text>').format(place, title))
        parts.append(_names(names, place, cell))
    for place, released in ((margin, True), (2 * margin + side + _GAP, False)):
        parts.append(_cells(squares, most, place, cell, released=released))
    parts += [
        Markup(
            '<a href="#{}"><title>{}: release {:.3f}, real {:.3f}</title>'
            '<rect class="linked" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"/></a>'
        ).format(
            linked[error.names],
            " and ".join(error.names),
            error.released,
            error.real,
            margin + cell * (domain.index(error.names[0]) // run),
            20 + cell * (domain.index(error.names[1]) // run),
            cell,
            cell,
        )
        for error in errors
        if error.names in linked
    ]
    width, height = 2 * (margin + side) + _GAP, 20 + side + margin
    return Markup('<svg class="heat" role="{}" aria-label="{}" viewBox="0 0 {:.0f} {:.0f}">{}</svg>').format(
        "group" if linked else "img",  # a picture has no links in it
        f"Distance of each pair of attributes to the holdout, for the release and for real training records; "
        f"the largest is {most:.3f}.",
        width,
        height,
        Markup("").join(parts),
    )


def largest(squares: Sequence[Square]) -> float:
    """The largest error, which is shown in full colour."""
    return max((max(square.released, square.real) for square in squares), default=0.0) or 1.0


def _names(names: Sequence[str], place: float, cell: float) -> Markup:
    """The names of rows and columns, as many as are legible."""
    step = max(1, ceil(_FONT / cell))
    bottom = 20 + cell * len(names)
    rows = [
        Markup('<text class="row" x="{:.1f}" y="{:.1f}">{}</text>').format(place - 5, 20 + cell * (i + 0.5) + 3, name)
        for i, name in enumerate(names)
        if i % step == 0
    ]
    columns = [
        Markup('<text class="row" transform="translate({:.1f} {:.1f}) rotate(-90)">{}</text>').format(
            place + cell * (i + 0.5) + 3, bottom + 5, name
        )
        for i, name in enumerate(names)
        if i % step == 0
    ]
    return Markup("").join([*rows, *columns])


def _cells(squares: Sequence[Square], most: float, place: float, cell: float, *, released: bool) -> Markup:
    """The cells of one heatmap, one path per depth of colour, which is the square root of the error."""
    levels: dict[int, list[str]] = {}
    for square in squares:
        value = square.released if released else square.real
        x, y = place + cell * square.column, 20 + cell * square.row
        level = round(_LEVELS * sqrt(value / most))
        levels.setdefault(level, []).append(f"M{x:.1f},{y:.1f}h{cell:.1f}v{cell:.1f}h-{cell:.1f}z")
    return Markup("").join(
        Markup('<path class="error" fill-opacity="{:g}" d="{}"/>').format(level / _LEVELS, "".join(levels[level]))
        for level in sorted(levels)
    )


@dataclass(frozen=True)
class Dependence:
    """How strongly two attributes depend on each other, as normalized mutual information.

    Attributes:
        names: the attributes.
        real: in the holdout.
        released: in the release.
    """

    names: tuple[str, str]
    real: float
    released: float

    @property
    def gap(self) -> float:
        """The difference, above 0 if the attributes of the release depend more on each other."""
        return self.released - self.real


def dependences(domain: Domain, series: Mapping[str, Sequence[float]]) -> tuple[Dependence, ...]:
    """The dependences of all pairs, in the order in which they were measured; none if they were not."""
    pairs = compared_marginals(domain.cardinalities).get(_PAIRS, ())
    real, released = (series.get(mutual_information.name_of(table), ()) for table in ("holdout", "released"))
    found = zip(pairs, real, released, strict=False)
    return tuple(Dependence((domain.names[a], domain.names[b]), one, other) for (a, b), one, other in found)


def changed_most(found: Sequence[Dependence]) -> list[Dependence]:
    """The pairs whose dependence differs most between the tables, the largest difference first."""
    return sorted(found, key=lambda each: (-abs(each.gap), each.names))[:SHOWN]


def information_svgs(domain: Domain, found: Sequence[Dependence], real: str) -> tuple[list[Markup], float]:
    """Matrices of mutual information: of the holdout, of the release, and their difference, with one scale.

    Args:
        domain: the attributes.
        found: the dependences of all pairs.
        real: what the holdout is called.

    Returns:
        Three `svg` elements, and the value in full colour.
    """
    whole = [[each.real for each in found], [each.released for each in found], [each.gap for each in found]]
    most = max(max(map(abs, values)) for values in whole) or 1.0
    titles = (real, "released", f"released less {real}")
    return [
        _matrix_svg(domain, [each.names for each in found], values, most, title)
        for values, title in zip(whole, titles, strict=True)
    ], most


def _matrix_svg(
    domain: Domain, pairs: Sequence[tuple[str, str]], values: Sequence[float], most: float, title: str
) -> Markup:
    """One matrix, whose cells are blue above 0 and orange below; the depth of colour is the square root."""
    run = attributes_of_a_square(domain)
    firsts = domain.names[::run]
    cell = min(_WIDEST_OF_MATRIX, max(_NARROWEST, _SIDE_OF_MATRIX / len(firsts)))
    names = [name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…" for name in firsts]
    margin = _LETTER * max(map(len, names)) + 8
    cells: dict[tuple[int, int], list[float]] = {}
    for (first, second), value in zip(pairs, values, strict=True):
        cells.setdefault((domain.index(first) // run, domain.index(second) // run), []).append(value)
    levels: dict[int, list[str]] = {}
    for (column, row), those in cells.items():
        mean = sum(those) / len(those)
        level = round(_LEVELS * sqrt(abs(mean) / most)) * (1 if mean > 0 else -1)
        x, y = margin + cell * column, 20 + cell * row
        levels.setdefault(level, []).append(f"M{x:.1f},{y:.1f}h{cell:.1f}v{cell:.1f}h-{cell:.1f}z")
    paths = [
        Markup('<path class="{}" fill-opacity="{:g}" d="{}"/>').format(
            "more" if level > 0 else "fewer", abs(level) / _LEVELS, "".join(those)
        )
        for level, those in sorted(levels.items())
    ]
    outline = Markup('<path class="ground" d="{}"/>').format(
        "".join(each for those in levels.values() for each in those)
    )
    width, height = margin + cell * len(firsts) + 2, 20 + cell * len(firsts) + margin
    return Markup(
        '<svg class="matrix" role="img" aria-label="{}" width="{:.0f}" height="{:.0f}" viewBox="0 0 {:.0f} {:.0f}">'
        '<text class="title" x="{:.0f}" y="12">{}</text>{}{}{}</svg>'
    ).format(
        f"Mutual information of each pair of attributes, {title}, from {min(values):.3f} to {max(values):.3f}.",
        width,
        height,
        width,
        height,
        margin,
        title,
        _names(names, margin, cell),
        outline,
        Markup("").join(paths),
    )
