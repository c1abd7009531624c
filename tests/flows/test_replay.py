"""A release that is run again from its record gives the same bytes; otherwise the step that differs is named."""

import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from prefect.client.orchestration import get_client
from prefect.task_runners import ProcessPoolTaskRunner, TaskRunner, ThreadPoolTaskRunner

from deniable.foundation.errors import InvalidInput, Refused
from deniable.foundation.noise import DiscreteLaplace
from deniable.models.bayes_net import BayesNet
from deniable.record.attestation import SignatureBroken
from flows.release import release
from flows.released import Released
from flows.replay import ReplayDiffers, replay
from schemas import datasets
from schemas.provenance import RECORD, Provenance
from schemas.spec.accounts import Accounts, account
from schemas.spec.plan import ReleasePlan
from schemas.spec.release_spec import load_spec
from stores.keys.signed_record import read_signed, signed_text
from stores.keys.signing_keys import new_key, signing_key
from stores.record.replay_comparison import Replayed
from stores.tables.tables import encode
from tests.commands import carry_out
from tests.flows.apart import apart
from tests.small_release import SCHEMA, made_up_people, write_small_release
from tests.whole_release import GUARANTEES, open_account

pytestmark = pytest.mark.usefixtures("prefect")
SHIPPED = "schemas.datasets.villagers"


@dataclass(frozen=True)
class Elsewhere:
    """A release that was carried to another place: its folder, and what only cleared staff have, beside it."""

    folder: Path
    state: Path
    key: Path
    snapshot: Path
    trusted: Path
    origin: Path

    def replay(self, *, runner: TaskRunner[Any] | None = None, **changes: Any) -> Replayed:
        brought = {"key_file": self.key, "snapshot": self.snapshot, "keys": self.trusted}
        flow = replay.with_options(task_runner=runner) if runner else replay
        with apart(self.state, self.origin):
            replayed: Replayed = flow(self.folder, self.state, **{**brought, **changes})
        return replayed

    def says(self, change: Callable[[dict[str, Any]], None]) -> None:
        """Have those who signed the record sign another."""
        place = self.folder / RECORD
        signed = read_signed(place)
        said = signed.record.to_predicate()
        change(said)
        place.write_text(signed_text(signing_key(self.origin), signed.subjects, Provenance.model_validate(said)))


@pytest.fixture(scope="module")
def origin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A state folder in which a release of each guarantee is published."""
    return tmp_path_factory.mktemp("replays") / "state"


@pytest.fixture(scope="module")
def shipped(origin: Path) -> Iterator[Path]:
    """A schema that ships with the program."""
    schema = origin.parent / "datasets" / "villagers.py"
    schema.parent.mkdir()
    schema.write_text(SCHEMA)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(datasets, "__path__", [str(schema.parent)])
        yield schema
    del sys.modules[SHIPPED]


@pytest.fixture(scope="module")
def made(origin: Path, shipped: Path, prefect: None) -> Mapping[str, Released]:
    """Releases of all guarantees, one after the other; six blocks of four chunks where seeds are tested."""
    changes = {
        **GUARANTEES,
        "tested_seeds": {"synthesis__chunk_candidates": 64},
        "seedless": {**GUARANTEES["seedless"], "dataset": shipped.stem},
    }
    made = {}
    for kind, changed in changes.items():
        spec = write_small_release(origin.parent / kind, name=f"small-{kind}", **changed)
        open_account(origin, load_spec(spec))
        made[kind] = release(spec, origin)
    return made


def carried(released: Released, place: Path) -> Elsewhere:
    """Carry a release to another place, without its internal record."""
    workspace = released.workspace
    there = Elsewhere(
        folder=place / "published" / "release",
        state=place / "state",
        key=place / "key",
        snapshot=place / "people.parquet",
        trusted=place / "trusted.json",
        origin=workspace.state,
    )
    shutil.copytree(workspace.release_folder, there.folder)
    shutil.copyfile(workspace.vault / "key", there.key)
    shutil.copyfile(workspace.vault / "snapshot.parquet", there.snapshot)
    shutil.copyfile(workspace.state / "keys" / "trusted.json", there.trusted)
    return there


@pytest.fixture
def elsewhere(made: Mapping[str, Released], tmp_path: Path) -> Elsewhere:
    return carried(made["tested_seeds"], tmp_path)


def outcomes(replayed: Replayed) -> dict[str, str]:
    return {finding.step: finding.outcome for finding in replayed.findings}


def differs(elsewhere: Elsewhere, **changes: Any) -> Replayed:
    with pytest.raises(ReplayDiffers) as refused:
        elsewhere.replay(**changes)
    replayed = refused.value.replayed
    assert not replayed.same
    assert replayed.first is not None
    assert replayed.first.step in str(refused.value)
    return replayed


def require_all_parts(replayed: Replayed) -> None:
    drawn = next(finding for finding in replayed.findings if finding.step == "synthesize")
    assert (drawn.outcome, drawn.said) == ("same", "all 6 parts")


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(k, marks=[pytest.mark.nightly] if k in {"tested_seeds", "histogram_seeds"} else [])
        for k in GUARANTEES
    ],
)
def test_a_release_of_each_guarantee_is_replayed_to_the_bit(
    kind: str, made: Mapping[str, Released], origin: Path
) -> None:
    """By its name and one thread, in the state folder with its internal figures; what others spent is no matter."""
    with apart(origin):
        replayed = replay.with_options(task_runner=ThreadPoolTaskRunner(max_workers=1))(
            made[kind].workspace.release_id, origin
        )
    assert replayed.same
    if kind == "tested_seeds":
        require_all_parts(replayed)
    assert {**outcomes(replayed), "ingest": "same"} == dict.fromkeys(outcomes(replayed), "same")
    assert {"evaluate_utility", "evaluate_risk", "decide", "publish"} <= set(outcomes(replayed))
    published = next(finding for finding in replayed.findings if finding.step == "publish")
    files = {path.name for path in made[kind].workspace.release_folder.iterdir()}
    assert published.said.startswith(f"all {len(files - {'index.html', RECORD})} files")


@pytest.mark.parametrize(
    "runner",
    [
        pytest.param(ThreadPoolTaskRunner(max_workers=4), id="four threads"),
        pytest.param(ProcessPoolTaskRunner(max_workers=2), id="two processes", marks=pytest.mark.nightly),
    ],
)
def test_threads_and_processes_replay_to_the_bit_elsewhere_whatever_ledger_and_mlflow_are_named(
    elsewhere: Elsewhere, runner: TaskRunner[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With key and snapshot alone."""
    others = {"DENIABLE_LEDGER": tmp_path / "ledger.db", "MLFLOW_TRACKING_URI": tmp_path / "mlflow.db"}
    for name, place in others.items():
        monkeypatch.setenv(name, f"sqlite:///{place}" if name.startswith("MLFLOW") else str(place))
    replayed = elsewhere.replay(runner=runner)
    assert replayed.same
    require_all_parts(replayed)
    assert outcomes(replayed)["evaluate_risk"] == "not replayed"
    assert not any(place.exists() for place in others.values())


def test_the_source_may_be_read_again_instead_of_the_snapshot_and_scratch_is_kept_for_its_owner_alone(
    elsewhere: Elsewhere, origin: Path
) -> None:
    elsewhere.snapshot.unlink()
    source = origin.parent / "tested_seeds" / "people.csv"
    given = (elsewhere.folder, elsewhere.state, elsewhere.key, None, elsewhere.trusted)
    with apart(origin, elsewhere.state):
        replayed = replay(*given, source=source, keep=True)
        assert outcomes(replayed)["ingest"] == "same"
        assert replayed.kept is not None
        assert [replayed.kept] == list((elsewhere.state / "scratch").iterdir())
        assert replayed.kept.stat().st_mode & 0o777 == 0o700
        assert list(replayed.kept.glob("vault/*/codes.parquet"))
        shutil.rmtree(replayed.kept)


def test_another_source_is_named_at_the_first_step_and_nothing_is_drawn_from_it(
    elsewhere: Elsewhere, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = write_small_release(tmp_path / "other", people=made_up_people()[1:]).parent / "people.csv"
    noise = counted_noise(monkeypatch)
    replayed = differs(elsewhere, snapshot=None, source=source)
    assert replayed.first is not None
    assert replayed.first.step == "ingest"
    assert [reason.kind for reason in replayed.reasons] == ["input"]
    assert outcomes(replayed)["learn_structure"] == "failed"
    assert noise == []


def test_another_key_is_named(elsewhere: Elsewhere) -> None:
    elsewhere.key.write_bytes(bytes(32))
    replayed = differs(elsewhere)
    assert replayed.first is not None
    assert (replayed.first.step, [reason.kind for reason in replayed.reasons]) == ("ingest", ["key"])
    assert outcomes(replayed)["validate"] == "not reached"


def test_another_snapshot_is_named(elsewhere: Elsewhere) -> None:
    content = bytearray(elsewhere.snapshot.read_bytes())
    content[len(content) // 2] ^= 1
    elsewhere.snapshot.write_bytes(content)
    replayed = differs(elsewhere)
    assert replayed.first is not None
    assert (replayed.first.step, [reason.kind for reason in replayed.reasons]) == ("ingest", ["input"])
    assert outcomes(replayed)["validate"] == "not reached"


def counted_noise(monkeypatch: pytest.MonkeyPatch, *, added: int = 0) -> list[int]:
    """Count the draws of noise, and add something to each."""
    sample, drawn = DiscreteLaplace.sample, []

    def counting(law: DiscreteLaplace, words: Any, count: int) -> Any:
        drawn.append(count)
        return sample(law, words, count) + added

    monkeypatch.setattr(DiscreteLaplace, "sample", counting)
    return drawn


def test_a_change_of_the_noise_is_caught_where_it_is_drawn_first_and_nothing_is_drawn_from_it(
    elsewhere: Elsewhere, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert counted_noise(monkeypatch, added=1) == []
    replayed = differs(elsewhere)
    assert replayed.first is not None
    assert (replayed.first.step, replayed.first.outcome) == ("learn_structure", "differs")
    assert [reason.kind for reason in replayed.reasons] == ["unexplained"]
    assert outcomes(replayed)["learn_parameters"] == "not reached"


def planted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Estimate other probabilities from the same noisy counts."""
    monkeypatch.setattr(
        "deniable.learners.cfs.parameters.posterior_mean", lambda counts, _: np.full(counts.shape, 1 / counts.shape[1])
    )


def test_a_change_before_any_draw_leads_to_no_draw(elsewhere: Elsewhere, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other codes would be another draw, which nobody has paid for: the ledger refuses it before there is noise."""
    monkeypatch.setattr("tasks.data.clean.encode", lambda frame, domain: encode(frame, domain)[::-1])
    noise = counted_noise(monkeypatch)
    replayed = differs(elsewhere)
    assert replayed.first is not None
    assert replayed.first.step == "clean"
    assert replayed.first.said == "its outputs differ: codes"
    assert outcomes(replayed)["split"] == "differs"
    assert outcomes(replayed)["learn_structure"] == "failed"
    assert noise == []


def test_a_change_of_what_is_drawn_from_the_model_is_named_by_its_parts(
    made: Mapping[str, Released], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Drawn from public things alone, it is charged to nobody, and goes on to the end."""
    elsewhere = carried(made["seedless"], tmp_path)
    sample = BayesNet.sample
    monkeypatch.setattr(BayesNet, "sample", lambda net, words: sample(net, words[::-1]))
    replayed = differs(elsewhere)
    assert replayed.first is not None
    assert replayed.first.step == "synthesize"
    assert "chunks 0-3: its outputs differ: candidates" in replayed.first.said
    publication = next(finding for finding in replayed.findings if finding.step == "publish")
    assert (
        publication.said
        == "its outputs differ: datapackage.json and explore.html and synthetic.csv and synthetic.parquet"
    )


def test_another_environment_or_code_is_the_reason_where_a_step_differs_and_none_where_not(
    elsewhere: Elsewhere, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere.says(lambda said: said["environment"]["packages"].update(numpy="1.0.0"))
    replayed = elsewhere.replay()
    assert replayed.same
    assert [reason.kind for reason in replayed.reasons] == ["environment"]
    planted(monkeypatch)
    elsewhere.says(lambda said: said["code"].update(package="0" * 64, commit="1" * 40, dirty=False))
    replayed = differs(elsewhere)
    assert replayed.first is not None
    assert replayed.first.step == "learn_parameters"
    assert outcomes(replayed)["learn_structure"] == "same"
    code, environment = replayed.reasons
    assert str(environment) == f"environment: numpy {np.__version__} here, 1.0.0 in the record"
    assert code.kind == "code"
    assert "000000000000 (version" in code.said
    assert "commit 111111111111) in the record" in code.said


def test_a_change_of_the_accounting_is_caught_where_it_is_worked_out(
    elsewhere: Elsewhere, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cheaper(plan: ReleasePlan) -> Accounts:
        accounts = account(plan.spec, plan.learning, plan.sampler.prepare)
        return replace(accounts, model=replace(accounts.model, epsilon=accounts.model.epsilon / 2))

    monkeypatch.setattr(ReleasePlan, "accounts", property(cheaper))
    replayed = differs(elsewhere)
    assert replayed.first is not None
    assert (replayed.first.step, replayed.first.said) == ("account", "it computed a different cost")
    assert {finding.step for finding in replayed.findings if finding.contradicts} == {"account", "publish"}


def interrupted(elsewhere: Elsewhere) -> None:
    """Interrupt a replay after its key was copied and its run was opened."""

    def interrupt(*_: object) -> None:
        assert list(elsewhere.state.glob("scratch/*/vault/*/key"))
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tasks.data.clean.encode", interrupt)
        elsewhere.replay()


def test_a_replay_that_wrote_where_releases_are_recorded_would_be_found_out(
    elsewhere: Elsewhere, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the other tests rely on."""
    monkeypatch.setattr("stores.tracking.client.is_scratch", lambda _: False)
    with pytest.raises(AssertionError, match=r"mlflow\.db"):
        interrupted(elsewhere)


def test_a_schema_that_ships_and_was_changed_since_is_the_reason(
    made: Mapping[str, Released], shipped: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Codes follow the order of the values: `clean` is the first to give something else."""
    elsewhere = carried(made["seedless"], tmp_path)
    shipped.write_text(SCHEMA.replace('["f", "m"]', '["m", "f"]'))
    monkeypatch.delitem(sys.modules, SHIPPED)
    replayed = differs(elsewhere)
    assert replayed.first is not None
    assert replayed.first.step == "clean"
    (reason,) = replayed.reasons
    assert str(reason).startswith("code: the schema villagers is different, ")
    shipped.write_text(SCHEMA)
    del sys.modules[SHIPPED]


def test_what_must_not_be_trusted_is_not_run(elsewhere: Elsewhere, tmp_path: Path) -> None:
    new_key(tmp_path / "others", owner="Somebody else")
    with pytest.raises(SignatureBroken, match="signed by a known key"):
        elsewhere.replay(keys=tmp_path / "others" / "keys" / "trusted.json")
    with pytest.raises(InvalidInput, match="name the agency's trust file with --keys"):
        elsewhere.replay(keys=None)
    table = elsewhere.folder / "synthetic.csv"
    table.write_bytes(table.read_bytes().replace(b"yes", b"no ", 1))
    with pytest.raises(Refused, match=r"synthetic\.csv is not what was signed"):
        elsewhere.replay()


def test_what_is_not_there_is_asked_for(elsewhere: Elsewhere, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="give it with --snapshot FILE"):
        elsewhere.replay(snapshot=None)
    with pytest.raises(InvalidInput, match="kept elsewhere, give it with --key FILE"):
        elsewhere.replay(key_file=None)
    with apart(elsewhere.state), pytest.raises(InvalidInput, match="must be published in"):
        replay("no-such-release", elsewhere.state)


def test_an_internal_record_of_another_release_is_refused(elsewhere: Elsewhere, made: Mapping[str, Released]) -> None:
    released, other = made["tested_seeds"].workspace, made["seedless"].workspace
    shelf = elsewhere.state / "shelf" / released.release_id
    shelf.mkdir(parents=True)
    shutil.copyfile(other.shelf / RECORD, shelf / RECORD)
    with pytest.raises(Refused, match="which belongs to another"):
        elsewhere.replay()


def command(monkeypatch: pytest.MonkeyPatch, *arguments: str | Path) -> Callable[[Path], int]:
    """The command as it is typed, with the Prefect server that is there."""
    monkeypatch.setenv("PREFECT_API_URL", str(get_client(sync_client=True).api_url))
    return lambda state: carry_out("audit replay", arguments, state)


def test_a_replay_that_is_interrupted_leaves_nothing_and_the_command_prints_a_line_a_step_and_a_verdict(
    elsewhere: Elsewhere, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(KeyboardInterrupt):
        interrupted(elsewhere)
    brought: list[str | Path] = ["--key", elsewhere.key, "--snapshot", elsewhere.snapshot, "--keys", elsewhere.trusted]
    run = command(monkeypatch, elsewhere.folder, *brought, "--workers", "2")
    with apart(elsewhere.state, elsewhere.origin):
        assert run(elsewhere.state) == 0
        lines = capsys.readouterr().out.splitlines()
        planted(monkeypatch)
        assert run(elsewhere.state) == 1
    steps = list(dict.fromkeys(step.step for step in read_signed(elsewhere.folder / RECORD).record.steps))
    assert [line.split()[0] for line in lines[:-1]] == steps
    assert lines[-1] == "Every step gives the same bytes."
    told = capsys.readouterr().out.splitlines()
    assert told[steps.index("learn_structure")].split() == ["learn_structure", "same"]
    assert told[len(steps)].startswith("The first step whose output differs is learn_parameters: ")
    assert told[len(steps) + 1].startswith("Why: unexplained: ")
