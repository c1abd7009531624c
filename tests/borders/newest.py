"""`python -m tests.borders.newest`: the libraries of all extras without upper bounds, for `make test-newest`."""

import sys
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

ROOT = Path(__file__).resolve().parents[2]
EXTRAS = ("learn", "release", "sources", "stack", "cluster", "test")
_LOWER = {">=", ">", "!="}


def newest(requirement: str) -> str:
    """A requirement without its upper bound: of a pin, the lower half."""
    asked = Requirement(requirement)
    lower = [each for each in asked.specifier if each.operator in _LOWER]
    exact = [f">={each.version}" for each in asked.specifier if each.operator in {"==", "~="}]
    asked.specifier = SpecifierSet(",".join([*map(str, lower), *exact]))
    return str(asked)


def _libraries() -> list[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    listed = [*project["dependencies"], *(each for extra in EXTRAS for each in project["optional-dependencies"][extra])]
    return sorted({newest(each) for each in listed if Requirement(each).name != project["name"]})


if __name__ == "__main__":
    sys.stdout.write("\n".join([*_libraries(), ""]))
