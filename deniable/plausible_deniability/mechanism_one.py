"""Mechanism 1* over many candidates: draw a seed, draw a candidate from it, release it if it passes the privacy test.

The number of candidates is fixed before the first is drawn. Each has its own seed and its own noise, and is tested
once. The division of work, the storage of tables and the cost of candidates do not belong here.

Source: Bindschaedler, Shokri, Gunter 2017, section 2, Mechanism 1 with Privacy Tests 1 and 2. Mechanism 1* extends it
so that the outcome "nothing released" may also be observed: an attempt is first dropped with public probability rho,
and the seed is drawn from max(n, N0) places, of which those from n on are empty.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from deniable.foundation.domain import Codes
from deniable.foundation.errors import InvalidInput
from deniable.foundation.keys import Parameter, WordStream
from deniable.foundation.noise import TIE, DiscreteLaplace
from deniable.plausible_deniability.mechanism_one_kernels import (
    ATTEMPTS_A_BLOCK,
    AttemptArrays,
    BlockArrays,
    draw_seed,
    keep_block,
    run,
    run_block,
)
from deniable.plausible_deniability.plausible_seeds import (
    SeedIndex,
    count_plausible,
    count_plausible_by_scan,
    probability_classes,
)
from deniable.plausible_deniability.privacy_tests import PrivacyTest
from deniable.plausible_deniability.resampling import Model, SeedResampler
from deniable.plausible_deniability.scored_counts import draw_scored
from deniable.privacy.common_events import WORDS

# Number of attempts whose words are generated at once, so that they stay in the processor's cache.
_AT_A_TIME = 32_768
_WORDS_AHEAD = 256
_WORDS_BESIDE = 6
"""Usual words per attempt, besides those of re-sampled values: drop, place, number of values, noise."""


@dataclass(frozen=True)
class MechanismOne:
    """One attempt of Mechanism 1*: all its public parameters.

    Attributes:
        test: the privacy test.
        drop_probability: rho, the probability of dropping the attempt at once, in [0, 1).
        public_rows: N0, a public number of places; seeds are drawn from max(n, N0) places.
        given_omega: whether a candidate is tested given the number of attributes that was drawn for it: a seed is then
            plausible if it has the prefix that was copied. Otherwise it is plausible if its probability of giving the
            candidate, over all numbers, is in the same class.
    """

    test: PrivacyTest
    drop_probability: Fraction = Fraction(0)
    public_rows: int = 0
    given_omega: bool = False

    def __post_init__(self) -> None:
        """Refuse invalid probabilities and numbers of rows."""
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
            given_omega=self.given_omega,
        )

    def parameters(self, omega: dict[int, int]) -> dict[str, Parameter]:
        """Parameters of a candidate's distribution, apart from model and seeds, for the key of its stream."""
        return {
            "k": self.test.k,
            "gamma": self.test.gamma,
            "eps0": self.test.eps0 if self.test.randomized and self.test.eps0 is not None else "deterministic",
            "omega": " ".join(f"{number}:{weight}" for number, weight in sorted(omega.items())),
            "drop_probability": self.drop_probability,
            "public_rows": self.public_rows,
            **({"given_omega": 1} if self.given_omega else {}),
        }

    @property
    def noise(self) -> DiscreteLaplace:
        """The distribution of the noise on the threshold; unused by the deterministic test."""
        return DiscreteLaplace(Fraction(1) if self.test.eps0 is None else 1 / self.test.eps0)


LevelDrawn = Callable[[NDArray[np.uint32], int], int]
"""The level that a model draws with some words, from a position on."""
Counter = Callable[[Codes, int, int], int]
"""Counts the plausible seeds of a candidate, given the numbers of its seed and of the level that was drawn for it."""


def _make_attempt(
    model: Model,
    seeds: Codes,
    attempt: MechanismOne,
    count: Counter,
    stream: WordStream,
    level_drawn: LevelDrawn | None = None,
) -> Codes | None:
    """Make one attempt, with the same words as `mechanism_one_kernels.run`; return the released record, or None."""
    room, level = _WORDS_AHEAD, 0
    while True:
        words = stream.peek(room)
        seed, position = draw_seed(attempt.arrays, len(seeds), words, 0)
        candidate = None
        if position >= 0 and seed >= 0:
            level = 0 if level_drawn is None else level_drawn(words, position)
            candidate, position = model.draw(seeds[seed], words, position)
        if position >= 0:
            break
        room *= 2
    stream.skip(position)
    if candidate is None:
        return None
    noise = int(attempt.noise.sample(stream, 1)[0]) if attempt.test.randomized else 0
    return candidate if attempt.test.passes(count(candidate, int(seed), level), noise) else None


def _counter(model: SeedResampler, index: SeedIndex, attempt: MechanismOne) -> Counter:
    """Count the plausible seeds of a candidate by the index."""
    net, arrays, scratch = model.net.arrays, index.arrays, index.scratch()
    classes = probability_classes(attempt.test.gamma, len(model.net.domain))

    def count(candidate: Codes, seed: int, level: int) -> int:
        if attempt.given_omega:
            return int(arrays.node_count[arrays.prefixes[seed, level]])
        return int(count_plausible(net, arrays, classes, candidate, seed, scratch))

    return count


def synthesize(
    model: SeedResampler,
    index: SeedIndex,
    attempt: MechanismOne,
    stream: WordStream,
    candidates: int,
) -> Codes:
    """Make a fixed number of attempts, with plausible seeds counted exactly.

    Args:
        model: the synthesizer.
        index: the seeds, indexed for the model's order and numbers of re-sampled attributes.
        attempt: the mechanism's public parameters.
        stream: fresh words, which alone determine the draws.
        candidates: number of attempts.

    Returns:
        The released records in the order of their attempts, shape (released, m), columns as in the domain.
    """
    net = model.net
    m = len(net.domain)
    classes = probability_classes(attempt.test.gamma, m)
    count = _counter(model, index, attempt)
    net_arrays, attempt_arrays, thresholds = net.arrays, attempt.arrays, attempt.noise.thresholds
    positions = np.argsort(net.order).astype(np.uint64)
    released = np.empty((candidates, m), np.uint16)
    block = BlockArrays.empty(m)
    passed, left = 0, candidates
    while left:
        some = min(left, _AT_A_TIME)
        words = stream.peek(some * (max(model.omega) + _WORDS_BESIDE) + _WORDS_AHEAD)
        made, used, more, position = run(
            net_arrays,
            index.arrays,
            classes,
            model.choice,
            attempt_arrays,
            thresholds,
            words,
            some,
            positions,
            released[passed:],
            block,
        )
        stream.skip(used)
        passed += more
        left -= made
        if position == TIE:
            record = _make_attempt(model, index.arrays.seeds, attempt, count, stream, model.level_drawn)
            if record is not None:
                released[passed] = net.in_columns(record[None])[0]
                passed += 1
            left -= 1
    return released[:passed]


@dataclass(frozen=True)
class Counting:
    """The counting of plausible seeds in a sample of them, or up to a limit.

    Attributes:
        check_probability: probability with which a seed is scored, a multiple of 2^-32; 1 scores all of them.
        max_plausible: the largest number to count; None for no limit.
    """

    check_probability: Fraction = Fraction(1)
    max_plausible: int | None = None

    def __post_init__(self) -> None:
        """Refuse a probability that is not a multiple of 2^-32."""
        if not 0 < self.check_probability <= 1 or (self.check_probability * WORDS).denominator != 1:
            asked = self.check_probability
            msg = f"the probability of scoring a seed must be a multiple of 2^-32 in (0, 1], got {asked}."
            raise InvalidInput(msg)

    @property
    def parameters(self) -> dict[str, Parameter]:
        """The parameters that determine the draws in addition to `MechanismOne.parameters`."""
        return {"check_probability": self.check_probability, "max_plausible": self.max_plausible or 0}

    def scored(self, seeds: Codes, stream: WordStream) -> Codes | None:
        """The seeds to score for one candidate, each selected independently with equal probability; None for all."""
        if self.check_probability == 1:
            return None
        return seeds[stream.take(len(seeds)).astype(np.int64) < int(self.check_probability * WORDS)]


ALL_SEEDS = Counting()
"""All seeds are scored, and all plausible ones counted."""


def synthesize_counted(
    model: SeedResampler,
    index: SeedIndex,
    attempt: MechanismOne,
    stream: WordStream,
    scored: WordStream,
    candidates: int,
    *,
    counting: Counting,
) -> Codes:
    """Make a fixed number of attempts, with plausible seeds counted among those that are scored, or up to a limit.

    The numbers among all seeds are those of the index, and the numbers among the scored ones are drawn from them. They
    have words of their own, so that the attempts are made with the same words as by `synthesize`.

    Args:
        model: the synthesizer.
        index: the seeds, indexed for the model's order and numbers of re-sampled attributes.
        attempt: the mechanism's public parameters.
        stream: fresh words for the attempts.
        scored: fresh words for the numbers of scored seeds.
        candidates: number of attempts.
        counting: the sampling of seeds to score, and the limit on the count.

    Returns:
        The released records in the order of their attempts, shape (released, m), columns as in the domain.

    Raises:
        InvalidInput: the limit on the count is below k.
    """
    _require_room(attempt, counting)
    net = model.net
    m = len(net.domain)
    exact, block = _counter(model, index, attempt), BlockArrays.empty(m)
    classes, thresholds = probability_classes(attempt.test.gamma, m), attempt.noise.thresholds
    positions = np.argsort(net.order).astype(np.uint64)
    released = np.empty((candidates, m), np.uint16)

    def limit(counts: NDArray[np.int64]) -> None:
        draw_scored(counts, counting.check_probability, scored)
        if counting.max_plausible is not None:
            np.minimum(counts, counting.max_plausible, out=counts)

    def count(candidate: Codes, seed: int, level: int) -> int:
        found = np.asarray([exact(candidate, seed, level)], np.int64)
        limit(found)
        return int(found[0])

    passed, left = 0, candidates
    while left:
        some = min(left, ATTEMPTS_A_BLOCK)
        words = stream.peek(some * (max(model.omega) + _WORDS_BESIDE) + _WORDS_AHEAD)
        made, live, used, position = run_block(
            net.arrays, index.arrays, classes, model.choice, attempt.arrays, thresholds, words, some, m, block
        )
        stream.skip(used)
        limit(block.plausible[:live])
        passed += keep_block(block, attempt.arrays, live, positions, released[passed:])
        left -= made
        if position == TIE:
            record = _make_attempt(model, index.arrays.seeds, attempt, count, stream, model.level_drawn)
            if record is not None:
                released[passed] = net.in_columns(record[None])[0]
                passed += 1
            left -= 1
    return released[:passed]


def _require_room(attempt: MechanismOne, counting: Counting) -> None:
    """Refuse a limit on the count at which no candidate could pass."""
    most = counting.max_plausible
    if most is not None and most < attempt.test.k:
        msg = f"max_plausible must be at least k = {attempt.test.k}, got {most}."
        raise InvalidInput(msg)


def synthesize_by_scan(
    model: Model,
    seeds: Codes,
    attempt: MechanismOne,
    stream: WordStream,
    candidates: int,
    *,
    counting: Counting = ALL_SEEDS,
) -> Codes:
    """Make a fixed number of attempts with any model that has a density, by scoring seeds one by one.

    If all seeds are scored, it uses the words of a stream exactly as `synthesize` does, so that both release the same
    records for the same model. The time per candidate depends on the number of seeds, not on their values.

    Args:
        model: any model.
        seeds: the seeds, shape (n, m), positions in the model's order.
        attempt: the mechanism's public parameters.
        stream: fresh words.
        candidates: number of attempts.
        counting: the sampling of seeds to score, and the limit on the count.

    Returns:
        The released records in the order of their attempts, shape (released, m), positions in the model's order.

    Raises:
        InvalidInput: the limit on the count is below k.
    """
    _require_room(attempt, counting)
    if attempt.given_omega:
        raise InvalidInput("a scan must count seeds over all numbers of omega; count them by the index instead.")
    most = counting.max_plausible
    classes = probability_classes(attempt.test.gamma, seeds.shape[1])

    def count(candidate: Codes, seed: int, _: int) -> int:
        return count_plausible_by_scan(
            lambda block: model.probabilities(candidate, block),
            seeds,
            seed,
            classes,
            among=counting.scored(seeds, stream),
            max_plausible=most,
        )

    attempts = (_make_attempt(model, seeds, attempt, count, stream) for _ in range(candidates))
    released = [record for record in attempts if record is not None]
    return np.asarray(released, np.uint16).reshape(len(released), seeds.shape[1])
