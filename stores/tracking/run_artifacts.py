"""The files that MLflow keeps with a run or a model: located even if the state folder was moved, and their digests.

MLflow records absolute paths. A state folder that was moved still contains the files, at the same relative location.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import unquote, urlsplit

from mlflow.exceptions import MlflowException
from mlflow.store.artifact.artifact_repo import ArtifactRepository
from mlflow.store.artifact.artifact_repository_registry import get_artifact_repository

from deniable.ledger.entries import digest_of
from stores.vault.kept_files import file_digests, links_above

_FOLDERS = ("mlflow", "artifacts")
_FOLDER = "."


def artifact_digests(
    state: Path, uri: str, tracking_uri: str, *, but: Callable[[str, Path], bool] = lambda _name, _path: False
) -> dict[str, str]:
    """Digests of all files below an MLflow address, by their paths there.

    After a copy of the state folder, MLflow may show the files of one folder while the state folder contains those of
    another. A file that differs between the two then gets a digest of its own.

    Args:
        state: the state folder.
        uri: the address that MLflow records with a run or a model.
        tracking_uri: MLflow's store, which may serve the files.
        but: whether a file, given its path there and its local path, is left out.

    Raises:
        MlflowException: MLflow does not return them.
        OSError: there is not enough space for them, or they cannot be listed.
    """
    with _folders(state, uri, tracking_uri) as folders:
        seen = [_digests(folder, state, but) for folder in folders]
    paths = {path for digests in seen for path in digests}
    found = {path: [digests.get(path) for digests in seen] for path in paths}
    return {path: each[0] if each[0] and len(set(each)) == 1 else digest_of(each) for path, each in found.items()}


def read_artifact(state: Path, uri: str, tracking_uri: str, path: str) -> bytes | None:
    """The content of one file below an MLflow address, by its folder and name; None if there is no such file."""
    folder, _, name = path.rpartition("/")
    if _local(uri) is not None:
        with _folders(state, f"{uri}/{folder}", tracking_uri) as folders:
            return _content(folders[0] / name) if folders else None
    store = get_artifact_repository(uri, tracking_uri)
    if path not in {entry.path for entry in store.list_artifacts(folder) if not entry.is_dir}:
        return None
    with _temporary_folder(state) as temporary:
        file = Path(temporary) / name
        fetch: Callable[[str, str], object] = store._download_file  # noqa: SLF001 - every store must have it
        fetch(path, str(file))
        return _content(file)


def _content(file: Path) -> bytes | None:
    """The content of a file; None if it is not a file, or is a link."""
    return file.read_bytes() if file.is_file() and not file.is_symlink() else None


@contextmanager
def _folders(state: Path, uri: str, tracking_uri: str) -> Iterator[Sequence[Path]]:
    """The folders with the files of an address: usually one, and none if there are no files."""
    noted = _local(uri)
    if noted is not None:
        here = {folder.resolve(): folder for folder in (_within(state, noted), noted) if folder.is_dir()}
        yield list(here.values())
        return
    with _temporary_folder(state) as temporary:
        found = _fetched(get_artifact_repository(uri, tracking_uri), Path(temporary))
        yield [Path(temporary)] if found else []


def _temporary_folder(state: Path) -> "TemporaryDirectory[str]":
    """A folder for fetched files, which only its owner may enter: in the state folder, unless that is read-only."""
    return TemporaryDirectory(dir=state if os.access(state, os.W_OK) else None)


def _fetched(store: ArtifactRepository, folder: Path, below: str | None = None) -> bool:
    """Fetch all files of an address; MLflow's own method checks for every file whether it is a folder.

    Returns:
        Whether there are any.
    """
    fetch: Callable[[str, str], object] = store._download_file  # noqa: SLF001 - every store of artifacts must have it
    listed = store.list_artifacts(below)
    for entry in listed:
        path = folder / entry.path
        if not path.resolve().is_relative_to(folder.resolve()):
            raise MlflowException("a file must be in the folder that lists it, got one outside")
        if entry.is_dir:
            path.mkdir(parents=True, exist_ok=True)
            _fetched(store, folder, entry.path)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            fetch(entry.path, str(path))
    return bool(listed)


def _local(uri: str) -> Path | None:
    """The local path of an address; None if it is not on this machine."""
    parts = urlsplit(uri)
    return Path(unquote(parts.path)) if parts.scheme == "file" else None if parts.scheme else Path(uri)


def place_in_state(state: Path, uri: str) -> Path | None:
    """Location of an address's files in a state folder, even if it was moved; None if they are elsewhere.

    Args:
        state: the state folder at its current location.
        uri: the address that MLflow records.
    """
    noted = _local(uri)
    found = None if noted is None else _within(state, noted)
    return found if found is not None and found.is_relative_to(state) else None


def _within(state: Path, noted: Path) -> Path:
    """The location in this state folder of a path within a state folder."""
    places = [at for at in range(len(noted.parts)) if noted.parts[at : at + 2] == _FOLDERS]
    return state.joinpath(*noted.parts[places[-1] :]) if places and ".." not in noted.parts else noted


def _digests(folder: Path, state: Path, but: Callable[[str, Path], bool]) -> dict[str, str]:
    """Digests of all files in a folder, and one more if the folder itself is reached by a link."""
    found = file_digests(folder, but=but)
    return found | {_FOLDER: digest_of("reached by a link")} if links_above(folder, state) else found
