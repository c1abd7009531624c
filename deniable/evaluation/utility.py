"""Utility: the distance of a released table from a real one, by marginals, classifiers and a distinguisher.

Every measure here is a function of real records without noise, hence an internal figure. Disclosure about people is in
`deniable.evaluation.disclosure`; the caller chooses which tables are compared, and by which classifiers.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import combinations
from math import comb, prod, sqrt
from statistics import NormalDist
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from deniable.foundation.domain import Codes
from deniable.foundation.errors import InvalidInput
from deniable.foundation.keys import WordStream
from deniable.foundation.record_keys import assign_record_keys, number_of_distinct

Marginal = tuple[int, ...]
"""The attributes of a marginal, by column number."""
Distances = NDArray[np.float64]

TRIPLES = 100
"""Number of three-way marginals to compare."""

ERROR_RECORDS = 5_000
"""Number of records used to estimate a standard error: enough for two digits."""

_PLACE_BITS = np.uint64(32)
_TINY: Final = 1e-12
_DOUBT: Final = 0.05

SIGMAS: Final = 1.96
"""Number of standard errors on either side of a figure in an interval of 95%."""

MAX_CELLS = 1 << 22
"""Marginals with more cells are omitted: too few of their cells have real records for a comparison."""


class Classifier(Protocol):
    """A classifier of codes, such as those of scikit-learn."""

    def fit(self, X: Codes, y: NDArray[np.integer], /) -> object:
        """Train on codes of shape (rows, attributes) and labels of shape (rows,)."""

    def predict(self, X: Codes, /) -> NDArray[np.integer]:
        """Return a label for each row."""


ClassifierFactory = Callable[[], Classifier]


def sample_rows(chunks: Iterable[Codes], words: WordStream, size: int) -> Codes:
    """Draw rows of a table uniformly without replacement, in one pass, in random order.

    Each row takes one word, and the rows with the `size` smallest words are kept, so the sample does not depend on the
    division into chunks.

    Args:
        chunks: value codes, shapes (rows, m).
        words: the stream of this sample; one word is taken for each row.
        size: number of rows to draw; all rows if the table has fewer.

    Returns:
        Codes of shape (min(size, rows), m), ordered by their words.

    Raises:
        InvalidInput: there is no chunk, or the size is negative.
    """
    if size < 0:
        msg = f"the size of a sample must be at least 0, got {size}."
        raise InvalidInput(msg)
    kept: list[Codes] = []
    ranks: list[NDArray[np.uint32]] = []
    bound, held = np.uint64(1 << 32), 0
    for chunk in chunks:
        rank = words.take(len(chunk))
        # A later row ranks after earlier rows with equal words, so it never displaces the last one kept.
        below = np.flatnonzero(rank < bound)
        kept.append(chunk[below])
        ranks.append(rank[below])
        held += len(below)
        # Truncated only at twice the size: sorting at every chunk would dominate the cost.
        if held > 2 * size:
            kept, ranks = _smallest(kept, ranks, size)
            bound, held = np.uint64(ranks[0][-1]) if size else np.uint64(0), size
    if not kept:
        msg = "a sample must be drawn from a table with at least one chunk, got none."
        raise InvalidInput(msg)
    return _smallest(kept, ranks, size)[0][0]


def _smallest(
    rows: Sequence[Codes], ranks: Sequence[NDArray[np.uint32]], size: int
) -> tuple[list[Codes], list[NDArray[np.uint32]]]:
    """The rows of smallest rank in order, and their ranks; ties keep their order."""
    all_rows = np.concatenate(rows)
    # Rank and place in one number: NumPy sorts numbers several times as fast as it sorts places by rank.
    ordered = np.concatenate(ranks).astype(np.uint64) << _PLACE_BITS | np.arange(len(all_rows), dtype=np.uint64)
    ordered.sort()
    ordered = ordered[:size]
    places = (ordered & (2 ** int(_PLACE_BITS) - 1)).astype(np.int64)
    return [all_rows.take(places, axis=0)], [(ordered >> _PLACE_BITS).astype(np.uint32)]


def marginals_of_order(cardinalities: Sequence[int], order: int, limit: int | None = None) -> tuple[Marginal, ...]:
    """List the marginals of an order, or a fixed public sample of them.

    The sample is spread evenly over the lexicographic list and depends only on the number of attributes.

    Args:
        cardinalities: number of values of each of the m attributes.
        order: number of attributes of a marginal.
        limit: largest number of marginals to list; None for all.

    Returns:
        The marginals, except those with more than `MAX_CELLS` cells.
    """
    return _marginals_of_order(tuple(cardinalities), order, limit)


@lru_cache(maxsize=16)
def _marginals_of_order(cardinalities: tuple[int, ...], order: int, limit: int | None) -> tuple[Marginal, ...]:
    m = len(cardinalities)
    total = comb(m, order)
    listed: Iterable[Marginal] = combinations(range(m), order)
    if limit is not None and limit < total:
        listed = (_nth_combination(m, order, i * total // limit) for i in range(limit))
    return tuple(marginal for marginal in listed if prod(cardinalities[j] for j in marginal) <= MAX_CELLS)


def _nth_combination(m: int, order: int, place: int) -> Marginal:
    """The combination of m numbers at a place of the lexicographic list, without those before it."""
    chosen: list[int] = []
    first = 0
    for left in range(order - 1, -1, -1):
        while place >= (beginning := comb(m - first - 1, left)):
            place -= beginning
            first += 1
        chosen.append(first)
        first += 1
    return tuple(chosen)


def compared_marginals(cardinalities: Sequence[int]) -> dict[int, tuple[Marginal, ...]]:
    """The marginals on which tables are compared, by order: all one- and two-way, and a public sample of three-way.

    Args:
        cardinalities: number of values of each of the m attributes.

    Returns:
        The marginals; an order without marginals is omitted.
    """
    listed = {order: marginals_of_order(cardinalities, order, TRIPLES if order == 3 else None) for order in (1, 2, 3)}
    return {order: marginals for order, marginals in listed.items() if marginals}


@dataclass
class MarginalCounts:
    """Counts of a table in the cells of chosen marginals; the counts of chunks are summed.

    Attributes:
        cardinalities: number of values of each of the m attributes.
        marginals: the M marginals counted.
        rows: number of rows counted.
        starts: where each marginal's cells start among all cells, shape (M + 1,).
        counts: counts of all cells, one marginal after the other, the last attribute varying fastest.
    """

    cardinalities: tuple[int, ...]
    marginals: tuple[Marginal, ...]
    rows: int = 0
    starts: NDArray[np.int64] = field(init=False, repr=False)
    counts: NDArray[np.int64] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Make empty tables."""
        attributes, strides = self.layout
        # The first attribute has the longest stride; a marginal of no attribute has one cell.
        first = np.asarray((*self.cardinalities, 1), np.int64)[attributes[:, :1]]
        sizes = np.maximum(first * strides[:, :1], 1).ravel() if attributes.shape[1] else np.ones(len(attributes))
        self.starts = np.concatenate(([0], np.cumsum(sizes, dtype=np.int64))).astype(np.int64)
        self.counts = np.zeros(self.starts[-1], np.int64)

    def _shape(self, marginal: Marginal) -> tuple[int, ...]:
        return tuple(self.cardinalities[j] for j in marginal)

    @cached_property
    def layout(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The attributes of each marginal, and the distance in its table between neighbouring values of each.

        Both have the shape (M, most attributes). A marginal of fewer attributes is padded with the first one at stride
        0, which has no effect.
        """
        lengths = np.fromiter(map(len, self.marginals), np.int64, len(self.marginals))
        attributes = np.zeros((len(lengths), int(lengths.max(initial=0))), np.int64)
        strides = np.zeros_like(attributes)
        sizes = np.asarray(self.cardinalities, np.int64)
        for length in set(lengths.tolist()) - {0}:
            rows = np.flatnonzero(lengths == length)
            own = np.array([self.marginals[row] for row in rows.tolist()], np.int64)
            attributes[rows, :length] = own
            following = np.concatenate((sizes[own[:, 1:]], np.ones((len(own), 1), np.int64)), axis=1)
            strides[rows, :length] = np.cumprod(following[:, ::-1], axis=1)[:, ::-1]
        return attributes, strides

    @cached_property
    def _places(self) -> dict[Marginal, int]:
        return {marginal: k for k, marginal in enumerate(self.marginals)}

    def add(self, codes: Codes) -> None:
        """Count more rows.

        Args:
            codes: value codes, shape (rows, m).

        Raises:
            InvalidInput: the number of attributes is not m, or a code is not in the domain.
        """
        from deniable.evaluation.table_kernels import count_cells  # noqa: PLC0415 - compiled code, for what counts

        _check_codes(codes, self.cardinalities)
        count_cells(np.ascontiguousarray(codes.T), *self.layout, self.starts, self.counts)
        self.rows += len(codes)

    def merge(self, other: "MarginalCounts") -> None:
        """Add the counts of other rows in the same marginals.

        Raises:
            InvalidInput: the other counts are of other marginals.
        """
        _check_same_marginals(self, other)
        self.counts += other.counts
        self.rows += other.rows

    def table(self, marginal: Marginal) -> NDArray[np.int64]:
        """Counts of one marginal, with one axis per attribute."""
        k = self._places[marginal]
        return self.counts[self.starts[k] : self.starts[k + 1]].reshape(self._shape(marginal))


def count_marginals(
    chunks: Iterable[Codes], cardinalities: tuple[int, ...], marginals: tuple[Marginal, ...]
) -> MarginalCounts:
    """Count a table in the cells of marginals, in one pass.

    Args:
        chunks: value codes, shapes (rows, m).
        cardinalities: number of values of each of the m attributes.
        marginals: the marginals to count.

    Returns:
        The counts.
    """
    counts = MarginalCounts(cardinalities, marginals)
    for chunk in chunks:
        counts.add(chunk)
    return counts


def total_variation(first: MarginalCounts, second: MarginalCounts) -> Distances:
    """Total variation distance between two tables in each marginal.

    The distance of a marginal is 1/2 sum over its cells c of |first(c)/rows(first) - second(c)/rows(second)|. The
    distance between two samples of one population grows with the number of cells and decreases with the numbers of
    rows: compare it with the distance between two real tables of the same sizes, not with zero.

    Args:
        first: counts of one table, M marginals.
        second: counts of the other in the same marginals.

    Returns:
        Distances in [0, 1], shape (M,), in the order of the marginals.

    Raises:
        InvalidInput: the marginals differ, or a table is empty.

    Source:
        Bindschaedler, Shokri, Gunter 2017, the statistical distance of the evaluation.
    """
    _check_same_marginals(first, second)
    if not first.rows or not second.rows:
        msg = "both tables must have rows to be compared, got one without; take larger ones."
        raise InvalidInput(msg)
    if not first.marginals:
        return np.empty(0)
    gaps = np.abs(first.counts / first.rows - second.counts / second.rows)
    return np.asarray(np.add.reduceat(gaps, first.starts[:-1]) / 2)


def mean_distance_error(first: Codes, second: Codes, counts: tuple[MarginalCounts, MarginalCounts]) -> float:
    """Standard error, under resampling of records, of the mean total variation distance of two tables over marginals.

    The distance of a marginal is 1/2 sum |p_c - q_c|, whose derivative with respect to p_c is 1/2 sign(p_c - q_c). If
    differences are due to chance alone, the error is conservative.

    Args:
        first: records of one table, of which at most `ERROR_RECORDS` are used, shape (rows, m).
        second: records of the other.
        counts: counts of both whole tables in the same marginals.

    Returns:
        The standard error; 0 without marginals.
    """
    one, other = counts
    slopes = np.sign(one.counts / one.rows - other.counts / other.rows) / 2
    return resampling_error((first, second), counts, (slopes, -slopes))


def resampling_error(
    tables: tuple[Codes, Codes],
    counts: tuple[MarginalCounts, MarginalCounts],
    slopes: tuple[NDArray[np.float64], NDArray[np.float64]],
) -> float:
    """Standard error, under resampling of records, of the mean over marginals of a function of two tables' shares.

    With I(x) the mean over the marginals of the function's derivative in the cell of record x, the variance is Var(I)/n
    over the records of the first table plus Var(I)/m over those of the second.

    Args:
        tables: records of both tables, of which at most `ERROR_RECORDS` each are used, shapes (rows, m).
        counts: counts of both whole tables in the same marginals.
        slopes: the function's derivatives with respect to the shares of all cells of either table.

    Returns:
        The standard error, to first order; 0 without marginals.

    Source: van der Vaart 1998, Asymptotic Statistics, section 20.1 (the delta method).
    """
    from deniable.evaluation.table_kernels import sum_of_cells  # noqa: PLC0415 - compiled code, for what compares

    _check_same_marginals(*counts)
    marginals = counts[0].marginals
    if not marginals:
        return 0.0
    variance = 0.0
    for table, counted, derivatives in zip(tables, counts, slopes, strict=True):
        columns = np.ascontiguousarray(table[:ERROR_RECORDS].T)
        pulls = sum_of_cells(columns, *counted.layout, counted.starts, derivatives)
        variance += float(np.var(pulls / len(marginals))) / counted.rows
    return sqrt(variance)


def distinct_share(codes: Codes, cardinalities: Sequence[int]) -> float:
    """Number of distinct records divided by the number of records.

    It decreases with the number of records: compare tables of equal size.

    Args:
        codes: value codes, shape (rows, m).
        cardinalities: number of values of each of the m attributes.

    Returns:
        A share in [0, 1]; 0 for an empty table.
    """
    (numbers,) = assign_record_keys((codes,), cardinalities)
    return number_of_distinct(numbers) / max(len(codes), 1)


def accuracy(predicted: NDArray[np.integer], actual: NDArray[np.integer]) -> float:
    """Share of correct predictions.

    Args:
        predicted: labels, shape (rows,).
        actual: labels, shape (rows,).

    Returns:
        A share in [0, 1].

    Raises:
        InvalidInput: the numbers of labels differ, or are 0.
    """
    if len(predicted) != len(actual) or not len(actual):
        msg = "there must be as many predictions as labels, at least one, got another number of them."
        raise InvalidInput(msg)
    return float(np.mean(predicted == actual))


def share_error(share: float, cases: int) -> float:
    """Standard error of a share of independent cases.

    Args:
        share: the share.
        cases: number of cases.
    """
    return sqrt(share * (1 - share) / max(cases, 1))


def certainly_above(
    values: Sequence[float], errors: Sequence[float], bounds: Sequence[float], doubt: float
) -> list[bool]:
    """Which of several figures are certainly above their bounds: one-sided tests with Holm's correction.

    Args:
        values: the figures.
        errors: their standard errors; a figure without one is above its bound or not.
        bounds: a bound for each.
        doubt: the probability that any of them is called so although none is.

    Returns:
        Whether each is.

    Source: Holm 1979, A simple sequentially rejective multiple test procedure.
    """
    found = [False] * len(values)
    scores = [(value - bound) / max(error, _TINY) for value, error, bound in zip(values, errors, bounds, strict=True)]
    order = sorted(range(len(scores)), key=lambda place: -scores[place])
    for tested, place in enumerate(order):
        if scores[place] < NormalDist().inv_cdf(1 - doubt / (len(order) - tested)):
            break
        found[place] = True
    return found


def widened(tried: int) -> float:
    """The factor by which errors are widened, so that intervals of 95% cover all of several figures (Bonferroni).

    Args:
        tried: number of figures, at least 1.
    """
    return NormalDist().inv_cdf(1 - _DOUBT / (2 * tried)) / SIGMAS


def agreement_rate(first: NDArray[np.integer], second: NDArray[np.integer]) -> float:
    """Share of records for which two classifiers predict the same label, correct or not.

    Args:
        first: labels predicted by one classifier, shape (rows,).
        second: labels predicted by the other for the same records.

    Returns:
        A share in [0, 1].

    Source:
        Bindschaedler, Shokri, Gunter 2017, the classifiers of the evaluation.
    """
    return accuracy(first, second)


def predictions(classifier: ClassifierFactory, training: Codes, testing: Codes, target: int) -> NDArray[np.integer]:
    """Predict one attribute of a table's records with a classifier trained on another table.

    Args:
        classifier: makes an untrained classifier.
        training: codes to learn from, shape (rows, m).
        testing: codes to predict, shape (others, m); the target's column is ignored.
        target: the column to predict.

    Returns:
        Predicted codes of the target, shape (others,). If the training table has a single value of the target, that
        value is predicted; if there is no other column, the most common value is.

    Raises:
        InvalidInput: the training table is empty.
    """
    if not len(training):
        msg = "a classifier must have records to learn from, got none."
        raise InvalidInput(msg)
    labels = training[:, target]
    if (labels == labels[0]).all():
        return np.full(len(testing), labels[0])
    if training.shape[1] == 1:
        return np.full(len(testing), np.bincount(labels).argmax())
    model = classifier()
    model.fit(np.delete(training, target, axis=1), labels)
    return model.predict(np.delete(testing, target, axis=1))


def distinguishing_game(classifier: ClassifierFactory, real: Codes, synthetic: Codes) -> float:
    """Accuracy of a classifier that distinguishes real from synthetic records; 0.5 is chance, 1 is perfect.

    Equal numbers of both are used: the first halves for training and the second halves for testing.

    Args:
        classifier: makes an untrained classifier.
        real: codes of real records in random order, shape (rows, m).
        synthetic: codes of synthetic records in random order, shape (others, m). The longer table is truncated.

    Returns:
        Accuracy on the second halves.

    Raises:
        InvalidInput: a table has fewer than two records.

    Source:
        Bindschaedler, Shokri, Gunter 2017, the distinguishing game of the evaluation.
    """
    rows = min(len(real), len(synthetic))
    half = rows // 2
    if not half:
        msg = "both tables must have at least two records for the game, got fewer; take larger ones."
        raise InvalidInput(msg)
    model = classifier()
    model.fit(np.concatenate((real[:half], synthetic[:half])), np.repeat([0, 1], half))
    told = model.predict(np.concatenate((real[half:rows], synthetic[half:rows])))
    return accuracy(told, np.repeat([0, 1], rows - half))


def _check_codes(codes: Codes, cardinalities: tuple[int, ...]) -> None:
    """Refuse codes outside the domain."""
    if codes.ndim != 2 or codes.shape[1] != len(cardinalities):
        msg = f"codes must have {len(cardinalities)} columns, got the shape {codes.shape}."
        raise InvalidInput(msg)
    if len(codes) and (codes.max(axis=0) >= np.asarray(cardinalities)).any():
        msg = "every code must be in its attribute's domain, got a larger one; encode the table with this domain."
        raise InvalidInput(msg)


def _check_same_marginals(first: MarginalCounts, second: MarginalCounts) -> None:
    """Refuse to combine counts of different marginals."""
    if first.marginals != second.marginals or first.cardinalities != second.cardinalities:
        msg = "both tables must be counted in the same marginals of one domain, got different ones."
        raise InvalidInput(msg)
