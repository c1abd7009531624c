"""Merkle trees over the entries of a log: roots, and proofs that a later log continues an earlier one.

Sources: RFC 6962, 2.1 (hashes, and proofs of consistency); RFC 9162, 2.1.4.2 (their verification).
"""

from collections.abc import Sequence
from hashlib import sha256

BYTES = 32
_EMPTY = sha256(b"").digest()


def leaf(data: bytes) -> bytes:
    """The hash of an entry."""
    return sha256(b"\0" + data).digest()


def root_of(leaves: Sequence[bytes]) -> bytes:
    """The root of a tree.

    Args:
        leaves: the hash of each entry, in order.
    """
    if not leaves:
        return _EMPTY
    level = list(leaves)
    while len(level) > 1:
        # A last node without a partner moves up as it is, which gives the split of RFC 6962.
        paired = [_node(level[place], level[place + 1]) for place in range(0, len(level) - 1, 2)]
        level = paired + level[2 * len(paired) :]
    return level[0]


def consistency_proof(leaves: Sequence[bytes], before: int) -> list[bytes]:
    """The proof that a log continues its own first entries: RFC 6962, 2.1.2.

    Args:
        leaves: the hash of each entry, in order.
        before: number of first entries, at most all.

    Raises:
        ValueError: there are not so many entries.
    """
    if not 0 <= before <= len(leaves):
        raise ValueError(f"a log of {len(leaves)} entries has no first {before}")
    return _subproof(leaves, before, whole=True) if 0 < before < len(leaves) else []


def is_consistent(before: int, root_before: bytes, size: int, root: bytes, proof: Sequence[bytes]) -> bool:
    """Whether a proof shows that a log continues an earlier one: RFC 9162, 2.1.4.2.

    Args:
        before: number of entries of the earlier log.
        root_before: its root.
        size: number of entries of the log.
        root: its root.
        proof: the proof.
    """
    if not 0 <= before <= size or any(len(each) != BYTES for each in (root_before, root, *proof)):
        return False
    if before in {0, size}:
        return root_before == (root if before else _EMPTY) and not proof
    # A complete subtree is not among the proof, because the verifier knows it.
    path = [root_before, *proof] if before & (before - 1) == 0 else list(proof)
    return bool(path) and _roots(before - 1, size - 1, path) == (root_before, root)


def _roots(place: int, last: int, path: Sequence[bytes]) -> tuple[bytes, bytes] | None:
    """The two roots that a proof leads to; None if it is too short or too long.

    Args:
        place: number of the last entry of the earlier log, from 0: fn of the source.
        last: number of the last entry of the log: sn.
        path: the proof.
    """
    while place & 1:
        place, last = place >> 1, last >> 1
    old = new = path[0]
    for each in path[1:]:
        if last == 0:
            return None
        if place & 1 or place == last:
            old, new = _node(each, old), _node(each, new)
            while place and not place & 1:
                place, last = place >> 1, last >> 1
        else:
            new = _node(new, each)
        place, last = place >> 1, last >> 1
    return (old, new) if last == 0 else None


def _node(left: bytes, right: bytes) -> bytes:
    return sha256(b"\1" + left + right).digest()


def _subproof(leaves: Sequence[bytes], before: int, *, whole: bool) -> list[bytes]:
    """SUBPROOF of RFC 6962; `whole` is its b: whether the first entries are a subtree that the verifier knows."""
    size = len(leaves)
    if before == size:
        return [] if whole else [root_of(leaves)]
    split = 1 << ((size - 1).bit_length() - 1)
    if before <= split:
        return [*_subproof(leaves[:split], before, whole=whole), root_of(leaves[split:])]
    return [*_subproof(leaves[split:], before - split, whole=False), root_of(leaves[:split])]
