"""Independent verification of a discovery, from its folder alone, and of its place in an exported ledger.

Events and cost are derived again from the plan, thresholds in integers; the charge is read from the ledger entry in
the record. That only the answers depend on the records follows from their form: integers and values.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from deniable.discovery.answers import Answers, RangeAnswer
from deniable.discovery.plan import STEP, DiscoveryPlan, unit_in_words
from deniable.foundation.checks import Check, found
from deniable.foundation.errors import DeniableError, InvalidInput
from deniable.foundation.strict_json import parsed
from deniable.ledger.drawing_versions import VERSIONS
from deniable.ledger.entries import ALL_ROWS, Charge, Entry, Output, digest_of
from deniable.ledger.verification import fault_of_claim
from deniable.privacy.rounding import rounded_up
from deniable.verification.release import (
    FORM,
    Folder,
    ReleaseReport,
    Trust,
    content_of,
    files_check,
    record_of,
    signature_check,
    unread_report,
)
from deniable.verification.segment import entries_by_number, faults_of_exported

KIND = "discovery"
DOCUMENT = "discovery.json"
"""The file of a discovery, besides its record."""

_MEMBERS = {"code", "discovery", "entry", "rendering", "signed"}
_RUNS, _PEOPLE = {"mlflow_run", "prefect_flow_run"}, {"started_by"}
"""Fields of records about runs and people; the first records had neither."""
_NAMED = {"id", "dataset", "unit"}
_IN_LEDGER = "the exported ledger has the charge, and the digest of what was released"


def discovery_lines(record: Mapping[str, Any]) -> Iterator[str]:
    """The record of a discovery as lines of text."""
    named, entry = record["discovery"], record["entry"]
    claim = entry["content"]["claim"]
    yield f"discovery   {named['id']}"
    yield f"dataset     {named['dataset']}; the privacy unit is {named['unit']}"
    yield f"charged     epsilon {claim['epsilon']}, delta {claim['delta']}, by entry {entry['number']} of the ledger"
    for event in entry["content"]["events"]:
        yield f"  {event['query']}: {event['mechanism']}, scale {event['scale']}"
    if "people" in record:
        yield f"started by  {record['people']['started_by']}"
    yield f"signed      {record['signed']['time']}"


def answers_in(text: str) -> Answers:
    """Read the answers of a discovery.

    Raises:
        InvalidInput: the text is not a document of answers.
    """
    document = parsed(text, DOCUMENT)
    if not isinstance(document, dict):
        raise InvalidInput(f"{DOCUMENT} must have named values, got something else.")
    return Answers.from_document(document)


def verify_discovery(folder: Folder, trust: Trust, ledger: Sequence[object] | None = None) -> ReleaseReport:
    """Check the folder of a discovery against its own signed record, and against the ledger.

    Args:
        folder: the folder.
        trust: the keys whose signatures are accepted.
        ledger: the whole ledger, as plain values, if it was exported.

    Returns:
        The report. The only errors raised are those of opening the folder.
    """
    names = folder.members()
    try:
        envelope, statement = record_of(folder, names, KIND)
    except DeniableError as error:
        return unread_report(error)
    record: Any = statement.predicate
    misshapen = found(lambda: faults_of_form(record))
    checks = [
        signature_check(envelope, record, trust),
        files_check(folder, names, statement.subjects, 0),
        Check(FORM, misshapen),
    ]
    if misshapen:
        return ReleaseReport("", tuple(checks))

    of_answers = found(lambda: _faults(record, answers_in(content_of(folder, names, DOCUMENT))))
    checks.append(Check("answers, events and charge follow from what was requested", of_answers))
    if ledger is None:
        checks.append(Check(_IN_LEDGER, (), "not checked: no ledger was given", made=False))
    else:
        checks.append(Check(_IN_LEDGER, found(lambda: _faults_of_ledger(record, statement.subjects, ledger))))
    return ReleaseReport(record["discovery"]["id"], tuple(checks))


def faults_of_form(record: Any) -> Iterator[str]:
    """Faults in the form of a record, a phrase each."""
    if set(record) not in (_MEMBERS, _MEMBERS | {"people", "runs"}):
        yield f"it must have {', '.join(sorted(_MEMBERS | {'people', 'runs'}))} and nothing else"
        return
    for member, names in (("people", _PEOPLE), ("runs", _RUNS)):
        held = record.get(member, dict.fromkeys(names, ""))
        if set(held) != names or not all(isinstance(text, str) for text in held.values()):
            yield f"{member} must have {', '.join(sorted(names))}, all of them text"
    if record["rendering"] != "public":
        yield "rendering must be public"
    named = record["discovery"]
    if set(named) != _NAMED or not all(isinstance(text, str) and text for text in named.values()):
        yield f"discovery must have {', '.join(sorted(_NAMED))}, all of them text"
    entry = Entry.from_record(record["entry"])
    if (fault := entry.fault()) is not None:
        yield f"the entry of the ledger: {fault}"
    elif not isinstance(entry.fact(), Charge):
        yield "the entry of the ledger must be a charge"


def _faults(record: Mapping[str, Any], answers: Answers) -> Iterator[str]:
    """Faults where something does not follow from the request."""
    charge = Entry.from_record(record["entry"]).fact()
    if isinstance(charge, Charge):
        yield from _faults_of_charge(charge, record["discovery"], answers.plan)
    for answer in answers.answers:
        if isinstance(answer, RangeAnswer):
            answers.range_of(answer)


def _faults_of_charge(charge: Charge, named: Mapping[str, str], plan: DiscoveryPlan) -> Iterator[str]:
    """Faults where the charge is not the plan's."""
    if (charge.dataset, charge.release) != (named["dataset"], named["id"]):
        yield "the charge must be of this dataset and this discovery, got another"
    known = [f"{STEP}/{version}" for version in range(1, VERSIONS[STEP] + 1)]
    if charge.step != STEP or charge.mechanism not in known or charge.part != ALL_ROWS:
        yield f"the charge must be of the step {STEP}, drawn by {' or '.join(known)} from all rows, got another"
    if charge.parameters.get("plan") != digest_of(plan.document()):
        yield "the plan must be the one that was charged, got another"
    if named["unit"] != unit_in_words(str(charge.parameters.get("person", ""))):
        yield "the privacy unit must be the one that was charged, got another"
    if charge.events != plan.events:
        yield "the events of the charge must be those of the plan, got others"
    if charge.claim.cost.epsilon > plan.epsilon or charge.claim.cost.delta > plan.delta:
        yield (
            f"the charge must be at most epsilon {rounded_up(plan.epsilon)} and delta {rounded_up(plan.delta)}, which "
            "were requested, got more"
        )
    if (fault := fault_of_claim(charge.events, charge.claim.cost)) is not None:
        yield fault


def _faults_of_ledger(
    record: Mapping[str, Any], subjects: Mapping[str, str], ledger: Sequence[object]
) -> Iterator[str]:
    """Faults where an exported ledger contradicts the record."""
    yield from faults_of_exported(ledger)
    stated, entries = Entry.from_record(record["entry"]), entries_by_number(ledger)
    held = entries.get(stated.number)
    if held is None or held.digest != stated.digest:
        yield f"entry {stated.number} of the ledger must be the charge, got another, or none"
        return
    charge, facts = stated.fact(), [entry.fact() for entry in entries.values() if isinstance(entry, Entry)]
    identity = charge.identity if isinstance(charge, Charge) else ""
    outputs = [fact.output for fact in facts if isinstance(fact, Output) and fact.identity == identity]
    if outputs != [subjects.get(DOCUMENT)]:
        yield f"the ledger must have the digest of {DOCUMENT} as the output of the charge, got another, or none"
