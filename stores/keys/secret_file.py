"""The file of a secret that is created once: completely or not at all, for its owner alone, never overwritten."""

import os
from contextlib import suppress
from pathlib import Path
from tempfile import NamedTemporaryFile

from stores.vault.disk import flush_to_disk


def make_once(place: Path, secret: bytes) -> None:
    """Write a secret to a file, unless it exists; if two processes do so at the same time, one of them wins.

    Raises:
        OSError: the folder is not writable.
    """
    with NamedTemporaryFile(dir=place.parent, prefix=f".{place.name}.", delete=False) as file:
        temporary = Path(file.name)
        try:
            file.write(secret)
            file.flush()
            os.fsync(file.fileno())
            with suppress(FileExistsError):
                place.hardlink_to(temporary)
        finally:
            temporary.unlink()
    flush_to_disk(place.parent)
