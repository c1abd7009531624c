"""The requirements on the attempts of seeds, derived from the spec; the law of passing is taken from the record."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any, Final

from deniable.foundation.checks import Check, found
from deniable.foundation.domain import Domain
from deniable.plausible_deniability.prefix_choice import FILE, faults_of_document
from deniable.privacy.loss import MechanismEvent, PoissonAttemptsEvent
from deniable.privacy.planned import (
    Delta,
    Document,
    ExpectedStep,
    Planned,
    beyond_budget,
    faults_of_claim,
    nothing_wrong,
)
from deniable.privacy.step_costs import StepCost

STEP: Final = "attempt_seeds"
"""The step that pays for all attempts."""

ATTEMPTS_PER_RECORD: Final = Fraction(13, 10)
"""Mean number of attempts of the public number of rows, for each record wanted: raking chooses among more records."""


def planned_attempts(spec: Document, _: Domain, step: StepCost, delta: Delta) -> Planned:
    """All attempts of the seeds, by the law of passing that the record states."""
    asked = spec["synthesis"]
    event = PoissonAttemptsEvent(
        query="records released by their number of plausible seeds",
        part="seeds",
        outputs=1,
        attempts_per_row=ATTEMPTS_PER_RECORD * asked["records"] / asked["public_rows"],
        plausible=asked["plausible"],
        passes=_stated_law(step.events),
    )
    return Planned(
        (event,), nothing_wrong, lambda claimed: faults_of_claim(claimed, (event,), delta(Fraction(asked["delta"])))
    )


def _stated_law(events: tuple[MechanismEvent, ...]) -> str:
    """The law of passing that the record states; the empty one if it has none: the events then differ."""
    return next((event.passes for event in events if isinstance(event, PoissonAttemptsEvent)), "")


def beyond_attempts(spec: Mapping[str, Any], step: StepCost, read: Fraction) -> Iterator[str]:
    """Faults where the attempts, alone or together with the learner's steps, cost more than the spec allows."""
    asked = spec["synthesis"]
    if asked.get("total") is None:
        yield from beyond_budget(step, asked, read)
        return
    spent = step.charged if step.joint is None else step.joint.guarantee
    if spent.epsilon > float(Fraction(asked["total"])):
        yield f"it costs epsilon {spent.epsilon} with the learner's steps, but the spec allows {asked['total']}"
    yield from beyond_budget(step, {"epsilon": step.charged.epsilon, "delta": asked["delta"]}, read)


EXPECTED_STEPS: Final[Mapping[str, ExpectedStep]] = {
    # All are charged together, before the first is made.
    STEP: ExpectedStep(part="seeds", plan=planned_attempts, beyond=beyond_attempts, taken_in="index_seeds")
}


def expected_steps(asked: Document) -> Mapping[str, ExpectedStep]:
    """The requirements on the step, which states the prefix if the spec leaves its length to the model."""
    if asked.get("omega") is not None:
        return EXPECTED_STEPS
    return {
        name: replace(step, makes={"prefix": FILE}, checks={FILE: check_prefix})
        for name, step in EXPECTED_STEPS.items()
    }


def check_prefix(record: Document, described: Document, document: Document) -> tuple[Check, ...]:
    """Check that the prefix stated is the one that the stated predictions choose."""
    public_rows = record["spec"]["document"]["synthesis"]["public_rows"]
    faults = found(lambda: faults_of_document(document, Domain.from_document(described).names, public_rows))
    return (Check("prefix.json states the prefix that its predictions choose", tuple(faults)),)


MAY_FALL_SHORT: Final = False
"""Records of the model alone take the place of those that do not pass."""

HOLDS_FOR_SEVERAL_RECORDS: Final = False
"""Whether the guarantee for one record gives one for a person with several, so that several of each may be used."""
