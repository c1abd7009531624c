"""`python -m tests.mutants.generated [WORD ...]`: put the generated faults, one at a time, in place of the sources.

A run that is interrupted goes on where it stopped, unless a source or a test was changed.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.mutants.generated.equivalents import equivalent
from tests.mutants.generated.generating import Generated, mutants
from tests.mutants.generated.scores import HEADING, section, table
from tests.mutants.generated.trying import (
    OUTCOMES,
    Outcome,
    Trial,
    made_copy,
    reached_now,
    read_outcomes,
    write_outcomes,
)
from tests.mutants.mutant import ROOT
from tests.mutants.record import RECORD, with_section

_BEGUN = ROOT / "var/mutants/begun.jsonl"


def main() -> None:
    """Try mutants; exit with status 1 if one is alive that is not known to be equivalent."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants.generated", description=__doc__)
    parser.add_argument("words", nargs="*", metavar="WORD", help="only mutants with one of these words in their rows")
    parser.add_argument("--list", action="store_true", help="list them, with their last outcomes, and try none")
    parser.add_argument("--alive", action="store_true", help="only those that no test found the last time")
    parser.add_argument("--untried", action="store_true", help="only those that were never tried, and have no proof")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1, help="how many at a time")
    parser.add_argument("--record", action="store_true", help=f"keep the outcomes ({OUTCOMES}) and write {RECORD}")
    given = parser.parse_args()
    before = read_outcomes()
    chosen = [each for each in mutants() if _is_chosen(given, each, before.get(each.name))]
    if given.list:
        for each in chosen:
            print(f"{_row(each)}\n    {said(each)}")
        return
    if chosen:
        before |= _tried(chosen, before, given.processes)
    if given.record:
        write_outcomes(before, mutants())
        written = (ROOT / RECORD).read_text(encoding="utf-8")
        (ROOT / RECORD).write_text(with_section(written, HEADING, section(mutants(), before)), encoding="utf-8")
    print(table(mutants(), before))
    alive = [
        each for each in chosen if each.name in before and not before[each.name].is_killed and not equivalent(each)
    ]
    for each in alive:
        print(f"\nALIVE: {_row(each)}\n{said(each)}")
    print(f"{len(chosen) - len(alive)} of {len(chosen)} mutants killed or equivalent.")
    sys.exit(1 if alive else None)


def _is_chosen(given: argparse.Namespace, mutant: Generated, before: Outcome | None) -> bool:
    if given.words and not any(word in _row(mutant) for word in given.words):
        return False
    if given.untried:
        return before is None and not equivalent(mutant)
    if given.alive:
        return before is not None and not before.is_killed and not equivalent(mutant)
    return True


def _tried(chosen: Sequence[Generated], before: dict[str, Outcome], processes: int) -> dict[str, Outcome]:
    """Try mutants; those that this run has tried before it was interrupted are not tried again."""
    state, commit = _state(), _commit()
    _BEGUN.parent.mkdir(parents=True, exist_ok=True)
    lines = _BEGUN.read_text(encoding="utf-8").splitlines() if _BEGUN.is_file() else []
    if not lines or json.loads(lines[0]) != {"state": state}:
        lines = [json.dumps({"state": state})]
        _BEGUN.write_text(lines[0] + "\n", encoding="utf-8")
    done = {each.name: each for line in lines[1:] for each in [Outcome(**json.loads(line))]}
    left = [each for each in chosen if each.name not in done]
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="deniable-mutants-"))).resolve()
        copy = made_copy(folder)
        copy.require_own_sources()
        reached = reached_now(copy)
        trial = Trial(copy, processes, steps=True)
        stack.callback(trial.close)
        file = stack.enter_context(_BEGUN.open("a", encoding="utf-8"))
        for number, (mutant, outcome) in enumerate(
            zip(left, trial.outcomes(left, reached, before, commit), strict=True), 1
        ):
            file.write(json.dumps(asdict(outcome)) + "\n")
            file.flush()
            done[mutant.name] = outcome
            print(f"{number}/{len(left)} {outcome.outcome:9} {outcome.seconds:5.1f} s  {_row(mutant)}", flush=True)
    return {each.name: done[each.name] for each in chosen}


def _row(mutant: Generated) -> str:
    place = f"{mutant.file}:{mutant.line} {mutant.function}"
    return f"{mutant.name} {mutant.mechanism} {place}: {mutant.kind}: {mutant.breaks}"


def said(mutant: Generated) -> str:
    """What is replaced by what, on one line."""
    return f"{' '.join(mutant.before.split())}  ->  {' '.join(mutant.after.split())}"


def _state() -> str:
    """A digest of everything that decides an outcome."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "deniable", "schemas", "stores"]
    listed = subprocess.run([*command, "tasks", "tests"], cwd=ROOT, capture_output=True, check=True, text=True).stdout
    hashed = sha256()
    for name in sorted(listed.split("\0")):
        if name.endswith(".py") and (ROOT / name).is_file():
            hashed.update(name.encode() + b"\0" + (ROOT / name).read_bytes() + b"\0")
    return hashed.hexdigest()


def _commit() -> str:
    command = ["git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, check=True, text=True).stdout.strip()


if __name__ == "__main__":
    main()
