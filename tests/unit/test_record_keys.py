"""Equal records have equal numbers, whatever the domain."""

import numpy as np
import pytest

from deniable.foundation.domain import Codes
from deniable.foundation.errors import InvalidInput
from deniable.foundation.keys import ReleaseKey
from deniable.foundation.record_keys import assign_record_keys, number_of_distinct, those_among


def codes(*rows: tuple[int, ...]) -> Codes:
    return np.array(rows, dtype=np.uint16)


def test_equal_records_of_any_table_have_one_number_and_others_have_others() -> None:
    first, second = assign_record_keys((codes((0, 1), (1, 0)), codes((1, 0), (1, 1))), (2, 2))
    assert first[1] == second[0]
    assert len({*first, *second}) == 3


def test_records_over_a_domain_too_large_for_one_word_are_numbered_as_exactly() -> None:
    words = ReleaseKey(bytes(32)).stream(step="test", mechanism="wide", inputs="", parameters={})
    table = (words.take(500 * 9) % 60_000).reshape(500, 9).astype(np.uint16)
    near = table.copy()
    near[:, 0] ^= 1
    numbers, near_numbers = assign_record_keys((np.concatenate((table, table)), near), (65_535,) * 9)
    assert len(np.unique(numbers)) == 500
    np.testing.assert_array_equal(numbers[:500], numbers[500:])
    assert not np.isin(near_numbers, numbers).any()


def test_a_code_outside_the_domain_is_refused() -> None:
    with pytest.raises(InvalidInput, match="domain"):
        assign_record_keys((codes((2, 0)),), (2, 2))


@pytest.mark.parametrize(("numbers", "others"), [(0, 5), (5, 0), (1, 1), (400, 300), (300, 2)])
def test_what_occurs_among_others_is_as_numpy_finds_it(numbers: int, others: int) -> None:
    words = ReleaseKey(bytes(32)).stream(step="test", mechanism="among", inputs="", parameters={})
    first, second = (words.take(size).astype(np.int64) % 250 - 100 for size in (numbers, others))
    np.testing.assert_array_equal(those_among(first, second), np.sort(first[np.isin(first, second)]))
    assert number_of_distinct(first) == len(np.unique(first))
