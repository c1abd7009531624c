"""Seeds are charged together with the model, as one privacy loss distribution, and the verifier recomputes it.

A release states how many of its records start from a seed, and never which.
"""

from copy import deepcopy
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from deniable.ledger.budget import cost_of
from deniable.ledger.entries import Charge, Entry
from deniable.privacy.accounting import best_again
from deniable.privacy.composition import joint_split
from flows.cli.planning import seeds_in_words
from schemas.spec.flow_steps import flow_steps
from schemas.spec.plan import plan_release
from schemas.spec.release_spec import load_spec
from stores.ledger.charging import open_ledger, planned_charges
from stores.statement.statement import statement_in_words
from stores.vault.step_log import noted_steps, seeded_records
from tests.mechanisms.table import LEARNERS, SAMPLERS
from tests.published import Published, another, chained, faults, leaves, with_change
from tests.small_release import write_small_release
from tests.whole_release import SEEDLESS, Drawn, drawn_release

# So few attempts that some records are drawn from the model alone.
ATTEMPTS: dict[str, Any] = {"synthesis": {**SAMPLERS["poisson_seeds"]["synthesis"], "public_rows": 4000}}
SHARED: dict[str, Any] = {**SEEDLESS, **ATTEMPTS, "split": {"shared": 0.8, "holdout": 0.2}}


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Drawn:
    found = drawn_release(tmp_path_factory.mktemp("together"), "people-1", **SHARED)
    found.publish()
    return found


@pytest.fixture(scope="module")
def published(drawn: Drawn) -> Published:
    return Published.of(drawn)


def charges_of(drawn: Drawn) -> list[Charge]:
    return [charged.charge for charged in open_ledger(drawn.workspace).charges()]


def with_joint(published: Published, changes: dict[str, Any]) -> Published:
    """The release with another joint cost in the ledger's entry and, where it has a cost, in the record."""
    record = published.record
    (stated,) = (step for step in record["cost"]["steps"] if "joint" in step)
    entries = []
    for entry in deepcopy(record["ledger"]["entries"]):
        if "joint" in entry.get("content", {}):
            entry["content"]["joint"] |= changes
        entries.append(entry)
    if "epsilon" in changes:
        stated["joint"]["cost"]["epsilon"] = float(changes["epsilon"])
    return published.signed_again(chained(record, entries))


def test_the_ledger_charges_model_and_seeds_what_they_cost_together(drawn: Drawn) -> None:
    model, seeds = charges_of(drawn)
    spent, total = cost_of([model, seeds]), drawn.accounts.total
    assert total is not None
    assert float(spent.epsilon) == pytest.approx(total.epsilon, rel=1e-9)
    assert float(spent.delta) == pytest.approx(total.delta, rel=1e-9)
    # As a composition of its own: all events together, for the records that are read.
    delta = model.claim.cost.delta + seeds.claim.cost.delta
    together = best_again((*model.events, *seeds.events), delta)
    again = joint_split([(Fraction(4, 5), together)])
    assert again.epsilon <= float(spent.epsilon) <= again.epsilon * 1.002
    assert cost_of(planned_charges(drawn.workspace.spec, drawn.accounts)) == spent, "as the plan said"


def test_each_charge_keeps_its_own_cost_beside_that_of_both(drawn: Drawn) -> None:
    model, seeds = charges_of(drawn)
    assert model.joint is None
    assert seeds.joint is not None
    assert seeds.joint.others == (model.identity,)
    apart = model.claim.cost + seeds.claim.cost
    assert seeds.joint.claim.cost.epsilon < Fraction(9, 10) * apart.epsilon
    assert seeds.joint.claim.cost.delta == apart.delta
    # Alone, as in the sum of a period in which the model was not learnt, the seeds cost what they claim.
    assert float(cost_of([seeds]).epsilon) == pytest.approx(
        joint_split([(Fraction(4, 5), best_again(seeds.events, seeds.claim.cost.delta))]).epsilon, rel=1e-6
    )


def test_the_release_holds_by_itself_and_with_the_whole_ledger(published: Published) -> None:
    for with_ledger in (False, True):
        report = published.verify(with_ledger=with_ledger)
        assert report.holds, faults(report)


def test_no_figure_of_the_joint_cost_can_be_changed(published: Published) -> None:
    record = published.record
    place = next(place for place, step in enumerate(record["cost"]["steps"]) if "joint" in step)
    stated = list(leaves(record["cost"]["steps"][place]["joint"]))
    assert len(stated) == 4
    for leaf in stated:
        altered = published.signed_again(with_change(record, ("cost", "steps", place, "joint", *leaf), another))
        assert not altered.verify().holds, leaf


def test_a_joint_cost_that_is_less_than_the_events_cost_is_found(published: Published) -> None:
    (seeds,) = (step for step in published.record["cost"]["steps"] if "joint" in step)
    less = f"{seeds['joint']['cost']['epsilon'] * 0.98:.6f}"
    said = faults(with_joint(published, {"epsilon": less}).verify())
    assert "together with learn_parameters.epsilon is" in said


def test_a_joint_cost_with_other_draws_is_found(published: Published) -> None:
    said = faults(with_joint(published, {"others": ["0" * 64]}).verify())
    assert "charged together with other draws than learn_parameters" in said


def test_the_entry_of_a_joint_cost_is_read_back(drawn: Drawn) -> None:
    found = [entry for entry in open_ledger(drawn.workspace).entries() if "joint" in entry.content]
    assert [Entry.from_record(entry.to_record()).fact() for entry in found] == [charges_of(drawn)[1]]


def test_plan_and_statement_say_that_they_are_charged_together(drawn: Drawn) -> None:
    joint = drawn.accounts.joint
    assert joint is not None
    said = seeds_in_words(drawn.accounts)
    assert said is not None
    assert said.startswith("with learn_parameters epsilon = ")
    assert said.endswith("for the records read, by pld, and so charged")
    stated = statement_in_words("people-1", drawn.workspace.spec, drawn.accounts)
    assert "Together with the noise of the model, composed as\none privacy loss, they have **epsilon = " in stated


def test_a_learner_whose_loss_is_unknown_is_added_up_and_plan_and_statement_say_so(tmp_path: Path) -> None:
    rounds = {**LEARNERS["aim"].asked, **SAMPLERS["poisson_seeds"], "split": SHARED["split"]}
    spec = load_spec(write_small_release(tmp_path, people=[], **rounds))
    accounts = plan_release(spec).accounts
    model, seeds = accounts.steps
    assert accounts.joint is None
    assert accounts.total is not None
    assert accounts.total.accountant == "joint_split + basic"
    apart = model.charged.epsilon + seeds.charged.epsilon
    assert accounts.total.epsilon == pytest.approx(joint_split([(0.8, replace(model.charged, epsilon=apart))]).epsilon)
    assert seeds_in_words(accounts) == "added to the cost of learn_parameters, whose loss has no known distribution"
    assert "model is added to that: the loss of its noise has no known" in statement_in_words("r", spec, accounts)


# ---- how many records start from a seed

STATED = "the record states how many records start from a seed"


def figures_of(drawn: Drawn, name: str) -> list[dict[str, float]]:
    """Return the figures that a step noted, part by part."""
    notes = noted_steps(drawn.workspace, tuple(flow_steps(drawn.workspace.spec)))
    return [step.figures or {} for step in notes if step.step == name]


def test_record_pages_and_verification_state_how_many_records_start_from_a_seed(
    drawn: Drawn, published: Published
) -> None:
    seeded, records = published.record["release"]["seeded"], published.record["release"]["records"]
    assert 0 < seeded < records
    (gathered,) = figures_of(drawn, "gather")
    assert gathered["public/records_seeded"] == seeded
    assert gathered["public/records_filled"] == records - seeded
    (line,) = (check.line for check in published.verify().checks if check.name == STATED)
    assert line.endswith(f"({seeded:,} of {records:,}; the other {records - seeded:,} are drawn from the model)")
    readme = published.files["README.md"].decode()
    assert f"{seeded:,} start from a seed and passed the test; {records - seeded:,} are drawn from the model" in readme
    page = published.files["index.html"].decode()
    assert "Records from seeds" in page
    assert f"the other {records - seeded:,} are drawn from the model alone" in page


def test_the_numbers_of_single_blocks_do_not_leave_the_machine(drawn: Drawn) -> None:
    """They would narrow down which records start from a seed."""
    blocks = figures_of(drawn, "synthesize")
    assert sum(int(figures["internal/records_seeded"]) for figures in blocks) == seeded_records(drawn.workspace)
    assert not any("public/records_seeded" in figures for figures in blocks)


@pytest.mark.parametrize("number", [None, -1, 401])
def test_a_number_of_seeded_records_that_cannot_be_is_found(published: Published, number: int | None) -> None:
    record = published.record
    record["release"]["seeded"] = number
    if number is None:
        del record["release"]["seeded"]
    said = faults(published.signed_again(record).verify())
    assert f"release.seeded is {number}, but must be how many of the 400 records start from a seed" in said


def test_a_release_without_seeds_states_no_number(published: Published) -> None:
    record = published.record
    record["spec"]["document"]["synthesis"]["guarantee"] = "seedless"
    said = faults(published.signed_again(record).verify())
    assert "but with the spec's guarantee there is no such number" in said
