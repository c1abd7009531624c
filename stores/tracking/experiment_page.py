"""The page of a dataset in MLflow, an experiment: what the dataset is, how releases are found, and how they are listed.

What a release writes into it does not belong here.
"""

import json
from datetime import date

from mlflow import MlflowClient
from mlflow.entities import ViewType

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

# What the view shows beside a run's name and when it began, in this order: by whom, at what cost, how good.
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
    "metrics.`internal/tvd_2way`",
    "metrics.`internal/distinguished`",
    "metrics.`internal/exact_match_excess`",
    "metrics.`internal/inferred_excess_worst`",
)
_FIRST = ("attributes.`Run Name`", "runDateAndNestInfo", "duration")


def experiment_of(client: MlflowClient, spec: ReleaseSpec, artifacts: str | None) -> str:
    """The experiment of a dataset, made when its first release begins; its page says what is true by now.

    Args:
        client: MLflow.
        spec: what is to be released of the dataset.
        artifacts: where MLflow is to keep its files; None where its server decides.

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
    """What the runs are listed with: columns, their order and their widths, as MLflow's pages keep them."""
    columns = [*_FIRST, *_SHOWN]
    widths = dict.fromkeys(_SHOWN, _WIDTH) | {_FIRST[0]: _NAME_WIDTH}
    return {"selectedColumns": list(_SHOWN), "columnOrder": columns, "columnWidths": widths}


def _description(number: str, spec: ReleaseSpec) -> str:
    """What the page says of the dataset, in Markdown."""
    schema = spec.schema
    example = release_filter(dataset=spec.dataset_name, since=date(2026, 1, 1), epsilon_above=1, approved_by=NOBODY)
    from stores.statement.statement import TEMPLATES  # noqa: PLC0415 - imports what costs are worked out with

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
    """Delete the experiment that MLflow begins a store of its own with, if nothing was ever put there."""
    empty = client.search_experiments(filter_string=f"name = '{_DEFAULT}'")
    for number in (experiment.experiment_id for experiment in empty):
        if not client.search_runs([number], run_view_type=ViewType.ALL, max_results=1):
            client.delete_experiment(number)
