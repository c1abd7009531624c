"""Cumulative shares and quantiles of numeric attributes, with intervals.

A quantile's interval contains the values whose cumulative share may equal the probability, by the interval for each
cumulative share (Woodruff 1952). Values counted in buckets are distinguished only where the attribute's own counts
permit it.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from math import isnan, nan

import numpy as np
from numpy.typing import NDArray

from deniable.foundation.errors import InvalidInput, Refused
from deniable.inference.answers import Answer, Asked, TableAnswer
from deniable.inference.estimation import Inference
from deniable.inference.intervals import Interval
from deniable.inference.laws import two_sided
from deniable.inference.queries import Query
from deniable.inference.system import NotMeasured
from deniable.measurements.noisy_tables import Cells

_SHOWN = 200
"""Largest number of cumulative shares given for an attribute with very many values."""
_BEYOND, _FEW = 2.5, 10.0
"""Margins of the search for a quantile: a factor of the critical value for normal noise (for Laplace noise, it is 1.7
times as large at the highest level), and a number of records."""
_ROUNDING = 1e-9


def cumulative(inference: Inference, attribute: str, given: str = "", asked: Asked | None = None) -> TableAnswer:
    """The share of records whose value of a numeric attribute is at most each value, or each bucket's last one.

    Args:
        inference: the release.
        attribute: its name.
        given: a condition that restricts the records.
        asked: options of the answer.

    Returns:
        The shares; for an attribute with more than 2,000 values, up to 200 of them, evenly spaced.

    Raises:
        InvalidInput, Refused: as for a share, or the attribute is nominal.
    """
    asked = asked or Asked()
    i, values, ends = _places(inference, attribute, given)
    name = inference.measured.domain.names[i]
    some = ""
    if inference.system.is_large[i]:
        ends, size = ends[np.unique(np.linspace(0, len(ends) - 1, _SHOWN).round().astype(int))], len(ends)
        some = f" up to {len(ends)} of its {size:,} values"
    answers = [_share_up_to(inference, i, values, end, given, asked) for end in ends]
    return TableAnswer(
        question=f"cumulative shares of {name}{some}" + (f" among those with {given}" if given.strip() else ""),
        columns=(name,),
        cells=tuple((f"<={_text(end)}",) for end in ends),
        answers=tuple(answers),
    )


def quantile(
    inference: Inference, attribute: str, probability: float = 0.5, given: str = "", asked: Asked | None = None
) -> Answer:
    """The smallest value whose cumulative share is at least a probability; the median by default.

    Args:
        inference: the release.
        attribute: name of a numeric attribute.
        probability: the cumulative share, in (0, 1).
        given: a condition that restricts the records.
        asked: options of the answer.

    Raises:
        InvalidInput: the probability is out of range, or as for `cumulative`.
        Refused: as for a share.

    Returns:
        The quantile; without an estimate if counts only bound the shares from which it follows.
    """
    asked = asked or Asked()
    if not 0 < probability < 1:
        raise InvalidInput(f"a quantile must be of a share in (0, 1), got {probability:g}; the median is 0.5.")
    i, values, ends = _places(inference, attribute, given)
    found = cache(lambda place: _share_up_to(inference, i, values, float(ends[place]), given, asked))
    last = len(ends) - 1
    first, begin, end = _bracket(inference, i, values, probability, asked, last) if not given.strip() else (0, 0, last)
    # Where a share has no estimate, the quantile has none.
    estimate = _first(lambda place: not found(place).estimate < probability, first, last)
    low = _first(lambda place: _high(found(place)) >= probability, begin, last)
    # Noise can make cumulative shares decrease: the last place whose share may be too low counts.
    high = min(last, 1 + next((place for place in range(end, -1, -1) if _low(found(place)) < probability), -1))
    # Below the end of a bucket its values cannot be distinguished.
    starts = np.sort(values)
    least = float(starts[0]) if low == 0 else float(starts[starts > ends[low - 1]][0])
    name = inference.measured.domain.names[i]
    question = f"{probability:g} quantile of {name}" + (f" among those with {given}" if given.strip() else "")
    answer = found(estimate)
    value = nan if isnan(answer.estimate) else float(ends[estimate])
    resolution = (
        "" if len(ends) == len(values) else "; values in one bucket are not distinguished, and its last is given"
    )
    return replace(
        answer,
        question=question,
        kind="quantile",
        estimate=value,
        unrestricted=value,
        interval=Interval(least, float(ends[high])),
        condition=answer.condition.rstrip(".") + resolution + ".",
        noise_deviation=nan,
        sampling_deviation=nan,
    )


def _places(inference: Inference, attribute: str, given: str) -> tuple[int, Cells, NDArray[np.float64]]:
    """Column number, values, and the ascending values at which cumulative shares are known."""
    i = inference.conditions.attribute(attribute)
    values = inference.conditions.numbers(i)
    ordered = np.sort(values)
    if inference.system.is_large[i] and given.strip():
        raise Refused(
            f"a quantile of {inference.measured.domain.names[i]}, which has {len(values):,} values, must be of all "
            "records; leave the group out."
        )
    if len(ordered) > 1:
        first = Query.product({i: (values <= ordered[0]).astype(np.float64)})
        try:
            inference.functional(first.within(Query.product(inference.conditions.parse(given))))
        except NotMeasured as error:
            if i in error.split and not error.relation:
                return i, values, _ends(values, inference.system.buckets[i])
    return i, values, ordered


def _ends(values: Cells, buckets: NDArray[np.integer]) -> NDArray[np.float64]:
    """The values at the upper edges of buckets."""
    ordered = np.sort(values)
    kept = []
    for end in ordered:
        up_to = values <= end
        inside, held = np.bincount(buckets, weights=up_to.astype(np.float64)), np.bincount(buckets)
        if ((inside == 0) | (inside == held)).all():
            kept.append(end)
    return np.asarray(kept)


def _share_up_to(inference: Inference, i: int, values: Cells, end: float, given: str, asked: Asked) -> Answer:
    name = inference.measured.domain.names[i]
    return inference.share_of({i: (values <= end).astype(np.float64)}, f"{name}<={_text(end)}", given, asked)


def _bracket(
    inference: Inference, i: int, values: Cells, probability: float, asked: Asked, last: int
) -> tuple[int, int, int]:
    """The range of places to search for a quantile: the first for the estimate and lower end, the last for the upper.

    All places, unless there are very many. In that case cumulative shares are first computed all at once, and places
    are skipped if they are clearly on one side: by 1.5 times the margin by which the widest noise law (Laplace)
    exceeds a normal one.
    """
    many = inference.system.many.get(i)
    if many is None:
        return 0, 0, last
    system = inference.system
    whole, size = system.variance(system.functional(Query.product({}))), len(values)
    sums, variances = replace(many, counts=many.counts[np.argsort(values)]).sums
    shares = np.arange(1, size + 1) / size
    estimates = shares + sums / inference.records
    # A cumulative share is compared with the probability, using the variance that the probability implies.
    noise = variances + (shares - probability) ** 2 * whole
    sampling = inference.sampling_factor(asked) * probability * (1 - probability) * inference.records
    reach = _BEYOND * (two_sided(asked.level) * np.sqrt(noise + sampling) + _FEW) / inference.records
    first = int(np.argmax(estimates >= probability - _ROUNDING))
    begin = int(np.argmax(estimates + reach >= probability))
    below = np.nonzero(estimates - reach < probability)[0]
    return first, min(begin, first), int(below[-1]) if len(below) else 0


def _first(holds: Callable[[int], bool], first: int, last: int) -> int:
    return next((place for place in range(first, last + 1) if holds(place)), last)


def _low(answer: Answer) -> float:
    return 0.0 if answer.interval is None else answer.interval.low


def _high(answer: Answer) -> float:
    return 1.0 if answer.interval is None else answer.interval.high


def _text(number: float) -> str:
    return f"{number:.10g}"
