"""Types of values in the entries of mechanisms in a release spec: exact numbers, budgets and counts.

Needs pydantic, which may be absent where a release is verified: only modules named `spec` and `entry` import this.
"""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Annotated, Any, TypeAlias

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationInfo

from deniable.foundation.domain import Domain
from deniable.foundation.exact_numbers import is_too_long

MOST_RECORDS = 10**10
"""More than the number of people: no table that is read or written has as many records."""

SMALLEST_EPSILON, LARGEST_EPSILON = Fraction(1, 10**6), Fraction(100)
SMALLEST_DELTA, LARGEST_DELTA = Fraction(1, 10**30), Fraction(1, 10)
"""Range in which the costs of all learners and guarantees can be computed; outside it, they are useless."""

LARGEST = 10**12
_DECIMALS = 40
_LONGEST_TEXT = 1000
_SHOWN_NAMES = 20
_LARGEST_DENOMINATOR = 10**_DECIMALS
_TOO_LONG = f"must be a number of at most {LARGEST:,} with at most {_DECIMALS} decimals"


def _exact(value: Any) -> Any:
    """Read a number exactly: 0.1 is a tenth."""
    if isinstance(value, bool):
        raise ValueError("must be a number")  # noqa: TRY004 - pydantic reports a ValueError with its place
    if isinstance(value, str) and is_too_long(value):
        raise ValueError(_TOO_LONG)
    return repr(value) if isinstance(value, float) else value


def of_bounded_size(number: Fraction) -> Fraction:
    """Refuse a number with too many digits, which would make arithmetic slow."""
    if abs(number) > LARGEST or number.denominator > _LARGEST_DENOMINATOR:
        raise ValueError(_TOO_LONG)
    return number


def between(least: Fraction, most: Fraction) -> Callable[[Fraction], Fraction]:
    """Make a validator that refuses numbers out of bounds."""

    def check(number: Fraction) -> Fraction:
        if not least <= number <= most:
            raise ValueError(f"must be from {float(least):g} to {float(most):g}, got {float(number):g}")
        return number

    return check


def _whole(value: Any) -> Any:
    """Refuse `true`, which equals 1 in Python."""
    if isinstance(value, bool):
        raise ValueError("must be a whole number")  # noqa: TRY004 - pydantic reports a ValueError with its place
    return value


def domain_known_to(info: ValidationInfo) -> Domain | None:
    """The domain against which names and numbers of attributes are checked, if known."""
    context: Mapping[str, Any] = info.context or {}
    domain: Domain | None = context.get("domain")
    return domain


def _of_the_schema(name: str, info: ValidationInfo) -> str:
    domain = domain_known_to(info)
    if domain is not None and name not in domain.names:
        raise ValueError(f"must name attributes of the schema, {_listed(domain.names)}; got {name}")
    return name


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _SHOWN_NAMES
    return ", ".join(names[:_SHOWN_NAMES]) + (f" and {more} more" if more > 0 else "")


def weights(value: Any) -> Any:
    """Read a single number of attributes as a set of one, and a list of numbers as a set with equal weights."""
    if isinstance(value, Mapping):
        return value
    numbers = value if isinstance(value, list | tuple) else [value]
    if any(isinstance(number, Mapping | list | tuple | set) for number in numbers) or len(set(numbers)) != len(numbers):
        raise ValueError(
            "must be a number, a list of different numbers, or numbers with whole weights such as {9: 1, 10: 2}"
        )
    return dict.fromkeys(numbers, 1)


Exact: TypeAlias = Annotated[Fraction, AfterValidator(of_bounded_size), BeforeValidator(_exact)]
Positive: TypeAlias = Annotated[Exact, Field(gt=0)]
Probability: TypeAlias = Annotated[Exact, Field(ge=0, le=1)]
OpenProbability: TypeAlias = Annotated[Exact, Field(gt=0, lt=1)]
Delta: TypeAlias = Annotated[Positive, AfterValidator(between(SMALLEST_DELTA, LARGEST_DELTA))]
Epsilon: TypeAlias = Annotated[Positive, AfterValidator(between(SMALLEST_EPSILON, LARGEST_EPSILON))]
Count: TypeAlias = Annotated[int, BeforeValidator(_whole), Field(ge=1, le=MOST_RECORDS)]
PublicFile: TypeAlias = Annotated[str, Field(min_length=1, max_length=1000, pattern=r"\.(csv|csv\.gz|parquet|pq)$")]
"""The path of a public table, relative to the spec's folder; records state it."""
AttributeName: TypeAlias = Annotated[str, AfterValidator(_of_the_schema), Field(max_length=_LONGEST_TEXT)]
"""The name of an attribute, which must be one of the schema: checked when the spec is read, before any data are."""
ValueText: TypeAlias = Annotated[str, Field(max_length=_LONGEST_TEXT)]
"""A value of an attribute, as text; an entry that has such checks that the attribute has it."""
Sha256: TypeAlias = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class Strict(BaseModel):
    """A frozen value that refuses keys it does not know."""

    model_config = ConfigDict(extra="forbid", frozen=True)
