"""Serves Prefect with its pages and its services: `python -m infra.stack.prefect_server WHERE`.

WHERE is the descriptor of a listening socket, or in a container HOST:PORT.
"""

import os
import sys

from infra.garbage import collect_rarely
from infra.servers.prefect_pages import prefect_server
from infra.servers.serving import descriptor_of, known_names, serve

if __name__ == "__main__":
    collect_rarely()
    os.environ["PREFECT__SERVER_FINAL"] = "1"
    serve(prefect_server(), descriptor_of(sys.argv[1]), names=known_names(), log_level="warning")
