"""Compare the ledger with the records of a release and with the published table."""

from collections.abc import Iterator, Sequence

from deniable.foundation.checks import Check
from deniable.foundation.errors import InvalidInput
from deniable.ledger.entries import Charge, Entry, Fact, Publication, SealedEntry, Standing, entry_of
from deniable.ledger.verification import records_of, verify
from schemas.provenance import LedgerSegment, Provenance
from stores.publication.release_folder import PARQUET
from stores.record.audit_target import NO_LEDGER, AuditTarget
from stores.vault.workspace import file_digest
from tasks.running.check import Checks, as_check, out_of_reach

_HOLDS = "the ledger holds"
_ENTRIES = "the ledger has the entries that the record shows, unchanged"
_PUBLISHED = "the ledger states that the table in the folder was published"
_CHARGES = "the release was charged only what the record shows"

Entries = Sequence[Entry | None]


def compare_ledger(sealed: AuditTarget) -> Checks:
    """Check that the ledger verifies, and agrees with the record of a release.

    Args:
        sealed: the release.

    Returns:
        The checks.

    Raises:
        DeniableError: there is no record with a trusted signature, or the ledger cannot be read.
    """
    if sealed.ledger_is_out_of_reach:
        return tuple(out_of_reach(name, NO_LEDGER) for name in (_HOLDS, _ENTRIES, _PUBLISHED, _CHARGES))
    kept = records_of(sealed.ledger_lines())
    report = verify(kept)
    faults = tuple(f"{check.name}: {fault}" for check in report.checks for fault in check.faults)
    record = sealed.most_said().record
    entries = [_readable(each) for each in kept]
    return (
        Check(_HOLDS, faults, f"{report.entries} entries, head {report.head}"),
        Check(
            _ENTRIES,
            tuple(_lost(record.ledger, entries)),
            f"{record.ledger.entries[0]['number']} to {record.ledger.head.number}" if record.ledger.entries else "",
        ),
        Check(_PUBLISHED, tuple(_published(sealed, record, entries)), _became(record, entries)),
        Check(_CHARGES, tuple(_charged(record, entries))),
    )


def _readable(record: object) -> Entry | None:
    try:
        return Entry.from_record(record)
    except InvalidInput:
        return None


def _lost(segment: LedgerSegment, entries: Entries) -> Iterator[str]:
    """Yield the record's entries that the ledger lacks."""
    by_number = {entry.number: entry for entry in entries if entry is not None}
    if segment.before is not None:
        before = by_number.get(segment.before.number)
        if before is None or before.digest != segment.before.digest:
            yield f"entry {segment.before.number}, before those that the record shows, is another or gone"
    for shown in map(entry_of, segment.entries):
        kept = by_number.get(shown.number)
        if kept is None:
            yield f"entry {shown.number} is gone, or cannot be read"
        elif (_seal(kept) if isinstance(shown, SealedEntry) else kept) != shown:
            yield f"entry {shown.number} was changed"


def _seal(entry: Entry) -> SealedEntry | None:
    try:
        return entry.sealed()
    except InvalidInput:
        return None


def _published(sealed: AuditTarget, record: Provenance, entries: Entries) -> Iterator[str]:
    """Yield faults of the entry for the publication of the release."""
    table = sealed.folder / PARQUET
    digest = file_digest(table) if table.is_file() else None
    if digest is None:
        yield f"{PARQUET} is not in the folder"
    said = [(number, fact) for number, fact in _facts(entries) if isinstance(fact, Publication)]
    of_this = [(number, fact) for number, fact in said if fact.release == record.release.id]
    if not of_this:
        yield f"no entry states that {record.release.id} was published"
    for number, fact in of_this:
        if fact.dataset != record.release.dataset:
            yield f"entry {number} states that it was published from another dataset"
        if digest is not None and fact.output != digest:
            yield f"entry {number} states that another table was published"


def _became(record: Provenance, entries: Entries) -> str:
    """What was decided about the release since; empty if nothing was."""
    decided = [(number, fact) for number, fact in _facts(entries) if isinstance(fact, Standing)]
    said = [
        f"{fact.standing}{f' by {fact.successor}' if fact.successor else ''} in entry {number}: {fact.reason}"
        for number, fact in decided
        if fact.release == record.release.id
    ]
    return "; ".join(said)


def _charged(record: Provenance, entries: Entries) -> Iterator[str]:
    """Yield charges for the release that its record does not show."""
    shown = {entry.number for entry in map(entry_of, record.ledger.entries) if isinstance(entry, Entry)}
    for number, fact in _facts(entries):
        if isinstance(fact, Charge) and fact.release == record.release.id and number not in shown:
            yield f"entry {number} charges it for step {fact.step}"


def _facts(entries: Entries) -> Iterator[tuple[int, Fact]]:
    """Yield the facts of the entries that can be read."""
    for entry in entries:
        try:
            if entry is not None:
                yield entry.number, entry.fact()
        except InvalidInput:
            continue


compare_ledger_task = as_check(compare_ledger, "the ledger")
