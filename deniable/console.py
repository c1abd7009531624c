"""Lines for a person: printed as they are, and on a terminal broken between words.

A line that is wider than a terminal would break within words. What is not printed on a terminal keeps one line for each
finding, so that other programs find it. What is printed does not belong here.
"""

import re
import shutil
import sys
import textwrap
from collections.abc import Iterable, Iterator
from typing import TextIO

_DEEPEST = 24
"""Columns beyond which a second column is too far to the right to continue below it."""

_LABEL = re.compile(r"\s*\S+(?: \S+)* {2,}(?=\S)")


def show(lines: Iterable[str], file: TextIO | None = None) -> None:
    """Print lines.

    Args:
        lines: without line ends.
        file: where to; standard output unless given.
    """
    file = sys.stdout if file is None else file
    if file.isatty():
        lines = folded(lines, shutil.get_terminal_size().columns)
    print(*lines, sep="\n", file=file)


def folded(lines: Iterable[str], width: int) -> Iterator[str]:
    """Break lines between words, and continue below the text beside a label, or below the text.

    Words that are wider than the width, such as addresses and digests, stay whole.

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
