"""Makes flows of this process and its forks end at once; imported before a flow begins.

Prefect waits for a flow's heartbeat thread, which checks once a second whether to stop. And each of its clients, of
which a step has several, reads all certificates that the machine trusts, even for an http server.
"""

import ssl
from functools import cache, partial
from types import SimpleNamespace

from tests.isolation import own_state  # noqa: F401 - before Prefect is imported

from prefect import flow_engine  # isort: skip
from prefect.client import orchestration  # isort: skip

flow_engine._send_heartbeats = partial(flow_engine._send_heartbeats, join_on_exit=False)


_read = cache(ssl.create_default_context)


def _trusting(*, cafile: str | None = None) -> ssl.SSLContext:
    """Read the certificates of a file once; return a new context for others, because its caller may change it."""
    return ssl.create_default_context() if cafile is None else _read(cafile=cafile)


orchestration.ssl = SimpleNamespace(**{**vars(ssl), "create_default_context": _trusting})  # type: ignore[assignment]
