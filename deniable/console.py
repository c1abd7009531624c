"""Prints lines unchanged, except that on a terminal they are broken between words.

A terminal breaks long lines within words. Output to a file or pipe has one line per finding, so that other programs
can parse it. The text itself does not belong here.
"""

import re
import shutil
import sys
import textwrap
from collections.abc import Iterable, Iterator
from io import TextIOWrapper
from typing import TextIO

_DEEPEST = 24
"""Columns beyond which a second column is too far to the right to continue below it."""

_LABEL = re.compile(r"\s*\S+(?: \S+)* {2,}(?=\S)")


def print_any_character() -> None:
    """Print characters that the locale cannot as escapes, such as in names, instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def show(lines: Iterable[str], file: TextIO | None = None) -> None:
    """Print lines.

    Args:
        lines: without line ends.
        file: the destination; standard output by default.
    """
    file = sys.stdout if file is None else file
    if file.isatty():
        lines = folded(lines, shutil.get_terminal_size().columns)
    print(*lines, sep="\n", file=file)


def folded(lines: Iterable[str], width: int) -> Iterator[str]:
    """Break lines between words; continuation lines are indented to the start of the text, after any label.

    Words longer than the width, such as addresses and digests, stay whole.

    Args:
        lines: without line ends.
        width: columns of the terminal.
    """
    for line in lines:
        if len(line) <= width:
            yield line
        else:
            yield from _wrapped(line, width)


def _wrapped(line: str, width: int) -> list[str]:
    margin = len(line) - len(line.lstrip())
    label = _LABEL.match(line)
    indent = label.end() if label is not None and label.end() <= _DEEPEST else margin + (2 if label else 0)
    return textwrap.wrap(line, width, subsequent_indent=" " * indent, break_long_words=False, break_on_hyphens=False)
