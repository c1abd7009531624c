"""The public records that stand for the confidential ones in a rehearsal; the confidential source is not opened."""

import csv
import json
from dataclasses import dataclass
from hashlib import sha256
from io import TextIOWrapper
from itertools import islice
from pathlib import Path

import numpy as np

from deniable.foundation.domain import Codes, Domain
from deniable.foundation.errors import InvalidInput, Refused
from deniable.foundation.keys import ReleaseKey
from deniable.record.released_table import codes_of_texts
from deniable.verification.release import CSV, DOMAIN
from schemas.regular_files import require_regular
from schemas.rehearsal import StandIn
from schemas.spec.release_spec import FileSource, ReleaseSpec
from stores.ledger.accounts import accounts_of_source
from stores.ledger.ledger import ledger_place
from stores.ledger.state_ledger import state_ledger
from stores.own_files import opened_own, read_own
from stores.releases.snapshots import published_releases
from stores.tables.sources.reading import locate
from stores.vault.workspace import file_digest
from tasks.data.reading import valid_codes, without_quoting

ROWS = 10_000
"""Number of records drawn from the schema, unless another one is given."""

_BATCH, _ROUNDS = 50_000, 40


@dataclass(frozen=True, eq=False)
class Standing:
    """Public records, and what they are.

    Attributes:
        what: what they are.
        codes: their codes, shape (rows, m).
    """

    what: StandIn
    codes: Codes


def stand_in_for(
    spec: ReleaseSpec, state: Path, *, table: Path | None = None, from_schema: bool = False, rows: int = ROWS
) -> Standing:
    """Return the records on which a release is rehearsed.

    Args:
        spec: the release.
        state: the state folder, with the releases of the dataset.
        table: a public table with the columns of the source; without it, the last public release of the dataset.
        from_schema: whether records are drawn from the schema, as they are if there is no release.
        rows: number of records drawn from the schema.

    Raises:
        InvalidInput: the table cannot be read, or is the confidential source.
        Refused: there is no valid record.
    """
    if table is not None:
        return _public_table(spec, state, table)
    if not from_schema:
        for begun in reversed(published_releases(state, spec)):
            folder = state / "releases" / begun.release_id
            described = Domain.from_document(json.loads(read_own(folder / DOMAIN)))
            if described.digest == spec.domain.digest:
                return _release(begun.release_id, folder / CSV, spec.domain)
    return records_of_schema(spec.domain, rows)


def _public_table(spec: ReleaseSpec, state: Path, table: Path) -> Standing:
    require_regular(table, "the public table")
    if not table.is_file():
        raise InvalidInput(f"the public table must exist, and {table} does not; put it there, or name another.")
    if isinstance(spec.source, FileSource) and _is_source(spec, table):
        raise InvalidInput(
            f"a rehearsal must be made on public records, and {table} is the confidential source; name a table that "
            "anyone may read, or leave out --on."
        )
    digest = file_digest(table)
    public = spec.reading(table.absolute())
    _require_unknown(public, state, table)
    found = without_quoting(lambda: list(valid_codes(public, state)), public, state)
    if not sum(map(len, found)):
        raise Refused(f"the public table {table.name} must have valid rows, got none; see the dataset's schema.")
    codes = np.concatenate(found)
    return Standing(StandIn(kind="table", name=table.name, sha256=digest, rows=len(codes)), codes)


def _require_unknown(public: ReleaseSpec, state: Path, table: Path) -> None:
    """Refuse a table that the ledger knows as the source of an account, also a copy of it in another place."""
    place = ledger_place(state)
    if isinstance(place, Path) and not place.exists():
        return  # no account was opened
    accounts = accounts_of_source(state, public, state_ledger(state))
    if accounts:
        raise InvalidInput(
            f"a rehearsal must be made on public records, and {table} has those of dataset {min(accounts)}, which has "
            "an account; name a table that anyone may read, or leave out --on."
        )


def _is_source(spec: ReleaseSpec, table: Path) -> bool:
    """Whether a file is the source, or in its folder, by the places of both; no content is read."""
    assert isinstance(spec.source, FileSource)  # noqa: S101 - the caller made sure
    try:
        place = locate(spec.source, spec.folder)
    except InvalidInput:
        return False
    if isinstance(place, str) or not place.exists():
        return False
    return table.samefile(place) or place.resolve() in table.resolve().parents


def _release(release_id: str, place: Path, domain: Domain) -> Standing:
    """Return the records of a public release of the same domain."""
    digest, found = file_digest(place), list[Codes]()
    with opened_own(place) as content, TextIOWrapper(content, encoding="utf-8", newline="") as file:
        lines = csv.reader(file)
        next(lines, None)
        while rows := list(islice(lines, _BATCH)):
            columns = [
                codes_of_texts(attribute, column)
                for attribute, column in zip(domain.attributes, zip(*rows, strict=True), strict=True)
            ]
            found.append(np.stack(columns, axis=1))
    codes = np.concatenate(found) if found else np.zeros((0, len(domain)), np.int64)
    if not len(codes) or codes.min() < 0:
        raise Refused(f"the records of {release_id} must be of its schema, and are not; verify that release.")
    what = StandIn(kind="release", name=release_id, sha256=digest, rows=len(codes))
    return Standing(what, codes.astype(domain.code_type))


def records_of_schema(domain: Domain, rows: int) -> Standing:
    """Draw records whose values are all as likely, and which satisfy the rules of the schema."""
    stream = ReleaseKey.generate().stream(step="rehearse", mechanism="records of a schema", inputs="", parameters={})
    found, wanted = list[Codes](), rows
    for _ in range(_ROUNDS):
        columns = [stream.take(wanted) % np.uint32(size) for size in domain.cardinalities]
        codes = np.stack(columns, axis=1).astype(domain.code_type)
        for rule in domain.rules:
            codes = codes[rule.holds(domain, codes)]
        found.append(codes)
        if sum(map(len, found)) >= rows:
            drawn = np.concatenate(found)[:rows]
            digest = sha256(np.ascontiguousarray(drawn).tobytes()).hexdigest()
            return Standing(StandIn(kind="schema", name="", sha256=digest, rows=rows), drawn)
    raise Refused(
        "records drawn from the schema must satisfy its rules, and too few do by chance; name a public table with --on."
    )
