"""The processes of pytest, forked from one that has imported all tests.

Each of them would otherwise need ten core seconds to import them, and twenty in a new checkout.
"""

import os
import shlex
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from execnet import XSpec

from tests.made_once import FOLDER

_FORKED = Path(__file__).with_name("forked.py")


def fork_workers(config: pytest.Config, specs: list[XSpec]) -> None:
    """Start a process that imports all tests, and make pytest-xdist fork its processes from it.

    Args:
        config: of the controlling process.
        specs: those of the processes that pytest-xdist is about to start.
    """
    address = str(FOLDER / "workers")
    collected = [*config.args, *(f"--ignore={path}" for path in config.option.ignore or ())]
    wanted, _held = os.pipe()  # open until this process ends
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen()
        given = (listener.fileno(), wanted)
        subprocess.Popen(
            [sys.executable, "-m", "tests.workers", *map(str, given), *collected],
            cwd=config.invocation_params.dir,
            pass_fds=given,
        )
    os.close(wanted)
    for spec in specs:
        spec.python = shlex.join([sys.executable, "-IS", str(_FORKED), address])
