"""Lays out a directed acyclic graph in layers, parents above children, with few crossings.

An arrow that spans several layers bends in each layer that it passes; a bend is placed among the boxes of its layer.
The style of boxes and arrows does not belong here.

Source: Sugiyama, Tagawa, Toda 1981, with the barycentre heuristic.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise

from deniable.foundation.errors import InvalidInput

Bend = tuple[str, str, int]
"""The point where the arrow from a parent to a child passes a layer."""
Node = str | Bend
Layers = list[list[Node]]
Links = list[tuple[Node, Node]]
Place = tuple[float, float]

_SWEEPS = 24


@dataclass(frozen=True)
class Layout:
    """The positions of all elements; the units are the caller's, and y grows downwards.

    Attributes:
        places: centre of each attribute's box.
        routes: the points on the route of each arrow, by (parent, child), including the centres of both boxes.
        width: total width, from 0.
        depth: number of layers; layer i lies at y = i.
    """

    places: Mapping[str, Place]
    routes: Mapping[tuple[str, str], tuple[Place, ...]]
    width: float
    depth: int


def lay_out(
    names: Sequence[str],
    parents: Mapping[str, Sequence[str]],
    widths: Mapping[str, float],
    *,
    gap: float,
    row_width: float,
) -> Layout:
    """Place the attributes of a graph.

    Args:
        names: the attributes.
        parents: the parents of each attribute; an attribute that is not listed has none.
        widths: width of each attribute's box.
        gap: space between neighbours of a layer.
        row_width: attributes without dependencies fill rows of about this width, below all others.

    Returns:
        The layout.

    Raises:
        InvalidInput: the graph has a cycle, or names an attribute that is not listed.
    """
    edges = [(parent, child) for child in names for parent in parents.get(child, ())]
    depth = _depths(names, edges)
    connected = {name for edge in edges for name in edge}
    layers, links = _with_bends([name for name in names if name in connected], edges, depth)
    layers = _with_few_crossings(layers, links)
    x = _coordinates(layers, links, widths, gap)
    rows = _rows([name for name in names if name not in connected], widths, gap, row_width)
    centre = _span(x, widths)[1] / 2 if x else row_width / 2
    for row in rows:
        x |= _centred(row, widths, gap, centre)
    layers += [list(row) for row in rows]
    left, right = _span(x, widths)
    y = {node: float(number) for number, layer in enumerate(layers) for node in layer}
    place: dict[Node, Place] = {node: (x[node] - left, y[node]) for node in x}
    return Layout(
        places={name: place[name] for name in names},
        routes={edge: tuple(place[node] for node in _path(edge, depth)) for edge in edges},
        width=right - left,
        depth=len(layers),
    )


def _depths(names: Sequence[str], edges: Sequence[tuple[str, str]]) -> dict[str, int]:
    """Layer of each attribute: below its lowest parent; without parents, just above its highest child."""
    unknown = sorted({parent for parent, _ in edges} - set(names))
    if unknown:
        msg = f"every parent must be one of the attributes, got {', '.join(unknown)}."
        raise InvalidInput(msg)
    parents: dict[str, list[str]] = {name: [] for name in names}
    for parent, child in edges:
        parents[child].append(parent)
    try:
        order = tuple(TopologicalSorter(parents).static_order())
    except CycleError as error:
        circle = [name for name in names if name in error.args[1]]
        msg = f"a dependency graph must have no cycle, got one among {', '.join(circle)}."
        raise InvalidInput(msg) from None
    depth: dict[str, int] = {}
    for name in order:
        depth[name] = 1 + max((depth[parent] for parent in parents[name]), default=-1)
    for name in {parent for parent, _ in edges} - {child for _, child in edges}:
        depth[name] = min(depth[child] for parent, child in edges if parent == name) - 1
    return depth


def _path(edge: tuple[str, str], depth: Mapping[str, int]) -> list[Node]:
    """The nodes on the route of an arrow, including bends."""
    parent, child = edge
    return [parent, *((parent, child, layer) for layer in range(depth[parent] + 1, depth[child])), child]


def _with_bends(
    names: Sequence[str], edges: Sequence[tuple[str, str]], depth: Mapping[str, int]
) -> tuple[Layers, Links]:
    """The layers with a bend wherever an arrow passes one, and the links between neighbouring layers."""
    layers: Layers = [[] for _ in range(max((depth[name] + 1 for name in names), default=0))]
    for name in names:
        layers[depth[name]].append(name)
    links: Links = []
    for edge in edges:
        path = _path(edge, depth)
        for layer, bend in enumerate(path[1:-1], start=depth[edge[0]] + 1):
            layers[layer].append(bend)
        links.extend(pairwise(path))
    return layers, links


def _neighbours(links: Links) -> tuple[dict[Node, list[Node]], dict[Node, list[Node]]]:
    """For each node, the linked nodes above and below."""
    above: dict[Node, list[Node]] = {}
    below: dict[Node, list[Node]] = {}
    for upper, lower in links:
        above.setdefault(lower, []).append(upper)
        below.setdefault(upper, []).append(lower)
    return above, below


def _with_few_crossings(layers: Layers, links: Links) -> Layers:
    """Sort each layer by the mean position of its neighbours, downwards and upwards in turn; keep the best order."""
    above, below = _neighbours(links)
    best, fewest = layers, _crossings(layers, links)
    current = [list(layer) for layer in layers]
    for sweep in range(_SWEEPS):
        downwards = sweep % 2 == 0
        linked = above if downwards else below
        numbers = range(1, len(current)) if downwards else range(len(current) - 2, -1, -1)
        for number in numbers:
            fixed = current[number - 1 if downwards else number + 1]
            position = {node: i for i, node in enumerate(fixed)}
            own = {node: float(i) for i, node in enumerate(current[number])}
            barycentre = {
                node: sum(position[other] for other in linked[node]) / len(linked[node])
                if node in linked
                else own[node]
                for node in current[number]
            }
            current[number] = sorted(current[number], key=barycentre.__getitem__)
        crossings = _crossings(current, links)
        if crossings < fewest:
            best, fewest = [list(layer) for layer in current], crossings
    return best


def _crossings(layers: Layers, links: Links) -> int:
    """Number of pairs of links that cross."""
    position = {node: (number, i) for number, layer in enumerate(layers) for i, node in enumerate(layer)}
    drawn = [(position[upper], position[lower]) for upper, lower in links]
    return sum(
        (first[0] < second[0]) != (first[1] < second[1]) and first[0] != second[0] and first[1] != second[1]
        for i, first in enumerate(drawn)
        for second in drawn[:i]
        if first[0][0] == second[0][0]
    )


def _width(node: Node, widths: Mapping[str, float]) -> float:
    """Width of a node: a bend has none."""
    return widths[node] if isinstance(node, str) else 0.0


def _coordinates(layers: Layers, links: Links, widths: Mapping[str, float], gap: float) -> dict[Node, float]:
    """Centres along the layers: each node as close to the mean of its neighbours as its own layer allows."""
    above, below = _neighbours(links)
    x: dict[Node, float] = {}
    for layer in layers:
        x |= _centred(layer, widths, gap, 0.0)
    for sweep in range(_SWEEPS):
        downwards = sweep % 2 == 0
        for layer in layers if downwards else reversed(layers):
            linked = above if downwards else below
            wishes = [_mean([x[other] for other in linked[node]]) if node in linked else x[node] for node in layer]
            x |= dict(zip(layer, _spread(layer, wishes, widths, gap), strict=True))
    return x


def _spread(layer: Sequence[Node], wishes: Sequence[float], widths: Mapping[str, float], gap: float) -> list[float]:
    """The least-squares positions closest to the wishes that keep order and distance: isotonic regression."""
    offsets = [0.0]
    for left, right in pairwise(layer):
        offsets.append(offsets[-1] + (_width(left, widths) + _width(right, widths)) / 2 + gap)
    blocks: list[list[float]] = []
    for wish, offset in zip(wishes, offsets, strict=True):
        blocks.append([wish - offset])
        while len(blocks) > 1 and _mean(blocks[-2]) >= _mean(blocks[-1]):
            blocks[-2:] = [blocks[-2] + blocks[-1]]
    shifts = [_mean(block) for block in blocks for _ in block]
    return [shift + offset for shift, offset in zip(shifts, offsets, strict=True)]


def _centred(layer: Sequence[Node], widths: Mapping[str, float], gap: float, centre: float) -> dict[Node, float]:
    """Nodes side by side, with the middle of the row at `centre`."""
    places = _spread(layer, [0.0] * len(layer), widths, gap)
    shift = centre - (places[0] + places[-1]) / 2
    return {node: place + shift for node, place in zip(layer, places, strict=True)}


def _rows(names: Sequence[str], widths: Mapping[str, float], gap: float, row_width: float) -> list[list[Node]]:
    """Fill rows of about the given width."""
    rows: list[list[Node]] = []
    used = row_width
    for name in names:
        if used + widths[name] > row_width:
            rows.append([])
            used = 0.0
        rows[-1].append(name)
        used += widths[name] + gap
    return rows


def _span(x: Mapping[Node, float], widths: Mapping[str, float]) -> tuple[float, float]:
    """Leftmost and rightmost edge."""
    return (
        min((place - _width(node, widths) / 2 for node, place in x.items()), default=0.0),
        max((place + _width(node, widths) / 2 for node, place in x.items()), default=0.0),
    )


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
