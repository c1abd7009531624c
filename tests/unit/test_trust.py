"""Which signatures count: by the key, and by the time of signing."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from deniable.foundation.errors import InvalidInput
from deniable.record.attestation import sign, verify
from deniable.record.trust import Revocation, TrustedKey, TrustedKeys, moment
from tests.signing import AFTER, FROM, UNTIL, WITHIN, private_key, trusted

ADA, BOB = trusted("Ada"), trusted("Bob")
SUPERSEDED = trusted("Ada", revoked=Revocation(time=WITHIN, reason="superseded"))
COMPROMISED = trusted("Ada", revoked=Revocation(time=WITHIN, reason="compromised"))


def test_a_key_that_is_not_among_them_is_unknown() -> None:
    assert TrustedKeys((BOB,)).judge(ADA.keyid, WITHIN) == (
        f"the key {ADA.keyid} is not trusted: the trust file has 1 other key, and its owner is unknown"
    )
    assert "has 0 other keys" in str(TrustedKeys().judge(ADA.keyid, WITHIN))


@pytest.mark.parametrize(
    ("key", "signed", "fault"),
    [
        (ADA, FROM, None),
        (ADA, WITHIN, None),
        (ADA, "2027-12-31T23:59:59Z", None),
        (ADA, "2027-12-31T23:59:59.999999Z", None),
        (ADA, "2025-12-31T23:59:59Z", "is not valid before 2026-01-01T00:00:00Z, but this was signed on 2025-12-31"),
        (ADA, "2025-12-31T23:59:59.999999Z", "is not valid before"),
        (ADA, UNTIL, "expired on 2028-01-01T00:00:00Z, but this was signed on 2028-01-01T00:00:00Z"),
        (ADA, "2028-01-01T00:00:00.000001Z", "expired on"),
        (ADA, AFTER, "expired on"),
        (SUPERSEDED, "2026-11-20T07:44:59Z", None),
        (SUPERSEDED, "2026-11-20T07:44:59.999999Z", None),
        (SUPERSEDED, WITHIN, "was superseded on 2026-11-20T07:45:00Z, but this was signed on 2026-11-20T07:45:00Z"),
        (SUPERSEDED, "2026-11-20T07:45:00.000001Z", "was superseded on"),
        (SUPERSEDED, AFTER, "was superseded on"),
        (SUPERSEDED, "2025-01-01T00:00:00Z", "is not valid before"),
        (COMPROMISED, FROM, "was revoked as compromised on 2026-11-20T07:45:00Z: none of its signatures are accepted"),
        (COMPROMISED, WITHIN, "was revoked as compromised"),
        (COMPROMISED, AFTER, "was revoked as compromised"),
        (COMPROMISED, "2025-01-01T00:00:00Z", "was revoked as compromised"),
        (ADA, "yesterday", "signed at an invalid time"),
        (ADA, "2026-11-20 07:45:00", "signed at an invalid time"),
        (COMPROMISED, "", "signed at an invalid time"),
    ],
)
def test_a_signature_is_judged_by_its_time(key: TrustedKey, signed: str, fault: str | None) -> None:
    judged = TrustedKeys((BOB, key)).judge(key.keyid, signed)
    if fault is None:
        assert judged is None
    else:
        assert judged is not None
        assert judged.startswith(f"the key {key.keyid[:16]} of Ada ")
        assert fault in judged


@pytest.mark.parametrize(
    ("key", "now", "since"),
    [
        (ADA, None, ""),
        (ADA, WITHIN, ""),
        (ADA, UNTIL, "; expired since, but signed while valid"),
        (ADA, AFTER, "; expired since, but signed while valid"),
        (SUPERSEDED, None, "; superseded on 2026-11-20T07:45:00Z, after this was signed"),
        (SUPERSEDED, AFTER, "; superseded on 2026-11-20T07:45:00Z, after this was signed"),
        (COMPROMISED, AFTER, ""),
    ],
)
def test_what_has_become_of_a_key_since_it_signed_is_noted(key: TrustedKey, now: str | None, since: str) -> None:
    note = TrustedKeys((key,)).note(key.keyid, FROM, now)
    assert note == f"by the key {key.keyid[:16]} of Ada, valid from {FROM} until {UNTIL}{since}"


def test_nothing_is_noted_of_what_does_not_count() -> None:
    keys = TrustedKeys((SUPERSEDED,))
    assert "since" not in keys.note(ADA.keyid, AFTER, AFTER)
    assert "superseded" not in keys.note(ADA.keyid, AFTER, AFTER)
    with pytest.raises(InvalidInput, match="must be in the trust file"):
        keys.note(BOB.keyid, WITHIN)


def test_times_of_different_lengths_are_in_the_order_of_time() -> None:
    times = ["2026-11-20T07:45:00Z", "2026-11-20T07:45:00.000002Z", "2026-11-20T07:45:00.1Z", "2026-11-20T07:45:01Z"]
    assert sorted(times) != times
    assert sorted(times, key=moment) == times


@pytest.mark.parametrize(
    "time",
    [
        "2026-11-20",
        "2026-11-20T07:45:00",
        "2026-11-20T07:45:00+00:00",
        "2026-11-20t07:45:00z",
        "2026-13-20T07:45:00Z",
        "2026-11-32T07:45:00Z",
        "2026-11-20T24:45:00Z",
        "2026-11-20T07:60:00Z",
        "2026-11-20T07:45:00.Z",
        "2026-11-20T07:45:00.0000001Z",
        "2026-11-20T07:45:00Z\n",
        "\u0662\u0660\u0662\u0666-11-20T07:45:00Z",
    ],
)
def test_a_time_of_another_form_is_refused(time: str) -> None:
    with pytest.raises(InvalidInput, match="must be written like"):
        moment(time)


def test_the_public_half_verifies_what_the_private_half_signed() -> None:
    keys = TrustedKeys((BOB, ADA))
    verify(sign(b"payload", private_key("Ada")), keys.public_keys())
    assert [key.keyid for key in keys] == [BOB.keyid, ADA.keyid]
    assert keys.get(ADA.keyid) == ADA
    assert keys.get(ADA.keyid[:-1]) is None


def test_a_trust_file_comes_back_as_it_was_however_it_is_indented() -> None:
    keys = TrustedKeys((SUPERSEDED, BOB))
    text = keys.to_text()
    assert TrustedKeys.from_text(text) == TrustedKeys.from_text(json.dumps(json.loads(text))) == keys
    assert json.loads(text)["keys"][0] == {
        "keyid": ADA.keyid,
        "public": private_key("Ada").public_key().public_bytes_raw().hex(),
        "owner": "Ada",
        "valid_from": FROM,
        "valid_until": UNTIL,
        "revoked": {"time": WITHIN, "reason": "superseded"},
    }


def altered(change: Callable[[dict[str, Any]], object]) -> str:
    content = json.loads(TrustedKeys((SUPERSEDED, BOB)).to_text())
    change(content["keys"][0])
    return json.dumps(content)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (altered(lambda key: key.update(public=BOB.public)), "keyid must be the SHA-256 of its public key"),
        (altered(lambda key: key.update(keyid=BOB.keyid)), "keyid must be the SHA-256 of its public key"),
        (altered(lambda key: key.update(keyid=BOB.keyid, public=BOB.public)), "entered once, got one twice"),
        (altered(lambda key: key.update(keyid=key["keyid"].upper())), "keyid must be the SHA-256"),
        (altered(lambda key: key.update(public=key["public"].upper())), "64 lower-case hexadecimal digits"),
        (altered(lambda key: key.update(public=None)), "64 lower-case hexadecimal digits"),
        (altered(lambda key: key.update(public="")), "64 lower-case hexadecimal digits"),
        (altered(lambda key: key.update(owner="")), "owner of a key must be a name"),
        (altered(lambda key: key.update(owner=" ")), "owner of a key must be a name"),
        (altered(lambda key: key.update(owner="a\nb")), "owner of a key must be a name"),
        (altered(lambda key: key.update(owner="\x1b[31m")), "owner of a key must be a name"),
        (altered(lambda key: key.update(owner="x" * 201)), "owner of a key must be a name"),
        (altered(lambda key: key.update(owner=3)), "owner of a key must be a name"),
        (altered(lambda key: key.update(valid_from="now")), "time must be written like"),
        (altered(lambda key: key.update(valid_until=2028)), "time must be written like"),
        (altered(lambda key: key.update(valid_until=FROM)), "valid for some time"),
        (altered(lambda key: key["revoked"].update(time=None)), "time must be written like"),
        (altered(lambda key: key["revoked"].update(reason="lost")), "revoked as compromised or superseded"),
        (altered(lambda key: key["revoked"].update(reason=[])), "revoked as compromised or superseded"),
        (altered(lambda key: key["revoked"].pop("reason")), "time, reason and nothing else"),
        (altered(lambda key: key.update(revoked=False)), "time, reason and nothing else"),
        (altered(lambda key: key.pop("revoked")), "and nothing else"),
        (altered(lambda key: key.update(private="")), "and nothing else"),
        (altered(lambda key: key.update(owner="Ada")).replace('"owner"', '"owner": "Eve", "owner"', 1), "a name twice"),
        ('{"keys": {}}', "keys must be a list"),
        ('{"keys": [3]}', "and nothing else"),
        ("[]", "must have keys and nothing else"),
        ("", "must be JSON"),
    ],
)
def test_a_trust_file_that_is_none_is_refused(text: str, fault: str) -> None:
    with pytest.raises(InvalidInput, match=fault):
        TrustedKeys.from_text(text)


def test_a_key_is_revoked_and_may_turn_out_to_be_worse_than_that_but_never_better() -> None:
    keys = TrustedKeys((BOB, ADA))
    superseded = keys.with_revoked(ADA.keyid, Revocation(time=WITHIN, reason="superseded"))
    assert superseded == TrustedKeys((BOB, SUPERSEDED))
    compromised = superseded.with_revoked(ADA.keyid, Revocation(time=WITHIN, reason="compromised"))
    assert compromised == TrustedKeys((BOB, COMPROMISED))
    again = Revocation(time=AFTER, reason="superseded")
    for revoked in (superseded, compromised):
        with pytest.raises(InvalidInput, match="must not be revoked already"):
            revoked.with_revoked(ADA.keyid, again)
    with pytest.raises(InvalidInput, match="must not be revoked already"):
        compromised.with_revoked(ADA.keyid, replace(again, reason="compromised"))
    with pytest.raises(InvalidInput, match="must be trusted to be revoked"):
        TrustedKeys((BOB,)).with_revoked(ADA.keyid, again)


def test_a_key_is_trusted_once() -> None:
    assert TrustedKeys((ADA,)).with_key(BOB) == TrustedKeys((ADA, BOB))
    with pytest.raises(InvalidInput, match="entered once"):
        TrustedKeys((ADA,)).with_key(SUPERSEDED)
