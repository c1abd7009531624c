"""Links between the runs of Prefect and those of MLflow, each of which shows the other."""

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

_FLOW_RUN, TASK_RUN = "prefect.flow_run_id", "prefect.task_run_id"
_ABOUT_A_RELEASE = "What it cost, how good it is, its files."


def prefect_tags() -> dict[str, str]:
    """Ids of the Prefect runs that this happens in."""
    from prefect import runtime  # noqa: PLC0415 - who looks at MLflow alone does without Prefect, which takes a second

    tags = {_FLOW_RUN: runtime.flow_run.id, TASK_RUN: runtime.task_run.id}
    return {name: str(value) for name, value in tags.items() if value}


def link_from_prefect(state: Path, release_id: str, run: Run) -> None:
    """Leave a link to the MLflow run with the Prefect run that this happens in; one in scratch will be gone."""
    name = str(run.info.run_name)
    if prefect_tags() and not is_scratch(state):
        from prefect.artifacts import create_link_artifact  # noqa: PLC0415 - as in prefect_tags

        page = f"{mlflow_pages()}/{run_page(run.info.experiment_id, run.info.run_id)}"
        link, what, about = f"{name} in MLflow ({mlflow_shown_when()})", "release", _ABOUT_A_RELEASE
        if name != release_id:
            what = name.lstrip("0123456789 ")
            about = f"What the step {what} of {release_id} read, made and spent."
        key = artifact_name(what, "in MLflow")
        asking_prefect(lambda: create_link_artifact(page, link, key=key, description=about))


def prefect_link() -> str:
    """A link to the Prefect run that this happens in, in Markdown."""
    flow_run = prefect_tags().get(_FLOW_RUN)
    if not flow_run:
        return ""
    return f"[How it ran, step by step]({flow_run_page(flow_run)}) ({prefect_shown_when()})."
