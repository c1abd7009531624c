"""The cost of a release, computed from its spec and the public domain before any record is read.

The theorems, and the composition of steps (step_costs), are in `deniable`; the presentation of costs does not belong
here.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from deniable.foundation.domain import Person
from deniable.learners.registry import paid_elsewhere, relation_of
from deniable.mechanisms import PlannedStep, step_cost
from deniable.privacy.group_privacy import of_person
from deniable.privacy.loss import NOTHING, TRIVIAL, Guarantee, MechanismEvent
from deniable.privacy.loss_laws import without_law
from deniable.privacy.neighbours import RECORD, Relation
from deniable.privacy.step_costs import JointCost, StepCost, combine, joint_cost, with_paid
from deniable.roles import Role
from deniable.samplers.registry import words_of
from schemas.spec.release_spec import ReleaseSpec


@dataclass(frozen=True, kw_only=True)
class Accounts:
    """The cost of a release.

    Attributes:
        kind: the guarantee of the records.
        tested: whether candidates must pass a privacy test.
        from_counts: whether records are drawn from exact counts without a model, with every draw charged.
        relation: the neighbouring relation and the privacy unit, from which every sentence about them is rendered.
        person: the people, if the table may have several records of each; None if the privacy unit is one record.
        model: cost of the model, which an earlier release may have been charged for; TRIVIAL if it was learnt without
            noise.
        total: cost of the whole release; None if it has no differential privacy, for the reason `why_none`.
        paid: cost of a model for which an earlier release was charged; None if this one learns its own.
        learnt: the costs of the steps that make the model.
        drawn: the costs of the steps that compute the source of draws from the rows.
    """

    kind: str
    tested: bool
    from_counts: bool = False
    relation: Relation = RECORD
    person: Person | None = None
    model: Guarantee
    total: Guarantee | None
    paid: Guarantee | None = None
    learnt: tuple[StepCost, ...]
    drawn: tuple[StepCost, ...]

    @property
    def why_none(self) -> str:
        """Why there is no differential privacy, if there is none."""
        return self.relation.why_none or words_of(self.kind).WHY_NONE

    @property
    def model_stated(self) -> Guarantee | None:
        """Cost of the model; None if there is no model, or if nothing is guaranteed."""
        return None if self.from_counts or not self.relation.is_guarantee else self.model

    @property
    def person_stated(self) -> dict[str, Any] | None:
        """The people, as in the record, if the table may have several records of each."""
        return None if self.person is None else self.person.document()

    @property
    def steps(self) -> tuple[StepCost, ...]:
        """The costs step by step."""
        return *self.learnt, *self.drawn

    @property
    def structure(self) -> Guarantee | None:
        """Cost of learning the dependency graph; None if that is not a separate step."""
        return self._of(Role.STRUCTURE)

    @property
    def parameters(self) -> Guarantee | None:
        """Cost of learning the probabilities; None without noise."""
        return None if self.relation.why_none else self._of(Role.PARAMETERS) or NOTHING

    @property
    def candidates(self) -> Guarantee | None:
        """Cost of all candidates tested, released or not; None if there are none, and for privacy test 1."""
        return self._of(Role.CANDIDATES)

    @property
    def histogram(self) -> Guarantee | None:
        """Cost of the histogram from which prefixes are drawn; None if there is none."""
        return self._of(Role.HISTOGRAM)

    @property
    def attempts(self) -> Guarantee | None:
        """Cost of all attempts of the seeds, if each row makes a random number of them; None otherwise."""
        return self._of(Role.ATTEMPTS)

    @property
    def draws(self) -> Guarantee | None:
        """Cost of all draws from exact counts; None if there are none, or if they have no differential privacy."""
        return self._of(Role.DRAWS)

    @property
    def charged_draws(self) -> Guarantee | None:
        """Cost of all draws for the records that were counted; the total if a secret split does not lower epsilon."""
        return self.total if self.relation.sampling else self.draws

    @property
    def record(self) -> Guarantee | None:
        """Cost of the record of one attempt; only if candidates are tested by privacy test 2."""
        return next((step.record for step in self.drawn if step.record is not None), None)

    @property
    def joint(self) -> JointCost | None:
        """The cost of the seeds together with that of the model, if they are charged so."""
        return next((step.joint for step in self.drawn if step.joint is not None), None)

    @property
    def adds_up(self) -> tuple[str, ...]:
        """Steps whose costs are added to those of the seeds because their loss has no known distribution."""
        parts = {step.part for step in self.drawn if self.joint is None and step.guarantee is not None}
        return tuple(step.step for step in self.learnt if step.part in parts and without_law(step.events))

    @property
    def events(self) -> tuple[MechanismEvent, ...]:
        """All mechanism events."""
        return tuple(event for step in self.steps for event in step.events)

    def _of(self, name: str) -> Guarantee | None:
        return next((step.guarantee for step in self.steps if step.step == name), None)


@dataclass(frozen=True)
class SpentSoFar:
    """The total cost of all releases of a dataset.

    Attributes:
        releases: number of releases and discoveries that were charged, including those that failed afterwards.
        spent: their sum, which is the guarantee of all of them together.
        counted: the part that counts against the dataset's budget, in epsilon and delta; it is no guarantee if
            candidates count with the cost of one attempt.
        seed_cost: whether candidates count in total, or with the cost of one attempt.
        discoveries: how many of them proposed values and ranges for a schema, and released no records.
    """

    releases: int
    spent: Guarantee
    counted: tuple[float, float]
    seed_cost: Literal["total", "per_record"]
    discoveries: int = 0


def account(spec: ReleaseSpec, learning: Sequence[PlannedStep], prepare: PlannedStep | None) -> Accounts:
    """Add up the cost of a release; see ReleasePlan.accounts.

    Args:
        spec: the release spec.
        learning: the steps that make the model.
        prepare: the step of the sampler, if it has one.

    Raises:
        Refused: the guarantee for one record stated in the spec does not hold.
    """
    learnt = [cost_of(spec, step) for step in learning if step.part is not None]
    drawn = [] if prepare is None else [charged_cost(spec, prepare, learning)]
    steps, person, paid = [*learnt, *drawn], spec.person, paid_elsewhere(dict(spec.learner))
    relation = relation_of(dict(spec.learner), None if person is None else person.document())
    return Accounts(
        kind=spec.synthesis.guarantee,
        tested=spec.synthesis.tests,
        from_counts=spec.synthesis.draws_from_counts,
        relation=relation,
        person=person,
        model=TRIVIAL if relation.why_none else paid or (combine(learnt) if learnt else NOTHING),
        total=with_paid(_total(steps) if relation.is_guarantee else None, paid),
        paid=paid,
        learnt=tuple(learnt),
        drawn=tuple(drawn),
    )


def charged_cost(spec: ReleaseSpec, step: PlannedStep, learning: Sequence[PlannedStep]) -> StepCost:
    """The cost of a step, with that together with the learner's steps if it is charged so."""
    alone = cost_of(spec, step)
    if not step.joins_learner:
        return alone
    return replace(alone, joint=joint_cost(alone, [cost_of(spec, each) for each in learning if each.part is not None]))


def _total(steps: Sequence[StepCost]) -> Guarantee | None:
    if not steps:
        return NOTHING
    return combine(steps) if all(step.guarantee is not None for step in steps) else None


def cost_of(spec: ReleaseSpec, step: PlannedStep) -> StepCost:
    """The cost of a step, for the part that it reads in this release, and for a person where the schema names people.

    Raises:
        ValueError: the step reads no part, and so costs nothing.
    """
    guarantee = None if step.guarantee is None else of_person(step.guarantee, spec.most_records)
    return step_cost(step, spec.split.probabilities, guarantee, spec.most_records)
