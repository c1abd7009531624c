"""A check proposes the lines that let a table be read as its program wrote it, and writes those that one accepts."""

import io
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

from deniable.cli.dispatch import main

CODEBOOK = """variable,type,values
id,identifier,
town,nominal,Zürich | Bern
paid,float,0 to 100000 by 0.05
share,integer,0 to 100
member,boolean,
seen,date,2020-01-01 to 2020-12-31
zip,nominal,00501 | 02139
"""
TABLE = """Members 2026;;;;;;
id;town;paid;share;member;seen;zip
1;ZÜRICH;1.234,50;12%;ja;31.01.2020;501
2;bern;99,05;7%;nein;28.02.2020;2139
3;Bern;;100%;ja;05.03.2020;00501
"""
PROPOSED = {
    'source: {..., delimiter: ";", skip_rows: 1}',
    'source: {..., decimal: ",", thousands: "."}',
    '"town": nominal(..., any_case=True)',
    '"share": numeric(..., written="12%")',
    '"member": boolean(..., true=["ja"])',
    '"member": boolean(..., false=["nein"])',
    '"seen": dates(..., written="%d.%m.%Y")',
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "book.csv").write_text(CODEBOOK)
    (tmp_path / "members.csv").write_text(TABLE)
    assert run(tmp_path, "table", "draft", "book.csv", "--name", "members")[0] == 0
    return tmp_path


def run(folder: Path, *words: str, answers: str = "") -> tuple[int, str, str]:
    """Run a command in this process, in a folder."""
    out, err = io.StringIO(), io.StringIO()
    with chdir(folder), redirect_stdout(out), redirect_stderr(err), pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stdin", io.StringIO(answers))
        status = main([*words, "--state", str(folder / "state")])
    return status, out.getvalue(), err.getvalue()


def test_a_table_of_another_program_fits_after_its_lines_were_accepted(folder: Path) -> None:
    status, said, _ = run(folder, "table", "check", "members.yaml", "--propose")
    assert status == 1
    assert '  in the spec: source: {..., delimiter: ";", skip_rows: 1}' in said
    assert "line 2 has 7 columns if split at semicolons" in said
    assert "Each line is a public decision: accept it only if the codebook, or the program" in said
    status, said, failed = run(folder, "table", "check", "members.yaml", "--apply", answers="yes\n" * len(PROPOSED))
    assert (status, failed) == (0, "")
    assert {
        line.partition(" Write ")[2].partition("?")[0] for line in said.splitlines() if " Write " in line
    } == PROPOSED
    assert "3 rows: 3 kept, 0 left out" in said
    spec, schema = (folder / "members.yaml").read_text(), (folder / "members.py").read_text()
    assert "epsilon: 1 # of the whole release" in spec
    assert 'boolean(true=["ja"], false=["nein"])' in schema
    assert run(folder, "table", "check", "members.yaml", "--propose")[:2] == (
        0,
        "Nothing is proposed: a release of the table would be accepted.\n",
    )


def test_a_line_that_is_declined_is_not_written_and_not_asked_for_again(folder: Path) -> None:
    before = (folder / "members.py").read_text()
    answers = "yes\n" + "no\n" * (len(PROPOSED) - 1)
    status, said, _ = run(folder, "table", "check", "members.yaml", "--apply", answers=answers)
    assert status == 1
    assert said.count(" Write ") == len(PROPOSED)
    assert (folder / "members.py").read_text() == before
    assert "delimiter: ;" in (folder / "members.yaml").read_text().replace('"', "").replace("'", "")
    assert "Lines that would mend it: " in said
    assert "table check members.yaml --propose" in said


def test_proposals_have_no_counts_and_no_values_of_records(folder: Path) -> None:
    (folder / "members.csv").write_text(
        "id,town,paid,share,member,seen,zip\n" + "1,Quuxville,31337.01,4242,Ann Smith,1931-01-07,98765\n" * 37
    )
    _, said, _ = run(folder, "table", "check", "members.yaml", "--propose")
    assert '"town": nominal(..., other="other")' in said
    assert '"share": numeric(..., clip=True)' in said
    assert not any(seen in said for seen in ("Quux", "31337", "4242", "Ann", "1931", "98765", "37"))


def test_a_schema_that_is_no_file_of_yours_is_changed_by_hand(folder: Path) -> None:
    (folder / "other.yaml").write_text("name: other\ndataset: acs13\nsource: members.csv\nepsilon: 1\n")
    (folder / "members.csv").write_text("age;sex\n1;2\n")
    before = (folder / "other.yaml").read_text()
    status, _, failed = run(folder, "table", "check", "other.yaml", "--apply", answers="yes\n")
    assert status == 1
    assert "must be a file of yours for lines to be written into it, got acs13; run " in failed
    assert (folder / "other.yaml").read_text() == before
