"""One process at a time has a file, however the process before it ended, and the content of the file stays."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from stores.locks import lock, locked
from stores.vault.lease import UnderWay, has_died, keep_while_alive

_HOLDER = """
import sys, time
from pathlib import Path
from stores.locks import locked
with locked(Path(sys.argv[1]), wait=False) as is_mine:
    print(is_mine, flush=True)
    time.sleep(float(sys.argv[2]))
"""


def holder(place: Path, seconds: float) -> subprocess.Popen[str]:
    """A process that has the lock, and ends by itself after a while."""
    process = subprocess.Popen(
        [sys.executable, "-c", _HOLDER, str(place), str(seconds)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "True\n"
    return process


def test_a_lock_is_one_processs_until_that_is_killed(tmp_path: Path) -> None:
    place = tmp_path / "lock"
    process = holder(place, 600)
    with locked(place, wait=False) as is_mine:
        assert not is_mine
    process.kill()
    process.wait()
    with locked(place, wait=False) as is_mine:
        assert is_mine


def test_who_waits_gets_the_lock_when_the_other_is_done(tmp_path: Path) -> None:
    place = tmp_path / "lock"
    process = holder(place, 0.5)
    began = time.monotonic()
    with locked(place, wait=True) as is_mine:
        assert is_mine
        assert time.monotonic() - began > 0.1
        process.wait()


def test_what_a_locked_file_holds_stays(tmp_path: Path) -> None:
    place = tmp_path / "lock"
    place.write_text("kept")
    with locked(place, wait=True):
        assert place.read_text() == "kept"
    assert place.read_text() == "kept"


def test_a_folder_can_be_locked(tmp_path: Path) -> None:
    first, second = os.open(tmp_path, os.O_RDONLY), os.open(tmp_path, os.O_RDONLY)
    assert lock(first, wait=True)
    assert not lock(second, wait=False)
    os.close(first)
    assert lock(second, wait=False)
    os.close(second)


def test_what_cannot_be_locked_is_an_error_and_not_somebody_elses(tmp_path: Path) -> None:
    descriptor = os.open(tmp_path, os.O_RDONLY)
    os.close(descriptor)
    with pytest.raises(OSError, match="Bad file descriptor"):
        lock(descriptor, wait=False)


def test_a_second_process_of_a_name_is_refused_and_the_first_lives_on(tmp_path: Path) -> None:
    (tmp_path / "locks").mkdir()
    process = holder(tmp_path / "locks" / "run.lock", 600)
    with pytest.raises(UnderWay, match="another one runs as run"):
        keep_while_alive(tmp_path, "run")
    assert not has_died(tmp_path, "run")
    process.kill()
    process.wait()
    assert has_died(tmp_path, "run")
    assert not has_died(tmp_path, "another")
