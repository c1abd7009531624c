"""Disks that are mounted for one process, so that commands meet a full or a read-only one."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def mounted(options: str, folder: Path) -> Iterator["subprocess.Popen[str]"]:
    """A process that has mounted a small disk on a folder, which only those see who enter; it lists its files."""
    with _process(f"mount -t tmpfs -o {options} none {folder}", folder) as process:
        yield process


@contextmanager
def read_only(folder: Path) -> Iterator["subprocess.Popen[str]"]:
    """A process for which a folder, with all that is in it, is on a read-only disk."""
    with _process(f"mount --bind {folder} {folder} && mount -o remount,ro,bind {folder}", folder) as process:
        yield process


@contextmanager
def _process(mounting: str, folder: Path) -> Iterator["subprocess.Popen[str]"]:
    if shutil.which("unshare") is None:
        pytest.skip("needs unshare, to mount a small disk for one process")
    user = [] if os.geteuid() == 0 else ["--map-root-user"]
    script = f"{mounting} && echo mounted && read -r done; find {folder} -type f"
    wrapper = ["unshare", *user, "--mount", "sh", "-c", script]
    with subprocess.Popen(wrapper, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        if process.stdout.readline() != "mounted\n":
            pytest.skip("needs the right to mount a small disk for one process")
        yield process
