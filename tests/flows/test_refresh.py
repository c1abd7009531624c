"""A refresh releases what is new, spends its share at most, and leaves all as it was where it does not succeed."""

import json
import os
import signal
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from copy import deepcopy
from fractions import Fraction
from pathlib import Path
from time import sleep
from typing import Any
from unittest.mock import Mock

import pyarrow as pa
import pytest
from mlflow import MlflowClient
from prefect import get_client
from prefect.artifacts import Artifact
from prefect.blocks.system import Secret
from prefect.blocks.webhook import Webhook
from prefect.client.schemas.sorting import FlowRunSort
from prefect.types import SecretDict
from pydantic import SecretStr

from deniable.foundation.errors import DeniableError, InvalidInput, Refused
from deniable.ledger.entries import Cost, Policy
from deniable.privacy.rounding import rounded_down, rounded_up
from flows.cli.deciding import decide
from flows.refresh import Refreshed, refresh, told_of
from flows.release import release
from schemas.spec.release_spec import DatabaseSource
from stores.keys.dataset_key import DatasetInUse, dataset_to_itself
from stores.ledger.ledger import Ledger, ledger_place
from stores.ledger.refresh_share import ShareExceeded
from stores.ledger.state_ledger import state_ledger
from stores.record.folder_verification import verified_release
from stores.record.record_reader import keys_to_trust
from stores.releases.resumable_releases import begun_releases
from stores.servers.ui_links import artifact_name, registered_name
from stores.tables.sources.databases import open_database, place_of
from stores.tracking.registry import CURRENT
from stores.vault.pending_approval import Held, NotPublished
from tasks.running.step import StepFailed
from tests.approving import approved
from tests.catcher import Catcher, catching
from tests.extent import is_night
from tests.flows.command import environment, run, variables_of_this_server
from tests.prototypes import Prototype
from tests.small_release import QUICK, made_up_people, write_small_release
from tests.warm import run_module
from tests.whole_release import drawn_release

ROOT = Path(__file__).resolve().parents[2]
REFRESHED: dict[str, Any] = QUICK | {
    "refresh": {"budget": {"kind": "equal_share", "refreshes": 4}, "notify": {"webhook": "HOOK"}},
}
BUDGET = {"epsilon": 8, "delta": 1e-4}


class Dataset:
    """A dataset of a test's own, whose snapshots are files in one folder."""

    def __init__(self, folder: Path, **changes: Any) -> None:
        self.folder, self.state = folder, folder / "state"
        self.name = f"people-{folder.name}".replace("_", "-").replace("[", "").replace("]", "")
        budget = {**BUDGET, **changes.pop("budget", {}), "dataset": self.name}
        self.spec = write_small_release(folder / "spec", **{**deepcopy(REFRESHED), "budget": budget, **changes})

    def arrival(self, year: str, *, names: list[str] | None = None, change: int = 0, invalid: int = 0) -> Path:
        """A snapshot in which so many people are another, or invalid."""
        people = made_up_people()
        for person in people[:change]:
            person[1] = "m" if person[1] == "f" else "f"
        for person in people[:invalid]:
            person[2] = "secret-value"
        write_small_release(self.folder / year, people=people, names=names)
        return self.folder / year / "people.csv"

    def refresh(self, source: Path | None = None) -> Refreshed:
        return refresh(self.spec, self.state, source)

    @property
    def as_it_is(self) -> tuple[object, ...]:
        """All that a refresh which does not succeed must leave alone."""
        releases = {str(path): path.read_bytes() for path in (self.state / "releases").rglob("*.*") if path.is_file()}
        ledger = Ledger.open(ledger_place(self.state))
        return (
            releases,
            [path.name for path in sorted((self.state / "vault").glob("*/release.json"))],
            [charged.charge.identity for charged in ledger.charges(self.name)],
            self.current,
        )

    @property
    def current(self) -> str:
        version = MlflowClient().get_model_version_by_alias(registered_name(self.name), CURRENT)
        return str(version.tags["release"])


def last_run_of(dataset: Dataset) -> tuple[str, str | None]:
    """Name of the last run of a refresh of a dataset, and the message of its state."""
    with get_client(sync_client=True) as client:
        runs = client.read_flow_runs(sort=FlowRunSort.START_TIME_DESC)
    [run] = [run for run in runs if run.parameters.get("state") == str(dataset.state)][:1]
    return run.name, run.state.message if run.state is not None else None


@pytest.fixture
def catcher(monkeypatch: pytest.MonkeyPatch) -> Iterator[Catcher]:
    with catching() as catcher:
        monkeypatch.setenv("HOOK", catcher.address)
        yield catcher


@pytest.fixture(scope="module")
def released_once(prefect: None, tmp_path_factory: pytest.TempPathFactory) -> tuple[Dataset, Prototype]:
    """A dataset of which there is a release, an ordinary one: what it was made of is known by its snapshot."""
    dataset = Dataset(tmp_path_factory.mktemp("released") / "people")
    release(dataset.spec, dataset.state)
    return dataset, Prototype(dataset.folder)


@pytest.fixture
def dataset(released_once: tuple[Dataset, Prototype]) -> Dataset:
    """A dataset of which there is a release, as it was when that was just published."""
    made, prototype = released_once
    prototype.restore()
    return made


CHANGED: list[tuple[dict[str, Any], type[DeniableError], str]] = [
    ({"names": ["age", "sex", "schooling", "employed"]}, InvalidInput, "lacks school;"),
    ({"invalid": 60}, Refused, "may be invalid, got more"),
]


def test_what_is_new_is_released_beside_the_old_and_what_is_not_or_does_not_fit_costs_nothing(
    dataset: Dataset, prefect: None, catcher: Catcher
) -> None:
    first, before = dataset.current, dataset.as_it_is
    people = made_up_people()
    for again in (people, people[::-1]) if is_night() else (people[::-1],):
        write_small_release(dataset.folder / "again", people=again)
        done = dataset.refresh(dataset.folder / "again" / "people.csv")
        assert (done.released, done.current) == (None, first)
        assert "unchanged" in done.in_words
        assert dataset.as_it_is == before
        # Prefect's list of runs says so without a click, and so does the run's message.
        assert last_run_of(dataset) == (f"refresh of small: unchanged since {first}", done.in_words)
    assert catcher.caught == []

    # A change of the schema stops it, and leaves all as it was.
    for number, (arrival, kind, said) in enumerate(CHANGED):
        with pytest.raises(kind, match=said) as refused:
            dataset.refresh(dataset.arrival("2016", **arrival))
        assert "secret-value" not in str(refused.value)
        assert dataset.as_it_is == before
        (body,) = catcher.caught[number:]
        told = json.loads(body)
        assert (told["event"], told["dataset"], told["spec"]) == ("refresh failed", dataset.name, "small")
        assert "secret-value" not in body.decode()

    # With the data put right, the next one goes through.
    second = dataset.refresh(dataset.arrival("2016", change=1))
    assert second.released is not None
    assert (second.before, dataset.current) == (first, second.current)
    assert {path.name for path in (dataset.state / "releases").iterdir()} == {first, second.current}
    folder = dataset.state / "releases" / second.current
    assert verified_release(folder, keys_to_trust(folder.parent.parent)).holds
    assert len(dataset.as_it_is[2]) == 2 * len(before[2])  # type: ignore[arg-type]

    # Drift is of the public tables, and is shown.
    assert second.drift is not None
    assert [item.attributes for item in second.drift.attributes] == [("age",), ("sex",), ("school",), ("employed",)]
    assert len(second.drift.pairs) == 6
    page = Artifact.get(artifact_name("drift", dataset.name))
    assert page is not None
    assert page.description == f"How far the public table of {second.current} has moved from that of {first}."
    assert f"# Drift of {second.current}" in str(page.data)
    said = json.loads((dataset.state / "shelf" / second.current / "drift.json").read_text())
    assert said["figures"] == second.drift.figures

    # Data that come back are known as well.
    assert dataset.refresh().current == first
    assert len(catcher.caught) == len(CHANGED)


def test_a_lost_key_is_made_again_and_what_was_released_is_still_known(dataset: Dataset, prefect: None) -> None:
    first = dataset.current
    assert dataset.refresh().released is None
    place = dataset.state / "keys" / f"dataset-{dataset.name}.key"
    old = place.read_bytes()
    assert dataset.refresh().released is None
    note = dataset.state / "vault" / first / "arrival.json"
    noted = json.loads(note.read_text())
    place.unlink()
    assert dataset.refresh().released is None
    assert place.read_bytes() != old
    assert json.loads(note.read_text())["commitment"] != noted["commitment"]


def test_a_webhook_block_of_prefects_is_told_in_the_way_that_it_asks_for(
    tmp_path: Path, prefect: None, catcher: Catcher
) -> None:
    Webhook(url=SecretStr(catcher.address), headers=SecretDict({"X-Token": "let-me-in"})).save("of-a-test")
    for name in ("of-a-test", "of-nobody"):
        dataset = Dataset(tmp_path / name, refresh={**REFRESHED["refresh"], "notify": {"webhook": name}})
        with pytest.raises(InvalidInput) as failed:
            dataset.refresh(tmp_path / "nothing.csv")
        assert told_of(failed.value) == (name if name == "of-a-test" else None)
        assert getattr(failed.value, "__notes__", []) == (
            []
            if name == "of-a-test"
            else [
                (
                    f"no notification was sent: Prefect's Webhook block {name} must hold the address of a webhook, "
                    "and does not."
                )
            ]
        )
    (headers,) = catcher.headers
    assert (headers["X-Token"], headers["Content-Type"]) == ("let-me-in", "application/json")
    assert json.loads(catcher.caught[0])["event"] == "refresh failed"


def test_a_secret_block_of_prefects_holds_the_connection_of_a_database(tmp_path: Path, prefect: None) -> None:
    with closing(sqlite3.connect(tmp_path / "people.db")) as connection:
        connection.execute("CREATE TABLE people (town TEXT)")
    Secret(value=SecretStr("sqlite:///people.db")).save("people-database")
    source = DatabaseSource(kind="database", connection="people-database", table="people")
    with open_database(place_of(source, tmp_path), tmp_path) as table:
        assert table.types == {"town": pa.string()}
    absent = DatabaseSource(kind="database", connection="of-nobody", table="people")
    with pytest.raises(
        InvalidInput, match="Prefect's Secret block of-nobody must hold the URL of the source's database"
    ):
        place_of(absent, tmp_path)


def require_share_exceeded(dataset: Dataset, cost: Cost, catcher: Catcher) -> None:
    """Refuse to refresh a dataset with room for eight releases and a bit, which has had one."""
    before = dataset.as_it_is
    with pytest.raises(ShareExceeded) as refused:
        dataset.refresh(dataset.arrival("2016", change=1))
    share = refused.value.share.epsilon
    assert refused.value.asked == cost
    assert share < cost.epsilon < share * 9 / 7
    for number in (rounded_down(share), rounded_up(cost.epsilon)):
        assert f"epsilon {number}" in str(refused.value)
    assert dataset.as_it_is == before
    told = json.loads(catcher.caught[-1])
    assert (told["event"], told["reason"]) == ("refresh refused", str(refused.value))


def test_a_refresh_that_asks_more_than_an_equal_share_is_refused_with_both_numbers(
    dataset: Dataset, prefect: None, catcher: Catcher
) -> None:
    ledger = state_ledger(dataset.state)
    cost = ledger.spent(dataset.name)
    limit = Cost(epsilon=cost.epsilon * 8 * (1 + Fraction(1, 10**9)), delta=Fraction(1, 100))
    ledger.set_policy(Policy(dataset=dataset.name, limit=limit, set_by="test"))
    changes = {"budget": {**BUDGET, "dataset": dataset.name}, "refresh__budget__refreshes": 9}
    write_small_release(dataset.folder / "spec", **{**deepcopy(REFRESHED), **changes})
    require_share_exceeded(dataset, cost, catcher)


def test_of_two_at_once_one_does_nothing_and_the_next_that_asks_more_than_its_share_of_the_rest_is_refused(
    dataset: Dataset, tmp_path: Path, catcher: Catcher
) -> None:
    """The first leaves less than eight times what it cost."""
    cost = Ledger.open(ledger_place(dataset.state)).spent(dataset.name)
    budget = {"epsilon": float(cost.epsilon * 8) * (1 + 1e-9), "delta": 1e-2}
    refreshed = {**REFRESHED["refresh"], "budget": {"kind": "share_of_rest", "n": 8}}
    dataset = Dataset(tmp_path, budget=budget, refresh=refreshed)
    with dataset_to_itself(dataset.state, dataset.name), pytest.raises(DatasetInUse):
        dataset.refresh()
    assert catcher.caught == []
    assert not (dataset.state / "vault").exists()
    assert dataset.refresh().released is not None
    require_share_exceeded(dataset, cost, catcher)


def test_a_spec_that_does_not_say_what_a_refresh_may_spend_is_not_refreshed(tmp_path: Path, prefect: None) -> None:
    spec = write_small_release(tmp_path / "spec")
    with pytest.raises(InvalidInput, match="entry refresh"):
        refresh(spec, tmp_path / "state")
    assert not (tmp_path / "state").exists()


@pytest.mark.parametrize("told", [0, 1])
def test_a_refresh_that_was_told_to_end_is_no_failure_that_anybody_is_told_of(
    tmp_path: Path, prefect: None, catcher: Catcher, monkeypatch: pytest.MonkeyPatch, told: int
) -> None:
    dataset = Dataset(tmp_path)
    monkeypatch.setattr("flows.refresh.make_release", Mock(side_effect=StepFailed("step learn_structure failed")))
    monkeypatch.setattr("flows.interruption._arrivals.told_to_end", lambda: not told)
    with pytest.raises(StepFailed):
        dataset.refresh()
    assert len(catcher.caught) == told


@pytest.mark.nightly
def test_a_held_refresh_is_told_of_and_one_that_was_refused_does_not_stop_the_next_which_goes_on_once_approved(
    tmp_path: Path, prefect: None, catcher: Catcher
) -> None:
    dataset = Dataset(tmp_path, decision={"always_ask": True})
    source = dataset.arrival("2015")
    with pytest.raises(Held) as held:
        dataset.refresh(source)
    assert [json.loads(body)["event"] for body in catcher.caught] == ["refresh held"]
    decide(dataset.state, held.value.note, "refused", by="ines", identity="account", reason="as the board asked")
    with pytest.raises(NotPublished):
        dataset.refresh(source)
    dataset.arrival("2015", change=3)
    with pytest.raises(Held) as other:
        dataset.refresh(source)
    assert other.value.note.release != held.value.note.release
    told = ["refresh held", "refresh refused", "refresh held"]
    assert [json.loads(body)["event"] for body in catcher.caught] == told
    approved(dataset.state, other.value.note, "ines")
    assert dataset.refresh(source).current == other.value.note.release
    assert len(catcher.caught) == len(told)


def killed(dataset: Dataset, source: Path, moment: str, step: str) -> int:
    """Refresh in a process of its own until a moment; the exit status."""
    arguments = [str(dataset.spec), str(dataset.state), moment, step, str(source)]
    servers = {**variables_of_this_server(), "DENIABLE_MLFLOW_TRACKING_URI": os.environ["MLFLOW_TRACKING_URI"]}
    told = {**environment(dataset.folder / "home"), **servers}
    return run_module("tests.flows.killed", arguments, env=told, cwd=ROOT).returncode


def published(dataset: Dataset) -> list[str]:
    return sorted(path.name for path in (dataset.state / "releases").glob("*"))


PAID = ("before", "gather")
MOMENTS = [PAID, ("renaming", "releases/"), ("after", "publish"), ("after", "seal")]


def begun_in(folder: Path, moment: str, step: str) -> Dataset:
    """Make a dataset whose first refresh was killed."""
    dataset = Dataset(folder)
    assert killed(dataset, dataset.arrival("2015"), moment, step) == -signal.SIGKILL
    return dataset


@pytest.fixture(scope="module")
def paid_once(prefect: None, tmp_path_factory: pytest.TempPathFactory) -> tuple[Dataset, Prototype]:
    """A dataset whose first refresh was killed when all was paid for."""
    dataset = begun_in(tmp_path_factory.mktemp("paid") / "paid", *PAID)
    return dataset, Prototype(dataset.folder)


@pytest.fixture
def paid(paid_once: tuple[Dataset, Prototype]) -> Dataset:
    """The same, as it was when that had just happened."""
    dataset, prototype = paid_once
    prototype.restore()
    return dataset


@pytest.mark.parametrize("moment", MOMENTS if is_night() else MOMENTS[:1])
def test_a_refresh_that_was_killed_and_comes_twice_is_one_release(
    tmp_path: Path, prefect: None, request: pytest.FixtureRequest, moment: tuple[str, str]
) -> None:
    dataset = request.getfixturevalue("paid") if moment == PAID else begun_in(tmp_path, *moment)
    source = dataset.arrival("2015")
    (begun,) = begun_releases(dataset.state)
    charged = [item.charge.identity for item in Ledger.open(ledger_place(dataset.state)).charges(dataset.name)]
    first, second = dataset.refresh(source), dataset.refresh(source)
    assert published(dataset) == [begun.release_id] == [first.current]
    assert second == Refreshed(dataset.name, begun.release_id)
    assert dataset.as_it_is[2] == charged


@pytest.mark.nightly
def test_what_was_begun_and_not_paid_for_gives_way_to_what_arrives_in_its_place(tmp_path: Path, prefect: None) -> None:
    dataset = begun_in(tmp_path, "before", "validate")
    (begun,) = begun_releases(dataset.state)
    source = dataset.arrival("2015", change=7)
    # Releases are named by the second, and the one that gives way leaves its name free.
    sleep(1)
    done = dataset.refresh(source)
    assert done.current != begun.release_id
    assert published(dataset) == [done.current]
    assert dataset.refresh(source).released is None


@pytest.mark.nightly
def test_what_was_paid_for_is_finished_before_what_arrives_in_its_place(paid: Dataset) -> None:
    (begun,) = begun_releases(paid.state)
    source = paid.arrival("2015", change=7)
    done = paid.refresh(source)
    assert (done.before, published(paid)) == (begun.release_id, [begun.release_id, done.current])
    assert paid.refresh(source).released is None


def test_the_command_says_what_was_done_and_what_was_not(tmp_path: Path, prefect: None) -> None:
    dataset, server = Dataset(tmp_path), variables_of_this_server()
    said = [
        run("release", "refresh", dataset.spec, "--state", dataset.state, *more, home=tmp_path / "home", **server)
        for more in ([], [], ["--source", dataset.arrival("2016", names=["age", "sex", "schooling", "employed"])])
    ]
    assert [done.returncode for done in said] == [0, 0, 1], [done.stderr for done in said]
    assert "published small-" in said[0].stdout
    assert "unchanged" in said[1].stdout
    assert "lacks school" in said[2].stderr
    assert "HOOK must hold" in said[2].stderr


def test_without_the_entry_a_record_does_not_speak_of_refreshes(tmp_path: Path) -> None:
    changes = {name: entry for name, entry in REFRESHED.items() if name != "refresh"}
    drawn = drawn_release(tmp_path, **changes, budget={**BUDGET, "dataset": "people-plain"})
    drawn.publish()
    assert b'"refresh"' not in drawn.seal().path.read_bytes()
    assert drawn.workspace.spec.refresh is None
