"""Every known leak has a test that exists, or a person who must take care of it: the table in docs/design/leaks.md."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
PAGE = TESTS.parent / "docs" / "design" / "leaks.md"
LEAKS = 19

_TEST = re.compile(r"`([\w/]+\.py)::(\w+)`")
_WHO = re.compile(r"\*\*([A-Z][a-z ]+)\*\*: \w+")


@dataclass(frozen=True)
class Leak:
    """A row of the table."""

    name: str
    remedy: str
    guards: str

    @property
    def tests(self) -> list[tuple[str, str]]:
        """Files and names of the tests that guard it."""
        return _TEST.findall(self.guards)

    @property
    def people(self) -> list[str]:
        """Who must take care of it."""
        return _WHO.findall(self.guards)


def leaks_in(text: str) -> Iterator[Leak]:
    """The rows of the table, without its head."""
    rows = [line for line in text.splitlines() if line.startswith("|")]
    for row in rows[2:]:
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        assert len(cells) == 3, row
        yield Leak(*cells)


def missing(tests: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """The tests that there are none of."""
    return [(file, name) for file, name in tests if name not in defined_in(TESTS / file)]


def defined_in(path: Path) -> set[str]:
    """Names of the tests in a file."""
    if not path.is_file():
        return set()
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")}


@pytest.fixture(scope="module")
def leaks() -> list[Leak]:
    return list(leaks_in(PAGE.read_text(encoding="utf-8")))


def test_there_are_nineteen_each_with_a_remedy_and_a_guard(leaks: list[Leak]) -> None:
    assert len({leak.name for leak in leaks}) == len(leaks) == LEAKS
    for leak in leaks:
        assert leak.remedy, leak.name
        assert leak.tests or leak.people, leak.name


def test_every_test_that_is_named_exists(leaks: list[Leak]) -> None:
    for leak in leaks:
        assert missing(leak.tests) == [], leak.name
        # Nothing that was meant for a test is overlooked since it is written in another way.
        assert leak.guards.count("::") == len(leak.tests), leak.name


def test_a_test_that_is_made_up_is_found_missing() -> None:
    [leak] = leaks_in(
        "| leak | remedy | guards |\n|---|---|---|\n"
        "| rows | none | `unit/test_keys.py::test_a_new_key_is_new`, `unit/test_keys.py::test_made_up`, "
        "`unit/test_made_up.py::test_a_new_key_is_new`, `unit/test_keys.py::any_key`. **Operator**: be careful |\n"
    )
    assert leak.people == ["Operator"]
    assert missing(leak.tests) == [
        ("unit/test_keys.py", "test_made_up"),
        ("unit/test_made_up.py", "test_a_new_key_is_new"),
        ("unit/test_keys.py", "any_key"),
    ]


def test_a_row_without_a_guard_is_noticed() -> None:
    [leak] = leaks_in("| leak | remedy | guards |\n|---|---|---|\n| rows | none | somebody will see to it |\n")
    assert not leak.tests
    assert not leak.people
