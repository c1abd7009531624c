"""MLflow's runs of a release as a list of digests: one for each item that can be changed there, by its place.

A place is an owner and an item: `run 3378…/parameter learner.noise`, `model m-d137…/artifact model.json`,
`version people 3/source`. The meaning of differences from the signed list does not belong here (run_diff).

The list leaves out what changes without any interference, or after the record is signed: the record itself and the tags
that name it, the outcome of a run in progress, the aliases of models, the text and the views of the experiment, and
what MLflow records next to a model that it loads. What is left out of the database's tables has its reasons in
`NOT_COMPARED` (stores.servers.mlflow_rows).
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, TypeAlias, TypeVar
from urllib.parse import urlsplit

from mlflow import MlflowClient
from mlflow.entities import LoggedModel, LoggedModelInput, LoggedModelOutput, Run, RunStatus, ViewType
from mlflow.entities.model_registry import ModelVersion
from mlflow.exceptions import MlflowException
from mlflow.store.entities import PagedList
from mlflow.utils import credentials, rest_utils

from deniable.foundation.errors import DeniableError
from deniable.ledger.entries import digest_of
from schemas.provenance import RECORD, RunTree
from stores.servers.mlflow_rows import portions
from stores.tracking.client import RecordFailed, UserRefused, recording, tracking_uri
from stores.tracking.history_moving import has_run, history_in
from stores.tracking.run_artifacts import artifact_digests, read_artifact
from stores.tracking.run_index import PARENT, RELEASE, RUN_INDEX, Entry, RunIndex, index_of

T = TypeVar("T")

RECORD_ARTIFACT = f"internal/{RECORD}"
RECORD_DIGEST = "record.digest"
"""Tag of the release's run: SHA-256 of the internal record's file."""
RECORD_PUBLIC_DIGEST = "record.public"
"""Tag of the release's run: SHA-256 of the public record's file."""
UNDER_WAY = "under way"
_FOREIGN = "foreign"
_REGISTERED = "registered model "
_RECORD_TAGS = {RECORD_DIGEST, RECORD_PUBLIC_DIGEST}
# What is added to a run while it is in progress.
_COMES = re.compile(
    r"status|end time|(metric|entry|input|output|row of (latest_metrics|inputs|datasets|input_tags)) .*", re.DOTALL
)
_RUNNING = RunStatus.to_string(RunStatus.RUNNING)
_LEFT_BY_LOADING = "registered_model_meta"
_SAID_BY_LOADING = re.compile(r"model_name: [^\n]*\nmodel_version: [^\n]*\n")
_PAGE = 1000
_AT_ONCE = 100
_READERS = 8
_NO_SUCH_PAGE = {403, 404, 405}
# MLflow's own functions, which wait for a server and know its passwords; they have no types.
_ask: Callable[..., Any] = rest_utils.http_request
_credentials: Callable[[str], object] = credentials.get_default_host_creds
_ABSENT = "RESOURCE_DOES_NOT_EXIST"
_SQLITE = "sqlite:///"
_DATABASES = {"sqlite", "postgresql", "mysql", "mssql"}

Plain: TypeAlias = "str | int | Sequence[Plain] | None"
Left: TypeAlias = Callable[[str, Path], bool]
Items: TypeAlias = Iterator[tuple[str, Plain]]


class RunsUnreadable(DeniableError):
    """MLflow does not return the runs of a release."""


class RunsUnreachable(RunsUnreadable):
    """MLflow's server does not answer at the moment; no conclusion follows from that."""


@dataclass(frozen=True)
class Listing:
    """The content of MLflow for a release.

    Attributes:
        items: digest of each item, by its place.
        later: the same for items added to runs in progress, which are not in any signed list.
        shown: the current value of each item that is a text or a number; some values are internal.
        names: name of each run, by its owner.
        ends: the outcome of each run, by its owner.
        columns: the columns of MLflow's tables that the items contain beside what its interface returns; none if a
            server does not show its database.
    """

    items: Mapping[str, str]
    later: Mapping[str, str]
    shown: Mapping[str, str]
    names: Mapping[str, str]
    ends: Mapping[str, str]
    columns: Mapping[str, Sequence[str]]


def snapshot(state: Path, run_id: str) -> RunTree:
    """Digests of everything that MLflow has for a release, to be signed with its record.

    Args:
        state: the state folder, which contains MLflow's database unless MLFLOW_TRACKING_URI names another store.
        run_id: the release's run.

    Raises:
        RunsUnreadable: MLflow does not answer, or has no such run.
    """
    with reading_runs(state, patiently=True) as client:
        now = _listed(client, state, run_id)
    items = dict(now.items)
    columns = {table: tuple(listed) for table, listed in now.columns.items()}
    return RunTree(digest=digest_of(items), items=items, columns=columns)


def listing(
    state: Path,
    run_id: str,
    under_way: Collection[str] | None = None,
    columns: Mapping[str, Sequence[str]] | None = None,
    named: Collection[str] | None = None,
) -> Listing:
    """List everything that MLflow has for a release: its run and those below, also deleted ones, with models and files.

    Args:
        state: the state folder.
        run_id: the release's run. Its outcome is left out, because it ends after its record is signed.
        under_way: ids of the runs below it that were in progress when the record was signed; by default, those in
            progress now. The list contains the fact that they exist; their content came later.
        columns: the columns of MLflow's tables to list beside what its interface returns; by default all.
        named: the owners that the record names; of others, only the fact that they exist is listed, and their files
            are not fetched. By default all are listed.

    Raises:
        RunsUnreadable: MLflow does not answer, or has no such run.
    """
    with reading_runs(state) as client:
        return _listed(client, state, run_id, under_way, columns, named)


@dataclass(frozen=True)
class RecordCopy:
    """MLflow's copy of the internal record, which cannot contain its own digest.

    Attributes:
        content: the copy; None if there is none.
        tags: the tags that name the records.
    """

    content: bytes | None
    tags: Mapping[str, str]


def record_in_mlflow(state: Path, run_id: str) -> RecordCopy:
    """Read the copy of the internal record that MLflow keeps with the release's run.

    Raises:
        RunsUnreadable: MLflow does not answer.
    """
    with reading_runs(state) as client:
        run = _found(client.get_run, run_id)
        if run is None:
            return RecordCopy(content=None, tags={})
        content = read_artifact(state, run.info.artifact_uri, client.tracking_uri, RECORD_ARTIFACT)
        return RecordCopy(content, {tag: value for tag, value in run.data.tags.items() if tag in _RECORD_TAGS})


def _listed(
    client: MlflowClient,
    state: Path,
    run_id: str,
    under_way: Collection[str] | None = None,
    columns: Mapping[str, Sequence[str]] | None = None,
    named: Collection[str] | None = None,
) -> Listing:
    index = _index(client.tracking_uri, run_id)
    runs = _runs(client, run_id, index)
    if not runs and tracking_uri(state) != history_in(state).database and has_run(state, run_id):
        before = history_in(state)
        raise RunsUnreachable(
            f"MLflow must have the run {run_id} of the release, but that is in {before.place}, used before the server; "
            f"make stack moves it there, or DENIABLE_MLFLOW_TRACKING_URI={before.database} shows it."
        )
    if not runs:
        raise RunsUnreadable(f"MLflow must have the run {run_id} of the release, and has not: it was deleted for good.")
    if under_way is None:
        under_way = {run.info.run_id for run in runs[1:] if run.info.status == _RUNNING}
    present = index.columns if index is not None else {}
    columns = present if columns is None else _in_both(columns, present)
    items: dict[str, str] = {}
    later: dict[str, str] = {}
    shown: dict[str, str] = {}
    for owner, values, files in _everything(client, state, runs, index, named):
        if named is not None and owner not in named:
            items[f"{owner}/{_FOREIGN}"] = digest_of(_FOREIGN)
            continue
        is_open = owner.removeprefix("run ") in under_way
        if is_open:
            items[f"{owner}/{UNDER_WAY}"] = digest_of(UNDER_WAY)
        for what, value in chain(values, _row_items(index, owner, columns)):
            # A missing value is None in a database and an empty text from a server.
            held, place = "" if value is None else value, f"{owner}/{what}"
            (later if is_open and _COMES.fullmatch(what) else items)[place] = digest_of(held)
            if isinstance(held, str | int):
                shown[place] = str(held)
        (later if is_open else items).update({f"{owner}/artifact {path}": files[path] for path in files})
    return Listing(
        items=dict(sorted(items.items())),
        later=later,
        shown=shown,
        names={_owner(run): run.info.run_name or "" for run in runs},
        ends={_owner(run): run.info.status for run in runs},
        columns=columns,
    )


def _in_both(signed: Mapping[str, Sequence[str]], present: Mapping[str, Sequence[str]]) -> dict[str, Sequence[str]]:
    """The signed columns of the tables that still have all of them; a later version of MLflow may have others."""
    return {table: listed for table, listed in signed.items() if set(listed) <= set(present.get(table, ()))}


def _row_items(index: RunIndex | None, owner: str, columns: Mapping[str, Sequence[str]]) -> Items:
    """The rows of an owner in MLflow's database, with those of their columns that are to be listed."""
    for row, digests in (index.rows.get(owner, {}) if index is not None else {}).items():
        if listed := columns.get(row.split(" ")[2]):
            yield row, [[column, digests[column]] for column in listed]


@contextmanager
def reading_runs(state: Path, *, patiently: bool = False) -> Iterator[MlflowClient]:
    """Yield the client that reads runs; its database must exist, because MLflow would create a new one.

    An audit works on a read-only disk: neither the database nor its folder is written to.

    Args:
        state: the state folder.
        patiently: whether to retry a server that does not answer for a minute, as during a release.
    """
    uri = tracking_uri(state)
    if Path(uri.removeprefix(_SQLITE)).is_file() or not uri.startswith(_SQLITE):
        try:
            with recording(state, patiently=patiently, only_reading=not patiently) as client:
                yield client
        except UserRefused as error:
            raise RunsUnreachable(str(error)) from None
        except RecordFailed:
            pass
        else:
            return
    raise (RunsUnreadable if uri.startswith(_SQLITE) else RunsUnreachable)(
        f"MLflow must give the runs of the release, and {uri.rpartition('@')[2]} does not; check that it exists and "
        "can be reached, and that its version is compatible."
    )


def _runs(client: MlflowClient, run_id: str, index: RunIndex | None) -> list[Run]:
    """The release's run, all runs below it, and all runs tagged with the release, wherever they are."""
    root = _found(client.get_run, run_id)
    if root is None:
        return []
    experiments = _experiments(client)
    runs = {run_id: root}
    if index is not None:
        for some in portions([run for run in index.runs if run != run_id], _AT_ONCE):
            asked = f"attributes.run_id IN ({_quoted(some)})"
            found: list[Run] = _all(client.search_runs, experiments, asked, run_view_type=ViewType.ALL)
            runs |= {run.info.run_id: run for run in found}
        return list(runs.values())
    named = root.data.tags.get(RELEASE)
    waiting = [f"tags.`{PARENT}` = '{run_id}'", *([f"tags.`{RELEASE}` = '{named}'"] if named else [])]
    while waiting:
        for run in _all(client.search_runs, experiments, waiting.pop(), run_view_type=ViewType.ALL):
            if run.info.run_id not in runs:
                runs[run.info.run_id] = run
                waiting.append(f"tags.`{PARENT}` = '{run.info.run_id}'")
    return list(runs.values())


def _experiments(client: MlflowClient) -> list[str]:
    """All experiments, including deleted ones."""
    return [each.experiment_id for each in _all(client.search_experiments, view_type=ViewType.ALL)]


def _quoted(ids: Sequence[str]) -> str:
    """A list of ids in MLflow's query language."""
    return ", ".join(f"'{each}'" for each in ids)


def _owner(run: Run) -> str:
    return f"run {run.info.run_id}"


def _index(uri: str, run_id: str) -> RunIndex | None:
    """The index of a release's runs, from MLflow's database or from our server; None for another server."""
    if urlsplit(uri).scheme.partition("+")[0] in _DATABASES:
        return index_of(uri, run_id)
    if not uri.startswith("http"):
        return None
    answer = _ask(_credentials(uri), RUN_INDEX, "GET", params={"run_id": run_id})
    if answer.status_code in _NO_SUCH_PAGE:
        return None
    answer.raise_for_status()
    try:
        return RunIndex.from_json(answer.json())
    except (KeyError, TypeError, ValueError):
        return None


def _everything(
    client: MlflowClient, state: Path, runs: Sequence[Run], index: RunIndex | None, named: Collection[str] | None
) -> Iterator[tuple[str, Items, Mapping[str, str]]]:
    """All owners with their items and the digests of their files by path; the release's run comes first.

    Owners that are not among the named ones come without files, which may be anywhere.
    """
    owners: list[tuple[str, Items, str | None, Left]] = [
        (
            _owner(run),
            _run_items(client, run, index, is_root=number == 0),
            run.info.artifact_uri,
            _is_nothing if number else _is_record,
        )
        for number, run in enumerate(runs)
    ]
    models = _models(client, runs)
    owners += [
        (f"model {model.model_id}", _model_items(model), model.artifact_location, _is_left_by_loading)
        for model in models
    ]
    versions = _versions(client, runs, models)
    owners += [
        (
            f"version {version.name} {version.version}",
            _version_items(version),
            # Usually the folder of its model, but a version is loaded from the location that it names.
            client.get_model_version_download_uri(version.name, version.version)
            if named is None or f"version {version.name} {version.version}" in named
            else None,
            _is_left_by_loading,
        )
        for version in versions
    ]
    places = {(uri, but) for owner, _, uri, but in owners if uri is not None and (named is None or owner in named)}
    files = _files(client, state, places)
    for owner, items, uri, but in owners:
        yield owner, items, files[uri, but] if uri is not None and (uri, but) in places else {}
    registered = [owner.removeprefix(_REGISTERED) for owner in named or () if owner.startswith(_REGISTERED)]
    for name in dict.fromkeys([*registered, *(version.name for version in versions)]):
        yield f"{_REGISTERED}{name}", _registered_items(client, name), {}
    for experiment in [run.info.experiment_id for run in runs[:1]]:
        yield f"experiment {experiment}", _experiment_items(client, experiment), {}


def _files(
    client: MlflowClient, state: Path, places: Collection[tuple[str, Left]]
) -> dict[tuple[str, Left], dict[str, str]]:
    """Digests of the files below the given addresses, except those left out; each file is read once."""
    with ThreadPoolExecutor(_READERS) as readers:
        begun = {
            (uri, but): readers.submit(artifact_digests, state, uri, client.tracking_uri, but=but)
            for uri, but in places
        }
        return {place: reading.result() for place, reading in begun.items()}


def _run_items(client: MlflowClient, run: Run, index: RunIndex | None, *, is_root: bool) -> Items:
    """The items of a run, except its files."""
    info, data = run.info, run.data
    yield "name", info.run_name
    yield "experiment", info.experiment_id
    yield "user", info.user_id
    yield "lifecycle stage", info.lifecycle_stage
    yield "start time", info.start_time
    if not is_root:
        yield "status", info.status
        yield "end time", info.end_time
    yield "place of its artifacts", _place(info.artifact_uri, info.run_id)
    for name, value in data.params.items():
        yield f"parameter {name}", value
    for name, value in data.tags.items():
        if not (is_root and name in _RECORD_TAGS):
            yield f"tag {name}", value
    yield from _metric_items(client, run, index)
    for given in run.inputs.dataset_inputs if run.inputs else []:
        dataset = given.dataset
        described: list[Plain] = [dataset.source_type, dataset.source, dataset.schema or "", dataset.profile or ""]
        tags: list[Plain] = [*sorted((tag.key, tag.value) for tag in given.tags)]
        yield f"input {dataset.name} {dataset.digest}", described + tags
    for read in _models_read(run):
        yield f"input model {read.model_id}", ""
    for made in _models_made(run):
        yield f"output model {made.model_id}", made.step


def _metric_items(client: MlflowClient, run: Run, index: RunIndex | None) -> Items:
    """The values that MLflow shows for a run's metrics, and their histories.

    MLflow names only metrics for which it shows a value, and it keeps these values in a separate table; other metrics
    are found only in the index.
    """
    shown = run.data.metrics
    for name, number in shown.items():
        yield f"metric {name}", repr(float(number))
    if index is not None:
        histories = dict(index.entries.get(run.info.run_id, {}))
    else:
        histories = {name: _history(client, run.info.run_id, name) for name in shown}
    for name in dict.fromkeys([*shown, *sorted(histories)]):
        for position, entry in enumerate(sorted(histories.get(name, ()))):
            yield f"entry {position} of metric {name}", entry


def _history(client: MlflowClient, run_id: str, name: str) -> Sequence[Entry]:
    """The entries of one metric, from a server that has no index."""
    return [(each.timestamp, each.step, repr(float(each.value))) for each in client.get_metric_history(run_id, name)]


def _model_items(model: LoggedModel) -> Items:
    """The items of a model, except its files."""
    yield "name", model.name
    yield "experiment", model.experiment_id
    yield "status", str(model.status)
    yield "type", model.model_type
    yield "source run", model.source_run_id
    yield "creation time", model.creation_timestamp
    yield "place of its artifacts", _place(model.artifact_location, model.model_id)
    for name, value in (model.params or {}).items():
        yield f"parameter {name}", value
    for name, value in (model.tags or {}).items():
        yield f"tag {name}", value
    for metric in model.metrics or []:
        place = f"metric {metric.key} at {metric.timestamp}, step {metric.step}, of run {metric.run_id}"
        yield place, [repr(float(metric.value)), metric.dataset_name, metric.dataset_digest]


def _version_items(version: ModelVersion) -> Items:
    """The items of a registered version of a model; aliases are left out because they move."""
    yield "source", version.source
    yield "status", version.status
    yield "status message", version.status_message
    yield "run", version.run_id
    yield "run link", version.run_link
    yield "model", version.model_id
    yield "user", version.user_id
    yield "creation time", version.creation_timestamp
    yield "stage", version.current_stage
    yield "description", version.description
    for name, value in version.tags.items():
        yield f"tag {name}", value


def _registered_items(client: MlflowClient, name: str) -> Items:
    """The items of a registered model, which all releases of a dataset share; its first version makes them."""
    registered = _found(client.get_registered_model, name)
    if registered is not None:
        yield "creation time", registered.creation_timestamp
        yield "description", registered.description
        for tag, value in registered.tags.items():
            yield f"tag {tag}", value


def _experiment_items(client: MlflowClient, experiment_id: str) -> Items:
    """Whether the experiment exists, and its name; its text does not belong to one release."""
    experiment = _found(client.get_experiment, experiment_id)
    yield "lifecycle stage", experiment.lifecycle_stage if experiment else None
    yield "name", experiment.name if experiment else None
    yield "creation time", experiment.creation_time if experiment else None


def _is_nothing(_name: str, _path: Path) -> bool:
    return False


def _is_record(name: str, _path: Path) -> bool:
    """Whether a file of a release's run is the record, which has its own signature."""
    return name == RECORD_ARTIFACT


def _is_left_by_loading(name: str, path: Path) -> bool:
    """Whether a file of a model is exactly the file that MLflow writes there when it loads the model."""
    return (
        name == _LEFT_BY_LOADING
        and not path.is_symlink()
        and _SAID_BY_LOADING.fullmatch(path.read_text(errors="replace")) is not None
    )


def _place(uri: str, owner_id: str) -> str:
    """The address of files, without the part before the folder that MLflow names after their owner."""
    usual = f"{owner_id}/artifacts"
    return usual if uri.endswith(f"/{usual}") else uri


def _models(client: MlflowClient, runs: Sequence[Run]) -> list[LoggedModel]:
    """The models that runs have made or read, and the models that name these runs as their source."""
    models: dict[str, LoggedModel] = {}
    experiments = _experiments(client)
    for some in portions([run.info.run_id for run in runs], _AT_ONCE):
        say_so = f"source_run_id IN ({_quoted(some)})"
        found: list[LoggedModel] = _all(client.search_logged_models, experiments, say_so)
        models.update({each.model_id: each for each in found})
    for run in runs:
        named = {given.model_id for given in _models_read(run)} | {made.model_id for made in _models_made(run)}
        for model_id in named - models.keys():
            if (model := _found(client.get_logged_model, model_id)) is not None:
                models[model_id] = model
    return list(models.values())


def _models_read(run: Run) -> list[LoggedModelInput]:
    return run.inputs.model_inputs if run.inputs else []


def _models_made(run: Run) -> list[LoggedModelOutput]:
    return run.outputs.model_outputs if run.outputs else []


def _versions(client: MlflowClient, runs: Sequence[Run], models: Sequence[LoggedModel]) -> list[ModelVersion]:
    """The registered versions of models that refer to the runs or to their models."""
    ids = {run.info.run_id for run in runs}
    own = {model.model_id for model in models}
    return [
        version
        for version in _all(client.search_model_versions)
        if version.run_id in ids or version.model_id in own or any(name in (version.source or "") for name in own)
    ]


def _all(search: Callable[..., PagedList[T]], *asked: Any, **options: Any) -> list[T]:
    """All results of a search, page by page."""
    found: list[T] = []
    token: str | None = None
    while page := search(*asked, max_results=_PAGE, page_token=token, **options):
        found += page
        token = page.token
        if not token:
            break
    return found


def _found(get: Callable[[str], T], name: str) -> T | None:
    """The requested item; None if MLflow does not have it."""
    try:
        return get(name)
    except MlflowException as error:
        if error.error_code != _ABSENT:
            raise
        return None
