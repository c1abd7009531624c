"""A paid model serves further releases: new attempts are charged alone, and the records name each other and add up."""

import argparse
import json
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from deniable.foundation.errors import InvalidInput, Refused
from deniable.ledger.budget import cost_of
from deniable.ledger.entries import Charge
from flows.audit import audit_here
from flows.cli.release.again import COMMAND
from flows.release import release
from flows.released import Released
from flows.replay import replay
from schemas.provenance import RECORD, Provenance
from stores.keys.signed_record import read_signed
from stores.keys.trust_file import trusted_keys
from stores.ledger.ledger import Ledger, ledger_place
from stores.record.folder_verification import verified_release
from stores.releases.life import Stage, stage_of
from stores.releases.status_file import decide_standing
from tests.extent import spread
from tests.flows.command import run, variables_of_this_server
from tests.flows.test_a_killed_release_goes_on import run_and_kill
from tests.small_release import QUICK, write_small_release
from tests.watchers import Faulty

from tasks.running.progress import watching  # isort: skip

SEEDS: dict[str, Any] = {
    **QUICK,
    "synthesis": {
        "guarantee": "poisson_seeds",
        "omega": 2,
        "plausible": 4,
        "total": 3,
        "delta": 1e-6,
        "public_rows": 2400,
        "records": 400,
        "chunk_candidates": 128,
    },
}


def again(state: Path, *arguments: str | Path) -> int:
    parser = argparse.ArgumentParser()
    COMMAND.arguments(parser)
    return COMMAND.run(parser.parse_args(list(map(str, arguments))), state)


def charges(state: Path) -> list[Charge]:
    facts = [entry.fact() for entry in Ledger.open(ledger_place(state)).entries()]
    return [fact for fact in facts if isinstance(fact, Charge)]


def record_of(released: Released) -> Provenance:
    return read_signed(released.workspace.release_folder / RECORD).record


WRONG: dict[str, tuple[dict[str, Any], list[str], str]] = {
    "no records": (SEEDS, ["--records", "0", "--epsilon", "1"], "--records must be at least 1, got 0"),
    "no epsilon": (SEEDS, ["--records", "9"], "--epsilon must be given, what the seeds"),
    "a negative epsilon": (SEEDS, ["--records", "9", "--epsilon=-1"], "--epsilon must be a number above 0 such as 0.5"),
    "no number": (SEEDS, ["--records", "9", "--epsilon", "1", "--delta", "x"], "--delta must be a number above 0"),
    "an epsilon without seeds": (QUICK, ["--records", "9", "--epsilon", "1"], "--epsilon and --delta must be left out"),
    "candidates": ({}, ["--records", "9", "--epsilon", "1"], "without a fixed number of candidates"),
    "a name": (QUICK, ["--records", "9", "--name", "A b"], "the name of a release must be small letters"),
    "a file that is there": (QUICK, ["--records", "9", "--name", "spec"], "must not replace another file"),
    "no such release": (QUICK, ["--records", "9"], "must be published in"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_arguments_are_refused_in_one_sentence_and_nothing_is_written(name: str, tmp_path: Path) -> None:
    asked, arguments, said = WRONG[name]
    spec = write_small_release(tmp_path, **asked)
    before = sorted(path.name for path in tmp_path.iterdir())
    with pytest.raises(InvalidInput, match=said) as refused:
        again(tmp_path / "state", "small-1", spec, *arguments)
    assert "\n" not in str(refused.value)
    assert sorted(path.name for path in tmp_path.iterdir()) == before


@pytest.mark.nightly
@pytest.mark.usefixtures("prefect")
def test_a_further_release_that_fails_at_any_step_goes_on_and_is_charged_once(tmp_path: Path) -> None:
    state = tmp_path / "state"
    spec = write_small_release(tmp_path / "spec", **SEEDS)
    first = release(spec, state)
    before = charges(state)
    assert again(state, first.workspace.release_id, spec, "--records", "300", "--epsilon", "1") == 0
    further = spec.with_name("small-again.yaml")
    for step, charged in (("learn_parameters", 0), ("index_seeds", 0), ("synthesize", 1), ("publish", 1)):
        with watching(Faulty(step)), pytest.raises(OSError, match="a passing fault"):
            release(further, state)
        assert len(charges(state)) == len(before) + charged, step
    second = release(further, state)
    (charge,) = charges(state)[len(before) :]
    assert charge.release == second.workspace.release_id
    assert audit_here(second.workspace.release_id, state).holds


MOMENTS = [
    ("before", "learn_parameters"),
    ("during", "learn_parameters"),
    ("before", "index_seeds"),
    ("during", "index_seeds"),
    ("renaming", "steps/index_seeds"),
    ("during", "synthesize"),
    ("renaming", "steps/synthesize"),
    ("before", "gather"),
    ("renaming", "record.dsse.json"),
    ("after", "publish"),
    ("after", "seal"),
]
"""Around the model that is read, the one charge, the draws that it pays for, and what is published."""
PUBLISHED = {("after", "publish"), ("after", "seal")}


@pytest.mark.nightly
@pytest.mark.usefixtures("prefect")
def test_a_further_release_that_is_killed_at_any_moment_goes_on_to_the_bit_and_is_charged_once(tmp_path: Path) -> None:
    """All of it in processes of its own, whose records in MLflow are in the state folder."""
    state, server = tmp_path / "further" / "state", variables_of_this_server()
    spec = write_small_release(tmp_path / "spec", **SEEDS)
    assert run_and_kill(spec, state, "never", "none", server) == 0
    (first,) = (folder.name for folder in (state / "releases").iterdir())
    paid = charges(state)
    assert again(state, first, spec, "--records", "300", "--epsilon", "1") == 0
    further = spec.with_name("small-again.yaml")

    begun, charged = set[str](), list[int]()
    for moment, step in spread(MOMENTS, least=4):
        assert run_and_kill(further, state, moment, step, server) == -signal.SIGKILL, (moment, step)
        begun |= {folder.name for folder in (state / "vault").iterdir()} - {first}
        charged.append(len(charges(state)) - len(paid))
        published = {folder.name for folder in (state / "releases").iterdir()} - {first}
        assert bool(published) == ((moment, step) in PUBLISHED), (moment, step)
    assert run_and_kill(further, state, "never", "none", server) == 0
    assert charged == sorted(charged), "once charged, it stays charged"
    (name,) = begun
    (charge,) = charges(state)[len(paid) :]
    assert (charge.release, charge.step) == (name, "attempt_seeds")
    # A replay draws all records again, undisturbed, from the key.
    assert replay(state / "releases" / name, state).same
    for each in (name, first):
        audited = run("audit", "release", each, "--state", state, home=tmp_path / "home", **server)
        assert audited.returncode == 0, audited.stdout + audited.stderr


@pytest.mark.nightly
@pytest.mark.usefixtures("prefect")
def test_a_further_release_charges_its_attempts_alone_and_names_the_release_that_paid(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    state = tmp_path / "state"
    spec = write_small_release(tmp_path / "spec", **SEEDS)
    first = release(spec, state)
    before = charges(state)
    assert again(state, first.workspace.release_id, spec, "--records", "300", "--epsilon", "1") == 0
    said = capsys.readouterr().out
    assert "300 records of the model of small-" in said
    further = spec.with_name("small-again.yaml")

    second = release(further, state)
    (charge,) = charges(state)[len(before) :]
    assert (charge.step, charge.release, charge.joint) == ("attempt_seeds", second.workspace.release_id, None)
    assert charge.commitment not in {each.commitment for each in before}
    one, other = record_of(first), record_of(second)
    assert other.cost.model == one.cost.model.model_copy(update={"accountant": "earlier_release"})
    assert [step.step for step in other.cost.steps] == ["attempt_seeds"]
    assert other.cost.total is not None
    assert one.cost.model.epsilon is not None
    assert other.cost.total.epsilon == pytest.approx(one.cost.model.epsilon + 1, rel=1e-2)
    assert other.spec.document["learner"]["record"] == read_signed(first.workspace.release_folder / RECORD).digest
    stated = json.loads((second.workspace.release_folder / "privacy.json").read_text())
    assert stated["dataset_so_far"]["releases"] == 2
    assert stated["dataset_so_far"]["epsilon"] == pytest.approx(float(cost_of(charges(state)).epsilon))
    # The dataset pays for the model once: less than the sum of what the two releases state.
    assert stated["dataset_so_far"]["epsilon"] < one.cost.total.epsilon + other.cost.total.epsilon

    audited = audit_here(second.workspace.release_id, state)
    assert audited.holds, audited
    assert any("of the release that paid for it" in check.line and check.made for check in audited.checks)
    assert replay(second.workspace.release_folder, state).same

    # Elsewhere, the folder alone does not show what the model cost; with the earlier one beside it, it does.
    (tmp_path / "elsewhere").mkdir()
    folder = tmp_path / "elsewhere" / second.workspace.release_id
    shutil.copytree(second.workspace.release_folder, folder)
    report = verified_release(folder, trusted_keys(state))
    assert report.holds
    assert [check.name for check in report.checks if not check.made] == [
        "the entries are in the exported ledger, which is valid",
        "the model and its cost are those of the release that paid for it",
    ]
    shutil.copytree(first.workspace.release_folder, folder.with_name(first.workspace.release_id))
    assert sum(not check.made for check in verified_release(folder, trusted_keys(state)).checks) == 1

    # A third, of the model alone, costs nothing.
    free = write_small_release(tmp_path / "free", **QUICK)
    yaml = YAML(typ="safe")
    learner = yaml.load(further.read_text())["learner"]
    asked = yaml.load(free.read_text()) | {"learner": learner}
    with free.open("w") as file:
        yaml.dump(asked, file)
    third = release(free, state)
    assert len(charges(state)) == len(before) + 1
    assert record_of(third).cost.total == record_of(third).cost.model.model_copy(update={"accountant": "basic"})

    assert stage_of(state, first.workspace.release_id) == Stage.IN_FORCE
    decide_standing(state, first.workspace.release_id, "withdrawn", "a wrong column")
    assert stage_of(state, first.workspace.release_id) == Stage.WITHDRAWN
    with pytest.raises(Refused, match=r"must be in force to serve again, and small-.* was withdrawn"):
        again(state, first.workspace.release_id, spec, "--records", "9", "--epsilon", "1", "--name", "third")
