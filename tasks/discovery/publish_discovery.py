"""Publish the answers of a discovery: sign the record, move the folder into place, and show both in MLflow."""

from pathlib import Path

from schemas.references import Audience
from stores.keys.signing_keys import signing_key
from stores.releases.discoveries import publish_discovery_folder, released_answers
from stores.releases.discovery_run import complete_discovery
from stores.tracking.step_run import recorded_step
from stores.vault.workspace import Workspace
from tasks.discovery.answer_questions import Answered
from tasks.running.step import as_task


def publish_discovery(workspace: Workspace, answered: Answered) -> Path:
    """Publish the answers with a signed record, unless an earlier run did so, and complete the run in MLflow.

    Args:
        workspace: the discovery.
        answered: the answers to release.

    Returns:
        The public folder.
    """
    with recorded_step(workspace, "publish_discovery") as step:
        folder = publish_discovery_folder(workspace, answered.content, answered.entry, signing_key(workspace.state))
        for file in sorted(folder.iterdir()):
            step.artifact(file, Audience.PUBLIC)
        complete_discovery(workspace, folder, released_answers(workspace.state, workspace.release_id))
    return folder


publish_discovery_task = as_task(publish_discovery, kept=False)
