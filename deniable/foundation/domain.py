"""The public description of a table: its attributes, their values and their buckets.

Nothing here is ever learnt from data: a domain that depends on the data discloses information about them.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from hashlib import sha256
from itertools import combinations
from math import lcm, nan
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from deniable.foundation.errors import InvalidInput
from deniable.foundation.rule_components import Component, components
from deniable.foundation.rules import (
    Derived,
    PublicTotal,
    Relation,
    Rule,
    determined_in_order,
    require_rules,
    rule_from_document,
)

Value = int | float | str | bool
Kind = Literal["numeric", "ordered", "nominal"]
Codes = NDArray[np.unsignedinteger[Any]]
"""Value codes: of 32 bits if an attribute has more than `MAX_CARDINALITY` values, otherwise of 16."""
Parents = tuple[tuple[int, ...], ...]
"""The parents of each attribute in a dependency graph, by column number."""

MAX_CARDINALITY = 65_535
"""Largest number of values of an attribute for most learners, whose codes have 16 bits."""
MOST_VALUES = 1_000_000
"""Largest number of values of any attribute, such as places, for the learners that draw from lists of occupied ones."""
# Numbers are read as float64, which represents every integer up to this one exactly and uniquely.
_LARGEST_NUMBER, _LARGEST_SCALE = 2**53 - 1, 10**12
_LONGEST_NUMBER = 40
MOST_RECORDS_OF_A_PERSON = 100
FALSE, TRUE = TRUTH_VALUES = ("false", "true")
PERSONS = "-persons-"
"""Separates a dataset's name from the identifier of people if the guarantees in its ledger are for one person."""


CodeType: TypeAlias = type[np.unsignedinteger[Any]]


def code_type_for(values: int) -> CodeType:
    """The type of codes of a number of values: 16 bits where they suffice."""
    return np.uint16 if values <= MAX_CARDINALITY else np.uint32


@dataclass(frozen=True)
class Bins:
    """The bins of a numeric attribute that has too many values to be counted one by one.

    Each value of the attribute is the first number of a bin. Records are counted and drawn by bin, and a published
    record has a number from its bin.

    Attributes:
        last: the last number of each value's bin, of the values' type; the value itself for a bin of one number.
        step: distance between neighbouring numbers.
    """

    last: tuple[Value, ...]
    step: Value


def _number_in(text: str, *, is_float: bool) -> float:
    """The number that a text states, if it is formatted as Python formats it; otherwise NaN."""
    try:
        number = float(text) if is_float else int(text)
        return float(number) if len(text) <= _LONGEST_NUMBER and str(number) == text != "-0.0" else nan
    except (ValueError, OverflowError):
        return nan


@dataclass(frozen=True)
class Attribute:
    """One column: its values in code order, and the bucket of each value when the column is a parent.

    Attributes:
        name: the column's name.
        values: the value of each code 0..cardinality-1, in public order.
        kind: if the order of the values is meaningful, `numeric` for numbers and `ordered` for names; otherwise
            `nominal`.
        buckets: bucket of each code, the integers 0..bucket_count-1, each used at least once.
        bins: the bin of numbers that each value represents; None if it represents itself.
        missing: the value that stands for a missing one in the model; tables have an empty field (CSV) or null
            (Parquet) in its place. None if there is none, or if tables have the value itself, such as a word.
        is_boolean: whether the values are `false` and `true`, which Parquet stores as truth values.
    """

    name: str
    values: tuple[Value, ...]
    kind: Kind
    buckets: tuple[int, ...]
    bins: Bins | None = None
    missing: Value | None = None
    is_boolean: bool = False

    def __post_init__(self) -> None:
        """Refuse an invalid attribute."""
        if not 1 <= len(self.values) <= MOST_VALUES:
            msg = f"attribute {self.name} must have 1 to {MOST_VALUES:,} values, got {len(self.values):,}."
            raise InvalidInput(msg)
        if len(set(self.values)) != len(self.values):
            msg = f"the values of attribute {self.name} must be distinct, got one twice; list each once."
            raise InvalidInput(msg)
        if len(self.buckets) != len(self.values):
            msg = (
                f"attribute {self.name} must have a bucket for each of its {len(self.values)} values, "
                f"got {len(self.buckets)}."
            )
            raise InvalidInput(msg)
        if set(self.buckets) != set(range(max(self.buckets) + 1)):
            msg = f"the buckets of attribute {self.name} must be numbered 0, 1, 2 ... without a gap."
            raise InvalidInput(msg)
        if self.bins is not None:
            self._require_bins(self.bins)
        if self.missing is not None and self.missing not in self.values:
            msg = f"the value for missing of attribute {self.name} must be one of its values, and is not; correct it."
            raise InvalidInput(msg)
        if self.is_boolean and {*self.values} - {self.missing} != {*TRUTH_VALUES}:
            msg = f"the values of the boolean attribute {self.name} must be false and true, got others; correct them."
            raise InvalidInput(msg)

    def _require_bins(self, bins: Bins) -> None:
        """Refuse bins that overlap, are out of order, or have a number that cannot be represented exactly."""
        sound = (
            len(bins.last) == len(self.values)
            and {type(value) for value in (*self.values, *bins.last)} in ({int}, {float})
            and type(bins.step) in (int, float)
            and all(-_LARGEST_NUMBER <= float(value) <= _LARGEST_NUMBER for value in (*self.values, *bins.last))
            and 0 < float(bins.step) <= _LARGEST_NUMBER
        )
        if sound:
            first, last, step, scale = self._in_units
            sound = scale <= _LARGEST_SCALE and max(map(abs, (*first, *last)), default=0) <= _LARGEST_NUMBER
            sound = sound and all(
                low <= high and (high - low) % step == 0 for low, high in zip(first, last, strict=True)
            )
            sound = sound and all(high < low for high, low in zip(last, first[1:], strict=False))
        if not sound:
            raise InvalidInput(
                f"the bins of attribute {self.name} must be in order, apart from each other and in whole steps, and "
                f"their numbers at most {_LARGEST_NUMBER:,} units of a common fraction; correct them."
            )

    @cached_property
    def _in_units(self) -> tuple[list[int], list[int], int, int]:
        """First and last numbers of the bins, the step, and the number of units in 1; all in these units."""
        last, step = (self.values, 1) if self.bins is None else (self.bins.last, self.bins.step)
        exact = [Fraction(str(number)) for number in (*self.values, *last, step)]
        scale = lcm(*(number.denominator for number in exact))
        units = [int(number * scale) for number in exact]
        return units[: len(last)], units[len(last) : -1], units[-1], scale

    def edges(self, codes: Sequence[int]) -> tuple[list[int], list[int]]:
        """Where the numbers of some values begin, and where those after them do, in units of a common fraction.

        A value without a bin reaches to the next one; the last one is as wide as the one before it.

        Args:
            codes: at least two values, ascending.
        """
        first, last, step, _ = self._in_units
        starts = [first[code] for code in codes]
        if self.bins is not None:
            return starts, [last[code] + step for code in codes]
        return starts, [*starts[1:], 2 * starts[-1] - starts[-2]]

    def bins_of(self, numbers: NDArray[np.float64]) -> NDArray[np.int64]:
        """The code of each number's bin, -1 if it is in none; for an attribute with bins.

        Args:
            numbers: shape (records,).
        """
        first, last, step, scale = self._in_units
        with np.errstate(invalid="ignore", over="ignore"):
            scaled = np.rint(numbers * scale)
            exact = np.isfinite(numbers) & (np.abs(scaled) <= _LARGEST_NUMBER) & (scaled / scale == numbers)
        units = np.where(exact, scaled, 0).astype(np.int64)
        place = np.searchsorted(np.asarray(first, np.int64), units, side="right") - 1
        inside = exact & (place >= 0)
        own = np.maximum(place, 0)
        inside &= units <= np.asarray(last, np.int64)[own]
        inside &= (units - np.asarray(first, np.int64)[own]) % step == 0
        return np.where(inside, place, -1)

    def bins_of_texts(self, texts: Sequence[str]) -> NDArray[np.int64]:
        """The code of the bin of each number as written in tables, -1 for other texts; for an attribute with bins."""
        is_float = isinstance(self.values[0], float)
        numbers = [_number_in(text, is_float=is_float) for text in texts]
        return self.bins_of(np.asarray(numbers, np.float64))

    @property
    def bin_sizes(self) -> NDArray[np.uint64]:
        """The count of numbers that each value represents, shape (cardinality,)."""
        first, last, step, _ = self._in_units
        sizes = [(high - low) // step + 1 for low, high in zip(first, last, strict=True)]
        return np.asarray(sizes, np.uint64)

    def numbers_in(self, codes: NDArray[Any], places: NDArray[np.int64]) -> NDArray[Any]:
        """The numbers at given places of their bins: int64, or float64 if the values are floats.

        Args:
            codes: the bins, shape (records,).
            places: place of each number in its bin, from 0, same shape.
        """
        first, _, step, scale = self._in_units
        units = np.asarray(first, np.int64)[codes] + places * step
        # A quotient of integers below 2^53 is rounded correctly, as is a decimal number when parsed.
        return np.asarray(units / scale if isinstance(self.values[0], float) else units)

    @cached_property
    def written(self) -> tuple[str, ...]:
        """Each value as text, as CSV has it; for an attribute with bins, the first number of each bin."""
        return tuple("" if value == self.missing else str(value) for value in self.values)

    @cached_property
    def stored(self) -> tuple[Value | None, ...]:
        """Each value as Parquet has it; for an attribute with bins, the first number of each bin."""
        plain = [value == TRUE if self.is_boolean else value for value in self.values]
        return tuple(None if value == self.missing else own for value, own in zip(self.values, plain, strict=True))

    @property
    def cardinality(self) -> int:
        """Number of values."""
        return len(self.values)

    @property
    def is_ordered(self) -> bool:
        """Whether the order of the values is meaningful."""
        return self.kind != "nominal"

    @property
    def bucket_count(self) -> int:
        """Number of buckets."""
        return max(self.buckets) + 1

    @cached_property
    def bucket_of(self) -> Codes:
        """Bucket of each code, shape (cardinality,)."""
        return np.asarray(self.buckets, dtype=code_type_for(self.bucket_count))

    @property
    def code_type(self) -> CodeType:
        """The type in which files hold its codes."""
        return code_type_for(self.cardinality)


@dataclass(frozen=True)
class Person:
    """The people in a table that may have several records of each: the privacy unit of its releases is one person.

    Attributes:
        column: the identifier in the source that distinguishes people, which is never released.
        most_records: the largest number of one person's records that a release uses, chosen at random.
    """

    column: str
    most_records: int = 1

    def __post_init__(self) -> None:
        """Refuse a number of records per person out of range."""
        if type(self.most_records) is not int or not 1 <= self.most_records <= MOST_RECORDS_OF_A_PERSON:
            raise InvalidInput(
                f"most_records must be a whole number from 1 to {MOST_RECORDS_OF_A_PERSON}, got {self.most_records}: "
                "noise grows in proportion to it; take fewer, or make one row of each person's records."
            )

    @property
    def ending(self) -> str:
        """The suffix of the name of a dataset in whose ledger all guarantees are for one such person."""
        return PERSONS + re.sub(r"[^A-Za-z0-9._-]", "_", self.column)

    @classmethod
    def from_document(cls, document: Mapping[str, Any] | None) -> "Person | None":
        """Read the people from what `document` returned; None if the document is absent.

        Raises:
            InvalidInput, LookupError, TypeError: the document does not describe people.
        """
        if document is None:
            return None
        if set(document) != {"column", "most_records"} or not isinstance(document["column"], str):
            raise InvalidInput("a person must have a column and most_records, got something else.")
        return cls(document["column"], document["most_records"])

    def document(self) -> dict[str, Any]:
        """The description, ready for JSON."""
        return {"column": self.column, "most_records": self.most_records}


@dataclass(frozen=True)
class Domain:
    """The attributes of a table in column order, and public knowledge about its records.

    Attributes:
        attributes: the attributes.
        target: the attribute that classifiers predict in evaluation.
        rules: rules that every record satisfies.
        totals: public totals of the whole table.
        whole: the whole domain, if this one has only the modelled attributes; otherwise None.
        person: the people, if the table may have several records of each; None if the privacy unit is one record.
    """

    attributes: tuple[Attribute, ...]
    target: str | None = None
    rules: tuple[Rule, ...] = ()
    totals: tuple[PublicTotal, ...] = ()
    whole: "Domain | None" = field(default=None, repr=False)
    person: Person | None = None

    def __post_init__(self) -> None:
        """Refuse a domain without attributes, with a repeated name, or with an unknown target."""
        if not self.attributes:
            msg = "a domain must have at least one attribute, got none."
            raise InvalidInput(msg)
        if len(set(self.names)) != len(self.names):
            msg = "the attributes of a domain must have different names; rename one."
            raise InvalidInput(msg)
        if self.target is not None and self.target not in self.names:
            msg = f"the target must be one of {', '.join(self.names)}, got {self.target}."
            raise InvalidInput(msg)
        require_rules(self, self.rules, self.totals)
        if self.totals and self.most_records > 1:
            raise InvalidInput(
                f"public totals must be of a table of which one record of each person is used, got most_records="
                f"{self.most_records}: the rows that are used are then not the table's; leave the totals out."
            )

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> "Domain":
        """The public domain that a release's `schema.json` describes.

        Raises:
            InvalidInput, LookupError, TypeError: the document does not describe a domain.
        """
        attributes = tuple(
            Attribute(
                name=attribute["name"],
                values=tuple(each["value"] for each in attribute["values"]),
                kind=attribute["kind"],
                buckets=tuple(each["bucket"] for each in attribute["values"]),
                bins=None
                if "step" not in attribute
                else Bins(tuple(each["last"] for each in attribute["values"]), attribute["step"]),
                missing=attribute.get("missing"),
                is_boolean=attribute.get("type") == "boolean",
            )
            for attribute in document["attributes"]
        )
        return cls(
            attributes,
            target=document["target"],
            rules=tuple(rule_from_document(rule) for rule in document.get("rules", ())),
            totals=tuple(PublicTotal.from_document(total) for total in document.get("totals", ())),
            person=Person.from_document(document.get("person")),
        )

    def __len__(self) -> int:
        """Number of attributes, m."""
        return len(self.attributes)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Attribute names in column order."""
        return tuple(attribute.name for attribute in self.attributes)

    @cached_property
    def _columns(self) -> dict[str, int]:
        return {name: column for column, name in enumerate(self.names)}

    @property
    def most_records(self) -> int:
        """The most records of one person that a release uses; 1 if the privacy unit is one record."""
        person = self.person if self.whole is None else self.whole.person
        return 1 if person is None else person.most_records

    @cached_property
    def cardinalities(self) -> tuple[int, ...]:
        """Number of values of each attribute."""
        return tuple(attribute.cardinality for attribute in self.attributes)

    @property
    def code_type(self) -> CodeType:
        """The type of arrays of codes of records."""
        return code_type_for(max(self.cardinalities, default=1))

    def require_narrow(self, what: str) -> None:
        """Refuse attributes of more than 65,535 values where codes must have 16 bits.

        Args:
            what: what takes such codes, the subject of the message, in the singular.

        Raises:
            InvalidInput: an attribute has more values.
        """
        for attribute in self.attributes:
            if attribute.cardinality > MAX_CARDINALITY:
                raise InvalidInput(
                    f"{what} takes attributes of at most {MAX_CARDINALITY:,} values, got {attribute.cardinality:,} of "
                    f"{attribute.name}; group them in the schema, or choose the learner origin_destination."
                )

    @property
    def bucket_counts(self) -> tuple[int, ...]:
        """Number of buckets of each attribute."""
        return tuple(attribute.bucket_count for attribute in self.attributes)

    @cached_property
    def digest(self) -> str:
        """SHA-256 in hex of names, values and buckets, which define what codes mean, and of rules and people."""
        said: list[Any] = [
            (a.name, [repr(value) for value in a.values], a.kind, list(a.buckets)) for a in self.attributes
        ]
        binned = [(a.name, [repr(last) for last in a.bins.last], repr(a.bins.step)) for a in self.attributes if a.bins]
        if binned:
            said.append(binned)
        known = self if self.whole is None else self.whole
        if known.rules or known.totals:
            said.append([[each.document() for each in those] for those in (known.rules, known.totals)])
        if known.person is not None:
            said.append(known.person.document())
        return sha256(json.dumps(said).encode()).hexdigest()

    @cached_property
    def components(self) -> tuple[Component, ...]:
        """The rules, combined by the attributes that they connect.

        Raises:
            InvalidInput: no record satisfies all of them, or they are too many to be enforced exactly.
        """
        relations = [relation for rule in self.rules for relation in rule.relations(self)]
        return components(relations, self.names)

    @cached_property
    def modelled(self) -> "Domain":
        """The modelled attributes: all but those that others determine; the target is always modelled.

        Its rules are those of the whole domain: see `zeros`.
        """
        computed = {rule.column for rule in self.rules_of_computed}
        if not computed:
            return self
        left = tuple(attribute for attribute in self.attributes if attribute.name not in computed)
        totals = tuple(total for total in self.totals if total.attribute not in computed)
        return Domain(left, target=self.target, totals=totals, whole=self)

    @cached_property
    def rules_of_computed(self) -> tuple[Derived, ...]:
        """The rules that compute determined attributes from the modelled ones, in an order of computation."""
        determined = [rule for rule in determined_in_order(self.rules) if rule.column != self.target]
        return tuple(determined)

    @cached_property
    def restricted_pairs(self) -> dict[tuple[int, int], Relation]:
        """The pairs of attributes, by column number, for which the rules forbid some combinations."""
        known = self if self.whole is None else self.whole
        column = {known.index(name): number for number, name in enumerate(self.names)}
        found = {}
        for component in known.components:
            own = [place for place in component.columns if place in column]
            for pair in combinations(own, 2):
                allowed = component.allowed(pair)
                if not allowed.all():
                    columns = column[pair[0]], column[pair[1]]
                    found[columns] = Relation(columns, tuple(component.classes_of(place) for place in pair), allowed)
        return found

    @cached_property
    def public_shares(self) -> dict[int, NDArray[np.float64]]:
        """Publicly known shares of the values of attributes, by column number."""
        return {
            self.index(total.attribute): np.asarray(total.counts, np.float64) / sum(total.counts)
            for total in self.totals
            if total.attribute is not None
        }

    def zeros(self, columns: Sequence[int]) -> NDArray[np.bool_] | None:
        """The combinations of some attributes' values that the rules forbid: the structural zeros of their table.

        Args:
            columns: column numbers.

        Returns:
            True where no record can satisfy the rules, shape (cardinality of each ...); None if there is none.
        """
        known = self if self.whole is None else self.whole
        places = [known.index(self.names[column]) for column in columns]
        forbidden: NDArray[np.bool_] | None = None
        for component in known.components:
            axes = [axis for axis, place in enumerate(places) if place in component.columns]
            if not axes:
                continue
            own = [places[axis] for axis in axes]
            allowed = component.allowed(own)
            if allowed.all():
                continue
            by_value = ~allowed[np.ix_(*(component.classes_of(place) for place in own))]
            rising = np.argsort(axes)
            shape = [self.cardinalities[column] if axis in axes else 1 for axis, column in enumerate(columns)]
            by_value = np.broadcast_to(
                by_value.transpose(rising).reshape(shape), [self.cardinalities[column] for column in columns]
            )
            forbidden = by_value if forbidden is None else forbidden | by_value
        return forbidden

    def index(self, name: str) -> int:
        """Column number of an attribute.

        Raises:
            InvalidInput: the domain has no such attribute.
        """
        try:
            return self._columns[name]
        except KeyError:
            msg = f"the attribute must be one of {', '.join(self.names)}, got {name}."
            raise InvalidInput(msg) from None

    def subset(self, names: Sequence[str]) -> tuple[int, ...]:
        """Column numbers of several attributes."""
        return tuple(self.index(name) for name in names)
