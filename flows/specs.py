"""Finds release specs: those shipped with the project, and those in the folders that DENIABLE_SPECS names."""

import os
from pathlib import Path

SPECS_VARIABLE = "DENIABLE_SPECS"

_THAT_SHIP = Path(__file__).resolve().parent.parent / "deployments" / "specs"


def spec_places() -> dict[str, Path]:
    """Return the paths of the specs by name, in order; an agency's spec replaces a shipped one of the same name."""
    folders = [_THAT_SHIP, *(Path(place) for place in os.environ.get(SPECS_VARIABLE, "").split(os.pathsep) if place)]
    found = {path.stem: path for folder in folders for path in sorted(folder.expanduser().glob("*.yaml"))}
    return dict(sorted(found.items()))
