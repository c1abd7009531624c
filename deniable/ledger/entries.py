"""The entries of a privacy ledger: facts about the queries of each dataset, each bound to its predecessor.

An entry carries the SHA-256 of its own content and of its predecessor's digest, so that none can be altered, removed,
repeated, reordered or inserted without changing every later digest. Only a seal of the content enters the entry's
digest, so that an entry can be shown without its content and its place can still be verified. Sums of entries do not
belong here (budget), nor the verification of a ledger (verification), nor its storage.

A ledger must remain readable for ten years: kinds of entries and fields are added, never removed.
"""

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import isfinite
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias, cast, get_args

from deniable.foundation.domain import MOST_RECORDS_OF_A_PERSON
from deniable.foundation.errors import InvalidInput
from deniable.foundation.exact_numbers import exact_number
from deniable.privacy.loss import Guarantee, MechanismEvent, PrivacyTestEvent, from_record
from deniable.privacy.rounding import claimed

if TYPE_CHECKING:
    from deniable.foundation.keys import Parameter

NOTHING_BEFORE = "0" * 64
"""Digest of the predecessor in the first entry of a ledger."""
ALL_ROWS = "all"
"""The part that includes every record; its charges add to all others."""

SeedCost = Literal["total", "per_record"]
"""The cost counted for candidates tested for plausible deniability: of all of them, or of one attempt."""
PeriodLength = Literal["year", "quarter", "month"]
StandingWord = Literal["reviewed", "superseded", "withdrawn"]

Content: TypeAlias = Mapping[str, Any]

_FORMAT = 2
_FIELDS = ("number", "time", "kind", "content", "salt", "previous", "digest")
_SEALED_FIELDS = ("number", "time", "kind", "sealed", "previous", "digest")
# In version 1 the digest was computed from the content itself.
_FIELDS_OF_VERSION_1 = ("number", "time", "kind", "content", "previous", "digest")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_TIME = re.compile(r"\d{4}-(0[1-9]|1[0-2])-[0-3]\dT[0-2]\d:[0-5]\d:[0-6]\d\.\d{6}Z")
_NUMBER = re.compile(r"\d+(\.\d+|/\d+)?")
_SECOND = re.compile(r"\d{4}-(0[1-9]|1[0-2])-[0-3]\dT[0-2]\d:[0-5]\d:[0-6]\dZ")
SIGNED_APPROVALS = "signed"
"""What the first entry of a ledger states about approvals if each must be signed by an approver's key."""

_REVOKED = ("", "superseded", "compromised")
_REPLACED = ("", "superseded", "lost", "compromised")
_IDENTITY = "deniable/v1/charge"
_PERIODS: dict[PeriodLength, Callable[[str], str]] = {
    "year": lambda time: time[:4],
    "quarter": lambda time: f"{time[:4]}-Q{(int(time[5:7]) + 2) // 3}",
    "month": lambda time: time[:7],
}
# Enough digits to distinguish any two costs, and few enough to preserve a decimal number as written.
_MOST_PLACES = 64
_SHOWN = 60


class OtherVersion(InvalidInput):
    """A ledger whose entries have another form than those of this version."""


def canonical(value: object) -> str:
    """Write a value as canonical JSON, from which digests are computed: sorted names, no spaces, no escapes.

    Raises:
        InvalidInput: the value does not consist of text, integers, booleans, lists and objects.
    """
    try:
        text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
        text.encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"an entry must consist of plain JSON values; {error}.") from None
    return text


def digest_of(value: object) -> str:
    """SHA-256 of a value's canonical JSON, in hexadecimal."""
    return hashlib.sha256(canonical(value).encode()).hexdigest()


@dataclass(frozen=True, kw_only=True)
class Opening:
    """The first entry, which identifies the ledger.

    Attributes:
        ledger: the ledger's name.
        version: version of the form of its entries.
        custodian: public key of the custodian, who signs budgets and recoveries; empty in ledgers of earlier versions.
        approvals: `signed` if each approval of a release must be signed by an approver's key; empty in ledgers of
            earlier versions, in which this holds from the first approver on.
    """

    kind: ClassVar[str] = "genesis"

    ledger: str
    version: int = _FORMAT
    custodian: str = ""
    approvals: str = ""

    def __post_init__(self) -> None:
        """Refuse a ledger that this version cannot read."""
        _require_text("ledger", self.ledger)
        if self.version != _FORMAT or isinstance(self.version, bool):
            raise OtherVersion(_of_another_version(self.version))
        if self.approvals not in ("", SIGNED_APPROVALS):
            raise InvalidInput(f"approvals must be {SIGNED_APPROVALS} or left out, got {self.approvals!r:.{_SHOWN}}.")

    def to_content(self) -> Content:
        """The fact as plain values."""
        return {
            "ledger": self.ledger,
            "version": self.version,
            **_unless_empty(custodian=self.custodian, approvals=self.approvals),
        }

    @classmethod
    def from_content(cls, content: Content) -> "Opening":
        """Read the fact from plain values."""
        return cls(**content)


@dataclass(frozen=True, kw_only=True)
class Cost:
    """An exact amount of privacy budget, so that rounding never decides a comparison with a cap."""

    epsilon: Fraction
    delta: Fraction

    def __post_init__(self) -> None:
        """Refuse a negative cost."""
        if self.epsilon < 0 or self.delta < 0:
            raise InvalidInput(f"a cost must be at least 0, got epsilon={self.epsilon}, delta={self.delta}.")

    def __add__(self, other: "Cost") -> "Cost":
        """Basic composition. Source: Bindschaedler, Shokri, Gunter 2017, Theorem 2."""
        return Cost(epsilon=self.epsilon + other.epsilon, delta=self.delta + other.delta)

    def exceeds(self, limit: "Cost") -> bool:
        """Whether epsilon or delta exceeds the limit's."""
        return self.epsilon > limit.epsilon or self.delta > limit.delta

    def to_content(self) -> dict[str, str]:
        """The cost as decimal numbers."""
        return {"epsilon": written(self.epsilon), "delta": written(self.delta)}


@dataclass(frozen=True, kw_only=True)
class PeriodCap:
    """The budget of each calendar period, in Coordinated Universal Time.

    Attributes:
        length: the period.
        limit: the cap of one period.
    """

    length: PeriodLength
    limit: Cost

    def __post_init__(self) -> None:
        """Refuse an unknown period."""
        if self.length not in get_args(PeriodLength):
            raise InvalidInput(f"a period must be a year, quarter or month, got {self.length}.")
        _require_cap(self.limit)


@dataclass(frozen=True, kw_only=True)
class Policy:
    """The budget of a dataset, from this entry on.

    Attributes:
        dataset: the dataset's name.
        limit: cap over the dataset's lifetime.
        period: cap of each calendar period, if any.
        seed_cost: whether all candidates tested count, or a single attempt.
        set_by: the person who set the policy.
        people: the custodian's declaration on whose records these are, in words; empty if there was none.
        sources: keyed commitments to the sources that it was declared for (stores.ledger.accounts).
        signature: the custodian's (deniable.ledger.signatures); empty in ledgers of earlier versions.
    """

    kind: ClassVar[str] = "policy"

    dataset: str
    limit: Cost
    period: PeriodCap | None = None
    seed_cost: SeedCost = "total"
    set_by: str
    people: str = ""
    sources: tuple[str, ...] = ()
    signature: str = ""

    def __post_init__(self) -> None:
        """Refuse a policy that bounds nothing."""
        _require_text("dataset", self.dataset)
        _require_text("set_by", self.set_by)
        _require_cap(self.limit)
        if self.seed_cost not in get_args(SeedCost):
            raise InvalidInput(f"seed_cost must be total or per_record, got {self.seed_cost}.")
        for source in self.sources:
            _require_text("sources", source)

    def to_content(self) -> Content:
        """The fact as plain values."""
        period = None if self.period is None else {"length": self.period.length, **self.period.limit.to_content()}
        return {
            "dataset": self.dataset,
            **self.limit.to_content(),
            "period": period,
            "seed_cost": self.seed_cost,
            "set_by": self.set_by,
            **_unless_empty(people=self.people, sources=list(self.sources), signature=self.signature),
        }

    @classmethod
    def from_content(cls, content: Content) -> "Policy":
        """Read the fact from plain values."""
        period = content["period"]
        return cls(
            dataset=content["dataset"],
            limit=_cost(content),
            period=None if period is None else PeriodCap(length=period["length"], limit=_cost(period)),
            seed_cost=content["seed_cost"],
            set_by=content["set_by"],
            people=content.get("people", ""),
            sources=tuple(content.get("sources", ())),
            signature=content.get("signature", ""),
        )


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A guarantee as summed in the ledger: exact, and never below the original.

    Attributes:
        cost: epsilon and delta.
        accountant: name of the theorem or accountant from which the numbers follow.
    """

    cost: Cost
    accountant: str

    @classmethod
    def of(cls, guarantee: Guarantee) -> "Claim":
        """Convert a guarantee to decimal literals, rounded up to 12 digits if they have more.

        Raises:
            InvalidInput: epsilon is infinite.
        """
        if not isfinite(guarantee.epsilon):
            raise InvalidInput(
                "a charge must have a finite epsilon, got none; privacy test 1 gives no differential privacy: "
                "use test 2, or test fewer candidates."
            )
        return cls(
            cost=Cost(epsilon=claimed(guarantee.epsilon), delta=claimed(guarantee.delta)),
            accountant=guarantee.accountant,
        )

    def to_content(self) -> Content:
        """The claim as plain values."""
        return {**self.cost.to_content(), "accountant": self.accountant}

    @classmethod
    def from_content(cls, content: Content) -> "Claim":
        """Read the claim from plain values."""
        return cls(cost=_cost(content), accountant=content["accountant"])


@dataclass(frozen=True, kw_only=True)
class Joint:
    """The cost of a charge together with earlier ones, whose noise is composed with its own.

    Attributes:
        claim: their cost together.
        others: identities of the earlier charges, on the same part of the same split under the same key.
    """

    claim: Claim
    others: tuple[str, ...]

    def __post_init__(self) -> None:
        """Refuse a cost together with nothing, and one counted twice."""
        if not self.others or len(set(self.others)) != len(self.others):
            raise InvalidInput("a joint cost must name earlier charges, each once, got none or one of them twice.")
        for identity in self.others:
            _require_text("others", identity)

    def to_content(self) -> Content:
        """The cost as plain values."""
        return {**self.claim.to_content(), "others": list(self.others)}

    @classmethod
    def from_content(cls, content: Content) -> "Joint":
        """Read the cost from plain values."""
        return cls(claim=Claim.from_content(content), others=tuple(content["others"]))


@dataclass(frozen=True, kw_only=True)
class Charge:
    """The cost of one step of a release on one part of a dataset, charged before it draws.

    A draw is identified by its `identity`. All noise comes from streams derived from the components of the identity,
    so the same identity draws the same numbers, discloses nothing new and is charged once; any difference makes it
    another draw.

    Attributes:
        dataset: name of the charged dataset.
        release: id of the release.
        step: name of the step.
        mechanism: name of the drawing code, with its version.
        part: part of the split that is read; `all` for steps that read every record.
        probability: probability with which a record is in that part.
        split: digest of the split rows and of the probabilities; empty for the part `all`. Only the parts of one split
            under one key are assumed to be disjoint.
        claim: the step's guarantee for its part.
        per_record: for candidates tested for plausible deniability, the cost of one attempt (Theorem 1).
        joint: the cost together with earlier charges, if it is less than the sum; `claim` remains the cost alone.
        events: the mechanism events, for one record.
        most_records: the most records of one person that are read; the claim is then for a person with all of them.
        inputs: keyed digest of the exact inputs.
        parameters: the exact public parameters: everything that the draw depends on apart from inputs and key.
        commitment: commitment to the release key.
    """

    kind: ClassVar[str] = "reserved"

    dataset: str
    release: str
    step: str
    mechanism: str
    part: str
    probability: Fraction
    split: str
    claim: Claim
    per_record: Claim | None = None
    joint: Joint | None = None
    events: tuple[MechanismEvent, ...]
    inputs: str
    parameters: "Mapping[str, Parameter]" = field(default_factory=dict)
    commitment: str
    most_records: int = 1

    def __post_init__(self) -> None:
        """Refuse an incomplete or inconsistent charge."""
        if type(self.most_records) is not int or not 1 <= self.most_records <= MOST_RECORDS_OF_A_PERSON:
            raise InvalidInput(
                f"most_records must be from 1 to {MOST_RECORDS_OF_A_PERSON}, got {self.most_records!r:.{_SHOWN}}."
            )
        for name in ("dataset", "release", "step", "mechanism", "part", "inputs", "commitment"):
            _require_text(name, getattr(self, name))
        if not 0 < self.probability <= 1:
            raise InvalidInput(f"the probability of a part must be in (0, 1], got {self.probability}.")
        if not isinstance(self.split, str):
            raise InvalidInput(f"split must be a text, got {type(self.split).__name__}.")
        if (self.part == ALL_ROWS) != (self.split == "") or (self.part == ALL_ROWS and self.probability != 1):
            raise InvalidInput(
                f"a part must name its split, and the part {ALL_ROWS} has none and has probability 1, got the part "
                f"{self.part} of probability {self.probability} and the split {self.split or '(none)'}."
            )
        if not self.events or {event.part for event in self.events} != {self.part}:
            raise InvalidInput(
                f"a charge must have events, all of its part {self.part}, got events of "
                f"{', '.join(sorted({event.part for event in self.events})) or 'none'}."
            )
        self._require_candidates_alone()

    def _require_candidates_alone(self) -> None:
        """Refuse candidates tested together with anything else, and their costs for other mechanisms."""
        tests = sum(isinstance(event, PrivacyTestEvent) for event in self.events)
        if tests and len(self.events) != 1:
            raise InvalidInput("candidates tested for plausible deniability must be charged alone, got other events.")
        if self.per_record is not None and not tests:
            raise InvalidInput("only candidates tested for plausible deniability have a cost per record, got others.")
        if tests and self.joint is not None:
            raise InvalidInput("candidates tested for plausible deniability must be charged alone, got a joint cost.")
        if tests and self.most_records > 1:
            raise InvalidInput("candidates tested for plausible deniability must have one record of each person.")

    @property
    def identity(self) -> str:
        """Digest of everything that determines the draw."""
        parameters = _plain_items(self.parameters)
        return digest_of([_IDENTITY, self.dataset, self.step, self.mechanism, self.inputs, parameters, self.commitment])

    def differs_from(self, other: "Charge") -> str | None:
        """An immutable field in which two charges of one identity differ; None if there is none."""
        for name in ("part", "probability", "split", "events", "most_records"):
            if getattr(self, name) != getattr(other, name):
                return name
        return None

    def cost(self, seed_cost: SeedCost) -> Cost:
        """The cost of this charge as counted under a policy."""
        counted = self.per_record if seed_cost == "per_record" and self.per_record is not None else self.claim
        return counted.cost

    def to_content(self) -> Content:
        """The fact as plain values."""
        return {
            "identity": self.identity,
            "dataset": self.dataset,
            "release": self.release,
            "step": self.step,
            "mechanism": self.mechanism,
            "part": self.part,
            "probability": written(self.probability),
            "split": self.split,
            "claim": self.claim.to_content(),
            "per_record": None if self.per_record is None else self.per_record.to_content(),
            "events": [event.to_record() for event in self.events],
            "inputs": self.inputs,
            "parameters": _plain_items(self.parameters),
            "commitment": self.commitment,
            **_unless_empty(joint=None if self.joint is None else self.joint.to_content()),
            # Entries of one record each stay as they were before there were others.
            **({} if self.most_records == 1 else {"most_records": self.most_records}),
        }

    @classmethod
    def from_content(cls, content: Content) -> "Charge":
        """Read the fact from plain values."""
        per_record, joint = content["per_record"], content.get("joint")
        return cls(
            **{name: content[name] for name in ("dataset", "release", "step", "mechanism", "part", "split")},
            probability=_exact(content["probability"]),
            claim=Claim.from_content(content["claim"]),
            per_record=None if per_record is None else Claim.from_content(per_record),
            joint=None if joint is None else Joint.from_content(joint),
            events=tuple(from_record(event) for event in content["events"]),
            inputs=content["inputs"],
            parameters={name: _parameter(value) for name, value in content["parameters"].items()},
            commitment=content["commitment"],
            most_records=content.get("most_records", 1),
        )


@dataclass(frozen=True, kw_only=True)
class Output:
    """The output of a draw is stored.

    Attributes:
        identity: identity of the charge.
        output: keyed digest of the output.
    """

    kind: ClassVar[str] = "committed"

    identity: str
    output: str

    def __post_init__(self) -> None:
        """Refuse empty digests."""
        _require_text("identity", self.identity)
        _require_text("output", self.output)

    def to_content(self) -> Content:
        """The fact as plain values."""
        return {"identity": self.identity, "output": self.output}

    @classmethod
    def from_content(cls, content: Content) -> "Output":
        """Read the fact from plain values."""
        return cls(**content)


@dataclass(frozen=True, kw_only=True)
class Publication:
    """A release is public.

    Attributes:
        dataset: the dataset's name.
        release: id of the release.
        output: digest of the publication.
    """

    kind: ClassVar[str] = "released"

    dataset: str
    release: str
    output: str

    def __post_init__(self) -> None:
        """Refuse empty fields."""
        for name in ("dataset", "release", "output"):
            _require_text(name, getattr(self, name))

    def to_content(self) -> Content:
        """The fact as plain values."""
        return {"dataset": self.dataset, "release": self.release, "output": self.output}

    @classmethod
    def from_content(cls, content: Content) -> "Publication":
        """Read the fact from plain values."""
        return cls(**content)


@dataclass(frozen=True, kw_only=True)
class Standing:
    """A person decided whether a public release still holds.

    Attributes:
        dataset: the dataset's name.
        release: id of the release.
        standing: `reviewed` if it stays, `superseded` if another one replaces it, `withdrawn` if nobody should use it.
        by: the person.
        reason: the reason, in their words; public.
        successor: id of the release that replaces it; empty unless it is superseded.
    """

    kind: ClassVar[str] = "standing"

    dataset: str
    release: str
    standing: StandingWord
    by: str
    reason: str
    successor: str = ""

    def __post_init__(self) -> None:
        """Refuse empty fields, unknown words, and a successor where there can be none."""
        for name in ("dataset", "release", "by", "reason"):
            _require_text(name, getattr(self, name))
        if self.standing not in get_args(StandingWord):
            known = ", ".join(get_args(StandingWord))
            raise InvalidInput(f"a standing must be one of {known}, got {self.standing!r:.{_SHOWN}}.")
        if not isinstance(self.successor, str) or bool(self.successor) != (self.standing == "superseded"):
            raise InvalidInput("a superseded release must name the one that replaces it, and no other release one.")

    def to_content(self) -> Content:
        """The fact as plain values."""
        return {
            "dataset": self.dataset,
            "release": self.release,
            "standing": self.standing,
            "by": self.by,
            "reason": self.reason,
            **_unless_empty(successor=self.successor),
        }

    @classmethod
    def from_content(cls, content: Content) -> "Standing":
        """Read the fact from plain values."""
        return cls(**content)


@dataclass(frozen=True, kw_only=True)
class Recovery:
    """A person resumed a ledger that lacked entries known to a state folder.

    Attributes:
        set_by: the person.
        reason: the reason, in their words.
        known: number of entries known to the state folder; `known_head` is the digest of the last of them.
        found: number of entries in the ledger; `found_head` is the digest of the last of them.
        restored: number of entries restored from copies.
        accepted: whether the person accepted that entries are lost, or that this is another ledger.
        given_up: releases whose charges nothing shows any more: commitments to their keys, or their names.
        signature: the custodian's (deniable.ledger.signatures); empty in ledgers of earlier versions.
    """

    kind: ClassVar[str] = "recovered"

    set_by: str
    reason: str
    known: int
    known_head: str
    found: int
    found_head: str
    restored: int
    accepted: bool
    given_up: tuple[str, ...] = ()
    signature: str = ""

    def __post_init__(self) -> None:
        """Refuse a recovery without a person or reason, or with invalid numbers."""
        for name in ("set_by", "reason"):
            _require_text(name, getattr(self, name))
        for name in ("known", "found", "restored"):
            if not isinstance(getattr(self, name), int) or getattr(self, name) < 0:
                raise InvalidInput(f"{name} must be a number of entries, got {getattr(self, name)!r}.")
        for commitment in self.given_up:
            _require_text("given_up", commitment)

    def to_content(self) -> Content:
        """The fact as plain values."""
        return {
            "set_by": self.set_by,
            "reason": self.reason,
            "known": self.known,
            "known_head": self.known_head,
            "found": self.found,
            "found_head": self.found_head,
            "restored": self.restored,
            "accepted": self.accepted,
            **_unless_empty(given_up=list(self.given_up), signature=self.signature),
        }

    @classmethod
    def from_content(cls, content: Content) -> "Recovery":
        """Read the fact from plain values."""
        return cls(**{**content, "given_up": tuple(content.get("given_up", ()))})


@dataclass(frozen=True, kw_only=True)
class Custodian:
    """The key of the custodian from this entry on; the key before must sign it, or itself if there was none.

    Attributes:
        public: the public key, in hexadecimal.
        owner: the person who has it.
        spare: public key of the spare key, which may sign the next such entry in place of the key itself; empty if
            there is none. Only the spare key may replace itself.
        reason: why the key before was replaced: superseded, lost or compromised; empty if it was not.
        signature: the signature of the key before, or of the spare key.
    """

    kind: ClassVar[str] = "custodian"

    public: str
    owner: str
    spare: str = ""
    reason: str = ""
    signature: str = ""

    def __post_init__(self) -> None:
        """Refuse something that is not a key."""
        _require_key("the custodian's public key", self.public)
        if self.spare:
            _require_key("the public key of the custodian's spare key", self.spare)
        if self.public == self.spare:
            raise InvalidInput("the custodian's spare key must be another key, got the same; make one of its own.")
        if self.reason not in _REPLACED:
            raise InvalidInput(
                f"a custodian's key must be replaced as {', '.join(_REPLACED[1:])}, got {self.reason!r:.{_SHOWN}}."
            )
        _require_text("owner", self.owner)

    def to_content(self) -> Content:
        """The fact as plain values."""
        return {
            "public": self.public,
            "owner": self.owner,
            **_unless_empty(spare=self.spare, reason=self.reason, signature=self.signature),
        }

    @classmethod
    def from_content(cls, content: Content) -> "Custodian":
        """Read the fact from plain values."""
        return cls(**content)


@dataclass(frozen=True, kw_only=True)
class Approver:
    """A key that may approve releases, as the custodian admits or revokes it; the last entry of a key holds.

    Attributes:
        public: the public key, in hexadecimal.
        owner: the person who has it, by the name that approvals are given.
        valid_from: first moment at which it may sign, to the second.
        valid_until: first moment at which it may no longer sign.
        revoked_at: when its revocation takes effect; empty if it is not revoked.
        revoked_as: superseded (what it signed before stays valid) or compromised (nothing does); empty likewise.
        set_by: who entered it.
        signature: the custodian's.
    """

    kind: ClassVar[str] = "approver"

    public: str
    owner: str
    valid_from: str
    valid_until: str
    revoked_at: str = ""
    revoked_as: str = ""
    set_by: str
    signature: str = ""

    def __post_init__(self) -> None:
        """Refuse something that is not a key with a period of validity."""
        _require_key("an approver's public key", self.public)
        for name in ("owner", "set_by"):
            _require_text(name, getattr(self, name))
        for time in (self.valid_from, self.valid_until, *([self.revoked_at] if self.revoked_at else [])):
            if not isinstance(time, str) or not _SECOND.fullmatch(time):
                raise InvalidInput("a time must be written like 2026-11-20T07:45:00Z, got something else.")
        if self.valid_from >= self.valid_until:
            raise InvalidInput(
                f"a key must be valid for some time, got one from {self.valid_from} until {self.valid_until}."
            )
        if self.revoked_as not in _REVOKED or bool(self.revoked_as) != bool(self.revoked_at):
            raise InvalidInput(
                f"a key must be revoked as {' or '.join(_REVOKED[1:])}, at a time, got {self.revoked_as!r:.{_SHOWN}}."
            )

    def may_become(self, later: "Approver") -> bool:
        """Whether a later entry of the same key changes nothing but its revocation, for the worse."""
        same = (self.public, self.owner, self.valid_from, self.valid_until) == (
            later.public,
            later.owner,
            later.valid_from,
            later.valid_until,
        )
        return same and _REVOKED.index(later.revoked_as) > _REVOKED.index(self.revoked_as)

    def to_content(self) -> Content:
        """The fact as plain values."""
        return {
            "public": self.public,
            "owner": self.owner,
            "valid_from": self.valid_from,
            "valid_until": self.valid_until,
            "set_by": self.set_by,
            **_unless_empty(revoked_at=self.revoked_at, revoked_as=self.revoked_as, signature=self.signature),
        }

    @classmethod
    def from_content(cls, content: Content) -> "Approver":
        """Read the fact from plain values."""
        return cls(**content)


Fact = Opening | Policy | Charge | Output | Publication | Standing | Recovery | Custodian | Approver
SignedFact: TypeAlias = Policy | Recovery | Custodian | Approver
SIGNED: tuple[type[SignedFact], ...] = (Policy, Recovery, Custodian, Approver)
"""What the custodian alone may enter."""
KINDS: dict[str, type[Fact]] = {
    kind.kind: kind for kind in (Opening, Policy, Charge, Output, Publication, Standing, Recovery, Custodian, Approver)
}


@dataclass(frozen=True, kw_only=True)
class SealedEntry:
    """A sealed entry: its existence, time and place, without its content.

    Attributes:
        number: number of preceding entries.
        time: when it was entered, in Coordinated Universal Time, `2026-11-20T07:45:00.000000Z`; never before the
            entry's predecessor, whatever the clock.
        kind: kind of the fact.
        sealed: SHA-256 of its salt and its content; without the salt it cannot confirm a guess of the content.
        previous: digest of the preceding entry.
        digest: SHA-256 of all the other fields.
    """

    number: int
    time: str
    kind: str
    sealed: str
    previous: str
    digest: str

    def to_record(self) -> dict[str, Any]:
        """The entry as plain values."""
        return {name: getattr(self, name) for name in _SEALED_FIELDS}

    def fault(self) -> str | None:
        """The fault of this entry by itself; None if none."""
        return _fault(self, self.sealed)

    def fault_after(self, predecessor: "AnyEntry | None") -> str | None:
        """The fault of this entry in its place; None if none."""
        return self.fault() or _misplaced(self, predecessor)


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A fact in its place in a ledger.

    Attributes:
        number: number of preceding entries.
        time: when it was entered, in Coordinated Universal Time, `2026-11-20T07:45:00.000000Z`; never before the
            entry's predecessor, whatever the clock.
        kind: kind of the fact.
        content: the fact as plain values.
        salt: a random value that cannot be guessed, in hexadecimal, so that a sealed content cannot be guessed either.
        previous: digest of the preceding entry.
        digest: SHA-256 of number, time, kind, seal and previous.
    """

    number: int
    time: str
    kind: str
    content: Content
    salt: str
    previous: str
    digest: str

    @classmethod
    def first(cls, fact: Fact, time: str, salt: str) -> "Entry":
        """Begin a ledger; the first fact must be its opening."""
        return cls._bound(0, time, fact, salt, NOTHING_BEFORE)

    def followed_by(self, fact: Fact, time: str, salt: str) -> "Entry":
        """Enter a fact after this one; a clock that is behind this entry's time is ignored.

        Args:
            fact: the fact.
            time: the time by the clock.
            salt: fresh for this entry (keys.fresh_salt).
        """
        require_time(time)
        return self._bound(self.number + 1, max(time, self.time), fact, salt, self.digest)

    @classmethod
    def _bound(cls, number: int, time: str, fact: Fact, salt: str, previous: str) -> "Entry":
        require_time(time)
        if not _DIGEST.fullmatch(salt):
            raise InvalidInput("the salt of an entry must be 64 hexadecimal digits; make one with keys.fresh_salt().")
        content = fact.to_content()
        bound = _bound_values(number, time, fact.kind, _seal(salt, content), previous)
        whole = {
            "number": number,
            "time": time,
            "kind": fact.kind,
            "content": content,
            "salt": salt,
            "previous": previous,
            "digest": digest_of(bound),
        }
        # Parsed from its own text, so that a new entry equals the one read from a file.
        return cls(**json.loads(canonical(whole)))

    @property
    def seal(self) -> str:
        """SHA-256 of the salt and the content, which represents the content in the entry's digest.

        Raises:
            InvalidInput: the content does not consist of plain values.
        """
        return _seal(self.salt, self.content)

    def sealed(self) -> SealedEntry:
        """The entry without its content."""
        return SealedEntry(
            number=self.number,
            time=self.time,
            kind=self.kind,
            sealed=self.seal,
            previous=self.previous,
            digest=self.digest,
        )

    def to_record(self) -> dict[str, Any]:
        """The entry as plain values."""
        return {name: getattr(self, name) for name in _FIELDS}

    def to_line(self) -> str:
        """The entry as one line of JSON, without the line's end."""
        return canonical(self.to_record())

    @classmethod
    def from_record(cls, record: object) -> "Entry":
        """Read plain values as an entry, without checking it (see `fault`).

        Raises:
            InvalidInput: they do not have the form of an entry.
        """
        values = _with_fields(record, _FIELDS)
        if not isinstance(values["content"], Mapping):
            raise InvalidInput("an entry must have an object as its content.")
        return cls(**values)

    def fault(self) -> str | None:
        """The fault of this entry by itself; None if none."""
        try:
            return _fault(self, self.seal)
        except InvalidInput as error:
            return str(error)

    def fault_after(self, predecessor: "AnyEntry | None") -> str | None:
        """The fault of this entry in its place; None if none."""
        return self.fault() or _misplaced(self, predecessor)

    def fact(self) -> Fact:
        """Read the fact.

        Raises:
            InvalidInput: the kind is unknown, or the content is not that of its kind.
        """
        kind = KINDS.get(self.kind)
        if kind is None:
            raise InvalidInput(
                f"an entry must be of the kind {', '.join(KINDS)}, got {self.kind}; read the ledger with the version "
                "that wrote it, or a later one."
            )
        try:
            fact = kind.from_content(self.content)
        except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError) as error:
            raise InvalidInput(f"the content is not that of the kind {self.kind}: {error}") from None
        if canonical(fact.to_content()) != canonical(self.content):
            raise InvalidInput(f"the content is not written as the kind {self.kind} writes it, or has more in it")
        return fact


AnyEntry: TypeAlias = Entry | SealedEntry


def entry_of(record: object) -> AnyEntry:
    """Read plain values as an entry, shown or sealed, without checking it (see `fault`).

    Raises:
        InvalidInput: they do not have the form of either.
    """
    if isinstance(record, Mapping) and "sealed" in record:
        return SealedEntry(**_with_fields(record, _SEALED_FIELDS))
    return Entry.from_record(record)


def _with_fields(record: object, names: Sequence[str]) -> dict[str, Any]:
    """Plain values with exactly the given fields, of the types of entries."""
    if isinstance(record, Mapping) and set(record) == set(_FIELDS_OF_VERSION_1):
        raise OtherVersion(_of_another_version(1))
    if not isinstance(record, Mapping) or set(record) != set(names):
        raise InvalidInput(f"an entry must have {', '.join(names)} and nothing else.")
    whole = isinstance(record["number"], int) and not isinstance(record["number"], bool)
    texts = all(isinstance(record[name], str) for name in names if name not in ("number", "content"))
    if not (whole and texts):
        raise InvalidInput("an entry must have an integer, texts and a content.")
    return dict(record)


def _of_another_version(version: object) -> str:
    return (
        f"a ledger must be of version {_FORMAT} to be read, got {version}; read it with the version of this program "
        "that wrote it."
    )


def _seal(salt: str, content: Content) -> str:
    return digest_of({"salt": salt, "content": content})


def _bound_values(number: int, time: str, kind: str, sealed: str, previous: str) -> dict[str, Any]:
    """The values from which an entry's digest is computed: those of the sealed entry."""
    return {"number": number, "time": time, "kind": kind, "sealed": sealed, "previous": previous}


def _fault(entry: AnyEntry, seal: str) -> str | None:
    """The fault of an entry by itself; None if none."""
    if not _TIME.fullmatch(entry.time):
        return f"its time is invalid: {entry.time}"
    try:
        expected = digest_of(_bound_values(entry.number, entry.time, entry.kind, seal, entry.previous))
    except InvalidInput as error:
        return str(error)
    return None if entry.digest == expected else "its content does not match its digest: it was altered"


def _misplaced(entry: AnyEntry, predecessor: AnyEntry | None) -> str | None:
    """The fault of an entry's place in the chain."""
    expected = 0 if predecessor is None else predecessor.number + 1
    if entry.number > expected:
        return f"entry {expected} should come before it: entries are missing"
    if entry.number < expected:
        return "it comes too late or twice: entries were repeated or reordered"
    if entry.previous != (NOTHING_BEFORE if predecessor is None else predecessor.digest):
        return "it does not follow the entry before it: one of them was altered, inserted or removed"
    if predecessor is not None and entry.time < predecessor.time:
        return "its time is before that of its predecessor"
    return None


def require_time(time: str) -> None:
    """Refuse a time that is not in the format of entries.

    Raises:
        InvalidInput: it has another format.
    """
    if not _TIME.fullmatch(time):
        raise InvalidInput(f"a time must be written like 2026-11-20T07:45:00.000000Z, got {time}.")


def day_of(time: str) -> str:
    """The day of a time in Coordinated Universal Time, such as 2026-11-22."""
    return time[: len("2026-11-22")]


def period_of(time: str, length: PeriodLength) -> str:
    """Name of the calendar period that a time is in, such as 2026, 2026-Q4 or 2026-11."""
    return _PERIODS[length](time)


def written(value: Fraction) -> str:
    """Write an exact number as a decimal if it is one, otherwise as numerator/denominator."""
    for places in range(_MOST_PLACES):
        scaled = value * 10**places
        if scaled.denominator == 1:
            digits = f"{scaled.numerator:0{places + 1}d}"
            return f"{digits[:-places]}.{digits[-places:]}" if places else digits
    return str(value)


def _cost(content: Content) -> Cost:
    return Cost(epsilon=_exact(content["epsilon"]), delta=_exact(content["delta"]))


def _exact(text: object) -> Fraction:
    if not isinstance(text, str) or not _NUMBER.fullmatch(text):
        raise InvalidInput(f"an exact number must be written like 0.5 or 1/3, got {str(text)[:_SHOWN]}.")
    return exact_number(text)


def _plain_items(parameters: "Mapping[str, Parameter]") -> dict[str, Any]:
    return {name: _plain(name, value) for name, value in parameters.items()}


def _plain(name: str, value: "Parameter") -> Any:
    """A parameter as a JSON value; only fractions become objects."""
    if isinstance(value, str | int):
        return value
    if isinstance(value, Fraction):
        return {"fraction": str(value)}
    if isinstance(value, list | tuple):
        return [_plain(name, entry) for entry in value]
    raise InvalidInput(
        f"the parameter {name} must consist of int, bool, str, Fraction, list and tuple, got {type(value).__name__}; "
        "write a number that is not an integer as a Fraction."
    )


def _parameter(plain: Any) -> "Parameter":
    if isinstance(plain, Mapping):
        return exact_number(str(plain["fraction"]))
    if isinstance(plain, list):
        return [_parameter(entry) for entry in plain]
    return cast("Parameter", plain)


def _unless_empty(**values: Any) -> dict[str, Any]:
    """Fields that entries of earlier versions lack: those that are empty are not written."""
    return {name: value for name, value in values.items() if value}


def _require_text(name: str, value: object) -> None:
    if not isinstance(value, str) or not value:
        raise InvalidInput(f"{name} must be a non-empty text, got {value!r}.")


def _require_key(what: str, value: object) -> None:
    if not isinstance(value, str) or not _DIGEST.fullmatch(value):
        raise InvalidInput(f"{what} must be 64 hexadecimal digits, got something else.")


def _require_cap(limit: Cost) -> None:
    if limit.epsilon <= 0 or limit.delta > 1:
        raise InvalidInput(
            f"a cap must have an epsilon above 0 and a delta of at most 1, got {written(limit.epsilon)} and "
            f"{written(limit.delta)}; give, for example, epsilon 3 and delta 0.00001."
        )
