"""What is asked of the data and in which turn: one attribute at a time, a tree of pairs, then what the model misses.

Rows are seen by a counter alone, and its counts leave this module only through the two doors; all else is made of what
the doors gave. Noise and cost do not belong here, nor how tables become a model.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from deniable.foundation.tables import Counts
from deniable.learners.loglinear.candidate_queries import CandidateQueries, CandidateQuery, score
from deniable.learners.loglinear.estimation.buckets import Bucketed, bucketed
from deniable.learners.loglinear.estimation.counting import A_PAIR, Counter, Partition
from deniable.learners.loglinear.estimation.fitting import Shape
from deniable.learners.loglinear.estimation.maximum_entropy import (
    Evidence,
    FittedModel,
    Wanted,
    distances,
    estimate_margins,
    estimate_total,
    fit_maximum_entropy,
    product,
)
from deniable.learners.loglinear.estimation.within_bucket_tables import within_bucket_counts
from deniable.learners.loglinear.measurements import PrivateQueries
from deniable.learners.loglinear.plan import BATCHES, TABLES_PER_ATTRIBUTE, LoglinearPlan
from deniable.models.loglinear.flat_tables import Attributes
from deniable.models.noisy_marginals import Cells, NoisyMarginal

Reason = Literal["tree", "target", "extra", "values"]

DRAFT_RECORDS = 25_000
FINAL_RECORDS = 50_000
MANY_ATTRIBUTES = 30
"""Attributes from which on drafts are of fewer records: their work grows with the square of the attributes."""
FEWEST_RECORDS = 10_000

_SIGNAL_OF_A_TABLE = {"gaussian": 400.0, "laplace": 800.0}
"""Signal from which on each attribute has one more extra table; Laplace noise grows faster with their number."""
_FEWEST_WITH_VALUES = 4
"""Tables that a batch must have for one of them to be of values within buckets."""
_TIED = 1.0
"""Distance from independence, of 2 at most and as a share of the records, from which on a pair may be a recoding."""
_RECODING = 0.04
"""Share of the records that it must be off by, value by value, for one to say within buckets what the other is."""
_FEW = 2.0
_TARGET_WEIGHT = 2.0
_WEAK_SIGNAL = 300.0
_MOST_AGAIN = 0.75
_NO_SIGNAL = 25.0
"""Signal below which a table of two attributes says less than better counts of each by itself."""
_FEWEST_FOR_TABLES = 2
_LEFT_FOR_TABLES = 4

Words = Callable[[str, int], NDArray[np.uint32]]
"""So many fresh words for a purpose."""

FORMAT = "deniable/measured/2"
"""Of the document that holds all that was released. The first had no name, and held the means of the releases."""


@dataclass(frozen=True)
class Choice:
    """One choice as it was released.

    Attributes:
        purpose: of what: the tree, or a table beyond it.
        candidates: number of candidates.
        chosen: number of the one that was chosen, from 0.
    """

    purpose: str
    candidates: int
    chosen: int


@dataclass(frozen=True, eq=False)
class WithinBucketTable:
    """What says which value of a bucket an attribute has.

    Attributes:
        attribute: the attribute.
        guide: another one, which comes before it.
        table: what was released of the guide's buckets by the attribute's values.
        counts: denoised counts, shape (buckets of the guide, values of the attribute).
    """

    attribute: int
    guide: int
    table: NoisyMarginal
    counts: Cells

    @property
    def denoised(self) -> Cells:
        """The counts, axes as in the table."""
        return self.counts if self.guide < self.attribute else self.counts.T


@dataclass(frozen=True, eq=False)
class Learnt:
    """All that was released and what was made of it.

    Attributes:
        attributes: the buckets of each attribute, one where it has one value, with denoised counts of the values.
        ones: noisy counts of each attribute by itself.
        tables: noisy tables over buckets, in the order in which they were first measured.
        reasons: why each of them was measured.
        choices: all choices, in turn.
        glued: the model over buckets.
        guides: attributes whose values within a bucket depend on another one's bucket.
        signal: number of records over the mean noise of a typical table.
    """

    attributes: tuple[Bucketed, ...]
    ones: tuple[NoisyMarginal, ...]
    tables: tuple[NoisyMarginal, ...]
    reasons: tuple[Reason, ...]
    choices: tuple[Choice, ...]
    glued: FittedModel
    guides: tuple[WithinBucketTable, ...]
    signal: float

    def document(self, plan: LoglinearPlan) -> dict[str, Any]:
        """What was measured, in integers, and what was made of it, ready for JSON.

        All that depends on the data are the sums of the releases and the choices. Whatever else is in it, floats
        included, follows from these and from the words that the made-up populations were drawn from.
        """
        names, sizes = plan.domain.names, [own.size for own in self.attributes]
        return {
            "format": FORMAT,
            "noise": plan.noise,
            "amount": str(plan.amount),
            "records": self.glued.total,
            "signal": self.signal,
            "order": [names[i] for i in self.glued.order],
            "buckets": {name: own.of_value.tolist() for name, own in zip(names, self.attributes, strict=True)},
            "attributes": {
                names[one.attributes[0]]: {
                    "releases": [release.document() for release in one.releases],
                    "denoised": self.attributes[one.attributes[0]].counts.tolist(),
                }
                for one in self.ones
            },
            "tables": [
                {
                    "attributes": [names[i] for i in table.attributes],
                    "reason": reason,
                    "by_values": [names[i] for i in by_values],
                    "differences": [names[i] for i in table.differences(sizes)],
                    "releases": [release.document() for release in table.releases],
                    "denoised": counts.tolist(),
                }
                for table, reason, by_values, counts in self._all_tables()
            ],
            "choices": [asdict(choice) for choice in self.choices],
        }

    def _all_tables(self) -> list[tuple[NoisyMarginal, Reason, list[int], Cells]]:
        """Tables of several attributes, why they were measured, which are by values, and denoised."""
        found: list[tuple[NoisyMarginal, Reason, list[int], Cells]] = [
            (table, reason, [], counts)
            for table, reason, counts in zip(self.tables, self.reasons, self.glued.tables, strict=True)
        ]
        return [*found, *((guide.table, "values", [guide.attribute], guide.denoised) for guide in self.guides)]


def learn(plan: LoglinearPlan, counter: Counter, doors: PrivateQueries, words: Words) -> Learnt:
    """Ask the data what the plan has room for, and glue the answers.

    Args:
        plan: what may be asked.
        counter: counts tables of the rows.
        doors: the only way from counts to anything that is kept.
        words: what the made-up populations are drawn from; it has nothing to do with the data.
    """
    m = len(plan.layout.counted)
    ones = _count_ones(plan, counter, doors)
    total = estimate_total(list(ones.values())) if ones else 1.0
    signal = total / plan.mean_noise(plan.layout.table_shares / (2 * m)) if m > 1 else total
    ones = _count_again(plan, counter, doors, ones, signal)
    total = estimate_total(list(ones.values())) if ones else 1.0
    attributes = _buckets(plan, ones, total, signal)
    tables = _Tables(plan, counter, doors, words, attributes, _over_buckets(ones, attributes))
    if m > 1 and signal >= _NO_SIGNAL:
        extras = min(plan.layout.extra_choices, round(m * signal / _SIGNAL_OF_A_TABLE[plan.noise]), tables.room())
        tables.measure_first(total, extras)
        tables.measure_extras(extras)
    glued = tables.fit_finally()
    return Learnt(
        attributes=attributes,
        ones=tuple(ones.values()),
        tables=tuple(tables.found),
        reasons=tuple(tables.reasons),
        choices=tuple(tables.choices),
        glued=glued,
        guides=tables.guides(glued),
        signal=signal,
    )


def _count_ones(plan: LoglinearPlan, counter: Counter, doors: PrivateQueries) -> dict[int, NoisyMarginal]:
    """Each attribute by itself, at full resolution."""
    counted = plan.layout.counted
    if not counted:
        return {}
    finest = Partition.finest(plan.domain)
    counts = counter.tables(finest, [(i,) for i in counted])
    return {
        i: doors.measure((i,), finest, table, shares)
        for i, table, shares in zip(counted, counts, plan.layout.one_way_shares, strict=True)
    }


def _count_again(
    plan: LoglinearPlan, counter: Counter, doors: PrivateQueries, ones: dict[int, NoisyMarginal], signal: float
) -> dict[int, NoisyMarginal]:
    """Each attribute by itself once more, with shares of the tables; with all, where tables would say nothing."""
    if len(ones) < _FEWEST_FOR_TABLES:
        return ones
    shares = divided(plan.layout.table_shares, [1.0] * len(ones))
    if signal >= _NO_SIGNAL:
        each = min(shares)
        extra = min(int(each * _MOST_AGAIN * (1 - signal / _WEAK_SIGNAL)), each - _LEFT_FOR_TABLES)
        if extra < 1:
            return ones
        shares = [extra] * len(ones)
    finest = Partition.finest(plan.domain)
    counts = counter.tables(finest, [(i,) for i in ones])
    again = {i: doors.measure((i,), finest, table, extra) for i, table, extra in zip(ones, counts, shares, strict=True)}
    return {i: table.joined(again[i]) for i, table in ones.items()}


def _buckets(plan: LoglinearPlan, ones: dict[int, NoisyMarginal], total: float, signal: float) -> tuple[Bucketed, ...]:
    """The buckets of all attributes."""
    few = _FEW * _typical_noise(plan)
    return tuple(
        bucketed(attribute, ones[i], total, few, signal, laplace=plan.noise == "laplace")
        if i in ones
        else Bucketed(np.zeros(1, np.uint16), np.asarray([total]))
        for i, attribute in enumerate(plan.domain.attributes)
    )


def _over_buckets(ones: dict[int, NoisyMarginal], attributes: Sequence[Bucketed]) -> tuple[NoisyMarginal, ...]:
    """What was released of values added up to buckets, and so its noise."""
    found = []
    for i, table in ones.items():
        own = attributes[i]
        releases = tuple(replace(each, sums=own.added_up_along(each.sums, 0)) for each in table.releases)
        terms = own.added_up_along(np.ones(table.shape, np.int64), 0)
        found.append(replace(table, releases=releases, terms=terms))
    return tuple(found)


def _typical_noise(plan: LoglinearPlan) -> float:
    """Mean noise of a table that has its even part of the budget."""
    return (
        plan.mean_noise(max(plan.layout.table_shares, 1) / (TABLES_PER_ATTRIBUTE * len(plan.layout.counted)))
        if plan.layout.counted
        else 1.0
    )


class _Tables:
    """The tables of several attributes, measured one batch after the other; public but for the counter.

    Attributes:
        found: what was released over buckets.
        reasons: why.
        by_values: what was released of values within buckets.
        choices: all choices, in turn.
    """

    def __init__(
        self,
        plan: LoglinearPlan,
        counter: Counter,
        doors: PrivateQueries,
        words: Words,
        attributes: tuple[Bucketed, ...],
        ones: tuple[NoisyMarginal, ...],
    ) -> None:
        self._plan, self._counter, self._doors, self._words, self._ones = plan, counter, doors, words, ones
        target = None if plan.domain.target is None else plan.domain.index(plan.domain.target)
        self._questions = CandidateQueries(plan.domain, attributes, target if target in plan.layout.counted else None)
        self._shape = Shape(
            sizes=self._questions.partition.sizes,
            ordered=np.asarray([attribute.kind == "numeric" for attribute in plan.domain.attributes]),
            target=self._questions.target,
            laplace=plan.noise == "laplace",
        )
        self.found: list[NoisyMarginal] = []
        self.reasons: list[Reason] = []
        self.by_values: list[tuple[CandidateQuery, NoisyMarginal]] = []
        self.choices: list[Choice] = []
        # What the model expected of each table before it was measured, where it was chosen for its distance from that.
        self._priors: list[Cells | None] = []

    def room(self) -> int:
        """For how many extra tables there is a share, beside those that are measured first."""
        return self._left() - self._plan.layout.first_tables

    def measure_first(self, total: float, extras: int) -> None:
        """A tree of the attributes, and each attribute with the target; leaves budget for some more tables."""
        counted, target = self._plan.layout.counted, self._shape.target
        inner = [i for i in counted if i != target]
        pairs: list[Attributes] = list(combinations(inner, 2))
        with_target: list[Attributes] = [(min(i, target), max(i, target)) for i in inner] if target is not None else []
        wanted = [CandidateQuery(pair) for pair in (*pairs, *with_target)]
        answers = self._questions.answers(wanted, self._counter)
        margins = estimate_margins(self._ones, self._shape.sizes, total)
        unit = _typical_noise(self._plan)
        scores = {
            pair: score(answers[CandidateQuery(pair)], product([margins[i] for i in pair], total), unit)
            for pair in pairs
        }
        first = [*self._choose_tree(scores, inner), *with_target]
        available = self._left() * len(first) // (len(first) + extras)
        self._measure([CandidateQuery(pair) for pair in first], answers, available, {})
        self.reasons.extend("target" if target in attributes else "tree" for attributes in first)

    def measure_extras(self, extras: int) -> None:
        """In a few batches, the tables that the model is furthest from; what is left over goes to those at hand."""
        for batch in range(BATCHES):
            picks = extras * (batch + 1) // BATCHES - extras * batch // BATCHES
            if picks:
                self._measure_batch(batch, picks, self._left() // (BATCHES - batch))
        if self._left():
            self._measure_again()

    def fit_finally(self) -> FittedModel:
        """The model, its tables denoised by what the others make of them."""
        draft = self._glue("what the others say", "without")
        return self._glue("final", "model", draft.without, draft.order)

    def _choose_tree(self, scores: dict[Attributes, int], inner: Sequence[int]) -> list[Attributes]:
        """A spanning tree, edge by edge, each chosen among those that join what is not joined yet."""
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
        """One batch of extra tables: pairs, values within buckets of a recoding if there is one, at last triples."""
        measured = {table.attributes for table in self.found}
        pairs: list[Attributes] = list(combinations(self._plan.layout.counted, A_PAIR))
        larger = self._questions.triples(measured) if batch == BATCHES - 1 else []
        candidates = [*(CandidateQuery(pair) for pair in pairs if pair not in measured), *larger]
        if not candidates or available < picks:
            return
        glued = self._glue(f"draft {batch}", "shares")
        finer = self._recodings(glued) if picks >= _FEWEST_WITH_VALUES else []
        asked = [*candidates, *finer]
        expected = {each: self._questions.expected(each, glued.expected(each.attributes)) for each in asked}
        answers = self._questions.answers(asked, self._counter)
        unit = self._plan.mean_noise(available / picks)
        scores = {each: score(answers[each], expected[each], unit) for each in asked}
        chosen: list[CandidateQuery] = []
        if finer:
            chosen += self._chosen(finer, chosen, scores, otherwise=round(_RECODING * glued.total))
            picks -= 1
        for _ in range(picks):
            more = self._chosen(candidates, chosen, scores, otherwise=0)
            if not more:
                break
            chosen += more
        if chosen:
            self._measure(chosen, answers, available, expected)
            self.reasons.extend("extra" for each in chosen if each.guided < 0)

    def _recodings(self, glued: FittedModel) -> list[CandidateQuery]:
        """Values within buckets of pairs of which one attribute nearly says what the other is, by denoised tables."""
        tied = sorted(pair for pair, distance in distances(self.found, glued).items() if distance > _TIED)
        before = [asked for asked, _ in self.by_values]
        return [asked for asked in self._questions.values_within(tied) if self._questions.may_follow(asked, before)]

    def _chosen(
        self,
        candidates: Sequence[CandidateQuery],
        chosen: Sequence[CandidateQuery],
        scores: Mapping[CandidateQuery, int],
        otherwise: int,
    ) -> list[CandidateQuery]:
        """One table, by its score, or none, by the score that none has."""
        before = [*(asked for asked, _ in self.by_values), *chosen]
        left = [asked for asked in candidates if self._questions.may_follow(asked, before)]
        number = self._choose("extra", [otherwise, *(scores[asked] for asked in left)]) if left else 0
        return [left[number - 1]] if number else []

    def _choose(self, purpose: str, scores: Sequence[int]) -> int:
        """Make a choice, and note it."""
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
        """Release tables with all the shares that are available, large ones and those of the target with more."""
        for asked, shares in zip(wanted, divided(available, self._weights(wanted)), strict=True):
            partition = self._questions.partition_of(asked)
            released = self._doors.measure(asked.attributes, partition, answers[asked], shares)
            if asked.guided < 0:
                self.found.append(released)
                self._priors.append(expected.get(asked))
            else:
                self.by_values.append((asked, released))

    def _measure_again(self) -> None:
        """Release tables once more with what is left, so that nothing of the budget is lost."""
        wanted = [CandidateQuery(table.attributes) for table in self.found][: self._left()]
        answers, partition = self._questions.answers(wanted, self._counter), self._questions.partition
        for number, shares in enumerate(divided(self._left(), self._weights(wanted))):
            asked = wanted[number]
            again = self._doors.measure(asked.attributes, partition, answers[asked], shares)
            self.found[number] = self.found[number].joined(again)

    def guides(self, glued: FittedModel) -> tuple[WithinBucketTable, ...]:
        """What was made of the values within buckets, by the model over buckets."""
        pairs = {table.attributes: counts for table, counts in zip(self.found, glued.tables, strict=True)}
        found = []
        for asked, table in self.by_values:
            axis, pair = table.attributes.index(asked.guided), pairs[table.attributes]
            own, laplace = self._questions.buckets[asked.guided], self._shape.laplace
            counts = within_bucket_counts(table.values, float(table.deviation), pair, axis, own, laplace=laplace)
            found.append(WithinBucketTable(asked.guided, asked.guide, table, counts))
        return tuple(found)

    def _weights(self, wanted: Sequence[CandidateQuery]) -> list[float]:
        """How many shares tables should have, up to a factor; each attribute with the target has more."""
        target = self._shape.target
        return [
            self._plan.share_weight(
                self._questions.entries(asked)
                * (_TARGET_WEIGHT if target in asked.attributes and len(asked.attributes) == A_PAIR else 1.0)
            )
            for asked in wanted
        ]

    def _left(self) -> int:
        again = sum(one.shares for one in self._ones) - sum(self._plan.layout.one_way_shares)
        spent = sum(table.shares for table in self.found) + sum(table.shares for _, table in self.by_values)
        return self._plan.layout.table_shares - again - spent

    def _glue(
        self,
        purpose: str,
        wanted: Wanted,
        priors: Sequence[Cells | None] | None = None,
        order: tuple[int, ...] | None = None,
    ) -> FittedModel:
        m = len(self._plan.domain)
        records = FINAL_RECORDS if wanted == "model" else DRAFT_RECORDS
        records = max(FEWEST_RECORDS, records * MANY_ATTRIBUTES // max(m, MANY_ATTRIBUTES))
        if priors is None:
            priors = self._priors
        guides = {asked.guided: asked.guide for asked, _ in self.by_values}
        evidence = Evidence(self._shape, self._ones, tuple(self.found), tuple(priors), guides)
        return fit_maximum_entropy(evidence, self._words(purpose, m * records).reshape(m, records), wanted, order)


def divided(shares: int, weights: Sequence[float]) -> list[int]:
    """Whole shares in proportion to weights, at least one each, adding up to all there are.

    Raises:
        ValueError: there are not enough for one each.
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
