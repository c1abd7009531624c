"""A model with seeds: it copies a seed's first attributes in topological order, and draws the rest from the network.

Testing candidates for release does not belong here.

Source: Bindschaedler, Shokri, Gunter 2017, section 3.2.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from deniable.foundation.domain import Codes
from deniable.foundation.errors import InvalidInput
from deniable.foundation.noise import OUT_OF_WORDS, uniform_below
from deniable.kernels import kernel
from deniable.models.sequential_kernels import Network, draw_next, factor_of

Dependence = Literal["prefix", "seed", "none"]
"""The dependence of a candidate's probability on its seed: a copied prefix, the whole seed, or None for none."""


class Model(Protocol):
    """The interface of a model to the privacy test; records are in the model's own order of positions.

    Attributes:
        dependence: the dependence of a candidate's probability on its seed, known before any record is drawn.
    """

    @property
    def dependence(self) -> Dependence:
        """The dependence of a candidate's probability on its seed."""

    def draw(self, seed: Codes, words: NDArray[np.uint32], position: int) -> tuple[Codes, int]:
        """Draw a candidate from a seed; return it and the position of the next unused word, -1 if words run out."""

    def probabilities(self, candidate: Codes, seeds: Codes) -> NDArray[np.float64]:
        """The candidate's probability given each of some seeds, shape (rows,)."""


class ResampleArrays(NamedTuple):
    """The distribution of the number of copied attributes, for compiled code.

    Attributes:
        levels: numbers of copied attributes, ascending, shape (levels,).
        cumulative: running sums of their integer weights, shape (levels,).
    """

    levels: NDArray[np.int64]
    cumulative: NDArray[np.int64]


@kernel
def resample(net, choice, seeds, seed, words, position, candidate):
    """Fill a candidate from a seed; return the position after the last word used, or -1 if words run out.

    It has a single return: otherwise numba counts references to every array at every candidate.
    """
    level = 0
    if len(choice.levels) > 1:
        pick, position = uniform_below(words, position, choice.cumulative[-1])
        while pick >= choice.cumulative[level]:
            level += 1
    copied = choice.levels[level]
    m = len(candidate)
    if position + m - copied > len(words):
        position = OUT_OF_WORDS
    if position >= 0:
        for p in range(copied):
            candidate[p] = seeds[seed, p]
        for p in range(copied, m):
            candidate[p] = draw_next(net, p, candidate, words[position])
            position += 1
    return position


@kernel
def _probabilities(net, levels, weights, candidate, seeds, found):
    """Probability of a candidate given each seed, by definition: weights times products over shared prefixes."""
    m = len(candidate)
    by_level = np.zeros(len(levels))
    for level in range(len(levels)):
        product = 1.0
        for p in range(m - 1, levels[level] - 1, -1):
            product *= factor_of(net, p, candidate)
        by_level[level] = product * weights[level]
    for s in range(len(seeds)):
        shared = 0
        while shared < levels[-1] and seeds[s, shared] == candidate[shared]:
            shared += 1
        total = 0.0
        for level in range(len(levels)):
            if levels[level] <= shared:
                total += by_level[level]
        found[s] = total


@dataclass(frozen=True, eq=False)
class SeedResampler:
    """Bindschaedler, Shokri and Gunter's synthesizer.

    Attributes:
        net: the network.
        omega: numbers of re-sampled attributes, 0..m, and their positive integer weights; public.
    """

    net: Network
    omega: dict[int, int]

    def __post_init__(self) -> None:
        """Refuse numbers of attributes that exceed the table's."""
        m = len(self.net.domain)
        if not self.omega or not all(0 <= number <= m and weight > 0 for number, weight in self.omega.items()):
            msg = f"omega must be numbers from 0 to {m} with positive weights, got {self.omega}."
            raise InvalidInput(msg)

    @property
    def dependence(self) -> Dependence:
        """None if every attribute is always re-sampled, otherwise the copied prefix."""
        return "none" if set(self.omega) == {len(self.net.domain)} else "prefix"

    @cached_property
    def choice(self) -> ResampleArrays:
        """The numbers of copied attributes and their weights."""
        m = len(self.net.domain)
        levels = sorted(m - number for number in self.omega)
        return ResampleArrays(
            levels=np.asarray(levels, np.int64),
            cumulative=np.cumsum([self.omega[m - level] for level in levels]).astype(np.int64),
        )

    def level_drawn(self, words: NDArray[np.uint32], position: int) -> int:
        """Number of the level that `draw` chooses with the same words; 0 if they run out."""
        if len(self.choice.levels) == 1:
            return 0
        pick, after = uniform_below(words, position, self.choice.cumulative[-1])
        return int(np.searchsorted(self.choice.cumulative, pick, side="right")) if after >= 0 else 0

    def draw(self, seed: Codes, words: NDArray[np.uint32], position: int) -> tuple[Codes, int]:
        """Copy some attributes of the seed and draw the others; see `Model`."""
        candidate = np.empty_like(seed)
        return candidate, int(resample(self.net.arrays, self.choice, seed[None], 0, words, position, candidate))

    def probabilities(self, candidate: Codes, seeds: Codes) -> NDArray[np.float64]:
        """Probability of a candidate given each of some seeds; see `Model`."""
        found = np.empty(len(seeds))
        weights = np.diff(self.choice.cumulative, prepend=0) / self.choice.cumulative[-1]
        _probabilities(self.net.arrays, self.choice.levels, weights, candidate, seeds, found)
        return found
