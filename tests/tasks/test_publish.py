"""A release is published whole, checked, readable for everyone and never over another; or it is not published."""

import json
import stat
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from deniable.domain import Codes
from deniable.errors import Refused
from deniable.keys import ReleaseKey
from deniable.loss import Guarantee
from schemas.accounts import Accounts
from schemas.references import Audience, Reference
from schemas.release_spec import load_spec
from schemas.synthesis import Seedless
from stores.lineage import recorded_release
from stores.release_folder import CSV, PARQUET, check_folder, publish_folder, write_table
from stores.statement import in_words, statement, statement_in_words
from stores.tables import write_codes
from stores.workspace import Workspace
from tasks.publish import publish
from tests.isolation import STATE
from tests.small_release import write_small_release

ACCOUNTS = Accounts(
    structure=Guarantee(1.1, 1e-6, "basic"),
    parameters=Guarantee(1.0, 1e-6, "basic"),
    model=Guarantee(1.1, 1e-6, "parallel"),
    kind="tested_seeds",
    record=Guarantee(1.33648, 4.53999e-5, "theorem_1"),
    record_t=10,
    candidates=Guarantee(23.4567, 1e-6, "theorem_a"),
    total=Guarantee(23.4567, 2e-6, "parallel"),
)


@pytest.fixture
def workspace(tmp_path: Path, request: pytest.FixtureRequest) -> Workspace:
    spec = load_spec(write_small_release(tmp_path / "spec"))
    name = "".join(character if character.isalnum() else "-" for character in request.node.name)
    with recorded_release(STATE, name, spec) as run_id:
        pass
    workspace = Workspace(state=tmp_path / "state", release_id="small-1", spec=spec, mlflow_run_id=run_id)
    workspace.vault.mkdir(parents=True)
    (workspace.vault / "key").write_bytes(ReleaseKey.generate().secret)
    return workspace


def some_codes(workspace: Workspace, rows: int) -> Codes:
    domain = workspace.spec.domain
    return np.stack([np.arange(rows) % size for size in domain.cardinalities], axis=1).astype(np.uint16)


def publish_made(workspace: Workspace, references: dict[str, Reference] | None = None) -> Reference:
    """Publish what `made` leaves."""
    given = references or made(workspace)
    return publish(workspace, given["codes"], [given["graph"], given["model"]], ACCOUNTS)


def made(workspace: Workspace, rows: int = 250) -> dict[str, Reference]:
    """What the steps before publication leave."""
    codes = some_codes(workspace, rows)
    with workspace.writing("released.parquet", Audience.INTERNAL) as path:
        write_codes(path, workspace.spec.domain, [codes[:100], codes[100:]])
    for name in ("graph.json", "model.json"):
        with workspace.writing(name, Audience.PUBLIC) as path:
            path.write_text("{}")
    return {
        "codes": workspace.refer("released", "released.parquet", Audience.INTERNAL, rows),
        "graph": workspace.refer("graph", "graph.json", Audience.PUBLIC),
        "model": workspace.refer("model", "model.json", Audience.PUBLIC),
    }


def test_a_release_holds_its_files_and_nothing_else(workspace: Workspace) -> None:
    publish_made(workspace)
    assert {path.name for path in workspace.release_folder.iterdir()} == {
        "synthetic.parquet",
        "synthetic.csv",
        "schema.json",
        "graph.json",
        "model.json",
        "privacy.json",
        "PRIVACY.md",
        "README.md",
    }
    assert not workspace.staging.exists()


def test_both_tables_hold_the_records_in_the_format_of_the_input(workspace: Workspace) -> None:
    published = publish_made(workspace)
    parquet = pd.read_parquet(workspace.release_folder / PARQUET)
    csv = pd.read_csv(workspace.release_folder / CSV, keep_default_na=False)
    assert list(parquet.columns) == ["age", "sex", "school", "employed"]
    assert parquet.iloc[21].tolist() == [19, "m", "none", "yes"]
    assert csv["school"].iloc[0] == "none"
    pd.testing.assert_frame_equal(parquet, csv, check_dtype=False)
    assert published.rows == len(parquet) == 250
    assert published.path == workspace.release_folder / PARQUET
    assert published.digest == sha256(published.path.read_bytes()).hexdigest()


def test_everyone_may_read_what_is_published(workspace: Workspace) -> None:
    publish_made(workspace)
    assert stat.S_IMODE(workspace.release_folder.stat().st_mode) == 0o755
    assert {stat.S_IMODE(path.stat().st_mode) for path in workspace.release_folder.iterdir()} == {0o644}


def test_the_schema_describes_every_value(workspace: Workspace) -> None:
    publish_made(workspace)
    schema = json.loads((workspace.release_folder / "schema.json").read_text())
    age, sex = schema["attributes"][:2]
    assert (age["name"], age["kind"], sex["kind"]) == ("age", "numeric", "nominal")
    assert [item["value"] for item in age["values"]] == list(range(18, 38))
    assert [item["bucket"] for item in age["values"]] == [index // 5 for index in range(20)]
    assert schema["target"] == "employed"


def test_a_published_release_is_never_overwritten(workspace: Workspace) -> None:
    publish_made(workspace)
    before = {path: path.read_bytes() for path in workspace.release_folder.iterdir()}
    (workspace.vault / "published.json").unlink()  # as in the vault of another release
    with pytest.raises(Refused, match="a name of its own"):
        publish_made(workspace, made(workspace, rows=10))
    assert {path: path.read_bytes() for path in workspace.release_folder.iterdir()} == before


def test_a_run_that_finds_its_release_published_leaves_it_and_goes_on(workspace: Workspace) -> None:
    published = publish_made(workspace)
    before = {path: path.stat().st_mtime_ns for path in workspace.release_folder.iterdir()}
    assert publish_made(workspace) == published
    assert {path: path.stat().st_mtime_ns for path in workspace.release_folder.iterdir()} == before


def test_a_run_that_finds_its_published_release_changed_says_so(workspace: Workspace) -> None:
    published = publish_made(workspace)
    published.path.write_bytes(published.path.read_bytes() + b"x")
    with pytest.raises(Refused, match="must be as it was published"):
        publish_made(workspace)


@pytest.mark.parametrize("name", ["codes", "graph", "model"])
def test_nothing_restricted_is_published(name: str, workspace: Workspace) -> None:
    references = made(workspace)
    references[name] = references[name].model_copy(update={"audience": Audience.RESTRICTED})
    with pytest.raises(Refused, match="restricted"):
        publish_made(workspace, references)
    assert not workspace.release_folder.exists()


def staged(workspace: Workspace, folder: Path) -> Path:
    folder.mkdir()
    write_table(folder, workspace.spec.domain, [some_codes(workspace, 30)])
    return folder


def test_a_staged_release_that_is_whole_passes_the_check(workspace: Workspace, tmp_path: Path) -> None:
    check_folder(staged(workspace, tmp_path / "staged"), workspace.spec.domain, 30, [PARQUET, CSV])


@pytest.mark.parametrize(
    ("spoil", "complaint"),
    [
        (lambda folder: (folder / CSV).unlink(), "without synthetic.csv"),
        (lambda folder: (folder / "seeds.parquet").write_text("records"), "seeds.parquet too"),
        (lambda folder: (folder / CSV).write_text(""), "none in synthetic.csv"),
        (lambda folder: _replace(folder / CSV, "degree", "doctorate"), "synthetic.csv must stay inside .* school"),
        (lambda folder: _replace(folder / CSV, "school", "schooling"), "columns of the schema"),
        (lambda folder: (folder / CSV).write_text("\n".join(_lines(folder / CSV)[:-1]) + "\n"), "must hold 30 records"),
        (lambda folder: _put_out_of_domain(folder / PARQUET), "synthetic.parquet must stay inside .* age"),
    ],
    ids=["missing", "stranger", "empty", "value", "column", "record", "parquet value"],
)
def test_a_staged_release_that_is_not_whole_is_refused(
    spoil: object, complaint: str, workspace: Workspace, tmp_path: Path
) -> None:
    folder = staged(workspace, tmp_path / "staged")
    spoil(folder)  # type: ignore[operator]
    with pytest.raises(Refused, match=complaint):
        check_folder(folder, workspace.spec.domain, 30, [PARQUET, CSV])


def _lines(path: Path) -> list[str]:
    return path.read_text().splitlines()


def _replace(path: Path, old: str, new: str) -> None:
    path.write_text(path.read_text().replace(old, new))


def _put_out_of_domain(path: Path) -> None:
    frame = pd.read_parquet(path)
    frame.loc[3, "age"] = 99
    frame.to_parquet(path)


def test_a_release_appears_whole_at_the_last_moment(workspace: Workspace, tmp_path: Path) -> None:
    folder = staged(workspace, tmp_path / "staged")
    publish_folder(folder, tmp_path / "releases" / "small-1")
    assert not folder.exists()
    assert {path.name for path in (tmp_path / "releases" / "small-1").iterdir()} == {PARQUET, CSV}


def test_the_statement_says_what_holds_in_figures(workspace: Workspace) -> None:
    said = statement("small-1", workspace.spec, ACCOUNTS)
    assert (said["privacy_unit"], said["model"]["epsilon"], said["total"]["vacuous"]) == ("one record", 1.1, True)
    assert said["plausible_deniability"]["k"] == 20
    assert said["released_record"]["t"] == 10
    assert said["candidates"]["tested"] == 1500
    json.dumps(said, allow_nan=False)


def test_a_vacuous_total_is_called_vacuous_and_another_is_not(workspace: Workspace) -> None:
    small = replace(ACCOUNTS, candidates=Guarantee(0.8, 1e-6, "theorem_a"), total=Guarantee(1.1, 1e-6, "parallel"))
    assert "vacuous" in statement_in_words("small-1", workspace.spec, ACCOUNTS)
    assert "vacuous" not in statement_in_words("small-1", workspace.spec, small)
    assert "vacuous" in statement_in_words(
        "small-1", workspace.spec, replace(small, total=Guarantee(float("inf"), 1e-6, "basic"))
    )


def test_privacy_test_one_is_said_to_give_no_differential_privacy(workspace: Workspace) -> None:
    first = replace(ACCOUNTS, record=None, record_t=None, candidates=None, total=None)
    words = statement_in_words("small-1", workspace.spec, first)
    assert "the whole release has no differential privacy" in words
    said = statement("small-1", workspace.spec, first)
    assert said["total"] is None
    assert said["plausible_deniability"]["eps0"] is None


def test_records_without_seeds_cost_no_more_than_the_model(workspace: Workspace) -> None:
    seedless = replace(ACCOUNTS, kind="seedless", record=None, record_t=None, candidates=None, total=ACCOUNTS.model)
    drawing = Seedless(guarantee="seedless", records=400, chunk_candidates=512)
    spec = workspace.spec.model_copy(update={"synthesis": drawing})
    words = statement_in_words("small-1", spec, seedless)
    assert "drawn from the model alone" in words
    assert "plausible_deniability" not in statement("small-1", spec, seedless)


def test_costs_are_rounded_up() -> None:
    assert in_words(Guarantee(1.33641, 4.53999e-5, "basic")) == "epsilon = 1.337, delta = 4.54e-05"
    assert in_words(Guarantee(0.5, 1e-9, "basic")) == "epsilon = 0.5, delta = 1e-09"


def test_what_is_published_holds_no_internal_figure(workspace: Workspace) -> None:
    references = made(workspace)
    publish_made(workspace, references)
    key = (workspace.vault / "key").read_bytes()
    for path in workspace.release_folder.iterdir():
        content = path.read_bytes()
        assert key not in content
        assert references["codes"].digest.encode() not in content
        assert str(workspace.state).encode() not in content
