"""What commands were called before they had groups. These names are understood until version 0.2, and not listed."""

from collections.abc import Mapping, Sequence
from typing import Final

UNTIL: Final = "0.2"

FORMER: Final[Mapping[str, str]] = {
    **{name: f"release {name}" for name in ("plan", "refresh", "held", "approve", "refuse", "unfinished")},
    **{name: f"release {name}" for name in ("discard", "new", "find", "runs", "compare")},
    **{name: f"servers {name}" for name in ("ui", "stack", "worker", "watch", "prefect", "cluster", "deploy")},
    **{name: f"servers {name}" for name in ("backup", "restore")},
    **{name: f"audit {name}" for name in ("replay", "verify", "record", "summary")},
    **{name: f"data {name}" for name in ("infer", "posterior", "combine", "from-measurements", "respond", "survey")},
    "verify-ledger": "audit ledger",
    "select": "mechanisms select",
    "schema": "table",
    "ledger policy": "budget set",
    "ledger": "budget",
}

# Groups that were commands, and the command that each was.
_GROUPS_NOW: Final = {"release": "make", "audit": "release"}


def renamed(words: Sequence[str], names: Sequence[str]) -> list[str]:
    """Return the words of a command, by the names of today.

    Args:
        words: what was typed.
        names: names of commands, such as `release plan`.
    """
    first, second = (*words, "", "")[:2]
    if f"{first} {second}" in FORMER:
        return [*FORMER[f"{first} {second}"].split(), *words[2:]]
    if first in FORMER:
        return [*FORMER[first].split(), *words[1:]]
    if first in _GROUPS_NOW and f"{first} {second}" not in names and _is_no_command(second):
        return [first, _GROUPS_NOW[first], *words[1:]]
    return list(words)


def _is_no_command(word: str) -> bool:
    """Whether a word is an option, a path, or the name of a release."""
    # No name of a command has a dot, a slash or a digit.
    if word in ("", "-h", "--help"):
        return False
    return word.startswith("-") or any(each in "./" or each.isdigit() for each in word)
