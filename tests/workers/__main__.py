"""The process from which those of pytest are forked: `python -m tests.workers LISTENING WANTED TESTS`.

It imports what pytest imports to collect the tests, and forks at every connection to the socket LISTENING. It ends when
nothing holds the other end of the pipe WANTED.
"""

import atexit
import os
import shutil
import signal
import socket
import sys
from multiprocessing import connection
from pathlib import Path

import pytest


def _serve(listening: int, wanted: int, collected: list[str]) -> None:
    """Import the tests, and fork for each connection, until the controlling process has ended."""
    _import_tests(collected)
    if "tests.warm.forking" in sys.modules:
        from tests.warm.forking import start_imports  # noqa: PLC0415 - only if tests need it

        start_imports()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    # Ctrl-C ends the controlling process, and so this one.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with socket.socket(fileno=listening) as listener:
        while wanted not in connection.wait([listener, wanted]):
            asking, _ = listener.accept()
            if not os.fork():
                listener.close()
                os.close(wanted)
                return _work(asking)
            asking.close()
    return None


def _import_tests(collected: list[str]) -> None:
    said = os.dup(1)
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)
    pytest.main(["--collect-only", "-qq", "--numprocesses=0", *collected], plugins=[_Forgetting()])
    sys.stdout.flush()  # into the silence, too: in a pipe, it would be said after the results
    os.dup2(said, 1)
    os.close(said)
    os.close(silence)


class _Forgetting:
    """Forgets modules that cannot be imported, so that every process that collects them again reports them.

    Otherwise pytest would find them among the imported modules, half of them executed, and without a test.
    """

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Forget the module of a report of failure."""
        if report.failed:
            path = (Path.cwd() / report.nodeid.partition("::")[0]).resolve()
            for name, module in [*sys.modules.items()]:
                if getattr(module, "__file__", None) and Path(str(module.__file__)).resolve() == path:
                    del sys.modules[name]


def _work(asking: socket.socket) -> None:
    """Turn this process into one of pytest-xdist's, with a state folder of its own."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    _, given, _, _ = socket.recv_fds(asking, 16, 2)
    for number, descriptor in enumerate(given):
        os.dup2(descriptor, number)
        os.close(descriptor)
    sys.stdin = open(0, closefd=False)  # noqa: SIM115 - as long as the process
    sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
    if "tests.isolation" in sys.modules:
        from tests.isolation import make_state  # noqa: PLC0415 - only if it is there already
        from tests.warm.becoming import read_again  # noqa: PLC0415

        atexit.unregister(shutil.rmtree)  # of the folder of the process that this one was forked from
        make_state()
        read_again()
    # What execnet's processes run: the rest follows on standard input.
    exec("import sys;exec(eval(sys.stdin.readline()))", {"__name__": "__main__"})  # noqa: S102


if __name__ == "__main__":
    _serve(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
