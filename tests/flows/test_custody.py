"""The release key is where the spec's custodian keeps it, and nowhere else."""

import os
from pathlib import Path

import pytest
from prefect.blocks.system import Secret

from deniable.errors import InvalidInput
from flows.release import Released, release
from tests.isolation import STATE
from tests.small_release import write_small_release
from tests.unpacked import files_with

pytestmark = pytest.mark.usefixtures("prefect")
AGENCY = "5a" * 32


def released(folder: Path, **key: str) -> Released:
    return release(write_small_release(folder / "spec", key=key), folder / "state")


def test_a_key_in_a_file_is_in_the_vault_alone_and_only_its_owner_may_read_it(tmp_path: Path) -> None:
    workspace = released(tmp_path, custodian="file").workspace
    path = workspace.vault / "key"
    assert path.stat().st_mode & 0o777 == 0o600
    assert files_with(path.read_bytes(), tmp_path, STATE) == {path}


def test_a_destroyed_key_is_gone_after_publication(tmp_path: Path) -> None:
    workspace = released(tmp_path, custodian="destroyed").workspace
    assert not (workspace.vault / "key").exists()
    with pytest.raises(InvalidInput, match="may have been destroyed"):
        workspace.key()


def test_a_key_of_the_environment_is_derived_for_each_release_and_never_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENCY_KEY", AGENCY)
    workspace = released(tmp_path, custodian="environment", variable="AGENCY_KEY").workspace
    assert not (workspace.vault / "key").exists()
    assert workspace.key().secret != bytes.fromhex(AGENCY)
    assert files_with(workspace.key().secret, tmp_path, STATE) == set()
    assert files_with(bytes.fromhex(AGENCY), tmp_path, STATE) == set()


def test_an_environment_without_the_secret_is_told_what_to_set(tmp_path: Path) -> None:
    assert "AGENCY_KEY" not in os.environ
    with pytest.raises(InvalidInput, match="AGENCY_KEY must hold the agency's secret"):
        released(tmp_path, custodian="environment", variable="AGENCY_KEY")
    assert list((tmp_path / "state" / "releases").glob("*")) == []


def test_a_key_of_prefect_s_is_in_a_secret_block_and_in_no_file_of_the_release(tmp_path: Path) -> None:
    workspace = released(tmp_path, custodian="prefect_secret").workspace
    block = Secret.load(f"release-key-{workspace.release_id.lower().replace('_', '-')}")
    assert block.get() == workspace.key().secret.hex()  # type: ignore[union-attr]
    assert files_with(workspace.key().secret, tmp_path) == set()
