"""Whether one table of records was made from another: the same people, perhaps fewer, in another order or recoded.

A public table must not be a copy of the confidential one. Equality finds only exact copies. Two tables of different
people from one population also share many records, since people are alike; so what they share is compared with what
distinct samples would share, which the tables themselves show. If x people of one table and y of the other have the
same record, then of t = x + y people each belongs to the first with probability p = n / (n + m), independently, if the
tables are samples of one population; if their populations differ, x and y differ more. Copies make them too alike:

- **Records of two people** (t = 2): distinct samples have one in each table in a share 2pq of cases. More pairs of one
  and one are copies, by `n11 - n2 2pq / (1 - 2pq)`. This finds copies of rare records, in tables of many attributes.
- **Counts too alike**: the mean of (x - tp)^2 / (tpq) over the K different records is 1 for distinct samples, 1/(1+f)
  for records drawn anew from the other table's exact counts (f is the ratio of the sizes), and (1-f)/(1+f) for a random
  part of it. Below the middle of the last two, the tables are too alike. This works with few and frequent records.

Both apply to whole records and of records without each attribute in turn, so that an altered column hides nothing.
Nothing is concluded from chance: each of these questions is answered wrongly for distinct samples with a probability of
at most about 1e-6, by the lower tail of sums of independent nonnegative variables, exp(-(K d)^2 / (2 sum E Z^2)) for a
mean that is lower by d (Maurer 2003, "A bound on the deviation probability for sums of non-negative random
variables", Theorem 2.1), or, for frequent records, that of chi-squared. A sample of the very people of the other table
is a copy too. So is, wrongly, a table of other people if both tables were rid of repeated records.

The result depends on the confidential table and is therefore one bit. It reads no files.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from deniable.foundation.domain import Codes

_EXPONENT = float(np.log(1e6))
_SPREADS = 5
"""Less than 1e-6 of a normal variable lies above so many standard deviations."""
_COPIED = 0.05
"""Share of the smaller table that must be copies of rare records; less does not make a file a copy."""
_FREQUENT = 3.0
"""Expected number in each table above which a record's difference is treated as normal."""
_MOST_KEPT = 1 << 17
_BITS = 64
_WORD, _ODD = 1 << _BITS, 0x9E3779B97F4A7C15
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)

Words = NDArray[np.uint64]


@dataclass
class _Counted:
    """The number of people with each record, for records whose hash is below a limit that halves as they grow.

    Attributes:
        values: hashes of the records, in order.
        counts: the number of each.
        halvings: how often the limit was halved; both tables keep the same records below the smaller limit.
    """

    values: Words = field(default_factory=lambda: np.empty(0, np.uint64))
    counts: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    halvings: int = 0

    def add(self, hashes: Words) -> None:
        fresh, numbers = np.unique(_below(hashes, self.halvings), return_counts=True)
        together = np.concatenate([self.values, fresh])
        self.values, places = np.unique(together, return_inverse=True)
        counts = np.zeros(len(self.values), np.int64)
        np.add.at(counts, places, np.concatenate([self.counts, numbers]))
        self.counts = counts
        while len(self.values) > _MOST_KEPT:
            self.halvings += 1
            self._keep()

    def _keep(self) -> None:
        kept = self.values < _limit(self.halvings)
        self.values, self.counts = self.values[kept], self.counts[kept]

    def below(self, halvings: int) -> "_Counted":
        kept = _Counted(self.values, self.counts, max(self.halvings, halvings))
        kept._keep()
        return kept


class RecordCounts:
    """A table's records regardless of their order, whole and without each attribute, in bounded memory.

    Attributes:
        rows: number of records.
        counted: the records whole, and without each attribute in turn.
    """

    def __init__(self) -> None:
        self.rows = 0
        self.counted: list[_Counted] = []

    def add(self, codes: Codes) -> None:
        """Add more records, value codes of shape (rows, m)."""
        self.rows += len(codes)
        words = np.stack([_mixed(column.astype(np.uint64) + _start(j)) for j, column in enumerate(codes.T)])
        if not self.counted:
            # Of two attributes, one alone says little of a person.
            self.counted = [_Counted() for _ in range(len(words) + 1 if len(words) > 2 else 1)]
        whole: Words = words.sum(axis=0, dtype=np.uint64)
        for left_out, counted in enumerate(self.counted):
            counted.add(_mixed(whole - words[left_out - 1]) if left_out else _mixed(whole))

    def is_made_from(self, other: "RecordCounts") -> bool:
        """Whether one of the two tables was made from the other: neither need be the whole."""
        if not self.rows or not other.rows:
            return False
        pairs = zip(self.counted, other.counted, strict=False)
        return any(
            _is_copied(one, two, self.rows, other.rows, is_whole=number == 0) for number, (one, two) in enumerate(pairs)
        )


def _is_copied(one: _Counted, two: _Counted, n: int, m: int, *, is_whole: bool) -> bool:
    """Whether the counts of two tables of n and m records are more alike than those of distinct samples."""
    halvings = max(one.halvings, two.halvings)
    x, y = _side_by_side(one.below(halvings), two.below(halvings))
    if is_whole and not halvings and abs(x - y).sum() <= 2:
        # One record was left out, or altered.
        return True
    p, few, many = n / (n + m), min(n, m), max(n, m)
    return _has_copies_of_rare_records(x, y, p, few / 2**halvings) or _is_too_alike(x, x + y, p, few / many)


def _has_copies_of_rare_records(x: NDArray[np.int64], y: NDArray[np.int64], p: float, rows: float) -> bool:
    """Whether more records of two people have one in each table than those of distinct samples, by a real share."""
    both = int(((x == 1) & (y == 1)).sum())
    within = int((((x == 2) & (y == 0)) | ((x == 0) & (y == 2))).sum())
    one_each = 2 * p * (1 - p)
    copies = both - within * one_each / (1 - one_each)
    spread = np.sqrt((both + within) * one_each * (1 - one_each)) / (1 - one_each)
    return bool(copies > _SPREADS * spread + _COPIED * rows)


def _is_too_alike(x: NDArray[np.int64], t: NDArray[np.int64], p: float, ratio: float) -> bool:
    """Whether the counts differ less than those of records drawn anew from the other table."""
    pq = p * (1 - p)
    differences = (x - t * p) ** 2 / (t * pq)
    squares = np.maximum(2 + (1 - 6 * pq) / (t * pq), 0) + 1
    drawn_anew = 1 / (1 + ratio)
    return any(
        _is_lower(differences[chosen], squares[chosen], drawn_anew, (1 - ratio / 2) / (1 + ratio), is_normal=is_normal)
        for chosen, is_normal in ((np.ones(len(t), bool), False), (t * min(p, 1 - p) >= _FREQUENT, True))
    )


def _is_lower(
    differences: NDArray[np.float64], squares: NDArray[np.float64], expected: float, most: float, *, is_normal: bool
) -> bool:
    """Whether a mean difference is below `most`, and that is no chance where `expected` is its mean."""
    cells = len(differences)
    if not cells:
        return False
    mean = float(differences.mean())
    if mean >= most:
        return False
    share = mean / expected
    if is_normal:
        return bool(cells / 2 * (share - 1 - np.log(max(share, 1e-12))) >= _EXPONENT)
    return bool((cells * (1 - share)) ** 2 / (2 * float(squares.sum())) >= _EXPONENT)


def _side_by_side(one: _Counted, two: _Counted) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The numbers of people with each record in either table."""
    values = np.union1d(one.values, two.values)
    x, y = np.zeros((2, len(values)), np.int64)
    x[np.searchsorted(values, one.values)] = one.counts
    y[np.searchsorted(values, two.values)] = two.counts
    return x, y


def _below(hashes: Words, halvings: int) -> Words:
    return hashes[hashes < _limit(halvings)] if halvings else hashes


def _start(column: int) -> np.uint64:
    """A different start for each column, so that equal codes in two columns have unlike words."""
    return np.uint64(_ODD * (column + 1) % _WORD)


def _limit(halvings: int) -> np.uint64:
    return np.uint64((1 << (_BITS - halvings)) - 1)


def _mixed(words: Words) -> Words:
    """SplitMix64's last steps: equal words stay equal, and others become unlike. Source: Steele, Lea, Flood 2014."""
    words = (words ^ (words >> np.uint64(30))) * _FIRST
    words = (words ^ (words >> np.uint64(27))) * _SECOND
    found: Words = words ^ (words >> np.uint64(31))
    return found
