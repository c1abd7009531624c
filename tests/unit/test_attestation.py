"""An envelope is byte for byte what its key signed, or it is refused."""

import hashlib
import json
from base64 import b64decode, b64encode
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from deniable.foundation.errors import InvalidInput
from deniable.ledger.entries import canonical
from deniable.record.attestation import (
    PAYLOAD_TYPE,
    Envelope,
    SignatureBroken,
    Statement,
    encoding_to_sign,
    keyid_of,
    sign,
    statement,
    verify,
)
from tests.signing import private_key

# RFC 8032, 7.1, test 1.
RFC_8032_SECRET = bytes.fromhex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")
RFC_8032_PUBLIC = bytes.fromhex("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a")

ADA, BOB = private_key("Ada"), private_key("Bob")
KNOWN = (BOB.public_key(), ADA.public_key())
DIGESTS = {"people.csv": "ab" * 32, "index.html": "0f" * 32}
PREDICATE = {"release": {"id": "people-1", "records": 400}, "cost": {"epsilon": 1.25, "delta": 1e-06}}
PAYLOAD = statement(DIGESTS, PREDICATE)


def test_the_encoding_is_that_of_the_standard() -> None:
    # DSSE, protocol.md.
    said = encoding_to_sign(b"hello world", "http://example.com/HelloWorld")
    assert said == b"DSSEv1 29 http://example.com/HelloWorld 11 hello world"
    assert encoding_to_sign("é".encode(), "é") == b"DSSEv1 2 \xc3\xa9 2 \xc3\xa9"


def test_the_signature_is_ed25519_of_the_encoding_under_the_type_of_in_toto() -> None:
    key = Ed25519PrivateKey.from_private_bytes(RFC_8032_SECRET)
    envelope = sign(b"payload", key)
    assert envelope.keyid == keyid_of(key.public_key()) == hashlib.sha256(RFC_8032_PUBLIC).hexdigest()
    key.public_key().verify(envelope.signature, b"DSSEv1 28 application/vnd.in-toto+json 7 payload")


def test_an_envelope_is_written_in_one_way_and_comes_back_as_it_was() -> None:
    envelope = sign(PAYLOAD, ADA)
    text = envelope.to_text()
    assert json.loads(text) == {
        "payload": b64encode(PAYLOAD).decode(),
        "payloadType": "application/vnd.in-toto+json",
        "signatures": [{"keyid": keyid_of(ADA.public_key()), "sig": b64encode(envelope.signature).decode()}],
    }
    assert text == canonical(json.loads(text)) + "\n"
    assert Envelope.from_text(text) == Envelope.from_text(text.encode()) == envelope
    verify(envelope, KNOWN)


@pytest.mark.slow
def test_nothing_that_is_done_to_one_byte_of_an_envelope_goes_unnoticed() -> None:
    text = sign(PAYLOAD, ADA).to_text().encode()
    verify(Envelope.from_text(text), KNOWN)
    altered = []
    for place in range(len(text)):
        before, byte, after = text[:place], text[place : place + 1], text[place + 1 :]
        altered += [before + bytes([byte[0] ^ 1 << bit]) + after for bit in range(8)]
        altered += [before, before + after, before + byte + byte + after, before + b" " + byte + after]
        altered += [before + after[:1] + byte + after[1:]]
    unnoticed = []
    for each in altered:
        try:
            verify(Envelope.from_text(each), KNOWN)
        except (InvalidInput, SignatureBroken):
            continue
        if each != text:
            unnoticed.append(each)
    assert len(altered) > 5000
    assert unnoticed == []


def changed(change: Callable[[dict[str, Any]], object]) -> str:
    """The text of an envelope after something was done to what it says, written as envelopes are."""
    content = json.loads(sign(PAYLOAD, ADA).to_text())
    change(content)
    return canonical(content) + "\n"


def with_signature(**values: object) -> str:
    return changed(lambda content: content["signatures"][0].update(values))


SIGNATURE = b64encode(sign(PAYLOAD, ADA).signature).decode()
# The last digit before the padding carries bits that no byte takes.
LOOSE_BITS = SIGNATURE[:-3] + chr(ord(SIGNATURE[-3]) + 1) + "=="


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (changed(lambda content: content.update(payloadType="application/json")), "payloadType must be"),
        (changed(lambda content: content.update(payloadType=None)), "payloadType must be"),
        (changed(lambda content: content.update(signatures=[])), "must have one signature, got 0"),
        (changed(lambda content: content["signatures"].append(content["signatures"][0])), "one signature, got 2"),
        (changed(lambda content: content.update(signatures={})), "must have one signature, got no list"),
        (changed(lambda content: content.update(note="")), "payload, payloadType, signatures and nothing else"),
        (changed(lambda content: content.pop("payload")), "payload, payloadType, signatures and nothing else"),
        (with_signature(cert=""), "keyid, sig and nothing else"),
        (with_signature(keyid=None), "keyid must be a text"),
        (with_signature(keyid="AB" * 32), "64 lower-case hexadecimal digits"),
        (with_signature(keyid="ab" * 31), "64 lower-case hexadecimal digits"),
        (with_signature(keyid="\u0661" * 64), "64 lower-case hexadecimal digits"),
        (with_signature(sig=b64encode(bytes(63)).decode()), "signature must be 64 bytes"),
        (with_signature(sig=7), "signature must be canonical base64"),
        (with_signature(sig=SIGNATURE.rstrip("=")), "signature must be canonical base64"),
        (with_signature(sig=SIGNATURE + "\n"), "signature must be canonical base64"),
        (with_signature(sig=LOOSE_BITS), "signature must be canonical base64"),
        (with_signature(sig=b64encode(b"\xff" * 64).decode().replace("/", "_")), "signature must be canonical base64"),
        (changed(lambda content: content.update(payload="é")), "payload must be canonical base64"),
        ("[]\n", "payload, payloadType, signatures and nothing else"),
        (sign(PAYLOAD, ADA).to_text().removesuffix("\n"), "written canonically"),
        (sign(PAYLOAD, ADA).to_text().replace("\n", "\r\n"), "written canonically"),
        (sign(PAYLOAD, ADA).to_text() + "\n", "written canonically"),
        (" " + sign(PAYLOAD, ADA).to_text(), "written canonically"),
        (sign(PAYLOAD, ADA).to_text().replace('"payload"', r'"\u0070ayload"'), "written canonically"),
        (json.dumps(json.loads(sign(PAYLOAD, ADA).to_text())) + "\n", "written canonically"),
        (sign(PAYLOAD, ADA).to_text().replace("{", '{"payload":"",', 1), "got a name twice"),
        ("\ufeff" + sign(PAYLOAD, ADA).to_text(), "must be JSON"),
        ("", "must be JSON"),
    ],
)
def test_an_envelope_of_any_other_form_is_refused(text: str, fault: str) -> None:
    with pytest.raises(InvalidInput, match=fault):
        Envelope.from_text(text)


def test_base64_with_loose_bits_says_the_same_bytes_so_that_only_its_text_gives_it_away() -> None:
    assert b64decode(LOOSE_BITS, validate=True) == b64decode(SIGNATURE)


@pytest.mark.parametrize("text", [b"\xff", "\ufeff{}".encode(), "é".encode()])
def test_an_envelope_of_other_bytes_than_ascii_is_refused(text: bytes) -> None:
    with pytest.raises(InvalidInput, match="must be ASCII"):
        Envelope.from_text(text)


@pytest.mark.parametrize(
    "altered",
    [
        replace(sign(PAYLOAD, ADA), payload=PAYLOAD + b" "),
        replace(sign(PAYLOAD, ADA), signature=sign(PAYLOAD + b" ", ADA).signature),
        replace(sign(PAYLOAD, ADA), keyid=keyid_of(BOB.public_key())),
        replace(sign(PAYLOAD, BOB), keyid=keyid_of(ADA.public_key())),
        # As if the bare payload had been signed, or under another type.
        replace(sign(PAYLOAD, ADA), signature=ADA.sign(PAYLOAD)),
        replace(sign(PAYLOAD, ADA), signature=ADA.sign(encoding_to_sign(PAYLOAD, PAYLOAD_TYPE + "x"))),
    ],
)
def test_what_the_named_key_did_not_sign_is_refused(altered: Envelope) -> None:
    with pytest.raises(SignatureBroken, match=f"must match the signature of the key {altered.keyid}"):
        verify(altered, KNOWN)


@pytest.mark.parametrize("known", [(), (BOB.public_key(),)])
def test_an_envelope_of_an_unknown_key_is_refused(known: tuple[Any, ...]) -> None:
    with pytest.raises(SignatureBroken, match="signed by a known key, got one by the key"):
        verify(sign(PAYLOAD, ADA), known)


@pytest.mark.parametrize(
    "wrong", [{"payload": "text"}, {"signature": bytes(65)}, {"signature": "a" * 64}, {"keyid": ""}, {"keyid": None}]
)
def test_what_cannot_be_an_envelope_is_none(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        replace(sign(PAYLOAD, ADA), **wrong)


def test_neither_envelope_nor_statement_shows_what_it_says() -> None:
    internal = {"rows_after_cleaning": 123_456_789}
    payload = statement(DIGESTS, internal)
    for value in (sign(payload, ADA), Statement.from_payload(payload)):
        shown = repr(value)
        assert "123456789" not in shown
        assert b64encode(payload).decode()[:20] not in shown


def test_a_statement_is_in_toto_s_with_its_subjects_in_order() -> None:
    assert json.loads(PAYLOAD) == {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [
            {"name": "index.html", "digest": {"sha256": "0f" * 32}},
            {"name": "people.csv", "digest": {"sha256": "ab" * 32}},
        ],
        "predicateType": "urn:deniable:provenance:v2",
        "predicate": PREDICATE,
    }
    assert canonical(json.loads(PAYLOAD)).encode() == PAYLOAD
    read = Statement.from_payload(PAYLOAD)
    assert (read.subjects, read.predicate) == (DIGESTS, PREDICATE)
    assert read.to_payload() == PAYLOAD


def restated(change: Callable[[dict[str, Any]], object]) -> bytes:
    content = json.loads(PAYLOAD)
    change(content)
    return canonical(content).encode()


@pytest.mark.parametrize(
    ("payload", "fault"),
    [
        (restated(lambda content: content.update(_type="https://in-toto.io/Statement/v0.1")), "_type must be"),
        (restated(lambda content: content.update(predicateType="urn:other")), "predicateType must be"),
        (restated(lambda content: content.update(predicate=[])), "predicate must be named values"),
        (restated(lambda content: content.update(subject={})), "subject must be a list"),
        (restated(lambda content: content.update(subject=[])), "must have a subject, got none"),
        (restated(lambda content: content["subject"].reverse()), "written canonically"),
        (
            restated(lambda content: content["subject"].append(content["subject"][0])),
            "named once, got index.html",
        ),
        (restated(lambda content: content["subject"][0].update(uri="")), "name, digest and nothing else"),
        (restated(lambda content: content["subject"][0].update(name="")), "must have a name"),
        (restated(lambda content: content["subject"][0].update(name=3)), "must have a name"),
        (restated(lambda content: content["subject"][0]["digest"].update(sha1="")), "sha256 and nothing else"),
        (
            restated(lambda content: content["subject"][0]["digest"].update(sha256="AB" * 32)),
            "must have a name and a SHA",
        ),
        (restated(lambda content: content["subject"][0]["digest"].update(sha256=None)), "and a SHA-256"),
        (restated(lambda content: content.update(more=1)), "and nothing else"),
        (PAYLOAD + b"\n", "written canonically"),
        (PAYLOAD.replace(b"1.25", b"1.250"), "written canonically"),
        (PAYLOAD.replace(b"400", b"4e2"), "written canonically"),
        (PAYLOAD.replace(b"1.25", b"1e999"), "got a number beyond all that is read"),
        (PAYLOAD.replace(b"1.25", b"NaN"), "got the number NaN"),
        (PAYLOAD.replace(b'"records":400', b'"records":400,"records":400'), "got a name twice"),
        (PAYLOAD.replace(b"people-1", rb"\ud800"), "plain JSON values"),
        (b"\xff", "must be UTF-8"),
    ],
)
def test_a_statement_of_any_other_form_is_refused(payload: bytes, fault: str) -> None:
    assert payload != PAYLOAD
    with pytest.raises(InvalidInput, match=fault):
        Statement.from_payload(payload)


@pytest.mark.parametrize(
    ("subjects", "predicate"),
    [({}, {}), ({"": "ab" * 32}, {}), ({"a": "ab"}, {}), (DIGESTS, {"x": object()}), (DIGESTS, {"x": float("inf")})],
)
def test_a_statement_that_cannot_be_read_back_is_not_made(
    subjects: dict[str, str], predicate: dict[str, object]
) -> None:
    with pytest.raises(InvalidInput):
        statement(subjects, predicate)
