"""The page of a dataset in MLflow, an experiment: a description, example queries, and the list of releases.

What a release writes into the experiment does not belong here.
"""

import json
from datetime import date

from mlflow import MlflowClient
from mlflow.entities import ViewType

from deniable.evaluation.registry import listed_figures
from schemas.spec.release_spec import ReleaseSpec
from stores.servers.ui_links import (
    RELEASES_VIEW,
    mlflow_pages,
    registered_model_page,
    registered_name,
    releases_page,
    search_page,
)
from stores.tracking.release_search import NOBODY, release_filter

DESCRIPTION = "mlflow.note.content"
_DEFAULT = "Default"
_NAME_WIDTH, _WIDTH = 260, 115

# Columns of the view after a run's name and start time, in this order: people, costs, quality.
_SHOWN = (
    "tags.`approved_by`",
    "tags.`started_by`",
    "tags.`guarantee`",
    "metrics.`epsilon.total`",
    "metrics.`delta.total`",
    "metrics.`epsilon`",
    "metrics.`epsilon.model`",
    "metrics.`epsilon.record`",
    "metrics.`public/records`",
    "metrics.`internal/thresholds_missed`",
    *(f"metrics.`{figure.audience}/{figure.name}`" for figure in listed_figures()),
)
_FIRST = ("attributes.`Run Name`", "runDateAndNestInfo", "duration")


def experiment_of(client: MlflowClient, spec: ReleaseSpec, artifacts: str | None) -> str:
    """The experiment of a dataset, created when its first release starts; its page is brought up to date.

    Args:
        client: MLflow.
        spec: the specification of a release of the dataset.
        artifacts: location of MLflow's files; None if its server decides.

    Returns:
        The experiment's id.
    """
    name = spec.dataset_name
    found = client.get_experiment_by_name(name)
    if found is None:
        number = client.create_experiment(name, artifact_location=artifacts)
        if artifacts is not None:
            _forget_the_empty_one(client)
    else:
        number = found.experiment_id
    said = {
        DESCRIPTION: _description(number, spec),
        f"mlflow.sharedViewState.{RELEASES_VIEW}": json.dumps(releases_view()),
    }
    before = found.tags if found is not None else {}
    for key, value in said.items():
        if before.get(key) != value:
            client.set_experiment_tag(number, key, value)
    return number


def releases_view() -> dict[str, object]:
    """The list of runs: columns with their order and widths, in the format of MLflow's pages."""
    columns = [*_FIRST, *_SHOWN]
    widths = dict.fromkeys(_SHOWN, _WIDTH) | {_FIRST[0]: _NAME_WIDTH}
    return {"selectedColumns": list(_SHOWN), "columnOrder": columns, "columnWidths": widths}


def _description(number: str, spec: ReleaseSpec) -> str:
    """The text of the dataset's page, in Markdown."""
    schema = spec.schema
    example = release_filter(dataset=spec.dataset_name, since=date(2026, 1, 1), epsilon_above=1, approved_by=NOBODY)
    from stores.statement.statement import TEMPLATES  # noqa: PLC0415 - imports privacy accounting

    return TEMPLATES.get_template("EXPERIMENT.md.jinja").render(
        dataset=spec.dataset_name,
        about=" ".join((schema.description or "").split()),
        attributes=list(schema.columns),
        pages=mlflow_pages(),
        releases=releases_page(number),
        models=registered_model_page(spec.dataset_name),
        model=registered_name(spec.dataset_name),
        example=example,
        example_page=search_page([number], example),
    )


def _forget_the_empty_one(client: MlflowClient) -> None:
    """Delete the default experiment of a new MLflow store, if it has never been used."""
    empty = client.search_experiments(filter_string=f"name = '{_DEFAULT}'")
    for number in (experiment.experiment_id for experiment in empty):
        if not client.search_runs([number], run_view_type=ViewType.ALL, max_results=1):
            client.delete_experiment(number)
