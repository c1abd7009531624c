"""The two-way tables that raked records should have: the model's own, or those of many records drawn from it."""

from deniable.foundation.domain import Codes
from deniable.foundation.keys import WordStream
from deniable.models.raking import Goals, goals_of_records
from deniable.models.sequential_kernels import Network

_LEAST, _MOST, _PER_RECORD = 20_000, 400_000, 8
"""Number of records of a model whose two-way tables raking aims at, unless the model keeps tables."""


def goals_for(net: Network, pool: Codes, wanted: int, public: WordStream) -> Goals:
    """The two-way tables that records of a chunk should have.

    Args:
        net: the model.
        pool: the records to choose from, columns as in the domain, shape (pool, m).
        wanted: number of records to choose.
        public: fresh words, for records drawn from the model alone; none are taken if the model keeps tables.
    """
    if net.has_pair_goals:
        return net.pair_goals(pool)
    many = min(max(_LEAST, _PER_RECORD * wanted), _MOST)
    return goals_of_records(pool, net.sample_evenly(public.take(many * len(net.domain))), net.domain)
