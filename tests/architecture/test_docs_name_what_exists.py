"""Everything that the documentation names exists: files, tests, what a file is said to contain, and mutants."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.mutants.table import MUTANTS

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
TESTS = ROOT / "tests"
PAGES = sorted(str(page.relative_to(ROOT)) for page in DOCS.rglob("*.md"))
MECHANISMS = DOCS / "statistician" / "mechanisms.md"

_FENCED = re.compile(r"^(`{3,})[^\n]*\n.*?^\1`*$", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`([^`\n]+)`")
_OF_PYTHON = re.compile(r"[\w.*-]+(/[\w.*-]+)+\.py")
_OF_OURS = re.compile(
    r"(deniable|schemas|stores|reports|tasks|infra|flows|tests|docs)(/[\w.*-]+)+\.(md|json|toml|jinja|txt|yaml)"
)
_TEST = re.compile(r"(?:(\S+\.py)::)?(test_\w+)(?:\[.*\])?")
# `name` in `file.py`, `name` (`file.py`), `file.py` (`name`, `other`)
_NAME = r"`([A-Za-z_]\w*(?:\.\w+)?)`"
_FILE = r"`([\w/]+/\w+\.py)`"
_HELD_BEFORE = re.compile(rf"{_NAME} (?:in |\(){_FILE}")
_KILLED = "- **Mutants killed:** "
_HELD_AFTER = re.compile(rf"{_FILE} \(((?:{_NAME}(?:, | and )?)+)[):]")


def prose(text: str) -> str:
    """A page without its blocks of code, which are run elsewhere."""
    return _FENCED.sub("", text)


def blocks(text: str) -> Iterator[str]:
    """The paragraphs, items of lists and rows of tables of a page, each in one line."""
    for block in re.split(r"\n(?:\s*\n|(?=\||\s*[-*] |\s*\d+\. ))", prose(text)):
        yield " ".join(block.split())


@cache
def defined_in(path: Path) -> frozenset[str]:
    """Names of the tests in a file."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


@cache
def all_tests() -> frozenset[str]:
    """Names of all tests, and of all files of tests."""
    files = list((ROOT / "tests").rglob("test_*.py"))
    return frozenset().union(*map(defined_in, files)) | {path.stem for path in files}


def missing(text: str) -> Iterator[str]:
    """Files and tests that a page names and that there are none of."""
    for block in blocks(text):
        named = _CODE.findall(block)
        files = {name.partition("::")[0] for name in named}
        paths = [name for name in files if _OF_PYTHON.fullmatch(name) or _OF_OURS.fullmatch(name)]
        yield from (name for name in paths if not [*ROOT.glob(name), *TESTS.glob(name)])
        beside = [
            path for name in paths if name.startswith("tests/") for path in ROOT.glob(name) if path.suffix == ".py"
        ]
        for name in named:
            if (found := _TEST.fullmatch(name.removesuffix(".py"))) is not None:
                own = [folder / found[1] for folder in (ROOT, TESTS)] if found[1] else beside
                there = frozenset[str]().union(*(defined_in(path) for path in own if path.is_file()))
                if found[2] not in (there if own and not name.endswith(".py") else all_tests()):
                    yield name


def not_held(text: str) -> Iterator[str]:
    """Names that a file is said to hold, and does not."""
    text = " ".join(prose(text).split())
    held = [(file, name) for name, file in _HELD_BEFORE.findall(text)]
    held += [(file, name) for file, names, _ in _HELD_AFTER.findall(text) for name in re.findall(_NAME, names)]
    for file, name in held:
        source = (ROOT / file).read_text(encoding="utf-8") if (ROOT / file).is_file() else ""
        yield from (f"{part} in {file}" for part in name.split(".") if not re.search(rf"\b{part}\b", source))


def not_killed(text: str) -> Iterator[str]:
    """Mutants that a page names, and that are none, or are found by no test that their section names."""
    for section in text.split("\n## "):
        named = [*blocks(section)]
        files = {name for block in named for name in _CODE.findall(block)}
        for block in named:
            for breaks in block.removeprefix(_KILLED).split("; ") if block.startswith(_KILLED) else ():
                tests = {
                    each.test.partition("::")[0] for each in MUTANTS if each.breaks.casefold() == breaks.casefold()
                }
                if not tests & files:
                    yield breaks


@pytest.mark.parametrize("page", PAGES)
def test_files_and_tests_that_a_page_names_exist(page: str) -> None:
    assert list(missing((ROOT / page).read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize("page", PAGES)
def test_files_hold_what_a_page_says(page: str) -> None:
    assert list(not_held((ROOT / page).read_text(encoding="utf-8"))) == []


def test_the_mutants_that_are_named_are_of_the_table() -> None:
    text = MECHANISMS.read_text(encoding="utf-8")
    assert text.count(f"\n{_KILLED}") > 10
    assert list(not_killed(text)) == []


@pytest.mark.parametrize(
    "text",
    [
        "See `tasks/data/splitting.py`.",
        "See `infra/decisions/0099-nothing.md`.",
        "Run `tests/unit/test_loss.py::test_that_is_not_there`.",
        "Tested by `test_that_is_not_there`.",
        "`tests/unit/test_loss.py` (`test_a_joint_split_is_met_by_randomized_response`), which another file has",
        "`test_that_is_not_there.py` is no file",
    ],
)
def test_what_does_not_exist_is_found(text: str) -> None:
    assert list(missing(text)) != []


@pytest.mark.parametrize(
    "text",
    [
        "`splitting` in `tasks/data/split.py`",
        "assigned (`splitting` (`tasks/data/split.py`))",
        "`tasks/data/split.py` (`draw_parts`, `splitting`)",
        "`Ledger.holds_no_such` in `stores/ledger/ledger.py`",
    ],
)
def test_what_a_file_does_not_hold_is_found(text: str) -> None:
    assert list(not_held(text)) != []


def test_a_mutant_that_is_none_or_is_found_elsewhere_is_found() -> None:
    killed = "\n\n- **Mutants killed:** delta is spent twice; delta is\n  spent thrice"
    assert list(not_killed(f"`tests/unit/test_accounting.py`{killed}")) == ["delta is spent thrice"]
    assert list(not_killed(f"`tests/unit/test_loss.py`{killed}")) == ["delta is spent twice", "delta is spent thrice"]


@pytest.mark.parametrize(
    "text",
    [
        "See `tasks/data/split.py`, `tests/privacy/*.py` and `draw_parts` in `tasks/data/split.py`.",
        "Tested by `test_cost_of_one_output` and by `test_approval.py`.",
        "```python\nread('tasks/data/splitting.py')\n```",
        "Made later: `var/keys/trusted.json`, `path/to/FILE`.",
    ],
)
def test_what_exists_or_is_made_later_is_let_be(text: str) -> None:
    assert [*missing(text), *not_held(text)] == []
