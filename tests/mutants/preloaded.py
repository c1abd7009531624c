"""Runs tests in forks of a process that has already loaded the libraries, which takes most of a short test's time.

A script of its own, started in a copy of the checkout. It reads one request a line and answers with one line each.
Nothing of the checkout is loaded before the fork.
"""

import json
import os
import resource
import sys
from contextlib import suppress
from importlib import import_module
from importlib.machinery import SourceFileLoader
from types import CodeType
from typing import Any

import dp_accounting.pld.privacy_loss_distribution
import hypothesis
import numba
import pytest
import scipy.special
import scipy.stats

LOADED = (dp_accounting, hypothesis, scipy)
_OF_STEPS = ("execnet", "pydantic", "pyarrow.parquet", "pandas", "pandera.pandas", "sqlalchemy", "prefect", "mlflow")
"""What tests of steps load, if there is much to run."""
_MOST_BYTES = 12 << 30


def main() -> None:
    """Serve requests until there are no more.

    A request has arguments of pytest, a file for what is said and a folder for kernels. It may have a source file with
    the text to load in its place, processor seconds after which the test is ended, and a file for the name of the first
    test that fails.
    """
    sys.path[0] = os.getcwd()  # noqa: PTH109 - as python -m has it
    if "--steps" in sys.argv:
        for name in _OF_STEPS:
            import_module(name)
    for line in sys.stdin:
        request = json.loads(line)
        child = os.fork()
        if child == 0:
            _run(request)
        _, status, used = os.wait4(child, 0)
        seconds = used.ru_utime + used.ru_stime
        print(json.dumps({"code": os.waitstatus_to_exitcode(status), "seconds": seconds}), flush=True)


def _run(request: dict[str, Any]) -> None:
    """Run pytest and end with its exit code."""
    with open(request["said"], "w", encoding="utf-8") as file:  # noqa: PTH123
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    # Bytecode stays in memory, and compiled code apart, so that none is taken for that of the true source.
    sys.dont_write_bytecode = True
    numba.core.config.CACHE_DIR = request["compiled"]
    # Goes with the file for what is said (tests.made_once).
    os.environ["TESTS_MADE_ONCE"] = os.path.dirname(request["said"])  # noqa: PTH120
    if "source" in request:
        _load_instead(os.path.abspath(request["file"]), request["source"])  # noqa: PTH100
    if "limit" in request:
        resource.setrlimit(resource.RLIMIT_CPU, (request["limit"], request["limit"] + 5))
        with suppress(ValueError):
            resource.setrlimit(resource.RLIMIT_AS, (_MOST_BYTES, _MOST_BYTES))
    code = 3
    try:
        tests = [each for each in request["arguments"] if not each.startswith("-")]
        code = int(pytest.main(request["arguments"], plugins=[_InOrder(tests, request.get("failed", os.devnull))]))
    finally:
        sys.stdout.flush()
        os._exit(code)


def _load_instead(file: str, text: str) -> None:
    """Load a text in place of a source file, which stays as it is: what was compiled of other functions stays good."""
    loaded = SourceFileLoader.get_code

    def get_code(self: SourceFileLoader, fullname: str) -> CodeType | None:
        if self.path == file:
            return compile(text, file, "exec", dont_inherit=True)
        return loaded(self, fullname)

    SourceFileLoader.get_code = get_code  # type: ignore[method-assign]


class _InOrder:
    """Runs tests in the order in which they are given, and notes the first that fails."""

    def __init__(self, tests: list[str], failed: str) -> None:
        self._place = {test: place for place, test in enumerate(tests)}
        self._failed = failed

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        last = len(self._place)
        items.sort(key=lambda item: self._place.get(item.nodeid, self._place.get(item.nodeid.partition("[")[0], last)))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            with open(self._failed, "a", encoding="utf-8") as file:  # noqa: PTH123
                file.write(report.nodeid + "\n")


if __name__ == "__main__":
    main()
