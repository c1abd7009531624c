"""A release that is killed at any moment is finished by the next run, to the bit, and is charged once.

The processes are real, and so is the signal.
"""

import json
import os
import signal
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from deniable.foundation.errors import InvalidInput, Refused
from deniable.ledger.budget import BudgetExceeded, cost_of
from deniable.ledger.entries import Cost
from deniable.record.attestation import Envelope, verify
from flows.cli.release.discard import discard_release
from flows.release import release
from schemas.provenance import RECORD
from schemas.spec.plan import plan_release
from schemas.spec.release_spec import load_spec
from stores.keys.signed_record import read_signed
from stores.keys.trust_file import trusted_keys
from stores.ledger.charging import planned_charges
from stores.ledger.ledger import Ledger, ledger_place
from stores.record.folder_verification import verified_release
from stores.releases import resumable_releases as unfinished
from stores.releases.life import LIFE, Stage, left_in_words, stage_of
from stores.releases.resumable_releases import unfinished_release, what_comes_next
from tests.extent import spread
from tests.flows.command import environment, variables_of_this_server
from tests.prototypes import Prototype
from tests.small_release import HISTOGRAM_SEEDS, QUICK, write_small_release
from tests.warm import run_module
from tests.watchers import Faulty

from tasks.running.progress import watching  # isort: skip

if TYPE_CHECKING:
    from flows.released import Released

ROOT = Path(__file__).resolve().parents[2]
STEPS = [
    "account",
    "ingest",
    "validate",
    "clean",
    "split",
    "learn_structure",
    "learn_parameters",
    "index_seeds",
    "synthesize",
    "gather",
    "draw_baseline",
    "evaluate_utility",
    "evaluate_risk",
    "decide",
    "publish",
    "report",
    "seal",
]
MOMENTS = [
    (moment, step)
    for step in STEPS
    for moment in ("before", "during")
    if (moment, step) != ("during", "account")  # it makes no file
] + [("after", "seal")]
AFTER_PUBLICATION = {"report", "seal"}
# From the last step to the end of the command; `printing` is by the command line, which notes after its last line.
MOMENTS_OF_THE_END = [
    ("noting", "finished"),
    ("printing", "to view it"),
    ("noting", "reported"),
    ("printing", "to view it"),
]


@pytest.fixture(scope="module")
def server(prefect: None) -> dict[str, str]:
    """What is told of a Prefect server that outlives the killed."""
    return variables_of_this_server()


def run_and_kill(spec: Path, state: Path, moment: str, step: str, server: dict[str, str]) -> int:
    """Run the release until the moment; the exit status."""
    told = {**environment(state.parent / "home"), **server}
    return run_module("tests.flows.killed", [str(spec), str(state), moment, step], env=told, cwd=ROOT).returncode


class Interrupting:
    """A watcher that interrupts as a step begins."""

    def __init__(self, step: str) -> None:
        self.step = step

    def started(self, step: str) -> None:
        if step == self.step:
            raise KeyboardInterrupt

    def advanced(self, step: str, amount: int) -> None:
        pass

    def ended(self, step: str, *, well: bool) -> None:
        pass


def test_before_anything_is_charged_an_interrupted_release_is_kept_as_a_killed_one_is(
    tmp_path: Path, server: dict[str, str]
) -> None:
    """While a flow runs, Prefect makes its own exception of SIGTERM, and then sends the signal again."""
    spec, step = write_small_release(tmp_path / "spec", **QUICK), "validate"
    states = {ended: tmp_path / ended / "state" for ended in ("killed", "by SIGINT", "by SIGTERM")}
    assert run_and_kill(spec, states["killed"], "before", step, server) == -signal.SIGKILL
    with watching(Interrupting(step)), pytest.raises(KeyboardInterrupt):
        release(spec, states["by SIGINT"])
    terminated = server | {"KILLED_BY": "SIGTERM"}
    assert run_and_kill(spec, states["by SIGTERM"], "before", step, terminated) == -signal.SIGTERM
    left = {ended: [folder.name for folder in (state / "vault").iterdir()] for ended, state in states.items()}
    assert [len(names) for names in left.values()] == [1, 1, 1]
    for ended, state in states.items():
        assert what_comes_next(state, load_spec(spec)).startswith(f"Resuming {left[ended][0]}, which was not finished")
        assert left_in_words(state) == [f"{left[ended][0]}  of the dataset people: {LIFE[Stage.BEGUN].words}"]
        assert not spent(state)[1]
    made = release(spec, states["by SIGINT"])
    assert [made.workspace.release_id] == left["by SIGINT"]


@pytest.fixture(scope="module")
def killed_once(tmp_path_factory: pytest.TempPathFactory, server: dict[str, str]) -> Prototype:
    """A folder with a spec and a state folder whose release was killed before its records were gathered."""
    folder = tmp_path_factory.mktemp("killed") / "release"
    spec = write_small_release(folder / "spec", **QUICK)
    assert run_and_kill(spec, folder / "state", "before", "gather", server) == -signal.SIGKILL
    return Prototype(folder)


@pytest.fixture
def killed(killed_once: Prototype) -> tuple[Path, Path]:
    """Such a spec and state folder, as they were when that was just done."""
    killed_once.restore()
    return killed_once.folder / "spec" / "spec.yaml", killed_once.folder / "state"


def spent(state: Path) -> tuple[Cost, int]:
    """What the ledger has been charged, and how often."""
    ledger = Ledger.open(ledger_place(state))
    return ledger.spent("people"), len(ledger.charges("people"))


def published(state: Path) -> dict[str, Any]:
    """What is published but for pages and records, which tell when they were made, less the release's name."""
    (folder,) = (state / "releases").iterdir()
    files: dict[str, Any] = {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix != ".html"}
    for name, own in {"privacy.json": ["release"], "datapackage.json": ["id", "created"]}.items():
        files[name] = {key: value for key, value in json.loads(files[name]).items() if key not in own}
    return {name: said for name, said in files.items() if name != RECORD and not name.endswith(".md")}


def recorded(state: Path) -> dict[str, Any]:
    """What the public record says, less times, names and numbers of runs; publication is left out, which names them."""
    (folder,) = (state / "releases").iterdir()
    said = read_signed(folder / RECORD).record.to_predicate()
    charges = [entry["content"] for entry in said["ledger"]["entries"]]
    for name in ("signed", "runs", "release", "ledger"):
        del said[name]
    said["code"] = said["code"]["package"]
    said["steps"] = said["steps"][:-1]
    return {**said, "charges": [{name: charge[name] for name in charge if name != "release"} for charge in charges]}


def require_sealed(state: Path) -> None:
    """What was made in the end is whole, signed, and the same in both records."""
    (folder,) = (state / "releases").iterdir()
    keys = trusted_keys(state)
    report = verified_release(folder, keys)
    assert report.holds, report.lines
    sealed = state / "shelf" / folder.name / RECORD
    verify(Envelope.from_text(sealed.read_bytes()), keys.public_keys())
    public, internal = read_signed(folder / RECORD), read_signed(sealed)
    assert internal.subjects == {**public.subjects, RECORD: public.digest}
    assert [(step.step, step.part) for step in internal.record.steps] == [
        *((step.step, step.part) for step in public.record.steps),
        ("report", None),
    ]


def test_a_release_killed_at_every_step_is_the_undisturbed_one_and_charged_once(
    tmp_path: Path, server: dict[str, str], prefect: None
) -> None:
    spec = write_small_release(tmp_path / "spec", synthesis__chunk_candidates=128, budget=exact_budget(tmp_path))
    state, stages = tmp_path / "killed" / "state", [Stage.BEGUN]
    for moment, step in spread(MOMENTS, least=3, most=3):
        status = run_and_kill(spec, state, moment, step, server)
        assert status == -signal.SIGKILL, (moment, step)
        whole = [release_of(state)] if step in AFTER_PUBLICATION else []
        assert [path.name for path in (state / "releases").glob("*")] == whole
        stages.append(stage_of(state, release_of(state)))
        charged = Ledger.open(ledger_place(state)).charges("people")
        assert (stages[-1] == Stage.BEGUN) == (not charged)
        assert (stages[-1] == Stage.PUBLISHED) == bool(whole)
    assert all(after in {before, *LIFE[before].then} for before, after in pairwise(stages))
    assert run_and_kill(spec, state, "never", "none", server) == 0

    key = state / "vault" / release_of(state) / "key"
    undisturbed: Released = release(spec, tmp_path / "undisturbed", key)
    assert published(state) == published(tmp_path / "undisturbed")
    assert recorded(state) == recorded(tmp_path / "undisturbed")
    require_sealed(state)
    assert spent(state) == spent(tmp_path / "undisturbed")
    assert spent(state)[1] == 3
    assert undisturbed.published.rows == 400


@pytest.mark.nightly
def test_a_release_killed_before_it_was_reported_is_reported_and_another_begins_only_then(
    tmp_path: Path, server: dict[str, str], prefect: None
) -> None:
    spec = write_small_release(tmp_path / "spec", **{**QUICK, "budget": exact_budget(tmp_path, **QUICK)})
    asked, state = load_spec(spec), tmp_path / "killed" / "state"
    assert what_comes_next(state, asked).startswith("A new release of small, ")
    for moment, step in MOMENTS_OF_THE_END:
        assert run_and_kill(spec, state, moment, step, server) == -signal.SIGKILL, (moment, step)
        name = release_of(state)
        finished = (moment, step) != ("noting", "finished")
        said = f"To be reported: {name}, which is finished" if finished else f"Resuming {name}, which was not"
        assert what_comes_next(state, asked).startswith(said)
        assert left_in_words(state) == [
            f"{name}  of the dataset people: {LIFE[Stage.SEALED if finished else Stage.PUBLISHED].words}"
        ]
        assert spent(state)[1] == 1
    made = release_of(state)
    sealed = (state / "shelf" / made / RECORD).read_bytes()
    again: Released = release(spec, state)
    assert (again.workspace.release_id, again.published.rows) == (made, 400)
    assert (state / "shelf" / made / RECORD).read_bytes() == sealed
    assert left_in_words(state) == []
    assert what_comes_next(state, asked).startswith("A new release of small, ")
    # It was reported. The next one is another, which the budget has no room for.
    with pytest.raises(BudgetExceeded):
        release(spec, state)
    assert release_of(state) == made
    assert spent(state)[1] == 1


def exact_budget(folder: Path, **changes: Any) -> dict[str, float]:
    """A budget that has room for the release once, and for nothing more."""
    spec = load_spec(write_small_release(folder / "asked", people=[], **changes))
    cost = cost_of(planned_charges(spec, plan_release(spec).accounts))
    return {"epsilon": float(cost.epsilon) * (1 + 1e-12), "delta": float(cost.delta) * (1 + 1e-12)}


MOMENTS_OF_HISTOGRAMS = [
    ("during", "learn_structure"),
    ("renaming", "steps/learn_structure"),
    ("renaming", "steps/learn_parameters"),
    ("before", "noise_seeds"),
    ("during", "noise_seeds"),
    ("renaming", "steps/noise_seeds"),
    ("during", "synthesize"),
    ("renaming", "record.dsse.json"),
    ("renaming", "releases/"),
    ("after", "publish"),
    ("renaming", "shelf/"),
    ("after", "seal"),
]


@pytest.mark.nightly
def test_a_killed_release_of_histogram_seeds_whose_key_is_destroyed_is_charged_once(
    tmp_path: Path, server: dict[str, str], prefect: None
) -> None:
    """Also between a charge's commitment and the journal, and between the end of the release and that of its key."""
    state = tmp_path / "killed" / "state"
    spec = write_small_release(tmp_path / "spec", **HISTOGRAM_SEEDS, budget=exact_budget(tmp_path, **HISTOGRAM_SEEDS))
    for moment, step in spread(MOMENTS_OF_HISTOGRAMS, least=6):
        assert run_and_kill(spec, state, moment, step, server) == -signal.SIGKILL, (moment, step)
    key = (state / "vault" / release_of(state) / "key").read_bytes()
    assert run_and_kill(spec, state, "removing", "/key", server) == -signal.SIGKILL
    assert (state / "vault" / release_of(state) / "key").exists()
    charged, finished = spent(state), release_of(state)
    assert charged[1] == 3
    # The release is finished. The next command finds the key that should be gone, and reports the release without it.
    assert run_and_kill(spec, state, "printing", "to view it", server) == -signal.SIGKILL
    assert not (state / "vault" / finished / "key").exists()
    assert run_and_kill(spec, state, "never", "none", server) == 0
    assert release_of(state) == finished
    assert spent(state) == charged

    (tmp_path / "key").write_bytes(key)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(unfinished, "code_digest", lambda: "other code")
        with pytest.raises(Refused, match="drawn by other code; compare by deniable audit replay"):
            release(spec, state, tmp_path / "key")
    assert (release_of(state), spent(state)) == (finished, charged)
    release(spec, tmp_path / "undisturbed", tmp_path / "key")
    assert published(state) == published(tmp_path / "undisturbed")
    assert recorded(state) == recorded(tmp_path / "undisturbed")
    require_sealed(state)
    assert spent(tmp_path / "undisturbed") == charged


@pytest.mark.parametrize("lost", ["gone", "another"])
def test_a_release_is_not_gone_on_with_under_another_key(killed: tuple[Path, Path], lost: str) -> None:
    spec, state = killed
    key = state / "vault" / release_of(state) / "key"
    key.unlink() if lost == "gone" else key.write_bytes(bytes(32))
    charged = spent(state)
    with pytest.raises(InvalidInput, match="key"):
        release(spec, state)
    assert spent(state) == charged
    assert key.exists() == (lost == "another")


def test_a_changed_schema_is_another_release_and_a_changed_threshold_is_not(killed: tuple[Path, Path]) -> None:
    spec, state = killed
    begun = release_of(state)
    schema = spec.parent / "people.py"
    said = schema.read_text()
    schema.write_text(said.replace('["none", "some", "degree"]', '["degree", "some", "none"]'))
    assert unfinished_release(state, load_spec(spec)) is None
    schema.write_text(said)
    write_small_release(spec.parent, **QUICK, thresholds={"tvd_2way_max": 0.4})
    made = release(spec, state)
    assert made.workspace.release_id == begun
    assert spent(state)[1] == 1


def test_an_unfinished_release_can_be_given_up_and_stays_charged(
    killed: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    spec, state = killed
    begun, charged = release_of(state), spent(state)
    discard_release(state, begun)
    assert "stays charged" in capsys.readouterr().out
    assert list((state / "vault").iterdir()) == []
    assert spent(state) == charged
    made = release(spec, state)
    assert made.workspace.release_id != begun
    with pytest.raises(Refused, match=r"must be begun, charged, held, approved or refused to be disc"):
        discard_release(state, made.workspace.release_id)


def release_of(state: Path) -> str:
    """The one release that was begun."""
    (vault,) = (state / "vault").iterdir()
    return vault.name


def test_a_release_that_another_process_works_on_is_left_alone(
    killed: tuple[Path, Path], server: dict[str, str]
) -> None:
    spec, state = killed
    vault = state / "vault" / release_of(state)
    holder = subprocess.Popen(
        [sys.executable, "-c", _HOLDER, str(vault / "lease")], stdout=subprocess.PIPE, env={**os.environ}
    )
    assert holder.stdout is not None
    holder.stdout.readline()
    assert run_and_kill(spec, state, "never", "none", server) == 1
    holder.kill()
    holder.wait()
    assert run_and_kill(spec, state, "never", "none", server) == 0


_HOLDER = """
import fcntl, sys, time
handle = open(sys.argv[1], "w")
fcntl.flock(handle, fcntl.LOCK_EX)
print("held", flush=True)
time.sleep(600)
"""


def test_a_retry_by_prefect_goes_on_and_pays_once(tmp_path: Path, prefect: None) -> None:
    spec = write_small_release(tmp_path / "spec", **QUICK)
    with watching(Faulty("gather")):
        made = release.with_options(retries=1)(spec, tmp_path / "state")
    assert made.published.rows == 400
    assert spent(tmp_path / "state")[1] == 1
    assert release_of(tmp_path / "state") == made.workspace.release_id
