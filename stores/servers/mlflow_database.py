"""Creates MLflow's database once, even if many processes of a new state folder start at the same time.

MLflow's own migrations have race conditions. The content of the database does not belong here.
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
    with locked(Path(uri.removeprefix(_SQLITE)).parent / "making.lock", wait=True):
        client = MlflowClient(uri)
        # The stores of runs and of models create their tables at the first request.
        client.search_experiments(max_results=1)
        client.search_registered_models(max_results=1)
    return client
