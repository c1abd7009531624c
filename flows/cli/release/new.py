"""The guided start: `deniable release new` asks what it needs, writes a schema and a spec, and offers the release.

The table itself is opened only with the user's consent: for its column names, for a check, or for the release.
"""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deniable.command_names import command_line
from deniable.foundation.errors import InvalidInput
from flows.cli.contract import StateCommand
from flows.cli.table.drafts import read_epsilon, relative_source, require_name
from flows.cli.table.questions import Questions
from schemas.codebooks.codebook import Codebook, Kind, Variable

if TYPE_CHECKING:
    from deniable.foundation.domain import Person
    from schemas.codebooks.drafting import Draft
    from schemas.codebooks.settling import LeftOut

OK = 0
_MOST_QUESTIONS = 60


def _run(asked: argparse.Namespace, state: Path) -> int:
    spec = begin_release(state)
    if spec is None:
        return OK
    from flows.cli.release.make import make_release  # noqa: PLC0415 - if it is accepted

    asked.spec, asked.new = spec, False
    return make_release(asked, state)


def begin_release(state: Path) -> Path | None:
    """Guide a person from a codebook to a release.

    Args:
        state: the state folder.

    Returns:
        The spec if the release is to run now, otherwise None.

    Raises:
        DeniableError: an answer does not fit, or the table cannot be read.
    """
    from flows.cli.planning import FITS, show_plan  # noqa: PLC0415 - here and below: only what the command needs
    from flows.cli.table.drafting import (  # noqa: PLC0415
        describes_itself,
        header_lines,
        is_file,
        places_in_lines,
        read_header_of,
        require_other,
        said_of_descriptions,
        write_draft,
    )
    from schemas.spec.release_spec import load_spec  # noqa: PLC0415

    ask = Questions()
    ask.say("A new release, from a codebook and a table. An empty line accepts the value in brackets.", "")
    name = ask.ask("Name of the release, such as hospital", _checked(require_name))
    book = _codebook(ask)

    def other(answer: str) -> str:
        if is_file(answer):
            require_other(book[1], Path(answer))
        return answer

    described = next((str(path) for path in book[1] if describes_itself(path)), f"{name}.csv")
    source = ask.ask("Where the table is, such as people.csv or people.sav", other, default=described)
    folder = Path(ask.text("Folder for the schema and the spec", default="."))
    draft, person = _draft(ask, *book)
    title = ask.text("Title, for readers of the release", default=name.replace("_", " ").replace("-", " ").capitalize())
    epsilon = ask.ask("Epsilon, the whole privacy cost of a release", read_epsilon, default="1")
    replaces = any((folder / f"{name}{suffix}").exists() for suffix in (".py", ".yaml")) and ask.yes(
        f"{folder / name}.py or .yaml is there already; replace it?", default=False
    )
    places = places_in_lines(book[0], draft, source)
    schema, spec = write_draft(
        draft,
        name=name,
        folder=folder,
        sources=[path.name for path in book[1]] or ["answers in a terminal"],
        source=relative_source(source, folder),
        epsilon=epsilon,
        title=title,
        places=places,
        person=person,
        replace=replaces,
    )
    read = list(said_of_descriptions(book[1])) or ["Nothing of the table was read."]
    ask.say("", f"Written: {schema}, {spec}. {read[0]}", *read[1:])
    if (
        is_file(source)
        and not places
        and ask.yes("Compare the column names of the table with the schema?", default=True)
    ):
        header = read_header_of(book[0], Path(source), state)
        ask.say(*header_lines(book[0], draft, Path(source), header))
    loaded = load_spec(spec)
    ask.say("")
    if is_file(source) and ask.yes("Count what does not fit? The counts are exact, for this console", default=True):
        _check(ask, spec, state)
    ask.say("")
    allowed = show_plan(loaded, state) == FITS
    ask.say("")
    if not (allowed and ask.yes("Release it now?", default=False)):
        ask.say(f"When you are ready: {command_line('release make')} {spec}")
        return None
    return spec


def _codebook(ask: Questions) -> tuple[Codebook, list[Path]]:
    """Return the codebook, from files or from answers."""
    from flows.cli.table.drafting import is_file  # noqa: PLC0415 - as above
    from schemas.codebooks.drafting import draft_of  # noqa: PLC0415
    from schemas.codebooks.reading import read_codebooks  # noqa: PLC0415

    def read(answer: str) -> tuple[Codebook, list[Path]]:
        paths = [Path(each) for each in answer.split()] if not is_file(answer) else [Path(answer)]
        if not answer:
            return Codebook(), []
        book = read_codebooks(paths)
        draft_of(book, " and ".join(map(str, paths)))
        return book, paths

    book, paths = ask.ask("Codebook, one file or several; empty to describe the columns here", read, default="")
    if not paths:
        ask.say("Describe each column; an empty name ends the list.")
        while name := ask.text("Name of a column", default=""):
            book.complete([_column(ask, name)])
        if not book.variables:
            raise InvalidInput("a table must have a column, got none; name a codebook, or describe a column.")
    return book, paths


def _column(ask: Questions, name: str) -> Variable:
    """Return a column described by the user."""
    from schemas.codebooks.csv_codebook import kind_of, known_kinds  # noqa: PLC0415

    def read(answer: str) -> Variable:
        kind, whole = kind_of(answer)
        if kind is None:
            raise InvalidInput(f"the kind of a column must be one of {known_kinds()}, got {answer!r}.")
        return Variable(name=name, kind=kind, whole=whole)

    variable = ask.ask(f"Kind of {name}: nominal, ordered, numeric, boolean, date, identifier, text", read)
    if variable.kind in {"identifier", "person", "text", "boolean"}:
        return variable
    described = _stated(ask, variable)
    missing = ask.text(f"Codes for missing values of {name}, separated by |", default="")
    return replace(described, missing=tuple(code.strip() for code in missing.split("|") if code.strip()))


def _stated(ask: Questions, variable: Variable, *, or_leave: bool = False) -> Variable:
    """Return the variable with the values or the range that the user states; unchanged if none is stated."""
    from schemas.codebooks.csv_codebook import stated_entries  # noqa: PLC0415 - as above
    from schemas.codebooks.settling import settle  # noqa: PLC0415 - as above

    def read(answer: str) -> Variable:
        if not answer:
            return variable
        entries, step = stated_entries(answer, variable.kind)
        if variable.kind in {"numeric", "date"} and not any(entry.high is not None for entry in entries):
            raise InvalidInput(f"a range must be written as {_example(variable)}, got {answer!r}.")
        stated = replace(variable, entries=entries, step=step or variable.step)
        # A contradiction is reported now, while it can be corrected.
        settle(stated)
        return stated

    what = {"numeric": "Range", "date": "First and last day"}.get(variable.kind or "", "Values")
    leave = "; empty leaves it out" if or_leave else ""
    return ask.ask(
        f"{what} of {variable.name}, such as {_example(variable)}{leave}", read, default="" if or_leave else None
    )


def _example(variable: Variable) -> str:
    return {"numeric": "0 to 120", "date": "2019-01-01 to 2023-12-31"}.get(variable.kind or "", "yes | no")


def _draft(ask: Questions, book: Codebook, paths: Sequence[Path]) -> tuple["Draft", "Person | None"]:
    """Return the draft, completed by the user where the codebook lacks entries, and the people in it, if they count."""
    from schemas.codebooks.drafting import draft_of  # noqa: PLC0415 - as above

    what = " and ".join(map(str, paths)) or "in your answers"
    draft = draft_of(book, what)
    lacking = [each for each in draft.left_out if each.lacks != "nothing"]
    if len(lacking) > _MOST_QUESTIONS:
        ask.say(
            f"{len(lacking):,} variables lack a range or values, too many to ask for; they are left out. A second "
            f"codebook in CSV with the columns variable and values can complete them."
        )
        lacking = []
    for each in lacking if paths else []:
        ask.say(f"{each.name}: {each.reason}.")
        book.complete([_completed(ask, book.variables[each.name], each)])
    draft = draft_of(book, what)
    identifiers = draft.identifiers
    several = bool(identifiers) and ask.yes("Can one person have several records?", default=draft.person is not None)
    if not several:
        return draft, None

    def read(answer: str) -> str:
        if answer not in identifiers:
            raise InvalidInput(f"the identifier must be one of {', '.join(identifiers)}, got {answer!r}.")
        return answer

    column = ask.ask("Which identifier names the person?", read, default=draft.person or identifiers[0])
    return draft, _person(ask, column)


def _person(ask: Questions, column: str) -> "Person":
    """Return the people that an identifier distinguishes, with the number of records of each that a release uses."""
    from deniable.foundation.domain import Person  # noqa: PLC0415 - as above: it imports NumPy

    def read(answer: str) -> Person:
        most: Any = int(answer) if answer.isascii() and answer.isdigit() else repr(answer)
        return Person(column, most)

    ask.say(
        "With one record of each person, chosen at random, counts are of people. With more, counts are of records, and "
        "the noise is as many times as large."
    )
    return ask.ask("At most how many records of one person are used?", read, default="1")


def _completed(ask: Questions, variable: Variable, lack: "LeftOut") -> Variable:
    """Return the variable with what its codebook lacks, if the user states it."""
    kinds: dict[str, Kind] = {"range": "numeric", "days": "date"}
    kind = kinds.get(lack.lacks)
    if kind is None and not variable.entries:
        kind = variable.kind if variable.kind in {"nominal", "ordered"} else "nominal"
    special = variable.entries if lack.lacks == "range" else ()
    changed = replace(variable, kind=kind or variable.kind, entries=(), also=(*variable.also, *special))
    stated = _stated(ask, changed, or_leave=True)
    return stated if stated.entries else variable


def _check(ask: Questions, spec: Path, state: Path) -> None:
    from flows.cli.table.check import FITS, check_table  # noqa: PLC0415 - as above

    if check_table(spec, state) != FITS:
        ask.say("A release would stop at this table: correct the schema, or state a larger share in the spec.")


def _checked(require: Callable[[str], None]) -> Callable[[str], str]:
    def read(answer: str) -> str:
        require(answer)
        return answer

    return read


COMMAND = StateCommand(
    run=_run,
    description="Ask what is needed for a release of a table of your own, write its schema and its spec, show the "
    "plan, and offer the release. Answers can be piped in, a line each.",
    imports=("prefect", "mlflow", "pandas"),
    resumable=True,
)
