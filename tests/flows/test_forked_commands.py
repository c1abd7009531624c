"""A command in a forked process ends as if Python had been started for it, and in time, or its test fails."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.flows.command import environment
from tests.warm import Started, run_module

_WAITS = """
import sys, time

def wait_in_vain(seconds):
    print("begun", file=sys.stderr)
    time.sleep(seconds)

wait_in_vain(float(sys.argv[1]))
"""
_ENDS = """
import atexit, threading
atexit.register(print, "registered functions", flush=True)
threading._register_atexit(print, "threads", flush=True)
"""


def started(folder: Path, seconds: float) -> Started:
    script = folder / "script.py"
    script.write_text(_WAITS)
    return Started(str(script), [str(seconds)], env=environment(folder / "home"), cwd=folder)


def test_a_command_that_does_not_end_in_time_is_ended_and_shows_where_it_was(tmp_path: Path) -> None:
    process = started(tmp_path, 3600)
    with pytest.raises(subprocess.TimeoutExpired, match="wait_in_vain"):
        process.communicate(timeout=2)
    assert process.poll() is not None


def test_one_that_ends_in_time_is_waited_for(tmp_path: Path) -> None:
    assert started(tmp_path, 0.1).communicate(timeout=60) == (None, "begun\n")


def test_its_threads_end_before_registered_functions_as_in_a_command_of_its_own(tmp_path: Path) -> None:
    """Otherwise Prefect waits ten minutes for a server that such a function has stopped."""
    script = tmp_path / "script.py"
    script.write_text(_ENDS)
    done = run_module(str(script), [], env=environment(tmp_path / "home"), cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "threads\nregistered functions\n")
    assert subprocess.run([sys.executable, script], capture_output=True, text=True, check=True).stdout == done.stdout
