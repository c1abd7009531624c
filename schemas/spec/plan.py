"""The steps of a release spec's learner and sampler, planned before anything is read."""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from math import sqrt

from deniable.evaluation.uses import ANALYSES
from deniable.learners.cfs.parameters import ParameterMechanism, WithoutNoise
from deniable.learners.entry import CountingEntry, LearnerEntry
from deniable.learners.marginals.baseline import baseline_of
from deniable.learners.registry import draws_of, steps_of
from deniable.mechanisms import PlannedStep, Product, Sampler
from deniable.privacy.step_costs import SHARED, part_delta, read_probability
from deniable.samplers.registry import sampler_of
from schemas.spec.release_spec import ReleaseSpec

_FEWEST_CELLS = 4


def delta_of_part(spec: ReleaseSpec, delta: Fraction) -> Fraction:
    """The delta of a step for the records that it reads, from the spec's delta for the whole release."""
    used = {*spec.learner.reads, *spec.synthesis.parts}
    return part_delta(delta, read_probability(spec.split.probabilities, used))


def learner_of_record(spec: ReleaseSpec) -> LearnerEntry:
    """The learner's entry with budgets for one record: those of the spec are for a person with all records used."""
    return spec.learner.of_record(spec.most_records)


def learning_steps(spec: ReleaseSpec) -> tuple[PlannedStep, ...]:
    """The steps that make the model, in order, with their costs for one record."""
    return steps_of(learner_of_record(spec), spec.domain, lambda delta: delta_of_part(spec, delta))


def sampler_for(spec: ReleaseSpec) -> Sampler:
    """The method of drawing records."""
    draws = None
    if spec.learner.is_drawn_from_counts:
        asked = spec.synthesis
        read = read_probability(spec.split.probabilities, {"parameters"})
        draws = draws_of(spec.learner, spec.domain, records=asked.records, chunk=asked.chunk_candidates, read=read)
    learnt = _steps_on_seeds(spec) if spec.synthesis.joins_learner else ()
    return sampler_of(spec.synthesis, spec.domain, lambda delta: delta_of_part(spec, delta), draws, learnt)


def _steps_on_seeds(spec: ReleaseSpec) -> tuple[PlannedStep, ...]:
    """The learner's steps that read the same records as the sampler."""
    shared = SHARED in spec.split.probabilities
    return tuple(
        step for step in learning_steps(spec) if step.part is not None and (shared or step.part in spec.synthesis.parts)
    )


def planned_steps(spec: ReleaseSpec) -> Iterator[PlannedStep]:
    """All steps that read the rows or make the products that others read, in order."""
    yield from learning_steps(spec)
    prepare = sampler_for(spec).prepare
    if prepare is not None:
        yield prepare


def lost_analyses(spec: ReleaseSpec) -> Iterator[str]:
    """Why noise alone makes correlations, and the analyses that the spec declares, hopeless; nothing if it does not.

    The error is that of a correlation of two attributes of two halves each: four cells, the fewest possible.

    Args:
        spec: the spec, whose records are taken to be about as many as those of the table.
    """
    noise = max((step.pair_noise for step in planned_steps(spec) if step.pair_noise is not None), default=0.0)
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


def amounts_of_work(spec: ReleaseSpec) -> Mapping[str, int]:
    """Amount of work of the tasks that report it, each in its own unit, such as candidates."""
    reporting = {step.task: step.work for step in planned_steps(spec) if step.work}
    return {**reporting, "synthesize": spec.synthesis.attempts}


def products_of(spec: ReleaseSpec) -> Mapping[str, Product]:
    """All products of the steps, by name."""
    return {product.name: product for step in planned_steps(spec) for product in step.makes}


def baseline_for(spec: ReleaseSpec) -> ParameterMechanism | WithoutNoise | None:
    """The marginals with which a release is compared; None if its learner counts nothing."""
    learner = learner_of_record(spec)
    if not isinstance(learner, CountingEntry):
        return None
    return baseline_of(learner, spec.domain, lambda delta: delta_of_part(spec, delta))
