"""Runs the release that a spec describes."""

import argparse
import sys
from pathlib import Path

from deniable.console import show
from flows.cli.contract import StateCommand

DONE = 0


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("spec", type=Path, metavar="SPEC", help="a release spec, such as deployments/specs/acs_ma.yaml")
    parser.add_argument(
        "--new", action="store_true", help="begin another release, even if one of this spec is unfinished"
    )


def make_release(asked: argparse.Namespace, state: Path) -> int:
    """Refuse a wrong spec at once, then run the release.

    Args:
        asked: the parsed arguments.
        state: the state folder.

    Returns:
        0.

    Raises:
        DeniableError: the spec is wrong, or the release failed.
    """
    from flows.cli.running import checked_spec  # noqa: PLC0415 - here and below: only what the command needs

    spec = checked_spec(asked.spec)
    from infra.servers.local_servers import own_prefect  # noqa: PLC0415

    # The server starts while the rest is imported.
    server = own_prefect(state)
    from flows.cli.own_server import served_by  # noqa: PLC0415
    from stores.releases.resumable_releases import other_unfinished_releases, what_comes_next  # noqa: PLC0415

    _tell(what_comes_next(state, spec, anew=asked.new))
    for other in other_unfinished_releases(state, spec):
        _tell(
            f"{other.release_id} of the same dataset is unfinished, and is left as it is: its spec differs from this "
            "one in what is drawn."
        )
    with served_by(server, spec.title, "flows.cli.making"):
        from flows.cli.making import run_release  # noqa: PLC0415

        run_release(asked.spec, spec, state, anew=asked.new)
    return DONE


def _tell(sentence: str) -> None:
    show([sentence], sys.stderr)


COMMAND = StateCommand(
    arguments=_add_arguments,
    run=make_release,
    description="Run the release that a spec describes, or resume it where it was left. Its cost is charged to the "
    "dataset's budget before any noise is drawn.",
    imports=("prefect", "mlflow"),
    resumable=True,
)
