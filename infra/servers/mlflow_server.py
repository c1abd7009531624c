"""Serves MLflow's pages on a socket until standard input ends.

Usage: `python -m infra.servers.mlflow_server ARTIFACTS SOCKET`.

The pages are read-only for anyone with the password: only routes that read are let through (mlflow_rights).
"""

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from infra.garbage import collect_rarely
from infra.servers.local_servers import CREDENTIALS_VARIABLE
from infra.servers.mlflow_rights import RightsDoor
from infra.servers.serving import end_when_abandoned, serve

# Settings that MLflow keeps in a browser; its defaults begin with language models, its assistant, telemetry and #
# announcements.
_BEGINNING = {
    "mlflow.workflowType_v1": "machine_learning",
    "_mlflow_model_registry_promo_modal_dismissed_v1": True,
    "mlflow.assistant.fab.autoOpenedOnFirstLoad_v1": True,
    "mlflow.settings.telemetry.enabled_v1": False,
    "mlflow.telemetry.info.alert.dismissed_v1": True,
}
_PREPARATION = """<style>[data-assistant-ui] {{ display: none !important }}</style>
<script>
const beginning = {beginning}, listed = {listed}, kept = Storage.prototype.getItem;
Storage.prototype.getItem = function (key) {{
  const list = /-ExperimentPage-.*-ReactComponentState$/.test(key) ? listed : undefined;
  const begun = Object.hasOwn(beginning, key) ? beginning[key] : list;
  return kept.call(this, key) ?? (begun === undefined ? null : JSON.stringify(begun));
}};
localStorage.removeItem("mlflow.assistant.panelOpen_v1");
if (["", "#/"].includes(location.hash)) location.hash = "#/experiments";
</script>
<script"""


def front_page(page: str, view: Mapping[str, object]) -> str:
    """Return MLflow's front page, with which every page begins, adapted for readers of releases.

    Args:
        page: the front page.
        view: the columns of lists of runs, unless the browser has stored others.
    """
    preparation = _PREPARATION.format(beginning=json.dumps(_BEGINNING), listed=json.dumps(view))
    return page.replace("<script", preparation, 1)


def prepare_front_page(pages: Any) -> None:
    """Set defaults of MLflow's pages for readers of releases, for browsers that have stored no others.

    Args:
        pages: MLflow's Flask application.
    """
    from stores.tracking.experiment_page import releases_view  # noqa: PLC0415 - it takes seconds, and reads the environment

    front = (Path(str(pages.static_folder)) / "index.html").read_text(encoding="utf-8")
    text = front_page(front, releases_view())
    pages.view_functions["serve"] = lambda: text


def _serve(descriptor: int, store: str, artifacts: str) -> None:
    from mlflow.server import app as pages  # noqa: PLC0415 - it takes seconds, and reads the environment
    from mlflow.server.constants import ARTIFACT_ROOT_ENV_VAR, BACKEND_STORE_URI_ENV_VAR  # noqa: PLC0415
    from mlflow.server.fastapi_app import create_fastapi_app  # noqa: PLC0415

    os.environ |= {BACKEND_STORE_URI_ENV_VAR: store, ARTIFACT_ROOT_ENV_VAR: artifacts}
    prepare_front_page(pages)
    server = create_fastapi_app(pages)
    server.add_middleware(RightsDoor)
    serve(server, descriptor, credentials=os.environ[CREDENTIALS_VARIABLE], log_level="warning")


if __name__ == "__main__":
    collect_rarely()
    end_when_abandoned()
    _serve(int(sys.argv[2]), os.environ["MLFLOW_TRACKING_URI"], sys.argv[1])
