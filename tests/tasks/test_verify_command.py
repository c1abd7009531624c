"""An auditor has a release folder and the wheel, nothing else: deniable audit verify RELEASE_DIR."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from deniable.cli.dispatch import main
from deniable.cli.files import CONFIGURATION_VARIABLE, DOES_NOT_HOLD, HOLDS, KEYS_VARIABLE, UNREADABLE
from deniable.verification.release import Trust, verify_release
from tests.published import InMemory, Published, folder_in
from tests.whole_release import drawn_release

MAKERS = {"prefect", "mlflow", "pandera", "pydantic", "scipy", "numba", "sklearn", "matplotlib", "dp_accounting"}
MODULES = 900
"""Modules of a process that verifies, those of pyarrow and pandas included."""

# Refuses to import whatever is neither of Python nor of the wheel and its two requirements.
ISOLATED = """
import sys

WHEEL = {"deniable", "numpy", "cryptography", "_cffi_backend"}


class Only:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] not in WHEEL | set(sys.stdlib_module_names):
            raise ImportError(f"{name} is not in the wheel")


started_with = set(sys.modules)  # a distribution's own sitecustomize, say
sys.meta_path.insert(0, Only())
from deniable.cli.dispatch import main

status = main(sys.argv[1:])
loaded = {name.partition(".")[0] for name in set(sys.modules) - started_with} - WHEEL - set(sys.stdlib_module_names)
print(sorted(name for name in loaded if not name.startswith("_")), file=sys.stderr)
sys.exit(status)
"""


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Published:
    drawn = drawn_release(tmp_path_factory.mktemp("command"), "people-1")
    drawn.publish()
    return Published.of(drawn)


def own_keys(folder: Path) -> Path:
    """The trust file of whoever looks."""
    return folder / "configuration" / "deniable" / "trusted.json"


@pytest.fixture
def release(published: Published, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A release folder, a ledger, and a trust file in the configuration of whoever looks."""
    monkeypatch.delenv(KEYS_VARIABLE, raising=False)
    monkeypatch.setenv(CONFIGURATION_VARIABLE, str(tmp_path / "configuration"))
    (tmp_path / "configuration" / "deniable").mkdir(parents=True)
    own_keys(tmp_path).write_text(published.keys.to_text(), encoding="utf-8")
    (tmp_path / "ledger.jsonl").write_text("".join(f"{line}\n" for line in published.ledger), encoding="utf-8")
    return folder_in(tmp_path / "releases" / "people-1", published)


def test_verifying_imports_nothing_that_makes_releases_where_all_is_installed(release: Path) -> None:
    code = """
import sys
from deniable.cli.dispatch import main

status = main(sys.argv[1:])
print(len(sys.modules), *sorted({name.partition(".")[0] for name in sys.modules}))
sys.exit(status)
"""
    command = [sys.executable, "-c", code, "audit", "verify", str(release)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    modules, *loaded = done.stdout.splitlines()[-1].split()
    # pyarrow reads the Parquet file, and imports pandas where it is installed.
    assert not MAKERS.intersection(loaded)
    assert int(modules) <= MODULES


def test_a_release_that_holds_exits_with_0_and_says_a_line_a_check(
    release: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["audit", "verify", str(release)]) == HOLDS
    *lines, verdict = capsys.readouterr().out.splitlines()
    assert len(lines) == 16
    assert sum(line.startswith("ok      ") for line in lines) == 15
    assert sum(line.startswith("--      ") for line in lines) == 1
    assert verdict == "The release people-1 holds: 15 checks, and 1 that could not be made with what was given."


def test_with_the_exported_ledger_all_is_checked(release: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ledger = release.parent.parent / "ledger.jsonl"
    assert main(["audit", "verify", str(release), "--ledger", str(ledger)]) == HOLDS
    assert capsys.readouterr().out.splitlines()[-1] == "The release people-1 holds: 16 checks."
    lines = ledger.read_text(encoding="utf-8").splitlines(keepends=True)
    ledger.write_text("".join(lines[:-1]), encoding="utf-8")
    assert main(["audit", "verify", str(release), "--ledger", str(ledger)]) == DOES_NOT_HOLD
    assert f"entry {len(lines) - 1} is not in the exported ledger" in capsys.readouterr().out


def test_the_wheel_and_its_two_requirements_are_enough(release: Path, tmp_path: Path) -> None:
    program = tmp_path / "isolated.py"
    program.write_text(ISOLATED, encoding="utf-8")
    # As the wheel installs it: the checkout is not beside it.
    (tmp_path / "wheel").mkdir()
    (tmp_path / "wheel" / "deniable").symlink_to(Path(__file__).resolve().parents[2] / "deniable")
    command = [sys.executable, str(program)]
    clock = {name: os.environ[name] for name in ("LD_PRELOAD", "CLOCK_SHIFT_S") if name in os.environ}
    environment = {
        "PYTHONPATH": str(tmp_path / "wheel"),
        "PATH": "",
        CONFIGURATION_VARIABLE: str(tmp_path / "configuration"),
        **clock,
    }
    ledger = str(release.parent.parent / "ledger.jsonl")

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*command, *arguments], capture_output=True, text=True, env=environment, cwd=tmp_path, check=False
        )

    done = run("audit", "verify", str(release), "--ledger", ledger)
    assert (done.returncode, done.stderr.strip()) == (HOLDS, "[]"), done.stdout + done.stderr
    assert "not checked beyond its digest: pyarrow, which reads it, is not installed" in done.stdout
    assert "ok      the events of every step compose to no more than its cost" in done.stdout
    (release / "model.json").write_text("{}", encoding="utf-8")
    altered = run("audit", "verify", str(release))
    assert altered.returncode == DOES_NOT_HOLD
    assert "model.json is not what was signed" in altered.stdout
    assert run("audit", "record", str(release)).returncode == HOLDS


def test_whatever_is_no_file_of_its_own_is_found_in_the_folder(
    release: Path, published: Published, capsys: pytest.CaptureFixture[str]
) -> None:
    elsewhere = release.parent / "elsewhere.json"
    elsewhere.write_bytes(published.files["graph.json"])
    (release / "graph.json").unlink()
    (release / "graph.json").symlink_to(elsewhere)
    assert main(["audit", "verify", str(release)]) == DOES_NOT_HOLD
    assert "graph.json is a link, but a release has only files" in capsys.readouterr().out
    (release / "graph.json").unlink()
    (release / "graph.json").write_bytes(published.files["graph.json"])
    (release / "more").mkdir()
    (release / ".hidden").write_text("", encoding="utf-8")
    assert main(["audit", "verify", str(release)]) == DOES_NOT_HOLD
    assert ".hidden is not among the files that were signed (and 1 more)" in capsys.readouterr().out
    (release / ".hidden").unlink()
    assert main(["audit", "verify", str(release)]) == DOES_NOT_HOLD
    assert "more is a folder, but a release has only files" in capsys.readouterr().out


def test_a_record_that_is_a_link_is_not_followed(release: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (release / "record.dsse.json").rename(release.parent / "record")
    (release / "record.dsse.json").symlink_to(release.parent / "record")
    assert main(["audit", "verify", str(release)]) == DOES_NOT_HOLD
    assert "record.dsse.json: the record must be in the folder, got none" in capsys.readouterr().out


def test_keys_that_came_with_a_release_are_not_trusted(
    release: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A forger delivers a state folder with keys that say to trust the forger, and whoever looks stands in it."""
    download = tmp_path / "download"
    trust = own_keys(tmp_path).rename(tmp_path / "forged.json").read_text(encoding="utf-8")
    for place in ("var/keys", "keys", ".config/deniable", "configuration/deniable"):
        (download / place).mkdir(parents=True)
        (download / place / "trusted.json").write_text(trust, encoding="utf-8")
    (download / "var" / "releases").mkdir()
    monkeypatch.chdir(download)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    unpacked = str(release.rename(download / "var" / "releases" / "people-1"))
    for configuration in ("configuration", ".config", "", str(tmp_path / "configuration")):
        for state in ("", "var", str(download / "var")):
            monkeypatch.setenv(CONFIGURATION_VARIABLE, configuration)
            monkeypatch.setenv("DENIABLE_STATE", state)
            for named in (unpacked, "var/releases/people-1"):
                assert main(["audit", "verify", named]) == DOES_NOT_HOLD
                assert "there are no trusted keys" in capsys.readouterr().out
    monkeypatch.setenv(KEYS_VARIABLE, "var/keys/trusted.json")
    assert main(["audit", "verify", unpacked]) == UNREADABLE
    assert "DENIABLE_TRUSTED_KEYS must be an absolute path, got var/keys/trusted.json" in capsys.readouterr().err


def test_the_user_s_own_keys_are_in_the_home_folder_where_nothing_else_is_said(
    release: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv(CONFIGURATION_VARIABLE)
    own = tmp_path / "home" / ".config" / "deniable"
    own.mkdir(parents=True)
    own_keys(tmp_path).rename(own / "trusted.json")
    assert main(["audit", "verify", str(release)]) == HOLDS
    assert f"trusted keys of your own configuration, {own / 'trusted.json'}" in capsys.readouterr().out


def test_the_two_forms_of_the_table_have_the_same_records(release: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = (release / "synthetic.csv").read_text(encoding="utf-8").splitlines(keepends=True)
    other = next(number for number, line in enumerate(lines) if number > 5 and line != lines[5])
    lines[5], lines[other] = lines[other], lines[5]
    (release / "synthetic.csv").write_text("".join(lines), encoding="utf-8")
    assert main(["audit", "verify", str(release)]) == DOES_NOT_HOLD
    assert "synthetic.parquet: record 5 differs from that of synthetic.csv" in capsys.readouterr().out


def test_a_signature_of_the_future_does_not_count(published: Published) -> None:
    record = published.record
    signed, before, after = (f"{datetime.now(UTC) + timedelta(days=days):%Y-%m-%dT00:00:00Z}" for days in (5, 4, 6))
    record["signed"]["time"] = signed
    forged = published.signed_again(record)
    for latest, believed in ((before, False), (after, True)):
        trust = Trust(published.keys, "of the tests", latest)
        signature = verify_release(InMemory(forged.files), trust).lines[0]
        assert ("in the future by this machine's clock" not in signature) is believed


def test_trusted_keys_are_those_given_else_those_named_else_the_user_s_own(
    release: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    beside = own_keys(release.parent.parent)
    mine = release.parent.parent / "mine.json"
    assert main(["audit", "verify", str(release)]) == HOLDS
    assert f"trusted keys of your own configuration, {beside}" in capsys.readouterr().out
    beside.rename(mine)
    assert main(["audit", "verify", str(release)]) == DOES_NOT_HOLD
    out = capsys.readouterr().out
    assert (
        "there are no trusted keys; give a trust file with --keys FILE, name one in DENIABLE_TRUSTED_KEYS, or put one "
        f"at {beside}" in out
    )
    assert "ok      every file is as signed" in out, "the rest is checked all the same"
    assert main(["audit", "verify", str(release), "--keys", str(mine)]) == HOLDS
    assert f"trusted keys as given, {mine}" in capsys.readouterr().out
    monkeypatch.setenv(KEYS_VARIABLE, str(mine))
    assert main(["audit", "verify", str(release)]) == HOLDS
    assert f"trusted keys named by DENIABLE_TRUSTED_KEYS, {mine}" in capsys.readouterr().out
    monkeypatch.setenv(KEYS_VARIABLE, str(beside))
    assert main(["audit", "verify", str(release), "--keys", str(mine)]) == HOLDS
    assert main(["audit", "verify", str(release)]) == UNREADABLE


def test_what_cannot_be_read_exits_with_2_and_says_what_to_name(
    release: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    binary = tmp_path / "binary"
    binary.write_bytes(b"\xff\xfe")
    keys = str(own_keys(tmp_path))
    unreadable = {
        (str(tmp_path / "absent"), "--keys", keys): "a release must be a readable folder",
        (str(binary), "--keys", keys): "a release must be a readable folder",
        (str(release), "--keys", str(binary)): "binary, not a text",
        (str(release), "--keys", str(tmp_path)): "the trust file must be a readable file",
        (str(release), "--ledger", str(binary)): "the ledger must be a readable file",
        (str(release), "--ledger", str(tmp_path / "absent")): "the ledger must be a readable file",
    }
    for arguments, said in unreadable.items():
        assert main(["audit", "verify", *arguments]) == UNREADABLE, arguments
        captured = capsys.readouterr()
        assert said in captured.err
        assert captured.out == ""


def test_the_record_is_shown_as_people_read_it(
    release: Path, published: Published, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["audit", "record", str(release)]) == HOLDS
    captured = capsys.readouterr()
    shown = json.loads(captured.out)
    assert shown["predicate"] == published.record
    assert shown["predicateType"] == "urn:deniable:provenance:v2"
    assert captured.out.startswith('{\n  "_type"')
    assert "Not verified" in captured.err
    (release / "record.dsse.json").write_text("{}", encoding="utf-8")
    assert main(["audit", "record", str(release)]) == UNREADABLE
    (release / "record.dsse.json").unlink()
    assert main(["audit", "record", str(release)]) == UNREADABLE
    assert "the record must be a readable file" in capsys.readouterr().err


def test_a_reader_that_has_read_enough_is_no_error(release: Path) -> None:
    command = f"{sys.executable} -m deniable audit record {release} | head -n 1"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=True)
    assert done.stdout == "{\n"
    assert "Traceback" not in done.stderr
    assert "BrokenPipe" not in done.stderr


def test_a_release_without_its_statement_or_domain_does_not_hold(published: Published, tmp_path: Path) -> None:
    keys = tmp_path / "trusted.json"
    keys.write_text(published.keys.to_text(), encoding="utf-8")
    for number, name in enumerate(("privacy.json", "schema.json", "synthetic.csv", "synthetic.parquet")):
        without = replace(published, files={key: value for key, value in published.files.items() if key != name})
        folder = folder_in(tmp_path / str(number), without.signed_again(without.record))
        assert main(["audit", "verify", str(folder), "--keys", str(keys)]) == DOES_NOT_HOLD
