"""What of a dataset's budget is spent: by other releases, by this one, and what is left; to be looked at.

The sums are the ledger's (deniable.budget); nothing is charged here.
"""

from dataclasses import dataclass
from fractions import Fraction

from deniable.books import NoPolicy
from deniable.budget import LIFETIME, cost_of, counted, shown, shown_down, shown_up
from stores.charging import open_ledger
from stores.workspace import Workspace


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
        return shown_up(self.own)

    @property
    def others_in_words(self) -> str | None:
        """What other releases spent, never less than it is."""
        return None if self.others is None else shown_up(self.others)

    @property
    def left_in_words(self) -> str:
        """What is left, never more than there is."""
        return shown_down(max(self.limit - self.spent, Fraction(0)))

    @property
    def limit_in_words(self) -> str:
        """The cap."""
        return shown(self.limit)

    @property
    def lengths(self) -> tuple[float, float]:
        """What others spent and what this release spent, in percent of the cap, together at most all of it."""
        others = min(float((self.others or 0) / self.limit), 1.0)
        return 100 * others, 100 * min(float(self.own / self.limit), 1 - others)


@dataclass(frozen=True)
class Spending:
    """What is spent of all caps of a dataset.

    Attributes:
        dataset: the dataset's name.
        caps: each cap, in epsilon and in delta.
        caveat: what must be said of the sums; may be empty.
    """

    dataset: str
    caps: tuple[SpentOfCap, ...]
    caveat: str


def spending(workspace: Workspace) -> Spending | None:
    """What is spent of the budget of a release's dataset by now; None where no ledger knows the dataset."""
    ledger, dataset = open_ledger(workspace), workspace.spec.dataset_name
    try:
        balances = ledger.balances(dataset)
    except NoPolicy:
        return None
    seed_cost = balances[0].seed_cost
    others = [charged.charge for charged in ledger.charges(dataset)]
    before = cost_of((charge for charge in others if charge.release != workspace.release_id), seed_cost)
    caps = []
    for balance in balances:
        told_apart = balance.cap == LIFETIME
        for symbol, figure in (("ε", "epsilon"), ("δ", "delta")):
            limit, spent = getattr(balance.limit, figure), getattr(balance.spent, figure)
            known = getattr(before, figure) if told_apart else None
            caps.append(SpentOfCap(balance.cap, symbol, limit, known, spent))
    return Spending(dataset, tuple(caps), counted(seed_cost).removeprefix("; "))
