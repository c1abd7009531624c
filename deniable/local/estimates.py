"""Shares of the population from randomized responses: unbiased estimates with exact intervals.

If respondents are a random sample of the population, the number X of responses that support a value is Binomial(n,
lambda) with lambda = q + pi (p - q), and the Clopper-Pearson interval for lambda, mapped to pi, has at least nominal
coverage. It accounts for the sampling of respondents and for the randomization. Everything here is a function of
responses.

Sources: Warner 1965; Clopper, Pearson 1934; Wang, Blocki, Li, Jha 2017, equations 1 and 2.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt

from scipy import stats

from deniable.foundation.errors import InvalidInput
from deniable.local.designs import Design
from deniable.local.survey import Survey

LEVEL = Fraction(95, 100)


@dataclass(frozen=True)
class Estimate:
    """The share of one value.

    Attributes:
        supported: number of responses that support it.
        share: the unbiased estimate (X/n - q) / (p - q), not clipped: it may lie outside [0, 1].
        se_population: its standard error as an estimate for the population.
        se_given_sample: its standard error as an estimate for the respondents, due to randomization alone.
        interval: exact confidence interval, clipped to [0, 1].
        simultaneous: interval of a family that simultaneously covers the shares of all values of the question.
        shown: the estimate after projection of all values onto the simplex, for display only.
    """

    supported: int
    share: float
    se_population: float
    se_given_sample: float
    interval: tuple[float, float]
    simultaneous: tuple[float, float]
    shown: float


def estimates(design: Design, counts: Sequence[int], respondents: int, level: Fraction = LEVEL) -> list[Estimate]:
    """Estimate the share of each value of a question.

    Args:
        design: the question's design.
        counts: number of responses that support each value.
        respondents: number of respondents, n.
        level: confidence level, in (0, 1).

    Raises:
        InvalidInput: the counts are impossible for this number of respondents, or the level is not in (0, 1).
    """
    _require(design, counts, respondents, level)
    p, q = design.support
    exact = [(Fraction(count, respondents) - q) / (p - q) for count in counts]
    # With two values, the second share is one minus the first, and the intervals mirror each other.
    together = 1 if design.kind != "oue" and design.values == 2 else design.values
    shown = on_simplex([float(share) for share in exact])
    return [
        Estimate(
            supported=count,
            share=float(share),
            se_population=_se_population(count, respondents, float(p - q)),
            se_given_sample=_se_given_sample(float(share), respondents, float(p), float(q)),
            interval=_mapped(clopper_pearson(count, respondents, float(1 - level)), float(p), float(q)),
            simultaneous=_mapped(
                clopper_pearson(count, respondents, float((1 - level) / together)), float(p), float(q)
            ),
            shown=projected,
        )
        for count, share, projected in zip(counts, exact, shown, strict=True)
    ]


def clopper_pearson(successes: int, trials: int, alpha: float) -> tuple[float, float]:
    """The exact confidence interval for a binomial probability at level 1 - alpha.

    Source: Clopper, Pearson 1934.
    """
    low = 0.0 if successes == 0 else float(stats.beta.ppf(alpha / 2, successes, trials - successes + 1))
    high = 1.0 if successes == trials else float(stats.beta.ppf(1 - alpha / 2, successes + 1, trials - successes))
    return low, high


def on_simplex(shares: Sequence[float]) -> list[float]:
    """The Euclidean projection of shares onto the probability simplex.

    Source: Duchi, Shalev-Shwartz, Singer, Chandra 2008, figure 1; "norm-sub" in Wang et al. 2020.
    """
    total = threshold = 0.0
    for rank, share in enumerate(sorted(shares, reverse=True), start=1):
        total += share
        if share - (total - 1) / rank > 0:
            threshold = (total - 1) / rank
    return [max(share - threshold, 0.0) for share in shares]


def _mapped(interval: tuple[float, float], p: float, q: float) -> tuple[float, float]:
    """Map an interval for lambda to one for the share, clipped to [0, 1] without loss of coverage."""
    low, high = ((bound - q) / (p - q) for bound in interval)
    return min(max(low, 0.0), 1.0), max(min(high, 1.0), 0.0)


def _se_population(count: int, respondents: int, difference: float) -> float:
    rate = count / respondents
    return sqrt(rate * (1 - rate) / respondents) / difference


def _se_given_sample(share: float, respondents: int, p: float, q: float) -> float:
    inside = min(max(share, 0.0), 1.0)
    return sqrt((inside * p * (1 - p) + (1 - inside) * q * (1 - q)) / respondents) / (p - q)


def _require(design: Design, counts: Sequence[int], respondents: int, level: Fraction) -> None:
    if not 0 < level < 1:
        raise InvalidInput(f"the level must be in (0, 1), got {float(level):g}; give a probability such as 0.95.")
    if respondents < 1:
        raise InvalidInput(f"there must be at least 1 respondent, got {respondents}.")
    if len(counts) != design.values:
        raise InvalidInput(f"there must be a count for each of the {design.values} values, got {len(counts)}.")
    if not all(0 <= count <= respondents for count in counts):
        raise InvalidInput(f"a count must be from 0 to the number of respondents, {respondents}, got another.")
    if design.kind != "oue" and sum(counts) != respondents:
        raise InvalidInput(f"the counts must add up to the {respondents} respondents, got {sum(counts)}.")


COLUMNS = (
    "question",
    "value",
    "supported",
    "share",
    "se_population",
    "se_given_sample",
    "low",
    "high",
    "simultaneous_low",
    "simultaneous_high",
    "shown",
)
"""The columns of `estimates.csv`."""


def estimate_rows(
    survey: Survey, counts: Sequence[Sequence[int]], respondents: int, level: Fraction = LEVEL
) -> list[tuple[str, ...]]:
    """The rows of `estimates.csv`: one for each value of each question, at full float precision."""
    rows = []
    for question, supported in zip(survey.questions, counts, strict=True):
        found = estimates(question.design, supported, respondents, level)
        for value, of in zip(question.values, found, strict=True):
            numbers = (of.share, of.se_population, of.se_given_sample, *of.interval, *of.simultaneous, of.shown)
            rows.append((question.name, value, str(of.supported), *map(repr, numbers)))
    return rows
