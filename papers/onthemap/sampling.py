"""Algorithm 2 with the weights of Theorem 4.4: what it adds to epsilon, and how far its workers commute."""

from math import expm1, log
from typing import Final

from deniable.learners.origin_destination.bounds import disclosure
from deniable.learners.origin_destination.domain_sampling import added_by_theorem_5_2, added_by_theorem_d
from deniable.learners.origin_destination.plan import FlowsPlan, kept_probability
from deniable.privacy.urn_costs import UNIT
from papers.findings import Check, Part, Table, equal
from papers.onthemap.commuting import OTHERS, PRIORS, WORKED_OUT, commutes
from papers.onthemap.methods import SAMPLED, SAMPLED_BY_4_4
from papers.onthemap.published import (
    ADDED,
    BLOCKS,
    DELTA,
    EPSILON,
    KEPT,
    MEAN_JOBS,
    PRIOR_WORKERS,
    SMALLEST_PRIOR,
)
from papers.onthemap.states import State, the_state

OTHER_PRIOR: Final = 37
"""Prior workers of a destination that another program found for 120 other destinations of Rhode Island."""
_MISSED: Final = 10
"""How many times delta is exceeded, at least, by the bound for the origins that remain."""
_WITHIN: Final = 0.25
"""By which share numbers of prior workers differ at most, because other destinations have other numbers of workers."""
_EXPERIMENT: Final = "experiment 1"


def sampled_by_4_4() -> Part:
    """Algorithm 2 with the weights of Theorem 4.4."""
    return of_state(the_state())


def of_state(state: State) -> Part:
    """Algorithm 2 with the weights of Theorem 4.4, for a state."""
    kept = kept_probability(KEPT)
    found, ours = commutes(state, SAMPLED_BY_4_4), commutes(state, SAMPLED)
    blocks, origins = BLOCKS[_EXPERIMENT], len(state.area)
    minnesota = FlowsPlan(1, blocks, EPSILON, DELTA, "theorem_4_4").prior(MEAN_JOBS, MEAN_JOBS)
    by_5_2 = float(added_by_theorem_5_2(kept, minnesota))
    by_d = float(added_by_theorem_d(MEAN_JOBS, blocks, kept, minnesota))
    there = FlowsPlan(1, origins, EPSILON, DELTA, "theorem_4_4").prior(MEAN_JOBS, MEAN_JOBS)
    left = int(origins * KEPT)
    beyond = disclosure(MEAN_JOBS, MEAN_JOBS, left, there / UNIT, expm1(float(EPSILON)))
    overlap, error, larger = OTHERS[SAMPLED_BY_4_4]
    checks = [
        equal("domain sampling adds to epsilon, by Theorem 5.2", by_5_2, ADDED, 1e-2),
        Check(f"and by Theorem D less than that: {by_d:.4f}", by_d < by_5_2),
        Check("Theorem D adds no less than the logarithm of 1/f", by_d >= log(1 / kept)),
        Check(f"given the {left:,} origins that remain in the mean, draws beyond epsilon are bounded by {beyond:.2g}, "
              f"which is more than {_MISSED} times delta", beyond > _MISSED * float(DELTA)),
        Check("the product's weights, which hold for every number of origins, leave more prior workers",
              ours.prior > found.prior),
        *((equal("prior workers", found.prior, OTHER_PRIOR, OTHER_PRIOR * _WITHIN),) if state.is_rhode_island else ()),
    ]  # fmt: skip
    return Part(
        name="Theorem 5.2",
        title="domain sampling with the weights of Theorem 4.4",
        verdict="corrected",
        why=f"The charge: Theorem 5.2 adds {by_5_2:.2f} to epsilon, of which ln 2 stands for a prior weight of "
        f"{PRIORS[_EXPERIMENT]}. Our Theorem D adds {by_d:.2f}, which is what the product charges; enumeration of "
        "small tables attains it, so that no bound on ratios is smaller. The weights: those of Theorem 4.4 hold for "
        f"the origins of the whole domain, but few remain. For {MEAN_JOBS} workers and the {left:,} of our "
        f"{origins:,} origins that remain in the mean, our bound on the probability of draws beyond epsilon is "
        f"{beyond:.2g} instead of {float(DELTA):g}. Therefore the product refuses Theorem 4.4 with domain sampling. "
        f"Its own weights hold for every number of origins, leave {ours.prior:,.0f} prior workers, and make commutes "
        f"{ours.bias:+.1f} miles too long. The paper has more prior workers, because it has more blocks and keeps near "
        "ones more often. It prints no biases; the third column is of another program, for 120 other destinations of "
        "Rhode Island.",
        product=(
            "deniable/learners/origin_destination/domain_sampling.py",
            "deniable/learners/origin_destination/bounds.py",
        ),
        checks=tuple(checks),
        table=Table(
            ("figure", "published", "another program", "ours"),
            (
                ("added to epsilon, by Theorem 5.2", f"{ADDED:.2f}", f"{ADDED:.2f}", f"{by_5_2:.2f}"),
                ("added to epsilon, by Theorem D", "", "", f"{by_d:.2f}"),
                (f"epsilon in all, {MEAN_JOBS} workers", f"{float(EPSILON) + ADDED:.2f}", "",
                 f"{float(EPSILON) + by_d:.2f}"),
                (f"smallest prior weight, {blocks:,} blocks", f"{SMALLEST_PRIOR[_EXPERIMENT]}",
                 f"{PRIORS[_EXPERIMENT]}", f"{minnesota / UNIT:.4f}"),
                ("prior workers of a destination", f"{PRIOR_WORKERS}", f"{OTHER_PRIOR}", f"{found.prior:,.0f}"),
                ("overlap", "", f"{overlap:.3f}", f"{found.overlap:.3f}"),
                ("bias, miles", "", f"{WORKED_OUT[SAMPLED_BY_4_4]:+.1f}", f"{found.bias:+.1f} ({found.deviation:.1f})"),
                ("root mean squared error", "", f"{error}", f"{found.error:.1f}"),
                ("bias, larger half", "", f"{larger:+.1f}", f"{found.larger.bias:+.1f}"),
            ),
        ),
    )  # fmt: skip
