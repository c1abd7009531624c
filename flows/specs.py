"""Finds release specs: those shipped with the project, and those in the folders that `deploy` was given."""

from pathlib import Path

from flows.prefect_runs.shared import shared

_THAT_SHIP = Path(__file__).resolve().parent.parent / "deployments" / "specs"


def spec_places() -> dict[str, Path]:
    """Return the paths of the specs by name, in order; an agency's spec replaces a shipped one of the same name.

    Raises:
        InvalidInput: what `deploy` noted in the state folder cannot be read.
    """
    folders = [_THAT_SHIP, *map(Path, shared().specs)]
    found = {path.stem: path for folder in folders for path in sorted(folder.glob("*.yaml"))}
    return dict(sorted(found.items()))
