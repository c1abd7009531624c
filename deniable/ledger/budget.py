"""What charges to a dataset cost together, and how that compares with a cap.

Within one split under one key, steps that read the same part add up, and the parts are combined by joint_split; what
reads all rows, other splits and other releases add up again: basic composition. It also holds where what is asked
depends on earlier answers and where the steps of several releases interleave (Vadhan, Zhang 2023), with costs that are
chosen on the way (Haney et al. 2023). Two releases that share a split and a key, as a replay does, are summed as one:
the split hides a record only once. Which charges there are does not belong here (books), nor does what the events of
one charge cost (accounting, seed_accounting).
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal, localcontext
from fractions import Fraction
from functools import partial

from deniable.foundation.errors import InvalidInput, Refused
from deniable.ledger.entries import ALL_ROWS, Charge, Cost, SeedCost
from deniable.privacy.rounding import rounded, rounded_down, rounded_up

LIFETIME = "lifetime"
"""Name of the cap that no calendar ends."""

NOTHING = Cost(epsilon=Fraction(0), delta=Fraction(0))

# Logarithms are taken with this many digits and raised by this much, which is far more than they are wrong by.
_DIGITS = 50
_ROUNDING = Decimal("1e-30")
# Beyond this epsilon the largest of the parts' epsilons is as good a bound as any.
_LARGEST_EXPONENT = 1000


class BudgetExceeded(Refused):
    """A release asks more than is left of a dataset's cap; nothing was written.

    Attributes:
        dataset: name of the dataset.
        cap: the cap that would be exceeded: lifetime, or the name of a period.
        asked: what the release asks.
        left: what is left of the cap.
    """

    def __init__(self, message: str, *, dataset: str, cap: str, asked: Cost, left: Cost) -> None:
        super().__init__(message)
        self.dataset, self.cap, self.asked, self.left = dataset, cap, asked, left

    @classmethod
    def between(cls, balance: "Balance", would_be: "Balance", charges: Sequence[Charge]) -> "BudgetExceeded":
        """Say what some charges ask and what is left, given a cap's balance without and with them."""
        spent, limit, left = balance.spent, balance.limit, balance.left
        asked = Cost(
            epsilon=would_be.spent.epsilon - spent.epsilon,
            delta=would_be.spent.delta - spent.delta,
        )
        steps = ", ".join(dict.fromkeys(charge.step for charge in charges))
        cap = "lifetime cap" if balance.cap == LIFETIME else f"cap for {balance.cap}"
        return cls(
            f"release {charges[0].release} asks epsilon {rounded_up(asked.epsilon)} and delta "
            f"{rounded_up(asked.delta)} of dataset {balance.dataset} for {steps}, and of its {cap} (epsilon "
            f"{rounded(limit.epsilon)}, delta {rounded(limit.delta)}) only epsilon {rounded_down(left.epsilon)} and "
            f"delta {rounded_down(left.delta)} are left{counted(balance.seed_cost)}; nothing was charged "
            "for this: ask for less, or have the dataset's custodian change its policy.",
            dataset=balance.dataset,
            cap=balance.cap,
            asked=asked,
            left=left,
        )

    def __reduce__(self) -> "tuple[Callable[[], BudgetExceeded], tuple[()]]":
        """Be pickled with all attributes, which an exception by itself is not."""
        again = partial(type(self), str(self), dataset=self.dataset, cap=self.cap, asked=self.asked, left=self.left)
        return again, ()


@dataclass(frozen=True, kw_only=True)
class Balance:
    """One cap of a dataset and what was spent of it.

    Attributes:
        dataset: the dataset's name.
        cap: lifetime, or the name of a period.
        limit: the cap.
        spent: what was spent; more than the limit only where the limit was lowered afterwards.
        seed_cost: what was counted of candidates tested for plausible deniability.
    """

    dataset: str
    cap: str
    limit: Cost
    spent: Cost
    seed_cost: SeedCost

    @property
    def left(self) -> Cost:
        """What may still be spent."""
        return Cost(
            epsilon=max(Fraction(0), self.limit.epsilon - self.spent.epsilon),
            delta=max(Fraction(0), self.limit.delta - self.spent.delta),
        )

    @property
    def statement(self) -> str:
        """The balance in words that do not say more than is true."""
        spent = f"{rounded_up(self.spent.epsilon)} of {rounded(self.limit.epsilon)}"
        delta = f"{rounded_up(self.spent.delta)} of {rounded(self.limit.delta)}"
        return f"{self.dataset}, {self.cap}: epsilon {spent}, delta {delta}{counted(self.seed_cost)}"


def counted(seed_cost: SeedCost) -> str:
    """What every statement of a sum must add."""
    if seed_cost == "total":
        return ""
    return (
        "; of candidates tested for plausible deniability only what one attempt costs is counted (Theorem 1), not what "
        "all of them do: the sum is no guarantee for whole releases"
    )


class Tally:
    """A sum that is kept up charge by charge.

    Args:
        seed_cost: what counts of candidates tested for plausible deniability.
    """

    def __init__(self, seed_cost: SeedCost) -> None:
        self._seed_cost = seed_cost
        self._splits: dict[tuple[str, str], tuple[Charge, ...]] = {}
        self._costs: dict[tuple[str, str], Cost] = {}
        self.cost = NOTHING

    def add(self, charge: Charge) -> None:
        """Add a charge.

        Raises:
            InvalidInput: its part does not fit with the other parts of its split.
        """
        self.cost = self.cost_with([charge])
        split = _split(charge)
        self._splits[split] = (*self._splits.get(split, ()), charge)
        self._costs[split] = cost_of_split(self._splits[split], self._seed_cost)

    def cost_with(self, charges: Sequence[Charge]) -> Cost:
        """What the sum would be with some more charges.

        Raises:
            InvalidInput: a part does not fit with the other parts of its split.
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
    """What some charges to one dataset cost together.

    Raises:
        InvalidInput: the parts of a split do not fit together.
    """
    tally = Tally(seed_cost)
    for charge in charges:
        tally.add(charge)
    return tally.cost


def cost_of_split(charges: Sequence[Charge], seed_cost: SeedCost) -> Cost:
    """What the charges to the parts of one split cost together, rounded against us; or those to all rows.

    Within a part costs add up. With eta the sum of the parts' probabilities p_a, the parts together cost epsilon = ln(1
    + sum of p_a (e^epsilon_a - 1)) and delta = eta * (largest delta_a): composition.joint_split, which has the proof.

    Raises:
        InvalidInput: one part has two probabilities, or the probabilities exceed 1 together.
    """
    parts: dict[str, tuple[Fraction, Cost]] = {}
    for charge in charges:
        probability, before = parts.get(charge.part, (charge.probability, NOTHING))
        if probability != charge.probability:
            raise InvalidInput(
                f"the part {charge.part} must have one probability within a split, got {probability} and "
                f"{charge.probability}; give another split another digest."
            )
        parts[charge.part] = probability, before + charge.cost(seed_cost)
    kept = sum((probability for probability, _ in parts.values()), start=Fraction(0))
    if kept > 1:
        raise InvalidInput(
            f"the probabilities of the parts of a split must add up to at most 1, got {kept} for "
            f"{', '.join(sorted(parts))}; charge what reads every record to the part {ALL_ROWS}."
        )
    return Cost(
        epsilon=_joint_epsilon([(probability, cost.epsilon) for probability, cost in parts.values()]),
        delta=kept * max((cost.delta for _, cost in parts.values()), default=Fraction(0)),
    )


def _split(charge: Charge) -> tuple[str, str]:
    """What tells apart the random splits that charges are to; all rows are one that hides nothing."""
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
