"""Prefect's server with those of its pages that ask nobody else.

Prefect 3.8 has two kinds of pages. The newer ones ask an analyst's server how to watch their reader, before anybody has
logged in and whatever is switched off: they ask first, and read the setting after the login. They are not served. The
older ones, which Prefect serves at `/` with `PREFECT_SERVER_UI_V2_ENABLED` off, ask their own server alone; but they
would still lead to the newer ones.
"""

from starlette.types import ASGIApp

PAGES_THAT_ASK_NOBODY_ELSE = {
    "PREFECT_SERVER_UI_V2_ENABLED": "false",
    "PREFECT_SERVER_UI_SHOW_PROMOTIONAL_CONTENT": "false",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
}
"""What Prefect's server is to be told in its environment."""


def prefect_server() -> ASGIApp:
    """Prefect's server; what it serves beside its API is decided by its environment."""
    import prefect  # noqa: PLC0415 - it takes seconds, and reads the environment
    from prefect.server.api.server import create_app  # noqa: PLC0415 - as above

    # It serves every kind of pages whose files are there.
    prefect.__ui_v2_static_path__ = prefect.__ui_v2_static_path__ / "not-served"
    return create_app()
