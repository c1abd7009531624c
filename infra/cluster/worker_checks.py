"""Checks the files, code and servers that a worker of a cluster sees, before a release begins."""

import os
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

from schemas.catalog import code_digest
from stores.tracking.client import tracking_uri
from stores.vault.runtime_environment import environment_here

_PATIENCE_S = 5
_MACHINE = Path("/proc/sys/kernel/random/boot_id")


def describe_worker(state: Path, marker: str, servers: tuple[str, ...]) -> dict[str, str]:
    """Describe this process's code, and whether it sees the state folder.

    Args:
        state: the state folder.
        marker: name of a file in the state folder, next to which another one is written.
        servers: addresses that should answer.

    Returns:
        The findings, by name.
    """
    return {
        "code": code_digest(),
        "packages": sha256(environment_here().model_dump_json().encode()).hexdigest(),
        "machine": machine(),
        "tracking": sha256(tracking_uri(state).encode()).hexdigest(),
        "reads": _read(state / marker),
        "writes": _written(state, marker),
        "reaches": "".join("y" if _answers(server) else "n" for server in servers),
    }


def machine() -> str:
    """Return a digest that identifies this machine until its next reboot."""
    return sha256(_read(_MACHINE).encode()).hexdigest()


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").strip()
    except OSError:
        return ""


def _written(state: Path, marker: str) -> str:
    """Write a file for this process next to the marker."""
    name = f"{marker}.{sha256(f'{machine()} {os.getpid()}'.encode()).hexdigest()[:16]}"
    try:
        (state / name).touch(mode=0o600)
    except OSError:
        return ""
    return name


def _answers(server: str) -> bool:
    try:
        with urlopen(server, timeout=_PATIENCE_S):  # noqa: S310 - the addresses of our own servers
            return True
    except HTTPError:
        return True
    except (URLError, OSError, ValueError):
        return False


def complaint(found: Mapping[str, str], expected: Mapping[str, str], *, marked: bool) -> str:
    """Return the fault of a worker; empty if there is none.

    Args:
        found: the worker's findings.
        expected: this process's findings.
        marked: whether the worker's own mark is in the state folder.
    """
    if found["code"] != expected["code"]:
        return "runs other code; install the same version of the project there"
    if found["packages"] != expected["packages"]:
        return "has another Python or other packages; install infra/requirements-cluster.txt there"
    if found["reads"] != expected["reads"] or not marked:
        return "does not see the state folder; mount it there at the same path, writable"
    if found["tracking"] != expected["tracking"]:
        return "records in another MLflow; start it with the same DENIABLE_MLFLOW_TRACKING_URI"
    if "n" in found["reaches"]:
        return "does not reach Prefect's or MLflow's server; give the servers addresses that can be reached from there"
    return ""
