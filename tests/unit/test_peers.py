"""`make bench-peers` measures all programs by one protocol, keeps what it measured, and its pages have what it kept."""

import json
import shutil
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmarks import environments, measuring, peers, utility
from benchmarks.environments import Environment, Unavailable
from benchmarks.peer_programs import driver
from benchmarks.peers import KEPT, LONG_S, PAGE, PROGRAMS, README, REAL, Ended, Job, Program, is_enough, table, with_run
from benchmarks.utility import Half
from deniable.foundation.domain import Attribute, Domain

SCORES = {"tvd1": 0.01, "tvd2": 0.0345, "tvd3": 0.07, "rf_acc": 0.8, "disc_acc": 0.6}


def row(cold: float, *more: float, pairs: float = 0.05, version: str = "1.0") -> peers.Kept:
    """A row of several runs."""
    runs = [SCORES | {"tvd2": pairs, "cold": each, "per_second": 12_345.0, "mib": 99.5} for each in (cold, *more)]
    return {"title": "PrivBayes (other)", "version": version, "runs": runs}


def test_both_pages_have_the_figures_that_were_kept() -> None:
    kept = json.loads(KEPT.read_text(encoding="utf-8"))
    for path, written in ((PAGE, peers.page), (README, peers.short)):
        text = path.read_text(encoding="utf-8")
        assert written(text, kept) == text
        assert written(text, {**kept, "figures": {}}) != text
        with pytest.raises(ValueError, match="must have the lines"):
            written("# A page", kept)


def test_a_row_has_medians_with_the_least_and_the_most_of_its_runs() -> None:
    (line,) = table({"dpmm-mst": row(3.0, 1.0, 20.0)}).splitlines()[2:]
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    assert cells[0] == "PrivBayes (other), 1.0"
    assert cells[2] == ".050 (.050 to .050)"
    assert cells[6:] == ["3 (1 to 20)", "", "12,000 (12,000 to 12,000)", "100 (100 to 100)", "3"]


def test_a_page_names_the_programs_that_a_table_lacks_and_no_others() -> None:
    rows = {name: row(1.0) for name in PROGRAMS if name != "dpmm-aim"}
    text = peers.page(PAGE.read_text(encoding="utf-8"), {"figures": {"adult": rows}})
    assert [line for line in text.splitlines() if "Not measured" in line] == ["Not measured yet: AIM (dpmm)."]
    rows["dpmm-aim"] = {"title": "AIM (dpmm)", "version": "1.0", "limit": 900.0}
    assert "Not measured" not in peers.page(text, {"figures": {"adult": rows}})


def test_programs_are_given_no_password_of_our_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DENIABLE_PAGES_CREDENTIALS", "PREFECT_API_AUTH_STRING", "MLFLOW_TRACKING_URI", "HTTPS_PROXY"):
        monkeypatch.setenv(name, "a secret")
    given = peers._environment()
    assert [name for name, value in given.items() if value == "a secret"] == ["HTTPS_PROXY"]
    assert given["OMP_NUM_THREADS"] == "1"


@pytest.mark.parametrize(
    ("figure", "shown"),
    [(0.256, "0.26"), (9.44, "9.4"), (99.5, "100"), (9_999.4, "9,999"), (12_345, "12,000"), (3_412_345, "3,400,000")],
)
def test_seconds_and_speeds_have_two_digits_or_no_decimals(figure: float, shown: str) -> None:
    assert shown in table({"dpmm-mst": row(figure)})


def test_rows_are_in_the_order_of_their_pairs_and_real_data_are_last() -> None:
    real = {"title": "a second half", "version": "", "runs": [SCORES | {"tvd2": 0.001}]}
    late = {"title": "AIM (other)", "version": "1.0", "limit": 900.0}
    lines = table({REAL: real, "dpmm-aim": late, "mst": row(1.0, pairs=0.2), "loglinear": row(1.0)}).splitlines()[2:]
    assert [line.split("|")[3].strip() for line in lines] == [".050", ".200", "", ".001"]
    assert "| no records within 900 CPU s |" in lines[2]
    assert lines[3].startswith("| *a second half* |")


@pytest.mark.parametrize(
    ("kept", "enough"),
    [
        (None, False),
        (row(1.0, 1.0), False),
        (row(1.0, 1.0, 1.0), True),
        (row(1.0, 1.0, 1.0, version="0.9"), False),
        (row(LONG_S + 1), True),
        ({"title": "", "version": "1.0", "limit": 900.0}, True),
    ],
)
def test_a_run_is_resumed_where_runs_of_the_version_are_missing(kept: peers.Kept | None, *, enough: bool) -> None:
    assert is_enough(kept, "1.0", 3) is enough
    assert not is_enough(kept, "", 3), "outside a repository nothing says that the code is the same"


def test_a_run_is_added_to_those_of_its_version_and_replaces_others() -> None:
    program = PROGRAMS["mst"]
    assert len(with_run(row(1.0), program, "1.0", {"cold": 2.0}, 900)["runs"]) == 2
    assert with_run(row(1.0), program, "1.1", {"cold": 2.0}, 900)["runs"] == [{"cold": 2.0}]
    late = with_run(row(1.0), program, "1.0", {}, 900)
    assert late == {"title": program.title, "version": "1.0", "limit": 900}
    assert with_run(late, program, "1.0", {"cold": 2.0}, 900)["runs"] == [{"cold": 2.0}]


@pytest.mark.parametrize("name", [name for name, program in PROGRAMS.items() if not program.is_ours])
def test_every_other_program_is_pinned(name: str) -> None:
    environment = PROGRAMS[name].environment
    assert environment is not None
    assert PROGRAMS[name].version[0].isdigit()
    assert (Path(driver.__file__).parent / f"{PROGRAMS[name].module}.py").is_file()


def test_a_program_without_a_python_is_refused_in_one_sentence(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    environment = Environment("dpmm", (3, 20), (3, 22))
    monkeypatch.setenv("PATH", str(tmp_path))
    words = "dpmm must have a Python of 3.20 to 3.21, and there is none on the path; install one."
    with pytest.raises(Unavailable) as refused:
        environment.python(tmp_path)
    assert str(refused.value) == words
    # A name on the path that stands for nothing is no Python.
    (tmp_path / "python3.21").write_text("#!/bin/sh\nexit 127\n")
    (tmp_path / "python3.21").chmod(0o755)
    with pytest.raises(Unavailable):
        environment.interpreter()
    (tmp_path / "python3.20").write_text("#!/bin/sh\nexit 0\n")
    (tmp_path / "python3.20").chmod(0o755)
    assert environment.interpreter() == str(tmp_path / "python3.20")


def test_an_environment_is_kept_while_its_pins_are_the_same(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "infra/peers").mkdir(parents=True)
    pins = tmp_path / "infra/peers/requirements-other.txt"
    pins.write_text("other==1.2 \\\n    --hash=sha256:00\n")
    monkeypatch.setattr(environments, "ROOT", tmp_path)
    asked: list[list[str]] = []

    def done(command: list[str], **_: object) -> object:
        asked.append(command)
        Path(tmp_path / "made/other").mkdir(parents=True, exist_ok=True)
        return type("Ended", (), {"returncode": int(len(asked) > 2), "stderr": "\nno such hash\n", "stdout": ""})

    monkeypatch.setattr(environments.subprocess, "run", done)
    environment = Environment("other")
    assert environment.version == "1.2"
    python = environment.python(tmp_path / "made")
    assert python == environment.python(tmp_path / "made") == str(tmp_path / "made/other/bin/python")
    assert len(asked) == 2
    assert {"--require-hashes", "--only-binary"} <= set(asked[1])
    pins.write_text("other==1.3 \\\n    --hash=sha256:00\n")
    with pytest.raises(Unavailable, match=r"other must be installed to be measured, .* failed with: no such hash"):
        environment.python(tmp_path / "made")


@pytest.mark.slow
def test_our_own_learner_is_measured_by_the_protocol() -> None:
    ended = peers.tried(PROGRAMS["loglinear"])
    assert ended.records.shape == (2000, 4)
    assert (ended.records.max(axis=0) < (12, 2, 3, 2)).all()
    assert 0 < ended.figures["warm"] < ended.figures["cold"]
    assert ended.figures["per_second"] > 0
    assert ended.figures["mib"] > 50


MADE_UP = """
import subprocess, sys, time

def spin(seconds):
    start = time.process_time()
    while time.process_time() < start + seconds:
        pass

def fails(request):
    raise SystemExit("it has no model")

def goes_on(request):
    spin(1e9)

def begins_late(request, seen=[]):
    seen.append(1)
    if len(seen) > 1:
        spin(1e9)
    return lambda records: [[0]] * records

def takes_a_second(request):
    spin(1)
    return lambda records: [[0]] * records

def has_children(request):
    code = "import time\\nwhile time.process_time() < 0.3: pass\\n"
    subprocess.run([sys.executable, "-c", code])
    code += "print(1, flush=True)\\ntime.sleep(100)"
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    child.stdout.readline()
    open(request.train, "w").write(str(child.pid))
    def draw(records):
        return [[0]] * records
    return draw

PROGRAMS = {each.__name__: each for each in (fails, goes_on, begins_late, takes_a_second, has_children)}
"""


@pytest.fixture
def made_up(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Job:
    """A checkout in which there are programs made up for the tests."""
    folder = tmp_path / "benchmarks/peer_programs"
    folder.mkdir(parents=True)
    (folder.parent / "__init__.py").touch()
    (folder / "__init__.py").touch()
    shutil.copy(driver.__file__, folder)
    shutil.copy(measuring.__file__, folder.parent)
    (folder / "made_up.py").write_text(MADE_UP)
    monkeypatch.setattr(peers, "ROOT", tmp_path)
    return Job(tmp_path / "train.csv", tmp_path / "meta.json", 3, 1, 0.4)


def ran(name: str, job: Job) -> Ended:
    """Run a program that is made up."""
    return peers.run(Program("Made up", "made_up", name), sys.executable, job)


def test_a_program_that_fails_is_refused_with_its_last_words(made_up: Job) -> None:
    with pytest.raises(
        Unavailable, match="Made up must run to its end to be measured, and it failed with: it has no model"
    ):
        ran("fails", made_up)


@pytest.mark.slow
@pytest.mark.nightly
def test_a_fit_that_reaches_the_limit_is_stopped(made_up: Job) -> None:
    assert ran("goes_on", made_up) == Ended({})
    late = ran("begins_late", made_up)
    assert late.records.shape == (3, 1)
    assert late.figures.keys() == {"cold", "mib", "per_second"}, "the second fit is stopped, and the first one counts"
    both = ran("takes_a_second", Job(made_up.train, made_up.meta, 3, 1, 1.9))
    assert 1 <= both.figures["warm"] < both.figures["cold"], "each fit has the whole limit"


@pytest.mark.slow
@pytest.mark.nightly
def test_children_count_whether_or_not_they_have_ended(made_up: Job) -> None:
    job = Job(made_up.train, made_up.meta, 3, 1, 100)
    assert ran("has_children", job).figures["cold"] > 0.6
    left = made_up.train.read_text()
    # A process that was killed may take a moment to end.
    give_up = time.monotonic() + 60
    while _runs(left) and time.monotonic() < give_up:
        time.sleep(0.05)
    assert not _runs(left), "no child is left behind"


def _runs(process: str) -> bool:
    """Whether a process has not ended; one that has may still be listed."""
    try:
        return Path("/proc", process, "stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_programs_run_by_turns_and_every_run_is_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    domain = Domain((Attribute("a", (0, 1), "nominal", (0, 1)), Attribute("b", (0, 1), "nominal", (0, 1))), target="a")
    codes = pd.DataFrame(np.zeros((5, 2), int), columns=["a", "b"])
    turns: list[tuple[str, int]] = []

    def run(program: Program, _: str, job: Job) -> Ended:
        turns.append((program.name, job.seed))
        if program.name == "mst":
            raise Unavailable("mst must run.")
        slow = LONG_S + 1.0 if program.name == "aim" else 1.0
        return Ended({"cold": slow, "mib": 1.0, "per_second": 1.0}, np.zeros((5, 2)))

    def refused(_: Environment) -> str:
        raise Unavailable("synthpop must be there.")

    for name, made in (("run", run), ("tried", lambda _: None), ("prepare", lambda *_: None)):
        monkeypatch.setattr(peers, name, made)
    monkeypatch.setattr(peers, "scorer", lambda _: lambda *_, **__: dict(SCORES))
    monkeypatch.setattr(Environment, "python", refused)
    monkeypatch.setattr(Half, "read", lambda *_: Half({}, domain, codes, codes))
    for path in (PAGE, README):
        shutil.copy(path, tmp_path)
    monkeypatch.setattr(peers, "PAGE", tmp_path / PAGE.name)
    monkeypatch.setattr(peers, "README", tmp_path / README.name)
    monkeypatch.setattr(peers, "KEPT", tmp_path / "peers.json")
    asked = ["peers", "--datasets", "adult", "--programs", "loglinear", "aim", "mst", "synthpop", "--runs", "2"]
    monkeypatch.setattr(sys, "argv", asked)
    monkeypatch.setattr(Program, "version", "abc")
    peers.main()
    assert turns == [("loglinear", 1), ("aim", 1), ("mst", 1), ("loglinear", 2), ("mst", 2)]
    said = capsys.readouterr().out
    assert "synthpop must be there. The other programs are measured." in said
    assert "mst must run." in said
    kept = json.loads((tmp_path / "peers.json").read_text())["figures"]["adult"]
    assert {name: len(own["runs"]) for name, own in kept.items()} == {REAL: 1, "loglinear": 2, "aim": 1}
    assert "| **Deniable (`loglinear`)** | .035 | .070 | .800 | .600 | 1 |  |" in (tmp_path / README.name).read_text()
    turns.clear()
    monkeypatch.setattr(sys, "argv", [*asked[:-1], "3", "--resume"])
    peers.main()
    assert [turn for turn in turns if turn[0] != "mst"] == [("loglinear", 3)]
    turns.clear()
    monkeypatch.setattr(sys, "argv", asked)
    peers.main()
    assert turns[0] == ("loglinear", 1), "without --resume everything is measured anew"
    assert len(json.loads((tmp_path / "peers.json").read_text())["figures"]["adult"]["loglinear"]["runs"]) == 2


def test_a_number_of_runs_that_measures_nothing_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["peers", "--runs", "0"])
    with pytest.raises(SystemExit):
        peers.main()
    assert "runs must be 1 or more and seconds positive, got 0 and 900." in capsys.readouterr().err


def test_other_benchmarks_compare_with_medians() -> None:
    late = {"title": "AIM (other)", "version": "1.0", "limit": 900.0}
    kept = {
        "figures": {"adult": {"a": row(3.0, 1.0, 20.0), "b": late}},
        "goals": {"adult": {"tvd2": 0.01}},
        "once": {"acs13": {"SWIFT": {"tvd2": 0.2}}},
    }
    found = utility.peers(kept)
    assert found["adult"]["PrivBayes (other)"] == SCORES | {"tvd2": 0.05, "fit": 3.0}
    assert found["adult"].keys() == {"PrivBayes (other)", "to be reached"}
    assert found["acs13"] == {"SWIFT": {"tvd2": 0.2}}
