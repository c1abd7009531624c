"""The stack's folders, passwords and ports; created once and never changed.

stack/secrets.json      passwords, mode 0600
stack/ports.json        ports of its servers
stack/environment.json  what the commands need to reach them, mode 0600
stack/postgres/         the databases: ledger, prefect, mlflow, mlflow_users
stack/artifacts/        what MLflow keeps of releases
stack/logs/  run/       logs of the servers, and their process ids
"""

import base64
import json
import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from deniable.foundation.errors import InvalidInput
from deniable.foundation.keys import new_secret
from infra.servers.local_servers import free_port
from stores.own_files import own_descriptor, read_own
from stores.vault.private_files import make_private_folder

LOOPBACK = "127.0.0.1"
LEDGER = "ledger"
DATABASES = (LEDGER, "prefect", "mlflow", "mlflow_users")
POOL = "deniable"
"""Name of the deployments' work pool."""
ENGINEER, AUDITOR, ADMINISTRATOR = "engineer", "auditor", "administrator"
USERS = (ENGINEER, AUDITOR)

_WANTED_PORTS = {"postgres": 5433, "prefect": 4200, "mlflow": 5000}
_PASSWORDS = ("postgres", *DATABASES, "prefect_server", "flask", ADMINISTRATOR, *USERS)
_ENVIRONMENT = "environment.json"
_ENCRYPTION_KEY = "prefect_encryption_key"


@dataclass(frozen=True)
class Stack:
    """The stack of a state folder.

    Attributes:
        state: the state folder.
    """

    state: Path

    @property
    def folder(self) -> Path:
        """Folder of the stack."""
        return self.state / "stack"

    @property
    def is_set_up(self) -> bool:
        """Whether the commands of the state folder use the stack: it was started and not left."""
        return (self.folder / _ENVIRONMENT).exists()

    def part(self, name: str) -> Path:
        """Make and return a folder of the stack, which only its owner may enter."""
        make_private_folder(self.folder)
        return make_private_folder(self.folder / name)

    @cached_property
    def secrets(self) -> dict[str, str]:
        """Passwords by purpose."""
        made = {name: new_secret().hex()[:40] for name in _PASSWORDS}
        # Prefect requires a Fernet key.
        made[_ENCRYPTION_KEY] = base64.urlsafe_b64encode(new_secret()).decode()
        return _kept(self.folder / "secrets.json", made)

    @cached_property
    def ports(self) -> dict[str, int]:
        """Ports of the servers: the usual ones if they are free at the first start, and the same ones from then on."""
        wanted: dict[str, int] = {}
        if not (self.folder / "ports.json").exists():
            wanted = {name: free_port(port) for name, port in _WANTED_PORTS.items()}
        return _kept(self.folder / "ports.json", wanted)

    @property
    def prefect_pages(self) -> str:
        """Address of Prefect's pages."""
        return f"http://{LOOPBACK}:{self.ports['prefect']}"

    @property
    def mlflow_pages(self) -> str:
        """Address of MLflow's pages."""
        return f"http://{LOOPBACK}:{self.ports['mlflow']}"

    def database(self, name: str, driver: str = "") -> str:
        """Return the URL of a database, with the password of its user."""
        user, password = f"deniable_{name}", self.secrets[name]
        return f"postgresql{driver}://{user}:{password}@{LOOPBACK}:{self.ports['postgres']}/{name}"

    @property
    def prefect_credentials(self) -> str:
        """Name and password for Prefect's server, the same for all users."""
        return f"deniable:{self.secrets['prefect_server']}"

    @property
    def encryption_key(self) -> str:
        """Key with which Prefect encrypts its secret blocks; without one, Prefect keeps a key in the same database."""
        return self.secrets[_ENCRYPTION_KEY]

    def environment(self) -> dict[str, str]:
        """Return variables that make the project's commands use the stack as an engineer."""
        return {
            "DENIABLE_LEDGER": self.database("ledger"),
            "DENIABLE_PREFECT_API_URL": f"{self.prefect_pages}/api",
            "PREFECT_API_AUTH_STRING": self.prefect_credentials,
            "DENIABLE_MLFLOW_TRACKING_URI": self.mlflow_pages,
            "MLFLOW_TRACKING_USERNAME": ENGINEER,
            "MLFLOW_TRACKING_PASSWORD": self.secrets[ENGINEER],
        }

    def keep_environment(self) -> None:
        """Make the commands of this state folder use the stack from now on: a dataset has one ledger, not two."""
        _write(self.folder / _ENVIRONMENT, self.environment())

    def forget_environment(self) -> None:
        """Make the commands of this state folder use its own files from now on, and no stack."""
        (self.folder / _ENVIRONMENT).rename(self.folder / f"{_ENVIRONMENT}.left")


def _kept(place: Path, made: dict[str, Any]) -> dict[str, Any]:
    """Return the contents of a file of the stack, which is written at the first call."""
    try:
        said: dict[str, Any] = json.loads(read_own(place))
    except FileNotFoundError:
        make_private_folder(place.parent)
        _write(place, made)
        return made
    except (OSError, ValueError):
        msg = f"{place} must be readable as the stack wrote it, and is not; restore it from a backup."
        raise InvalidInput(msg) from None
    return said


def _write(place: Path, values: dict[str, Any]) -> None:
    """Write a file completely or not at all, readable by its owner alone."""
    waiting = place.with_name(f".{place.name}")
    with os.fdopen(own_descriptor(waiting, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "w") as file:
        json.dump(values, file, indent=2)
        file.flush()
        os.fsync(file.fileno())
    waiting.replace(place)
