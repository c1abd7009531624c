"""What a release spec asks of the mathematics, in the mathematics' own terms."""

from fractions import Fraction

from deniable.deniability import PrivacyTest
from deniable.histogram_seeds import HistogramRecipe
from deniable.loglinear.plan import LoglinearRecipe
from deniable.parameters import ParameterRecipe
from deniable.step_costs import part_delta
from deniable.step_costs import read_probability as read_of_split
from deniable.structure import StructureRecipe
from deniable.synthesis import Attempt
from schemas.release_spec import ReleaseSpec
from schemas.synthesis import HistogramSeeds, PrivacyTestedSeeds


def delta_of_part(spec: ReleaseSpec, delta: Fraction) -> Fraction:
    """The delta of a step for the records that it reads, of which the spec states that of the whole release."""
    return part_delta(delta, read_probability(spec))


def read_probability(spec: ReleaseSpec) -> Fraction:
    """The probability with which a record is used for anything that costs."""
    structure, seeds = spec.learner.structure is not None, spec.synthesis.guarantee != "seedless"
    return read_of_split(spec.split.probabilities, structure=structure, seeds=seeds)


def structure_recipe(spec: ReleaseSpec) -> StructureRecipe | None:
    """How the graph is to be learnt; none where the learner has no graph."""
    structure = spec.learner.structure
    if structure is None or spec.learner.noise == "auto":
        return None
    return StructureRecipe(
        epsilon=structure.epsilon,
        delta=delta_of_part(spec, structure.delta),
        epsilon_rows=structure.epsilon_rows,
        max_cost=structure.max_cost,
        noise=spec.learner.noise,
    )


def loglinear_recipe(spec: ReleaseSpec) -> LoglinearRecipe | None:
    """How a log-linear network is to be learnt; none where another learner is asked for."""
    learner = spec.learner
    if learner.kind != "loglinear":
        return None
    parameters = learner.parameters
    return LoglinearRecipe(epsilon=parameters.epsilon, delta=delta_of_part(spec, parameters.delta), noise=learner.noise)


def parameter_recipe(spec: ReleaseSpec) -> ParameterRecipe:
    """How the probability tables are to be learnt, of a graph or, to compare with, of none."""
    parameters, noise = spec.learner.parameters, spec.learner.noise
    return ParameterRecipe(
        epsilon=parameters.epsilon,
        delta=delta_of_part(spec, parameters.delta),
        noise="laplace" if noise == "auto" else noise,
        prior=parameters.prior,
        estimate=parameters.estimate,
    )


def attempt(synthesis: PrivacyTestedSeeds) -> Attempt:
    """Mechanism 1* with the spec's test."""
    return Attempt(
        test=PrivacyTest(
            k=synthesis.k,
            gamma=synthesis.gamma,
            eps0=synthesis.eps0 if synthesis.test == 2 else None,
            randomized=synthesis.test == 2,
        ),
        drop_probability=synthesis.drop_probability,
        public_rows=synthesis.public_rows,
    )


def histogram_recipe(spec: ReleaseSpec) -> HistogramRecipe | None:
    """How the histogram of prefixes is to be noised; none where records do not come from one."""
    synthesis = spec.synthesis
    if not isinstance(synthesis, HistogramSeeds):
        return None
    return HistogramRecipe(
        epsilon=synthesis.epsilon,
        delta=delta_of_part(spec, synthesis.delta),
        k=synthesis.k,
        beta=synthesis.beta,
        max_rows=synthesis.max_rows,
        epsilon_rows=synthesis.epsilon_rows,
    )
