"""Files that offline commands read and write, and the keys that they trust."""

import argparse
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from deniable.console import show
from deniable.folder_on_disk import open_regular
from deniable.foundation.checks import printable
from deniable.foundation.errors import InvalidInput

_LARGEST_FILE = 1 << 28

HOLDS, DOES_NOT_HOLD, UNREADABLE = 0, 1, 2

KEYS_VARIABLE = "DENIABLE_TRUSTED_KEYS"
CONFIGURATION_VARIABLE = "XDG_CONFIG_HOME"
CONFIGURATION, _TRUST_FILE = "~/.config", ("deniable", "trusted.json")
_GIVE_KEYS = f"give a trust file with --keys FILE, name one in {KEYS_VARIABLE}, or put one at {{own}}"
KEYS_HELP = f"the trusted keys (default: {KEYS_VARIABLE}, otherwise {CONFIGURATION}/{'/'.join(_TRUST_FILE)})"
RELEASE_HELP = "the release folder"


class Unreadable(Exception):
    """A named file or folder cannot be read."""


def of_unreadable(folder: str, error: OSError) -> str:
    """The sentence about a release folder, or a file in it, that cannot be read."""
    elsewhere = error.filename is not None and os.fspath(error.filename) != folder
    reason = f"{error.strerror or error}{f', {error.filename}' if elsewhere else ''}"
    return f"a release must be a readable folder, got {folder} ({reason}); name another."


def trusted(asked: argparse.Namespace) -> Any:
    """The trusted keys: those named, otherwise the user's own; never any found in the current folder."""
    from deniable.record.trust import TrustedKeys  # noqa: PLC0415
    from deniable.verification.release import Trust  # noqa: PLC0415 - as above

    own, named = _own_trust_file(), os.environ.get(KEYS_VARIABLE)
    if asked.keys is not None:
        path, found = asked.keys, f"as given, {asked.keys}"
    elif named:
        path = os.path.expanduser(named)  # noqa: PTH111
        found = f"named by {KEYS_VARIABLE}, {path}"
        if not os.path.isabs(path):  # noqa: PTH117
            raise Unreadable(f"{KEYS_VARIABLE} must be an absolute path, got {named}; or give a file with --keys.")
    elif os.path.isfile(own):  # noqa: PTH113
        path, found = own, f"of your own configuration, {own}"
    else:
        return Trust(None, _GIVE_KEYS.format(own=own))
    try:
        # Clocks differ, but not by a day.
        latest = f"{datetime.now(UTC) + timedelta(days=1):%Y-%m-%dT%H:%M:%SZ}"
        return Trust(TrustedKeys.from_text(content(path, "the trust file").decode()), found, latest)
    except UnicodeDecodeError:
        raise Unreadable(f"the trust file must be one that keys export wrote, got {path}, not a text.") from None
    except InvalidInput as error:
        raise Unreadable(f"the trust file must be one that keys export wrote, got {path}: {error}") from None


def today() -> str:
    """The current day in Coordinated Universal Time, such as 2026-11-20, by this machine's clock."""
    return f"{datetime.now(UTC):%Y-%m-%d}"


def day_of(seconds: int) -> str:
    """The day of a time in seconds since 1970, such as `on 2026-11-20`; the number itself if there is no such day."""
    try:
        return f"on {datetime.fromtimestamp(seconds, UTC):%Y-%m-%d}"
    except (OverflowError, ValueError, OSError):
        return f"at {seconds}"


def seconds_now() -> int:
    """The time of this machine's clock, in seconds since 1970 in Coordinated Universal Time."""
    return int(datetime.now(UTC).timestamp())


def _own_trust_file() -> str:
    """The path of the user's own trust file."""
    return os.path.join(configuration(), *_TRUST_FILE)  # noqa: PTH118


def configuration() -> str:
    """The folder of the user's configuration; a relative path is ignored, as the XDG specification requires."""
    folder = os.environ.get(CONFIGURATION_VARIABLE, "")
    return folder if os.path.isabs(folder) else os.path.expanduser(CONFIGURATION)  # noqa: PTH111, PTH117


def lines_of(path: str, what: str) -> list[str]:
    """Return the lines of a file.

    Args:
        path: the file.
        what: what it is, for messages.

    Raises:
        Unreadable: it cannot be read.
    """
    try:
        # Entries are separated by \n only: their text may contain other line terminators.
        lines = content(path, what).decode().removesuffix("\n").split("\n")
    except UnicodeDecodeError as error:
        raise Unreadable(f"{what} must be a readable file, got {path}: {error}; name another.") from None
    return lines if lines != [""] else []


def content(path: str, what: str) -> bytes:
    """Return the content of a file; the arguments are those of `lines_of`.

    Raises:
        Unreadable: it cannot be read, or is too large.
    """
    try:
        with open_regular(path) as file:
            content = file.read(_LARGEST_FILE + 1)
    except OSError as error:
        raise Unreadable(f"{what} must be a readable file, got {path}: {error}; name another.") from None
    if len(content) > _LARGEST_FILE:
        raise Unreadable(f"{what} must have at most {_LARGEST_FILE:,} bytes, got {path}, which has more.")
    return content


def write(path: str, text: str) -> None:
    """Write a text to a file.

    Raises:
        Unreadable: it cannot be written.
    """
    try:
        with open(path, "w", encoding="utf-8", newline="") as file:  # noqa: PTH123
            file.write(text)
    except OSError as error:
        raise Unreadable(f"the file must be writable, got {path}: {error.strerror}; name another.") from None


def replace_file(path: str, text: str) -> None:
    """Replace a file by a text, completely or not at all.

    Raises:
        Unreadable: it cannot be written.
    """
    beside = f"{path}.new"
    try:
        with open(beside, "w", encoding="utf-8", newline="") as file:  # noqa: PTH123
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)  # noqa: PTH105
    except OSError as error:
        raise Unreadable(f"the file must be writable, got {path}: {error.strerror}; name another.") from None


def write_new_secret(path: str, text: str) -> None:
    """Write a text to a new file that only its owner can read; its folder is made if need be.

    Raises:
        Unreadable: it cannot be written, or is there already.
    """
    try:
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)  # noqa: PTH103, PTH120
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:  # noqa: PTH123
            file.write(text)
    except OSError as error:
        raise Unreadable(f"the file must be writable and new, got {path}: {error.strerror}; name another.") from None


@contextmanager
def one_at_a_time(folder: str) -> Iterator[None]:
    """Refuse to work in a folder while another process does the same there; the folder is made if need be.

    Raises:
        Unreadable: another process is at work, or the folder cannot be written to.
    """
    lock = os.path.join(folder, ".lock")  # noqa: PTH118
    try:
        os.makedirs(folder, exist_ok=True)  # noqa: PTH103
        os.close(os.open(lock, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        raise Unreadable(
            f"only one command at a time may work in {folder}; wait, or remove {lock} if none does."
        ) from None
    except OSError as error:
        raise Unreadable(f"the folder must be writable, got {folder}: {error.strerror}; name another.") from None
    try:
        yield
    finally:
        os.unlink(lock)  # noqa: PTH108


def say(lines: Sequence[str], *, holds: bool) -> int:
    """Print the findings of a check, and return its exit status."""
    show(map(printable, lines))
    return HOLDS if holds else DOES_NOT_HOLD
