from fractions import Fraction
from itertools import accumulate
from math import lcm

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import chisquare

from deniable.foundation.keys import ReleaseKey, WordStream
from tasks.data.split import draw_parts

RECORDS = 200_000
STATED = (Fraction(1, 2), Fraction(3, 20), Fraction(3, 20), Fraction(1, 6))
FALSE_ALARM = 1e-9


class Words(WordStream):
    """A stream of 64-bit words that are given."""

    def __init__(self, words: list[int]) -> None:
        halves = [half for word in words for half in (word >> 32, word & 0xFFFFFFFF)]
        self._ahead = np.array(halves, np.uint32)

    def take(self, count: int) -> NDArray[np.uint32]:
        words, self._ahead = self._ahead[:count], self._ahead[count:]
        assert len(words) == count
        return words


def stream_of(purpose: str) -> WordStream:
    """A stream of the test's own."""
    return ReleaseKey(purpose.encode().ljust(32)[:32]).stream(step="test", mechanism="", inputs="", parameters={})


@st.composite
def probabilities(draw: st.DrawFn) -> list[Fraction]:
    """Probabilities with a sum of at most 1."""
    denominator = draw(st.sampled_from([1, 2, 7, 20, 1000, 2**32, 10**12]))
    shares = draw(st.lists(st.integers(0, denominator), min_size=1, max_size=5))
    return [Fraction(share, max(denominator, sum(shares))) for share in shares]


@given(probabilities())
def test_each_part_owns_exactly_its_share_of_the_words(stated: list[Fraction]) -> None:
    denominator = lcm(*(share.denominator for share in stated))
    each = 2**64 // denominator
    first = [0, *(int(total * denominator) * each for total in accumulate(stated))]
    for part, share in enumerate(stated):
        assert first[part + 1] - first[part] == share * denominator * each
        if share > 0:
            ends = draw_parts(Words([first[part], first[part + 1] - 1]), 2, stated)
            assert ends.tolist() == [part, part]
    if sum(stated) < 1:
        nowhere = draw_parts(Words([first[-1], denominator * each - 1]), 2, stated)
        assert nowhere.tolist() == [len(stated)] * 2


def test_a_word_that_would_favour_a_part_is_drawn_anew() -> None:
    thirds = [Fraction(1, 3)] * 3
    unusable = 2**64 - 1
    assert draw_parts(Words([unusable, 0, unusable, 2**63]), 2, thirds).tolist() == [1, 0]


def chance_of(counts: NDArray[np.int64], stated: tuple[Fraction, ...]) -> float:
    """How likely counts at least as far from the stated probabilities are."""
    expected = np.array([*map(float, stated), float(1 - sum(stated))]) * counts.sum()
    return float(chisquare(counts, expected).pvalue)


def test_parts_are_as_frequent_as_stated_and_not_as_frequent_as_something_close() -> None:
    counts = np.bincount(draw_parts(stream_of("frequencies of parts"), RECORDS, STATED), minlength=5)
    assert chance_of(counts, STATED) > FALSE_ALARM
    close = (Fraction(49, 100), Fraction(16, 100), *STATED[2:])
    assert chance_of(counts, close) < FALSE_ALARM


def pairs(parts: NDArray[np.int64]) -> NDArray[np.int64]:
    """How often each pair of parts follows each other."""
    return np.bincount(parts[:-1:2] * 5 + parts[1::2], minlength=25)


def test_a_record_s_part_says_nothing_about_the_next_one_s() -> None:
    parts = draw_parts(stream_of("independence of parts"), RECORDS, STATED)
    shares = np.array([*map(float, STATED), float(1 - sum(STATED))])
    expected = np.outer(shares, shares).ravel() * (RECORDS // 2)
    assert chisquare(pairs(parts), expected).pvalue > FALSE_ALARM
    dependent = np.where(np.arange(RECORDS) % 20 == 1, np.roll(parts, 1), parts)
    assert chisquare(pairs(dependent), expected).pvalue < FALSE_ALARM


@pytest.mark.parametrize("records", [0, 1])
def test_few_records_are_split_too(records: int) -> None:
    assert len(draw_parts(stream_of("few"), records, STATED)) == records
