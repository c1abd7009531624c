"""Where the cluster of a state folder keeps its things, and what its processes are told.

    cluster/tls/       certificate and key by which its processes know each other, mode 0600
    cluster/work/      what workers keep for themselves
    cluster/run/ logs/ which processes they are, and what they say

Whoever reaches a scheduler can have its workers run anything, as the user that they run as. So the processes of one
machine trust nobody without the key in the state folder, and others need certificates of the agency's own, which
Dask's configuration names.
"""

# Dask's functions have no annotations
# mypy: disallow-untyped-calls=False

import os
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from deniable.foundation.errors import InvalidInput
from stores.servers.ui_links import is_loopback_host
from stores.vault.private_files import PRIVATE_FILE, make_private_folder

LOOPBACK = "127.0.0.1"
PORT = 8786

_TLS = "DASK_DISTRIBUTED__COMM__TLS__"
_ROLES = ("CLIENT", "SCHEDULER", "WORKER")
_SCHEMES = ("tcp", "tls")

# Nothing is served to browsers, and nothing is asked of the outside.
_QUIET = {
    "DASK_DISTRIBUTED__SCHEDULER__HTTP__ROUTES": "[]",
    "DASK_DISTRIBUTED__WORKER__HTTP__ROUTES": "[]",
    "DASK_DISTRIBUTED__NANNY__HTTP__ROUTES": "[]",
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
        """A folder of the cluster, which only its owner may enter."""
        make_private_folder(self.state / "cluster")
        return make_private_folder(self.state / "cluster" / name)

    @property
    def tls(self) -> Path:
        """Certificate and key of the processes on this machine."""
        return self.state / "cluster" / "tls"

    @property
    def has_certificate(self) -> bool:
        """Whether they were made."""
        return (self.tls / "key.pem").exists()

    def make_certificate(self) -> None:
        """Make the certificate and the key anew; they last a year."""
        from distributed.security import Security  # noqa: PLC0415 - installed where there is a cluster

        made = Security.temporary()
        folder = self.part("tls")
        for name, text in (("certificate.pem", made.tls_ca_file), ("key.pem", made.tls_client_key)):
            (folder / name).touch(mode=PRIVATE_FILE)
            (folder / name).write_text(text, encoding="ascii")

    def own_trust(self) -> dict[str, str]:
        """What tells Dask to use this state folder's own certificate."""
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
        """What a process of the cluster is started with.

        Args:
            own: whether it speaks by this state folder's own certificate, and not as Dask's configuration says.
        """
        return {
            **os.environ,
            **_QUIET,
            **(self.own_trust() if own else {}),
            "DASK_TEMPORARY_DIRECTORY": str(self.part("work")),
        }

    def scheduler(self, host: str, port: int) -> list[str]:
        """Arguments of a scheduler for Python."""
        where = ("--host", host, "--port", str(port), "--protocol", "tls")
        return ["-m", "distributed.cli.dask_scheduler", *where, *_NO_PAGES]

    def worker(self, address: str, processes: int, host: str | None = None) -> list[str]:
        """Arguments of workers for Python: processes of one thread each, which are started again when they end."""
        return [
            *("-m", "distributed.cli.dask_worker", address),
            *("--nworkers", str(processes), "--nthreads", "1", "--nanny", "--memory-limit", "0"),
            *("--local-directory", str(self.part("work")), "--preload", "flows.preloaded"),
            *(("--host", host) if host else ()),
            *_NO_PAGES,
        ]


def configured_trust() -> bool:
    """Whether Dask's own configuration says by which certificates processes know each other."""
    import dask  # noqa: PLC0415 - installed where there is a cluster
    import distributed  # noqa: F401, PLC0415 - brings the configuration's defaults

    return bool(dask.config.get("distributed.comm.tls.ca-file"))


def checked_address(address: str) -> str:
    """The address of a scheduler, if it is one.

    Raises:
        InvalidInput: it is none.
    """
    try:
        parts = urlsplit(address)
        right = parts.scheme in _SCHEMES and bool(parts.hostname) and parts.port is not None
    except ValueError:
        right = False
    if not right:
        raise InvalidInput(f"a cluster's address must be as tls://HOST:PORT, got {address}.")
    if parts.scheme != "tls" and not is_loopback(address):
        raise InvalidInput(
            f"a cluster of other machines must be reached by tls://, got {address}: anyone who listens there, or gives "
            "it orders, could do all that this user may. Dask's configuration names the certificates."
        )
    return address


def is_loopback(address: str) -> bool:
    """Whether an address is reached from this machine alone."""
    return is_loopback_host(urlsplit(address).hostname or "")
