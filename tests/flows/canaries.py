"""Canaries: values that occur in only one person's record, and are searched for where they must not be."""

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.small_release import NAMES, made_up_people, write_small_release
from tests.unpacked import files_below, unpacked

WORD = "canary-quetzalcoatl"
NUMBER = 48_151_623
NAME = "canary-xochiquetzal"
CANARIES = (WORD, str(NUMBER), NAME)

_FORMS = {
    WORD: [WORD.encode()],
    NAME: [NAME.encode()],
    str(NUMBER): [
        str(NUMBER).encode(),
        f"{NUMBER:,}".encode(),
        # In the form used by databases and arrays.
        *(struct.pack(form, NUMBER) for form in ("<q", ">q", "<d", ">d")),
    ],
}


def people_with_canaries() -> list[list[str]]:
    """Return two invalid records with canaries, and in every record a name, which no schema reads."""
    people = [[*person, f"{NAME}-{number}"] for number, person in enumerate(made_up_people())]
    people[17][NAMES.index("school")] = WORD
    people[23][NAMES.index("age")] = str(NUMBER)
    return people


def write_release_with_canaries(folder: Path, **changes: Any) -> Path:
    """Write the small release with canaries in its table, and return the path of its spec."""
    return write_small_release(folder, people=people_with_canaries(), names=[*NAMES, "name"], **changes)


def canaries_in(content: bytes) -> Iterator[str]:
    """Yield the canaries in a file, however it is packed."""
    texts = list(unpacked(content))
    yield from (name for name, forms in _FORMS.items() if any(form in text for text in texts for form in forms))


def files_with_canaries(*folders: Path) -> dict[str, set[str]]:
    """Return the canaries found in each file of some folders."""
    found = {str(path): set(canaries_in(path.read_bytes())) for path in files_below(*folders)}
    return {path: names for path, names in found.items() if names}
