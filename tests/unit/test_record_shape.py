"""A record is held against its JSON Schema by the package alone, as jsonschema would, and what is wrong is named."""

import json
from copy import deepcopy
from importlib import resources
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from deniable.foundation.errors import InvalidInput
from deniable.record.shape import faults_of_shape

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "pattern": "^[a-z]+$"},
        "count": {"type": "integer"},
        "share": {"anyOf": [{"type": "number"}, {"type": "null"}]},
        "kind": {"enum": ["public", "internal"]},
        "flag": {"type": "boolean"},
        "fixed": {"const": 1},
        "parts": {"type": "array", "items": {"$ref": "#/$defs/Part"}},
        "free": {"type": "object", "additionalProperties": {"type": "string"}},
        "secret": {"type": "string"},
        "cost": {"anyOf": [{"$ref": "#/$defs/Part"}, {"type": "null"}]},
    },
    "required": ["name", "kind"],
    "additionalProperties": False,
    "if": {"properties": {"kind": {"const": "public"}}},
    "then": {"properties": {"secret": False}},
    "else": {"required": ["secret"]},
    "$defs": {
        "Part": {
            "type": "object",
            "properties": {"of": {"type": "string"}},
            "required": ["of"],
            "additionalProperties": False,
        }
    },
}
RIGHT: dict[str, Any] = {
    "name": "abc",
    "count": 3,
    "share": 0.5,
    "kind": "public",
    "flag": True,
    "fixed": 1,
    "parts": [{"of": "x"}],
    "free": {"a": "b"},
    "cost": None,
}


def test_what_has_the_shape_has_no_faults() -> None:
    assert faults_of_shape(RIGHT, SCHEMA) == ()
    assert faults_of_shape({"name": "a", "kind": "internal", "secret": "s"}, SCHEMA) == ()


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"name": "abc\n"}, "name must be written as ^[a-z]+$"),
        ({"name": 3}, "name must be of the type string"),
        ({"count": 3.0}, "count must be of the type integer"),
        ({"count": True}, "count must be of the type integer"),
        ({"share": True}, "share must be of the type number"),
        ({"kind": "secret"}, "kind must be public or internal"),
        ({"flag": 1}, "flag must be of the type boolean"),
        ({"fixed": True}, "fixed must be 1"),
        ({"parts": {}}, "parts must be of the type array"),
        ({"parts": [{"of": "x"}, {}]}, "parts[1].of is missing"),
        ({"parts": [{"of": "x", "more": 1}]}, "parts[0].more is unknown"),
        ({"free": {"a": 1}}, "free.a must be of the type string"),
        ({"secret": "s"}, "secret must not be there"),
        ({"kind": "internal"}, "secret is missing"),
        ({"remark": 1}, "remark is unknown"),
        ({"cost": {}}, "cost.of is missing"),
        ({"cost": 3}, "cost must be of the type object"),
    ],
)
def test_what_is_wrong_is_named(change: dict[str, Any], fault: str) -> None:
    assert fault in faults_of_shape(RIGHT | change, SCHEMA)


def test_what_is_missing_is_named() -> None:
    assert "name is missing" in faults_of_shape({name: RIGHT[name] for name in RIGHT if name != "name"}, SCHEMA)
    assert faults_of_shape([], SCHEMA)[0] == "the record must be of the type object"


def test_a_schema_with_a_keyword_that_is_not_known_is_refused_rather_than_passed_over() -> None:
    for unknown in ({"minimum": 3}, {"properties": {"name": {"maxLength": 3}}}, {"$ref": "https://example.org/x"}):
        with pytest.raises(InvalidInput, match="a schema must"):
            faults_of_shape(RIGHT, SCHEMA | unknown)


def test_it_judges_as_jsonschema_does() -> None:
    """Integers aside: JSON Schema takes 3.0 for one, and a record that says 3.0 is not what is signed."""
    validator = Draft202012Validator(SCHEMA)
    values: list[Any] = [None, True, 0, 1, -1.5, "", "abc", "ABC", [], [{"of": "x"}], {}, {"of": "x"}, {"of": 1}]
    for name in [*RIGHT, "secret", "more"]:
        for value in values:
            record = deepcopy(RIGHT) | {name: value}
            assert (not faults_of_shape(record, SCHEMA)) == validator.is_valid(record), (name, value)


def test_the_schema_of_records_uses_keywords_that_are_known() -> None:
    schema = json.loads(resources.files("deniable.record").joinpath("record.schema.json").read_bytes())
    for part in ({}, {"rendering": "public", "steps": [{}], "cost": {}, "ledger": {}}):
        assert faults_of_shape(part, schema)
    for definition in schema["$defs"].values():
        faults_of_shape({"some": "thing"}, {**definition, "$defs": schema["$defs"]})
