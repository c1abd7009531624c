"""The guide to adding a source, followed: the files of its page are read in a copy of the project that lacks them."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.feather
import pytest

from tests.conftest import ROOT

PAGE = (ROOT / "docs" / "developer" / "adding-a-source.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```\{code-block\} \w+\n:caption: ([^\n]+)\n\n(.*?)^```$", re.MULTILINE | re.DOTALL)
MODULE, NAMES, KINDS = (
    "stores/tables/sources/arrow_files.py",
    "schemas/spec/source_kinds.py",
    "stores/tables/sources/kinds.py",
)
WRITERS = "tests/contracts/test_files_of_other_programs.py"
# The line before which each line goes.
BEFORE = {
    "ARROW: Final": "JSON_LINES: Final",
    "    ARROW,": "    JSON_LINES,",
    "from stores": "from stores.tables.sources.contract import",
    "    ARROW: ArrowFile": "    JSON_LINES: JsonLines",
}
READ = """
from pathlib import Path
from stores.tables.sources.headers import read_header
from stores.tables.sources.reading import Source
from stores.tables.sources.kinds import open_file
print(*read_header(Path("people.feather"), Path("state")).names)
print(*(batch.to_pylist() for batch in Source([open_file(Path("people.feather"))], ["town"], 10).batches()))
"""


def blocks() -> list[tuple[str, str]]:
    return BLOCK.findall(PAGE)


def lines() -> list[tuple[str, str]]:
    return [(name, body) for name, body in blocks() if name not in {MODULE, WRITERS}]


def test_the_page_shows_the_source_as_it_is() -> None:
    assert {name for name, _ in blocks()} == {MODULE, NAMES, KINDS, WRITERS}
    assert (ROOT / MODULE).read_text(encoding="utf-8") == dict(blocks())[MODULE]
    for name, body in blocks():
        assert (ROOT / name).read_text(encoding="utf-8").count(body) == 1


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The packages without the source; what they stand on is the project's own."""
    for room in ("stores", "schemas"):
        shutil.copytree(ROOT / room, tmp_path / room, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / MODULE).unlink()
    for name, body in lines():
        path = tmp_path / name
        path.write_text(path.read_text(encoding="utf-8").replace(body, ""), encoding="utf-8")
    path = tmp_path / KINDS
    path.write_text(path.read_text(encoding="utf-8").replace("    ARROW,\n", "", 1), encoding="utf-8")
    pa.feather.write_feather(pa.table({"town": ["Ash", None]}), tmp_path / "people.feather")
    return tmp_path


def follow(root: Path) -> None:
    """Do what the page says."""
    (root / MODULE).write_text(dict(blocks())[MODULE], encoding="utf-8")
    for name, body in lines():
        following = next(line for begin, line in BEFORE.items() if body.startswith(begin))
        before, line, after = (root / name).read_text(encoding="utf-8").partition(following)
        assert line
        (root / name).write_text(before + body + line + after, encoding="utf-8")
    path = root / KINDS
    path.write_text(path.read_text(encoding="utf-8").replace("    JSON_LINES,\n", "    ARROW,\n    JSON_LINES,\n", 1))


def read(root: Path) -> "subprocess.CompletedProcess[str]":
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PYTEST", "DENIABLE"))}
    surroundings = kept | {"PYTHONPATH": f"{root}{os.pathsep}{ROOT}", "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        [sys.executable, "-c", READ], cwd=root, env=surroundings, capture_output=True, check=False, text=True
    )


@pytest.mark.slow
def test_the_source_of_the_page_is_read_once_its_parts_are_there(copy: Path) -> None:
    assert not any(re.search("arrow_?file|ARROW", (copy / name).read_text(encoding="utf-8")) for name in (NAMES, KINDS))
    follow(copy)
    done = read(copy)
    assert (done.stdout, done.stderr) == ("town\n[{'town': 'Ash'}, {'town': None}]\n", "")
    for name, _ in lines():
        assert (copy / name).read_text(encoding="utf-8") == (ROOT / name).read_text(encoding="utf-8")
