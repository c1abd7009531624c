"""The Poisson form of Mechanism 1: every row makes a Poisson number of attempts, each passed on by its plausible seeds.

Mechanism 1 of Bindschaedler, Shokri, Gunter 2017 makes one attempt from a uniformly drawn row. Here every row, on its
own, makes Poisson(tau) attempts. An attempt copies the first L attributes of its row, the prefix, draws the others from
a model that does not depend on the row, and is released with public probability q(c), by a coin of its own, where c is
the number of rows with that prefix. All of these rows give the record the same probability: they are plausible seeds
in the sense of Definition 1 with gamma = 1. If q(c) = 0 for every c below a floor, no record with fewer plausible seeds
is ever released.

**Theorem P.** Let g(c) = c q(c), and let D' have one row more than D, with a prefix that c rows of D have. For every
a >= 1, E_a(F(D') || F(D)) = E_a(Poisson(tau g(c + 1)) || Poisson(tau g(c))), and the same with the sides exchanged.

*Proof.* Attempts of rows with prefix v are Poisson(tau c_v) in number. Keeping each with probability q(c_v) and marking
it with a completion y drawn from the model splits them into independent Poisson numbers of records (v, y) with means
tau g(c_v) M(y | v) (thinning). D and D' differ in one prefix v only. The numbers released for all other prefixes are
independent of those for v and have the same law under both. Given their total, the completions of v are drawn from M(.
| v), which is the same under both, so the total is sufficient: it is Poisson(tau g(c)) under D, and Poisson(tau g(c +
1)) under D'. The records appear in the order of their attempts, which are exchangeable, so the order adds nothing.

The same holds if the completions are drawn jointly, given all released prefixes, by any law that depends on the model
alone: stratified ones (`Network.complete_evenly`) vary less than independent ones. The law of the release then depends
on the rows through the numbers of released prefixes alone, whichever of the rows with a prefix made the attempt, so
that all of them remain its plausible seeds with gamma = 1.

Nothing is assumed of the number of rows, of q, or of the size of the table; "no record" is not an outcome that needs
hiding. A release in several chunks, each with its share of tau, has the same law as one.

**With a model learnt from the same rows.** Given what the model's mechanisms released, and so given model, order and L,
Theorem P bounds the rest. Which c is meant may depend on what was released, since the prefix does. The pair of the
*envelope*, the largest of all counts' curves at each epsilon, dominates every branch, and dominating pairs compose
adaptively (Zhu, Dong, Wang 2022, Theorem 10). The largest of the totals of all counts does not: it fixes c beforehand.
"""

# numba infers the types of kernels
# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False, disallow-untyped-decorators=False

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from deniable.foundation.domain import Codes
from deniable.foundation.errors import InvalidInput
from deniable.foundation.keys import WordStream
from deniable.foundation.noise import uniform_below
from deniable.kernels import kernel
from deniable.models.sequential_kernels import ColumnBlock, Network, draw_column, factor_of
from deniable.plausible_deniability.mechanism_one_kernels import ATTEMPTS_A_BLOCK, BlockArrays
from deniable.plausible_deniability.pass_law import PassLaw
from deniable.plausible_deniability.plausible_seeds import SeedIndex
from deniable.plausible_deniability.poisson_numbers import draw_poisson
from deniable.privacy.loss import PASSES_OUT_OF

Wide = NDArray[np.uint64]

_BITS_32 = np.uint64(32)
# Rejections of a uniform place are rare; more words are taken if these do not suffice.
_SPARE = 64


def release_from_seeds(
    net: Network, index: SeedIndex, law: PassLaw, attempts_per_row: Fraction, stream: WordStream
) -> Codes:
    """Make all attempts of some rows, and return the records that pass.

    Args:
        net: the public model.
        index: the rows, indexed for the model's order and one length of prefix.
        law: the law of passing.
        attempts_per_row: tau, the mean number of attempts of a row.
        stream: fresh words, which alone determine the draws.

    Returns:
        The released records in the order of their attempts, shape (released, m), columns as in the domain.

    Raises:
        InvalidInput: the index has several lengths of prefix.
    """
    arrays = index.arrays
    if len(arrays.levels) != 1:
        raise InvalidInput("attempts must copy prefixes of one length, got an index of several; give one omega.")
    attempts = draw_poisson(attempts_per_row * len(arrays.seeds), stream)
    rows = _draw_places(len(arrays.seeds), attempts, stream)
    counts = arrays.node_count[arrays.prefixes[rows, 0]].astype(np.int64)
    passed = rows[_passes(law, counts, wide_words(stream, attempts))]
    copied = int(arrays.levels[0])
    return completed(net, np.ascontiguousarray(arrays.seeds[passed, :copied]), stream)


def _passes(law: PassLaw, counts: NDArray[np.int64], coins: Wide) -> NDArray[np.bool_]:
    """Whether each attempt passes: its coin, uniform below 2^64, is below the probability out of 2^64."""
    table = np.asarray([0, *(min(each, PASSES_OUT_OF - 1) for each in law.passes), 0], np.uint64)
    certain = np.asarray([False, *(each == PASSES_OUT_OF for each in law.passes), True])
    place = np.clip(counts - law.plausible + 1, 0, len(table) - 1)
    return certain[place] | (coins < table[place])


def wide_words(stream: WordStream, count: int) -> Wide:
    """Uniform numbers below 2^64, of two words each, shape (count,)."""
    words = stream.take(2 * count).astype(np.uint64)
    wide: Wide = words[::2] << _BITS_32 | words[1::2]
    return wide


def _draw_places(size: int, count: int, stream: WordStream) -> NDArray[np.int64]:
    """Uniform places among `size`, shape (count,)."""
    places = np.empty(count, np.int64)
    made, spare = 0, _SPARE
    while made < count:
        words = stream.peek(count - made + spare)
        more, used = _fill_places(words, size, places[made:])
        stream.skip(used)
        made += more
        spare *= 2
    return places


@kernel
def _fill_places(words, size, places):
    """Fill in uniform places as far as the words reach; the number of places, and of words used."""
    made = 0
    used = 0
    while made < len(places) and used >= 0:
        place, position = uniform_below(words, used, size)
        if position < 0:
            break
        places[made] = place
        made += 1
        used = position
    return made, used


def completed(net: Network, prefixes: Codes, stream: WordStream) -> Codes:
    """Records that begin with given prefixes, and whose other values are drawn from the model, stratified if it can.

    Args:
        net: the model.
        prefixes: the first values of each record, positions in the model's order, shape (records, L).
        stream: words, one for each drawn value.

    Returns:
        Codes, shape (records, m), columns as in the domain.
    """
    m = len(net.domain)
    records = np.empty((len(prefixes), m), np.uint16)
    words = stream.take(len(prefixes) * (m - prefixes.shape[1]))
    if net.completes_evenly:
        return net.complete_evenly(prefixes, words)
    _complete(net.arrays, prefixes, words, records, BlockArrays.empty(m))
    return net.in_columns(records)


@kernel
def _complete(net, prefixes, words, records, block):
    """Fill records from their prefixes and from words, block by block."""
    columns = ColumnBlock(block.copied, block.at, block.records, block.factors)
    length, m = prefixes.shape[1], records.shape[1]
    width = m - length
    for begun in range(0, len(records), ATTEMPTS_A_BLOCK):
        live = min(ATTEMPTS_A_BLOCK, len(records) - begun)
        for i in range(live):
            for p in range(length):
                block.records[p, i] = prefixes[begun + i, p]
            block.copied[i] = length
            block.at[i] = (begun + i) * width - length
        for p in range(length, m):
            draw_column(net, p, columns, words, live, False)  # noqa: FBT003 - compiled code
        for i in range(live):
            for p in range(m):
                records[begun + i, p] = block.records[p, i]


def without_passed(net: Network, law: PassLaw, records: Codes, length: int, *, public_rows: int, coins: Wide) -> Codes:
    """Of records drawn from the model alone, those that take the place of candidates that do not pass.

    Records whose prefix is common pass as candidates; those drawn from the model are thinned to the others. A record
    is kept with probability 1 - q(c), where c is the number of rows that the model and the public number of rows
    predict for its prefix. It is post-processing of the public model: no row is read.

    Args:
        net: the model.
        law: the law of passing.
        records: drawn from the model, columns as in the domain, shape (records, m).
        length: length of the prefix.
        public_rows: a public number of rows, for the prediction.
        coins: uniform numbers below 2^64, shape (records,).

    Returns:
        The records that are kept, in their order.
    """
    expected = np.floor(prefix_probabilities(net, records, length) * public_rows).astype(np.int64)
    return records[~_passes(law, expected, coins)]


def prefix_probabilities(net: Network, records: Codes, length: int) -> NDArray[np.float64]:
    """Probability under the model of the prefix of each record, shape (records,).

    Args:
        net: the model.
        records: codes, columns as in the domain, shape (records, m).
        length: length of the prefix, L.
    """
    found = np.ones(len(records))
    _multiply(net.arrays, net.in_order(records), length, found)
    return found


@kernel
def _multiply(net, records, length, found):
    """Multiply the first factors of each record."""
    for i in range(len(records)):
        for p in range(length):
            found[i] *= factor_of(net, p, records[i])
