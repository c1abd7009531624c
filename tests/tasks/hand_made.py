"""A hand-made table with every kind of row that a source may have, and a workspace for its release."""

from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from pathlib import Path
from typing import Any

import pandas as pd

from deniable.foundation.keys import ReleaseKey
from schemas.references import Audience
from schemas.spec.release_spec import load_spec
from stores.tracking.release_run import recorded_release
from stores.vault.private_files import make_private_folder
from stores.vault.workspace import Workspace
from tests import small_release
from tests.isolation import own_state

SCHEMA = """
import pandas as pd

from schemas.table import nominal, numeric, table


def grown_up(person: pd.DataFrame) -> pd.Series:
    '''Persons of 18 or more.'''
    return person["age"] >= 18


def rich(person: pd.DataFrame) -> pd.DataFrame:
    return person.assign(rich=(person["wage"] > 50).astype(float).where(person["wage"].abs() < 10**6, person["wage"]))


schema = table(
    {
        "age": numeric(18, 99, width=10),
        "sex": nominal([1, 2], missing=[9]),
        "job": nominal(["clerk", "nurse"], missing=["?"]),
        "rich": nominal([0, 1]),
    },
    description="Made-up people.",
    target="rich",
    reads={"age": int, "sex": int, "job": str, "wage": int},
    universe=grown_up,
    recode=rich,
)
"""

# The order differs from the schema's, and one column is not needed.
NAMES = ["wage", "name", "job", "sex", "age"]
VALID = [[10, "Ann", "clerk", 1, 30], [60, "Bob", "nurse", 2, 40]]
MISSING = [[10, "Cy", "?", 1, 50], [10, "Di", "clerk", 9, 50], [None, "Flo", "clerk", 1, 33]]
OUT_OF_SCOPE = [[10, "Ed", "clerk", 1, 17]]
INVALID = [[10, "Hal", "pilot", 2, 33], [10, "Ivy", "nurse", 3, 120]]
UNREADABLE = [["much", "Gus", "clerk", 1, 33], [10, "Joe", "nurse", 2, "old"]]

EVALUATION = {
    "classifiers": ["tree"],
    "train_rows": 10,
    "quasi_identifiers": ["age"],
    "sensitive": ["rich"],
    "known": ["age", "sex"],
}


def write_people(folder: Path, rows: list[list[Any]], *, suffix: str = ".csv", text: str = "", **changes: Any) -> Path:
    """Write a table, its schema and a spec.

    Args:
        folder: where they go.
        rows: the table, in the order of `NAMES`.
        suffix: format of the table.
        text: further rows of a CSV file, verbatim.
        changes: changes to the spec.

    Returns:
        Path of the spec.
    """
    frame = pd.DataFrame(rows, columns=NAMES)
    # A value that is not a number turns its column into text, as usual when tables are saved.
    for name in frame.select_dtypes(object):
        frame[name] = frame[name].map(lambda value: None if value is None else str(value))
    source = folder / f"hand_made{suffix}"
    changes = {
        "dataset": "hand_made.py",
        "source": {"kind": "file", "path": source.name},
        "evaluation": EVALUATION,
        "max_invalid_share": 1,
        "chunk_rows": 3,
        **changes,
    }
    path = small_release.write_small_release(folder, people=[], **deepcopy(changes))
    (folder / "hand_made.py").write_text(SCHEMA)
    if suffix == ".parquet":
        frame.to_parquet(source)
    else:
        source.write_text(frame.to_csv(index=False) + text)
    return path


@contextmanager
def workspace_of(spec: Path, key: bytes = bytes(32)) -> Iterator[Workspace]:
    """Open a workspace for a spec in the state folder of the tests."""
    release_id = f"{spec.parent.name}-{spec.stem}-{key[0]}"
    made = load_spec(spec)
    with recorded_release(own_state(), release_id, made) as run_id:
        workspace = Workspace(state=own_state(), release_id=release_id, spec=made, mlflow_run_id=run_id)
        make_private_folder(workspace.folder(Audience.RESTRICTED))
        (workspace.vault / "key").write_bytes(ReleaseKey(key).secret)
        yield workspace
