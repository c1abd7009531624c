"""What the form, the runs, the worker, the watch and the commands of a state folder share about its deployments.

It is in the state folder, in `deployments.json`. In the environments of these processes it would differ: a worker has
that of its start, and `deploy` another one. `deploy` writes it, and all others read it whenever they need it.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from deniable.command_names import command_line
from deniable.foundation.errors import InvalidInput
from infra.environment import state_folder
from schemas.regular_files import whole_path
from stores.own_files import read_own
from stores.vault.disk import replace_whole

SPECS_VARIABLE = "DENIABLE_SPECS"
ATTEMPTS_VARIABLE = "DENIABLE_RESUME_AFTER_S"

_FILE = "deployments.json"
_ATTEMPTS_S = (60.0, 300.0, 900.0, 3600.0)


@dataclass(frozen=True)
class Shared:
    """What is shared.

    Attributes:
        specs: folders with the agency's own specs, as absolute paths.
        resume_after_s: seconds after which a run that an outage ended is resumed, for each attempt.
    """

    specs: tuple[str, ...] = ()
    resume_after_s: tuple[float, ...] = _ATTEMPTS_S


def shared(state: Path | None = None) -> Shared:
    """Read what is shared; defaults if nothing was deployed.

    Args:
        state: the state folder; by default that of this process.

    Raises:
        InvalidInput: it cannot be read.
    """
    place = (state or state_folder()) / _FILE
    try:
        said = json.loads(read_own(place))
        return Shared(specs=tuple(map(str, said["specs"])), resume_after_s=tuple(map(float, said["resume_after_s"])))
    except FileNotFoundError:
        return Shared()
    except (OSError, ValueError, KeyError, TypeError):
        msg = f"{place} must be readable as deploy wrote it, and is not; run {command_line('servers deploy')} again."
    raise InvalidInput(msg)


def share(state: Path, variables: Mapping[str, str] = os.environ) -> Shared:
    """Write what is shared: what the variables state, and otherwise what was shared before.

    Args:
        state: the state folder.
        variables: the environment of `deploy`.

    Raises:
        InvalidInput: a variable does not hold what it must.
    """
    try:
        before = shared(state)
    except InvalidInput:
        before = Shared()
    made = Shared(
        specs=_folders(variables[SPECS_VARIABLE]) if SPECS_VARIABLE in variables else before.specs,
        resume_after_s=(
            _seconds(variables[ATTEMPTS_VARIABLE]) if ATTEMPTS_VARIABLE in variables else before.resume_after_s
        ),
    )
    replace_whole(state / _FILE, json.dumps(asdict(made), indent=1) + "\n")
    return made


def _folders(said: str) -> tuple[str, ...]:
    """The folders in a variable, with absolute paths: a worker runs in another folder than `deploy`."""
    folders = [whole_path(Path(name), "a folder of specs") for name in said.split(os.pathsep) if name]
    for folder in folders:
        if not folder.is_dir():
            raise InvalidInput(f"{SPECS_VARIABLE} must name folders, and {folder} is none; correct it.")
    return tuple(map(str, folders))


def _seconds(said: str) -> tuple[float, ...]:
    try:
        pauses = tuple(float(word) for word in said.split())
    except ValueError:
        pauses = (-1.0,)
    if not all(0 <= pause < float("inf") for pause in pauses):
        usual = " ".join(f"{pause:g}" for pause in _ATTEMPTS_S)
        raise InvalidInput(f"{ATTEMPTS_VARIABLE} must hold seconds such as {usual!r}, got {said!r}; correct it.")
    return pauses
