"""The entry of this sampler in a release spec."""

from collections.abc import Mapping
from fractions import Fraction
from math import inf
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, ValidationInfo, field_validator

from deniable.foundation.errors import InvalidInput
from deniable.foundation.spec_values import Count, Delta, Epsilon, Exact, domain_known_to, weights
from deniable.plausible_deniability.privacy_tests import attempt_guarantee, smallest_k_of_attempt
from deniable.plausible_deniability.seed_accounting import record_guarantee
from deniable.privacy.common_events import check_probability, tested_candidates
from deniable.privacy.loss import Guarantee
from deniable.privacy.rounding import rounded_up
from deniable.samplers.entry import LARGEST_K, SamplerEntry

_LARGEST_GAMMA = 10**6
_LARGEST_DROP = 1 - Fraction(1, 10**6)
_FINEST_DROP = 2**53
_MOST_OMEGAS = 10_000

_OF_ATTEMPTS = ("gamma", "eps0", "public_rows", "drop_probability")


class Entry(SamplerEntry):
    """Candidates that start from seeds and are tested (Mechanism 1*).

    Attributes:
        guarantee: `tested_seeds`.
        omega: numbers of attributes to resample, each with its integer weight.
        k: number of plausible seeds that a record must have.
        gamma: largest ratio between the probabilities of plausible seeds.
        eps0: budget of the noise on k, in test 2.
        test: privacy test 1 or 2. Test 1 has no noise, hence no differential privacy, whatever epsilon and delta.
        epsilon: epsilon of one attempt for its own record; the exact form of Theorem 1 must satisfy it.
        accept_no_differential_privacy: must be true for test 1, whose candidates no ledger can charge.
        candidates: number of candidates, all of which are drawn and tested.
        drop_probability: rho of Mechanism 1*, the probability of dropping a candidate regardless of the test.
        public_rows: N0, a public lower bound on the number of places from which seeds are drawn.
        given_omega: whether a candidate is tested given the number of attributes drawn for it, so that its plausible
            seeds are those with the copied prefix and gamma is 1; by default over all numbers of `omega`.
        max_plausible: the largest number of plausible seeds to count, at least k; no limit by default.
        max_check_plausible: mean number of seeds scored for a candidate, out of `public_rows`: each seed is scored
            with probability max_check_plausible / public_rows; all by default.
        delta: delta of one attempt for its own record.
        total_delta: delta at which the total of all candidates is stated.
    """

    why_one_record_each: ClassVar[str] = "k plausible seeds may then be records of fewer than k people"
    parts: ClassVar[tuple[str, ...]] = ("seeds",)
    steps: ClassVar[Mapping[str, str]] = {
        "index_seeds": "Pays for all candidates at once, and counts the seeds' shared prefixes for the privacy test.",
    }
    tests: ClassVar[bool] = True

    guarantee: Literal["tested_seeds"]
    omega: Annotated[dict[Count, Count], BeforeValidator(weights), Field(min_length=1, max_length=_MOST_OMEGAS)]
    k: Annotated[Count, Field(le=LARGEST_K)]
    gamma: Annotated[Exact, Field(gt=1, le=_LARGEST_GAMMA)]
    eps0: Epsilon
    test: Literal[1, 2]
    epsilon: Epsilon
    accept_no_differential_privacy: bool = Field(default=False, validate_default=True)
    candidates: Count
    drop_probability: Annotated[Exact, Field(ge=0, lt=1)]
    public_rows: Count
    given_omega: bool = Field(default=False, exclude_if=lambda given: not given)
    max_plausible: Count | None = Field(default=None, exclude_if=lambda most: most is None, validate_default=True)
    max_check_plausible: Count | None = Field(default=None, exclude_if=lambda most: most is None, validate_default=True)
    delta: Delta
    total_delta: Delta

    @property
    def attempts(self) -> int:
        """Number of candidates, all of which are drawn."""
        return self.candidates

    @property
    def fewest_seeds(self) -> int | None:
        """The number of plausible seeds that a candidate must have."""
        return self.k

    @field_validator("omega")
    @classmethod
    def _at_most_all_attributes(cls, omega: dict[int, int], info: ValidationInfo) -> dict[int, int]:
        domain = domain_known_to(info)
        if domain is not None and max(omega) > len(domain):
            raise ValueError(f"must be at most {len(domain)}, the number of attributes, got {max(omega)}")
        if domain is not None and set(omega) == {len(domain)}:
            raise ValueError("must leave an attribute to copy in some candidates; otherwise use the guarantee seedless")
        return omega

    @field_validator("accept_no_differential_privacy")
    @classmethod
    def _is_said_for_test_1(cls, accepted: bool, info: ValidationInfo) -> bool:  # noqa: FBT001 - pydantic calls it
        if info.data.get("test") == 1 and not accepted:
            raise ValueError("must be true for privacy test 1, which gives no differential privacy and no total")
        return accepted

    @field_validator("drop_probability")
    @classmethod
    def _leaves_candidates(cls, dropped: Fraction) -> Fraction:
        if dropped > _LARGEST_DROP:
            raise ValueError(
                f"must be at most {float(_LARGEST_DROP)}, which leaves one candidate in a million, got a larger one"
            )
        if dropped.denominator > _FINEST_DROP:
            raise ValueError("must have at most 15 digits after the point, got more")
        return dropped

    @field_validator("candidates")
    @classmethod
    def _enough(cls, candidates: int, info: ValidationInfo) -> int:
        if candidates < info.data.get("records", 0):
            raise ValueError(f"must be at least the {info.data['records']} records wanted, got {candidates}")
        return candidates

    @field_validator("public_rows")
    @classmethod
    def _enough_seeds(cls, public_rows: int, info: ValidationInfo) -> int:
        if public_rows < info.data.get("k", 0):
            raise ValueError(f"must be at least k, got {public_rows} for k {info.data['k']}")
        return public_rows

    @field_validator("max_plausible")
    @classmethod
    def _lets_candidates_pass(cls, most: int | None, info: ValidationInfo) -> int | None:
        if most is not None and most < info.data.get("k", 0):
            raise ValueError(
                f"must be at least k = {info.data['k']}, for candidates could not pass otherwise, got {most}"
            )
        return most

    @field_validator("max_check_plausible")
    @classmethod
    def _selects_some(cls, most: int | None, info: ValidationInfo) -> int | None:
        rows = info.data.get("public_rows")
        if most is None or rows is None:
            return most
        if most >= rows:
            raise ValueError(f"must be less than public_rows, {rows}, or left out to score all seeds, got {most}")
        if most < info.data.get("k", 0):
            raise ValueError(
                f"must be at least k = {info.data['k']}: even if all public_rows could be the seed of a candidate, so "
                f"many are scored on average, got {most}"
            )
        if check_probability(most, rows) == 0:
            raise ValueError(f"must be at least public_rows / 2^32, got {most}")
        return most

    @property
    def prefixes(self) -> int:
        """Number of lengths of the copied prefix over which a candidate's probability is counted."""
        return 1 if self.given_omega else len(self.omega)

    @property
    def scores_all(self) -> bool:
        """Whether all seeds are scored and counted, so that counts of shared prefixes suffice."""
        return self.max_plausible is None and self.max_check_plausible is None

    @field_validator("delta")
    @classmethod
    def _is_met(cls, delta: Fraction, info: ValidationInfo) -> Fraction:
        given = info.data
        if given.get("test") == 2 and {"epsilon", "omega", "k", *_OF_ATTEMPTS} <= given.keys():
            _require_met(given, delta)
        return delta


def _require_met(given: Mapping[str, Any], delta: Fraction) -> None:
    """Refuse a guarantee that the exact form of Theorem 1 does not provide, and state the smallest k that would."""
    attempt = {name: given[name] for name in _OF_ATTEMPTS}
    attempt["gamma"] = Fraction(1) if _prefixes(given) == 1 else given["gamma"]
    sampled = given.get("max_check_plausible") is not None
    try:
        one = _by_some(given, delta) if sampled else attempt_guarantee(k=given["k"], delta=float(delta), **attempt)
        met = one.epsilon
    except InvalidInput:
        met = inf
    if met <= given["epsilon"]:
        return
    k = None if sampled else smallest_k_of_attempt(epsilon=float(given["epsilon"]), delta=float(delta), **attempt)
    others = "raise k or epsilon" if sampled else "raise epsilon, delta or public_rows, or lower eps0"
    remedy = others if k is None else f"k must be at least {k}"
    gives = "none" if met == inf else rounded_up(met)
    raise ValueError(
        f"must be met together with epsilon {float(given['epsilon']):g} by the exact form of Theorem 1, which at this "
        f"delta gives {gives} for k = {given['k']}; {remedy}"
    )


def _prefixes(given: Mapping[str, Any]) -> int:
    return 1 if given.get("given_omega") else len(given["omega"])


def _by_some(given: Mapping[str, Any], delta: Fraction) -> Guarantee:
    """The guarantee for one record if a sample of the seeds is scored."""
    event = tested_candidates(
        candidates=1,
        k=given["k"],
        gamma=given["gamma"],
        eps0=given["eps0"],
        public_rows=given["public_rows"],
        drop_probability=given["drop_probability"],
        prefixes=_prefixes(given),
        max_plausible=given.get("max_plausible"),
        max_check_plausible=given["max_check_plausible"],
    )
    return record_guarantee(event, float(delta))
