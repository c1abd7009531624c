"""Envelopes follow the standard: securesystemslib reads ours, and we read its."""

import json
from dataclasses import replace
from typing import Any

import pytest
from securesystemslib.dsse import Envelope as TheirEnvelope
from securesystemslib.exceptions import VerificationError
from securesystemslib.signer import CryptoSigner, SSlibKey

from deniable.foundation.errors import InvalidInput
from deniable.ledger.entries import canonical
from deniable.record.attestation import PAYLOAD_TYPE, Envelope, encoding_to_sign, keyid_of, sign, statement, verify
from tests.signing import private_key

ADA, BOB = private_key("Ada"), private_key("Bob")
PAYLOAD = statement({"people.csv": "ab" * 32}, {"title": "Menschen, die es nicht gibt: für alle", "epsilon": 1.5})


def theirs(envelope: Envelope) -> TheirEnvelope:
    """One of ours as they read it from its text."""
    return TheirEnvelope.from_dict(json.loads(envelope.to_text()))


def their_key(private: Any) -> SSlibKey:
    return SSlibKey.from_crypto(private.public_key(), keyid=keyid_of(private.public_key()))


def test_they_verify_what_we_sign() -> None:
    read = theirs(sign(PAYLOAD, ADA))
    assert read.payload == PAYLOAD
    assert read.pae() == encoding_to_sign(PAYLOAD)
    assert list(read.verify([their_key(BOB), their_key(ADA)], threshold=1)) == [keyid_of(ADA.public_key())]


@pytest.mark.parametrize(
    "altered",
    [
        replace(sign(PAYLOAD, ADA), payload=PAYLOAD.replace(b"1.5", b"1.4")),
        replace(sign(PAYLOAD, ADA), signature=sign(PAYLOAD, BOB).signature),
        replace(sign(PAYLOAD, ADA), keyid=keyid_of(BOB.public_key())),
        sign(PAYLOAD, BOB),
    ],
)
def test_they_refuse_what_was_altered(altered: Envelope) -> None:
    with pytest.raises(VerificationError):
        theirs(altered).verify([their_key(ADA)], threshold=1)


def signed_by_them(payload: bytes, kind: str = PAYLOAD_TYPE) -> str:
    envelope = TheirEnvelope(payload, kind, {})
    envelope.sign(CryptoSigner(ADA, their_key(ADA)))
    return canonical(envelope.to_dict()) + "\n"


def test_we_verify_what_they_sign_and_it_is_byte_by_byte_what_we_would_have_written() -> None:
    text = signed_by_them(PAYLOAD)
    verify(Envelope.from_text(text), [ADA.public_key()])
    assert text == sign(PAYLOAD, ADA).to_text()


def test_we_refuse_what_they_sign_under_another_type() -> None:
    with pytest.raises(InvalidInput, match="payloadType"):
        Envelope.from_text(signed_by_them(PAYLOAD, "application/json"))
