"""Verification of the part of a ledger that a release's record shows: its own entries, the others sealed.

The entries are chained again from the one before the release's first charge to the head at publication, and every step
that spends is matched with its one charge. What the charges' events cost does not belong here (cost_verification), nor
does a whole ledger (ledger_verification).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf, nextafter
from typing import Any, get_args

from deniable.books import Books
from deniable.budget import cost_of
from deniable.checks import Check
from deniable.cost_verification import CHARGED_IN
from deniable.errors import DeniableError, InvalidInput
from deniable.ledger import (
    AnyEntry,
    Charge,
    Claim,
    Entry,
    Fact,
    Output,
    Policy,
    Publication,
    SealedEntry,
    SeedCost,
    digest_of,
    entry_of,
)
from deniable.ledger_verification import verify
from deniable.loss import Guarantee
from deniable.statement_figures import SO_FAR
from deniable.step_costs import StepCost

_COUNTED = "counted_against_the_budget"


@dataclass(frozen=True)
class Segment:
    """The entries that a record shows, as far as they can be read.

    Attributes:
        entries: the entries, shown or sealed.
        facts: what the shown ones say, by number.
        faults: what is wrong with them and with their chain.
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
        """What is said to be stored, with the numbers of the entries."""
        return [(number, fact) for number, fact in self.facts.items() if isinstance(fact, Output)]


def read_segment(ledger: Mapping[str, Any]) -> Segment:
    """Read the entries of a record, and chain them again.

    Args:
        ledger: the record's ledger, of the shape that records have.
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
        faults.append(f"entry {head['number']} must be the last, with the digest {head['digest']}, and {last} is")
    return Segment(tuple(entries), facts, tuple(faults))


def check_chain(segment: Segment) -> Check:
    """Whether no entry between the release's first charge and its publication was altered, removed or put elsewhere."""
    sealed = sum(isinstance(entry, SealedEntry) for entry in segment.entries)
    note = f"{len(segment.entries)} entries, {sealed} of them sealed"
    return Check("the ledger's entries follow from each other, from the first charge to the head", segment.faults, note)


def check_charges(record: Mapping[str, Any], steps: Sequence[StepCost], segment: Segment) -> Check:
    """Whether every step that spends was charged, once and as it is stated, and its output stored.

    Args:
        record: the record's predicate.
        steps: what its steps cost.
        segment: the entries that it shows.
    """
    return Check(
        "every step that spends was charged once, as it is stated, and stored what it drew",
        tuple(_faults_of_charges(record, steps, segment)),
        _made_for_another(record, segment),
    )


def check_exported(
    record: Mapping[str, Any], segment: Segment, exported: Sequence[object] | None, stated: Mapping[str, Any]
) -> tuple[Check, ...]:
    """Whether the entries stand in the whole ledger, and the statement's sum for the dataset follows from it.

    Args:
        record: the record's predicate.
        segment: the entries that it shows.
        exported: the whole ledger, as plain values; None where it is not at hand.
        stated: privacy.json.
    """
    in_ledger, sum_of_dataset = "the entries stand in the exported ledger, which holds", "the dataset's sum so far"
    if exported is None:
        unknown = "not checked: no ledger was given"
        return (
            Check(in_ledger, (), unknown, made=False),
            Check(
                f"{sum_of_dataset} includes this release",
                tuple(_faults_of_least_sum(segment, stated)),
                "no more can be said of it without the ledger",
            ),
        )
    return (
        Check(in_ledger, tuple(_faults_in_ledger(record, segment, exported))),
        Check(
            f"{sum_of_dataset} follows from the exported ledger",
            tuple(_faults_of_sum(record, segment, exported, stated)),
        ),
    )


def _placeholder(place: Mapping[str, Any]) -> SealedEntry:
    """An entry of which only number and digest are known."""
    return SealedEntry(number=place["number"], time="", kind="", sealed="", previous="", digest=place["digest"])


def _made_for_another(record: Mapping[str, Any], segment: Segment) -> str:
    others = sorted({charge.release for _, charge in segment.charges} - {record["release"]["id"]})
    return f"under the same key as release {', '.join(others)}, which was charged for it" if others else ""


def _faults_of_charges(record: Mapping[str, Any], steps: Sequence[StepCost], segment: Segment) -> Iterator[str]:
    charged, expected = [charge.step for _, charge in segment.charges], [step.step for step in steps]
    for name in dict.fromkeys(expected):
        if charged.count(name) != 1:
            yield f"step {name} was charged {charged.count(name)} times, and must be charged once"
    if sorted(charged) == sorted(expected) and charged != expected:
        yield f"the steps were charged in the order {', '.join(charged)}, and taken in the order {', '.join(expected)}"
    by_name = {step.step: step for step in steps}
    for number, charge in segment.charges:
        yield from (f"entry {number}: {fault}" for fault in _faults_of_charge(record, by_name.get(charge.step), charge))
    if len({charge.split for _, charge in segment.charges}) > 1:
        yield "the charges are to parts of different splits, and must be to one"
    yield from _faults_of_outputs(record, segment)
    yield from _faults_of_others(record, segment)


def _faults_of_charge(record: Mapping[str, Any], step: StepCost | None, charge: Charge) -> Iterator[str]:
    if step is None:
        yield f"it charges the step {charge.step}, which spends nothing by the record"
        return
    reader = CHARGED_IN.get(step.step, step.step)
    stated = next((each for each in record["steps"] if each["step"] == reader), None)
    for name, found, right in _facts_of(record, charge, step, stated):
        if found != right:
            yield f"the {name} of step {charge.step} is another than by the record"


def _faults_of_others(record: Mapping[str, Any], segment: Segment) -> Iterator[str]:
    """Where an entry is shown that concerns neither the release nor its dataset."""
    release = record["release"]
    for number, fact in segment.facts.items():
        if isinstance(fact, Policy) and fact.dataset != release["dataset"]:
            yield f"entry {number} is of the dataset {fact.dataset}, and must be sealed"
        if isinstance(fact, Publication) and fact.release != release["id"]:
            yield f"entry {number} is of the release {fact.release}, and must be sealed"


def _facts_of(
    record: Mapping[str, Any], charge: Charge, step: StepCost, stated: Mapping[str, Any] | None
) -> Iterator[tuple[str, object, object]]:
    """What a charge says, and what it must say by the record."""
    yield "dataset", charge.dataset, record["release"]["dataset"]
    yield "key", charge.commitment, record["input"]["key"]
    yield "part", charge.part, step.part
    yield "probability", charge.probability, step.probability
    yield "claim", charge.claim, Claim.of(step.charged)
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
            yield f"entry {number}: what step {charge.step} drew is said to be stored {len(stored)} times, not once"
    identities = {charge.identity for _, charge in segment.charges}
    for number, output in outputs:
        if output.identity not in identities:
            yield f"entry {number} says that something is stored which was not charged here"
        elif output.output not in made:
            yield f"entry {number}: what is said to be stored is not what any step of the record made"


def _faults_in_ledger(record: Mapping[str, Any], segment: Segment, exported: Sequence[object]) -> Iterator[str]:
    report = verify(exported)
    for check in report.checks:
        yield from (f"the ledger does not hold: {check.name}: {fault}" for fault in check.faults)
    whole = _readable(exported)
    before = record["ledger"]["before"]
    places = [_placeholder(before)] if before is not None else []
    for entry in (*places, *segment.entries):
        held = whole.get(entry.number)
        if held is None:
            yield f"entry {entry.number} is not in the exported ledger"
        elif held.digest != entry.digest:
            yield f"entry {entry.number} is another in the exported ledger"
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
        yield f"release.previous is {release['previous']}, and the ledger knows {', '.join(earlier) or 'of none'}"
    for number, fact in facts.items():
        own = isinstance(fact, Charge) and (
            fact.commitment == record["input"]["key"]
            or (fact.release, fact.dataset) == (release["id"], release["dataset"])
        )
        if own and number not in shown:
            yield f"entry {number} of the exported ledger charges this release, and the record does not show it"


def _faults_of_least_sum(segment: Segment, stated: Mapping[str, Any]) -> Iterator[str]:
    """Where the stated sum is less than what this release alone was charged, or is not that, if it is the only one."""
    said = stated.get(SO_FAR)
    if said is None:
        return
    own = [charge for _, charge in segment.charges]
    alone = len({charge.release for charge in own})
    counted: Any = said.get(_COUNTED) if isinstance(said, dict) else None
    seed_cost = counted.get("seed_cost") if isinstance(counted, dict) else None
    if seed_cost not in get_args(SeedCost):
        yield f"privacy.json: {SO_FAR}.{_COUNTED}.seed_cost must be {' or '.join(get_args(SeedCost))}"
        return
    least = _sum_of(own, seed_cost)
    if said.get("releases") == alone:
        yield from _unequal_sums(said, least)
        return
    for place, right in (("", least), (f"{_COUNTED}.", least[_COUNTED])):
        stands = said if right is least else counted
        for name in ("releases", "epsilon", "delta"):
            if name in right and not (_is_number(stands.get(name)) and stands[name] >= right[name]):
                yield f"privacy.json: {SO_FAR}.{place}{name} must be at least {right[name]}, of this release alone"


def _faults_of_sum(
    record: Mapping[str, Any], segment: Segment, exported: Sequence[object], stated: Mapping[str, Any]
) -> Iterator[str]:
    """Where the stated sum is not that of the ledger at any moment between the last charge and the publication."""
    said, dataset = stated.get(SO_FAR), record["release"]["dataset"]
    last = max((number for number, _ in segment.charges), default=0)
    books, found = Books(), []
    for entry in _readable(exported).values():
        if not isinstance(entry, Entry) or entry.number > record["ledger"]["head"]["number"]:
            break
        try:
            books.enter(entry)
        except DeniableError as error:
            yield f"the ledger cannot be added up: {error}"
            return
        if entry.number < last or dataset not in books.policies:
            continue
        charges = [charged.charge for charged in books.charges(dataset)]
        if (right := _sum_of(charges, books.policy(dataset).seed_cost)) not in found:
            found.append(right)
    if said not in found:
        yield from _unequal_sums(said, found[0]) if found else (f"privacy.json: {SO_FAR} does not follow",)


def _sum_of(charges: Sequence[Charge], seed_cost: Any) -> dict[str, Any]:
    """What charges to a dataset come to, as the statement has it."""
    whole, counted = cost_of(charges, "total"), cost_of(charges, seed_cost)
    spent = Guarantee(nextafter(float(whole.epsilon), inf), min(nextafter(float(whole.delta), inf), 1.0), "basic")
    return {
        "epsilon": spent.epsilon,
        "delta": spent.delta,
        "vacuous": spent.is_vacuous,
        "accountant": spent.accountant,
        "releases": len({charge.release for charge in charges}),
        _COUNTED: {
            "seed_cost": seed_cost,
            "epsilon": nextafter(float(counted.epsilon), inf),
            "delta": nextafter(float(counted.delta), inf),
        },
    }


def _unequal_sums(said: object, right: Mapping[str, Any], place: str = SO_FAR) -> Iterator[str]:
    if not isinstance(said, dict) or said.keys() != right.keys():
        yield f"privacy.json: {place} must have {', '.join(right)} and nothing else"
        return
    for name, value in right.items():
        if isinstance(value, dict):
            yield from _unequal_sums(said[name], value, f"{place}.{name}")
        elif type(said[name]) is not type(value) or said[name] != value:
            yield f"privacy.json: {place}.{name} is {said[name]}, and the ledger makes it {value}"


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _readable(exported: Sequence[object]) -> dict[int, AnyEntry]:
    """Entries by number, as far as they can be read."""
    entries: dict[int, AnyEntry] = {}
    for record in exported:
        try:
            entry = entry_of(record)
        except InvalidInput:
            continue
        entries.setdefault(entry.number, entry)
    return entries


def _facts(entries: Any) -> dict[int, Fact]:
    facts: dict[int, Fact] = {}
    for entry in entries:
        try:
            if isinstance(entry, Entry):
                facts[entry.number] = entry.fact()
        except InvalidInput:
            continue
    return facts
