"""Rules that every record of a table satisfies, each from a public source: which combinations of values may occur.

A rule can be evaluated on records, to verify releases, and expressed as relations of small sets of attributes, which
models enforce. Nothing here is ever learnt from data. Combining the rules of a table does not belong here
(rule_components).

Impossible and required combinations, orders, skip patterns, functional dependencies and derived columns are the
structural zeros of categorical data: Bishop, Fienberg, Holland 1975, Discrete Multivariate Analysis, chapter 5.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, ClassVar, Final, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from deniable.foundation.errors import InvalidInput

Value: TypeAlias = int | float | str | bool
Codes: TypeAlias = NDArray[np.unsignedinteger[Any]]
Flags: TypeAlias = NDArray[np.bool_]
Condition: TypeAlias = tuple[tuple[str, tuple[Value, ...]], ...]
"""Attributes, each with some of its values; it holds for a record whose values are all among them."""

MOST_COMBINATIONS = 1 << 18
"""Largest number of combinations of values for which a derived column can be tabulated."""
# A day, a month, a quarter or a year, whose texts are in the order of time.
_PERIOD = re.compile(r"\d{4}(-(Q[1-4]|\d\d(-\d\d)?))?")
_SHOWN = 3


class Attribute(Protocol):
    """The properties of an attribute that rules need; see `deniable.foundation.domain.Attribute`."""

    @property
    def values(self) -> tuple[Value, ...]:
        """The value of each code."""

    @property
    def cardinality(self) -> int:
        """Number of values."""

    @property
    def is_ordered(self) -> bool:
        """Whether the order of the values is meaningful."""


class Domain(Protocol):
    """The properties of a domain that rules need; see `deniable.foundation.domain.Domain`."""

    @property
    def attributes(self) -> Sequence[Attribute]:
        """The attributes in column order."""

    @property
    def names(self) -> tuple[str, ...]:
        """Their names."""

    def index(self, name: str) -> int:
        """Column number of an attribute."""

    def subset(self, names: Sequence[str]) -> tuple[int, ...]:
        """Column numbers of several attributes."""


@dataclass(frozen=True, eq=False)
class Relation:
    """The permitted combinations of classes of some attributes' values.

    Attributes:
        columns: column numbers of the attributes.
        classes: for each of them, the class of each value, numbered 0, 1, 2 ...
        allowed: whether a combination of classes is permitted, shape (classes of the first attribute, ...).
    """

    columns: tuple[int, ...]
    classes: tuple[NDArray[np.int64], ...]
    allowed: Flags


@dataclass(frozen=True)
class Rule:
    """The base class of rules.

    Attributes:
        source: the public document that states the rule.
    """

    kind: ClassVar[str]
    source: str

    @property
    def attributes(self) -> tuple[str, ...]:
        """The names of its attributes, each once."""
        raise NotImplementedError

    @property
    def sentence(self) -> str:
        """The rule in words."""
        raise NotImplementedError

    def fault(self, domain: Domain) -> str | None:
        """The fault of the rule in a domain that has its attributes, as the end of a sentence; None if none."""
        raise NotImplementedError

    def holds(self, domain: Domain, codes: Codes) -> Flags:
        """Whether each record satisfies the rule, by the values of its codes.

        Args:
            domain: the table's domain, m attributes.
            codes: records, shape (n, m).

        Returns:
            Shape (n,).
        """
        raise NotImplementedError

    def relations(self, domain: Domain) -> tuple[Relation, ...]:
        """Relations that a record satisfies if and only if it satisfies the rule."""
        raise NotImplementedError

    def document(self) -> dict[str, Any]:
        """The rule in names and values, ready for JSON."""
        raise NotImplementedError


@dataclass(frozen=True)
class Impossible(Rule):
    """A combination that never occurs.

    Attributes:
        when: the combination.
    """

    kind: ClassVar[str] = "impossible"
    when: Condition

    @property
    def attributes(self) -> tuple[str, ...]:
        """The names of its attributes."""
        return _names(self.when)

    @property
    def sentence(self) -> str:
        """The rule in words."""
        return f"it never occurs that {_said(self.when)}"

    def fault(self, domain: Domain) -> str | None:
        """See `Rule`."""
        return _fault_of(self.when, domain)

    def holds(self, domain: Domain, codes: Codes) -> Flags:
        """See `Rule`."""
        return np.asarray(~_met(self.when, domain, codes))

    def relations(self, domain: Domain) -> tuple[Relation, ...]:
        """See `Rule`."""
        allowed = np.ones((2,) * len(self.when), bool)
        allowed[(1,) * len(self.when)] = False
        return (_relation(self.when, domain, allowed),)

    def document(self) -> dict[str, Any]:
        """See `Rule`."""
        return {"kind": self.kind, "source": self.source, "when": _plain(self.when)}


@dataclass(frozen=True)
class Required(Rule):
    """Values that must occur where a condition holds.

    Attributes:
        when: the condition.
        then: the attributes that must have one of some values.
    """

    kind: ClassVar[str] = "required"
    when: Condition
    then: Condition

    @property
    def attributes(self) -> tuple[str, ...]:
        """The names of its attributes."""
        return _names((*self.when, *self.then))

    @property
    def sentence(self) -> str:
        """The rule in words."""
        return f"if {_said(self.when)}, then {_said(self.then)}"

    def fault(self, domain: Domain) -> str | None:
        """See `Rule`."""
        return _fault_of((*self.when, *self.then), domain)

    def holds(self, domain: Domain, codes: Codes) -> Flags:
        """See `Rule`."""
        return np.asarray(~_met(self.when, domain, codes) | _met(self.then, domain, codes))

    def relations(self, domain: Domain) -> tuple[Relation, ...]:
        """See `Rule`."""
        allowed = np.ones((2,) * (len(self.when) + 1), bool)
        allowed[(*(1,) * len(self.when), 0)] = False
        return tuple(_relation((*self.when, then), domain, allowed) for then in self.then)

    def document(self) -> dict[str, Any]:
        """See `Rule`."""
        return {"kind": self.kind, "source": self.source, "when": _plain(self.when), "then": _plain(self.then)}


@dataclass(frozen=True)
class Skip(Rule):
    """A skip pattern: columns that are inapplicable if and only if a condition holds, or all or none of them are.

    Attributes:
        columns: the columns, each with the values that mean inapplicable.
        when: the condition; if it is empty, the columns are inapplicable all together or not at all.
    """

    kind: ClassVar[str] = "skip"
    columns: Condition
    when: Condition

    @property
    def attributes(self) -> tuple[str, ...]:
        """The names of its attributes."""
        return _names((*self.when, *self.columns))

    @property
    def sentence(self) -> str:
        """The rule in words."""
        skipped = _said(self.columns)
        return f"{skipped} if and only if {_said(self.when)}" if self.when else f"all or none of: {skipped}"

    def fault(self, domain: Domain) -> str | None:
        """See `Rule`."""
        if not self.columns or (not self.when and len(self.columns) == 1):
            return "must have a condition or several columns"
        return _fault_of((*self.when, *self.columns), domain)

    def holds(self, domain: Domain, codes: Codes) -> Flags:
        """See `Rule`."""
        skipped = [_met((each,), domain, codes) for each in self.columns]
        expected = _met(self.when, domain, codes) if self.when else skipped[0]
        return np.asarray(np.logical_and.reduce([each == expected for each in skipped]))

    def relations(self, domain: Domain) -> tuple[Relation, ...]:
        """See `Rule`."""
        if not self.when:
            first, *others = self.columns
            return tuple(_relation((first, other), domain, np.eye(2, dtype=bool)) for other in others)
        allowed = np.zeros((2,) * (len(self.when) + 1), bool)
        allowed[..., 0] = True
        allowed[(1,) * len(self.when)] = [False, True]
        return tuple(_relation((*self.when, each), domain, allowed) for each in self.columns)

    def document(self) -> dict[str, Any]:
        """See `Rule`."""
        return {"kind": self.kind, "source": self.source, "columns": _plain(self.columns), "when": _plain(self.when)}


@dataclass(frozen=True)
class Order(Rule):
    """An order: a value that never comes after another, such as a part and its total, or the start and end of a stay.

    It is between two numbers, between dates of one period, or between two ordered attributes with the same values.

    Attributes:
        lesser: the attribute whose value is at most that of the other.
        greater: the other.
        strict: whether equal values are excluded.
        unless: values of either that are exempt, such as codes for inapplicable or a word for missing.
    """

    kind: ClassVar[str] = "order"
    lesser: str
    greater: str
    strict: bool = False
    unless: Condition = ()

    @property
    def attributes(self) -> tuple[str, ...]:
        """The names of its attributes."""
        return self.lesser, self.greater

    @property
    def sentence(self) -> str:
        """The rule in words."""
        than = "less than" if self.strict else "at most"
        return f"{self.lesser} is {than} {self.greater}" + "".join(f", unless {_said((each,))}" for each in self.unless)

    def fault(self, domain: Domain) -> str | None:
        """See `Rule`."""
        if self.lesser == self.greater:
            return f"must have two different attributes, got {self.lesser} twice"
        if not set(_names(self.unless)) <= set(self.attributes):
            return "must exempt only values of its own two attributes"
        if self.unless and (fault := _fault_of(self.unless, domain)):
            return fault
        if self._places(domain) is not None:
            return None
        return (
            "must have two columns of numbers, two of dates by the same period, or two ordered columns with the same "
            f"values in the same order, got {self.lesser} and {self.greater}"
        )

    def holds(self, domain: Domain, codes: Codes) -> Flags:
        """See `Rule`."""
        places = zip(self.attributes, self._known_places(domain), strict=True)
        first, second = (own[codes[:, domain.index(name)]] for name, own in places)
        kept = first < second if self.strict else first <= second
        for each in self.unless:
            kept |= _met((each,), domain, codes)
        return np.asarray(kept)

    def relations(self, domain: Domain) -> tuple[Relation, ...]:
        """See `Rule`."""
        first, second = self._known_places(domain)
        allowed = first[:, None] < second if self.strict else first[:, None] <= second
        for name, values in self.unless:
            exempt = _members(domain, name, values)
            allowed = allowed | (exempt[:, None] if name == self.lesser else exempt)
        columns = domain.subset(self.attributes)
        return (_reduced(Relation(columns, tuple(np.arange(size) for size in allowed.shape), allowed)),)

    def document(self) -> dict[str, Any]:
        """See `Rule`."""
        return {
            "kind": self.kind,
            "source": self.source,
            "lesser": self.lesser,
            "greater": self.greater,
            "strict": self.strict,
            "unless": _plain(self.unless),
        }

    def _known_places(self, domain: Domain) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        places = self._places(domain)
        if places is None:
            raise InvalidInput(f"{self.lesser} and {self.greater} must have a common order, and have none.")
        return places

    def _places(self, domain: Domain) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
        """The place of each value of the two attributes in their common order; None if they have none.

        The place of an exempt value means nothing.
        """
        exempt = dict(self.unless)
        attributes = [_attribute(domain, name) for name in self.attributes]
        texts = [
            [value for value in each.values if isinstance(value, str) and value not in exempt.get(name, ())]
            for name, each in zip(self.attributes, attributes, strict=True)
        ]
        if not any(texts):
            numbers = [[0 if isinstance(value, str) else value for value in each.values] for each in attributes]
            return np.asarray(numbers[0], np.float64), np.asarray(numbers[1], np.float64)
        lengths = {len(text) for own in texts for text in own}
        are_dates = len(lengths) == 1 and all(own == sorted(own) and _PERIOD.fullmatch(own[0]) for own in texts if own)
        is_one_scale = texts[0] == texts[1] and all(each.is_ordered for each in attributes)
        plain = all(isinstance(value, str) for each in attributes for value in each.values)
        if not plain or not all(texts) or not (are_dates or is_one_scale):
            return None
        order = {text: place for place, text in enumerate(sorted({*texts[0], *texts[1]}) if are_dates else texts[0])}
        first, second = ([order.get(str(value), 0) for value in each.values] for each in attributes)
        return np.asarray(first, np.float64), np.asarray(second, np.float64)


@dataclass(frozen=True)
class Derived(Rule):
    """A column that others determine: a functional dependency, such as of a region on its districts, or a sum.

    Attributes:
        column: the determined column.
        of: the columns that determine it.
        values: its value for each combination of theirs, in the order of their values, the last varying fastest; None
            for a combination that never occurs.
    """

    kind: ClassVar[str] = "derived"
    column: str
    of: tuple[str, ...]
    values: tuple[Value | None, ...]

    @property
    def attributes(self) -> tuple[str, ...]:
        """The names of its attributes."""
        return *self.of, self.column

    @property
    def sentence(self) -> str:
        """The rule in words."""
        return f"{self.column} is determined by {' and '.join(self.of)}"

    def fault(self, domain: Domain) -> str | None:
        """See `Rule`."""
        if not self.of or len(set(self.attributes)) < len(self.attributes):
            return f"must determine {self.column} by other columns, each named once"
        combinations = prod(self._sizes(domain))
        if combinations > MOST_COMBINATIONS:
            return (
                f"must have at most {MOST_COMBINATIONS:,} combinations of the values that determine {self.column}, got "
                f"{combinations:,}"
            )
        if len(self.values) != combinations:
            return f"must have a value of {self.column} for each of {combinations:,} combinations"
        known = {(type(value), value) for value in _attribute(domain, self.column).values}
        if any(value is not None and (type(value), value) not in known for value in self.values):
            return f"must give only values that {self.column} has"
        return None

    def codes_of(self, domain: Domain) -> NDArray[np.int64]:
        """Code of the determined value for each combination, shape (values of each ...); -1 if it never occurs."""
        code: dict[Value | None, int] = {value: i for i, value in enumerate(_attribute(domain, self.column).values)}
        found = [-1 if value is None else code[value] for value in self.values]
        return np.asarray(found, np.int64).reshape(self._sizes(domain))

    def holds(self, domain: Domain, codes: Codes) -> Flags:
        """See `Rule`."""
        sources = tuple(codes[:, domain.index(name)] for name in self.of)
        return np.asarray(self.codes_of(domain)[sources] == codes[:, domain.index(self.column)])

    def relations(self, domain: Domain) -> tuple[Relation, ...]:
        """See `Rule`."""
        given = self.codes_of(domain)
        own = np.arange(_attribute(domain, self.column).cardinality)
        if len(self.of) == 1:
            # One class for each value of the column, however many values determine it.
            distinct, classes = np.unique(given, return_inverse=True)
            relation = Relation(
                domain.subset(self.attributes), (classes.astype(np.int64), own), distinct[:, None] == own
            )
            return (relation,)
        sizes = tuple(np.arange(size) for size in given.shape)
        return (
            _reduced(Relation(domain.subset(self.attributes), (*sizes, own), given[..., None] == own), len(self.of)),
        )

    def document(self) -> dict[str, Any]:
        """See `Rule`."""
        return {
            "kind": self.kind,
            "source": self.source,
            "column": self.column,
            "of": list(self.of),
            "values": list(self.values),
        }

    def _sizes(self, domain: Domain) -> tuple[int, ...]:
        return tuple(_attribute(domain, name).cardinality for name in self.of)


@dataclass(frozen=True)
class PublicTotal:
    """Counts of the whole table that a public document states: its number of records, or those with each value.

    Attributes:
        source: the public document.
        attribute: the attribute whose values are counted; None for the number of records.
        counts: one count, or one for each value in the order of the values.
    """

    source: str
    attribute: str | None
    counts: tuple[int, ...]

    def document(self) -> dict[str, Any]:
        """The total, ready for JSON."""
        return {"attribute": self.attribute, "counts": list(self.counts), "source": self.source}

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> "PublicTotal":
        """The total that a document describes.

        Raises:
            LookupError, TypeError: it does not describe a total.
        """
        return cls(document["source"], document["attribute"], tuple(int(count) for count in document["counts"]))

    def fault(self, domain: Domain) -> str | None:
        """The fault of the total in a domain, as the end of a sentence; None if none."""
        if self.attribute is not None and self.attribute not in domain.names:
            return f"must be of one of {', '.join(domain.names)}, got {self.attribute}"
        size = 1 if self.attribute is None else _attribute(domain, self.attribute).cardinality
        if len(self.counts) != size:
            return f"must have a count for each of the {size} values of {self.attribute}, got {len(self.counts)}"
        if min(self.counts) < 0 or sum(self.counts) < 1:
            return "must have counts of at least 0, and of 1 in all"
        return None


def rule_from_document(document: Mapping[str, Any]) -> Rule:
    """The rule that a document describes.

    Raises:
        InvalidInput: its kind is unknown.
        LookupError, TypeError, ValueError: it does not describe a rule.
    """
    kind, source = document["kind"], document["source"]
    if kind == Impossible.kind:
        return Impossible(source, _condition(document["when"]))
    if kind == Required.kind:
        return Required(source, _condition(document["when"]), _condition(document["then"]))
    if kind == Skip.kind:
        return Skip(source, _condition(document["columns"]), _condition(document["when"]))
    if kind == Order.kind:
        unless = _condition(document["unless"])
        return Order(source, document["lesser"], document["greater"], bool(document["strict"]), unless)
    if kind == Derived.kind:
        return Derived(source, document["column"], tuple(document["of"]), tuple(document["values"]))
    raise InvalidInput(f"the kind of a rule must be one of {', '.join(KINDS)}, got {kind}.")


KINDS: Final = tuple(each.kind for each in (Impossible, Required, Skip, Order, Derived))


def require_rules(domain: Domain, rules: Sequence[Rule], totals: Sequence[PublicTotal]) -> None:
    """Refuse rules and totals that do not fit a domain, or do not name a public source.

    Raises:
        InvalidInput: one of them does not fit, or names no source.
    """
    determined: set[str] = set()
    for rule in rules:
        _require_source(f"a rule of kind {rule.kind}", rule.source)
        unknown = [name for name in rule.attributes if name not in domain.names]
        fault = f"must be about attributes of the table, got {unknown[0]}" if unknown else rule.fault(domain)
        if fault is not None:
            raise InvalidInput(f"a rule of kind {rule.kind} {fault}; correct it ({rule.source}).")
        if isinstance(rule, Derived):
            if rule.column in determined:
                raise InvalidInput(f"a column must be determined by one rule, got several for {rule.column}.")
            determined.add(rule.column)
    determined_in_order(rules)
    for total in totals:
        _require_source("a public total", total.source)
        if (wrong := total.fault(domain)) is not None:
            raise InvalidInput(f"a public total {wrong}; correct it ({total.source}).")
    named = [total.attribute for total in totals]
    if len(set(named)) < len(named):
        raise InvalidInput("a public total must be stated once, got two for the same attribute; leave one out.")
    if len({sum(total.counts) for total in totals}) > 1:
        raise InvalidInput("public totals must be of the same number of records, got different sums; correct them.")


def determined_in_order(rules: Sequence[Rule]) -> tuple[Derived, ...]:
    """The rules that determine columns, each after the rules that determine its sources.

    Raises:
        InvalidInput: columns determine each other.
    """
    left = {rule.column: rule for rule in rules if isinstance(rule, Derived)}
    found: list[Derived] = []
    while left:
        free = [name for name, rule in left.items() if not left.keys() & set(rule.of)]
        if not free:
            raise InvalidInput(f"columns must not determine each other, got {', '.join(sorted(left))}; drop a rule.")
        found += [left.pop(name) for name in free]
    return tuple(found)


_NOT_PUBLIC = ("confidential", "the data", "data", "this table", "the table", "microdata", "internal", "unpublished")


def _require_source(what: str, source: object) -> None:
    """Refuse a source that is missing, or that is the confidential table itself."""
    said = source.strip() if isinstance(source, str) else ""
    if not said:
        raise InvalidInput(
            f"{what} must name the public document that states it, got none; what is only known from the confidential "
            f"table must not be declared."
        )
    if said.lower().rstrip(".") in _NOT_PUBLIC or "confidential" in said.lower():
        raise InvalidInput(
            f"{what} must come from a public document, got the source {said!r}; what is only known from the "
            f"confidential table must be measured with noise, not declared or held invariant."
        )


def _attribute(domain: Domain, name: str) -> Attribute:
    return domain.attributes[domain.index(name)]


def _names(condition: Condition) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for name, _ in condition))


def _said(condition: Condition) -> str:
    return " and ".join(
        f"{name} is {' or '.join(str(value) for value in values)}"
        if len(values) <= _SHOWN
        else f"{name} is one of {len(values)} values from {values[0]} to {values[-1]}"
        for name, values in condition
    )


def _plain(condition: Condition) -> dict[str, list[Any]]:
    return {name: list(values) for name, values in condition}


def _condition(document: Mapping[str, Any]) -> Condition:
    return tuple((str(name), tuple(values)) for name, values in document.items())


def _fault_of(condition: Condition, domain: Domain) -> str | None:
    if not condition:
        return "must have a condition"
    if len(_names(condition)) < len(condition):
        return "must name each attribute once"
    for name, values in condition:
        attribute = _attribute(domain, name)
        known = {(type(value), value) for value in attribute.values}
        wrong = [value for value in values if (type(value), value) not in known]
        if wrong:
            return f"must have values of {name}, got {wrong[0]!r}, which it does not have"
        if not values:
            return f"must have at least one value of {name}, got none"
    return None


def _members(domain: Domain, name: str, values: Sequence[Value]) -> Flags:
    """Whether each value of an attribute is among some values."""
    among = set(values)
    return np.asarray([value in among for value in _attribute(domain, name).values])


def _met(condition: Condition, domain: Domain, codes: Codes) -> Flags:
    """Whether each record satisfies a condition."""
    met = np.ones(len(codes), bool)
    for name, values in condition:
        met &= _members(domain, name, values)[codes[:, domain.index(name)]]
    return met


def _relation(condition: Condition, domain: Domain, allowed: Flags) -> Relation:
    """A relation of two classes for each attribute of a condition: the condition's values, and the others."""
    classes = tuple(_members(domain, name, values).astype(np.int64) for name, values in condition)
    return _whole(Relation(domain.subset(_names(condition)), classes, allowed))


def _whole(relation: Relation) -> Relation:
    """The relation without classes that no value has."""
    classes, allowed = [], relation.allowed
    for axis, own in enumerate(relation.classes):
        there, numbered = np.unique(own, return_inverse=True)
        classes.append(numbered.astype(np.int64))
        allowed = allowed.take(there, axis)
    return Relation(relation.columns, tuple(classes), allowed)


def _reduced(relation: Relation, axes: int | None = None) -> Relation:
    """The relation with one class for all values of the first attributes that permit the same combinations."""
    classes, allowed = list(relation.classes), relation.allowed
    for axis in range(allowed.ndim if axes is None else axes):
        rows = np.moveaxis(allowed, axis, 0).reshape(allowed.shape[axis], -1)
        _, first, same = np.unique(np.packbits(rows, axis=1), axis=0, return_index=True, return_inverse=True)
        # Classes are numbered in the order of the values, so that orders remain orders.
        rank = np.empty(len(first), np.int64)
        rank[np.argsort(first)] = np.arange(len(first))
        classes[axis] = rank[same.ravel()][classes[axis]]
        allowed = allowed.take(np.sort(first), axis)
    return Relation(relation.columns, tuple(classes), allowed)
