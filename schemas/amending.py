"""Changes the text of a schema where a person accepts what a check proposes: an argument of a column, or of the table.

Everything else in the text stays as it was. A schema of another form than a draft's is left to be changed by hand.
"""

import ast
import json
from collections.abc import Iterator

from deniable.foundation.errors import InvalidInput


def with_argument(schema: str, column: str | None, argument: str, value: str) -> str:
    """The text of a schema in which a column, or the table, has an argument.

    Args:
        schema: the text.
        column: the column; None for the table.
        argument: the name of the argument.
        value: its value, as Python.

    Raises:
        InvalidInput: the schema is not Python, or the column is not described by one call in it.
    """
    call = _call_of(schema, column)
    known = next((each.value for each in call.keywords if each.arg == argument), None)
    if known is not None:
        return _replaced(schema, known, value)
    lines = schema.split("\n")
    end_line, end = _end(call)
    # Before the closing bracket, behind what may be a comma already.
    head = "\n".join([*lines[: end_line - 1], _cut(lines[end_line - 1], end - 1)])
    tail = "\n".join([_rest(lines[end_line - 1], end - 1), *lines[end_line:]])
    body, blanks = head.rstrip(), head[len(head.rstrip()) :]
    comma = "" if body.endswith(("(", ",")) else ", "
    if "\n" not in blanks:
        return f"{body}{comma or (' ' if body.endswith(',') else '')}{argument}={value}{tail}"
    indent = "    " if column is None else " " * 12
    return f"{body}{'' if body.endswith((',', '(')) else ','}\n{indent}{argument}={value},{blanks}{tail}"


def with_description(schema: str, column: str, description: str) -> str:
    """The text of a schema in which a column has another description, such as `boolean()`.

    Args:
        schema: the text.
        column: the column.
        description: the call that describes it.

    Raises:
        InvalidInput: as for `with_argument`; or the function cannot be imported as a draft imports it.
    """
    changed = _replaced(schema, _call_of(schema, column), description)
    function, begin = description.partition("(")[0], "from schemas.table import "
    lines = changed.split("\n")
    places = [number for number, line in enumerate(lines) if line.startswith(begin)]
    if len(places) != 1:
        raise InvalidInput("the schema must import its functions as a draft does, and does not; change it by hand.")
    names = {name.strip() for name in lines[places[0]].removeprefix(begin).split(",")} | {function}
    lines[places[0]] = begin + ", ".join(sorted(names))
    return "\n".join(lines)


def _call_of(schema: str, column: str | None) -> ast.Call:
    """The call that describes a column, or the table."""
    try:
        nodes = list(ast.walk(ast.parse(schema)))
    except SyntaxError:
        raise InvalidInput("the schema must be Python, and is not; correct it.") from None
    calls = list(_tables(nodes) if column is None else _columns(nodes, column))
    if len(calls) != 1:
        what = "call table once" if column is None else f"describe {column} by one call"
        raise InvalidInput(f"the schema must {what} for a proposal to be written into it; change it by hand.")
    return calls[0]


def _tables(nodes: list[ast.AST]) -> Iterator[ast.Call]:
    for node in nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "table":
            yield node


def _columns(nodes: list[ast.AST], column: str) -> Iterator[ast.Call]:
    for table in _tables(nodes):
        described = table.args[0] if table.args else None
        for name, call in zip(described.keys, described.values, strict=True) if isinstance(described, ast.Dict) else ():
            if isinstance(name, ast.Constant) and name.value == column and isinstance(call, ast.Call):
                yield call


def _replaced(schema: str, node: ast.expr, text: str) -> str:
    lines = schema.split("\n")
    end_line, end = _end(node)
    before = [*lines[: node.lineno - 1], _cut(lines[node.lineno - 1], node.col_offset)]
    return "\n".join(before) + text + "\n".join([_rest(lines[end_line - 1], end), *lines[end_line:]])


def _end(node: ast.expr) -> tuple[int, int]:
    return node.end_lineno or node.lineno, node.end_col_offset or node.col_offset


def _cut(line: str, offset: int) -> str:
    """The beginning of a line; Python counts the bytes of its characters."""
    return line.encode()[:offset].decode()


def _rest(line: str, offset: int) -> str:
    return line.encode()[offset:].decode()


def as_literal(value: object) -> str:
    """A value as Python writes it, in double quotes."""
    if isinstance(value, list):
        return f"[{', '.join(map(as_literal, value))}]"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)
