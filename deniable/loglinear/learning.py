"""What is asked of the data and in which turn: one attribute at a time, a tree of pairs, then what the model misses.

Rows are seen by a counter alone, and its counts leave this module only through the two doors; all else is made of what
the doors gave. Noise and cost do not belong here, nor how tables become a model.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from deniable.domain import Domain
from deniable.loglinear.buckets import Bucketed, bucketed
from deniable.loglinear.counting import Attributes, Counter, Partition
from deniable.loglinear.fitting import Shape
from deniable.loglinear.gluing import Evidence, Glued, Wanted, estimate_margins, estimate_total, glue, product
from deniable.loglinear.plan import BATCHES, LoglinearPlan
from deniable.loglinear.releases import Cells, Doors, NoisyTable, averaged
from deniable.tables import Counts

Reason = Literal["tree", "target", "extra"]

DRAFT_RECORDS = 25_000
FINAL_RECORDS = 50_000
MANY_ATTRIBUTES = 30
"""Attributes from which on drafts are of fewer records: their work grows with the square of the attributes."""
FEWEST_RECORDS = 10_000

_TABLES_PER_SIGNAL = 1 / 750
_PENALTY = 0.4
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


@dataclass(frozen=True, eq=False)
class Learnt:
    """All that was released and what was made of it.

    Attributes:
        partition: the buckets of the attributes that have more than one value; one bucket for the others.
        attributes: the buckets, with denoised counts of the values.
        ones: noisy counts of each attribute by itself.
        tables: noisy tables over buckets, in the order in which they were first measured.
        reasons: why each of them was measured.
        glued: the model over buckets.
        signal: number of records over the mean noise of a typical table.
    """

    partition: Partition
    attributes: tuple[Bucketed, ...]
    ones: tuple[NoisyTable, ...]
    tables: tuple[NoisyTable, ...]
    reasons: tuple[Reason, ...]
    glued: Glued
    signal: float

    def document(self, domain: Domain) -> dict[str, Any]:
        """What was measured and what was made of it, in names and numbers, ready for JSON."""
        names = domain.names
        return {
            "records": self.glued.total,
            "signal": self.signal,
            "order": [names[i] for i in self.glued.order],
            "buckets": {name: own.of_value.tolist() for name, own in zip(names, self.attributes, strict=True)},
            "attributes": {
                names[one.attributes[0]]: {
                    "shares": one.shares,
                    "deviation": float(one.deviation),
                    "noisy": one.values.tolist(),
                    "denoised": self.attributes[one.attributes[0]].counts.tolist(),
                }
                for one in self.ones
            },
            "tables": [
                {
                    "attributes": [names[i] for i in table.attributes],
                    "reason": reason,
                    "shares": table.shares,
                    "deviation": float(table.deviation),
                    "noisy": table.values.tolist(),
                    "denoised": counts.tolist(),
                }
                for table, reason, counts in zip(self.tables, self.reasons, self.glued.tables, strict=True)
            ],
        }


def learn(plan: LoglinearPlan, counter: Counter, doors: Doors, words: Words) -> Learnt:
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
    partition = Partition(tuple(own.of_value for own in attributes))
    tables = _Tables(plan, counter, doors, words, partition, _over_buckets(ones, attributes))
    if m > 1 and signal >= _NO_SIGNAL:
        extras = min(plan.layout.extra_choices, round(m * signal * _TABLES_PER_SIGNAL))
        tables.measure_first(total, extras)
        tables.measure_extras(extras)
    glued = tables.glue_finally()
    return Learnt(
        partition, attributes, tuple(ones.values()), tuple(tables.found), tuple(tables.reasons), glued, signal
    )


def _count_ones(plan: LoglinearPlan, counter: Counter, doors: Doors) -> dict[int, NoisyTable]:
    """Each attribute by itself, at full resolution."""
    counted = plan.layout.counted
    if not counted:
        return {}
    finest = Partition.finest(plan.domain)
    counts = counter.tables(finest, [(i,) for i in counted])
    shares = plan.layout.one_way_shares
    return {i: doors.measure((i,), finest, table, shares) for i, table in zip(counted, counts, strict=True)}


def _count_again(
    plan: LoglinearPlan, counter: Counter, doors: Doors, ones: dict[int, NoisyTable], signal: float
) -> dict[int, NoisyTable]:
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
    return {i: averaged(table, again[i]) for i, table in ones.items()}


def _buckets(plan: LoglinearPlan, ones: dict[int, NoisyTable], total: float, signal: float) -> tuple[Bucketed, ...]:
    """The buckets of all attributes."""
    few = _FEW * _typical_noise(plan)
    return tuple(
        bucketed(attribute, ones[i], total, few, signal, laplace=plan.noise == "laplace")
        if i in ones
        else Bucketed(np.zeros(1, np.uint16), np.asarray([total]))
        for i, attribute in enumerate(plan.domain.attributes)
    )


def _over_buckets(ones: dict[int, NoisyTable], attributes: Sequence[Bucketed]) -> tuple[NoisyTable, ...]:
    """Noisy counts of values added up to buckets, and so their noise."""
    found = []
    for i, table in ones.items():
        own = attributes[i]
        values = own.added_up(np.ones(len(table.values)))
        found.append(NoisyTable((i,), own.added_up(table.values), table.shares, table.deviation * np.sqrt(values)))
    return tuple(found)


def _typical_noise(plan: LoglinearPlan) -> float:
    """Mean noise of a table that has its even part of the budget."""
    return (
        plan.mean_noise(max(plan.layout.table_shares, 1) / (3 * len(plan.layout.counted)))
        if plan.layout.counted
        else 1.0
    )


class _Tables:
    """The tables of several attributes, measured one batch after the other; public but for the counter.

    Attributes:
        found: what was released.
        reasons: why.
    """

    def __init__(
        self,
        plan: LoglinearPlan,
        counter: Counter,
        doors: Doors,
        words: Words,
        partition: Partition,
        ones: tuple[NoisyTable, ...],
    ) -> None:
        self._plan, self._counter, self._doors, self._words = plan, counter, doors, words
        self._partition, self._ones = partition, ones
        target = None if plan.domain.target is None else plan.domain.index(plan.domain.target)
        self._shape = Shape(
            sizes=partition.sizes,
            ordered=np.asarray([attribute.kind == "numeric" for attribute in plan.domain.attributes]),
            target=target if target in plan.layout.counted else None,
            laplace=plan.noise == "laplace",
        )
        self.found: list[NoisyTable] = []
        self.reasons: list[Reason] = []

    def measure_first(self, total: float, extras: int) -> None:
        """A tree of the attributes, and each attribute with the target; leaves budget for some more tables."""
        counted, target = self._plan.layout.counted, self._shape.target
        inner = [i for i in counted if i != target]
        pairs: list[Attributes] = list(combinations(inner, 2))
        with_target: list[Attributes] = [(min(i, target), max(i, target)) for i in inner] if target is not None else []
        wanted = [*pairs, *with_target]
        counts = dict(zip(wanted, self._counter.tables(self._partition, wanted), strict=True))
        margins = estimate_margins(self._ones, self._shape.sizes, total)
        unit = _typical_noise(self._plan)
        scores = {
            pair: _score(counts[pair], product([margins[i] for i in pair], total), counts[pair].size * unit)
            for pair in pairs
        }
        chosen = self._choose_tree(scores, inner)
        first = [*chosen, *with_target]
        available = self._left() * len(first) // (len(first) + extras)
        self._measure(first, counts, available, {})
        self.reasons.extend("target" if target in attributes else "tree" for attributes in first)

    def measure_extras(self, extras: int) -> None:
        """In a few batches, the tables that the model is furthest from; what is left over goes to those at hand."""
        for batch in range(BATCHES):
            picks = extras * (batch + 1) // BATCHES - extras * batch // BATCHES
            if picks:
                self._measure_batch(picks, self._left() // (BATCHES - batch), f"draft {batch}")
        if self._left():
            self._measure_again()

    def glue_finally(self) -> Glued:
        """The model, its tables denoised by what the others make of them."""
        draft = self._glue("what the others say", "without")
        return self._glue("final", "model", draft.without, draft.order)

    def _choose_tree(self, scores: dict[Attributes, int], inner: Sequence[int]) -> list[Attributes]:
        """A spanning tree, edge by edge, each chosen among those that join what is not joined yet."""
        component = {i: i for i in inner}
        chosen: list[Attributes] = []
        while len(chosen) < len(inner) - 1:
            open_pairs = [pair for pair in scores if component[pair[0]] != component[pair[1]]]
            pair = open_pairs[self._doors.choose("tree", [scores[pair] for pair in open_pairs])]
            chosen.append(pair)
            old, new = component[pair[1]], component[pair[0]]
            component = {i: new if own == old else own for i, own in component.items()}
        return chosen

    def _measure_batch(self, picks: int, available: int, purpose: str) -> None:
        """One batch of extra tables."""
        measured = {table.attributes for table in self.found}
        pairs: list[Attributes] = list(combinations(self._plan.layout.counted, 2))
        candidates = [pair for pair in pairs if pair not in measured]
        if not candidates or available < picks:
            return
        glued = self._glue(purpose, "pairs")
        expected = {pair: glued.expected(pair) for pair in candidates}
        counts = dict(zip(candidates, self._counter.tables(self._partition, candidates), strict=True))
        unit = self._plan.mean_noise(available / picks)
        scores = {pair: _score(counts[pair], expected[pair], counts[pair].size * unit) for pair in candidates}
        chosen: list[Attributes] = []
        while len(chosen) < min(picks, len(candidates)):
            left = [pair for pair in candidates if pair not in chosen]
            # Number 0 is to measure nothing more.
            number = self._doors.choose("extra", [0, *(scores[pair] for pair in left)])
            if number == 0:
                break
            chosen.append(left[number - 1])
        if chosen:
            self._measure(chosen, counts, available, expected)
            self.reasons.extend("extra" for _ in chosen)

    def _measure(
        self,
        wanted: Sequence[Attributes],
        counts: dict[Attributes, Counts],
        available: int,
        expected: dict[Attributes, Cells],
    ) -> None:
        """Release tables with all the shares that are available, large ones and those of the target with more."""
        for attributes, shares in zip(wanted, divided(available, self._weights(wanted)), strict=True):
            released = self._doors.measure(attributes, self._partition, counts[attributes], shares)
            self.found.append(released.expected_as(expected.get(attributes)))

    def _measure_again(self) -> None:
        """Release tables once more with what is left, so that nothing of the budget is lost."""
        wanted = [table.attributes for table in self.found][: self._left()]
        counts = self._counter.tables(self._partition, wanted)
        for number, shares in enumerate(divided(self._left(), self._weights(wanted))):
            once = self.found[number]
            again = self._doors.measure(once.attributes, self._partition, counts[number], shares)
            self.found[number] = averaged(once, again)

    def _weights(self, wanted: Sequence[Attributes]) -> list[float]:
        """How many shares tables should have, up to a factor."""
        cells = [float(np.prod(self._partition.shape(attributes))) for attributes in wanted]
        return [
            self._plan.share_weight(size * (_TARGET_WEIGHT if self._shape.target in attributes else 1.0))
            for attributes, size in zip(wanted, cells, strict=True)
        ]

    def _left(self) -> int:
        again = sum(one.shares - self._plan.layout.one_way_shares for one in self._ones)
        return self._plan.layout.table_shares - again - sum(table.shares for table in self.found)

    def _glue(
        self,
        purpose: str,
        wanted: Wanted,
        priors: Sequence[Cells | None] | None = None,
        order: tuple[int, ...] | None = None,
    ) -> Glued:
        m = len(self._plan.domain)
        records = FINAL_RECORDS if wanted == "model" else DRAFT_RECORDS
        records = max(FEWEST_RECORDS, records * MANY_ATTRIBUTES // max(m, MANY_ATTRIBUTES))
        if priors is None:
            priors = [table.prior for table in self.found]
        evidence = Evidence(self._shape, self._ones, tuple(self.found), tuple(priors))
        return glue(evidence, self._words(purpose, m * records).reshape(m, records), wanted, order)


def _score(counts: Counts, expected: Cells, noise: float) -> int:
    """How many records a table is from what is expected of it, beyond what noise would make of it.

    One row changes it by 1 at most.
    """
    whole = np.rint(expected).astype(np.int64)
    return int(np.abs(counts - whole).sum()) - round(_PENALTY * noise)


def divided(shares: int, weights: Sequence[float]) -> list[int]:
    """Whole shares in proportion to weights, at least one each, adding up to all there are."""
    spare = shares - len(weights)
    exact = [weight / sum(weights) * spare for weight in weights]
    parts = [int(part) for part in exact]
    by_rest = sorted(range(len(parts)), key=lambda i: (parts[i] - exact[i], i))
    for i in by_rest[: spare - sum(parts)]:
        parts[i] += 1
    return [part + 1 for part in parts]
