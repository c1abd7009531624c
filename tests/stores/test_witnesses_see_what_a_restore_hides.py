"""Attacks on a ledger by those who keep all of its state folder, and what a witness elsewhere and the gate say."""

import shutil
from hashlib import sha256
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from deniable.cli.dispatch import main as deniable
from deniable.foundation.errors import InvalidInput, Refused
from deniable.ledger.checkpoint import (
    Checkpoint,
    origin_of,
    read_checkpoint,
    read_request,
    read_verifier_key,
    verifier_key,
)
from deniable.ledger.merkle import leaf, root_of
from stores.keys.signing_keys import signing_key
from stores.keys.trust_file import trusted_keys_place
from stores.ledger import state_ledger as opening
from stores.ledger.anchor import LedgerReplaced
from stores.ledger.gate import CHECKPOINT_VARIABLE, UNWITNESSED_VARIABLE, WITNESS_VARIABLE, fault_of_ledger
from stores.ledger.ledger import Ledger, kept_lines, ledger_place
from stores.vault.scratch import scratch_folder
from tests.charging import policy
from tests.commands import carry_out
from tests.ledger_users import asks

DONE, DOES_NOT_HOLD, UNREADABLE = 0, 1, 2
GOLDEN_KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))


def opened(state: Path) -> Ledger:
    """The ledger of a state folder, as another process opens it."""
    opening._opened.cache_clear()
    return opening.state_ledger(state)


class Agency:
    """An agency with a state folder, and a witness elsewhere who knows its keys."""

    def __init__(self, folder: Path) -> None:
        self.state, self.witness, self.request = folder / "state", folder / "witness", folder / "request"
        self.state.mkdir()
        ledger = opened(self.state)
        ledger.set_policy(policy(30))
        ledger.reserve(asks(1))
        signing_key(self.state)
        self.keys = folder / "trusted.json"
        shutil.copy(trusted_keys_place(self.state), self.keys)

    @property
    def cosigned(self) -> Path:
        """The witness's last checkpoint."""
        (place,) = self.witness.glob("*.checkpoint")
        return place

    def ask(self, *, after: bool = True, state: Path | None = None) -> int:
        """Make a checkpoint, and have it cosigned: the exit status of the witness."""
        opening._opened.cache_clear()
        options = ["--after", self.cosigned] if after and self.witness.exists() else []
        assert carry_out("budget checkpoint", [self.request, *options], state or self.state) == DONE
        return self.hand_over()

    def hand_over(self) -> int:
        """Give the witness the request as it is."""
        options = ["--name", "ines", "--keys", str(self.keys)]
        return deniable(["audit", "witness", str(self.request), str(self.witness), *options])


@pytest.fixture
def agency(tmp_path: Path) -> Agency:
    made = Agency(tmp_path)
    assert made.ask() == DONE
    return made


@pytest.fixture
def watched(agency: Agency, monkeypatch: pytest.MonkeyPatch) -> Agency:
    """An agency that asks its last checkpoint before each charge."""
    monkeypatch.setenv(CHECKPOINT_VARIABLE, str(agency.cosigned))
    monkeypatch.setenv(WITNESS_VARIABLE, (agency.witness / "witness.pub").read_text().strip())
    return agency


def test_a_ledger_that_goes_on_is_cosigned_and_charged(watched: Agency, capsys: pytest.CaptureFixture[str]) -> None:
    for more in (2, 3):
        opened(watched.state).reserve(asks(more))
        assert watched.ask() == DONE
        assert f"has {more + 2} entries, 1 more than at the last one" in capsys.readouterr().out
    assert (watched.witness / "witness.key").stat().st_mode & 0o077 == 0


def test_a_whole_state_folder_put_back_to_yesterday_is_seen(
    watched: Agency, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(watched.state, tmp_path / "yesterday")
    opened(watched.state).reserve(asks(2))
    assert watched.ask() == DONE
    shutil.rmtree(watched.state)
    shutil.copytree(tmp_path / "yesterday", watched.state)
    # The folder agrees with itself: only the checkpoint shows that something is gone.
    with pytest.raises(LedgerReplaced, match=r"which ends after 3 entries, but had 4 .* put back to an earlier state"):
        opened(watched.state)
    assert carry_out("budget verify", [], watched.state) == DOES_NOT_HOLD
    assert f"as the checkpoint in {CHECKPOINT_VARIABLE} shows" in capsys.readouterr().out
    monkeypatch.delenv(CHECKPOINT_VARIABLE)
    assert carry_out("budget verify", [], watched.state) == DONE
    opened(watched.state)
    assert watched.ask(after=False) == DOES_NOT_HOLD
    assert "THE LEDGER WAS PUT BACK" in capsys.readouterr().out
    assert read_checkpoint(watched.cosigned.read_text()).size == 4


def test_two_copies_of_a_state_folder_are_seen(
    watched: Agency, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    twin = tmp_path / "twin"
    shutil.copytree(watched.state, twin)
    opened(watched.state).reserve(asks(2))
    assert watched.ask() == DONE
    monkeypatch.delenv(CHECKPOINT_VARIABLE)
    opened(twin).reserve(asks(3))
    opened(twin).reserve(asks(4))
    monkeypatch.setenv(CHECKPOINT_VARIABLE, str(watched.cosigned))
    with pytest.raises(LedgerReplaced, match="has others in place of the first 4 entries"):
        opened(twin).reserve(asks(5))
    monkeypatch.delenv(CHECKPOINT_VARIABLE)
    with pytest.raises(LedgerReplaced, match="has others in place of the first 4 entries"):
        watched.ask(state=twin)
    # Its keepers write a request that begins where the witness is, with a proof of their own.
    assert watched.ask(after=False, state=twin) == UNREADABLE
    watched.request.write_text(watched.request.read_text().replace("old 0", "old 4", 1))
    assert watched.hand_over() == DOES_NOT_HOLD
    assert "THERE ARE TWO LEDGERS" in capsys.readouterr().out


def test_a_witness_who_is_absent_or_another_stops_charges(watched: Agency, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = watched.cosigned.read_text()
    other = Ed25519PrivateKey.from_private_bytes(bytes(range(1, 33)))
    (own,) = read_checkpoint(kept).signatures[1:]
    watched.cosigned.write_text(read_checkpoint(kept).cosigned("other", other, 1).text.replace(own.line, ""))
    with pytest.raises(Refused, match=f"must be cosigned with the key in {WITNESS_VARIABLE}"):
        opened(watched.state)
    watched.cosigned.write_text(kept.replace("\n3\n", "\n2\n"))
    with pytest.raises(Refused, match="must be cosigned"):
        opened(watched.state)
    watched.cosigned.write_text("nothing")
    with pytest.raises(InvalidInput, match="a checkpoint must be a signed note"):
        opened(watched.state)
    monkeypatch.setenv(CHECKPOINT_VARIABLE, "/nowhere/checkpoint")
    with pytest.raises(Refused, match="must be a readable file, got /nowhere/checkpoint"):
        opened(watched.state)


def test_a_process_that_knows_its_ledger_asks_each_new_checkpoint(
    watched: Agency, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger, known = opened(watched.state), read_checkpoint(watched.cosigned.read_text())
    ledger.reserve(asks(2))
    monkeypatch.delenv(WITNESS_VARIABLE)
    watched.cosigned.write_text(Checkpoint(known.origin, 2, known.root).signed(GOLDEN_KEY).text)
    with pytest.raises(LedgerReplaced, match="has others in place of the first 2 entries"):
        ledger.reserve(asks(3))


def test_a_ledger_goes_on_only_so_far_without_its_witness(watched: Agency, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(UNWITNESSED_VARIABLE, "1")
    opened(watched.state).reserve(asks(2))
    opened(watched.state).reserve(asks(3))
    with pytest.raises(Refused, match=r"at most 1 entries beyond the last cosigned checkpoint .* got 2; nothing was"):
        opened(watched.state).reserve(asks(4, release="another"))
    assert watched.ask() == DONE
    opened(watched.state).reserve(asks(4, release="another"))
    monkeypatch.setenv(UNWITNESSED_VARIABLE, "many")
    with pytest.raises(InvalidInput, match="must be a number of entries, got many"):
        opened(watched.state).reserve(asks(5, release="a third"))


def test_a_number_without_a_checkpoint_counts_all_entries(agency: Agency, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(UNWITNESSED_VARIABLE, "2")
    with pytest.raises(Refused, match="got 3; nothing was charged"):
        opened(agency.state).check(asks(2, release="another"))
    opened(agency.state).reserve(asks(2))


def test_replays_and_rehearsals_in_scratch_have_no_witness(watched: Agency, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(UNWITNESSED_VARIABLE, "0")
    with scratch_folder(watched.state, "replay") as scratch:
        ledger = opened(scratch)
        ledger.set_policy(policy(30))
        ledger.check(asks(1))
        ledger.reserve(asks(1))
        assert fault_of_ledger(scratch, lambda: kept_lines(ledger_place(scratch))) is None


def test_of_two_requests_at_once_one_is_cosigned(agency: Agency, capsys: pytest.CaptureFixture[str]) -> None:
    (agency.witness / ".lock").touch()
    assert agency.ask() == UNREADABLE
    assert "only one command at a time may work in" in capsys.readouterr().err
    (agency.witness / ".lock").unlink()
    assert agency.ask() == DONE
    assert not (agency.witness / ".lock").exists()


def test_a_file_that_cannot_be_read_or_written_is_named(agency: Agency, tmp_path: Path) -> None:
    picture = tmp_path / "picture"
    picture.write_bytes(b"\x89PNG\xff")
    for wrong in (tmp_path / "nowhere", picture):
        with pytest.raises(Refused, match=f"must be a readable file, got {wrong}"):
            carry_out("budget checkpoint", [agency.request, "--after", wrong], agency.state)
    with pytest.raises(InvalidInput, match="/nowhere"):
        carry_out("budget checkpoint", [Path("/nowhere/request")], agency.state)


def test_no_key_is_made_for_a_request_that_is_none(agency: Agency, tmp_path: Path) -> None:
    agency.request.write_text("nothing")
    agency.witness = tmp_path / "another"
    assert agency.hand_over() == UNREADABLE
    assert list(agency.witness.iterdir()) == []


def test_an_outsider_with_an_export_and_two_checkpoints_sees_the_same(
    agency: Agency, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, export = tmp_path / "first", tmp_path / "export.jsonl"
    shutil.copy(agency.cosigned, first)
    carry_out("budget export", [export], agency.state)
    opened(agency.state).reserve(asks(2))
    assert agency.ask() == DONE
    key = (agency.witness / "witness.pub").read_text().strip()

    def checked(*checkpoints: Path) -> int:
        options = [text for each in checkpoints for text in ("--checkpoint", str(each))]
        return deniable(["audit", "ledger", str(export), *options, "--witness-key", key])

    assert checked(first) == DONE
    assert "the ledger continues the cosigned checkpoint (of 3 entries, cosigned on 2" in capsys.readouterr().out
    assert checked(first, agency.cosigned) == DOES_NOT_HOLD
    assert "the ledger ends after 3 entries, but had 4 when the checkpoint was made" in capsys.readouterr().out
    carry_out("budget export", [export], agency.state)
    assert checked(first, agency.cosigned) == DONE
    agency.cosigned.write_text(agency.cosigned.read_text().replace("ines", "inez"))
    assert checked(agency.cosigned) == DOES_NOT_HOLD
    assert "it is not cosigned with the given key" in capsys.readouterr().out
    assert deniable(["audit", "ledger", str(export), "--checkpoint", str(first), "--witness-key", "x"]) == UNREADABLE


def test_a_witness_cosigns_nothing_that_the_agency_has_not_signed(
    agency: Agency, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    opened(agency.state).reserve(asks(2))
    carry_out("budget checkpoint", [agency.request, "--after", agency.cosigned], agency.state)
    text = agency.request.read_text()
    for other in (text.replace("\n4\n", "\n5\n"), text.replace("old 3", "old 2"), text[:-20] + "\n", "old 3\n\n", ""):
        agency.request.write_text(other)
        assert agency.hand_over() == UNREADABLE
    assert read_checkpoint(agency.cosigned.read_text()).size == 3
    agency.keys.unlink()
    assert agency.hand_over() == UNREADABLE
    capsys.readouterr()


def test_notes_have_the_published_form() -> None:
    """C2SP signed-note and tlog-checkpoint: three lines, an empty one, and signatures after an em dash."""
    plain = Checkpoint(origin_of("a1" * 32), 2, root_of([leaf(b"a"), leaf(b"b")]))
    checkpoint = plain.signed(GOLDEN_KEY)
    cosigned = checkpoint.cosigned("witness.example", GOLDEN_KEY, 1_700_000_000)
    body, signatures = cosigned.text.split("\n\n")
    assert body.split("\n")[:2] == ["deniable/ledger/" + "a1" * 16, "2"]
    assert [line.split(" ")[:2] for line in signatures.splitlines()] == [
        ["\u2014", "deniable/ledger/" + "a1" * 16],
        ["\u2014", "witness.example"],
    ]
    assert read_checkpoint(cosigned.text) == cosigned
    public = GOLDEN_KEY.public_key()
    assert cosigned.is_signed_by(public)
    assert cosigned.cosigned_at(public) == 1_700_000_000
    assert checkpoint.cosigned_at(public) is None
    by_log, by_witness = (each.data for each in cosigned.signatures)
    public.verify(by_log[4:], f"{body}\n".encode())
    public.verify(by_witness[12:], f"cosignature/v1\ntime 1700000000\n{body}\n".encode())
    assert by_witness[4:12] == (1_700_000_000).to_bytes(8, "big")
    assert by_log[:4] == sha256(plain.origin.encode() + b"\n\x01" + public.public_bytes_raw()).digest()[:4]
    assert by_witness[:4] == sha256(b"witness.example\n\x04" + public.public_bytes_raw()).digest()[:4]
    assert read_verifier_key(verifier_key("witness.example", public)).public_bytes_raw() == public.public_bytes_raw()
    with pytest.raises(InvalidInput, match="no blanks and no plus sign"):
        verifier_key("a b", public)
    with pytest.raises(InvalidInput, match="must be the line"):
        read_verifier_key(verifier_key("witness.example", public)[:-4] + "AAA=")
    with pytest.raises(InvalidInput, match="must begin with `old`"):
        read_request("new 3\n\n" + cosigned.text)
