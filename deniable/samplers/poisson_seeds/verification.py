"""The requirements on the attempts of seeds, derived from the spec; the law of passing is taken from the record."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any, Final

from deniable.foundation.checks import Check, found
from deniable.foundation.domain import Domain
from deniable.plausible_deniability.predictions import order_of, passing_shares
from deniable.plausible_deniability.prefix_choice import FILE, FORMAT, STRICTER, faults_of_document, faults_of_earlier
from deniable.privacy.loss import MechanismEvent, PoissonAttemptsEvent, from_record
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
from deniable.roles import Role

STEP: Final = Role.ATTEMPTS
"""The step that pays for all attempts."""

_MODEL = "model.json"
_FOLLOWS = "prefix.json states the prefix that the predictions of model.json choose"
_EARLIER = {f"{STEP}/1", f"{STEP}/2"}
"""Versions of the draw whose predictions cannot be computed again, and which stated no number of seeds."""
_STRICTER = f"{STEP}/3"
"""The version that chose a prefix of which more attempts were predicted to pass."""

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
        name: replace(step, makes={"prefix": FILE}, checks={FILE: check_prefix}, beside={FILE: (_MODEL,)})
        for name, step in EXPECTED_STEPS.items()
    }


def check_prefix(record: Document, described: Document, document: Document, model: Document) -> tuple[Check, ...]:
    """Check that the prefix stated is the one that the model's predictions choose, which are computed again."""
    public_rows = record["spec"]["document"]["synthesis"]["public_rows"]
    if is_earlier(record):
        faults = found(lambda: faults_of_earlier(document, Domain.from_document(described).names, public_rows))
        note = "an earlier version predicted the shares, and they were not computed again"
        return (Check(_FOLLOWS, faults, note),)

    def faults_of_prefix() -> list[str]:
        domain = Domain.from_document(described)
        event = next(
            event
            for step in record["cost"]["steps"]
            for event in map(from_record, step["events"])
            if isinstance(event, PoissonAttemptsEvent)
        )
        shares = passing_shares(domain, model, plausible=event.plausible, law=event.law, public_rows=public_rows)
        return faults_of_document(document, order_of(domain, model), shares, public_rows, format_of(record))

    return (Check(_FOLLOWS, found(faults_of_prefix)),)


def must_count_seeds(record: Document) -> bool:
    """Whether the record must state how many records start from a seed: unless an earlier version drew them."""
    return not is_earlier(record)


def is_earlier(record: Document) -> bool:
    """Whether the attempts were drawn by a version that predicted by compiled code, and counted no seeds."""
    return not _EARLIER.isdisjoint(_mechanisms(record))


def format_of(record: Document) -> str:
    """The format in which the version that drew the attempts states a choice; not that of the earliest ones."""
    return STRICTER if _STRICTER in _mechanisms(record) else FORMAT


def _mechanisms(record: Document) -> set[str | None]:
    """The names under which the record's draws were charged."""
    return {entry.get("content", {}).get("mechanism") for entry in record["ledger"]["entries"]}


MAY_FALL_SHORT: Final = False
"""Records of the model alone take the place of those that do not pass."""

HOLDS_FOR_SEVERAL_RECORDS: Final = False
"""Whether the guarantee for one record gives one for a person with several, so that several of each may be used."""
