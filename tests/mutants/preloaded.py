"""Runs tests in forks of a process that has already loaded the libraries, which takes most of a short test's time.

A script of its own, started in a copy of the checkout. It reads one request a line and answers with one line each.
Nothing of the checkout is loaded before the fork.
"""

import json
import os
import sys

import dp_accounting.pld.privacy_loss_distribution
import hypothesis
import numba
import pytest
import scipy.special
import scipy.stats

LOADED = (dp_accounting, hypothesis, scipy)


def main() -> None:
    """Serve requests until there are no more: arguments of pytest, a file for what is said, a folder for kernels."""
    sys.path[0] = os.getcwd()  # noqa: PTH109 - as python -m has it
    for line in sys.stdin:
        request = json.loads(line)
        child = os.fork()
        if child == 0:
            _run(request["arguments"], request["said"], request["compiled"])
        _, status, used = os.wait4(child, 0)
        seconds = used.ru_utime + used.ru_stime
        print(json.dumps({"code": os.waitstatus_to_exitcode(status), "seconds": seconds}), flush=True)


def _run(arguments: list[str], said: str, compiled: str) -> None:
    """Run pytest and end with its exit code."""
    with open(said, "w", encoding="utf-8") as file:  # noqa: PTH123
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    # Bytecode stays in memory, and compiled code apart, so that none is taken for that of the true source.
    sys.dont_write_bytecode = True
    numba.core.config.CACHE_DIR = compiled
    code = 3
    try:
        code = int(pytest.main(arguments))
    finally:
        sys.stdout.flush()
        os._exit(code)


if __name__ == "__main__":
    main()
