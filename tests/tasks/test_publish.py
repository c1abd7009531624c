"""A release is published whole, checked, readable for everyone and never over another; or it is not published."""

import json
import shutil
import stat
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from deniable.foundation.domain import Codes, Domain
from deniable.foundation.errors import Refused
from deniable.privacy.loss import Guarantee
from deniable.record.attestation import Envelope
from deniable.samplers.seedless.spec import Entry as Seedless
from schemas.provenance import RECORD
from schemas.references import Audience
from schemas.spec.release_spec import ReleaseSpec, load_spec
from stores.keys.signed_record import SignedRecord, read_signed
from stores.keys.signing_keys import rotate_key
from stores.ledger.anchor import ANCHOR
from stores.ledger.evidence import NOTES
from stores.publication.release_folder import CSV, PARQUET, check_files, check_tables, publish_folder, write_table
from stores.statement.statement import in_words, statement, statement_in_words
from stores.tables.tables import decode, read_codes
from stores.vault.workspace import Workspace
from tests.small_release import write_small_release
from tests.stated_accounts import stated_accounts
from tests.whole_release import Drawn, drawn_release

COSTS: dict[str, Any] = {
    "structure": Guarantee(1.1, 1e-6, "basic"),
    "parameters": Guarantee(1.0, 1e-6, "basic"),
    "model": Guarantee(1.1, 1e-6, "parallel"),
    "record": Guarantee(1.33648, 4.53999e-5, "theorem_1_exact"),
    "candidates": Guarantee(23.4567, 1e-6, "theorem_a"),
    "total": Guarantee(23.4567, 2e-6, "parallel"),
}
ACCOUNTS = stated_accounts(**COSTS)


@pytest.fixture(scope="module")
def drawn_once(tmp_path_factory: pytest.TempPathFactory) -> Drawn:
    return drawn_release(tmp_path_factory.mktemp("to-publish"))


@pytest.fixture
def drawn(drawn_once: Drawn, tmp_path: Path) -> Drawn:
    """A release that awaits publication, in a state folder of its own."""
    return drawn_once.moved_to(tmp_path / "state")


@pytest.fixture
def workspace(drawn: Drawn) -> Workspace:
    return drawn.workspace


@pytest.fixture(scope="module")
def spec(tmp_path_factory: pytest.TempPathFactory) -> ReleaseSpec:
    return load_spec(write_small_release(tmp_path_factory.mktemp("spec"), people=[]))


def some_codes(workspace: Workspace, rows: int) -> Codes:
    domain = workspace.spec.domain
    return np.stack([np.arange(rows) % size for size in domain.cardinalities], axis=1).astype(np.uint16)


def test_a_release_holds_its_files_and_nothing_else(drawn: Drawn, workspace: Workspace) -> None:
    drawn.publish()
    assert {path.name for path in workspace.release_folder.iterdir()} == {
        "synthetic.parquet",
        "synthetic.csv",
        "schema.json",
        "graph.json",
        "model.json",
        "privacy.json",
        "PRIVACY.md",
        "README.md",
        "datapackage.json",
        "explore.html",
        "index.html",
        "record.dsse.json",
    }
    assert not workspace.staging.exists()


def test_both_tables_hold_the_records_in_the_format_of_the_input(drawn: Drawn, workspace: Workspace) -> None:
    published = drawn.publish()
    parquet = pd.read_parquet(workspace.release_folder / PARQUET)
    csv = pd.read_csv(workspace.release_folder / CSV, keep_default_na=False)
    expected = decode(np.concatenate(list(read_codes(drawn.codes.path, workspace.spec.domain))), workspace.spec.domain)
    assert list(parquet.columns) == ["age", "sex", "school", "employed"]
    assert set(csv["school"]) == {"none", "some", "degree"}
    pd.testing.assert_frame_equal(parquet, expected, check_dtype=False)
    pd.testing.assert_frame_equal(parquet, csv, check_dtype=False)
    assert published.rows == len(parquet) == 400
    assert published.path == workspace.release_folder / PARQUET
    assert published.digest == sha256(published.path.read_bytes()).hexdigest()


def test_everyone_may_read_what_is_published(drawn: Drawn, workspace: Workspace) -> None:
    drawn.publish()
    assert stat.S_IMODE(workspace.release_folder.stat().st_mode) == 0o755
    assert {stat.S_IMODE(path.stat().st_mode) for path in workspace.release_folder.iterdir()} == {0o644}


def test_the_schema_describes_every_value(drawn: Drawn, workspace: Workspace) -> None:
    drawn.publish()
    schema = json.loads((workspace.release_folder / "schema.json").read_text())
    age, sex = schema["attributes"][:2]
    assert (age["name"], age["kind"], sex["kind"]) == ("age", "numeric", "nominal")
    assert [item["value"] for item in age["values"]] == list(range(18, 38))
    assert [item["bucket"] for item in age["values"]] == [index // 5 for index in range(20)]
    assert schema["target"] == "employed"


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_published_release_is_never_overwritten(drawn: Drawn, workspace: Workspace) -> None:
    drawn.publish()
    before = contents(workspace.release_folder)
    (workspace.vault / "published.json").unlink()  # as in the vault of another release
    with pytest.raises(Refused, match="must have a new name"):
        drawn.publish()
    assert contents(workspace.release_folder) == before


def test_a_run_that_finds_its_release_published_leaves_it_and_goes_on(drawn: Drawn, workspace: Workspace) -> None:
    published = drawn.publish()
    before = {path: path.stat().st_mtime_ns for path in workspace.release_folder.iterdir()}
    assert drawn.publish() == published
    assert {path: path.stat().st_mtime_ns for path in workspace.release_folder.iterdir()} == before


def test_a_run_that_finds_its_published_release_changed_says_so(drawn: Drawn) -> None:
    published = drawn.publish()
    published.path.write_bytes(published.path.read_bytes() + b"x")
    with pytest.raises(Refused, match="must be as it was published"):
        drawn.publish()


@pytest.mark.parametrize("name", ["codes", "graph", "model"])
def test_nothing_restricted_is_published(name: str, drawn: Drawn) -> None:
    restricted = {"audience": Audience.RESTRICTED}
    if name == "codes":
        drawn = replace(drawn, codes=drawn.codes.model_copy(update=restricted))
    else:
        learnt = tuple(item.model_copy(update=restricted if item.name == name else {}) for item in drawn.learnt)
        drawn = replace(drawn, learnt=learnt)
    with pytest.raises(Refused, match="restricted"):
        drawn.publish()
    assert not drawn.workspace.release_folder.exists()


def test_a_record_that_was_signed_before_the_rename_is_not_signed_twice(drawn: Drawn, workspace: Workspace) -> None:
    """As where a process is killed right before the rename, and another goes on."""
    drawn.publish()
    before = contents(workspace.release_folder)
    shutil.rmtree(workspace.release_folder)
    drawn.publish()
    assert contents(workspace.release_folder) == before


def test_a_record_is_signed_again_where_something_changed_or_another_key_signs(
    drawn: Drawn, workspace: Workspace
) -> None:
    def republished() -> SignedRecord:
        shutil.rmtree(workspace.release_folder, ignore_errors=True)
        drawn.publish()
        return read_signed(workspace.release_folder / RECORD)

    first = republished()
    (workspace.vault / "people.json").write_text('{"started_by": "somebody else", "approval": null}')
    second = republished()
    rotated = rotate_key(workspace.state)
    third = republished()
    assert first.record.people.started_by != "somebody else"
    assert second.record.people == third.record.people
    assert second.record.people.started_by == "somebody else"
    assert first.record.signed.keyid == second.record.signed.keyid == rotated.before.keyid
    assert third.record.signed.keyid == rotated.after.keyid


def staged(workspace: Workspace, folder: Path) -> Path:
    folder.mkdir()
    write_table(folder, workspace.spec.domain, [some_codes(workspace, 30)])
    return folder


def test_a_staged_release_that_is_whole_passes_the_check(workspace: Workspace, tmp_path: Path) -> None:
    folder = staged(workspace, tmp_path / "staged")
    check_files(folder, [PARQUET, CSV])
    check_tables(folder, workspace.spec.domain, 30)


@pytest.mark.parametrize(
    ("spoil", "complaint"),
    [
        (lambda folder: (folder / CSV).unlink(), "without synthetic.csv"),
        (lambda folder: (folder / "seeds.parquet").write_text("records"), "seeds.parquet as well"),
        (lambda folder: (folder / CSV).write_text(""), "none in synthetic.csv"),
        (lambda folder: _replace(folder / CSV, "degree", "doctorate"), "synthetic.csv must stay inside .* school"),
        (lambda folder: _replace(folder / CSV, "school", "schooling"), "columns of the schema"),
        (
            lambda folder: (folder / CSV).write_text("\n".join(_lines(folder / CSV)[:-1]) + "\n"),
            "must contain 30 records",
        ),
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
        _check(folder, workspace.spec.domain)


def _check(folder: Path, domain: Domain) -> None:
    check_files(folder, [PARQUET, CSV])
    check_tables(folder, domain, 30)


def test_a_table_that_was_not_written_well_is_not_published(
    drawn: Drawn, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def written_badly(folder: Path, *given: object) -> int:
        rows = write_table(folder, *given)  # type: ignore[arg-type]
        _replace(folder / CSV, "degree", "doctorate")
        return rows

    monkeypatch.setattr("tasks.publication.publish.write_table", written_badly)
    with pytest.raises(Refused, match=r"synthetic\.csv must stay inside the domain, and school does not; nothing was"):
        drawn.publish()
    assert not workspace.release_folder.exists()


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


def test_the_statement_says_what_holds_in_figures(spec: ReleaseSpec) -> None:
    said = statement("small-1", spec, ACCOUNTS)
    assert (said["privacy_unit"], said["model"]["epsilon"], said["total"]["vacuous"]) == ("one record", 1.1, True)
    assert said["plausible_deniability"]["k"] == 20
    assert said["released_record"]["of"].startswith("one attempt, which ends with a record or with none")
    assert said["candidates"]["tested"] == 1500
    json.dumps(said, allow_nan=False)


def test_a_vacuous_total_is_called_vacuous_and_another_is_not(spec: ReleaseSpec) -> None:
    less = {"candidates": Guarantee(0.8, 1e-6, "theorem_a"), "total": Guarantee(1.1, 1e-6, "parallel")}
    small = stated_accounts(**COSTS | less)
    assert "vacuous" in statement_in_words("small-1", spec, ACCOUNTS)
    assert "vacuous" not in statement_in_words("small-1", spec, small)
    assert "vacuous" in statement_in_words(
        "small-1", spec, replace(small, total=Guarantee(float("inf"), 1e-6, "basic"))
    )


def test_privacy_test_one_is_said_to_give_no_differential_privacy(spec: ReleaseSpec) -> None:
    first = stated_accounts(**COSTS | {"record": None, "candidates": None, "total": None})
    words = statement_in_words("small-1", spec, first)
    assert "the whole release has no differential privacy" in words
    said = statement("small-1", spec, first)
    assert said["total"] is None
    assert said["plausible_deniability"]["eps0"] is None


def test_records_without_seeds_cost_no_more_than_the_model(spec: ReleaseSpec) -> None:
    costs = {name: COSTS[name] for name in ("structure", "parameters", "model")}
    seedless = stated_accounts(kind="seedless", **costs, total=COSTS["model"])
    drawing = Seedless(guarantee="seedless", records=400, chunk_candidates=512)
    drawn = spec.model_copy(update={"synthesis": drawing})
    words = statement_in_words("small-1", drawn, seedless)
    assert "drawn from the model alone" in words
    assert "plausible_deniability" not in statement("small-1", drawn, seedless)


def test_costs_are_rounded_up() -> None:
    assert in_words(Guarantee(1.33641, 4.53999e-5, "basic")) == "epsilon = 1.337, delta = 4.54e-5"
    assert in_words(Guarantee(0.5, 1e-9, "basic")) == "epsilon = 0.5, delta = 1e-9"


def test_what_is_published_holds_no_key_no_place_and_of_internal_things_only_keyed_digests(
    drawn: Drawn, workspace: Workspace
) -> None:
    drawn.publish()
    key = (workspace.vault / "key").read_bytes()
    for name, content in contents(workspace.release_folder).items():
        read = Envelope.from_text(content).payload if name == RECORD else content
        assert key not in read
        assert key.hex().encode() not in read
        assert str(workspace.state).encode() not in read
        assert (drawn.codes.digest.encode() in read) == (name == RECORD)
        assert sha256(drawn.codes.path.read_bytes()).hexdigest().encode() not in read


def _halved(claimed: Guarantee | None) -> Guarantee:
    assert claimed is not None
    return replace(claimed, epsilon=claimed.epsilon / 2)


@pytest.mark.parametrize("figure", ["total", "model", "parameters"])
def test_a_release_whose_cost_does_not_follow_from_its_events_is_not_published(
    figure: str, drawn: Drawn, workspace: Workspace
) -> None:
    accounts = drawn.accounts
    if figure == "parameters":
        *others, last = accounts.learnt
        accounts = replace(accounts, learnt=(*others, replace(last, guarantee=_halved(last.guarantee))))
    else:
        accounts = replace(accounts, **{figure: _halved(getattr(accounts, figure))})
    with pytest.raises(Refused, match=r"must hold against its own record, .* nothing was published"):
        replace(drawn, accounts=accounts).publish()
    assert not workspace.release_folder.exists()
    drawn.publish()
    assert workspace.release_folder.exists()


def test_a_release_that_was_not_charged_what_it_spent_is_not_published(drawn: Drawn, workspace: Workspace) -> None:
    shutil.rmtree(workspace.state / "ledger")
    # All that would speak against another ledger is gone too.
    (workspace.state / ANCHOR).unlink()
    shutil.rmtree(workspace.state / NOTES)
    shutil.rmtree(workspace.vault / "steps", ignore_errors=True)
    with pytest.raises(Refused, match=r"must hold against its own record, .* nothing was published"):
        drawn.publish()
    assert not workspace.release_folder.exists()


def test_the_readme_says_how_to_verify_the_release(drawn: Drawn, workspace: Workspace) -> None:
    drawn.publish()
    words = (workspace.release_folder / "README.md").read_text()
    assert "pip install deniable" in words
    assert "deniable audit verify . --keys trusted.json" in words
    assert all(f"`{path.name}`" in words for path in workspace.release_folder.iterdir() if path.name != "README.md")
