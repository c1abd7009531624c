"""Merkle trees and proofs of consistency: the published test vectors, and all logs of up to 33 entries."""

from hashlib import sha256

import pytest

from deniable.ledger.merkle import consistency_proof, is_consistent, leaf, root_of

# The entries and roots of Certificate Transparency's own tests, of which RFC 6962, 2.1.3 has the shape.
ENTRIES = [
    bytes.fromhex(text)
    for text in ("", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f")
]
ROOTS = [
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
]
MOST = 33


def log(size: int, mark: bytes = b"") -> list[bytes]:
    return [leaf(mark + bytes([number])) for number in range(size)]


def root_by_definition(leaves: list[bytes]) -> bytes:
    """MTH of RFC 6962, 2.1, as it is written there."""
    if len(leaves) < 2:
        return leaves[0] if leaves else sha256(b"").digest()
    split = max(power for power in (2**exponent for exponent in range(10)) if power < len(leaves))
    return sha256(b"\1" + root_by_definition(leaves[:split]) + root_by_definition(leaves[split:])).digest()


def test_roots_are_those_of_the_published_vectors() -> None:
    leaves = [leaf(entry) for entry in ENTRIES]
    assert [root_of(leaves[:size]).hex() for size in range(1, 9)] == ROOTS
    assert root_of([]) == sha256(b"").digest()


def test_the_proof_of_the_source_s_example_has_its_nodes() -> None:
    """RFC 6962, 2.1.3: PROOF(3, D[7]) = [c, d, g, l], where c and d are leaves, g their sibling, and l the rest."""
    leaves = log(7)
    proof = consistency_proof(leaves, 3)
    assert proof == [leaves[2], leaves[3], root_of(leaves[:2]), root_of(leaves[4:])]
    assert consistency_proof(leaves, 4) == [root_of(leaves[4:])]
    assert consistency_proof(leaves, 6) == [root_of(leaves[4:6]), leaves[6], root_of(leaves[:4])]


def test_every_log_continues_its_first_entries_and_no_others() -> None:
    other = log(MOST, b"other")
    for size in range(MOST + 1):
        leaves = log(size)
        root = root_of(leaves)
        assert root == root_by_definition(leaves)
        for before in range(size + 1):
            proof, first = consistency_proof(leaves, before), root_of(leaves[:before])
            assert is_consistent(before, first, size, root, proof)
            if before:
                assert not is_consistent(before, root_of(other[:before]), size, root, proof)
                assert not is_consistent(before, first, size, root_of(other[:size]), proof)
                assert not is_consistent(before, first, size, root, [*proof, root])
            if proof:
                assert not is_consistent(before, first, size, root, proof[:-1])
                assert not is_consistent(before, first, size, root, [root, *proof[1:]])


def test_no_proof_goes_back() -> None:
    leaves = log(8)
    assert not is_consistent(8, root_of(leaves), 5, root_of(leaves[:5]), consistency_proof(leaves, 5))
    assert not is_consistent(-1, root_of([]), 5, root_of(leaves[:5]), [])
    assert not is_consistent(3, b"short", 8, root_of(leaves), consistency_proof(leaves, 3))
    with pytest.raises(ValueError, match="has no first 9"):
        consistency_proof(leaves, 9)
