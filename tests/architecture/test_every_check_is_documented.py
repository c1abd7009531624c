"""Every line that a check of a release can print is explained to auditors, with a test that makes it fail."""

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import product
from pathlib import Path
from typing import get_args, get_type_hints

import pytest

from deniable.learners.registry import LEARNERS
from deniable.samplers.registry import SAMPLERS
from deniable.verification.lineage import flow_of
from stores.record.replay_comparison import Outcome, Reason

ROOT = Path(__file__).resolve().parents[2]
TESTS = ROOT / "tests"
PAGE = ROOT / "docs" / "auditor" / "what-each-check-proves.md"
ROOMS = {
    "audit verify": ("deniable",),
    "audit ledger": ("deniable/ledger",),
    "audit release": ("tasks", "flows", "stores"),
}
CHECK = "deniable.foundation.checks"

_ROW = re.compile(r"^- `([^`\n]+)`\n((?:  .*\n)+)", re.MULTILINE)
_CELL = re.compile(r"^\| `([^`\n]+)` \|", re.MULTILINE)
_TEST = re.compile(r"`([\w/]+\.py)::(\w+)`")


@dataclass(frozen=True)
class Row:
    """A line of a command, as the page explains it: an item of a list, with items of its own."""

    name: str
    meaning: str

    @property
    def tests(self) -> list[tuple[str, str]]:
        """Files and names of the tests that make the check fail."""
        return _TEST.findall(self.meaning)


def sections(page: str) -> dict[str, str]:
    """What stands under each heading that is a command."""
    parts = re.split(r"^## `(.+)`\n", page, flags=re.MULTILINE)[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


def rows(section: str) -> list[Row]:
    return [Row(name, meaning) for name, meaning in _ROW.findall(section)]


class CannotBeTold(AssertionError):
    """What a check is called cannot be told from the code alone."""


@dataclass(frozen=True)
class Module:
    """A module that makes checks, and what its names stand for."""

    path: Path

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.path.read_text(encoding="utf-8"))

    @cached_property
    def constants(self) -> dict[str, ast.expr]:
        """What names of the module are assigned to."""
        return {ast.unparse(node.targets[0]): node.value for node in self.tree.body if isinstance(node, ast.Assign)}

    @cached_property
    def above(self) -> dict[ast.AST, ast.AST]:
        """What each node stands in."""
        return {below: node for node in ast.walk(self.tree) for below in ast.iter_child_nodes(node)}

    def source_of(self, name: str) -> "Module | None":
        """The module of the project that a name is imported from, if it is from one."""
        for node in self.tree.body:
            if isinstance(node, ast.ImportFrom) and name in {each.name for each in node.names if each.asname is None}:
                path = ROOT / f"{(node.module or '').replace('.', '/')}.py"
                return Module(path) if path.is_file() else None
        return None

    def calls(self, name: str) -> Iterator[ast.Call]:
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name:
                yield node


@dataclass(frozen=True)
class Names:
    """What checks are called, in some modules."""

    modules: Sequence[Module]

    def all(self) -> set[str]:
        return {name for module in self.modules for call in module.calls("Check") for name in self._first(module, call)}

    def _first(self, module: Module, call: ast.Call) -> set[str]:
        given = [*call.args[:1], *(each.value for each in call.keywords if each.arg == "name")]
        assert given, f"{module.path}:{call.lineno}"
        return self._texts(module, given[0])

    def _texts(self, module: Module, node: ast.expr) -> set[str]:
        """All texts that an expression may be."""
        if isinstance(node, ast.Constant):
            return {str(node.value)}
        if isinstance(node, ast.JoinedStr):
            return self._joined(module, node.values)
        if isinstance(node, ast.FormattedValue):
            return self._texts(module, node.value)
        if isinstance(node, ast.Name):
            return self._named(module, node)
        raise CannotBeTold(f"{module.path}:{node.lineno}: {ast.unparse(node)}")

    def _joined(self, module: Module, parts: Sequence[ast.expr]) -> set[str]:
        texts = {""}
        for part in parts:
            texts = {text + more for text in texts for more in self._texts(module, part)}
        return texts

    def _named(self, module: Module, node: ast.Name) -> set[str]:
        """What a name stands for: of a comprehension, of the function, of those around it, or of the module."""
        place: ast.AST | None = node
        while place is not None:
            if isinstance(place, ast.GeneratorExp | ast.ListComp):
                for loop in place.generators:
                    if isinstance(loop.target, ast.Name) and loop.target.id == node.id:
                        assert isinstance(loop.iter, ast.Tuple), ast.unparse(loop)
                        return set().union(*(self._texts(module, each) for each in loop.iter.elts))
            if isinstance(place, ast.FunctionDef) and (found := self._within(module, place, node.id)) is not None:
                return found
            place = module.above.get(place)
        if node.id in module.constants:
            return self._texts(module, module.constants[node.id])
        source = module.source_of(node.id)
        if source is None or node.id not in source.constants:
            raise CannotBeTold(f"{module.path}:{node.lineno}: {node.id}")
        return self._texts(source, source.constants[node.id])

    def _within(self, module: Module, function: ast.FunctionDef, name: str) -> set[str] | None:
        """What a name stands for in a function: what is assigned there, or what callers hand in."""
        for node in function.body:
            if isinstance(node, ast.Assign) and [ast.unparse(target) for target in node.targets] == [name]:
                return self._texts(module, node.value)
        arguments = [each.arg for each in function.args.args]
        if name not in arguments:
            return None
        place = arguments.index(name)
        found: set[str] = set()
        for caller in self.modules:
            for call in caller.calls(function.name):
                found |= self._texts(caller, call.args[place])
        return found


def names_made_in(folders: Sequence[str], without: Sequence[str] = ()) -> set[str]:
    """What checks are called that are made in some folders."""
    paths = [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]
    outside = [ROOT / folder for folder in without]
    wanted = [path for path in paths if not any(path.is_relative_to(folder) for folder in outside)]
    return Names([Module(path) for path in wanted if makes_checks(path)]).all()


def makes_checks(path: Path) -> bool:
    """Whether a module makes checks, or calls one that does."""
    text = path.read_text(encoding="utf-8")
    return CHECK in text or "tasks.running.check" in text


def missing(tests: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """The tests that there are none of."""
    return [(file, name) for file, name in tests if name not in defined_in(TESTS / file)]


@cache
def defined_in(path: Path) -> set[str]:
    if not path.is_file():
        return set()
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")}


@pytest.fixture(scope="module")
def page() -> Mapping[str, str]:
    return sections(PAGE.read_text(encoding="utf-8"))


@pytest.mark.parametrize("command", ROOMS)
def test_every_line_that_a_command_prints_is_explained_and_no_other(command: str, page: Mapping[str, str]) -> None:
    apart = ROOMS["audit ledger"] if command == "audit verify" else ()
    explained = [row.name for row in rows(page[command])]
    assert len(set(explained)) == len(explained)
    assert set(explained) == names_made_in(ROOMS[command], apart)


def test_every_step_that_a_replay_names_is_explained_and_no_other(page: Mapping[str, str]) -> None:
    kinds = product(LEARNERS, SAMPLERS)
    specs = [{"learner": {"kind": learner}, "synthesis": {"guarantee": sampler}} for learner, sampler in kinds]
    steps = {step for spec in specs for step in flow_of(spec)}
    assert {row.name for row in rows(page["audit replay"])} == steps


def test_every_outcome_of_a_step_and_every_reason_is_explained(page: Mapping[str, str]) -> None:
    said = set(_CELL.findall(page["audit replay"]))
    assert said == {*get_args(Outcome), *get_args(get_type_hints(Reason)["kind"])}


def test_every_line_says_what_it_proves_what_it_does_not_and_which_test_makes_it_fail(page: Mapping[str, str]) -> None:
    explained = [row for section in page.values() for row in rows(section)]
    assert len(explained) > 50
    for row in explained:
        for said in ("**Proves**", "**Does not prove**", "**Fails in**"):
            assert row.meaning.count(said) == 1, (row.name, said)
        assert row.tests, row.name
        assert missing(row.tests) == [], row.name
        assert row.meaning.count("::") == len(row.tests), row.name


def made_up(tmp_path: Path, text: str) -> Names:
    """The checks of a module that there is not."""
    path = tmp_path / "made_up.py"
    path.write_text(f"_NAMED = 'it holds'\n{text}\n", encoding="utf-8")
    return Names([Module(path)])


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Check('it holds')", {"it holds"}),
        ("Check(_NAMED, ())", {"it holds"}),
        ("Check(name=_NAMED)", {"it holds"}),
        ("def f():\n    name = 'the sum'\n    return Check(f'{name} holds')", {"the sum holds"}),
        ("def f(name):\n    return Check(f'{name} holds')\nf('a')\nf('b')", {"a holds", "b holds"}),
        ("tuple(Check(each) for each in ('a', _NAMED))", {"a", "it holds"}),
        ("def f(what):\n    def g():\n        return Check(what)\n    return g\nf('a')", {"a"}),
    ],
)
def test_what_a_check_is_called_is_told_from_the_code(text: str, found: set[str], tmp_path: Path) -> None:
    assert made_up(tmp_path, text).all() == found


@pytest.mark.parametrize("text", ["Check(other())", "Check(unknown)"])
def test_a_check_whose_name_cannot_be_told_is_refused(text: str, tmp_path: Path) -> None:
    with pytest.raises(CannotBeTold):
        made_up(tmp_path, text).all()


def test_a_row_without_its_test_is_noticed() -> None:
    [row] = rows("- `it holds`\n  - **Proves** all.\n  - **Fails in** `unit/test_made_up.py::test_made_up`\n")
    assert row == Row("it holds", row.meaning)
    assert missing(row.tests) == [("unit/test_made_up.py", "test_made_up")]
