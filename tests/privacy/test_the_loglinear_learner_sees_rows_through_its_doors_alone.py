"""The mechanical audit: with every released value forced, nothing else of a neighbouring table may come through."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest

from deniable.domain import Attribute, Codes, Domain
from deniable.keys import ReleaseKey
from deniable.loglinear import learning, questions
from deniable.loglinear.counting import Counter, Partition, RowCounter
from deniable.loglinear.learning import Learnt, learn
from deniable.loglinear.plan import LoglinearPlan, LoglinearRecipe
from deniable.loglinear.releases import Doors, NoisyTable, Releases
from deniable.loglinear.rounding import to_network
from deniable.tables import Counts

SIZES = (2, 3, 12, 4, 5, 1, 40, 20)
ROWS = 1_500


def domain(target: str | None) -> Domain:
    return Domain(
        tuple(
            Attribute(f"a{i}", tuple(range(size)), "numeric" if size > 8 else "nominal", tuple(range(size)))
            for i, size in enumerate(SIZES)
        ),
        target=target,
    )


def rows() -> Codes:
    draw = np.random.default_rng(list(b"the mechanical audit"))
    hidden = draw.integers(3, size=ROWS)
    columns = [(hidden * (i + 1) + draw.integers(max(size // 2, 1), size=ROWS)) % size for i, size in enumerate(SIZES)]
    # One is a recoding of the other, and has buckets of several values.
    columns[6] = draw.integers(40, size=ROWS)
    columns[7] = columns[6] // 2
    return np.stack(columns, axis=1).astype(np.uint16)


def neighbours(codes: Codes) -> list[Codes]:
    """Tables with one row removed, one row twice, or a row that nobody had."""
    draw = np.random.default_rng(list(b"neighbours of the table"))
    removed = [np.delete(codes, row, axis=0) for row in draw.integers(len(codes), size=8)]
    doubled = [np.concatenate([codes, codes[[row]]]) for row in draw.integers(len(codes), size=8)]
    strange = [np.concatenate([codes, draw.integers(SIZES, size=(1, len(SIZES))).astype(np.uint16)]) for _ in range(8)]
    return removed + doubled + strange


@dataclass
class Recording:
    """Doors that remember what went through them."""

    inner: Releases
    tables: list[tuple[Any, Counts, NoisyTable]] = field(default_factory=list)
    choices: list[tuple[str, list[int], int]] = field(default_factory=list)

    def measure(self, attributes: tuple[int, ...], partition: Partition, counts: Counts, shares: int) -> NoisyTable:
        released = self.inner.measure(attributes, partition, counts, shares)
        self.tables.append((asked(attributes, partition, shares), counts.copy(), released))
        return released

    def choose(self, purpose: str, scores: Sequence[int]) -> int:
        picked = self.inner.choose(purpose, scores)
        self.choices.append((purpose, list(scores), picked))
        return picked


def asked(attributes: tuple[int, ...], partition: Partition, shares: int) -> Any:
    return attributes, [partition.buckets[attribute].tolist() for attribute in attributes], shares


@dataclass
class Forced:
    """Doors that give the recorded answers again, and note whatever one row must not have changed."""

    recorded: Recording
    findings: set[str] = field(default_factory=set)
    measured: int = 0
    chosen: int = 0

    def measure(self, attributes: tuple[int, ...], partition: Partition, counts: Counts, shares: int) -> NoisyTable:
        if self.measured == len(self.recorded.tables):
            self.findings.add("a table more")
            raise StopAudit
        query, before, released = self.recorded.tables[self.measured]
        self.measured += 1
        if query != asked(attributes, partition, shares):
            self.findings.add("another question")
            raise StopAudit
        if np.abs(counts - before).sum() > 1:
            self.findings.add("sensitivity of a table")
        return released

    def choose(self, purpose: str, scores: Sequence[int]) -> int:
        if self.chosen == len(self.recorded.choices):
            self.findings.add("a choice more")
            raise StopAudit
        before_purpose, before, picked = self.recorded.choices[self.chosen]
        self.chosen += 1
        if before_purpose != purpose or len(before) != len(scores):
            self.findings.add("another question")
            raise StopAudit
        if any(abs(score - old) > 1 for score, old in zip(scores, before, strict=True)):
            self.findings.add("sensitivity of a score")
        return picked


class StopAudit(Exception):
    """There is nothing left to compare."""


Learner = Callable[[LoglinearPlan, Counter, Doors, Callable[[str, int], Any]], Learnt]


def audit(plan: LoglinearPlan, learner: Learner = learn) -> tuple[set[str], Releases]:
    """Learn once, and again from each neighbour with all answers forced.

    Returns:
        What was found, nothing if all is well, and the account of the first learning.
    """
    key = ReleaseKey(bytes(range(32)))
    open_stream = partial(key.stream, step="learn", inputs="audit")

    def words(purpose: str, count: int) -> Any:
        return open_stream(mechanism="population", parameters={"purpose": purpose}).take(count)

    codes = rows()
    releases = Releases(plan, open_stream)
    recorded = Recording(releases)
    model = to_network(plan.domain, learner(plan, RowCounter(lambda: [codes]), recorded, words)).document()
    findings: set[str] = set()
    for other in neighbours(codes):
        doors = Forced(recorded, findings)
        counter = RowCounter(partial(lambda table: [table[:700], table[700:]], other))
        try:
            again = to_network(plan.domain, learner(plan, counter, doors, words)).document()
        except StopAudit:
            continue
        if again != model:
            findings.add("another model from the same answers")
        if (doors.measured, doors.chosen) != (len(recorded.tables), len(recorded.choices)):
            findings.add("fewer answers")
    return findings, releases


@pytest.fixture(autouse=True)
def small_populations(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learning, "DRAFT_RECORDS", 400)
    monkeypatch.setattr(learning, "FINAL_RECORDS", 800)
    monkeypatch.setattr(learning, "FEWEST_RECORDS", 400)


def plan_of(epsilon: str, delta: str, target: str | None = "a0") -> LoglinearPlan:
    return LoglinearRecipe(Fraction(epsilon), Fraction(delta)).calibrate(domain(target))


@pytest.mark.parametrize(
    ("epsilon", "delta", "target"),
    [("40", "0", "a0"), ("40", "0", None), ("1/2", "0", "a3"), ("40", "1/1000000", "a0"), ("2", "1/1000000", None)],
)
def test_one_row_changes_nothing_but_one_cell_and_scores_by_one(epsilon: str, delta: str, target: str | None) -> None:
    plan = plan_of(epsilon, delta, target)
    findings, releases = audit(plan)
    assert not findings
    layout = plan.layout
    assert releases.shares == layout.table_shares
    assert releases.one_way == dict(zip(layout.counted, layout.one_way_shares, strict=True))
    assert releases.choices.get("tree", 0) == layout.tree_choices
    assert releases.choices.get("extra", 0) <= layout.extra_choices
    if epsilon == "40":
        assert releases.choices["extra"] > 1


def test_the_audit_sees_every_kind_of_table() -> None:
    """Differences, triples with the target, values within buckets: what it found nothing wrong with was there."""
    plan, codes, key = plan_of("40", "1/1000000"), rows(), ReleaseKey(bytes(range(32)))
    open_stream = partial(key.stream, step="learn", inputs="audit")
    recorded = Recording(Releases(plan, open_stream))
    learn(
        plan,
        RowCounter(lambda: [codes]),
        recorded,
        lambda purpose, count: key.stream(
            step="learn", inputs="audit", mechanism="population", parameters={"purpose": purpose}
        ).take(count),
    )
    asked = [(attributes, buckets, table.shape) for (attributes, buckets, _), table, _ in recorded.tables]
    assert any(len(attributes) == 3 and 1 in shape for attributes, _, shape in asked)
    assert any(len(attributes) == 2 and 1 in shape for attributes, _, shape in asked)
    assert any(len(attributes) == 2 and 1 not in shape for attributes, _, shape in asked)
    coarse = {
        len(set(own))
        for attributes, buckets, _ in asked
        if len(attributes) > 1
        for i, own in zip(attributes, buckets, strict=True)
        if i == 6
    }
    assert 40 in coarse
    assert min(coarse) < 40


def test_a_difference_that_counts_a_row_twice_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = questions.contrast_counts
    monkeypatch.setattr(
        questions, "contrast_counts", lambda counts: honest(counts) * (1 + (honest(counts).shape != counts.shape))
    )
    assert "sensitivity of a table" in audit(plan_of("40", "1/1000000"))[0]


def test_one_row_changes_nothing_where_there_is_too_little_to_go_on() -> None:
    """The whole budget goes to the attributes by themselves, and nothing is chosen."""
    plan = plan_of("1/50", "0")
    findings, releases = audit(plan)
    assert not findings
    assert releases.shares == plan.layout.table_shares
    assert not releases.choices


def test_an_uncharged_count_is_found() -> None:
    def peeping(plan: LoglinearPlan, counter: Counter, doors: Doors, words: Any) -> Learnt:
        class Peeping:
            def measure(self, attributes: Any, partition: Any, counts: Counts, shares: int) -> NoisyTable:
                released = doors.measure(attributes, partition, counts, shares)
                if len(attributes) == 1:
                    return released
                return NoisyTable(attributes, counts.astype(float), shares, released.deviation)

            def choose(self, purpose: str, scores: Sequence[int]) -> int:
                return doors.choose(purpose, scores)

        return learn(plan, counter, Peeping(), words)

    assert "another model from the same answers" in audit(plan_of("40", "0"), peeping)[0]


def test_an_exact_number_of_rows_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def counting(plan: LoglinearPlan, counter: Counter, doors: Doors, words: Any) -> Learnt:
        (exact,) = counter.tables(Partition.finest(plan.domain), [(0,)])
        monkeypatch.setattr(learning, "estimate_total", lambda _: 3.0 * exact.sum())
        return learn(plan, counter, doors, words)

    assert audit(plan_of("40", "0"), counting)[0]


def test_a_bucket_that_depends_on_the_data_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    bucketed = learning.bucketed

    def bucketing(plan: LoglinearPlan, counter: Counter, doors: Doors, words: Any) -> Learnt:
        (exact,) = counter.tables(Partition.finest(plan.domain), [(2,)])

        def by_the_data(attribute: Attribute, *arguments: Any, **named: Any) -> Any:
            own = bucketed(attribute, *arguments, **named)
            if attribute.name != "a2":
                return own
            return type(own)(
                np.searchsorted([6 + exact[3] % 2], np.arange(12), side="right").astype(np.uint16), own.counts
            )

        monkeypatch.setattr(learning, "bucketed", by_the_data)
        return learn(plan, counter, doors, words)

    assert "another question" in audit(plan_of("40", "0"), bucketing)[0]


def test_a_score_that_one_row_moves_by_two_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    score = learning.score
    monkeypatch.setattr(learning, "score", lambda *arguments: 2 * score(*arguments))
    assert audit(plan_of("40", "0"))[0] == {"sensitivity of a score"}


def test_a_table_that_counts_rows_twice_is_found() -> None:
    def doubling(plan: LoglinearPlan, counter: Counter, doors: Doors, words: Any) -> Learnt:
        class Twice:
            def tables(self, partition: Any, wanted: Any) -> Any:
                return [2 * table for table in counter.tables(partition, wanted)]

        return learn(plan, Twice(), doors, words)

    assert "sensitivity of a table" in audit(plan_of("40", "0"), doubling)[0]
