"""Finds release specs: those that ship, and those in the folders that DENIABLE_SPECS names."""

import os
from pathlib import Path

SPECS_VARIABLE = "DENIABLE_SPECS"

_THAT_SHIP = Path(__file__).resolve().parent.parent / "deployments" / "specs"


def spec_places() -> dict[str, Path]:
    """Paths of the specs by their names, in order; an agency's own spec replaces one that ships by the same name."""
    folders = [_THAT_SHIP, *(Path(place) for place in os.environ.get(SPECS_VARIABLE, "").split(os.pathsep) if place)]
    found = {path.stem: path for folder in folders for path in sorted(folder.expanduser().glob("*.yaml"))}
    return dict(sorted(found.items()))
