"""Signatures under entries of a ledger that only the custodian of the data may make: budgets, recoveries, approvers.

The first entry of a ledger names the custodian's public key. A signature covers the ledger's name, the digest of the
entry before, the kind and the content, so that it holds in one place of one ledger and cannot be entered again. Ledgers
whose first entry names no key, from earlier versions, have no signatures until a custodian's key is entered in them.
The keeping of the private key does not belong here (stores.keys.custodian_key).
"""

import hashlib

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from deniable.ledger.entries import Fact, canonical

_PURPOSE = "deniable/v1/custodian"
_SHOWN_DIGITS = 16


def signed_bytes(ledger: str, previous: str, fact: Fact) -> bytes:
    """What the custodian signs of a fact.

    Args:
        ledger: the ledger's name.
        previous: digest of the entry before.
        fact: the fact; its own signature is left out.
    """
    content = {name: value for name, value in fact.to_content().items() if name != "signature"}
    return canonical([_PURPOSE, ledger, previous, fact.kind, content]).encode()


def sign(ledger: str, previous: str, fact: Fact, private: Ed25519PrivateKey) -> str:
    """The custodian's signature under a fact, in hexadecimal."""
    return private.sign(signed_bytes(ledger, previous, fact)).hex()


def fault_of_signature(ledger: str, previous: str, fact: Fact, *, public: str, signature: str) -> str | None:
    """The fault of a signature, as the end of a sentence; None if it is the custodian's.

    Args:
        ledger: the ledger's name.
        previous: digest of the entry before.
        fact: the signed fact.
        public: the custodian's public key, in hexadecimal.
        signature: the signature, in hexadecimal; empty if there is none.
    """
    if not signature:
        return f"it is not signed by the custodian's key {key_name(public)}"
    try:
        key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(public))
        key.verify(bytes.fromhex(signature), signed_bytes(ledger, previous, fact))
    except (InvalidSignature, ValueError):
        return f"its signature is not one of the custodian's key {key_name(public)} in this place"
    return None


def key_name(public: str) -> str:
    """The first digits of a key's id, by which people name it."""
    try:
        return hashlib.sha256(bytes.fromhex(public)).hexdigest()[:_SHOWN_DIGITS]
    except ValueError:
        return "(unreadable)"
