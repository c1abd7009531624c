"""Creates MLflow's database once, even if many processes of a new state folder start at once, or one is killed.

MLflow's own migrations have race conditions, and a database whose creation was killed is refused by MLflow for good. So
one process at a time creates it, under another name, and gives it its name when it has all of its tables. The content
of the database does not belong here.
"""

from importlib import import_module
from pathlib import Path
from urllib.parse import quote

from mlflow import MlflowClient

from stores.locks import locked

_SQLITE = "sqlite:///"
# MLflow would make the folder of an address that begins with the usual prefix, which is not that of the file here.
_READ_ONLY = "sqlite+pysqlite:///file:{path}?mode=ro&uri=true"
_STORES = ("mlflow.store.tracking.sqlalchemy_workspace_store", "mlflow.store.model_registry.sqlalchemy_workspace_store")


def import_stores(uri: str) -> None:
    """Import what MLflow's client imports at its first request, which takes most of a second.

    Args:
        uri: location of MLflow's records; for those of a server, nothing more is imported.
    """
    if uri.startswith(_SQLITE):
        for store in _STORES:
            import_module(store)


def read_only(uri: str) -> str:
    """The address at which a database in a file is read, and neither changed, created nor locked by another file.

    Args:
        uri: location of MLflow's records; that of a server stays as it is.
    """
    path = uri.removeprefix(_SQLITE)
    return uri if path == uri else _READ_ONLY.format(path=quote(str(Path(path).absolute())))


def ready_client(uri: str) -> MlflowClient:
    """A client whose store has all of its tables.

    Args:
        uri: location of MLflow's records; a server creates its own database.

    Raises:
        MlflowException: the store cannot be created, or has a different version.
        OSError: its folder is not writable.
    """
    if not uri.startswith(_SQLITE):
        return MlflowClient(uri)
    place = Path(uri.removeprefix(_SQLITE))
    with locked(place.parent / "making.lock", wait=True):
        if not place.exists():
            _create(place)
        return _with_tables(uri)


def _create(place: Path) -> None:
    """Create the database completely or not at all."""
    part = place.with_name(f"{place.name}.part")
    for left in place.parent.glob(f"{part.name}*"):  # SQLite's own files beside it as well
        left.unlink()
    client = _with_tables(f"{_SQLITE}{part}")
    # MLflow has no other way to close the connections of its stores.
    for store in (client._tracking_client.store, client._get_registry_client().store):  # type: ignore[no-untyped-call]  # noqa: SLF001
        store.engine.dispose()
    part.rename(place)


def _with_tables(uri: str) -> MlflowClient:
    """A client for a database; the stores of runs and of models create their tables at the first request."""
    client = MlflowClient(uri)
    client.search_experiments(max_results=1)
    client.search_registered_models(max_results=1)
    return client
