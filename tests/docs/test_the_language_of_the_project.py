"""The prose linter finds the words that the house avoids, in every kind of text, and ignores code and formulas.

`make lint` runs it on the project itself.
"""

import pytest

from tests.prose import Fault, faults_of, reader


def found(name: str, text: str) -> list[Fault]:
    """Departures in a file of this name and this text."""
    read = reader(name)
    assert read is not None, name
    return list(faults_of(name, read(text)))


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("docs/page.md", "# Title\n\nThe figure goes to\nwhoever needs it.\n", 4),
        ("reports/templates/page.html.jinja", "<p>\n{% if x %}\nWhoever has <b>it</b>.{% endif %}</p>\n", 3),
        ("flows/x.py", '"""Runs."""\n\n\ndef f(x):\n    raise ValueError(f"the {x} was told to nobody.")\n', 5),
        ("flows/x.py", '"""Runs.\n\nIt is as said above.\n"""\n', 3),
        ("deniable/record/record.schema.json", '{\n  "description": "what was asked of it"\n}\n', 2),
        ("Makefile", ".PHONY: x\nx: y ## make what was asked for\n", 2),
        ("docs/page.md", "It is the the same.\n", 1),
        ("docs/page.md", "# Title\n\nIt is drawn. Of each\nrecord it is noted what it is for.\n", 3),
        ("docs/page.md", "What a table says of pairs.\n", 1),
        ("flows/x.py", '"""Runs."""\n\nMESSAGE = "name another by --state."\n', 3),
    ],
)
def test_what_the_house_does_not_write_is_found_with_its_line(name: str, text: str, line: int) -> None:
    assert {fault.line for fault in found(name, text)} == {line}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("docs/page.md", "Run `whoever`.\n\n```console\n$ told\nasked\n```\n"),
        ("docs/page.md", "Of $told$ and [this](told-by.md).\n"),
        ("reports/templates/page.html.jinja", "<p class='told'>{{ asked }} {# said #}</p><style>.said {}</style>\n"),
        (
            "flows/x.py",
            'said = {"told": 1}["asked"]\n\n\ndef f(asked):\n    """Runs.\n\n    Args:\n        asked: x.\n    """\n',
        ),
        ("docs/page.md", "## The price\n\nThe price is stated.\n"),
        ("docs/page.md", "The mean of each record, and of every table.\n"),
    ],
)
def test_code_formulas_and_names_are_let_be(name: str, text: str) -> None:
    assert found(name, text) == []


def test_tests_and_data_are_not_read() -> None:
    assert [reader(name) for name in ("tests/x.py", "examples/village/village.csv", "docs/conf.cfg")] == [None] * 3
