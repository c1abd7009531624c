"""A test that mechanisms.md names as one that could refute a claim about code reaches that code."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from deniable.learners.registry import LEARNERS
from deniable.samplers.registry import SAMPLERS

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "statistician" / "mechanisms.md"
BY, BESIDE = "Could be refuted by:", "The law or the cost by itself:"
_FILE = re.compile(r"`([\w/]+\.py)`(?:\s*\(([^)]*)\))?")
ACCOUNTING = re.compile(
    r"deniable/privacy/(?!one_person)|/(plan|bounds|seed_accounting|privacy_tests|sampled_tests|certificate_costs)\.py$"
)
"""Files that compute costs, or laws for them: a test that reaches no others does not run a mechanism."""
_NAME = re.compile(r"`(test_\w+)`")


@dataclass(frozen=True)
class Named:
    """A test, or a whole file of tests, that a section names.

    Attributes:
        section: the section's title.
        file: the file of the test.
        test: the test; empty for the whole file.
        code: the files of the section's mechanism, without its accounting.
    """

    section: str
    file: str
    test: str
    code: tuple[str, ...]


def named_in(page: str, kind: str = BY) -> Iterator[Named]:
    """Yield the tests of a kind, of each section that names code: those that could refute, or those beside them."""
    for section in re.split(r"^## ", page, flags=re.MULTILINE)[1:]:
        title = section.splitlines()[0]
        parts = re.split(r"^- \*\*", section, flags=re.MULTILINE)
        listed = [file for part in parts if part.startswith("Code:") for file, _ in _FILE.findall(part)]
        # A section on accounting alone has no other code.
        code = tuple(file for file in listed if not ACCOUNTING.search(file)) or tuple(listed)
        for part in parts:
            if code and part.startswith(kind):
                for file, inside in _FILE.findall(part):
                    tests = _NAME.findall(inside or "")
                    yield from (Named(title, file, test, code) for test in tests or [""])


@cache
def parsed(file: str) -> ast.Module:
    return ast.parse((ROOT / file).read_text(encoding="utf-8"))


def file_of(module: str) -> str | None:
    """Return the file of a module of the project, or of its tests."""
    path = module.replace(".", "/")
    return next((name for name in (f"{path}.py", f"{path}/__init__.py") if (ROOT / name).is_file()), None)


@cache
def imported(file: str) -> dict[str, tuple[str, str]]:
    """Return what a file imports: by its name there, the file it is from and its name in it."""
    found: dict[str, tuple[str, str]] = {}
    for node in ast.walk(parsed(file)):
        if isinstance(node, ast.ImportFrom) and node.module:
            for each in node.names:
                inner = file_of(f"{node.module}.{each.name}")
                outer = file_of(node.module)
                if inner is not None:
                    found[each.asname or each.name] = (inner, "")
                elif outer is not None:
                    found[each.asname or each.name] = (outer, each.name)
    return found


@cache
def defined(file: str) -> dict[str, ast.stmt]:
    """Return the definitions at the top of a file, by name."""
    found: dict[str, ast.stmt] = {}
    for node in parsed(file).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found[node.name] = node
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found |= {target.id: node for target in targets if isinstance(target, ast.Name)}
    return found


def reached(file: str, test: str) -> set[str]:
    """Return the files that a test reaches through the names that it and whatever it calls use."""
    starts = [(file, test)] if test else [(file, name) for name in defined(file)]
    files, seen = set[str](), set[tuple[str, str]]()
    while starts:
        place = starts.pop()
        if place in seen:
            continue
        seen.add(place)
        where, name = place
        files.add(where)
        if not name:
            starts += [(where, inner) for inner in defined(where)]
            continue
        node = defined(where).get(name)
        for used in () if node is None else names_in(node):
            if used in imported(where):
                starts.append(imported(where)[used])
            elif used in defined(where):
                starts.append((where, used))
        if node is None and name in imported(where):
            starts.append(imported(where)[name])
    return files


def names_in(node: ast.AST) -> set[str]:
    """Return the names that a definition uses, its arguments included, which may be fixtures."""
    used = {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}
    return used | {inner.arg for inner in ast.walk(node) if isinstance(inner, ast.arg)}


UNPROVED = {
    "diverse": "guarantees nothing",
    "uniform": "reads no record",
    "seedless": "reads no record",
    "per_draw": "draws what learners plan",
}
HEURISTIC = PAGE.with_name("what-is-heuristic.md")
_OURS = re.compile(r"\bours\b", re.IGNORECASE)
_REVIEWED = re.compile(r"^## What is not peer-reviewed\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)


def without_proof(page: str) -> set[str]:
    """Return the learners and samplers that read records and that no section with code and tests of it is about."""
    sections = re.split(r"^## ", page, flags=re.MULTILINE)[1:]
    proved = "".join(section for section in sections if "**Code:**" in section and f"**{BY}**" in section)
    rooms = {kind: room for room, kinds in (("learners", LEARNERS), ("samplers", SAMPLERS)) for kind in kinds}
    named = {kind for kind, room in rooms.items() if f"`{kind}`" in proved or f"`deniable/{room}/{kind}/" in proved}
    return set(rooms) - set(UNPROVED) - named


def ours_in(page: str) -> set[str]:
    """Return the anchors of the sections that call a proof ours."""
    sections = re.split(r"^## ", page, flags=re.MULTILINE)[1:]
    titles = [section.splitlines()[0] for section in sections if _OURS.search(section)]
    return {re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-") for title in titles}


NAMED = list(named_in(PAGE.read_text(encoding="utf-8")))


def test_every_mechanism_that_reads_records_is_proved_and_could_be_refuted() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert without_proof(page) == set()
    assert without_proof(page.replace("**Code:** `deniable/learners/imputed", "").replace("`imputed`", "")) == {
        "imputed"
    }


def test_every_proof_of_ours_is_listed_as_not_peer_reviewed() -> None:
    found = _REVIEWED.search(HEURISTIC.read_text(encoding="utf-8"))
    assert found is not None
    assert set(re.findall(r"\(mechanisms\.md#([a-z0-9-]+)\)", found[1])) == ours_in(PAGE.read_text(encoding="utf-8"))
    assert ours_in("## One (`it`)\n\nOurs.\n\n## Two\n\nTheirs; hours of work.\n") == {"one-it"}


@pytest.mark.parametrize("named", NAMED, ids=lambda named: f"{named.section}: {named.file}::{named.test}")
def test_what_could_refute_a_claim_reaches_the_code_that_it_is_about(named: Named) -> None:
    assert not named.test or named.test in defined(named.file)
    assert reached(named.file, named.test) & set(named.code)


def test_what_is_named_beside_the_refutations_exists() -> None:
    beside = list(named_in(PAGE.read_text(encoding="utf-8"), BESIDE))
    assert len(beside) > 20
    for named in beside:
        assert not named.test or named.test in defined(named.file), named


def test_a_test_of_a_law_of_its_own_is_found() -> None:
    """The law of a copy of a mechanism may be right while the mechanism is wrong."""
    page = (
        "## A mechanism\n\n- **Code:** `deniable/foundation/noise.py`\n- **Could be refuted by:** "
        "`tests/unit/test_rounding.py`\n"
    )
    (named,) = named_in(page)
    assert not reached(named.file, named.test) & set(named.code)
    assert len(NAMED) > 60
