"""Every text of a release about its guarantee, and the words of neighbouring relations that are not its own."""

import json
import re
from collections.abc import Iterator, Mapping
from io import StringIO
from unittest.mock import patch

from mlflow import MlflowClient
from rich.console import Console

from deniable.privacy.neighbours import ANSWERS, NOTHING_HIDDEN, ORIGIN, RECORD, Relation, of_people
from flows.cli import planning
from reports.pages.report import ReportContent, render_report
from reports.plots.record_flow_diagram import RecordFlow, Stage
from schemas.spec.evaluation import EvaluationFigures
from stores.statement.statement import statement_in_short
from stores.tracking.experiment_page import DESCRIPTION
from tests.html_page import Page
from tests.isolation import own_state
from tests.mlflow_copies import mlflow_uri
from tests.whole_release import Drawn

PERSON = of_people(RECORD, {"column": "patient", "most_records": 3})
RELATIONS = {relation.kind: relation for relation in (RECORD, PERSON, ORIGIN, ANSWERS, NOTHING_HIDDEN)}
_MEASURED_NOTHING = EvaluationFigures(figures={}, verdicts=(), series={})

# What a sentence about each relation looks like, whoever wrote it: not only the sentences of the Relation itself.
_PRESENCE = r"(whether|that|if) (a|any|one|this|that|the)( given| particular)? {one} (was|were|is|are) in the"
TURNS: Mapping[str, tuple[str, ...]] = {
    "record": (
        _PRESENCE.format(one="record"),
        r"one record (is )?(added|removed)",
        r"privacy unit( is)?:? one record",
        r"stated for each record",
        r"people with several records\. with r records",
    ),
    "person": (
        _PRESENCE.format(one="(person|patient)"),
        r"all records of one person",
        r"privacy unit( is)?:? one person",
        r"stated for each person",
    ),
    "origin": (
        r"which of two( given)? origins",
        r"origin (is )?replaced",
        r"privacy unit( is)?:? the origin",
        r"stated for the origin",
        r"presence\. the number of workers",
    ),
    "answers": (
        r"sets of answers",
        r"stated for each respondent",
        r"privacy unit( is)?:? one respondent",
        r"participation\. that someone",
    ),
    "none": (r"(?<!next to )nothing is guaranteed", r"no privacy unit", r"privacy unit( is)?:? none"),
}


def texts_of(drawn: Drawn, files: Mapping[str, bytes]) -> Iterator[tuple[str, str]]:
    """Yield the name and the words of each text about a published release's guarantee.

    Args:
        drawn: the release.
        files: its public folder.
    """
    workspace, accounts = drawn.workspace, drawn.accounts
    spec = workspace.spec
    for name in ("PRIVACY.md", "README.md"):
        yield name, files[name].decode()
    said = json.loads(files["privacy.json"])
    yield "privacy.json", "\n".join(_sentences(said)) + f"\nprivacy unit: {said['privacy_unit']}"
    yield "index.html", Page(files["index.html"].decode()).words
    yield "report", Page(render_report(report_content(drawn))).words
    yield "in short", statement_in_short(accounts)
    shown = StringIO()
    with patch.object(planning, "Console", lambda **_: Console(file=shown, width=10_000, highlight=False)):
        planning.show_plan(spec, workspace.state)
    yield "plan", shown.getvalue()
    yield from _texts_in_mlflow(workspace.mlflow_run_id)


def report_content(drawn: Drawn) -> ReportContent:
    """Return the content of an internal report without figures, which are not about the guarantee."""
    spec = drawn.workspace.spec
    return ReportContent(
        release_id=drawn.workspace.release_id,
        spec=spec,
        accounts=drawn.accounts,
        flow=RecordFlow(
            stages=(Stage("in the source", 100), Stage("valid", 90, "invalid")),
            parts=dict.fromkeys(spec.split.probabilities, 20),
            candidates=100,
            passed=50,
            released=50,
        ),
        weights={},
        utility=_MEASURED_NOTHING,
        risk=_MEASURED_NOTHING,
        spending=None,
    )


def _texts_in_mlflow(run_id: str) -> Iterator[tuple[str, str]]:
    """Yield the description of the model, and the tags and parameters of the runs of a release and its steps."""
    client = MlflowClient(mlflow_uri(own_state()))
    run = client.get_run(run_id)
    for output in (run.outputs.model_outputs if run.outputs else ()) or ():
        yield "MLflow's model", client.get_logged_model(output.model_id).tags[DESCRIPTION]
    steps = client.search_runs([run.info.experiment_id], f"tags.`mlflow.parentRunId` = '{run_id}'")
    said = [str(value) for each in (run, *steps) for value in (*each.data.tags.values(), *each.data.params.values())]
    yield "MLflow's runs", "\n".join(said)


def _sentences(value: object) -> Iterator[str]:
    """Yield all texts in a JSON document."""
    if isinstance(value, str):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _sentences(inner)


def words_of_others(relation: Relation, text: str) -> list[str]:
    """Return what a text says that only a release of another relation may say."""
    words = " ".join(text.split())
    for own in sorted(sentences_of(relation), key=len, reverse=True):
        words = words.replace(own, " ")
    found = []
    for kind, other in RELATIONS.items():
        if kind != relation.kind:
            found += [sentence for sentence in sentences_of(other) if len(sentence) > 20 and sentence in words]
            found += [f"{kind}: {turn}" for turn in TURNS[kind] if re.search(turn, words, re.IGNORECASE)]
    return found


def sentences_of(relation: Relation) -> set[str]:
    """Return everything that a relation has in words."""
    named = ("unit", "neighbouring", "changed", "hidden", "guessed", "holds", "even_odds")
    said = {getattr(relation, name) for name in named} | set(relation.not_covered)
    return {" ".join(each.split()) for each in said if each} - {"even odds"}
