"""The part of a release spec that says how records are drawn, one model for each of the three guarantees.

`tested_seeds`: candidates start from people and pass the privacy test; every candidate costs. `histogram_seeds`: the
prefixes that candidates copy come from a histogram that is noised once; any number of records costs the same.
`seedless`: records come from the model alone and cost nothing more.
"""

from collections.abc import Mapping
from fractions import Fraction
from math import inf
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, ValidationInfo, field_validator

from deniable.deniability import attempt_guarantee, smallest_k_of_attempt
from deniable.errors import InvalidInput
from schemas.spec_values import Count, Delta, Epsilon, Exact, Strict, domain_known_to, weights

_LARGEST_CHUNK = 100_000_000
_LARGEST_K = 10**6
_LARGEST_GAMMA = 10**6
_MOST_OMEGAS = 10_000

_OF_ATTEMPTS = ("gamma", "eps0", "public_rows", "drop_probability")

Guarantee = Literal["tested_seeds", "histogram_seeds", "seedless"]


class Drawing(Strict):
    """What is common to all ways of drawing records.

    Attributes:
        records: how many are wanted.
        chunk_candidates: candidates that share one stream.
    """

    records: Count
    chunk_candidates: Annotated[Count, Field(le=_LARGEST_CHUNK)]

    @property
    def attempts(self) -> int:
        """How many candidates are drawn."""
        return self.records


class Seedless(Drawing):
    """Records drawn from the model alone.

    Attributes:
        guarantee: `seedless`.
    """

    guarantee: Literal["seedless"]


class HistogramSeeds(Drawing):
    """Records whose first attributes are copied from a noisy histogram of people's prefixes (Theorem B).

    Attributes:
        guarantee: `histogram_seeds`.
        omega: number of attributes to draw anew; the others are the prefix.
        epsilon: of the histogram, whatever the number of records, for the records whose prefixes are counted.
        delta: of the histogram in the whole release; that for the records whose prefixes are counted follows.
        k: number of people who share every prefix that is kept, and could each have been the seed of a record that
            begins with it, with probability 1 - beta.
        beta: see `k`.
        max_rows: a public bound on the number of records, for `k`.
        epsilon_rows: where given, a part of epsilon that pays for a noisy number of records, by which the mass that the
            threshold took is given back: so many records are the model's alone, and begin with a prefix that was not
            kept. Of those, `k` says nothing. Where it is left out, such prefixes do not occur.
    """

    guarantee: Literal["histogram_seeds"]
    omega: Count
    epsilon: Epsilon
    delta: Delta
    k: Annotated[Count, Field(le=_LARGEST_K)] | None = None
    beta: Delta | None = None
    max_rows: Count | None = Field(default=None, validate_default=True)
    epsilon_rows: Epsilon | None = None

    @field_validator("omega")
    @classmethod
    def _leaves_a_prefix(cls, omega: int, info: ValidationInfo) -> int:
        domain = domain_known_to(info)
        if domain is not None and omega >= len(domain):
            raise ValueError(
                f"must be less than {len(domain)}, the number of attributes, got {omega}; without a prefix use seedless"
            )
        return omega

    @field_validator("max_rows")
    @classmethod
    def _all_or_none(cls, max_rows: int | None, info: ValidationInfo) -> int | None:
        given = [info.data.get("k"), info.data.get("beta"), max_rows]
        if {"k", "beta"} <= info.data.keys() and len({value is None for value in given}) > 1:
            raise ValueError("must be given together with k and beta, or none of the three")
        return max_rows

    @field_validator("epsilon_rows")
    @classmethod
    def _leaves_some(cls, epsilon_rows: Fraction | None, info: ValidationInfo) -> Fraction | None:
        epsilon = info.data.get("epsilon")
        if epsilon_rows is not None and epsilon is not None and epsilon_rows >= epsilon:
            raise ValueError(f"must be less than epsilon, of which it is a part, got {float(epsilon_rows):g}")
        return epsilon_rows


class PrivacyTestedSeeds(Drawing):
    """Candidates that start from people and are tested (Mechanism 1*).

    Attributes:
        guarantee: `tested_seeds`.
        omega: numbers of attributes to draw anew, each with its integer weight.
        k: number of plausible seeds that a record must have.
        gamma: how far apart the probabilities of plausible seeds may be, as a ratio.
        eps0: budget of the noise on k, in test 2.
        test: privacy test 1 or 2. Test 1 has no noise and so no differential privacy, whatever epsilon and delta say.
        epsilon: of the record that one attempt may end with, whether it ends with one or not; the exact form of
            Theorem 1 must meet it.
        accept_no_differential_privacy: must be true for test 1, whose candidates no ledger can charge.
        candidates: how many are drawn and tested, always all of them.
        drop_probability: rho of Mechanism 1*, with which a candidate is dropped whatever the test says.
        public_rows: N0, a public number of places that seeds are drawn from at least, however few seeds there are.
        delta: of the record that one attempt may end with, as epsilon.
        total_delta: delta at which the total of all candidates is stated.
    """

    guarantee: Literal["tested_seeds"]
    omega: Annotated[dict[Count, Count], BeforeValidator(weights), Field(min_length=1, max_length=_MOST_OMEGAS)]
    k: Annotated[Count, Field(le=_LARGEST_K)]
    gamma: Annotated[Exact, Field(gt=1, le=_LARGEST_GAMMA)]
    eps0: Epsilon
    test: Literal[1, 2]
    epsilon: Epsilon
    accept_no_differential_privacy: bool = Field(default=False, validate_default=True)
    candidates: Count
    drop_probability: Annotated[Exact, Field(ge=0, lt=1)]
    public_rows: Count
    delta: Delta
    total_delta: Delta

    @property
    def attempts(self) -> int:
        """How many candidates are drawn: all of them, whatever comes out."""
        return self.candidates

    @field_validator("omega")
    @classmethod
    def _at_most_all_attributes(cls, omega: dict[int, int], info: ValidationInfo) -> dict[int, int]:
        domain = domain_known_to(info)
        if domain is not None and max(omega) > len(domain):
            raise ValueError(f"must be at most {len(domain)}, the number of attributes, got {max(omega)}")
        if domain is not None and set(omega) == {len(domain)}:
            raise ValueError("must leave an attribute to copy now and then; where none is, use the guarantee seedless")
        return omega

    @field_validator("accept_no_differential_privacy")
    @classmethod
    def _is_said_for_test_1(cls, accepted: bool, info: ValidationInfo) -> bool:  # noqa: FBT001 - pydantic calls it
        if info.data.get("test") == 1 and not accepted:
            raise ValueError("must be true for privacy test 1, which gives no differential privacy and no total")
        return accepted

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

    @field_validator("delta")
    @classmethod
    def _is_met(cls, delta: Fraction, info: ValidationInfo) -> Fraction:
        given = info.data
        if given.get("test") == 2 and {"epsilon", "omega", "k", *_OF_ATTEMPTS} <= given.keys():
            _require_met(given, delta)
        return delta


def _require_met(given: Mapping[str, Any], delta: Fraction) -> None:
    """Refuse what the exact form of Theorem 1 does not give of one record, and name the smallest k that would do."""
    attempt = {name: given[name] for name in _OF_ATTEMPTS}
    attempt["gamma"] = Fraction(1) if len(given["omega"]) == 1 else given["gamma"]
    try:
        met = attempt_guarantee(k=given["k"], delta=float(delta), **attempt).epsilon
    except InvalidInput:
        met = inf
    if met <= given["epsilon"]:
        return
    k = smallest_k_of_attempt(epsilon=float(given["epsilon"]), delta=float(delta), **attempt)
    remedy = "raise epsilon, delta or public_rows, or lower eps0" if k is None else f"k must be at least {k}"
    gives = "none" if met == inf else f"{met:.4g}"
    raise ValueError(
        f"must be met together with epsilon {float(given['epsilon']):g} by the exact form of Theorem 1, which at this "
        f"delta gives {gives} for k = {given['k']}; {remedy}"
    )
