"""Checks the events of a step against its spec: the amounts of noise, and the cost claimed for them.

Noise that is scaled without an accountant is determined exactly. Noise that an accountant scaled is taken from the
record: it must be the same in all events of a step, and use the whole budget up to the difference between two
derivations. The events that a step must have are defined by the mechanisms, each in its module `verification`.
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
FileCheck: TypeAlias = Callable[..., tuple[Check, ...]]
"""Checks a public file, from the record's predicate, `schema.json`, the document in it, and those of other files from
which it follows; a document is empty if there is none."""
Delta: TypeAlias = Callable[[Fraction], Fraction]
"""Converts the delta of the whole release to that of a step for the records that it reads."""

FINER = Fraction(99, 100)
"""Factor for noise slightly smaller than the calibrated noise."""

# The epsilon found here is below that of the calibration by less than the first of these shares, and above it only by
# rounding; calibration leaves at most a thousandth unused.
_TIGHTER, _ROUNDING = 5e-3, 1e-6
# Gaussian noise this wide on the integers is practically continuous; see calibrate_discrete_gaussian.
_SMOOTH_SIGMA = 1000
# Logarithms on two machines may differ in the last digits.
_FLOATING = 1e-12
EXACTLY = (_FLOATING, _FLOATING)
_NOTHING = Guarantee(0.0, 0.0, "basic")
_REMEMBERED = 256


@dataclass(frozen=True)
class Planned:
    """What a step must do, derived from spec and domain, with the amounts of noise that the record states.

    Attributes:
        events: its events, for any part.
        amounts: faults of the amounts, if the events otherwise agree.
        claim: faults of the claimed cost, if the events agree.
    """

    events: tuple[MechanismEvent, ...]
    amounts: Callable[[], Iterator[str]]
    claim: Callable[[Guarantee | None], Iterator[str]]


def nothing_wrong() -> Iterator[str]:
    """No faults."""
    return iter(())


@dataclass(frozen=True, kw_only=True)
class ExpectedStep:
    """A step of a mechanism, for verification.

    Attributes:
        part: the part of the rows that it reads, if the split has one for it; None if it reads none, and so costs
            nothing.
        makes: the public files that it makes, by their role.
        plan: what it must do, given the spec's document, the domain, the step as in the record, and its delta.
        beyond: faults where it costs more than the spec allows, given the spec's document, the step, and the
            probability with which a record is read.
        taken_in: the step of the flow in which the cost is spent, if another.
        checks: further checks of its public files, by their names.
        beside: for these files, the names of others from whose documents they follow; none by default.
    """

    part: str | None
    makes: Mapping[str, str] = field(default_factory=dict)
    plan: Callable[[Document, Domain, StepCost, Delta], Planned] = lambda *_: Planned((), nothing_wrong, _no_claim)
    beyond: Callable[[Document, StepCost, Fraction], Iterator[str]] = lambda *_: nothing_wrong()
    taken_in: str = ""
    checks: Mapping[str, FileCheck] = field(default_factory=dict)
    beside: Mapping[str, Sequence[str]] = field(default_factory=dict)


def _no_claim(_: Guarantee | None) -> Iterator[str]:
    return nothing_wrong()


def stated_amount(events: Sequence[MechanismEvent], noise: str) -> Fraction:
    """The amount of noise that the record states; arbitrary if it has none of this kind: the events then differ."""
    for event in events:
        if noise == "laplace" and isinstance(event, DiscreteLaplaceEvent):
            return event.scale
        if noise == "gaussian" and isinstance(event, DiscreteGaussianEvent):
            return event.variance
    return Fraction(1)


def faults_of_amount(events: Sequence[MechanismEvent], epsilon: Fraction, delta: Fraction) -> Iterator[str]:
    """Faults where noise on counts or entropies is not scaled to the budget by an accountant."""
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
    """Cost of noise, including noise that is scaled to a sensitivity known later."""
    kinds = [event]
    if isinstance(event, DiscreteGaussianEvent):
        scale = ceil(_SMOOTH_SIGMA / sqrt(event.variance))
        kinds.append(replace(event, sensitivity=event.sensitivity * scale, variance=event.variance * scale**2))
    return max((tightest_cost((kind,), delta) for kind in kinds), key=lambda cost: cost.epsilon)


def faults_of_use(epsilon: Fraction, spent: Guarantee, with_finer: Guarantee) -> Iterator[str]:
    """Faults where noise does not use its budget.

    Args:
        epsilon: its budget.
        spent: its cost.
        with_finer: cost of slightly smaller noise. At a large delta, epsilon may rise from nothing to more than the
            budget with the last digit of the noise.
    """
    most = float(epsilon) * (1 + _ROUNDING)
    if spent.epsilon > most or (spent.epsilon < float(epsilon) * (1 - _TIGHTER) and with_finer.epsilon <= most):
        yield f"its noise costs epsilon {spent.epsilon:.6g}, but was to be scaled to {float(epsilon):g}"


def faults_of_claim(
    claimed: Guarantee | None, events: Sequence[MechanismEvent], delta: Fraction, whole: Fraction | None = None
) -> Iterator[str]:
    """Faults where the stated cost of a step is not that of its events by the tightest accountant, or its budget."""
    totals = _composed(tuple(events), delta)
    found = None if claimed is None else totals.get(claimed.accountant)
    if claimed is None or found is None:
        yield f"its stated cost is {cost_in_words(claimed)}, which no accountant gives for its events"
        return
    tightest = tightest_cost(events, delta)
    rights = [tightest.epsilon, found.epsilon] if whole is None else [float(whole)]
    if not all(right * (1 - _ROUNDING) <= claimed.epsilon <= right * (1 + _TIGHTER) for right in rights):
        yield f"its stated cost is {cost_in_words(claimed)}, but its events cost {cost_in_words(tightest)}"
    elif not isclose(claimed.delta, found.delta, rel_tol=_ROUNDING):
        yield f"its stated cost is {cost_in_words(claimed)}, but its events cost {cost_in_words(found)}"


def tightest_cost(events: Sequence[MechanismEvent], delta: Fraction) -> Guarantee:
    """Cost of events together by the tightest accountant."""
    return min(_composed(tuple(events), delta).values(), key=lambda total: total.epsilon)


@lru_cache(_REMEMBERED)
def _composed(events: tuple[MechanismEvent, ...], delta: Fraction) -> Mapping[str, Guarantee]:
    """Cost of events by each accountant; zero if there are no events."""
    totals = compose(events, delta, pld=pld_by_hand) if events else {"basic": _NOTHING}
    if not totals:
        raise InvalidInput("no accountant bounds the cost of the events at the spec's delta.")
    return totals


def cost_in_words(guarantee: Guarantee | None) -> str:
    """A cost in the words of a fault, with six digits."""
    if guarantee is None:
        return "nothing that can be stated"
    return f"epsilon {guarantee.epsilon:.6g} at delta {guarantee.delta:.6g} by {guarantee.accountant}"


def beyond_budget(step: StepCost, budget: Mapping[str, Any], read: Fraction = Fraction(1)) -> Iterator[str]:
    """Faults where a step costs more than the spec allows, whose delta is for all records, not only those read."""
    guarantee = step.charged
    if guarantee.epsilon > float(Fraction(budget["epsilon"])) * (1 + _FLOATING):
        yield f"it costs epsilon {guarantee.epsilon}, but the spec allows {budget['epsilon']}"
    if guarantee.delta > float(part_delta(Fraction(budget["delta"]), read)) * (1 + _FLOATING):
        yield f"it costs delta {guarantee.delta} for the records that it reads, but the spec allows {budget['delta']}"


def faults_of_figure(
    claimed: Guarantee | None, found: Guarantee | None, tolerance: tuple[float, float]
) -> Iterator[str]:
    """Faults where a figure differs from its recomputation; to be read after its name."""
    if claimed is None or found is None:
        if claimed is not found:
            yield " is stated, but does not follow" if found is None else " is not stated, but follows"
        return
    above, below = tolerance
    if not found.epsilon * (1 - below) <= claimed.epsilon <= found.epsilon * (1 + above):
        yield f".epsilon is {claimed.epsilon}, but the steps give {found.epsilon}"
    if not isclose(claimed.delta, found.delta, rel_tol=_FLOATING):
        yield f".delta is {claimed.delta}, but the steps give {found.delta}"
    # If noise was composed together, two derivations may find different accountants tightest, by a small margin.
    if claimed.accountant != found.accountant and tolerance == EXACTLY:
        yield f".accountant is {claimed.accountant}, but the steps give {found.accountant}"
