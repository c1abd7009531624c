"""Every room is small, and its first page says what is in it."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ["deniable", "schemas", "stores", "reports", "tasks", "infra", "flows", "papers"]
MOST_FILES = 15
MOST_COMMANDS = 18
"""In a group of commands, whose page of help must fit a screen (tests/contracts/test_commands.py)."""
# Learners, samplers, metrics, attacks and commands are named by their registries.
NAMED_BY_WHAT_THEY_DO = re.compile(
    r"deniable/(learners|samplers|evaluation/(metrics|attacks))|tasks/\w+|(deniable|flows)/cli/\w+|schemas/datasets|stores/ledger/migrations.*"
)


def rooms() -> list[str]:
    """Folders of modules, by their paths."""
    return sorted(
        str(path.parent.relative_to(ROOT)) for package in PACKAGES for path in (ROOT / package).rglob("__init__.py")
    )


def contents(room: Path) -> list[str]:
    """Modules and rooms in a room."""
    modules = [path.stem for path in room.glob("*.py") if not path.stem.startswith("__")]
    return sorted(modules + [path.parent.name for path in room.glob("*/__init__.py")])


def unnamed(room: Path) -> list[str]:
    """What a room's guide does not name."""
    guide = ast.get_docstring(ast.parse((room / "__init__.py").read_text(encoding="utf-8"))) or ""
    return [name for name in contents(room) if not re.search(rf"\b{name}\b", guide)]


@pytest.mark.parametrize("room", rooms())
def test_a_room_has_few_files_and_a_guide_of_ten_lines(room: str) -> None:
    files = [path for path in (ROOT / room).iterdir() if path.is_file() and path.suffix == ".py"]
    most = MOST_COMMANDS if re.fullmatch(r"(deniable|flows)/cli/\w+", room) else MOST_FILES
    assert len(files) <= most + 1, f"a room holds {most} modules at most, beside its guide"
    lines = (ROOT / room / "__init__.py").read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 14
    assert lines[0].startswith('"""')


@pytest.mark.parametrize("room", [room for room in rooms() if not NAMED_BY_WHAT_THEY_DO.fullmatch(room)])
def test_a_rooms_guide_names_all_that_is_in_it(room: str) -> None:
    assert unnamed(ROOT / room) == []


def test_a_module_that_no_guide_names_is_found(tmp_path: Path) -> None:
    (tmp_path / "__init__.py").write_text('"""Rooms.\n\nnamed: a module.\n"""\n')
    (tmp_path / "named.py").touch()
    (tmp_path / "forgotten.py").touch()
    assert unnamed(tmp_path) == ["forgotten"]
