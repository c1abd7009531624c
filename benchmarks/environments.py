"""Separate environments of the programs that `make bench-peers` compares: one virtual environment each."""

import shutil
import subprocess
import sys
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
FOLDER: Final = ROOT / ".venv/peers"
_INSTALL: Final = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--require-hashes")

Version = tuple[int, int]


class Unavailable(Exception):
    """A program cannot be measured here; the message says in one sentence what is missing."""


@dataclass(frozen=True)
class Environment:
    """The environment of a package and of what it needs, pinned with hashes.

    Attributes:
        package: the package.
        least: the first version of Python that its pinned requirements support.
        below: the first version that they do not.
    """

    package: str
    least: Version = (3, 11)
    below: Version = (3, 15)

    @property
    def requirements(self) -> Path:
        """The file of its pinned requirements."""
        return ROOT / f"infra/peers/requirements-{self.package.lower()}.txt"

    @property
    def version(self) -> str:
        """The pinned version of the package."""
        pins = self.requirements.read_text(encoding="utf-8").splitlines()
        (pin,) = [line for line in pins if line.startswith(f"{self.package.lower()}==")]
        return pin.partition("==")[2].split()[0]

    def python(self, folder: Path = FOLDER) -> str:
        """Return the environment's Python, and install the environment if it is not there or its pins have changed.

        Args:
            folder: the folder of all environments.

        Raises:
            Unavailable: no Python supports the package, or it cannot be installed.
        """
        place = folder / self.package.lower()
        python, done = place / "bin/python", place / ".installed"
        pins = sha256(self.requirements.read_bytes()).hexdigest()
        if done.is_file() and done.read_text(encoding="utf-8") == pins:
            return str(python)
        interpreter = self.interpreter()
        print(f"Installing the pinned packages of {self.package} into {place} ...", flush=True)
        for command in (
            [interpreter, "-m", "venv", "--clear", str(place)],
            [str(python), *_INSTALL, "--only-binary", ":all:", "-r", str(self.requirements)],
        ):
            ended = subprocess.run(command, check=False, capture_output=True, text=True)
            if ended.returncode:
                said = (ended.stderr or ended.stdout).strip().splitlines() or ["nothing"]
                raise Unavailable(
                    f"{self.package} must be installed to be measured, and its installation failed with: {said[-1]}"
                )
        done.write_text(pins, encoding="utf-8")
        return str(python)

    def interpreter(self) -> str:
        """Return a Python that the pinned requirements support: this one, or one on the path.

        Raises:
            Unavailable: there is none.
        """
        if self.least <= sys.version_info[:2] < self.below:
            return sys.executable
        for minor in range(self.below[1] - 1, self.least[1] - 1, -1):
            found = shutil.which(f"python3.{minor}")
            # A name on the path may stand for a version that is not installed.
            if found and not subprocess.run([found, "-c", ""], check=False, capture_output=True).returncode:
                return found
        least, last = (".".join(map(str, version)) for version in (self.least, (3, self.below[1] - 1)))
        raise Unavailable(
            f"{self.package} must have a Python of {least} to {last}, and there is none on the path; install one."
        )
