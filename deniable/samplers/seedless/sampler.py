"""Draws whole records from the model, stratified within a chunk if the model supports it.

If there are few records, those of a chunk are then matched with the model's tables, if it has any.
"""

from functools import partial

from deniable.foundation.domain import Codes, Domain
from deniable.mechanisms import ChunkStreams, Draw, PartDelta, Sampler
from deniable.models.sequential_kernels import Network
from deniable.samplers.seedless.spec import Entry

MOST_MATCHED = 1 << 18
"""Number of records above which they are not matched: more records vary less about the model."""


def sampler(entry: Entry, __: Domain, ___: PartDelta) -> Sampler:
    """Plan the sampler of a spec; see `deniable.samplers.registry.sampler_of`."""
    return Sampler(open=partial(_open, matched=entry.records <= MOST_MATCHED))


def _open(net: Network, _: None, open_stream: ChunkStreams, *, matched: bool) -> Draw:
    def draw(chunk: int, candidates: int) -> Codes:
        words = open_stream(mechanism="sample", parameters={}, chunk=chunk).take(candidates * len(net.domain))
        codes, more = net.sample_evenly(words), net.words_of_matching(candidates) if matched else 0
        if not more:
            return codes
        return net.matched(codes, open_stream(mechanism="match", parameters={}, chunk=chunk).take(more))

    return draw
