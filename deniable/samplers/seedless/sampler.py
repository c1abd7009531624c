"""Draws whole records from the model, stratified within a chunk if the model supports it.

If there are few records, and the model has tables of pairs, those of a chunk are chosen from more by raking to these
tables, and values are exchanged before and after where that brings pairs nearer to them (matching). Raking keeps
records whole, so it also helps tables of three attributes; matching corrects what is left, above all in small chunks.
"""

from functools import partial
from math import ceil

from deniable.foundation.domain import Codes, Domain
from deniable.mechanisms import ChunkStreams, Draw, PartDelta, Sampler
from deniable.models.raking import POOL_PER_RECORD, raked
from deniable.models.sequential_kernels import Network
from deniable.samplers.seedless.spec import Entry

MOST_RAKED = 1 << 18
"""Number of records above which they are neither raked nor matched: more records vary less about the model."""
_UNIT = 2.0**-32


def sampler(entry: Entry, __: Domain, ___: PartDelta) -> Sampler:
    """Plan the sampler of a spec; see `deniable.samplers.registry.sampler_of`."""
    return Sampler(open=partial(_open, few=entry.records <= MOST_RAKED))


def _open(net: Network, _: None, open_stream: ChunkStreams, *, few: bool) -> Draw:
    def draw(chunk: int, candidates: int) -> Codes:
        opened = partial(open_stream, parameters={}, chunk=chunk)
        m = len(net.domain)
        if not (few and net.has_pair_goals):
            return net.sample_evenly(opened(mechanism="sample").take(candidates * m))
        pool = net.sample_evenly(opened(mechanism="sample").take(ceil(POOL_PER_RECORD * candidates) * m))
        matching = opened(mechanism="match")
        pool = net.matched(pool, matching.take(net.words_of_matching(len(pool))))
        start = int(opened(mechanism="rake").take(1)[0]) * _UNIT
        chosen = pool[raked(pool, net.pair_goals(pool), candidates, order=net.order, start=start)]
        return net.matched(chosen, matching.take(net.words_of_matching(candidates)))

    return draw
