"""The links of a report: to the public folder, the records, MLflow, Prefect, and the previous release.

Links to files near the report are relative, so they work wherever the state folder is.
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
    """A link of a report.

    Attributes:
        title: its title.
        address: its target.
        said: a remark on the target; may be empty.
    """

    title: str
    address: str
    said: str = ""


def links_of(workspace: Workspace) -> tuple[Link, ...]:
    """The links of a release's report; before publication, only those to its runs.

    Args:
        workspace: the release.
    """
    return (*_published(workspace), *_runs(workspace))


def _published(workspace: Workspace) -> list[Link]:
    """Links into the state folder, once the release is public."""
    if not (workspace.release_folder / RECORD).is_file():
        return []
    folder = f"../../releases/{workspace.release_id}"
    links = [
        Link("Public folder", f"{folder}/index.html", f"releases/{workspace.release_id} in the state folder"),
        Link("Public record", f"{folder}/{RECORD}", "signed"),
        Link("Internal record", RECORD, "signed, next to this page"),
    ]
    previous = read_signed(workspace.release_folder / RECORD).record.release.previous
    if previous is not None:
        links.append(Link("Previous release", f"../../releases/{previous}/index.html", previous))
        if (workspace.state / "shelf" / previous / _REPORT).is_file():
            links.append(Link("Its report", f"../{previous}/{_REPORT}", "internal"))
    return links


def _runs(workspace: Workspace) -> list[Link]:
    """Links to its runs in MLflow and in Prefect."""
    with recording(workspace.state) as client:
        experiment = client.get_run(workspace.mlflow_run_id).info.experiment_id
    page = f"{mlflow_pages()}/{run_page(experiment, workspace.mlflow_run_id)}"
    links = [Link("MLflow", page, f"there {mlflow_shown_when()}")]
    if runtime.flow_run.id:
        links.append(Link("Prefect", flow_run_page(str(runtime.flow_run.id)), f"there {prefect_shown_when()}"))
    return links
