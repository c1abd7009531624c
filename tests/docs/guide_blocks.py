"""The executable blocks of a documentation page, and the output that they must print."""

import doctest
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from markdown_it import MarkdownIt

_CHECKER = doctest.OutputChecker()
_LENIENT = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
_DIRECTIVE = "% "


@dataclass(frozen=True)
class Command:
    """One command of a console block.

    Attributes:
        line: its number in the page, from 1.
        text: the text for the shell.
        output: the expected output, with `...` for anything; empty if it need only succeed.
    """

    line: int
    text: str
    output: str

    def is_printed(self, text: str) -> bool:
        """Whether a text is the expected output."""
        return not self.output or _CHECKER.check_output(self.output, text.rstrip("\n") + "\n", _LENIENT)


def directives(page: Path) -> dict[str, str]:
    """Return the directives for tests in the first lines of a page: `starts with`, `run`."""
    lines = page.read_text(encoding="utf-8").splitlines()
    return dict(line.removeprefix(_DIRECTIVE).split(": ", 1) for line in lines[:3] if line.startswith(_DIRECTIVE))


def commands(page: Path) -> list[Command]:
    """Return the commands of a page in order."""
    return [command for line, text in _fenced(page, "console") for command in _commands(line, text)]


def programs(page: Path) -> list[str]:
    """Return the Python blocks of a page in order."""
    return [text for _, text in _fenced(page, "python")]


def _fenced(page: Path, language: str) -> Iterator[tuple[int, str]]:
    for token in MarkdownIt().parse(page.read_text(encoding="utf-8")):
        if token.type == "fence" and token.info.strip() == language and token.map is not None:
            yield token.map[0] + 2, token.content


def _commands(first: int, text: str) -> Iterator[Command]:
    asked: list[str] = []
    output: list[str] = []
    begun = first
    lines = text.splitlines()
    for number, line in enumerate(lines):
        continued = bool(asked) and not output and asked[-1].endswith("\\")
        if line.startswith("$ "):
            if asked:
                yield Command(begun, "\n".join(asked), _ended(output))
            asked, output, begun = [line.removeprefix("$ ")], [], first + number
        elif continued:
            asked.append(line.removeprefix("> "))
        else:
            output.append(line)
    if asked:
        yield Command(begun, "\n".join(asked), _ended(output))


def _ended(output: list[str]) -> str:
    return "\n".join(output) + "\n" if output else ""
