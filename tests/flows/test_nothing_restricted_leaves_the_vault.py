"""The content of one person's record is found only in the vault, whether the release succeeds or fails.

Nor does it get out later: the release that succeeds is verified, audited, replayed and compared as well.
"""

import base64
import gzip
import io
import json
import sqlite3
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pandas as pd
import pytest

from tests.flows.canaries import CANARIES, NAME, NUMBER, WORD, files_with_canaries, write_release_with_canaries
from tests.flows.command import environment, run
from tests.flows.looked_at import LookedAt
from tests.flows.temporary import CONTROL
from tests.small_release import SCHEMA
from tests.watched_folders import watching_folders

# A schema whose author did not know that an error's message may be read by anyone.
CARELESS = SCHEMA.replace('target="employed",', 'target="employed", recode=careless,').replace(
    "schema =",
    '''
def careless(rows):
    """Fails on a school that it does not know, and says which."""
    for school in rows["school"].unique():
        if school not in ("none", "some", "degree"):
            raise ValueError(f"cannot recode school {school}")
    return rows


schema =''',
)

# Reads the first records of a source, says so, and waits.
READS = """
import sys
from pathlib import Path
from schemas.spec.release_spec import load_spec
from stores.tables.sources.reading import opened_source
with opened_source(load_spec(Path(sys.argv[1])), Path(sys.argv[2])) as source:
    next(source.batches())
    print("reading", flush=True)
    sys.stdin.read()
"""

# What there is to look into; a kind that is missing would be searched in vain.
KINDS = {
    "the record": "releases/*/record.dsse.json",
    "the page for everybody": "releases/*/index.html",
    "the internal record": "shelf/*/record.dsse.json",
    "the report": "shelf/*/report.html",
    "the page of a comparison": "comparisons/*.html",
    "mlflow's database": "mlflow/mlflow.db",
    "mlflow's copy of the record": "mlflow/artifacts/**/internal/record.dsse.json",
    "mlflow's pictures": "mlflow/artifacts/**/*.svg",
    "prefect's database": "prefect/prefect.db",
    "prefect's log": "prefect/server.log",
    "the ledger": "ledger/ledger.db",
    "what the state folder knows of the ledger": "ledger-anchor.jsonl",
    "the trusted keys": "keys/trusted.json",
}


def is_sqlite_s(path: Path) -> bool:
    """Whether a temporary file is a journal of SQLite's: pages of a database that is looked into anyway."""
    return path.name.startswith("etilqs_")


def test_a_value_of_one_record_is_found_only_in_the_vault(looked_at: LookedAt) -> None:
    everywhere = files_with_canaries(looked_at.state, looked_at.home)
    vault = f"{looked_at.vault}/"
    assert {path: names for path, names in everywhere.items() if not path.startswith(vault)} == {}
    in_the_vault = {name for path, names in everywhere.items() if path.startswith(vault) for name in names}
    # Were they looked for in vain everywhere, the search would be worth nothing. The name never left the source.
    assert in_the_vault == {WORD, str(NUMBER)}
    assert [kind for kind, files in KINDS.items() if not [*looked_at.state.glob(files)]] == []


def test_a_value_of_one_record_is_printed_by_no_command(looked_at: LookedAt) -> None:
    of_releases = {"release plan", "release make", "release compare", "audit replay", "audit release", "verify"}
    assert of_releases | {"budget show", "budget export", "keys show", "keys export"} == set(looked_at.said)
    for command, said in looked_at.said.items():
        assert said, command
        assert [canary for canary in CANARIES if canary in said] == [], command


def test_no_file_of_ours_is_ever_among_the_temporary_files_or_in_the_home(looked_at: LookedAt) -> None:
    """Nothing of a release is even for a moment where other programs put their files."""
    asked_for = ("ledger.jsonl", "trusted.json")
    made = {path for path in looked_at.made if not path.name.lstrip(".").startswith(asked_for)}
    # Those of libraries stay, and were looked into: which fonts there are, say.
    libraries = {looked_at.home / name for name in (".cache", ".config")}
    controls = {path for path in made if path.name.startswith(CONTROL)}
    assert {path for path in made - controls if not is_sqlite_s(path)} <= libraries
    assert {looked_at.home / name for name in asked_for} <= looked_at.made
    # A command's temporary file would have been seen, though it was gone at once.
    assert {path.parent for path in controls} == {Path(environment(looked_at.home)["TMPDIR"])}


CHANGES: dict[str, dict[str, Any]] = {
    "too many invalid, an earlier reader killed": {
        "max_invalid_share": 0,
        "source": {"kind": "file", "path": "people.zip"},
    },
}


def leave_unpacked_table(spec: Path, state: Path, home: Path) -> None:
    """Kill a process that reads the table of a ZIP file, and require that it is left in a private folder of the state.

    Args:
        spec: a spec whose source is `people.zip`.
        state: the state folder.
        home: the user's home, which contains the folder of temporary files.
    """
    table = spec.parent / "people.csv"
    with ZipFile(spec.parent / "people.zip", "w") as archive:
        archive.write(table, table.name)
    table.unlink()
    arguments = [sys.executable, "-c", READS, str(spec), str(state)]
    with subprocess.Popen(arguments, env=environment(home), stdin=subprocess.PIPE, stdout=subprocess.PIPE) as reader:
        assert reader.stdout is not None
        assert reader.stdout.readline() == b"reading\n"
        reader.kill()
    # It had no time to remove anything: what follows is about a copy that is really there.
    [(left, canaries)] = files_with_canaries(state, home).items()
    assert canaries == set(CANARIES)
    folder = Path(left).parent
    assert folder.parent == state / "scratch"
    assert [place.stat().st_mode & 0o077 for place in (folder, folder.parent)] == [0, 0]


@pytest.mark.parametrize(
    ("way", "in_the_vault"),
    [("too many invalid, an earlier reader killed", set()), ("careless schema", {WORD})],
)
def test_a_release_that_fails_tells_no_value_either(way: str, in_the_vault: set[str], tmp_path: Path) -> None:
    spec = write_release_with_canaries(tmp_path / "spec", **CHANGES.get(way, {}))
    state, home = tmp_path / "state", tmp_path / "home"
    if way == "careless schema":
        (spec.parent / "people.py").write_text(CARELESS)
    if way.endswith("killed"):
        leave_unpacked_table(spec, state, home)
    done = run("release", "make", spec, "--state", state, home=home, PREFECT_LOGGING_LEVEL="DEBUG")
    assert done.returncode == 1, done.stderr
    assert [canary for canary in CANARIES if canary in done.stdout + done.stderr] == []
    everywhere = files_with_canaries(state, home)
    vault = str(state / "vault")
    assert {path: names for path, names in everywhere.items() if not path.startswith(vault)} == {}
    assert {name for names in everywhere.values() for name in names} == in_the_vault


def test_the_search_finds_what_it_is_for(tmp_path: Path) -> None:
    payload = base64.b64encode(json.dumps({"school": WORD, "steps": list(range(40))}).encode()).decode()
    table = io.BytesIO()
    pd.DataFrame({"age": [float(NUMBER)]}).to_parquet(table)
    database = sqlite3.connect(tmp_path / "database")
    database.execute("CREATE TABLE t (a)")
    database.execute("INSERT INTO t VALUES (?)", [json.dumps({"name": NAME})])
    database.commit()
    forms = {
        "text": f"school {WORD}".encode(),
        "integer": b"\0" + struct.pack("<q", NUMBER),
        "float": struct.pack("<d", float(NUMBER)),
        "record": json.dumps({"payload": payload}).encode(),
        "parquet": table.getvalue(),
        "gzip": gzip.compress(NAME.encode()),
        "nothing": b"degree",
    }
    for name, content in forms.items():
        (tmp_path / name).write_bytes(content)
    assert {Path(path).name: names for path, names in files_with_canaries(tmp_path).items()} == {
        "text": {WORD},
        "integer": {str(NUMBER)},
        "float": {str(NUMBER)},
        "record": {WORD},
        "parquet": {str(NUMBER)},
        "gzip": {NAME},
        "database": {NAME},
    }


def test_a_file_that_is_gone_at_once_was_noticed(tmp_path: Path) -> None:
    (tmp_path / "before").touch()
    with watching_folders(tmp_path) as watched:
        for number in range(500):
            (tmp_path / f"gone {number}").touch()
            (tmp_path / f"gone {number}").unlink()
        (tmp_path / "folder").mkdir()
        (tmp_path / "folder").rmdir()
        (tmp_path / "before").replace(tmp_path / "after")
        assert watched.made() == {tmp_path / name for name in (*(f"gone {n}" for n in range(500)), "folder", "after")}
        assert watched.made() == set()
