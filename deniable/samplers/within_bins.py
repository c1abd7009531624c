"""Draws a number of each record's bin, where an attribute has too many numbers to be counted one by one.

Records are learnt and drawn by bins, and the numbers are drawn at the end, uniformly within each bin, by a stream of
their own: that is post-processing, which costs nothing, whatever is known of the bins in public.
"""

import hashlib
import json
from typing import Any

from numpy.typing import NDArray

from deniable.foundation.domain import Attribute, Codes, Domain
from deniable.foundation.keys import ReleaseKey, WordStream
from deniable.foundation.uniform import uniform_below


class WithinBins:
    """Draws the numbers of one table.

    Args:
        domain: the public domain.
        key: the release key.
        inputs: digest of the table's codes.
    """

    def __init__(self, domain: Domain, key: ReleaseKey, inputs: str) -> None:
        self._key = key
        self._inputs = inputs
        self._columns = [
            (column, of, _digest(of)) for column, of in enumerate(domain.attributes) if of.bins is not None
        ]

    def numbers(self, codes: Codes, chunk: int) -> dict[int, NDArray[Any]]:
        """The numbers of all attributes with bins, by column number.

        Args:
            codes: the records of a chunk, shape (records, m).
            chunk: its number.
        """
        return {
            column: attribute.numbers_in(
                codes[:, column],
                uniform_below(self._stream(bins, chunk), attribute.bin_sizes[codes[:, column]]),
            )
            for column, attribute, bins in self._columns
        }

    def _stream(self, bins: str, chunk: int) -> WordStream:
        return self._key.stream(
            step="publish",
            mechanism="number of a bin",
            inputs=self._inputs,
            parameters={"bins": bins},
            chunk=chunk,
        )


def _digest(attribute: Attribute) -> str:
    """A digest of an attribute with bins."""
    said = [attribute.name, [repr(value) for value in attribute.values], repr(attribute.bins)]
    return hashlib.sha256(json.dumps(said).encode()).hexdigest()
