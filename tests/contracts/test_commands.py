"""Every command keeps the contract of commands: a line, a module, arguments that parse, help that fits a screen."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from deniable.cli.contract import Line
from deniable.cli.dispatch import declared, main, parser_of, unknown
from deniable.cli.former_names import FORMER, renamed
from deniable.cli.registry import GROUPS, lines_here
from deniable.command_names import command_line, name_commands

ROOT = Path(__file__).resolve().parents[2]
LINES = {line.name: line for line in lines_here()}
WIDTH, HEIGHT = 80, 24
# Large libraries, of which the module of a command imports none.
LARGE = {"prefect", "mlflow", "pandas", "scipy", "numba", "matplotlib", "pyarrow", "distributed", "sqlalchemy"}

# A row for each command: arguments that it takes.
ROWS = {
    "release make": "spec.yaml --new --state var",
    "release plan": "spec.yaml --all",
    "release rehearse": "spec.yaml --on public.csv --epsilon 0.5 1 2 --repeats 3",
    "release new": "",
    "release again": "people-1 spec.yaml --records 1000 --epsilon 0.5",
    "release refresh": "spec.yaml --source new.csv",
    "release unfinished": "",
    "release discard": "people-1",
    "release held": "",
    "release approve": "people-1 --reason fine --candidate 12ab",
    "release refuse": "people-1 --reason no",
    "release publication": "spec.yaml",
    "release design": "spec.yaml --target records=50000,share=0.75,epsilon=1",
    "release find": "--dataset people --since 2026-11-20 --epsilon-above 0.5 --approved-by nobody",
    "release runs": "people-1",
    "release status": "people-1 --reviewed fine --write --days 30",
    "release withdraw": "people-1 --reason wrong --replaced-by people-2",
    "release compare": "people-1 people-2 --all --public --out page.html",
    "table draft": "book.csv other.csv --columns a,b --epsilon 1",
    "table check": "spec.yaml",
    "table discover": "spec.yaml --column trade --range age --epsilon 1 --plan",
    "table import-sgf": "my.cfg --records 10",
    "budget set": "people --epsilon 3 --delta 1e-9 --per year --period-epsilon 1",
    "budget spent": "people",
    "budget show": "",
    "budget export": "ledger.jsonl",
    "budget checkpoint": "request --after checkpoint",
    "budget verify": "--head 12ab --count 8",
    "budget prepare": "",
    "budget recover": "--reason lost --from ledger.jsonl --accept",
    "audit release": "people-1 --keys trusted.json --ledger ledger.jsonl",
    "audit events": "people-1 --json",
    "audit replay": "people-1 --workers 2 --processes",
    "audit verify": "folder --keys trusted.json --ledger ledger.jsonl --status status.dsse.json",
    "audit summary": "folder --step 3",
    "audit record": "folder",
    "audit ledger": "ledger.jsonl --head 12ab --count 8 --checkpoint one --checkpoint two --witness-key ines+1+2",
    "audit witness": "request folder --name ines --keys trusted.json",
    "data infer": "folder share land=yes --given hamlet=mill --level 0.9",
    "data explore": "folder --open",
    "data describe": "folder --as dcat --address https://office.example --out dcat.jsonld",
    "data posterior": "folder --people 100",
    "data combine": "sets.csv --synthesis fitted_model --size 10 --people 100",
    "data from-measurements": "tables.json folder --records 10",
    "data respond": "survey.json --answers answers.json",
    "data survey": "publish survey.json responses.jsonl --level 0.9",
    "keys new": "--owner Ada --years 1",
    "keys rotate": "--years 1",
    "keys show": "",
    "keys revoke": "12ab --reason superseded",
    "keys export": "trusted.json",
    "keys approver": "admit Ada 12ab --years 1",
    "keys custodian": "rotate --reason lost --spare spare.key",
    "servers ui": "--mlflow-port 5001",
    "servers stack": "up",
    "servers worker": "",
    "servers watch": "",
    "servers prefect": "deployment run release/acs_ma --watch",
    "servers deploy": "",
    "servers cluster": "up --workers 2",
    "servers backup": "folder",
    "servers restore": "folder",
    "mechanisms list": "",
    "mechanisms select": "spec.yaml",
    "mechanisms map": "spec.yaml --epsilons 1 10 --totals 1 --records 100 --repeats 2 --imputation --out folder",
}


def test_every_command_has_a_row_and_no_row_is_of_another() -> None:
    assert sorted(ROWS) == sorted(LINES)
    assert len(LINES) == len(lines_here())


@pytest.mark.parametrize("name", LINES)
def test_a_command_takes_its_arguments_and_refuses_others_in_a_sentence(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    parser = parser_of(LINES[name])
    parser.parse_args(ROWS[name].split())
    assert parser.description
    assert parser.description[0].isupper()
    assert parser.description.endswith(".")
    with pytest.raises(SystemExit) as ended:
        main([*name.split(), "--no-such-option"])
    said = capsys.readouterr()
    assert (ended.value.code, said.out) == (2, "")
    assert said.err.startswith(f"deniable {name}")
    assert said.err.count("\n") == 1


@pytest.mark.parametrize("name", LINES)
def test_a_line_is_of_a_group_and_its_module_is_found_by_its_name(name: str) -> None:
    line = LINES[name]
    assert line.group in GROUPS
    assert line.word
    assert " " not in line.word
    assert line.module.endswith(f".cli.{name.replace(' ', '.').replace('-', '_')}")
    assert len(line.help) <= 60


def pages() -> Iterator[list[str]]:
    yield ["--help"]
    yield from ([group, "--help"] for group in GROUPS)


@pytest.mark.parametrize("words", list(pages()), ids=lambda words: words[0])
def test_a_page_of_help_fits_a_screen(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) < HEIGHT
    assert max(map(len, lines)) <= WIDTH
    listed = [line.split()[0] for line in lines if line.startswith("  ")]
    wanted = [line.word for line in LINES.values() if line.group == words[0]] if words[0] in GROUPS else list(GROUPS)
    assert listed == wanted


def test_the_first_page_has_at_most_eight_names() -> None:
    assert 1 < len(GROUPS) <= 8


@pytest.mark.parametrize(
    ("typed", "advice"),
    [
        ("plam spec.yaml", "did you mean deniable release plan?"),
        ("release plam", "did you mean deniable release plan?"),
        ("budgt spent", "did you mean deniable budget spent?"),
        ("budget spend", "did you mean deniable budget spent?"),
        ("veryfy folder", "did you mean deniable audit verify?"),
        ("release backup", "did you mean deniable servers backup?"),
        ("release nothing-like-it", "did you mean deniable release --help?"),
        ("zzz", "deniable --help lists all."),
    ],
)
def test_an_unknown_command_is_answered_by_the_nearest(
    typed: str, advice: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(typed.split()) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("there is no command deniable ")
    assert said.err.endswith(f"; {advice}\n")
    assert said.err.count("\n") == 1


def test_former_names_lead_to_commands_that_there_are_and_are_not_listed() -> None:
    names = list(LINES)
    for former, now in FORMER.items():
        assert now in names or now in GROUPS
        assert former not in names
    assert renamed(["release", "spec.yaml"], names) == ["release", "make", "spec.yaml"]
    assert renamed(["release", "--new", "spec.yaml"], names) == ["release", "make", "--new", "spec.yaml"]
    assert renamed(["audit", "people-1"], names) == ["audit", "release", "people-1"]
    assert renamed(["ledger", "policy", "people"], names) == ["budget", "set", "people"]
    assert renamed(["ledger", "show"], names) == ["budget", "show"]
    for kept in (["release", "--help"], ["release", "plam"], ["audit", "verify", "f-1"], ["audit"], []):
        assert renamed(kept, names) == kept


def imported_after(code: str) -> set[str]:
    """The modules of a new process, after it has run some code."""
    program = f"import sys\n{code}\nprint('\\n'.join(sys.modules), file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True, capture_output=True, text=True)
    return set(done.stderr.splitlines())


def test_help_imports_no_command_and_no_library() -> None:
    words = [["--help"], *([group, "--help"] for group in GROUPS), ["plam"]]
    seen = imported_after(f"from deniable.cli.dispatch import main\nfor words in {words!r}: main(words)")
    assert not {line.module for line in LINES.values()} & seen
    libraries = {name.partition(".")[0] for name in seen} - sys.stdlib_module_names
    assert {"deniable", "flows"} < libraries
    assert not libraries & (LARGE | {"numpy", "pydantic", "cryptography", "rich"})


def test_the_modules_of_commands_import_no_large_library() -> None:
    """A message about a wrong argument takes no time."""
    modules = sorted({line.module for line in LINES.values()})
    seen = imported_after("\n".join(f"import {module}" for module in modules))
    assert set(modules) <= seen
    assert not LARGE & {name.partition(".")[0] for name in seen}
    assert "pandas" in imported_after("import pandas")


@pytest.mark.parametrize("line", LINES.values(), ids=lambda line: line.name)
def test_a_command_declares_large_libraries_by_their_names(line: Line) -> None:
    assert set(declared(line).imports) <= LARGE


def names_in_messages() -> Iterator[tuple[str, str]]:
    """Every command that a message names, by the function that renders it, with its place."""
    for path in (
        path for room in ("deniable", "flows", "stores", "tasks", "infra") for path in (ROOT / room).rglob("*.py")
    ):
        text = path.read_text(encoding="utf-8")
        if "command_line(" not in text:
            continue
        for node in ast.walk(ast.parse(text)):
            if (
                isinstance(node, ast.Call)
                and getattr(node.func, "id", "") == "command_line"
                and path.parts[-2] != "cli"
            ):
                (name,) = node.args
                first = name.values[0] if isinstance(name, ast.JoinedStr) else name
                assert isinstance(first, ast.Constant), f"{path}:{node.lineno}"
                yield f"{path.relative_to(ROOT)}:{node.lineno}", str(first.value)


def test_messages_name_commands_that_there_are() -> None:
    named = list(names_in_messages())
    assert len(named) > 40
    assert [(place, name) for place, name in named if " ".join(name.split()[:2]) not in LINES] == []


# `deniable` and a group begin a command in text.
_IN_TEXT = re.compile(rf"\bdeniable ({'|'.join(GROUPS)}) ([a-z][a-z-]+)")


def texts() -> Iterator[Path]:
    kinds = ("*.md", "*.py", "*.jinja", "*.js", "*.yaml", "*.service", "Makefile")
    listed = subprocess.run(["git", "ls-files", *kinds], cwd=ROOT, check=True, capture_output=True, text=True)
    return (
        ROOT / name
        for name in listed.stdout.split()
        if (ROOT / name).is_file() and Path(name).name != Path(__file__).name
    )


def test_documents_and_files_name_commands_that_there_are_and_by_their_names_of_today() -> None:
    found = [(path, match) for path in texts() for match in _IN_TEXT.finditer(path.read_text(encoding="utf-8"))]
    assert len(found) > 100
    wrong = [f"{path.relative_to(ROOT)}: {match[0]}" for path, match in found if f"{match[1]} {match[2]}" not in LINES]
    assert wrong == []
    former = re.compile(rf"python -m (?:flows|deniable) (?:{'|'.join(sorted(FORMER))}|release|audit)\b")
    told = [(path, match[0]) for path in texts() for match in former.finditer(path.read_text(encoding="utf-8"))]
    assert [each for each in told if each[0].name != "Makefile"] == []


def test_messages_name_commands_as_they_are_typed_here() -> None:
    assert command_line("keys rotate") == "deniable keys rotate"
    try:
        name_commands(".venv/bin/deniable")
        assert unknown("plam", "", lines_here()).endswith("did you mean .venv/bin/deniable release plan?")
    finally:
        name_commands()


@pytest.mark.parametrize(("active", "typed"), [("not active", ".venv/bin/deniable"), ("active", "deniable")])
def test_the_script_is_named_by_its_path_where_the_environment_is_not_active(
    active: str, typed: str, tmp_path: Path
) -> None:
    script = tmp_path / ".venv" / "bin" / "deniable"
    script.parent.mkdir(parents=True)
    script.touch()
    own = str(Path(sys.executable).parent)
    path = f"{own}:/usr/bin" if active == "active" else "/usr/bin"
    environment = {"PATH": path, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-m", "deniable", "plam"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (
        2,
        f"there is no command deniable plam; did you mean {typed} release plan?\n",
    )


def test_the_wheel_alone_has_what_needs_no_workflow_and_says_where_the_rest_is(tmp_path: Path) -> None:
    (tmp_path / "deniable").symlink_to(ROOT / "deniable")
    program = "from deniable.cli.dispatch import main\nmain(['--help']); print(main(['release', 'plan']))"
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env={"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    listed = [line.split()[0] for line in done.stdout.splitlines() if line.startswith("  ")]
    assert listed == ["audit", "data", "mechanisms"]
    assert "also has: release, table, budget, keys, servers." in done.stdout
    assert done.stderr == (
        "the commands of deniable release need the project's checkout; this installation has the wheel alone.\n"
    )
    assert done.stdout.endswith("2\n")
