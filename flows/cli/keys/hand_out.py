"""Sentences about the trust file, which auditors need."""

from pathlib import Path

from deniable.command_names import command_line


def hand_out() -> str:
    """Return what to do with a new trust file."""
    return f"Give auditors the new trust file: {command_line('keys export FILE')}."


def no_key(place: Path) -> str:
    """Return that there is no trust file, and what makes one.

    Args:
        place: where it would be.
    """
    new = command_line("keys new --owner NAME")
    return f"no trusted key at {place}; {new} makes one, and so does the first release of a state folder."
