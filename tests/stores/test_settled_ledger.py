"""A settled ledger has room for the draws that were paid for, and for no other, however little it would cost."""

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from deniable.foundation.errors import InvalidInput
from deniable.ledger.budget import BudgetExceeded
from stores.ledger.ledger import Ledger, OtherOutput
from stores.ledger.settled_ledger import write_settled_ledger
from tests.charging import charge, policy

STRUCTURE = charge("1", "1e-6")
PARAMETERS = charge("0.5", part="parameters", step="learn_parameters")
OF_OTHERS = charge("0.25", release="r2", inputs="other rows", commitment="another key")


@pytest.fixture
def records(tmp_path: Path) -> list[dict[str, Any]]:
    """Entries of a ledger as a record has them, from the first charge on; those of another release are sealed."""
    ledger = Ledger.open(tmp_path / "real.db")
    ledger.set_policy(policy(100))
    ledger.reserve(STRUCTURE)
    ledger.reserve(OF_OTHERS)
    ledger.commit(STRUCTURE.identity, "the graph")
    ledger.reserve(PARAMETERS)
    return [
        entry.sealed().to_record() if entry.content.get("release") == "r2" else entry.to_record()
        for entry in ledger.entries()[2:]
    ]


def settled(folder: Path, records: Sequence[dict[str, Any]]) -> Ledger:
    write_settled_ledger(folder / "settled" / "ledger.db", "people", records)
    return Ledger.open(folder / "settled" / "ledger.db")


def test_what_was_paid_for_costs_nothing_again(tmp_path: Path, records: list[dict[str, Any]]) -> None:
    ledger = settled(tmp_path, records)
    assert [charged.charge for charged in ledger.charges()] == [STRUCTURE, PARAMETERS]
    for paid in (STRUCTURE, PARAMETERS):
        ledger.check(paid)
        assert not ledger.reserve(paid).fresh


@pytest.mark.parametrize(
    "other",
    [
        charge("1", "1e-6", inputs="other rows"),
        # In a part of its own it would add nothing to what the dearest part has cost.
        charge(Fraction(1, 10**9), part="holdout", step="peep"),
        OF_OTHERS,
    ],
)
def test_any_other_draw_is_refused(tmp_path: Path, records: list[dict[str, Any]], other: Any) -> None:
    ledger = settled(tmp_path, records)
    with pytest.raises(BudgetExceeded):
        ledger.reserve(other)
    assert len(ledger.charges()) == 2


def test_the_same_draw_must_give_the_same(tmp_path: Path, records: list[dict[str, Any]]) -> None:
    ledger = settled(tmp_path, records)
    ledger.commit(STRUCTURE.identity, "the graph")
    with pytest.raises(OtherOutput):
        ledger.commit(STRUCTURE.identity, "another graph")
    ledger.commit(PARAMETERS.identity, "not stored when the record was made")


def test_a_record_without_charges_is_refused(tmp_path: Path, records: list[dict[str, Any]]) -> None:
    sealed = [record for record in records if "sealed" in record]
    assert sealed
    with pytest.raises(InvalidInput, match="got no charge"):
        settled(tmp_path, sealed)
