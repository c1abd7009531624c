"""What of a dataset's budget is spent: by other releases, by this one, and what is left; to be looked at.

The sums are the ledger's (deniable.ledger.budget); nothing is charged here.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from deniable.ledger.budget import LIFETIME, Tally, cost_of, counted
from deniable.ledger.entries import Cost, SeedCost, day_of
from deniable.ledger.state import Charged, NoPolicy
from deniable.privacy.rounding import rounded, rounded_down, rounded_up
from schemas.spec.accounts import accounts_of
from stores.ledger.charging import open_ledger, planned_charges
from stores.vault.workspace import Workspace

_MOST_PLANNED = 24
"""Planned refreshes that a picture has room for."""


@dataclass(frozen=True)
class SpentOfCap:
    """Epsilon or delta of one cap.

    Attributes:
        cap: `lifetime`, or the name of a period.
        symbol: ε or δ.
        limit: the cap.
        others: what other releases spent; None where only the sum is known.
        spent: what is spent in all.
    """

    cap: str
    symbol: str
    limit: Fraction
    others: Fraction | None
    spent: Fraction

    @property
    def own(self) -> Fraction:
        """What this release added, or what is spent in all where others are not told apart."""
        return self.spent - (self.others or 0)

    @property
    def own_in_words(self) -> str:
        """The same, never less than it is."""
        return rounded_up(self.own)

    @property
    def others_in_words(self) -> str | None:
        """What other releases spent, never less than it is."""
        return None if self.others is None else rounded_up(self.others)

    @property
    def left_in_words(self) -> str:
        """What is left, never more than there is."""
        return rounded_down(max(self.limit - self.spent, Fraction(0)))

    @property
    def limit_in_words(self) -> str:
        """The cap."""
        return rounded(self.limit)

    @property
    def lengths(self) -> tuple[float, float]:
        """What others spent and what this release spent, in percent of the cap, together at most all of it."""
        others = min(float((self.others or 0) / self.limit), 1.0)
        return 100 * others, 100 * min(float(self.own / self.limit), 1 - others)


@dataclass(frozen=True)
class SpentAt:
    """What had been spent of a dataset's budget when a release had been charged.

    Attributes:
        day: the day of its last charge.
        epsilon: what all releases so far had spent.
        own: whether it is the release that is looked at.
    """

    day: str
    epsilon: Fraction
    own: bool


@dataclass(frozen=True)
class Spending:
    """What is spent of all caps of a dataset.

    Attributes:
        dataset: the dataset's name.
        caps: each cap, in epsilon and in delta.
        caveat: what must be said of the sums; may be empty.
        history: what had been spent of the lifetime's cap after each release, in their order.
        planned: what would be spent after each refresh that the spec plans.
        room: how many more releases like this one the lifetime's cap has room for; None where it is not known.
    """

    dataset: str
    caps: tuple[SpentOfCap, ...]
    caveat: str
    history: tuple[SpentAt, ...] = ()
    planned: tuple[Fraction, ...] = ()
    room: int | None = None

    @property
    def limit(self) -> Fraction | None:
        """The lifetime's cap of epsilon."""
        return next((cap.limit for cap in self.caps if (cap.cap, cap.symbol) == (LIFETIME, "ε")), None)


def spending(workspace: Workspace) -> Spending | None:
    """What is spent of the budget of a release's dataset by now; None where no ledger knows the dataset."""
    ledger, dataset = open_ledger(workspace), workspace.spec.dataset_name
    try:
        balances = ledger.balances(dataset)
    except NoPolicy:
        return None
    seed_cost = balances[0].seed_cost
    charges = ledger.charges(dataset)
    others = (charged.charge for charged in charges if charged.charge.release != workspace.release_id)
    before = cost_of(others, seed_cost)
    caps = []
    for balance in balances:
        told_apart = balance.cap == LIFETIME
        for symbol, figure in (("ε", "epsilon"), ("δ", "delta")):
            limit, spent = getattr(balance.limit, figure), getattr(balance.spent, figure)
            known = getattr(before, figure) if told_apart else None
            caps.append(SpentOfCap(balance.cap, symbol, limit, known, spent))
    history, tally = _history(charges, seed_cost, workspace.release_id)
    limit = next(balance.limit for balance in balances if balance.cap == LIFETIME)
    asked = cost_of(planned_charges(workspace.spec, accounts_of(workspace.spec)), seed_cost)
    return Spending(
        dataset,
        tuple(caps),
        counted(seed_cost).removeprefix("; "),
        history=history,
        planned=tuple(tally.epsilon + number * asked.epsilon for number in range(1, _planned(workspace, history) + 1)),
        room=_room(limit, tally, asked),
    )


def _history(charges: Sequence[Charged], seed_cost: SeedCost, own: str) -> tuple[tuple[SpentAt, ...], Cost]:
    """What had been spent after each release, and what is by now."""
    tally, after = Tally(seed_cost), dict[str, SpentAt]()
    for charged in charges:
        release = charged.charge.release
        tally.add(charged.charge)
        # A release that goes on after another has begun stands where its last charge stands.
        after.pop(release, None)
        after[release] = SpentAt(day_of(charged.entry.time), tally.cost.epsilon, release == own)
    return tuple(after.values()), tally.cost


def _planned(workspace: Workspace, history: Sequence[SpentAt]) -> int:
    """How many refreshes the spec still plans, as far as a picture has room for them."""
    refresh = workspace.spec.refresh
    if refresh is None:
        return 0
    made = len(history) if refresh.budget.kind == "equal_share" else 0
    return min(max(refresh.budget.parts - made, 0), _MOST_PLANNED)


def _room(limit: Cost, spent: Cost, asked: Cost) -> int | None:
    """How many more releases like this one fit into the cap."""
    rooms = [
        max(cap - gone, Fraction(0)) // each
        for cap, gone, each in (
            (limit.epsilon, spent.epsilon, asked.epsilon),
            (limit.delta, spent.delta, asked.delta),
        )
        if each > 0
    ]
    return min(rooms) if rooms else None
