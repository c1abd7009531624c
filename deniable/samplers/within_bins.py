"""Draws a number within each record's bin, for attributes with too many numbers to be counted individually.

Models are learnt and records drawn by bin; numbers are drawn at the end, uniformly within each bin, from a separate
stream. This is post-processing of public bins, and costs nothing.
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
        """Draw the numbers of all attributes with bins, by column number.

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
