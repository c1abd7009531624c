"""Whatever exact figures of confidential records decide is listed by every statement; nothing is decided in silence."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from deniable.foundation.errors import Refused
from deniable.record import exact_stops
from deniable.record.exact_stops import LEFT_OUT, STOPS, ExactStop, decided_exactly
from deniable.record.publication_rules import publication, rows_left_out
from deniable.record.statement import VERSION

ROOT = Path(__file__).resolve().parents[2]
READ_ROWS = (
    "tasks/data",
    "tasks/evaluation",
    "tasks/learning",
    "tasks/running",
    "tasks/synthesis",
    "tasks/publication",
)
"""The steps of a release: whatever reads confidential rows is called by one of these."""
MARKS = {"decided_exactly", "refused_by_counts"}
NOT_BY_ROWS = {
    "tasks/data/earlier_release.py document": "the public files of an earlier release",
    "tasks/data/earlier_release.py count": "the plan of a step",
    "tasks/data/earlier_release.py _folder": "whether an earlier release is there",
    "tasks/data/earlier_release.py _read": "the public files of an earlier release",
    "tasks/data/earlier_release.py statement": "the record of an earlier release",
    "tasks/data/reading.py without_quoting": "the schema's fit before a release; an error is raised again as it came",
    "tasks/data/public_rows.py digest_of": "the public file is missing",
    "tasks/data/public_rows.py counted_publicly": "the public file has no valid row",
    "tasks/data/public_rows.py _stated_file": "the digest of the public file",
    "tasks/evaluation/evaluate_utility.py _on_public_table": "the number of rows of a public table",
    "tasks/learning/planned_step.py count": "the plan of a step",
    "tasks/publication/publish.py publish": "the audience of a file",
    "tasks/publication/publish.py _published_before": "what is in a public folder",
    "tasks/running/cancellation.py stop_if_asked": "a person or an outage",
    "tasks/running/counting.py read_counts": "whether a file is as it was written",
    "tasks/running/step.py guarded": "any other error; that memory, disk and time suffice is stated",
}
"""Where an error is raised that does not depend on exact figures of the rows, and on what it depends."""
ELSEWHERE = {
    exact_stops.UNCHANGED: "flows/refresh.py: an unchanged table is not released, without an error",
    exact_stops.OUT_OF_BOUNDS: "tasks/evaluation/decide.py: the policy's outcome, without an error",
    exact_stops.TOO_LARGE: "the operating system",
}
"""Stops that no step raises, and where they are decided."""
SPEC: dict[str, Any] = {
    "max_invalid_share": "1/100",
    "max_dropped_share": "1/20",
    "split": {"shared": "4/5", "holdout": "1/5"},
    "learner": {"selection": {"public_file": "public.csv"}},
    "synthesis": {"guarantee": "tested_seeds", "test": 2},
    "refresh": {"budget": {}},
    "decision": {"publish_within": {}, "refuse_beyond": {"tvd_2way_max": 0.5}, "always_ask": False},
}


def raised(path: Path) -> Iterator[tuple[str, str]]:
    """Yield what is raised in a module: the function, and the source of the expression."""

    def below(node: ast.AST, name: str) -> Iterator[tuple[str, str]]:
        for child in ast.iter_child_nodes(node):
            inner = child.name if isinstance(child, ast.FunctionDef | ast.ClassDef) else name
            if isinstance(child, ast.Raise):
                yield inner, ast.unparse(child)
            yield from below(child, inner)

    return below(ast.parse(path.read_text(encoding="utf-8")), "")


def unmarked(path: Path, known: str) -> list[str]:
    """Return the functions that raise an error that is neither an exact stop nor known not to depend on rows."""
    found = []
    for name, said in raised(path):
        if not any(f"{mark}(" in said for mark in MARKS) and f"{known} {name}" not in NOT_BY_ROWS:
            found.append(f"{known} {name}")
    return found


def modules() -> list[Path]:
    return [path for room in READ_ROWS for path in sorted((ROOT / room).glob("*.py"))]


def test_every_refusal_of_a_step_is_a_stated_stop_or_depends_on_something_public() -> None:
    assert [found for path in modules() for found in unmarked(path, str(path.relative_to(ROOT)))] == []
    there = {f"{path.relative_to(ROOT)} {name}" for path in modules() for name, _ in raised(path)}
    assert set(NOT_BY_ROWS) <= there, "every exception is still needed"


def test_a_refusal_that_nothing_states_is_found(tmp_path: Path) -> None:
    module = tmp_path / "split.py"
    module.write_text("def split(rows):\n    if rows < 100:\n        raise Refused('more rows are needed')\n")
    assert unmarked(module, "tasks/data/split.py") == ["tasks/data/split.py split"]


def test_every_stop_is_raised_or_decided_somewhere_and_stated() -> None:
    sources = "\n".join(path.read_text(encoding="utf-8") for path in modules())
    names = {value: name for name, value in vars(exact_stops).items() if isinstance(value, ExactStop)}
    assert set(names) == set(STOPS)
    for stop, name in names.items():
        assert (name in sources) != (stop in ELSEWHERE), name
        assert list(stop.reveals(SPEC)), name
        assert set(stop.reveals(SPEC)) <= set(publication(SPEC, version=VERSION)["tells"])


def test_a_stop_that_is_not_listed_is_not_raised() -> None:
    with pytest.raises(ValueError, match="add it to STOPS"):
        decided_exactly(ExactStop("a whim", lambda _: ()), Refused("no"))


def test_statements_of_version_2_list_what_they_listed() -> None:
    before, now = (publication(SPEC, version=version)["tells"] for version in (2, VERSION))
    assert [line for line in now if line in before] == before
    assert [line.split(" was compared")[0] for line in now if line not in before] == [
        "At least one row was in scope, complete and valid; else it would have stopped.",
        "The public file public.csv",
        exact_stops.TOO_LARGE.reveals(SPEC)[0],  # type: ignore[index]
    ]
    assert len(rows_left_out(SPEC, None, 2)["rules"]) == len(LEFT_OUT) - 1 == 4
