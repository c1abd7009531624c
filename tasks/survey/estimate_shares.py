"""Estimate shares of the population from responses."""

from fractions import Fraction

from prefect import task
from prefect.cache_policies import NO_CACHE

from deniable.local.estimates import estimate_rows
from deniable.local.responses import Collected, support_counts
from deniable.local.survey import Survey


def estimate_shares(survey: Survey, collected: Collected, level: Fraction) -> list[tuple[str, ...]]:
    """Compute the rows of the published estimates.

    Args:
        survey: the survey.
        collected: the responses.
        level: probability with which an interval covers.
    """
    return estimate_rows(survey, support_counts(survey, collected.rows), len(collected.rows), level)


estimate_shares_task = task(name="estimate_shares", persist_result=False, cache_policy=NO_CACHE)(estimate_shares)
