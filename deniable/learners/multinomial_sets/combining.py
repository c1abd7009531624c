"""Combining rules for several synthetic sets, each with a statement on its validity for the given sets.

No rule is valid for differentially private sets: the prior of the synthesis is chosen for privacy, not by the analyst,
so estimates are biased and the rules' variances do not apply. For such sets the posterior is exact
(deniable.learners.multinomial_sets.posterior).

Sources: Rubin 1987 (missing data); Raghunathan, Reiter, Rubin 2003, and Reiter 2002 for the adjusted variance (fully
synthetic); Reiter 2003 (partially synthetic); Raab, Nowok, Dibben 2016 (simple and proper synthesis from one model);
Charest 2010 (the rules under differential privacy).
"""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf, isfinite, sqrt
from statistics import fmean, variance
from typing import Final, Literal, get_args

from scipy import stats

from deniable.command_names import command_line
from deniable.foundation.errors import InvalidInput
from deniable.privacy.rounding import rounded

Rule = Literal["T_m", "T_M", "T_M*", "partial", "T_s", "T_p"]
"""missing data; fully synthetic; fully synthetic, adjusted to be positive; partially synthetic; simple; proper."""
Synthesis = Literal["differentially_private", "posterior_predictive", "partially_synthetic", "fitted_model"]
"""The synthesis of the sets: under differential privacy; by draws from the posterior predictive distribution under the
analyst's own prior; with real values of insensitive attributes; from one fitted model that contains the analysis."""

RULES: Final[tuple[Rule, ...]] = get_args(Rule)
SYNTHESES: Final[tuple[Synthesis, ...]] = get_args(Synthesis)
_VALID: Final[Mapping[Rule, tuple[Synthesis, ...]]] = {
    "T_m": (),
    "T_M": ("posterior_predictive",),
    "T_M*": ("posterior_predictive",),
    "partial": ("partially_synthetic",),
    "T_s": ("fitted_model",),
    "T_p": ("fitted_model", "posterior_predictive"),
}
_NEEDS: Final[Mapping[Rule, str]] = {
    "T_m": "sets in which only missing values were imputed, and synthetic sets are not such",
    "T_M": "draws from the posterior predictive distribution under the analyst's own prior",
    "T_M*": "draws from the posterior predictive distribution under the analyst's own prior",
    "partial": "real values for all that is not sensitive",
    "T_s": "sets from one fitted model that contains the analysis, without noise",
    "T_p": "sets from a model that contains the analysis, its parameters drawn from their posterior, without noise",
}
_OF_ONE_SET: Final = ("T_s", "T_p")
_FEWEST_FREEDOM = 1.0


@dataclass(frozen=True)
class Combined:
    """An estimate from several sets.

    Attributes:
        rule: the combining rule.
        estimate: the mean of the sets' estimates.
        between: variance of the estimates between sets, b; None for one set.
        within: mean of the sets' own variances.
        variance: the rule's variance of the estimate; negative if T_M is.
        freedom: degrees of freedom of the t distribution; infinite for the normal distribution.
        interval: the interval at the level; None if the variance is negative.
        valid: whether the rule is valid for the synthesis.
        why: the reason, and the alternative if it is not valid.
    """

    rule: Rule
    estimate: float
    between: float | None
    within: float
    variance: float
    freedom: float
    interval: tuple[float, float] | None
    valid: bool
    why: str


def combine(
    estimates: Sequence[float],
    variances: Sequence[float],
    rule: Rule,
    *,
    size: int,
    people: int,
    synthesis: Synthesis = "differentially_private",
    level: float = 0.95,
) -> Combined:
    """Combine the estimates of several synthetic sets.

    Args:
        estimates: the estimate from each set, q_m.
        variances: its estimated variance, v_m.
        rule: the combining rule.
        size: number of records in a set.
        people: number of people in the confidential table.
        synthesis: the synthesis of the sets, which decides whether the rule is valid.
        level: level of the interval, in (0, 1).

    Raises:
        InvalidInput: there are too few sets for the rule, or the numbers are impossible.
    """
    _require(estimates, variances, rule, size, people, synthesis, level)
    sets = len(estimates)
    within = fmean(variances)
    between = variance(estimates) if sets > 1 else None
    total, freedom = _of_rule(rule, sets, between, within, size / people)
    estimate = fmean(estimates)
    interval = None
    if total >= 0:
        half = float(stats.t.ppf((1 + level) / 2, freedom) if freedom < inf else stats.norm.ppf((1 + level) / 2))
        interval = (estimate - half * sqrt(total), estimate + half * sqrt(total))
    valid = synthesis in _VALID[rule]
    return Combined(
        rule, estimate, between, within, total, freedom, interval, valid, _why(rule, synthesis, valid=valid)
    )


def read_estimates(text: str) -> tuple[list[float], list[float]]:
    """Read the estimates of several sets and their variances.

    Args:
        text: comma-separated values with the columns `estimate` and `variance`, a line for each set.

    Raises:
        InvalidInput: a column is missing, or a value is no number.
    """
    rows = csv.DictReader(io.StringIO(text, newline=""))
    if not {"estimate", "variance"} <= set(rows.fieldnames or ()):
        raise InvalidInput("the file must have the columns estimate and variance, with a line for each set.")
    try:
        found = [(float(row["estimate"]), float(row["variance"])) for row in rows]
    except (TypeError, ValueError):
        raise InvalidInput("every line must have an estimate and its variance, as numbers.") from None
    if not all(isfinite(number) for pair in found for number in pair):
        raise InvalidInput("estimates and variances must be finite numbers.")
    return [one for one, _ in found], [other for _, other in found]


def combined_lines(
    estimates: Sequence[float],
    variances: Sequence[float],
    rules: Sequence[Rule],
    *,
    size: int,
    people: int,
    synthesis: Synthesis,
    level: float,
) -> Iterator[str]:
    """Combine the estimates of several sets by some rules, as lines of text; see `combine`.

    Yields:
        For each rule the estimate and its interval, and whether the rule is valid. If several rules are listed, those
        that need more sets are left out.
    """
    shown = 0
    for rule in rules:
        if len(rules) > 1 and len(estimates) == 1 and rule not in _OF_ONE_SET:
            continue
        found = combine(estimates, variances, rule, size=size, people=people, synthesis=synthesis, level=level)
        if shown:
            yield ""
        shown += 1
        yield f"{rule} of {len(estimates)} sets: {'valid' if found.valid else 'NOT VALID'}"
        yield f"  {'estimate':<10}{rounded(found.estimate)}"
        if found.interval is None:
            yield f"  {'interval':<10}none: the variance by this rule, {rounded(found.variance)}, is below 0"
        else:
            low, high = found.interval
            law = "normal" if found.freedom == inf else f"t with {found.freedom:.4g} degrees of freedom"
            yield f"  {'interval':<10}{rounded(low)} to {rounded(high)}, level {level:g}, {law}"
            yield f"  {'variance':<10}{rounded(found.variance)}"
        yield f"  {found.why}"


def fully_synthetic_freedom(sets: int, between: float, within: float) -> float:
    """Degrees of freedom of T_M as published, (M - 1)(1 - 1/r)^2 with r = (1 + 1/M) b / v; meaningless if T_M < 0."""
    if within == 0:
        return float(sets - 1)
    ratio = (1 + 1 / sets) * between / within
    return inf if ratio == 0 else (sets - 1) * (1 - 1 / ratio) ** 2


def partial_freedom(sets: int, between: float, within: float) -> float:
    """Degrees of freedom of the rule for partially synthetic sets, (M - 1)(1 + M v / b)^2."""
    return inf if between == 0 else (sets - 1) * (1 + within / (between / sets)) ** 2


def _of_rule(rule: Rule, sets: int, between: float | None, within: float, size: float) -> tuple[float, float]:
    """Variance and degrees of freedom; `size` is that of a set relative to the number of people."""
    if rule == "T_s":
        return within * (size + 1 / sets), inf
    if rule == "T_p":
        return within * (size + (1 + size) / sets), inf
    assert between is not None  # noqa: S101 - _require has seen to it
    full = (1 + 1 / sets) * between - within
    if rule == "T_m":
        ratio = (1 + 1 / sets) * between
        return ratio + within, inf if ratio == 0 else (sets - 1) * (1 + within / ratio) ** 2
    if rule == "partial":
        return between / sets + within, partial_freedom(sets, between, within)
    # If T_M is negative, its degrees of freedom are meaningless: the normal distribution is used, as in Charest's
    # figure 1.
    freedom = inf if full < 0 else max(fully_synthetic_freedom(sets, between, within), _FEWEST_FREEDOM)
    if rule == "T_M":
        return full, freedom
    return (full if full >= 0 else size * within), freedom


def _why(rule: Rule, synthesis: Synthesis, *, valid: bool) -> str:
    if valid:
        return f"{rule} is valid: it needs {_NEEDS[rule]}."
    if synthesis == "differentially_private":
        return (
            f"{rule} is not valid for sets with differential privacy: it needs {_NEEDS[rule]}; "
            f"use the posterior that models the synthesis ({command_line('data posterior')}), or "
            f"{command_line('data infer')}."
        )
    others = [other for other in RULES if synthesis in _VALID[other]]
    return f"{rule} is not valid for these sets: it needs {_NEEDS[rule]}; use {' or '.join(others)}."


def _require(
    estimates: Sequence[float],
    variances: Sequence[float],
    rule: Rule,
    size: int,
    people: int,
    synthesis: Synthesis,
    level: float,
) -> None:
    if rule not in RULES:
        raise InvalidInput(f"the rule must be one of {', '.join(RULES)}, got {rule}.")
    if synthesis not in SYNTHESES:
        raise InvalidInput(f"synthesis must be one of {', '.join(SYNTHESES)}, got {synthesis}.")
    if not estimates or len(estimates) != len(variances):
        raise InvalidInput(
            f"each set must have an estimate and its variance, got {len(estimates)} and {len(variances)}."
        )
    if len(estimates) == 1 and rule not in _OF_ONE_SET:
        raise InvalidInput(f"{rule} needs 2 or more sets, because it uses the variance between them, got 1.")
    if any(not each >= 0 for each in variances):
        raise InvalidInput("the variances of the sets must be 0 or more, got another.")
    if size < 1 or people < 1:
        raise InvalidInput(f"size and people must be 1 or more, got {size} and {people}.")
    if not 0 < level < 1:
        raise InvalidInput(f"the level must be in (0, 1), got {level:g}; give a probability such as 0.95.")
