"""The guide to adding a kind of column, followed: a copy of the project reads a table with the kind of its page."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from tests.conftest import ROOT

PAGE = (ROOT / "docs" / "developer" / "adding-a-kind-of-column.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```\{code-block\} \w+\n:caption: ([^\n]+)\n\n(.*?)^```$", re.MULTILINE | re.DOTALL)
MODULE, NAMES, ROWS = "schemas/kinds/weekdays.py", "schemas/table.py", "tests/contracts/test_every_kind_of_column.py"


def test_a_kind_that_was_added_as_the_page_says_keeps_the_contract(tmp_path: Path) -> None:
    blocks = dict(BLOCK.findall(PAGE))
    assert set(blocks) == {MODULE, NAMES, ROWS}
    for room in ("schemas", "tests"):
        shutil.copytree(ROOT / room, tmp_path / room, ignore=shutil.ignore_patterns("__pycache__", "golden", "vectors"))
    (tmp_path / MODULE).write_text(blocks[MODULE], encoding="utf-8")
    names = (tmp_path / NAMES).read_text(encoding="utf-8")
    following = "from schemas.plain_text import"
    assert names.count(following) == names.count('    "table",\n]') == 1
    names = names.replace(following, blocks[NAMES] + following)
    names = names.replace('    "table",\n]', '    "table",\n    "weekday",\n]')
    (tmp_path / NAMES).write_text(names, encoding="utf-8")
    rows = (tmp_path / ROWS).read_text(encoding="utf-8")

    rows = rows.replace("    table,\n)", "    table,\n    weekday,\n)")
    rows = rows.replace("ROWS = {\n", "ROWS = {\n" + blocks[ROWS])
    (tmp_path / ROWS).write_text(rows, encoding="utf-8")
    path = os.pathsep.join([str(tmp_path), str(ROOT)])
    options = ["-vv", "--noconftest", "-p", "no:cacheprovider", "-p", "no:xdist", "--rootdir", str(tmp_path)]
    followed = subprocess.run(
        [sys.executable, "-m", "pytest", *options, ROWS],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert followed.returncode == 0, followed.stdout
    assert followed.stdout.count("[weekday]") == 3
