"""The interface of compiled code to any network whose attributes are drawn in sequence, each from one word.

Each kind of network implements it for the type of its arrays (implementations); kernels that resample, count plausible
seeds or draw from histograms are compiled for each kind. The distributions do not belong here.
"""

# numba infers the types of kernels
# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False, disallow-untyped-decorators=False

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from deniable.foundation.domain import Codes, Domain

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from deniable.models.raking import Goals


class ColumnBlock(NamedTuple):
    """A block of records, of which a position is drawn at a time; shapes as in `mechanism_one_kernels.BlockArrays`.

    Attributes:
        copied: number of attributes that each record copies.
        at: index of the word of each record's value at position p, minus p.
        records: the records, one per column, shape (m, at least n).
        factors: probability of each value given the earlier ones.
    """

    copied: "NDArray[np.int64]"
    at: "NDArray[np.int64]"
    records: "NDArray[np.uint16]"
    factors: "NDArray[np.float64]"


class Network(Protocol):
    """A network over codes, with an order of its attributes in which each depends only on earlier ones.

    Attributes:
        domain: the table's domain, m attributes.
        arrays: the network as flat arrays, positions in its order.
        order: column number of the attribute at each position, shape (m,).
    """

    @property
    def domain(self) -> Domain:
        """The table's domain."""

    @property
    def arrays(self) -> Any:
        """The network as flat arrays, for compiled code."""

    @property
    def order(self) -> "NDArray[np.int64]":
        """Column number of the attribute at each position."""

    def in_order(self, codes: Codes) -> Codes:
        """Reorder from columns of the domain to positions of the order."""

    def in_columns(self, records: Codes) -> Codes:
        """Reorder from positions of the order to columns of the domain."""

    def sample(self, words: "NDArray[np.uint32]") -> Codes:
        """Draw whole records from one word per value, columns as in the domain."""

    def sample_evenly(self, words: "NDArray[np.uint32]") -> Codes:
        """Draw whole records that jointly may vary less than independent ones."""

    @property
    def completes_evenly(self) -> bool:
        """Whether prefixes are completed by stratified values."""

    def complete_evenly(self, prefixes: Codes, words: "NDArray[np.uint32]") -> Codes:
        """Draw the other values of records that begin with given ones, so that the records jointly vary less."""

    @property
    def has_pair_goals(self) -> bool:
        """Whether it keeps two-way tables that drawn records should have."""

    def pair_goals(self, codes: Codes) -> "Goals":
        """The two-way tables that drawn records should have."""

    def words_of_matching(self, records: int) -> int:
        """Number of words that `matched` takes for a number of records."""

    def matched(self, codes: Codes, words: "NDArray[np.uint32]") -> Codes:
        """Drawn records, changed to agree more closely with the tables from which the network was made."""

    def document(self) -> dict[str, Any]:
        """The network in names and integers, ready for JSON."""


def draw_next(net, position, record, word):
    """The value at a position that a word selects, given the earlier values in `record`; for compiled code."""
    raise NotImplementedError


def factor_of(net, position, record):
    """Probability of the value at a position given the earlier ones, a multiple of 2^-32; for compiled code."""
    raise NotImplementedError


def shares_of(net, position, record, shares):
    """Fill in the probability of every value at a position given the earlier ones, out of 2^32; for compiled code."""
    raise NotImplementedError


def draw_column(net, position, block, words, live, scored):
    """Draw the values at a position for a block of attempts and, if requested, score them; for compiled code.

    Args:
        net: the network's arrays.
        position: the position; earlier ones are drawn.
        block: a `ColumnBlock`; `records` has the seeds' values at the position before, and the candidates' after.
            Attempts that copy the position keep their value.
        words: the words from which values are drawn, one each.
        live: number of attempts.
        scored: whether to fill in `factors` at the position.
    """
    raise NotImplementedError
