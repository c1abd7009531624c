"""Draws whole records from the model, stratified within a chunk if the model supports it.

If there are few records, those of a chunk are chosen from more by raking to the model's two-way tables, after values
were exchanged where that brings pairs nearer to the tables that the model keeps, if it keeps any (matching). Raking
keeps records whole, so it also helps tables of three attributes; matching helps small chunks above all.
"""

from functools import partial
from math import ceil

from deniable.foundation.domain import Codes, Domain
from deniable.mechanisms import ChunkStreams, Draw, PartDelta, Sampler
from deniable.models.raking import POOL_PER_RECORD, raked, words_of_raking
from deniable.models.sequential_kernels import Network
from deniable.samplers.raked_goals import goals_for
from deniable.samplers.seedless.spec import Entry

MOST_RAKED = 1 << 18
"""Number of records above which they are neither raked nor matched: more records vary less about the model."""
MOST_ATTRIBUTES = 50
"""Number above which a model without tables is not raked to: its records would have too many tables of pairs."""


def sampler(entry: Entry, __: Domain, ___: PartDelta) -> Sampler:
    """Plan the sampler of a spec; see `deniable.samplers.registry.sampler_of`."""
    return Sampler(open=partial(_open, few=entry.records <= MOST_RAKED))


def _open(net: Network, _: None, open_stream: ChunkStreams, *, few: bool) -> Draw:
    m = len(net.domain)
    has_goals = net.has_pair_goals or 1 < m <= MOST_ATTRIBUTES

    def draw(chunk: int, candidates: int) -> Codes:
        opened = partial(open_stream, parameters={}, chunk=chunk)
        if not (few and has_goals):
            return net.sample_evenly(opened(mechanism="sample").take(candidates * m))
        pool = net.sample_evenly(opened(mechanism="sample").take(ceil(POOL_PER_RECORD * candidates) * m))
        pool = net.matched(pool, opened(mechanism="match").take(net.words_of_matching(len(pool))))
        rake = opened(mechanism="rake")
        goals = goals_for(net, pool, candidates, rake)
        return pool[raked(pool, goals, candidates, order=net.order, words=rake.take(words_of_raking(candidates)))]

    return draw
