import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from deniable.foundation import noise
from deniable.foundation.errors import InvalidInput
from deniable.foundation.exact_probabilities import exp_probability, tail_probabilities
from deniable.foundation.keys import ReleaseKey, Words, WordStream
from deniable.foundation.noise import (
    OUT_OF_WORDS,
    TIE,
    DiscreteGaussian,
    DiscreteLaplace,
    Law,
    bernoulli_exp,
    draw_noise,
    uniform_below,
)

NARROW_LAWS = [
    DiscreteLaplace(Fraction(1, 50)),
    DiscreteLaplace(Fraction(1, 3)),
    DiscreteLaplace(Fraction(1)),
    DiscreteLaplace(Fraction(10)),
    DiscreteLaplace(Fraction(5000, 67)),
    DiscreteLaplace(Fraction(2**33) + Fraction(1, 7)),
    DiscreteLaplace(Fraction(2**50)),
    DiscreteGaussian(Fraction(1, 10)),
    DiscreteGaussian(Fraction(1963, 10)),
    DiscreteGaussian(Fraction(10**6 + 1, 10)),
]
WIDE_GAUSSIAN = DiscreteGaussian(Fraction(2**70) + Fraction(1, 3))
LAWS = [*NARROW_LAWS, WIDE_GAUSSIAN]


def a_stream(chunk: int = 0) -> WordStream:
    return ReleaseKey(bytes(32)).stream(step="test", mechanism="noise", inputs="", parameters={}, chunk=chunk)


def stream_of(*words: int) -> WordStream:
    """A stream that begins with the given words."""
    stream = a_stream()
    stream._buffer, stream._end = np.array(words, np.uint32), len(words)
    return stream


def words_of(number: int, count: int) -> Words:
    """The words that spell a number."""
    return np.array([number >> 32 * place & 0xFFFFFFFF for place in reversed(range(count))], np.uint32)


@pytest.mark.parametrize("bound", [1, 2, 3, 10, 3143, 2**31 + 1, 2**32 - 1, 2**32, 2**32 + 1, 3 * 2**40 + 7, 2**63])
def test_every_value_below_the_bound_is_drawn_from_equally_many_words(bound: int) -> None:
    count = 1 if bound <= 2**32 else 2
    numbers = 2 ** (32 * count)
    for value in {0, min(1, bound - 1), bound // 3, bound // 2, max(0, bound - 2), bound - 1}:
        first, stop = -(-value * numbers // bound), -(-(value + 1) * numbers // bound)
        # Of the numbers that give a value only the first few can be refused: what is left over grows along them.
        refused = 0
        for number in {*range(first, min(first + 3, stop)), stop - 1}:
            drawn, position = uniform_below(words_of(number, count), 0, np.uint64(bound))
            if position == OUT_OF_WORDS:
                assert number == first
                refused += 1
            else:
                assert (drawn, position) == (value, count)
        assert stop - first - refused == numbers // bound


def test_a_refused_number_is_followed_by_a_fresh_one() -> None:
    assert uniform_below(np.array([0, 0, 2**31], np.uint32), 0, 3) == (1, 3)
    assert uniform_below(np.array([7, 0, 2**31], np.uint32), 1, 3) == (1, 3)


@pytest.mark.parametrize("bound", [5, 2**40 + 1])
def test_uniform_integers_ask_for_more_words(bound: int) -> None:
    assert uniform_below(np.zeros(0, np.uint32), 0, bound)[1] == OUT_OF_WORDS
    words = a_stream().take(2)
    width = 1 if bound == 5 else 2
    assert uniform_below(words[:width], 0, bound)[1] == width
    assert uniform_below(words[: width - 1], 0, bound)[1] == OUT_OF_WORDS


@pytest.mark.parametrize("law", [law for law in NARROW_LAWS if len(law.thresholds.guide) == 1], ids=repr)
def test_magnitudes_are_drawn_from_as_many_numbers_as_their_thresholds_say(law: Law) -> None:
    # Exhaustive: what is drawn never rises along the 2^63 numbers, so that it is known from where it falls.
    leading = [int(threshold) for threshold in law.thresholds.leading]

    def magnitude(number: int) -> int:
        drawn, position = draw_noise(words_of(number << 1, 2), 0, law.thresholds)
        return int(drawn) if position == 2 else position

    ends = [-1, *reversed(leading), 2**63]
    for below, above in pairwise(ends):
        if above - below > 1:
            expected = sum(threshold > below + 1 for threshold in leading)
            assert magnitude(below + 1) == magnitude(above - 1) == expected
    assert {magnitude(threshold) for threshold in leading} == {TIE}


def test_the_lowest_bit_is_the_sign_and_a_negative_zero_is_drawn_again() -> None:
    thresholds = DiscreteLaplace(Fraction(1)).thresholds
    two = int(thresholds.leading[1]) - 1
    zero = 2**63 - 1
    assert draw_noise(words_of(two << 1, 2), 0, thresholds) == (2, 2)
    assert draw_noise(words_of(two << 1 | 1, 2), 0, thresholds) == (-2, 2)
    assert draw_noise(words_of(zero << 1, 2), 0, thresholds) == (0, 2)
    assert draw_noise(words_of(zero << 1 | 1, 2), 0, thresholds)[1] == OUT_OF_WORDS
    assert draw_noise(words_of((zero << 1 | 1) << 64 | two << 1, 4), 0, thresholds) == (2, 4)


@pytest.mark.parametrize("law", NARROW_LAWS, ids=repr)
def test_a_draw_depends_on_its_words_alone(law: Law) -> None:
    words = a_stream().take(1000)
    drawn, end = draw_noise(words, 100, law.thresholds)
    for length in range(100, end):
        assert draw_noise(words[:length], 100, law.thresholds)[1] == OUT_OF_WORDS
    assert draw_noise(words[100:end], 0, law.thresholds) == (drawn, end - 100)


@pytest.mark.parametrize("negative", [False, True])
@pytest.mark.parametrize(("last_word", "expected"), [(-1, 3), (0, 3), (1, 2)])
def test_a_tie_is_broken_by_the_next_digits(last_word: int, expected: int, negative: bool) -> None:  # noqa: FBT001
    law = DiscreteLaplace(Fraction(10))
    # Pr[M >= 3] in 63, then in 32 more digits: the words agree with the former, the last one with the latter or nearly.
    leading, following = (int(law.thresholds.leading[2]), tail_probabilities(Fraction(1, 10), Fraction(0), 95)[2])
    first_words = words_of(leading << 1 | negative, 2)
    assert draw_noise(first_words, 0, law.thresholds)[1] == TIE
    stream = stream_of(*first_words, (following & 0xFFFFFFFF) + last_word, 0, 12345)
    drawn = int(law.sample(stream, 1)[0])
    assert drawn == (-expected if negative else expected)
    # Had the third word tied too, a fourth, 0, would have decided.
    assert stream.take(1)[0] == (12345 if last_word == 0 else 0)


def test_a_number_below_all_thresholds_is_decided_too() -> None:
    law = DiscreteLaplace(Fraction(1, 3))
    stream = stream_of(0, 0, 2**31, 77)
    # 2^-64 lies between exp(-3 * 14) and exp(-3 * 15).
    assert law.sample(stream, 1)[0] == 14
    assert stream.take(1)[0] == 77


def test_a_tie_in_a_later_digit_or_after_a_negative_zero_starts_the_draw_again() -> None:
    law = DiscreteLaplace(Fraction(70))
    tables = law.thresholds
    tie = words_of(int(tables.leading[tables.starts[1]]) << 1, 2)
    zero = words_of(2**64 - 2, 2)
    negative_zero = words_of(2**64 - 1, 2)
    stream = stream_of(*negative_zero, *zero, *zero, *tie, 0, 55)
    assert draw_noise(stream.peek(8), 0, tables)[1] == TIE
    assert law.sample(stream, 1)[0] == 1
    assert stream.take(1)[0] == 55


@pytest.mark.parametrize("law", NARROW_LAWS, ids=repr)
def test_kernels_and_python_integers_make_the_same_draws_of_the_same_words(law: Law) -> None:
    fast, slow = a_stream(), a_stream()
    assert law.sample(fast, 300).tolist() == [noise._draw_by_digits(law, slow) for _ in range(300)]
    assert fast.take(1) == slow.take(1)


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_draws_do_not_depend_on_how_many_are_made_at_a_time(law: Law, monkeypatch: pytest.MonkeyPatch) -> None:
    parts, whole = a_stream(), a_stream()
    drawn = [*law.sample(parts, 3), *law.sample(parts, 0), *law.sample(parts, 40)]
    monkeypatch.setattr(noise, "_DRAWS_A_BLOCK", 5)
    assert law.sample(whole, 43).tolist() == drawn
    assert parts.take(1) == whole.take(1)


@pytest.mark.parametrize(
    ("law", "expected"),
    [
        (DiscreteLaplace(Fraction(10)), [-20, -32, 4, -1, -14]),
        (DiscreteLaplace(Fraction(2**33)), [-18209094670, 5056153702, -6767565939, 13928315092, -833952533]),
        (DiscreteGaussian(Fraction(1963, 10)), [-21, -29, 6, -3, -16]),
        (DiscreteGaussian(Fraction(2**70)), [-69748702222, -9708467839, 13291166963, -24439416834, 43246508033]),
    ],
)
def test_draws_stay_what_they_are_from_version_to_version(law: Law, expected: list[int]) -> None:
    assert law.sample(a_stream(), 5).tolist() == expected


def test_the_widest_laws_fit_64_bits() -> None:
    assert np.abs(DiscreteLaplace(Fraction(2**50)).sample(stream_of(*[0, 2] * 9), 1)[0]) > 2**55
    assert len(DiscreteGaussian(2**100 - Fraction(1, 3)).sample(a_stream(), 5)) == 5


@pytest.mark.parametrize("scale", [Fraction(0), Fraction(-1), Fraction(2**50 + 1), 0.5, 1, "1"])
def test_a_laplace_law_needs_an_exact_scale_within_bounds(scale: Fraction) -> None:
    with pytest.raises(InvalidInput, match="scale must be a Fraction above 0 and at most 2\\^50"):
        DiscreteLaplace(scale)


@pytest.mark.parametrize("sigma_squared", [Fraction(0), Fraction(-1), Fraction(2**100), 0.5, 1, "1"])
def test_a_gaussian_law_needs_an_exact_width_within_bounds(sigma_squared: Fraction) -> None:
    with pytest.raises(InvalidInput, match="sigma_squared must be a Fraction above 0 and below 2\\^100"):
        DiscreteGaussian(sigma_squared)


def test_a_wide_gaussian_law_has_no_table() -> None:
    with pytest.raises(InvalidInput, match="draw with sample"):
        _ = WIDE_GAUSSIAN.thresholds


def test_bernoulli_draws_compare_as_many_words_as_it_takes() -> None:
    half_words = [int(word) for word in words_of(exp_probability(Fraction(1, 2), 96), 3)]
    for last, expected in ((-1, True), (1, False)):
        stream = stream_of(half_words[0], half_words[1], half_words[2] + last, 99)
        assert bernoulli_exp(stream, Fraction(1, 2)) is expected
        assert stream.take(1)[0] == 99
    assert bernoulli_exp(stream_of(half_words[0] - 1), Fraction(1, 2)) is True
    assert bernoulli_exp(stream_of(half_words[0] + 1), Fraction(1, 2)) is False


def test_bernoulli_draws_of_certain_and_of_hopeless_events() -> None:
    assert bernoulli_exp(stream_of(2**32 - 1), Fraction(0)) is True
    assert bernoulli_exp(stream_of(0, 0, 1), Fraction(200)) is False


@pytest.mark.parametrize("law", [law for law in LAWS if law.variance < 10**5], ids=repr)
def test_probabilities_tails_and_variances_belong_together(law: Law) -> None:
    reach = 20 + math.ceil(50 * math.sqrt(law.variance))
    values = range(-reach, reach + 1)
    probabilities = np.array([law.probability(z) for z in values])
    assert probabilities.sum() == pytest.approx(1, abs=1e-12)
    assert (np.array(values) ** 2 * probabilities).sum() == pytest.approx(law.variance, rel=1e-9)
    for z in (-reach, -7, -1, 0, 1, 2, 30):
        assert law.tail(z) == pytest.approx(probabilities[z + reach :].sum(), rel=1e-9, abs=1e-15)


def test_laplace_noise_costs_one_over_its_scale() -> None:
    law = DiscreteLaplace(Fraction(10))
    losses = [abs(math.log(law.probability(z) / law.probability(z + 1))) for z in range(-50, 50)]
    assert max(losses) == pytest.approx(0.1)


def test_tails_of_wide_laws_are_those_of_the_continuous_ones() -> None:
    assert WIDE_GAUSSIAN.tail(2**35) == pytest.approx(0.15865525393145707)
    assert WIDE_GAUSSIAN.tail(1) == pytest.approx(0.5)
    assert WIDE_GAUSSIAN.tail(-(2**35)) == pytest.approx(0.8413447460685429)
    assert DiscreteLaplace(Fraction(2**33)).tail(2**33) == pytest.approx(math.exp(-1) / 2)
