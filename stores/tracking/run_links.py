"""Links between the runs of Prefect and of MLflow, in both directions."""

from pathlib import Path

from mlflow.entities import Run

from stores.servers.prefect_failures import asking_prefect
from stores.servers.ui_links import (
    artifact_name,
    flow_run_page,
    mlflow_pages,
    mlflow_shown_when,
    prefect_shown_when,
    run_page,
)
from stores.vault.scratch import is_scratch

FLOW_RUN, TASK_RUN = "prefect.flow_run_id", "prefect.task_run_id"
"""Tags of MLflow's runs: the runs of Prefect that they belong to."""

_ABOUT_A_RELEASE = "Its privacy costs, its quality and its files."


def prefect_tags() -> dict[str, str]:
    """Ids of the current Prefect runs."""
    from prefect import runtime  # noqa: PLC0415 - Prefect takes a second to import

    tags = {FLOW_RUN: runtime.flow_run.id, TASK_RUN: runtime.task_run.id}
    return {name: str(value) for name, value in tags.items() if value}


def link_from_prefect(state: Path, release_id: str, run: Run) -> None:
    """Attach a link to the MLflow run to the current Prefect run; runs in scratch are temporary and get none."""
    name = str(run.info.run_name)
    if prefect_tags() and not is_scratch(state):
        from prefect.artifacts import create_link_artifact  # noqa: PLC0415 - as in prefect_tags

        page = f"{mlflow_pages()}/{run_page(run.info.experiment_id, run.info.run_id)}"
        link, what, about = f"{name} in MLflow ({mlflow_shown_when()})", "release", _ABOUT_A_RELEASE
        if name != release_id:
            what = name.lstrip("0123456789 ")
            about = f"Inputs, outputs and privacy cost of the step {what} of {release_id}."
        key = artifact_name(what, "in MLflow")
        asking_prefect(lambda: create_link_artifact(page, link, key=key, description=about))


def prefect_link() -> str:
    """A link to the current Prefect run, in Markdown."""
    flow_run = prefect_tags().get(FLOW_RUN)
    if not flow_run:
        return ""
    return f"[How it ran, step by step]({flow_run_page(flow_run)}) ({prefect_shown_when()})."
