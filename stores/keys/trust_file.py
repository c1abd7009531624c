"""The trust file: the keys whose signatures are trusted, read and written as a whole.

A state folder has it in `keys`; DENIABLE_TRUSTED_KEYS names another location. The definition of a trusted key does not
belong here (deniable.record.trust), nor do private keys (signing_keys).
"""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile

from deniable.foundation.errors import InvalidInput
from deniable.record.trust import TrustedKeys
from schemas.regular_files import read_regular
from stores.locks import lock
from stores.vault.disk import flush_to_disk
from stores.vault.private_files import PRIVATE_FILE, make_private_folder

_LONGEST_TRUST_FILE = 16 << 20
TRUSTED_KEYS_VARIABLE = "DENIABLE_TRUSTED_KEYS"


def keys_folder(state: Path) -> Path:
    """Folder of a state folder's keys."""
    return state / "keys"


def trusted_keys_place(state: Path) -> Path:
    """Location of the trust file: the path in DENIABLE_TRUSTED_KEYS, or else a file in the state folder."""
    return named_place(TRUSTED_KEYS_VARIABLE) or keys_folder(state) / "trusted.json"


def trusted_keys(state: Path) -> TrustedKeys:
    """The trusted keys; none if there is no trust file yet.

    Raises:
        InvalidInput: the trust file cannot be read, or is not valid.
    """
    return read_trusted_keys(trusted_keys_place(state)) or TrustedKeys()


def read_trusted_keys(place: Path) -> TrustedKeys | None:
    """Read a trust file; None if there is none.

    Raises:
        InvalidInput: it cannot be read, or is not valid.
    """
    try:
        text = read_regular(place, "the trust file", _LONGEST_TRUST_FILE).decode()
    except FileNotFoundError:
        return None
    except UnicodeDecodeError:
        raise InvalidInput(f"the trust file must be UTF-8, got other bytes in {place}.") from None
    except OSError as error:
        raise InvalidInput(f"the trust file must be readable, got {place}: {error.strerror}.") from None
    try:
        return TrustedKeys.from_text(text)
    except InvalidInput as error:
        raise InvalidInput(f"{place}: {error}") from None


def write_trusted_keys(keys: TrustedKeys, place: Path) -> None:
    """Write a trust file, completely or not at all; it keeps the permissions of the previous one.

    Raises:
        InvalidInput: it cannot be written.
    """
    try:
        mode = place.stat().st_mode & 0o777 if place.exists() else PRIVATE_FILE
        with NamedTemporaryFile(
            "w", dir=place.parent, prefix=f".{place.name}.", encoding="utf-8", delete=False
        ) as file:
            temporary = Path(file.name)
            try:
                file.write(keys.to_text())
                file.flush()
                os.fsync(file.fileno())
                temporary.chmod(mode)
                temporary.replace(place)
            finally:
                temporary.unlink(missing_ok=True)
        flush_to_disk(place.parent)
    except OSError as error:
        raise InvalidInput(f"the trust file must be writable, got {place}: {error.strerror}.") from None


def named_place(variable: str) -> Path | None:
    """The path in a variable of the environment, if it is set.

    Raises:
        InvalidInput: it is relative; the current folder would then decide which keys are trusted.
    """
    path = os.environ.get(variable)
    if not path:
        return None
    place = Path(path).expanduser()
    if not place.is_absolute():
        raise InvalidInput(f"{variable} must be an absolute path, got {path}; write it out from the root.")
    return place.resolve()


def make_keys_folder(folder: Path) -> None:
    """Make a folder that only its owner may enter, if it does not exist.

    Raises:
        InvalidInput: it cannot be created.
    """
    try:
        if not folder.is_dir():
            make_private_folder(folder)
    except OSError as error:
        raise InvalidInput(f"keys must be in a folder that can be created, got {folder}: {error.strerror}.") from None


@contextmanager
def with_keys_to_itself(folder: Path) -> Iterator[None]:
    """Prevent other processes from changing keys during the context; without a folder there is nothing to change.

    Raises:
        InvalidInput: the folder cannot be locked.
    """
    if not folder.is_dir():
        yield
        return
    with ExitStack() as stack:
        try:
            descriptor = os.open(folder, os.O_RDONLY)
            stack.callback(os.close, descriptor)
            lock(descriptor, wait=True)
        except OSError as error:
            raise InvalidInput(f"the folder of keys must be readable, got {folder}: {error.strerror}.") from None
        yield
