"""The file of a secret that is made once: whole or not at all, for its owner alone, and never overwritten."""

import os
from contextlib import suppress
from pathlib import Path
from tempfile import NamedTemporaryFile

from stores.vault.disk import flush_to_disk


def make_once(place: Path, secret: bytes) -> None:
    """Write a secret into a file, unless there is one; of two processes that do so at once, one has its way.

    Raises:
        OSError: the folder cannot be written to.
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
