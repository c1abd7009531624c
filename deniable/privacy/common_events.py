"""Events that are the same in making and in verifying a release: tables of counts, certificates, candidates tested.

Those of the other mechanisms are in entropies, histogram_seeds and loglinear.plan. The cost of events does not belong
here (accounting).
"""

from fractions import Fraction
from typing import Literal

from deniable.foundation.domain import Domain
from deniable.privacy.loss import MechanismEvent, PrivacyTestEvent, noisy_integers

FAMILIES = "counts of each attribute by its parents"
"""The query of counts of each attribute by its parents, which may be none."""

CERTIFICATE = "largest error of the model's two-way counts"
"""The query of a certificate (`deniable.measurements.certificate`): one number, which one record changes by 1."""


def certificate_event(noise: Literal["laplace", "gaussian"], amount: Fraction) -> MechanismEvent:
    """One number of sensitivity 1: the largest difference of counts from numbers that do not depend on the rows.

    One record changes one cell of every table by 1, so it changes each difference, its absolute value, and the largest
    of all of them by at most 1 (`deniable.measurements.certificate.largest_error`).

    Args:
        noise: kind of noise.
        amount: its scale (Laplace) or variance (Gaussian).
    """
    return noisy_integers(noise, amount, query=CERTIFICATE, part="parameters", outputs=1)


def noised_tables(domain: Domain) -> int:
    """Number of attributes whose counts need noise: those with more than one value."""
    return sum(size > 1 for size in domain.cardinalities)


def count_events(tables: int, noise: Literal["laplace", "gaussian"], amount: Fraction) -> tuple[MechanismEvent, ...]:
    """Counts of each attribute by its parents, for any graph, with independent noise.

    Args:
        tables: number of attributes whose counts need noise.
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
    """The event of all candidates of a release.

    Args:
        candidates: number of candidates tested.
        k: see PrivacyTestEvent, as for `gamma`, `eps0`, `public_rows` and `drop_probability`.
        gamma: see there.
        eps0: see there.
        public_rows: see there.
        drop_probability: see there.
        prefixes: number of possible lengths of the copied prefix; if one, all plausible seeds give a candidate the same
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
