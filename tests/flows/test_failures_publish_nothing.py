"""Whatever goes wrong, there is one clear sentence, nothing is published, and only what is paid for is left."""

import re
import resource
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from mlflow import MlflowClient

from deniable.foundation.errors import DeniableError
from flows.release import release
from stores.ledger.ledger import Ledger, ledger_place
from stores.vault.exact_counts import RefusedByCounts
from tests.flows.command import left_of_a_release, run, servers_of, start
from tests.flows.mounts import mounted
from tests.small_release import QUICK, SCHEMA, made_up_people, write_small_release
from tests.warm.servers import bring_databases

if TYPE_CHECKING:
    import subprocess

    from tests.warm import Started

pytestmark = pytest.mark.usefixtures("prefect")


def with_value(column: int, value: str, rows: int) -> list[list[str]]:
    """People of whom some have a value of their own."""
    people = made_up_people()
    for person in people[:rows]:
        person[column] = value
    return people


def without_source(folder: Path) -> Path:
    spec = write_small_release(folder)
    (folder / "people.csv").unlink()
    return spec


def with_empty_part(folder: Path, **changes: str) -> Path:
    """Of 200 people hardly one goes to the structure."""
    return write_small_release(folder, people=made_up_people(200), split__structure=0.0001, **changes)


FAILURES: dict[str, tuple[Callable[[Path], Path], str]] = {
    "missing file": (without_source, "people.csv"),
    "wrong columns": (lambda folder: write_small_release(folder, names=["age", "sex", "school", "job"]), "employed"),
    "value out of the domain": (
        lambda folder: write_small_release(folder, people=with_value(2, "doctorate", 40)),
        "school",
    ),
    "missing digits": (lambda folder: write_small_release(folder, people=with_value(0, "17x", 40)), "age"),
    "no valid row": (lambda folder: write_small_release(folder, people=with_value(3, "?", 3000)), "employed"),
    "no row at all": (lambda folder: write_small_release(folder, people=[]), "."),
    "empty part": (with_empty_part, "structure: 0 of"),
    "unreadable promise": (lambda folder: write_small_release(folder, synthesis__epsilon=1.1), "epsilon"),
}


@pytest.mark.parametrize("name", FAILURES)
def test_a_release_that_cannot_be_made_is_refused_and_leaves_nothing(name: str, tmp_path: Path) -> None:
    write, culprit = FAILURES[name]
    state = tmp_path / "state"
    with pytest.raises(DeniableError) as caught:
        release(write(tmp_path / "spec"), state)
    said, counts = str(caught.value), ""
    if isinstance(caught.value, RefusedByCounts):
        counts = caught.value.counts()
        assert culprit not in said
        assert not [number for number in ("40", "200", "3,000", "3000") if number in caught.value.sentence]
    assert re.search(culprit, said + counts)
    assert left_of_a_release(state) == []
    assert "doctorate" not in said + counts
    assert "17x" not in said + counts


def test_the_record_of_a_failed_release_says_that_it_failed_and_why(tmp_path: Path, state: Path) -> None:
    with pytest.raises(DeniableError, match="each part of the split must have a record"):
        release(with_empty_part(tmp_path / "spec", name="tiny"), tmp_path / "state")
    client = MlflowClient(f"sqlite:///{state}/mlflow/mlflow.db")
    experiment = client.get_experiment_by_name("people")
    assert experiment is not None
    runs = client.search_runs([experiment.experiment_id], "attributes.run_name LIKE 'tiny-%'")
    assert [run.info.status for run in runs] == ["FAILED"]
    assert runs[0].data.tags["failure"].startswith("each part of the split must have a record, got one without;")
    assert "200" not in runs[0].data.tags["failure"].partition("; the counts are in")[0]


SHORT = ("f", "m", "none", "some", "degree", "no", "yes")
LONG = {value: value.ljust(290, ".") for value in SHORT}


def with_large_table(folder: Path) -> Path:
    """A table of 12,000 long records has 10 MB as CSV; no step before publication writes a file a fifth as large."""
    schema = SCHEMA
    for short, long in LONG.items():
        schema = schema.replace(f'["{short}"', f'["{long}"').replace(f' "{short}"', f' "{long}"')
    return write_small_release(
        folder,
        people=[[LONG.get(value, value) for value in person] for person in made_up_people()],
        schema=schema,
        evaluation__train_rows=100,
        **QUICK,
        synthesis__records=12_000,
        synthesis__chunk_candidates=2**17,
    )


@contextmanager
def files_no_larger_than(size: int) -> Iterator[None]:
    """Let this process write no file larger than that; the kernel refuses what goes beyond."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.fixture
def small_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A new MLflow database: that of all tests may have outgrown a limit on the size of files."""
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path / 'mlflow.db'}")


@pytest.mark.nightly
@pytest.mark.usefixtures("small_record")
def test_a_release_that_the_disk_had_no_room_for_goes_on_when_it_has(tmp_path: Path) -> None:
    """Nor is anything of it published before: its table has no room, and no other file is as large."""
    spec, state = with_large_table(tmp_path / "spec"), tmp_path / "state"
    with files_no_larger_than(2 << 20), pytest.raises(DeniableError, match=r"step publish .* limit"):
        release(spec, state)
    assert {left.split("/")[0] for left in left_of_a_release(state)} == {"vault", "shelf"}
    (begun,) = (state / "vault").iterdir()
    charged = Ledger.open(ledger_place(state)).spent("people")
    made = release(spec, state)
    assert made.workspace.release_id == begun.name
    assert made.published.rows == 12_000
    assert Ledger.open(ledger_place(state)).spent("people") == charged
    undisturbed = release(spec, tmp_path / "undisturbed", begun / "key")
    table = "synthetic.parquet"
    same = undisturbed.workspace.release_folder / table
    assert (made.workspace.release_folder / table).read_bytes() == same.read_bytes()


def is_one_clear_sentence(complaint: str) -> bool:
    """Whether standard error ends in one sentence, and has no traceback."""
    return "Traceback" not in complaint and complaint.endswith(".\n")


def test_a_full_disk_is_told_in_one_sentence(tmp_path: Path) -> None:
    state = tmp_path / "state"
    state.mkdir()
    spec = with_large_table(tmp_path / "spec")
    with mounted("size=10m", state) as disk:
        done = run("release", "make", spec, "--state", state, home=tmp_path / "home", mounts=disk.pid)
        # The folder is looked at where the disk is still there.
        files, _ = disk.communicate("done\n")
    assert done.returncode == 1
    assert "no room left on the disk" in done.stderr
    assert is_one_clear_sentence(done.stderr)
    assert "/vault/" in files
    assert "/releases/" not in files
    assert "/staging/" not in files


def test_a_read_only_disk_is_told_in_one_sentence(tmp_path: Path) -> None:
    state = tmp_path / "state"
    state.mkdir()
    spec = write_small_release(tmp_path / "spec")
    with mounted("ro", state) as disk:
        done = run("release", "make", spec, "--state", state, home=tmp_path / "home", mounts=disk.pid)
    assert done.returncode == 1
    assert "must be writable" in done.stderr
    assert is_one_clear_sentence(done.stderr)


def test_a_state_folder_that_cannot_be_made_is_told_in_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    spec = write_small_release(tmp_path / "spec")
    done = run("release", "make", spec, "--state", tmp_path / "file" / "state", home=tmp_path / "home")
    assert done.returncode == 1
    assert "must be writable" in done.stderr
    assert is_one_clear_sentence(done.stderr)


def test_a_wrong_spec_is_refused_before_anything_is_started(tmp_path: Path) -> None:
    spec = write_small_release(tmp_path / "spec", synthesis__k=0, synthesis__gamma=1)
    done = run("release", "make", spec, "--state", tmp_path / "state", home=tmp_path / "home")
    assert done.returncode == 2
    assert "synthesis.k" in done.stderr
    assert "synthesis.gamma" in done.stderr
    assert not (tmp_path / "state" / "mlflow" / "mlflow.db").exists()
    assert not (tmp_path / "state" / "prefect" / "prefect.db").exists()


def test_a_failure_of_the_command_is_one_sentence_and_status_one(tmp_path: Path) -> None:
    state = tmp_path / "state"
    done = run("release", "make", without_source(tmp_path / "spec"), "--state", state, home=tmp_path / "home")
    assert done.returncode == 1
    assert "people.csv" in done.stderr.splitlines()[-1]
    assert is_one_clear_sentence(done.stderr)
    assert left_of_a_release(state) == []
    assert servers_of(state) == []


def started_slow_release(folder: Path) -> tuple["subprocess.Popen[str] | Started", Path]:
    """A release that is in the middle of its candidates and would be for minutes."""
    state = folder / "state"
    spec = write_small_release(folder / "spec", **QUICK, synthesis__records=10**10, synthesis__chunk_candidates=2**16)
    bring_databases(state)
    process = start("release", "make", spec, "--state", state, home=folder / "home")
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith("learn parameters"):
            return process, state
    raise AssertionError("the release ended before it drew a candidate")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["Ctrl-C", "SIGTERM"])
def test_an_interrupted_release_stops_and_keeps_only_what_is_paid_for(number: signal.Signals, tmp_path: Path) -> None:
    process, state = started_slow_release(tmp_path)
    assert servers_of(state) != []
    process.send_signal(number)
    _, complaint = process.communicate(timeout=120)
    assert complaint is not None
    assert process.returncode == 130
    said, hint = complaint.splitlines()[-2:]
    assert said == "interrupted, nothing published."
    assert "is kept: run the same command to resume it" in hint
    assert is_one_clear_sentence(complaint)
    assert {left.split("/")[0] for left in left_of_a_release(state)} == {"vault", "shelf"}
    assert servers_of(state) == []
    client = MlflowClient(f"sqlite:///{state}/mlflow/mlflow.db")
    experiment = client.get_experiment_by_name("people")
    assert experiment is not None
    runs = client.search_runs([experiment.experiment_id])
    assert {run.info.status for run in runs if run.info.run_name.startswith("small-")} == {"KILLED"}
    assert "RUNNING" not in {run.info.status for run in runs}


def test_a_killed_release_publishes_nothing_and_leaves_no_server(tmp_path: Path) -> None:
    process, state = started_slow_release(tmp_path)
    process.kill()
    process.communicate()
    deadline = time.monotonic() + 60
    while servers_of(state) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert servers_of(state) == []
    assert list((state / "releases").glob("*")) == []
