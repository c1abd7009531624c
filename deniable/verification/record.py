"""Verification of a release's record: its parts must agree with each other and with the documents in the folder.

The record's signature and form, and the digests of the files, do not belong here (deniable.verification.release).
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

from deniable.foundation.checks import Check, found
from deniable.foundation.domain import PERSONS, Domain
from deniable.ledger.entries import day_of, digest_of
from deniable.record.statement import differences
from deniable.record.trust import TrustedKeys
from deniable.samplers.registry import may_fall_short, must_count_seeds
from deniable.verification.approval import asks_somebody, check_approval
from deniable.verification.cost import check_composition, check_events, check_totals, step_costs
from deniable.verification.lineage import check_lineage
from deniable.verification.planned_events import check_planned
from deniable.verification.segment import check_chain, check_charges, check_exported, read_segment
from deniable.verification.sum import check_sum

Record: TypeAlias = Mapping[str, Any]
Exported: TypeAlias = Sequence[object] | None

_COSTS = "the record's costs follow from its events, its ledger and its spec"
_SEEDED = "the record states how many records start from a seed"


@dataclass(frozen=True, kw_only=True)
class Released:
    """A release's record, and the documents in its folder.

    Attributes:
        record: the predicate, in the shape of public records.
        subjects: SHA-256 of each file that was signed, by name.
        keyid: the key that signed.
        described: schema.json.
        stated: privacy.json.
    """

    record: Record
    subjects: Mapping[str, str]
    keyid: str
    described: Mapping[str, Any]
    stated: Mapping[str, Any]


def check_record(released: Released, exported: Exported = None, keys: TrustedKeys | None = None) -> tuple[Check, ...]:
    """Check all statements of a record.

    Args:
        released: the record and the documents in its folder.
        exported: the whole ledger, as plain values, if available.
        keys: the trusted keys, among them those of approvers.
    """
    record, stated = released.record, released.stated
    named = "the record's spec, schema and domain agree with each other and with the folder"
    checks = [
        Check(named, found(lambda: _faults_of_documents(released))),
        check_lineage(record, released.subjects),
        *_check_seeded(record),
        *([check_approval(record, keys, exported)] if asks_somebody(record) else []),
    ]
    steps, segment = cache(lambda: step_costs(record)), cache(lambda: read_segment(record["ledger"]))
    on_costs: tuple[Callable[[], tuple[Check, ...]], ...] = (
        lambda: (check_events(record),),
        lambda: (check_composition(record, steps()),),
        lambda: (check_planned(record, Domain.from_document(released.described), steps()),),
        lambda: (check_totals(record, steps()),),
        lambda: (Check("privacy.json states what follows from the record", tuple(_differences(stated, record))),),
        lambda: (check_chain(segment()),),
        lambda: (check_charges(record, steps(), segment()),),
        lambda: (check_exported(record, segment(), exported),),
        lambda: (check_sum(record, segment(), exported, stated),),
    )
    for check in on_costs:
        checks += _worked_out(check)
    return tuple(checks)


def _worked_out(check: Callable[[], tuple[Check, ...]]) -> tuple[Check, ...]:
    """The checks, or one that states why they cannot be made."""
    made: list[Check] = []

    def make() -> tuple[str, ...]:
        made.extend(check())
        return ()

    faults = found(make)
    return (Check(_COSTS, faults),) if faults else tuple(made)


def _differences(stated: Mapping[str, Any], record: Record) -> Iterator[str]:
    return (f"privacy.json: {difference}" for difference in differences(stated, record))


def _faults_of_documents(released: Released) -> Iterator[str]:
    """Faults where parts of the record contradict each other, or the domain in the folder."""
    record = released.record
    spec, schema, release = record["spec"]["document"], record["schema"], record["release"]
    if record["spec"]["digest"] != digest_of(spec):
        yield f"spec.digest is {record['spec']['digest']}, but must be {digest_of(spec)}"
    domain = Domain.from_document(released.described)
    named = None if spec["budget"] is None else spec["budget"]["dataset"]
    person = domain.person
    ending = "" if person is None else person.ending
    facts = [
        ("schema.code", schema["code"], hashlib.sha256(schema["source"].encode()).hexdigest()),
        ("schema.domain", schema["domain"], domain.digest),
        ("schema.dataset", schema["dataset"], spec["dataset"]),
        ("release.title", release["title"], spec["title"]),
        ("release.dataset", release["dataset"], named or spec["dataset"].removesuffix(".py") + ending),
        ("schema.person", schema.get("person"), None if person is None else person.document()),
        ("runs.mlflow_experiment", record["runs"]["mlflow_experiment"], release["dataset"]),
        ("release.published", release["published"], day_of(record["signed"]["time"])),
        ("signed.keyid", record["signed"]["keyid"], released.keyid),
    ]
    for name, said, right in facts:
        if said != right:
            yield f"{name} is {said}, but must be {right}"
    if not release["dataset"].endswith(ending) or (person is None and PERSONS in release["dataset"]):
        yield (
            f"release.dataset is {release['dataset']}, but a ledger adds guarantees of one kind: its name must end in "
            f"{PERSONS} and the identifier if and only if the privacy unit is a person"
        )
    target = spec["evaluation"]["target"]
    if target is not None and target != domain.target:
        yield f"the spec's target is {target}, but that of schema.json is {domain.target}"
    wanted, records = spec["synthesis"]["records"], release["records"]
    if records > wanted or (records < wanted and not may_fall_short(spec["synthesis"]["guarantee"])):
        yield f"release.records is {records}, but the spec requires {wanted}"


def _check_seeded(record: Record) -> tuple[Check, ...]:
    """Check that the number of records that start from a seed is stated if some may not, and only then."""
    must, seeded, records = must_count_seeds(record), record["release"].get("seeded"), record["release"]["records"]
    if not must and seeded is None:
        return ()
    if not must:
        return (
            Check(_SEEDED, (f"release.seeded is {seeded}, but with the spec's guarantee there is no such number",)),
        )
    if seeded is None or not 0 <= seeded <= records:
        fault = f"release.seeded is {seeded}, but must be how many of the {records:,} records start from a seed"
        return (Check(_SEEDED, (fault,)),)
    return (Check(_SEEDED, (), f"{seeded:,} of {records:,}; the other {records - seeded:,} are drawn from the model"),)
