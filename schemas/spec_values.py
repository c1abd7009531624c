"""The kinds of values that specs are made of: exact numbers, counts, and names of attributes.

What a spec holds does not belong here.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Annotated, Any, TypeAlias

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationInfo

from deniable.domain import Domain


def _exact(value: Any) -> Any:
    """Read a number as it is written: 0.1 is a tenth."""
    if isinstance(value, bool):
        raise ValueError("must be a number")  # noqa: TRY004 - pydantic reports a ValueError with its place
    return repr(value) if isinstance(value, float) else value


def _whole(value: Any) -> Any:
    """Refuse `true`, which Python takes for 1."""
    if isinstance(value, bool):
        raise ValueError("must be a whole number")  # noqa: TRY004 - pydantic reports a ValueError with its place
    return value


def _known_names(names: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
    """Refuse a name twice, and names that are no attributes where the domain is known."""
    if len(set(names)) != len(names):
        raise ValueError("must name each attribute once")
    refuse_unknown(names, info)
    return names


def refuse_unknown(names: Sequence[str], info: ValidationInfo) -> None:
    """Refuse names that are no attributes where the domain is known."""
    domain = domain_known_to(info)
    unknown = [name for name in names if domain is not None and name not in domain.names]
    if domain is not None and unknown:
        raise ValueError(f"must name attributes of the dataset ({', '.join(domain.names)}), got {', '.join(unknown)}")


def domain_known_to(info: ValidationInfo) -> Domain | None:
    """The domain that names and numbers of attributes are checked against, where it is known."""
    context: Mapping[str, Any] = info.context or {}
    domain: Domain | None = context.get("domain")
    return domain


def weights(value: Any) -> Any:
    """Read a single number of attributes as a set of one, and a list of them as a set of equal weights."""
    if isinstance(value, Mapping):
        return value
    numbers = value if isinstance(value, list | tuple) else [value]
    if any(isinstance(number, Mapping | list | tuple) for number in numbers) or len(set(numbers)) != len(numbers):
        raise ValueError(
            "must be a number, a list of different numbers, or numbers with whole weights such as {9: 1, 10: 2}"
        )
    return dict.fromkeys(numbers, 1)


Exact: TypeAlias = Annotated[Fraction, BeforeValidator(_exact)]
Positive: TypeAlias = Annotated[Exact, Field(gt=0)]
Probability: TypeAlias = Annotated[Exact, Field(ge=0, le=1)]
OpenProbability: TypeAlias = Annotated[Exact, Field(gt=0, lt=1)]
Epsilon: TypeAlias = Annotated[Exact, Field(gt=0, le=100)]
Count: TypeAlias = Annotated[int, BeforeValidator(_whole), Field(ge=1)]
Names: TypeAlias = Annotated[tuple[str, ...], Field(min_length=1), AfterValidator(_known_names)]


class Strict(BaseModel):
    """A frozen value that refuses keys it does not know."""

    model_config = ConfigDict(extra="forbid", frozen=True)
