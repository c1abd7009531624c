"""Whatever is in the place of a file of the state folder is refused in one sentence, and nothing waits for it."""

import os
import signal
import socket
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from deniable.foundation.errors import DeniableError
from flows.prefect_runs.run_ends import RunEnd, keep_end, kept_end
from infra.environment import _stack
from infra.stack.settings import Stack
from stores import own_files
from stores.keys.dataset_key import dataset_to_itself
from stores.keys.trust_file import read_trusted_keys, trusted_keys_place
from stores.ledger.anchor import Anchor
from stores.ledger.ledger import Ledger
from stores.own_files import NotOurFile, own_descriptor, read_own, require_own_folder
from stores.releases.resumable_releases import find_release
from stores.vault.lease import leased, turn
from stores.vault.pending_approval import held_notes
from stores.vault.private_files import keep_error
from stores.vault.workspace import file_digest

RELEASE = "small-20261122T110111Z"


def within(work: Callable[[Path], Any]) -> Callable[[Path], None]:
    """Enter a context."""

    def enter(state: Path) -> None:
        with work(state):
            pass

    return enter


# The file, and what reads or changes it.
FILES: dict[str, Callable[[Path], object]] = {
    f"vault/{RELEASE}/release.json": lambda state: find_release(state, RELEASE),
    f"vault/{RELEASE}/held.json": held_notes,
    f"vault/{RELEASE}/lease": within(lambda state: leased(state / "vault" / RELEASE)),
    "locks/people.lock": within(lambda state: turn(state, "people")),
    "locks/.run-1.end": lambda state: kept_end(state, 1),
    "ledger-anchor.jsonl": lambda state: Anchor(state).lines(),
    "ledger.db": lambda state: Ledger.open(state / "ledger.db"),
    "keys/trusted.json": lambda state: read_trusted_keys(trusted_keys_place(state)),
    "keys/dataset-people.key": within(lambda state: dataset_to_itself(state, "people")),
    "stack/environment.json": _stack,
    "stack/secrets.json": lambda state: Stack(state).secrets,
    "prefect/prefect.db": lambda state: require_own_folder(state / "prefect"),
    f"releases/{RELEASE}/schema.json": lambda state: file_digest(state / "releases" / RELEASE / "schema.json"),
}


def _make_socket(place: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        here = os.open(place.parent, os.O_RDONLY)
        try:
            made.bind(f"/proc/self/fd/{here}/{place.name}")  # a socket's own name may only be short
        finally:
            os.close(here)


KINDS: dict[str, Callable[[Path], object]] = {
    "a pipe": os.mkfifo,
    "a socket": _make_socket,
    "a folder": Path.mkdir,
}


@pytest.fixture(autouse=True)
def _no_waiting() -> Iterator[None]:
    """End a test that waits for a pipe."""
    before = signal.signal(signal.SIGALRM, _give_up)
    signal.alarm(60)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def _give_up(*_: object) -> None:
    raise AssertionError("it waits")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", FILES)
def test_what_is_no_file_is_refused_in_one_sentence_and_not_waited_for(name: str, kind: str, tmp_path: Path) -> None:
    place = tmp_path / name
    place.parent.mkdir(parents=True, exist_ok=True)
    if (name, kind) == ("prefect/prefect.db", "a folder"):
        return  # Prefect's and MLflow's folders have folders, which they open as such
    KINDS[kind](place)
    with pytest.raises(DeniableError) as refused:
        FILES[name](tmp_path)
    assert str(place) in str(refused.value)
    assert str(refused.value).endswith(".")


@pytest.mark.parametrize("target", ["file", "/dev/zero"])
def test_a_link_is_not_followed(target: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("{}")
    (tmp_path / "note.json").symlink_to(target)
    for flags in (os.O_RDONLY, os.O_RDWR | os.O_CREAT):
        with pytest.raises(NotOurFile, match=r"note\.json must be a regular file of the state folder, and is a link"):
            own_descriptor(tmp_path / "note.json", flags)


def test_a_file_is_not_larger_than_its_reader_expects(tmp_path: Path) -> None:
    place = tmp_path / "note.json"
    with place.open("wb") as file:
        file.truncate(2**40)
    with pytest.raises(NotOurFile, match=r"must have at most 268,435,456 bytes, and has 1,099,511,627,776"):
        read_own(place)
    place.write_bytes(b"1234")
    assert read_own(place, 4) == b"1234"
    with pytest.raises(NotOurFile, match="at most 3 bytes, and has 4"):
        read_own(place, 3)


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_a_file_that_others_may_change_is_refused(mode: int, tmp_path: Path) -> None:
    place = tmp_path / "note.json"
    place.write_text("{}")
    place.chmod(mode)
    with pytest.raises(NotOurFile, match=rf"must not be writable by other accounts, and is \(mode {mode:04o}\)"):
        read_own(place)
    os.close(own_descriptor(place, os.O_RDONLY, sets_mode=True))


def test_a_file_of_another_account_is_refused_unless_its_folder_is_that_accounts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "note.json"
    place.write_text("{}")
    owner = place.stat().st_uid

    def require(uid: int) -> None:
        status = SimpleNamespace(st_mode=stat.S_IFREG | 0o600, st_uid=uid)
        own_files._require(cast("os.stat_result", status), place, sets_mode=False)

    require(owner)
    with pytest.raises(NotOurFile, match=rf"belongs to another one \(number {owner + 1}\)"):
        require(owner + 1)
    # An auditor reads a copy of another account's folder.
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    require(owner)


def test_what_is_written_replaces_a_pipe(tmp_path: Path) -> None:
    (tmp_path / "locks").mkdir()
    os.mkfifo(tmp_path / "locks" / ".run-1.end")
    keep_end(tmp_path, 1, RunEnd(type="FAILED", name="Failed", message="it failed"))
    assert kept_end(tmp_path, 1) == RunEnd(type="FAILED", name="Failed", message="it failed", finished=[])
    os.mkfifo(tmp_path / "last-error.txt")
    keep_error(ValueError("of a row"), tmp_path / "last-error.txt")
    assert "of a row" in read_own(tmp_path / "last-error.txt").decode()
