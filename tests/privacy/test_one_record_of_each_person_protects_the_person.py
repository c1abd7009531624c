"""With one record of each person, a guarantee for a record is one for a person: enumerated on small tables."""

from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import chisquare

from deniable.foundation.keys import ReleaseKey
from deniable.foundation.uniform import words_of_64_bits
from deniable.privacy.one_person import kept_in_chunks, kept_records, person_keys

Choice = Callable[[NDArray[np.uint64], NDArray[np.uint64]], NDArray[np.bool_]]
Table = list[tuple[str, int]]
"""The records of a table: a person and a value each."""

FALSE_ALARM = 1e-9
VALUES = 3
BOUND = 2
"""e^epsilon of the mechanism for one record: geometric noise of ratio 1/2 on each count."""
OTHERS: Table = [("y", 1), ("z", 1), ("z", 2)]
OF_ONE: list[Table] = [
    [("x", 0)],
    [("x", 0), ("x", 0)],
    [("x", 0), ("x", 1)],
    [("x", 1), ("x", 2), ("x", 2)],
]


def all_records(people: NDArray[np.uint64], _: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Broken: every record of a person is used."""
    return np.ones(len(people), bool)


def a_share_of_all(people: NDArray[np.uint64], words: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Broken: the two smallest words of the whole table are used, so that one person's records displace others."""
    return np.isin(np.arange(len(people)), np.argsort(words)[:2])


def one_of_each_value(_: NDArray[np.uint64], words: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Broken: one record of each word's parity, a rule that does not look at people."""
    kept = np.zeros(len(words), bool)
    for parity in (0, 1):
        those = np.flatnonzero(words % 2 == parity)
        kept[those[np.argmin(words[those])] if len(those) else []] = True
    return kept


def law_of_counts(table: Table, choose: Choice) -> dict[tuple[int, ...], Fraction]:
    """The law of the counts of the records that are kept, over all orders of the words."""
    people = person_keys([person for person, _ in table])
    orders = list(permutations(range(len(table))))
    found: Counter[tuple[int, ...]] = Counter()
    for order in orders:
        kept = choose(people, np.asarray(order, np.uint64))
        values = [value for (_, value), is_kept in zip(table, kept, strict=True) if is_kept]
        found[tuple(values.count(value) for value in range(VALUES))] += 1
    return {counts: Fraction(times, len(orders)) for counts, times in found.items()}


def law_of_noisy_counts(table: Table, choose: Choice) -> NDArray[np.float64]:
    """The law of noisy counts near zero, up to a factor that is the same for all tables."""
    law = law_of_counts(table, choose)
    outputs = product(range(-1, 5), repeat=VALUES)
    return np.array(
        [
            sum(float(share) * 0.5 ** sum(map(abs, np.subtract(output, counts))) for counts, share in law.items())
            for output in outputs
        ]
    )


def worst_ratio(choose: Choice) -> float:
    """The largest ratio of probabilities with and without a person."""
    without = law_of_noisy_counts(OTHERS, choose)
    worst = 0.0
    for records in OF_ONE:
        # In whatever order the file has them.
        for table in (OTHERS + records, records + OTHERS):
            law = law_of_noisy_counts(table, choose)
            worst = max(worst, float((law / without).max()), float((without / law).max()))
    return worst


def test_a_person_with_any_number_of_records_is_protected_as_one_record_is() -> None:
    ratio = worst_ratio(kept_records)
    assert ratio <= BOUND * (1 + 1e-12)
    # Nor is more noise added than a record needs.
    assert ratio > BOUND * 0.99


@pytest.mark.parametrize("broken", [all_records, a_share_of_all, one_of_each_value])
def test_other_ways_to_choose_records_do_not_protect_the_person(broken: Choice) -> None:
    assert worst_ratio(broken) > BOUND * 1.05


@given(
    st.lists(st.tuples(st.sampled_from("uvwxyz"), st.integers(0, 2**64 - 1)), min_size=1, max_size=40),
    st.sampled_from("uvwxyz"),
)
def test_which_record_of_a_person_is_kept_depends_on_that_person_alone(
    records: list[tuple[str, int]], gone: str
) -> None:
    def kept_of(those: list[tuple[str, int]]) -> NDArray[np.bool_]:
        return kept_records(person_keys([person for person, _ in those]), np.array([w for _, w in those], np.uint64))

    kept = kept_of(records)
    chosen = [person for (person, _), is_kept in zip(records, kept, strict=True) if is_kept]
    assert sorted(chosen) == sorted({person for person, _ in records})
    left = [place for place, (person, _) in enumerate(records) if person != gone]
    if left:
        assert kept_of([records[place] for place in left]).tolist() == kept[left].tolist()


def test_nothing_is_kept_of_no_records() -> None:
    assert kept_records(person_keys([]), np.empty(0, np.uint64)).tolist() == []


def test_chunks_of_records_are_chosen_from_as_all_of_them_together() -> None:
    stream = ReleaseKey(bytes(32)).stream(step="test", mechanism="chunks", inputs="", parameters={})
    people, words = person_keys(str(number % 7) for number in range(40)), words_of_64_bits(stream, 40)
    ends = [13, 13, 14, 37]
    chunks = kept_in_chunks(np.split(people, ends), np.split(words, ends))
    assert [len(chunk) for chunk in chunks] == [13, 0, 1, 23, 3]
    assert np.concatenate(chunks).tolist() == kept_records(people, words).tolist()
    assert kept_in_chunks([], []) == []


def test_each_record_of_a_person_is_as_likely_as_the_others() -> None:
    people, each = 20_000, 4
    stream = ReleaseKey(bytes(32)).stream(step="test", mechanism="one of each", inputs="", parameters={})
    keys = person_keys(map(str, range(people))).repeat(each, axis=0)
    kept = kept_records(keys, words_of_64_bits(stream, people * each)).reshape(people, each)
    assert kept.sum(axis=1).tolist() == [1] * people
    assert chisquare(kept.sum(axis=0)).pvalue > FALSE_ALARM
    assert chisquare(np.add(kept.sum(axis=0), [600, -200, -200, -200])).pvalue < FALSE_ALARM


def test_different_identifiers_are_different_people() -> None:
    keys = person_keys(["1", "01", "1 ", "", "é", "e\u0301"])
    assert len({tuple(key) for key in keys.tolist()}) == 6
    many = person_keys(map(str, range(3_000)))
    assert len(np.unique(many, axis=0)) == 3_000
    assert len(np.unique(many[:, 0])) == len(np.unique(many[:, 1])) == 3_000
    assert person_keys(["7", "8"]).tolist() == person_keys(["7", "8"]).tolist()


def test_people_whose_keys_share_a_half_are_two_people() -> None:
    """Keys have 128 bits, and both halves tell people apart."""
    for shared in (0, 1):
        people = np.full((6, 2), 7, np.uint64)
        people[:, 1 - shared] = [1, 2, 1, 2, 1, 2]
        kept = kept_records(people, np.array([3, 1, 2, 5, 9, 4], np.uint64))
        assert kept.tolist() == [False, True, True, False, False, False]
