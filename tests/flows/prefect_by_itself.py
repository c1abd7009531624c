"""Serves Prefect's own pages, without this project's changes: `python -m tests.flows.prefect_by_itself SOCKET`."""

import sys

from prefect.server.api.server import create_app

from infra.servers.serving import serve

if __name__ == "__main__":
    serve(create_app(), int(sys.argv[1]), log_level="error")
