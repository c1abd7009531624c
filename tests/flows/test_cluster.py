"""A release on several processes: the same bytes as on one, whatever becomes of the processes meanwhile.

Scheduler, workers, object store and signals are real.
"""

import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from shutil import copyfile, copytree, ignore_patterns
from threading import Event, Thread
from typing import Any

import httpx
import pandas as pd
import psutil
import pytest

from deniable.foundation.errors import DeniableError, InvalidInput, Refused
from flows.release import release
from infra.cluster import worker_checks
from infra.cluster.choosing import cluster_runner
from infra.cluster.joining import AdmitWorkers, Asked
from infra.cluster.local import _has
from infra.cluster.runner import ClusterFailed, ClusterRunner
from infra.cluster.settings import Cluster
from infra.cluster.worker_checks import complaint, describe_worker
from infra.servers.local_servers import free_port
from schemas import catalog
from schemas.provenance import RECORD
from schemas.references import Audience, Reference
from stores.keys.signed_record import read_signed
from stores.ledger.ledger import Ledger, ledger_place
from stores.vault.workspace import Workspace
from tasks.running import counting
from tasks.running.progress import watching
from tests.diary import Diary
from tests.flows.canaries import files_with_canaries, people_with_canaries
from tests.flows.command import command, environment, run, variables_of_this_server
from tests.mechanisms.table import LEARNERS
from tests.small_release import NAMES, write_small_release
from tests.store_server import BUCKET, ObjectStore, object_store
from tests.warm import run_module

ROOT = Path(__file__).resolve().parents[2]
BLOCKS = 12
CHANGED = Path("tasks", "data", "clean.py")
_ENOUGH_S = 300


@dataclass(frozen=True)
class Agency:
    """A state folder and the cluster of it."""

    state: Path
    home: Path
    address: str

    @property
    def runner(self) -> ClusterRunner:
        return ClusterRunner(self.address, self.state)

    def workers(self) -> list[psutil.Process]:
        """The processes that do the work, and not those that watch over them."""
        with self.runner as runner:
            return [psutil.Process(pid) for pid in runner.client.run(os.getpid).values()]

    def told(self) -> dict[str, str]:
        """Where the flows of this process are recorded."""
        return {"DENIABLE_MLFLOW_TRACKING_URI": os.environ["MLFLOW_TRACKING_URI"]}

    def command(self, *arguments: str) -> str:
        done = run(*arguments, "--state", self.state, home=self.home, **self.told())
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def wait_for(self, workers: int) -> None:
        """Wait until the scheduler knows so many workers."""
        with self.runner as runner:
            give_up = time.monotonic() + _ENOUGH_S
            while runner.hands() != workers and time.monotonic() < give_up:
                time.sleep(0.05)
            assert runner.hands() == workers


@contextmanager
def cluster(folder: Path, workers: int) -> Iterator[Agency]:
    """A state folder with a cluster."""
    here = Agency(folder / "state", folder / "home", "")
    address = here.command("servers", "cluster", "up", "--workers", str(workers)).rpartition("=")[2]
    assert address.startswith("tls://127.0.0.1:")
    noted = [json.loads(path.read_text())["pid"] for path in (here.state / "cluster" / "run").glob("*.json")]
    started = [psutil.Process(pid) for pid in noted]
    assert len(started) == 2, "a scheduler, and who watches over the workers"
    try:
        yield Agency(here.state, here.home, address)
    finally:
        here.command("servers", "cluster", "down")
        assert not [one for one in started if one.is_running()]


@pytest.fixture(scope="module", autouse=True)
def _any_row_is_worth_sending() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counting, "WORTH_SENDING", 1)
        yield


@pytest.fixture(scope="module")
def agency(tmp_path_factory: pytest.TempPathFactory, prefect: None) -> Iterator[Agency]:
    with cluster(tmp_path_factory.mktemp("agency"), workers=2) as started:
        yield started


@pytest.fixture(scope="module")
def store() -> Iterator[ObjectStore]:
    with object_store() as started:
        yield started


def write_spec(folder: Path, store: ObjectStore, **changes: Any) -> Path:
    """A spec of a table with canaries that lies in an object store, in three Parquet files."""
    people = pd.DataFrame(people_with_canaries(), columns=[*NAMES, "name"])
    for number, start in enumerate(range(0, len(people), 1100)):
        path = folder / "parts" / f"year={2015 + number}" / "part.parquet"
        path.parent.mkdir(parents=True)
        people[start : start + 1100].to_parquet(path)
    source = {"kind": "file", "path": store.put(folder / "parts", folder.name)}
    return write_small_release(folder / "spec", people=[], source=source, chunk_rows=200, **changes)


@dataclass(frozen=True)
class Alone:
    """A release that was made on one machine.

    Attributes:
        spec: what it is of.
        key: its key, for others to draw the same.
        folder: what is public.
        charges: what it was charged.
    """

    spec: Path
    key: Path
    folder: Path
    charges: set[str]


def made_alone(spec: Path, state: Path, key: Path | None = None) -> Alone:
    made = release(spec, state, key).workspace
    return Alone(spec, made.vault / "key", made.release_folder, charges(state))


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory, store: ObjectStore, prefect: None) -> Alone:
    """The release that every cluster is to make again."""
    folder = tmp_path_factory.mktemp("alone")
    return made_alone(write_spec(folder, store, synthesis__chunk_candidates=32), folder / "state")


def charges(state: Path) -> set[str]:
    """What the dataset was charged: the same draw under the same key has one identity, whoever makes it."""
    return {charged.charge.identity for charged in Ledger.open(ledger_place(state)).charges("people")}


def steps(folder: Path) -> list[tuple[Any, ...]]:
    """What the record says of the steps before publication, but for when they were and which runs they are."""
    record = read_signed(folder / RECORD).record
    return [
        (one.step, one.part, one.inputs, one.outputs, one.cost, one.events, one.parameters)
        for one in record.steps
        if one.step != "publish"
    ]


def require_same(folder: Path, alone: Alone) -> None:
    """The same public table, model and graph, and the same record of what was done."""
    tables, learnt = {".parquet", ".csv"}, {"graph", "model"}
    same = [path for path in alone.folder.iterdir() if path.suffix in tables or path.stem in learnt]
    assert len(same) >= 3
    for path in same:
        assert (folder / path.name).read_bytes() == path.read_bytes(), path.name
    assert steps(folder) == steps(alone.folder)


@pytest.mark.nightly
def test_a_release_whose_workers_are_lost_goes_on_when_it_is_run_again(
    agency: Agency, alone: Alone, prefect: None
) -> None:
    known, published = vaults(agency), releases(agency)
    with giving_up_at_once(agency):
        failed = released_while_killed(agency, alone)
    assert isinstance(failed, ClusterFailed), failed
    assert "run the release again to resume it" in str(failed)
    assert releases(agency) == published
    paid = charges(agency.state)
    assert paid >= alone.charges
    [vault] = vaults(agency) - known
    made = release.with_options(task_runner=agency.runner)(alone.spec, agency.state).workspace
    assert made.vault == vault
    require_same(made.release_folder, alone)
    assert charges(agency.state) == paid
    assert not list(vault.glob("counts-*"))
    # The public record knows neither the store nor how many shared the work.
    for path in made.release_folder.iterdir():
        assert BUCKET.encode() not in path.read_bytes(), path.name


def vaults(agency: Agency) -> set[Path]:
    return set((agency.state / "vault").glob("small-*"))


def releases(agency: Agency) -> set[Path]:
    return set((agency.state / "releases").glob("*"))


@contextmanager
def giving_up_at_once(agency: Agency) -> Iterator[None]:
    """Have the scheduler give up a task whose worker is lost, as it does by itself when that happens several times."""
    agency.wait_for(2)
    with agency.runner as runner:
        before = runner.client.run_on_scheduler(allow_failures, 0)
        try:
            yield
        finally:
            runner.client.run_on_scheduler(allow_failures, before)


def allow_failures(number: int, dask_scheduler: Any) -> Any:
    before, dask_scheduler.allowed_failures = dask_scheduler.allowed_failures, number
    return before


@dataclass(frozen=True)
class InRounds:
    """A release whose tables two workers counted in rounds.

    Attributes:
        spec: what it is of.
        workspace: where it is.
        told: what whoever watched was told.
    """

    spec: Path
    workspace: Workspace
    told: list[str]


@pytest.fixture(scope="module")
def in_rounds(tmp_path_factory: pytest.TempPathFactory, agency: Agency, store: ObjectStore, prefect: None) -> InRounds:
    """A release of the other learner on the agency's workers."""
    seedless = {"guarantee": "seedless", "records": 400, "chunk_candidates": 64}
    learner = {"kind": "loglinear", "noise": "auto", "parameters": {"epsilon": 1, "delta": 1e-6}}
    spec = write_spec(tmp_path_factory.mktemp("rounds"), store, name="rounds", learner=learner, synthesis=seedless)
    agency.wait_for(2)
    with watching(diary := Diary()):
        made = release.with_options(task_runner=agency.runner)(spec, agency.state).workspace
    return InRounds(spec, made, diary.lines)


@pytest.mark.nightly
def test_the_other_learner_counts_in_rounds_on_two_workers(in_rounds: InRounds, tmp_path: Path) -> None:
    made = in_rounds.workspace
    require_same(made.release_folder, made_alone(in_rounds.spec, tmp_path / "state", made.vault / "key"))
    assert not list(made.vault.glob("counts-*"))


@pytest.mark.nightly
def test_destinations_of_commuters_are_drawn_on_two_workers(agency: Agency, tmp_path: Path, prefect: None) -> None:
    """Seven chunks of records, which are two blocks: the same records as in one process."""
    asked = LEARNERS["origin_destination"].asked
    spec = write_small_release(tmp_path / "spec", **asked, name="commuters", synthesis__chunk_candidates=64)
    agency.wait_for(2)
    with watching(diary := Diary()):
        made = release.with_options(task_runner=agency.runner)(spec, agency.state).workspace
    assert diary.lines.count("synthesize started") == 2
    alone = made_alone(spec, tmp_path / "state", made.vault / "key")
    tables = [path for path in alone.folder.iterdir() if path.suffix in {".parquet", ".csv"}]
    assert tables
    for path in tables:
        assert (made.release_folder / path.name).read_bytes() == path.read_bytes(), path.name
    assert steps(made.release_folder) == steps(alone.folder)


@pytest.mark.nightly
def test_whoever_watches_is_told_what_workers_have_done(in_rounds: InRounds) -> None:
    """Seven chunks of at most 64 records are two blocks."""
    drawn = [line for line in in_rounds.told if line.startswith("synthesize")]
    assert drawn[-1] == "synthesize ended well"
    assert sorted(drawn) == [
        "synthesize advanced 144",
        "synthesize advanced 256",
        *2 * ["synthesize ended well"],
        *2 * ["synthesize started"],
    ]
    counted = [line for line in in_rounds.told if line.startswith("count ")]
    assert len(counted) >= 4
    assert counted.count("count started") == counted.count("count ended well") == len(counted) / 2


@pytest.mark.parametrize(("rows", "shares"), [(1_900_000, 1), (2_000_000, 2), (50_000_000, 4), (None, 4)])
def test_rows_are_sent_to_workers_where_there_are_enough_of_them(
    rows: int | None, shares: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    part = Reference(name="codes", path=Path("codes"), digest="0" * 64, audience=Audience.RESTRICTED, rows=rows)
    for name, value in (("workers", FourHands), ("row_groups", lambda _: 10), ("WORTH_SENDING", 1_000_000)):
        monkeypatch.setattr(counting, name, value)
    found = counting._shares(part)
    assert len(found) == shares
    assert [group for share in found for group in share] == list(range(10))


class FourHands:
    """Workers with four threads."""

    def hands(self) -> int:
        return 4


@pytest.mark.usefixtures("in_rounds")
def test_workers_keep_and_log_no_record(agency: Agency) -> None:
    assert (agency.state / "cluster" / "work").stat().st_mode & 0o077 == 0
    assert list((agency.state / "cluster" / "work").iterdir())
    assert not files_with_canaries(agency.state / "cluster", agency.home)
    assert not list((agency.state / "cluster" / "probes").iterdir())


def test_nobody_is_answered_without_the_certificate_and_no_page_is_served(agency: Agency) -> None:
    noted = [json.loads(path.read_text())["pid"] for path in (agency.state / "cluster" / "run").glob("*.json")]
    family = [one for pid in noted for one in (psutil.Process(pid), *psutil.Process(pid).children(recursive=True))]
    processes = {one.pid: one for one in (*family, *agency.workers())}.values()
    listening = {
        connection.laddr
        for process in processes
        for connection in process.net_connections("inet")
        if connection.status == psutil.CONN_LISTEN
    }
    assert {address.ip for address in listening} == {"127.0.0.1"}
    encrypted = 0
    stranger = ssl.create_default_context()
    stranger.check_hostname, stranger.verify_mode = False, ssl.CERT_NONE
    for address in listening:
        try:
            for path in ("/", "/status", "/health", "/api/v1/retire_workers", "/info/main/workers.html"):
                assert httpx.get(f"http://127.0.0.1:{address.port}{path}", timeout=60).status_code == 404
        except httpx.TransportError:
            # It does not speak HTTP: whoever comes without a certificate of the cluster is turned away.
            encrypted += 1
            raw = socket.create_connection(tuple(address))
            with stranger.wrap_socket(raw) as opened, pytest.raises(ssl.SSLError, match="CERTIFICATE_REQUIRED"):
                opened.recv(1)
    assert encrypted >= 3, "a scheduler and two workers"


def test_workers_that_are_killed_in_the_middle_change_nothing(agency: Agency, alone: Alone, prefect: None) -> None:
    agency.wait_for(2)
    before = charges(agency.state)
    made = released_while_killed(agency, alone)
    assert isinstance(made, Path), made
    require_same(made, alone)
    assert charges(agency.state) == before | alone.charges


def released_while_killed(agency: Agency, alone: Alone) -> Path | DeniableError:
    """Release, and kill all workers once the first block is drawn; the release's folder, or what it failed with.

    Those who watch over the workers start others.
    """
    known, workers, done = drawn(agency), agency.workers(), Event()
    assert len(workers) == 2
    killed: list[int] = []

    def wait_and_kill() -> None:
        while not done.is_set() and known == drawn(agency):
            time.sleep(0.005)
        for worker in workers:
            worker.send_signal(signal.SIGKILL)
        killed.append(len(drawn(agency) - known))

    killer = Thread(target=wait_and_kill)
    killer.start()
    try:
        made = release.with_options(task_runner=agency.runner)(alone.spec, agency.state, alone.key)
    except DeniableError as error:
        return error
    else:
        return made.workspace.release_folder
    finally:
        done.set()
        killer.join()
        assert 0 < killed[0] < BLOCKS, "they were to be killed in the middle"


@pytest.mark.nightly
def test_a_release_that_is_cancelled_on_a_cluster_goes_on_elsewhere(
    tmp_path: Path, agency: Agency, store: ObjectStore, prefect: None
) -> None:
    """Prefect cancels a run by SIGTERM; the workers stay, and another process finishes the release without them."""
    spec = write_spec(tmp_path, store, name="cancelled", synthesis__candidates=6000, synthesis__chunk_candidates=32)
    agency.wait_for(2)
    known = drawn(agency)
    told = {"DENIABLE_DASK": agency.address, **variables_of_this_server(), **agency.told()}
    with subprocess.Popen(
        command("release", "make", spec, "--state", agency.state),
        env={**environment(agency.home), **told},
        cwd=agency.home,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        while process.poll() is None and known == drawn(agency):
            time.sleep(0.005)
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=_ENOUGH_S)
    assert process.returncode == 130, said
    [vault] = (agency.state / "vault").glob("cancelled-*")
    assert 0 < len(drawn(agency) - known) < 47, "it was to be cancelled in the middle"
    assert not list((agency.state / "releases").glob("cancelled-*"))
    paid = charges(agency.state)
    made = release(spec, agency.state).workspace
    assert made.vault == vault
    assert charges(agency.state) == paid
    require_same(made.release_folder, made_alone(spec, tmp_path / "state", vault / "key"))
    agency.wait_for(2)


def drawn(agency: Agency) -> set[Path]:
    """The blocks of candidates that are drawn."""
    return set((agency.state / "vault").glob("*/candidates-*.parquet"))


@contextmanager
def worker(agency: Agency, *before: str, **variables: str) -> Iterator["subprocess.Popen[str]"]:
    """One more worker of a cluster, started as on another machine; what it says can be read."""
    command = [*before, sys.executable, "-m", "flows", "servers", "cluster", "worker", agency.address, "--workers", "1"]
    started = subprocess.Popen(
        [*command, "--state", str(agency.state)],
        env={**environment(agency.home), **agency.told(), **variables},
        cwd=agency.home,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield started
    finally:
        if started.poll() is None:
            for one in [*psutil.Process(started.pid).children(recursive=True), started]:
                one.kill()
        started.wait()


def other_code(folder: Path) -> str:
    """A copy of the project that is not the same."""
    for package in ("deniable", "schemas", "stores", "reports", "tasks", "infra", "flows"):
        copytree(ROOT / package, folder / package, ignore=ignore_patterns("browser"))
    with (folder / CHANGED).open("a") as module:
        module.write("# another version\n")
    return str(folder)


def require_refused(agency: Agency, folder: Path, said: str, *before: str, **variables: str) -> None:
    """A release does not begin while there is such a worker, and is told why."""
    spec = write_small_release(folder / "spec", name="refused")
    with worker(agency, *before, **variables):
        agency.wait_for(3)
        with pytest.raises(Refused, match=said):
            release.with_options(task_runner=agency.runner)(spec, agency.state)
    agency.wait_for(2)
    assert not list((agency.state / "vault").glob("refused-*"))


def test_workers_are_refused_before_a_release_begins_if_this_process_runs_other_code(
    tmp_path: Path, agency: Agency, prefect: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = write_small_release(tmp_path / "spec", name="refused")
    agency.wait_for(2)
    monkeypatch.setattr(worker_checks, "code_digest", lambda: "other code")
    with pytest.raises(Refused, match="runs other code; install the same version"):
        release.with_options(task_runner=agency.runner)(spec, agency.state)
    assert not list((agency.state / "vault").glob("refused-*"))


def test_code_is_known_by_its_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own, other = catalog.code_digest(), Path(other_code(tmp_path / "other"))
    monkeypatch.setattr(catalog, "__file__", str(other / "schemas" / "catalog.py"))
    assert catalog.code_digest.__wrapped__() != own
    copyfile(ROOT / CHANGED, other / CHANGED)
    assert catalog.code_digest.__wrapped__() == own


@pytest.mark.nightly
def test_workers_that_run_other_code_are_refused_before_a_release_begins(
    tmp_path: Path, agency: Agency, prefect: None
) -> None:
    other = other_code(tmp_path / "other")
    require_refused(agency, tmp_path, "runs other code; install the same version", PYTHONPATH=other)


@pytest.mark.nightly
def test_workers_that_do_not_see_the_state_folder_are_refused_before_a_release_begins(
    tmp_path: Path, agency: Agency, prefect: None
) -> None:
    elsewhere = f'mount -t tmpfs none {agency.state}/cluster/probes && exec "$@"'
    user = [] if os.geteuid() == 0 else ["--map-root-user"]
    unshared = ("unshare", *user, "--mount", "sh", "-c", elsewhere, "sh")
    require_refused(agency, tmp_path, "does not see the state folder; mount it there", *unshared)


@pytest.mark.nightly
def test_workers_that_join_while_a_release_is_under_way_are_looked_at_before_they_work(
    tmp_path: Path, agency: Agency
) -> None:
    other = other_code(tmp_path / "other")
    with agency.runner as runner:
        runner.require_workers(agency.state)
        with worker(agency):
            agency.wait_for(3)
        agency.wait_for(2)
        with worker(agency, PYTHONPATH=other) as stranger:
            _, said = stranger.communicate(timeout=_ENOUGH_S)
        assert "leaves the cluster: it runs other code; install the same version" in said
        agency.wait_for(2)
    assert not list((agency.state / "locks").glob(".probe-*"))


def test_workers_that_join_as_a_release_ends_stay(agency: Agency) -> None:
    """What they are to look for may be gone before they look, and what they were asked is void by then."""
    agency.wait_for(2)
    ended = Asked(agency.state, "cluster/probes/gone", (), describe_worker(agency.state, "gone", ()), "", ".probe-gone")
    ended = replace(ended, expected={**ended.expected, "reads": "what is there no more"})
    with agency.runner as runner:
        runner.client.register_plugin(AdmitWorkers(ended), name=ended.sign)
        assert runner.hands() == 2
        assert set(runner.client.run(worker_status).values()) == {"running"}
        runner.client.unregister_worker_plugin(ended.sign)


def worker_status(dask_worker: Any) -> str:
    return str(dask_worker.status.value)


_ASKS_AND_DIES = """
import os, signal, sys
from pathlib import Path
from infra.environment import prepare_environment

prepare_environment(Path(sys.argv[2]))
from infra.cluster.runner import ClusterRunner
runner = ClusterRunner(sys.argv[1], Path(sys.argv[2])).__enter__()
runner.require_workers(Path(sys.argv[2]))
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.nightly
def test_what_a_release_that_died_asked_of_workers_is_void(tmp_path: Path, agency: Agency) -> None:
    died = subprocess.run(
        [sys.executable, "-c", _ASKS_AND_DIES, agency.address, str(agency.state)],
        env={**environment(agency.home), **agency.told(), "PYTHONPATH": str(ROOT)},
        check=False,
    )
    assert died.returncode == -signal.SIGKILL
    assert len(list((agency.state / "locks").glob(".probe-*"))) == 1
    with worker(agency, PYTHONPATH=other_code(tmp_path / "other")) as stranger:
        agency.wait_for(3)
        time.sleep(2)
        assert stranger.poll() is None
    agency.wait_for(2)


def test_a_cluster_that_is_not_there_or_has_no_worker_is_refused(
    tmp_path: Path, agency: Agency, prefect: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last test of the agency's cluster, which has no worker from then on."""
    spec = write_small_release(tmp_path / "spec", name="refused")
    with pytest.raises(Refused, match="must answer, and does not; start it"):
        release.with_options(task_runner=ClusterRunner("tcp://127.0.0.1:9", agency.state))(spec, agency.state)
    monkeypatch.setattr("infra.cluster.runner._WAIT_FOR_WORKERS_S", 1)
    noted = json.loads((agency.state / "cluster" / "run" / "workers.json").read_text())
    family = psutil.Process(noted["pid"])
    for one in [family, *family.children(recursive=True)]:
        one.kill()
    agency.wait_for(0)
    with pytest.raises(Refused, match="must have a worker, and has none; start one by"):
        release.with_options(task_runner=agency.runner)(spec, agency.state)
    assert not list((agency.state / "vault").glob("refused-*"))


def test_what_is_wrong_with_a_worker_is_said() -> None:
    here = {"code": "1", "packages": "2", "reads": "3", "tracking": "4", "reaches": ""}
    assert complaint(here, here, marked=True) == ""
    for name, said in (("code", "other code"), ("packages", "other packages"), ("reads", "same path")):
        assert said in complaint({**here, name: "another"}, here, marked=True)
    assert "same path" in complaint(here, here, marked=False)
    assert "another MLflow" in complaint({**here, "tracking": "another"}, here, marked=True)
    assert "does not reach" in complaint({**here, "reaches": "yn"}, here, marked=True)


def test_a_cluster_needs_an_address_and_a_prefect_server_that_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DENIABLE_PREFECT_API_URL", raising=False)
    assert cluster_runner(tmp_path) is None
    monkeypatch.setenv("DENIABLE_DASK", "nonsense")
    with pytest.raises(InvalidInput, match="must have the form tls://HOST:PORT, got nonsense"):
        cluster_runner(tmp_path)
    for host in ("192.0.2.7", "127.agency.example"):
        monkeypatch.setenv("DENIABLE_DASK", f"tcp://{host}:8786")
        with pytest.raises(InvalidInput, match=f"must be reached by tls://, got tcp://{host}:8786"):
            cluster_runner(tmp_path)
    monkeypatch.setenv("DENIABLE_DASK", "tcp://127.0.0.1:1234")
    with pytest.raises(InvalidInput, match="must report to a permanent Prefect server"):
        cluster_runner(tmp_path)
    monkeypatch.setenv("DENIABLE_PREFECT_API_URL", "http://127.0.0.1:4200/api")
    assert isinstance(cluster_runner(tmp_path), ClusterRunner)


def test_a_deployment_names_its_cluster_by_a_variable(tmp_path: Path) -> None:
    flows = "entrypoints.release, entrypoints.refresh, entrypoints.audit"
    script = tmp_path / "script.py"
    script.write_text(f"from flows import entrypoints; print(*(type(flow.task_runner).__name__ for flow in ({flows})))")
    named = {"DENIABLE_STATE": str(tmp_path), "DENIABLE_DASK": "tls://127.0.0.1:1"}
    done = run_module(str(script), [], env={**environment(tmp_path / "home"), **named}, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "ClusterRunner ClusterRunner ThreadPoolTaskRunner"


def test_a_scheduler_of_this_machine_makes_its_certificate_and_workers_wait_for_it(tmp_path: Path) -> None:
    state, home, port = tmp_path / "state", tmp_path / "home", free_port()
    refused = run("servers", "cluster", "worker", f"tls://127.0.0.1:{port}", "--state", state, home=home)
    assert refused.returncode == 1
    assert "start the scheduler first" in refused.stderr
    scheduler = subprocess.Popen(
        command("servers", "cluster", "scheduler", "--host", "localhost", "--port", str(port), "--state", state),
        env=environment(home),
        cwd=home,
    )
    try:
        own, give_up = Cluster(state), time.monotonic() + _ENOUGH_S
        while not (own.has_certificate and _has(own, f"tls://127.0.0.1:{port}", 0)):
            assert scheduler.poll() is None
            assert time.monotonic() < give_up
            time.sleep(0.1)
    finally:
        scheduler.kill()
        scheduler.wait()


def test_a_scheduler_that_others_reach_must_have_certificates(tmp_path: Path) -> None:
    done = run(
        "servers", "cluster", "scheduler", "--host", "192.0.2.7", "--state", tmp_path / "state", home=tmp_path / "home"
    )
    assert done.returncode == 1
    assert "must authenticate them" in done.stderr
