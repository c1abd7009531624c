"""The common part of the learners' entries in a release spec; each learner's own entry is in its module `spec`."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field, ValidationInfo, field_validator

from deniable.foundation.spec_values import Count, Delta, Epsilon, Positive, Strict, between

_PRIORS = Fraction(1, 10**6), Fraction(10**9)
_SHARES = Fraction(1, 1000), Fraction(1, 2)


class CertificateBudget(Strict):
    """What one number that bounds the error of the model costs (`deniable.learners.certificate_costs`).

    Attributes:
        share: the part of the budget of the parameters that is spent on it: of rho with Gaussian noise, of epsilon with
            Laplace noise.
    """

    share: Annotated[Positive, AfterValidator(between(*_SHARES))] = Fraction(1, 100)


class LearnerEntry(Strict):
    """What is learnt and at what cost: the base class of each learner's entry.

    Attributes:
        parts: the parts of the rows that the learner reads.
        leaves: parts that a split may give rows to although the learner does not read them.
        steps: the learner's steps, in order, each with a sentence that describes it.
        holds_rules: whether its models keep the rules of a table exactly, as every network drawn in an order does.
        certifies: whether it publishes noisy tables and a model, whose error a certificate can bound.
        kind: the learner's name.
        certificate: the certificate of the model's error; none if left out.
    """

    holds_rules: ClassVar[bool] = True
    is_drawn_from_counts: ClassVar[bool] = False
    """Whether there is no model and records are drawn from exact counts, every draw charged (its module `draws`)."""
    reads_buckets: ClassVar[bool] = False
    """Whether it sees attributes as coarsely as the buckets of the schema where others depend on them."""
    makes_buckets: ClassVar[bool] = False
    """Whether it makes buckets of its own from noisy counts, whatever those of the schema are."""

    why_no_tested_seeds: ClassVar[str] = ""
    """Why records cannot begin at confidential seeds that are tested, where they cannot, and what to choose instead."""

    parts: ClassVar[tuple[str, ...]]
    leaves: ClassVar[tuple[str, ...]] = ()
    steps: ClassVar[Mapping[str, str]]

    certifies: ClassVar[bool] = False

    kind: str
    # Omitted from all written forms if the spec leaves it out.
    certificate: CertificateBudget | None = Field(default=None, exclude_if=lambda certificate: certificate is None)

    @field_validator("certificate")
    @classmethod
    def _can_be_made(cls, certificate: CertificateBudget | None, info: ValidationInfo) -> CertificateBudget | None:
        if certificate is not None and not cls.certifies:
            kind = info.data.get("kind", cls.__name__)
            raise ValueError(
                f"must be left out for a learner of kind {kind}, which does not publish both noisy tables and a model"
            )
        return certificate

    @property
    def public_file(self) -> str | None:
        """A file that anyone may read and that the learner counts, relative to the spec's folder; None if none."""
        return None

    @property
    def reads(self) -> tuple[str, ...]:
        """The parts that are read as this entry asks, among `parts`."""
        return self.parts


class StructureBudget(Strict):
    """How the structure is learnt.

    Attributes:
        epsilon: budget of the whole structure, for the records that it is learnt from.
        delta: delta of the whole structure in the whole release; the delta for the records it is learnt from follows.
        epsilon_rows: the part of `epsilon` that is spent on the number of rows.
        max_cost: largest number of configurations of an attribute's parents, in buckets.
    """

    epsilon: Epsilon
    delta: Delta
    epsilon_rows: Epsilon
    max_cost: Count

    @field_validator("epsilon_rows")
    @classmethod
    def _leaves_some(cls, epsilon_rows: Fraction, info: ValidationInfo) -> Fraction:
        epsilon = info.data.get("epsilon")
        if epsilon is not None and epsilon_rows >= epsilon:
            raise ValueError(f"must be less than epsilon, of which it is a part, got {float(epsilon_rows):g}")
        return epsilon_rows


class ParameterBudget(Strict):
    """How the parameters are learnt.

    Attributes:
        epsilon: budget of the counts, for the records that are counted.
        delta: delta of the counts in the whole release; the delta for the records that are counted follows.
        prior: total Dirichlet mass of one configuration; not used by every learner.
        estimate: the posterior's mean, its mode, or a draw from it; not used by every learner.
    """

    epsilon: Epsilon
    delta: Delta
    prior: Annotated[Positive, AfterValidator(between(*_PRIORS))] = Fraction(1)
    estimate: Literal["mean", "map", "sample"] = "mean"


class CountingEntry(LearnerEntry):
    """The base class of the entries of learners that use noisy counts.

    Attributes:
        noise: noise added to the counts; `auto` takes the kind with the smaller errors.
        parameters: the budget of the counts.
    """

    noise: Literal["auto", "laplace", "gaussian"]
    parameters: ParameterBudget
