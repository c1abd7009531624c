"""Verification of the part of a ledger in a release's record: its own entries shown, others sealed.

The chain of entries is recomputed from the one before the release's first charge to the head at publication, and every
step that spends is matched with its charge. The cost of the charges' events (cost), the sum of all charges to the
dataset (sum) and whole ledgers (deniable.ledger.verification) do not belong here.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from deniable.foundation.checks import Check
from deniable.foundation.errors import InvalidInput
from deniable.ledger.drawing_versions import mechanism_fault
from deniable.ledger.entries import (
    AnyEntry,
    Charge,
    Claim,
    Entry,
    Fact,
    Output,
    Policy,
    Publication,
    SealedEntry,
    day_of,
    digest_of,
    entry_of,
)
from deniable.ledger.verification import verify
from deniable.privacy.step_costs import StepCost
from deniable.verification.planned_events import planned_steps, taken_in


@dataclass(frozen=True)
class Segment:
    """The entries in a record, as far as they can be read.

    Attributes:
        entries: the entries, shown or sealed.
        facts: the facts of the shown ones, by number.
        faults: faults of the entries and of their chain.
    """

    entries: tuple[AnyEntry, ...]
    facts: Mapping[int, Fact]
    faults: tuple[str, ...]

    @property
    def charges(self) -> list[tuple[int, Charge]]:
        """The shown charges, with their numbers."""
        return [(number, fact) for number, fact in self.facts.items() if isinstance(fact, Charge)]

    @property
    def outputs(self) -> list[tuple[int, Output]]:
        """The outputs stated as stored, with the numbers of their entries."""
        return [(number, fact) for number, fact in self.facts.items() if isinstance(fact, Output)]


def read_segment(ledger: Mapping[str, Any]) -> Segment:
    """Read the entries of a record, and recompute their chain.

    Args:
        ledger: the record's ledger, in the shape of records.
    """
    entries: list[AnyEntry] = []
    facts: dict[int, Fact] = {}
    faults: list[str] = []
    before = ledger["before"]
    predecessor: AnyEntry | None = None if before is None else _placeholder(before)
    for record in ledger["entries"]:
        number = (0 if before is None else before["number"] + 1) + len(entries)
        try:
            entry = entry_of(record)
            if (fault := entry.fault_after(predecessor)) is not None:
                faults.append(f"entry {number}: {fault}")
            if isinstance(entry, Entry):
                facts[entry.number] = entry.fact()
        except InvalidInput as error:
            faults.append(f"entry {number}: {error}")
            break
        predecessor = entry
        entries.append(entry)
    head = ledger["head"]
    if predecessor is None or (predecessor.number, predecessor.digest) != (head["number"], head["digest"]):
        last = "no entry" if predecessor is None else f"entry {predecessor.number}"
        faults.append(f"entry {head['number']} must be the last, with the digest {head['digest']}, but {last} is")
    return Segment(tuple(entries), facts, tuple(faults))


def entries_by_number(exported: Sequence[object]) -> dict[int, AnyEntry]:
    """The entries of an exported ledger, as far as they can be read; the first of each number."""
    entries: dict[int, AnyEntry] = {}
    for record in exported:
        try:
            entry = entry_of(record)
        except InvalidInput:
            continue
        entries.setdefault(entry.number, entry)
    return entries


def faults_of_exported(exported: Sequence[object]) -> Iterator[str]:
    """Faults of an exported ledger itself."""
    for check in verify(exported).checks:
        yield from (f"the ledger is not valid: {check.name}: {fault}" for fault in check.faults)


def check_chain(segment: Segment) -> Check:
    """Check that no entry between the release's first charge and its publication was altered, removed or moved."""
    sealed = sum(isinstance(entry, SealedEntry) for entry in segment.entries)
    note = f"{len(segment.entries)} entries, {sealed} of them sealed"
    return Check("the ledger's entries form a chain from the first charge to the head", segment.faults, note)


def check_charges(record: Mapping[str, Any], steps: Sequence[StepCost], segment: Segment) -> Check:
    """Check that every step that spends was charged once, as stated, and that its output was stored.

    Args:
        record: the record's predicate.
        steps: the costs of its steps.
        segment: the entries in the record.
    """
    return Check(
        "every step that spends was charged once, as stated, and stored its draw",
        tuple(_faults_of_charges(record, steps, segment)),
        "; ".join(filter(None, (_drawn_by(segment), _made_for_another(record, segment)))),
    )


def check_exported(record: Mapping[str, Any], segment: Segment, exported: Sequence[object] | None) -> Check:
    """Check that the entries are in the whole ledger, and include all of its charges for the release.

    Args:
        record: the record's predicate.
        segment: the entries in the record.
        exported: the whole ledger, as plain values; None if it is not available.
    """
    name = "the entries are in the exported ledger, which is valid"
    if exported is None:
        return Check(name, (), "not checked: no ledger was given", made=False)
    return Check(name, tuple(_faults_in_ledger(record, segment, exported)))


def _placeholder(place: Mapping[str, Any]) -> SealedEntry:
    """An entry of which only number and digest are known."""
    return SealedEntry(number=place["number"], time="", kind="", sealed="", previous="", digest=place["digest"])


def _drawn_by(segment: Segment) -> str:
    """The versions of the drawing code that the charges name."""
    drawn = ", ".join(dict.fromkeys(charge.mechanism for _, charge in segment.charges))
    return f"drawn by {drawn}" if drawn else ""


def _made_for_another(record: Mapping[str, Any], segment: Segment) -> str:
    others = sorted({charge.release for _, charge in segment.charges} - {record["release"]["id"]})
    return f"under the same key as release {', '.join(others)}, which was charged for it" if others else ""


def _faults_of_charges(record: Mapping[str, Any], steps: Sequence[StepCost], segment: Segment) -> Iterator[str]:
    charged, expected = [charge.step for _, charge in segment.charges], [step.step for step in steps]
    for name in dict.fromkeys(expected):
        if charged.count(name) != 1:
            yield f"step {name} was charged {charged.count(name)} times, but must be charged once"
    if sorted(charged) == sorted(expected) and charged != expected:
        yield f"the steps were charged in the order {', '.join(charged)}, but run in the order {', '.join(expected)}"
    by_name = {step.step: step for step in steps}
    charges = {charge.step: charge for _, charge in segment.charges}
    for number, charge in segment.charges:
        step = by_name.get(charge.step)
        yield from (f"entry {number}: {fault}" for fault in _faults_of_charge(record, step, charge))
        if step is not None:
            yield from (f"entry {number}: {fault}" for fault in _faults_of_joint(step, charge, charges))
    if len({charge.split for _, charge in segment.charges}) > 1:
        yield "the charges are to parts of different splits, but must be to those of one"
    yield from _faults_of_outputs(record, segment)
    yield from _faults_of_others(record, segment)
    yield from _faults_of_begun(record, segment)


def _faults_of_begun(record: Mapping[str, Any], segment: Segment) -> Iterator[str]:
    """Faults where the release did not begin on the day of its first charge, which must be the first entry.

    A release without cost has no charge, and begins on the day of its publication.
    """
    release = record["release"]
    if not record["cost"]["steps"]:
        if release["begun"] != release["published"]:
            yield f"release.begun is {release['begun']}, but without a charge it must be {release['published']}"
        return
    first = segment.entries[0] if segment.entries else None
    if first is None or not isinstance(segment.facts.get(first.number), Charge):
        yield "the first entry shown is not the first charge of the release"
    # A ledger once written under a fast clock may be ahead of the day of publication.
    elif release["begun"] != (day := min(day_of(first.time), release["published"])):
        yield f"release.begun is {release['begun']}, but its first charge, entry {first.number}, is of {day}"


def _faults_of_charge(record: Mapping[str, Any], step: StepCost | None, charge: Charge) -> Iterator[str]:
    if step is None:
        yield f"it charges the step {charge.step}, which by the record spends nothing"
        return
    spec = record["spec"]["document"]
    fault = mechanism_fault(charge, spec["learner"]["kind"], spec["synthesis"])
    if fault is not None:
        yield fault
    reader = taken_in(planned_steps(record["spec"]["document"]), step.step)
    stated = next((each for each in record["steps"] if each["step"] == reader), None)
    for name, found, right in _facts_of(record, charge, step, stated):
        if found != right:
            yield f"the {name} of step {charge.step} differs from the record"


def _faults_of_joint(step: StepCost, charge: Charge, charges: Mapping[str, Charge]) -> Iterator[str]:
    """Faults where a charge's cost together with earlier ones is not that of the record, with the same steps."""
    stated = None if step.joint is None else Claim.of(step.joint.guarantee)
    if (None if charge.joint is None else charge.joint.claim) != stated:
        yield f"the cost of step {charge.step} together with earlier steps differs from the record"
    elif charge.joint is not None and step.joint is not None:
        others = [charges[name].identity for name in step.joint.steps if name in charges]
        if list(charge.joint.others) != others:
            yield f"step {charge.step} is charged together with other draws than {', '.join(step.joint.steps)}"


def _faults_of_others(record: Mapping[str, Any], segment: Segment) -> Iterator[str]:
    """Faults where an entry is shown that concerns neither the release nor its dataset."""
    release = record["release"]
    for number, fact in segment.facts.items():
        if isinstance(fact, Policy) and fact.dataset != release["dataset"]:
            yield f"entry {number} is of the dataset {fact.dataset}, but must be sealed"
        if isinstance(fact, Publication) and fact.release != release["id"]:
            yield f"entry {number} is of the release {fact.release}, but must be sealed"


def _facts_of(
    record: Mapping[str, Any], charge: Charge, step: StepCost, stated: Mapping[str, Any] | None
) -> Iterator[tuple[str, object, object]]:
    """The fields of a charge, each with its value according to the record."""
    yield "dataset", charge.dataset, record["release"]["dataset"]
    yield "key", charge.commitment, record["input"]["key"]
    yield "part", charge.part, step.part
    yield "probability", charge.probability, step.probability
    yield "claim", charge.claim, Claim.of(step.charged)
    yield "most records of one person", charge.most_records, step.most_records
    yield "cost of one record", charge.per_record, Claim.of(step.record) if step.record is not None else None
    yield "list of events", charge.events, step.events
    events = digest_of([event.to_record() for event in step.events])
    yield "digest of the events", charge.parameters.get("events"), events
    yield "domain", charge.parameters.get("domain"), record["schema"]["domain"]
    read = " ".join(thing["digest"] for thing in stated["inputs"]) if stated is not None else None
    yield "digest of the inputs", charge.inputs, read


def _faults_of_outputs(record: Mapping[str, Any], segment: Segment) -> Iterator[str]:
    made = {thing["digest"] for step in record["steps"] for thing in step["outputs"]}
    outputs = segment.outputs
    for number, charge in segment.charges:
        stored = [output for at, output in outputs if output.identity == charge.identity and at > number]
        if len(stored) != 1:
            yield f"entry {number}: the draw of step {charge.step} is stated to be stored {len(stored)} times, not once"
    identities = {charge.identity for _, charge in segment.charges}
    for number, output in outputs:
        if output.identity not in identities:
            yield f"entry {number} states that something is stored that was not charged here"
        elif output.output not in made:
            yield f"entry {number}: no step of the record made what is stated to be stored"


def _faults_in_ledger(record: Mapping[str, Any], segment: Segment, exported: Sequence[object]) -> Iterator[str]:
    yield from faults_of_exported(exported)
    whole = entries_by_number(exported)
    before = record["ledger"]["before"]
    places = [_placeholder(before)] if before is not None else []
    for entry in (*places, *segment.entries):
        held = whole.get(entry.number)
        if held is None:
            yield f"entry {entry.number} is not in the exported ledger"
        elif held.digest != entry.digest:
            yield f"entry {entry.number} differs from that in the exported ledger"
    shown, release = set(segment.facts), record["release"]
    facts = _facts(whole.values())
    earlier = [
        fact.release
        for number, fact in sorted(facts.items())
        if isinstance(fact, Publication)
        and fact.dataset == release["dataset"]
        and fact.release != release["id"]
        and number <= record["ledger"]["head"]["number"]
    ]
    if release["previous"] != (earlier[-1] if earlier else None):
        yield f"release.previous is {release['previous']}, but the ledger has {', '.join(earlier) or 'none'}"
    for number, fact in facts.items():
        own = isinstance(fact, Charge) and (
            fact.commitment == record["input"]["key"]
            or (fact.release, fact.dataset) == (release["id"], release["dataset"])
        )
        if own and number not in shown:
            yield f"entry {number} of the exported ledger charges this release, but the record does not show it"


def _facts(entries: Any) -> dict[int, Fact]:
    facts: dict[int, Fact] = {}
    for entry in entries:
        try:
            if isinstance(entry, Entry):
                facts[entry.number] = entry.fact()
        except InvalidInput:
            continue
    return facts
