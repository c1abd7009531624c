"""The options of a question, and its answer: an estimate with its interval, estimand, grade and sources.

Every number is accompanied by its grade and the condition under which its interval covers.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite, isnan, nan, sqrt
from typing import Any, Final, Literal

from deniable.foundation.errors import InvalidInput
from deniable.inference.intervals import Interval

Grade = Literal["measured", "certified", "bounded", "model"]
GRADES: Final[tuple[Grade, ...]] = ("measured", "certified", "bounded", "model")
"""In ascending order of assumptions: from the published law of the noise alone to the model."""
Estimand = Literal["finite", "population"]
ESTIMANDS: Final = ("finite", "population")
SAMPLINGS: Final = ("census", "simple random", "unknown")
HIGHEST_LEVEL = 0.9998
_LEVELS = (0.5, 0.9999)
_LEAST_EFFECT, _MOST_EFFECT = 0.1, 100.0

MEANING: Final = {
    "measured": "counted with noise of published law; no model is used",
    "certified": "by the model, with an error that a released certificate bounds",
    "bounded": "not counted as such; the bounds are all that other counts allow",
    "model": "by the model alone",
}


@dataclass(frozen=True)
class Asked:
    """The options of a question.

    Attributes:
        level: confidence level, in (0.5, 0.9999).
        estimand: `finite`, the confidential table, or `population`, from which its rows are a sample.
        grade: the lowest acceptable grade.
        design_effect: factor of the sampling variance, for designs other than simple random sampling; None for the
            release's stated value, or 1 if it states none.
        sampling: the sampling of the rows as stated by the user; None for the release's statement.

    Raises:
        InvalidInput: an entry is out of range.
    """

    level: float = 0.95
    estimand: Estimand = "finite"
    grade: Grade = "bounded"
    design_effect: float | None = None
    sampling: str | None = None

    def __post_init__(self) -> None:
        """Refuse options out of range."""
        low, high = _LEVELS
        if not low < self.level < high:
            raise InvalidInput(f"the level must be in ({low}, {high}), got {self.level:g}; give one such as 0.95.")
        if self.estimand not in ESTIMANDS:
            raise InvalidInput(f"the estimand must be finite or population, got {self.estimand}.")
        if self.grade not in GRADES:
            raise InvalidInput(f"the grade must be one of {', '.join(GRADES)}, got {self.grade}.")
        if self.design_effect is not None and not _LEAST_EFFECT <= self.design_effect <= _MOST_EFFECT:
            ends = f"{_LEAST_EFFECT:g} and {_MOST_EFFECT:g}"
            raise InvalidInput(f"the design effect must be between {ends}, got {self.design_effect:g}.")
        if self.design_effect not in {None, 1} and self.estimand == "finite":
            raise InvalidInput(
                "a design effect must be of intervals for the population, and the estimand is the confidential table "
                "(finite); ask for the population, or leave it out."
            )
        if self.sampling is not None and self.sampling not in SAMPLINGS:
            raise InvalidInput(f"the sampling must be one of {', '.join(SAMPLINGS)}, got {self.sampling}.")

    def accepts(self, grade: Grade) -> bool:
        """Whether an answer of a grade is accepted."""
        return GRADES.index(grade) <= GRADES.index(self.grade)


@dataclass(frozen=True, kw_only=True)
class Answer:
    """The answer to one question.

    Attributes:
        question: the question, in words.
        kind: `count`, `share`, `mean`, `ratio`, `difference of shares`, `difference of means`, `quantile` or
            `coefficient`.
        estimate: the estimate, which lies in the interval; a count need not be an integer. NaN if there is none: counts
            bound the answer, and no point between the bounds is likelier than another.
        interval: the interval, or the bounds; None if no interval with known coverage exists.
        level: confidence level of the interval.
        estimand: `finite` or `population`.
        of_what: the estimand in words.
        grade: the basis of the answer.
        condition: the condition under which the interval covers, one sentence.
        noise_deviation: standard deviation of the estimate due to privacy noise; NaN if the error has other parts: for
            quantiles, bounds, and answers by a certificate or by the model.
        sampling_deviation: standard deviation due to sampling, if the estimand involves it; see `noise_deviation`.
        sources: the tables that it is computed from, with their shares of the noise variance.
        p_value: for the null hypothesis that a difference or coefficient is 0; only for grades measured and certified.
        interval_grade: the basis of the interval; None for that of the answer. The model's has bounds by counts.
        unrestricted: the estimate before it is moved to the nearest point of its interval, for sums and averages; that
            of a count is unbiased, and may be negative. None for the estimate itself.
    """

    question: str
    kind: str
    estimate: float
    interval: Interval | None
    level: float
    estimand: Estimand
    of_what: str
    grade: Grade
    condition: str
    noise_deviation: float = nan
    sampling_deviation: float = nan
    sources: Mapping[tuple[str, ...], float] = field(default_factory=dict)
    p_value: float | None = None
    interval_grade: Grade | None = None
    unrestricted: float | None = None

    @property
    def raw_estimate(self) -> float:
        """The estimate before it is moved to the nearest point of its interval."""
        return self.estimate if self.unrestricted is None else self.unrestricted

    @property
    def has_bounds(self) -> bool:
        """Whether the interval has all that counts allow, and no estimate of the same grade belongs to it."""
        return (self.interval_grade or self.grade) == "bounded"

    @property
    def deviation(self) -> float:
        """Standard deviation of the estimate; NaN if unknown."""
        return sqrt(self.noise_deviation**2 + self.sampling_deviation**2)

    def document(self) -> dict[str, Any]:
        """The answer, ready for JSON."""
        return {
            "question": self.question,
            "kind": self.kind,
            "estimate": _finite(self.estimate),
            "unrestricted": _finite(self.raw_estimate),
            "low": None if self.interval is None else _finite(self.interval.low),
            "high": None if self.interval is None else _finite(self.interval.high),
            "level": self.level,
            "estimand": self.estimand,
            "of_what": self.of_what,
            "grade": self.grade,
            "interval_grade": None if self.interval is None else self.interval_grade or self.grade,
            "condition": self.condition,
            "noise_sd": _finite(self.noise_deviation),
            "sampling_sd": _finite(self.sampling_deviation),
            "sources": [
                {"table": list(names), "share_of_noise_variance": round(share, 6)}
                for names, share in self.sources.items()
            ],
            "p_value": self.p_value,
        }


@dataclass(frozen=True, kw_only=True)
class TableAnswer:
    """The answers for the cells of a table, or for several groups.

    Attributes:
        question: the question, in words.
        columns: names of the attributes.
        cells: for each answer, the values of its cell, in the order of the columns.
        answers: the answers.
        simultaneous: whether the level is that of simultaneous coverage.
    """

    question: str
    columns: tuple[str, ...]
    cells: tuple[tuple[str, ...], ...]
    answers: tuple[Answer, ...]
    simultaneous: bool = False

    def document(self) -> dict[str, Any]:
        """The table, ready for JSON."""
        return {
            "question": self.question,
            "columns": list(self.columns),
            "simultaneous": self.simultaneous,
            "cells": [
                {"of": dict(zip(self.columns, cell, strict=True)), **answer.document()}
                for cell, answer in zip(self.cells, self.answers, strict=True)
            ],
        }

    def rows(self) -> list[list[str]]:
        """The table as rows of text for a CSV file, with a header."""
        head = [*self.columns, "kind", "estimate", "low", "high", "noise_sd", "sampling_sd"]
        head += ["level", "simultaneous", "estimand", "grade", "interval_grade", "p_value", "condition"]
        return [head, *(self._row(cell, each) for cell, each in zip(self.cells, self.answers, strict=True))]

    def _row(self, cell: Sequence[str], each: Answer) -> list[str]:
        ends = ["", ""] if each.interval is None else [_text(each.interval.low), _text(each.interval.high)]
        numbers = [_text(each.estimate), *ends, _text(each.noise_deviation), _text(each.sampling_deviation)]
        told = [f"{each.level:g}", "yes" if self.simultaneous else "no", each.estimand, each.grade]
        basis = "" if each.interval is None else each.interval_grade or each.grade
        p_value = "" if each.p_value is None else _text(each.p_value)
        return [*cell, each.kind, *numbers, *told, basis, p_value, each.condition]


def _finite(number: float) -> float | None:
    """A number with ten digits; None if not finite, which JSON cannot state."""
    return float(f"{number:.10g}") + 0.0 if isfinite(number) else None


def _text(number: float) -> str:
    return "" if isnan(number) else f"{number + 0.0:.10g}"
