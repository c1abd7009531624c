"""Makes MLflow's database once, however many processes of a fresh state folder ask for it: its migrations race.

What is recorded there does not belong here.
"""

from pathlib import Path

from mlflow import MlflowClient

from stores.locks import locked

_SQLITE = "sqlite:///"


def ready_client(uri: str) -> MlflowClient:
    """A client whose store has all of its tables.

    Args:
        uri: where MLflow keeps its records; a server makes its own database.

    Raises:
        MlflowException: the store cannot be made, or is of another version.
        OSError: its folder cannot be written to.
    """
    if not uri.startswith(_SQLITE):
        return MlflowClient(uri)
    with locked(Path(uri.removeprefix(_SQLITE)).parent / "making.lock", wait=True):
        client = MlflowClient(uri)
        # The store of runs and that of models make their tables when they are first asked.
        client.search_experiments(max_results=1)
        client.search_registered_models(max_results=1)
    return client
