"""The templates that learners and samplers provide, each under the name of its folder."""

from pathlib import Path

from jinja2 import BaseLoader, FileSystemLoader, PrefixLoader

from deniable import learners, samplers


def words_of_mechanisms() -> BaseLoader:
    """Return the loader of these templates."""
    rooms = {"learners": learners, "samplers": samplers}
    return PrefixLoader({name: FileSystemLoader(Path(room.__path__[0])) for name, room in rooms.items()})
