"""An approval holds for the release that was approved, signed by a key that could approve, and for nothing else."""

import json
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from deniable.ledger.entries import Approver, Custodian, Entry, Opening
from deniable.record.approval import approver_keys, sentence_of, sign, subject_of
from deniable.record.trust import Revocation, TrustedKey, TrustedKeys
from deniable.verification.approval import check_approval
from tests.signing import private_key

FROM, UNTIL, SIGNED = "2026-01-01T00:00:00Z", "2028-01-01T00:00:00Z", "2026-11-20T07:45:00Z"
INES, BOB = private_key("ines"), private_key("bob")


def public_of(key: Ed25519PrivateKey) -> str:
    return key.public_key().public_bytes_raw().hex()


def trusted(key: Ed25519PrivateKey, owner: str, **changes: Any) -> TrustedKey:
    return TrustedKey.of_public(public_of(key), **{"owner": owner, "valid_from": FROM, "valid_until": UNTIL, **changes})


KEYS = TrustedKeys(approvers=(trusted(INES, "ines"), trusted(BOB, "bob")))


def record(release: str = "people-20261120T074500Z", epsilon: float = 0.5) -> dict[str, Any]:
    """A record, as far as an approval concerns it, without one."""
    spent = {"epsilon": epsilon, "delta": 1e-9, "accountant": "basic"}
    charged = [{"kind": "reserved", "content": {"identity": name}} for name in ("b" * 64, "a" * 64)]
    return {
        "release": {"id": release, "dataset": "people"},
        "spec": {"digest": "c" * 64, "document": {"learner": {"kind": "loglinear"}, "decision": {}}},
        "schema": {"domain": "d" * 64},
        "cost": {"total": spent, "steps": []},
        "ledger": {"entries": [*charged, {"kind": "reserved", "sealed": "e" * 64}], "head": {"number": 9}},
        "people": {"started_by": "ada", "approval": None},
        "signed": {"keyid": "f" * 64, "time": SIGNED},
    }


def approved(made: dict[str, Any], time: str = SIGNED) -> dict[str, Any]:
    """The record with an approval that the key of ines signs."""
    said = {
        "decision": "approved",
        "by": "ines",
        "identity": "key",
        "time": time,
        "reason": "as agreed",
        "seen": "9" * 64,
    }
    subject = subject_of(made)
    keyid = KEYS.approvers[0].keyid
    signed = {**subject, "keyid": keyid, "signature": sign(made["release"], said, subject, INES)}
    return {**made, "people": {**made["people"], "approval": {**said, "signed": signed}}}


def faults(made: dict[str, Any], keys: TrustedKeys = KEYS, exported: list[object] | None = None) -> tuple[str, ...]:
    return check_approval(made, keys, exported).faults


def test_a_signed_approval_holds_and_says_what_was_signed() -> None:
    check = check_approval(approved(record()), KEYS)
    assert check.faults == ()
    assert check.note == (
        "by ines, signed: The release people-20261120T074500Z of the dataset people is published at a cost of epsilon "
        "0.5 and delta 1e-9 for one record."
    )


def test_the_words_that_approvers_sign_never_change() -> None:
    """Where this fails: approvals that were signed no longer verify."""
    assert sentence_of(record()).endswith("is published at a cost of epsilon 0.5 and delta 1e-9 for one record.")
    without = record()
    without["cost"]["total"] = None
    assert sentence_of(without).endswith("of the dataset people is published without differential privacy.")
    without["cost"]["total"] = {"epsilon": None, "delta": 1.0, "accountant": "basic"}
    assert sentence_of(without).endswith("is published without differential privacy.")


def test_an_approval_of_another_release_is_refused() -> None:
    other = approved(record("people-20261119T000000Z"))
    moved = {**record(), "people": other["people"]}
    found = faults(moved)
    assert "the approval by ines is not what the key" in found[0]
    assert "signed for people-20261120T074500Z" in found[0]
    assert any("ines approved another sentence than that of people-20261120T074500Z" in fault for fault in found)


def changed(place: str, value: object) -> Callable[[dict[str, Any]], None]:
    """A change of one value of a record, by its place."""

    def change(made: dict[str, Any]) -> None:
        *path, last = place.split(".")
        inside: Any = made
        for name in path:
            inside = inside[int(name) if name.isdigit() else name]
        inside[last] = value

    return change


SIGNATURE = "people.approval.signed"
CHANGES: list[tuple[str, object, str]] = [
    ("spec.digest", "0" * 64, "approved another plan"),
    ("schema.domain", "0" * 64, "approved another plan"),
    ("cost.total.epsilon", 0.7, "approved another cost"),
    ("cost.total.delta", 1e-6, "approved another cost"),
    ("ledger.entries.0.content.identity", "0" * 64, "approved another list of charges"),
    ("release.dataset", "others", "is not what the key"),
    ("people.approval.reason", "as nobody agreed", "is not what the key"),
    ("people.approval.time", "2026-11-20T07:46:00Z", "is not what the key"),
    ("people.approval.seen", "0" * 64, "is not what the key"),
    ("people.approval.identity", "account", "is not what the key"),
    (f"{SIGNATURE}.signature", "0" * 128, "is not what the key"),
    (f"{SIGNATURE}.signature", "no", "is not what the key"),
    (f"{SIGNATURE}.sentence", "It costs nothing.", "is not what the key"),
    (f"{SIGNATURE}.plan", "0" * 64, "is not what the key"),
    (f"{SIGNATURE}.cost", "0" * 64, "is not what the key"),
    (f"{SIGNATURE}.charges", "0" * 64, "is not what the key"),
    (f"{SIGNATURE}.version", 2, "is not what the key"),
    (f"{SIGNATURE}.keyid", "0" * 64, "none of the 2 approvers' keys that are trusted"),
    (f"{SIGNATURE}.keyid", trusted(BOB, "bob").keyid, "is signed with the key"),
    ("people.approval.by", "bob", "the approval by bob is signed with the key"),
    ("signed.keyid", trusted(INES, "ines").keyid, "the key that approved it also signed its record"),
    (SIGNATURE, None, "shows no signature"),
]


@pytest.mark.parametrize(("place", "value", "said"), CHANGES)
def test_nothing_can_be_changed_under_an_approval(place: str, value: object, said: str) -> None:
    made = deepcopy(approved(record()))
    changed(place, value)(made)
    assert any(said in fault for fault in faults(made)), faults(made)


def test_what_is_bound_is_compared_even_if_an_approver_signs_it() -> None:
    """An approver who signs the figures of another release has not approved this one."""
    cheaper = subject_of(record(epsilon=0.1))
    made = record()
    said = approved(made)["people"]["approval"]
    for name, value in cheaper.items():
        if value == subject_of(made)[name]:
            continue
        other = {**subject_of(made), name: value}
        signed = {**other, "keyid": said["signed"]["keyid"], "signature": sign(made["release"], said, other, INES)}
        (fault,) = faults({**made, "people": {**made["people"], "approval": {**said, "signed": signed}}})
        assert f"ines approved another {name} than that of" in fault


@pytest.mark.parametrize(
    ("changes", "time", "said"),
    [
        ({"revoked": Revocation(time="2027-01-01T00:00:00Z", reason="compromised")}, SIGNED, "compromised"),
        ({"revoked": Revocation(time="2026-06-01T00:00:00Z", reason="superseded")}, SIGNED, "was superseded on"),
        ({"revoked": Revocation(time="2027-01-01T00:00:00Z", reason="superseded")}, SIGNED, None),
        ({}, "2025-11-20T07:45:00Z", "is not valid before"),
        ({}, "2029-11-20T07:45:00Z", "expired on"),
        ({}, FROM, None),
    ],
)
def test_a_key_approves_only_while_it_is_valid(changes: dict[str, Any], time: str, said: str | None) -> None:
    found = faults(approved(record(), time=time), TrustedKeys(approvers=(trusted(INES, "ines", **changes),)))
    assert found == () if said is None else said in found[0]


def test_a_name_alone_is_refused_once_approvers_have_keys() -> None:
    made = approved(record())
    del made["people"]["approval"]["signed"]
    made["people"]["approval"] |= {"identity": "stated"}
    assert "no key signed the approval of ines, and since 2026-01-01T00:00:00Z" in faults(made)[0]
    before = trusted(INES, "ines", valid_from="2027-01-01T00:00:00Z")
    for keys in (TrustedKeys(), TrustedKeys(approvers=(before,))):
        check = check_approval(made, keys)
        assert (check.faults, check.note) == ((), "by ines, which is stated and not signed by a key")
    assert check_approval(made).faults == ()


def ledger(*facts: Any) -> list[object]:
    """The entries of a ledger, as plain values; their signatures are checked by others."""
    entries: list[Entry] = []
    for fact in facts:
        time, salt = "2026-11-20T07:00:00.000000Z", "a" * 64
        entries.append(entries[-1].followed_by(fact, time, salt) if entries else Entry.first(fact, time, salt))
    return [json.loads(entry.to_line()) for entry in entries]


ADMITTED = Approver(public=public_of(INES), owner="ines", valid_from=FROM, valid_until=UNTIL, set_by="the custodian")
OPENING = Opening(ledger="a ledger", custodian="1" * 64)
MANY = [Custodian(public=f"{number:064x}", owner="c") for number in range(9)]


def revoked(reason: str, time: str = "2026-12-01T00:00:00Z") -> Approver:
    return Approver(**{**ADMITTED.to_content(), "revoked_at": time, "revoked_as": reason})


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ([OPENING, ADMITTED], None),
        ([OPENING], "the custodian did not admit the key"),
        ([OPENING, *MANY, ADMITTED], "before it was published"),
        ([OPENING, ADMITTED, revoked("compromised")], "by the exported ledger, the key"),
        ([OPENING, ADMITTED, *MANY, revoked("compromised")], "revoked as compromised"),
        ([OPENING, ADMITTED, revoked("superseded")], None),
        ([OPENING, ADMITTED, revoked("superseded", "2026-11-01T00:00:00Z")], "was superseded on 2026-11-01"),
    ],
)
def test_the_exported_ledger_says_whose_keys_could_approve(facts: list[Any], said: str | None) -> None:
    """Also against a trust file that was not brought up to date, or was altered."""
    found = faults(approved(record()), exported=ledger(*facts))
    assert found == () if said is None else said in found[0]


@pytest.mark.parametrize(
    ("facts", "refusals"),
    [
        ([OPENING], 0),
        ([Opening(ledger="a ledger", custodian="1" * 64, approvals="signed")], 1),
        ([OPENING, ADMITTED], 1),
        ([OPENING, *MANY, ADMITTED], 0),
    ],
)
def test_a_name_alone_is_refused_where_the_ledger_wants_a_signature(facts: list[Any], refusals: int) -> None:
    made = approved(record())
    del made["people"]["approval"]["signed"]
    made["people"]["approval"] |= {"identity": "stated"}
    found = faults(made, TrustedKeys(), [*ledger(*facts), "not an entry", {"kind": "approver"}])
    assert ["its ledger requires that" in fault for fault in found] == [True] * refusals


def test_a_trust_file_names_approvers_and_those_of_earlier_versions_none() -> None:
    signer = trusted(private_key("ada"), "ada")
    keys = TrustedKeys((signer,), KEYS.approvers)
    assert TrustedKeys.from_text(keys.to_text()) == keys
    assert "approvers" not in TrustedKeys((signer,)).to_text()
    assert keys.with_key(trusted(private_key("eve"), "eve")).approvers == KEYS.approvers
    superseded = Revocation(time=SIGNED, reason="superseded")
    assert keys.with_revoked(signer.keyid, superseded).approvers == KEYS.approvers
    # No key that approves signs releases, and none that signs approves.
    assert keys.get(KEYS.approvers[0].keyid) is None
    assert keys.approver(signer.keyid) is None
    with pytest.raises(Exception, match="a key must be entered once"):
        TrustedKeys((signer,), (signer,))


def test_the_last_entry_of_a_key_holds() -> None:
    (key,) = approver_keys([OPENING, ADMITTED, revoked("superseded"), revoked("compromised")])
    assert key.revoked == Revocation(time="2026-12-01T00:00:00Z", reason="compromised")


def test_an_approver_admitted_by_the_last_entry_could_approve() -> None:
    made = approved(record())
    made["ledger"]["head"] = {"number": 1}
    assert faults(made, exported=ledger(OPENING, ADMITTED)) == ()
    made["ledger"]["head"] = {"number": 0}
    assert "before it was published" in faults(made, exported=ledger(OPENING, ADMITTED))[0]


def test_signatures_are_required_since_the_first_approver() -> None:
    made = approved(record())
    del made["people"]["approval"]["signed"]
    made["people"]["approval"] |= {"identity": "stated"}
    later = trusted(BOB, "bob", valid_from="2027-01-01T00:00:00Z")
    for approvers in ((trusted(INES, "ines"), later), (later, trusted(INES, "ines"))):
        assert f"since {FROM} those of approvers must" in faults(made, TrustedKeys(approvers=approvers))[0]


def test_a_record_that_speaks_of_a_key_shows_its_signature() -> None:
    made = approved(record())
    del made["people"]["approval"]["signed"]
    (fault,) = faults(made, TrustedKeys())
    assert fault == "ines approved it with a key by its record, which shows no signature"
