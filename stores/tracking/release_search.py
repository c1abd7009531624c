"""Searching for releases in MLflow: the filter for its pages and clients, in MLflow's query language.

MLflow compares texts only for equality, so the day of publication is also a number. Running the search does not belong
here.
"""

from datetime import date
from decimal import Decimal
from math import isfinite

from deniable.foundation.errors import InvalidInput

PUBLISHED_DAY = "published.day"
"""Metric: the day of publication as a number, such as 20261120; what is not published has none."""

EPSILON_TOTAL = "epsilon.total"
"""Metric: epsilon of the whole release."""

APPROVED_BY = "approved_by"
"""Tag: who approved the release."""

GUARANTEE = "guarantee"
"""Tag: the kind of the guarantee; of discoveries it is `discovery`."""

DISCOVERY = "discovery"
"""Tag of discoveries with their names, and their value of the tag `guarantee`."""

NOBODY = "nobody"
"""The approver of a release that needed no approval by a person, or has not been approved yet."""


def release_filter(
    *,
    dataset: str | None = None,
    since: date | None = None,
    epsilon_above: float | None = None,
    approved_by: str | None = None,
) -> str:
    """Build the filter for releases; it finds published releases and discoveries, and no steps.

    Args:
        dataset: the dataset's name.
        since: the first day of publication.
        epsilon_above: the whole release cost more than this; a release without a finite epsilon exceeds any number.
        approved_by: the approver.

    Returns:
        A query for MLflow's search box.

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
    """A day as a number in the order of days: 20 November 2026 is 20261120."""
    return day.year * 10_000 + day.month * 100 + day.day


def _written_out(epsilon: float) -> str:
    """A number in MLflow's query language, which has no exponents above 0."""
    if not (isfinite(epsilon) and epsilon >= 0):
        raise InvalidInput(
            f"an epsilon in a search must be a finite number, 0 or more, got {epsilon}; give such a number."
        )
    return f"{Decimal(repr(epsilon)).normalize():f}"


def _quoted(name: str) -> str:
    """A text in MLflow's query language."""
    quote = "'" if "'" not in name else '"'
    if quote in name:
        raise InvalidInput(
            f"a name in a search must not contain both kinds of quotation marks, got {name}; use only one kind."
        )
    return f"{quote}{name}{quote}"
