"""Where a report leads: to the public folder, the records, MLflow, Prefect, and the release before.

Places beside the report are relative to it, so that they hold wherever the state folder lies.
"""

from dataclasses import dataclass

from prefect import runtime

from schemas.provenance import RECORD
from stores.keys.signed_record import read_signed
from stores.servers.ui_links import flow_run_page, mlflow_pages, mlflow_shown_when, prefect_shown_when, run_page
from stores.tracking.client import recording
from stores.vault.workspace import Workspace

_REPORT = "report.html"


@dataclass(frozen=True)
class Link:
    """Something that a report leads to.

    Attributes:
        title: what it is.
        address: where it is.
        said: what must be known of it; may be empty.
    """

    title: str
    address: str
    said: str = ""


def links_of(workspace: Workspace) -> tuple[Link, ...]:
    """Where the report of a release leads; before its publication, to its runs alone.

    Args:
        workspace: the release.
    """
    return (*_published(workspace), *_runs(workspace))


def _published(workspace: Workspace) -> list[Link]:
    """What lies in the state folder, once the release is public."""
    if not (workspace.release_folder / RECORD).is_file():
        return []
    folder = f"../../releases/{workspace.release_id}"
    links = [
        Link("Public folder", f"{folder}/index.html", f"releases/{workspace.release_id} in the state folder"),
        Link("Public record", f"{folder}/{RECORD}", "signed"),
        Link("Internal record", RECORD, "signed, beside this page"),
    ]
    previous = read_signed(workspace.release_folder / RECORD).record.release.previous
    if previous is not None:
        links.append(Link("Previous release", f"../../releases/{previous}/index.html", previous))
        if (workspace.state / "shelf" / previous / _REPORT).is_file():
            links.append(Link("Its report", f"../{previous}/{_REPORT}", "internal"))
    return links


def _runs(workspace: Workspace) -> list[Link]:
    """Its runs in MLflow and in Prefect."""
    with recording(workspace.state) as client:
        experiment = client.get_run(workspace.mlflow_run_id).info.experiment_id
    page = f"{mlflow_pages()}/{run_page(experiment, workspace.mlflow_run_id)}"
    links = [Link("MLflow", page, f"there {mlflow_shown_when()}")]
    if runtime.flow_run.id:
        links.append(Link("Prefect", flow_run_page(str(runtime.flow_run.id)), f"there {prefect_shown_when()}"))
    return links
