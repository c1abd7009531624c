"""Conditions on records, as users write them: `sex=F & age>=18`, with values or labels of the public domain.

Error messages suggest corrections: the nearest name, value or bucket edges.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.foundation.domain import Attribute, Domain, Value
from deniable.foundation.errors import InvalidInput
from deniable.measurements.noisy_tables import Cells

_OPERATOR = re.compile(r"\s*(!=|>=|<=|==|=|<|>)\s*")
_PARTS = re.compile(r'((?:"[^"]*"|[^&"])*)(?:&|$)')
_CHOICES = re.compile(r'((?:"[^"]*"|[^|"])*)(?:\||$)')
_MANY = 12
"""Largest number of values listed in an error message."""

Labels = Mapping[str, Mapping[str, str]]
"""Labels of values, by attribute and value as text."""


class Conditions:
    """The language of conditions over a public domain.

    Args:
        domain: the attributes that conditions may name.
        labels: labels of values.
        computed: attributes that are computed from others and were not counted.
    """

    def __init__(self, domain: Domain, labels: Labels | None = None, computed: Sequence[str] = ()) -> None:
        self.domain = domain
        self._labels = labels or {}
        self._computed = frozenset(computed)

    def attribute(self, name: str) -> int:
        """Column number of an attribute.

        Raises:
            InvalidInput: there is no attribute of this name.
        """
        name = name.strip().strip('"')
        if name in self.domain.names:
            return self.domain.names.index(name)
        if name in self._computed:
            raise InvalidInput(f"{name} is computed from other attributes and was not counted; ask for those.")
        lowered = {each.lower(): each for each in self.domain.names}
        near = get_close_matches(name.lower(), lowered, 1, 0.5)
        hint = f"did you mean {lowered[near[0]]}?" if near else f"name one of {_listed(self.domain.names)}."
        raise InvalidInput(f"the release has no attribute {name}; {hint}")

    def parse(self, text: str) -> dict[int, Cells]:
        """Parse a condition into the values that it allows for each attribute.

        Args:
            text: comparisons joined by `&`; `=` may list values, separated by `|`, or give a range, `18..24`.

        Returns:
            By column number, 1 for each allowed value and 0 for others; empty for an empty text.

        Raises:
            InvalidInput: it is not a condition, or no value satisfies it.
        """
        found: dict[int, Cells] = {}
        if not text.strip():
            return found
        for part in _split(_PARTS, text):
            i, allowed = self._comparison(part)
            found[i] = found[i] * allowed if i in found else allowed
        for i, allowed in found.items():
            if not allowed.any():
                raise InvalidInput(f"the condition must allow a value of {self.domain.names[i]}, got none: {text}.")
        return found

    def numbers(self, i: int) -> Cells:
        """The values of a numeric attribute.

        Raises:
            InvalidInput: its values are not numbers with an order.
        """
        attribute = self.domain.attributes[i]
        if attribute.kind != "numeric":
            raise InvalidInput(
                f"{attribute.name} must be numeric for this, and is {attribute.kind}; ask for the share of one of its "
                "values."
            )
        if attribute.bins is not None:
            raise InvalidInput(
                f"{attribute.name} was counted by bins, such as {self.values_named(i, [attribute.cardinality - 1])}, "
                "within which numbers were not measured; ask for the share of a range of bins."
            )
        try:
            found = np.asarray([float(value) for value in attribute.values])
        except (TypeError, ValueError):
            raise InvalidInput(f"{attribute.name} must have numbers as values, got {attribute.values[0]}.") from None
        if not np.isfinite(found).all():
            raise InvalidInput(f"{attribute.name} must have finite numbers as values; ask for shares.")
        return found

    def named(self, i: int, codes: Sequence[int] | NDArray[np.integer]) -> str:
        """Values of an attribute, written as a condition, such as `age=18..24`."""
        attribute = self.domain.attributes[i]
        return f"{_quoted(attribute.name)}={self.values_named(i, codes)}"

    def values_named(self, i: int, codes: Sequence[int] | NDArray[np.integer]) -> str:
        """Values of an attribute: one, a range, or several separated by `|`."""
        attribute = self.domain.attributes[i]
        own = [int(code) for code in codes]
        if attribute.bins is not None:
            return "|".join(_range(attribute, run) for run in _runs(own))
        if len(own) > 1 and attribute.kind == "numeric" and own == list(range(own[0], own[-1] + 1)):
            return f"{_text(attribute.values[own[0]])}..{_text(attribute.values[own[-1]])}"
        return "|".join(_quoted(_text(attribute.values[code])) for code in own)

    def edges(self, i: int, buckets: NDArray[np.integer], allowed: Cells) -> str:
        """The conditions nearest to one that divides buckets: with and without those buckets."""
        held = np.bincount(buckets)
        inside = np.bincount(buckets, weights=(allowed != 0).astype(np.float64))
        divided = np.nonzero((inside > 0) & (inside < held))[0]
        told = "; ".join(self.values_named(i, np.nonzero(buckets == bucket)[0]) for bucket in divided[:3].tolist())
        return (
            f"values of {self.domain.names[i]} were counted together ({told}), and the condition divides them; "
            f"ask for {self.whole(i, buckets, allowed)}."
        )

    def whole(self, i: int, buckets: NDArray[np.integer], allowed: Cells) -> str:
        """The conditions nearest to another that do not divide buckets, in words."""
        held = np.bincount(buckets)
        inside = np.bincount(buckets, weights=(allowed != 0).astype(np.float64))
        within = np.nonzero((inside == held)[buckets])[0]
        around = np.nonzero((inside > 0)[buckets])[0]
        offers = [self.named(i, around)] if len(around) < len(buckets) else [f"no condition on {self.domain.names[i]}"]
        if len(within):
            offers.insert(0, self.named(i, within))
        return " or ".join(offers)

    def _comparison(self, text: str) -> tuple[int, Cells]:
        name, operator, right = self._divided(text)
        i = self.attribute(name)
        attribute = self.domain.attributes[i]
        if operator in {"=", "=="}:
            allowed = self._listed(i, right)
        elif operator == "!=":
            allowed = 1.0 - self._listed(i, right)
        else:
            values = self._ordered(attribute)
            bound = _number(right)
            if bound is None:
                raise InvalidInput(f"{attribute.name} must be compared with a number, got {right}.")
            compare = {">=": np.greater_equal, "<=": np.less_equal, ">": np.greater, "<": np.less}[operator]
            allowed = np.asarray(compare(values, bound), np.float64)
            if attribute.bins is not None:
                self._require_whole(i, allowed, compare(_lasts(attribute), bound))
        return i, allowed

    def _divided(self, text: str) -> tuple[str, str, str]:
        """Split a comparison into name, operator and value; the name is the longest known one that begins the text."""
        text = text.strip()
        for name in sorted(self.domain.names, key=len, reverse=True):
            for shown in (name, _quoted(name)):
                if text.startswith(shown) and (found := _OPERATOR.match(text, len(shown))):
                    return name, found[1], text[found.end() :].strip()
        found = _OPERATOR.search(text)
        if not found or not text[: found.start()]:
            raise InvalidInput(f"a condition must be attribute=value, or >=, <=, >, <, !=, joined by &; got {text}.")
        return text[: found.start()], found[1], text[found.end() :].strip()

    def _listed(self, i: int, right: str) -> Cells:
        attribute = self.domain.attributes[i]
        allowed = np.zeros(attribute.cardinality)
        for each in _split(_CHOICES, right):
            code = self._code(i, each) if attribute.bins is None else None
            if code is not None:
                allowed[code] = 1.0
                continue
            low, dots, high = each.partition("..")
            if attribute.bins is not None and not dots:
                low, dots, high = each, "..", each
            if dots and attribute.kind == "numeric":
                values, ends = self._ordered(attribute), (_number(low), _number(high))
                if ends[0] is not None and ends[1] is not None:
                    inside = (values >= ends[0]) & (values <= ends[1])
                    if attribute.bins is not None:
                        lasts = _lasts(attribute)
                        self._require_whole(i, (lasts >= ends[0]) & (values <= ends[1]), inside & (lasts <= ends[1]))
                    allowed[inside] = 1.0
                    continue
            raise InvalidInput(self._unknown(i, each))
        return allowed

    def _require_whole(self, i: int, firsts: NDArray[Any], lasts: NDArray[Any]) -> None:
        """Refuse a condition that divides a bin."""
        divided = np.flatnonzero(np.asarray(firsts, bool) != np.asarray(lasts, bool))
        if len(divided):
            raise InvalidInput(
                f"numbers of {self.domain.names[i]} were counted by bins, and the condition divides "
                f"{self.values_named(i, divided[:1])}; ask for whole bins."
            )

    def _code(self, i: int, text: str) -> int | None:
        attribute = self.domain.attributes[i]
        text = text.strip()
        plain = text[1:-1].replace('""', '"') if len(text) > 1 and text[0] == text[-1] == '"' else text
        labels = self._labels.get(attribute.name, {})
        texts = [_text(value) for value in attribute.values]
        # A value takes precedence over another value's label.
        for known in (texts, [labels.get(each) for each in texts]):
            if plain in known:
                return known.index(plain)
        number = _number(plain)
        if number is not None:
            for code, value in enumerate(attribute.values):
                if isinstance(value, int | float) and float(value) == number:
                    return code
        return None

    def _unknown(self, i: int, text: str) -> str:
        attribute = self.domain.attributes[i]
        if attribute.kind == "numeric":
            ends = f"{_text(attribute.values[0])} to {_text(attribute.values[-1])}"
            return f"{attribute.name} has no value {text.strip()}; its values are {ends}."
        known = {_text(value): _text(value) for value in attribute.values}
        known |= {label: label for label in self._labels.get(attribute.name, {}).values()}
        lowered = {each.lower(): each for each in known}
        near = get_close_matches(text.strip().lower(), lowered, 1, 0.5)
        if near:
            return f"{attribute.name} has no value {text.strip()}; did you mean {lowered[near[0]]}?"
        return f"{attribute.name} has no value {text.strip()}; its values are {_listed(list(known))}."

    def _ordered(self, attribute: Attribute) -> Cells:
        if attribute.kind != "numeric":
            raise InvalidInput(f"{attribute.name} is nominal, so its values have no order; use = with a list a|b|c.")
        return np.asarray([float(value) for value in attribute.values])


def _lasts(attribute: Attribute) -> Cells:
    """The last number that each value represents, as a float."""
    values = attribute.values if attribute.bins is None else attribute.bins.last
    return np.asarray([float(value) for value in values])


def _runs(codes: Sequence[int]) -> Iterator[tuple[int, int]]:
    """First and last of each run of successive codes."""
    start = 0
    for place in range(1, len(codes) + 1):
        if place == len(codes) or codes[place] != codes[place - 1] + 1:
            yield codes[start], codes[place - 1]
            start = place


def _range(attribute: Attribute, run: tuple[int, int]) -> str:
    """The range of numbers in successive bins."""
    last = attribute.values if attribute.bins is None else attribute.bins.last
    ends = _text(attribute.values[run[0]]), _text(last[run[1]])
    return ends[0] if ends[0] == ends[1] else f"{ends[0]}..{ends[1]}"


def _split(pattern: re.Pattern[str], text: str) -> Iterator[str]:
    place = 0
    while place <= len(text):
        found = pattern.match(text, place)
        if found is None:
            raise InvalidInput(f"the quotes of a condition must be closed, got {text}.")
        if not found[1].strip():
            raise InvalidInput(f"a condition must have a comparison, or a value, on both sides of & and |, got {text}.")
        yield found[1].strip()
        if found.end() == len(text):
            if text.endswith(("&", "|")) and found[0].endswith(("&", "|")):
                raise InvalidInput(
                    f"a condition must have a comparison, or a value, on both sides of & and |, got {text}."
                )
            return
        place = found.end()


def _number(text: str) -> float | None:
    try:
        found = float(text)
    except ValueError:
        return None
    return found if isfinite(found) else None


def _text(value: Value) -> str:
    return str(value)


def _quoted(text: str) -> str:
    """Write a value for a condition: quoted if it would be misread, with its quotes doubled."""
    is_plain = not set(text) & set('&|"') and ".." not in text and text == text.strip() and not text.startswith("=")
    return text if is_plain and text else '"' + text.replace('"', '""') + '"'


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_MANY])
    return shown if len(names) <= _MANY else f"{shown} and {len(names) - _MANY} more"
