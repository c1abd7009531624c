"""MLflow as an auditor sees it: one search finds releases, a page leads to everything, and digests line up."""

import json
import re
from datetime import date
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote

import pytest
from mlflow import MlflowClient
from mlflow.entities import Dataset, Run

from deniable.foundation.errors import InvalidInput
from deniable.privacy.rounding import rounded_up
from schemas.provenance import RECORD, Approval, People
from schemas.references import Audience
from schemas.spec.flow_steps import flow_steps
from stores.keys.signed_record import read_signed
from stores.keys.trust_file import trusted_keys_place
from stores.ledger.charging import note_publication
from stores.servers.ui_links import TRAINING_PAGES, run_page, search_page
from stores.tracking.registry import register_model, version_of
from stores.tracking.release_page import READABLE_RECORD, complete_page
from stores.tracking.release_search import release_filter
from stores.tracking.step_run import step_title
from tests.commands import carry_out
from tests.whole_release import GUARANTEES, Drawn, drawn_release

ROOT = Path(__file__).resolve().parents[2]
LINK = re.compile(r"\]\((#/[^)]*)\)")
WITHOUT_GUARANTEE = {
    "synthesis__test": 1,
    "synthesis__accept_no_differential_privacy": True,
}


@pytest.fixture(scope="module")
def client(state: Path) -> MlflowClient:
    return MlflowClient(f"sqlite:///{state}/mlflow/mlflow.db")


def published(folder: Path, release_id: str, dataset: str, **changes: Any) -> Drawn:
    budget = {"dataset": dataset, "epsilon": 1000, "delta": 1}
    drawn = drawn_release(folder, release_id, run_name=release_id, budget=budget, **changes)
    note_publication(drawn.workspace, drawn.publish())
    drawn.seal()
    return drawn


@pytest.fixture(scope="module", params=GUARANTEES)
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, state: Path) -> Drawn:
    return published(
        tmp_path_factory.mktemp("made"), f"only-{request.param}", f"of-{request.param}", **GUARANTEES[request.param]
    )


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory, state: Path) -> tuple[Drawn, Drawn]:
    """Two of one dataset; of the second no epsilon is known."""
    folder = tmp_path_factory.mktemp("two")
    return published(folder, "first", "searched"), published(folder, "second", "searched", **WITHOUT_GUARANTEE)


def run_of(drawn: Drawn, client: MlflowClient) -> Run:
    return client.get_run(drawn.workspace.mlflow_run_id)


def steps_of(drawn: Drawn, client: MlflowClient) -> list[Run]:
    """The runs of a release's steps, as they began."""
    experiment = run_of(drawn, client).info.experiment_id
    found = f"tags.`mlflow.parentRunId` = '{drawn.workspace.mlflow_run_id}'"
    began = client.search_runs([experiment], found, order_by=["attributes.start_time ASC"])
    return [client.get_run(run.info.run_id) for run in began]  # a search leaves out which models are read


def datasets_of(run: Run, role: str) -> list[Dataset]:
    return [item.dataset for item in run.inputs.dataset_inputs if item.tags[0].value == role]


def found_by(client: MlflowClient, **asked: Any) -> list[str]:
    everywhere = [experiment.experiment_id for experiment in client.search_experiments()]
    return sorted(run.data.tags["release"] for run in client.search_runs(everywhere, release_filter(**asked)))


def test_the_filter_of_the_guide_is_the_one_that_its_command_asks_with() -> None:
    quoted = (
        "tags.dataset = 'village' and metrics.published.day >= 20261101 and metrics.epsilon.total > 0.5 "
        "and tags.approved_by = 'nobody'"
    )
    asked = release_filter(dataset="village", since=date(2026, 11, 1), epsilon_above=0.5, approved_by="nobody")
    assert asked == quoted
    guide = " ".join((ROOT / "docs" / "auditor" / "five-questions.md").read_text(encoding="utf-8").split())
    assert quoted in guide
    assert all(said in guide for said in ("find --dataset village", "--since 2026-11-01", "--epsilon-above 0.5"))
    assert "--approved-by nobody" in guide


def test_one_search_finds_releases_by_dataset_day_cost_and_who_approved_them(
    two: tuple[Drawn, Drawn], client: MlflowClient
) -> None:
    cost = two[0].accounts.total
    assert cost is not None
    today = date.fromisoformat(read_signed(two[0].workspace.release_folder / RECORD).record.release.published)
    both, second = [drawn.workspace.release_id for drawn in two], [two[1].workspace.release_id]
    of_it: dict[str, Any] = {"dataset": "searched"}
    assert found_by(client, **of_it) == both
    assert found_by(client, **of_it, since=today) == both
    assert found_by(client, **of_it, since=date(today.year + 1, 1, 1)) == []
    assert found_by(client, **of_it, epsilon_above=cost.epsilon * 0.999) == both
    assert found_by(client, **of_it, epsilon_above=cost.epsilon) == second
    assert found_by(client, **of_it, since=today, epsilon_above=0.5, approved_by="nobody") == both
    assert found_by(client, **of_it, approved_by="somebody") == []


def test_a_release_without_differential_privacy_costs_more_than_any_epsilon(
    two: tuple[Drawn, Drawn], client: MlflowClient
) -> None:
    assert found_by(client, dataset="searched", epsilon_above=1e300) == ["second"]
    assert run_of(two[1], client).data.tags["epsilon.total"] == "infinite"
    assert "delta.total" not in run_of(two[1], client).data.metrics


def test_names_with_quotation_marks_are_searched_for_as_they_are(client: MlflowClient) -> None:
    assert 'tags.approved_by = "O\'Hara"' in release_filter(approved_by="O'Hara")
    assert found_by(client, approved_by="O'Hara' or tags.release = 'first") == []
    with pytest.raises(InvalidInput, match="quotation marks"):
        release_filter(approved_by='O\'Hara "the boss"')


@pytest.mark.parametrize(("epsilon", "written"), [(1e-7, "0.0000001"), (100.0, "100"), (1e20, "1" + 20 * "0")])
def test_costs_are_searched_for_without_exponents(epsilon: float, written: str) -> None:
    assert release_filter(epsilon_above=epsilon).endswith(f"> {written}")


@pytest.mark.parametrize("epsilon", [-1, float("inf"), float("nan")])
def test_what_is_no_cost_is_not_searched_for(epsilon: float) -> None:
    with pytest.raises(InvalidInput, match="an epsilon in a search must be"):
        release_filter(epsilon_above=epsilon)


def test_who_approved_a_release_is_written_on_its_page_and_found(tmp_path: Path, client: MlflowClient) -> None:
    drawn = published(tmp_path, "approved", "approving", **GUARANTEES["seedless"])
    signed = read_signed(drawn.workspace.release_folder / RECORD)
    approval = Approval(
        decision="approved",
        by="ines of the page",
        identity="account",
        time="2026-11-20T08:00:00Z",
        reason="as the board asked",
        seen="0" * 64,
    )
    approved = signed.record.model_copy(update={"people": People(started_by="ada", approval=approval)})
    version = register_model(drawn.workspace, approved, signed.digest)
    complete_page(drawn.workspace, approved, version, sealing=drawn.workspace.mlflow_run_id)
    assert found_by(client, approved_by="ines of the page") == ["approved"]
    assert (
        "ines of the page, 2026-11-20T08:00:00Z: as the board asked"
        in run_of(drawn, client).data.tags["mlflow.note.content"]
    )


def test_a_release_is_tagged_with_what_tells_it_from_all_others(two: tuple[Drawn, Drawn], client: MlflowClient) -> None:
    for drawn, previous in zip(two, ["none", "first"], strict=True):
        workspace, tags = drawn.workspace, run_of(drawn, client).data.tags
        record = read_signed(workspace.release_folder / RECORD).record
        said = {
            "release": workspace.release_id,
            "dataset": "searched",
            "guarantee": "tested_seeds",
            "previous": previous,
            "published": record.signed.time,
            "started_by": record.people.started_by,
            "approved_by": "nobody",
            "spec.digest": record.spec.digest,
            "data.commitment": record.input.commitment,
            "key.commitment": workspace.key().commitment(),
            "table.digest": sha256((workspace.release_folder / "synthetic.parquet").read_bytes()).hexdigest(),
            "code.package": record.code.package,
            "code.commit": record.code.commit or "unknown",
        }
        assert {name: tags[name] for name in said} == said


def test_every_total_is_one_figure_without_a_step(two: tuple[Drawn, Drawn], client: MlflowClient) -> None:
    two[0].seal()  # once more
    for name in ("epsilon.total", "delta.total", "epsilon.model", "epsilon.record", "published.day"):
        history = client.get_metric_history(two[0].workspace.mlflow_run_id, name)
        assert {(entry.step, entry.value) for entry in history} == {(0, history[0].value)}


def test_steps_are_numbered_in_the_order_in_which_they_began(made: Drawn, client: MlflowClient) -> None:
    names = [run.info.run_name or "" for run in steps_of(made, client)]
    assert names == sorted(names)
    assert names[0] == "01 account"


def test_numbers_of_steps_have_no_gap_whatever_is_released(made: Drawn) -> None:
    spec = made.workspace.spec
    taken = list(flow_steps(spec))
    assert {*spec.learner.steps, *spec.synthesis.steps} <= set(taken)
    titles = [step_title(spec, step) for step in taken]
    assert titles == [f"{number:02d} {step}" for number, step in enumerate(taken, start=1)]


def test_what_a_step_reads_is_what_an_earlier_one_made_digest_by_digest(made: Drawn, client: MlflowClient) -> None:
    there: set[tuple[str, str]] = set()
    read = 0
    for run in steps_of(made, client):
        for item in datasets_of(run, "input"):
            assert (item.name, item.digest) in there, (run.info.run_name, item.name)
            read += 1
        there |= {(item.name, item.digest) for item in datasets_of(run, "output")}
    assert read > 15
    ends = run_of(made, client)
    assert [item.name for item in datasets_of(ends, "input")] == ["snapshot"]
    assert [item.name for item in datasets_of(ends, "output")] == ["synthetic"]
    assert {(item.name, item.digest) for role in ("input", "output") for item in datasets_of(ends, role)} <= there
    assert ends.data.tags["data.commitment"].startswith(datasets_of(ends, "input")[0].digest)
    assert ends.data.tags["table.digest"].startswith(datasets_of(ends, "output")[0].digest)


def test_what_is_public_has_a_plain_digest_and_what_is_not_shows_neither_rows_nor_columns(
    made: Drawn, client: MlflowClient
) -> None:
    folder = made.workspace.release_folder
    plain = {sha256(path.read_bytes()).hexdigest()[:36] for path in folder.iterdir()}
    everything = {
        (item.name, item.digest): item
        for run in steps_of(made, client)
        for role in ("input", "output")
        for item in datasets_of(run, role)
    }
    for item in everything.values():
        audience, profile = json.loads(item.source), json.loads(item.profile)
        assert item.source_type == f"deniable-{audience['audience']}"
        assert set(audience) == {"audience"}
        assert set(profile) == {"audience", "digest"}
        assert all(len(value) <= 80 for value in profile.values())  # the pages show no more
        public = audience["audience"] == Audience.PUBLIC
        assert (item.digest in plain) == public, item.name
        assert ("release key" in profile["digest"]) != public
        columns = [column["name"] for column in json.loads(item.schema)["mlflow_colspec"]] if item.schema else []
        assert columns == (list(made.workspace.spec.domain.names) if item.name == "synthetic" else [])


def test_every_step_that_reads_the_model_says_which_one(made: Drawn, client: MlflowClient) -> None:
    [output] = run_of(made, client).outputs.model_outputs
    for run in steps_of(made, client):
        reads = any(item.name == "model" for item in datasets_of(run, "input"))
        assert [item.model_id for item in run.inputs.model_inputs] == ([output.model_id] if reads else [])


def links_in(text: str) -> list[str]:
    return LINK.findall(text)


def test_every_link_of_a_release_leads_somewhere(two: tuple[Drawn, Drawn], client: MlflowClient) -> None:
    run = run_of(two[1], client)
    links = links_in(run.data.tags["mlflow.note.content"])
    assert len(links) > 20
    for link in links:
        path, _, query = link.removeprefix("#/").partition("?")
        assert query.endswith(TRAINING_PAGES)
        match path.split("/"):
            case ["experiments", number, "runs"]:
                view = parse_qs(query)["viewStateShareKey"][0]
                assert f"mlflow.sharedViewState.{view}" in client.get_experiment(number).tags
            case ["experiments", number, "runs", run_id]:
                assert client.get_run(run_id).info.experiment_id == number
            case ["experiments", _, "runs", run_id, "artifacts", *place]:
                name = "/".join(place)
                listed = [item.path for item in client.list_artifacts(run_id, place[0])]
                assert name in listed or name == "internal/report.html"  # which nobody wrote here
            case ["models", name, "versions", number]:
                assert client.get_model_version(name, number).tags["release"] == "second"
            case _:
                pytest.fail(f"leads nowhere: {link}")
    assert f"/runs/{two[0].workspace.mlflow_run_id}?" in run.data.tags["mlflow.note.content"]


def test_the_readable_record_says_what_the_signed_one_says(two: tuple[Drawn, Drawn], client: MlflowClient) -> None:
    for drawn in two:
        path = Path(client.download_artifacts(drawn.workspace.mlflow_run_id, READABLE_RECORD))
        signed = read_signed(drawn.workspace.release_folder / RECORD)
        assert json.loads(path.read_text()) == json.loads(signed.payload)["predicate"]


def test_the_page_of_a_dataset_says_how_to_search_and_links_to_such_a_search(
    two: tuple[Drawn, Drawn], client: MlflowClient
) -> None:
    experiment = client.get_experiment_by_name("searched")
    said = experiment.tags["mlflow.note.content"]
    asked: dict[str, Any] = {"since": date(2026, 1, 1), "epsilon_above": 1, "approved_by": "nobody"}
    example = release_filter(dataset="searched", **asked)
    assert f"\n{example}\n" in said
    assert found_by(client, dataset="searched", **asked) == ["first", "second"]
    page = search_page([experiment.experiment_id], example)
    assert f"({page})" in said
    assert parse_qs(unquote(page).partition("?")[2])["searchFilter"] == [example]
    assert "models:/searched@current" in said


def test_pages_of_several_datasets_are_searched_at_once() -> None:
    query = parse_qs(search_page(["1", "7"], "metrics.published.day > 0").partition("?")[2])
    assert query["experiments"] == ['["1","7"]']
    assert query["searchFilter"] == ["metrics.published.day > 0"]


def test_the_experiment_that_mlflow_begins_with_is_not_shown(made: Drawn, client: MlflowClient) -> None:
    assert "Default" not in {experiment.name for experiment in client.search_experiments()}


def test_a_release_that_is_not_in_the_registry_has_no_version(client: MlflowClient) -> None:
    assert version_of(client, "searched", "no-such-release") is None


def find(*arguments: str, state: Path) -> int:
    return carry_out("release find", arguments, state)


def test_the_command_find_prints_its_filter_and_what_it_finds_and_where_that_is_shown(
    two: tuple[Drawn, Drawn], client: MlflowClient, state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["--dataset", "searched", "--since", "2026-01-01", "--epsilon-above", "0.5", "--approved-by", "nobody"]
    keys = str(trusted_keys_place(two[0].workspace.state))
    assert find(*asked, "--keys", keys, state=state) == 0
    printed = capsys.readouterr().out
    expected = release_filter(dataset="searched", since=date(2026, 1, 1), epsilon_above=0.5, approved_by="nobody")
    assert printed.startswith(f"{expected}\n")
    assert printed.index("second ") < printed.index("first ")
    total = two[0].accounts.total
    assert total is not None
    assert f"epsilon {rounded_up(total.epsilon)}" in printed
    assert "epsilon infinite" in printed
    experiment = run_of(two[0], client).info.experiment_id
    for page in (
        search_page([experiment], expected),
        *(run_page(experiment, made.workspace.mlflow_run_id) for made in two),
    ):
        assert f"http://127.0.0.1:5000/{page}\n" in printed


def test_the_command_find_says_so_where_there_is_none(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert find("--dataset", "nobody-knows-it", state=state) == 0
    assert "No published release" in capsys.readouterr().out


def test_the_command_find_refuses_what_is_no_day(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        find("--since", "yesterday", state=state)
    assert "a day must be written like" in capsys.readouterr().err
