"""The common part of all networks: records are drawn along an order of the attributes, from one word per value.

The distributions and their interface to compiled code (sequential_kernels) do not belong here.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from deniable.foundation.domain import Codes, Domain
from deniable.foundation.errors import InvalidInput
from deniable.models.raking import Goals, no_goals


class _Ordered(Protocol):
    """The interface that each kind of network provides."""

    @property
    def domain(self) -> Domain:
        """The table's domain."""

    @property
    def order(self) -> NDArray[np.int64]:
        """Column number of the attribute at each position."""

    def fill(self, words: NDArray[np.uint32], records: Codes) -> None:
        """Fill records, positions in order, from one word per value."""

    def sample(self, words: NDArray[np.uint32]) -> Codes:
        """Draw whole records, without a seed."""

    def in_columns(self, records: Codes) -> Codes:
        """Reorder from positions of the order to columns of the domain."""


class SequentialModel:
    """A network whose attributes are drawn in sequence."""

    def in_order(self: _Ordered, codes: Codes) -> Codes:
        """Reorder from columns of the domain to positions of the order."""
        return np.ascontiguousarray(codes[:, self.order])

    def in_columns(self: _Ordered, records: Codes) -> Codes:
        """Reorder from positions of the order to columns of the domain."""
        codes = np.empty_like(records)
        codes[:, self.order] = records
        return codes

    def sample(self: _Ordered, words: NDArray[np.uint32]) -> Codes:
        """Draw whole records, without a seed.

        Args:
            words: fresh uniform words, shape (rows * m,).

        Returns:
            Codes, shape (rows, m), columns as in the domain.
        """
        m = len(self.domain)
        records = np.empty((len(words) // m, m), np.uint16)
        self.fill(words, records)
        return self.in_columns(records)

    def sample_evenly(self: _Ordered, words: NDArray[np.uint32]) -> Codes:
        """Draw whole records, without a seed, that jointly may vary less than independent ones.

        Each record on its own has the network's distribution. No privacy argument may rely on their independence.

        Args:
            words: fresh uniform words, shape (rows * m,).

        Returns:
            Codes, shape (rows, m), columns as in the domain; independent unless a kind of network overrides this.
        """
        return self.sample(words)

    @property
    def completes_evenly(self) -> bool:
        """Whether prefixes are completed by stratified values: not unless a kind of network overrides it."""
        return False

    def complete_evenly(self, prefixes: Codes, words: NDArray[np.uint32]) -> Codes:  # noqa: ARG002 - as below
        """Draw the other values of records that begin with given ones, so that the records jointly vary less.

        Each record on its own has the network's distribution given its prefix. No privacy argument may rely on their
        independence.

        Args:
            prefixes: the first values of each record, positions in order, shape (rows, L).
            words: fresh uniform words, shape (rows * (m - L),).

        Returns:
            Codes, shape (rows, m), columns as in the domain.

        Raises:
            InvalidInput: this kind of network draws independently.
        """
        raise InvalidInput("a network must be stratified to complete records evenly; draw them independently.")

    @property
    def has_pair_goals(self) -> bool:
        """Whether it keeps two-way tables that drawn records should have: not unless a kind of network overrides it."""
        return False

    def pair_goals(self, codes: Codes) -> Goals:  # noqa: ARG002 - as kinds of networks that have goals need it
        """The two-way tables that drawn records should have: those from which the network was made, if it keeps them.

        Args:
            codes: the records to choose from, columns as in the domain.

        Returns:
            The tables; none unless a kind of network overrides this.
        """
        return no_goals()

    def words_of_matching(self, records: int) -> int:  # noqa: ARG002 - as kinds of networks that match need it
        """Number of words that `matched` takes for a number of records; 0 unless a kind of network overrides this."""
        return 0

    def matched(self, codes: Codes, words: NDArray[np.uint32]) -> Codes:  # noqa: ARG002 - as above
        """Drawn records, changed to agree more closely with the tables from which the network was made.

        No privacy argument may rely on their independence, or on each having the network's distribution.

        Args:
            codes: the records, columns as in the domain.
            words: fresh uniform words, `words_of_matching` of them.

        Returns:
            Codes of the same shape; unchanged unless a kind of network overrides this.
        """
        return codes


def places(order: Sequence[int], m: int) -> dict[int, int]:
    """Position of each of m attributes in an order.

    Raises:
        InvalidInput: the order does not name each attribute once.
    """
    place = {attribute: position for position, attribute in enumerate(order)}
    if len(order) != m or sorted(place) != list(range(m)):
        raise InvalidInput("the order of a network must name each attribute once; learn it again.")
    return place


def starts(sizes: Sequence[int], *, closed: bool = False) -> NDArray[np.int64]:
    """Start of each of several runs, followed by the end of the last if `closed`."""
    begins = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    return begins if closed else begins[:-1]


def require_format(document: Mapping[str, Any], *formats: str) -> str:
    """The format of a model's document.

    Raises:
        InvalidInput: the format is not one of those.
    """
    found = str(document.get("format"))
    if found not in formats:
        raise InvalidInput(
            f"a model must have {'one of the formats' if len(formats) > 1 else 'the format'} {', '.join(formats)}, got "
            f"{found}; read it with the version that wrote it."
        )
    return found
