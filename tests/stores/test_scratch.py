"""Work in a scratch folder stays there, and the folder is deleted at the end, however the work ends."""

import shutil
from pathlib import Path

import pytest

from deniable.foundation.errors import Refused
from flows.release_session import opened_release
from schemas.spec.release_spec import load_spec
from stores.ledger.ledger import ledger_place
from stores.tracking.client import recording
from stores.vault.lease import LEASE, leased
from stores.vault.scratch import is_scratch, scratch_folder, sweep_scratch
from tests.small_release import write_small_release


def test_a_scratch_folder_is_its_owner_s_alone_and_gone_when_it_is_over(tmp_path: Path) -> None:
    with scratch_folder(tmp_path, "small") as folder:
        (folder / "something").write_text("confidential")
        assert is_scratch(folder)
        assert folder.stat().st_mode & 0o777 == folder.parent.stat().st_mode & 0o777 == 0o700
    assert list((tmp_path / "scratch").iterdir()) == []
    with pytest.raises(KeyboardInterrupt), scratch_folder(tmp_path, "small"):
        raise KeyboardInterrupt
    assert list((tmp_path / "scratch").iterdir()) == []


def test_a_scratch_folder_has_a_ledger_and_an_mlflow_store_of_its_own_whatever_the_environment_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DENIABLE_LEDGER", str(tmp_path / "ledger.db"))
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path / 'mlflow.db'}")
    with scratch_folder(tmp_path, "small") as folder:
        (folder / "mlflow").mkdir()
        with recording(folder) as client:
            client.create_experiment("people")
        assert (folder / "mlflow" / "mlflow.db").is_file()
        assert ledger_place(folder) == folder / "ledger" / "ledger.db"
    assert not (tmp_path / "mlflow.db").exists()
    # Also for a thread that has not noticed yet that it is over.
    assert ledger_place(folder) == folder / "ledger" / "ledger.db"
    assert ledger_place(tmp_path) == str(tmp_path / "ledger.db")


def test_what_a_killed_process_left_is_swept_and_nothing_that_is_used_or_kept(tmp_path: Path) -> None:
    with scratch_folder(tmp_path, "kept", keep=True) as kept:
        pass
    with scratch_folder(tmp_path, "used") as used:
        killed = used.with_name("killed-1.scratch")
        shutil.copytree(used, killed)
        other = used.with_name("another folder")
        other.mkdir()
        (other / LEASE).touch()
        sweep_scratch(tmp_path)
        assert set(used.parent.iterdir()) == {kept, used, other}
        with pytest.raises(Refused), leased(used):
            pass


def test_no_release_begins_in_a_scratch_folder(tmp_path: Path) -> None:
    spec = load_spec(write_small_release(tmp_path / "spec"))
    with (
        scratch_folder(tmp_path, "small") as folder,
        pytest.raises(Refused, match="kept in a state folder"),
        opened_release(spec, folder),
    ):
        pass
