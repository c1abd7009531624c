"""Charges and ledgers made by hand, for tests."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from deniable.ledger.entries import (
    ALL_ROWS,
    Charge,
    Claim,
    Cost,
    Entry,
    Fact,
    Opening,
    Output,
    PeriodCap,
    Policy,
    Publication,
    digest_of,
)
from deniable.privacy.loss import ApproximateEvent, DiscreteLaplaceEvent, PrivacyTestEvent

TIME = "2026-11-20T07:45:00.000000Z"
SALT = "5a" * 32
SPLIT = "the split of release r1"
KEY = "commitment to the key of release r1"


def cost(epsilon: str | int | Fraction, delta: str | int | Fraction = 0) -> Cost:
    return Cost(epsilon=Fraction(epsilon), delta=Fraction(delta))


def policy(epsilon: str | int = 3, delta: str = "1e-5", **changes: Any) -> Policy:
    return Policy(**{"dataset": "people", "limit": cost(epsilon, delta), "set_by": "custodian", **changes})


def yearly(epsilon: str | int, delta: str = "1e-5", length: Any = "year") -> PeriodCap:
    return PeriodCap(length=length, limit=cost(epsilon, delta))


def charge(epsilon: str | int = "0.5", delta: str = "0", **changes: Any) -> Charge:
    """Return a charge whose event costs exactly its claim."""
    spent = cost(epsilon, delta)
    part = changes.get("part", "structure")
    event = ApproximateEvent(
        query="anything", part=part, outputs=1, epsilon_per_output=spent.epsilon, delta_per_output=spent.delta
    )
    facts: dict[str, Any] = {
        "dataset": "people",
        "release": "r1",
        "step": "learn_structure",
        "mechanism": "entropies",
        "part": part,
        "probability": Fraction(1) if part == ALL_ROWS else Fraction(1, 4),
        "split": "" if part == ALL_ROWS else SPLIT,
        "claim": Claim(cost=spent, accountant="basic"),
        "events": (event,),
        "inputs": "digest of the inputs",
        "parameters": {"epsilon": spent.epsilon, "noise": "laplace", "orders": [1, 2], "exact": True},
        "commitment": KEY,
    }
    return Charge(**{**facts, **changes})


def noisy_counts(scale: Fraction, claimed: Claim, outputs: int = 1) -> Charge:
    """Return a charge for counts with discrete Laplace noise."""
    event = DiscreteLaplaceEvent(query="counts", part="parameters", outputs=outputs, sensitivity=1, scale=scale)
    return charge(step="learn_parameters", part="parameters", events=(event,), claim=claimed)


def candidates(total: Claim, per_record: Claim | None, **changes: Any) -> Charge:
    """Return a charge for 1,000 candidates tested with k = 50, gamma = 4 and eps0 = 1."""
    event = PrivacyTestEvent(
        query="candidates",
        part="seeds",
        outputs=1000,
        sampling_rate=Fraction(1, 2),
        k=50,
        gamma=Fraction(4),
        eps0=Fraction(1),
        public_rows=100_000,
        drop_probability=Fraction(1, 100),
    )
    facts: dict[str, Any] = {
        "step": "synthesize",
        "mechanism": "mechanism_1_star",
        "part": "seeds",
        "probability": Fraction(1, 2),
        "events": (event,),
        "claim": total,
        "per_record": per_record,
    }
    return charge(**{**facts, **changes})


def salt(number: int) -> str:
    """Return a guessable salt, different for each number."""
    return f"{number:064x}"


def chain(*facts: Fact, times: Sequence[str] = ()) -> list[Entry]:
    """Return the entries of a ledger with the given facts."""
    entries = [Entry.first(Opening(ledger="made by hand"), TIME, SALT)]
    for number, fact in enumerate(facts):
        entries.append(entries[-1].followed_by(fact, times[number] if times else TIME, salt(number)))
    return entries


def redigested(record: dict[str, Any]) -> dict[str, Any]:
    """Return an entry's record, shown or sealed, with its correct digest."""
    seal = record.get("sealed") or digest_of({"salt": record["salt"], "content": record["content"]})
    bound = {name: record[name] for name in ("number", "time", "kind", "previous")}
    return {**record, "digest": digest_of({**bound, "sealed": seal})}


def a_ledger() -> list[Entry]:
    """Return a ledger with every kind of entry."""
    first, second = charge(), charge("0.25", part="parameters", step="learn_parameters")
    return chain(
        policy(period=yearly(2)),
        first,
        Output(identity=first.identity, output="digest of the graph"),
        second,
        Output(identity=second.identity, output="digest of the model"),
        Publication(dataset="people", release="r1", output="digest of the release"),
        policy(2, set_by="another custodian"),
    )
