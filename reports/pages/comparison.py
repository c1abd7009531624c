"""Compares two published releases: differences in the request, the input, the costs and the output.

Everything is taken from signed records and from the files that they describe. Figures measured on real records are
included only if both internal records are available. How a comparison is shown does not belong here.
"""

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

from deniable.evaluation.contract import Figure
from deniable.evaluation.registry import figures_of
from deniable.foundation.domain import Attribute, Domain
from reports.figures.marginals import DescribedTable, distance, shares_of
from reports.plots.graph_plot import Change
from schemas.provenance import Cost, Provenance, Spent
from schemas.spec.evaluation import scope_of
from stores.keys.signed_record import SignedRecord
from stores.publication.release_folder import PARQUET, SCHEMA

Edge = tuple[str, str]
Snapshot = Literal["same", "another", "unknown"]

_GRAPH = "graph.json"
_INTERNAL = "internal/"
_SHOWN_VALUES = 6
_RARE = 0.01
_FRACTION = re.compile(r"\d+/\d+")


@dataclass(frozen=True)
class Side:
    """One of the two releases.

    Attributes:
        record: its public record, signed.
        table: its attributes and their meanings.
        parents: by attribute, the attributes that it depends on, with the strength of each dependence.
        shares: by attribute, the share of each value in its synthetic table.
        figures: figures measured on real records; None if they are not to be compared.
    """

    record: Provenance
    table: DescribedTable
    parents: Mapping[str, Mapping[str, float]]
    shares: Mapping[str, Sequence[float]]
    figures: Mapping[str, float] | None = None


@dataclass(frozen=True)
class Difference:
    """One entry that differs.

    Attributes:
        place: its location.
        one: its value in the first release; None if it has none.
        other: its value in the second release.
    """

    place: str
    one: str | None
    other: str | None


@dataclass(frozen=True)
class CostPair:
    """The cost of one thing in both releases; None if it was not paid for or has no guarantee."""

    title: str
    one: Spent | None
    other: Spent | None

    @property
    def more(self) -> float | None:
        """How much more epsilon the second release spent, if both are finite."""
        if self.one is None or self.other is None or self.one.epsilon is None or self.other.epsilon is None:
            return None
        return self.other.epsilon - self.one.epsilon


@dataclass(frozen=True)
class FigurePair:
    """A figure measured on real records, in both releases.

    Attributes:
        name: its name.
        one: its value in the first release; None if it has none.
        other: its value in the second release.
        declared: what it is, if it is a figure of the evaluation and not of another step.
    """

    name: str
    one: float | None
    other: float | None
    declared: Figure | None = None

    @property
    def words(self) -> str:
        """What it is, if it is one of the most important figures."""
        return self.declared.words if self.declared is not None else ""

    @property
    def is_count(self) -> bool:
        """Whether it is a number of records; other steps have few figures that are not."""
        if self.declared is not None:
            return self.declared.is_count
        return all(float(value).is_integer() for value in (self.one, self.other) if value is not None)

    @property
    def more(self) -> float | None:
        """How much larger the figure is in the second release."""
        return None if self.one is None or self.other is None else self.other - self.one


@dataclass(frozen=True)
class MarginalPair:
    """The distance between the two synthetic tables in one attribute.

    Attributes:
        name: the attribute.
        distance: total variation distance.
        by_chance: the approximate mean distance between two tables of these sizes whose records are drawn independently
            from the same distribution.
        at_most: a distance that such tables do not exceed in 99 of 100 cases.
    """

    name: str
    distance: float
    by_chance: float
    at_most: float

    @property
    def beyond_chance(self) -> bool:
        """Whether the distance is larger than chance alone explains."""
        return self.distance > self.at_most


@dataclass(frozen=True)
class Comparison:
    """The differences between two releases.

    Attributes:
        one: the first.
        other: the second.
        spec: entries of the spec that differ.
        schema: differences in the table schema.
        snapshot: whether both were made from the same rows, as far as their commitments show.
        edges: each dependency in either graph, by (parent, child), and how it changed.
        costs: the cost of each step.
        made_by: differences in code and environment.
        figures: utility and risk; None if they are not to be compared.
        marginals: distances between the synthetic tables, for attributes with the same values in both.
    """

    one: Side
    other: Side
    spec: tuple[Difference, ...]
    schema: tuple[Difference, ...]
    snapshot: Snapshot
    edges: Mapping[Edge, Change]
    costs: tuple[CostPair, ...]
    made_by: tuple[Difference, ...]
    figures: tuple[FigurePair, ...] | None
    marginals: tuple[MarginalPair, ...]

    def edges_that(self, change: Change) -> list[Edge]:
        """The dependencies that changed in one way."""
        return [edge for edge, became in self.edges.items() if became == change]


def read_side(folder: Path, public: SignedRecord, internal: SignedRecord | None) -> Side:
    """Read the parts of a release that are compared.

    Args:
        folder: its folder, with the files that the record describes.
        public: its public record, whose signature is trusted.
        internal: its internal record, whose signature is trusted, if internal figures are to be compared.
    """
    described = json.loads((folder / SCHEMA).read_text(encoding="utf-8"))
    graph = folder / _GRAPH
    learnt = json.loads(graph.read_text(encoding="utf-8")).get("parents", {}) if graph.exists() else {}
    domain = Domain.from_document(described)
    within = internal.record.internal if internal is not None else None
    return Side(
        record=public.record,
        table=DescribedTable(
            domain,
            {attribute["name"]: attribute["title"] for attribute in described["attributes"]},
            {
                attribute["name"]: {str(each["value"]): each["label"] for each in attribute["values"] if each["label"]}
                for attribute in described["attributes"]
            },
        ),
        parents={child: {edge["name"]: edge["similarity"] for edge in into} for child, into in learnt.items()},
        shares=shares_of(folder / PARQUET, domain),
        figures=None
        if within is None
        else {name.removeprefix(_INTERNAL): value for name, value in within.figures.items()},
    )


def compare(one: Side, other: Side) -> Comparison:
    """Compare two releases.

    Args:
        one: the first.
        other: the second.

    Returns:
        The differences, including internal figures if both sides have them.
    """
    return Comparison(
        one=one,
        other=other,
        spec=_differences(one.record.spec.document, other.record.spec.document),
        schema=tuple(_schema_differences(one, other)),
        snapshot=_snapshot(one.record, other.record),
        edges=changed_edges(one.parents, other.parents),
        costs=_costs(one.record.cost, other.record.cost),
        made_by=_differences(_made_by(one.record), _made_by(other.record)),
        figures=_figures(one, other),
        marginals=tuple(_marginals(one, other)),
    )


def _differences(one: Mapping[str, Any], other: Mapping[str, Any]) -> tuple[Difference, ...]:
    """The entries that differ, in the order of the first document."""
    before, after = dict(_entries(one)), dict(_entries(other))
    return tuple(
        Difference(place, before.get(place), after.get(place))
        for place in [*before, *(place for place in after if place not in before)]
        if before.get(place) != after.get(place)
    )


def _entries(document: Mapping[str, Any], place: str = "") -> Iterator[tuple[str, str]]:
    """The entries of a document by their locations; a missing value is not an entry."""
    for key, value in document.items():
        if isinstance(value, Mapping):
            yield from _entries(value, f"{place}{key}.")
        elif value is not None:
            yield f"{place}{key}", _text(value)


def _text(value: Any) -> str:
    """A value as people write it; a fraction as a decimal number, if it has an exact one."""
    if isinstance(value, list | tuple):
        return ", ".join(map(_text, value))
    if isinstance(value, str) and _FRACTION.fullmatch(value):
        shown = f"{float(Fraction(value)):.12g}"
        return shown if Fraction(shown) == Fraction(value) else value
    return str(value)


def _schema_differences(one: Side, other: Side) -> Iterator[Difference]:
    """The differences in the schema file, and in the domain, attribute by attribute."""
    before, after = one.record.table_schema, other.record.table_schema
    if before.code != after.code:
        yield Difference("file", f"{before.dataset}, {before.code}", f"{after.dataset}, {after.code}")
    domains = one.table.domain, other.table.domain
    if domains[0].target != domains[1].target:
        yield Difference("target", domains[0].target, domains[1].target)
    known = [{attribute.name: attribute for attribute in domain.attributes} for domain in domains]
    for name in dict.fromkeys([*known[0], *known[1]]):
        first, second = known[0].get(name), known[1].get(name)
        if first is None or second is None:
            yield Difference(name, _described(first), _described(second))
        elif first != second:
            yield from _attribute_differences(first, second)
    if domains[0].names != domains[1].names and set(domains[0].names) == set(domains[1].names):
        yield Difference("order", ", ".join(domains[0].names), ", ".join(domains[1].names))


def _attribute_differences(one: Attribute, other: Attribute) -> Iterator[Difference]:
    if one.kind != other.kind:
        yield Difference(f"{one.name}: kind", one.kind, other.kind)
    if one.values != other.values:
        gone = [value for value in one.values if value not in other.values]
        new = [value for value in other.values if value not in one.values]
        place = f"{one.name}: values" if gone or new else f"{one.name}: order of the values"
        yield Difference(place, _some(gone, one), _some(new, other))
    elif one.buckets != other.buckets:
        yield Difference(f"{one.name}: buckets", f"{one.bucket_count} buckets", f"{other.bucket_count} buckets")


def _some(values: Sequence[object], attribute: Attribute) -> str:
    """The number of values of an attribute, and those that only one side has."""
    shown = ", ".join(map(str, values[:_SHOWN_VALUES]))
    more = f" and {len(values) - _SHOWN_VALUES} more" if len(values) > _SHOWN_VALUES else ""
    only = f", only here {shown}{more}" if values else ""
    return f"{attribute.cardinality} values{only}"


def _described(attribute: Attribute | None) -> str | None:
    return None if attribute is None else f"{attribute.kind}, {attribute.cardinality} values"


def _snapshot(one: Provenance, other: Provenance) -> Snapshot:
    """Whether the rows were the same: only commitments under the same key can be compared."""
    if one.input.key != other.input.key:
        return "unknown"
    return "same" if one.input.commitment == other.input.commitment else "another"


def changed_edges(
    one: Mapping[str, Mapping[str, float]], other: Mapping[str, Mapping[str, float]]
) -> dict[Edge, Change]:
    """Determine how each dependency changed from one graph to another.

    Args:
        one: by attribute, its parents in the first graph.
        other: the same in the second graph.

    Returns:
        The dependencies, by (parent, child); a reversed one appears once, in its direction in the second graph.
    """
    before = {(parent, child) for child, into in one.items() for parent in into}
    after = {(parent, child) for child, into in other.items() for parent in into}
    changes: dict[Edge, Change] = {}
    for edge in sorted(after):
        turned = edge[::-1] in before
        changes[edge] = "kept" if edge in before else "turned" if turned else "added"
    for edge in sorted(before - after):
        if edge[::-1] not in after:
            changes[edge] = "removed"
    return changes


def _costs(one: Cost, other: Cost) -> tuple[CostPair, ...]:
    """The cost of everything that was paid for in either release."""
    steps = [{step.step: step for step in cost.steps} for cost in (one, other)]
    names = dict.fromkeys([*steps[0], *steps[1]])
    of_steps = [
        CostPair(name.replace("_", " "), *(there[name].guarantee if name in there else None for there in steps))
        for name in names
    ]
    of_records = [next((step.record for step in cost.steps if step.record), None) for cost in (one, other)]
    pairs = [*of_steps, CostPair("model", one.model, other.model), CostPair("one attempt", *of_records)]
    whole = CostPair("whole release", one.total, other.total)
    return *(pair for pair in pairs if pair.one or pair.other), whole


def _made_by(record: Provenance) -> dict[str, Any]:
    """How a release was made: code, environment, people and signing key."""
    return {
        "code": record.code.model_dump(),
        "environment": record.environment.model_dump(),
        "started by": record.people.started_by,
        "approval": record.people.approval and f"{record.people.approval.decision} by {record.people.approval.by}",
        "signed by key": record.signed.keyid,
    }


def _figures(one: Side, other: Side) -> tuple[FigurePair, ...] | None:
    before, after = one.figures, other.figures
    if before is None or after is None:
        return None
    declared = {**_declared(other.record), **_declared(one.record)}
    names = dict.fromkeys([*before, *after])
    return tuple(FigurePair(name, before.get(name), after.get(name), declared.get(name)) for name in names)


def _declared(record: Provenance) -> Mapping[str, Figure]:
    """The figures of a release's evaluation, by name."""
    asked = record.spec.document["evaluation"]
    return figures_of(
        scope_of(
            classifiers=asked["classifiers"],
            sensitive=asked["sensitive"],
            on_public_table=asked.get("public") is not None,
        )
    )


def _marginals(one: Side, other: Side) -> Iterator[MarginalPair]:
    """The attributes with the same values in both tables, and the distance between the tables in each."""
    sizes = one.record.release.records, other.record.release.records
    for name in shared_attributes(one.table.domain, other.table.domain):
        first, second = one.shares[name], other.shares[name]
        pooled = [(a + b) / 2 for a, b in zip(first, second, strict=True)]
        yield MarginalPair(
            name, distance(first, second), distance_by_chance(pooled, *sizes), distance_at_most(pooled, *sizes)
        )


def distance_by_chance(shares: Sequence[float], records: int, others: int) -> float:
    """Approximate the mean total variation distance between two tables that differ by chance alone.

    Args:
        shares: probability of each value, the same for both tables.
        records: number of records in one table.
        others: number of records in the other.

    Returns:
        The mean, by the normal approximation for each share: half the sum of E|N(0, p (1 - p) (1/n + 1/m))|.
    """
    spread = 1 / records + 1 / others
    return sum(math.sqrt(share * (1 - share) * spread) for share in shares) / math.sqrt(2 * math.pi)


def distance_at_most(shares: Sequence[float], records: int, others: int) -> float:
    """Bound the distance between two tables drawn from the same distribution in 99 of 100 cases.

    One record changes the distance by at most 1 over the number of records in its table, so the distance exceeds its
    mean by t with a probability of at most exp(-2 t^2 / (1/n + 1/m)).

    Args:
        shares: probability of each value, the same for both tables.
        records: number of records in one table.
        others: number of records in the other.

    Returns:
        The mean, by `distance_by_chance`, plus the t with probability 0.01.

    Source: McDiarmid 1989, the bounded differences inequality.
    """
    room = math.sqrt(-math.log(_RARE) / 2 * (1 / records + 1 / others))
    return distance_by_chance(shares, records, others) + room


def shared_attributes(one: Domain, other: Domain) -> tuple[str, ...]:
    """Names of the attributes that have the same values, in the same order, in both domains."""
    values = {attribute.name: attribute.values for attribute in one.attributes}
    return tuple(attribute.name for attribute in other.attributes if values.get(attribute.name) == attribute.values)
