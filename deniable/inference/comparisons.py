"""Shares or means by group, and differences between groups, with tests if requested."""

from dataclasses import replace
from functools import cache
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from deniable.foundation.errors import Refused
from deniable.inference.answers import GRADES, HIGHEST_LEVEL, Answer, Asked, TableAnswer
from deniable.inference.estimation import Inference
from deniable.inference.intervals import Interval
from deniable.inference.queries import Query
from deniable.inference.system import NotMeasured

_TESTED = ("measured", "certified")
_ROUNDING = 1e-9


def compare(
    inference: Inference, what: str, by: str, given: str = "", asked: Asked | None = None, *, test: bool = False
) -> TableAnswer:
    """A share or a mean in each group of an attribute, and the difference of each other group from the first.

    Args:
        inference: the release.
        what: a condition, or the name of a numeric attribute.
        by: the attribute that defines the groups: its values, or its buckets if values were counted together.
        given: a condition that restricts the records.
        asked: options of the answer.
        test: whether to compute p-values of the differences.

    Raises:
        InvalidInput, Refused: as for a share or mean, or p-values are requested for a quantity that was not measured.
    """
    asked = asked or Asked()
    words, domain = inference.conditions, inference.measured.domain
    j = words.attribute(by)
    is_mean = what.strip() in domain.names
    told = f"mean of {what.strip()}" if is_mean else f"share with {what}"
    groups = inference.groups(j)
    names = [words.values_named(j, codes) for codes in groups]

    def of_group(codes: NDArray[np.integer], how: Asked) -> Answer:
        own = " & ".join(part for part in (given, words.named(j, codes)) if part.strip())
        return inference.mean(what.strip(), own, how) if is_mean else inference.share(what, own, how)

    @cache
    def strict(group: int) -> Answer:
        """An answer whose interval covers simultaneously with another's."""
        level = (1 + asked.level) / 2
        if level > HIGHEST_LEVEL + _ROUNDING:
            raise Refused(
                "the level of a difference of groups that were not measured must be at most "
                f"{2 * HIGHEST_LEVEL - 1:.4f}, got {asked.level:g}; ask for less."
            )
        return of_group(groups[group], replace(asked, level=level))

    answers = [of_group(codes, asked) for codes in groups]
    found = list(zip(names, answers, strict=True))
    lines = [
        _influence(inference, what, given, j, codes, answer) for codes, answer in zip(groups, answers, strict=True)
    ]
    for other in range(1, len(groups)):
        question = f"difference of {told}: {names[other]} less {names[0]}"
        pair = (answers[other], answers[0])
        kind = "difference of means" if is_mean else "difference of shares"
        if lines[other] is None or lines[0] is None:
            pair = (strict(other), strict(0))
        answer = _difference(inference, (question, kind), pair, (lines[other], lines[0]), asked, test=test)
        found.append((f"{names[other]} - {names[0]}", answer))
    return TableAnswer(
        question=f"{told} by {domain.names[j]}" + (f" among those with {given}" if given.strip() else ""),
        columns=(domain.names[j],),
        cells=tuple((name,) for name, _ in found),
        answers=tuple(answer for _, answer in found),
    )


def _influence(
    inference: Inference, what: str, given: str, j: int, codes: NDArray[np.integer], answer: Answer
) -> Query | None:
    """A ratio as a linear function near its estimate: (numerator - ratio denominator) / denominator."""
    if answer.grade != "measured":
        return None
    words = inference.conditions
    group = np.zeros(len(inference.system.buckets[j]))
    group[codes] = 1.0
    inside = Query.product(words.parse(given)).within(Query.product({j: group}))
    if what.strip() in inference.measured.domain.names:
        i = words.attribute(what)
        above = inside.within(Query.product({i: words.numbers(i)}))
    else:
        above = inside.within(Query.product(words.parse(what)))
    size = inference.system.value(inference.functional(inside, above))
    return above.minus(inside.times(answer.raw_estimate)).times(1 / size)


def _difference(
    inference: Inference,
    wording: tuple[str, str],
    pair: tuple[Answer, Answer],
    lines: tuple[Query | None, Query | None],
    asked: Asked,
    *,
    test: bool,
) -> Answer:
    """The difference between two disjoint groups, for a given question and kind."""
    question, kind = wording
    estimate = pair[0].raw_estimate - pair[1].raw_estimate
    one, other = lines
    if one is None or other is None:
        grade = max((each.grade for each in pair), key=GRADES.index)
        if test and grade not in _TESTED:
            raise Refused(
                f"a test needs what was measured or certified, and this difference is {grade}; leave --test out."
            )
        ends = [answer.interval for answer in pair]
        interval = None
        if ends[0] is not None and ends[1] is not None:
            interval = Interval(ends[0].low - ends[1].high, ends[0].high - ends[1].low)
        basis = max((each.interval_grade or each.grade for each in pair), key=GRADES.index)
        return inference.answer(question, kind, estimate, interval, asked, None, grade=grade, interval_grade=basis)
    try:
        functional = inference.functional(one.minus(other))
    except NotMeasured as error:  # pragma: no cover - both parts were measured
        raise Refused(str(error)) from None
    noise = inference.system.variance(functional)
    sampling = pair[0].sampling_deviation ** 2 + pair[1].sampling_deviation ** 2
    law = inference.law(functional, sampling)
    reach = law.reach(asked.level)
    p_value = None
    if test:
        below = float(law.below(np.asarray([abs(estimate)]))[0])
        p_value = min(1.0, max(2 * (1 - below), 0.0)) if sqrt(noise + sampling) > 0 else 0.0
    return inference.answer(
        question,
        kind,
        estimate,
        Interval(estimate - reach, estimate + reach),
        asked,
        functional,
        noise=noise,
        sampling=sampling,
        p_value=p_value,
    )
