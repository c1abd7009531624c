"""Verification of what was done to the data against what the spec asks for: each event, derived from spec and domain.

Noise that is scaled without an accountant follows exactly. What an accountant scaled is taken from the record: it must
be the same in all events of a step, and use the whole budget but for what two derivations may differ by. So no event
can be left out, added or replaced, and nothing in one can be changed but such an amount within that difference, even by
someone who signs the result.

What the events of a step cost, and whether the ledger was charged for them, does not belong here (cost_verification,
segment_verification). Nothing here needs more than the wheel requires.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from math import ceil, isclose, sqrt
from typing import Any, TypeAlias

from deniable.accounting import compose
from deniable.checks import Check
from deniable.common_events import count_events, noised_tables, tested_candidates
from deniable.domain import Domain
from deniable.entropies import BETA_SHARE, EntropyMechanism, EntropyRecipe, entropy_queries
from deniable.errors import InvalidInput
from deniable.histogram_seeds import HistogramRecipe
from deniable.loglinear.plan import LoglinearPlan, LoglinearRecipe
from deniable.loss import (
    DiscreteGaussianEvent,
    DiscreteLaplaceEvent,
    ExponentialEvent,
    Guarantee,
    MechanismEvent,
)
from deniable.loss_laws import pld_by_hand
from deniable.step_costs import EXACT_COUNTS, StepCost, part_delta, read_probability
from deniable.strict_json import same

Document: TypeAlias = Mapping[str, Any]
Delta: TypeAlias = Callable[[Fraction], Fraction]
"""From the delta of the whole release to that of a step for the records that it reads."""

# The epsilon that is found here is below that of whoever scaled the noise by less than the first of these shares, and
# above it by rounding alone; of this, what calibration leaves unused is a thousandth at most.
_TIGHTER, _ROUNDING = 5e-3, 1e-6
_FOUR_DIGITS = 2e-3
_FINER = Fraction(99, 100)
# Gaussian noise of this many integers is as good as continuous; see calibrate_discrete_gaussian.
_SMOOTH_SIGMA = 1000
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


def check_planned(record: Document, domain: Domain, steps: Sequence[StepCost]) -> Check:
    """Whether the events of each step are those that the spec asks for.

    Args:
        record: the record's predicate.
        domain: the public domain.
        steps: what the steps cost, by the record.
    """
    spec = record["spec"]["document"]

    def faults(delta: Delta) -> tuple[str, ...]:
        return tuple(
            f"step {step.step}: {fault}"
            for step, stated in zip(steps, record["cost"]["steps"], strict=True)
            if step.step in _PLANS
            for fault in _faults(_PLANS[step.step](spec, domain, step, delta), step, stated["events"])
        )

    found = faults(lambda whole: part_delta(whole, _read(spec)))
    # Releases were once planned with the spec's delta for the records that a step reads, which is less.
    earlier = found and faults(lambda whole: whole)
    return Check("the events of every step are those that spec and domain ask for", found if earlier else ())


def _faults(planned: Planned, step: StepCost, stated: Sequence[Document]) -> Iterator[str]:
    expected = [replace(event, part=step.part, sampling_rate=step.probability) for event in planned.events]
    differences = list(_differences(stated, [event.to_record() for event in expected]))
    if differences:
        yield from differences
        return
    yield from planned.amounts()
    yield from planned.claim(step.guarantee)


def _differences(stated: Sequence[Document], expected: Sequence[Document]) -> Iterator[str]:
    """Where events are not those that are expected, field by field."""
    for number, (one, other) in enumerate(zip(stated, expected, strict=False), 1):
        if one["mechanism"] != other["mechanism"]:
            yield f"event {number} is of the mechanism {one['mechanism']}, and the spec asks for {other['mechanism']}"
            continue
        for name in other:
            if not same(one.get(name), other[name]):
                yield f"event {number} has {name} {one.get(name)}, and the spec asks for {other[name]}"
    if len(stated) != len(expected):
        yield f"it has {len(stated)} events, and the spec asks for {len(expected)}"


def _read(spec: Document) -> Fraction:
    """The probability with which a record is used for anything that costs."""
    split = {name: Fraction(probability) for name, probability in spec["split"].items()}
    structure, seeds = spec["learner"]["structure"] is not None, spec["synthesis"]["guarantee"] != "seedless"
    return read_probability(split, structure=structure, seeds=seeds)


def _learnt_structure(spec: Document, domain: Domain, step: StepCost, delta_of: Delta) -> Planned:
    asked, noise = spec["learner"]["structure"], spec["learner"]["noise"]
    recipe = EntropyRecipe(
        Fraction(asked["epsilon"]), delta_of(Fraction(asked["delta"])), Fraction(asked["epsilon_rows"]), noise
    )
    # The number of rows is the first of the events, and has Laplace noise too.
    ratio = _amount(step.events[1:], noise)
    mechanism = EntropyMechanism(recipe, domain, entropy_queries(domain), ratio)
    epsilon, delta = recipe.epsilon - recipe.epsilon_rows, recipe.delta * (1 - BETA_SHARE)

    def claim(guarantee: Guarantee | None) -> Iterator[str]:
        # Gaussian noise is scaled to a sensitivity known later: its budget is claimed, not what the finest would cost.
        whole = recipe.epsilon if noise == "gaussian" else None
        return _faults_of_claim(guarantee, mechanism.events, recipe.delta, whole)

    return Planned(mechanism.events, lambda: _faults_of_amount(mechanism.events[2:], epsilon, delta), claim)


def _learnt_parameters(spec: Document, domain: Domain, step: StepCost, delta_of: Delta) -> Planned:
    learner = spec["learner"]
    epsilon, delta = Fraction(learner["parameters"]["epsilon"]), delta_of(Fraction(learner["parameters"]["delta"]))
    if learner["kind"] == "loglinear":
        return _loglinear(LoglinearRecipe(epsilon, delta, learner["noise"]), domain, step)
    events = count_events(noised_tables(domain), learner["noise"], _amount(step.events, learner["noise"]))
    return Planned(
        events,
        lambda: _faults_of_amount(events, epsilon, delta),
        lambda guarantee: _faults_of_claim(guarantee, events, delta),
    )


def _loglinear(recipe: LoglinearRecipe, domain: Domain, step: StepCost) -> Planned:
    plan = recipe.with_laplace(domain)
    layout = plan.layout
    noise = recipe.noise_for(layout)
    if noise == "gaussian":
        choices = [event.epsilon_per_choice for event in step.events if isinstance(event, ExponentialEvent)]
        choice = choices[0] if choices else Fraction(1)
        plan = LoglinearPlan(recipe, domain, layout, "gaussian", _amount(step.events, noise), choice)

    def amounts() -> Iterator[str]:
        if noise == "gaussian":
            right = layout.choice_epsilon(layout.rho_of(float(plan.amount)))
            if layout.choices and not isclose(plan.choice_epsilon, right, rel_tol=_FOUR_DIGITS):
                yield f"a choice has epsilon {float(plan.choice_epsilon):g}, and beside such noise {right:g} is right"
            finer = replace(plan, amount=plan.amount * _FINER)
            yield from _faults_of_use(recipe.epsilon, *(_tightest(each.events, recipe.delta) for each in (plan, finer)))

    return Planned(plan.events, amounts, lambda guarantee: _faults_of_claim(guarantee, plan.events, recipe.delta))


def _noised_seeds(spec: Document, _: Domain, __: StepCost, delta_of: Delta) -> Planned:
    asked = spec["synthesis"]
    beta, rows = asked["beta"], asked["epsilon_rows"]
    mechanism = HistogramRecipe(
        epsilon=Fraction(asked["epsilon"]),
        delta=delta_of(Fraction(asked["delta"])),
        k=asked["k"],
        beta=None if beta is None else Fraction(beta),
        max_rows=asked["max_rows"],
        epsilon_rows=None if rows is None else Fraction(rows),
    ).calibrate()

    def claim(guarantee: Guarantee | None) -> Iterator[str]:
        if guarantee != mechanism.guarantee:
            yield f"it is said to cost {_shown(guarantee)}, and costs {_shown(mechanism.guarantee)}"

    return Planned(mechanism.events, _none, claim)


def _tested(spec: Document, _: Domain, __: StepCost, ___: Delta) -> Planned:
    asked = spec["synthesis"]
    if asked["test"] == 1:
        return Planned((EXACT_COUNTS,), _none, lambda _: _none())
    event = tested_candidates(
        candidates=asked["candidates"],
        k=asked["k"],
        gamma=Fraction(asked["gamma"]),
        eps0=Fraction(asked["eps0"]),
        public_rows=asked["public_rows"],
        drop_probability=Fraction(asked["drop_probability"]),
        prefixes=len(asked["omega"]),
    )
    return Planned((event,), _none, lambda _: _none())


_PLANS: dict[str, Callable[[Document, Domain, StepCost, Delta], Planned]] = {
    "learn_structure": _learnt_structure,
    "learn_parameters": _learnt_parameters,
    "noise_seeds": _noised_seeds,
    "synthesize": _tested,
}


def _none() -> Iterator[str]:
    """Nothing is left to be wrong."""
    return iter(())


def _amount(events: Sequence[MechanismEvent], noise: str) -> Fraction:
    """The amount of noise that the record states; where there is none of this kind, any: the events differ anyway."""
    for event in events:
        if noise == "laplace" and isinstance(event, DiscreteLaplaceEvent):
            return event.scale
        if noise == "gaussian" and isinstance(event, DiscreteGaussianEvent):
            return event.variance
    return Fraction(1)


def _faults_of_amount(events: Sequence[MechanismEvent], epsilon: Fraction, delta: Fraction) -> Iterator[str]:
    """Where noise on counts or entropies is not what an accountant scales for a budget."""
    if not events:
        return
    (event,) = events
    yield from _faults_of_use(epsilon, _worst(event, delta), _worst(_with_finer_noise(event), delta))


def _with_finer_noise(event: MechanismEvent) -> MechanismEvent:
    if isinstance(event, DiscreteGaussianEvent):
        return replace(event, variance=event.variance * _FINER)
    if isinstance(event, DiscreteLaplaceEvent):
        return replace(event, scale=event.scale * _FINER)
    raise TypeError(event.mechanism)


def _worst(event: MechanismEvent, delta: Fraction) -> Guarantee:
    """What noise costs, also where it is scaled to a sensitivity that is known later."""
    kinds = [event]
    if isinstance(event, DiscreteGaussianEvent):
        scale = ceil(_SMOOTH_SIGMA / sqrt(event.variance))
        kinds.append(replace(event, sensitivity=event.sensitivity * scale, variance=event.variance * scale**2))
    return max((_tightest((kind,), delta) for kind in kinds), key=lambda cost: cost.epsilon)


def _faults_of_use(epsilon: Fraction, spent: Guarantee, with_finer: Guarantee) -> Iterator[str]:
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


def _faults_of_claim(
    claimed: Guarantee | None, events: Sequence[MechanismEvent], delta: Fraction, whole: Fraction | None = None
) -> Iterator[str]:
    """Where a step is not said to cost what its events cost by the tightest accountant, or its whole epsilon."""
    totals = _composed(tuple(events), delta)
    found = None if claimed is None else totals.get(claimed.accountant)
    if claimed is None or found is None:
        yield f"it is said to cost {_shown(claimed)}, which no accountant says of its events"
        return
    tightest = _tightest(events, delta)
    rights = [tightest.epsilon, found.epsilon] if whole is None else [float(whole)]
    if not all(right * (1 - _ROUNDING) <= claimed.epsilon <= right * (1 + _TIGHTER) for right in rights):
        yield f"it is said to cost {_shown(claimed)}, and its events cost {_shown(tightest)}"
    elif not isclose(claimed.delta, found.delta, rel_tol=_ROUNDING):
        yield f"it is said to cost {_shown(claimed)}, and its events cost {_shown(found)}"


def _tightest(events: Sequence[MechanismEvent], delta: Fraction) -> Guarantee:
    return min(_composed(tuple(events), delta).values(), key=lambda total: total.epsilon)


@lru_cache(_REMEMBERED)
def _composed(events: tuple[MechanismEvent, ...], delta: Fraction) -> Mapping[str, Guarantee]:
    """What events cost by each accountant; where there are none, nothing."""
    totals = compose(events, delta, pld=pld_by_hand) if events else {"basic": _NOTHING}
    if not totals:
        raise InvalidInput("no accountant says anything of the events at the spec's delta.")
    return totals


def _shown(guarantee: Guarantee | None) -> str:
    if guarantee is None:
        return "nothing that can be stated"
    return f"epsilon {guarantee.epsilon:.6g} at delta {guarantee.delta:.6g} by {guarantee.accountant}"
