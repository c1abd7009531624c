"""JSON that two readers could read differently is read by nobody."""

import pytest

from deniable.errors import InvalidInput
from deniable.strict_json import members, parsed


def test_plain_values_are_read() -> None:
    assert parsed('{"a": [1, 2.5, null, true, "é"]}', "it") == {"a": [1, 2.5, None, True, "é"]}


@pytest.mark.parametrize("text", ['{"a": 1, "a": 1}', '[{"b": {"a": 1, "c": 2, "a": 3}}]'])
def test_a_name_that_is_given_twice_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match=r"^it must be JSON that all readers read alike, got a name twice\.$"):
        parsed(text, "it")


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity"])
def test_a_number_that_is_none_is_refused(number: str) -> None:
    with pytest.raises(InvalidInput, match=f"got the number {number}"):
        parsed(f"[{number}]", "it")


@pytest.mark.parametrize("text", ["", "{", '{"secret": hush}', "[" * 100_000, "9" * 10_000, "{} {}"])
def test_what_is_no_json_is_refused_and_not_quoted(text: str) -> None:
    with pytest.raises(InvalidInput, match=r"^it must be JSON, got something else\.$"):
        parsed(text, "it")


@pytest.mark.parametrize("value", [{"a": 1}, {"a": 1, "b": 2, "c": 3}, {}, [], None, "ab", ["a", "b"]])
def test_an_object_must_have_the_names_that_are_expected(value: object) -> None:
    assert members({"b": 2, "a": 1}, ("a", "b"), "it") == {"a": 1, "b": 2}
    with pytest.raises(InvalidInput, match="it must have a, b and nothing else"):
        members(value, ("a", "b"), "it")
