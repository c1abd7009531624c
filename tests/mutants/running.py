"""Runs tests on copies of the checkout, with and without a fault; the checkout itself is never written to."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from xml.etree import ElementTree as ET

from tests.mutants.mutant import ROOT, Mutant

PROCESSES = 2
LIMIT_S = 600
"""A mutant whose test takes longer was not found by it."""
_FAILED = 1
_OURS = ("PYTHON", "PYTEST", "NUMBA")


@dataclass(frozen=True)
class Outcome:
    """What became of a mutant.

    Attributes:
        mutant: the mutant.
        killed: whether its test failed.
        seconds: how long the test took, from the start of the interpreter.
        said: the end of what the test run said.
    """

    mutant: Mutant
    killed: bool
    seconds: float
    said: str


@dataclass(frozen=True)
class Copy:
    """A copy of the checkout's source files that faults are put into, one after the other."""

    root: Path

    @classmethod
    def make(cls, root: Path) -> "Copy":
        """Copy all source files, those that are not committed yet included."""
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
        done = self._pytest(tests, f"--junitxml={report}", *spread)
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
        begun = monotonic()
        with self._with(mutant), TemporaryDirectory(prefix="deniable-mutant-") as compiled:
            # Bytecode stays in memory, and compiled code apart, so that none is taken for that of the true source.
            surroundings = {"PYTHONDONTWRITEBYTECODE": "1"}
            if mutant.compiled:
                surroundings["NUMBA_CACHE_DIR"] = compiled
            try:
                done = self._pytest([mutant.test], "-x", limit_s=LIMIT_S, **surroundings)
            except subprocess.TimeoutExpired:
                return Outcome(mutant, killed=False, seconds=monotonic() - begun, said=f"took over {LIMIT_S} seconds")
        return Outcome(mutant, done.returncode == _FAILED, monotonic() - begun, (done.stdout + done.stderr)[-2000:])

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

    def _pytest(
        self, tests: Sequence[str], *options: str, limit_s: int | None = None, **surroundings: str
    ) -> "subprocess.CompletedProcess[str]":
        arguments = ["-m", "pytest", "-p", "no:cacheprovider", *options, *tests]
        return self._python(*arguments, limit_s=limit_s, **surroundings)

    def _python(
        self, *arguments: str, limit_s: int | None = None, **surroundings: str
    ) -> "subprocess.CompletedProcess[str]":
        """Python in the copy, with nothing of our own surroundings that has to do with Python but what is given."""
        others = {name: value for name, value in os.environ.items() if not name.startswith(_OURS)}
        return subprocess.run(
            [sys.executable, *arguments],
            cwd=self.root,
            env=others | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"} | surroundings,
            capture_output=True,
            check=False,
            text=True,
            timeout=limit_s,
        )
