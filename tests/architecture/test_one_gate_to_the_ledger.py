"""Nothing is charged but through the gate of a state folder's ledger."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
FOLDERS = ["deniable", "schemas", "stores", "reports", "tasks", "infra", "flows"]

DOORS = {
    # Opens the ledger of a state folder, behind its gate.
    "Ledger.open": {"stores/ledger/state_ledger.py", "stores/ledger/recovery.py"},
    # Recovery makes the charges again that the gate misses, whatever the caps.
    "restore": {"stores/ledger/recovery.py"},
    "reserve": {"stores/ledger/charging.py"},
    # Whole chains are moved, rebuilt or replayed.
    "insert_lines": {"stores/ledger/recovery.py", "stores/ledger/moving.py", "stores/ledger/settled_ledger.py"},
    "insert": {"stores/ledger/database.py", "stores/ledger/ledger.py"},
    # Asked by whatever appends a charge.
    "_append": {"stores/ledger/ledger.py"},
}


def doors(source: str) -> list[str]:
    """The calls in a source text by which an entry may reach a ledger."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            last = called.rsplit(".", 1)[-1]
            if called in ("Ledger.open", "Ledger"):
                found.append("Ledger.open")
            elif last == "insert" and [ast.unparse(each) for each in node.args] == ["ENTRIES"]:
                found.append("insert")
            elif (
                last == "insert_lines"
                or (last in ("reserve", "_append") and "." in called)
                or (last == "restore" and "ledger" in called)
            ):
                found.append(last)
    return found


@pytest.mark.slow
def test_no_module_but_the_gate_s_own_charges_a_ledger() -> None:
    paths = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]
    found: dict[str, set[str]] = {door: set() for door in DOORS}
    for path in paths:
        for door in doors(path.read_text(encoding="utf-8")):
            found[door].add(path.relative_to(ROOT).as_posix())
    assert found == DOORS


def test_a_door_of_its_own_is_seen() -> None:
    assert doors("Ledger.open(place).reserve(charge)") == ["reserve", "Ledger.open"]
    assert doors("connection.execute(insert(ENTRIES).values(number=1))") == ["insert"]
    assert doors("state_ledger(state).restore(charge)") == ["restore"]
    assert doors("with_ledger._append(lambda books, _: charge)") == ["_append"]
    assert doors("insert(OTHERS)") == []


def test_each_way_to_a_charge_in_the_ledger_asks_the_gate() -> None:
    """The methods of `Ledger` that enter what was decided elsewhere, and those that decide on a charge."""
    source = ast.parse((ROOT / "stores/ledger/ledger.py").read_text(encoding="utf-8"))
    (ledger,) = [node for node in source.body if isinstance(node, ast.ClassDef) and node.name == "Ledger"]
    methods = {node.name: ast.unparse(node) for node in ledger.body if isinstance(node, ast.FunctionDef)}
    asking = {name for name, text in methods.items() if "self._require_proven(" in text or "ledger._require_" in text}
    assert asking == {"open", "reserve", "check", "enter_signed", "proven_books"}
    appending = {name for name, text in methods.items() if "self._append(" in text}
    # What is entered without asking charges nothing, except for a recovery.
    assert appending - asking == {
        "set_policy",
        "commit",
        "publish",
        "decide_standing",
        "recover",
        "restore",
        "name_custodian",
    }
