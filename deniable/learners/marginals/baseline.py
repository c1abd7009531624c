"""The papers' baseline: one-way marginals with the noise of a learner's budget, as a comparison for any learner."""

from deniable.foundation.domain import Domain
from deniable.learners.cfs.parameters import ParameterMechanism, ParameterRecipe, WithoutNoise
from deniable.learners.entry import CountingEntry
from deniable.mechanisms import PartDelta


def baseline_of(entry: CountingEntry, domain: Domain, delta_of: PartDelta) -> ParameterMechanism | WithoutNoise:
    """Scale the noise of the marginals to a learner's budget for counts; without a budget, there is none.

    Args:
        entry: the learner's entry of the spec.
        domain: the public domain.
        delta_of: see PartDelta.
    """
    budget = entry.parameters
    if entry.noise == "none" or budget is None:
        return WithoutNoise()
    return ParameterRecipe(
        epsilon=budget.epsilon,
        delta=delta_of(budget.delta),
        noise="laplace" if entry.noise == "auto" else entry.noise,
        prior=budget.prior,
        estimate=budget.estimate,
    ).calibrate(domain)
