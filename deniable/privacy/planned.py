"""Checks the events of a step against what its spec asks for: amounts of noise, and what they are claimed to cost.

Noise that is scaled without an accountant follows exactly. What an accountant scaled is taken from the record: it must
be the same in all events of a step, and use the whole budget but for what two derivations may differ by. Which events a
step must have is for the mechanisms, each in a module `verification` of its own.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from math import ceil, isclose, sqrt
from typing import Any, TypeAlias

from deniable.foundation.checks import Check
from deniable.foundation.domain import Domain
from deniable.foundation.errors import InvalidInput
from deniable.privacy.accounting import compose
from deniable.privacy.loss import DiscreteGaussianEvent, DiscreteLaplaceEvent, Guarantee, MechanismEvent
from deniable.privacy.loss_laws import pld_by_hand
from deniable.privacy.step_costs import StepCost, part_delta

Document: TypeAlias = Mapping[str, Any]
FileCheck: TypeAlias = Callable[[Document, Document, Document], tuple[Check, ...]]
"""Checks a public file, from the record's predicate, `schema.json` and the document in it; empty if there is none."""
Delta: TypeAlias = Callable[[Fraction], Fraction]
"""From the delta of the whole release to that of a step for the records that it reads."""

FINER = Fraction(99, 100)
"""Noise of this share is finer than what was scaled."""

# The epsilon that is found here is below that of whoever scaled the noise by less than the first of these shares, and
# above it by rounding alone; of this, what calibration leaves unused is a thousandth at most.
_TIGHTER, _ROUNDING = 5e-3, 1e-6
# Gaussian noise of this many integers is as good as continuous; see calibrate_discrete_gaussian.
_SMOOTH_SIGMA = 1000
# Two machines' logarithms may differ in the last digits.
_FLOATING = 1e-12
EXACTLY = (_FLOATING, _FLOATING)
_NOTHING = Guarantee(0.0, 0.0, "basic")
_REMEMBERED = 256


@dataclass(frozen=True)
class Planned:
    """What a step must do, as it follows from spec and domain, with the amounts of noise that the record states.

    Attributes:
        events: its events, of whatever part.
        amounts: what is wrong with the amounts, if the events are otherwise these.
        claim: what is wrong with what it is said to cost, if they are.
    """

    events: tuple[MechanismEvent, ...]
    amounts: Callable[[], Iterator[str]]
    claim: Callable[[Guarantee | None], Iterator[str]]


def nothing_wrong() -> Iterator[str]:
    """Nothing is left to be wrong."""
    return iter(())


@dataclass(frozen=True, kw_only=True)
class ExpectedStep:
    """A step of a mechanism, as its verifier knows it.

    Attributes:
        part: the part of the rows that it reads, where the split has one for it; None where it reads none, and so
            costs nothing.
        makes: the public files that it makes, by what they are.
        plan: what it must do, by the spec's document, the domain, the step as the record has it, and its delta.
        beyond: where it costs more than the spec allows, by the spec's document, the step, and the probability with
            which a record is read.
        taken_in: the step of the flow in which the cost is spent, where that is another one.
        checks: what else is checked of its public files, by their names.
    """

    part: str | None
    makes: Mapping[str, str] = field(default_factory=dict)
    plan: Callable[[Document, Domain, StepCost, Delta], Planned] = lambda *_: Planned((), nothing_wrong, _no_claim)
    beyond: Callable[[Document, StepCost, Fraction], Iterator[str]] = lambda *_: nothing_wrong()
    taken_in: str = ""
    checks: Mapping[str, FileCheck] = field(default_factory=dict)


def _no_claim(_: Guarantee | None) -> Iterator[str]:
    return nothing_wrong()


def stated_amount(events: Sequence[MechanismEvent], noise: str) -> Fraction:
    """The amount of noise that the record states; where there is none of this kind, any: the events differ anyway."""
    for event in events:
        if noise == "laplace" and isinstance(event, DiscreteLaplaceEvent):
            return event.scale
        if noise == "gaussian" and isinstance(event, DiscreteGaussianEvent):
            return event.variance
    return Fraction(1)


def faults_of_amount(events: Sequence[MechanismEvent], epsilon: Fraction, delta: Fraction) -> Iterator[str]:
    """Where noise on counts or entropies is not what an accountant scales for a budget."""
    if not events:
        return
    (event,) = events
    yield from faults_of_use(epsilon, _worst(event, delta), _worst(_with_finer_noise(event), delta))


def _with_finer_noise(event: MechanismEvent) -> MechanismEvent:
    if isinstance(event, DiscreteGaussianEvent):
        return replace(event, variance=event.variance * FINER)
    if isinstance(event, DiscreteLaplaceEvent):
        return replace(event, scale=event.scale * FINER)
    raise TypeError(event.mechanism)


def _worst(event: MechanismEvent, delta: Fraction) -> Guarantee:
    """What noise costs, also where it is scaled to a sensitivity that is known later."""
    kinds = [event]
    if isinstance(event, DiscreteGaussianEvent):
        scale = ceil(_SMOOTH_SIGMA / sqrt(event.variance))
        kinds.append(replace(event, sensitivity=event.sensitivity * scale, variance=event.variance * scale**2))
    return max((tightest_cost((kind,), delta) for kind in kinds), key=lambda cost: cost.epsilon)


def faults_of_use(epsilon: Fraction, spent: Guarantee, with_finer: Guarantee) -> Iterator[str]:
    """Where noise does not cost what it was to cost.

    Args:
        epsilon: what it was to cost.
        spent: what it costs.
        with_finer: what finer noise would cost. At a large delta epsilon may rise from nothing to more than the budget
            with the last digit of the noise.
    """
    most = float(epsilon) * (1 + _ROUNDING)
    if spent.epsilon > most or (spent.epsilon < float(epsilon) * (1 - _TIGHTER) and with_finer.epsilon <= most):
        yield f"its noise costs epsilon {spent.epsilon:.6g}, and was to be scaled to {float(epsilon):g}"


def faults_of_claim(
    claimed: Guarantee | None, events: Sequence[MechanismEvent], delta: Fraction, whole: Fraction | None = None
) -> Iterator[str]:
    """Where a step is not said to cost what its events cost by the tightest accountant, or its whole epsilon."""
    totals = _composed(tuple(events), delta)
    found = None if claimed is None else totals.get(claimed.accountant)
    if claimed is None or found is None:
        yield f"it is said to cost {cost_in_words(claimed)}, which no accountant says of its events"
        return
    tightest = tightest_cost(events, delta)
    rights = [tightest.epsilon, found.epsilon] if whole is None else [float(whole)]
    if not all(right * (1 - _ROUNDING) <= claimed.epsilon <= right * (1 + _TIGHTER) for right in rights):
        yield f"it is said to cost {cost_in_words(claimed)}, and its events cost {cost_in_words(tightest)}"
    elif not isclose(claimed.delta, found.delta, rel_tol=_ROUNDING):
        yield f"it is said to cost {cost_in_words(claimed)}, and its events cost {cost_in_words(found)}"


def tightest_cost(events: Sequence[MechanismEvent], delta: Fraction) -> Guarantee:
    """What events cost together by the accountant that says least."""
    return min(_composed(tuple(events), delta).values(), key=lambda total: total.epsilon)


@lru_cache(_REMEMBERED)
def _composed(events: tuple[MechanismEvent, ...], delta: Fraction) -> Mapping[str, Guarantee]:
    """What events cost by each accountant; where there are none, nothing."""
    totals = compose(events, delta, pld=pld_by_hand) if events else {"basic": _NOTHING}
    if not totals:
        raise InvalidInput("no accountant says anything of the events at the spec's delta.")
    return totals


def cost_in_words(guarantee: Guarantee | None) -> str:
    """A cost as a fault names it, in six digits."""
    if guarantee is None:
        return "nothing that can be stated"
    return f"epsilon {guarantee.epsilon:.6g} at delta {guarantee.delta:.6g} by {guarantee.accountant}"


def beyond_budget(step: StepCost, budget: Mapping[str, Any], read: Fraction = Fraction(1)) -> Iterator[str]:
    """Where a step costs more than the spec allows, whose delta is that of all records, of which only some are read."""
    guarantee = step.charged
    if guarantee.epsilon > float(Fraction(budget["epsilon"])) * (1 + _FLOATING):
        yield f"it costs epsilon {guarantee.epsilon}, and the spec allows {budget['epsilon']}"
    if guarantee.delta > float(part_delta(Fraction(budget["delta"]), read)) * (1 + _FLOATING):
        yield f"it costs delta {guarantee.delta} for the records that it reads, and the spec allows {budget['delta']}"


def faults_of_figure(
    claimed: Guarantee | None, found: Guarantee | None, tolerance: tuple[float, float]
) -> Iterator[str]:
    """Where a figure is not what is worked out again; to be read after its name."""
    if claimed is None or found is None:
        if claimed is not found:
            yield " is stated, and does not follow" if found is None else " is not stated, and follows"
        return
    above, below = tolerance
    if not found.epsilon * (1 - below) <= claimed.epsilon <= found.epsilon * (1 + above):
        yield f".epsilon is {claimed.epsilon}, and the steps make it {found.epsilon}"
    if not isclose(claimed.delta, found.delta, rel_tol=_FLOATING):
        yield f".delta is {claimed.delta}, and the steps make it {found.delta}"
    # Where noise was composed as one, two derivations may find different accountants the tightest, by a hair.
    if claimed.accountant != found.accountant and tolerance == EXACTLY:
        yield f".accountant is {claimed.accountant}, and the steps make it {found.accountant}"
