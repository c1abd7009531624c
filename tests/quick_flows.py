"""Flows of this process and of those forked from it end at once; imported before one begins.

Prefect waits for the thread of a flow's heartbeats, which looks once a second whether it is still wanted.
"""

from functools import partial

from tests.isolation import STATE  # noqa: F401 - before Prefect is imported

from prefect import flow_engine  # isort: skip

flow_engine._send_heartbeats = partial(flow_engine._send_heartbeats, join_on_exit=False)
