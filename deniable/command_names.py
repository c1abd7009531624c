"""Commands as a message names them: in words that the reader can type.

Messages and pages name a command by `command_line`, never by hand: tests look up every name in the registries.
"""

_SCRIPT = "deniable"
_typed = [_SCRIPT]


def command_line(name: str) -> str:
    """Return a command as it is typed, such as `deniable keys rotate` for `keys rotate`.

    Args:
        name: the group and the command, and what follows them.
    """
    return f"{_typed[0]} {name}"


def name_commands(script: str = _SCRIPT) -> None:
    """Set how commands begin in this process's messages.

    Args:
        script: the script as the user types it, such as `.venv/bin/deniable`.
    """
    _typed[0] = script
