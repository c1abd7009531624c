"""What a release will do and what it will cost, planned from its spec before anything is read.

`ReleasePlan` is the one answer to every question about the steps of a release: flow, tasks, ledger, statement, pages
and commands read it, and none of them derives steps or costs by itself. The accounts belong to schemas.spec.accounts,
the contract of a step to deniable.mechanisms.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import sqrt

from deniable.evaluation.uses import ANALYSES
from deniable.foundation.domain import Domain
from deniable.foundation.errors import Refused
from deniable.learners.cfs.parameters import ParameterMechanism, WithoutNoise
from deniable.learners.entry import CountingEntry, LearnerEntry
from deniable.learners.marginals.baseline import baseline_of
from deniable.learners.registry import draws_of, steps_of
from deniable.mechanisms import PlannedStep, Product, Sampler
from deniable.privacy.step_costs import SHARED, StepCost, part_delta, read_probability
from deniable.roles import Role
from deniable.samplers.registry import sampler_of
from schemas.spec.accounts import Accounts, account, charged_cost, cost_of
from schemas.spec.release_spec import ReleaseSpec

_FEWEST_CELLS = 4


@dataclass(frozen=True, kw_only=True)
class ReleasePlan:
    """What a release will do, in order, and what it will cost; made from spec and domain alone.

    It holds functions, so that it is made where it is used, and is not sent to workers.

    Attributes:
        spec: the spec.
        learning: the steps that make the model, in order, with their costs for one record.
        sampler: how records are drawn; its step `prepare`, if it has one, follows the learning.
    """

    spec: ReleaseSpec
    learning: tuple[PlannedStep, ...]
    sampler: Sampler

    @property
    def domain(self) -> Domain:
        """The public domain."""
        return self.spec.domain

    @property
    def steps(self) -> tuple[PlannedStep, ...]:
        """All steps that read the rows or make the products that others read, in order."""
        return self.learning if self.sampler.prepare is None else (*self.learning, self.sampler.prepare)

    @property
    def products(self) -> Mapping[str, Product]:
        """All products of the steps, by name."""
        return {product.name: product for step in self.steps for product in step.makes}

    @property
    def work(self) -> Mapping[str, int]:
        """Amount of work of the tasks that report it, each in its own unit, such as candidates."""
        reporting = {step.task: step.work for step in self.steps if step.work}
        return {**reporting, Role.CANDIDATES: self.spec.synthesis.attempts}

    @cached_property
    def accounts(self) -> Accounts:
        """The cost of the release.

        Raises:
            Refused: the guarantee for one record stated in the spec does not hold.
        """
        return account(self.spec, self.learning, self.sampler.prepare)

    @cached_property
    def baseline(self) -> ParameterMechanism | WithoutNoise | None:
        """The marginals with which the release is compared; None if its learner counts nothing."""
        learner = _learner_of_record(self.spec)
        if not isinstance(learner, CountingEntry):
            return None
        return baseline_of(learner, self.domain, lambda delta: delta_of_part(self.spec, delta))

    def step(self, task: str) -> PlannedStep:
        """The step that a task carries out.

        Raises:
            Refused: there is no such step.
        """
        for step in self.steps:
            if step.task == task:
                return step
        raise Refused(
            f"a step must be one of those that the spec plans, got {task}; name its learner and its guarantee."
        )

    def cost(self, step: PlannedStep) -> StepCost:
        """The cost of a step by itself; see schemas.spec.accounts.cost_of."""
        return cost_of(self.spec, step)

    def charge(self, step: PlannedStep) -> StepCost:
        """The cost of a step, with that together with the learner's steps if it is charged so."""
        return charged_cost(self.spec, step, self.learning)


def plan_release(spec: ReleaseSpec) -> ReleasePlan:
    """Plan a release.

    Args:
        spec: the spec.

    Raises:
        InvalidInput: the budget does not suffice, or the learner cannot enforce the table's rules or take its values.
        Refused: the guarantee for one record stated in the spec does not hold.
    """
    learning = steps_of(_learner_of_record(spec), spec.domain, lambda delta: delta_of_part(spec, delta))
    return ReleasePlan(spec=spec, learning=learning, sampler=_sampler(spec, learning))


def delta_of_part(spec: ReleaseSpec, delta: Fraction) -> Fraction:
    """The delta of a step for the records that it reads, from the spec's delta for the whole release."""
    used = {*spec.learner.reads, *spec.synthesis.parts}
    return part_delta(delta, read_probability(spec.split.probabilities, used))


def _learner_of_record(spec: ReleaseSpec) -> LearnerEntry:
    """The learner's entry with budgets for one record: those of the spec are for a person with all records used."""
    return spec.learner.of_record(spec.most_records)


def _sampler(spec: ReleaseSpec, learning: tuple[PlannedStep, ...]) -> Sampler:
    draws = None
    if spec.learner.is_drawn_from_counts:
        asked = spec.synthesis
        read = read_probability(spec.split.probabilities, {"parameters"})
        draws = draws_of(spec.learner, spec.domain, records=asked.records, chunk=asked.chunk_candidates, read=read)
    learnt = _on_seeds(spec, learning) if spec.synthesis.joins_learner else ()
    return sampler_of(spec.synthesis, spec.domain, lambda delta: delta_of_part(spec, delta), draws, learnt)


def _on_seeds(spec: ReleaseSpec, learning: tuple[PlannedStep, ...]) -> tuple[PlannedStep, ...]:
    """The learner's steps that read the same records as the sampler."""
    shared = SHARED in spec.split.probabilities
    return tuple(step for step in learning if step.part is not None and (shared or step.part in spec.synthesis.parts))


def lost_analyses(plan: ReleasePlan) -> Iterator[str]:
    """Why noise alone makes correlations, and the analyses that the spec declares, hopeless; nothing if it does not.

    A learner that counts each attribute alone leaves nothing of an analysis of several, whatever its noise is. The
    error is that of a correlation of two attributes of two halves each: four cells, the fewest possible.

    Args:
        plan: the plan, of whose records there are taken to be about as many as in the table.
    """
    spec = plan.spec
    if not spec.learner.counts_together:
        several = [each.words for each in spec.analyses if len(each.attributes) > 1] if spec.evaluation.analyses else []
        if several:
            yield (
                f"the learner {spec.learner.kind} counts each attribute alone, so that these are lost: "
                f"{'; '.join(several)}; choose a learner of dependences, such as loglinear"
            )
        return
    noise = max((step.pair_noise for step in plan.steps if step.pair_noise is not None), default=0.0)
    records = spec.synthesis.records
    error = sqrt(_FEWEST_CELLS) * noise / records
    if error <= ANALYSES.usable:
        return
    declared = [each.words for each in spec.analyses] if spec.evaluation.analyses else ["correlations and regressions"]
    yield (
        f"noise in each cell of a table of two attributes is about {noise:,.0f} records, so that of {records:,} "
        f"records any correlation is off by {error:.2g} or more, and these are lost: {'; '.join(declared)}; raise "
        "epsilon, bring more records, or describe fewer attributes"
    )
