"""Every deliberate fault of `make mutants` can still be put into the sources, and its test and its row exist."""

import ast
from dataclasses import replace

import pytest

from tests.mutants.mutant import ROOT, Mutant
from tests.mutants.record import RECORD, row
from tests.mutants.table import EQUIVALENT, MUTANTS

FEWEST = 60
MUST_BE_THERE = [
    "noise of tables shrunk to 1 %",
    "Gaussian noise of tables with half the variance",
    "all choices are made from one stream",
    "all chunks of records are split by one stream",
    "an entropy is not charged",
    "beta, with which the bound on the rows is wrong, is not charged",
    "delta * eta^2 in the joint split",
]


def named_in(file: str) -> set[str]:
    """Names of the tests in a file."""
    path = ROOT / file
    if not path.is_file():
        return set()
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")}


def faults_of(mutant: Mutant) -> list[str]:
    """What is wrong with a row of the table."""
    file, _, name = mutant.test.partition("::")
    missing = [] if name.partition("[")[0] in named_in(file) else [f"there is no test {mutant.test}"]
    return [*missing, *filter(None, [mutant.fault()])]


@pytest.mark.slow
def test_every_mutant_fits_its_source_once_and_names_a_test_that_exists() -> None:
    assert [fault for mutant in MUTANTS for fault in faults_of(mutant)] == []
    assert [fault for each in EQUIVALENT for fault in [each.fault()] if fault] == []


def test_there_are_many_and_no_two_are_the_same() -> None:
    assert len({(mutant.file, mutant.before, mutant.after) for mutant in MUTANTS}) == len(MUTANTS) >= FEWEST
    assert all(mutant.breaks for mutant in MUTANTS)
    assert all(each.proof for each in EQUIVALENT)
    said = [mutant.breaks for mutant in MUTANTS]
    assert [wanted for wanted in MUST_BE_THERE if not any(one.startswith(wanted) for one in said)] == []


@pytest.mark.slow
def test_every_mutated_source_can_still_be_read() -> None:
    """A mutant that is no Python would be killed by any test."""
    for mutant in MUTANTS:
        ast.parse(mutant.mutated((ROOT / mutant.file).read_text(encoding="utf-8")))


def test_the_record_has_a_row_for_every_mutant() -> None:
    recorded = (ROOT / RECORD).read_text(encoding="utf-8").splitlines()
    rows = {line.rpartition(" | ")[0] for line in recorded if line.startswith("| `")}
    assert [mutant.breaks for mutant in MUTANTS if row(mutant) not in rows] == [], "run make mutants RECORD=1"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"before": "what no source says"}, "found 0 times"),
        ({"before": "import"}, "must contain 'import' once, found"),
        ({"file": "deniable/made_up.py"}, "there is no file"),
        ({"after": MUTANTS[0].before}, "nothing changes"),
        ({"test": "tests/unit/test_keys.py::test_made_up"}, "there is no test"),
        ({"test": "tests/unit/test_made_up.py::test_made_up"}, "there is no test"),
    ],
)
def test_a_row_that_does_not_fit_is_noticed(change: dict[str, str], said: str) -> None:
    (fault,) = faults_of(replace(MUTANTS[0], **change))
    assert said in fault
