"""The samplers, by their guarantee in a spec. A new sampler is a folder and a line here.

Folders are imported on demand, so that verifying a release needs no sampler's compiled code.
"""

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from deniable.foundation.domain import Domain
from deniable.foundation.errors import InvalidInput
from deniable.privacy.planned import ExpectedStep

if TYPE_CHECKING:
    from deniable.mechanisms import ChargedDraws, PartDelta, PlannedStep, Sampler
    from deniable.samplers.entry import SamplerEntry
    from deniable.samplers.words import SamplerWords

SAMPLERS: Final = (
    "tested_seeds",
    "poisson_seeds",
    "histogram_seeds",
    "seedless",
    "per_draw",
)


def expected_steps(asked: Mapping[str, Any]) -> Mapping[str, ExpectedStep]:
    """The requirements on each step with a cost, by name; empty for an unknown sampler.

    Args:
        asked: the sampler's entry in a spec. Its module `verification` has EXPECTED_STEPS, or a function
            `expected_steps` of the entry.
    """
    guarantee = asked["guarantee"]
    if guarantee not in SAMPLERS:
        return {}
    verification = import_module(f"deniable.samplers.{guarantee}.verification")
    depends = getattr(verification, "expected_steps", None)
    steps: Mapping[str, ExpectedStep] = verification.EXPECTED_STEPS if depends is None else depends(asked)
    return steps


def may_fall_short(guarantee: str) -> bool:
    """Whether fewer records than requested may be released; False for an unknown sampler."""
    if guarantee not in SAMPLERS:
        return False
    may: bool = import_module(f"deniable.samplers.{guarantee}.verification").MAY_FALL_SHORT
    return may


def must_count_seeds(record: Mapping[str, Any]) -> bool:
    """Whether a release's record must state how many of its records start from a seed; False for an unknown sampler.

    Args:
        record: the record's predicate.
    """
    guarantee = record["spec"]["document"].get("synthesis", {}).get("guarantee")
    if guarantee not in SAMPLERS:
        return False
    verification = import_module(f"deniable.samplers.{guarantee}.verification")
    must: Callable[[Mapping[str, Any]], bool] | None = getattr(verification, "must_count_seeds", None)
    return must is not None and must(record)


def holds_for_several_records(guarantee: str) -> bool:
    """Whether several records of each person may be used; False for an unknown sampler."""
    if guarantee not in SAMPLERS:
        return False
    holds: bool = import_module(f"deniable.samplers.{guarantee}.verification").HOLDS_FOR_SEVERAL_RECORDS
    return holds


def entries() -> "Sequence[type[SamplerEntry]]":
    """The classes of spec entries, one per sampler."""
    return [entry_of(guarantee) for guarantee in SAMPLERS]


def entry_of(guarantee: str) -> "type[SamplerEntry]":
    """The class of the spec entry of a sampler."""
    entry: type[SamplerEntry] = import_module(f"deniable.samplers.{guarantee}.spec").Entry
    return entry


def guarantees_that(*, from_counts: bool) -> list[str]:
    """Names of the samplers that draw from exact counts, or of the others."""
    return [name for name, entry in zip(SAMPLERS, entries(), strict=True) if entry.draws_from_counts == from_counts]


def sampler_of(
    entry: "SamplerEntry",
    domain: Domain,
    delta_of: "PartDelta",
    draws: "ChargedDraws | None" = None,
    learnt: "Sequence[PlannedStep]" = (),
) -> "Sampler":
    """Plan the drawing of records according to a spec's entry.

    Args:
        entry: the entry.
        domain: the public domain.
        delta_of: see PartDelta.
        draws: the draws of a learner whose records are drawn from exact counts.
        learnt: the learner's steps on the same records, for samplers that join them.

    Raises:
        InvalidInput: the budget does not suffice.
        Refused: the guarantee for one record stated in the spec does not hold.
    """
    what = domain if draws is None else draws
    plan: Callable[..., Sampler] = import_module(f"deniable.samplers.{entry.guarantee}.sampler").sampler
    return plan(entry, what, delta_of, learnt) if entry.joins_learner else plan(entry, what, delta_of)


def words_of(guarantee: str) -> "SamplerWords":
    """The texts of a sampler.

    Raises:
        InvalidInput: there is no such sampler.
    """
    if guarantee not in SAMPLERS:
        raise InvalidInput(f"the guarantee of records must be {' or '.join(SAMPLERS)}, got another.")
    words: SamplerWords = import_module(f"deniable.samplers.{guarantee}.words")
    return words
