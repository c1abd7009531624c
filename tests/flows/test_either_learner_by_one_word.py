"""A spec releases with either learner by one word, whatever the guarantee, and what was measured can be seen."""

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from mlflow import MlflowClient

from deniable.foundation.keys import ReleaseKey
from flows.release import release
from flows.released import Released
from schemas.provenance import RECORD
from schemas.spec.plan import plan_release
from stores.servers.ui_links import mlflow_pages, prefect_pages
from stores.vault.workspace import Workspace
from tests.html_page import Page
from tests.small_release import SPEC, write_small_release
from tests.whole_release import drawn_release

pytestmark = pytest.mark.usefixtures("prefect")

TESTED = SPEC["synthesis"]
HISTOGRAM = {
    "guarantee": "histogram_seeds",
    "omega": 1,
    "epsilon": 3,
    "delta": 1e-5,
    "epsilon_rows": 0.1,
    "k": 20,
    "beta": 1e-3,
    "max_rows": 10_000,
    "records": 500,
    "chunk_candidates": 200,
}
SEEDLESS = {"guarantee": "seedless", "records": 500, "chunk_candidates": 200}


def key_of(synthesis: dict[str, Any]) -> ReleaseKey:
    """The key of a release; with noise of another, all people may seem to be in what was kept."""
    return ReleaseKey(sha256(f"{synthesis['guarantee']} 2".encode()).digest())


@pytest.fixture(scope="module")
def seedless(state: Path, prefect: None, tmp_path_factory: pytest.TempPathFactory) -> Released:
    """A release without seeds, whose noise is chosen."""
    path = write_small_release(
        tmp_path_factory.mktemp("seedless"), learner__kind="loglinear", learner__noise="auto", synthesis=SEEDLESS
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ReleaseKey, "generate", lambda: key_of(SEEDLESS))
        return release(path, state, anew=True)


def test_one_word_changes_the_learner(seedless: Released) -> None:
    require_that_the_learner_is_another(seedless.workspace)


@pytest.mark.parametrize("synthesis", [TESTED, HISTOGRAM], ids=lambda entry: entry["guarantee"])
@pytest.mark.nightly
def test_one_word_changes_the_learner_of_what_begins_with_seeds(synthesis: dict[str, Any], tmp_path: Path) -> None:
    made = drawn_release(tmp_path, key=key_of(synthesis).secret, learner__kind="loglinear", synthesis=synthesis)
    made.publish()
    require_that_the_learner_is_another(made.workspace)
    if synthesis is HISTOGRAM:
        require_that_what_begins_elsewhere_is_said_to_be_the_models_own(made.workspace.release_folder)


def require_that_the_learner_is_another(made: Workspace) -> None:
    folder = made.release_folder
    document = json.loads((folder / "model.json").read_text())
    assert document["format"].startswith("deniable/loglinear-net/")
    graph = json.loads((folder / "graph.json").read_text())
    assert any(graph["parents"].values())
    records = pd.read_parquet(folder / "synthetic.parquet")
    assert 100 < len(records) <= 500
    accounts = plan_release(made.spec).accounts
    assert accounts.structure is None
    assert accounts.parameters.epsilon <= 1
    assert {step.step for step in accounts.steps} >= {"learn_parameters"}


def require_that_what_begins_elsewhere_is_said_to_be_the_models_own(folder: Path) -> None:
    noisy = json.loads((folder / "seeds.json").read_text())
    records = pd.read_parquet(folder / "synthetic.parquet")
    kept = {tuple(cell) for cell in noisy["cells"]}
    elsewhere = sum(tuple(prefix) not in kept for prefix in records[noisy["attributes"]].to_numpy().tolist())
    lost = 1 - sum(noisy["counts"]) / noisy["rows"]
    assert 0 < lost < 0.97
    # Seven standard deviations.
    assert abs(elsewhere / len(records) - lost) < 7 * (lost * (1 - lost) / len(records)) ** 0.5
    said = json.loads((folder / "privacy.json").read_text())
    assert said["histogram"]["plausible_seeds"]["of_records"].startswith(
        "those that begin with a prefix of the histogram"
    )
    words = " ".join((folder / "PRIVACY.md").read_text().split())
    assert "every prefix of the histogram is shared by at least k = 20" in words
    assert "This does not apply to records whose prefix is not in the histogram" in words
    assert "For these no k is guaranteed" in " ".join(Page((folder / "index.html").read_text()).words.split())


def test_what_was_measured_can_be_seen_in_mlflow_and_on_both_pages(
    seedless: Released, state: Path, tmp_path: Path
) -> None:
    released = seedless
    client = MlflowClient(f"sqlite:///{state}/mlflow/mlflow.db")
    parent = client.get_run(released.workspace.mlflow_run_id)
    runs = client.search_runs(
        [parent.info.experiment_id], f"tags.`mlflow.parentRunId` = '{released.workspace.mlflow_run_id}'"
    )
    found: dict[str, list[bytes]] = {"measured.json": [], "measured.svg": []}
    for run in runs:
        (tmp_path / run.info.run_id).mkdir()
        for item in client.list_artifacts(run.info.run_id, "public"):
            if (name := Path(item.path).name) in found:
                place = client.download_artifacts(run.info.run_id, item.path, str(tmp_path / run.info.run_id))
                found[name].append(Path(place).read_bytes())
    folder = released.published.path.parent
    # The learner's step keeps it, and so does publication.
    assert len(found["measured.json"]) == 2
    assert {json.dumps(json.loads(text)) for text in found["measured.json"]} == {(folder / "measured.json").read_text()}
    [drawn] = found["measured.svg"]
    assert drawn.startswith(b"<svg ")
    measured = json.loads((folder / "measured.json").read_text())
    assert {table["reason"] for table in measured["tables"]} >= {"one-way", "tree", "target"}
    assert set(measured["order"]) == {"age", "sex", "school", "employed"}
    for table in measured["tables"]:
        [counted] = {np.shape(release["sums"]) for release in table["releases"]}
        cells = np.shape(table["denoised"])
        one = [name in table["differences"] for name in table["attributes"]]
        assert counted == tuple(1 if by else size for size, by in zip(cells, one, strict=True))
        assert all(size == 2 for size, by in zip(cells, one, strict=True) if by)
    assert {name for table in measured["tables"] for name in table["differences"]} == {"sex", "employed"}
    for page in (folder / "index.html", released.report.path):
        html = Page(page.read_text(encoding="utf-8"))
        of_ours = ("../../releases/", "../small-", RECORD, mlflow_pages(), prefect_pages())
        elsewhere = () if page == folder / "index.html" else of_ours
        html.require_sound(tuple(path.name for path in folder.iterdir()), elsewhere)
        assert "What was measured" in html.words
        assert "chosen for the tree" in html.words
        assert "denoised" in html.words
