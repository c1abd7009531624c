"""`measured.json`: everything that a learner measured, written and read; one format for all learners.

Format 4 also has counts of growing bins; a document without any is written in format 3, which is otherwise the same.
Format 3 states the law of noise of every release, how the measured rows were obtained, and every choice with its turn.
Format 2, which only the log-linear learner wrote, is still read, so that its releases remain verifiable. The first
version, which stated no format and held floating-point means, is not read here: the log-linear learner's verification
reports its defect.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from math import isfinite
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from deniable.foundation.domain import Domain
from deniable.foundation.errors import InvalidInput
from deniable.foundation.exact_numbers import exact_number
from deniable.measurements.growing_bins import growing_bins
from deniable.measurements.noisy_tables import Cells, MeasuredTable, NoiseLaw, Release, cells_of_query

FILE: Final = "measured.json"
FORMAT: Final = "deniable/measured/3"
FORMAT_WITH_BINS: Final = "deniable/measured/4"
FORMATS: Final = (FORMAT, FORMAT_WITH_BINS)
"""The formats in which documents are written."""
BEFORE: Final = "deniable/measured/2"

Sampling = Literal["census", "simple random", "unknown"]
"""The sampling of the source's rows from the population that they describe."""
SAMPLINGS: Final = ("census", "simple random", "unknown")

_ENTRIES = {"format", "learner", "universe", "records", "order", "buckets", "tables", "choices", "figures"}
_ENTRIES_BEFORE = {
    "format",
    "noise",
    "amount",
    "records",
    "signal",
    "order",
    "buckets",
    "attributes",
    "tables",
    "choices",
}
_TABLE = {"attributes", "by_values", "differences", "reason", "releases"}
_TWO = 2


@dataclass(frozen=True)
class Universe:
    """The rows that were measured.

    Attributes:
        part: the part of the split that was counted; record and spec state the probability with which a row is in it.
        sampling: the sampling of the source's rows from the population, as stated by the custodian.
        rows: the number of rows of the part, if it is public; otherwise it is only estimated.
    """

    part: str
    sampling: Sampling = "unknown"
    rows: int | None = None

    def document(self) -> dict[str, Any]:
        """The universe, ready for JSON."""
        return {"part": self.part, "sampling": self.sampling, "rows": self.rows}

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> "Universe":
        """Read the universe.

        Raises:
            InvalidInput: an entry is invalid.
            KeyError: something is missing.
        """
        part, sampling, rows = document["part"], document["sampling"], document["rows"]
        if len(document) != len(("part", "sampling", "rows")) or not isinstance(part, str):
            raise InvalidInput(f"{FILE} must state part, sampling and rows of its universe, got {dict(document)}.")
        if sampling not in SAMPLINGS:
            raise InvalidInput(f"{FILE}: sampling must be one of {', '.join(SAMPLINGS)}, got {sampling}.")
        if rows is not None and (type(rows) is not int or rows < 0):
            raise InvalidInput(f"{FILE}: a public number of rows must be a whole number, got {rows}.")
        return cls(part, sampling, rows)


@dataclass(frozen=True)
class Choice:
    """One choice by the exponential mechanism.

    Attributes:
        turn: its number among all queries of the step, including releases, from 1.
        purpose: the kind of choice.
        candidates: number of candidates.
        chosen: number of the chosen candidate, from 0.
        attributes: column numbers of the attributes of the chosen table, if the learner states them.
    """

    turn: int
    purpose: str
    candidates: int
    chosen: int
    attributes: tuple[int, ...] | None = None


@dataclass(frozen=True, eq=False)
class Measurements:
    """All measurements of a step.

    Attributes:
        domain: the public domain.
        learner: name of the learner.
        universe: the rows that were measured.
        buckets: bucket of each value of each attribute, numbered from 0 without gaps; they may depend on earlier
            releases, but not on anything confidential.
        tables: the tables, including one-way marginals.
        choices: the choices of this step, by turn.
        records: the learner's estimate of the number of rows, at least 0.
        order: column numbers of the attributes in the order of drawing.
        figures: further public figures of the learner, functions of the releases.
    """

    domain: Domain
    learner: str
    universe: Universe
    buckets: tuple[NDArray[np.integer], ...]
    tables: tuple[MeasuredTable, ...]
    choices: tuple[Choice, ...]
    records: float
    order: tuple[int, ...]
    figures: Mapping[str, float] = field(default_factory=dict)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Number of buckets of each attribute."""
        return tuple(int(np.max(own)) + 1 for own in self.buckets)

    @cached_property
    def ones(self) -> tuple[MeasuredTable, ...]:
        """The one-way marginals."""
        return tuple(table for table in self.tables if len(table.attributes) == 1)

    @cached_property
    def larger(self) -> tuple[MeasuredTable, ...]:
        """The tables of several attributes."""
        return tuple(table for table in self.tables if len(table.attributes) > 1)

    def cells(self, table: MeasuredTable) -> tuple[int, ...]:
        """Number of values or buckets of each attribute of a table."""
        return cells_of_query(table.attributes, table.by_values, self.domain.cardinalities, self.sizes)

    def document(self) -> dict[str, Any]:
        """The document, ready for JSON.

        Raises:
            InvalidInput: it would not pass verification of its form.
        """
        for fault in self.faults():
            raise InvalidInput(f"{fault}; correct the learner.")
        names = self.domain.names
        return {
            "format": FORMAT_WITH_BINS if any(table.binned for table in self.tables) else FORMAT,
            "learner": self.learner,
            "universe": self.universe.document(),
            "records": self.records,
            "order": [names[i] for i in self.order],
            "buckets": {name: own.tolist() for name, own in zip(names, self.buckets, strict=True)},
            "tables": [self._table(table) for table in self.tables],
            "choices": [self._choice(choice) for choice in self.choices],
            "figures": dict(self.figures),
        }

    def _table(self, table: MeasuredTable) -> dict[str, Any]:
        names = self.domain.names
        document: dict[str, Any] = {
            "attributes": [names[i] for i in table.attributes],
            "by_values": [names[i] for i in table.by_values],
            "differences": [names[i] for i in table.differences],
            "reason": table.reason,
            "releases": [release.document() for release in table.releases],
        }
        if table.binned:
            document["binned"] = [release.document() for release in table.binned]
        return document if table.denoised is None else {**document, "denoised": table.denoised.tolist()}

    def _choice(self, choice: Choice) -> dict[str, Any]:
        document: dict[str, Any] = {
            "turn": choice.turn,
            "purpose": choice.purpose,
            "candidates": choice.candidates,
            "chosen": choice.chosen,
        }
        if choice.attributes is not None:
            document["attributes"] = [self.domain.names[i] for i in choice.attributes]
        return document

    @classmethod
    def from_document(cls, domain: Domain, document: Mapping[str, Any]) -> "Measurements":
        """Read `measured.json`, of format 2, 3 or 4.

        Args:
            domain: the public domain, from `schema.json`.
            document: the file's content.

        Raises:
            InvalidInput: it has another format, or is malformed.
            KeyError, TypeError, ValueError: it is not such a document.
        """
        found = cls.parsed(domain, document)
        for fault in found.faults():
            raise InvalidInput(f"{fault}.")
        return found

    @classmethod
    def parsed(cls, domain: Domain, document: Mapping[str, Any]) -> "Measurements":
        """Read the document without applying `faults`; see `from_document`."""
        written = document["format"]
        if written == BEFORE:
            document = _as_now(document)
        elif written not in FORMATS:
            raise InvalidInput(f"{FILE} must be of the format {FORMAT_WITH_BINS}, got {written}; take a later version")
        if set(document) != _ENTRIES:
            raise InvalidInput(f"{FILE} must have the entries of its format, got {', '.join(sorted(document))}")
        if list(document["buckets"]) != list(domain.names):
            raise InvalidInput(f"{FILE} must have the buckets of each attribute, in the order of the domain")
        return cls(
            domain=domain,
            learner=document["learner"],
            universe=Universe.from_document(document["universe"]),
            buckets=tuple(_whole_numbers(name, own) for name, own in document["buckets"].items()),
            tables=tuple(_read_table(domain, number, each) for number, each in enumerate(document["tables"], 1)),
            choices=tuple(_read_choice(domain, each) for each in document["choices"]),
            records=document["records"],
            order=domain.subset(document["order"]),
            figures=document["figures"],
        )

    def named(self, table: MeasuredTable) -> str:
        """A table as named in a fault."""
        return f"table of {', '.join(self.domain.names[i] for i in table.attributes)}"

    def faults(self) -> Iterator[str]:
        """Faults of form: wrong shapes, duplicates, or turns without a query."""
        yield from self._faults_of_buckets()
        numbers = {"records": self.records, **self.figures}
        for name, figure in numbers.items():
            if type(figure) is not float or not isfinite(figure) or figure < 0:
                yield f"{FILE}: {name} must be a number, at least 0, got {figure}"
        if sorted(self.order) != list(range(len(self.domain))):
            yield f"{FILE}: the order must have each attribute once"
        for table in self.tables:
            yield from (f"{FILE}, {self.named(table)}: {fault}" for fault in self._faults_of_table(table))
        asked: set[tuple[tuple[int, ...], tuple[int, ...]]] = set()
        for table in self.tables:
            key = (table.attributes, self._resolution(table))
            if key in asked:
                yield f"{FILE} has the {self.named(table)} twice; append its releases to the first"
            asked.add(key)
        yield from self._faults_of_turns()

    def _faults_of_buckets(self) -> Iterator[str]:
        for attribute, own in zip(self.domain.attributes, self.buckets, strict=True):
            if len(own) != attribute.cardinality or set(own.tolist()) != set(range(len(set(own.tolist())))):
                yield f"{FILE}: each value of {attribute.name} must have a bucket, numbered from 0 without a gap"

    def _faults_of_table(self, table: MeasuredTable) -> Iterator[str]:
        known = range(len(self.domain))
        ascending = list(table.attributes) == sorted(set(table.attributes))
        if not table.attributes or not ascending or not set(table.attributes) <= set(known):
            yield "its attributes must be attributes of the domain, in its order, each once"
            return
        for said, named in (("by_values", table.by_values), ("differences", table.differences)):
            if list(named) != [i for i in table.attributes if i in named]:
                yield f"{said} must be some of its attributes, in their order"
                return
        yield from self._faults_of_shapes(table)

    def _faults_of_shapes(self, table: MeasuredTable) -> Iterator[str]:
        cells = self.cells(table)
        sizes = list(zip(table.attributes, cells, strict=True))
        if not set(table.differences) <= {i for i, size in sizes if size == _TWO}:
            yield "only attributes with two buckets or values can be released as differences"
            return
        asked = tuple(1 if i in table.differences else size for i, size in sizes)
        if not table.releases:
            yield "it must have been released"
        for release in table.releases:
            if release.sums.shape != asked:
                yield f"its sums must have the shape {asked}, got {release.sums.shape}"
        if table.binned:
            yield from self._faults_of_bins(table)
        if table.denoised is not None:
            if table.denoised.shape != cells:
                yield f"its denoised counts must have the shape {cells}, got {table.denoised.shape}"
            elif not (np.isfinite(table.denoised).all() and (table.denoised >= 0).all()):
                yield "its denoised counts must be numbers, none below 0"

    def _faults_of_bins(self, table: MeasuredTable) -> Iterator[str]:
        bins = growing_bins(self.domain.attributes[table.attributes[0]])
        if table.attributes != table.by_values or len(table.attributes) != 1 or bins is None:
            yield "only a number with growing bins, counted by values, can be counted by these, too"
            return
        for release in table.binned:
            if release.sums.shape != (bins.size,):
                yield f"its sums of growing bins must have the shape {(bins.size,)}, got {release.sums.shape}"

    def _resolution(self, table: MeasuredTable) -> tuple[int, ...]:
        """The attributes that a table has by values, either as stated or because buckets are single values."""
        sizes = self.domain.cardinalities
        return tuple(i for i in table.attributes if i in table.by_values or self.sizes[i] == sizes[i])

    def _faults_of_turns(self) -> Iterator[str]:
        for choice in self.choices:
            numbers = (choice.turn, choice.candidates, choice.chosen)
            whole = all(type(number) is int for number in numbers) and isinstance(choice.purpose, str)
            if not whole or not 0 <= choice.chosen < choice.candidates:
                yield f"{FILE}: a choice must be one of its candidates, got {choice}"
                return
        turns = [release.turn for table in self.tables for release in table.every_release]
        turns += [choice.turn for choice in self.choices]
        if len(set(turns)) < len(turns):
            yield f"{FILE}: two queries have the same turn"
        elif max(turns, default=0) != len(turns):
            yield f"{FILE}: a turn belongs to no release and no choice: a query is missing from the document"


def with_sampling(document: Mapping[str, Any], sampling: Sampling) -> dict[str, Any]:
    """The measurements' document, with a statement of how the source's rows were sampled."""
    return {**document, "universe": {**document["universe"], "sampling": sampling}}


def _whole_numbers(name: str, own: Sequence[Any]) -> NDArray[np.int64]:
    if not own or not all(type(bucket) is int for bucket in own):
        raise InvalidInput(f"{FILE}: each value of {name} must have a bucket, numbered from 0 without a gap")
    return np.asarray(own, np.int64)


def _read_table(domain: Domain, number: int, entry: Mapping[str, Any]) -> MeasuredTable:
    where = f"{FILE}, table {number} ({', '.join(map(str, entry['attributes']))})"
    if set(entry) - {"denoised", "binned"} != _TABLE or not isinstance(entry["reason"], str):
        raise InvalidInput(f"{where}: it must have the entries of its format, got {', '.join(sorted(entry))}")
    try:
        releases, binned = (
            tuple(Release.from_document(each) for each in entry.get(name, ())) for name in ("releases", "binned")
        )
    except InvalidInput as error:
        raise InvalidInput(f"{where}: {error}") from None
    return MeasuredTable(
        attributes=domain.subset(entry["attributes"]),
        releases=releases,
        by_values=domain.subset(entry["by_values"]),
        differences=domain.subset(entry["differences"]),
        reason=entry["reason"],
        denoised=_cells(entry["denoised"]) if "denoised" in entry else None,
        binned=binned,
    )


def _cells(listed: Any) -> Cells:
    return np.asarray(listed, np.float64)


def _read_choice(domain: Domain, entry: Mapping[str, Any]) -> Choice:
    if set(entry) - {"attributes"} != {"turn", "purpose", "candidates", "chosen"}:
        raise InvalidInput(f"{FILE}: a choice must be one of its candidates, got {entry}")
    chosen = domain.subset(entry["attributes"]) if "attributes" in entry else None
    return Choice(entry["turn"], entry["purpose"], entry["candidates"], entry["chosen"], chosen)


def _as_now(document: Mapping[str, Any]) -> Mapping[str, Any]:
    """Convert a document of format 2 to format 3.

    Shares became laws: with Gaussian noise one draw had the stated variance, and there was one for each share; with
    Laplace noise there was one draw, of the stated scale divided by the shares. Choices had no turns: they get those
    of no release, in order.
    """
    if set(document) != _ENTRIES_BEFORE:
        raise InvalidInput(f"{FILE} must have the entries of its format, got {', '.join(sorted(document))}")
    noise, amount = document["noise"], exact_number(str(document["amount"]))
    if noise not in ("gaussian", "laplace") or amount <= 0:
        raise InvalidInput(f"{FILE} must name its noise, and an amount above 0")

    def release(entry: Mapping[str, Any], where: str) -> dict[str, Any]:
        shares = entry["shares"]
        if type(shares) is not int or shares < 1:
            raise InvalidInput(
                f"{FILE}, {where}: multiplier, shares and turn of a release must be integers, at least 1"
            )
        multiplier = shares if noise == "gaussian" else 1
        if type(entry["multiplier"]) is not int or entry["multiplier"] != multiplier:
            raise InvalidInput(f"{FILE}, {where}: its multiplier must be {multiplier}, got {entry['multiplier']}")
        law = NoiseLaw(noise, amount if noise == "gaussian" else amount / Fraction(shares))
        return {"turn": entry["turn"], "noise": law.document(), "multiplier": multiplier, "sums": entry["sums"]}

    def table(entry: Mapping[str, Any], names: Sequence[str], **rest: Any) -> dict[str, Any]:
        where = f"table of {', '.join(names)}"
        releases = [release(each, where) for each in entry["releases"]]
        return {"attributes": names, "releases": releases, "denoised": entry["denoised"], **rest}

    tables = [
        table(entry, [name], by_values=[name], differences=[], reason="one-way")
        for name, entry in document["attributes"].items()
    ]
    tables += [
        table(
            entry,
            entry["attributes"],
            by_values=entry["by_values"],
            differences=entry["differences"],
            reason=entry["reason"],
        )
        for entry in document["tables"]
    ]
    taken = {each["turn"] for entry in tables for each in entry["releases"]}
    every = len(taken) + len(document["choices"])
    free = [turn for turn in range(1, every + 1) if turn not in taken]
    # If a release is missing, there are fewer free turns than choices, and the form is reported as faulty.
    free += range(every + 1, every + 1 + len(document["choices"]))
    return {
        "format": FORMAT,
        "learner": "loglinear",
        "universe": Universe("parameters").document(),
        "records": document["records"],
        "order": document["order"],
        "buckets": document["buckets"],
        "tables": tables,
        "choices": [{"turn": turn, **each} for turn, each in zip(free, document["choices"], strict=False)],
        "figures": {"signal": document["signal"]},
    }
