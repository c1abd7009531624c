"""Mechanism 1* over many candidates: draw a seed, draw a candidate from it, release it if it passes the privacy test.

The number of candidates is fixed before the first is drawn; each has a seed and noise of its own, and each is tested once. How work
is divided, where tables lie and what a candidate costs do not belong here.

Source: Bindschaedler, Shokri, Gunter 2017, section 2, Mechanism 1 with Privacy Tests 1 and 2. Mechanism 1* adds what lets the
outcome "nothing released" be seen too: with a public probability rho an attempt is dropped before anything else, and the seed is
drawn from max(n, N0) places, of which those from n on are empty.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from deniable.deniability import PrivacyTest
from deniable.domain import Codes
from deniable.errors import InvalidInput
from deniable.keys import WordStream
from deniable.noise import OUT_OF_DIGITS, DiscreteLaplace, Thresholds, draw_noise, uniform_below
from deniable.plausible_seeds import SeedIndex, count_plausible, count_plausible_by_scan, probability_classes
from deniable.resampling import Model, SeedResampler, resample

_MORE_CANDIDATES = 64
"""Candidates that words are fetched for at least, when those at hand have run out."""


class AttemptArrays(NamedTuple):
    """Mechanism 1*'s public parameters, for compiled code."""

    drop_numerator: int
    drop_denominator: int
    public_rows: int
    k: int
    randomized: bool


@dataclass(frozen=True)
class Attempt:
    """Mechanism 1*, one attempt: everything about it that is public.

    Attributes:
        test: the privacy test.
        drop_probability: rho, the probability of dropping the attempt unseen, in [0, 1).
        public_rows: N0, a public number of places; seeds are drawn from max(n, N0) places.
    """

    test: PrivacyTest
    drop_probability: Fraction = Fraction(0)
    public_rows: int = 0

    def __post_init__(self) -> None:
        """Refuse what is no probability and no number of rows."""
        if not 0 <= self.drop_probability < 1:
            msg = f"drop_probability must be in [0, 1), got {self.drop_probability}; give a probability such as 0.01."
            raise InvalidInput(msg)
        if self.public_rows < 0:
            msg = f"public_rows must be 0 or more, got {self.public_rows}."
            raise InvalidInput(msg)

    @property
    def arrays(self) -> AttemptArrays:
        """The parameters as integers."""
        return AttemptArrays(
            drop_numerator=self.drop_probability.numerator,
            drop_denominator=self.drop_probability.denominator,
            public_rows=self.public_rows,
            k=self.test.k,
            randomized=self.test.randomized,
        )

    def noise(self, deeper: int = 0) -> Thresholds:
        """The law of the noisy threshold, with more digits the deeper; not drawn from by the deterministic test."""
        law = DiscreteLaplace(Fraction(1) if self.test.eps0 is None else 1 / self.test.eps0)
        return law.thresholds(*([4 * 2**deeper] if deeper else []))


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _draw_seed(attempt, size, words, position):  # type: ignore[no-untyped-def] # pragma: no cover
    """The number of the attempt's seed, -1 for none, and the next position, -1 if the words do not suffice."""
    if attempt.drop_numerator > 0:
        ticket, position = uniform_below(words, position, attempt.drop_denominator)
        if position < 0 or np.int64(ticket) < attempt.drop_numerator:
            return -1, position
    place, position = uniform_below(words, position, max(size, attempt.public_rows))
    if position < 0 or np.int64(place) >= size:
        return -1, position
    return np.int64(place), position


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _passes(attempt, thresholds, plausible, words, position):  # type: ignore[no-untyped-def] # pragma: no cover
    """Whether the count reaches the threshold, noised afresh unless the test is deterministic; and the next position."""
    if not attempt.randomized:
        return plausible >= attempt.k, position
    noise, position = draw_noise(words, position, thresholds)
    return plausible >= attempt.k + noise, position


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _run(net, index, classes, choice, attempt, thresholds, words, attempts, released):  # type: ignore[no-untyped-def] # pragma: no cover
    """Make attempts until they are done or the words or the noise's digits run out.

    Returns:
        Attempts made, words used by them, records released, and the last position.
    """
    m = index.seeds.shape[1]
    steps = np.empty(len(index.levels), np.int64)
    fractions = np.empty(len(index.levels))
    candidate = np.empty(m, np.uint16)
    used = 0
    passed = 0
    for made in range(attempts):
        seed, position = _draw_seed(attempt, len(index.seeds), words, used)
        if position < 0:
            return made, used, passed, position
        if seed >= 0:
            position = resample(net, choice, index.seeds[seed], words, position, candidate)
            if position < 0:
                return made, used, passed, position
            plausible = count_plausible(net, index, classes, candidate, seed, steps, fractions)
            releases, position = _passes(attempt, thresholds, plausible, words, position)
            if position < 0:
                return made, used, passed, position
            if releases:
                released[passed] = candidate
                passed += 1
        used = position
    return attempts, used, passed, used


def synthesize(
    model: SeedResampler, index: SeedIndex, attempt: Attempt, stream: WordStream, candidates: int
) -> Codes:
    """Make a fixed number of attempts, with plausible seeds counted exactly.

    Args:
        model: the synthesizer.
        index: the seeds, indexed for the model's order and numbers of re-sampled attributes.
        attempt: the mechanism's public parameters.
        stream: fresh words; the result depends on them alone.
        candidates: number of attempts.

    Returns:
        The released records in the order of their attempts, shape (released, m), columns as in the domain.
    """
    net = model.net
    classes = probability_classes(attempt.test.gamma, len(net.domain))
    batches = []
    words = stream.take(candidates * (len(net.domain) + 4))
    left = candidates
    deeper = 0
    while left:
        room = np.empty((left, len(net.domain)), np.uint16)
        made, used, passed, position = _run(
            net.arrays,
            index.arrays,
            classes,
            model.choice,
            attempt.arrays,
            attempt.noise(deeper),
            words,
            left,
            room,
        )
        batches.append(room[:passed].copy())
        left -= made
        if position == OUT_OF_DIGITS:
            deeper += 1
        words = words[used:]
        if left:
            words = np.concatenate((words, stream.take(max(left, _MORE_CANDIDATES) * (len(net.domain) + 4))))
    return net.in_columns(np.concatenate(batches))


def synthesize_by_scan(
    model: Model,
    seeds: Codes,
    attempt: Attempt,
    stream: WordStream,
    candidates: int,
    *,
    max_plausible: int | None = None,
    max_check_plausible: int | None = None,
) -> Codes:
    """Make a fixed number of attempts with any model that can score a candidate, looking at one seed after the other.

    Uses the words of a stream exactly as `synthesize` does, so that both release the same records for the same model.

    Args:
        model: any model.
        seeds: the seeds, shape (n, m), positions in the model's order, rows in an order independent of the data.
        attempt: the mechanism's public parameters.
        stream: fresh words.
        candidates: number of attempts.
        max_plausible: stop counting at this many plausible seeds, at least k.
        max_check_plausible: look at no more seeds than this.

    Returns:
        The released records in the order of their attempts, shape (released, m), positions in the model's order.
    """
    if max_plausible is not None and max_plausible < attempt.test.k:
        msg = f"max_plausible must be at least k = {attempt.test.k}, got {max_plausible}."
        raise InvalidInput(msg)
    classes = probability_classes(attempt.test.gamma, seeds.shape[1])
    arrays = attempt.arrays
    fetch = _MORE_CANDIDATES * (seeds.shape[1] + 4)
    words: NDArray[np.uint32] = stream.take(fetch)
    deeper = 0
    released = []
    used = 0
    made = 0
    while made < candidates:
        candidate = None
        releases = False
        seed, position = _draw_seed(arrays, len(seeds), words, used)
        if position >= 0 and seed >= 0:
            candidate, position = model.draw(seeds[seed], words, position)
        if position >= 0 and candidate is not None:
            plausible = count_plausible_by_scan(
                lambda block, candidate=candidate: model.probabilities(candidate, block),  # type: ignore[misc]
                seeds,
                seed,
                classes,
                max_plausible=max_plausible,
                max_check_plausible=max_check_plausible,
            )
            releases, position = _passes(arrays, attempt.noise(deeper), plausible, words, position)
        if position < 0:
            deeper += position == OUT_OF_DIGITS
            words, used = np.concatenate((words[used:], stream.take(fetch))), 0
            continue
        if releases and candidate is not None:
            released.append(candidate)
        used = position
        made += 1
    return np.asarray(released, np.uint16).reshape(len(released), seeds.shape[1])
