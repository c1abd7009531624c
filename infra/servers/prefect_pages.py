"""Prefect's server with only those of its pages that contact no other server.

Prefect 3.8 has two kinds of pages. The newer ones contact an analytics server to track their reader, even before a
login and whatever is switched off, because they read that setting only after the login. They are not served. The older
ones, which Prefect serves at `/` with `PREFECT_SERVER_UI_V2_ENABLED` off, contact only their own server, but would
still link to the newer ones.
"""

from starlette.types import ASGIApp

PAGES_THAT_ASK_NOBODY_ELSE = {
    "PREFECT_SERVER_UI_V2_ENABLED": "false",
    "PREFECT_SERVER_UI_SHOW_PROMOTIONAL_CONTENT": "false",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
}
"""Variables for Prefect's server."""


def prefect_server() -> ASGIApp:
    """Return Prefect's server; its environment decides what it serves in addition to its API."""
    import prefect  # noqa: PLC0415 - it takes seconds, and reads the environment
    from prefect.server.api.server import create_app  # noqa: PLC0415 - as above

    # Prefect serves every kind of page whose files exist.
    prefect.__ui_v2_static_path__ = prefect.__ui_v2_static_path__ / "not-served"
    return create_app()
