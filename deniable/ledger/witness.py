"""What a witness of a ledger does: cosign a checkpoint if, and only if, it continues the last one that was cosigned.

The keeping of the key and of the last checkpoint belongs to the command (deniable.cli.audit.witness).

Source: C2SP tlog-witness, https://c2sp.org/tlog-witness.
"""

from collections.abc import Iterable

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from deniable.foundation.errors import Refused
from deniable.ledger.checkpoint import Checkpoint, WitnessRequest
from deniable.ledger.merkle import is_consistent, root_of


class NotContinued(Refused):
    """A checkpoint does not continue the one before: the ledger was put back, or there are two of it."""


def require_continued(request: WitnessRequest, seen: Checkpoint | None, keys: Iterable[Ed25519PublicKey]) -> Checkpoint:
    """Require that a checkpoint may be cosigned.

    Args:
        request: the request, of which nothing is assumed.
        seen: the last checkpoint of this ledger that was cosigned; None if there was none.
        keys: the keys whose signatures as the ledger are accepted.

    Returns:
        The checkpoint.

    Raises:
        NotContinued: the ledger was put back to an earlier state, or differs from the one that was seen.
        Refused: it is signed by none of the keys, of another ledger, or the request begins at another checkpoint.
    """
    new = request.checkpoint
    if not any(new.is_signed_by(key) for key in keys):
        raise Refused(
            "a checkpoint must be signed by a key of the trust file, got one that is not; ask the agency for its trust "
            "file, and compare the key with what it tells you."
        )
    before, root = (0, root_of([])) if seen is None else (seen.size, seen.root)
    if seen is not None and new.origin != seen.origin:
        raise Refused(f"a checkpoint must be of {seen.origin}, got one of {new.origin}; keep a folder for each ledger.")
    if new.size < before:
        raise NotContinued(
            f"THE LEDGER WAS PUT BACK: {new.origin} had {before:,} entries when it was last cosigned, and shows "
            f"{new.size:,} now; nothing was cosigned. Budget that was spent since could be spent again: tell the "
            "custodian."
        )
    if request.before != before:
        raise Refused(
            f"a request must begin at the last cosigned checkpoint, of {before:,} entries, got one from "
            f"{request.before:,}; make it again with --after and that checkpoint."
        )
    if not is_consistent(before, root, new.size, new.root, request.proof):
        raise NotContinued(
            f"THERE ARE TWO LEDGERS: {new.origin} does not continue the {before:,} entries that were last cosigned; "
            "nothing was cosigned. Copies of a state folder were used side by side, or its entries were changed: tell "
            "the custodian."
        )
    return new
