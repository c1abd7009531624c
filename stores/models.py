"""Models and seed indices on disk, and in memory for as long as the blocks of a release need them."""

import json
from functools import lru_cache
from pathlib import Path

import numpy as np

from deniable.conditionals import Network
from deniable.domain import Domain
from deniable.histogram_seeds import PrefixHistogram
from deniable.networks import network_from_document
from deniable.plausible_seeds import IndexArrays, SeedIndex
from schemas.references import Reference


def read_model(domain: Domain, model: Reference) -> Network:
    """Read a network from its JSON document."""
    return network_from_document(domain, json.loads(model.path.read_text()))


def read_histogram(domain: Domain, histogram: Reference) -> PrefixHistogram:
    """Read a noisy histogram of prefixes from its JSON document."""
    return PrefixHistogram.from_document(domain, json.loads(histogram.path.read_text()))


def write_index(path: Path, index: SeedIndex) -> None:
    """Write a seed index as an uncompressed archive of its arrays."""
    with path.open("wb") as handle:
        np.savez(handle, **index.arrays._asdict())


@lru_cache(maxsize=1)
def _read_index(path: Path, digest: str) -> SeedIndex:  # noqa: ARG001 - the digest tells one index from another
    with np.load(path, allow_pickle=False) as arrays:
        return SeedIndex(IndexArrays(**{name: arrays[name] for name in IndexArrays._fields}))


def read_index(index: Reference) -> SeedIndex:
    """Read a seed index; the blocks of one process share it."""
    return _read_index(index.path, index.digest)


def forget_index() -> None:
    """Let go of the index that blocks shared."""
    _read_index.cache_clear()
