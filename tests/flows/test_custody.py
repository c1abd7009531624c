"""The release key is where the spec's custodian keeps it, and nowhere else."""

import os
import re
import time
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import pytest
from mlflow import MlflowClient
from prefect.blocks.system import Secret

from deniable.foundation.errors import InvalidInput
from flows.release import release
from flows.released import Released
from stores.vault.workspace import Workspace
from tests.isolation import own_state
from tests.small_release import QUICK, write_small_release
from tests.unpacked import files_below, files_with

pytestmark = pytest.mark.usefixtures("prefect")
AGENCY = "5a" * 32


@pytest.fixture(autouse=True)
def _mlflow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A new MLflow database, because that of all tests is long to search; nothing is written beside it."""
    (tmp_path / "mlflow").mkdir()
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path / 'mlflow' / 'mlflow.db'}")
    begun = time.time()
    yield
    changed = {path for path in files_below(own_state()) if path.stat().st_mtime >= begun}
    assert {path for path in changed if not path.is_relative_to(own_state() / "prefect")} == set()


def released(folder: Path, **key: str) -> Released:
    return release(write_small_release(folder / "spec", **QUICK, key=key), folder / "state")


def said(workspace: Workspace) -> list[str]:
    """Who may read the key, by the page of the release in MLflow and by its report."""
    client = MlflowClient(os.environ["MLFLOW_TRACKING_URI"])
    page = client.get_run(workspace.mlflow_run_id).data.tags["mlflow.note.content"]
    report = unescape((workspace.shelf / "report.html").read_text())
    (in_page,) = re.findall(r"\*\*Release key, which undoes the noise\*\*: (.*)", page)
    (in_report,) = re.findall(r"<dt>Release key, which undoes the noise</dt><dd>(.*?)</dd>", report)
    return [str(in_page), str(in_report)]


def test_a_key_in_a_file_is_in_the_vault_alone_and_only_its_owner_may_read_it(tmp_path: Path) -> None:
    workspace = released(tmp_path, custodian="file").workspace
    path = workspace.vault / "key"
    assert path.stat().st_mode & 0o777 == 0o600
    assert said(workspace) == 2 * ["the account that runs releases, and root on its machine. The key is in the vault."]
    assert files_with(path.read_bytes(), tmp_path, own_state() / "prefect") == {path}


def test_a_destroyed_key_is_gone_after_publication(tmp_path: Path) -> None:
    workspace = released(tmp_path, custodian="destroyed").workspace
    assert not (workspace.vault / "key").exists()
    with pytest.raises(InvalidInput, match="may have been destroyed"):
        workspace.key()
    assert all("no one. The key was destroyed after publication" in each for each in said(workspace))


def test_a_key_of_the_environment_is_derived_for_each_release_and_never_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENCY_KEY", AGENCY)
    workspace = released(tmp_path, custodian="environment", variable="AGENCY_KEY").workspace
    assert not (workspace.vault / "key").exists()
    assert workspace.key().secret != bytes.fromhex(AGENCY)
    assert all("anyone who sets the variable AGENCY_KEY" in each for each in said(workspace))
    assert files_with(workspace.key().secret, tmp_path, own_state() / "prefect") == set()
    assert files_with(bytes.fromhex(AGENCY), tmp_path, own_state() / "prefect") == set()


def test_an_environment_without_the_secret_is_told_what_to_set(tmp_path: Path) -> None:
    assert "AGENCY_KEY" not in os.environ
    with pytest.raises(InvalidInput, match="AGENCY_KEY must hold the agency's secret"):
        released(tmp_path, custodian="environment", variable="AGENCY_KEY")
    assert list((tmp_path / "state" / "releases").glob("*")) == []


def test_a_key_of_prefect_s_is_in_a_secret_block_and_in_no_file_of_the_release(tmp_path: Path) -> None:
    workspace = released(tmp_path, custodian="prefect_secret").workspace
    block = Secret.load(f"release-key-{workspace.release_id.lower().replace('_', '-')}")
    assert block.get() == workspace.key().secret.hex()  # type: ignore[union-attr]
    assert all("anyone who has the password of Prefect's server" in each for each in said(workspace))
    assert files_with(workspace.key().secret, tmp_path) == set()
