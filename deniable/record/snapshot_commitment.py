"""A keyed commitment to the rows of a table that says nothing of them, and does not depend on their order.

How a row is written as bytes, and where keys are kept, does not belong here.
"""

from collections.abc import Iterable, Sequence

from deniable.foundation.keys import ReleaseKey

_ROW, _SNAPSHOT = "row of a snapshot", "snapshot"
_MODULUS = 1 << 256


class SnapshotCommitment:
    """Adds up keyed digests of rows modulo 2^256, so that the rows are committed to as a multiset, in constant memory.

    To find two tables with one commitment is to find a relation among values of a pseudorandom function that nobody
    without the key can evaluate.

    Args:
        key: the dataset's own key. Without it nobody can confirm a guess of the table.

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
            rows: each different row, as bytes that no other row is written as, and how often it occurs.
        """
        for row, count in rows:
            hasher = self._row.copy()
            hasher.update(row)
            self._sum = (self._sum + count * int.from_bytes(hasher.digest(), "big")) % _MODULUS
            self._rows += count

    def digest(self, columns: Sequence[str], malformed: int) -> str:
        """Commit to what was added, in hexadecimal.

        Args:
            columns: names of the columns that the rows are of.
            malformed: rows that could not be read and were not added.
        """
        said = repr(([str(name) for name in columns], self._rows, int(malformed), self._sum))
        return self._key.digest(_SNAPSHOT, said.encode())
