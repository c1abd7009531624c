"""`python -m tests.blind_trial FOLDER KEY`: reports of the prepared releases under neutral names, and which is which.

Whoever judges the pages in FOLDER must not have read KEY, a JSON file that is to be kept elsewhere. Order and names are
drawn anew each time; nothing on a page says how its release was prepared, apart from the attributes of its people.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from random import SystemRandom
from tempfile import TemporaryDirectory

from reports.pages.report import render_report
from tests.prepared_releases import PREPARED, TABLES, prepare


def write_pages(folder: Path, key: Path, names: Sequence[str] = tuple(PREPARED)) -> None:
    """Prepare releases, and write a page for each and the key to all.

    Args:
        folder: where pages are written.
        key: the file that says which page is of which release, and the verdict that it deserves.
        names: the releases.
    """
    draw = SystemRandom()
    folder.mkdir(parents=True, exist_ok=True)
    told = {}
    for number, name in enumerate(draw.sample(list(names), len(names)), 1):
        table, page = draw.choice(TABLES), f"release-{number:02}.html"
        with TemporaryDirectory() as made:
            shown = render_report(prepare(name, table, Path(made)))
        (folder / page).write_text(shown, encoding="utf-8")
        told[page] = {"release": name, "table": table, "verdict": PREPARED[name].verdict}
    key.write_text(json.dumps(told, indent=2), encoding="utf-8")


def main() -> None:
    """Write the pages."""
    parser = argparse.ArgumentParser(prog="python -m tests.blind_trial", description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, help="where pages are written")
    parser.add_argument("key", type=Path, help="the file that says which is which; not in the folder")
    asked = parser.parse_args()
    if asked.key.resolve().is_relative_to(asked.folder.resolve()):
        parser.error(f"the key must be kept apart from the pages, got {asked.key}; name a file elsewhere.")
    write_pages(asked.folder, asked.key)
    sys.stdout.write(f"{len(PREPARED)} pages are in {asked.folder}; which is which is in {asked.key}.\n")


if __name__ == "__main__":
    main()
