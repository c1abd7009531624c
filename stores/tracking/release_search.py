"""How releases are found in MLflow: the filter that its pages and its clients take, in its own language.

MLflow compares texts only for being equal, so the day of publication is a number too. Who asks, and where, does not
belong here.
"""

from datetime import date
from decimal import Decimal
from math import isfinite

from deniable.foundation.errors import InvalidInput

PUBLISHED_DAY = "published.day"
"""Metric: the day of publication as a number, such as 20261120; releases that were not published have none."""

EPSILON_TOTAL = "epsilon.total"
"""Metric: what the whole release cost."""

APPROVED_BY = "approved_by"
"""Tag: who approved the release."""

NOBODY = "nobody"
"""Who approved a release that no person had to approve, or that none has approved yet."""


def release_filter(
    *,
    dataset: str | None = None,
    since: date | None = None,
    epsilon_above: float | None = None,
    approved_by: str | None = None,
) -> str:
    """The filter that finds releases; those alone that were published, and none of the steps.

    Args:
        dataset: the dataset's name.
        since: the first day of publication.
        epsilon_above: what the whole release cost more than; one that has no finite epsilon costs more than any.
        approved_by: who approved it.

    Returns:
        What MLflow's search box takes.

    Raises:
        InvalidInput: a name or a cost cannot be searched for.
    """
    found_by = [f"metrics.{PUBLISHED_DAY} >= {day_number(since):d}" if since else f"metrics.{PUBLISHED_DAY} > 0"]
    if dataset is not None:
        found_by.insert(0, f"tags.dataset = {_quoted(dataset)}")
    if epsilon_above is not None:
        found_by.append(f"metrics.{EPSILON_TOTAL} > {_written_out(epsilon_above)}")
    if approved_by is not None:
        found_by.append(f"tags.{APPROVED_BY} = {_quoted(approved_by)}")
    return " and ".join(found_by)


def day_number(day: date) -> int:
    """A day as a number that sorts as days do: 20 November 2026 is 20261120."""
    return day.year * 10_000 + day.month * 100 + day.day


def _written_out(epsilon: float) -> str:
    """A number as MLflow reads it, which knows no exponents above 0."""
    if not (isfinite(epsilon) and epsilon >= 0):
        raise InvalidInput(f"an epsilon must be a number, 0 or more, to be searched for, got {epsilon}.")
    return f"{Decimal(repr(epsilon)).normalize():f}"


def _quoted(name: str) -> str:
    """A text as MLflow reads it."""
    quote = "'" if "'" not in name else '"'
    if quote in name:
        raise InvalidInput(f"a name must not hold both kinds of quotation marks to be searched for, got {name}.")
    return f"{quote}{name}{quote}"
