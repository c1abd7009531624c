"""Events that the makers of a release and its verifiers write down alike: tables of counts, and candidates tested.

Those of the other mechanisms are in entropies, histogram_seeds and loglinear.plan. What events cost does not belong
here (accounting).
"""

from fractions import Fraction
from typing import Literal

from deniable.foundation.domain import Domain
from deniable.privacy.loss import MechanismEvent, PrivacyTestEvent, noisy_integers

FAMILIES = "counts of each attribute by its parents"
"""What is asked of the rows where each attribute is counted by its parents, or by none."""


def noised_tables(domain: Domain) -> int:
    """Number of attributes whose counts get noise: one with a single value has none to hide."""
    return sum(size > 1 for size in domain.cardinalities)


def count_events(tables: int, noise: Literal["laplace", "gaussian"], amount: Fraction) -> tuple[MechanismEvent, ...]:
    """Counts of each attribute by its parents, whatever the graph is, each with noise of its own.

    Args:
        tables: number of attributes whose counts get noise.
        noise: kind of noise.
        amount: its scale (Laplace) or variance (Gaussian).
    """
    if not tables:
        return ()
    return (noisy_integers(noise, amount, query=FAMILIES, part="parameters", outputs=tables),)


def tested_candidates(
    *,
    candidates: int,
    k: int,
    gamma: Fraction,
    eps0: Fraction,
    public_rows: int,
    drop_probability: Fraction,
    prefixes: int,
) -> PrivacyTestEvent:
    """All candidates of a release, as accountants see them.

    Args:
        candidates: how many are tested.
        k: see PrivacyTestEvent, as for `gamma`, `eps0`, `public_rows` and `drop_probability`.
        gamma: see there.
        eps0: see there.
        public_rows: see there.
        drop_probability: see there.
        prefixes: how many lengths the copied prefix may have; with one, plausible seeds all give a candidate the same
            probability.
    """
    return PrivacyTestEvent(
        query="candidates from seeds",
        part="seeds",
        outputs=candidates,
        k=k,
        gamma=gamma,
        eps0=eps0,
        public_rows=public_rows,
        drop_probability=drop_probability,
        equal_probabilities=prefixes == 1,
    )
