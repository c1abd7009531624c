"""The operator sets what may be spent on a dataset, sees what was, and has the ledger verified."""

import re
from fractions import Fraction
from pathlib import Path

import pytest

from deniable.cli.dispatch import main
from deniable.cli.files import HOLDS
from deniable.foundation.errors import InvalidInput
from deniable.ledger.entries import Claim
from deniable.ledger.state import LedgerBroken, NoPolicy
from flows.cli.budget.show import DONE
from flows.cli.budget.verify import DOES_NOT_HOLD
from stores.ledger.ledger import LEDGER_VARIABLE, Ledger, ledger_place
from tests.charging import candidates, charge, cost, yearly
from tests.commands import carry_out


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv(LEDGER_VARIABLE, raising=False)
    return tmp_path


def command(state: Path, line: str) -> int:
    name, *arguments = line.split()
    return carry_out(f"budget {name}", arguments, state)


def opened(state: Path) -> Ledger:
    return Ledger.open(ledger_place(state))


def test_a_policy_is_set_in_exact_numbers(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command(state, "set people --epsilon 0.3 --delta 1e-5 --per quarter --period-epsilon 0.1") == DONE
    policy = opened(state).policy("people")
    assert policy.limit == cost(Fraction(3, 10), Fraction(1, 100_000))
    assert policy.period == yearly("0.1", length="quarter")
    assert policy.seed_cost == "total"
    assert "lifetime  0.3      0      0.3   1e-5   0      1e-5" in capsys.readouterr().out


def test_a_period_has_a_delta_of_its_own_where_one_is_given(state: Path) -> None:
    command(state, "set people --epsilon 3 --delta 1e-5 --per month --period-epsilon 1 --period-delta 1e-7")
    assert opened(state).policy("people").period == yearly(1, "1e-7", length="month")


@pytest.mark.parametrize("line", ["--per year", "--period-epsilon 1", "--period-delta 1e-6"])
def test_half_a_period_is_refused(state: Path, line: str) -> None:
    with pytest.raises(InvalidInput, match="must be given with --per and --period-epsilon"):
        command(state, f"set people --epsilon 3 --delta 1e-5 {line}")


@pytest.mark.parametrize("line", ["--epsilon much --delta 1e-5", "--epsilon 3", "--epsilon 1/0 --delta 0"])
def test_what_is_no_number_is_refused(state: Path, line: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        command(state, f"set people {line}")
    assert "--help shows what it takes" in capsys.readouterr().err


def test_releases_steps_charges_and_what_is_left_are_shown(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command(state, "set people --epsilon 3 --delta 1e-5")
    command(state, "set others --epsilon 1 --delta 1e-6 --people strangers")
    ledger = opened(state)
    ledger.commit(ledger.reserve(charge("0.5")).identity, "output")
    ledger.reserve(charge("0.7", "1e-9", part="parameters", step="learn_parameters"))
    ledger.publish("people", "r1", "digest")
    capsys.readouterr()
    assert command(state, "show") == DONE
    shown = capsys.readouterr().out
    assert shown == (
        "others\n"
        "  budget    epsilon  spent  left  delta  spent  left\n"
        "  lifetime  1        0      1     1e-6   0      1e-6\n"
        "nothing was charged\n"
        "\n"
        "people\n"
        "  budget    epsilon  spent   left   delta  spent  left\n"
        "  lifetime  3        0.3476  2.652  1e-5   5e-10  9.999e-6\n"
        "\n"
        "r1\n"
        "  step              part               epsilon  delta  entry  state\n"
        "  learn_structure   structure (0.25)   0.5      0      3      committed\n"
        "  learn_parameters  parameters (0.25)  0.7      1e-9   5      reserved\n"
        "  together                             0.3476   5e-10         released\n"
        "  by basic (learn_structure, learn_parameters)\n"
        "\n"
    )


def test_what_is_spent_is_a_line_for_each_release_and_what_is_left(
    state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command(state, "set people --epsilon 3 --delta 1e-5")
    command(state, "set others --epsilon 1 --delta 1e-6 --people strangers")
    ledger = opened(state)
    # The later name spent first.
    ledger.commit(ledger.reserve(charge("0.5", release="r2")).identity, "output")
    ledger.reserve(charge("0.7", "1e-9", release="r1", part="parameters", step="learn_parameters"))
    ledger.publish("people", "r2", "digest")
    capsys.readouterr()
    assert command(state, "spent people") == DONE
    shown = re.sub(r"\d{4}-\d\d-\d\d", "DAY", capsys.readouterr().out)
    assert shown == (
        "people\n"
        "  budget    epsilon  spent   left   delta  spent  left\n"
        "  lifetime  3        0.3476  2.652  1e-5   5e-10  9.999e-6\n"
        "\n"
        "  release  epsilon  delta    day         state\n"
        "  r2       0.1503   0        DAY  released\n"
        "  r1       0.2259   2.5e-10  DAY  not released\n"
    )
    command(state, "spent")
    assert "others\n" in (both := capsys.readouterr().out)
    assert "nothing was charged" in both


def test_a_sum_that_counts_seeds_by_the_record_says_so_where_it_is_shown(
    state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command(state, "set people --epsilon 3 --delta 1e-5 --seed-cost per_record")
    total, record = Claim(cost=cost(9, "1e-6"), accountant="a"), Claim(cost=cost("1.13", "1e-9"), accountant="b")
    opened(state).reserve(candidates(total, record))
    command(state, "show people")
    shown = capsys.readouterr().out
    assert "the sum is no guarantee for whole releases" in shown
    assert "seeds (0.5)  1.13" in shown


def test_a_dataset_without_a_policy_is_named(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command(state, "show")
    assert "No dataset has a policy" in capsys.readouterr().out
    with pytest.raises(NoPolicy, match="dataset people must have a policy"):
        command(state, "show people")


def test_what_is_exported_holds_for_an_auditor(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command(state, "set people --epsilon 3 --delta 1e-5")
    file = state / "ledger.jsonl"
    assert command(state, f"export {file}") == DONE
    head = opened(state).entries()[-1].digest
    assert f"2 entries are in {file}; keep a note of the head {head}" in capsys.readouterr().out
    assert main(["audit", "ledger", str(file), "--head", head]) == HOLDS
    assert command(state, f"verify --head {head} --count 2") == DONE
    assert command(state, f"verify --head {head[::-1]}") == DOES_NOT_HOLD


def test_a_ledger_that_was_altered_is_spent_from_no_more_but_can_be_verified_and_exported(
    state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command(state, "set people --epsilon 3 --delta 1e-5")
    with opened(state)._database.engine.begin() as connection:
        connection.exec_driver_sql("DROP TRIGGER deniable_ledger_keeps_values")
        connection.exec_driver_sql("UPDATE deniable_ledger SET entry = replace(entry, '\"3\"', '\"9\"')")
    with pytest.raises(LedgerBroken):
        command(state, "show")
    assert command(state, "verify") == DOES_NOT_HOLD
    assert "entry 1: its content does not match its digest" in capsys.readouterr().out
    assert command(state, f"export {state / 'evidence.jsonl'}") == DONE
