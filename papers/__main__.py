"""`python -m papers NUMBER ...`: run papers again, and write their tables, pictures and pages."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from time import process_time

from deniable.foundation.errors import InvalidInput
from papers.registry import PAPERS, paper_of
from papers.running import run
from papers.writing import PAGES, ROOT, commit_of_this_run, write_page, write_results


def main(arguments: Sequence[str] | None = None) -> int:
    """Run papers.

    Returns:
        0 if every expectation holds, 1 otherwise; data that cannot be read end the program with one sentence.
    """
    parser = argparse.ArgumentParser(prog="python -m papers", description=__doc__)
    parser.add_argument("numbers", nargs="*", metavar="NUMBER", help=f"{', '.join(PAPERS)} (default: all)")
    parser.add_argument("--to", type=Path, default=ROOT / "var/papers", metavar="FOLDER", help="folder of the results")
    parser.add_argument(
        "--pages", type=Path, default=PAGES, metavar="FOLDER", help="folder of the documentation's pages"
    )
    asked = parser.parse_args(arguments)
    unknown = [number for number in asked.numbers if number not in PAPERS]
    if unknown:
        parser.error(f"there is no paper {unknown[0]} here; name one of {', '.join(PAPERS)}.")
    commit, failed = commit_of_this_run(), 0
    for number in asked.numbers or PAPERS:
        paper = paper_of(number)
        try:
            missing = paper.stand_in()
        except InvalidInput as error:
            parser.error(str(error))
        if missing:
            _say(f"{number}: {missing}")
        began = process_time()
        parts = run(paper, _say)
        spent = process_time() - began
        write_results(paper, parts, asked.to / number, commit, spent)
        in_time = paper.in_time(spent)
        if not in_time.holds:
            _say(f"  NOT AS EXPECTED: {in_time.words}")
        missed = sum(not check.holds for check in (in_time, *(check for part in parts for check in part.checks)))
        _say(f"  {spent:.0f} s of CPU time")
        _say(f"  tables, figures and page: {asked.to / number}")
        if missed:
            failed += missed
            _say(f"  {missed} expectations do not hold; the page of the documentation is unchanged")
            continue
        if missing:
            _say("  the page of the documentation is unchanged, because it is about real data")
            continue
        write_page(paper, parts, asked.pages, commit, spent)
        _say(f"  page of the documentation: {asked.pages / number}.md")
    return 1 if failed else 0


def _say(line: str) -> None:
    print(line, flush=True)  # noqa: T201 - a command


if __name__ == "__main__":
    sys.exit(main())
