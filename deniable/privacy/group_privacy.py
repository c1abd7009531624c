"""Group privacy: from a guarantee for one record to one for a person with several, and back for budgets.

Which records of a person are used does not belong here (one_person), nor how steps compose (step_costs).

**Claim.** Let M be (epsilon, delta)-differentially private for one record added or removed, and let D and D' differ by
s <= r records added or removed. Then for every set S

    P[M(D') in S] <= e^(r epsilon) P[M(D) in S] + (1 + e^epsilon + ... + e^((r - 1) epsilon)) delta,

and the other way round.

**Derivation.** Add the records one by one: D = D_0, D_1, ..., D_s = D', of which each is a neighbour of the next.
P[M(D_s) in S] <= e^epsilon P[M(D_(s-1)) in S] + delta, and the same for D_(s-1), and so on to D_0: the factors of
epsilon multiply, and the delta of step i is multiplied by the i factors before it. Both sums grow with s, so that r
bounds s. The other direction is the same chain read backwards. The sum is (e^(r epsilon) - 1) / (e^epsilon - 1), and r
for epsilon 0.

**What it costs.** Gaussian noise for r records needs r times the standard deviation of that for one, if r may be in one
count. At epsilon 1 and delta 1e-9 the claim above needs at most 1.0014 r times it (r = 2, 3, 5, 10; 1 and 50 counts,
composed by privacy loss distributions). Group privacy of zCDP, r^2 rho (Bun, Steinke 2016, Proposition 27), needs
1.05 r times it, because its conversion to epsilon and delta is not tight. Laplace noise needs r times the scale by
either. The claim holds for every mechanism, whatever its events are, so it is the only rule here.

Source: Dwork, Roth 2014, Theorem 2.2 (delta 0); Vadhan 2017, "The Complexity of Differential Privacy", Lemma 2.2.
"""

from collections.abc import Mapping
from decimal import ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from math import exp, fsum, isfinite
from typing import Any

from deniable.privacy.loss import Guarantee

ACCOUNTANT = "group_privacy"
"""Name of the theorem in the accountant of a guarantee for a person with several records."""

BUDGETS = ("structure", "parameters")
"""The budgets of learners that add noise to counts, by their names in a learner's entry."""

_MARK = f"{ACCOUNTANT} + "
# The sum of exponentials is raised by this share, which exceeds the rounding errors of 100 terms.
_ROUNDING = 1e-13
# A record's delta is lowered by this share, which exceeds the former.
_MARGIN = Decimal("1e-12")
_EXACT = Context(prec=50)
# A record's epsilon and delta are decimal numbers with so many digits, so that all machines arrive at the same ones.
_EPSILON, _DELTA = Context(prec=12, rounding=ROUND_FLOOR), Context(prec=9, rounding=ROUND_FLOOR)


def of_person(guarantee: Guarantee, most_records: int) -> Guarantee:
    """The guarantee for a person of whom at most `most_records` records are read, from that for one record."""
    if most_records == 1 or not isfinite(guarantee.epsilon):
        return guarantee
    return Guarantee(
        # Of the decimal literal, as in a ledger, so that three times 0.1 is 0.3.
        epsilon=float(Fraction(repr(guarantee.epsilon)) * most_records),
        delta=min(1.0, guarantee.delta * _growth(guarantee.epsilon, most_records)) if guarantee.delta else 0.0,
        accountant=f"{_MARK}{guarantee.accountant}",
    )


def of_record(guarantee: Guarantee, most_records: int) -> Guarantee:
    """The guarantee for one record of which `of_person` makes a given one, up to rounding."""
    if most_records == 1 or not isfinite(guarantee.epsilon):
        return guarantee
    epsilon = guarantee.epsilon / most_records
    return Guarantee(
        epsilon=epsilon,
        delta=guarantee.delta / _growth(epsilon, most_records),
        accountant=guarantee.accountant.removeprefix(_MARK),
    )


def delta_of_record(epsilon: float, delta: float, most_records: int) -> float:
    """The delta for one record, at a given epsilon for one record, that goes with a delta for a person."""
    return delta if most_records == 1 else delta / _growth(epsilon, most_records)


def budget_of_record(epsilon: Fraction, delta: Fraction, most_records: int) -> tuple[Fraction, Fraction]:
    """The budget for one record that stays within a person's budget, rounded down to decimal numbers.

    Args:
        epsilon: the person's epsilon, above 0.
        delta: the person's delta, in [0, 1).
        most_records: the most records of one person that are read.

    Returns:
        Epsilon and delta for one record; the person's own if `most_records` is 1.
    """
    if most_records == 1:
        return epsilon, delta
    of_one = _EPSILON.divide(Decimal(epsilon.numerator), Decimal(epsilon.denominator * most_records))
    growth = Decimal(0)
    for added in range(most_records):
        growth = _EXACT.add(growth, _EXACT.exp(_EXACT.multiply(Decimal(added), of_one)))
    lowered = _EXACT.multiply(Decimal(delta.numerator), 1 - _MARGIN)
    return Fraction(of_one), Fraction(_DELTA.divide(lowered, _EXACT.multiply(Decimal(delta.denominator), growth)))


def amounts_of_record(budget: Mapping[str, Any], most_records: int) -> dict[str, Fraction]:
    """The amounts of a learner's budget for one record, by their names in its entry.

    Args:
        budget: the amounts of the person's budget: `epsilon`, and `delta` and `epsilon_rows` where it has them.
        most_records: the most records of one person that are read.
    """
    epsilon, delta = Fraction(budget["epsilon"]), Fraction(budget.get("delta", 0))
    of_one, delta_of_one = budget_of_record(epsilon, delta, most_records)
    amounts = {"epsilon": of_one}
    if "delta" in budget:
        amounts["delta"] = delta_of_one
    if "epsilon_rows" in budget:
        amounts["epsilon_rows"] = Fraction(budget["epsilon_rows"]) / epsilon * of_one
    return amounts


def learner_of_record(asked: Mapping[str, Any], most_records: int) -> Mapping[str, Any]:
    """A learner's entry as in the record, with its budgets for one record instead of those for a person."""
    if most_records == 1:
        return asked
    budgets = {name: asked[name] for name in BUDGETS if asked.get(name) is not None}
    changed = {
        name: {**budget, **{key: str(amount) for key, amount in amounts_of_record(budget, most_records).items()}}
        for name, budget in budgets.items()
    }
    return {**asked, **changed}


def _growth(epsilon: float, records: int) -> float:
    """1 + e^epsilon + ... + e^((records - 1) epsilon), rounded up."""
    try:
        return fsum(exp(added * epsilon) for added in range(records)) * (1 + _ROUNDING)
    except OverflowError:
        return float("inf")
