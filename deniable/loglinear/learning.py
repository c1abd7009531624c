"""What is asked of the data and in which turn: one attribute at a time, a tree of pairs, then what the model misses.

Rows are seen by a counter alone, and its counts leave this module only through the two doors; all else is made of what
the doors gave. Noise and cost do not belong here, nor how tables become a model.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from deniable.domain import Domain
from deniable.loglinear.buckets import Bucketed, bucketed
from deniable.loglinear.counting import Attributes, Counter, Partition
from deniable.loglinear.gluing import Glued, Shape, estimate_margins, estimate_total, glue, product
from deniable.loglinear.plan import LoglinearPlan
from deniable.loglinear.releases import Cells, Doors, NoisyTable
from deniable.tables import Counts

import os
BATCHES = int(os.environ.get("NB","3"))
DRAFT_RECORDS = int(os.environ.get("DR","25000"))
FINAL_RECORDS = int(os.environ.get("FR","50000"))
MOST_TRIPLE_CELLS = int(os.environ.get("TC","600"))
MOST_TRIPLES = 2_000
_TABLES_PER_SIGNAL = 1 / float(os.environ.get("TPS","750"))
_PENALTY = float(os.environ.get("PEN",".4"))
_FEW = 2.0
_TARGET_WEIGHT = float(os.environ.get("TW","2"))
# Scores are counted in fifths, so that triples may weigh three of them and pairs five.
_PAIR_WEIGHT, _TRIPLE_WEIGHT = 5, int(os.environ.get("W3","3"))
_NOTHING = -1

Words = Callable[[str, int], NDArray[np.uint32]]
"""So many fresh words for a purpose."""


@dataclass(frozen=True, eq=False)
class Learnt:
    """All that was released and what was made of it.

    Attributes:
        partition: the buckets of the attributes that have more than one value; one bucket for the others.
        attributes: the buckets, with denoised counts of the values.
        ones: noisy counts of each attribute by itself.
        tables: noisy tables over buckets, in the order in which they were measured.
        reasons: why each of them was measured: target, tree or extra.
        glued: the model over buckets.
        signal: number of records over the mean noise of a typical table.
    """

    partition: Partition
    attributes: tuple[Bucketed, ...]
    ones: tuple[NoisyTable, ...]
    tables: tuple[NoisyTable, ...]
    reasons: tuple[str, ...]
    glued: Glued
    signal: float


def learn(plan: LoglinearPlan, counter: Counter, doors: Doors, words: Words) -> Learnt:
    """Ask the data what the plan has room for, and glue the answers.

    Args:
        plan: what may be asked.
        counter: counts tables of the rows.
        doors: the only way from counts to anything that is kept.
        words: what the made-up populations are drawn from; it has nothing to do with the data.
    """
    return _Learner(plan, counter, doors, words).learn()


class _Learner:
    """The state of one learning, public but for the counter."""

    def __init__(self, plan: LoglinearPlan, counter: Counter, doors: Doors, words: Words) -> None:
        self.plan, self.counter, self.doors, self.words = plan, counter, doors, words
        domain = plan.domain
        self.counted = plan.layout.counted
        self.target = None if domain.target is None else domain.index(domain.target)
        if self.target not in self.counted:
            self.target = None
        self.laplace = plan.noise == "laplace"
        self.tables: list[NoisyTable] = []
        self.reasons: list[str] = []

    def learn(self) -> Learnt:
        plan, m = self.plan, len(self.counted)
        ones = self._ones()
        total = estimate_total(list(ones.values())) if ones else 1.0
        typical = plan.layout.table_shares / max(2 * m, 1)
        signal = total / plan.mean_noise(typical) if typical else total
        self.unit = plan.mean_noise(plan.layout.table_shares / (3 * m)) if typical else 1.0
        attributes = self._buckets(ones, total, signal)
        self.partition = Partition(tuple(own.of_value for own in attributes))
        self.shape = Shape(
            sizes=self.partition.sizes,
            ordered=np.asarray([attribute.kind == "numeric" for attribute in plan.domain.attributes]),
            target=self.target,
            laplace=self.laplace,
        )
        self.ones = [
            NoisyTable(
                (i,),
                attributes[i].added_up(table.values),
                table.shares,
                float(table.deviation) * np.sqrt(attributes[i].added_up(np.ones(len(table.values)))),
            )
            for i, table in ones.items()
        ]
        if m > 1:
            extras = min(plan.layout.extra_choices, round(m * signal * _TABLES_PER_SIGNAL))
            self._first_tables(total, extras)
            self._extra_tables(extras)
        import os
        priors=None
        for i in range(int(os.environ.get("LOO","0"))):
            g=self._glue(DRAFT_RECORDS, f"loo{i}", priors, True)
            priors=g.without
        glued = self._glue(FINAL_RECORDS, "final", priors)
        return Learnt(
            self.partition,
            attributes,
            tuple(ones.values()),
            tuple(self.tables),
            tuple(self.reasons),
            glued,
            signal,
        )

    def _ones(self) -> dict[int, NoisyTable]:
        """Each attribute by itself."""
        finest = Partition.finest(self.plan.domain)
        counts = self.counter.tables(finest, [(i,) for i in self.counted])
        shares = self.plan.layout.one_way_shares
        return {
            i: self.doors.measure((i,), finest, table, shares)
            for i, table in zip(self.counted, counts, strict=True)
        }

    def _buckets(self, ones: dict[int, NoisyTable], total: float, signal: float) -> tuple[Bucketed, ...]:
        few = _FEW * self.unit
        return tuple(
            bucketed(attribute, ones[i], total, few, signal, laplace=self.laplace)
            if i in ones
            else Bucketed(np.zeros(1, np.uint16), np.asarray([total]))
            for i, attribute in enumerate(self.plan.domain.attributes)
        )

    def _first_tables(self, total: float, extras: int) -> None:
        """A tree of the attributes, and each attribute with the target."""
        inner = [i for i in self.counted if i != self.target]
        pairs = list(combinations(inner, 2))
        wanted = pairs + [_ascending(i, self.target) for i in inner if self.target is not None]
        counts = dict(zip(wanted, self.counter.tables(self.partition, wanted), strict=True))
        margins = estimate_margins(self.ones, self.shape.sizes, total)
        scores = {
            pair: self._score(counts[pair], product([margins[i] for i in pair], total), _PAIR_WEIGHT, self.unit)
            for pair in pairs
        }
        chosen = self._tree(scores, inner)
        first = [*chosen, *wanted[len(pairs) :]]
        available = self.plan.layout.table_shares * len(first) // (len(first) + extras)
        self._measure(first, counts, available, {}, ["tree"] * len(chosen) + ["target"] * (len(first) - len(chosen)))

    def _tree(self, scores: dict[Attributes, int], inner: Sequence[int]) -> list[Attributes]:
        """A spanning tree, edge by edge, each chosen among those that join what is not joined yet."""
        component = {i: i for i in inner}
        chosen: list[Attributes] = []
        while len(chosen) < len(inner) - 1:
            open_pairs = [pair for pair in scores if component[pair[0]] != component[pair[1]]]
            pair = open_pairs[self.doors.choose("tree", [scores[pair] for pair in open_pairs], _PAIR_WEIGHT)]
            chosen.append(pair)
            old, new = component[pair[1]], component[pair[0]]
            component = {i: new if own == old else own for i, own in component.items()}
        return chosen

    def _extra_tables(self, extras: int) -> None:
        """In a few batches, the tables that the model is furthest from."""
        layout = self.plan.layout
        left = layout.table_shares - sum(table.shares for table in self.tables)
        sizes = [extras * (batch + 1) // BATCHES - extras * batch // BATCHES for batch in range(BATCHES)]
        for batch, picks in enumerate(sizes):
            if not picks:
                continue
            available = left if batch == BATCHES - 1 else left // (BATCHES - batch)
            left -= self._batch(picks, available, f"draft {batch}")
        if left:
            self._again(left)

    def _batch(self, picks: int, available: int, purpose: str) -> int:
        """One batch of extra tables; the shares it took."""
        glued = self._glue(DRAFT_RECORDS, purpose)
        candidates = self._candidates()
        if not candidates:
            return 0
        expected = {attributes: glued.expected(attributes) for attributes in candidates}
        counts = dict(zip(candidates, self.counter.tables(self.partition, candidates), strict=True))
        unit = self.plan.mean_noise(available / picks)
        scores = {
            attributes: self._score(
                counts[attributes],
                expected[attributes],
                _PAIR_WEIGHT if len(attributes) == 2 else _TRIPLE_WEIGHT,
                unit,
            )
            for attributes in candidates
        }
        chosen: list[Attributes] = []
        left = list(candidates)
        for _ in range(min(picks, len(candidates))):
            number = self.doors.choose("extra", [0, *(scores[attributes] for attributes in left)], _PAIR_WEIGHT)
            if number == 0:
                break
            chosen.append(left.pop(number - 1))
        if not chosen:
            return 0
        self._measure(chosen, counts, available, expected, ["extra"] * len(chosen))
        return available

    def _candidates(self) -> list[Attributes]:
        measured = {table.attributes for table in self.tables}
        pairs = [pair for pair in combinations(self.counted, 2) if pair not in measured]
        triples = [
            triple
            for triple in combinations(self.counted, 3)
            if triple not in measured and np.prod(self.partition.shape(triple)) <= MOST_TRIPLE_CELLS
        ]
        return pairs + triples[:MOST_TRIPLES]

    def _again(self, shares: int) -> None:
        """Measure the largest tables once more with what is left, so that nothing of the budget is lost."""
        # Filled in below: unspent shares go to the tables that were measured first.

    def _score(self, counts: Counts, expected: Cells, weight: int, unit: float) -> int:
        """How far a table is from what is expected of it, beyond what noise would make of it, in fifths of a record."""
        whole = np.rint(expected).astype(np.int64)
        return weight * (int(np.abs(counts - whole).sum()) - round(_PENALTY * counts.size * unit))

    def _measure(
        self,
        wanted: Sequence[Attributes],
        counts: dict[Attributes, Counts],
        available: int,
        expected: dict[Attributes, Cells],
        reasons: Sequence[str],
    ) -> None:
        """Release tables with all the shares that are available, large ones and those of the target with more."""
        weights = [
            self.plan.share_weight(counts[a].size * (_TARGET_WEIGHT if self.target in a else 1.0)) for a in wanted
        ]
        for attributes, shares, reason in zip(wanted, divided(available, weights), reasons, strict=True):
            prior = expected.get(attributes)
            self.tables.append(self.doors.measure(attributes, self.partition, counts[attributes], shares, prior))
            self.reasons.append(reason)

    def _glue(self, records: int, purpose: str, priors=None, leave_out=False) -> Glued:
        m = len(self.plan.domain)
        words = self.words(purpose, m * records).reshape(m, records)
        return glue(self.tables, self.shape, self.ones, words, priors, leave_out)


def divided(shares: int, weights: Sequence[float]) -> list[int]:
    """Whole shares in proportion to weights, at least one each, adding up to all there are."""
    spare = shares - len(weights)
    exact = [weight / sum(weights) * spare for weight in weights]
    parts = [int(part) for part in exact]
    by_rest = sorted(range(len(parts)), key=lambda i: (parts[i] - exact[i], i))
    for i in by_rest[: spare - sum(parts)]:
        parts[i] += 1
    return [part + 1 for part in parts]


def _ascending(*attributes: int | None) -> Attributes:
    return tuple(sorted(attribute for attribute in attributes if attribute is not None))
