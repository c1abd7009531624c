"""Further types of values in specs, besides those of mechanisms: bounds of figures, and names of attributes.

The content of a spec does not belong here.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import Annotated, Any, TypeAlias

from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo

from deniable.foundation.spec_values import LARGEST, domain_known_to, of_bounded_size
from schemas.plain_text import Line

_MOST_NAMES = 10_000


def _bound(value: Any) -> Any:
    """Read the bound of a figure as a float, because figures are floats."""
    if isinstance(value, bool):
        raise ValueError("must be a number")  # noqa: TRY004 - pydantic reports a ValueError with its place
    return float(of_bounded_size(value)) if isinstance(value, Fraction) else value


def _known_names(names: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
    """Refuse repeated names and, if the domain is known, names that are not attributes."""
    if len(set(names)) != len(names):
        raise ValueError("must name each attribute once")
    refuse_unknown(names, info)
    return names


def refuse_unknown(names: Sequence[str], info: ValidationInfo) -> None:
    """Refuse names that are not attributes, if the domain is known."""
    domain = domain_known_to(info)
    unknown = [name for name in names if domain is not None and name not in domain.names]
    if domain is not None and unknown:
        raise ValueError(f"must name attributes of the dataset ({', '.join(domain.names)}), got {', '.join(unknown)}")


Bound: TypeAlias = Annotated[float, BeforeValidator(_bound), Field(allow_inf_nan=False, ge=-LARGEST, le=LARGEST)]
AnyNames: TypeAlias = Annotated[tuple[Line, ...], Field(max_length=_MOST_NAMES), AfterValidator(_known_names)]
Names: TypeAlias = Annotated[
    tuple[Line, ...], Field(min_length=1, max_length=_MOST_NAMES), AfterValidator(_known_names)
]
