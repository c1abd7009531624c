"""The command `deploy`: registers the deployments in `deployments/prefect.yaml` with Prefect's server.

It notes in the state folder what the processes of the deployments share, runs Prefect's own command, and adds the
concurrency limit of each dataset, the path of the checkout, and the automations for runs that fail or fall silent.
"""

import argparse
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from deniable.command_names import command_line
from deniable.foundation.errors import DeniableError
from flows.cli.contract import StateCommand
from flows.cli.servers.reaching import require_prefect
from flows.cli.spinner import at_work
from flows.prefect_runs.shared import share
from flows.specs import spec_places
from schemas.spec.release_spec import load_spec

DONE = 0

_CHECKOUT = Path(__file__).resolve().parents[3]
_SAID = 5
_DEPLOYED = re.compile(r"Deployment '([^']+)' successfully.*?(http\S+)", re.DOTALL)


class DeployFailed(DeniableError):
    """Prefect does not accept the deployments."""


def _run(_asked: argparse.Namespace, state: Path) -> int:
    """Register the deployments with Prefect's server, and set their concurrency limits.

    Args:
        state: the state folder, whose stack runs Prefect unless DENIABLE_PREFECT_API_URL names another.

    Returns:
        0.

    Raises:
        InvalidInput: the address of Prefect's server is unknown, or a variable does not hold what it must.
        DeployFailed: the server does not accept them.
    """
    require_prefect(state)
    for folder in share(state).specs:
        print(f"Specs of your own: {folder}", flush=True)  # noqa: T201 - this is the command line
    with at_work("1 of 3: reading the specs, and limiting each dataset to one run at a time", logged=True):
        from flows.entrypoints import DATASET_LIMIT  # noqa: PLC0415 - imports Prefect and MLflow

        for dataset in sorted({load_spec(place).dataset_name for place in spec_places().values()}):
            _make_limit(DATASET_LIMIT.format(dataset))
    with at_work("2 of 3: registering the deployments with Prefect", logged=True):
        said = _prefect("--no-prompt", "deploy", "--all", "--prefect-file", "deployments/prefect.yaml")
    for name, page in _DEPLOYED.findall(said):
        print(f"{name:<20} {page}", flush=True)  # noqa: T201 - this is the command line
    with at_work("3 of 3: setting up Prefect's automations for runs that fail or fall silent", logged=True):
        made = _automations()
    print(*made, sep="\n")  # noqa: T201
    print(f"To run one: {command_line('servers prefect')} deployment run NAME --watch, or use its page in Prefect.")  # noqa: T201
    return DONE


def _make_limit(name: str) -> None:
    """Make a concurrency limit of one run at a time."""
    from prefect.client.orchestration import get_client  # noqa: PLC0415 - imports Prefect

    with _answering(), get_client(sync_client=True) as client:
        client.upsert_global_concurrency_limit_by_name(name, 1)


def _automations() -> list[str]:
    """Make Prefect's automations for failed runs, and describe them."""
    from flows.prefect_runs.automations import make_automations  # noqa: PLC0415 - imports Prefect

    with _answering():
        return make_automations()


@contextmanager
def _answering() -> Iterator[None]:
    """Turn an error that means that Prefect's server does not answer into one sentence."""
    from httpx import HTTPError  # noqa: PLC0415 - Prefect's own, imported with it

    try:
        yield
    except HTTPError as error:
        msg = f"Prefect must answer at {os.environ['PREFECT_API_URL']}, and does not ({type(error).__name__})."
        raise DeployFailed(msg) from None


def _prefect(*arguments: str) -> str:
    """Run one of Prefect's commands in the checkout, and return its output."""
    done = subprocess.run(  # noqa: S603 - our own command
        [sys.executable, "-m", "prefect", *arguments],
        cwd=_CHECKOUT,
        env={**os.environ, "DENIABLE_CHECKOUT": str(_CHECKOUT), "PREFECT_CLI_COLORS": "false"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        said = " | ".join((done.stdout + done.stderr).strip().splitlines()[-_SAID:])
        raise DeployFailed(f"Prefect must accept the deployments, and does not: {said}")
    return done.stdout.strip()


COMMAND = StateCommand(
    run=_run,
    imports=("prefect", "mlflow"),
)
