"""Read the valid rows of a source outside a release, without a message that quotes a record."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import pyarrow as pa

from deniable.foundation.domain import Codes
from deniable.foundation.errors import DeniableError, Refused
from schemas.spec.release_spec import ReleaseSpec
from stores.tables.sources.reading import opened_source
from stores.tables.tables import VALID, encode, frame_of
from stores.vault.private_files import keep_error, make_private_folder
from tasks.data.validate import Findings, examine

T = TypeVar("T")


def valid_codes(spec: ReleaseSpec, state: Path) -> Iterator[Codes]:
    """Yield the codes of the valid rows of a spec's source, chunk by chunk.

    Args:
        spec: the spec, of which only the source and the schema are used.
        state: the state folder.

    Raises:
        InvalidInput: the source is missing or lacks columns, or the schema does not fit it.
    """
    findings = Findings()
    with opened_source(spec, state) as source:
        for batch in source.batches():
            recoded = examine(spec.schema, frame_of(pa.Table.from_batches([batch])), findings)
            yield encode(recoded[recoded[VALID]], spec.domain)


def without_quoting(read: Callable[[], T], spec: ReleaseSpec, state: Path) -> T:
    """Return what a function reads of a source; an error of the schema's own code, which may quote records, is kept.

    Args:
        read: reads and recodes the source.
        spec: the spec.
        state: the state folder, in whose vault such an error is kept.

    Raises:
        DeniableError: the function raised it.
        Refused: the schema's own code failed; neither the message nor the context quotes a record.
    """
    try:
        return read()
    except DeniableError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever it is, its message may quote a record
        vault = state / "vault"
        details = vault / "checks" / f"{spec.name}.error.txt"
        with suppress(OSError):
            make_private_folder(vault)
            keep_error(error, details)
        failure = Refused(
            f"the table must be read and recoded without an error, got one ({type(error).__name__}), which may quote "
            f"confidential values; cleared staff find it in {details}."
        )
    raise failure
