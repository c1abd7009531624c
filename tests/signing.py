"""Keys for tests, the same every time, which never sign anything real."""

from hashlib import sha256

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from deniable.record.trust import Revocation, TrustedKey

FROM, WITHIN = "2026-01-01T00:00:00Z", "2026-11-20T07:45:00Z"
UNTIL, AFTER = "2028-01-01T00:00:00Z", "2029-01-01T00:00:00Z"


def private_key(name: str = "Ada") -> Ed25519PrivateKey:
    """Return a key derived from a name."""
    return Ed25519PrivateKey.from_private_bytes(sha256(name.encode()).digest())


def trusted(
    name: str = "Ada", *, valid_from: str = FROM, valid_until: str = UNTIL, revoked: Revocation | None = None
) -> TrustedKey:
    """Return the public half of a name's key, trusted."""
    key = TrustedKey.of(private_key(name).public_key(), owner=name, valid_from=valid_from, valid_until=valid_until)
    return TrustedKey.from_record({**key.to_record(), "revoked": None if revoked is None else vars(revoked)})
