"""A server whose starter is gone ends: cleanly, or at once after a while if its clean end hangs."""

import subprocess
import sys

import pytest

# A server whose clean end takes forever, or that has none to make.
ABANDONED = """
import signal, sys, time
from infra.servers import serving
serving._GRACE_S = 0.2
if sys.argv[1] == "hangs":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
serving.end_when_abandoned()
time.sleep(600)
"""
PATIENCE_S = 120


@pytest.mark.parametrize(("ends", "status"), [("hangs", 1), ("well", -15)])
def test_an_abandoned_server_ends_even_if_its_clean_end_hangs(ends: str, status: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", ABANDONED, ends], stdin=subprocess.DEVNULL, timeout=PATIENCE_S, check=False
    )
    assert done.returncode == status
