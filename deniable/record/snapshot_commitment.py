"""A keyed commitment to the rows of a table; it discloses nothing about them and does not depend on their order.

The encoding of a row as bytes, and the storage of keys, do not belong here.
"""

from collections.abc import Iterable, Sequence

from deniable.foundation.keys import ReleaseKey

_ROW, _SNAPSHOT = "row of a snapshot", "snapshot"
_MODULUS = 1 << 256


class SnapshotCommitment:
    """Sums keyed digests of rows modulo 2^256: a commitment to the rows as a multiset, in constant memory.

    Finding two tables with the same commitment requires a relation among values of a pseudorandom function that cannot
    be evaluated without the key.

    Args:
        key: the dataset's own key. Without it, no one can confirm a guess of the table.

    Source:
        Clarke, Devadas, van Dijk, Gassend, Suh 2003, Incremental multiset hash functions: MSet-Add-Hash.
    """

    def __init__(self, key: ReleaseKey) -> None:
        self._key = key
        self._row = key.hasher(_ROW)
        self._sum = 0
        self._rows = 0

    def add(self, rows: Iterable[tuple[bytes, int]]) -> None:
        """Add rows.

        Args:
            rows: each distinct row, encoded injectively as bytes, and its number of occurrences.
        """
        for row, count in rows:
            hasher = self._row.copy()
            hasher.update(row)
            self._sum = (self._sum + count * int.from_bytes(hasher.digest(), "big")) % _MODULUS
            self._rows += count

    def digest(self, columns: Sequence[str], malformed: int) -> str:
        """The commitment to all added rows, in hexadecimal.

        Args:
            columns: names of the rows' columns.
            malformed: number of rows that could not be read and were not added.
        """
        said = repr(([str(name) for name in columns], self._rows, int(malformed), self._sum))
        return self._key.digest(_SNAPSHOT, said.encode())
