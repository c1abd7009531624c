"""Serves MLflow with users: `python -m infra.stack.mlflow_server ARTIFACTS WHERE`.

WHERE is the descriptor of a listening socket, or in a container HOST:PORT.

Each user may use the routes that are named for them, and no others (infra.servers.mlflow_rights). The parts of MLflow
that run programs or contact other servers for its users are closed to everyone: its assistant, which runs programs on
this machine for any user, its gateway and its jobs.
"""

import os
import sys
from typing import TYPE_CHECKING, Any

from infra.garbage import collect_rarely
from infra.servers.mlflow_rights import Right, RightsDoor, writers
from infra.servers.mlflow_server import prepare_front_page
from infra.servers.serving import descriptor_of, known_names, serve
from stores.tracking.run_index import RUN_INDEX, index_of

if TYPE_CHECKING:
    from fastapi import FastAPI


def _run_index() -> dict[str, Any]:
    """Return an index of a run's contents, which an auditor would otherwise collect in hundreds of requests."""
    from flask import request  # noqa: PLC0415 - MLflow's own, imported only in its server

    return index_of(os.environ["MLFLOW_BACKEND_STORE_URI"], request.args["run_id"]).to_json()


def application(artifacts: str) -> "FastAPI":
    """Return MLflow with its users, behind the door that knows their rights.

    Args:
        artifacts: place of all artifacts.
    """
    from mlflow.server import constants  # noqa: PLC0415 - it takes seconds, and reads the environment

    os.environ |= {
        "_MLFLOW_SGI_NAME": "uvicorn",
        "MLFLOW_SERVER_ALLOWED_HOSTS": ",".join(f"{name},{name}:*" for name in known_names()),
        constants.BACKEND_STORE_URI_ENV_VAR: os.environ["MLFLOW_BACKEND_STORE_URI"],
        constants.SERVE_ARTIFACTS_ENV_VAR: "true",
        constants.ARTIFACTS_DESTINATION_ENV_VAR: artifacts,
        constants.ARTIFACT_ROOT_ENV_VAR: "mlflow-artifacts:/",
    }
    from mlflow.server import app, auth  # noqa: PLC0415 - as above

    prepare_front_page(app)
    app.add_url_rule(RUN_INDEX, view_func=_run_index, methods=["GET"])
    # Allowed to users who may read the run; MLflow refuses pages without such a rule.
    auth.BEFORE_REQUEST_VALIDATORS[RUN_INDEX, "GET"] = auth.validate_can_read_run
    server: FastAPI = auth.create_app()
    users = dict.fromkeys(writers(), Right.WRITE) | {str(auth.auth_config.admin_username): Right.ADMINISTER}
    server.add_middleware(RightsDoor, users=users)
    return server


def _serve(artifacts: str, where: str) -> None:
    server = application(artifacts)
    serve(server, descriptor_of(where), names=known_names(), log_level="warning")


if __name__ == "__main__":
    collect_rarely()
    _serve(sys.argv[1], sys.argv[2])
