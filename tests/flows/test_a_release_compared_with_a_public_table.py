"""A release that holds nothing out is measured on a public table: its digest is recorded, and no person is read."""

import json
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from ruamel.yaml import YAML

from deniable.foundation.errors import InvalidInput, Refused
from flows.audit import audit_here
from flows.release import release
from flows.replay import replay
from schemas.provenance import RECORD
from schemas.references import Audience, Reference
from schemas.spec.plan import plan_release
from schemas.spec.release_spec import load_spec
from stores.keys.signed_record import read_signed
from stores.record.folder_verification import verified_release
from stores.record.record_reader import keys_to_trust
from stores.vault.workspace import Workspace
from tasks.evaluation.evaluate_utility import evaluate_utility
from tests.small_release import NAMES, made_up_people, write_small_release

if TYPE_CHECKING:
    from flows.released import Released

pytestmark = pytest.mark.usefixtures("prefect")


def write_spec(folder: Path, rows: list[list[str]] | None = None, **changes: Any) -> Path:
    """A short spec and a public table: other people of the same kind, unless rows are given."""
    write_small_release(folder)
    earlier = made_up_people(1500, b"earlier people") if rows is None else rows
    (folder / "earlier.csv").write_text("\n".join(",".join(row) for row in [NAMES, *earlier]) + "\n")
    public = {"file": "earlier.csv", "sha256": digest(folder / "earlier.csv")}
    spec = {"name": "short", "dataset": "people.py", "source": "people.csv", "epsilon": 1, "split": {"holdout": 0}}
    spec |= {"evaluation": {"public": public, "train_rows": 400}, **changes}
    with (folder / "short.yaml").open("w") as file:
        YAML(typ="safe", pure=True).dump(spec, file)
    return folder / "short.yaml"


def digest(path: Path) -> str:
    return sha256(path.read_bytes()).hexdigest()


@pytest.fixture(scope="module")
def made(prefect: None, tmp_path_factory: pytest.TempPathFactory) -> "Released":
    """A release that is measured on a public table."""
    folder = tmp_path_factory.mktemp("made")
    spec = write_spec(folder / "spec", thresholds={"tvd_2way_max": 0.5, "accuracy_loss_forest_max": 0.5})
    return release(spec, folder / "state")


@pytest.mark.nightly
def test_it_is_measured_on_the_public_table_which_pages_and_record_name(made: "Released", tmp_path: Path) -> None:
    workspace, named = made.workspace, digest(made.workspace.state.parent / "spec" / "earlier.csv")
    figures = made.utility.figures
    assert 0 < figures["tvd_2way"] < 0.5
    assert {"tvd_2way_training", "accuracy_loss_forest", "distinguished"} <= figures.keys()
    assert not any(name.endswith("_baseline") for name in figures)
    assert made.risk.figures == {}
    assert [verdict.met for verdict in made.verdicts] == [True, True]
    record = read_signed(workspace.release_folder / RECORD).record
    assert record.spec.document["evaluation"]["public"] == {"file": "earlier.csv", "sha256": named}
    for name in ("index.html", "PRIVACY.md", "privacy.json"):
        page = " ".join((workspace.release_folder / name).read_text().split())
        assert "utility was measured on the public table" in page, name
        assert named in page, name
    report = (workspace.folder(Audience.INTERNAL) / "report.html").read_text()
    assert named in report
    assert "risk was not measured" in report
    assert 'id="risk"' not in report
    whole = plan_release(load_spec(write_spec(tmp_path / "other", evaluation={}))).accounts
    assert record.cost.total is not None
    assert whole.total is not None
    assert record.cost.total.epsilon == whole.total.epsilon, "the comparison costs nothing"
    assert verified_release(workspace.release_folder, keys_to_trust(workspace.state)).holds
    assert replay(workspace.release_folder, workspace.state).same
    assert audit_here(workspace.release_id, workspace.state).holds

    statement = json.loads((workspace.release_folder / "privacy.json").read_text())
    assert any(named in tell for tell in statement["publication"]["tells"])


def test_no_confidential_record_is_read_to_measure(
    made: "Released", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A step more is then recorded in the release's run, so this comes after its audit."""
    workspace = made.workspace
    released = Workspace(
        state=workspace.state,
        release_id=workspace.release_id,
        spec=workspace.spec,
        mlflow_run_id=workspace.mlflow_run_id,
    ).refer("released", "released.parquet", Audience.INTERNAL)
    opened: list[str] = []
    from tasks.running import sampling  # noqa: PLC0415

    read = sampling.read_codes

    def noted(path: Path, *rest: Any) -> Any:
        opened.append(path.name)
        return read(path, *rest)

    monkeypatch.setattr(sampling, "read_codes", noted)
    absent = {
        "shared": Reference(
            name="shared", path=tmp_path / "none", digest="0" * 64, rows=1, audience=Audience.RESTRICTED
        )
    }
    again = evaluate_utility(workspace, released, absent)
    assert opened == ["released.parquet"]
    assert again.figures == made.utility.figures


@pytest.mark.parametrize("how", ["missing", "altered", "the source", "its bytes"])
def test_another_table_is_refused_before_anything_is_charged(tmp_path: Path, how: str) -> None:
    spec = write_spec(tmp_path / "spec")
    place, source = tmp_path / "spec" / "earlier.csv", tmp_path / "spec" / "people.csv"
    if how == "missing":
        place.unlink()
    elif how == "altered":
        place.write_bytes(place.read_bytes() + b"\n")
    else:
        place.unlink()
        place.write_bytes(source.read_bytes()) if how == "its bytes" else place.hardlink_to(source)
    refused = InvalidInput if how in {"missing", "altered"} else Refused
    with pytest.raises(refused, match="public"):
        release(spec, tmp_path / "state")
    assert not list((tmp_path / "state" / "vault").glob("*"))


@pytest.mark.parametrize("how", ["in another order", "less one row", "less half", "with a changed column"])
def test_a_table_made_from_the_source_is_refused_before_anything_is_charged(tmp_path: Path, how: str) -> None:
    rows = made_up_people()
    sexes = [row[1] for row in rows]
    made = {
        "in another order": rows[::-1],
        "less one row": rows[1:],
        "less half": rows[::2],
        "with a changed column": [[row[0], sex, *row[2:]] for row, sex in zip(rows, sexes[::-1], strict=True)],
    }
    with pytest.raises(Refused, match="must be about other people than the source of the release") as told:
        release(write_spec(tmp_path / "spec", made[how]), tmp_path / "state")
    assert not any(digit in str(told.value) for digit in "0123456789")
    assert not list((tmp_path / "state" / "vault").glob("*"))


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"split": {"holdout": 0.2}}, "must have no public table if records are held out"),
        ({"thresholds": {"exact_match_excess_max": 0.1}}, "must be the name of a figure"),
        ({"thresholds": {"tvd_2way_baseline_max": 0.1}}, "must be the name of a figure"),
    ],
)
def test_what_does_not_go_with_a_public_table_is_refused(
    tmp_path: Path, changes: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(InvalidInput, match=complaint):
        load_spec(write_spec(tmp_path / "spec", **changes))


@pytest.mark.parametrize(
    "public", [{"file": "earlier.csv"}, {"file": "earlier.txt", "sha256": "0" * 64}, {"sha256": "0" * 64}]
)
def test_the_entry_is_strict(tmp_path: Path, public: dict[str, str]) -> None:
    with pytest.raises(InvalidInput, match=r"evaluation\.public"):
        load_spec(write_spec(tmp_path / "spec", evaluation={"public": public}))
