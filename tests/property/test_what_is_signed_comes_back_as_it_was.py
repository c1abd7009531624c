"""Signed content is read back unchanged and verifies; everything else is refused."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable.foundation.errors import InvalidInput
from deniable.record.attestation import (
    Envelope,
    SignatureBroken,
    Statement,
    encoding_to_sign,
    keyid_of,
    sign,
    statement,
    verify,
)
from deniable.record.trust import Revocation, TrustedKey, TrustedKeys, moment
from tests.extent import drawn
from tests.signing import private_key

ADA = private_key("Ada")

texts = st.text(st.characters(codec="utf-8"))
plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=20,
)
digests = st.binary(min_size=32, max_size=32).map(bytes.hex)
subjects = st.dictionaries(texts.filter(bool), digests, min_size=1, max_size=5)
times = st.datetimes().map(lambda time: f"{time:%Y-%m-%dT%H:%M:%S.%f}Z".rjust(27, "0"))


@given(subjects, st.dictionaries(texts, plain, max_size=5))
def test_a_statement_comes_back_as_it_was_made(named: dict[str, str], predicate: dict[str, object]) -> None:
    payload = statement(named, predicate)
    read = Statement.from_payload(payload)
    assert (read.subjects, read.predicate) == (named, predicate)
    # However the names were ordered when it was made.
    assert statement(dict(reversed(named.items())), dict(reversed(predicate.items()))) == payload


@given(st.binary())
def test_an_envelope_comes_back_as_it_was_made_and_verifies(payload: bytes) -> None:
    envelope = sign(payload, ADA)
    read = Envelope.from_text(envelope.to_text().encode())
    assert read == envelope
    verify(read, [ADA.public_key()])


@given(st.binary(), st.binary(min_size=64, max_size=64), digests)
def test_no_made_up_signature_verifies(payload: bytes, signature: bytes, keyid: str) -> None:
    made_up = replace(sign(payload, ADA), signature=signature)
    for envelope in (made_up, replace(made_up, keyid=keyid)):
        assert Envelope.from_text(envelope.to_text()) == envelope
        with pytest.raises(SignatureBroken):
            verify(envelope, [ADA.public_key()])


@given(st.tuples(st.binary(), texts), st.tuples(st.binary(), texts))
def test_no_two_messages_are_encoded_alike(one: tuple[bytes, str], other: tuple[bytes, str]) -> None:
    assert (encoding_to_sign(*one) == encoding_to_sign(*other)) == (one == other)


@settings(max_examples=drawn(500))
@given(st.data())
def test_what_is_read_of_an_altered_text_is_refused_or_broken(data: st.DataObject) -> None:
    text = sign(data.draw(st.binary(max_size=60)), ADA).to_text().encode()
    begin = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(begin, min(len(text), begin + 8)))
    pieces = st.binary(max_size=8) | st.sampled_from([text[place : place + 8] for place in range(len(text))])
    altered = text[:begin] + data.draw(pieces) + text[end:]
    if altered == text:
        return
    with pytest.raises((InvalidInput, SignatureBroken)):
        verify(Envelope.from_text(altered), [ADA.public_key()])


@given(st.text() | plain.map(str))
def test_no_text_is_read_as_an_envelope_a_statement_or_a_trust_file_by_accident(text: str) -> None:
    for read in (Envelope.from_text, TrustedKeys.from_text):
        with pytest.raises(InvalidInput):
            read(text)
    with pytest.raises(InvalidInput):
        Statement.from_payload(text.encode(errors="surrogatepass"))


@st.composite
def trusted_keys(draw: st.DrawFn) -> TrustedKeys:
    owners = st.text(min_size=1, max_size=20).filter(lambda owner: owner.strip() and owner.isprintable())
    found = []
    for name in draw(st.sets(st.integers(0, 99), max_size=4)):
        begin, end = sorted([draw(times), draw(times)])
        if begin == end:
            continue
        revocation = st.builds(Revocation, time=times, reason=st.sampled_from(["compromised", "superseded"]))
        public = private_key(str(name)).public_key()
        key = TrustedKey.of(public, owner=draw(owners), valid_from=begin, valid_until=end)
        found.append(replace(key, revoked=draw(st.none() | revocation)))
    return TrustedKeys(tuple(found))


@given(trusted_keys())
def test_a_trust_file_comes_back_as_it_was(keys: TrustedKeys) -> None:
    assert TrustedKeys.from_text(keys.to_text()) == keys


@given(trusted_keys(), times)
def test_a_signature_counts_exactly_while_its_key_is_valid_and_not_revoked(keys: TrustedKeys, signed: str) -> None:
    for key in keys:
        revoked = key.revoked
        counts = moment(key.valid_from) <= moment(signed) < moment(key.valid_until) and (
            revoked is None or (revoked.reason == "superseded" and moment(signed) < moment(revoked.time))
        )
        assert (keys.judge(key.keyid, signed) is None) == counts
    assert keys.judge(keyid_of(private_key("nobody").public_key()), signed) is not None
