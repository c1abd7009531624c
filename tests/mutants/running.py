"""Runs tests on copies of the checkout, with and without a fault; the checkout itself is never written to."""

import json
import os
import select
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from xml.etree import ElementTree as ET

from tests.mutants.mutant import ROOT, Mutant

PROCESSES = 2
LIMIT_S = 600
"""A mutant whose test takes longer was not found by it."""
_FAILED = 1
_OURS = ("PYTHON", "PYTEST", "NUMBA")
_PLAIN = ("-p", "no:cacheprovider")


@dataclass(frozen=True)
class Outcome:
    """The outcome of a mutant.

    Attributes:
        mutant: the mutant.
        killed: whether its test failed.
        seconds: processor time of the test, but for loading the libraries.
        said: the end of what the test run said.
    """

    mutant: Mutant
    killed: bool
    seconds: float
    said: str


@dataclass(frozen=True)
class Copy:
    """A copy of the checkout's source files, into which faults are put one after the other."""

    root: Path

    @classmethod
    def make(cls, root: Path) -> "Copy":
        """Copy all source files, including those that are not committed yet."""
        command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, text=True).stdout
        for name in listed.split("\0"):
            if name and (ROOT / name).is_file():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, root / name)
        return cls(root)

    def again(self, root: Path) -> "Copy":
        """The same once more, with all that was compiled: what is compiled is known by its source's time."""
        shutil.copytree(self.root, root, dirs_exist_ok=True)
        return Copy(root)

    def require_own_sources(self) -> None:
        """Stop unless the tests import the copy and not the checkout.

        Raises:
            RuntimeError: they import the checkout.
        """
        asked = "import deniable, tasks; print(deniable.__file__, tasks.__file__)"
        said = self._python("-c", asked).stdout
        if said.count(str(self.root)) != 2:
            raise RuntimeError(f"tests must import the copy in {self.root}, got {said.strip()}.")

    def unmet(self, tests: Sequence[str]) -> tuple[list[str], str]:
        """The tests that do not pass on the sources as they are, skipped ones included, and what was said."""
        report = self.root / "report.xml"
        spread = ["-p", "xdist.plugin", f"--numprocesses={PROCESSES}", "--dist=loadfile"]
        done = self._python("-m", "pytest", *_PLAIN, f"--junitxml={report}", *spread, *tests)
        if not report.is_file():
            return list(tests), done.stdout + done.stderr
        passed: dict[str, bool] = {}
        for case in ET.parse(report).iter("testcase"):  # noqa: S314 - written by the line above
            test = "/".join(case.get("classname", "").split(".")) + ".py::" + case.get("name", "")
            for name in (test, test.partition("[")[0]):
                passed[name] = passed.get(name, True) and len(case.findall("*")) == 0
        return [test for test in tests if not passed.get(test, False)], done.stdout

    def outcome(self, mutant: Mutant) -> Outcome:
        """Run a mutant's test with the fault in place."""
        with self._with(mutant), TemporaryDirectory(prefix="deniable-mutant-") as folder:
            said = Path(folder) / "said"
            # Compiled code may depend on what is mutated, and does not know.
            compiled = folder if mutant.compiled else ""
            request = {"arguments": [*_PLAIN, "-x", mutant.test], "said": str(said), "compiled": compiled}
            answer = self._preloaded.ask(request)
            if answer is None:
                return Outcome(mutant, killed=False, seconds=LIMIT_S, said=f"took over {LIMIT_S} seconds")
            text = said.read_text(encoding="utf-8")[-2000:]
        return Outcome(mutant, killed=answer["code"] == _FAILED, seconds=answer["seconds"], said=text)

    @cached_property
    def _preloaded(self) -> "Preloaded":
        return Preloaded(self.root)

    def close(self) -> None:
        """End what was started."""
        self._preloaded.end()

    @contextmanager
    def _with(self, mutant: Mutant) -> Iterator[None]:
        """Put a fault into the copy and take it out again."""
        path = self.root / mutant.file
        state = path.stat()
        source = path.read_text(encoding="utf-8")
        try:
            path.write_text(mutant.mutated(source), encoding="utf-8")
            yield
        finally:
            path.write_text(source, encoding="utf-8")
            # What was compiled of the true source stays good.
            os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))

    def _python(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [sys.executable, *arguments],
            cwd=self.root,
            env=surroundings(),
            capture_output=True,
            check=False,
            text=True,
        )


class Preloaded:
    """A process that has loaded the libraries, and forks for each test; a new one after a test that takes too long."""

    def __init__(self, root: Path, *arguments: str, extent: str = "nightly") -> None:
        self._root, self._arguments, self._extent = root, arguments, extent
        self._process = self._start()

    def ask(self, request: dict[str, Any]) -> dict[str, Any] | None:
        """Run tests; exit code and seconds of processor time, or None where it takes too long."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        ready, _, _ = select.select([self._process.stdout], [], [], LIMIT_S)
        if not ready:
            self.end()
            self._process = self._start()
            return None
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        return answer

    def end(self) -> None:
        """End the process and what it forked."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.communicate()

    def _start(self) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [sys.executable, str(self._root / "tests" / "mutants" / "preloaded.py"), *self._arguments],
            cwd=self._root,
            env=surroundings(self._extent),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )


def surroundings(extent: str = "nightly") -> dict[str, str]:
    """The environment, with nothing in it that has to do with Python, and how much tests draw."""
    others = {name: value for name, value in os.environ.items() if not name.startswith(_OURS)}
    return others | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "TESTS": extent}
