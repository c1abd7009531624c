"""The pages of help: the groups, and the commands of a group. Each fits a screen of 80 columns and 24 lines."""

from collections.abc import Iterator, Mapping, Sequence

from deniable.cli.contract import Line
from deniable.cli.registry import GROUPS


def first_page(lines: Sequence[Line]) -> Iterator[str]:
    """Yield the page of `deniable --help`.

    Args:
        lines: the commands of this installation.
    """
    here = {line.group for line in lines}
    yield "usage: deniable GROUP COMMAND ..."
    yield ""
    yield "Make synthetic tables of people under differential privacy, and check them."
    yield ""
    yield from _table({group: what for group, what in GROUPS.items() if group in here})
    yield ""
    yield "deniable GROUP --help lists the commands of a group."
    if here != set(GROUPS):
        others = ", ".join(group for group in GROUPS if group not in here)
        yield f"The project's checkout also has: {others}."


def group_page(group: str, lines: Sequence[Line]) -> Iterator[str]:
    """Yield the page of `deniable GROUP --help`.

    Args:
        group: the group.
        lines: the commands of this installation.
    """
    yield f"usage: deniable {group} COMMAND ..."
    yield f"{GROUPS[group].capitalize() if GROUPS[group][0].islower() else GROUPS[group]}."
    yield ""
    yield from _table({line.word: line.help for line in lines if line.group == group})
    yield ""
    yield f"deniable {group} COMMAND --help shows what a command takes."


def _table(rows: Mapping[str, str]) -> Iterator[str]:
    width = max(map(len, rows))
    return (f"  {name.ljust(width)}  {what}" for name, what in rows.items())
