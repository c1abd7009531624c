"""Keys among the attributes before each one, and the noise of their tables; needs no compiled code."""

from collections.abc import Mapping, Sequence
from fractions import Fraction

from deniable.foundation.domain import Domain
from deniable.learners.pegs.plan import key_of, public_orders
from deniable.privacy.common_events import count_events, noised_tables
from deniable.privacy.loss import MechanismEvent

REASON = "key"


def keys_before(
    domain: Domain, orders: Mapping[str, Sequence[str]] | None, key_cells: int
) -> tuple[tuple[int, ...], ...]:
    """The key of each attribute, among the attributes before it in the schema; by column number, ascending.

    Args:
        domain: the public domain.
        orders: public orders; see `public_orders`.
        key_cells: largest number of combinations of a key.
    """
    return tuple(
        tuple(sorted(key_of(domain, [other for other in order if other < attribute], key_cells)))
        for attribute, order in enumerate(public_orders(domain, orders))
    )


def scale_of(domain: Domain, epsilon: Fraction) -> Fraction:
    """Scale of the noise: one record changes one count of each table by 1."""
    return max(noised_tables(domain), 1) / epsilon


def table_events(domain: Domain, epsilon: Fraction) -> tuple[MechanismEvent, ...]:
    """The noisy tables, one for each attribute of several values."""
    return count_events(noised_tables(domain), "laplace", scale_of(domain, epsilon))
