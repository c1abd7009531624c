"""The common part of the learners' entries in a release spec; each learner's own entry is in its module `spec`."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Literal, Self, get_args

from pydantic import AfterValidator, Field, ValidationInfo, field_validator

from deniable.foundation.spec_values import Count, Delta, Epsilon, Positive, Strict, between
from deniable.privacy.group_privacy import BUDGETS, amounts_of_record
from deniable.privacy.loss import WITHOUT_NOISE

_PRIORS = Fraction(1, 10**6), Fraction(10**9)
_SHARES = Fraction(1, 1000), Fraction(1, 2)


class CertificateBudget(Strict):
    """The cost of a number that bounds the error of the model (`deniable.learners.certificate_costs`).

    Attributes:
        share: its share of the parameters' budget: of rho with Gaussian noise, of epsilon with Laplace noise.
    """

    share: Annotated[Positive, AfterValidator(between(*_SHARES))] = Fraction(1, 100)


class LearnerEntry(Strict):
    """The learner and its budget: the base class of the learners' entries.

    Attributes:
        parts: the parts of the rows that the learner reads.
        leaves: parts to which a split may assign rows although the learner does not read them.
        steps: the learner's steps, in order, each with a sentence that describes it.
        holds_rules: whether its models satisfy a table's rules exactly, as networks drawn along an order do.
        certifies: whether it publishes noisy tables and a model whose error a certificate can bound.
        kind: the learner's name.
        certificate: the certificate of the model's error; none if left out.
    """

    holds_rules: ClassVar[bool] = True
    is_drawn_from_counts: ClassVar[bool] = False
    """Whether records are drawn from exact counts without a model, with every draw charged (its module `draws`)."""
    reads_buckets: ClassVar[bool] = False
    """Whether parents are used at the resolution of the schema's buckets."""
    makes_buckets: ClassVar[bool] = False
    """Whether it makes its own buckets from noisy counts, regardless of the schema's."""

    takes_many_values: ClassVar[bool] = False
    """Whether attributes may have more than 65,535 values, up to a million; codes then have 32 bits."""

    why_no_tested_seeds: ClassVar[str] = ""
    """If records cannot start from tested seeds, the reason and the alternative."""

    counts_together: ClassVar[bool] = True
    """Whether attributes are counted together with others, without which no analysis of several can be right."""

    parts: ClassVar[tuple[str, ...]]
    leaves: ClassVar[tuple[str, ...]] = ()
    steps: ClassVar[Mapping[str, str]]

    certifies: ClassVar[bool] = False

    kind: str
    # Omitted from all written forms if the spec omits it.
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
        """A public file that the learner counts, relative to the spec's folder; None if there is none."""
        return None

    @property
    def is_paid_elsewhere(self) -> bool:
        """Whether the model is that of an earlier release, which was charged for it."""
        return False

    @property
    def is_without_noise(self) -> bool:
        """Whether counts have no noise, so that the table must be public, nothing is charged and nothing guaranteed."""
        return False

    @property
    def reads(self) -> tuple[str, ...]:
        """The parts, among `parts`, that are read with this entry."""
        return self.parts

    @classmethod
    def learns_structure(cls, asked: Mapping[str, Any]) -> bool:  # noqa: ARG003 - a learner may depend on it
        """Whether a spec must state a budget for learning the structure.

        Args:
            asked: the entry as written.
        """
        field = cls.model_fields.get("structure")
        return field is not None and field.is_required() and "structure" not in cls.leaves

    @classmethod
    def recorded(cls, document: Mapping[str, Any]) -> Mapping[str, Any]:
        """The entry in a record, with what the version that wrote it implied and later ones decide otherwise.

        Args:
            document: the entry as a document.
        """
        return document

    def of_record(self, most_records: int) -> Self:
        """The same learner with its budgets for one record, given those for a person.

        Args:
            most_records: the most records of one person that are read.
        """
        held = {name: getattr(self, name, None) for name in BUDGETS}
        budgets = {name: budget for name, budget in held.items() if isinstance(budget, Strict)}
        if most_records == 1 or not budgets:
            return self
        changed = {
            name: budget.model_copy(update=amounts_of_record(dict(budget), most_records))
            for name, budget in budgets.items()
        }
        return self.model_copy(update=changed)


class StructureBudget(Strict):
    """The learning of the structure.

    Attributes:
        epsilon: budget of the whole structure, for the records from which it is learnt.
        delta: delta of the structure in the whole release; its delta for the records from which it is learnt follows.
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
    """The learning of the parameters.

    Attributes:
        epsilon: budget of the counts, for the counted records.
        delta: delta of the counts in the whole release; their delta for the counted records follows.
        prior: total Dirichlet mass of one configuration; not used by every learner.
        estimate: the posterior's mean, its mode, or a draw from it; not used by every learner.
    """

    epsilon: Epsilon
    delta: Delta
    prior: Annotated[Positive, AfterValidator(between(*_PRIORS))] = Fraction(1)
    estimate: Literal["mean", "map", "sample"] = "mean"


def budget_of(entry: type[LearnerEntry]) -> type[Strict] | None:
    """The class of a learner's budget of parameters, which an entry may leave out; None if it has none."""
    field = entry.model_fields.get("parameters")
    stated = () if field is None else (field.annotation, *get_args(field.annotation))
    return next((each for each in stated if isinstance(each, type) and issubclass(each, Strict)), None)


class CountingEntry(LearnerEntry):
    """The base class of entries of learners that use noisy counts.

    Attributes:
        noise: noise added to the counts; `auto` selects the kind with smaller errors, and `none` adds none, to a public
            table.
        parameters: the budget of the counts; None without noise.
    """

    noise: Literal["auto", "laplace", "gaussian", "none"]
    parameters: ParameterBudget | None

    @property
    def is_without_noise(self) -> bool:
        """Whether counts have no noise; see `LearnerEntry`."""
        return self.noise == WITHOUT_NOISE
