"""What a release may spend is planned before data is read, charged before noise is drawn, and never exceeded."""

import json
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from deniable.cli.dispatch import main
from deniable.ledger.budget import BudgetExceeded
from deniable.ledger.entries import Cost, Policy
from deniable.record.attestation import Envelope
from deniable.record.standing import Status
from flows.cli.planning import show_plan
from flows.release import release
from flows.released import Released
from schemas.spec.plan import plan_release
from schemas.spec.release_spec import load_spec
from stores.ledger.charging import note_publication
from stores.ledger.ledger import Ledger, ledger_place
from stores.ledger.state_ledger import state_ledger
from stores.releases.status_file import write_status_file
from tasks.running.progress import watching
from tests.flows.command import left_of_a_release
from tests.small_release import write_small_release
from tests.whole_release import Drawn, drawn_release

SEEDLESS = {"guarantee": "seedless", "records": 200, "chunk_candidates": 128}


def seedless(folder: Path, **changes: Any) -> Path:
    """A release whose cost is that of its model, a little over 0.4."""
    return write_small_release(folder, synthesis=SEEDLESS, **changes)


def spent(state: Path) -> Cost:
    return Ledger.open(ledger_place(state)).spent("people")


def test_the_plan_is_made_without_the_data_and_says_what_is_left(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = load_spec(seedless(tmp_path / "spec", budget={"epsilon": 3, "delta": 0.1}))
    (tmp_path / "spec" / "people.csv").unlink()
    total = plan_release(spec).accounts.total
    assert total is not None
    first = (
        "200 records; seedless",
        "The budget allows this release.",
        f"whole release epsilon = {total.epsilon:.4g}"[:27],
        "left now epsilon 3 of 3",
    )
    rest = (
        "learn_structure, part structure (probability 0.15)",
        "number of rows: discrete_laplace, scale 10, sensitivity 1, 1 output",
        "counts of each attribute by its parents: discrete_laplace",
        "Epsilon by accountant",
    )
    assert show_plan(spec, tmp_path / "state") == 0
    said = " ".join(capsys.readouterr().out.split())
    assert [part for part in (*first, *rest) if part in said] == list(first)
    assert show_plan(spec, tmp_path / "state", everything=True) == 0
    printed = capsys.readouterr().out
    said = " ".join(printed.split())
    assert [part for part in (*first, *rest) if part not in said] == []
    places = [said.index(part) for part in (*first, *rest)]
    assert places == sorted(places)
    assert max(map(len, printed.splitlines())) <= 80
    assert not (tmp_path / "state" / "vault").exists()


def test_the_plan_says_that_one_attempt_counts_where_candidates_are_charged_and_only_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A ledger opened by a spec of tested seeds with `seed_cost: per_record`, counts for specs without seeds too."""
    state, limit = tmp_path / "state", Cost(epsilon=Fraction(1000), delta=Fraction(1, 2))
    Ledger.open(ledger_place(state)).set_policy(
        Policy(dataset="people", limit=limit, seed_cost="per_record", set_by="test")
    )
    for spec, said in ((write_small_release(tmp_path / "seeds"), True), (seedless(tmp_path / "none"), False)):
        assert show_plan(load_spec(spec), state) == 0
        assert ("only the cost of one attempt is counted" in " ".join(capsys.readouterr().out.split())) == said


def test_the_plan_of_many_tables_says_of_like_ones_in_one_line_how_many_there_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The table has four attributes, `employed` its target: two choices of a tree, and sixteen of further tables."""
    learner = {"learner__kind": "loglinear", "learner__parameters__delta": 1e-3}
    for noise, expected in {
        "gaussian": (
            "counts of age: discrete_gaussian, sigma",
            "counts of employed: discrete_gaussian, sigma",
            "18 events, choice of tree table 1 … choice of extra table, batch 6, 3: exponential, epsilon",
            "16 events, extra table, batch 1, 1 … extra table, batch 6, 3: discrete_gaussian",
            "counts of sex and employed: discrete_gaussian",
            "as earlier answers divide them: discrete_gaussian",
        ),
        "laplace": (
            "all tables together, as earlier answers divide their epsilon: approximate, eps",
            "1 output",
        ),
    }.items():
        spec = load_spec(seedless(tmp_path / noise, learner__noise=noise, **learner))
        assert show_plan(spec, tmp_path / "state", everything=True) == 0
        said = " ".join(capsys.readouterr().out.split())
        for part in expected:
            assert part in said, part


def test_the_plan_of_a_release_that_would_be_refused_says_so_with_both_numbers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = load_spec(seedless(tmp_path / "spec", budget={"epsilon": 0.25, "delta": 0.1}))
    assert show_plan(spec, tmp_path / "state") == 1
    said = " ".join(capsys.readouterr().out.split())
    assert "The release would be refused" in said
    assert "0.25" in said.split("The release would be refused")[1]


def test_the_plan_command_refuses_a_wrong_spec_with_status_two(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("flows.cli.running.prepare_environment", lambda state, **_: state)
    assert main(["release", "plan", str(seedless(tmp_path, split__holdout=2)), "--state", str(tmp_path)]) == 2
    assert "split.holdout" in capsys.readouterr().err


@pytest.mark.usefixtures("prefect")
def test_a_release_that_the_budget_has_no_room_for_is_refused_before_data_is_read(tmp_path: Path) -> None:
    spec = seedless(tmp_path / "spec", budget={"epsilon": 0.25, "delta": 0.1})
    (tmp_path / "spec" / "people.csv").unlink()
    with pytest.raises(BudgetExceeded) as refused:
        release(spec, tmp_path / "state")
    assert refused.value.left.epsilon == Fraction(1, 4)
    assert refused.value.asked.epsilon > Fraction(1, 4)
    assert "0.25" in str(refused.value)
    assert left_of_a_release(tmp_path / "state") == []
    assert spent(tmp_path / "state") == Cost(epsilon=Fraction(0), delta=Fraction(0))


@dataclass(frozen=True)
class Two:
    """Two releases of a dataset whose budget has no room for a third."""

    folder: Path
    first: Released
    second: Drawn
    once: Cost

    @property
    def state(self) -> Path:
        return self.folder / "state"


@pytest.fixture(scope="module")
def two(prefect: None, tmp_path_factory: pytest.TempPathFactory) -> Two:
    folder = tmp_path_factory.mktemp("two")
    first = release(seedless(folder / "one", name="one", budget={"epsilon": 1, "delta": 0.1}), folder / "state")
    once = spent(folder / "state")
    # A later spec's own budget does not count: the ledger has a policy.
    budget = {"epsilon": 99, "delta": 0.1}
    second = drawn_release(folder, "two", name="two", synthesis=SEEDLESS, budget=budget)
    note_publication(second.workspace, second.publish())
    return Two(folder, first, second, once)


def test_releases_of_a_dataset_add_up_until_the_budget_is_spent(two: Two) -> None:
    assert two.first.accounts.total is not None
    epsilon = two.first.accounts.total.epsilon
    assert float(spent(two.state).epsilon) == pytest.approx(2 * epsilon, rel=1e-6)
    with pytest.raises(BudgetExceeded):
        release(seedless(two.folder / "three", name="three"), two.state)
    said = json.loads((two.second.workspace.release_folder / "privacy.json").read_text())["dataset_so_far"]
    assert said["releases"] == 2
    assert said["epsilon"] >= 2 * epsilon * (1 - 1e-9)
    assert "2 releases of this table" in (two.second.workspace.release_folder / "PRIVACY.md").read_text()


def test_a_replay_of_a_release_is_charged_nothing_and_another_key_is(two: Two) -> None:
    assert spent(two.state).epsilon == 2 * two.once.epsilon
    before = spent(two.state)
    place = write_status_file(two.state)
    again = release(seedless(two.folder / "again", name="again"), two.state, two.first.workspace.vault / "key")
    assert spent(two.state) == before
    assert again.published.digest == two.first.published.digest
    status = Status.from_envelope(Envelope.from_text(place.read_bytes()))
    assert again.workspace.release_id in [each.release for each in status.releases]


class Spending:
    """A watcher that lowers the budget while a release is under way, as another release of the dataset would."""

    def __init__(self, state: Path, step: str) -> None:
        self._state = state
        self._step = step

    def started(self, step: str) -> None:
        if step == self._step:
            limit = Cost(epsilon=Fraction(1, 100), delta=Fraction(1, 10))
            state_ledger(self._state).set_policy(Policy(dataset="people", limit=limit, set_by="test"))

    def advanced(self, step: str, amount: int) -> None:
        pass

    def ended(self, step: str, *, well: bool) -> None:
        pass


@pytest.mark.usefixtures("prefect")
def test_a_budget_that_is_gone_in_the_middle_stops_the_release_before_the_draw(tmp_path: Path) -> None:
    state = tmp_path / "state"
    with watching(Spending(state, "learn_parameters")), pytest.raises(BudgetExceeded):
        release(seedless(tmp_path / "spec"), state)
    (vault,) = (state / "vault").iterdir()
    assert (state / "shelf" / vault.name / "public" / "graph.json").exists()
    assert not (state / "shelf" / vault.name / "public" / "model.json").exists()
    assert [charge.charge.step for charge in Ledger.open(ledger_place(state)).charges("people")] == ["learn_structure"]
    assert not (state / "releases").exists()
