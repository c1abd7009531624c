"""Total cost of the charges to a dataset, and its comparison with a cap.

Within one split under one key, the costs of steps on the same part are summed, or composed where a charge states its
cost together with earlier ones, and the parts are combined by joint_split. Steps that read all rows, other splits and
other releases are summed: basic composition. The sum also holds for adaptive queries and for interleaved steps of
several releases (Vadhan, Zhang 2023), with adaptively chosen costs (Haney et al. 2023). Two releases that share a split
and a key, as a replay does, are summed as one, because the split hides a record only once. Charges with a joint cost
are one interactive mechanism with that cost, which these theorems sum with all others, whatever is charged between
them. The list of charges (state) and the cost of one charge's events (accounting, seed_accounting) do not belong here.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal, localcontext
from fractions import Fraction
from functools import partial

from deniable.command_names import command_line
from deniable.foundation.errors import InvalidInput, Refused
from deniable.ledger.entries import ALL_ROWS, Charge, Cost, SeedCost
from deniable.privacy.rounding import rounded, rounded_down, rounded_up

LIFETIME = "lifetime"
"""Name of the cap over a dataset's lifetime."""

NOTHING = Cost(epsilon=Fraction(0), delta=Fraction(0))

# Logarithms are computed with this many digits, and raised by this much, which far exceeds their error.
_DIGITS = 50
_ROUNDING = Decimal("1e-30")
# Above this epsilon the largest of the parts' epsilons is used as the bound.
_LARGEST_EXPONENT = 1000


class BudgetExceeded(Refused):
    """A release requests more than the rest of a dataset's cap; nothing was written.

    Attributes:
        dataset: name of the dataset.
        cap: the cap that would be exceeded: lifetime, or the name of a period.
        asked: the cost that the release requests.
        left: the rest of the cap.
    """

    def __init__(self, message: str, *, dataset: str, cap: str, asked: Cost, left: Cost) -> None:
        super().__init__(message)
        self.dataset, self.cap, self.asked, self.left = dataset, cap, asked, left

    @classmethod
    def between(cls, balance: "Balance", would_be: "Balance", charges: Sequence[Charge]) -> "BudgetExceeded":
        """The error for some charges, given a cap's balance without and with them."""
        spent, limit, left = balance.spent, balance.limit, balance.left
        asked = Cost(
            epsilon=would_be.spent.epsilon - spent.epsilon,
            delta=would_be.spent.delta - spent.delta,
        )
        steps = ", ".join(dict.fromkeys(charge.step for charge in charges))
        cap = "lifetime cap" if balance.cap == LIFETIME else f"cap for {balance.cap}"
        return cls(
            f"release {charges[0].release} requests epsilon {rounded_up(asked.epsilon)} and delta "
            f"{rounded_up(asked.delta)} of dataset {balance.dataset} for {steps}, and of its {cap} (epsilon "
            f"{rounded(limit.epsilon)}, delta {rounded(limit.delta)}) only epsilon {rounded_down(left.epsilon)} and "
            f"delta {rounded_down(left.delta)} are left{counted(balance.seed_cost)}; nothing was charged "
            "for this: request less, or have the dataset's custodian change its policy"
            f"{_one_attempt(balance, charges)}.",
            dataset=balance.dataset,
            cap=balance.cap,
            asked=asked,
            left=left,
        )

    @classmethod
    def without_privacy(cls, balance: "Balance", charges: Sequence[Charge]) -> "BudgetExceeded":
        """The error for steps without differential privacy, given a cap that does not permit them."""
        steps = ", ".join(dict.fromkeys(charge.step for charge in charges))
        return cls(
            f"release {charges[0].release} has no differential privacy in {steps} (delta 1), which dataset "
            f"{balance.dataset} must permit by a cap of delta 1, got {rounded(balance.limit.delta)}; nothing was "
            "charged for this: release with differential privacy, or have the dataset's custodian change its policy.",
            dataset=balance.dataset,
            cap=balance.cap,
            asked=max((charge.claim.cost for charge in charges), key=lambda cost: cost.delta),
            left=balance.left,
        )

    def __reduce__(self) -> "tuple[Callable[[], BudgetExceeded], tuple[()]]":
        """Pickle all attributes, unlike the default for exceptions."""
        again = partial(type(self), str(self), dataset=self.dataset, cap=self.cap, asked=self.asked, left=self.left)
        return again, ()


@dataclass(frozen=True, kw_only=True)
class Balance:
    """One cap of a dataset and the amount spent.

    Attributes:
        dataset: the dataset's name.
        cap: lifetime, or the name of a period.
        limit: the cap.
        spent: the amount spent; above the limit only if the limit was lowered afterwards.
        seed_cost: the cost counted for candidates tested for plausible deniability.
    """

    dataset: str
    cap: str
    limit: Cost
    spent: Cost
    seed_cost: SeedCost

    @property
    def left(self) -> Cost:
        """The remaining budget."""
        return Cost(
            epsilon=max(Fraction(0), self.limit.epsilon - self.spent.epsilon),
            delta=max(Fraction(0), self.limit.delta - self.spent.delta),
        )

    @property
    def statement(self) -> str:
        """The balance in words, with the caveat on what is counted."""
        spent = f"{rounded_up(self.spent.epsilon)} of {rounded(self.limit.epsilon)}"
        delta = f"{rounded_up(self.spent.delta)} of {rounded(self.limit.delta)}"
        return f"{self.dataset}, {self.cap}: epsilon {spent}, delta {delta}{counted(self.seed_cost)}"


def counted(seed_cost: SeedCost) -> str:
    """The caveat that must accompany every statement of a sum."""
    if seed_cost == "total":
        return ""
    return (
        "; for candidates tested for plausible deniability only the cost of one attempt is counted (Theorem 1), not "
        "that of all: the sum is no guarantee for whole releases"
    )


def _one_attempt(balance: Balance, charges: Sequence[Charge]) -> str:
    """The remedy if all candidates count, but a spec may have requested the cost of one attempt."""
    if balance.seed_cost == "per_record" or all(charge.per_record is None for charge in charges):
        return ""
    return (
        ", by which all candidates tested for plausible deniability count, whatever a spec's budget says "
        f"({command_line('budget set')} {balance.dataset} --epsilon E --delta D --seed-cost per_record counts one "
        "attempt, a measure of use and no guarantee)"
    )


class Tally:
    """A sum that is updated charge by charge.

    Args:
        seed_cost: the cost counted for candidates tested for plausible deniability.
    """

    def __init__(self, seed_cost: SeedCost) -> None:
        self._seed_cost = seed_cost
        self._splits: dict[tuple[str, str], tuple[Charge, ...]] = {}
        self._costs: dict[tuple[str, str], Cost] = {}
        self.cost = NOTHING

    def add(self, charge: Charge) -> None:
        """Add a charge.

        Raises:
            InvalidInput: its part is inconsistent with the other parts of its split.
        """
        split = _split(charge)
        charges = (*self._splits.get(split, ()), charge)
        cost, before = cost_of_split(charges, self._seed_cost), self._costs.get(split, NOTHING)
        self.cost = Cost(
            epsilon=self.cost.epsilon + cost.epsilon - before.epsilon, delta=self.cost.delta + cost.delta - before.delta
        )
        self._splits[split], self._costs[split] = charges, cost

    def cost_with(self, charges: Sequence[Charge]) -> Cost:
        """The sum with further charges.

        Raises:
            InvalidInput: a part is inconsistent with the other parts of its split.
        """
        costs = dict.fromkeys((_split(charge) for charge in charges), NOTHING)
        for split in costs:
            more = [charge for charge in charges if _split(charge) == split]
            costs[split] = cost_of_split([*self._splits.get(split, ()), *more], self._seed_cost)
        before = [self._costs.get(split, NOTHING) for split in costs]
        return Cost(
            epsilon=self.cost.epsilon + sum(c.epsilon for c in costs.values()) - sum(c.epsilon for c in before),
            delta=self.cost.delta + sum(c.delta for c in costs.values()) - sum(c.delta for c in before),
        )


def cost_of(charges: Iterable[Charge], seed_cost: SeedCost = "total") -> Cost:
    """Total cost of some charges to one dataset.

    Raises:
        InvalidInput: the parts of a split are inconsistent.
    """
    tally = Tally(seed_cost)
    for charge in charges:
        tally.add(charge)
    return tally.cost


def cost_of_split(charges: Sequence[Charge], seed_cost: SeedCost) -> Cost:
    """Total cost of the charges to the parts of one split, rounded up; or of those to all rows.

    Within a part costs are summed, or composed (`cost_of_part`). With eta the sum of the parts' probabilities p_a, the
    parts together cost epsilon = ln(1 + sum of p_a (e^epsilon_a - 1)) and delta = eta * (largest delta_a):
    composition.joint_split, which has the proof.

    Raises:
        InvalidInput: one part has two probabilities, or the probabilities sum to more than 1.
    """
    by_part: dict[str, list[Charge]] = {}
    for charge in charges:
        before = by_part.setdefault(charge.part, [])
        if before and before[0].probability != charge.probability:
            raise InvalidInput(
                f"the part {charge.part} must have one probability within a split, got {before[0].probability} and "
                f"{charge.probability}; give another split another digest."
            )
        before.append(charge)
    parts = {part: (those[0].probability, cost_of_part(those, seed_cost)) for part, those in by_part.items()}
    kept = sum((probability for probability, _ in parts.values()), start=Fraction(0))
    if kept > 1:
        raise InvalidInput(
            f"the probabilities of the parts of a split must sum to at most 1, got {kept} for "
            f"{', '.join(sorted(parts))}; charge steps that read every record to the part {ALL_ROWS}."
        )
    return Cost(
        epsilon=_joint_epsilon([(probability, cost.epsilon) for probability, cost in parts.values()]),
        delta=kept * max((cost.delta for _, cost in parts.values()), default=Fraction(0)),
    )


def cost_of_part(charges: Sequence[Charge], seed_cost: SeedCost) -> Cost:
    """Total cost of charges to the same rows: their sum, in which a joint cost replaces the charges that it is of.

    It does so only if all of these are among the charges, and none of them is part of another joint cost: the sum of a
    period may lack those of the period before, and then counts the charge with its cost alone.

    Args:
        charges: the charges, in the order in which they were reserved.
        seed_cost: the cost counted for candidates tested for plausible deniability.
    """
    if all(charge.joint is None for charge in charges):
        return sum((charge.cost(seed_cost) for charge in charges), start=NOTHING)
    alone: dict[str, Cost] = {}
    together = NOTHING
    for charge in charges:
        cost, joint = charge.cost(seed_cost), charge.joint
        if joint is not None and alone.keys() >= set(joint.others):
            apart = sum((alone[identity] for identity in joint.others), start=cost)
            if not joint.claim.cost.exceeds(apart):
                together += joint.claim.cost
                alone = {identity: each for identity, each in alone.items() if identity not in joint.others}
                continue
        alone[charge.identity] = alone.get(charge.identity, NOTHING) + cost
    return sum(alone.values(), start=together)


def _split(charge: Charge) -> tuple[str, str]:
    """The random split to which a charge belongs; reading all rows counts as a split that hides nothing."""
    return (charge.commitment, charge.split) if charge.part != ALL_ROWS else ("", "")


def _joint_epsilon(parts: Sequence[tuple[Fraction, Fraction]]) -> Fraction:
    """ln(1 + sum of p (e^epsilon - 1)), never below its exact value and never above the largest epsilon."""
    most = max((epsilon for _, epsilon in parts), default=Fraction(0))
    if most > _LARGEST_EXPONENT:
        return most
    with localcontext(prec=_DIGITS, rounding=ROUND_CEILING):
        growth = sum(
            (_decimal(probability) * (_decimal(epsilon).exp() - 1) for probability, epsilon in parts), start=Decimal(0)
        )
        return min(most, Fraction((1 + growth).ln() + _ROUNDING))


def _decimal(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / Decimal(value.denominator)
