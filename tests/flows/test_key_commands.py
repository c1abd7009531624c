"""The operator makes, sees, replaces and revokes signing keys, and hands auditors the trust file."""

import argparse
import json
from pathlib import Path

import pytest

from deniable.foundation.errors import InvalidInput, Refused
from deniable.record.trust import TrustedKey, TrustedKeys
from flows.cli.keys import DONE, add_key_commands, run_key_command
from stores.keys.signing_keys import SIGNING_KEY_VARIABLE, signing_key, signing_key_place
from stores.keys.trust_file import TRUSTED_KEYS_VARIABLE, trusted_keys, trusted_keys_place, write_trusted_keys
from tests.signing import private_key


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv(SIGNING_KEY_VARIABLE, raising=False)
    monkeypatch.delenv(TRUSTED_KEYS_VARIABLE, raising=False)
    monkeypatch.setenv("COLUMNS", "100")
    return tmp_path / "state"


def command(state: Path, *words: str) -> int:
    parser = argparse.ArgumentParser()
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument("--state")
    add_key_commands(parser.add_subparsers(dest="command", required=True), [shared])
    return run_key_command(parser.parse_args(["keys", *words]), state)


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
    with pytest.raises(Refused, match="replace it with python -m flows keys rotate"):
        command(state, "new", "--owner", "Ada")


def test_the_key_that_signs_is_replaced(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command(state, "new", "--owner", "Ada")
    capsys.readouterr()
    assert command(state, "rotate", "--years", "1") == DONE
    old, new = trusted_keys(state)
    assert capsys.readouterr().out == (
        f"{old.keyid} no longer signs; its private key is gone.\n"
        f"{new.keyid} signs from now on, until {new.valid_until}. "
        "Give auditors the new trust file: python -m flows keys export FILE.\n"
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
        "python -m flows keys export FILE. It is the signing key: python -m flows keys rotate replaces it.\n"
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


@pytest.mark.parametrize("words", [("revoke", "ab" * 32), ("revoke", "ab" * 32, "--reason", "lost"), ("new",), ()])
def test_a_command_that_leaves_something_out_is_refused(
    state: Path, words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        command(state, *words)
    assert "error: " in capsys.readouterr().err


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
        f"There is no trusted key at {trusted_keys_place(state)}; python -m flows"
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
