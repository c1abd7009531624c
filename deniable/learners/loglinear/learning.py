"""The sequence of queries: one-way marginals, a tree of pairs, then the tables that the model fits worst.

Only a counter reads rows, and its counts leave this module only through the two private queries; everything else is
computed from their answers. Noise, cost and fitting do not belong here.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from deniable.foundation.domain import Domain
from deniable.foundation.tables import Counts
from deniable.learners.loglinear.candidate_queries import CandidateQueries, CandidateQuery, score
from deniable.learners.loglinear.estimation.buckets import Bucketed, bucketed
from deniable.learners.loglinear.estimation.counting import A_PAIR, CountedOnce, Counter, Partition
from deniable.learners.loglinear.estimation.fitting import Shape
from deniable.learners.loglinear.estimation.maximum_entropy import (
    Estimates,
    Evidence,
    FittedModel,
    best_order,
    distances,
    estimate_margins,
    estimate_total,
    estimates_from,
    expected_by_rules,
    fit_along,
    with_known,
)
from deniable.learners.loglinear.estimation.structural_zeros import structural_zeros
from deniable.learners.loglinear.estimation.tailed_counts import BinnedCounts
from deniable.learners.loglinear.estimation.within_bucket_tables import within_bucket_counts
from deniable.learners.loglinear.measurements import PrivateQueries
from deniable.learners.loglinear.plan import (
    BATCHES,
    PART,
    TABLES_PER_ATTRIBUTE,
    LoglinearPlan,
    Noise,
    for_bins,
    in_batches,
)
from deniable.measurements.document import Choice as PublishedChoice
from deniable.measurements.document import Measurements, Universe
from deniable.measurements.growing_bins import growing_bins
from deniable.measurements.noisy_tables import Cells
from deniable.models.loglinear.flat_tables import Attributes
from deniable.models.noisy_marginals import EstimatedMarginal, NoisyMarginal, measured_table

Reason = Literal["tree", "target", "declared", "extra", "values"]

DRAFT_RECORDS = 5_000
"""Number of simulated records for a batch of choices."""
OTHERS_RECORDS = 10_000
"""Number of simulated records for the counts of each table that the other tables imply."""
FINAL_RECORDS = 50_000
MANY_ATTRIBUTES = 30
"""Number of attributes above which the final model is fitted to fewer simulated records."""
FEWEST_RECORDS = 10_000
FINAL_PASSES = 3
"""Number of passes over the tables in the final fit, which starts from the factors of the fit before it."""

_SIGNAL_OF_A_TABLE = {"gaussian": 300.0, "laplace": 400.0}
"""Signal above which there is one more extra table per attribute; Laplace noise grows faster with their number."""
SEARCHED = 30
"""Number of attributes above which pairs are searched for zeros, and excess of value counts is subtracted equally."""
WIDE = 50
"""Number of attributes above which more extra tables are chosen at the same signal: most pairs are not measured."""
_MOST_MORE_TABLES = 3.0
"""Largest ratio of a wide table's number of extra tables to that of others at the same signal."""
_FEWEST_WITH_VALUES = 4
"""Smallest number of tables in a batch, one of which may be of values within buckets."""
_TIED = 1.0
"""L1 distance from independence, as a share of the records (at most 2), above which a pair may be a recoding."""
_RECODING = 0.04
"""Score of the option to choose no table of values within buckets, as a share of the records."""
_FEW = 2.0
_TARGET_WEIGHT = 2.0
_WEAK_SIGNAL = 300.0
_MOST_AGAIN = 0.75
_NO_SIGNAL = 25.0
"""Signal below which a pair is less useful than more precise one-way marginals."""
_FEWEST_FOR_TABLES = 2
_LEFT_FOR_TABLES = 4

Words = Callable[[str, int], NDArray[np.uint32]]
"""Draws a given number of fresh words for a purpose."""


@dataclass(frozen=True)
class Choice:
    """A released choice.

    Attributes:
        purpose: whether a table of the tree or an extra table is chosen.
        candidates: number of candidates.
        chosen: number of the chosen candidate, from 0.
    """

    purpose: str
    candidates: int
    chosen: int


@dataclass(frozen=True, eq=False)
class WithinBucketTable:
    """The distribution of an attribute's values within its buckets, given another attribute's bucket.

    Attributes:
        attribute: the attribute.
        guide: the other attribute, which precedes it in the order.
        table: the released table of the guide's buckets by the attribute's values.
        counts: denoised counts, shape (buckets of the guide, values of the attribute).
    """

    attribute: int
    guide: int
    table: NoisyMarginal
    counts: Cells

    @property
    def denoised(self) -> Cells:
        """The counts, with the table's axes."""
        return self.counts if self.guide < self.attribute else self.counts.T


@dataclass(frozen=True, eq=False)
class Learnt:
    """All released values, and the model estimated from them.

    Attributes:
        attributes: the buckets of each attribute, with denoised counts of the values; one bucket if there is one
            value.
        ones: noisy one-way marginals.
        binned: counts of growing bins of some attributes, by column number.
        tables: noisy tables over buckets, in the order in which they were first measured.
        reasons: the reason for measuring each of them.
        choices: all choices, in order.
        glued: the model over buckets.
        guides: attributes whose values within a bucket depend on another attribute's bucket.
        signal: number of records divided by the mean noise of a typical table.
    """

    attributes: tuple[Bucketed, ...]
    ones: tuple[NoisyMarginal, ...]
    binned: Mapping[int, NoisyMarginal]
    tables: tuple[NoisyMarginal, ...]
    reasons: tuple[Reason, ...]
    choices: tuple[Choice, ...]
    glued: FittedModel
    guides: tuple[WithinBucketTable, ...]
    signal: float

    def measurements(self, plan: LoglinearPlan) -> Measurements:
        """All measurements, as integers, and the estimates computed from them.

        Only the sums of the releases and the choices depend on the data. Everything else, floats included, is a
        function of these and of the words from which the populations were simulated.
        """
        sizes = [own.size for own in self.attributes]
        ones = [
            measured_table(
                one,
                by_values=one.attributes,
                reason="one-way",
                denoised=self.attributes[i].counts,
                binned=self.binned.get(i),
            )
            for one in self.ones
            for i in one.attributes
        ]
        tables = [
            measured_table(table, by_values=by_values, sizes=sizes, reason=reason, denoised=counts)
            for table, reason, by_values, counts in self._all_tables()
        ]
        taken = {release.turn for table in (*ones, *tables) for release in table.every_release}
        free = (turn for turn in range(1, len(taken) + len(self.choices) + 1) if turn not in taken)
        return Measurements(
            domain=plan.domain,
            learner="loglinear",
            universe=Universe(PART),
            buckets=tuple(own.of_value for own in self.attributes),
            tables=(*ones, *tables),
            choices=tuple(
                PublishedChoice(turn, each.purpose, each.candidates, each.chosen)
                for turn, each in zip(free, self.choices, strict=True)
            ),
            records=self.glued.total,
            order=self.glued.order,
            figures={"signal": self.signal},
        )

    def document(self, plan: LoglinearPlan) -> dict[str, Any]:
        """The content of `measured.json`."""
        return self.measurements(plan).document()

    def _all_tables(self) -> list[tuple[NoisyMarginal, Reason, tuple[int, ...], Cells]]:
        """Tables of several attributes: reasons, attributes by values, denoised counts."""
        found: list[tuple[NoisyMarginal, Reason, tuple[int, ...], Cells]] = [
            (table, reason, (), counts)
            for table, reason, counts in zip(self.tables, self.reasons, self.glued.tables, strict=True)
        ]
        return [*found, *((guide.table, "values", (guide.attribute,), guide.denoised) for guide in self.guides)]


def learn(plan: LoglinearPlan, counter: Counter, doors: PrivateQueries, words: Words) -> Learnt:
    """Make the queries that the plan provides for, and fit a model to the answers.

    Args:
        plan: which queries may be made.
        counter: counts tables of the rows.
        doors: the private queries, the only path from counts to results.
        words: words from which the populations are simulated, independent of the data.
    """
    counter = CountedOnce(counter)
    m = len(plan.layout.counted)
    ones = _count_ones(plan, counter, doors)
    total = ones.total
    signal = total / plan.mean_noise(plan.layout.table_shares / (2 * m)) if m > 1 else total
    ones = _count_again(plan, counter, doors, ones, signal)
    total = ones.total
    attributes = _buckets(plan, ones, total, signal)
    tables = _Tables(plan, counter, doors, words, attributes, ones)
    if m > 1 and signal >= _NO_SIGNAL:
        extras = min(plan.layout.extra_choices, extra_tables(m, signal, plan.noise), tables.room())
        tables.measure_first(total, extras)
        tables.measure_extras(extras)
    glued = tables.fit_finally()
    return Learnt(
        attributes=attributes,
        ones=tuple(ones.by_values.values()),
        binned=ones.binned,
        tables=tuple(tables.found),
        reasons=tuple(tables.reasons),
        choices=tuple(tables.choices),
        glued=glued,
        guides=tables.guides(glued),
        signal=signal,
    )


def extra_tables(attributes: int, signal: float, noise: Noise) -> int:
    """Number of extra tables that a signal permits, limited by the numbers of pairs and shares.

    Args:
        attributes: number of attributes with several values.
        signal: number of records divided by the mean noise of a typical table.
        noise: kind of noise; with Laplace noise, wide tables do not get more.
    """
    more = min(max(1.0, (attributes / WIDE) ** 2), _MOST_MORE_TABLES) if noise == "gaussian" else 1.0
    return round(attributes * signal * more / _SIGNAL_OF_A_TABLE[noise])


@dataclass(frozen=True, eq=False)
class _Ones:
    """The one-way marginals.

    Attributes:
        domain: the public domain.
        by_values: noisy counts of values, by column number.
        binned: noisy counts of growing bins, of the numbers that have them.
    """

    domain: Domain
    by_values: Mapping[int, NoisyMarginal]
    binned: Mapping[int, NoisyMarginal]

    @cached_property
    def combined(self) -> dict[int, BinnedCounts]:
        """The counts of the attributes with growing bins."""
        return {i: BinnedCounts.of(self.domain.attributes[i], self.by_values[i], own) for i, own in self.binned.items()}

    @property
    def total(self) -> float:
        """The number of records that they state."""
        found = [self.combined[i].of_bins if i in self.combined else own for i, own in self.by_values.items()]
        return estimate_total(found)

    @property
    def shares(self) -> int:
        """The shares spent on them."""
        return sum(each.shares for each in (*self.by_values.values(), *self.binned.values()))

    def over_buckets(self, attributes: Sequence[Bucketed]) -> tuple[NoisyMarginal | EstimatedMarginal, ...]:
        """The marginals summed to buckets; the noise is summed with them."""
        found: list[NoisyMarginal | EstimatedMarginal] = []
        for i, table in self.by_values.items():
            own = attributes[i]
            if i in self.combined:
                found.append(self.combined[i].over(own.of_value))
                continue
            releases = tuple(replace(each, sums=own.added_up_along(each.sums, 0)) for each in table.releases)
            terms = own.added_up_along(np.ones(table.shape, np.int64), 0)
            found.append(replace(table, releases=releases, terms=terms))
        return tuple(found)


def _count_ones(plan: LoglinearPlan, counter: Counter, doors: PrivateQueries) -> _Ones:
    """One-way marginals, at full resolution, and those of growing bins."""
    layout = plan.layout
    return _counted(
        plan,
        counter,
        doors,
        dict(zip(layout.counted, layout.value_shares, strict=True)),
        dict(zip(layout.counted, layout.bin_shares, strict=True)),
    )


def _count_again(plan: LoglinearPlan, counter: Counter, doors: PrivateQueries, ones: _Ones, signal: float) -> _Ones:
    """Measure one-way marginals again with some of the tables' shares, or all if tables would have no signal."""
    known = ones.by_values
    if len(known) < _FEWEST_FOR_TABLES:
        return ones
    shares = divided(plan.layout.table_shares, [1.0] * len(known))
    if signal >= _NO_SIGNAL:
        each = min(shares)
        extra = min(int(each * _MOST_AGAIN * (1 - signal / _WEAK_SIGNAL)), each - _LEFT_FOR_TABLES)
        if extra < 1:
            return ones
        shares = [extra] * len(known)
    bins = {
        i: for_bins(plan.domain.attributes[i], own, plan.noise) if i in ones.binned else 0
        for i, own in zip(known, shares, strict=True)
    }
    values = {i: own - bins[i] for i, own in zip(known, shares, strict=True)}
    again = _counted(plan, counter, doors, values, bins)
    return _Ones(
        plan.domain,
        {i: table.joined(again.by_values[i]) for i, table in known.items()},
        {i: table.joined(again.binned[i]) if i in again.binned else table for i, table in ones.binned.items()},
    )


def _counted(
    plan: LoglinearPlan,
    counter: Counter,
    doors: PrivateQueries,
    values: Mapping[int, int],
    bins: Mapping[int, int],
) -> _Ones:
    """Measure attributes by values, and then by growing bins, with some shares each; 0 for those without bins."""
    if not values:
        return _Ones(plan.domain, {}, {})
    finest = Partition.finest(plan.domain)
    counts = dict(zip(values, counter.tables(finest, [(i,) for i in values]), strict=True))
    by_values = {i: doors.measure((i,), finest, counts[i], shares) for i, shares in values.items()}
    binned = {}
    for i, shares in bins.items():
        own = growing_bins(plan.domain.attributes[i]) if shares else None
        if own is not None:
            binned[i] = doors.measure((i,), finest.having(i, own.of_value), own.counted(counts[i]), shares)
    return _Ones(plan.domain, by_values, binned)


def _buckets(plan: LoglinearPlan, ones: _Ones, total: float, signal: float) -> tuple[Bucketed, ...]:
    """The buckets of all attributes."""
    few, known = _FEW * _typical_noise(plan), plan.domain.public_shares
    tables, combined = ones.by_values, ones.combined
    found = (
        bucketed(attribute, combined.get(i, tables[i]), total, few, signal, equally=len(tables) > SEARCHED)
        if i in tables
        else Bucketed(np.zeros(1, np.uint16), np.asarray([total]))
        for i, attribute in enumerate(plan.domain.attributes)
    )
    return tuple(replace(own, counts=total * known[i]) if i in known else own for i, own in enumerate(found))


def _typical_noise(plan: LoglinearPlan) -> float:
    """Mean noise of a table with an equal part of the budget."""
    return (
        plan.mean_noise(max(plan.layout.table_shares, 1) / (TABLES_PER_ATTRIBUTE * len(plan.layout.counted)))
        if plan.layout.counted
        else 1.0
    )


class _Tables:
    """The tables of several attributes, measured batch by batch; public except for the counter.

    Attributes:
        found: the released tables over buckets.
        reasons: the reason for measuring each.
        by_values: the released tables of values within buckets.
        choices: all choices, in order.
    """

    def __init__(
        self,
        plan: LoglinearPlan,
        counter: Counter,
        doors: PrivateQueries,
        words: Words,
        attributes: tuple[Bucketed, ...],
        ones: _Ones,
    ) -> None:
        self._plan, self._counter, self._doors, self._words = plan, counter, doors, words
        self._ones, self._again = ones.over_buckets(attributes), ones.shares - sum(plan.layout.one_way_shares)
        target = None if plan.domain.target is None else plan.domain.index(plan.domain.target)
        self._questions = CandidateQueries(plan.domain, attributes, target if target in plan.layout.counted else None)
        self._shape = Shape(
            sizes=self._questions.partition.sizes,
            ordered=np.asarray([attribute.is_ordered for attribute in plan.domain.attributes]),
            target=self._questions.target,
            laplace=plan.noise == "laplace",
            zeros=structural_zeros(plan.domain, attributes),
            known={i: attributes[i].added_up(shares) for i, shares in plan.domain.public_shares.items()},
            searched=len(plan.layout.counted) > SEARCHED,
        )
        self.found: list[NoisyMarginal] = []
        self.reasons: list[Reason] = []
        self.by_values: list[tuple[CandidateQuery, NoisyMarginal]] = []
        self.choices: list[Choice] = []
        # The model's expected counts of each table before it was measured, if it was chosen by its distance from them.
        self._priors: list[Cells | None] = []

    def room(self) -> int:
        """Number of extra tables for which shares remain, besides those measured first."""
        return self._left() - self._plan.layout.first_tables

    def measure_first(self, total: float, extras: int) -> None:
        """Measure a tree of pairs, each attribute with the target and declared pairs; leave budget for extra tables."""
        counted, target = self._plan.layout.counted, self._shape.target
        inner = [i for i in counted if i != target]
        pairs: list[Attributes] = list(combinations(inner, 2))
        with_target: list[Attributes] = [(min(i, target), max(i, target)) for i in inner] if target is not None else []
        wanted = [CandidateQuery(pair) for pair in (*pairs, *with_target)]
        answers = self._questions.answers(wanted, self._counter)
        margins = with_known(estimate_margins(self._ones, self._shape.sizes, total), total, self._shape)
        unit = _typical_noise(self._plan)
        scores = {
            pair: score(answers[CandidateQuery(pair)], expected_by_rules(pair, margins, total, self._shape), unit)
            for pair in pairs
        }
        first = [*self._choose_tree(scores, inner), *with_target]
        declared = [pair for pair in self._plan.layout.declared if pair not in first]
        first += declared
        available = self._left() * len(first) // (len(first) + extras)
        self._measure([CandidateQuery(pair) for pair in first], answers, available, {})
        self.reasons.extend(
            "declared" if pair in declared else "target" if target in pair else "tree" for pair in first
        )

    def measure_extras(self, extras: int) -> None:
        """Measure, in a few batches, the tables that the model fits worst; the rest goes to measured tables."""
        for batch, picks in enumerate(in_batches(extras, BATCHES)):
            if picks:
                self._measure_batch(batch, picks, self._left() * picks // extras)
            extras -= picks
        if self._left():
            self._measure_again()

    def fit_finally(self) -> FittedModel:
        """The model, each table denoised with the expectations of a model fitted without it as the prior."""
        evidence = self._evidence(self._priors)
        estimates, words = estimates_from(evidence), self._drawn("what the others say", OTHERS_RECORDS)
        order = best_order(evidence, estimates, words)
        draft = fit_along(order, evidence, estimates, words, without=True)
        evidence = self._evidence(draft.without)
        m = len(self._plan.domain)
        words = self._drawn("final", max(FEWEST_RECORDS, FINAL_RECORDS * MANY_ATTRIBUTES // max(m, MANY_ATTRIBUTES)))
        return fit_along(order, evidence, estimates_from(evidence), words, start=draft, passes=FINAL_PASSES)

    def _choose_tree(self, scores: dict[Attributes, int], inner: Sequence[int]) -> list[Attributes]:
        """Choose a spanning tree edge by edge, each from the edges that join two components."""
        component = {i: i for i in inner}
        chosen: list[Attributes] = []
        while len(chosen) < len(inner) - 1:
            open_pairs = [pair for pair in scores if component[pair[0]] != component[pair[1]]]
            pair = open_pairs[self._choose("tree", [scores[pair] for pair in open_pairs])]
            chosen.append(pair)
            old, new = component[pair[1]], component[pair[0]]
            component = {i: new if own == old else own for i, own in component.items()}
        return chosen

    def _measure_batch(self, batch: int, picks: int, available: int) -> None:
        """Measure a batch of extra tables: pairs, values within buckets of a recoding if any, and finally triples."""
        measured = {table.attributes for table in self.found}
        pairs: list[Attributes] = list(combinations(self._plan.layout.counted, A_PAIR))
        larger = self._questions.triples(measured) if batch == BATCHES - 1 else []
        candidates = [*(CandidateQuery(pair) for pair in pairs if pair not in measured), *larger]
        if not candidates or available < picks:
            return
        evidence = self._evidence(self._priors)
        estimates, words = estimates_from(evidence), self._drawn(f"draft {batch}", DRAFT_RECORDS)
        # An order in which each guide comes first may leave other dependences of a wide table unfitted.
        finer = (
            self._recodings(estimates)
            if picks >= _FEWEST_WITH_VALUES and len(self._plan.layout.counted) <= WIDE
            else []
        )
        asked = [*candidates, *finer]
        wanted = {each.attributes for each in asked}
        glued = fit_along(best_order(evidence, estimates, words), evidence, estimates, words, asked=wanted)
        expected = {each: self._questions.expected(each, glued.expected(each.attributes)) for each in asked}
        answers = self._questions.answers(asked, self._counter)
        unit = self._plan.mean_noise(available / picks)
        scores = {each: score(answers[each], expected[each], unit) for each in asked}
        chosen: list[CandidateQuery] = []
        if finer:
            chosen += self._chosen(finer, 1, chosen, scores, otherwise=round(_RECODING * estimates.total))
            picks -= 1
        chosen += self._chosen(candidates, picks, chosen, scores, otherwise=0)
        if chosen:
            self._measure(chosen, answers, available, expected)
            self.reasons.extend("extra" for each in chosen if each.guided < 0)

    def _recodings(self, estimates: Estimates) -> list[CandidateQuery]:
        """Tables of values within buckets, for pairs in which one attribute nearly determines the other."""
        tied = sorted(pair for pair, distance in distances(self.found, estimates).items() if distance > _TIED)
        before = [asked for asked, _ in self.by_values]
        return self._questions.may_follow(self._questions.values_within(tied), before)

    def _chosen(
        self,
        candidates: Sequence[CandidateQuery],
        picks: int,
        chosen: Sequence[CandidateQuery],
        scores: Mapping[CandidateQuery, int],
        otherwise: int,
    ) -> list[CandidateQuery]:
        """Choose tables one at a time by score, until the option of none, which also has a score, is chosen."""
        before = [*(asked for asked, _ in self.by_values), *chosen]
        left = self._questions.may_follow(candidates, before)
        of_left = [scores[asked] for asked in left]
        found: list[CandidateQuery] = []
        while left and len(found) < picks:
            number = self._choose("extra", [otherwise, *of_left])
            if not number:
                break
            found.append(left.pop(number - 1))
            of_left.pop(number - 1)
            if found[-1].guided >= 0 or len(found[-1].attributes) > A_PAIR:
                # Only then may other candidates be ruled out.
                left = self._questions.may_follow(left, [*before, *found])
                of_left = [scores[asked] for asked in left]
        return found

    def _choose(self, purpose: str, scores: Sequence[int]) -> int:
        """Make a choice and record it."""
        chosen = self._doors.choose(purpose, scores)
        self.choices.append(Choice(purpose, len(scores), chosen))
        return chosen

    def _measure(
        self,
        wanted: Sequence[CandidateQuery],
        answers: Mapping[CandidateQuery, Counts],
        available: int,
        expected: Mapping[CandidateQuery, Cells],
    ) -> None:
        """Release tables with all available shares; large tables and those with the target get more."""
        for asked, shares in zip(wanted, divided(available, self._weights(wanted)), strict=True):
            partition = self._questions.partition_of(asked)
            released = self._doors.measure(asked.attributes, partition, answers[asked], shares)
            if asked.guided < 0:
                self.found.append(released)
                self._priors.append(expected.get(asked))
            else:
                self.by_values.append((asked, released))

    def _measure_again(self) -> None:
        """Release tables again with the remaining shares, so that the whole budget is used."""
        wanted = [CandidateQuery(table.attributes) for table in self.found][: self._left()]
        answers, partition = self._questions.answers(wanted, self._counter), self._questions.partition
        for number, shares in enumerate(divided(self._left(), self._weights(wanted))):
            asked = wanted[number]
            again = self._doors.measure(asked.attributes, partition, answers[asked], shares)
            self.found[number] = self.found[number].joined(again)

    def guides(self, glued: FittedModel) -> tuple[WithinBucketTable, ...]:
        """Denoised tables of values within buckets, given the model over buckets."""
        pairs = {table.attributes: counts for table, counts in zip(self.found, glued.tables, strict=True)}
        found = []
        for asked, table in self.by_values:
            axis, pair = table.attributes.index(asked.guided), pairs[table.attributes]
            own, laplace = self._questions.buckets[asked.guided], self._shape.laplace
            counts = within_bucket_counts(table.values, float(table.deviation), pair, axis, own, laplace=laplace)
            found.append(WithinBucketTable(asked.guided, asked.guide, table, counts))
        return tuple(found)

    def _weights(self, wanted: Sequence[CandidateQuery]) -> list[float]:
        """Numbers of shares of tables, up to a factor; tables with the target, and declared ones, get more."""
        target, declared = self._shape.target, {*self._plan.layout.declared}
        return [
            self._plan.share_weight(
                self._questions.entries(asked)
                * (
                    _TARGET_WEIGHT
                    if (target in asked.attributes and len(asked.attributes) == A_PAIR) or asked.attributes in declared
                    else 1.0
                )
            )
            for asked in wanted
        ]

    def _left(self) -> int:
        spent = sum(table.shares for table in self.found) + sum(table.shares for _, table in self.by_values)
        return self._plan.layout.table_shares - self._again - spent

    def _evidence(self, priors: Sequence[Cells | None]) -> Evidence:
        """All released values; the priors are the tables' expected counts."""
        guides = {asked.guided: asked.guide for asked, _ in self.by_values}
        return Evidence(self._shape, self._ones, tuple(self.found), tuple(priors), guides)

    def _drawn(self, purpose: str, records: int) -> NDArray[np.uint32]:
        """Words from which a population is simulated, shape (m, records)."""
        m = len(self._plan.domain)
        return self._words(purpose, m * records).reshape(m, records)


def divided(shares: int, weights: Sequence[float]) -> list[int]:
    """Divide shares in proportion to weights, in integers of at least 1 that sum to all shares.

    Raises:
        ValueError: there are fewer shares than weights.
    """
    spare = shares - len(weights)
    if spare < 0:
        raise ValueError(f"there must be a share for each of {len(weights)} tables, got {shares}; ask for fewer.")
    exact = [weight / sum(weights) * spare for weight in weights]
    parts = [int(part) for part in exact]
    by_rest = sorted(range(len(parts)), key=lambda i: (parts[i] - exact[i], i))
    for i in by_rest[: spare - sum(parts)]:
        parts[i] += 1
    return [part + 1 for part in parts]
