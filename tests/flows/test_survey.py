"""A survey is published as its users do it: respondents answer, the collector publishes, anyone verifies."""

import json
from pathlib import Path

import mlflow
import pytest

from deniable.cli.dispatch import main
from deniable.cli.files import HOLDS
from deniable.foundation.errors import Refused
from flows.survey import survey
from stores.keys.trust_file import trusted_keys_place
from stores.surveys.survey_run import EXPERIMENT
from stores.tracking.client import client_of, tracking_uri
from tests.unit.test_local import ANSWERS, DOCUMENT


@pytest.mark.usefixtures("prefect")
def test_answers_become_responses_estimates_and_a_record_that_verifies(
    state: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document, answers = tmp_path / "survey.json", tmp_path / "answers.json"
    document.write_text(json.dumps({**DOCUMENT, "survey": "flow"}), encoding="utf-8")
    answers.write_text(json.dumps(ANSWERS), encoding="utf-8")
    responses = tmp_path / "responses.jsonl"
    for number in (1, 2, 2, 3):
        words = ["--key", str(tmp_path / f"key{number}"), "--answers", str(answers), "--out", str(responses)]
        assert main(["data", "respond", str(document), *words]) == HOLDS
    published = survey(document, responses, state)
    assert (published.respondents, published.repeated, published.unreadable) == (3, 1, 0)
    capsys.readouterr()
    assert main(["audit", "verify", str(published.folder), "--keys", str(trusted_keys_place(state))]) == HOLDS
    assert "flow holds: 4 checks" in capsys.readouterr().out
    assert main(["audit", "summary", str(published.folder), "--keys", str(trusted_keys_place(state))]) == HOLDS
    assert "respondents 3" in capsys.readouterr().out

    client = client_of(tracking_uri(state))
    experiment = client.get_experiment_by_name(EXPERIMENT)
    assert experiment is not None
    assert experiment.artifact_location == str(state / "mlflow" / "artifacts" / EXPERIMENT)
    (run,) = [each for each in client.search_runs([experiment.experiment_id]) if each.info.run_name == "flow"]
    assert run.info.status == "FINISHED"
    assert run.data.metrics["respondents"] == 3
    kept = {
        item.path for item in mlflow.artifacts.list_artifacts(run_id=run.info.run_id, tracking_uri=tracking_uri(state))
    }
    assert {"responses.csv", "estimates.csv", "PRIVACY.md", "survey.json"} <= kept
    with pytest.raises(Refused, match="published once"):
        survey(document, responses, state)
