"""The operator makes, sees, replaces and revokes signing keys, and hands auditors the trust file."""

import json
from pathlib import Path

import pytest

from deniable.foundation.errors import InvalidInput, Refused
from deniable.record.trust import TrustedKey, TrustedKeys
from flows.cli.keys.show import DONE
from stores.keys.approver_key import APPROVER_KEY_VARIABLE
from stores.keys.custodian_key import CUSTODIAN_KEY_VARIABLE
from stores.keys.signing_keys import SIGNING_KEY_VARIABLE, signing_key, signing_key_place
from stores.keys.trust_file import TRUSTED_KEYS_VARIABLE, trusted_keys, trusted_keys_place, write_trusted_keys
from tests.commands import carry_out
from tests.signing import private_key


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv(SIGNING_KEY_VARIABLE, raising=False)
    monkeypatch.delenv(TRUSTED_KEYS_VARIABLE, raising=False)
    monkeypatch.setenv("COLUMNS", "100")
    return tmp_path / "state"


def command(state: Path, *words: str) -> int:
    name, *arguments = words
    return carry_out(f"keys {name}", arguments, state)


def shown(capsys: pytest.CaptureFixture[str]) -> list[list[str]]:
    """The cells of the table that was printed last, row by row."""
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("  ") and line.strip()]
    return [[cell for cell in line.split("   ") if cell.strip()] for line in lines]


def test_a_key_is_made_shown_and_used(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command(state, "new", "--owner", "Ada [bold] Lovelace", "--years", "3") == DONE
    key = trusted_keys(state).keys[0]
    assert capsys.readouterr().out == (
        f"A key was created for Ada [bold] Lovelace: {signing_key_place(state)}.\n"
        f"It is {key.keyid}, valid until {key.valid_until}.\n"
    )
    assert int(key.valid_until[:4]) == int(key.valid_from[:4]) + 3
    assert command(state, "show") == DONE
    out = capsys.readouterr().out
    row = next(line for line in out.splitlines() if key.keyid[:16] in line).split()
    assert row == [key.keyid[:16], "Ada", "[bold]", "Lovelace", key.valid_from[:10], key.valid_until[:10], "signs"]
    assert f"trust file:   {trusted_keys_place(state)}\nprivate key:  {signing_key_place(state)}\n" in out
    assert signing_key(state).keyid == key.keyid


def test_a_key_is_made_where_there_is_none_only(state: Path) -> None:
    command(state, "new", "--owner", "Ada")
    with pytest.raises(Refused, match="replace it with deniable keys rotate"):
        command(state, "new", "--owner", "Ada")


def test_the_key_that_signs_is_replaced(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command(state, "new", "--owner", "Ada")
    capsys.readouterr()
    assert command(state, "rotate", "--years", "1") == DONE
    old, new = trusted_keys(state)
    assert capsys.readouterr().out == (
        f"{old.keyid} no longer signs; its private key is gone.\n"
        f"{new.keyid} signs from now on, until {new.valid_until}. "
        "Give auditors the new trust file: deniable keys export FILE.\n"
    )
    assert old.revoked is not None
    command(state, "show")
    rows = shown(capsys)
    assert [cell.strip() for cell in rows[-2]][-1] == f"superseded {old.revoked.time[:10]}"
    assert [cell.strip() for cell in rows[-1]][-1] == "signs"


def test_a_key_that_was_compromised_is_revoked_and_what_to_do_next_is_said(
    state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command(state, "new", "--owner", "Ada")
    key = signing_key(state)
    capsys.readouterr()
    assert command(state, "revoke", key.keyid[:16], "--reason", "compromised") == DONE
    assert capsys.readouterr().out == (
        f"{key.keyid} is revoked: nothing that it signed is valid. Give auditors the new trust file: "
        "deniable keys export FILE. It is the signing key: deniable keys rotate replaces it.\n"
    )
    command(state, "rotate")
    command(state, "revoke", signing_key(state).keyid, "--reason", "superseded")
    assert "what it signed before now stays valid" in capsys.readouterr().out
    command(state, "rotate")
    command(state, "show")
    states = [row[-1].strip().split()[0] for row in shown(capsys)[-3:]]
    assert states == ["compromised", "superseded", "signs"]
    # Another key than the one that signs.
    command(state, "revoke", trusted_keys(state).keys[1].keyid, "--reason", "compromised")
    assert "It is the signing key" not in capsys.readouterr().out


@pytest.mark.parametrize(
    "words", [("revoke", "ab" * 32), ("revoke", "ab" * 32, "--reason", "lost"), ("new",), ("revoke",)]
)
def test_a_command_that_leaves_something_out_is_refused(
    state: Path, words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        command(state, *words)
    assert "--help shows what it takes" in capsys.readouterr().err


def test_every_state_of_a_key_is_shown(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def key(name: str, valid_from: str, valid_until: str) -> TrustedKey:
        return TrustedKey.of(private_key(name).public_key(), owner=name, valid_from=valid_from, valid_until=valid_until)

    past, future = "2020-01-01T00:00:00Z", "2099-01-01T00:00:00Z"
    command(state, "new", "--owner", "Ada")
    others = [key("Bob", past, "2021-01-01T00:00:00Z"), key("Eve", "2098-01-01T00:00:00Z", future)]
    ada = trusted_keys(state).keys[0]
    write_trusted_keys(TrustedKeys((*others, key("Zoe", past, future), ada)), trusted_keys_place(state))
    capsys.readouterr()
    command(state, "show")
    found = [[cell.strip() for cell in row] for row in shown(capsys)][-4:]
    assert [(row[1], row[-1]) for row in found] == [
        ("Bob", "expired"),
        ("Eve", "not valid yet"),
        ("Zoe", "valid"),
        ("Ada", "signs"),
    ]


def test_keys_are_shown_where_there_are_none_and_nothing_is_made(
    state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command(state, "show") == DONE
    assert capsys.readouterr().out.startswith(
        f"There is no trusted key at {trusted_keys_place(state)}; deniable keys new"
    )
    with pytest.raises(InvalidInput, match="there must be a key for auditors to trust"):
        command(state, "export", str(state.parent / "trusted.json"))
    assert not state.exists()
    assert list(state.parent.iterdir()) == []


def test_keys_are_shown_although_the_private_half_is_gone_or_another_s(
    state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command(state, "new", "--owner", "Ada")
    other = state.parent / "other"
    stranger = signing_key(other)
    signing_key_place(state).write_bytes(signing_key_place(other).read_bytes())
    command(state, "show")
    out = capsys.readouterr().out
    assert f"The private key is that of {stranger.keyid}, which is not trusted." in out
    signing_key_place(state).unlink()
    command(state, "show")
    out = capsys.readouterr().out
    assert "Ada" in out
    assert f"the signing key must be in {signing_key_place(state)}, and there is none." in out
    assert "signs" not in out


def test_auditors_are_handed_the_public_halves_alone(
    state: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command(state, "new", "--owner", "Ada")
    command(state, "rotate")
    capsys.readouterr()
    file = tmp_path / "for-auditors.json"
    assert command(state, "export", str(file)) == DONE
    assert (
        capsys.readouterr().out == f"2 keys are in {file}; give it to auditors by a channel other than that of the "
        "releases.\n"
    )
    assert TrustedKeys.from_text(file.read_text()) == trusted_keys(state)
    assert file.read_bytes() == trusted_keys_place(state).read_bytes()
    names = {name for key in json.loads(file.read_text())["keys"] for name in key}
    assert names == {"keyid", "public", "owner", "valid_from", "valid_until", "revoked"}
    raw = signing_key(state).private.private_bytes_raw()
    assert raw.hex() not in file.read_text()
    with pytest.raises(InvalidInput, match="the export must go to a file that can be written"):
        command(state, "export", str(tmp_path / "nowhere" / "trusted.json"))


def test_a_record_verifies_with_what_auditors_were_handed(state: Path, tmp_path: Path) -> None:
    command(state, "new", "--owner", "Ada")
    command(state, "export", str(tmp_path / "trusted.json"))
    handed = TrustedKeys.from_text((tmp_path / "trusted.json").read_text())
    key = signing_key(state)
    assert handed.judge(key.keyid, key.trusted.valid_from) is None
    # What happens to a key afterwards, auditors must be told.
    command(state, "revoke", key.keyid, "--reason", "compromised")
    assert handed.judge(key.keyid, key.trusted.valid_from) is None
    assert trusted_keys(state).judge(key.keyid, key.trusted.valid_from) is not None


def test_an_approvers_key_is_made_admitted_shown_replaced_and_revoked(
    state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "ines" / "approver.key"
    monkeypatch.setenv(APPROVER_KEY_VARIABLE, str(place))

    def said(*words: str) -> str:
        assert command(state, *words) == DONE
        return capsys.readouterr().out

    assert said("approver", "show").startswith("No approver's key is admitted")
    made = said("approver", "new")
    public = made.partition("public half is ")[2].partition(".")[0]
    assert f"keys approver admit NAME {public}" in made
    admitted = said("approver", "admit", "Ines [bold] Lovelace", public, "--years", "3")
    key = trusted_keys(state).approvers[0]
    assert f"{key.keyid} of Ines [bold] Lovelace approves releases from now on, until {key.valid_until}." in admitted
    assert int(key.valid_until[:4]) == int(key.valid_from[:4]) + 3
    assert said("approver", "show").endswith(f"{key.valid_until[:10]}  may approve\n")

    after = said("approver", "rotate").partition("public half is ")[2].partition(".")[0]
    assert after != public
    said("approver", "admit", "Ines [bold] Lovelace", after)
    first, second = said("approver", "show").splitlines()
    assert ("superseded on" in first, second.endswith("may approve")) == (True, True)
    revoked = said("approver", "revoke", "Ines [bold] Lovelace", "--reason", "compromised")
    assert "is revoked: nothing that it approved is approved." in revoked
    assert "compromised on" in said("approver", "show").splitlines()[1]
    command(state, "new", "--owner", "Ada")
    assert "3 keys are in" in said("export", str(tmp_path / "trusted.json"))
    exported = json.loads((tmp_path / "trusted.json").read_text())
    assert [(len(exported[name])) for name in ("keys", "approvers")] == [1, 2]


def test_the_custodians_key_is_made_shown_and_replaced(
    state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    place, spare = tmp_path / "safe" / "custodian.key", tmp_path / "elsewhere" / "spare.key"
    monkeypatch.setenv(CUSTODIAN_KEY_VARIABLE, str(place))
    monkeypatch.setenv(APPROVER_KEY_VARIABLE, str(tmp_path / "approver.key"))

    def said(*words: str) -> str:
        assert command(state, *words) == DONE
        return capsys.readouterr().out

    assert f"is in {place}; keep a copy of it." in said("custodian", "new")
    first = place.read_bytes()
    public = said("approver", "new").partition("public half is ")[2].partition(".")[0]
    said("approver", "admit", "ines", public)
    assert f"is in {spare}; keep it apart" in said("custodian", "spare", str(spare))
    with pytest.raises(InvalidInput, match="must be replaced with the spare key, got none"):
        command(state, "custodian", "rotate", "--reason", "compromised")
    replaced = said("custodian", "rotate", "--reason", "compromised", "--spare", str(spare))
    assert "is the custodian's key from now on" in replaced
    assert "Review what the key before signed" in replaced
    assert replaced.endswith("of ines, admitted\n")
    assert place.read_bytes() != first
    assert "Review" not in said("custodian", "rotate")
    shown_now = said("custodian", "show")
    for part in (
        ", the first\n",
        ", the spare key\n",
        " was compromised\n",
        " was superseded\n",
        "of ines, admitted\n",
    ):
        assert shown_now.count(part) == 1, shown_now
