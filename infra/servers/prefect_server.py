"""Serves Prefect's API on a socket of the loopback until standard input ends.

Usage: `python -m infra.servers.prefect_server SOCKET`.

Standard input is a pipe from the process that needs the server. The pipe closes however that process ends, so no server
is ever left behind. The server has its own session, so a Ctrl-C at the terminal does not stop it before a release has
reported its interruption. Prefect checks its password itself.
"""

import sys

from infra.garbage import collect_rarely
from infra.servers.prefect_database import beginning_quickly, make_prefect_database
from infra.servers.prefect_pages import prefect_server
from infra.servers.serving import end_when_abandoned, serve

if __name__ == "__main__":
    collect_rarely()
    end_when_abandoned()
    with beginning_quickly(registered=make_prefect_database()):
        serve(prefect_server(), int(sys.argv[1]), log_level="error")
