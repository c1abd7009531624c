"""Linear regression from measured second moments: sums of products of regressors with each other and the outcome.

Numbers whose values were counted in buckets enter as the public midpoint of the bucket; the estimand is that
regression. The covariance of the coefficients follows from the normal equations to first order (delta method). If
outcome and regressors were all counted together, sampling errors may be heteroscedastic (White 1980); otherwise
squared residuals are not known by group, and homoscedasticity is assumed.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from deniable.foundation.errors import InvalidInput, Refused
from deniable.inference.answers import Answer, Asked, TableAnswer
from deniable.inference.estimation import Inference
from deniable.inference.intervals import Interval
from deniable.inference.queries import Query
from deniable.inference.system import NotMeasured
from deniable.measurements.consistency import inverse
from deniable.measurements.noisy_tables import Cells

_MOST = 40
_UNCERTAIN = 0.25
"""Relative standard deviation of a coefficient's denominator above which the first-order approximation fails."""


@dataclass(frozen=True, eq=False)
class _Column:
    """A column of the design matrix: its name, and its value for each value of an attribute; None for the constant."""

    name: str
    attribute: int | None
    values: Cells

    @property
    def query(self) -> Query:
        return Query.product({} if self.attribute is None else {self.attribute: self.values})


def regress(
    inference: Inference, outcome: str, regressors: Sequence[str], asked: Asked | None = None, *, test: bool = False
) -> TableAnswer:
    """Ordinary least squares regression of an outcome, with a constant.

    Args:
        inference: the release.
        outcome: name of a numeric attribute, or a condition, whose probability is then modelled linearly.
        regressors: names of attributes; nominal ones enter as indicators of all values but the first.
        asked: options of the answer.
        test: whether to compute p-values of coefficients.

    Returns:
        The coefficients.

    Raises:
        InvalidInput: an attribute is unknown or used twice.
        Refused: a pair was not counted together, or the noise is too large for the regressors to be distinguished.
    """
    asked = asked or Asked()
    notes: list[str] = []
    target, y = _outcome(inference, outcome, notes)
    design = _design(inference, regressors, target, notes)
    try:
        moments = _Moments(inference, design, y)
    except NotMeasured as error:
        names = [inference.measured.domain.names[i] for i in error.relation]
        told = f"{' and '.join(names)} were not counted together" if len(names) > 1 else str(error).rstrip(".")
        raise Refused(f"a regression needs the table of each pair of attributes: {told}; leave one out.") from None
    coefficients, inverted = moments.solved()
    residual = _residual(design, y, coefficients)
    factor = inference.sampling_factor(asked)
    variances, is_any = _variances_of_sampling(inference, design, (target, y), moments, (coefficients, inverted))
    answers = []
    for k, regressor in enumerate(design):
        row = _sum([each.query.times(float(inverted[k, j])) for j, each in enumerate(design)])
        functional = inference.functional(row.within(residual))
        noise = inference.system.variance(functional)
        sampling = factor * float(variances[k])
        law = inference.law(functional, sampling)
        reach, own = law.reach(asked.level), float(coefficients[k])
        p_value = None
        if test:
            p_value = min(1.0, 2 * (1 - float(law.below(np.asarray([abs(own)]))[0])))
        question = f"coefficient of {regressor.name} in the regression of {outcome}"
        made = inference.answer(
            question,
            "coefficient",
            own,
            Interval(own - reach, own + reach),
            asked,
            functional,
            noise=noise,
            sampling=sampling,
            p_value=p_value,
        )
        errors = [f"sampling errors of {'any' if is_any[k] else 'equal'} variance"] if factor else []
        answers.append(_with_note(made, "; ".join(("first-order error", *errors, *notes))))
    return TableAnswer(
        question=f"linear regression of {outcome} on {', '.join(regressors)}",
        columns=("coefficient",),
        cells=tuple((each.name,) for each in design),
        answers=tuple(answers),
    )


class _Moments:
    """The sums of products."""

    def __init__(self, inference: Inference, design: Sequence[_Column], y: Query) -> None:
        system = inference.system
        size = len(design)
        self.square: Cells = np.zeros((size, size))
        self._noise: Cells = np.zeros(size)
        for j in range(size):
            for k in range(j, size):
                own = system.functional(design[j].query.within(design[k].query))
                self.square[j, k] = self.square[k, j] = system.value(own)
                if j == k:
                    self._noise[j] = sqrt(system.variance(own))
        self.cross = np.asarray([system.value(system.functional(each.query.within(y))) for each in design])
        self.outcome = system.value(system.functional(y.within(y)))

    def solved(self) -> tuple[Cells, Cells]:
        """The coefficients, and the inverse of the sums of products of regressors."""
        with np.errstate(all="ignore"):
            found = inverse(self.square) if (np.diag(self.square) > 0).all() else np.full_like(self.square, np.nan)
        own = np.diag(found)
        # 1 / own is the residual sum of squares of a regressor after regression on the others.
        if not np.isfinite(found).all() or (own <= 0).any() or (self._noise * own > _UNCERTAIN).any():
            raise Refused(
                "the regressors cannot be distinguished under so much noise; leave one out, or merge its values."
            )
        return np.einsum("ij,j->i", found, self.cross), found

    def residual_square(self, coefficients: Cells) -> float:
        """The estimated sum of squared residuals."""
        quadratic = (coefficients * np.einsum("ij,j->i", self.square, coefficients)).sum()
        return float(self.outcome - 2 * (coefficients * self.cross).sum() + quadratic)


def _variances_of_sampling(
    inference: Inference,
    design: Sequence[_Column],
    outcome: tuple[int, Query],
    moments: _Moments,
    solved: tuple[Cells, Cells],
) -> tuple[Cells, NDArray[np.bool_]]:
    """The sampling variances of the coefficients, and which of them are heteroscedasticity-consistent.

    Args:
        inference: the release.
        design: the regressors.
        outcome: column number and query of the outcome.
        moments: the sums of products.
        solved: the coefficients, and the inverse of the sums of products of regressors.

    Source: HC1 of MacKinnon and White 1985, for heteroscedastic errors.
    """
    coefficients, inverted = solved
    freedom = max(inference.records - len(design), 1.0)
    squares = _squares(inference, design, outcome, coefficients)
    of_any = np.zeros(len(design))
    if squares is not None:
        of_any = np.einsum("ij,jk,ki->i", inverted, squares, inverted) * inference.records / freedom
    mean_square = max(moments.residual_square(coefficients), 0.0) / freedom
    equal = mean_square * np.maximum(np.diag(inverted), 0.0)
    # Noise may make the sum of squares of a small group negative.
    return np.where(of_any > 0, of_any, equal), of_any > 0


def _squares(
    inference: Inference, design: Sequence[_Column], outcome: tuple[int, Query], coefficients: Cells
) -> Cells | None:
    """Sums over rows of the squared residual times the products of two regressors, shape (design, design).

    Returns:
        None unless all attributes were counted together, at the resolution at which they are used.
    """
    system, (target, y) = inference.system, outcome
    attributes = tuple(sorted({target, *(each.attribute for each in design if each.attribute is not None)}))
    [term] = y.terms
    if not system.is_measured(attributes) or not _is_of_buckets(inference, target, term.of[target]):
        return None

    def along(i: int | None, values: Cells) -> Cells:
        """A function of an attribute, by its buckets, as an array along its axis."""
        own = values if i is None else values[[codes[0] for codes in inference.groups(i)]]
        return own.reshape([-1 if each == i else 1 for each in attributes])

    columns = [along(each.attribute, each.values) for each in design]
    fitted = sum((own * column for own, column in zip(coefficients, columns, strict=True)), start=np.zeros(()))
    weighted = system.table(attributes).counts * (along(target, term.of[target]) - fitted) ** 2
    return np.asarray([[float((weighted * one * other).sum()) for other in columns] for one in columns])


def _is_of_buckets(inference: Inference, i: int, values: Cells) -> bool:
    """Whether a function of an attribute is constant within each bucket."""
    return all(np.ptp(values[codes]) == 0 for codes in inference.groups(i))


def _outcome(inference: Inference, text: str, notes: list[str]) -> tuple[int, Query]:
    words = inference.conditions
    if text.strip() in inference.measured.domain.names:
        i = words.attribute(text)
        return i, Query.product({i: _scores(inference, i, notes)})
    factors = words.parse(text)
    if len(factors) != 1:
        raise InvalidInput(f"the outcome must be one numeric attribute, or a condition on one, got {text}.")
    inference.functional(Query.product(factors))
    [i] = factors
    return i, Query.product(factors)


def _design(inference: Inference, names: Sequence[str], outcome: int, notes: list[str]) -> list[_Column]:
    words, domain = inference.conditions, inference.measured.domain
    found = [_Column("constant", None, np.ones(1))]
    used = {outcome}
    for name in names:
        i = words.attribute(name)
        if i in used:
            raise InvalidInput(f"outcome and regressors must be different attributes, got {domain.names[i]} twice.")
        used.add(i)
        if domain.attributes[i].kind == "numeric":
            found.append(_Column(domain.names[i], i, _scores(inference, i, notes)))
            continue
        for codes in inference.groups(i)[1:]:
            indicator = np.zeros(len(inference.system.buckets[i]))
            indicator[codes] = 1.0
            found.append(_Column(words.named(i, codes), i, indicator))
    if len(found) > _MOST:
        raise InvalidInput(
            f"a regression may have at most {_MOST} coefficients, got {len(found)}; leave attributes out."
        )
    if len(found) == 1:
        raise InvalidInput("a regression must have a regressor, got none.")
    return found


def _scores(inference: Inference, i: int, notes: list[str]) -> Cells:
    """A numeric attribute's values, or the midpoints of its buckets."""
    values, groups = inference.conditions.numbers(i), inference.groups(i)
    if len(groups) == len(values):
        return values
    found = np.zeros(len(values))
    for codes in groups:
        found[codes] = (values[codes].min() + values[codes].max()) / 2
    notes.append(f"{inference.measured.domain.names[i]} is taken at the middle of its bucket")
    return found


def _residual(design: Sequence[_Column], y: Query, coefficients: Cells) -> Query:
    return y.minus(_sum([each.query.times(float(own)) for each, own in zip(design, coefficients, strict=True)]))


def _sum(queries: Sequence[Query]) -> Query:
    return Query(tuple(term for query in queries for term in query.terms))


def _with_note(answer: Answer, note: str) -> Answer:
    return replace(answer, condition=f"{answer.condition.rstrip('.')}; {note}.")
