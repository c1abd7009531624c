"""What must not change while a release is replayed."""

from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

from tests.isolation import own_state


def digests(*folders: Path) -> dict[Path, str]:
    """Return the digest of each file that is kept of releases; Prefect's own records and empty locks are not."""
    return {
        path: sha256(path.read_bytes()).hexdigest()
        for folder in folders
        for path in folder.rglob("*")
        if path.is_file() and "prefect" not in path.parts and not _is_empty_lock(path)
    }


def _is_empty_lock(path: Path) -> bool:
    return path.parent.name == "locks" and path.stat().st_size == 0


@contextmanager
def apart(*states: Path) -> Iterator[None]:
    """Whatever comes of a replay: ledgers, MLflow's store, vaults and releases are as before, and scratch is gone."""
    before = digests(own_state(), *states)
    try:
        yield
    finally:
        after = digests(own_state(), *states)
        changed = [str(path) for path in before.keys() | after.keys() if before.get(path) != after.get(path)]
        assert changed == [], changed
        left = [place for state in states for place in (state / "scratch").glob("*")]
        assert left == [], left
