"""Every input is accepted, or refused in one sentence with a non-zero status and with nothing written.

What would be waited for without end, or would fill the memory, is refused by how it is written, before it is read.
"""

import os
import re
import signal
import socket
from collections.abc import Callable, Iterator
from copy import deepcopy
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from deniable.cli.dispatch import main
from deniable.foundation.errors import InvalidInput
from deniable.foundation.exact_numbers import exact_number
from flows.cli.running import REFUSED
from schemas.regular_files import read_regular, whole_path
from schemas.spec.release_spec import load_spec
from stores.keys.private_key_file import load_private_key
from stores.keys.trust_file import read_trusted_keys
from stores.tables.sources.reading import opened_source
from tests import small_release
from tests.small_release import SCHEMA, write_small_release

SENTENCE = re.compile(r"(must|is not a key)\b.*[.?]$", re.DOTALL)


@pytest.fixture(autouse=True)
def as_it_was(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Leave nothing behind of what a command sets for its process."""
    monkeypatch.setattr(small_release, "SPEC", deepcopy(small_release.SPEC))
    variables, mask = dict(os.environ), os.umask(0o077)
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    os.umask(mask)
    os.environ.clear()
    os.environ.update(variables)
    for number, handler in handlers.items():
        signal.signal(number, handler)


def refused(spec: Path, state: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """What the command line says of a spec that it refuses; that nothing was written is looked at."""
    before = sorted(spec.parent.rglob("*"))
    for command in ("plan", "release"):
        assert main([command, str(spec), "--state", str(state)]) == REFUSED
    assert sorted(spec.parent.rglob("*")) == before
    assert [path for path in state.rglob("*") if path.is_file()] == []
    said = capsys.readouterr()
    assert said.out == ""
    first, second = said.err[: len(said.err) // 2], said.err[len(said.err) // 2 :]
    assert first == second
    assert "Traceback" not in first
    assert len(first) < 20_000
    assert SENTENCE.search(first.strip())
    assert all(character.isprintable() or character == "\n" for character in first)
    return first


def changed(folder: Path, capsys: pytest.CaptureFixture[str], **changes: Any) -> str:
    """What is said of the small spec with changes."""
    return refused(write_small_release(folder / "spec", people=[], **changes), folder / "state", capsys)


HISTOGRAM = {
    "guarantee": "histogram_seeds",
    "omega": 2,
    "epsilon": 1,
    "delta": 1e-6,
    "records": 400,
    "chunk_candidates": 128,
}


@pytest.mark.parametrize(
    ("place", "value", "said"),
    [
        (
            "synthesis__records",
            10**12,
            "synthesis.records: must be less than or equal to 10000000000, got 1000",
        ),
        ("synthesis__candidates", 10**12, "synthesis.candidates: must be less than or equal to 10000000000"),
        ("synthesis__chunk_candidates", 10**9, "synthesis.chunk_candidates: must be less than or equal to 100000000"),
        ("synthesis__public_rows", 10**12, "synthesis.public_rows: must be less than or equal to 10000000000"),
        ("synthesis__k", 10**9, "synthesis.k: must be less than or equal to 1000000, got 1000000000"),
        ("synthesis__gamma", 10**9, "synthesis.gamma: must be less than or equal to 1000000, got 1000000000"),
        (
            "synthesis__eps0",
            "1.0e-300",
            "synthesis.eps0: must be a number of at most 1,000,000,000,000",
        ),
        ("synthesis__eps0", 1e-7, "synthesis.eps0: must be from 1e-06 to 100, got 1e-07"),
        ("synthesis__epsilon", 10**9, "synthesis.epsilon: must be from 1e-06 to 100, got 1e+09"),
        ("synthesis__total_delta", "1.0e-31", "synthesis.total_delta: must be from 1e-30 to 0.1, got 1e-31"),
        ("synthesis", {**HISTOGRAM, "epsilon": 10**10}, "synthesis.epsilon: must be from 1e-06 to 100, got 1e+10"),
        (
            "synthesis",
            {**HISTOGRAM, "k": 10**10, "beta": 1e-6, "max_rows": 5},
            "synthesis.k: must be less than",
        ),
        ("synthesis__omega", {2: 10**11}, "synthesis.omega.2: must be less than or equal to 10000000000"),
        ("learner__parameters__epsilon", 1e-7, "learner.parameters.epsilon: must be from 1e-06 to 100, got 1e-07"),
        ("learner__parameters__delta", 0.999999, "learner.parameters.delta: must be from 1e-30 to 0.1, got 0.999999"),
        ("learner__parameters__prior", 10**11, "learner.parameters.prior: must be from 1e-06 to 1e+09, got 1e+11"),
        (
            "learner__structure__max_cost",
            10**11,
            "learner.structure.max_cost: must be less than or equal",
        ),
        ("budget__epsilon", 10**13, "budget.epsilon: must be a number of at most 1,000,000,000,000"),
        ("budget__dataset", "x" * 300, "budget.dataset: must have at most 100 characters"),
        ("evaluation__train_rows", 10**9, "evaluation.train_rows: must be less than or equal to 100000000"),
        ("evaluation__classifiers", ["tree"] * 6, "evaluation.classifiers: must have at most 5 items"),
        ("evaluation__target", "x" * 4000, "evaluation.target: must have at most 300 characters"),
        ("thresholds__tvd_2way_max", float("nan"), "thresholds.tvd_2way_max: must be greater than or equal to -10"),
        ("thresholds__tvd_2way_max", float("inf"), "thresholds.tvd_2way_max: must be less than or equal to 10"),
        ("thresholds__tvd_2way_max", 10**15, "thresholds.tvd_2way_max: must be less than or equal to"),
        ("thresholds__tvd_2way_max", True, "thresholds.tvd_2way_max: must be a number"),
        (
            "decision",
            {"approvers": ["a\nb"]},
            "decision.approvers.0: must be one line of visible text",
        ),
        ("name", "x" * 300, "name: must have at most 100 characters"),
        ("title", "x" * 100_000, "title: must have at most 300 characters"),
        ("title", "two\nlines", "title: must be one line of visible text, got the character U+000A"),
        ("title", "\x1b[2Jnothing to see", "title: must be one line of visible text, got the character U+001B"),
        ("title", "\u202ereversed", "title: must be one line of visible text, got the character U+202E"),
        ("title", "", "title: must have at least 1 character"),
        ("dataset", "x" * 5000, "dataset: must have at most 4000 characters"),
        ("dataset", "y" * 1000 + ".py", "dataset: the dataset must be a readable file"),
        ("dataset", "a\0b.py", "dataset: must be one line of visible text, got the character U+0000"),
        ("source__path", "a\0b.csv", "source.path: must be one line of visible text, got the character U+0000"),
        ("source__path", "a" * 5000 + ".csv", "source.path: must have at most 4000 characters"),
        ("source__environment", "A" * 300, "source.environment: must have at most 100 characters"),
    ],
)
def test_an_entry_beyond_all_bounds_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], place: str, value: Any, said: str
) -> None:
    assert said in changed(tmp_path, capsys, **{place: value})


def bomb(levels: int) -> str:
    """A few lines of YAML that stand for ten to the power of the levels of texts."""
    lines = ['a0: &a0 ["lol", "lol", "lol", "lol", "lol", "lol", "lol", "lol", "lol", "lol"]']
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, levels)]
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("max_invalid_share: 1.0e999999999", "line 1: a number must have at most 1,000 digits and decimals."),
        ("max_invalid_share: 1.0e-999999999", "line 1: a number must have at most 1,000 digits and decimals."),
        (
            "max_invalid_share: '1.0e-999999999'",
            "max_invalid_share: must be a number of at most",
        ),
        ("max_invalid_share: 1.0e999", "max_invalid_share: must be a number of at most"),
        ("max_invalid_share: '1/0'", "max_invalid_share: must be a number, got '1/0'."),
        (f"chunk_rows: {'9' * 5000}", "line 1: a number must have at most 1,000 digits and decimals."),
        (f"chunk_rows: 0x{'f' * 5000}", "line 1: a number must have at most 1,000 digits and decimals."),
        (f"chunk_rows: '{'9' * 5000}'", "chunk_rows: must be a whole number such as 1, got '999"),
        (f"chunk_rows: {'9' * 999}", "chunk_rows: must be less than or equal to 10000000000, got 999"),
        (f"thresholds: {{tvd_2way_max: {'9' * 999}}}", "thresholds.tvd_2way_max: must be"),
        ("thresholds: {tvd_2way_max: 1.0e999}", "thresholds.tvd_2way_max: must be a number of at most"),
        (f"{'9' * 999}: 1", "999...: must be a key, which is text, of those that a spec has"),
        ("1.0e999: 1", "a larger number: must be a key, which is text"),
        (bomb(30), "line 2: it has an alias, *a0; write out what it stands for."),
        ("name: &a [*a]", "line 1: it has an alias, *a; write out what it stands for."),
        (f"name: {'[' * 100_000}", "line 1: it is nested more than 20 deep"),
        (f"name: {'[' * 30}{']' * 30}", "line 1: it is nested more than 20 deep"),
        ("\n".join(f"{' ' * n}a:" for n in range(300)), "line 21: it is nested more than 20 deep"),
        pytest.param(
            f"name: [{'1,' * 200_000}]",
            "it has more than 100,000 values, but no spec has so many",
            marks=pytest.mark.slow,
        ),
        (f"title: {'x' * 2_000_000}", "must have at most 1,048,576 bytes"),
        ("name: 2026-99-99", "the release spec"),
        ("name: !!int x", "the release spec"),
        ("name: !!float x", "the release spec"),
        ("name: !!timestamp x", "the release spec"),
        ("name: !!binary x", "the release spec"),
        ("name: !!set {a}", "name: must be text"),
        ("name: !!omap [a: 1]", "name: must be text"),
        ("name: !!python/object/apply:os.system [true]", "the release spec"),
        ("? {a: b}\n: 1", "the release spec"),
        ("? [a, b]\n: 1", "('a', 'b'): must be a key, which is text"),
        ("<<: 1", "the release spec"),
        ("a: b\n---\na: b", "the release spec"),
        ("%YAML 9.9\n---\na: b", "the release spec"),
        ("name: \x07", "must be text in UTF-8, but has other bytes"),
        ("&a name: *a", "it has an alias, *a"),
    ],
    ids=range(35),
)
def test_yaml_that_is_small_as_written_and_large_as_read_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, said: str
) -> None:
    (tmp_path / "spec").mkdir()
    (tmp_path / "spec" / "spec.yaml").write_text(text, encoding="utf-8")
    assert said in refused(tmp_path / "spec" / "spec.yaml", tmp_path / "state", capsys)


def schema(columns: str = '"sex": nominal(["f", "m"])', more: str = "") -> str:
    """A schema of some columns."""
    return f"from schemas.table import nominal, numeric, table\nschema = table({{{columns}}}{more})\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("schema = 5", "must define `schema`, a table made by schemas.table.table, but defines one of the type int"),
        ("schema = type('T', (), {'columns': 5})()", "defines one of the type T"),
        ("import sys; sys.exit(0)", "must run to its end without an error, got SystemExit: 0; correct it"),
        ("raise SystemExit", "must run to its end without an error, got SystemExit; correct it"),
        ("class E(BaseException): pass\nraise E('x' * 10**6)", "must run to its end without an error, got E: xxx"),
        ("raise GeneratorExit", "must run to its end without an error, got GeneratorExit; correct it"),
        (
            "class E(Exception):\n def __str__(self): raise ValueError\nraise E",
            "must run to its end without an error, got E; correct it",
        ),
        ("x = " + "(" * 10_000, "must run to its end without an error, got"),
        ("x = 1\0", "must run to its end without an error, got"),
        ("def f(): f()\nf()", "must run to its end without an error, got RecursionError"),
        (schema('5: nominal(["f", "m"])'), "the name of a column must be text, got int; put it in quotes"),
        (schema('None: nominal(["f", "m"])'), "the name of a column must be text, got NoneType"),
        (schema('" ": nominal(["f", "m"])'), "the name of a column must have a visible character, got none"),
        (schema('"": nominal(["f", "m"])'), "the name of a column must have a visible character, got none"),
        (schema('"x" * 301: nominal(["f", "m"])'), "the name of a column must have at most 300 characters, got 301"),
        (schema('"a\\nb": nominal(["f", "m"])'), "the name of a column must be one line of visible text, got the char"),
        (schema('"<b>": nominal(["f", "m"])'), "which pages read as markup, got <; rename it"),
        (schema('"=1+1": nominal(["f", "m"])'), "the name of a column must not begin with = + - or @"),
        (schema('"sex": 5'), "must run to its end without an error, got"),
        (
            schema('"sex": nominal(["f", "=cmd()"])'),
            "must not begin with = + - or @, which a spreadsheet",
        ),
        (schema('"sex": nominal(["f", "+1+1"])'), "must not begin with = + - or @"),
        (schema('"sex": nominal(["f", "-x"])'), "must not begin with = + - or @"),
        (schema('"sex": nominal(["f", "@SUM(A1)"])'), "must not begin with = + - or @"),
        (schema('"sex": nominal(["f", "a;=1"])'), "must not begin with = + - or @"),
        (schema('"sex": nominal(["f", "\uff1d1"])'), "must not begin with = + - or @"),
        (schema('"sex": nominal(["f", "\\t=1"])'), "must be one line of visible text, got the character U+0009"),
        (schema('"sex": nominal(["f", "\\r=1"])'), "must be one line of visible text, got the character U+000D"),
        (schema('"sex": nominal(["f", "x" * 301])'), "must have at most 300 characters, got 301"),
        (schema('"sex": nominal(["f", "\\ud800"])'), "must be one line of visible text, got the character U+D800"),
        (
            schema('"sex": nominal([1.0, float("nan")])'),
            "must be numbers of at most 9,007,199,254,740,992",
        ),
        (schema('"sex": nominal([1, 10**400])'), "must be numbers of at most 9,007,199,254,740,992"),
        (schema('"sex": nominal([b"f"])'), "must be text or numbers, got bytes"),
        (schema('"sex": nominal({"f": 5})'), "the text that explains a value of the column '' must be text, got int"),
        (schema('"sex": nominal({"f": "a\\nb"})'), "must be one line of visible text"),
        (schema('"sex": nominal(["f"], label="x" * 301)'), "the label of a column must have at most 300 characters"),
        (schema('"age": numeric(10**20, 10**20 + 5)'), "a numeric column must be within -9,007,199,254,740,992 to"),
        (schema('"age": numeric(0, float("inf"))'), "a numeric column must be within"),
        (schema('"age": numeric(float("nan"), 5)'), "a numeric column must be within"),
        (schema('"age": numeric("0", 5)'), "must run to its end without an error, got TypeError"),
        (
            schema('"age": numeric(0, 5, width=0)'),
            "the width of the buckets of a numeric column must be above 0, got 0",
        ),
        (schema(more=', description="a\\x1bb"'), "the description of a table must be one line of visible text"),
        (schema(more=', description="x" * 10_001'), "the description of a table must have at most 10,000 characters"),
        (schema(more=", reads={5: str}"), "the name of a column that is read must be text, got int"),
    ],
    ids=range(43),
)
def test_a_schema_that_is_none_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, said: str
) -> None:
    path = write_small_release(tmp_path / "spec", people=[])
    (path.parent / "people.py").write_text(text, encoding="utf-8")
    assert said in refused(path, tmp_path / "state", capsys)


@pytest.mark.parametrize("code", ["-1", "+1,5", "-.5", "-1e5", "-", "+", "A+", "100+", "<=50K", "a-b", "x;y"])
def test_signed_numbers_and_signs_elsewhere_are_codes_like_others(tmp_path: Path, code: str) -> None:
    path = write_small_release(tmp_path, people=[])
    (tmp_path / "people.py").write_text(SCHEMA.replace('"f"', repr(code)), encoding="utf-8")
    assert load_spec(path).domain.attributes[1].values == (code, "m")


@pytest.mark.parametrize("rule", ["universe", "recode"])
def test_a_rule_of_a_schema_cannot_end_the_program(tmp_path: Path, rule: str) -> None:
    import pandas as pd  # noqa: PLC0415 - as the schema does

    path = write_small_release(tmp_path, people=[])
    text = "import sys\n" + SCHEMA.replace("description=", f"{rule}=lambda people: sys.exit(0), description=")
    (tmp_path / "people.py").write_text(text, encoding="utf-8")
    with pytest.raises(Exception, match="must return, but it ended the program"):
        load_spec(path).schema.validate(pd.DataFrame([[20, "f", "none", "no"]], columns=small_release.NAMES), lazy=True)


def fifo(path: Path) -> Path:
    os.mkfifo(path)
    return path


def device(path: Path) -> Path:
    path.symlink_to("/dev/zero")
    return path


def a_socket(path: Path) -> Path:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))
    return path


def folder(path: Path) -> Path:
    path.mkdir()
    return path


IRREGULAR = [(fifo, "a pipe"), (device, "a device"), (a_socket, "a socket"), (folder, "a folder")]


@pytest.mark.parametrize(("made", "kind"), IRREGULAR)
def test_a_spec_or_a_schema_that_is_no_regular_file_is_not_opened(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], made: Callable[[Path], Path], kind: str
) -> None:
    specs = tmp_path / "specs"
    specs.mkdir()
    said = refused(made(specs / "s.yaml"), tmp_path / "state", capsys)
    assert f"the release spec must be a regular file, but {specs / 's.yaml'} is {kind}" in said
    path = write_small_release(tmp_path / "spec", people=[], dataset="other.py")
    made(path.parent / "other.py")
    assert f"the dataset must be a regular file, but {path.parent / 'other.py'} is {kind}" in refused(
        path, tmp_path / "state", capsys
    )


@pytest.mark.parametrize(("made", "kind"), IRREGULAR[:3])
@pytest.mark.parametrize("name", ["people.csv", "people.csv.gz", "people.parquet"])
def test_a_source_that_is_no_regular_file_is_not_opened(
    tmp_path: Path, made: Callable[[Path], Path], kind: str, name: str
) -> None:
    path = write_small_release(tmp_path, people=[], source={"kind": "file", "path": f"other/{name}"})
    folder(tmp_path / "other")
    made(tmp_path / "other" / name)
    with (
        pytest.raises(InvalidInput, match=rf"^the source must be a regular file, but \S+ is {kind}; name the intended"),
        opened_source(load_spec(path), tmp_path),
    ):
        pass


@pytest.mark.parametrize(("made", "kind"), IRREGULAR[:3])
def test_a_folder_that_holds_other_than_files_is_no_source(
    tmp_path: Path, made: Callable[[Path], Path], kind: str
) -> None:
    path = write_small_release(tmp_path, people=[], source={"kind": "file", "path": "parts/"})
    made(folder(tmp_path / "parts") / "1.parquet")
    with (
        pytest.raises(InvalidInput, match=rf"must hold Parquet files and nothing else, and \S+ is {kind}"),
        opened_source(load_spec(path), tmp_path),
    ):
        pass


def test_a_folder_whose_links_lead_back_into_it_is_no_source(tmp_path: Path) -> None:
    path = write_small_release(tmp_path, people=[], source={"kind": "file", "path": "parts/"})
    for name in "ab":
        (tmp_path / "parts").mkdir(exist_ok=True)
        (tmp_path / "parts" / name).symlink_to(".", target_is_directory=True)
    with (
        pytest.raises(InvalidInput, match=r"must hold Parquet files and nothing else, and \S+ is a link to a folder"),
        opened_source(load_spec(path), tmp_path),
    ):
        pass


def test_a_file_is_read_up_to_a_size_and_no_further(tmp_path: Path) -> None:
    path = tmp_path / "sparse"
    with path.open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(InvalidInput, match=r"it must have at most 5 bytes, but \S+ has more"):
        read_regular(path, "it", 5)
    path.write_bytes(b"12345")
    assert read_regular(path, "it", 5) == b"12345"


@pytest.mark.parametrize("place", ["~nobody-has-this-home/x", "a\0b", "loop/x"])
def test_a_path_that_leads_nowhere_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(InvalidInput, match="it must be at a valid path, got"):
        whole_path(Path(place), "it")


@pytest.mark.parametrize("written", ["1e1001", "1e-999999999", "1_0e9_999", "9" * 1001, "", "x", "1/0", "nan", "inf"])
def test_a_number_that_is_none_or_too_long_is_refused(written: str) -> None:
    with pytest.raises(InvalidInput, match=r"^a number must"):
        exact_number(written)
    assert exact_number("1e-6") == Fraction(1, 10**6)
    assert exact_number("-1/3") == Fraction(-1, 3)


@pytest.mark.parametrize(("made", "kind"), IRREGULAR[:3])
def test_a_key_or_a_trust_file_that_is_no_regular_file_is_not_opened(
    tmp_path: Path, made: Callable[[Path], Path], kind: str
) -> None:
    place = made(tmp_path / "it")
    with pytest.raises(InvalidInput, match=rf"the signing key must be a regular file, but \S+ is {kind}"):
        load_private_key(place)
    with pytest.raises(InvalidInput, match=rf"the trust file must be a regular file, but \S+ is {kind}"):
        read_trusted_keys(place)
