"""Serves MLflow as the stack does, after writing down all routes of its own tables.

Usage: `python -m tests.mlflow_routes ARTIFACTS HOST:PORT FILE`.
"""

import json
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from infra.servers.serving import descriptor_of, serve
from infra.stack.mlflow_server import application

_PARAMETER = re.compile(r"<(?:(\w+):)?\w+>|\{\w+(?::(\w+))?\}")


def _routes(routes: Iterable[Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Yield method and path of the routes of FastAPI's tables, one within the other."""
    for route in routes:
        if (within := getattr(route, "original_router", None)) is not None:
            yield from _routes(within.routes, prefix + route.include_context.prefix)
        elif (methods := getattr(route, "methods", None)) is not None:
            yield from ((method, prefix + route.path) for method in methods)
        else:
            assert type(route).__name__ == "Mount", "Flask's application, whose table is read by itself"
            assert route.path == ""


def _written(method: str, path: str) -> list[str]:
    """Return a route with a value in the place of each parameter, which may have several parts if it is a path."""
    return [method, _PARAMETER.sub(lambda found: "a/b" if "path" in found.groups() else "a", path)]


def main(artifacts: str, where: str, file: str) -> None:
    """Write down the routes, and serve."""
    server = application(artifacts)
    from mlflow.server import app  # noqa: PLC0415 - it reads the environment

    found = [*_routes(server.routes)]
    found += [(method, str(rule)) for rule in app.url_map.iter_rules() for method in rule.methods or ()]
    Path(file).write_text(json.dumps([_written(*route) for route in found]))
    serve(server, descriptor_of(where), log_level="warning")


if __name__ == "__main__":
    main(*sys.argv[1:])
