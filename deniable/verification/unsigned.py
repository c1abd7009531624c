"""Verification of a folder that the library saved: everything but its origin, for which there is no evidence.

`release.json` has the form of a record's predicate as far as something is known, and the digests of the other files. It
is not signed: anyone who changes a file can change the digests too, but cannot make the table leave its domain, or the
costs differ from the events, without being found.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from deniable.foundation.checks import Check, found
from deniable.foundation.domain import Domain
from deniable.foundation.errors import DeniableError, InvalidInput
from deniable.foundation.strict_json import parsed
from deniable.ledger.entries import digest_of
from deniable.record.released_table import check_csv
from deniable.record.statement import differences_without_ledger
from deniable.verification.cost import check_composition, check_totals, step_costs
from deniable.verification.planned_events import check_planned
from deniable.verification.release import (
    CSV,
    DOMAIN,
    STATEMENT,
    Folder,
    ReleaseReport,
    content_of,
    document_checks,
    files_check,
    json_document,
    rules_check,
    table_check,
)

UNSIGNED: Final = "release.json"
"""The description of a release that the library made; releases of the flow have a signed record instead."""
FORMAT: Final = "deniable unsigned release 1"
_ORIGIN = "who made the release is known"
_FORM = "release.json describes a release"
_COSTS = "the stated costs follow from the events"


def verify_unsigned(folder: Folder) -> ReleaseReport:
    """Check a folder that the library saved.

    Args:
        folder: the folder.

    Returns:
        The report. The only errors raised are those of opening the folder.
    """
    names = folder.members()
    try:
        record = described_unsigned(content_of(folder, names, UNSIGNED))
    except (DeniableError, UnicodeDecodeError) as error:
        return ReleaseReport("", (Check(_FORM, (f"{UNSIGNED}: {error}",)),))
    origin = Check(_ORIGIN, (), "nothing is signed: nothing shows who made it, or that it is unaltered", made=False)
    schema, stated = json_document(folder, names, DOMAIN), json_document(folder, names, STATEMENT)
    others = {name: kind for name, kind in names.items() if name != UNSIGNED}
    made: list[Check] = [origin]
    checks: tuple[Callable[[], tuple[Check, ...]], ...] = (
        lambda: (_files(files_check(folder, others, record["files"], record["release"]["records"])),),
        lambda: (Check("spec, domain and number of records agree", tuple(_faults(record, schema))),),
        lambda: (table_check(folder, names, CSV, schema, record["release"]["records"], check_csv),),
        lambda: rules_check(folder, names, schema),
        lambda: (check_composition(record, step_costs(record)),),
        lambda: (check_planned(record, Domain.from_document(schema), step_costs(record)),),
        lambda: (check_totals(record, step_costs(record)),),
        lambda: (Check("privacy.json states what follows", tuple(differences_without_ledger(stated, record))),),
        lambda: document_checks(folder, names, schema, record),
    )
    for check in checks:
        own: list[Check] = []
        faults = found(lambda check=check, own=own: own.extend(check()) or ())  # type: ignore[misc]
        made += [Check(_COSTS, faults)] if faults else own
    return ReleaseReport(str(record["release"]["id"]), tuple(made))


def _files(check: Check) -> Check:
    """The check of the files, in words for a folder that nobody signed."""
    faults = tuple(fault.replace("signed", "saved") for fault in check.faults)
    return Check("every file is as release.json describes it, and none is missing or added", faults)


def described_unsigned(text: str) -> Mapping[str, Any]:
    """Read `release.json`.

    Args:
        text: its content.

    Raises:
        InvalidInput: it does not describe a release.
    """
    record = parsed(text, UNSIGNED)
    parts = ("release", "schema", "spec", "cost", "files")
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise InvalidInput(
            f"{UNSIGNED} must be of the format '{FORMAT}', and is not; open it with the version that wrote it."
        )
    if not all(isinstance(record.get(part), dict) for part in parts):
        raise InvalidInput(f"{UNSIGNED} must have {', '.join(parts)}, and lacks one; save the release again.")
    records = record["release"].get("records")
    if type(records) is not int or records < 1 or record["schema"].get("person") is not None:
        raise InvalidInput(f"{UNSIGNED} must state the number of records, and no people; save the release again.")
    return record


def _faults(record: Mapping[str, Any], schema: Mapping[str, Any]) -> Iterator[str]:
    """Faults where the description contradicts itself or the schema."""
    document = record["spec"]["document"]
    facts = [
        ("spec.digest", record["spec"]["digest"], digest_of(document)),
        ("schema.domain", record["schema"]["domain"], Domain.from_document(schema).digest),
        ("release.records", record["release"]["records"], document["synthesis"]["records"]),
    ]
    yield from (f"{name} is {said}, but must be {right}" for name, said, right in facts if said != right)
