"""Flows of this process and of those forked from it end at once; imported before one begins.

Prefect waits for the thread of a flow's heartbeats, which looks once a second whether it is still wanted. And each of
its clients, of which a step has several, reads all certificates that the machine trusts, also for a server of http.
"""

import ssl
from functools import cache, partial
from types import SimpleNamespace

from tests.isolation import STATE  # noqa: F401 - before Prefect is imported

from prefect import flow_engine  # isort: skip
from prefect.client import orchestration  # isort: skip

flow_engine._send_heartbeats = partial(flow_engine._send_heartbeats, join_on_exit=False)


_read = cache(ssl.create_default_context)


def _trusting(*, cafile: str | None = None) -> ssl.SSLContext:
    """What is trusted by a file is read once; what trusts nobody in particular is changed by who asked for it."""
    return ssl.create_default_context() if cafile is None else _read(cafile=cafile)


orchestration.ssl = SimpleNamespace(**{**vars(ssl), "create_default_context": _trusting})  # type: ignore[assignment]
