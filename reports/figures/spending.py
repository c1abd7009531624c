"""How much of a dataset's budget is spent: by other releases, by this one, and how much is left, for display.

The sums come from the ledger (deniable.ledger.budget); nothing is charged here.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from deniable.discovery.plan import STEP as DISCOVER
from deniable.ledger.budget import LIFETIME, Tally, cost_of, counted
from deniable.ledger.entries import Cost, SeedCost, day_of
from deniable.ledger.state import Charged, NoPolicy
from deniable.privacy.rounding import rounded, rounded_down, rounded_up
from stores.ledger.charging import open_ledger, planned_charges
from stores.vault.workspace import Workspace

_MOST_PLANNED = 24
"""Number of planned refreshes that a picture has room for."""


@dataclass(frozen=True)
class SpentOfCap:
    """Epsilon or delta of one cap.

    Attributes:
        cap: `lifetime`, or the name of a period.
        symbol: ε or δ.
        limit: the cap.
        others: spent by other releases; None if only the sum is known.
        spent: spent in total.
    """

    cap: str
    symbol: str
    limit: Fraction
    others: Fraction | None
    spent: Fraction

    @property
    def own(self) -> Fraction:
        """Spent by this release, or spent in total if other releases are not separated."""
        return self.spent - (self.others or 0)

    @property
    def own_in_words(self) -> str:
        """The same as text, never rounded down."""
        return rounded_up(self.own)

    @property
    def others_in_words(self) -> str | None:
        """Spent by other releases, as text, never rounded down."""
        return None if self.others is None else rounded_up(self.others)

    @property
    def left_in_words(self) -> str:
        """What is left, as text, never rounded up."""
        return rounded_down(max(self.limit - self.spent, Fraction(0)))

    @property
    def limit_in_words(self) -> str:
        """The cap."""
        return rounded(self.limit)

    @property
    def lengths(self) -> tuple[float, float]:
        """Spent by others and by this release, in percent of the cap, together at most 100."""
        others = min(float((self.others or 0) / self.limit), 1.0)
        return 100 * others, 100 * min(float(self.own / self.limit), 1 - others)


@dataclass(frozen=True)
class SpentAt:
    """The part of a dataset's budget that was spent once a release had been charged.

    Attributes:
        day: the day of its last charge.
        epsilon: spent by all releases up to then.
        own: whether it is the release of this report.
        is_discovery: whether it proposed values and ranges for a schema, and released no records.
    """

    day: str
    epsilon: Fraction
    own: bool
    is_discovery: bool = False


@dataclass(frozen=True)
class Spending:
    """Spending against all caps of a dataset.

    Attributes:
        dataset: the dataset's name.
        caps: each cap, in epsilon and in delta.
        caveat: a necessary remark on the sums; may be empty.
        history: spent of the lifetime cap after each release, in order.
        planned: spent after each refresh that the spec plans.
        room: how many more releases like this one fit into the lifetime cap; None if it is not known.
    """

    dataset: str
    caps: tuple[SpentOfCap, ...]
    caveat: str
    history: tuple[SpentAt, ...] = ()
    planned: tuple[Fraction, ...] = ()
    room: int | None = None

    @property
    def limit(self) -> Fraction | None:
        """The lifetime cap on epsilon."""
        return next((cap.limit for cap in self.caps if (cap.cap, cap.symbol) == (LIFETIME, "ε")), None)


def spending(workspace: Workspace) -> Spending | None:
    """Current spending of the budget of a release's dataset; None if the dataset is not in the ledger."""
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
    asked = cost_of(planned_charges(workspace.spec, workspace.plan.accounts), seed_cost)
    return Spending(
        dataset,
        tuple(caps),
        counted(seed_cost).removeprefix("; "),
        history=history,
        planned=tuple(tally.epsilon + number * asked.epsilon for number in range(1, _planned(workspace, history) + 1)),
        room=_room(limit, tally, asked),
    )


def _history(charges: Sequence[Charged], seed_cost: SeedCost, own: str) -> tuple[tuple[SpentAt, ...], Cost]:
    """Spent after each release, and spent now."""
    tally, after = Tally(seed_cost), dict[str, SpentAt]()
    for charged in charges:
        release = charged.charge.release
        tally.add(charged.charge)
        # A release that continues after another one has started is placed at its last charge.
        after.pop(release, None)
        is_discovery = charged.charge.step == DISCOVER
        after[release] = SpentAt(day_of(charged.entry.time), tally.cost.epsilon, release == own, is_discovery)
    return tuple(after.values()), tally.cost


def _planned(workspace: Workspace, history: Sequence[SpentAt]) -> int:
    """The number of refreshes that the spec still plans, limited to those that a picture has room for."""
    refresh = workspace.spec.refresh
    if refresh is None:
        return 0
    refreshes = sum(not each.is_discovery for each in history)
    made = refreshes if refresh.budget.kind == "equal_share" else 0
    return min(max(refresh.budget.parts - made, 0), _MOST_PLANNED)


def _room(limit: Cost, spent: Cost, asked: Cost) -> int | None:
    """The number of further releases like this one that fit into the cap."""
    rooms = [
        max(cap - gone, Fraction(0)) // each
        for cap, gone, each in (
            (limit.epsilon, spent.epsilon, asked.epsilon),
            (limit.delta, spent.delta, asked.delta),
        )
        if each > 0
    ]
    return min(rooms) if rooms else None
