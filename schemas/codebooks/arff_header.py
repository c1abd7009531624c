"""Headers of ARFF files: the lines before `@data`, where the records begin and reading ends."""

import re
from collections.abc import Iterable

from schemas.codebooks.codebook import Codebook, Entry, Kind, Variable, one_line

_ATTRIBUTE = re.compile(
    r"""^@attribute\s+(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|(\S+))\s+(.*)$""", re.IGNORECASE | re.DOTALL
)
_VALUE = re.compile(r"""\s*(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|([^,]*))\s*(?:,|$)""", re.DOTALL)
_KINDS: dict[str, tuple[Kind, bool | None]] = {
    "numeric": ("numeric", None),
    "real": ("numeric", False),
    "integer": ("numeric", True),
    "string": ("text", None),
    "date": ("date", None),
}


def header_of(lines: Iterable[str]) -> str:
    """The lines before `@data`; no later line is read.

    Args:
        lines: lines of the file, in order.
    """
    header = []
    for line in lines:
        if line.strip().lower().startswith("@data"):
            break
        header.append(line)
    return "".join(header)


def read_arff(text: str) -> Codebook:
    """Read the header of an ARFF file.

    Args:
        text: its lines before `@data`.
    """
    codebook = Codebook()
    for number_of, line in enumerate(text.splitlines(), 1):
        stated = line.strip()
        if not stated.lower().startswith("@attribute"):
            continue
        found = _ATTRIBUTE.match(stated)
        if found is None:
            codebook.faults.append(f"line {number_of}: an attribute must have a name and a type; correct it.")
            continue
        name = one_line(_unquoted(found[1] or found[2]) if found[3] is None else found[3])
        codebook.add(_variable(name, found[4].strip(), number_of, codebook), f"line {number_of}")
    if not codebook.variables and not codebook.faults:
        codebook.faults.append("the header of an ARFF file must have attributes, got none; check that it is one.")
    return codebook


def _variable(name: str, type_: str, line: int, codebook: Codebook) -> Variable:
    if type_.startswith("{"):
        inside, closed, _ = type_[1:].rpartition("}")
        if not closed:
            codebook.faults.append(f"line {line}: the values of {name} must end with a brace, and do not; close it.")
            inside = type_[1:]
        return Variable(name=name, kind="nominal", entries=tuple(_values(inside)), missing=("?",))
    word, _, rest = type_.partition(" ")
    if word.lower() not in _KINDS:
        codebook.faults.append(
            f"line {line}: the type of {name} must be {', '.join(_KINDS)} or values in braces, got {one_line(word)}; "
            f"correct it."
        )
        return Variable(name=name, kind="text")
    kind, whole = _KINDS[word.lower()]
    pattern = _strptime(rest.strip().strip("\"'")) if kind == "date" else None
    return Variable(name=name, kind=kind, whole=whole, missing=("?",), pattern=pattern)


def _values(inside: str) -> list[Entry]:
    entries, place = [], 0
    while place < len(inside):
        found = _VALUE.match(inside, place)
        if found is None or found.end() == place:
            break
        quoted = found[1] if found[1] is not None else found[2]
        value = found[3].strip() if quoted is None else _unquoted(quoted)
        if value or quoted is not None:
            entries.append(Entry(value=value))
        place = found.end()
    return entries


def _unquoted(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text)


def _strptime(java: str) -> str | None:
    """A date format of Java in the notation of `strptime`; None if there is none."""
    parts = (("yyyy", "%Y"), ("MM", "%m"), ("dd", "%d"), ("HH", "%H"), ("mm", "%M"), ("ss", "%S"))
    for theirs, ours in parts:
        java = java.replace(theirs, ours)
    return java.replace("'", "") if "%" in java else None
