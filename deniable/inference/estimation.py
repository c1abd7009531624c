"""Counts, shares, means and ratios of a release, each with an interval that covers noise and sampling error.

There are two estimands: the confidential table (`finite`), and the population of which its rows are a sample
(`population`). If only some of the table's rows were measured, each with a known probability, this contributes to the
error of both. Tables, quantiles and regression do not belong here.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from math import inf, nan, sqrt
from typing import NoReturn, Protocol

import numpy as np

from deniable.foundation.errors import InvalidInput, Refused
from deniable.inference.answers import Answer, Asked, Grade
from deniable.inference.bounds import Subset, count_bounds
from deniable.inference.certified import CertifiedCount, CertifiedCounts
from deniable.inference.conditions import Conditions, Labels
from deniable.inference.intervals import (
    LOUD,
    SMALL,
    Interval,
    Quadratic,
    Unbounded,
    exact_count_interval,
    exact_share_interval,
    ratio_interval,
    share_interval,
)
from deniable.inference.laws import ErrorLaw, two_sided
from deniable.inference.queries import Product, Query
from deniable.inference.system import MeasuredSystem, NotMeasured
from deniable.measurements.certificate import Certificate
from deniable.measurements.consistency import Functional
from deniable.measurements.document import Measurements
from deniable.measurements.noisy_tables import Cells

FEWEST = 100.0
"""Estimated number of rows below which no question is answered."""
_ALL = Query.product({})
_MOST_TOGETHER = 8
_OWN_LAW = frozenset({"count", "share"})
"""Kinds of estimates with binomial sampling error."""
_APART = "the attributes were not counted together: the bounds are all that separate counts allow"
_IN_BUCKETS = "values were counted in buckets: the bounds have the lowest and the highest value of each"


def _level_of_part(level: float, parts: int) -> float:
    """The level of each of several intervals with a given simultaneous level (Bonferroni)."""
    return 1 - (1 - level) / parts


class Model(Protocol):
    """The model's counts, whose error has no known distribution."""

    def total(self, query: Query) -> float:
        """The sum over the model's records of a function of each."""


class Inference:
    """Answers questions from a release's measurements.

    Attributes:
        measured: what was measured.
        system: the estimates derived from the measurements.
        conditions: the language of questions.
        records: the estimated number of measured rows.
        kept: probability with which a row of the confidential table was measured; 1 if unknown.
        model: the model's counts, if available.

    Args:
        measured: what was measured.
        probability: probability with which a row was measured; None if unknown, and answers are then about measured
            rows.
        labels: labels of values.
        computed: names of attributes that are computed from others.
        model: the model's counts, for answers of grade `model`.
        certificate: the certificate of the model's error, for answers of grade `certified`.
        design_effect: factor of the sampling variance, as stated by the release.
        is_former: whether estimates are those of earlier releases; see `MeasuredSystem`.

    Raises:
        Refused: the estimated number of measured rows is below 100.
    """

    def __init__(
        self,
        measured: Measurements,
        *,
        probability: Fraction | None = None,
        labels: Labels | None = None,
        computed: Sequence[str] = (),
        model: Model | None = None,
        certificate: Certificate | None = None,
        design_effect: float = 1.0,
        is_former: bool = False,
    ) -> None:
        self.measured = measured
        self.system = MeasuredSystem(measured, probability, is_former=is_former)
        self.conditions = Conditions(measured.domain, labels, computed)
        self.kept = 1.0 if probability is None else float(probability)
        self._table = "the rows that were measured" if probability is None else "the confidential table"
        self._certified = None if certificate is None else CertifiedCounts(certificate, measured.buckets)
        self.model = model
        # A sum over the records of a person, of whom there are at most r, has at most r times the variance of as many
        # independent records: the square of a sum of r terms is at most r times the sum of their squares.
        self._most_records = measured.domain.most_records
        self._design_effect = design_effect * self._most_records
        self._all = self.system.functional(_ALL)
        releases = (release for table in measured.tables for release in table.every_release)
        self._is_gaussian = all(release.noise.law == "gaussian" for release in releases)
        self.records = self.system.value(self._all)
        if self.records < FEWEST:
            raise Refused(
                f"at least {FEWEST:.0f} rows must have been measured for estimates, got about {self.records:.0f}."
            )

    def count(self, condition: str = "", asked: Asked | None = None) -> Answer:
        """The number of records of the confidential table that satisfy a condition.

        If the attributes of the condition were not counted together, or it divides values that were, the answer has
        bounds and no estimate, unless the grade model is accepted: then the model's, with the bounds beside it.

        Args:
            condition: the condition; all records if it is empty.
            asked: options of the answer.

        Raises:
            InvalidInput: it is not a condition, or it divides values that were counted together and only measured
                answers are accepted.
            Refused: the estimand is the population, whose size is unknown, or the grade is too low.
        """
        asked = asked or Asked()
        if asked.estimand == "population":
            raise Refused("a count must be of the confidential table (finite); of the population ask for a share.")
        query = Query.product(self.conditions.parse(condition))
        question = f"number of records with {condition}" if condition.strip() else "number of records"
        try:
            functional = self.functional(query)
        except NotMeasured as error:
            return self._bounded(question, query, None, asked, error)
        value = self.system.value(functional)
        return self.answer(
            question,
            "count",
            value / self.kept,
            self.count_interval(functional, asked.level),
            asked,
            functional,
            noise=self.system.variance(functional) / self.kept**2,
            sampling=max(value, 0.0) * (1 - self.kept) / self.kept**2,
        )

    def share(self, condition: str, given: str = "", asked: Asked | None = None) -> Answer:
        """The share of records that satisfy a condition, among all or among those that satisfy another; see `count`."""
        return self.share_of(self.conditions.parse(condition), condition or "any values", given, asked)

    def share_of(
        self, condition: Mapping[int, Cells], words: str, given: str = "", asked: Asked | None = None
    ) -> Answer:
        """`share`, for a parsed condition and its text."""
        asked = asked or Asked()
        inside = Query.product(self.conditions.parse(given))
        both = inside.within(Query.product(condition))
        question = f"share with {words}" + (f" among those with {given}" if given.strip() else "")
        try:
            return self._ratio(question, "share", both, inside, None, asked)
        except NotMeasured as error:
            return self._bounded(question, both, inside, asked, error)

    def mean(self, attribute: str, given: str = "", asked: Asked | None = None) -> Answer:
        """The mean of a numeric attribute, over all records or over those that satisfy a condition; see `count`.

        If values were counted in buckets in the tables with the condition's attributes, the answer has bounds by the
        lowest and highest value of each bucket, and the grade is `bounded`; with the model's estimate if that is
        accepted.
        """
        asked = asked or Asked()
        i = self.conditions.attribute(attribute)
        values = self.conditions.numbers(i)
        inside = Query.product(self.conditions.parse(given))
        question = f"mean of {self.measured.domain.names[i]}" + (f" among those with {given}" if given.strip() else "")
        total, squares = (inside.within(Query.product({i: own})) for own in (values, values**2))
        try:
            found = self._ratio(question, "mean", total, inside, (squares, total, inside), asked)
        except NotMeasured as error:
            if error.relation or error.split != (i,):
                return self._by_model(question, "mean", total, inside, asked, error)
            try:
                return self._bounded_mean(question, i, values, inside, asked)
            except NotMeasured as other:
                return self._by_model(question, "mean", total, inside, asked, other)
        return found

    def ratio(self, numerator: str, denominator: str, asked: Asked | None = None) -> Answer:
        """The ratio of two counts, or of the totals of two numeric attributes; see `count`.

        Args:
            numerator: a condition, or the name of a numeric attribute.
            denominator: the same.
            asked: options of the answer.
        """
        asked = asked or Asked()
        one, other = self._quantity(numerator), self._quantity(denominator)
        question = f"ratio of {numerator} to {denominator}"
        squares = one.within(one), one.within(other), other.within(other)
        try:
            return self._ratio(question, "ratio", one, other, squares, asked)
        except NotMeasured as error:
            return self._by_model(question, "ratio", one, other, asked, error)

    def groups(self, i: int) -> list[np.ndarray]:
        """The buckets by which an attribute was counted with others: the codes of each, in order.

        Raises:
            InvalidInput: it has too many values to be divided.
        """
        self.system.require_divided(i)
        buckets = self.system.buckets[i]
        return [np.nonzero(buckets == bucket)[0] for bucket in range(self.system.sizes[i])]

    def functional(self, query: Query, *beside: Query) -> Functional:
        """Express a query as a linear function of the measurements.

        Args:
            query: the query.
            beside: queries with whose estimates its own is combined; see `MeasuredSystem.functional`.

        Raises:
            NotMeasured: a relation was not measured, or a condition divides values that were counted together; then the
                sentence offers the nearest edges.
        """
        try:
            return self.system.functional(query, *beside)
        except NotMeasured as error:
            if not error.split or error.relation:
                raise
            i = error.split[0]
            for term in query.terms:
                own = term.of.get(i)
                if own is not None and set(np.unique(own)) <= {0.0, 1.0}:
                    raise NotMeasured(
                        self.conditions.edges(i, self.system.buckets[i], own), error.split, offer=self._whole(term)
                    ) from None
            raise

    def _whole(self, term: Product) -> str:
        """The nearest conditions that divide no values that were counted together, in words."""
        parts = []
        for i, own in term.of.items():
            held = np.bincount(self.system.buckets[i])
            inside = np.bincount(self.system.buckets[i], weights=(own != 0).astype(np.float64))
            if ((inside > 0) & (inside < held)).any():
                parts.append(self.conditions.whole(i, self.system.buckets[i], own))
        return ", and for ".join(parts)

    def sampling_factor(self, asked: Asked) -> float:
        """The factor of the sampling variance, relative to independent sampling of the measured rows.

        Raises:
            Refused: the estimand is the population, and the sampling of its rows is unknown.
        """
        if asked.estimand == "finite":
            return 1 - self.kept
        stated = self.measured.universe.sampling
        if stated != "unknown" and asked.sampling not in {None, stated}:
            raise Refused(
                f"the release states that its rows are a {stated} sample, got {asked.sampling}; leave it out."
            )
        sampling = asked.sampling or stated
        if sampling == "unknown":
            raise Refused(
                "the release does not state how its rows were sampled from a population; ask for the confidential "
                "table (finite), or state the sampling yourself (census, or simple random with a design effect)."
            )
        if sampling == "census" and self._most_records > 1:
            raise Refused(
                f"the release used at most {self._most_records} records of each person, which are not the whole "
                "population even in a census; ask for the rows that were measured (finite)."
            )
        if sampling == "census" and asked.design_effect not in {None, 1}:
            raise Refused("a census has no design effect, because its rows are no sample; leave it out.")
        return 1 - self.kept if sampling == "census" else self._effect(asked)

    def _effect(self, asked: Asked) -> float:
        return self._design_effect if asked.design_effect is None else asked.design_effect

    def of_what(self, asked: Asked) -> str:
        """The estimand in words."""
        return f"{self._table}" if asked.estimand == "finite" else "the population that the rows were sampled from"

    def condition_of(self, asked: Asked, grade: Grade, basis: str = "", *, is_normal: bool = False) -> str:
        """State the condition under which an interval covers.

        Args:
            asked: options of the answer.
            grade: the grade of the answer.
            basis: of bounds, what they rest on.
            is_normal: whether the sampling error is approximated by a normal distribution.
        """
        told = {
            "measured": "The interval rests on the published law of the noise, and on no model",
            "certified": "The interval rests on the released certificate of the model's error, and on no model",
            "bounded": f"{basis[:1].upper()}{basis[1:]}",
            "model": "The model is right; nothing measured supports it, and there is no interval",
        }[grade]
        if grade == "model" and basis:
            told = f"The estimate is the model's, which nothing measured supports; {basis}"
        if is_normal:
            told += "; the error of sampling is taken as normal"
        if asked.estimand == "finite":
            more = f"; each row of the table was measured with probability {self.kept:g}" if self.kept < 1 else ""
            return f"{told}{more}."
        sampling = asked.sampling or self.measured.universe.sampling
        by = "you state" if self.measured.universe.sampling == "unknown" else "the release states"
        if sampling == "census":
            return f"{told}; {by} that the table is the whole population."
        effect = f" with a design effect of {self._effect(asked):g}" if self._effect(asked) != 1 else ""
        return f"{told}; {by} that the rows are a simple random sample{effect}."

    def answer(
        self,
        question: str,
        kind: str,
        estimate: float,
        interval: Interval | None,
        asked: Asked,
        functional: Functional | None,
        *,
        noise: float = nan,
        sampling: float = nan,
        grade: Grade = "measured",
        p_value: float | None = None,
        interval_grade: Grade | None = None,
        basis: str = "",
    ) -> Answer:
        """Complete an answer with the fields common to all.

        Args:
            question: the question in words.
            kind: the kind of estimate.
            estimate: the estimate, which is moved to the nearest point of its interval; NaN if there is none.
            interval: its interval.
            asked: options of the answer.
            functional: the linear function that the estimate is computed from, for its sources.
            noise: variance due to privacy noise; NaN if the error has other parts.
            sampling: variance due to sampling; likewise.
            grade: the grade of the answer.
            p_value: p-value of a test, if requested.
            interval_grade: the basis of the interval, if it is not that of the answer.
            basis: of bounds, what they rest on; by default on separate counts, or on the values in buckets of a mean.
        """
        if interval is not None and not basis:
            basis = _IN_BUCKETS if "mean" in kind else _APART
        return Answer(
            question=question,
            kind=kind,
            estimate=estimate if interval is None else interval.nearest(estimate),
            unrestricted=estimate,
            interval=interval,
            level=asked.level,
            estimand=asked.estimand,
            of_what=self.of_what(asked),
            grade=grade,
            interval_grade=None if interval_grade == grade else interval_grade,
            condition=self.condition_of(asked, grade, basis, is_normal=sampling > 0 and kind not in _OWN_LAW),
            noise_deviation=sqrt(noise) if not noise <= 0 else 0.0,
            sampling_deviation=sqrt(sampling) if not sampling <= 0 else 0.0,
            sources={} if functional is None else self.system.sources(functional),
            p_value=p_value,
        )

    def law(self, functional: Functional, sampling: float = 0.0, noise: float | None = None) -> ErrorLaw:
        """The law of the error of a linear function's estimate, including a sampling variance.

        Args:
            functional: the linear function.
            sampling: the sampling variance.
            noise: the noise variance of the estimate, if known.
        """
        if self._is_gaussian:
            variance = self.system.variance(functional) if noise is None else noise
            # A sum of Gaussian noise is normal unless it lies on a lattice; its variance follows from the weights.
            if sampling > 0 or not self.has_lattice(functional, variance):
                return ErrorLaw(variance + max(sampling, 0.0))
        public = self.system.variance_of_public_totals(functional)
        return ErrorLaw.of(self.system.weights(functional), max(sampling, 0.0) + public)

    def has_lattice(self, functional: Functional, noise: float | None = None) -> bool:
        """Whether the error of a linear function's estimate lies on a lattice that matters (`ErrorLaw.step`)."""
        public = self.system.variance_of_public_totals(functional)
        variance = self.system.variance(functional) if noise is None else noise
        return ErrorLaw.has_lattice(self.system.each_weights(functional), public, variance)

    def reach(self, functional: Functional, level: float, sampling: float = 0.0) -> float:
        """The half-width of the confidence interval for a linear function."""
        return self.law(functional, sampling).reach(level)

    def count_interval(self, functional: Functional, level: float) -> Interval:
        """The interval of a count of the confidential table, in whole records."""
        value, noise = self.system.value(functional), self.system.variance(functional)
        if self.kept >= 1 or (value <= SMALL and noise < LOUD):
            return exact_count_interval(value, self.kept, self.law(functional, noise=noise), level)
        sampling = value * (1 - self.kept)
        z = self.reach(functional, level, sampling) / sqrt(noise + sampling)
        spread = Quadratic(noise, self.kept * (1 - self.kept), 0.0)
        return ratio_interval(value, self.kept, spread, z).cut(0.0, inf)

    def small_share_interval(self, functional: Functional, level: float, of: Functional | None = None) -> Interval:
        """The interval for a population share with a small count, by the exact law of noise and sampling.

        Args:
            functional: the count.
            level: confidence level.
            of: the count in the denominator; all records by default.
        """
        whole = self._all if of is None else of
        count, records = self.system.value(functional), self.system.value(whole)
        return exact_share_interval(count, records, self.law(self.linear(functional, whole, count / records)), level)

    def linear(self, one: Functional, other: Functional, ratio: float) -> Functional:
        """One function minus a ratio times another."""
        found = {subset: own.copy() for subset, own in one.items()}
        for subset, own in other.items():
            found[subset] = found[subset] - ratio * own if subset in found else -ratio * own
        return found

    def _quantity(self, text: str) -> Query:
        if text.strip() in self.measured.domain.names:
            i = self.conditions.attribute(text)
            return Query.product({i: self.conditions.numbers(i)})
        return Query.product(self.conditions.parse(text))

    def _ratio(
        self,
        question: str,
        kind: str,
        numerator: Query,
        denominator: Query,
        squares: tuple[Query, Query, Query] | None,
        asked: Asked,
    ) -> Answer:
        """A ratio of two sums; a share has no squares, because its own value determines its variance."""
        above, below = self.functional(numerator, denominator), self.functional(denominator, numerator)
        one, other = self.system.value(above), self.system.value(below)
        if other <= 0:
            raise Refused(f"the group must have records for a {kind}, and its estimated size is {other:.0f}.")
        ratio = one / other
        factor = self.sampling_factor(asked)
        noise = Quadratic(
            self.system.variance(above), -2 * self.system.covariance(above, below), self.system.variance(below)
        )
        if squares is None:
            sampled = Quadratic(0.0, other, -other)
        elif factor:
            two, cross, square = (self.system.value(self.functional(each, *squares)) for each in squares)
            sampled = Quadratic(two, -2 * cross, square)
        else:
            sampled = Quadratic(0.0, 0.0, 0.0)
        error = self.linear(above, below, ratio)
        sampling = max(factor * sampled.at(ratio), 0.0)
        spread = max(noise.at(ratio), 0.0)
        z = self.reach(error, asked.level, sampling) / sqrt(spread + sampling) if spread + sampling > 0 else 0.0
        try:
            is_small = one <= SMALL and noise.constant < LOUD
            if kind == "share" and factor == 1 and asked.estimand == "population" and is_small:
                interval = self.small_share_interval(above, asked.level, below)
            else:
                own = share_interval if kind == "share" else ratio_interval
                interval = own(one, other, noise.plus(sampled, factor), z)
        except Unbounded:
            raise Refused(
                f"the group must be large enough for a {kind}: its estimated size is {other:.0f}, with a standard "
                f"deviation of {sqrt(noise.square):.0f}; ask for a larger group."
            ) from None
        if kind == "mean":
            for i in set(numerator.attributes) - set(denominator.attributes):
                values = self.conditions.numbers(i)
                interval = interval.cut(float(values.min()), float(values.max()))
        return self.answer(
            question, kind, ratio, interval, asked, error, noise=spread / other**2, sampling=sampling / other**2
        )

    def _bounded_mean(self, question: str, i: int, values: Cells, inside: Query, asked: Asked) -> Answer:
        """A mean if only buckets were counted with the condition: bounds by the values in each bucket."""
        self._accept("bounded", asked)
        buckets = self.system.buckets[i]
        lowest, highest = (np.full(self.system.sizes[i], side * inf) for side in (1, -1))
        np.minimum.at(lowest, buckets, values)
        np.maximum.at(highest, buckets, values)
        low, high = (
            self._ratio(question, "mean", *self._sums_of(i, own[buckets], inside), asked) for own in (lowest, highest)
        )
        both = [answer.interval for answer in (low, high) if answer.interval is not None]
        # Counts below 0 can reverse the two.
        ends = Interval(min(each.low for each in both), max(each.high for each in both))
        total = inside.within(Query.product({i: values}))
        return self._with_bounds(question, "mean", ends, asked, (total, inside))

    def _sums_of(self, i: int, values: Cells, inside: Query) -> tuple[Query, Query, tuple[Query, Query, Query]]:
        total, squares = (inside.within(Query.product({i: own})) for own in (values, values**2))
        return total, inside, (squares, total, inside)

    def _bounded(self, question: str, both: Query, inside: Query | None, asked: Asked, error: NotMeasured) -> Answer:
        """A count or share that was not counted as such, by bounds, and by a certificate or the model."""
        kind = "count" if inside is None else "share"
        [term] = both.terms
        certified = self._by_certificate(term, asked, of_all=inside is not None)
        grade: Grade = "bounded" if certified is None else "certified"
        if not asked.accepts(grade):
            self._refuse(grade, error)
        basis = _APART
        if not error.relation:
            basis = (
                "the condition divides values that were counted together: the bounds are without and with all of them; "
                f"for a measured answer ask for {error.offer}"
            )
        try:
            interval = self._bounds(term, inside, certified, asked)
        except Refused:
            if not self._believes(asked):
                raise
            return self._by_model(question, kind, both, inside, asked, error)
        if certified is None:
            return self._with_bounds(question, kind, interval, asked, (both, inside), basis)
        value = certified.estimate / (self.kept if inside is None else self._size(inside, asked))
        return self.answer(question, kind, value, interval, asked, None, grade=grade)

    def _bounds(self, term: Product, inside: Query | None, certified: CertifiedCount | None, asked: Asked) -> Interval:
        """The bounds on a count of the table, or on a share of a group, by counts and by a certificate.

        Raises:
            Refused: there are too many attributes, or there may be no records in the group.
        """
        of_group = term if inside is None else inside.terms[0]
        if len(term.of) > _MOST_TOGETHER:
            raise Refused(f"a condition may have at most {_MOST_TOGETHER} attributes that were not counted together.")
        # The bounds and the certificate each get half of the error probability, so both hold together.
        level = _level_of_part(asked.level, 1 if certified is None else 2)
        # A condition on an attribute of the group reduces its counts: the group then has counts of its own.
        is_narrower = any(not np.array_equal(own, term.of[i]) for i, own in of_group.of.items())
        level = _level_of_part(level, 2 if is_narrower else 1)
        counts = self._counts(term.of, asked, level, of_all=inside is not None)
        whole = count_bounds(tuple(term.of), counts)
        if certified is not None:
            low, high = max(whole.low, certified.interval.low), min(whole.high, certified.interval.high)
            whole = Interval(low, high) if low <= high else certified.interval
        if inside is None:
            return Interval(whole.low / self.kept, whole.high / self.kept)
        if is_narrower:
            counts = self._counts(of_group.of, asked, level, of_all=True)
        group = count_bounds(inside.attributes, counts)
        if group.low <= 0:
            raise Refused(f"the group must have records for a share, and may have none: {group.high:.0f} at most.")
        return Interval(whole.low / group.high, whole.high / group.low).cut(0.0, 1.0)

    def _size(self, inside: Query, asked: Asked) -> float:
        """The estimated number of records of a group, by counts or by the certificate; NaN if neither has it."""
        try:
            return max(self.system.value(self.functional(inside)), 1.0)
        except NotMeasured:
            found = None if self._certified is None else self._certified.count(inside.terms[0].of, asked.level)
            return nan if found is None else max(found.estimate, 1.0)

    def _with_bounds(
        self,
        question: str,
        kind: str,
        bounds: Interval,
        asked: Asked,
        of: tuple[Query, Query | None],
        basis: str = "",
    ) -> Answer:
        """An answer with bounds: without an estimate, or with the model's if that is accepted.

        Args:
            question: the question in words.
            kind: the kind of estimate.
            bounds: the bounds.
            asked: options of the answer.
            of: numerator and denominator; no denominator for a count.
            basis: what the bounds rest on; see `answer`.
        """
        is_model = self._believes(asked)
        estimate = self._of_model(*of) if is_model else nan
        grade: Grade = "model" if is_model else "bounded"
        return self.answer(
            question, kind, estimate, bounds, asked, None, grade=grade, interval_grade="bounded", basis=basis
        )

    def _believes(self, asked: Asked) -> bool:
        """Whether the model's estimate is accepted, and there is a model."""
        return asked.accepts("model") and self.model is not None

    def _of_model(self, numerator: Query, denominator: Query | None) -> float:
        """The model's ratio of two totals; for a count, its share times the number of rows of the table.

        Raises:
            Refused: the model has no records in the group.
        """
        assert self.model is not None  # noqa: S101 - those who ask have seen to it
        below = self.model.total(_ALL if denominator is None else denominator)
        if below <= 0:
            raise Refused("the model has no records in the group; ask for a larger one.")
        ratio = self.model.total(numerator) / below
        return ratio * self.records / self.kept if denominator is None else ratio

    def _by_certificate(self, term: Product, asked: Asked, *, of_all: bool) -> CertifiedCount | None:
        """The model's count, with the certified bound and the sampling error; None without a certificate."""
        factor = self.sampling_factor(asked)
        own = _level_of_part(asked.level, 4 if factor else 2)
        found = None if self._certified is None else self._certified.count(term.of, own)
        if found is None or not factor:
            return found
        low, high = max(found.interval.low, 0.0), max(min(found.interval.high, self.records), 0.0)
        # The count in the interval with the largest sampling variance.
        most = min(max(self.records / 2, low), high) if of_all else high
        share = most / self.records if of_all else 0.0
        reach = two_sided(own) * sqrt(max(factor * most * (1 - share), 0.0))
        return CertifiedCount(found.estimate, Interval(low - reach, high + reach))

    def _counts(
        self, factors: Mapping[int, Cells], asked: Asked, level: float, *, of_all: bool
    ) -> dict[Subset, Interval]:
        """The intervals of counts for all measured subsets of conditions, simultaneous.

        A condition that divides values that were counted together has the lower end of the count without all of these
        values, and the upper end of the count with all of them.

        Args:
            factors: the conditions.
            asked: options of the answer.
            level: simultaneous confidence level.
            of_all: whether they are shares of all measured rows instead of counts in the table.
        """
        found = {}
        for size in range(len(factors) + 1):
            for subset in combinations(sorted(factors), size):
                own = {i: factors[i] for i in subset}
                try:
                    found[subset] = [self.system.functional(Query.product(own))]
                except NotMeasured as error:
                    if not error.relation:
                        found[subset] = [self._in_buckets(own, end) for end in (np.minimum, np.maximum)]
        level = _level_of_part(level, len(found))
        factor = self.sampling_factor(asked)
        made = {}
        for subset, functionals in found.items():
            ends = []
            for functional in functionals:
                value = self.system.value(functional)
                share = min(max(value / self.records, 0.0), 1.0) if of_all else 0.0
                sampling = factor * max(value, 0.0) * (1 - share)
                reach = self.reach(functional, level, sampling)
                ends.append((value - reach, value + reach))
            made[subset] = Interval(ends[0][0], ends[-1][1])
        return made

    def _in_buckets(self, factors: Mapping[int, Cells], end: np.ufunc) -> Functional:
        """A count of several conditions, each divided bucket being left out (the minimum) or in (the maximum)."""
        own = dict(factors)
        while True:
            try:
                return self.system.functional(Query.product(own))
            except NotMeasured as error:
                own |= {i: self._whole_buckets(i, own[i], end) for i in error.split}

    def _whole_buckets(self, i: int, values: Cells, end: np.ufunc) -> Cells:
        """The smallest or largest of a function's values in each bucket, for each value."""
        buckets = self.system.buckets[i]
        found = np.full(self.system.sizes[i], inf if end is np.minimum else -inf)
        end.at(found, buckets, values)
        return np.asarray(found[buckets])

    def _by_model(
        self, question: str, kind: str, numerator: Query, denominator: Query | None, asked: Asked, error: NotMeasured
    ) -> Answer:
        """The model's estimate, without an interval."""
        if not self._believes(asked):
            self._refuse("model", error)
        # Refuses a population whose sampling is unstated; the condition would otherwise assert it.
        self.sampling_factor(asked)
        estimate = self._of_model(numerator, denominator)
        return self.answer(question, kind, estimate, None, asked, None, grade="model")

    def _accept(self, grade: Grade, asked: Asked) -> None:
        if not asked.accepts(grade):
            raise Refused(f"the answer would be of the grade {grade}, and you ask for {asked.grade} at least.")

    def _refuse(self, grade: Grade, error: NotMeasured) -> NoReturn:
        """Refuse a question that was not measured, and name the alternative."""
        if error.split and not error.relation and error.offer:
            raise InvalidInput(str(error))
        names = [self.measured.domain.names[i] for i in error.relation]
        said = f"{' and '.join(names)} were not counted together" if len(names) > 1 else str(error).rstrip(".")
        raise Refused(f"{said}, so the grade would be {grade}; accept the grade {grade}, or ask for other attributes.")
