"""A release on which every command was run: verified, audited, replayed, compared, with its ledger and keys shown."""

import pickle
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from stores.locks import locked
from tests.flows.canaries import write_release_with_canaries
from tests.flows.command import environment, run
from tests.made_once import FOLDER
from tests.warm import run_module
from tests.watched_folders import watching_folders


@dataclass(frozen=True)
class LookedAt:
    """Everything left by a release and by the commands run on it.

    Attributes:
        spec: its spec, next to its source table.
        state: its state folder.
        home: the user's home, which contains the folder of temporary files.
        said: the output by command.
        made: every file ever made in the home and among the temporary files, including that of tests.flows.temporary.
    """

    spec: Path
    state: Path
    home: Path
    said: dict[str, str]
    made: frozenset[Path]

    @property
    def vault(self) -> Path:
        return self.state / "vault"

    @property
    def release(self) -> Path:
        [folder] = (self.state / "releases").iterdir()
        return folder

    @property
    def name(self) -> str:
        return self.release.name


def looked_at_once() -> LookedAt:
    """Return such a release of a table with canaries, made by the first process that asks for it."""
    folder = FOLDER / "looked-at"
    kept = folder / "all.pickle"
    with locked(FOLDER / "looking.lock", wait=True):
        if not kept.exists():
            kept.write_bytes(pickle.dumps(look_at(write_release_with_canaries(folder / "spec"), folder)))
    made: LookedAt = pickle.loads(kept.read_bytes())  # noqa: S301 - of our own
    return made


def look_at(spec: Path, folder: Path) -> LookedAt:
    """Make the release of a spec, and run every command on it.

    Args:
        spec: the release spec.
        folder: folder for the state folder, the user's home and exports.
    """
    state, home = folder / "state", folder / "home"
    temporary = Path(environment(home)["TMPDIR"])
    said = {}
    with watching_folders(home, temporary) as watched:

        def flows(*arguments: str | Path) -> None:
            done = run(*arguments, "--state", state, home=home, PREFECT_LOGGING_LEVEL="DEBUG")
            assert done.returncode == 0, (arguments, done.stdout, done.stderr)
            said[" ".join(map(str, arguments[:2]))] = done.stdout + done.stderr

        flows("release", "plan", spec)
        flows("release", "make", spec)
        [published] = (state / "releases").iterdir()
        flows("audit", "replay", published.name)
        flows("audit", "release", published.name)
        flows("release", "compare", published.name, published.name)
        flows("budget", "show")
        flows("budget", "export", home / "ledger.jsonl")
        flows("keys", "show")
        flows("keys", "export", home / "trusted.json")
        said["verify"] = _verify(published, home)
        assert run_module("tests.flows.temporary", [], env=environment(home), cwd=home).returncode == 0
        made = frozenset(watched.made())
    return LookedAt(spec=spec, state=state, home=home, said=said, made=made)


def _verify(published: Path, home: Path) -> str:
    arguments = ["audit", "verify", published, "--keys", home / "trusted.json", "--ledger", home / "ledger.jsonl"]
    done = subprocess.run(
        [sys.executable, "-m", "deniable", *map(str, arguments)],
        env=environment(home),
        cwd=home,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, (done.stdout, done.stderr)
    return done.stdout + done.stderr
