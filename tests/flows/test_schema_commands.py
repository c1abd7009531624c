"""A schema is drafted from a codebook and compared with a table, and questions lead to both, without a release."""

import io
import stat
import subprocess
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path

import pandas as pd
import pyreadstat
import pytest

from deniable.cli.dispatch import main
from deniable.foundation.domain import Person
from deniable.foundation.errors import InvalidInput
from flows.cli.table.check import fit_lines, fits
from flows.cli.table.questions import Questions
from schemas.spec.release_spec import load_spec
from schemas.table import domain_of
from tasks.data.fit import Fit
from tests.flows.command import left_of_a_release, run

CODEBOOK = """variable,type,label,values,missing
id,identifier,number of the person,,
age,integer,age in years,18 to 37,
sex,nominal,sex,f | m,
school,ordered,school,none | some | degree,?
note,text,what they said,,
"""
TABLE = """id,age,sex,school,note,Secret
1,20,f,none,well,x
2,37,m,?,well,x
3,99,m,some,well,x
4,30,Quux,some,well,x
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "book.csv").write_text(CODEBOOK)
    (tmp_path / "people.csv").write_text(TABLE)
    return tmp_path


def run_here(*arguments: str | Path, home: Path, answers: str = "") -> subprocess.CompletedProcess[str]:
    """Run a command in this process, in a folder."""
    out, err, words = io.StringIO(), io.StringIO(), [*map(str, arguments)]
    with chdir(home), redirect_stdout(out), redirect_stderr(err), pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stdin", io.StringIO(answers))
        status = main(words)
    return subprocess.CompletedProcess(words, status, out.getvalue(), err.getvalue())


def draft(folder: Path, *more: str) -> tuple[int, str, str]:
    done = run_here("schema", "draft", "book.csv", "--name", "people", "--state", folder / "state", *more, home=folder)
    return done.returncode, done.stdout, done.stderr


def test_a_draft_is_a_schema_and_a_spec_that_load(folder: Path) -> None:
    status, said, _ = draft(folder, "--epsilon", "0.5")
    assert status == 0
    assert "people.py: 4 columns (1 nominal, 1 ordered, 1 numeric, 1 never released)" in said
    assert "  note: free text can say anything about a person and is never released" in said
    assert "Only the codebook was read." in said
    spec = load_spec(folder / "people.yaml")
    assert domain_of(spec.schema).names == ("age", "sex", "school")
    assert spec.budget is not None
    assert float(spec.budget.epsilon) == 0.5
    assert len((folder / "people.yaml").read_text().splitlines()) <= 10


def test_a_draft_never_reads_the_table(folder: Path) -> None:
    (folder / "people.csv").unlink()
    (folder / "people.csv").mkdir()
    assert draft(folder)[0] == 0


def test_column_names_of_the_table_are_compared_and_no_others_are_printed(folder: Path) -> None:
    (folder / "people.csv").write_text(TABLE.replace("school", "School", 1))
    status, said, _ = draft(folder, "--check-header")
    assert status == 0
    assert "Only the column names of people.csv were read; 3 of 4 are in it." in said
    assert "  school: not a column of the table; it has School" in said
    assert "  not in the codebook, and never read: 1 column of the table" in said
    assert "Secret" not in said


def test_a_first_row_that_names_no_columns_is_not_printed(folder: Path) -> None:
    (folder / "people.csv").write_text("7,Mary of the Hill,f\n")
    _, said, _ = draft(folder, "--check-header")
    assert "none is in it; check that the first row of the table names its columns" in said
    assert "Mary" not in said


def test_a_draft_does_not_replace_what_a_person_wrote(folder: Path) -> None:
    assert draft(folder)[0] == 0
    (folder / "people.py").write_text("mine")
    status, _, complaint = draft(folder)
    assert (status, (folder / "people.py").read_text()) == (1, "mine")
    assert "must not replace what a person wrote, and people.py and people.yaml exists" in complaint
    assert draft(folder, "--replace")[0] == 0


def test_many_columns_are_named_in_a_line_or_in_a_file(folder: Path) -> None:
    names = [f"a_variable_with_a_long_name_{number}" for number in range(40)]
    (folder / "book.csv").write_text("variable,values\n" + "".join(f"{name},1 | 2\n" for name in [*names, "other"]))
    assert draft(folder, "--columns", ",".join(names))[0] == 0
    assert domain_of(load_spec(folder / "people.yaml").schema).names == tuple(names)
    (folder / "names.txt").write_text("\n".join(names[:2]))
    assert draft(folder, "--columns", "names.txt", "--replace")[0] == 0
    assert domain_of(load_spec(folder / "people.yaml").schema).names == tuple(names[:2])


@pytest.mark.parametrize(
    ("more", "complaint"),
    [
        (("--columns", "age,sexx"), "the codebook must describe sexx, and does not; did you mean sex?"),
        (("--name", "My People"), "the name of a release must be small letters"),
        (("--epsilon", "1\nkey: x"), "epsilon must be a number above 0"),
        (("--columns", "note"), "a schema must have an attribute"),
        (
            ("--columns", "people.csv"),
            "the list of names must be a public document, and people.csv is the source",
        ),
        (("--source", "book.csv"), "the codebook must be a public document, and book.csv is the source itself"),
        (("--to", "book.csv"), "the folder of a draft must be writable, got book.csv"),
        (("--title", "two\nlines"), "must be one line of visible text"),
    ],
)
def test_what_cannot_be_drafted_is_refused_and_leaves_nothing(
    folder: Path, more: tuple[str, ...], complaint: str
) -> None:
    status, _, said = draft(folder, *more)
    assert status == 1
    assert complaint in said
    assert sorted(path.name for path in folder.iterdir() if path.suffix) == ["book.csv", "people.csv"]


def test_a_check_counts_what_does_not_fit_and_shows_no_value(folder: Path) -> None:
    draft(folder)
    done = run("table", "check", "people.yaml", "--state", folder / "state", home=folder)
    assert done.returncode == 1
    assert "4 rows: 2 kept, 2 left out" in done.stdout
    assert "50.00% left out, TOO MANY: more than the 5.00% of max_dropped_share" in done.stdout
    lines = [line.split() for line in done.stdout.splitlines()]
    assert ["age", "0", "1", "1"] in lines
    assert ["sex", "1", "0", "1"] in lines
    assert "1 of 3 columns fit in every row" in done.stdout
    assert "Quux" not in done.stdout + done.stderr
    examples = folder / "state" / "vault" / "checks" / "people.csv"
    assert f"{examples} (restricted" in done.stdout
    assert "sex,out of domain,Quux,1" in examples.read_text().splitlines()


def test_rows_with_too_few_fields_are_left_out_and_a_table_without_others_does_not_fit(folder: Path) -> None:
    draft(folder)
    spec = load_spec(folder / "people.yaml")
    fit = Fit(rows=2, malformed=1)
    fit.missing = 2
    assert "3 rows: 0 kept, 3 left out" in list(fit_lines(spec, fit))
    assert not fits(spec.model_copy(update={"max_dropped_share": None, "max_invalid_share": None}), fit)


def test_an_error_that_quotes_a_record_stays_in_the_vault(folder: Path) -> None:
    draft(folder)
    schema = folder / "people.py"
    code = 'def by(code):\n    return {"f": "f", "m": "m"}[code]\n\n\nschema = table('
    given = schema.read_text()
    changed = given.replace("schema = table(", code).replace('nominal(["f", "m"]', 'nominal(["f", "m"], by=by')
    assert changed.count("by=by") == 1
    schema.write_text(changed)
    state = folder / "state"
    done = run_here("schema", "check", "people.yaml", "--state", state, home=folder)
    assert done.returncode == 1
    kept = state / "vault" / "checks" / "people.error.txt"
    assert f"got one (KeyError), which may quote confidential values; cleared staff find it in {kept}." in done.stderr
    assert "Quux" not in done.stdout + done.stderr
    assert [path for path in state.rglob("*") if path.is_file() and b"Quux" in path.read_bytes()] == [kept]
    assert (stat.S_IMODE(kept.stat().st_mode), stat.S_IMODE(kept.parent.stat().st_mode)) == (0o600, 0o700)


def test_a_check_draws_charges_and_tracks_nothing(folder: Path) -> None:
    draft(folder)
    (folder / "people.csv").write_text("\n".join(TABLE.splitlines()[:3]) + "\n")
    done = run_here("schema", "check", "people.yaml", "--state", folder / "state", home=folder)
    assert done.returncode == 0, done.stdout
    assert "All 3 columns fit in every row" in done.stdout
    assert left_of_a_release(folder / "state") == []
    assert not (folder / "state" / "ledger").exists()
    assert list((folder / "state" / "mlflow").iterdir()) == []


def test_a_file_of_a_statistics_program_is_its_own_codebook_and_no_record_of_it_is_read(folder: Path) -> None:
    people = pd.DataFrame({"sex": [1.0, 2.0, 1.0], "town": ["Quux", "Elm", "Elm"]})
    pyreadstat.write_sav(people, folder / "people.sav", variable_value_labels={"sex": {1: "male", 2: "female"}})
    done = run_here("table", "draft", "people.sav", "--check-header", "--state", folder / "state", home=folder)
    assert done.returncode == 0, done.stderr
    assert "Of people.sav, only the description of the columns was read, and no record." in done.stdout
    assert "Stata's encode and SPSS's AUTORECODE do, disclose them: remove those from the schema." in done.stdout
    assert "1 of 1 are in it" in done.stdout
    assert (folder / "people.yaml").read_text().splitlines()[2] == 'source: "people.sav"'
    assert "Quux" not in done.stdout + (folder / "people.py").read_text()
    checked = run_here("table", "check", "people.yaml", "--state", folder / "state", home=folder)
    assert (checked.returncode, "3 rows: 3 kept" in checked.stdout) == (0, True), checked.stdout


ANSWERS = ["people", "book.csv", "people.csv", "made", "no", "The people", "0.5", "yes", "no", "no"]


def test_questions_lead_to_a_schema_a_spec_and_a_plan(folder: Path) -> None:
    answers = "".join(f"{answer}\n" for answer in ANSWERS)
    done = run("release", "new", "--state", folder / "state", home=folder, answers=answers)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Written: made/people.py, made/people.yaml. Nothing of the table was read." in done.stdout
    assert "4 of 4 are in it" in done.stdout
    assert "The budget allows this release." in done.stdout
    assert "When you are ready: deniable release make made/people.yaml" in done.stdout
    spec = load_spec(folder / "made" / "people.yaml")
    assert spec.title == "The people"
    assert (spec.folder / "../people.csv").resolve() == folder / "people.csv"


def test_a_person_with_several_records_is_asked_for(folder: Path) -> None:
    answers = "".join(f"{each}\n" for each in [*ANSWERS[:4], "yes", "", "3", *ANSWERS[5:]])
    done = run_here("new", "--state", folder / "state", home=folder, answers=answers)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "counts are of records, and the noise is as many times as large" in done.stdout
    assert "one person (all records with the same id); at most 3 records of" in done.stdout
    person = domain_of(load_spec(folder / "made" / "people.yaml").schema).person
    assert person == Person("id", 3)


def test_columns_can_be_described_in_answers(folder: Path) -> None:
    answers = [
        "town",
        "",
        "age",
        "integer",
        "0 to 99",
        "-9",
        "sex",
        "nominal",
        "f | m",
        "",
        "",
        "people.csv",
        "",
        "",
        "1",
    ]
    answers += ["no", "no", "no"]
    done = run_here("new", "--state", folder / "state", home=folder, answers="".join(f"{each}\n" for each in answers))
    assert done.returncode == 0, done.stdout + done.stderr
    assert {each.name: len(each.values) for each in domain_of(load_spec(folder / "town.yaml").schema).attributes} == {
        "age": 101,
        "sex": 3,
    }


@pytest.mark.parametrize(
    ("answers", "complaint"),
    [
        (ANSWERS[:5], "each question must be answered, and the answers end before: Title"),
        (["My People"], "Name of the release, such as hospital: the name of a release must be small letters"),
        (["people", "none.csv"], "the codebook must be a file, and none.csv does not exist"),
        (
            ["people", "book.csv", "book.csv"],
            "the codebook must be a public document, and book.csv is the source itself",
        ),
        (
            ["town", "", "x", "nominal", "1 | 1"],
            "yes | no: x must have each value once, got '1' twice",
        ),
        ([*ANSWERS[:6], "much"], "epsilon must be a number above 0"),
        ([*ANSWERS[:4], "yes", "id", "0"], "most_records must be a whole number from 1 to 100, got 0: noise grows"),
        (
            [*ANSWERS[:4], "yes", "id", "two"],
            "must be a whole number from 1 to 100, got 'two': noise grows",
        ),
    ],
)
def test_answers_that_do_not_fit_end_the_command_and_leave_nothing(
    folder: Path, answers: list[str], complaint: str
) -> None:
    done = run_here("new", "--state", folder / "state", home=folder, answers="".join(f"{each}\n" for each in answers))
    assert done.returncode == 1
    assert complaint in done.stderr
    assert not (folder / "made").exists()


class Terminal(io.StringIO):
    """A person who types."""

    def isatty(self) -> bool:
        return True


def test_a_person_is_asked_again_and_piped_answers_are_not() -> None:
    shown = io.StringIO()
    assert Questions(Terminal("perhaps\nyes\n"), shown).yes("Well?", default=False)
    assert "the answer must be yes or no, got 'perhaps'" in shown.getvalue()
    with pytest.raises(InvalidInput, match="the answer must be yes or no"):
        Questions(io.StringIO("perhaps\nyes\n"), shown).yes("Well?", default=False)


def test_an_empty_line_is_the_default() -> None:
    assert Questions(io.StringIO("\n"), io.StringIO()).text("Name", default="x") == "x"
    with pytest.raises(InvalidInput, match="must be given"):
        Questions(io.StringIO("\n"), io.StringIO()).text("Name")


PATIENTS = """name,type,values,label
Ada Ames,surgery,3 | 3,severe
Bea Bell,medicine,7,mild
"""


@pytest.mark.parametrize("table", [PATIENTS, PATIENTS.replace("surgery", "nominal").replace("3 | 3", "1 | 2")])
def test_a_table_named_by_mistake_is_quoted_nowhere(tmp_path: Path, table: str) -> None:
    (tmp_path / "patients.csv").write_text(table)
    done = run_here("schema", "draft", "patients.csv", "--state", tmp_path / "state", home=tmp_path)
    said = done.stdout + done.stderr
    assert "--source PATH" in said
    assert not [word for word in ("Ada", "Bea", "surgery", "medicine", "severe", "mild") if word in said], said


def test_an_earlier_file_of_examples_does_not_outlive_the_next_check(folder: Path) -> None:
    draft(folder)
    examples = folder / "state" / "vault" / "checks" / "people.csv"
    assert run_here("schema", "check", "people.yaml", "--state", folder / "state", home=folder).returncode == 1
    assert examples.exists()
    (folder / "people.csv").write_text("\n".join(TABLE.splitlines()[:3]) + "\n")
    assert run_here("schema", "check", "people.yaml", "--state", folder / "state", home=folder).returncode == 0
    assert not examples.exists()
