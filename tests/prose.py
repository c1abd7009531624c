"""Checks the language of documentation, pages and messages: `python -m tests.prose` lists departures from the style.

Proselint reads Markdown, templates, the descriptions of the record's schema, the help of the Makefile, and docstrings
and messages of the packages. `docs/vocabulary.yaml` lists the words that this project avoids, with their replacements,
and the checks of proselint that it omits.
"""

import ast
import json
import re
import subprocess
import sys
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from proselint.checks import __register__ as standard
from proselint.config import DEFAULT, Config
from proselint.registry import CheckRegistry
from proselint.registry.checks import Check, Padding
from proselint.registry.checks.types import PreferredForms
from proselint.tools import LintFile
from ruamel.yaml import YAML

ROOT = Path(__file__).resolve().parents[1]
VOCABULARY = ROOT / "docs" / "vocabulary.yaml"
PACKAGES = ("deniable", "schemas", "stores", "reports", "tasks", "infra", "flows", "papers", "examples")
_HOUSE = "house"

_FENCED = re.compile(r"^ *(`{3,})[^\n]*\n.*?^ *\1`*$", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`[^`]+`")
_MATHEMATICS = re.compile(r"\$\$.*?\$\$|\$[^$\n]+\$", re.DOTALL)
_TARGET = re.compile(r"\]\([^)\s]+\)")
_LOGIC = re.compile(r"\{#.*?#\}|\{%.*?%\}|\{\{.*?\}\}", re.DOTALL)
_NOT_READ = re.compile(r"<(script|style|svg)\b.*?</\1>|<[^>]*>", re.DOTALL)
_HELP = re.compile(r"^[a-z-]+:.*?## (.*)$", re.MULTILINE)
# Names of arguments and attributes in a docstring.
_PARAMETER = re.compile(r"^ +\w+: ", re.MULTILINE)
# Strings that are not sentences: names, paths, formats, patterns.
_SENTENCE = re.compile(r"[A-Za-z]{2,}[,;:]? [a-z]+")


@dataclass(frozen=True)
class Fault:
    """One departure from the house style.

    Attributes:
        file: path within the project.
        line: line of the file, from 1.
        message: the fault, and what to write instead.
    """

    file: str
    line: int
    message: str

    def __str__(self) -> str:
        """Return the fault in the form of other linters."""
        return f"{self.file}:{self.line}: {self.message}"


Piece = tuple[int, str]
"""A text and the line that it begins in."""


def faults(root: Path = ROOT) -> Iterator[Fault]:
    """Yield the departures in all files of a checkout that people read."""
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=root, capture_output=True, check=True)
    for name in sorted(listed.stdout.decode().split("\n")):
        read = reader(name)
        if read is not None and (root / name).is_file():
            yield from faults_of(name, read((root / name).read_text(encoding="utf-8")))


def reader(name: str) -> Callable[[str], list[Piece]] | None:
    """Return the function that extracts a file's prose; None if the file is not checked."""
    if name.endswith(".md"):
        return markdown
    if name.endswith(".jinja"):
        return template
    if name.endswith(".schema.json"):
        return descriptions
    if name == "Makefile":
        return helps
    return messages if name.endswith(".py") and name.split("/", maxsplit=1)[0] in PACKAGES else None


def faults_of(name: str, pieces: list[Piece]) -> Iterator[Fault]:
    """Yield the departures in one file's pieces, which are checked together."""
    if not pieces:
        return
    starts, lines, text = [], [], ""
    for line, piece in pieces:
        starts.append(len(text))
        lines.append(line)
        text += piece + "\n\n"
    for kept in _house()["kept"]:
        text = text.replace(kept, "x" * len(kept))
    for found in LintFile(name, text).lint(settings()):
        first, end = (position - 1 for position in found.check_result.span)
        # Headings, cells and template marks separate words that seem to be repeated.
        if re.search(r"\s{2}", text[first:end].strip()):
            continue
        which = bisect_right(starts, max(first, 0)) - 1
        line = lines[which] + text.count("\n", starts[which], first + 1)
        yield Fault(name, line, f"{found.check_result.message} ({found.check_result.check_path})")


def markdown(text: str) -> list[Piece]:
    """Return Markdown without code, formulas and addresses."""
    return [(1, _plain(_blank(_FENCED, text)))]


def template(text: str) -> list[Piece]:
    """Return a template without its logic and its marks."""
    return [(1, _plain(_blank(_NOT_READ, _blank(_LOGIC, text))))]


def descriptions(text: str) -> list[Piece]:
    """Return the descriptions of a JSON Schema."""
    found: list[str] = []

    def look(value: Any) -> None:
        if isinstance(value, dict):
            found.extend(inner for key, inner in value.items() if key == "description" and isinstance(inner, str))
        for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
            look(inner)

    look(json.loads(text))
    return [(text.count("\n", 0, text.find(json.dumps(each)[1:40])) + 1, _plain(each)) for each in found]


def helps(text: str) -> list[Piece]:
    """Return the help of a Makefile's targets."""
    return [(text.count("\n", 0, found.start()) + 1, _plain(found[1])) for found in _HELP.finditer(text)]


def messages(text: str) -> list[Piece]:
    """Return all sentences in a module's strings: docstrings, messages, help."""
    found: list[Piece] = []

    def look(node: ast.AST) -> None:
        if isinstance(node, ast.JoinedStr):
            parts = [part.value if isinstance(part, ast.Constant) else "`x`" for part in node.values]
            found.append((node.lineno, "".join(map(str, parts))))
            for part in node.values:
                if isinstance(part, ast.FormattedValue):
                    look(part)
            return
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.append((node.lineno, node.value))
        for child in ast.iter_child_nodes(node):
            look(child)

    look(ast.parse(text))
    return [(line, _plain(_PARAMETER.sub("", piece))) for line, piece in found if _is_prose(piece)]


def _is_prose(text: str) -> bool:
    """Whether a string is a sentence rather than a name, a pattern or an element of a page."""
    return _SENTENCE.search(text) is not None and not text.lstrip().startswith("<")


def _plain(text: str) -> str:
    """Return a text in which code, formulas and addresses are replaced by one distinct word each."""
    numbers = iter(range(sys.maxsize))
    for pattern, word in ((_CODE, "code{}"), (_MATHEMATICS, "formula{}"), (_TARGET, "]")):

        def number(found: re.Match[str], word: str = word) -> str:
            return word.format(next(numbers)) + "\n" * found[0].count("\n")

        text = pattern.sub(number, text)
    return text


def _blank(pattern: re.Pattern[str], text: str) -> str:
    return pattern.sub(lambda found: "\n" * found[0].count("\n") or " ", text)


@cache
def _house() -> dict[str, Any]:
    """Return the vocabulary."""
    return dict(YAML(typ="safe").load(VOCABULARY))


@cache
def settings() -> Config:
    """Register the house's words in addition to proselint's checks, and return the settings."""
    house = _house()
    words = {pattern: preferred for each in house["words"] for pattern, preferred in each.items()}
    ours = Check(
        check_type=PreferredForms(items=words, padding=Padding.WORDS_IN_TEXT),
        path=_HOUSE,
        message="Write {!r} instead of {!r}.",
    )
    CheckRegistry().register_many((*standard, ours))
    left_out = dict.fromkeys(house["left_out"], False)
    checks = {**left_out, **DEFAULT["checks"], **left_out, _HOUSE: True}
    by_depth = sorted(checks.items(), key=lambda item: item[0].count("."), reverse=True)
    return {"max_errors": sys.maxsize, "checks": dict(by_depth)}


if __name__ == "__main__":
    found = list(faults())
    print(*found, sep="\n", end="\n" if found else "")
    sys.exit(f"{len(found)} departures from the house style; docs/vocabulary.yaml lists its words." if found else 0)
