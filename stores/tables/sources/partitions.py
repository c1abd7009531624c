"""Tables in many files, in a folder or, of Parquet, in an object store, read file by file in chunks.

The files are read in the byte order of their relative paths; this order is part of the input of a release. `key=value`
in a path, the Hive notation for partitions, is a column of text.

The location of an object store and the credentials come from its own variables: AWS_ENDPOINT_URL, AWS_ACCESS_KEY_ID,
AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_REGION, or from other sources of Arrow's S3 client.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from deniable.foundation.errors import InvalidInput
from schemas.regular_files import kind_of
from schemas.spec.source_kinds import PARQUET, ZIP, kind_of_source
from stores.servers.ui_links import is_loopback_host
from stores.tables.sources.contract import TableFile

_MOST_FILES = 1_000_000
_HIVE_NULL = "__HIVE_DEFAULT_PARTITION__"
_PASSED_OVER = ("_", ".")  # files that programs write next to the data
_BUFFER_BYTES = 4 << 20
_CONNECT_S, _ANSWER_S, _ATTEMPTS = 10, 60, 4
_NOBODY_THERE = ("NO_SUCH_BUCKET", "NO_SUCH_KEY", "RESOURCE_NOT_FOUND")
_NOT_ALLOWED = (
    "ACCESS_DENIED",
    "INVALID_ACCESS_KEY_ID",
    "INVALID_CLIENT_TOKEN_ID",
    "INVALID_SIGNATURE",
    "SIGNATURE_DOES_NOT_MATCH",
    "UNRECOGNIZED_CLIENT",
    "MISSING_AUTHENTICATION_TOKEN",
    "HTTP status 401",
    "HTTP status 403",
)


class ParquetPart:
    """One of the files.

    Args:
        system: its file system.
        path: its path there.
        name: its name in messages.
        columns: columns given by its path, with their value in all rows.
    """

    malformed_rows = empty_rows = 0

    def __init__(self, system: fs.FileSystem, path: str, name: str, columns: dict[str, str | None]) -> None:
        self.name = name
        self._system, self._path, self._columns = system, path, columns
        with _reading(name), system.open_input_file(path) as file:
            schema = pq.read_schema(file)
        twice = len({*schema.names, *columns}) < len(schema.names) + len(columns)
        if twice:
            raise InvalidInput(f"the columns of the source {name} must have different names, and do not; rename one.")
        self.types = {field.name: field.type for field in schema} | dict.fromkeys(columns, pa.string())

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
        """Read some columns, in batches of a given number of rows."""
        own = [name for name in columns if name not in self._columns]
        with (
            _reading(self.name),
            self._system.open_input_file(self._path) as opened,
            # Neither a row group nor one of its columns is held in memory.
            pq.ParquetFile(opened, pre_buffer=False, buffer_size=_BUFFER_BYTES) as file,
        ):
            for batch in file.iter_batches(rows, columns=own, use_threads=False):
                yield pa.RecordBatch.from_arrays(
                    [
                        batch.column(name)
                        if name in own
                        else pa.array([self._columns[name]] * batch.num_rows, pa.string())
                        for name in columns
                    ],
                    names=list(columns),
                )


class FilePart:
    """One of several files of another kind in a folder.

    Args:
        table: the file.
        columns: columns given by its path, with their value in all rows.
    """

    def __init__(self, table: TableFile, columns: Mapping[str, str | None]) -> None:
        self.name = table.name
        self._table, self._columns = table, columns
        if set(columns) & set(table.types):
            raise InvalidInput(
                f"the columns of the source {self.name} must have different names, and do not; rename one."
            )
        self.types = table.types | dict.fromkeys(columns, pa.string())

    @property
    def malformed_rows(self) -> int:
        """Rows met so far that have too few or too many fields."""
        return self._table.malformed_rows

    @property
    def empty_rows(self) -> int:
        """Rows met so far whose every field is empty."""
        return self._table.empty_rows

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
        """Read some columns, in batches of a given number of rows."""
        own = [name for name in columns if name not in self._columns] or list(self._table.types)[:1]
        for batch in self._table.batches(own, rows):
            given = {name: pa.array([self._columns[name]] * len(batch), pa.string()) for name in self._columns}
            held = {name: batch.column(name) for name in own} | given
            yield pa.RecordBatch.from_arrays([held[name] for name in columns], names=list(columns))


def is_in_a_store(place: str) -> bool:
    """Whether a location is an address in an object store."""
    return "://" in place


def parts_in_folder(folder: Path) -> list[ParquetPart]:
    """The files of a folder and its subfolders.

    Raises:
        InvalidInput: the folder cannot be read, contains anything other than Parquet files, or contains none.
    """
    with _reading(str(folder)):
        paths = sorted(_files_below(folder))
    return _parts(fs.LocalFileSystem(), str(folder), str(folder), paths)


def files_in_folder(folder: Path) -> list[tuple[Path, str, dict[str, str | None]]]:
    """The files of a folder and its subfolders that are of one kind other than Parquet.

    Args:
        folder: the folder.

    Returns:
        In order, the path of each file, its name in messages, and the columns given by its path; nothing if the files
        are of no kind, of several, or of Parquet, which `parts_in_folder` reads.

    Raises:
        InvalidInput: the folder cannot be read, or contains special files.
    """
    with _reading(str(folder)):
        inside = {os.path.relpath(path, folder): Path(path) for path in _files_below(folder)}
    kinds = {kind_of_source(name) for name in inside}
    if len(kinds) != 1 or kinds & {None, PARQUET, ZIP}:
        return []
    return [
        (path, f"{str(folder).rstrip('/')}/{_without_values(name)}, file {number}", _columns_of(name))
        for number, (name, path) in enumerate(sorted(inside.items(), key=lambda item: item[0].encode()), 1)
    ]


def _files_below(folder: Path) -> Iterator[str]:
    """The files of a folder and its subfolders; links to folders are not followed, because they may form a cycle.

    Raises:
        InvalidInput: it contains special files, which might block reading, or too many files.
    """
    waiting, seen = [folder], 0
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for entry in entries:
                seen += 1
                if seen > _MOST_FILES:
                    raise InvalidInput(
                        f"the source {folder} must hold at most {_MOST_FILES:,} files, and holds more; split it."
                    )
                if entry.name.startswith(_PASSED_OVER):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(Path(entry.path))
                elif entry.is_file():
                    yield entry.path
                else:
                    raise InvalidInput(
                        f"the source {folder} must hold Parquet files and nothing else, and {entry.name} is "
                        f"{_kind(Path(entry.path))}; take it out."
                    )


def _kind(path: Path) -> str:
    """Description of something that is not a file."""
    if path.is_symlink() and path.is_dir():
        return "a link to a folder"
    return kind_of(path) or "a link that leads nowhere"


def parts_in_store(address: str) -> list[ParquetPart]:
    """The objects below a prefix, or one object.

    Args:
        address: `s3://BUCKET/PREFIX`.

    Raises:
        InvalidInput: there are none, or the store cannot be read.
    """
    parts = urlsplit(address)
    if parts.scheme != "s3" or not parts.hostname or parts.query or parts.fragment:
        raise InvalidInput(
            f"a source in an object store must have the form s3://BUCKET/PREFIX, got {parts.scheme}://..."
        )
    if parts.username or parts.password:
        raise InvalidInput(
            "credentials must be in the environment and not in the address of a source, got some there; remove them."
        )
    place = f"{parts.netloc}/{parts.path.strip('/')}".rstrip("/")
    system = _store(address)
    if place.endswith(PARQUET.suffixes):
        return [ParquetPart(system, place, address, {})]
    with _reading(address):
        found = system.get_file_info(fs.FileSelector(place, recursive=True))
    return _parts(system, place, address, [info.path for info in found if info.type == fs.FileType.File])


def _store(address: str) -> fs.FileSystem:
    """The object store that the environment names; Amazon's by default.

    Raises:
        InvalidInput: records would be sent unencrypted over a network.
    """
    endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    if endpoint and urlsplit(endpoint).scheme == "http" and not is_loopback_host(urlsplit(endpoint).hostname or ""):
        raise InvalidInput(
            "an object store on another machine must be reached by https://, got http:// in AWS_ENDPOINT_URL: anyone "
            "on the network could read the records; install a certificate on the store."
        )
    with _reading(address):
        return fs.S3FileSystem(
            endpoint_override=endpoint or None,
            region=os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION"),
            connect_timeout=_CONNECT_S,
            request_timeout=_ANSWER_S,
            retry_strategy=fs.AwsStandardS3RetryStrategy(max_attempts=_ATTEMPTS),
            allow_bucket_creation=False,
        )


def _parts(system: fs.FileSystem, place: str, name: str, paths: Iterable[str]) -> list[ParquetPart]:
    """The files below a location in order; they must be Parquet files."""
    below = {path: path.removeprefix(place).lstrip("/") for path in paths}
    files = {path: inside for path, inside in below.items() if not _is_passed_over(inside)}
    if not files or any(not inside.endswith(PARQUET.suffixes) for inside in files.values()):
        raise InvalidInput(
            f"the source {name} must hold Parquet files and nothing else, and "
            f"{'also holds others' if files else 'holds none'}; give the folder or the prefix that contains them. A "
            "folder may also hold files of another kind alone."
        )
    return [
        ParquetPart(system, path, f"{name.rstrip('/')}/{_without_values(inside)}, file {number}", _columns_of(inside))
        for number, (path, inside) in enumerate(sorted(files.items(), key=lambda item: item[1].encode()), 1)
    ]


def _is_passed_over(inside: str) -> bool:
    return any(step.startswith(_PASSED_OVER) for step in inside.split("/"))


def _columns_of(inside: str) -> dict[str, str | None]:
    """The columns given by a path in Hive's notation."""
    said = [step.split("=", 1) for step in inside.split("/")[:-1] if "=" in step]
    return {unquote(name): None if value == _HIVE_NULL else unquote(value) for name, value in said}


def _without_values(inside: str) -> str:
    """A path for messages, without the values in Hive's notation, which are values of records."""
    *folders, file = inside.split("/")
    hidden = [f"{step.partition('=')[0]}=..." if "=" in step else step for step in folders]
    return "/".join([*hidden, file])


@contextmanager
def _reading(name: str) -> Iterator[None]:
    """Describe a fault of a file, a folder or a store without quoting a row of it."""
    try:
        yield
    except FileNotFoundError:
        failed = InvalidInput(f"the source must be a file or a folder, and {name} does not exist; correct its path.")
    except PermissionError:
        failed = InvalidInput(f"the source must be readable by this user, and {name} is not; check who owns it.")
    except (pa.ArrowException, OSError, EOFError) as error:
        failed = InvalidInput(_complaint(name, str(error)))
    else:
        return
    raise failed from None


def _complaint(name: str, said: str) -> str:
    """Describe a fault from Arrow's message."""
    if any(word in said for word in _NOBODY_THERE):
        return f"the source must be in the object store, and {name} does not exist; correct its bucket or its path."
    if any(word in said for word in _NOT_ALLOWED):
        return (
            f"the source {name} must be readable with the credentials of the environment, and the store refuses them; "
            "check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, and their permissions."
        )
    if "AWS Error" in said or "curlCode" in said or is_in_a_store(name):
        return (
            f"the object store must answer until {name} is read, and does not; check AWS_ENDPOINT_URL and that the "
            "store is running, and start again: nothing was charged."
        )
    return f"the source {name} must be a complete Parquet file, as its name says, and is not; get it again."
