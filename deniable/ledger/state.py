"""The state of a ledger, which follows from its entries and is updated entry by entry.

Composition of costs (budget) and storage of entries do not belong here.
"""

import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from deniable.command_names import command_line
from deniable.foundation.errors import DeniableError, InvalidInput, Refused
from deniable.ledger.budget import LIFETIME, Balance, BudgetExceeded, Tally
from deniable.ledger.entries import (
    SIGNED,
    SIGNED_APPROVALS,
    Approver,
    Charge,
    Cost,
    Custodian,
    Entry,
    Fact,
    Opening,
    Output,
    PeriodLength,
    Policy,
    Publication,
    SeedCost,
    SignedFact,
    Standing,
    period_of,
    require_time,
)
from deniable.ledger.signatures import fault_of_signature, key_name
from deniable.ledger.standings import Standings
from deniable.privacy.loss import PrivacyTestEvent


class LedgerBroken(DeniableError):
    """The entries do not form a chain: the ledger was altered, or it is not a ledger."""


class NoPolicy(Refused):
    """A dataset has no policy that states its budget."""


@dataclass(frozen=True)
class Charged:
    """A charge in a ledger.

    Attributes:
        entry: the entry that reserved it.
        charge: the charge.
        output: digest of the output; None until it is stored.
    """

    entry: Entry
    charge: Charge
    output: str | None = None


@dataclass(frozen=True)
class _Span:
    """The time to which a cap applies: the lifetime, or one calendar period."""

    length: PeriodLength | None = None
    name: str = LIFETIME

    @classmethod
    def around(cls, time: str, length: PeriodLength) -> "_Span":
        return cls(length, period_of(time, length))

    def covers(self, entry: Entry) -> bool:
        return self.length is None or period_of(entry.time, self.length) == self.name


def account_name(dataset: str) -> str:
    """A dataset's name without differences of writing alone: compatible characters, case and separators are one."""
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", dataset).casefold())
    return "".join(each for each in folded if each.isalnum())


class LedgerState:
    """The state that follows from a ledger's entries, updated entry by entry.

    Attributes:
        head: the last entry; None before the first.
        name: the ledger's name.
        custodian: public key of the custodian; empty if the ledger has none yet.
        spare: public key of the custodian's spare key; empty if there is none.
        approvers: the keys that may or might approve releases, by their public halves, as last entered.
        signs_approvals: whether each approval of a release must be signed by one of them.
        policies: the policy in force for each dataset.
        standings: the public releases, and what was decided about each.
        recoveries: the entries of recoveries.
        commitments: commitments to the keys under which anything was charged.
        given_up: releases whose charges a person has given up in a recovery: commitments to their keys, or names.
        releases: the releases that were charged or published.
    """

    def __init__(self) -> None:
        self.head: Entry | None = None
        self.name = ""
        self.custodian = ""
        self.spare = ""
        self.approvers: dict[str, Approver] = {}
        self.signs_approvals = False
        self.policies: dict[str, Policy] = {}
        self.standings = Standings()
        self.recoveries: list[Entry] = []
        self.commitments: set[str] = set()
        self.given_up: set[str] = set()
        self.releases: set[str] = set()
        self._digests: list[str] = []
        self._charges: dict[str, Charged] = {}
        self._tallies: dict[tuple[str, SeedCost, _Span], Tally] = {}

    @property
    def published(self) -> dict[str, Publication]:
        """The public releases, by id."""
        return self.standings.published

    def enter(self, entry: Entry) -> None:
        """Apply the next entry.

        Raises:
            LedgerBroken: it does not follow from the preceding entries; nothing is applied.
        """
        fault = entry.fault_after(self.head)
        if fault is None:
            try:
                self._take(entry)
            except (InvalidInput, LedgerBroken) as error:
                fault = str(error)
        if fault is not None:
            raise LedgerBroken(f"entry {entry.number}: {fault}")
        self.head = entry
        self._digests.append(entry.digest)

    def digest_at(self, number: int) -> str | None:
        """Digest of the entry of a number; None if there is none."""
        return self._digests[number] if 0 <= number < len(self._digests) else None

    @property
    def digests(self) -> tuple[str, ...]:
        """Digest of each entry, in order."""
        return tuple(self._digests)

    def is_charged(self, identity: str) -> bool:
        """Whether a draw was charged."""
        return identity in self._charges

    def charges(self, dataset: str | None = None) -> list[Charged]:
        """The charges to a dataset, or to all, in the order in which they were reserved."""
        return [charged for charged in self._charges.values() if dataset in (None, charged.charge.dataset)]

    def charged(self, identity: str) -> Charged:
        """The charge of an identity.

        Raises:
            Refused: there is none.
        """
        if identity not in self._charges:
            raise Refused(f"draw {identity} has no charge in the ledger; reserve its cost before drawing.")
        return self._charges[identity]

    def next_entry(self, fact: Fact, time: str, salt: str) -> Entry:
        """The entry that would state a fact; the state is unchanged.

        Args:
            fact: the fact.
            time: the time by the clock.
            salt: fresh for this entry (keys.fresh_salt).

        Raises:
            InvalidInput: the entry could not be read back.
        """
        entry = Entry.first(fact, time, salt) if self.head is None else self.head.followed_by(fact, time, salt)
        entry.fact()
        return entry

    def policy(self, dataset: str) -> Policy:
        """The policy in force for a dataset.

        Raises:
            NoPolicy: there is none.
        """
        if dataset not in self.policies:
            raise NoPolicy(
                f"dataset {dataset} must have a policy before anything may be spent on it, got none; set one with "
                f"{command_line('budget set')} {dataset} --epsilon 3 --delta 1e-5, with the numbers that its "
                "custodian allows."
            )
        return self.policies[dataset]

    def balances(self, dataset: str, time: str) -> tuple[Balance, ...]:
        """The balances of a dataset's caps: lifetime first, then the period that contains a time.

        Raises:
            NoPolicy: the dataset has no policy.
        """
        return self._balances(dataset, time, lambda tally: tally.cost)

    def require_room(self, charges: Sequence[Charge], time: str) -> None:
        """Refuse charges to one dataset that together exceed any of its caps; earlier charges repeated cost nothing.

        A step without differential privacy is refused by any cap of delta below 1, even if it reads only a part of the
        rows and thus costs a smaller delta: the cap is a promise for every record.

        Raises:
            NoPolicy: the dataset has no policy.
            BudgetExceeded: a cap would be exceeded.
            Refused: a charge contradicts one of the same identity.
            InvalidInput: the charges concern several datasets, or the parts of a split are inconsistent.
        """
        datasets = {charge.dataset for charge in charges}
        if len(datasets) != 1:
            raise InvalidInput(f"charges must be to one dataset, got {len(datasets)}; charge one after the other.")
        fresh = list({charge.identity: charge for charge in charges if self.known(charge) is None}.values())
        dataset = datasets.pop()
        balances = self.balances(dataset, time)
        if open_steps := [each for each in fresh if each.claim.cost.delta >= 1]:
            for balance in balances:
                if balance.limit.delta < 1:
                    raise BudgetExceeded.without_privacy(balance, open_steps)
        after = self._balances(dataset, time, lambda tally: tally.cost_with(fresh))
        for balance, would_be in zip(balances, after, strict=True):
            if fresh and would_be.spent.exceeds(balance.limit):
                raise BudgetExceeded.between(balance, would_be, fresh)

    def known(self, charge: Charge) -> Charged | None:
        """The earlier charge of the same identity, if any.

        Raises:
            Refused: the earlier charge has other fields, so the identity does not distinguish two draws.
        """
        charged = self._charges.get(charge.identity)
        difference = charged and charge.differs_from(charged.charge)
        if charged is None or difference is None:
            return charged
        raise Refused(
            f"a repeated draw must be identical, got step {charge.step} of release {charge.release}, which differs in "
            f"its {difference} from what entry {charged.entry.number} charged for that draw; include everything that "
            "the draw depends on in its parameters."
        )

    def _balances(self, dataset: str, time: str, spent: Callable[[Tally], Cost]) -> tuple[Balance, ...]:
        require_time(time)
        policy = self.policy(dataset)
        caps = [(_Span(), policy.limit)]
        if policy.period is not None:
            caps.append((_Span.around(time, policy.period.length), policy.period.limit))
        return tuple(
            Balance(
                dataset=dataset,
                cap=span.name,
                limit=limit,
                spent=spent(self._tally(dataset, policy.seed_cost, span)),
                seed_cost=policy.seed_cost,
            )
            for span, limit in caps
        )

    def _tally(self, dataset: str, seed_cost: SeedCost, span: "_Span") -> Tally:
        """The sum that a cap bounds, computed on first use and updated from then on."""
        key = dataset, seed_cost, span
        if key not in self._tallies:
            tally = Tally(seed_cost)
            for charged in self.charges(dataset):
                if span.covers(charged.entry):
                    tally.add(charged.charge)
            self._tallies[key] = tally
        return self._tallies[key]

    def _take(self, entry: Entry) -> None:
        fact = entry.fact()
        if isinstance(fact, Opening) != (self.head is None):
            raise LedgerBroken("the first entry of a ledger must be its opening, and no other entry")
        if isinstance(fact, SIGNED):
            self._require_signed(entry, fact)
        if isinstance(fact, Opening):
            self.name, self.custodian = fact.ledger, fact.custodian
            self.signs_approvals = fact.approvals == SIGNED_APPROVALS
        elif isinstance(fact, Policy):
            self.policies[fact.dataset] = fact
        elif isinstance(fact, Charge):
            self._reserve(entry, fact)
        elif isinstance(fact, Output):
            self._commit(fact)
        elif isinstance(fact, Publication | Standing):
            self._stand(entry, fact)
        elif isinstance(fact, Custodian):
            self.custodian, self.spare = fact.public, fact.spare
        elif isinstance(fact, Approver):
            self._admit(fact)
        else:
            self.recoveries.append(entry)
            self.given_up.update(fact.given_up)

    def _require_signed(self, entry: Entry, fact: SignedFact) -> None:
        """Refuse a budget, a recovery, an approver or another custodian that the custodian did not sign."""
        public = self.custodian or (fact.public if isinstance(fact, Custodian) else "")
        if not public:
            if isinstance(fact, Approver):
                raise LedgerBroken("it admits an approver, which the custodian must sign, and there is no custodian")
            return

        def fault_by(key: str) -> str | None:
            return fault_of_signature(self.name, entry.previous, fact, public=key, signature=fact.signature)

        fault = fault_by(public)
        if isinstance(fact, Custodian) and self.spare:
            if fault_by(self.spare) is None:
                return
            if fault is None and fact.spare != self.spare:
                fault = f"it replaces the spare key {key_name(self.spare)}, which must sign that itself"
        if fault is not None:
            raise LedgerBroken(fault)

    def _admit(self, approver: Approver) -> None:
        before = self.approvers.get(approver.public)
        if approver.public in (self.custodian, self.spare):
            raise LedgerBroken("an approver's key must be another one than the custodian's")
        if before is None and approver.revoked_as:
            raise LedgerBroken(f"it revokes the approver's key {key_name(approver.public)}, which was never admitted")
        if before is not None and not before.may_become(approver):
            raise LedgerBroken(
                f"it changes the approver's key {key_name(approver.public)}, which can only be revoked, and only once"
            )
        self.approvers[approver.public] = approver
        self.signs_approvals = True

    def _reserve(self, entry: Entry, charge: Charge) -> None:
        if charge.identity in self._charges:
            raise LedgerBroken(f"the draw was charged before, by entry {self._charges[charge.identity].entry.number}")
        if charge.dataset not in self.policies:
            raise LedgerBroken(f"dataset {charge.dataset} has no policy")
        if (fault := self._fault_of_joint(charge)) is not None:
            raise LedgerBroken(fault)
        # The lifetime sum first: every dataset has it, and it refuses inconsistent parts.
        self._tally(charge.dataset, self.policies[charge.dataset].seed_cost, _Span())
        for (dataset, _, span), tally in self._tallies.items():
            if dataset == charge.dataset and span.covers(entry):
                tally.add(charge)
        self._charges[charge.identity] = Charged(entry, charge)
        self.commitments.add(charge.commitment)
        self.releases.add(charge.release)

    def _fault_of_joint(self, charge: Charge) -> str | None:
        """The fault of the earlier charges with which one is charged together; None if none."""
        if charge.joint is None:
            return None
        for identity in charge.joint.others:
            other = self._charges.get(identity)
            if other is None:
                return f"step {charge.step} is charged together with a draw that was not charged before"
            for name in ("dataset", "commitment", "split", "part", "most_records"):
                if getattr(other.charge, name) != getattr(charge, name):
                    return f"step {charge.step} is charged together with a draw of another {name}"
            if any(isinstance(event, PrivacyTestEvent) for event in other.charge.events):
                return f"step {charge.step} is charged together with candidates tested, which are charged alone"
        return None

    def _commit(self, output: Output) -> None:
        charged = self._charges.get(output.identity)
        if charged is None:
            raise LedgerBroken("what it states to be stored was never charged")
        if charged.output is not None:
            raise LedgerBroken(f"what entry {charged.entry.number} charged was stored before")
        self._charges[output.identity] = Charged(charged.entry, charged.charge, output.output)

    def _stand(self, entry: Entry, fact: Publication | Standing) -> None:
        if isinstance(fact, Publication):
            if fact.release in self.published:
                raise LedgerBroken(f"release {fact.release} was published before")
            self.standings.publish(entry, fact)
            self.releases.add(fact.release)
        else:
            if (fault := self.standings.fault_of(fact)) is not None:
                raise LedgerBroken(fault)
            self.standings.decide(entry, fact)
