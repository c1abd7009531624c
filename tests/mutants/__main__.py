"""`python -m tests.mutants [WORD ...]`: put each fault of the table into a copy of the sources and run its test."""

import argparse
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from queue import Queue
from tempfile import TemporaryDirectory

from tests.mutants.generated.scores import HEADING
from tests.mutants.mutant import ROOT, Mutant
from tests.mutants.record import RECORD, section_of, with_section, written
from tests.mutants.running import PROCESSES, Copy, Outcome
from tests.mutants.table import EQUIVALENT, MUTANTS


def main() -> None:
    """Run the requested mutants; exit with status 1 if any survives or cannot be tried."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("words", nargs="*", metavar="WORD", help="only mutants with one of these words in their rows")
    parser.add_argument("--record", action="store_true", help=f"write {RECORD}, where all were tried and killed")
    given = parser.parse_args()
    chosen = [mutant for mutant in MUTANTS if not given.words or any(word in str(mutant) for word in given.words)]
    if given.record and len(chosen) < len(MUTANTS):
        parser.error("the record is of all mutants: give no WORD with --record.")
    stale = [fault for each in (*chosen, *EQUIVALENT) if (fault := each.fault()) is not None]
    if stale or not chosen:
        sys.exit("\n".join(stale) or "no mutant has any of these words in its row.")
    commit = _commit()
    with ExitStack() as stack:
        folders = [
            Path(stack.enter_context(TemporaryDirectory(prefix="deniable-mutants-"))).resolve()
            for _ in range(PROCESSES)
        ]
        first = Copy.make(folders[0])
        _require_tests(first, chosen)
        copies = [first, *(first.again(folder) for folder in folders[1:])]
        for copy in copies:
            stack.callback(copy.close)
        outcomes = list(_outcomes(copies, chosen))
    survivors = [outcome for outcome in outcomes if not outcome.killed]
    for outcome in survivors:
        print(f"\nSURVIVED: {outcome.mutant.file}: {outcome.mutant.breaks}\n{outcome.mutant.test}\n{outcome.said}")
    print(f"{len(outcomes) - len(survivors)} of {len(outcomes)} mutants killed.")
    if survivors:
        sys.exit(1)
    if given.record:
        text = written(outcomes, EQUIVALENT, datetime.now(UTC).date().isoformat(), commit)
        page = ROOT / RECORD
        generated = section_of(page.read_text(encoding="utf-8"), HEADING)
        page.write_text(with_section(text, HEADING, generated), encoding="utf-8")


def _require_tests(copy: Copy, mutants: Sequence[Mutant]) -> None:
    """Stop unless every named test passes on the unchanged sources."""
    copy.require_own_sources()
    tests = sorted({mutant.test for mutant in mutants})
    unmet, said = copy.unmet(tests)
    if unmet:
        sys.exit(f"{said}\nthese tests must pass on the sources as they are:\n" + "\n".join(unmet))


def _outcomes(copies: Sequence[Copy], mutants: Sequence[Mutant]) -> Iterator[Outcome]:
    """Try mutants on several copies at a time, and return the outcomes in the order of the mutants."""
    free: Queue[Copy] = Queue()
    for copy in copies:
        free.put(copy)

    def tried(mutant: Mutant) -> Outcome:
        copy = free.get()
        try:
            return copy.outcome(mutant)
        finally:
            free.put(copy)

    with ThreadPoolExecutor(len(copies)) as pool:
        for outcome in pool.map(tried, mutants):
            word = "killed" if outcome.killed else "SURVIVED"
            print(f"{word} {outcome.seconds:5.1f} s  {outcome.mutant.file}: {outcome.mutant.breaks}", flush=True)
            yield outcome


def _commit() -> str:
    """Return the short name of the tested commit, marked if files differ from it."""
    command = ["git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, check=True, text=True).stdout.strip()


if __name__ == "__main__":
    main()
