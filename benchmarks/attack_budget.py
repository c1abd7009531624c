"""`python -m benchmarks.attack_budget`: tries to get back the privacy budget that a release was charged.

The attacker runs this machine's commands, and owns the state folder: the ledger, the state folder's copy of it, and
backups of both. A small table of made-up people has the budget for one release. Each attack releases it, puts the
backup from before that release back, takes witnesses away, and asks for another release, which must be refused: one
witness is left in turn, be it the public record, the one on the shelf, the note of the charge, that of the policy, or
the vault. Further attacks give a release up, raise a cap by an old ledger or without the custodian's key, go on with a
fork, and release the same file, or a copy of it, under another name. As a control, the same attack without any witness
left must succeed, or the others would prove nothing.
"""

import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

from ruamel.yaml import YAML

from schemas.provenance import RECORD
from stores.ledger.evidence import NOTES
from tests.small_release import QUICK, write_small_release

ANCHOR, LEDGER = "ledger-anchor.jsonl", "ledger/ledger.db"
BUDGET = {"epsilon": "1.5", "delta": "0.1"}
"""Room for one release, which costs epsilon 0.86."""


class Attacked:
    """A state folder under attack.

    Args:
        folder: an empty folder.
    """

    def __init__(self, folder: Path) -> None:
        self.spec = write_small_release(folder / "spec", **QUICK, budget=BUDGET)
        self.state, self.backup = folder / "state", folder / "backup"

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a command of this project on the state folder."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("DENIABLE_")}
        return subprocess.run(
            [sys.executable, "-m", "flows", *arguments, "--state", str(self.state)],
            env={**kept, "PREFECT_SERVER_ANALYTICS_ENABLED": "false"},
            capture_output=True,
            text=True,
            check=False,
        )

    def release(self) -> str | None:
        """Make a release; return why it was refused, or None if it was made."""
        done = self.run("release", "make", str(self.spec))
        return None if done.returncode == 0 else (done.stdout + done.stderr).strip()

    def open(self) -> None:
        """Open the dataset's account, before anything is released."""
        self.run("budget", "set", "people", "--epsilon", BUDGET["epsilon"], "--delta", BUDGET["delta"])

    def back_up(self) -> None:
        """Copy the ledger and the state folder's copy of it."""
        self.backup.mkdir()
        with (
            closing(sqlite3.connect(self.state / LEDGER)) as there,
            closing(sqlite3.connect(self.backup / "ledger.db")) as here,
        ):
            there.backup(here)
        shutil.copy2(self.state / ANCHOR, self.backup / ANCHOR)

    def put_back(self) -> None:
        """Restore both."""
        shutil.copy2(self.backup / "ledger.db", self.state / LEDGER)
        shutil.copy2(self.backup / ANCHOR, self.state / ANCHOR)

    def keep_only(self, witness: str | None) -> None:
        """Take all witnesses away but one, or all."""
        (name,) = [folder.name for folder in (self.state / "releases").iterdir()]
        witnesses = {
            "the public record": self.state / "releases" / name,
            "the record on the shelf": self.state / "shelf" / name / RECORD,
            "the note of the charge": self.state / NOTES / f"{name}.jsonl",
            "the note of the policy": self.state / NOTES / "@policies.jsonl",
            "the vault": self.state / "vault" / name,
        }
        for each, place in witnesses.items():
            if each != witness:
                shutil.rmtree(place) if place.is_dir() else place.unlink()


REASONS = (
    "the ledger must hold",
    "must be charged to its own account",
    "must be named as it was opened",
    "only epsilon",
)
"""What a refusal of an attack says; a command that fails for another reason proves nothing."""

WITNESSES = ("the public record", "the record on the shelf", "the note of the charge", "the vault")


def restored(attacked: Attacked, witness: str | None) -> str | None:
    """Release, restore the ledger and its copy from before, keep one witness, and release again."""
    attacked.open()
    attacked.back_up()
    _require_made(attacked.release())
    attacked.put_back()
    attacked.keep_only(witness)
    return attacked.release()


def over_budget(attacked: Attacked) -> str | None:
    """Release twice without any trick."""
    _require_made(attacked.release())
    return attacked.release()


def forked(attacked: Attacked) -> str | None:
    """Restore both, and go on with a fork: enter another policy, then release."""
    attacked.open()
    attacked.back_up()
    _require_made(attacked.release())
    attacked.put_back()
    attacked.run("budget", "set", "people", "--epsilon", "1000", "--delta", "0.1")
    return attacked.release()


def lowered(attacked: Attacked) -> str | None:
    """Restore a ledger from before its cap was lowered."""
    attacked.open()
    attacked.back_up()
    attacked.run("budget", "set", "people", "--epsilon", "0.1", "--delta", "0.1")
    attacked.put_back()
    return attacked.release()


def discarded(attacked: Attacked) -> str | None:
    """Restore both after a release that was killed once it was charged, and then given up."""
    attacked.open()
    attacked.back_up()
    _require_made(attacked.release())
    (name,) = [folder.name for folder in (attacked.state / "releases").iterdir()]
    for folder in ("releases", "shelf", "vault"):
        shutil.rmtree(attacked.state / folder / name)
    attacked.put_back()
    return attacked.release()


def renamed(attacked: Attacked, dataset: str, *, copied: bool = False) -> str | None:
    """Release the same file, or a copy of it, once more under another name."""
    _require_made(attacked.release())
    folder = attacked.spec.parent
    if copied:
        shutil.copytree(folder, folder.with_name("copied"))
        attacked.spec = folder.with_name("copied") / attacked.spec.name
    yaml = YAML(typ="safe", pure=True)
    said = yaml.load(attacked.spec.read_text(encoding="utf-8"))
    said["budget"]["dataset"] = dataset
    with attacked.spec.open("w", encoding="utf-8") as file:
        yaml.dump(said, file)
    return attacked.release()


def unsigned(attacked: Attacked) -> str | None:
    """Raise the cap without the custodian's key, which is elsewhere, after the budget was spent."""
    _require_made(attacked.release())
    (attacked.state / "keys" / "custodian.key").rename(attacked.spec.parent / "elsewhere")
    attacked.run("budget", "set", "people", "--epsilon", "1000", "--delta", "0.1")
    return attacked.release()


ATTACKS: dict[str, Callable[[Attacked], str | None]] = {
    "releasing twice": over_budget,
    **{
        f"restoring the ledger with its copy; {witness} is left": lambda attacked, witness=witness: restored(
            attacked, witness
        )
        for witness in WITNESSES
    },
    "another name for the same file": lambda attacked: renamed(attacked, "village2"),
    "another writing of the name": lambda attacked: renamed(attacked, "People"),
    "another name for a copy of the file": lambda attacked: renamed(attacked, "village2", copied=True),
    "raising the cap without the custodian's key": unsigned,
    "restoring both, and going on with a fork": forked,
    "restoring a ledger from before its cap was lowered": lowered,
    "restoring both after a release was given up": discarded,
}


def main(chosen: Sequence[str] = ()) -> int:
    """Run the attacks and the control; return 0 if each attack is refused and the control succeeds.

    Args:
        chosen: words from the names of the attacks to run; by default, all are run.
    """
    failed = 0
    attacks = {name: run for name, run in ATTACKS.items() if not chosen or any(word in name for word in chosen)}
    for name, attack in attacks.items():
        with tempfile.TemporaryDirectory() as folder:
            said = attack(Attacked(Path(folder)))
        refused = said is not None and any(reason in said for reason in REASONS)
        failed += not refused
        print(f"{'refused' if refused else 'NOT REFUSED':<12} {name}\n{'':<13}{_sentence(said)}")
    if not chosen:
        with tempfile.TemporaryDirectory() as folder:
            said = restored(Attacked(Path(folder)), None)
        failed += said is not None
        print(f"{'succeeds' if said is None else 'FAILS':<12} control: no witness is left\n{'':<13}{_sentence(said)}")
    print(f"{len(attacks) - failed} of {len(attacks)} attacks were refused." if failed else "Every attack was refused.")
    return 1 if failed else 0


def _sentence(said: str | None) -> str:
    """The last line of what a command said."""
    return "" if said is None else said.splitlines()[-1]


def _require_made(said: str | None) -> None:
    if said is not None:
        msg = f"the first release of an attack must be made, and was not: {said}"
        raise SystemExit(msg)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
