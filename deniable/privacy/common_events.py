"""Events shared by release and verification: tables of counts, certificates, candidates tested.

Events of other mechanisms are in entropies, histogram_seeds and loglinear.plan. Their cost does not belong here
(accounting).
"""

from dataclasses import fields
from fractions import Fraction
from typing import Literal

from deniable.foundation.domain import Domain
from deniable.privacy.loss import MechanismEvent, PrivacyTestEvent, SampledTestEvent, noisy_integers

WORDS = 1 << 32
"""Number of possible words. The probability of scoring a seed is a multiple of its reciprocal."""

FAMILIES = "counts of each attribute by its parents"
"""The query for the counts of each attribute by its parents, if any."""

CERTIFICATE = "largest error of the model's two-way counts"
"""The query of a certificate (`deniable.measurements.certificate`): one number of sensitivity 1."""


def certificate_event(noise: Literal["laplace", "gaussian"], amount: Fraction) -> MechanismEvent:
    """One number of sensitivity 1: the largest difference between counts and numbers that do not depend on the rows.

    One record changes one cell of every table by 1, so it changes each difference, its absolute value, and their
    maximum by at most 1 (`deniable.measurements.certificate.largest_error`).

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
    max_plausible: int | None = None,  # noqa: PT028 - no test of pytest's
    max_check_plausible: int | None = None,  # noqa: PT028
) -> PrivacyTestEvent:
    """The event of all candidates of a release.

    Args:
        candidates: number of candidates tested.
        k: see PrivacyTestEvent, as for `gamma`, `eps0`, `public_rows` and `drop_probability`.
        gamma: see there.
        eps0: see there.
        public_rows: see there.
        drop_probability: see there.
        prefixes: number of possible lengths of the copied prefix; with a single length, a candidate has the same
            probability given each of its plausible seeds.
        max_plausible: the largest number of plausible seeds to count. If all seeds are scored, a limit costs nothing
            (plausible_deniability.sampled_tests), and the event is the same as without it.
        max_check_plausible: see `check_probability`.
    """
    event = PrivacyTestEvent(
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
    if max_check_plausible is None:
        return event
    return SampledTestEvent(
        **{each.name: getattr(event, each.name) for each in fields(event)},
        check_probability=check_probability(max_check_plausible, public_rows),
        max_plausible=max_plausible or 0,
    )


def check_probability(max_check_plausible: int | None, public_rows: int) -> Fraction:
    """The probability of scoring a seed: about `max_check_plausible` of N0 seeds, in multiples of 2^-32, rounded down.

    Args:
        max_check_plausible: the intended mean number of seeds scored among N0, less than N0; None for all seeds.
        public_rows: N0.
    """
    return Fraction(1) if max_check_plausible is None else Fraction(max_check_plausible * WORDS // public_rows, WORDS)
