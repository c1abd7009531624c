"""Verification of the statement's total cost of all releases of the dataset.

With the whole ledger the sum is recomputed; without it, the sum must at least include the release itself. The entries
do not belong here (deniable.verification.segment).
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, get_args

from deniable.discovery.plan import STEP as DISCOVER
from deniable.foundation.checks import Check
from deniable.foundation.errors import DeniableError
from deniable.ledger.budget import cost_of
from deniable.ledger.entries import Charge, Entry, SeedCost
from deniable.ledger.state import LedgerState
from deniable.privacy.loss import Guarantee
from deniable.privacy.rounding import float_above
from deniable.record.statement import SO_FAR
from deniable.verification.segment import Segment, entries_by_number

_COUNTED = "counted_against_the_budget"


def check_sum(
    record: Mapping[str, Any], segment: Segment, exported: Sequence[object] | None, stated: Mapping[str, Any]
) -> Check:
    """Check that the statement's sum for the dataset follows from the ledger.

    Args:
        record: the record's predicate.
        segment: the entries in the record.
        exported: the whole ledger, as plain values; None if it is not available.
        stated: privacy.json.
    """
    name = "the dataset's sum so far"
    if exported is None:
        return Check(
            f"{name} includes this release",
            tuple(_faults_of_least_sum(segment, stated)),
            "the rest cannot be checked without the ledger",
        )
    return Check(f"{name} follows from the exported ledger", tuple(_faults_of_sum(record, segment, exported, stated)))


def _faults_of_least_sum(segment: Segment, stated: Mapping[str, Any]) -> Iterator[str]:
    """Faults where the stated sum is below the charge of this release or, if it is the only one, differs from it."""
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
    """Faults where the stated sum is not the ledger's at any time between the last charge and publication."""
    said, dataset = stated.get(SO_FAR), record["release"]["dataset"]
    last = max((number for number, _ in segment.charges), default=0)
    books, found = LedgerState(), []
    for entry in entries_by_number(exported).values():
        if not isinstance(entry, Entry) or entry.number > record["ledger"]["head"]["number"]:
            break
        try:
            books.enter(entry)
        except DeniableError as error:
            yield f"the ledger cannot be summed: {error}"
            return
        if entry.number < last or dataset not in books.policies:
            continue
        charges = [charged.charge for charged in books.charges(dataset)]
        if (right := _sum_of(charges, books.policy(dataset).seed_cost)) not in found:
            found.append(right)
    if said not in found:
        yield from _unequal_sums(said, found[0]) if found else (f"privacy.json: {SO_FAR} does not follow",)


def _sum_of(charges: Sequence[Charge], seed_cost: Any) -> dict[str, Any]:
    """The sum of charges to a dataset, in the form of the statement."""
    whole = cost_of(charges, "total")
    counted = whole if seed_cost == "total" else cost_of(charges, seed_cost)
    spent = Guarantee(float_above(whole.epsilon), min(float_above(whole.delta), 1.0), "basic")
    discoveries = len({charge.release for charge in charges if charge.step == DISCOVER})
    return {
        "epsilon": spent.epsilon,
        "delta": spent.delta,
        "vacuous": spent.is_vacuous,
        "accountant": spent.accountant,
        "releases": len({charge.release for charge in charges}),
        **({"discoveries": discoveries} if discoveries else {}),
        _COUNTED: {
            "seed_cost": seed_cost,
            "epsilon": float_above(counted.epsilon),
            "delta": float_above(counted.delta),
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
            yield f"privacy.json: {place}.{name} is {said[name]}, but the ledger gives {value}"


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
