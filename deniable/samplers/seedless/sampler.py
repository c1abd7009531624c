"""This sampler draws whole records from the model, stratified within a chunk if the model supports it."""

from deniable.foundation.domain import Codes, Domain
from deniable.mechanisms import ChunkStreams, Draw, PartDelta, Sampler
from deniable.models.sequential_kernels import Network
from deniable.samplers.seedless.spec import Entry


def sampler(_: Entry, __: Domain, ___: PartDelta) -> Sampler:
    """Plan the sampler of a spec; see `deniable.samplers.registry.sampler_of`."""
    return Sampler(open=_open)


def _open(net: Network, _: None, open_stream: ChunkStreams) -> Draw:
    def draw(chunk: int, candidates: int) -> Codes:
        stream = open_stream(mechanism="sample", parameters={}, chunk=chunk)
        return net.sample_evenly(stream.take(candidates * len(net.domain)))

    return draw
