"""Validates plain values against a JSON Schema, and names what is missing, unknown or of another type.

Only the keywords used by the schema of the provenance record are supported: a schema with any other is refused, so that
none is ignored. The meaning of the values does not belong here (deniable.verification.release).

Source: JSON Schema 2020-12, core and validation; `$` in patterns matches only at the end of the text, as in ECMA-262.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib import resources
from typing import Any, TypeAlias

from deniable.foundation.errors import InvalidInput
from deniable.record.attestation import VERSION

Schema: TypeAlias = Mapping[str, Any] | bool

_REMARKS = {"$schema", "$id", "$defs", "title", "description", "default"}
_TYPES: dict[str, Callable[[object], bool]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
}
_REFERENCE = "#/$defs/"


@cache
def record_schema(version: int) -> Any:
    """The JSON Schema of records of a version, from the package."""
    name = "record.schema.json" if version == VERSION else f"record.v{version}.schema.json"
    return json.loads(resources.files("deniable.record").joinpath(name).read_bytes())


def faults_of_shape(value: object, schema: Mapping[str, Any]) -> tuple[str, ...]:
    """The places where a value does not match a schema.

    Args:
        value: plain values, as in JSON.
        schema: the schema, with its `$defs`.

    Returns:
        A sentence for each faulty place, beginning with the place; none if the value is valid.

    Raises:
        InvalidInput: the schema has unsupported keywords.
    """
    return tuple(_faults("the record", value, schema, schema.get("$defs", {})))


def _faults(place: str, value: object, schema: Schema, parts: Mapping[str, Any]) -> Iterator[str]:
    if isinstance(schema, bool):
        if not schema:
            yield f"{place} must not be there"
        return
    for keyword, said in schema.items():
        if keyword not in _REMARKS and keyword not in _KEYWORDS:
            raise InvalidInput(f"a schema must use supported keywords, got {keyword}.")
        if keyword in _KEYWORDS:
            yield from _KEYWORDS[keyword](place, value, said, schema, parts)


def _holds(value: object, schema: Schema, parts: Mapping[str, Any]) -> bool:
    return next(_faults("", value, schema, parts), None) is None


def _reference(place: str, value: object, said: str, _: Schema, parts: Mapping[str, Any]) -> Iterator[str]:
    name = said.removeprefix(_REFERENCE)
    if not said.startswith(_REFERENCE) or name not in parts:
        raise InvalidInput(f"a schema must refer to its own $defs, got {said}.")
    yield from _faults(place, value, parts[name], parts)


def _type(place: str, value: object, said: str, _: Schema, __: Mapping[str, Any]) -> Iterator[str]:
    if not _TYPES[said](value):
        yield f"{place} must be of the type {said}"


def _required(place: str, value: object, said: list[str], _: Schema, __: Mapping[str, Any]) -> Iterator[str]:
    if isinstance(value, dict):
        yield from (f"{_inside(place, name)} is missing" for name in said if name not in value)


def _properties(
    place: str, value: object, said: Mapping[str, Any], _: Schema, parts: Mapping[str, Any]
) -> Iterator[str]:
    if isinstance(value, dict):
        for name, inner in said.items():
            if name in value:
                yield from _faults(_inside(place, name), value[name], inner, parts)


def _additional(place: str, value: object, said: Schema, schema: Schema, parts: Mapping[str, Any]) -> Iterator[str]:
    known = schema.get("properties", {}) if isinstance(schema, Mapping) else {}
    if isinstance(value, dict):
        for name in value:
            if name in known:
                continue
            if said is False:
                yield f"{_inside(place, name)} is unknown"
            else:
                yield from _faults(_inside(place, name), value[name], said, parts)


def _items(place: str, value: object, said: Schema, _: Schema, parts: Mapping[str, Any]) -> Iterator[str]:
    if isinstance(value, list):
        for number, inner in enumerate(value):
            yield from _faults(f"{place}[{number}]", inner, said, parts)


def _any_of(place: str, value: object, said: list[Schema], _: Schema, parts: Mapping[str, Any]) -> Iterator[str]:
    found = [list(_faults(place, value, choice, parts)) for choice in said]
    if all(found):
        # The closest alternative is the most informative: it names a place inside the value.
        yield from max(found, key=lambda faults: _depth(faults[0]))


def _enum(place: str, value: object, said: list[object], _: Schema, __: Mapping[str, Any]) -> Iterator[str]:
    if not any(_same(value, choice) for choice in said):
        yield f"{place} must be {' or '.join(map(str, said))}"


def _const(place: str, value: object, said: object, _: Schema, __: Mapping[str, Any]) -> Iterator[str]:
    if not _same(value, said):
        yield f"{place} must be {said}"


def _pattern(place: str, value: object, said: str, _: Schema, __: Mapping[str, Any]) -> Iterator[str]:
    whole = f"{said.removesuffix('$')}\\Z" if said.endswith("$") else said
    if isinstance(value, str) and not re.search(whole, value, re.ASCII):
        yield f"{place} must be written as {said}"


def _if(place: str, value: object, said: Schema, schema: Schema, parts: Mapping[str, Any]) -> Iterator[str]:
    if isinstance(schema, Mapping):
        yield from _faults(place, value, schema.get("then" if _holds(value, said, parts) else "else", True), parts)


def _with_if(*_: object) -> Iterator[str]:
    """Handled together with `if`."""
    return iter(())


_KEYWORDS: dict[str, Callable[..., Iterator[str]]] = {
    "$ref": _reference,
    "type": _type,
    "required": _required,
    "properties": _properties,
    "additionalProperties": _additional,
    "items": _items,
    "anyOf": _any_of,
    "enum": _enum,
    "const": _const,
    "pattern": _pattern,
    "if": _if,
    "then": _with_if,
    "else": _with_if,
}


def _same(value: object, other: object) -> bool:
    """Equality as in JSON: true is not 1."""
    return isinstance(value, bool) == isinstance(other, bool) and value == other


def _depth(fault: str) -> int:
    """Nesting depth of the place with which a sentence begins."""
    place, _, _ = fault.partition(" ")
    return place.count(".") + place.count("[")


def _inside(place: str, name: str) -> str:
    return name if place == "the record" else f"{place}.{name}"
