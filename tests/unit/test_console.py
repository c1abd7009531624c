"""Output on a terminal is wrapped between words; other output keeps its lines."""

import io
import os
import pty

import pytest

from deniable.console import folded, show


@pytest.mark.parametrize(
    ("line", "width", "shown"),
    [
        ("ok      every file is as signed", 80, ["ok      every file is as signed"]),
        ("ok      every file is as signed", 20, ["ok      every file", "        is as signed"]),
        ("    indented words that go on", 20, ["    indented words", "    that go on"]),
        ("a sentence that goes on", 10, ["a sentence", "that goes", "on"]),
        ("a-very-long-name-of-a-release  2026  village", 36, ["a-very-long-name-of-a-release  2026", "  village"]),
        ("see /home/a-path/that-is-long/x", 12, ["see", "/home/a-path/that-is-long/x"]),
        ("", 10, [""]),
    ],
)
def test_lines_break_between_words_and_continue_below_their_text(line: str, width: int, shown: list[str]) -> None:
    assert list(folded([line], width)) == shown


def test_lines_are_broken_on_a_terminal_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "12")
    piped = io.StringIO()
    show(["one two three four"], piped)
    assert piped.getvalue() == "one two three four\n"
    reader, writer = pty.openpty()
    with os.fdopen(writer, "w") as terminal:
        show(["one two three four"], terminal)
        terminal.flush()
        shown = b""
        while shown.count(b"\n") < 2:
            shown += os.read(reader, 100)
        assert shown == b"one two\r\nthree four\r\n"
    os.close(reader)
