"""The key that releases are signed with, in real files: made once, found, replaced, revoked, and never shown."""

import copy
import os
import pickle
import stat
import sys
import traceback
from base64 import b64encode
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import cloudpickle
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from deniable.foundation.errors import DeniableError, InvalidInput, Refused
from deniable.record.attestation import Envelope, keyid_of, verify
from deniable.record.trust import Revocation, TrustedKey, TrustedKeys
from infra.environment import STATE_VARIABLE, default_state_folder, state_folder
from stores.keys.private_key_file import keep_waiting_key, load_private_key
from stores.keys.signing_keys import (
    SIGNING_KEY_VARIABLE,
    SigningKey,
    current_keyid,
    new_key,
    revoke_key,
    rotate_key,
    signing_key,
    signing_key_place,
    signing_time,
)
from stores.keys.trust_file import TRUSTED_KEYS_VARIABLE, trusted_keys, trusted_keys_place, write_trusted_keys
from tests.processes import at_once
from tests.signing import AFTER, FROM, private_key

MAKE_ONE = "create one with deniable keys new --owner NAME"


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.delenv(SIGNING_KEY_VARIABLE, raising=False)
    monkeypatch.delenv(TRUSTED_KEYS_VARIABLE, raising=False)
    # Nothing is to depend on a careful shell.
    before = os.umask(0)
    yield tmp_path / "state"
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def pem(key: Ed25519PrivateKey) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def put(place: Path, content: bytes, permissions: int = 0o600) -> None:
    """Write a private key's file."""
    place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    place.write_bytes(content)
    place.chmod(permissions)


def later(**delta: float) -> str:
    return f"{datetime.now(UTC) + timedelta(**delta):%Y-%m-%dT%H:%M:%SZ}"


def with_key(state: Path, name: str = "Ada", *, begun: str = FROM, until: str = "2099-01-01T00:00:00Z") -> TrustedKey:
    """Put a private key in its place and trust it for some time."""
    key = TrustedKey.of(private_key(name).public_key(), owner=name, valid_from=begun, valid_until=until)
    put(signing_key_place(state), pem(private_key(name)))
    write_trusted_keys(TrustedKeys((key,)), trusted_keys_place(state))
    return key


def holds(state: Path, envelope: Envelope, signed: str) -> str | None:
    """What is wrong with an envelope by the trust file as it is now; None if nothing is."""
    keys = TrustedKeys.from_text(trusted_keys_place(state).read_text())
    verify(envelope, keys.public_keys())
    return keys.judge(envelope.keyid, signed)


def test_the_first_use_makes_a_key_and_says_so(state: Path) -> None:
    first = signing_key(state)
    place = state / "keys" / "signing.pem"
    assert first.to_tell.startswith(
        f"A key for signing releases was created for {first.trusted.owner}: {place}, valid until"
    )
    assert "deniable keys export FILE" in first.to_tell
    signed = signing_time()
    assert holds(state, first.sign(b"payload"), signed) is None
    assert [mode(state / "keys"), mode(place), mode(state / "keys" / "trusted.json")] == [0o700, 0o600, 0o600]
    assert sorted(path.name for path in (state / "keys").iterdir()) == ["signing.pem", "trusted.json"]
    # PKCS8 PEM, as any other tool reads it.
    assert place.read_bytes().startswith(b"-----BEGIN PRIVATE KEY-----\n")
    key = load_pem_private_key(place.read_bytes(), password=None)
    assert isinstance(key, Ed25519PrivateKey)
    assert keyid_of(key.public_key()) == first.keyid == current_keyid(state)


def test_the_second_use_finds_the_key_and_has_nothing_to_say(state: Path) -> None:
    first, second = signing_key(state), signing_key(state)
    assert second.keyid == first.keyid
    assert second.to_tell == ""
    assert second.sign(b"payload") == first.sign(b"payload")
    assert len(trusted_keys(state)) == 1


def test_two_state_folders_have_two_keys(state: Path) -> None:
    assert signing_key(state / "one").keyid != signing_key(state / "other").keyid


def test_the_key_is_readable_by_nobody_else_whatever_the_umask(state: Path) -> None:
    signing_key(state)
    rotate_key(state)
    assert mode(state / "keys") == 0o700
    assert {mode(path) for path in (state / "keys").iterdir()} == {0o600}


def test_processes_that_begin_at_once_sign_with_one_key(state: Path) -> None:
    keys = at_once(8, lambda *_: signing_key(state).keyid)
    assert set(keys) == {current_keyid(state)}
    assert len(trusted_keys(state)) == 1


def test_processes_that_rotate_at_once_leave_one_key_that_signs_and_no_other(state: Path) -> None:
    first = signing_key(state)
    at_once(6, lambda number, _: rotate_key(state).after.keyid if number else signing_key(state).keyid)
    keys = trusted_keys(state)
    assert len(keys) == 6
    assert [key.keyid for key in keys if key.revoked is None] == [signing_key(state).keyid]
    assert keys.keys[0].keyid == first.keyid


def test_a_key_is_made_for_whom_it_is_asked_for_and_for_as_long(state: Path) -> None:
    made = new_key(state, owner="Ada Lovelace", years=3)
    key = made.trusted
    assert (key.owner, int(key.valid_until[:4]) - int(key.valid_from[:4])) == ("Ada Lovelace", 3)
    assert key.objection_at(signing_time()) is None
    assert signing_key(state).trusted == key


@pytest.mark.parametrize(
    ("owner", "years", "fault"),
    [
        ("", 2, "the owner of a key must be a name"),
        ("a\nb", 2, "the owner of a key must be a name"),
        ("Ada", 0, "a key must be valid for 1 to 20 years, got 0"),
        ("Ada", -1, "a key must be valid for 1 to 20 years, got -1"),
        ("Ada", 21, "a key must be valid for 1 to 20 years, got 21"),
    ],
)
def test_a_key_for_nobody_or_for_ever_is_not_made(state: Path, owner: str, years: int, fault: str) -> None:
    with pytest.raises(InvalidInput, match=fault):
        new_key(state, owner=owner, years=years)
    assert [path for path in state.rglob("*") if path.is_file()] == []


def test_a_key_is_never_overwritten(state: Path) -> None:
    made = new_key(state, owner="Ada")
    before = signing_key_place(state).read_bytes()
    with pytest.raises(Refused, match=f"holds {made.keyid[:16]} of Ada; replace it with deniable keys rotate"):
        new_key(state, owner="Bob")
    assert signing_key_place(state).read_bytes() == before
    assert trusted_keys(state) == TrustedKeys((made.trusted,))


def test_a_key_that_was_brought_along_is_trusted_when_that_is_asked_for(state: Path) -> None:
    put(signing_key_place(state), pem(private_key("Ada")))
    with pytest.raises(InvalidInput, match=r"must be one of the trusted keys in .*trust it with"):
        signing_key(state)
    assert not trusted_keys_place(state).exists()
    assert new_key(state, owner="Ada").keyid == keyid_of(private_key("Ada").public_key())
    assert signing_key_place(state).read_bytes() == pem(private_key("Ada"))
    assert signing_key(state).trusted.owner == "Ada"


def test_an_unknown_key_is_refused_by_both_sides(state: Path, tmp_path: Path) -> None:
    with_key(state)
    other = tmp_path / "other"
    stranger = signing_key(other)
    fault = trusted_keys(state).judge(stranger.keyid, signing_time())
    assert fault is not None
    assert "is not trusted" in fault
    # And nobody signs with a key that auditors do not know.
    signing_key_place(state).write_bytes(signing_key_place(other).read_bytes())
    with pytest.raises(InvalidInput, match="must be one of the trusted keys in"):
        signing_key(state)
    with pytest.raises(InvalidInput, match="must be one of the trusted keys in"):
        rotate_key(state)


def test_a_rotated_key_signs_no_longer_and_what_it_signed_counts(state: Path) -> None:
    old = signing_key(state)
    envelope, signed = old.sign(b"payload"), signing_time()
    rotated = rotate_key(state, years=1)
    assert rotated.before.keyid == old.keyid
    new = signing_key(state)
    assert new.keyid == rotated.after.keyid != old.keyid
    assert new.trusted.owner == old.trusted.owner
    assert holds(state, envelope, signed) is None
    assert holds(state, new.sign(b"payload"), signing_time()) is None
    # Whoever kept a copy of the private half signs in vain from then on.
    late = later(seconds=2)
    assert "was superseded on" in str(holds(state, old.sign(b"payload"), late))
    assert "superseded on" in trusted_keys(state).note(old.keyid, signed)
    # The private half is nowhere.
    secret = old.private.private_bytes_raw()
    kept = [path.read_bytes() for path in state.rglob("*") if path.is_file()]
    assert len(kept) == 2
    assert not any(secret in content or b64encode(secret)[4:40] in content for content in kept)
    assert not any(pem(old.private) in content for content in kept)


def test_what_was_signed_within_the_second_of_a_rotation_counts(state: Path) -> None:
    for _ in range(20):
        key, signed = signing_key(state), signing_time()
        rotate_key(state)
        assert trusted_keys(state).judge(key.keyid, signed) is None


def test_a_compromised_key_takes_all_that_it_signed_with_it_and_a_new_one_goes_on(state: Path) -> None:
    key = signing_key(state)
    envelope, signed = key.sign(b"payload"), signing_time()
    assert holds(state, envelope, signed) is None
    revoked = revoke_key(state, key.keyid[:8], "compromised")
    assert revoked.revoked is not None
    assert "revoked as compromised" in str(holds(state, envelope, signed))
    with pytest.raises(Refused, match=r"must be valid now, and .* was revoked as compromised .*keys rotate"):
        signing_key(state)
    assert rotate_key(state).before == revoked
    assert signing_key(state).keyid != key.keyid
    assert "revoked as compromised" in str(holds(state, envelope, signed))


def test_a_key_that_was_revoked_as_superseded_signs_nothing_more_from_that_moment(state: Path) -> None:
    key, signed = signing_key(state), signing_time()
    revoke_key(state, key.keyid, "superseded")
    with pytest.raises(Refused, match=r"must be valid now, and .* was superseded on"):
        signing_key(state)
    assert trusted_keys(state).judge(key.keyid, signed) is None
    # It may still turn out to be compromised.
    revoke_key(state, key.keyid, "compromised")
    assert trusted_keys(state).judge(key.keyid, signed) is not None
    with pytest.raises(InvalidInput, match="must not be revoked already"):
        revoke_key(state, key.keyid, "superseded")


@pytest.mark.parametrize("named", ["", "0", "ffffffff", "abcdefg"])
def test_a_key_must_be_named_to_be_revoked(state: Path, named: str) -> None:
    signing_key(state)
    before = trusted_keys_place(state).read_bytes()
    with pytest.raises(InvalidInput, match="a key must be named by its id"):
        revoke_key(state, named, "superseded")
    assert trusted_keys_place(state).read_bytes() == before


def test_no_key_is_revoked_where_none_is_trusted(state: Path) -> None:
    with pytest.raises(InvalidInput, match="there is none at"):
        revoke_key(state, "ab" * 32, "compromised")
    with pytest.raises(InvalidInput, match=f"must be there to be replaced.*{MAKE_ONE}"):
        rotate_key(state)
    assert not state.exists()


def test_an_expired_key_signs_nothing_and_what_it_signed_counts(state: Path) -> None:
    key = with_key(state, begun="2020-01-01T00:00:00Z", until="2022-01-01T00:00:00Z")
    with pytest.raises(Refused, match=f"and {key.name} expired on 2022-01-01T00:00:00Z; replace it with .* rotate"):
        signing_key(state)
    keys = trusted_keys(state)
    assert keys.judge(key.keyid, "2021-06-01T00:00:00Z") is None
    assert keys.note(key.keyid, "2021-06-01T00:00:00Z", signing_time()).endswith(
        "expired since, but signed while valid"
    )
    assert "expired on" in str(keys.judge(key.keyid, signing_time()))
    rotate_key(state)
    assert signing_key(state).trusted.owner == "Ada"
    assert trusted_keys(state).judge(key.keyid, "2021-06-01T00:00:00Z") is None


def test_a_key_that_is_not_valid_yet_signs_nothing(state: Path) -> None:
    tomorrow = later(days=1)
    with_key(state, begun=tomorrow)
    with pytest.raises(Refused, match=f"is not valid before {tomorrow}; set this machine's clock"):
        signing_key(state)


def test_a_key_that_expires_soon_is_said_to(state: Path) -> None:
    with_key(state, until=later(days=31))
    assert signing_key(state).to_tell == ""
    with_key(state, until=later(days=29))
    assert "; replace it with deniable keys rotate" in signing_key(state).to_tell


@pytest.mark.parametrize("permissions", [0o640, 0o604, 0o644, 0o660, 0o610])
def test_a_key_that_others_may_read_is_refused(state: Path, permissions: int) -> None:
    with_key(state)
    signing_key_place(state).chmod(permissions)
    with pytest.raises(InvalidInput, match=f"by its owner alone, got mode {permissions:04o} .*chmod 600"):
        signing_key(state)


def other_keys() -> dict[str, bytes]:
    """What may stand in a file instead of the key."""
    rsa = generate_private_key(65537, 2048)
    ada = private_key("Ada")
    return {
        "rsa": rsa.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()),
        "with a password": ada.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"secret")),
        "der": ada.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption()),
        "raw": ada.private_bytes_raw(),
        "cut off": pem(ada)[:-40],
        "nothing": b"",
        "text": b"hush-hush\n",
    }


@pytest.mark.parametrize("kind", ["rsa", "with a password", "der", "raw", "cut off", "nothing", "text"])
def test_what_is_no_ed25519_key_is_refused(state: Path, kind: str) -> None:
    with_key(state)
    put(signing_key_place(state), other_keys()[kind])
    with pytest.raises(InvalidInput, match="must be an Ed25519 key, as PKCS8 PEM without a password"):
        signing_key(state)


def test_a_folder_in_the_place_of_the_key_is_refused(state: Path) -> None:
    with_key(state)
    signing_key_place(state).unlink()
    signing_key_place(state).mkdir()
    with pytest.raises(InvalidInput, match="the signing key must be"):
        signing_key(state)


def test_no_key_is_made_where_one_is_gone(state: Path) -> None:
    lost = signing_key(state)
    signing_key_place(state).unlink()
    with pytest.raises(Refused, match=f"and is missing, while the trust file .* exists; restore it, or {MAKE_ONE}"):
        signing_key(state)
    assert not signing_key_place(state).exists()
    # What it says to do helps.
    new_key(state, owner="Ada")
    revoke_key(state, lost.keyid, "superseded")
    assert [key.revoked is None for key in trusted_keys(state)] == [False, True]
    assert signing_key(state).trusted.owner == "Ada"


def test_no_key_is_made_where_releases_were_signed_by_one_that_is_gone(state: Path) -> None:
    signed = state / "releases" / "people-1" / "record.dsse.json"
    signed.parent.mkdir(parents=True)
    signed.write_text("{}")
    with pytest.raises(Refused, match=f"while there are signed releases; restore both, or {MAKE_ONE}"):
        signing_key(state)
    assert not signing_key_place(state).exists()


def test_no_key_is_made_where_a_file_is_named_that_is_not_there(
    state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "elsewhere" / "agency.pem"
    monkeypatch.setenv(SIGNING_KEY_VARIABLE, str(place))
    with pytest.raises(
        InvalidInput, match=f"must be in {place}, which {SIGNING_KEY_VARIABLE} names, and there is none"
    ):
        signing_key(state)
    monkeypatch.delenv(SIGNING_KEY_VARIABLE)
    monkeypatch.setenv(TRUSTED_KEYS_VARIABLE, str(tmp_path / "elsewhere" / "trusted.json"))
    with pytest.raises(InvalidInput, match=f"which {TRUSTED_KEYS_VARIABLE} names, and there is none"):
        signing_key(state)
    assert list(tmp_path.rglob("*.pem")) + list(tmp_path.rglob("*.json")) == []


def test_keys_are_kept_where_the_environment_says(state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    private, trust = tmp_path / "safe" / "agency.pem", tmp_path / "desk" / "trusted.json"
    monkeypatch.setenv(SIGNING_KEY_VARIABLE, str(private))
    monkeypatch.setenv(TRUSTED_KEYS_VARIABLE, str(trust))
    made = new_key(state, owner="The agency")
    assert (mode(private), mode(private.parent)) == (0o600, 0o700)
    assert signing_key(state).keyid == made.keyid
    trust.chmod(0o644)
    rotate_key(state)
    assert signing_key(state).keyid != made.keyid
    assert len(TrustedKeys.from_text(trust.read_text())) == 2
    # Whoever was allowed to read the trust file still is.
    assert mode(trust) == 0o644
    assert not state.exists()


def test_a_key_behind_a_link_is_read_and_replaced(state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key = with_key(state)
    link = tmp_path / "link.pem"
    link.symlink_to(signing_key_place(state))
    monkeypatch.setenv(SIGNING_KEY_VARIABLE, str(link))
    assert signing_key(state).keyid == key.keyid
    assert rotate_key(state).after.keyid == signing_key(state).keyid
    assert link.is_symlink()
    assert keyid_of(load_private_key(state / "keys" / "signing.pem").public_key()) != key.keyid


@pytest.mark.parametrize("content", [b"", b"\xff", b"[]", b'{"keys": [{"keyid": "hush"}]}'])
def test_a_trust_file_that_is_none_is_refused_by_name_and_left_as_it_is(state: Path, content: bytes) -> None:
    with_key(state)
    trusted_keys_place(state).write_bytes(content)
    for ask in (signing_key, trusted_keys, rotate_key, lambda state: revoke_key(state, "ab" * 32, "compromised")):
        with pytest.raises(InvalidInput, match=str(trusted_keys_place(state))) as refusal:
            ask(state)
        assert "hush" not in str(refusal.value)
    assert trusted_keys_place(state).read_bytes() == content


def test_a_trust_file_whose_key_was_exchanged_is_refused(state: Path) -> None:
    with_key(state)
    place = trusted_keys_place(state)
    ours, others = (private_key(name).public_key().public_bytes_raw().hex() for name in ("Ada", "Eve"))
    place.write_text(place.read_text().replace(ours, others))
    with pytest.raises(InvalidInput, match="a keyid must be the SHA-256 of its public key"):
        signing_key(state)


def ways_to_fail(state: Path) -> list[tuple[str, Callable[[], object]]]:
    """What can be asked so that it is refused while the private key is at hand."""
    key = signing_key(state)
    place, trust = signing_key_place(state), trusted_keys_place(state)

    def spoilt(change: Callable[[], object], ask: Callable[[], object]) -> Callable[[], object]:
        def fail() -> object:
            kept = {path: (path.read_bytes(), mode(path)) for path in (place, trust)}
            change()
            try:
                return ask()
            finally:
                for path, (content, permissions) in kept.items():
                    put(path, content, permissions)

        return fail

    def sign_now() -> object:
        return signing_key(state)

    revoked = trusted_keys(state).with_revoked(key.keyid, Revocation(time=FROM, reason="compromised"))
    return [
        ("others may read it", spoilt(lambda: place.chmod(0o644), sign_now)),
        ("it is cut off", spoilt(lambda: place.write_bytes(place.read_bytes()[:-40]), sign_now)),
        ("something stands before it", spoilt(lambda: place.write_bytes(b"-" + place.read_bytes()), sign_now)),
        ("it is not trusted", spoilt(lambda: trust.write_text(TrustedKeys().to_text()), sign_now)),
        ("it is compromised", spoilt(lambda: trust.write_text(revoked.to_text()), sign_now)),
        ("it is in the trust file", spoilt(lambda: trust.write_bytes(place.read_bytes()), sign_now)),
        ("there is one", lambda: new_key(state, owner="Bob")),
        ("the years are wrong", lambda: rotate_key(state, years=99)),
        ("it is pickled", lambda: pickle.dumps(key)),
        ("it is pickled by Prefect", lambda: cloudpickle.dumps(key)),
        ("its private half is pickled", lambda: cloudpickle.dumps(key.private)),
        ("it is copied", lambda: copy.deepcopy(key)),
        ("it signs what is no payload", lambda: key.sign("text")),  # type: ignore[arg-type]
    ]


def test_the_private_key_is_in_no_error_no_log_and_no_repr(
    state: Path, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(0)
    key = signing_key(state)
    raw = key.private.private_bytes_raw()
    content = pem(key.private)
    secrets = {raw.hex(), repr(raw)[2:20], b64encode(raw).decode()[:20], content.decode().splitlines()[1][24:]}
    assert all(len(secret) > 12 for secret in secrets)
    said = [
        repr(key),
        str(key),
        f"{key}",
        repr(vars(key)),
        key.to_tell,
        repr(key.private),
    ]
    assert key.keyid in repr(key)
    assert "Ed25519PrivateKey" not in repr(key)
    for way, fail in ways_to_fail(state):
        with pytest.raises((DeniableError, TypeError)) as failure:
            fail()
        # With the variables of all functions, as some loggers write them, but for the ones of this file; what somebody
        # puts into the file of another kind is in the hands of who reads that.
        error: BaseException | None = failure.value
        while error is not None:
            variables = way != "it is in the trust file"
            summary = traceback.TracebackException.from_exception(error, capture_locals=variables)
            frames = [frame for frame in summary.stack if frame.filename != __file__]
            said += ["".join(traceback.format_list(frames)), str(error), repr(error)]
            error = error.__cause__ or error.__context__
    captured = capfd.readouterr()
    said += [captured.out, captured.err, caplog.text]
    assert [secret for secret in secrets for text in said if secret in text] == []


def test_that_search_would_find_the_key() -> None:
    raw = private_key("Ada").private_bytes_raw()
    text = pem(private_key("Ada")).decode()
    assert b64encode(raw).decode()[:20] in repr({"secret": b64encode(raw)})
    assert repr(raw)[2:20] in repr({"secret": raw})
    assert text.splitlines()[1][24:] in repr({"pem": text})


def killed_at(state: Path, work: Callable[[Path], object], moment: int) -> bool:
    """Do something in a process of its own that is killed when it touches files for the nth time; whether it was."""
    child = os.fork()
    if child == 0:
        count = 0

        def count_and_kill(event: str, _: tuple[object, ...]) -> None:
            nonlocal count
            if event in {"open", "os.rename", "os.link", "os.remove", "os.chmod", "os.mkdir", "fcntl.flock"}:
                count += 1
                if count == moment:
                    os.kill(os.getpid(), 9)

        sys.addaudithook(count_and_kill)
        try:
            work(state)
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


@pytest.mark.parametrize("begun", [False, True], ids=["the first use", "a rotation"])
def test_whenever_it_is_killed_the_next_finds_one_key_that_signs(state: Path, tmp_path: Path, *, begun: bool) -> None:
    kills, outcomes = 0, set()
    for moment in range(1, 200):
        folder = tmp_path / str(moment)
        before = signing_key(folder) if begun else None
        was_killed = killed_at(folder, rotate_key if begun else signing_key, moment)
        after = signing_key(folder)
        kills += was_killed
        keys = trusted_keys(folder)
        assert [key.keyid for key in keys if key.revoked is None] == [after.keyid]
        assert sorted(path.name for path in (folder / "keys").iterdir() if path.suffix in {".pem", ".waiting"}) == [
            "signing.pem"
        ]
        assert holds(folder, after.sign(b"payload"), signing_time()) is None
        if before is not None:
            outcomes.add(after.keyid == before.keyid)
            assert [key.keyid for key in keys][:1] == [before.keyid]
        if not was_killed:
            break
    assert kills >= 8
    assert not was_killed
    # Killed early it is as if nothing had been asked for, killed late as if it had been done.
    assert outcomes == ({True, False} if begun else set())


def test_a_key_that_was_left_waiting_takes_its_place_only_where_it_is_trusted(state: Path) -> None:
    """As a process leaves it that is killed; by a rotation it comes after the key that it replaces."""
    key = with_key(state)
    keep_waiting_key(private_key("Bob"), signing_key_place(state))
    assert signing_key(state).keyid == key.keyid
    bob = TrustedKey.of(private_key("Bob").public_key(), owner="Bob", valid_from=FROM, valid_until=AFTER)
    for revoked in (Revocation(time=FROM, reason="compromised"), None):
        keep_waiting_key(private_key("Bob"), signing_key_place(state))
        write_trusted_keys(TrustedKeys((key, replace(bob, revoked=revoked))), trusted_keys_place(state))
        assert signing_key(state).trusted == (key if revoked else bob)
        assert len(list(signing_key_place(state).parent.iterdir())) == 2


def test_two_keys_do_not_wait_for_one_place(state: Path) -> None:
    keep_waiting_key(private_key("Ada"), signing_key_place(state))
    with pytest.raises(InvalidInput, match="must be in a folder that can be written to"):
        keep_waiting_key(private_key("Bob"), signing_key_place(state))


def test_a_signing_key_is_what_its_parts_are(state: Path) -> None:
    key = signing_key(state)
    assert load_private_key(signing_key_place(state)).private_bytes_raw() == key.private.private_bytes_raw()
    assert replace(key, to_tell="") == SigningKey(trusted=key.trusted, private=private_key("Ada"))


@pytest.mark.parametrize("named", ["trusted.json", "var/keys/trusted.json", "./trusted.json"])
def test_the_folder_that_one_stands_in_never_decides_whom_to_trust(
    state: Path, named: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Someone unpacks a download that has a trust file of its own, and goes there."""
    new_key(state, owner="The agency")
    download = state.parent / "download"
    for place in (download / "var" / "keys", download):
        place.mkdir(parents=True, exist_ok=True)
        (place / "trusted.json").write_text(trusted_keys(state).to_text(), encoding="utf-8")
    monkeypatch.chdir(download)
    monkeypatch.setenv(TRUSTED_KEYS_VARIABLE, named)
    with pytest.raises(InvalidInput, match=f"^{TRUSTED_KEYS_VARIABLE} must be an absolute path, got {named}"):
        trusted_keys_place(state)
    monkeypatch.delenv(TRUSTED_KEYS_VARIABLE)
    monkeypatch.setenv(STATE_VARIABLE, "var")
    with pytest.raises(InvalidInput, match=f"^{STATE_VARIABLE} must be an absolute path, got var"):
        state_folder()
    monkeypatch.delenv(STATE_VARIABLE)
    assert state_folder() == default_state_folder()
    assert not state_folder().is_relative_to(download)
