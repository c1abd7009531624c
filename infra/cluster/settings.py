"""The folders of a state folder's cluster, and the settings of its processes.

    cluster/tls/       certificate and key by which its processes recognise each other, mode 0600
    cluster/work/      the workers' temporary files
    cluster/run/ logs/ process ids and logs

Anyone who reaches a scheduler can make its workers run any code as their user. So the processes of one machine trust
only processes with the key in the state folder, and processes on several machines need the agency's own certificates,
which Dask's configuration names.
"""

# Dask's functions have no annotations
# mypy: disallow-untyped-calls=False

import os
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from deniable.foundation.errors import InvalidInput
from stores.servers.ui_links import is_loopback_host
from stores.vault.disk import replace_whole
from stores.vault.private_files import make_private_folder

LOOPBACK = "127.0.0.1"
PORT = 8786

_TLS = "DASK_DISTRIBUTED__COMM__TLS__"
_ROLES = ("CLIENT", "SCHEDULER", "WORKER")
_SCHEMES = ("tcp", "tls")

# No pages for browsers, no profiles, which only such pages show, and no requests to other servers.
_QUIET = {
    "DASK_DISTRIBUTED__SCHEDULER__HTTP__ROUTES": "[]",
    "DASK_DISTRIBUTED__WORKER__HTTP__ROUTES": "[]",
    "DASK_DISTRIBUTED__NANNY__HTTP__ROUTES": "[]",
    "DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "false",
    "DASK_DISTRIBUTED__ADMIN__LOG_LENGTH": "0",
    "DASK_LOGGING__DISTRIBUTED": "error",
}
_NO_PAGES = ("--no-dashboard", "--dashboard-address", f"{LOOPBACK}:0")


@dataclass(frozen=True)
class Cluster:
    """The cluster of a state folder.

    Attributes:
        state: the state folder.
    """

    state: Path

    def part(self, name: str) -> Path:
        """Make and return a folder of the cluster, which only its owner may enter."""
        make_private_folder(self.state / "cluster")
        return make_private_folder(self.state / "cluster" / name)

    @property
    def tls(self) -> Path:
        """Certificate and key of the processes on this machine."""
        return self.state / "cluster" / "tls"

    @property
    def has_certificate(self) -> bool:
        """Whether certificate and key were made."""
        return (self.tls / "key.pem").exists()

    def make_certificate(self) -> None:
        """Make a new certificate and key; they are valid for a year."""
        from distributed.security import Security  # noqa: PLC0415 - installed with a cluster

        made = Security.temporary()
        folder = self.part("tls")
        for name, text in (("certificate.pem", made.tls_ca_file), ("key.pem", made.tls_client_key)):
            replace_whole(folder / name, text)

    def own_trust(self) -> dict[str, str]:
        """Return variables that make Dask use this state folder's own certificate."""
        said = {
            f"{_TLS}CA_FILE": str(self.tls / "certificate.pem"),
            "DASK_DISTRIBUTED__COMM__REQUIRE_ENCRYPTION": "true",
        }
        for role in _ROLES:
            said |= {
                f"{_TLS}{role}__CERT": str(self.tls / "certificate.pem"),
                f"{_TLS}{role}__KEY": str(self.tls / "key.pem"),
            }
        return said

    def environment(self, *, own: bool) -> dict[str, str]:
        """Return the environment of a process of the cluster.

        Args:
            own: whether it uses this state folder's own certificate rather than the one in Dask's configuration.
        """
        return {
            **os.environ,
            **_QUIET,
            **(self.own_trust() if own else {}),
            "DASK_TEMPORARY_DIRECTORY": str(self.part("work")),
        }

    def scheduler(self, host: str, port: int) -> list[str]:
        """Return Python's arguments for a scheduler."""
        where = ("--host", host, "--port", str(port), "--protocol", "tls")
        return ["-m", "distributed.cli.dask_scheduler", *where, *_NO_PAGES]

    def worker(self, address: str, processes: int, host: str | None = None) -> list[str]:
        """Return Python's arguments for workers: processes of one thread each, which are restarted when they exit."""
        return [
            *("-m", "distributed.cli.dask_worker", address),
            *("--nworkers", str(processes), "--nthreads", "1", "--nanny", "--memory-limit", "0"),
            *("--local-directory", str(self.part("work")), "--preload", "flows.preloaded"),
            *(("--host", host) if host else ()),
            *_NO_PAGES,
        ]


def configured_trust() -> bool:
    """Whether Dask's own configuration names certificates by which processes authenticate each other."""
    import dask  # noqa: PLC0415 - installed with a cluster
    import distributed  # noqa: F401, PLC0415 - sets the configuration's defaults

    return bool(dask.config.get("distributed.comm.tls.ca-file"))


def checked_address(address: str) -> str:
    """Return the address of a scheduler after checking its form.

    Raises:
        InvalidInput: the address is not valid.
    """
    try:
        parts = urlsplit(address)
        right = parts.scheme in _SCHEMES and bool(parts.hostname) and parts.port is not None
    except ValueError:
        right = False
    if not right:
        raise InvalidInput(f"a cluster's address must have the form tls://HOST:PORT, got {address}.")
    if parts.scheme != "tls" and not is_loopback(address):
        raise InvalidInput(
            f"a cluster of other machines must be reached by tls://, got {address}: anyone who listens there, or sends "
            "it tasks, could do all that this user may; name certificates in Dask's configuration."
        )
    return address


def is_loopback(address: str) -> bool:
    """Whether an address can be reached only from this machine."""
    return is_loopback_host(urlsplit(address).hostname or "")
