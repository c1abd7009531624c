"""Serves Prefect's API on a port of the loopback until standard input ends: `python -m flows.prefect_server PORT`.

Standard input is a pipe from the process that needs the server. It ends however that process ends, so no server is ever
left behind; and as the server belongs to a session of its own, a Ctrl-C at the terminal does not take it away from a
release that still has to say that it was interrupted.
"""

import os
import signal
import sys
import threading

import uvicorn


def stop_when_abandoned() -> None:
    """Wait for the end of standard input, then end this process in order."""
    sys.stdin.read()
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    threading.Thread(target=stop_when_abandoned, daemon=True).start()
    uvicorn.run(
        "prefect.server.api.server:create_app", factory=True, port=int(sys.argv[1]), log_level="error", lifespan="on"
    )
