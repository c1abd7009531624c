"""Labels and positions as SPSS and Stata write them: `VARIABLE LABELS`, `DATA LIST`; `label define`, `infix` and so on.

Only these commands are read; nothing is executed.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from schemas.codebooks.codebook import Codebook, Entry, Place, Variable, one_line
from schemas.codebooks.value_lists import number

_TOKEN = re.compile(r"""'((?:[^']|'')*)'|"((?:[^"]|"")*)"|([()/,=])|([^\s()/,='"]+)""")
_SPSS_COMMAND = re.compile(
    r"^\s*(variable\s+labels?|value\s+labels?|add\s+value\s+labels?|missing\s+values?|data\s+list)\b", re.IGNORECASE
)
_DATA_LIST = re.compile(r"([A-Za-z@#$][\w.@#$]*)\s+(\d+)(?:\s*-\s*(\d+))?(?:\s*\(([^)]*)\))?")
_INFIX = re.compile(r"^\s*(?:qui(?:e|et|etl|etly)?\s+)?infix\b(.*)$", re.IGNORECASE | re.DOTALL)
_IN_INFIX = re.compile(r"([A-Za-z_]\w*)\s+(\d+)(?:\s*-\s*(\d+))?(?![\w:])")
_IN_DICTIONARY = re.compile(
    r"""_column\s*\(\s*(\d+)\s*\)\s+(?:[a-z]+\d*\s+)?([A-Za-z_]\w*)\s+%(\d+)(?:\.(\d+))?[a-z](?:[^\S\n]+"([^"\n]*)")?""",
    re.IGNORECASE,
)
_SCALED = re.compile(r"^\s*replace\s+(\w+)\s*=\s*(\w+)\s*/\s*(10*)\s*$", re.IGNORECASE)
_STATA = re.compile(
    r"""^\s*la(?:b|be|bel)?\s+(var(?:iable|iabl|iab|ia|i)?|de(?:fine|fin|fi|f)?|val(?:ues|ue|u)?)\s+(.*)$""",
    re.IGNORECASE | re.DOTALL,
)
_LOW = {"lo", "low", "lowest"}
_HIGH = {"hi", "high", "highest"}
_OPTIONS = {"add", "modify", "replace", "nofix"}


@dataclass
class _Labels:
    """The content of the commands."""

    variables: dict[str, str] = field(default_factory=dict)
    values: dict[str, dict[str, str]] = field(default_factory=dict)
    missing: dict[str, list[str]] = field(default_factory=dict)
    open_ended: list[str] = field(default_factory=list)
    places: dict[str, Place] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)

    def codebook(self) -> Codebook:
        """The codebook that follows from the labels."""
        codebook = Codebook(faults=list(self.faults))
        for name in dict.fromkeys([*self.places, *self.variables, *self.values, *self.missing]):
            codes = self.missing.get(name, [])
            codebook.add(
                Variable(
                    name=one_line(name),
                    label=one_line(self.variables.get(name, "")),
                    entries=tuple(
                        Entry(value=value, label=_own_label(value, label))
                        for value, label in self.values.get(name, {}).items()
                        if value not in codes
                    ),
                    missing=tuple(codes),
                    place=self.places.get(name),
                ),
                f"variable {one_line(name)}",
            )
        for name in self.open_ended:
            codebook.faults.append(
                f"the missing values of {one_line(name)} must be listed one by one, got a range; list them."
            )
        if not codebook.variables:
            codebook.faults.append(
                "a file of labels must have commands such as VALUE LABELS or label define, got none; export it again."
            )
        return codebook


def read_spss(text: str) -> Codebook:
    """Read labels in the syntax of SPSS.

    Args:
        text: commands, each terminated by a full stop at the end of a line or by an empty line.
    """
    labels = _Labels()
    for command in _spss_commands(text):
        found = _SPSS_COMMAND.match(command)
        if found is None:
            continue
        word = " ".join(found[1].lower().split())
        if word == "data list":
            _data_list(command[found.end() :], labels)
            continue
        tokens = list(_tokens(command[found.end() :]))
        if word.startswith("variable"):
            _variable_labels(tokens, labels)
        elif word.startswith("missing"):
            _missing_values(tokens, labels)
        else:
            _value_labels(tokens, labels)
    return labels.codebook()


def read_stata(text: str) -> Codebook:
    """Read labels in the syntax of Stata.

    Args:
        text: commands, each on a line, or ended by a semicolon after `#delimit ;`; `///` continues a line.
    """
    labels = _Labels()
    sets: dict[str, dict[str, str]] = {}
    attached: dict[str, str] = {}
    # Compound quotes.
    text = text.replace('`"', '"').replace("\"'", '"')
    _positions(text, labels)
    for command in _stata_commands(text):
        found = _STATA.match(command)
        if found is None:
            continue
        word, tokens = found[1].lower(), [text for text, _ in _tokens(found[2])]
        if word.startswith("var") and len(tokens) >= 2:
            labels.variables[tokens[0]] = tokens[1]
        elif word.startswith("de") and tokens:
            values = sets.setdefault(tokens[0], {})
            rest = [token for token in tokens[1:] if token not in {",", *_OPTIONS}]
            values.update(zip(rest[::2], rest[1::2], strict=False))
        elif word.startswith("val") and len(tokens) >= 2:
            rest = [token for token in tokens if token not in {",", *_OPTIONS}]
            attached |= dict.fromkeys(rest[:-1], rest[-1])
    for variable, name in attached.items():
        if name in sets:
            labels.values[variable] = sets[name]
            # Extended missing values of Stata.
            labels.missing[variable] = [value for value in sets[name] if value.startswith(".")]
    return labels.codebook()


def _data_list(text: str, labels: _Labels) -> None:
    """Names of variables with their positions, and in brackets a format, or a number of implied decimals."""
    _, _, listed = re.sub(r"'[^']*'|\"[^\"]*\"", " ", text).partition("/")
    if "/" in listed:
        labels.faults.append("DATA LIST must state one line for each record, got several; read such a table with SPSS.")
    for name, first, last, form in _DATA_LIST.findall(listed):
        decimals = re.fullmatch(r"\s*(?:[A-Za-z]+\s*,\s*)?(\d+)\s*", form)
        place = Place(int(first), int(last or first) - int(first) + 1, int(decimals[1]) if decimals else 0)
        labels.places[name] = place


def _positions(text: str, labels: _Labels) -> None:
    """Positions in a dictionary or in the command infix, and implied decimals, which later commands divide by."""
    for start, name, width, decimals, label in _IN_DICTIONARY.findall(text):
        labels.places[name] = Place(int(start), int(width), int(decimals or 0))
        labels.variables |= {name: label} if label else {}
    for command in _stata_commands(text):
        if infix := _INFIX.match(command):
            _infix(infix[1], labels)
        elif (scaled := _SCALED.match(command)) and scaled[1] == scaled[2] and scaled[1] in labels.places:
            labels.places[scaled[1]] = replace(labels.places[scaled[1]], decimals=len(scaled[3]) - 1)


def _infix(text: str, labels: _Labels) -> None:
    """Names of variables with their positions, after their types."""
    listed = re.split(r"\busing\b", text, maxsplit=1)[0]
    if re.search(r"(^|\s)([2-9]|1\d+):|(^|\s)[2-9]\d*\s+lines\b|/", listed):
        labels.faults.append("infix must state one line for each record, got several; read such a table with Stata.")
    for name, first, last in _IN_INFIX.findall(listed):
        labels.places[name] = Place(int(first), int(last or first) - int(first) + 1)


def _spss_commands(text: str) -> Iterator[str]:
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.DOTALL)
    held: list[str] = []
    for line in text.splitlines():
        if not held and line.lstrip().startswith("*"):
            continue
        # A new command begins at the margin even if the last has no full stop.
        begins = _SPSS_COMMAND.match(line) is not None and not line.startswith((" ", "\t"))
        if begins and held:
            yield "\n".join(held)
            held = []
        ended = line.rstrip().endswith(".")
        held.append(line.rstrip()[:-1] if ended else line)
        if ended or not line.strip():
            yield "\n".join(held)
            held = []
    yield "\n".join(held)


def _stata_commands(text: str) -> Iterator[str]:
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.DOTALL)
    text = re.sub(r"[ \t]///[^\n]*\n", " ", text)
    by_semicolon, held = False, ""
    for line in text.splitlines():
        if found := re.match(r"\s*#d(?:e|el|eli|elim|elimi|elimit)?\s+(;|cr)", line, re.IGNORECASE):
            yield held
            by_semicolon, held = found[1] == ";", ""
            continue
        if by_semicolon:
            held += line + "\n"
            while (end := _semicolon(held)) >= 0:
                yield held[:end]
                held = held[end + 1 :]
        elif not line.lstrip().startswith("*"):
            # A list of values continues over lines that begin with a value.
            if held and re.match(r"""\s*-?\d+\s+["']""", line):
                held += " " + line
            else:
                yield held
                held = line
    yield held


def _semicolon(text: str) -> int:
    """Index of the first semicolon outside quotes; -1 if there is none."""
    quoted = ""
    for place, each in enumerate(text):
        if quoted:
            quoted = "" if each == quoted else quoted
        elif each == '"':
            quoted = each
        elif each == ";":
            return place
    return -1


def _tokens(text: str) -> Iterator[tuple[str, bool]]:
    """Words, marks and quoted texts, each with whether it was quoted."""
    for found in _TOKEN.finditer(text):
        if found[1] is not None:
            yield found[1].replace("''", "'"), True
        elif found[2] is not None:
            yield found[2].replace('""', '"'), True
        else:
            yield found[3] or found[4], False


def _variable_labels(tokens: list[tuple[str, bool]], labels: _Labels) -> None:
    name = None
    for text, quoted in tokens:
        if quoted and name is not None:
            labels.variables[name] = text
            name = None
        elif not quoted and text not in "/,=()":
            name = text


def _value_labels(tokens: list[tuple[str, bool]], labels: _Labels) -> None:
    """Names of variables, then pairs of a value and its label; a slash begins the next variables."""
    names: list[str] = []
    value: str | None = None
    for text, quoted in tokens:
        if not quoted and text == "/":
            names, value = [], None
            continue
        if not quoted and text in {",", "=", "(", ")"}:
            continue
        if value is not None:
            if quoted:
                for name in names:
                    labels.values.setdefault(name, {})[value] = text
            value = None
        elif quoted or (names and number(text) is not None):
            value = text
        else:
            names.append(text)


def _missing_values(tokens: list[tuple[str, bool]], labels: _Labels) -> None:
    """Names of variables, then their codes in brackets."""
    names: list[str] = []
    codes: list[str] | None = None
    through = False
    for text, quoted in tokens:
        if not quoted and text == "(":
            codes = []
        elif not quoted and text == ")":
            for name in names:
                labels.missing[name] = codes or []
            names, codes, through = [], None, False
        elif codes is None:
            if text not in {"/", ","}:
                names.append(text)
        elif text.lower() in {"thru", *_LOW, *_HIGH} and not quoted:
            through = True
            labels.open_ended += [name for name in names if name not in labels.open_ended]
        elif text != "," and not through:
            codes.append(text)


def _own_label(value: str, label: str) -> str:
    """A label without the value that it repeats, such as `-1 INAPPLICABLE` for -1."""
    plain = one_line(label)
    return plain.removeprefix(value).strip() or plain if plain.startswith(f"{value} ") else plain
