"""Models and the other inputs of sampling: on disk, and in memory for as long as blocks need them."""

import json
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO

from deniable.foundation.domain import Domain
from deniable.mechanisms import URNS, Product
from deniable.models.model_formats import model_from_document
from deniable.models.sequential_kernels import Network
from schemas.references import Reference
from stores.own_files import opened_own, read_own


def read_model(domain: Domain, model: Reference) -> Network:
    """Read a network from its JSON document."""
    return model_from_document(domain, json.loads(read_own(model.path)))


def read_drawn_from(domain: Domain, made: Reference) -> Any:
    """Read the object from which records are drawn: a network, or the document of urns, which has no counts."""
    if made.name == URNS.name:
        return json.loads(read_own(made.path))
    return read_model(domain, made)


def read_product(product: Product, reference: Reference) -> Any:
    """Read the output of a step."""
    with opened_own(reference.path) as file:
        return product.read(file)


@lru_cache(maxsize=1)
def _read(path: Path, digest: str, read: Callable[[BinaryIO], Any]) -> Any:  # noqa: ARG001 - the digest distinguishes versions
    with opened_own(path) as file:
        return read(file)


def read_shared(product: Product, reference: Reference) -> Any:
    """Read the output of a step, once for all blocks of one process."""
    return _read(reference.path, reference.digest, product.read)


def forget_shared() -> None:
    """Release the memory that blocks shared."""
    _read.cache_clear()
