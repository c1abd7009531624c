"""A spec of four entries and no holdout: released with all rows, and every page says that utility was not measured."""

import io
from pathlib import Path

import pytest
from rich.console import Console
from ruamel.yaml import YAML

from flows.audit import audit_here
from flows.cli.making import print_summary
from flows.release import release
from flows.replay import replay
from schemas.provenance import RECORD
from schemas.references import Audience
from stores.keys.signed_record import read_signed
from tests.small_release import ROWS, SCHEMA, made_up_people, write_small_release

pytestmark = pytest.mark.usefixtures("prefect")

SPEC = {"name": "short", "dataset": "people.py", "source": "people.csv", "epsilon": 1, "split": {"holdout": 0}}


@pytest.mark.nightly
def test_it_is_released_replayed_and_audited_and_says_what_was_not_measured(tmp_path: Path) -> None:
    lacking = 90  # of 3,000, less than the limit of 5 %
    people = made_up_people()
    for person in people[:lacking]:
        person[2] = ""
    folder = write_small_release(tmp_path / "spec", people=people, schema=SCHEMA).parent
    spec = folder / "short.yaml"
    with spec.open("w") as file:
        YAML(typ="safe", pure=True).dump(SPEC, file)
    released = release(spec, tmp_path / "state")
    workspace = released.workspace

    record = read_signed(workspace.release_folder / RECORD).record
    document = record.spec.document
    assert document["max_dropped_share"] == "1/20"
    assert document["learner"]["parameters"]["epsilon"] == "1"
    assert (document["split"], record.cost.split) == ({"shared": "1", "holdout": "0"}, {"shared": "1"})
    assert record.cost.total is not None
    assert record.cost.total.epsilon <= 1
    assert document["budget"]["epsilon"] == "1"

    said = "utility was not measured on held-out records"
    pages = [workspace.release_folder / name for name in ("index.html", "PRIVACY.md", "privacy.json")]
    for page in (*pages, workspace.folder(Audience.INTERNAL) / "report.html"):
        assert said in " ".join(page.read_text().lower().split()), page
    statement = (workspace.release_folder / "PRIVACY.md").read_text()
    assert "At most 0.05 of the rows in scope were left out" in statement
    assert "Everything was learnt from the same records, which are all of them." in statement

    paper = io.StringIO()
    print_summary(released, Console(file=paper, width=300, highlight=False))
    assert f"{lacking} of {ROWS:,} rows in scope (3.000%) are left out: {lacking} lack a value" in paper.getvalue()
    assert said in paper.getvalue()

    assert replay(workspace.release_folder, workspace.state).same
    audited = audit_here(workspace.release_id, workspace.state)
    assert audited.holds, audited
