"""`python -m benchmarks.attack_kills`: kills releases at moments of the clock, and resumes each.

A small release of tested seeds runs by the command line in a process group of its own, which `kill -9` stops as a
whole: 30 times, at moments that are spread evenly from the beginning of the release to the end of the command. The same
command then resumes it. Each time, the release must be published once and charged once; its record must hold; and a
replay from the record and the key must give the same bytes in every step. Once more, a byte of what was drawn is
changed after the kill: it must be drawn anew. As a control, a byte of a published file is changed, which must be
noticed.
"""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from stores.ledger.ledger import Ledger, ledger_place
from stores.releases.life import left_in_words
from tests.small_release import write_small_release

SAME = "published once, charged once, the same bytes"
SAME_BYTES = "Every step gives the same bytes."


class Killed:
    """A release that is killed and resumed.

    Args:
        folder: an empty folder.
    """

    def __init__(self, folder: Path) -> None:
        self.spec = write_small_release(folder / "spec", synthesis__chunk_candidates=128)
        self.state = folder / "state"

    @contextmanager
    def started(self) -> Iterator[subprocess.Popen[bytes]]:
        """Start the release in a process group of its own."""
        process = subprocess.Popen(
            [sys.executable, "-m", "flows", "release", "make", str(self.spec), "--state", str(self.state)],
            env=_environment(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            yield process
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def wait_for(self, process: subprocess.Popen[bytes], pattern: str) -> None:
        """Wait until the state folder has such a path, or the command has ended."""
        while process.poll() is None and not list(self.state.glob(pattern)):
            time.sleep(0.002)

    def undisturbed_seconds(self) -> float:
        """Make the release, and return how many seconds its command lasts from the beginning of the release."""
        with self.started() as process:
            self.wait_for(process, BEGUN)
            begin = time.monotonic()
            if process.wait():
                msg = f"the release must be made when nothing disturbs it, and ended with {process.returncode}"
                raise SystemExit(msg)
            return time.monotonic() - begin

    def kill_after(self, seconds: float, after: str) -> bool:
        """Start the release, and kill it so many seconds after a path appeared; whether it had not ended before."""
        with self.started() as process:
            self.wait_for(process, after)
            time.sleep(seconds)
            if process.poll() is not None:
                return False
            os.killpg(process.pid, signal.SIGKILL)
            # A release that was already reported is over: the next command begins another.
            return process.wait() == -signal.SIGKILL and not self.is_over()

    def is_over(self) -> bool:
        """Whether the release was published, and reported."""
        return bool(list(self.state.glob("releases/*/"))) and not left_in_words(self.state)

    def last_step(self) -> str:
        """The step that ended last, as the vault has it."""
        done = sorted(self.state.glob("vault/*/record/*.json"), key=lambda path: path.stat().st_mtime_ns)
        return done[-1].stem if done else "nothing"

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a command of this project on the state folder."""
        return _command(*arguments, "--state", str(self.state))

    def resumed(self) -> str | None:
        """Resume the release; return what is wrong in the end, or None."""
        done = self.run("release", "make", str(self.spec))
        if done.returncode:
            return f"it is not resumed: {_last_line(done)}"
        return self.wrong()

    def wrong(self) -> str | None:
        """What is wrong with what was published, or None."""
        published = [folder for folder in (self.state / "releases").iterdir() if folder.is_dir()]
        if len(published) != 1:
            return f"{len(published)} releases were published"
        charges = len(Ledger.open(ledger_place(self.state)).charges("people"))
        if charges != CHARGES:
            return f"it was charged {charges} times, for {CHARGES} charges of one release"
        verified = _command("audit", "verify", str(published[0]), "--keys", str(self.state / "keys/trusted.json"))
        if verified.returncode:
            return f"its record does not hold: {_last_line(verified)}"
        replayed = self.run("audit", "replay", published[0].name)
        if SAME_BYTES not in replayed.stdout:
            return f"a replay differs: {_last_line(replayed)}"
        return None


BEGUN = "vault/*"
"""The folder of a release that has begun."""
CHARGES = 3
"""Charges of one undisturbed release: structure, parameters, tested seeds."""


def main() -> int:
    """Kill and resume; return 0 if each release is as if nothing had happened, and the control is noticed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.attack_kills", description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=30, help="how many releases to kill")
    kills: int = parser.parse_args().kills
    with tempfile.TemporaryDirectory() as folder:
        whole = min(Killed(Path(folder) / name).undisturbed_seconds() for name in ("cold", "warm"))
    print(f"An undisturbed release lasts {whole:.1f} s from its beginning to the end of its command.", flush=True)
    failed = 0
    for number in range(kills):
        with tempfile.TemporaryDirectory() as folder:
            failed += not _tried(Path(folder), whole * (number + 0.5) / kills)
    with tempfile.TemporaryDirectory() as folder:
        failed += not _damaged(Path(folder))
    with tempfile.TemporaryDirectory() as folder:
        failed += not _control(Path(folder))
    print(f"{kills - min(failed, kills)} of {kills} killed releases are as if nothing had happened.")
    return 1 if failed else 0


def _tried(folder: Path, seconds: float) -> bool:
    """Kill a release, resume it, and print a line; whether it is as if nothing had happened."""
    for attempt in range(6):
        killed = Killed(folder / str(attempt))
        if killed.kill_after(seconds, BEGUN):
            break
        seconds *= 0.8  # it had ended: this machine was faster than before
    else:
        print(f"NOT KILLED   {seconds:6.2f} s: six releases ended before", flush=True)
        return False
    last = killed.last_step()
    wrong = killed.resumed()
    print(
        f"{'same' if wrong is None else 'OTHER':<12} {seconds:6.2f} s, after {last}: {wrong or 'same bytes'}",
        flush=True,
    )
    return wrong is None


def _damaged(folder: Path) -> bool:
    """Change a byte of what a killed release had drawn and not yet gathered: it must be drawn anew."""
    killed = Killed(folder)
    killed.kill_after(0, "vault/*/record/synthesize-*.json")
    (drawn, *_rest) = sorted(killed.state.glob("vault/*/candidates-*.parquet"))
    _change(drawn)
    last = killed.last_step()
    wrong = killed.resumed()
    result = "same" if wrong is None else "OTHER"
    print(f"{result:<12} after {last}, with a byte changed in what was drawn: {wrong or SAME}", flush=True)
    return wrong is None


def _control(folder: Path) -> bool:
    """Change a byte of a published file at the end; print whether that is noticed."""
    killed = Killed(folder)
    killed.undisturbed_seconds()
    (records,) = killed.state.glob("releases/*/synthetic.csv")
    _change(records)
    wrong = killed.wrong()
    print(f"{'noticed' if wrong else 'NOT NOTICED':<12} control: a byte of {records.name} is another: {wrong}")
    return wrong is not None


def _change(file: Path) -> None:
    said = bytearray(file.read_bytes())
    said[len(said) // 4] ^= 1
    file.write_bytes(said)


def _command(*arguments: str) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "flows", *arguments]
    return subprocess.run(line, env=_environment(), capture_output=True, text=True, check=False)


def _last_line(done: subprocess.CompletedProcess[str]) -> str:
    return (done.stdout + done.stderr).strip().splitlines()[-1]


def _environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("DENIABLE_")}
    return {**kept, "PREFECT_SERVER_ANALYTICS_ENABLED": "false"}


if __name__ == "__main__":
    raise SystemExit(main())
