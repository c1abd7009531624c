"""Independent verification of a published release: from its folder alone, without trusting its makers.

The signed record is read, every file is checked against its digest and the table against its public domain, and the
record's statements are recomputed (deniable.verification.record). Access to the folder does not belong here: the
caller passes an object that lists and opens files. Only the contents of record and statement are quoted.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from io import SEEK_END
from typing import Any, BinaryIO, Protocol

from deniable.foundation.checks import Check, found
from deniable.foundation.domain import Domain
from deniable.foundation.errors import DeniableError, InvalidInput
from deniable.foundation.strict_json import parsed
from deniable.inference.interval_table import FILE as INTERVALS
from deniable.inference.interval_table import check_intervals
from deniable.measurements.certificate import FILE as CERTIFICATE
from deniable.measurements.certificate import check_certificate
from deniable.measurements.document import FILE as MEASURED
from deniable.measurements.document import FORMATS as MEASURED_FORMATS
from deniable.measurements.estimates import FILE as CONSISTENT
from deniable.measurements.estimates import check_consistent
from deniable.privacy.planned import FileCheck
from deniable.record.attestation import DISCOVERY, SURVEY, Envelope, SignatureBroken, Statement
from deniable.record.attestation import verify as verify_signature
from deniable.record.released_table import (
    TableFindings,
    check_csv,
    check_parquet,
    check_rules,
    first_difference,
    is_text_of,
    parquet_reader,
)
from deniable.record.shape import faults_of_shape, record_schema
from deniable.record.trust import TrustedKeys
from deniable.verification.earlier_release import RecordOfOther, check_earlier, no_other_release
from deniable.verification.planned_events import expected_steps, for_one_record
from deniable.verification.record import Exported, Released, check_record

RECORD = "record.dsse.json"
CSV = "synthetic.csv"
PARQUET = "synthetic.parquet"
RESPONSES = "responses.csv"
STATEMENT = "privacy.json"
DOMAIN = "schema.json"

FILE = "file"
"""The kind of a member of a folder that is a regular file: neither a folder nor a link."""

_BYTES_A_READ = 1 << 20
# Documents are read whole; no release has larger ones.
_LARGEST_DOCUMENT = 1 << 26
# A table grows with its records: at most this many bytes each, and at most as many records as there are people.
_LARGEST_RECORD = 1 << 16
_MOST_RECORDS = 10**10
_PUBLIC = "public"
_RELEASE = "release"
_KINDS = {SURVEY: "survey", DISCOVERY: "discovery"}
_GROWING = {CSV, PARQUET, RESPONSES}

SIGNED = "the record is intact, and signed by a trusted key that was valid when it signed"
FILES = "every file is as signed, and none is missing or added"
FORM = "the record has exactly the form of a public record"
_TABLE = "has only values of the public domain, and all of its records"
_KEPT = "every record keeps every rule of the schema"
SAYS = "the statements of the record hold"
UNREAD = "it cannot be checked, because the record cannot be read"
_MISSHAPEN = "it cannot be checked, because the record does not have the required form"


class Folder(Protocol):
    """A folder that can be read."""

    def members(self) -> Mapping[str, str]:
        """All members by name, including hidden ones: `file` or another kind."""

    def open(self, name: str) -> AbstractContextManager[BinaryIO]:
        """Open a file for reading."""


@dataclass(frozen=True)
class Trust:
    """The keys whose signatures are accepted.

    Attributes:
        keys: the trusted keys; None if there are none.
        found: where they were found, to follow `trusted keys` in a sentence; if there are none, the remedy.
        latest: signatures with a later time are rejected, if given.
    """

    keys: TrustedKeys | None
    found: str
    latest: str | None = None


@dataclass(frozen=True)
class ReleaseReport:
    """The result of verification.

    Attributes:
        release: the release's name, from its record; empty if that cannot be read.
        checks: the checks.
    """

    release: str
    checks: tuple[Check, ...]

    @property
    def holds(self) -> bool:
        """Whether all checks passed."""
        return all(check.holds for check in self.checks)

    @property
    def verdict(self) -> str:
        """The outcome in one sentence."""
        if self.holds:
            made = sum(check.made for check in self.checks)
            rest = len(self.checks) - made
            more = f", and {rest} that could not be made with what was given" if rest else ""
            return f"The release {self.release} holds: {made} checks{more}."
        failed = sum(not check.holds for check in self.checks)
        return f"THE RELEASE DOES NOT HOLD: {failed} of {len(self.checks)} checks failed; do not rely on it."

    @property
    def lines(self) -> tuple[str, ...]:
        """The report: one line per check, and the verdict."""
        return (*(check.line for check in self.checks), self.verdict)


class CheckedContents:
    """The checks of the contents of the release verified last, for another folder with the same record and files.

    They follow from the contents alone. Signature, digests, and what the record states are always checked.
    """

    def __init__(self) -> None:
        # Replaced as a whole, so that no thread sees the checks of one release with the record of another.
        self._kept: tuple[bytes, tuple[tuple[Check, ...], tuple[Check, ...]]] = (b"", ((), ()))

    def of(
        self, payload: bytes, check: Callable[[], tuple[tuple[Check, ...], tuple[Check, ...]]]
    ) -> tuple[tuple[Check, ...], tuple[Check, ...]]:
        """The checks of a release whose files are all as its record states.

        Args:
            payload: the record.
            check: checks the contents.
        """
        kept, checks = self._kept
        if kept != payload:
            checks = check()
            self._kept = payload, checks
        return checks


def verify_release(
    folder: Folder,
    trust: Trust,
    ledger: Exported = None,
    known: CheckedContents | None = None,
    *,
    record_of_other: RecordOfOther = no_other_release,
) -> ReleaseReport:
    """Check a published release against its own signed record.

    Args:
        folder: the release folder.
        trust: the keys whose signatures are accepted.
        ledger: the whole ledger, as plain values, if it was exported.
        known: contents that this process has checked already; by default, all are checked.
        record_of_other: finds the file of the record of another release by its name; by default none is found.

    Returns:
        The report. The only errors raised are those of opening the folder.
    """
    names = folder.members()
    try:
        envelope, statement = record_of(folder, names, _RELEASE)
    except DeniableError as error:
        return unread_report(error)
    record: Any = statement.predicate
    misshapen = (*found(lambda: faults_of_shape(record, record_schema(statement.version))), *_not_public(record))
    files = files_check(folder, names, statement.subjects, _records_in(record))
    checks = [signature_check(envelope, record, trust), files, Check(FORM, misshapen)]
    if misshapen:
        return ReleaseReport("", (*checks, Check(SAYS, (_MISSHAPEN,))))
    described, stated = json_document(folder, names, DOMAIN), json_document(folder, names, STATEMENT)

    def contents() -> tuple[tuple[Check, ...], tuple[Check, ...]]:
        return _table_checks(folder, names, described, record), document_checks(folder, names, described, record)

    # Files that are not as signed may differ from those that were checked with the same record.
    tables, documents = contents() if known is None or not files.holds else known.of(envelope.payload, contents)
    released = Released(
        record=record, subjects=statement.subjects, keyid=envelope.keyid, described=described, stated=stated
    )
    stated_by_record = check_record(released, ledger, trust.keys)
    earlier = check_earlier(record, statement.subjects, trust.keys, record_of_other)
    return ReleaseReport(record["release"]["id"], (*checks, *tables, *stated_by_record, *documents, *earlier))


def _table_checks(
    folder: Folder, names: Mapping[str, str], described: Mapping[str, Any], record: Mapping[str, Any]
) -> tuple[Check, ...]:
    """The checks of the records themselves."""
    tables = _tables(folder, names, described, record["release"]["records"])
    return (*tables, *rules_check(folder, names, described))


def document_checks(
    folder: Folder, names: Mapping[str, str], described: Mapping[str, Any], record: Mapping[str, Any]
) -> tuple[Check, ...]:
    """The checks of the documents beside them: what was learnt, and what follows from it."""
    of_one = _for_one_record(record)
    checks: list[Check] = []
    for files, check in _checks_of_files(record):
        checks += check(of_one, described, *(json_document(folder, names, name) for name in files))
    checks += _estimates(folder, names, described, record["spec"]["document"].get("split"))
    checks += _certificate(folder, names, described, record)
    return tuple(checks)


def _estimates(
    folder: Folder, names: Mapping[str, str], described: Mapping[str, Any], split: Mapping[str, Any] | None
) -> tuple[Check, ...]:
    """The check of the estimates from noisy tables; releases in earlier formats have none."""
    measured = json_document(folder, names, MEASURED)
    checks = []
    if CONSISTENT in names or measured.get("format") in MEASURED_FORMATS:
        checks.append(check_consistent(described, measured, json_document(folder, names, CONSISTENT), split=split))
    if INTERVALS in names:
        content = _content(folder, INTERVALS) if names[INTERVALS] == FILE else b""
        checks.append(check_intervals(described, measured, content.decode(errors="replace"), split))
    return tuple(checks)


def _certificate(
    folder: Folder, names: Mapping[str, str], described: Mapping[str, Any], record: Mapping[str, Any]
) -> tuple[Check, ...]:
    """The check of the certificate, if the spec requests one or the folder has one."""
    learner = record["spec"]["document"].get("learner")
    asked = learner.get("certificate") if isinstance(learner, dict) else None
    if asked is None and CERTIFICATE not in names:
        return ()
    measured, certificate = (json_document(folder, names, name) for name in (MEASURED, CERTIFICATE))
    return (check_certificate(record, described, measured, certificate),)


def _for_one_record(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """The record with the budgets by which noise was scaled; as it is if it cannot be read, which others report."""
    of_one = record

    def convert() -> tuple[str, ...]:
        nonlocal of_one
        of_one = for_one_record(record)
        return ()

    found(convert)
    return of_one


def _checks_of_files(record: Mapping[str, Any]) -> list[tuple[tuple[str, ...], FileCheck]]:
    """The checks of files by the spec's steps; none if its steps are unknown, which another check reports.

    Returns:
        For each, the files whose documents it takes: the one that is checked, and those that it follows from.
    """
    checks: list[tuple[tuple[str, ...], FileCheck]] = []

    def collect() -> tuple[str, ...]:
        for step in expected_steps(record["spec"]["document"]).values():
            checks.extend(((name, *step.beside.get(name, ())), check) for name, check in step.checks.items())
        return ()

    found(collect)
    return checks


def signed_predicate(content: bytes, trust: Trust) -> tuple[Check, Mapping[str, Any]]:
    """The predicate of a record, and whether a trusted key signed it; nothing else is checked.

    Args:
        content: content of the record's file.
        trust: the keys whose signatures are accepted.

    Raises:
        InvalidInput: it is not a record.
    """
    envelope = Envelope.from_text(content)
    record = Statement.from_payload(envelope.payload).predicate
    return signature_check(envelope, record, trust), record


def readable_record(content: bytes) -> str:
    """A record's statement as readable text. Its signature is not checked.

    Args:
        content: content of the record's file.

    Raises:
        InvalidInput: it is not a record.
    """
    return json.dumps(
        parsed(Envelope.from_text(content).payload.decode(errors="replace"), "the record"), indent=2, ensure_ascii=False
    )


def record_in(folder: Folder, names: Mapping[str, str]) -> tuple[Envelope, Statement]:
    """The record of a folder, not verified.

    Raises:
        InvalidInput: there is none, or it is not a record.
    """
    if names.get(RECORD) != FILE:
        raise InvalidInput("the record must be in the folder, got none.")
    envelope = Envelope.from_text(_content(folder, RECORD))
    return envelope, Statement.from_payload(envelope.payload)


def kind_of(folder: Folder) -> str:
    """The kind of a folder's record: `release`, `survey` or `discovery`; its signature is not checked.

    A record that cannot be read counts as that of a release, whose verification reports the reason.
    """
    try:
        return _kind(record_in(folder, folder.members())[1])
    except DeniableError:
        return _RELEASE


def _kind(statement: Statement) -> str:
    return _KINDS.get(statement.version, _RELEASE)


def record_of(folder: Folder, names: Mapping[str, str], kind: str) -> tuple[Envelope, Statement]:
    """The record of a folder, not verified, which must be of a given kind.

    Raises:
        InvalidInput: there is none, or it is not a record, or of another kind.
    """
    envelope, statement = record_in(folder, names)
    if _kind(statement) != kind:
        raise InvalidInput(f"the record must be of a {kind}, got that of a {_kind(statement)}.")
    return envelope, statement


def unread_report(error: DeniableError) -> ReleaseReport:
    """The report on a folder whose record cannot be read, for the reason that the error states."""
    unread = (Check(name, (UNREAD,)) for name in (FILES, FORM, SAYS))
    return ReleaseReport("", (Check(SIGNED, (f"{RECORD}: {error}",)), *unread))


def content_of(folder: Folder, names: Mapping[str, str], name: str) -> str:
    """The text of a document of a folder.

    Raises:
        InvalidInput: it is missing, is not a file, or is too large for a document.
        UnicodeDecodeError: it is not text.
    """
    if names.get(name) != FILE:
        raise InvalidInput(f"{name} must be a file of the folder, and is missing.")
    return _content(folder, name).decode()


def _content(folder: Folder, name: str) -> bytes:
    """Content of a file of bounded size."""
    with folder.open(name) as file:
        content = file.read(_LARGEST_DOCUMENT + 1)
    if len(content) > _LARGEST_DOCUMENT:
        raise InvalidInput(f"{name} must have at most {_LARGEST_DOCUMENT:,} bytes, got more.")
    return content


def json_document(folder: Folder, names: Mapping[str, str], name: str) -> Mapping[str, Any]:
    """A JSON document of the folder; empty if it is invalid, which every check of it then reports."""
    if names.get(name) != FILE:
        return {}
    try:
        value = parsed(_content(folder, name).decode(), name)
    except (DeniableError, UnicodeDecodeError):
        return {}
    return value if isinstance(value, dict) else {}


def _not_public(record: Any) -> tuple[str, ...]:
    """Faults of the rendering: the shape permits two, one of which is for cleared staff only."""
    return () if record.get("rendering") == _PUBLIC else (f"rendering must be {_PUBLIC} in a release folder",)


def signature_check(envelope: Envelope, record: Any, trust: Trust, file: str = RECORD) -> Check:
    """Check that a trusted key signed a file, by default the record, while valid."""
    if trust.keys is None:
        return Check(SIGNED, (f"there are no trusted keys; {trust.found}",))
    signed = record.get("signed")
    time = signed.get("time") if isinstance(signed, dict) else None
    time = time if isinstance(time, str) else ""
    fault = trust.keys.judge(envelope.keyid, time)
    if fault is None and trust.latest is not None and time > trust.latest:
        fault = f"its stated time of signature, {time}, is in the future by this machine's clock"
    key = trust.keys.get(envelope.keyid)
    if key is not None:
        try:
            verify_signature(envelope, [key.public_key])
        except SignatureBroken as error:
            fault = str(error)
    if fault is not None:
        return Check(SIGNED, (f"{file}: {fault}; trusted keys {trust.found}",))
    return Check(SIGNED, (), f"{trust.keys.note(envelope.keyid, time)}; trusted keys {trust.found}")


def _records_in(record: Any) -> int:
    """The number of records that a release states; 0 if it states none."""
    release = record.get("release")
    records = release.get("records") if isinstance(release, dict) else None
    return min(records, _MOST_RECORDS) if isinstance(records, int) and records > 0 else 0


def files_check(folder: Folder, names: Mapping[str, str], subjects: Mapping[str, str], records: int) -> Check:
    """Check that every file of a folder matches its signed digest, and has a possible size."""
    faults = []
    most = _LARGEST_DOCUMENT + records * _LARGEST_RECORD
    for name in sorted(set(subjects) | set(names)):
        if name == RECORD:
            faults += [f"{name} must not be among its own subjects"] if name in subjects else []
        elif name not in names:
            faults.append(f"{name} is missing")
        elif names[name] != FILE:
            faults.append(f"{name} is a {names[name]}, but a release has only files")
        elif name not in subjects:
            faults.append(f"{name} is not among the files that were signed")
        elif (
            digest := _digest(folder, name, most if name in {CSV, PARQUET, RESPONSES} else _LARGEST_DOCUMENT)
        ) is None:
            faults.append(f"{name} is larger than it can be in a release of {records:,} records, and was not read")
        elif digest != subjects[name]:
            faults.append(f"{name} is not what was signed: it was altered")
    return Check(FILES, tuple(faults), f"{len(subjects)} files and the record")


def _digest(folder: Folder, name: str, most: int) -> str | None:
    """Digest of a file; None if it has more bytes than permitted."""
    hasher = hashlib.sha256()
    with folder.open(name) as file:
        if file.seek(0, SEEK_END) > most:
            return None
        file.seek(0)
        while block := file.read(_BYTES_A_READ):
            hasher.update(block)
    return hasher.hexdigest()


def _tables(
    folder: Folder, names: Mapping[str, str], described: Mapping[str, Any], records: int
) -> tuple[Check, Check]:
    """Check both forms of the table against the domain, and against each other."""
    if _agree(folder, names, described, records):
        note = f"{records:,} records"
        return Check(f"{CSV} {_TABLE}", (), note), Check(f"{PARQUET} {_TABLE}", (), note)
    return table_check(folder, names, CSV, described, records, check_csv), _parquet(folder, names, described, records)


def rules_check(folder: Folder, names: Mapping[str, str], described: Mapping[str, Any]) -> tuple[Check, ...]:
    """Check every record against the rules of the schema; no check if it has none."""
    stated = described.get("rules")
    if not stated:
        return ()

    def faults() -> Iterator[str]:
        domain = Domain.from_document(described)
        if names.get(CSV) != FILE:
            yield f"{CSV}: it is missing"
            return
        with folder.open(CSV) as file:
            for fault in check_rules(file, domain):
                yield f"{CSV}: {fault}"

    note = f"{len(stated):,} rules" if isinstance(stated, list) else ""
    return (Check(_KEPT, tuple(found(faults)), note),)


def _agree(folder: Folder, names: Mapping[str, str], described: Mapping[str, Any], records: int) -> bool:
    """Whether the table has no faults, by the fastest method; other functions report the faults."""
    reader = parquet_reader()
    if reader is None or names.get(CSV) != FILE or names.get(PARQUET) != FILE:
        return False
    agreed = False

    def compare() -> tuple[str, ...]:
        nonlocal agreed
        domain = Domain.from_document(described)
        with folder.open(PARQUET) as parquet, folder.open(CSV) as text:
            holds = check_parquet(parquet, domain, reader, records) == TableFindings(records)
            agreed = holds and is_text_of(text, parquet, domain, reader)
        return ()

    found(compare)
    return agreed


def table_check(
    folder: Folder,
    names: Mapping[str, str],
    name: str,
    described: Mapping[str, Any],
    records: int,
    check: Callable[[BinaryIO, Domain], TableFindings],
) -> Check:
    """Check one of the two forms of the table against the domain."""

    def faults() -> tuple[str, ...]:
        if names.get(name) != FILE:
            return ("it is missing",)
        domain = Domain.from_document(described)
        with folder.open(name) as file:
            findings = check(file, domain)
        if findings.faults or findings.records == records:
            return findings.faults
        return (f"it has {findings.records:,} records, but release.records is {records:,}",)

    return Check(f"{name} {_TABLE}", tuple(f"{name}: {fault}" for fault in found(faults)), f"{records:,} records")


def _parquet(folder: Folder, names: Mapping[str, str], described: Mapping[str, Any], records: int) -> Check:
    reader = parquet_reader()
    if reader is None:
        unread = "not checked beyond its digest: pyarrow, which reads it, is not installed"
        return Check(f"{PARQUET} {_TABLE}", (), unread, made=False)

    def check(file: BinaryIO, domain: Domain) -> TableFindings:
        findings = check_parquet(file, domain, reader, records)
        if findings.faults or findings.records != records or names.get(CSV) != FILE:
            return findings
        with folder.open(CSV) as text:
            if check_csv(text, domain).faults:
                return findings
        with folder.open(CSV) as text:
            number = first_difference(text, file, reader)
        if number is None:
            return findings
        return TableFindings(findings.records, (f"record {number} differs from that of {CSV}",))

    return table_check(folder, names, PARQUET, described, records, check)
