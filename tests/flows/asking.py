"""Refreshes a dataset, and records the requests of each step to MLflow's server: one line per request, after its step.

Arguments: SPEC STATE SOURCE NOTES.
"""

import re
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from infra.environment import prepare_environment

SPEC, STATE, SOURCE, NOTES = map(Path, sys.argv[1:])
_OF_MLFLOW = re.compile(r"/api/\d\.\d/(mlflow|mlflow-artifacts)/")


class Steps:
    """A watcher that knows which steps are running."""

    def __init__(self) -> None:
        self.running: list[str] = []

    def started(self, step: str) -> None:
        self.running.append(step)

    def advanced(self, step: str, amount: int) -> None:
        pass

    def ended(self, step: str, *, well: bool) -> None:  # noqa: ARG002 - however it ends
        self.running.remove(step)


if __name__ == "__main__":
    state = prepare_environment(STATE)
    import requests

    from flows.refresh import refresh
    from tasks.running.progress import watching

    steps, send = Steps(), requests.Session.send

    def sending(session: requests.Session, request: requests.PreparedRequest, **options: Any) -> requests.Response:
        if _OF_MLFLOW.search(request.url or ""):
            with NOTES.open("a") as notes:
                path = urlsplit(request.url or "").path
                notes.write(f"{' '.join(steps.running) or '-'}\t{request.method} {path}\n")
        return send(session, request, **options)

    requests.Session.send = sending  # type: ignore[method-assign]
    with watching(steps):
        refresh(SPEC, state, SOURCE)
