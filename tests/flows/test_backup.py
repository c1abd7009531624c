"""A state folder is copied whole and brought back elsewhere, or not at all."""

import json
import shutil
from pathlib import Path

import pytest

from stores.tracking.history_moving import relocate
from stores.vault.lease import leased
from stores.vault.workspace import file_digest
from tests.flows.command import run
from tests.flows.looked_at import LookedAt


@pytest.fixture(scope="module")
def state(looked_at: LookedAt, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A state folder with one release, which was made elsewhere."""
    copied = tmp_path_factory.mktemp("backed up") / "state"
    shutil.copytree(looked_at.state, copied)
    relocate(copied)
    return copied


@pytest.fixture(scope="module")
def copy(state: Path) -> Path:
    """A backup of it."""
    place = state.parent / "copy"
    done = run("servers", "backup", place, "--state", state, home=state.parent / "home")
    assert done.returncode == 0, done.stderr
    return place


def restored(copy: Path, state: Path) -> tuple[int, str]:
    done = run("servers", "restore", copy, "--state", state, home=copy.parent / "home")
    return done.returncode, done.stdout + done.stderr


def test_what_is_restored_elsewhere_passes_the_audit_and_goes_on_with_its_budget(copy: Path, tmp_path: Path) -> None:
    status, said = restored(copy, tmp_path / "elsewhere")
    assert status == 0, said
    assert "1 release and the ledger were verified" in said
    (release,) = (tmp_path / "elsewhere" / "releases").iterdir()
    audited = run("audit", "release", release.name, "--state", tmp_path / "elsewhere", home=tmp_path / "home")
    assert audited.returncode == 0, audited.stdout + audited.stderr
    shown = run("budget", "show", "--state", tmp_path / "elsewhere", home=tmp_path / "home")
    assert release.name in shown.stdout


def test_a_backup_is_for_its_owner_alone(copy: Path) -> None:
    assert copy.stat().st_mode & 0o077 == 0
    assert list(copy.glob("vault/*/key"))


@pytest.mark.parametrize("how", ["altered", "missing", "too many"])
def test_a_backup_that_is_not_whole_is_refused_and_leaves_nothing(how: str, copy: Path, tmp_path: Path) -> None:
    broken = shutil.copytree(copy, tmp_path / "broken")
    (table,) = broken.glob("releases/*/synthetic.csv")
    if how == "altered":
        table.write_bytes(table.read_bytes()[:-2] + b"x\n")
    elif how == "missing":
        table.unlink()
    else:
        table.with_name("stranger").write_text("here")
    status, said = restored(broken, tmp_path / "elsewhere")
    assert status == 1
    assert "must be whole" in said
    assert not (tmp_path / "elsewhere" / "releases").exists()


def test_a_ledger_that_is_older_than_its_releases_is_refused(copy: Path, tmp_path: Path) -> None:
    """Whoever puts an old ledger beside new releases would spend the same budget twice."""
    broken = shutil.copytree(copy, tmp_path / "broken")
    fresh = tmp_path / "fresh"
    done = run("budget", "set", "people", "--epsilon", "3", "--delta", "0.1", "--state", fresh, home=tmp_path / "home")
    assert done.returncode == 0, done.stderr
    shutil.copyfile(fresh / "ledger" / "ledger.db", broken / "ledger" / "ledger.db")
    manifest = json.loads((broken / "manifest.json").read_text())
    manifest["files"]["ledger/ledger.db"] = file_digest(broken / "ledger" / "ledger.db")
    (broken / "manifest.json").write_text(json.dumps(manifest))
    status, said = restored(broken, tmp_path / "elsewhere")
    assert status == 1
    assert "the ledger must hold the " in said
    assert "budget recover --reason" in said


def test_nothing_is_overwritten(state: Path, copy: Path) -> None:
    again = run("servers", "backup", copy, "--state", state, home=state.parent / "home")
    assert (again.returncode, "does not exist yet" in again.stderr) == (1, True)
    status, said = restored(copy, state)
    assert (status, "an empty state folder" in said) == (1, True)


def test_no_backup_is_made_while_a_release_is_under_way(state: Path, tmp_path: Path) -> None:
    (vault,) = (state / "vault").iterdir()
    with leased(vault):
        done = run("servers", "backup", tmp_path / "copy", "--state", state, home=tmp_path / "home")
    assert (done.returncode, "in progress" in done.stderr) == (1, True)
    assert [path.name for path in tmp_path.iterdir()] == ["home"]


def test_what_is_no_backup_is_refused(tmp_path: Path) -> None:
    (tmp_path / "stranger").mkdir()
    status, said = restored(tmp_path / "stranger", tmp_path / "elsewhere")
    assert (status, "deniable servers backup" in said) == (1, True)
