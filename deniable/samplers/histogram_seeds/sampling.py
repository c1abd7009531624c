"""Records from a noisy histogram of prefixes: draw a prefix by its noisy count, and the rest from the network.

If the mass lost to the threshold is restored, that share of the records has prefixes that were not kept and is drawn
from the network alone; anyone can recognise these records.

This is post-processing of public values, so it costs nothing. Making the histogram does not belong here
(noisy_histogram).

A prefix is drawn by a number below 2^64, two words. Its share is a multiple of 2^-64, a difference of rounded running
sums, and hence within 2^-64 of its noisy count divided by the total: no draw is rejected. Thus every record uses the
same number of words, and records can be drawn in any number of parts.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from deniable.foundation.domain import Codes
from deniable.foundation.errors import InvalidInput
from deniable.foundation.noise import OUT_OF_WORDS
from deniable.kernels import inner_kernel, kernel
from deniable.models.complement_sampler import ComplementSampler, complement, complement_density, complement_place
from deniable.models.sequential_kernels import ColumnBlock, Network, draw_column, factor_of
from deniable.plausible_deniability.mechanism_one_kernels import ATTEMPTS_A_BLOCK, BlockArrays
from deniable.plausible_deniability.resampling import Dependence
from deniable.samplers.histogram_seeds.noisy_histogram import PrefixHistogram

_CELL_WORDS = 2
_MOST_GUIDE_BITS = 18
_BITS_32 = np.uint64(32)


class MixtureArrays(NamedTuple):
    """The prefixes and their shares, for compiled code; the last share may be that of the model outside them.

    Attributes:
        cells: codes of the prefixes, shape (v, L).
        bounds: ends of the shares of [0, 2^64), ascending, without the last one.
        guide: number of bounds that do not exceed the smallest number with given leading bits.
        guide_shift: number of bits that are not leading.
        least_copied: number of attributes that every record copies from its prefix: 0 if some records copy none.
        elsewhere: the network conditioned on records that begin with none of the prefixes.
    """

    cells: Codes
    bounds: NDArray[np.uint64]
    guide: NDArray[np.int64]
    guide_shift: np.uint64
    least_copied: int
    complement: ComplementSampler


@inner_kernel
def _begin(mixture, words, width, begun, live, block):
    """Fill in the prefixes of a block of records, and the positions of the words for the remaining attributes.

    Each record has its own words; the words of copied attributes remain unused.
    """
    records, copies, ats = block.records, block.copied, block.at
    cells, bounds, guide, shift = mixture.cells, mixture.bounds, mixture.guide, mixture.guide_shift
    tree, least = mixture.complement, mixture.least_copied
    start, child, outside = tree.start, tree.child, len(tree.mass) > 0
    for i in range(live):
        position = (begun + i) * width
        first = position + _CELL_WORDS - least
        uniform = (np.uint64(words[position]) << _BITS_32) | np.uint64(words[position + 1])
        cell = guide[uniform >> shift]
        while cell < len(bounds) and bounds[cell] <= uniform:
            cell += 1
        copied = 0
        if cell < len(cells):
            copied = cells.shape[1]
            for p in range(copied):
                records[p, i] = cells[cell, p]
        elif outside:
            node = np.int64(0)
            while node >= 0 and copied < len(records):
                place = complement_place(tree, node, words[first + copied])
                records[copied, i] = place - start[node]
                node = child[place]
                copied += 1
        copies[i] = copied
        ats[i] = first


@kernel
def _sample(net, mixture, words, width, records, block):
    """Fill records from `width` words each, block by block."""
    columns = ColumnBlock(block.copied, block.at, block.records, block.factors)
    for begun in range(0, len(records), ATTEMPTS_A_BLOCK):
        live = min(ATTEMPTS_A_BLOCK, len(records) - begun)
        _begin(mixture, words, width, begun, live, block)
        for p in range(mixture.least_copied, records.shape[1]):
            draw_column(net, p, columns, words, live, False)  # noqa: FBT003 - compiled code
        of_block = block.records
        for i in range(live):
            for p in range(records.shape[1]):
                records[begun + i, p] = of_block[p, i]


@kernel
def _factors(net, record):
    """Probability of each value of a record given the earlier ones."""
    found = np.empty(len(record))
    for p in range(len(record)):
        found[p] = factor_of(net, p, record)
    return found


@dataclass(frozen=True, eq=False)
class PrefixSampler:
    """A model that draws prefixes from a noisy histogram instead of seeds; see `resampling.Model`.

    Attributes:
        net: the network.
        histogram: the noisy histogram of prefixes in the network's order.
    """

    net: Network
    histogram: PrefixHistogram

    def __post_init__(self) -> None:
        """Refuse a histogram whose attributes are not the first of the network's order."""
        first = tuple(self.net.order[: self.histogram.length].tolist())
        if self.histogram.domain != self.net.domain or self.histogram.columns != first:
            msg = "a histogram must have the first attributes of the network's order, got others; count those."
            raise InvalidInput(msg)

    @property
    def dependence(self) -> Dependence:
        """None: given the public histogram, no record depends on a seed."""
        return "none"

    @property
    def words_per_record(self) -> int:
        """Number of words that every record uses."""
        return _CELL_WORDS + len(self.net.domain) - self.arrays.least_copied

    @cached_property
    def shares(self) -> tuple[int, ...]:
        """Shares of the prefixes, and of the model outside them if it has one, out of 2^64."""
        bounds = [0, *self.arrays.bounds.tolist(), 1 << 64]
        return tuple(after - before for before, after in pairwise(bounds))

    @cached_property
    def arrays(self) -> MixtureArrays:
        """The histogram as flat arrays."""
        # Computed only if draws are made.
        outside = complement(self.net, self.histogram.cells if self.histogram.seedless_weight else _no_cells())
        seedless = self.histogram.seedless_weight if outside.share > 0 else 0
        weights = [*self.histogram.counts.tolist(), *([seedless] if seedless else [])]
        sums = list(accumulate(weights))
        bounds = np.asarray([(end << 64) // sums[-1] for end in sums[:-1]], np.uint64)
        # About two slots per bound, so that the next bound or the one after it usually decides.
        bits = min(_MOST_GUIDE_BITS, len(weights).bit_length() + 1)
        shift = np.uint64(64 - bits)
        slots = np.arange(1 << bits, dtype=np.uint64) << shift
        return MixtureArrays(
            cells=np.ascontiguousarray(self.histogram.cells),
            bounds=bounds,
            guide=np.searchsorted(bounds, slots, side="right").astype(np.int64),
            guide_shift=shift,
            least_copied=0 if seedless else self.histogram.length,
            complement=outside,
        )

    def sample(self, words: NDArray[np.uint32]) -> Codes:
        """Draw records.

        Args:
            words: fresh uniform words, shape (rows * words_per_record,).

        Returns:
            Codes, shape (rows, m), columns as in the domain.
        """
        width = self.words_per_record
        records = np.empty((len(words) // width, len(self.net.domain)), np.uint16)
        _sample(self.net.arrays, self.arrays, words, width, records, BlockArrays.empty(len(self.net.domain)))
        return self.net.in_columns(records)

    def draw(
        self,
        seed: Codes,  # noqa: ARG002 - required by the protocol
        words: NDArray[np.uint32],
        position: int,
    ) -> tuple[Codes, int]:
        """Draw a record independently of the seed; see `Model`."""
        records = np.empty((1, len(self.net.domain)), np.uint16)
        width = self.words_per_record
        if position + width > len(words):
            return records[0], OUT_OF_WORDS
        block = BlockArrays.empty(len(self.net.domain))
        _sample(self.net.arrays, self.arrays, words[position : position + width], width, records, block)
        return records[0], position + width

    def probabilities(self, candidate: Codes, seeds: Codes) -> NDArray[np.float64]:
        """The probability of drawing a candidate, equal for all seeds; see `Model`."""
        length = self.histogram.length
        factors = _factors(self.net.arrays, candidate)
        cells, shares = self.arrays.cells, self.shares
        probability = 0.0
        for cell in np.flatnonzero((cells == candidate[:length]).all(axis=1)).tolist():
            probability += shares[cell] / 2**64 * float(np.prod(factors[length:]))
        if len(shares) > len(cells):
            probability += shares[-1] / 2**64 * complement_density(self.net.arrays, self.arrays.complement, candidate)
        return np.full(len(seeds), probability)


def _no_cells() -> Codes:
    return np.zeros((0, 0), np.uint16)
