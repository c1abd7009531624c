"""Serves Prefect with its pages and its services: `python -m flows.stack.prefect_server WHERE [NAME ...]`.

WHERE is the descriptor of a socket that listens, or in a container HOST:PORT; names are those by which the server may
be asked, beside the loopback's.
"""

import os
import sys
from collections.abc import Sequence

from flows.door import OWN_NAMES
from flows.serving import descriptor_of, serve


def _serve(where: str, names: Sequence[str]) -> None:
    os.environ["PREFECT__SERVER_FINAL"] = "1"
    from prefect.server.api.server import create_app  # noqa: PLC0415 - it takes seconds, and reads the environment

    serve(create_app(), descriptor_of(where), names=[*OWN_NAMES, *names], log_level="warning")


if __name__ == "__main__":
    _serve(sys.argv[1], sys.argv[2:])
