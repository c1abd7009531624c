"""Linear regression from measured second moments: sums of products of regressors with each other and the outcome.

A number whose values were counted in buckets with others enters as the mean of its bucket, by its own counts
(bucket_means). The covariance of the coefficients follows from the normal equations to first order (delta method), with
the noise of these means. If outcome and regressors were all counted together, sampling errors may be heteroscedastic
(White 1980); otherwise squared residuals are not known by group, and homoscedasticity is assumed.

With means in place of values, a coefficient is that of the values if everything else is linear within buckets (Berkson
1950). What departs from it is the covariance within buckets, which no table has. Intervals allow for slopes there from
0 to twice the slope between buckets. If more than a quarter of a number's variance is within buckets, as with a heavy
tail, no coefficient is `measured`.
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
from deniable.measurements.consistency import Functional, inverse
from deniable.measurements.noisy_tables import Cells

_MOST = 40
_UNCERTAIN = 0.25
"""Relative standard deviation of a coefficient's denominator above which the first-order approximation fails."""
_MOST_HIDDEN = 0.25
"""Largest share of a number's variance within the buckets in which it was counted with others."""


@dataclass(frozen=True, eq=False)
class _BucketMeans:
    """A number whose values were counted in buckets with other attributes.

    Attributes:
        attribute: its column number.
        scores: for each value, the mean of its bucket, by the attribute's own counts.
        influence: for each value, the change of its bucket's mean per record more with the value; 0 if values were not
            counted by themselves, and their means are those of equal counts.
        hidden: sum over the records of the squared distance from the mean of the bucket.
    """

    attribute: int
    scores: Cells
    influence: Cells
    hidden: float


@dataclass(frozen=True, eq=False)
class _Column:
    """A column of the design matrix, or the outcome.

    Attributes:
        name: its name.
        attribute: the attribute that it depends on; None for the constant.
        values: its value for each value of the attribute.
        means: if it has means of buckets, what they are the means of.
        exact: its value for each value of the attribute if this was not counted in buckets.
    """

    name: str
    attribute: int | None
    values: Cells
    means: _BucketMeans | None = None
    exact: Cells | None = None

    @property
    def query(self) -> Query:
        return Query.product({} if self.attribute is None else {self.attribute: self.values})

    @property
    def of_values(self) -> Query:
        """The query for single values, which only a model has."""
        own = self.values if self.exact is None else self.exact
        return Query.product({} if self.attribute is None else {self.attribute: own})


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
        The coefficients; those of the model's records if a pair was not counted together or buckets hide too much of a
        number.

    Raises:
        InvalidInput: an attribute is unknown or used twice.
        Refused: a pair was not counted together, or buckets hide too much of a number, and the grade model is not
            accepted; or the noise is too large for the regressors to be distinguished.
    """
    asked = asked or Asked()
    y = _outcome(inference, outcome)
    design = _design(inference, regressors, y)
    # Refuses a population whose sampling is unstated, also if the model answers.
    inference.sampling_factor(asked)
    is_model = asked.accepts("model") and inference.model is not None
    questions = [f"coefficient of {regressor.name} in the regression of {outcome}" for regressor in design]
    try:
        moments = _Moments(inference, design, y)
        fault = _too_coarse(inference, moments)
    except NotMeasured as error:
        names = [inference.measured.domain.names[i] for i in error.relation]
        told = f"{' and '.join(names)} were not counted together" if len(names) > 1 else str(error).rstrip(".")
        fault = f"a regression needs the table of each pair of attributes: {told}; leave one out."
    if fault and not is_model:
        raise Refused(fault)
    if fault and test:
        raise Refused(f"{fault.rstrip('.')}; a test needs what was measured.")
    answers = (
        _by_model(inference, (design, y), asked, questions)
        if fault
        else _measured(inference, moments, asked, questions, test=test)
    )
    return TableAnswer(
        question=f"linear regression of {outcome} on {', '.join(regressors)}",
        columns=("coefficient",),
        cells=tuple((each.name,) for each in design),
        answers=tuple(answers),
    )


def _measured(
    inference: Inference, moments: "_Moments", asked: Asked, questions: Sequence[str], *, test: bool
) -> list[Answer]:
    """The coefficients from tables of pairs."""
    coefficients, inverted = moments.solved()
    residual = _residual(moments.design, moments.y.query, coefficients)
    factor = inference.sampling_factor(asked)
    variances, is_any = _variances_of_sampling(inference, moments, (coefficients, inverted))
    noise_of_means = _noise_of_means(moments, coefficients, inverted)
    allowances = _allowances(moments, coefficients)
    named = [inference.measured.domain.names[each.attribute] for each in moments.means]
    notes = [
        f"{name} enters as the mean of its bucket, and slopes within buckets are taken to be between 0 and twice those "
        "between buckets"
        for name in named
    ]
    answers = []
    for k, question in enumerate(questions):
        row = _sum([each.query.times(float(inverted[k, j])) for j, each in enumerate(moments.design)])
        functional = inference.functional(_sum([row.within(residual), *(each[k] for each in noise_of_means)]))
        noise, sampling = inference.system.variance(functional), factor * float(variances[k])
        law = inference.law(functional, sampling)
        own, reach = float(coefficients[k]), law.reach(asked.level) + float(allowances[k])
        p_value = None
        if test:
            beyond = max(abs(own) - float(allowances[k]), 0.0)
            p_value = min(1.0, 2 * (1 - float(law.below(np.asarray([beyond]))[0])))
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
    return answers


def _by_model(
    inference: Inference, of: tuple[Sequence[_Column], _Column], asked: Asked, questions: Sequence[str]
) -> list[Answer]:
    """The coefficients of the model's records, without intervals."""
    design, y = of
    model = inference.model
    assert model is not None  # noqa: S101 - those who ask have seen to it
    columns = [each.of_values for each in design]
    square = np.asarray([[model.total(one.within(other)) for other in columns] for one in columns])
    found = _inverse(square)
    if found is None:
        raise Refused("the regressors cannot be distinguished in the model's records; leave one out.")
    cross = np.asarray([model.total(each.within(y.of_values)) for each in columns])
    return [
        inference.answer(question, "coefficient", float(own), None, asked, None, grade="model")
        for question, own in zip(questions, np.einsum("ij,j->i", found, cross), strict=True)
    ]


def _too_coarse(inference: Inference, moments: "_Moments") -> str:
    """Why no coefficient is measured: a number too much of whose variance is within buckets; empty if there is none."""
    shares = {each.attribute: moments.hidden_share(each) for each in moments.means}
    worst = max(shares, key=lambda i: shares[i], default=None)
    if worst is None or shares[worst] <= _MOST_HIDDEN:
        return ""
    return (
        f"{inference.measured.domain.names[worst]} was counted with others in buckets that hide "
        f"{100 * shares[worst]:.0f} % of its variance, so the grade would be model; accept the grade model, or leave "
        "the number out."
    )


class _Moments:
    """The sums of products of regressors and outcome.

    Attributes:
        design: the regressors, the constant first.
        y: the outcome.
        means: the numbers of which they have means of buckets.
        square: sums of products of regressors, shape (design, design).
        cross: sums of products of regressors with the outcome.
        outcome: sum of squares of the outcome.
    """

    def __init__(self, inference: Inference, design: Sequence[_Column], y: _Column) -> None:
        self.design, self.y = design, y
        self.means = [each.means for each in (*design, y) if each.means is not None]
        self._system, self._beside = inference.system, _sum([each.query for each in (*design, y)])
        size = len(design)
        self.square: Cells = np.zeros((size, size))
        self._noise: Cells = np.zeros(size)
        for j in range(size):
            for k in range(j, size):
                own = self._functional(design[j].query.within(design[k].query))
                self.square[j, k] = self.square[k, j] = self._system.value(own)
                if j == k:
                    self._noise[j] = sqrt(self._system.variance(own))
        self.cross = np.asarray([self._value(each.query.within(y.query)) for each in design])
        self.outcome = self._value(y.query.within(y.query))

    def _functional(self, query: Query) -> Functional:
        """All sums are from the same tables."""
        return self._system.functional(query, self._beside)

    def _value(self, query: Query) -> float:
        return self._system.value(self._functional(query))

    def in_buckets(self, i: int) -> tuple[Cells, Cells]:
        """Sums of regressors, shape (buckets, design), and of the outcome, (buckets,), in an attribute's buckets."""
        buckets = self._system.buckets[i]
        inside = [Query.product({i: (buckets == own).astype(np.float64)}) for own in range(self._system.sizes[i])]
        sums = [[self._value(each.query.within(own)) for each in self.design] for own in inside]
        return np.asarray(sums), np.asarray([self._value(self.y.query.within(own)) for own in inside])

    def buckets_of(self, i: int) -> NDArray[np.integer]:
        """The bucket of each value of an attribute."""
        return self._system.buckets[i]

    def hidden_share(self, means: _BucketMeans) -> float:
        """The share of a number's variance that is within buckets."""
        if self.y.means is means:
            between = self.outcome - self.cross[0] ** 2 / self.square[0, 0]
        else:
            [k] = [k for k, each in enumerate(self.design) if each.means is means]
            between = self.square[k, k] - self.square[0, k] ** 2 / self.square[0, 0]
        return means.hidden / (means.hidden + max(between, 0.0)) if means.hidden > 0 else 0.0

    def solved(self) -> tuple[Cells, Cells]:
        """The coefficients, and the inverse of the sums of products of regressors."""
        found = _inverse(self.square)
        # The reciprocal of a diagonal entry is the residual sum of squares after regression on the others.
        if found is None or (self._noise * np.diag(found) > _UNCERTAIN).any():
            raise Refused(
                "the regressors cannot be distinguished under so much noise; leave one out, or merge its values."
            )
        return np.einsum("ij,j->i", found, self.cross), found

    def residual_square(self, coefficients: Cells) -> float:
        """The estimated sum of squared residuals."""
        quadratic = (coefficients * np.einsum("ij,j->i", self.square, coefficients)).sum()
        return float(self.outcome - 2 * (coefficients * self.cross).sum() + quadratic)


def _inverse(square: Cells) -> Cells | None:
    """The inverse of sums of products; None if regressors cannot be distinguished."""
    if (np.diag(square) <= 0).any():
        return None
    with np.errstate(all="ignore"):
        found = inverse(square)
    return found if np.isfinite(found).all() and (np.diag(found) > 0).all() else None


def _noise_of_means(moments: _Moments, coefficients: Cells, inverted: Cells) -> list[list[Query]]:
    """The effect on each coefficient of the counts by which bucket means are computed, to first order.

    The normal equations are X'(y - Xb) = 0. If the score of regressor c in a bucket changes, b changes by the inverse
    of X'X times (the bucket's sum of residuals in place c, less b_c times its sums of regressors); if that of the
    outcome does, by the inverse times these sums.

    Returns:
        For each number with bucket means, a query for each coefficient.
    """
    found = []
    for c, column in enumerate((*moments.design, moments.y)):
        if column.means is None:
            continue
        i = column.means.attribute
        sums, outcome = moments.in_buckets(i)
        effects = np.einsum("kj,bj->kb", inverted, sums)
        if column is not moments.y:
            residual = outcome - np.einsum("bj,j->b", sums, coefficients)
            effects = inverted[:, c, np.newaxis] * residual - coefficients[c] * effects
        buckets = moments.buckets_of(i)
        found.append([Query.product({i: own[buckets] * column.means.influence}) for own in effects])
    return found


def _allowances(moments: _Moments, coefficients: Cells) -> Cells:
    """How far each coefficient may be off because of what buckets hide.

    With linear relations within buckets, the coefficients are those of the values, except that covariances lack the
    hidden share of the outcome; up to twice this share is allowed for. A regressor's covariance with the residuals
    within buckets is then 0, and is allowed to be as large as its hidden sum of squares times its coefficient.
    """
    hidden = np.asarray([0.0 if each.means is None else each.means.hidden for each in moments.design])
    found = _inverse(moments.square + np.diag(hidden))
    made = (
        np.zeros(len(hidden)) if found is None else np.einsum("kj,j->k", np.abs(found), hidden * np.abs(coefficients))
    )
    if moments.y.means is not None:
        sizes = np.abs(coefficients)
        sizes[0] = abs(coefficients[0] - moments.cross[0] / moments.square[0, 0])
        made += 2 * moments.hidden_share(moments.y.means) * sizes
    return np.asarray(made)


def _variances_of_sampling(
    inference: Inference, moments: _Moments, solved: tuple[Cells, Cells]
) -> tuple[Cells, NDArray[np.bool_]]:
    """The sampling variances of the coefficients, and which of them are heteroscedasticity-consistent.

    Args:
        inference: the release.
        moments: the sums of products.
        solved: the coefficients, and the inverse of the sums of products of regressors.

    Source: HC1 of MacKinnon and White 1985, for heteroscedastic errors.
    """
    coefficients, inverted = solved
    freedom = max(inference.records - len(coefficients), 1.0)
    squares = _squares(inference, moments.design, moments.y, coefficients)
    of_any = np.zeros(len(coefficients))
    if squares is not None:
        of_any = np.einsum("ij,jk,ki->i", inverted, squares, inverted) * inference.records / freedom
    mean_square = max(moments.residual_square(coefficients), 0.0) / freedom
    equal = mean_square * np.maximum(np.diag(inverted), 0.0)
    # Noise may make the sum of squares of a small group negative.
    return np.where(of_any > 0, of_any, equal), of_any > 0


def _squares(inference: Inference, design: Sequence[_Column], y: _Column, coefficients: Cells) -> Cells | None:
    """Sums over rows of the squared residual times the products of two regressors, shape (design, design).

    Returns:
        None unless all attributes were counted together, at the resolution at which they are used.
    """
    system, target = inference.system, y.attribute
    assert target is not None  # noqa: S101 - an outcome is no constant
    attributes = tuple(sorted({target, *(each.attribute for each in design if each.attribute is not None)}))
    if not system.is_measured(attributes) or not _is_of_buckets(inference, target, y.values):
        return None

    def along(i: int | None, values: Cells) -> Cells:
        """A function of an attribute, by its buckets, as an array along its axis."""
        own = values if i is None else values[[codes[0] for codes in inference.groups(i)]]
        return own.reshape([-1 if each == i else 1 for each in attributes])

    columns = [along(each.attribute, each.values) for each in design]
    fitted = sum((own * column for own, column in zip(coefficients, columns, strict=True)), start=np.zeros(()))
    weighted = system.table(attributes).counts * (along(target, y.values) - fitted) ** 2
    return np.asarray([[float((weighted * one * other).sum()) for other in columns] for one in columns])


def _is_of_buckets(inference: Inference, i: int, values: Cells) -> bool:
    """Whether a function of an attribute is constant within each bucket."""
    return all(np.ptp(values[codes]) == 0 for codes in inference.groups(i))


def _outcome(inference: Inference, text: str) -> _Column:
    words = inference.conditions
    if text.strip() in inference.measured.domain.names:
        return _number(inference, words.attribute(text))
    factors = words.parse(text)
    if len(factors) != 1:
        raise InvalidInput(f"the outcome must be one numeric attribute, or a condition on one, got {text}.")
    inference.functional(Query.product(factors))
    [(i, values)] = factors.items()
    return _Column(text, i, values)


def _design(inference: Inference, names: Sequence[str], y: _Column) -> list[_Column]:
    words, domain = inference.conditions, inference.measured.domain
    found = [_Column("constant", None, np.ones(1))]
    used = {y.attribute}
    for name in names:
        i = words.attribute(name)
        if i in used:
            raise InvalidInput(f"outcome and regressors must be different attributes, got {domain.names[i]} twice.")
        used.add(i)
        if domain.attributes[i].kind == "numeric":
            found.append(_number(inference, i))
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


def _number(inference: Inference, i: int) -> _Column:
    """A numeric attribute: its values, or the means of its buckets if it was counted in buckets with others."""
    name, values = inference.measured.domain.names[i], inference.conditions.numbers(i)
    groups, system = inference.groups(i), inference.system
    if len(groups) == len(values):
        return _Column(name, i, values)
    of_values = [each for each in inference.measured.tables if each.attributes == each.by_values == (i,)]
    sizes = system.table((i,)).counts if system.is_measured((i,)) else np.ones(len(groups))
    scores, influence, hidden = np.zeros(len(values)), np.zeros(len(values)), 0.0
    for codes, size in zip(groups, np.maximum(sizes, 1.0).tolist(), strict=True):
        own = values[codes]
        weights = np.ones(len(codes))
        if of_values:
            [table, *_] = of_values
            counts = table.values if table.denoised is None else table.denoised
            weights = np.maximum(counts[codes], 0.0) if (counts[codes] > 0).any() else weights
        mean = float(np.average(own, weights=weights))
        scores[codes] = mean
        hidden += size * float(np.average((own - mean) ** 2, weights=weights))
        if of_values:
            influence[codes] = (own - mean) / size
            # No mean is further off than half of its bucket's width.
            deviation = sqrt(of_values[0].variance * float((influence[codes] ** 2).sum()))
            influence[codes] *= min(1.0, float(np.ptp(own)) / 2 / deviation) if deviation > 0 else 1.0
    return _Column(name, i, scores, _BucketMeans(i, scores, influence, hidden), values)


def _residual(design: Sequence[_Column], y: Query, coefficients: Cells) -> Query:
    return y.minus(_sum([each.query.times(float(own)) for each, own in zip(design, coefficients, strict=True)]))


def _sum(queries: Sequence[Query]) -> Query:
    return Query(tuple(term for query in queries for term in query.terms))


def _with_note(answer: Answer, note: str) -> Answer:
    return replace(answer, condition=f"{answer.condition.rstrip('.')}; {note}.")
