"""Shares of answers in a survey, from randomized responses, with transformed Clopper-Pearson intervals.

Each response supports a set of values with probability p if the answer is one of them, and q if not; the number of
such responses is binomial if respondents are a random sample of a population. The interval accounts for the sampling
of respondents and the randomization; for the respondents themselves it is conservative.
"""

from collections.abc import Sequence
from math import lgamma

import numpy as np

from deniable.foundation.domain import Attribute, Domain
from deniable.foundation.errors import Refused
from deniable.inference.answers import Answer, Asked
from deniable.inference.conditions import Conditions
from deniable.inference.intervals import Interval
from deniable.inference.others.asking import Found, OtherRelease, answered
from deniable.local.survey import Survey

_STEPS = 60


class SurveyInference(OtherRelease):
    """Shares of the answers to one question.

    Args:
        survey: the survey.
        counts: for each question, the number of responses that support each value.
        respondents: number of respondents.
    """

    kind = "a survey"
    answers = "shares of the answers to one question"

    def __init__(self, survey: Survey, counts: Sequence[Sequence[int]], respondents: int) -> None:
        self._survey, self._counts, self._respondents = survey, counts, respondents
        self.conditions = Conditions(
            Domain(
                tuple(
                    Attribute(each.name, tuple(each.values), "nominal", tuple(range(len(each.values))))
                    for each in survey.questions
                )
            )
        )

    def share(self, condition: str, given: str, asked: Asked) -> Answer:
        """The share of a population, or of the respondents, whose answer is one of some values."""
        if given.strip():
            raise Refused("answers to two questions are not related by a survey; ask for all respondents.")
        if asked.design_effect not in (None, 1):
            raise Refused("a design effect cannot be used here: exact intervals are of a simple random sample.")
        allowed = self.conditions.parse(condition)
        if len(allowed) != 1:
            raise Refused("a share must be of the answers to one question; leave the others out.")
        [(place, own)] = allowed.items()
        question, size = self._survey.questions[place], int(own.sum())
        if size == len(own):
            raise Refused("the condition must leave answers out, and allows all of them; ask for less.")
        design = question.design
        if design.kind == "oue" and size > 1:
            raise Refused(
                "a share must be of one answer to this question, whose responses have a bit for each; ask for one."
            )
        held, other = (float(each) for each in design.support)
        # A response falls in a set of values if it is the answer, or another value of the set.
        p, q = held + (size - 1) * other, size * other
        number = int(sum(count for count, inside in zip(self._counts[place], own, strict=True) if inside))
        n = self._respondents
        if not n:
            raise Refused("there must be respondents for a share, and there are none.")
        low, high = binomial_interval(number, n, 1 - asked.level)
        rate = number / n
        share = (rate - q) / (p - q)
        inside = min(max(share, 0.0), 1.0)
        noise = (inside * p * (1 - p) + (1 - inside) * q * (1 - q)) / n / (p - q) ** 2
        found = Found(
            estimate=share,
            interval=Interval(*sorted(min(max((end - q) / (p - q), 0.0), 1.0) for end in (low, high))),
            noise=noise,
            sampling=max(rate * (1 - rate) / n / (p - q) ** 2 - noise, 0.0) if asked.estimand == "population" else 0.0,
        )
        return answered(
            f"share with {condition}",
            "share",
            found,
            asked,
            "The interval rests on the law of the responses; respondents must have followed the procedure and "
            + ("be a simple random sample." if asked.estimand == "population" else "answered truthfully."),
            {(question.name,): 1.0},
        )


def binomial_interval(number: int, trials: int, miss: float) -> tuple[float, float]:
    """The exact interval for a binomial probability, with a bounded error probability.

    Source: Clopper, Pearson 1934; the tails are summed, and inverted by bisection.
    """
    logs = np.array([lgamma(trials + 1.0) - lgamma(j + 1.0) - lgamma(trials - j + 1.0) for j in range(trials + 1)])
    numbers = np.arange(trials + 1)

    def tail(p: float, *, above: bool) -> float:
        law = np.exp(logs + numbers * np.log(p) + (trials - numbers) * np.log1p(-p))
        return float(law[number:].sum() if above else law[: number + 1].sum())

    def end(*, above: bool) -> float:
        low, high = 0.0, 1.0
        for _ in range(_STEPS):
            middle = (low + high) / 2
            own = tail(middle, above=above)
            low, high = (low, middle) if (own > miss / 2) == above else (middle, high)
        return (low + high) / 2

    return 0.0 if number == 0 else end(above=True), 1.0 if number == trials else end(above=False)
