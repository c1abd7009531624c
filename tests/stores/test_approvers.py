"""Approvers and the custodian have keys that are admitted, replaced and revoked, and approvals hold only with them."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from deniable.foundation.errors import InvalidInput, Refused
from deniable.foundation.keys import fresh_salt
from deniable.ledger.entries import SIGNED_APPROVALS, Approver, Custodian, Entry, Fact, Opening, canonical
from deniable.ledger.signatures import key_name, signed_bytes
from deniable.ledger.signatures import sign as custodian_signs
from deniable.ledger.state import LedgerBroken, LedgerState
from deniable.ledger.verification import records_of, verify
from schemas.provenance import Approval
from stores.keys.approver_key import (
    APPROVER_KEY_VARIABLE,
    approver_key_place,
    load_approver_key,
    make_approver_key,
)
from stores.keys.custodian_key import CUSTODIAN_KEY_VARIABLE, custodian_key, make_custodian_key
from stores.keys.personal_key import waiting_place
from stores.keys.signing_keys import current_keyid, new_key, rotate_key, signing_key
from stores.keys.trust_file import TRUSTED_KEYS_VARIABLE, trusted_keys, trusted_keys_place
from stores.ledger import approvers as managing
from stores.ledger import state_ledger as opening
from stores.ledger.anchor import LedgerReplaced
from stores.ledger.approvers import (
    add_spare_key,
    admit_approver,
    approvers_of,
    follow_ledger,
    revoke_approver,
    rotate_custodian,
)
from stores.ledger.ledger import LEDGER_VARIABLE, Ledger, kept_lines
from stores.ledger.recovery import recover
from stores.releases import deciding
from stores.releases.deciding import decide, valid_decision
from stores.vault.decisions import decisions
from stores.vault.pending_approval import HeldNote
from tests.approving import approved, approver, held_note, key_place
from tests.charging import TIME, policy
from tests.ledger_users import restore_old_ledger
from tests.signing import private_key

RELEASE = "people-20261122T110110Z"


@pytest.fixture(autouse=True)
def _own_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in (LEDGER_VARIABLE, CUSTODIAN_KEY_VARIABLE, APPROVER_KEY_VARIABLE, TRUSTED_KEYS_VARIABLE):
        monkeypatch.delenv(variable, raising=False)


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """A state folder with an account, and a release that is held."""
    state = tmp_path / "state"
    opened(state).set_policy(policy())
    (state / "vault" / RELEASE).mkdir(parents=True)
    return state


def opened(state: Path) -> Ledger:
    opening._opened.cache_clear()
    return opening.state_ledger(state)


def lines_of(state: Path) -> list[str]:
    return kept_lines(state / "ledger" / "ledger.db")


def held(state: Path, release: str = RELEASE, **changes: Any) -> HeldNote:
    page = state / "report.html"
    page.write_text("what was measured")
    return held_note(page, release, **changes)


def kept(state: Path, made: Approval, release: str = RELEASE) -> None:
    """Write a decision into the vault, as anyone may who can write there."""
    folder = state / "vault" / release / "decisions"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{made.seen}.json").write_text(made.model_dump_json())
    (folder / f"{made.seen}.json").chmod(0o600)


def counts(state: Path, made: Approval, **changes: Any) -> bool:
    """Whether a decision that lies in the vault lets the release be published."""
    kept(state, made)
    return valid_decision(state, held(state, **changes)) is not None


def test_an_approval_is_signed_by_a_key_that_the_custodian_admitted(state: Path) -> None:
    made = approved(state, held(state), "ines")
    assert (made.by, made.identity) == ("ines", "key")
    assert counts(state, made)
    assert made.signed is not None
    assert made.signed.sentence == "It costs 1."
    assert verify(records_of(lines_of(state))).holds


def test_a_name_alone_approves_nothing_and_refuses(state: Path) -> None:
    note = held(state)
    with pytest.raises(Refused, match="must be signed with the key of an approver, got the name ines alone"):
        decide(state, note, "approved", by="ines", identity="stated", reason="fine")
    assert not list(decisions(state / "vault" / RELEASE))
    stranger = make_approver_key(state.parent / "stranger.key")
    with pytest.raises(Refused, match=rf"have the custodian run .* admit NAME {stranger.public}"):
        decide(state, note, "approved", by="ines", identity="stated", reason="fine", key=stranger)
    stated = Approval(decision="approved", by="ines", identity="stated", time=note.since, reason="fine", seen="0" * 64)
    assert not counts(state, stated)


def test_a_decision_that_does_not_count_is_set_aside_and_another_one_made(state: Path) -> None:
    note = held(state)
    forged = Approval(decision="approved", by="ines", identity="account", time=note.since, reason="me", seen="0" * 64)
    kept(state, forged)
    made = approved(state, note, "ines")
    assert valid_decision(state, note) == made
    folder = state / "vault" / RELEASE / "decisions"
    (aside,) = folder.glob("*.void")
    assert Approval.model_validate_json(aside.read_bytes()) == forged
    assert list(decisions(state / "vault" / RELEASE)) == [made]
    assert approved(state, note, "bob") == made


def test_an_approval_is_no_approval_of_anything_else(state: Path) -> None:
    made = approved(state, held(state), "ines")
    assert made.signed is not None
    other = "people-20261123T110110Z"
    assert not counts(state, made, release=other) or not (state / "vault" / other).exists()
    kept(state, made, other)
    assert valid_decision(state, held(state, other)) is None
    for change in (
        {"started_by": "Ines"},
        {"approvers": ("bob",)},
        {"dataset": "others"},
        {"since": "2099-01-01T00:00:00Z"},
        {"subject": None},
    ):
        assert not counts(state, made, **change)
    for name, value in {"plan": "9" * 64, "cost": "9" * 64, "charges": "9" * 64, "sentence": "It is free."}.items():
        subject = held(state).subject
        assert subject is not None
        assert not counts(state, made, subject=subject.model_copy(update={name: value}))
        assert not counts(state, made.model_copy(update={"signed": made.signed.model_copy(update={name: value})}))
    for change in (
        {"by": "bob"},
        {"reason": "another"},
        {"time": "2098-01-01T00:00:00Z"},
        {"identity": "account"},
        {"signed": None},
        {"signed": made.signed.model_copy(update={"signature": "0" * 128})},
        {"signed": made.signed.model_copy(update={"keyid": "0" * 64})},
        {"signed": made.signed.model_copy(update={"keyid": approver(state, "bob").keyid})},
    ):
        assert not counts(state, made.model_copy(update=change)), change
    assert counts(state, made)


def test_an_approval_of_another_candidate_does_not_count(state: Path) -> None:
    made = approved(state, held(state, candidate="a" * 64), "ines")
    assert valid_decision(state, held(state, candidate="a" * 64)) == made
    place = state / "vault" / RELEASE / "decisions"
    (place / f"{'a' * 64}.json").rename(place / f"{'0' * 64}.json")
    assert valid_decision(state, held(state)) is None


def test_what_an_approver_signed_before_the_key_was_replaced_counts_and_nothing_after(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    note, key = held(state), approver(state, "ines")
    made = approved(state, note, "ines")
    after = make_approver_key(state.parent / "next.key")
    admit_approver(state, opened(state), name="ines", public=after.public, years=1, by="c")
    first, second = approvers_of(opened(state)).keys
    assert first.revoked is not None
    assert (first.revoked.reason, second.revoked) == ("superseded", None)
    assert counts(state, made)
    ended = first.revoked.time
    # The key signs until the end of the second in which it was replaced.
    monkeypatch.setattr(deciding, "time_now", lambda: ended)
    late = held(state, release="people-20261124T110110Z")
    (state / "vault" / late.release).mkdir()
    with pytest.raises(Refused, match=r"must be valid now, and .* was superseded on"):
        decide(state, late, "approved", by="ines", identity="account", reason="late", key=key)
    assert decide(state, late, "approved", by="x", identity="account", reason="now", key=after).by == "ines"


def test_nothing_that_a_compromised_key_signed_counts(state: Path) -> None:
    made = approved(state, held(state), "ines")
    revoked = revoke_approver(state, opened(state), "ines", "compromised", by="c")
    assert not counts(state, made)
    with pytest.raises(Refused, match="was revoked as compromised"):
        approved(state, held(state, candidate="b" * 64), "ines")
    for reason in ("superseded", "compromised"):
        with pytest.raises(InvalidInput, match="must not be revoked already"):
            revoke_approver(state, opened(state), revoked.keyid, reason, by="c")
    for who in ("ines", "nobody", revoked.keyid[:7]):
        with pytest.raises(InvalidInput, match="nothing was revoked"):
            revoke_approver(state, opened(state), who, "compromised", by="c")


def test_a_superseded_key_can_still_be_found_compromised(state: Path) -> None:
    key = approver(state, "ines")
    revoke_approver(state, opened(state), "ines", "superseded", by="c")
    revoke_approver(state, opened(state), key.keyid[:8], "compromised", by="c")
    (found,) = approvers_of(opened(state)).keys
    assert found.revoked is not None
    assert found.revoked.reason == "compromised"


def test_a_key_is_admitted_once_by_a_name_and_is_nobody_elses(state: Path) -> None:
    key, ledger = approver(state, "ines"), opened(state)
    custodian = custodian_key(state, "").public
    signing = signing_key(state).trusted.public
    before = len(lines_of(state))
    for public, said in (
        (key.public, "was admitted for ines"),
        (custodian, "another one than the custodian's"),
        (signing, "a key must be entered once"),
        ("no key", "must be 64 hexadecimal digits"),
    ):
        with pytest.raises((Refused, InvalidInput), match=said):
            admit_approver(state, ledger, name="bob", public=public, years=1, by="c")
    other = make_approver_key(state.parent / "other.key").public
    for name, years in (("", 1), ("a\nb" * 90, 1), ("bob", 0), ("bob", 99)):
        with pytest.raises(InvalidInput):
            admit_approver(state, ledger, name=name, public=other, years=years, by="c")
    assert len(lines_of(state)) == before


def test_only_the_custodian_admits_and_revokes(state: Path, tmp_path: Path) -> None:
    approver(state, "ines")
    place = state / "keys" / "custodian.key"
    place.rename(tmp_path / "elsewhere.key")
    before = len(lines_of(state))
    other = make_approver_key(tmp_path / "other.key").public
    for enters in (
        lambda: admit_approver(state, opened(state), name="bob", public=other, years=1, by="c"),
        lambda: revoke_approver(state, opened(state), "ines", "compromised", by="c"),
        lambda: rotate_custodian(state, opened(state), reason="superseded"),
        lambda: add_spare_key(state, opened(state), tmp_path / "spare.key"),
    ):
        with pytest.raises(Refused, match=r"must be set with the custodian's key [0-9a-f]{16}, which the ledger names"):
            enters()
    place.write_bytes(bytes(range(32)))
    place.chmod(0o600)
    with pytest.raises(Refused, match="which the ledger names, got"):
        admit_approver(state, opened(state), name="bob", public=other, years=1, by="c")
    assert len(lines_of(state)) == before


CUSTODIAN, SPARE, NEXT, STRANGER = (private_key(name) for name in ("c", "spare", "next", "stranger"))


def public_of(key: Any) -> str:
    return str(key.public_key().public_bytes_raw().hex())


ADMITTED = Approver(
    public=public_of(private_key("ines")),
    owner="ines",
    valid_from="2026-01-01T00:00:00Z",
    valid_until="2027-01-01T00:00:00Z",
    set_by="c",
)
WITH_SPARE = Custodian(public=public_of(CUSTODIAN), owner="c", spare=public_of(SPARE))


def books(*facts: tuple[Fact, Any]) -> LedgerState:
    """The state after entries, each signed by a key, or not at all."""
    state = LedgerState()
    state.enter(Entry.first(Opening(ledger="l", custodian=public_of(CUSTODIAN)), TIME, fresh_salt()))
    for fact, key in facts:
        assert state.head is not None
        signed = fact if key is None else replace(fact, signature=custodian_signs("l", state.head.digest, fact, key))  # type: ignore[type-var,call-arg]
        state.enter(state.next_entry(signed, TIME, fresh_salt()))
    return state


def revoked(as_: str, **changes: Any) -> Approver:
    return replace(ADMITTED, revoked_as=as_, revoked_at="2026-06-01T00:00:00Z", **changes)


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ([(ADMITTED, STRANGER)], "its signature is not one of the custodian's key"),
        ([(ADMITTED, None)], "it is not signed by the custodian's key"),
        ([(revoked("compromised"), CUSTODIAN)], "which was never admitted"),
        ([(ADMITTED, CUSTODIAN), (ADMITTED, CUSTODIAN)], "which can only be revoked, and only once"),
        ([(ADMITTED, CUSTODIAN), (replace(ADMITTED, owner="bob"), CUSTODIAN)], "which can only be revoked"),
        ([(ADMITTED, CUSTODIAN), (revoked("superseded", owner="bob"), CUSTODIAN)], "which can only be revoked"),
        ([(ADMITTED, CUSTODIAN), (revoked("superseded", valid_until="2099-01-01T00:00:00Z"), CUSTODIAN)], "can only"),
        ([(ADMITTED, CUSTODIAN), (revoked("superseded"), CUSTODIAN), (ADMITTED, CUSTODIAN)], "can only be revoked"),
        (
            [(ADMITTED, CUSTODIAN), (revoked("compromised"), CUSTODIAN), (revoked("superseded"), CUSTODIAN)],
            "can only be revoked",
        ),
        ([(ADMITTED, CUSTODIAN), (revoked("superseded"), STRANGER)], "is not one of the custodian's key"),
        ([(replace(ADMITTED, public=public_of(CUSTODIAN)), CUSTODIAN)], "another one than the custodian's"),
        (
            [(WITH_SPARE, CUSTODIAN), (replace(ADMITTED, public=public_of(SPARE)), CUSTODIAN)],
            "another one than the custodian's",
        ),
        ([(Custodian(public=public_of(NEXT), owner="c"), STRANGER)], "is not one of the custodian's key"),
        ([(Custodian(public=public_of(NEXT), owner="c"), NEXT)], "is not one of the custodian's key"),
        ([(WITH_SPARE, SPARE)], "is not one of the custodian's key"),
        ([(WITH_SPARE, CUSTODIAN), (ADMITTED, SPARE)], "is not one of the custodian's key"),
        ([(WITH_SPARE, CUSTODIAN), (Custodian(public=public_of(NEXT), owner="c"), CUSTODIAN)], "the spare key"),
        (
            [(WITH_SPARE, CUSTODIAN), (replace(WITH_SPARE, spare=public_of(STRANGER)), CUSTODIAN)],
            "which must sign that itself",
        ),
    ],
)
def test_entries_about_keys_that_do_not_follow_break_the_ledger(facts: list[tuple[Fact, Any]], said: str) -> None:
    books(*facts[:-1])
    with pytest.raises(LedgerBroken, match=said):
        books(*facts)


def test_the_spare_key_replaces_the_key_and_itself() -> None:
    next_one = Custodian(public=public_of(NEXT), owner="c", spare=public_of(STRANGER), reason="compromised")
    state = books((WITH_SPARE, CUSTODIAN), (ADMITTED, CUSTODIAN), (next_one, SPARE), (revoked("compromised"), NEXT))
    assert (state.custodian, state.spare) == (public_of(NEXT), public_of(STRANGER))
    kept_spare = replace(next_one, spare=public_of(SPARE))
    assert books((WITH_SPARE, CUSTODIAN), (kept_spare, CUSTODIAN)).spare == public_of(SPARE)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: replace(ADMITTED, public="x" * 64),
        lambda: replace(ADMITTED, owner=""),
        lambda: replace(ADMITTED, set_by=""),
        lambda: replace(ADMITTED, valid_from="2026-01-01"),
        lambda: replace(ADMITTED, valid_until=ADMITTED.valid_from),
        lambda: replace(ADMITTED, revoked_as="lost", revoked_at=ADMITTED.valid_from),
        lambda: replace(ADMITTED, revoked_as="superseded"),
        lambda: replace(ADMITTED, revoked_at=ADMITTED.valid_from),
        lambda: replace(ADMITTED, revoked_as="superseded", revoked_at="now"),
        lambda: replace(WITH_SPARE, public="x" * 64),
        lambda: replace(WITH_SPARE, spare="x" * 64),
        lambda: replace(WITH_SPARE, spare=WITH_SPARE.public),
        lambda: replace(WITH_SPARE, reason="bored"),
        lambda: replace(WITH_SPARE, owner=""),
        lambda: Opening(ledger="l", approvals="perhaps"),
    ],
)
def test_entries_about_keys_have_values_that_mean_something(wrong: Any) -> None:
    with pytest.raises(InvalidInput):
        wrong()


def test_an_approver_is_admitted_by_a_custodian_only() -> None:
    state = LedgerState()
    state.enter(Entry.first(Opening(ledger="l"), TIME, fresh_salt()))
    with pytest.raises(LedgerBroken, match="there is no custodian"):
        state.enter(state.next_entry(ADMITTED, TIME, fresh_salt()))


def test_a_ledger_of_an_earlier_version_takes_names_until_an_approver_is_admitted(tmp_path: Path) -> None:
    state = tmp_path / "state"
    Ledger.open(state / "ledger" / "ledger.db").set_policy(policy())
    (state / "vault" / RELEASE).mkdir(parents=True)
    note = held(state, subject=None)
    made = decide(state, note, "approved", by="ines", identity="stated", reason="fine")
    assert (made.signed, valid_decision(state, note)) == (None, made)
    assert not approvers_of(opened(state)).required
    approver(state, "ines")
    assert approvers_of(opened(state)).required
    assert valid_decision(state, note) is None
    with pytest.raises(Refused, match="was made by an earlier version; run the command that made the release again"):
        approved(state, note, "ines")
    assert approved(state, held(state), "ines").identity == "key"


def test_a_new_ledger_wants_signatures_from_the_first(state: Path) -> None:
    first = json.loads(lines_of(state)[0])["content"]
    assert first["approvals"] == SIGNED_APPROVALS
    assert approvers_of(opened(state)).required
    assert approvers_of(opened(state)).keys == ()


def test_the_custodians_key_is_replaced_and_what_it_signed_stays(state: Path) -> None:
    approver(state, "ines")
    before = (state / "keys" / "custodian.key").read_bytes()
    named = opened(state).proven_books().custodian
    after = rotate_custodian(state, opened(state), reason="superseded")
    assert (state / "keys" / "custodian.key").read_bytes() != before
    assert not waiting_place(state / "keys" / "custodian.key").exists()
    assert opened(state).proven_books().custodian == after.public == custodian_key(state, after.public).public
    opened(state).set_policy(policy(9))
    approver(state, "bob")
    assert verify(records_of(lines_of(state))).holds
    # The key before signs nothing more.
    (state / "keys" / "custodian.key").write_bytes(before)
    with pytest.raises(Refused, match=f"key {key_name(after.public)}, which the ledger names, got {key_name(named)}"):
        opened(state).set_policy(policy(10))


def test_a_process_that_is_killed_while_a_key_is_replaced_leaves_the_one_that_the_ledger_names(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(managing, "take_next_key", lambda *_: None)
        after = rotate_custodian(state, opened(state), reason="superseded")
    assert waiting_place(state / "keys" / "custodian.key").exists()
    opened(state).set_policy(policy(9))
    assert custodian_key(state, after.public).public == after.public
    assert not waiting_place(state / "keys" / "custodian.key").exists()
    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "enter_signed", _fails)
        with pytest.raises(OSError, match="no space"):
            rotate_custodian(state, opened(state), reason="superseded")
    opened(state).set_policy(policy(10))
    assert custodian_key(state, after.public).public == after.public
    rotate_custodian(state, opened(state), reason="superseded")
    opened(state).set_policy(policy(11))


def _fails(*_: object, **__: object) -> None:
    raise OSError("no space")


def test_a_lost_key_is_replaced_with_the_spare_key_and_with_nothing_else(state: Path, tmp_path: Path) -> None:
    for reason in ("lost", "compromised"):
        with pytest.raises(InvalidInput, match=f"that is {reason} must be replaced with the spare key, got none"):
            rotate_custodian(state, opened(state), reason=reason)
    spare = tmp_path / "spare.key"
    with pytest.raises(Refused, match="spare key must be readable"):
        rotate_custodian(state, opened(state), reason="lost", spare=spare)
    made = add_spare_key(state, opened(state), spare)
    assert spare.stat().st_mode & 0o777 == 0o600
    with pytest.raises(Refused, match="must have one spare key"):
        add_spare_key(state, opened(state), tmp_path / "another.key")
    with pytest.raises(Refused, match=rf"spare key must be {key_name(made.public)}, which the ledger names, got"):
        rotate_custodian(state, opened(state), reason="lost", spare=state / "keys" / "custodian.key")
    with pytest.raises(InvalidInput, match="must be replaced with itself"):
        rotate_custodian(state, opened(state), reason="superseded", new_spare=tmp_path / "new.key")

    (state / "keys" / "custodian.key").unlink()
    after = rotate_custodian(state, opened(state), reason="lost", spare=spare, new_spare=tmp_path / "new.key")
    books_now = opened(state).proven_books()
    assert books_now.custodian == after.public
    assert books_now.spare != made.public
    approver(state, "ines")
    with pytest.raises(Refused, match="spare key must be"):
        rotate_custodian(state, opened(state), reason="compromised", spare=spare)
    rotate_custodian(state, opened(state), reason="compromised", spare=tmp_path / "new.key")
    assert opened(state).proven_books().spare == books_now.spare
    assert verify(records_of(lines_of(state))).holds


def test_a_custodians_key_is_made_elsewhere_before_the_first_account(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "elsewhere" / "custodian.key"
    monkeypatch.setenv(CUSTODIAN_KEY_VARIABLE, str(place))
    with pytest.raises(Refused, match="cannot be read"):
        opened(tmp_path / "state").set_policy(policy())
    key = make_custodian_key(tmp_path / "state")
    assert place.stat().st_mode & 0o777 == 0o600
    opened(tmp_path / "state").set_policy(policy())
    assert opened(tmp_path / "state").proven_books().custodian == key.public
    with pytest.raises(Refused, match="must never be overwritten"):
        make_custodian_key(tmp_path / "state")


def test_no_old_copy_of_the_ledger_brings_a_revoked_key_back(state: Path) -> None:
    approver(state, "ines")
    before = lines_of(state)
    revoke_approver(state, opened(state), "ines", "compromised", by="c")
    restore_old_ledger(state, before)
    with pytest.raises(LedgerReplaced, match=r"lacks entry 3 of the approver ines, as ledger-notes/@policies\.jsonl"):
        approvers_of(opened(state))
    recover(state, [], by="c", reason="the disk", accept=True)
    (found,) = approvers_of(opened(state)).keys
    assert found.revoked is not None
    assert found.revoked.reason == "compromised"


def test_a_recovery_admits_and_revokes_what_witnesses_show(state: Path) -> None:
    before = lines_of(state)
    approver(state, "ines")
    approver(state, "bob")
    revoke_approver(state, opened(state), "bob", "superseded", by="c")
    keys = approvers_of(opened(state)).keys
    restore_old_ledger(state, before)
    recover(state, [], by="c", reason="the disk", accept=True)
    assert approvers_of(opened(state)).keys == keys
    assert verify(records_of(lines_of(state))).holds


def test_no_old_copy_of_the_ledger_brings_an_old_custodian_back(state: Path) -> None:
    before, key = lines_of(state), (state / "keys" / "custodian.key").read_bytes()
    rotate_custodian(state, opened(state), reason="superseded")
    restore_old_ledger(state, before)
    (state / "keys" / "custodian.key").write_bytes(key)
    with pytest.raises(LedgerReplaced, match="lacks entry 2 of the custodian"):
        opened(state).set_policy(policy(99))


def test_the_trust_file_follows_the_ledger_and_the_signing_keys_leave_it_so(state: Path) -> None:
    first = approver(state, "ines")
    assert [key.keyid for key in trusted_keys(state).approvers] == [first.keyid]
    # The first release still makes the signing key, although there is a trust file.
    assert signing_key(state).keyid == current_keyid(state)
    rotate_key(state)
    assert [key.keyid for key in trusted_keys(state).approvers] == [first.keyid]
    trusted_keys_place(state).unlink()
    new_key(state, owner="ada")
    follow_ledger(state, opened(state))
    assert trusted_keys(state).approvers == approvers_of(opened(state)).keys
    written = trusted_keys_place(state).stat().st_mtime_ns
    follow_ledger(state, opened(state))
    assert trusted_keys_place(state).stat().st_mtime_ns == written
    assert len(trusted_keys(state)) == 1


def test_an_approvers_key_is_kept_in_the_persons_own_folder_and_read_strictly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "ines"))
    place = approver_key_place()
    assert place == tmp_path / "ines" / "deniable" / "approver.key"
    with pytest.raises(InvalidInput, match="make one with deniable keys approver new"):
        load_approver_key(place)
    key = make_approver_key(place)
    assert place.stat().st_mode & 0o777 == 0o600
    with pytest.raises(Refused, match="must never be overwritten"):
        make_approver_key(place)
    after = make_approver_key(place, replacing=True)
    assert after.public != key.public
    assert load_approver_key(place).public == after.public
    assert repr(key) == "ApproverKey()"
    place.chmod(0o640)
    with pytest.raises(InvalidInput, match="readable by its owner alone, got mode 0640"):
        load_approver_key(place)
    place.chmod(0o600)
    place.write_bytes(b"short")
    with pytest.raises(InvalidInput, match="must be 32 bytes"):
        load_approver_key(place)
    monkeypatch.setenv(APPROVER_KEY_VARIABLE, "relative.key")
    with pytest.raises(InvalidInput, match="must be an absolute path"):
        approver_key_place()


def test_no_approvers_key_is_in_the_state_folder(state: Path) -> None:
    approver(state, "ines")
    secret = key_place(state, "ines").read_bytes()
    assert not [path for path in state.rglob("*") if path.is_file() and secret in path.read_bytes()]


def test_no_key_is_entered_in_an_old_copy_of_the_ledger(state: Path) -> None:
    before, ledger = lines_of(state), opened(state)
    rotate_custodian(state, opened(state), reason="superseded")
    approver(state, "ines")
    restore_old_ledger(state, before)
    # The process has the ledger open since before, and has heard of none of this.
    with pytest.raises(LedgerReplaced, match="lacks entry 2"):
        ledger.enter_signed(ADMITTED, signer=CUSTODIAN)


def test_a_custodians_signature_is_for_one_ledger_and_one_kind() -> None:
    """Where this fails: signatures in ledgers that exist no longer verify."""
    said = signed_bytes("a ledger", "1" * 64, ADMITTED).decode()
    content = canonical({name: value for name, value in ADMITTED.to_content().items() if name != "signature"})
    assert said == f'["deniable/v1/custodian","a ledger","{"1" * 64}","approver",{content}]'
