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
    """Write a seed index: its arrays in their order, each in NumPy's own format, one after the other.

    The digest of the file decides which candidates are drawn, so that its bytes must follow from the arrays alone: an
    archive's depend on the version of Python.
    """
    with path.open("wb") as handle:
        for array in index.arrays:
            np.save(handle, array, allow_pickle=False)


@lru_cache(maxsize=1)
def _read_index(path: Path, digest: str) -> SeedIndex:  # noqa: ARG001 - the digest tells one index from another
    with path.open("rb") as handle:
        return SeedIndex(IndexArrays(*(np.load(handle, allow_pickle=False) for _ in IndexArrays._fields)))


def read_index(index: Reference) -> SeedIndex:
    """Read a seed index; the blocks of one process share it."""
    return _read_index(index.path, index.digest)


def forget_index() -> None:
    """Let go of the index that blocks shared."""
    _read_index.cache_clear()
