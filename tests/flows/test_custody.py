"""The release key is where the spec's custodian keeps it, and nowhere else."""

import os
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from html import unescape
from pathlib import Path

import pytest
from mlflow import MlflowClient
from prefect.blocks.system import Secret

from deniable.foundation.errors import InvalidInput
from flows.release import release
from flows.replay import replay
from schemas.provenance import RECORD
from stores.vault.workspace import Workspace
from tests.flows.apart import apart
from tests.isolation import own_state
from tests.small_release import QUICK, write_small_release
from tests.unpacked import files_below, files_with_each

pytestmark = pytest.mark.usefixtures("prefect")
AGENCY = "5a" * 32
CUSTODIANS = {"file": {}, "destroyed": {}, "environment": {"variable": "AGENCY_KEY"}, "prefect_secret": {}}


@dataclass(frozen=True)
class Kept:
    """A release by each custodian, in one state folder."""

    folder: Path
    workspaces: Mapping[str, Workspace]

    @property
    def state(self) -> Path:
        return self.folder / "state"


@pytest.fixture(scope="module", autouse=True)
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A new MLflow database, because that of all tests is long to search; nothing is written beside it."""
    folder = tmp_path_factory.mktemp("custody")
    (folder / "mlflow").mkdir()
    begun = time.time()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{folder / 'mlflow' / 'mlflow.db'}")
        yield folder
    changed = {path for path in files_below(own_state()) if path.stat().st_mtime >= begun}
    assert {path for path in changed if not path.is_relative_to(own_state() / "prefect")} == set()


@pytest.fixture(scope="module")
def kept(folder: Path, prefect: None) -> Kept:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AGENCY_KEY", AGENCY)
        made = {
            custodian: release(written(folder, number, custodian=custodian, **more), folder / "state").workspace
            for number, (custodian, more) in enumerate(CUSTODIANS.items())
        }
    return Kept(folder, made)


def written(folder: Path, number: int, **key: str) -> Path:
    return write_small_release(folder / f"spec-{number}", **QUICK, name=f"small-{number}", key=key)


@pytest.fixture(scope="module")
def places(kept: Kept) -> Mapping[str, set[Path]]:
    """Where the keys and the agency's secret are found, in whatever form, before the releases are replayed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AGENCY_KEY", AGENCY)
        secrets = {name: made.key().secret for name, made in kept.workspaces.items() if name != "destroyed"}
    secrets["agency"] = bytes.fromhex(AGENCY)
    found = files_with_each(list(secrets.values()), kept.folder, own_state() / "prefect")
    return dict(zip(secrets, found, strict=True))


def said(workspace: Workspace) -> list[str]:
    """Who may read the key, by the page of the release in MLflow and by its report."""
    client = MlflowClient(os.environ["MLFLOW_TRACKING_URI"])
    page = client.get_run(workspace.mlflow_run_id).data.tags["mlflow.note.content"]
    report = unescape((workspace.shelf / "report.html").read_text())
    (in_page,) = re.findall(r"\*\*Release key, which undoes the noise\*\*: (.*)", page)
    (in_report,) = re.findall(r"<dt>Release key, which undoes the noise</dt><dd>(.*?)</dd>", report)
    return [str(in_page), str(in_report)]


def test_a_key_in_a_file_is_in_the_vault_alone_and_only_its_owner_may_read_it(
    kept: Kept, places: Mapping[str, set[Path]]
) -> None:
    workspace = kept.workspaces["file"]
    path = workspace.vault / "key"
    assert path.stat().st_mode & 0o777 == 0o600
    assert said(workspace) == 2 * ["the account that runs releases, and root on its machine. The key is in the vault."]
    assert places["file"] == {path}


def test_a_destroyed_key_is_gone_after_publication_and_a_replay_says_so(kept: Kept) -> None:
    workspace = kept.workspaces["destroyed"]
    assert not (workspace.vault / "key").exists()
    with pytest.raises(InvalidInput, match="may have been destroyed"):
        workspace.key()
    assert all("no one, unless a copy is left in a backup or on the disk." in each for each in said(workspace))
    with apart(kept.state, kept.folder / "mlflow"), pytest.raises(InvalidInput, match="was destroyed on publication"):
        replay(workspace.release_id, kept.state)


def test_a_key_of_the_environment_is_derived_for_each_release_and_never_written(
    kept: Kept, places: Mapping[str, set[Path]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENCY_KEY", AGENCY)
    workspace = kept.workspaces["environment"]
    assert not (workspace.vault / "key").exists()
    assert workspace.key().secret != bytes.fromhex(AGENCY)
    assert all("anyone who sets the variable AGENCY_KEY" in each for each in said(workspace))
    assert places["environment"] == places["agency"] == set()


def test_an_environment_without_the_secret_is_told_what_to_set(tmp_path: Path) -> None:
    assert "AGENCY_KEY" not in os.environ
    with pytest.raises(InvalidInput, match="AGENCY_KEY must hold the agency's secret"):
        release(written(tmp_path, 0, custodian="environment", variable="AGENCY_KEY"), tmp_path / "state")
    assert list((tmp_path / "state" / "releases").glob("*")) == []


def test_a_key_of_prefect_s_is_in_a_secret_block_and_in_no_file_of_the_release(
    kept: Kept, places: Mapping[str, set[Path]]
) -> None:
    workspace = kept.workspaces["prefect_secret"]
    block = Secret.load(f"release-key-{workspace.release_id.lower().replace('_', '-')}")
    assert block.get() == workspace.key().secret.hex()  # type: ignore[union-attr]
    assert all("anyone who has the password of Prefect's server" in each for each in said(workspace))
    assert {path for path in places["prefect_secret"] if path.is_relative_to(kept.folder)} == set()


@pytest.mark.parametrize("custodian", ["environment", "prefect_secret"])
def test_a_replay_asks_the_custodian_for_the_key_and_none_of_it_stays(
    kept: Kept, places: Mapping[str, set[Path]], custodian: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its public record alone; the keys were looked for before."""
    monkeypatch.setenv("AGENCY_KEY", AGENCY)
    workspace = kept.workspaces[custodian]
    (workspace.shelf / RECORD).unlink()
    with apart(kept.state, kept.folder / "mlflow"):
        assert replay(workspace.release_id, kept.state).same
        monkeypatch.delenv("AGENCY_KEY")
        monkeypatch.setattr("stores.vault.custody._block_name", lambda _: "no-such-block")
        with pytest.raises(InvalidInput, match=r"and (is|does) not.* kept elsewhere, give it with --key FILE"):
            replay(workspace.release_id, kept.state)
