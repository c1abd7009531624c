"""A seed index is stored as its arrays alone, and is read back unchanged."""

import io
from hashlib import sha256
from pathlib import Path

import numpy as np

from deniable.plausible_deniability.plausible_seeds import SeedIndex
from deniable.samplers.tested_seeds.sampler import SEED_INDEX
from schemas.references import Audience, Reference
from stores.vault.models import forget_shared, read_shared

SEEDS = np.asarray([[0, 1, 2], [0, 1, 0], [1, 1, 2]], np.uint16)


def test_an_index_comes_back_as_it_was_and_nothing_else_is_in_its_file(tmp_path: Path) -> None:
    index, path = SeedIndex.build(SEEDS, {1: 1, 2: 3}), tmp_path / "seed_index.npy"
    with path.open("wb") as file:
        SEED_INDEX.write(index, file)
    content = path.read_bytes()
    reference = Reference(
        name="seed_index", path=path, audience=Audience.RESTRICTED, digest=sha256(content).hexdigest()
    )
    forget_shared()
    again = read_shared(SEED_INDEX, reference)
    forget_shared()
    read, left = io.BytesIO(content), []
    for made, kept in zip(index.arrays, again.arrays, strict=True):
        assert made.dtype == kept.dtype
        assert np.array_equal(made, kept)
    for written in index.stored:
        # Format 1.0 of NumPy, spelled out: no time, version or place is in it.
        assert read.read(8) == b"\x93NUMPY\x01\x00"
        header = read.read(int.from_bytes(read.read(2), "little")).decode()
        shape = str(written.shape)
        said = (
            f"{{'descr': '{written.dtype.str}', 'fortran_order': {not written.flags.c_contiguous}, 'shape': {shape}, }}"
        )
        assert header.rstrip() == said
        left.append(read.read(written.nbytes))
    assert read.read() == b""
    assert left == [written.tobytes("A") for written in index.stored]
