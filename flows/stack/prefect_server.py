"""Serves Prefect with its pages and its services: `python -m flows.stack.prefect_server WHERE`.

WHERE is the descriptor of a socket that listens, or in a container HOST:PORT.
"""

import os
import sys

from flows.serving import descriptor_of, known_names, serve


def _serve(where: str) -> None:
    os.environ["PREFECT__SERVER_FINAL"] = "1"
    from prefect.server.api.server import create_app  # noqa: PLC0415 - it takes seconds, and reads the environment

    serve(create_app(), descriptor_of(where), names=known_names(), log_level="warning")


if __name__ == "__main__":
    _serve(sys.argv[1])
