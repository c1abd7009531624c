"""Runs the tests of generated mutants, and keeps the outcomes."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from queue import Queue
from shutil import copy2
from tempfile import TemporaryDirectory
from typing import Any, Literal

from tests.mutants.generated.choosing import ELSEWHERE, FILES, FOLDERS, RECORDED, Reached
from tests.mutants.generated.core import MECHANISMS
from tests.mutants.generated.generating import Generated
from tests.mutants.mutant import ROOT
from tests.mutants.running import Copy, Preloaded, surroundings

OUTCOMES = "tests/mutants/generated/outcomes.jsonl"
"""The last outcome of each mutant, with the commit: the figures of the page, and the test to begin with."""
REACHED = "var/mutants/reached.json"
_EXTENT = "merge"
"""What `make test` draws: what these tests find, nobody can merge."""
_FAILED = 1
_TOO_LONG = (-signal.SIGXCPU, -signal.SIGKILL)
_LEAST_S = 20
_TIMES = 10
"""A mutant that takes so many times longer than its tests take, and 20 seconds more, does not end."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What came of a mutant.

    Attributes:
        name: the mutant's.
        outcome: a test failed, its tests did not end, all of them passed, or no test runs the function.
        test: the first test that failed.
        seconds: processor time.
        commit: the tested commit.
    """

    name: str
    outcome: Literal["killed", "endless", "alive", "unreached"]
    test: str
    seconds: float
    commit: str

    @property
    def is_killed(self) -> bool:
        """Whether a test noticed it."""
        return self.outcome in {"killed", "endless"}


class Trial:
    """A copy of the checkout with processes that run tests of it.

    Args:
        copy: the copy.
        processes: how many mutants to try at a time.
        steps: whether to load what tests of steps load, which takes a few seconds once.
    """

    def __init__(self, copy: Copy, processes: int, *, steps: bool = False) -> None:
        self._free: Queue[Preloaded] = Queue()
        loaded = ["--steps"] if steps else []
        self._all = [Preloaded(copy.root, *loaded, extent=_EXTENT) for _ in range(processes)]
        for each in self._all:
            self._free.put(each)

    def outcomes(
        self, mutants: Sequence[Generated], reached: Reached, before: Mapping[str, Outcome], commit: str
    ) -> Iterator[Outcome]:
        """Try mutants, several at a time; the outcomes come in their order."""

        def tried(mutant: Generated) -> Outcome:
            process = self._free.get()
            try:
                return replace(self._tried(process, mutant, reached, before.get(mutant.name)), commit=commit)
            finally:
                self._free.put(process)

        with ThreadPoolExecutor(len(self._all)) as pool:
            yield from pool.map(tried, mutants)

    def close(self) -> None:
        """End the processes."""
        for each in self._all:
            each.end()

    def _tried(self, process: Preloaded, mutant: Generated, reached: Reached, before: Outcome | None) -> Outcome:
        """Run the test that found it the last time, and if that passes, all of them, the fastest first."""
        made = partial(Outcome, name=mutant.name, commit="")
        stages = reached.stages(mutant)
        seconds = 0.0
        again = [before.test] if before is not None and _is_there(before.test) else []
        for tests in [*([again] if again else []), *stages]:
            answer, test = self._run(process, mutant, tests, reached.seconds(tests))
            seconds = round(seconds + answer["seconds"], 1)
            if answer["code"] in _TOO_LONG:
                return made(outcome="endless", test=tests[0], seconds=seconds)
            # A test that was found there before may have lost its parameters: that is no failure.
            if answer["code"] == _FAILED or (answer["code"] != 0 and tests is not again):
                return made(outcome="killed", test=test or tests[0], seconds=seconds)
        return made(outcome="alive" if stages or again else "unreached", test="", seconds=seconds)

    def _run(
        self, process: Preloaded, mutant: Generated, tests: Sequence[str], expected: float
    ) -> tuple[dict[str, float], str]:
        """Exit code and processor seconds, and the name of the first test that failed."""
        with TemporaryDirectory(prefix="deniable-mutant-") as folder:
            failed = Path(folder) / "failed"
            request = {
                "arguments": ["-p", "no:cacheprovider", "-x", *tests],
                "said": str(Path(folder) / "said"),
                "compiled": folder if mutant.is_kernel else "",
                "file": mutant.file,
                "source": mutant.mutated(),
                "limit": round(_LEAST_S + _TIMES * expected),
                "failed": str(failed),
            }
            answer = process.ask(request)
            if answer is None:
                return {"code": -signal.SIGKILL, "seconds": float(request["limit"])}, ""
            said = failed.read_text(encoding="utf-8").splitlines() if failed.is_file() else []
            return answer, said[0] if said else ""


def _is_there(test: str) -> bool:
    file, _, name = test.partition("::")
    path = ROOT / file
    return path.is_file() and f"def {name.partition('[')[0]}(" in path.read_text(encoding="utf-8")


def read_outcomes() -> dict[str, Outcome]:
    """The recorded outcomes."""
    path = ROOT / OUTCOMES
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    return {each.name: each for line in lines if line for each in [Outcome(**json.loads(line))]}


def write_outcomes(outcomes: Mapping[str, Outcome], mutants: Iterable[Generated]) -> None:
    """Write the outcomes of mutants that there are, a line each, in their order."""
    kept = [outcomes[each.name] for each in mutants if each.name in outcomes]
    text = "".join(json.dumps(asdict(each)) + "\n" for each in kept)
    whole = (ROOT / OUTCOMES).with_suffix(".new")
    whole.write_text(text, encoding="utf-8")
    whole.replace(ROOT / OUTCOMES)


def small_copy(folder: Path) -> Copy:
    """Copy what unit tests of the mathematics need."""
    copied = (".py", ".json", ".toml")
    for path in (ROOT / "pyproject.toml", *(ROOT / "deniable").rglob("*"), *(ROOT / "tests").rglob("*")):
        if path.is_file() and (path.suffix in copied or path.parent.name == "__pycache__"):
            target = folder / path.relative_to(ROOT)
            target.parent.mkdir(parents=True, exist_ok=True)
            copy2(path, target)
    return Copy(folder)


def made_copy(folder: Path) -> Copy:
    """Copy the checkout, with the bytecode and the compiled kernels that belong to its files."""
    copy = Copy.make(folder)
    for path in (*ROOT.glob("deniable/**/__pycache__/*"), *ROOT.glob("[fist]*/**/__pycache__/*")):
        target = folder / path.relative_to(ROOT)
        if path.is_file() and target.parent.parent.is_dir():
            target.parent.mkdir(exist_ok=True)
            copy2(path, target)
    return copy


def reached_now(copy: Copy) -> Reached:
    """What each test runs: tests that are new or were changed are run, and all of them if the sources were.

    Raises:
        SystemExit: a test fails on the sources as they are.
    """
    path = ROOT / REACHED
    sources = _digest(sorted({part.file for parts in MECHANISMS.values() for part in parts}))
    files = {file: _digest([file]) for file in _test_files()}
    document = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    if document.get("sources") != sources:
        document = {"sources": sources, "files": {}, "functions": [], "tests": {}}
    changed = [file for file, digest in files.items() if document["files"].get(file) != digest]
    if changed:
        print(f"Running the tests of {len(changed)} files, to learn which functions they run ...", flush=True)
        document = _merged(document, _traced(copy, changed), files)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(document), encoding="utf-8")
    return Reached.from_document(document)


def _merged(old: dict[str, Any], new: dict[str, Any], files: Mapping[str, str]) -> dict[str, Any]:
    """What was known, with what was learnt in its place."""
    functions = list(dict.fromkeys([*old["functions"], *new["functions"]]))
    place = {function: number for number, function in enumerate(functions)}
    traced = {test.partition("::")[0] for test in new["tests"]} | set(new["files"])
    tests = {
        test: [seconds, [place[document["functions"][number]] for number in numbers]]
        for document in (old, new)
        for test, (seconds, numbers) in document["tests"].items()
        if (document is new or test.partition("::")[0] not in traced) and test.partition("::")[0] in files
    }
    return {"sources": old["sources"], "files": dict(files), "functions": functions, "tests": tests}


def _traced(copy: Copy, files: Sequence[str]) -> dict[str, Any]:
    """Run test files, little of each, and note what they run."""
    written = copy.root / "reached.json"
    left_out = [f"--deselect={each}" for each in RECORDED]
    plugin = "tests.mutants.generated.reach"
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", plugin, "-p", "no:cacheprovider", *left_out, *files],
        cwd=copy.root,
        env=surroundings("quick") | {"REACHED": str(written)},
        capture_output=True,
        check=False,
        text=True,
    )
    if done.returncode != 0:
        sys.exit(f"{done.stdout[-3000:]}{done.stderr[-500:]}\nthese tests must pass on the sources as they are.")
    return {**json.loads(written.read_text(encoding="utf-8")), "files": list(files)}


def _test_files() -> list[str]:
    found = [str(path.relative_to(ROOT)) for folder in FOLDERS for path in sorted((ROOT / folder).glob("test_*.py"))]
    return [file for file in (*found, *FILES) if file not in ELSEWHERE and file not in RECORDED]


def _digest(files: Sequence[str]) -> str:
    return sha256(b"\0".join((ROOT / file).read_bytes() for file in files)).hexdigest()
