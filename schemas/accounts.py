"""What a release costs, worked out from its spec and the public domain before any record is read.

The theorems are those of `deniable`, and so is what steps cost together (step_costs); how the costs are stated to
readers does not belong here.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from math import inf
from operator import attrgetter
from typing import Literal

from deniable.common_events import tested_candidates
from deniable.errors import Refused
from deniable.loss import Guarantee, MechanismEvent, PrivacyTestEvent
from deniable.seed_accounting import compose_candidates, record_guarantee
from deniable.step_costs import EXACT_COUNTS, StepCost, combine
from schemas.recipes import histogram_recipe, loglinear_recipe, parameter_recipe, structure_recipe
from schemas.release_spec import ReleaseSpec
from schemas.synthesis import Guarantee as GuaranteeKind
from schemas.synthesis import PrivacyTestedSeeds


@dataclass(frozen=True, kw_only=True)
class Accounts:
    """The cost of a release.

    Attributes:
        kind: which of the three guarantees the records have.
        structure: cost of learning which attributes depend on which; None where that is not learnt.
        parameters: cost of learning the probabilities.
        model: cost of the model that these two make.
        record: cost of the record that one attempt may end with; only where candidates are tested by privacy test 2.
        candidates: cost of all candidates tested, released or not; None where `record` is.
        histogram: cost of the histogram that prefixes are drawn from; None where there is none.
        total: cost of the whole release; None for privacy test 1.
        steps: the costs step by step.
    """

    kind: GuaranteeKind
    structure: Guarantee | None
    parameters: Guarantee
    model: Guarantee
    record: Guarantee | None = None
    candidates: Guarantee | None = None
    histogram: Guarantee | None = None
    total: Guarantee | None
    steps: tuple[StepCost, ...] = ()

    @property
    def tested(self) -> bool:
        """Whether a privacy test stands between people's records and the release."""
        return self.kind == "tested_seeds"

    @property
    def events(self) -> tuple[MechanismEvent, ...]:
        """All that is done to the data."""
        return tuple(event for step in self.steps for event in step.events)


@dataclass(frozen=True)
class SpentSoFar:
    """What all releases of a dataset cost together.

    Attributes:
        releases: number of releases that were charged, those that failed afterwards included.
        spent: their sum, everything included: what holds for all of them together.
        counted: what of that counts against the dataset's budget, in epsilon and delta; it is no guarantee where
            candidates count with what one attempt costs.
        seed_cost: whether candidates count in total, or with what one attempt costs.
    """

    releases: int
    spent: Guarantee
    counted: tuple[float, float]
    seed_cost: Literal["total", "per_record"]


def accounts_of(spec: ReleaseSpec) -> Accounts:
    """Work out what a release will cost.

    Args:
        spec: the release spec.

    Returns:
        The accounts.

    Raises:
        Refused: the exact form of Theorem 1 does not meet the epsilon per record that the spec promises.
    """
    structure, parameters, seeds = structure_cost(spec), parameters_cost(spec), seeds_cost(spec)
    learnt = [step for step in (structure, parameters) if step is not None]
    steps = [*learnt, seeds] if seeds is not None else learnt
    kind = spec.synthesis.guarantee
    taken = seeds.guarantee if seeds is not None else None
    return Accounts(
        kind=kind,
        structure=structure.guarantee if structure is not None else None,
        parameters=_known(parameters.guarantee),
        model=combine(learnt),
        record=seeds.record if seeds is not None else None,
        candidates=taken if kind == "tested_seeds" else None,
        histogram=taken if kind == "histogram_seeds" else None,
        total=combine(steps) if all(step.guarantee is not None for step in steps) else None,
        steps=tuple(steps),
    )


def known_cost(cost: StepCost | None) -> StepCost:
    """The cost of a step that the release has.

    Raises:
        ValueError: the release has no such step.
    """
    if cost is None:
        raise ValueError("a step that the release does not have costs nothing")
    return cost


def _known(guarantee: Guarantee | None) -> Guarantee:
    if guarantee is None:
        raise ValueError("a step with noise has a guarantee")
    return guarantee


def structure_cost(spec: ReleaseSpec) -> StepCost | None:
    """What learning the structure costs; None where that is not learnt."""
    recipe = structure_recipe(spec)
    if recipe is None:
        return None
    mechanism = recipe.calibrate(spec.domain)
    return _cost(spec, "learn_structure", "structure", mechanism.events, mechanism.guarantee)


def parameters_cost(spec: ReleaseSpec) -> StepCost:
    """What learning the parameters costs."""
    mechanism = (loglinear_recipe(spec) or parameter_recipe(spec)).calibrate(spec.domain)
    return _cost(spec, "learn_parameters", "parameters", mechanism.events, mechanism.guarantee)


def seeds_cost(spec: ReleaseSpec) -> StepCost | None:
    """What is taken from seeds costs; None without seeds."""
    synthesis = spec.synthesis
    histogram = histogram_recipe(spec)
    if histogram is not None:
        mechanism = histogram.calibrate()
        return _cost(spec, "noise_seeds", "seeds", mechanism.events, mechanism.guarantee)
    if isinstance(synthesis, PrivacyTestedSeeds):
        event = _candidates(synthesis)
        if synthesis.test == 1:
            return _cost(spec, "synthesize", "seeds", [EXACT_COUNTS], None)
        cost = _cost(spec, "synthesize", "seeds", [event], _tightest(event, float(synthesis.total_delta)))
        return replace(cost, record=_promised(record_guarantee(event, float(synthesis.delta)), synthesis))
    return None


def _cost(
    spec: ReleaseSpec, step: str, part: str, events: Iterable[MechanismEvent], guarantee: Guarantee | None
) -> StepCost:
    """A step's cost, said of the part that it reads in this release."""
    probabilities = spec.split.probabilities
    read = part if part in probabilities else "shared"
    probability = probabilities[read]
    return StepCost(
        step=step,
        part=read,
        probability=probability,
        events=tuple(replace(event, part=read, sampling_rate=probability) for event in events),
        guarantee=guarantee,
    )


def _candidates(synthesis: PrivacyTestedSeeds) -> PrivacyTestEvent:
    """All candidates of a release, as accountants see them."""
    return tested_candidates(
        candidates=synthesis.candidates,
        k=synthesis.k,
        gamma=synthesis.gamma,
        eps0=synthesis.eps0,
        public_rows=synthesis.public_rows,
        drop_probability=synthesis.drop_probability,
        prefixes=len(synthesis.omega),
    )


@lru_cache  # every step of a release asks what it costs
def _tightest(event: PrivacyTestEvent, delta: float) -> Guarantee:
    """The tightest total for all candidates; where no theorem bounds so many, that is what must be said."""
    totals = [*compose_candidates(event, delta).values(), Guarantee(inf, delta, "none")]
    return min(totals, key=attrgetter("epsilon"))


def _promised(record: Guarantee, synthesis: PrivacyTestedSeeds) -> Guarantee:
    """What holds of one record, if it is what the spec promises."""
    promised = float(synthesis.epsilon)
    if record.epsilon > promised:
        raise Refused(
            f"epsilon per record must be at least {record.epsilon:.4g}, which the exact form of Theorem 1 gives, "
            f"got {promised:g}; raise synthesis.epsilon, synthesis.delta or k, or lower eps0."
        )
    return record
