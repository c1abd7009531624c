"""JSON that two readers could read differently is refused."""

import pytest

from deniable.foundation.errors import InvalidInput
from deniable.foundation.strict_json import members, parsed


def test_plain_values_are_read() -> None:
    assert parsed('{"a": [1, 2.5, null, true, "é"]}', "it") == {"a": [1, 2.5, None, True, "é"]}


@pytest.mark.parametrize("text", ['{"a": 1, "a": 1}', '[{"b": {"a": 1, "c": 2, "a": 3}}]'])
def test_a_name_that_is_given_twice_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match=r"^it must be unambiguous JSON, got a name twice\.$"):
        parsed(text, "it")


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity"])
def test_a_number_that_is_none_is_refused(number: str) -> None:
    with pytest.raises(InvalidInput, match=f"got the number {number}"):
        parsed(f"[{number}]", "it")


@pytest.mark.parametrize("text", ["", "{", '{"secret": hush}', "[" * 100_000, "{} {}"])
def test_what_is_no_json_is_refused_and_not_quoted(text: str) -> None:
    with pytest.raises(InvalidInput, match=r"^it must be JSON, got something else\.$"):
        parsed(text, "it")


@pytest.mark.parametrize("value", [{"a": 1}, {"a": 1, "b": 2, "c": 3}, {}, [], None, "ab", ["a", "b"]])
def test_an_object_must_have_the_names_that_are_expected(value: object) -> None:
    assert members({"b": 2, "a": 1}, ("a", "b"), "it") == {"a": 1, "b": 2}
    with pytest.raises(InvalidInput, match="it must have a, b and nothing else"):
        members(value, ("a", "b"), "it")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("9" * 10_000, "got a number of more than 300 digits"),
        ("-" + "9" * 301, "got a number of more than 300 digits"),
        ("0." + "0" * 10_000, "got a number of more than 300 digits"),
        ("1e400", "got a number beyond all that is read"),
        ('{"a": ["1e999999999"]}', "got a number with more digits than are read"),
        ('{"a": {"b": " -1.5E-999_999_999"}}', "got a number with more digits than are read"),
        ("[" * 102 + "]" * 102, "got lists or objects nested more than 100 deep"),
        ('{"a":' * 102 + "1" + "}" * 102, "got lists or objects nested more than 100 deep"),
        (f"[{'1,' * 5_000_001}1]", "must have at most 5,000,000 values, got more"),
        (f"[{'[],' * 2_500_001}1]", "must have at most 5,000,000 values, got more"),
    ],
)
def test_what_would_fill_a_memory_or_a_day_is_refused(text: str, said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        parsed(text, "it")


def test_long_texts_and_deep_values_within_bounds_are_read() -> None:
    assert parsed('{"a": "1e1000", "b": "' + "9" * 100_000 + '"}', "it") == {"a": "1e1000", "b": "9" * 100_000}
    assert parsed("[" * 100 + "]" * 100, "it")
