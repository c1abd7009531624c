"""The requirements on the test of candidates, derived from the spec."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any, Final

from deniable.foundation.domain import Domain
from deniable.plausible_deniability.privacy_tests import best_t, theorem_1
from deniable.plausible_deniability.seed_accounting import record_guarantee
from deniable.privacy.common_events import tested_candidates
from deniable.privacy.loss import PrivacyTestEvent
from deniable.privacy.planned import (
    EXACTLY,
    Delta,
    Document,
    ExpectedStep,
    Planned,
    beyond_budget,
    faults_of_figure,
    nothing_wrong,
)
from deniable.privacy.step_costs import EXACT_COUNTS, StepCost
from deniable.roles import Role


def planned_candidates(spec: Document, _: Domain, __: StepCost, ___: Delta) -> Planned:
    """All candidates, each tested once; by privacy test 1, exact counts."""
    asked = spec["synthesis"]
    if asked["test"] == 1:
        return Planned((EXACT_COUNTS,), nothing_wrong, lambda _: nothing_wrong())
    event = tested_candidates(
        candidates=asked["candidates"],
        k=asked["k"],
        gamma=Fraction(asked["gamma"]),
        eps0=Fraction(asked["eps0"]),
        public_rows=asked["public_rows"],
        drop_probability=Fraction(asked["drop_probability"]),
        prefixes=1 if asked.get("given_omega") else len(asked["omega"]),
        # Absent from records of releases that score and count all seeds.
        max_plausible=asked.get("max_plausible"),
        max_check_plausible=asked.get("max_check_plausible"),
    )
    return Planned((event,), nothing_wrong, lambda _: nothing_wrong())


def beyond_candidates(spec: Mapping[str, Any], step: StepCost, _: Fraction) -> Iterator[str]:
    """Faults where candidates are not the spec's, or their stated cost does not follow from Theorem 1."""
    asked = spec["synthesis"]
    if asked["test"] == 1:
        counts = replace(EXACT_COUNTS, part=step.part, sampling_rate=step.probability)
        if step.events != (counts,) or step.guarantee is not None or step.record is not None:
            yield "privacy test 1 gives no differential privacy, but the record states some"
        return
    event = step.events[0] if len(step.events) == 1 else None
    if not isinstance(event, PrivacyTestEvent):
        yield "it must have one event, of candidates tested by privacy test 2"
        return
    if step.guarantee is None or step.guarantee.delta != float(Fraction(asked["total_delta"])):
        yield f"its cost must be stated at the spec's total_delta, {asked['total_delta']}"
    yield from _faults_of_one_record(event, step, asked)


def _faults_of_one_record(event: PrivacyTestEvent, step: StepCost, asked: Mapping[str, Any]) -> Iterator[str]:
    """Faults in the cost of one record, which must follow from the exact form of Theorem 1 (once from Theorem 1)."""
    delta = float(Fraction(asked["delta"]))
    if step.record_t is None:
        found = record_guarantee(event, delta)
    else:
        t = best_t(k=event.k, eps0=event.eps0, delta=delta)
        if step.record_t != t:
            yield f"Theorem 1 is used with t = {step.record_t}, but the spec's delta requires {t}"
            return
        found = theorem_1(k=event.k, gamma=event.ratio, eps0=event.eps0, t=t)
    yield from (f"the cost of one record{fault}" for fault in faults_of_figure(step.record, found, EXACTLY))
    if step.record is not None:
        yield from beyond_budget(replace(step, guarantee=step.record), asked)


EXPECTED_STEPS: Final[Mapping[str, ExpectedStep]] = {
    # All are charged together, before the first is drawn.
    Role.CANDIDATES: ExpectedStep(
        part="seeds", plan=planned_candidates, beyond=beyond_candidates, taken_in="index_seeds"
    )
}

MAY_FALL_SHORT: Final = True
"""Only candidates that pass are released."""

HOLDS_FOR_SEVERAL_RECORDS: Final = False
"""Whether the guarantee for one record gives one for a person with several, so that several of each may be used."""
