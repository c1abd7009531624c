"""Whatever the law and however draws are grouped, the same words make the same draws."""

from fractions import Fraction

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable.foundation import noise
from deniable.foundation.keys import ReleaseKey, WordStream
from deniable.foundation.noise import OUT_OF_WORDS, DiscreteGaussian, DiscreteLaplace, Law, uniform_below
from tests.extent import drawn

positive = st.fractions(min_value=Fraction(1, 1000), max_value=Fraction(10**5), max_denominator=10**6)
laws = st.one_of(
    st.builds(DiscreteLaplace, positive),
    st.builds(lambda scale, power: DiscreteLaplace(scale * 2**power), positive, st.integers(0, 33)),
    st.builds(DiscreteGaussian, positive),
)


def stream_of(chunk: int) -> WordStream:
    return ReleaseKey(bytes(32)).stream(step="test", mechanism="property", inputs="", parameters={}, chunk=chunk)


def uniform_by_python(words: list[int], bound: int) -> tuple[int, int]:
    """The rule of `uniform_below`, in integers without bound."""
    width = 1 if bound <= 2**32 else 2
    values = 2 ** (32 * width)
    for position in range(0, len(words) - width + 1, width):
        number = sum(word << 32 * place for place, word in enumerate(reversed(words[position : position + width])))
        if number * bound % values >= values % bound:
            return number * bound // values, position + width
    return 0, OUT_OF_WORDS


@given(st.lists(st.integers(0, 2**32 - 1), max_size=6), st.integers(1, 2**63))
def test_uniform_integers_follow_the_rule_for_any_words_and_bound(words: list[int], bound: int) -> None:
    drawn, position = uniform_below(np.array(words, np.uint32), 0, np.uint64(bound))
    assert (drawn if position > 0 else 0, position) == uniform_by_python(words, bound)


@given(st.lists(st.integers(0, 2**32 - 1), max_size=6), st.integers(1, 2**32))
def test_uniform_integers_follow_the_rule_for_small_bounds(words: list[int], bound: int) -> None:
    drawn, position = uniform_below(np.array(words, np.uint32), 0, np.uint64(bound))
    assert (drawn if position > 0 else 0, position) == uniform_by_python(words, bound)


@settings(max_examples=drawn(60))
@given(laws, st.integers(0, 2**20))
def test_kernels_and_python_integers_make_the_same_draws_for_any_law(law: Law, chunk: int) -> None:
    fast, slow = stream_of(chunk), stream_of(chunk)
    assert law.sample(fast, 20).tolist() == [noise._draw_by_digits(law, slow) for _ in range(20)]
    assert fast.take(1) == slow.take(1)


@given(st.lists(st.integers(0, 300), max_size=12), st.integers(0, 2**20))
def test_words_come_in_the_same_order_however_they_are_taken(counts: list[int], chunk: int) -> None:
    stream = stream_of(chunk)
    parts = [stream.peek(count)[: count // 2] if count % 3 == 0 else stream.take(count) for count in counts]
    taken = [part for count, part in zip(counts, parts, strict=True) if count % 3]
    whole = stream_of(chunk).take(sum(count for count in counts if count % 3))
    assert np.array_equal(np.concatenate([*taken, whole[:0]]), whole)
