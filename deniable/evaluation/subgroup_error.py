"""The error of a small group's count, as far as it follows from public parameters.

The effect of the model does not belong here: its smoothing depends on the noisy answers, and no parameter determines
the error for a group that no counted table distinguishes.
"""

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from math import exp, sqrt
from typing import Any

from deniable.privacy.common_events import CERTIFICATE, FAMILIES
from deniable.roles import Role

GROUPS = (50, 500)
"""Sizes of groups, in records of the confidential table, for which errors are stated."""

ONE = "of one attribute's value"
SEVERAL = "of values of several attributes, where a table of them is counted"
CELL = "of an attribute's value, given its parents'"
PREFIX = "of a prefix of the histogram"
NOT_STATED = (
    "what the model makes of the counts: it smooths them, shows nothing of dependences that it has no table of, and "
    "may leave a small group out or make one up; no parameter bounds that"
)
NOT_STATED_OF_DRAWS = (
    "what the chance of the draws makes of the counts: every count of synthetic records has an error of its own, which "
    "depends on the confidential counts"
)
_DIGITS = 3


def subgroup_error(
    steps: Sequence[Mapping[str, Any]], *, most_records: int = 1, from_counts: bool = False
) -> dict[str, Any]:
    """The error of a count on which the model, the histogram or the draws are based, as published in the statement.

    A count of the records read, a share p of all, has noise with standard deviation s. Divided by p it estimates the
    count of all records; for a group of g its error has standard deviation sqrt(s^2 / p^2 + r g (1 - p) / p) at most,
    from noise and from sampling. All of the at most r records of a person are read together or not at all, and the sum
    of the squares of the numbers of records of people, which are g records together, is at most r g. A group of c cells
    has sqrt(c) times the noise of one.

    Args:
        steps: the costs of the steps, as in the record.
        most_records: the most records of one person that are used, r.
        from_counts: whether records are drawn from exact counts; noisy counts are then named by their query.

    Returns:
        The largest errors of one count, to three digits: `noise_sd` in records read, and for each group size the
        relative standard deviation of the count.
    """
    not_stated = NOT_STATED_OF_DRAWS if from_counts else NOT_STATED
    return {"counts": list(_counts(steps, most_records, from_counts=from_counts)), "not_stated": not_stated}


def _counts(steps: Sequence[Mapping[str, Any]], most: int, *, from_counts: bool) -> Iterator[dict[str, Any]]:
    for step in steps:
        read = float(Fraction(step["probability"]))
        if step["step"] == Role.PARAMETERS:
            for name, deviation in _of_draws(step["events"]) if from_counts else _of_model(step["events"]):
                yield _error(name, deviation, read, most)
        elif step["step"] == Role.HISTOGRAM:
            for event in step["events"]:
                if event["mechanism"] == "stability_histogram":
                    found = _error(PREFIX, _laplace(Fraction(event["scale"])), read, most)
                    yield {**found, "left_out_below": event["threshold"]}


def _of_draws(events: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, float]]:
    """What was counted with noise beside the draws, and the standard deviation of the noise."""
    yield from ((event["query"], _deviation(event)) for event in events)


def _of_model(events: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, float]]:
    """Names of kinds of counts, and the largest standard deviation of the noise on one."""
    noisy = [event for event in events if event["mechanism"] in {"discrete_gaussian", "discrete_laplace"}]
    families = [_deviation(event) for event in noisy if event["query"] == FAMILIES]
    yield from ((CELL, deviation) for deviation in [max(families, default=None)] if deviation)
    noisy = [event for event in noisy if event["query"] not in {FAMILIES, CERTIFICATE}]
    # Each share of the budget is a separate release, and the releases of one table are averaged.
    single = [_deviation(event) / sqrt(event["outputs"]) for event in noisy if _is_of_one(event)]
    tables = [_deviation(event) for event in noisy if not _is_of_one(event)]
    yield from ((ONE, deviation) for deviation in [max(single, default=None)] if deviation)
    # With Laplace noise, earlier answers determine how epsilon is divided among the tables, and no event states it.
    yield from ((SEVERAL, deviation) for deviation in [max(tables, default=None)] if deviation)


def _is_of_one(event: Mapping[str, Any]) -> bool:
    """Whether an event is the release of a one-way marginal."""
    query: str = event["query"]
    return query.startswith("counts of ") and " and " not in query


def _deviation(event: Mapping[str, Any]) -> float:
    """Standard deviation of the noise of one output."""
    if event["mechanism"] == "discrete_gaussian":
        return sqrt(Fraction(event["variance"]))
    return _laplace(Fraction(event["scale"]))


def _laplace(scale: Fraction) -> float:
    """Standard deviation of discrete Laplace noise: with a = e^(-1 / scale), its variance is 2 a / (1 - a)^2."""
    decay = exp(-float(1 / scale))
    return sqrt(2 * decay) / (1 - decay)


def _error(counts: str, deviation: float, read: float, most: int) -> dict[str, Any]:
    off = {size: sqrt((deviation / read) ** 2 + most * size * (1 - read) / read) / size for size in GROUPS}
    return {
        "counts": counts,
        "noise_sd": _rounded(deviation),
        **{f"sd_for_a_group_of_{size}": _rounded(share) for size, share in off.items()},
    }


def _rounded(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")
