"""Columns of a schema from the answers of a discovery, and their lines in a drafted schema.

Everything here is a function of a discovery's released answers. Requests and charges do not belong here.
"""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import Decimal

from deniable.discovery.answers import Answers, RangeAnswer, ValuesAnswer
from deniable.discovery.plan import Question
from deniable.foundation.domain import MAX_CARDINALITY
from deniable.foundation.errors import InvalidInput
from schemas.codebooks.codebook import Entry, Variable
from schemas.codebooks.drafting import CAN_BE_PROPOSED, LEFT_OUT, column_lines, left_out_line, open_lines
from schemas.codebooks.settling import Described, LeftOut, settle

_OTHER, _MISSING = "other", "missing"
_FIRST, _LAST = "    {", "    },"
_IMPORTS = "from schemas.table import "
_OPEN = "open_columns"
_HINT = "paste the lines by hand"


def proposed(answers: Answers) -> tuple[Described | LeftOut, ...]:
    """The column that each answer proposes, or the reason why there is none."""
    asked = answers.plan.questions
    return tuple(
        _values(question, answer) if isinstance(answer, ValuesAnswer) else _numbers(question, answer, answers)
        for question, answer in zip(asked, answers.answers, strict=True)
    )


def proposal_lines(columns: Sequence[Described | LeftOut], discovery: str) -> list[str]:
    """The lines of a schema for the proposals of a discovery.

    Args:
        columns: the proposals.
        discovery: its name, which the lines state.
    """
    lines = []
    for column in columns:
        if isinstance(column, LeftOut):
            lines.append(f"        # {column.name}: {column.reason} (discovery {discovery})")
            continue
        lines += [f"        # {column.remark} (discovery {discovery})", *column_lines(column)]
    return lines


def with_proposals(schema: str, columns: Sequence[Described | LeftOut], discovery: str) -> str:
    """The text of a drafted schema with the columns that a discovery proposes appended.

    Args:
        schema: the text of the schema, in the form that `schema draft` writes.
        columns: the proposals.
        discovery: the discovery's name.

    Raises:
        InvalidInput: the schema has another form, or has one of the columns.
    """
    described = [column for column in columns if isinstance(column, Described)]
    schema, still_open = _without_open(schema)
    still_open = {name: text for name, text in still_open.items() if name not in {each.name for each in described}}
    lines = schema.split("\n")
    there = [each.name for each in described if any(line.startswith(f'        "{each.name}": ') for line in lines)]
    if there:
        raise InvalidInput(
            f"a column must be in the schema once, and {', '.join(there)} is there already; {_HINT}, in its place."
        )
    starts = [number for number, line in enumerate(lines) if line == _FIRST]
    ends = [number for number, line in enumerate(lines) if line == _LAST]
    imports = [number for number, line in enumerate(lines) if line.startswith(_IMPORTS)]
    if len(starts) != 1 or len(ends) != 1 or len(imports) != 1 or starts[0] > ends[0]:
        raise InvalidInput(f"the schema must have the form in which it was drafted, and has another; {_HINT}.")
    names = {name.strip() for name in lines[imports[0]].removeprefix(_IMPORTS).split(",")}
    names = {name for name in names if not name.startswith("open_")}
    names |= {column.form for column in described} | {text.partition("(")[0] for text in still_open.values()}
    lines[ends[0] : ends[0] + 1] = [*proposal_lines(columns, discovery), _LAST, *open_lines(still_open)]
    lines[imports[0]] = _IMPORTS + ", ".join(sorted(names))
    return "\n".join(_without_remarks(lines, [each.name for each in described], has_open=bool(still_open)))


def _without_open(schema: str) -> tuple[str, dict[str, str]]:
    """A schema without the declarations of open columns, and the declaration of each column.

    Raises:
        InvalidInput: it is not Python, or declares them in a form other than a draft's.
    """
    try:
        calls = [node for node in ast.walk(ast.parse(schema)) if isinstance(node, ast.Call)]
    except SyntaxError:
        raise InvalidInput(f"the schema must be Python, and is not; correct it, or {_HINT}.") from None
    stated = [each.value for call in calls for each in call.keywords if each.arg == _OPEN]
    if not stated:
        return schema, {}
    lines, value = schema.split("\n"), stated[0]
    end = value.end_lineno or value.lineno
    opened, closed = lines[value.lineno - 1].strip(), lines[end - 1].strip()
    names = value.keys if isinstance(value, ast.Dict) else [None]
    if len(stated) > 1 or not opened.startswith(f"{_OPEN}={{") or closed not in {"},", opened} or None in names:
        raise InvalidInput(f"open columns must be declared in the form of a draft, and are not; {_HINT}.")
    found = {
        str(ast.literal_eval(name)): ast.get_source_segment(schema, text) or ""
        for name, text in zip(value.keys, value.values, strict=True)  # type: ignore[attr-defined] # as checked above
    }
    return "\n".join([*lines[: value.lineno - 1], *lines[end:]]), found


def _without_remarks(lines: Sequence[str], described: Sequence[str], *, has_open: bool) -> list[str]:
    """The lines without those that list an omitted column."""
    said = tuple(left_out_line(name) for name in described)
    kept = [line for line in lines if not (said and line.startswith(said)) and (has_open or line != CAN_BE_PROPOSED)]
    if LEFT_OUT in kept and not any(line.startswith("#   ") for line in kept[kept.index(LEFT_OUT) :]):
        del kept[kept.index(LEFT_OUT)]
    return [*"\n".join(kept).rstrip("\n").split("\n"), ""]


def _values(question: Question, answer: ValuesAnswer) -> Described | LeftOut:
    """A column of the proposed values; all others become one value."""
    most = MAX_CARDINALITY - 2
    often = {value for value, _ in sorted(answer.values, key=lambda each: (-each[1], each[0].encode()))[:most]}
    values = tuple((value, "") for value, _ in answer.values if value in often)
    if not values:
        return LeftOut(question.column, "no value was shared by enough records to be proposed", "values")
    return Described(
        name=question.column,
        form="nominal",
        values=values,
        other=_free(_OTHER, often),
        missing=question.missing,
        missing_as=_free(_MISSING, often) if question.missing else None,
        remark="values proposed under differential privacy, from noisy counts; rarer ones become the last value",
    )


def _numbers(question: Question, answer: RangeAnswer, answers: Answers) -> Described | LeftOut:
    """A column of the proposed range; numbers beyond it become its ends."""
    found = answers.range_of(answer)
    if found is None:
        return LeftOut(question.column, "too few records have numbers for a range to be proposed", "range")
    low, high, step = found.written()
    variable = Variable(
        name=question.column,
        kind="numeric",
        entries=(Entry(value=low, high=high),),
        missing=question.missing,
        step=Decimal(step),
        whole=found.decimals == 0,
    )
    try:
        settled = settle(variable)
    except ValueError as error:
        return LeftOut(question.column, str(error).rstrip("."), "range")
    if isinstance(settled, LeftOut):
        return settled
    remarks = ["range proposed under differential privacy, from noisy counts; numbers beyond it become its ends"]
    remarks += [settled.remark] if settled.remark else []
    return replace(settled, clips=True, rounds=True, remark="; ".join(remarks))


def _free(word: str, taken: set[str]) -> str:
    """A word that is not one of some values."""
    return next(each for each in _words(word) if each not in taken)


def _words(word: str) -> Iterator[str]:
    yield word
    number = 2
    while True:
        yield f"{word} ({number})"
        number += 1
