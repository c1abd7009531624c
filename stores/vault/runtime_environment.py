"""The code that ran a release, and its environment; what the code did does not belong here."""

import os
import platform
import subprocess
from functools import cache
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from shutil import which

from packaging.requirements import Requirement

from schemas.catalog import code_digest
from schemas.provenance import Code, Environment
from stores.vault.workspace import file_digest

CHECKOUT = Path(__file__).resolve().parents[2]

_PACKAGES = ("deniable", "schemas", "stores", "reports", "tasks", "infra", "flows")
_EXTRAS = ("", "learn", "release")
_PATIENCE_S = 60


def code_that_runs() -> Code:
    """The code of this installation, and its git checkout, if there is one."""
    commit, dirty = state_of(CHECKOUT)
    return Code(version=version("deniable"), package=code_digest(), commit=commit, dirty=dirty)


def state_of(checkout: Path, *, without: str | None = None) -> tuple[str | None, bool | None]:
    """The commit of a checkout, and whether its files differ from the commit; None if git cannot determine it.

    Untracked modules count as differences, because they also run in releases.

    Args:
        checkout: the folder of the checkout.
        without: a folder whose files do not count, if there is one.
    """
    commit = _git(checkout, "rev-parse", "--verify", "HEAD")
    counted = () if without is None else ("--", ".", f":(exclude){without}")
    changed = _git(checkout, "status", "--porcelain", "--untracked-files=no", *counted)
    unknown = _git(checkout, "ls-files", "--others", "--", *_PACKAGES)
    if commit is None or changed is None or unknown is None:
        return None, None
    return commit.strip(), bool(changed) or any(name.endswith(".py") for name in unknown.splitlines())


def _git(checkout: Path, *arguments: str) -> str | None:
    """The output of a git command for a checkout; None if there is no git or no checkout."""
    program = which("git")
    if program is None or not (checkout / ".git").exists():
        return None
    # A hook or another tool may have pointed git at another repository.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    said = subprocess.run(  # noqa: S603 - fixed arguments
        [program, "--no-optional-locks", "-c", "core.quotePath=false", "-C", str(checkout), *arguments],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=_PATIENCE_S,
    )
    return said.stdout if said.returncode == 0 else None


@cache
def environment_here() -> Environment:
    """The environment of this process, without anything that identifies a single machine."""
    requirements = CHECKOUT / "infra" / "requirements.txt"
    return Environment(
        python=platform.python_version(),
        implementation=platform.python_implementation(),
        platform=" ".join(word for word in (platform.system(), *platform.libc_ver()) if word),
        machine=platform.machine(),
        requirements=file_digest(requirements) if requirements.is_file() else None,
        packages=dict(sorted(_installed_packages())),
    )


def _installed_packages() -> list[tuple[str, str]]:
    """Name and version of the project's direct requirements, as far as they are installed."""
    asked = [Requirement(line) for line in requires("deniable") or ()]
    wanted = {
        need.name
        for need in asked
        if need.name != "deniable"
        and any(need.marker is None or need.marker.evaluate({"extra": extra}) for extra in _EXTRAS)
    }
    installed = []
    for name in wanted:
        try:
            installed.append((name, version(name)))
        except PackageNotFoundError:
            continue
    return installed
