"""The mechanical audit: with every released integer forced, nothing else of a neighbouring table may come through."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from operator import itemgetter
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from deniable.foundation.domain import Attribute, Codes, Domain
from deniable.foundation.errors import InvalidInput
from deniable.foundation.keys import ReleaseKey
from deniable.foundation.tables import Counts
from deniable.learners.loglinear import candidate_queries as questions
from deniable.learners.loglinear import learning
from deniable.learners.loglinear.dependency_graph import dependences
from deniable.learners.loglinear.estimation import maximum_entropy
from deniable.learners.loglinear.estimation.counting import Counter, Partition, RowCounter
from deniable.learners.loglinear.estimation.detected_zeros import occupied
from deniable.learners.loglinear.estimation.maximum_entropy import (
    Estimates,
    Evidence,
    estimate_margins,
    estimate_total,
    product,
)
from deniable.learners.loglinear.learning import Learnt, learn
from deniable.learners.loglinear.measurements import Measurements, PrivateQueries
from deniable.learners.loglinear.plan import FEWEST_SHARES, LoglinearPlan, LoglinearRecipe, NoiseChoice
from deniable.learners.loglinear.quantization import to_network
from deniable.models.noisy_marginals import NoisyMarginal, NoisySums
from tests.extent import drawn
from tests.published_answers import PublishedAnswers, learnt_again

SIZES = (2, 3, 12, 4, 5, 1, 40, 20)
ROWS = 1_500
ALL_NEIGHBOURS = 8
"""Of each kind, at night; what only some rows would show is looked for among so many by day as well."""


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


def neighbours(codes: Codes, each: int) -> list[Codes]:
    """Tables with one row removed, one row twice, or a row that nobody had, so many of each."""
    draw = np.random.default_rng(list(b"neighbours of the table"))
    removed = [np.delete(codes, row, axis=0) for row in draw.integers(len(codes), size=each)]
    doubled = [np.concatenate([codes, codes[[row]]]) for row in draw.integers(len(codes), size=each)]
    nobody = [draw.integers(SIZES, size=(1, len(SIZES))).astype(np.uint16) for _ in range(each)]
    strange = [np.concatenate([codes, row]) for row in nobody]
    return removed + doubled + strange


@dataclass
class Recording:
    """Doors that remember what went through them."""

    inner: PrivateQueries
    plan: LoglinearPlan
    tables: list[tuple[Any, Counts, Any]] = field(default_factory=list)
    choices: list[tuple[str, list[int], int]] = field(default_factory=list)

    def measure(self, attributes: tuple[int, ...], partition: Partition, counts: Counts, shares: int) -> NoisyMarginal:
        released = self.inner.measure(attributes, partition, counts, shares)
        # Of what the door gave, integers alone are kept: what else might be in it is not there when they are forced.
        integers = [{**vars(release), "sums": release.sums.tolist()} for release in released.releases]
        self.tables.append((asked(attributes, partition, shares), counts.copy(), json.loads(json.dumps(integers))))
        return released

    def choose(self, purpose: str, scores: Sequence[int]) -> int:
        picked = self.inner.choose(purpose, scores)
        self.choices.append((purpose, list(scores), picked))
        return picked


def require_integers(released: Any) -> None:
    """That a release is integers and nothing else."""
    for release in released:
        assert {type(release[name]) for name in ("multiplier", "shares", "turn")} == {int}
        assert {type(entry) for entry in np.asarray(release["sums"], object).ravel()} == {int}


def asked(attributes: tuple[int, ...], partition: Partition, shares: int) -> Any:
    return attributes, [partition.buckets[attribute].tolist() for attribute in attributes], shares


@dataclass
class Forced:
    """Doors that give the recorded answers again, and note whatever one row must not have changed."""

    recorded: Recording
    findings: set[str] = field(default_factory=set)
    measured: int = 0
    chosen: int = 0

    def measure(self, attributes: tuple[int, ...], partition: Partition, counts: Counts, shares: int) -> NoisyMarginal:
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
        require_integers(released)
        plan = self.recorded.plan
        releases = tuple(NoisySums(**{**each, "sums": np.asarray(each["sums"])}) for each in released)
        return NoisyMarginal(attributes, releases, plan.noise, plan.amount)

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


Learner = Callable[[LoglinearPlan, Counter, PrivateQueries, Callable[[str, int], Any]], Learnt]


def audit(
    plan: LoglinearPlan, learner: Learner = learn, each: int = drawn(ALL_NEIGHBOURS, least=2)
) -> tuple[set[str], Measurements]:
    """Learn once, and again from each neighbour with all answers forced.

    Args:
        plan: what is learnt.
        learner: what learns it.
        each: how many neighbours of each kind.

    Returns:
        What was found, nothing if all is well, and the account of the first learning.
    """
    key = ReleaseKey(bytes(range(32)))
    open_stream = partial(key.stream, step="learn", inputs="audit")

    words = words_of(open_stream)
    codes = rows()
    releases = Measurements(plan, open_stream)
    recorded = Recording(releases, plan)
    model = to_network(plan.domain, learner(plan, RowCounter(lambda: [codes]), recorded, words)).document()
    findings: set[str] = set()
    for other in neighbours(codes, each):
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
    monkeypatch.setattr(learning, "OTHERS_RECORDS", 400)
    monkeypatch.setattr(learning, "FINAL_RECORDS", 800)
    monkeypatch.setattr(learning, "FEWEST_RECORDS", 400)


def plan_of(epsilon: str, delta: str, target: str | None = "a0", noise: NoiseChoice = "auto") -> LoglinearPlan:
    return LoglinearRecipe(Fraction(epsilon), Fraction(delta), noise).calibrate(domain(target))


@pytest.mark.parametrize(
    ("epsilon", "noise", "target"),
    [
        ("40", "laplace", "a0"),
        ("40", "laplace", None),
        ("1/2", "laplace", "a3"),
        ("40", "gaussian", "a0"),
        ("2", "gaussian", None),
    ],
)
def test_one_row_changes_nothing_but_one_cell_and_scores_by_one(
    epsilon: str, noise: NoiseChoice, target: str | None
) -> None:
    plan = plan_of(epsilon, "1/1000000", target, noise)
    findings, releases = audit(plan)
    assert not findings
    layout = plan.layout
    assert releases.shares == layout.table_shares
    assert releases.one_way == dict(zip(layout.counted, layout.value_shares, strict=True))
    assert releases.binned == {6: layout.bin_shares[layout.counted.index(6)]}
    assert releases.choices.get("tree", 0) == layout.tree_choices
    assert releases.choices.get("extra", 0) <= layout.extra_choices
    if epsilon == "40":
        assert releases.choices["extra"] > 1


def test_the_audit_sees_every_kind_of_table() -> None:
    """Differences, triples with the target, values within buckets: what it found nothing wrong with was there."""
    plan, codes, key = plan_of("40", "1/1000000"), rows(), ReleaseKey(bytes(range(32)))
    open_stream = partial(key.stream, step="learn", inputs="audit")
    recorded = Recording(Measurements(plan, open_stream), plan)
    learn(plan, RowCounter(lambda: [codes]), recorded, words_of(open_stream))
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


NOISES = pytest.mark.parametrize(("epsilon", "noise"), [("40", "laplace"), ("40", "gaussian"), ("1/2", "gaussian")])


def words_of(open_stream: Any) -> Callable[[str, int], Any]:
    return lambda purpose, count: open_stream(mechanism="population", parameters={"purpose": purpose}).take(count)


def published(plan: LoglinearPlan, learnt: Learnt) -> str:
    """All that is published of what was learnt, to the bit."""
    net = to_network(plan.domain, learnt)
    ties = dependences(net, learnt).document(plan.domain)
    return json.dumps([net.document(), learnt.document(plan), ties])


@NOISES
def test_model_and_documents_follow_from_published_integers_and_words_alone(epsilon: str, noise: NoiseChoice) -> None:
    """Without any table: `measured.json` is read back, and all that is published is worked out again to the bit."""
    plan, codes, key = plan_of(epsilon, "1/1000000", noise=noise), rows(), ReleaseKey(bytes(range(32)))
    open_stream = partial(key.stream, step="learn", inputs="audit")
    learnt = learn(plan, RowCounter(lambda: [codes]), Measurements(plan, open_stream), words_of(open_stream))
    document = json.loads(json.dumps(learnt.document(plan)))
    assert {each["noise"]["law"] for table in document["tables"] for each in table["releases"]} == {noise}
    if epsilon == "40":
        assert len(document["tables"]) > 2 * len(plan.layout.counted)
    again = learnt_again(document, plan, words_of(open_stream))
    assert published(plan, again) == published(plan, learnt)
    # Another sum in what was asked last is another model: it is these numbers that it is made of.
    last = max((each for table in document["tables"] for each in table["releases"]), key=itemgetter("turn"))
    last["sums"] = (np.asarray(last["sums"]) + 100 * last["multiplier"]).tolist()
    assert published(plan, learnt_again(document, plan, words_of(open_stream))) != published(plan, learnt)


def test_zeros_of_wide_tables_are_found_in_noisy_counts_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the table were wide: one row changes nothing else, and all follows from the published integers."""
    found: list[bool] = []

    def looked_for(*noisy: Any) -> Any:
        held = occupied(*noisy)
        found.append(not held.all())
        return held

    monkeypatch.setattr(learning, "SEARCHED", 0)
    monkeypatch.setattr(maximum_entropy, "occupied", looked_for)
    assert not audit(plan_of("40", "1/1000000", noise="gaussian"))[0]
    assert any(found)
    test_model_and_documents_follow_from_published_integers_and_words_alone("40", "gaussian")


def test_zeros_that_follow_from_exact_counts_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The positive control: a cell is empty or not by an exact number of rows."""

    def by_the_data(plan: LoglinearPlan, counter: Counter, doors: PrivateQueries, words: Any) -> Learnt:
        (exact,) = counter.tables(Partition.finest(plan.domain), [(2,)])

        def held(noisy: Any, *_: Any) -> Any:
            some = np.ones(noisy.shape, np.bool_)
            some[-1, -1] = exact[3] % 2
            return some

        monkeypatch.setattr(maximum_entropy, "occupied", held)
        return learn(plan, counter, doors, words)

    monkeypatch.setattr(learning, "SEARCHED", 0)
    assert audit(plan_of("40", "1/1000000", noise="gaussian"), by_the_data, ALL_NEIGHBOURS)[0]


@dataclass(frozen=True)
class Shifted:
    """A law of noise whose draws are all so much less."""

    law: Any
    count: int

    def sample(self, stream: Any, size: int) -> Any:
        return self.law.sample(stream, size) - self.count


@dataclass
class MoreAndLess:
    """Doors behind which all counts are some more, and the draws as much less: the integers are the same.

    Choices are those of a document: their law is another one where scores are.
    """

    inner: Measurements
    count: int
    choices: PublishedAnswers

    def measure(self, attributes: tuple[int, ...], partition: Partition, counts: Counts, shares: int) -> NoisyMarginal:
        return self.inner.measure(attributes, partition, counts + self.count, shares)

    def choose(self, purpose: str, scores: Sequence[int]) -> int:
        # Turns are counted, as if the choice had been made here.
        self.inner.choose(purpose, scores)
        return self.choices.choose(purpose, scores)


@NOISES
@pytest.mark.parametrize("count", range(4))
def test_nothing_depends_on_a_count_but_by_its_noisy_integer(
    epsilon: str, noise: NoiseChoice, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For each count, with draws for which multiplier * count + noise is the same: the same bytes are published."""
    plan, codes, key = plan_of(epsilon, "1/1000000", noise=noise), rows(), ReleaseKey(bytes(range(32)))
    open_stream = partial(key.stream, step="learn", inputs="audit")
    words = words_of(open_stream)
    learnt = learn(plan, RowCounter(lambda: [codes]), Measurements(plan, open_stream), words)
    document = json.loads(json.dumps(learnt.document(plan)))
    honest = LoglinearPlan.law
    monkeypatch.setattr(LoglinearPlan, "law", lambda *of, **named: Shifted(honest(*of, **named), count))
    doors = MoreAndLess(Measurements(plan, open_stream), count, PublishedAnswers(document, plan))
    again = learn(plan, RowCounter(lambda: [codes]), doors, words)
    assert published(plan, again) == published(plan, learnt)


class MeansOfNoisyCounts:
    """Doors as they once were: the mean of the noise, a float, is added to the count."""

    def __init__(self, inner: PrivateQueries) -> None:
        self._inner = inner

    def measure(self, attributes: tuple[int, ...], partition: Partition, counts: Counts, shares: int) -> NoisyMarginal:
        released = self._inner.measure(attributes, partition, counts, shares)
        [release] = released.releases
        means = counts + (release.sums - release.multiplier * counts) / release.multiplier
        object.__setattr__(released, "values", means)
        return released

    def choose(self, purpose: str, scores: Sequence[int]) -> int:
        return self._inner.choose(purpose, scores)


def test_a_float_that_is_made_of_a_count_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The positive control: the same doors, where the noisy mean is rounded after the count was added to it."""
    plan, codes, key = plan_of("40", "1/1000000", noise="gaussian"), rows(), ReleaseKey(bytes(range(32)))
    open_stream = partial(key.stream, step="learn", inputs="audit")
    words, honest = words_of(open_stream), LoglinearPlan.law
    doors = MeansOfNoisyCounts(Measurements(plan, open_stream))
    learnt = learn(plan, RowCounter(lambda: [codes]), doors, words)
    document = json.loads(json.dumps(learnt.document(plan)))
    assert published(plan, learnt_again(document, plan, words)) != published(plan, learnt)
    monkeypatch.setattr(LoglinearPlan, "law", lambda *of, **named: Shifted(honest(*of, **named), 3))

    class Inside(MoreAndLess):
        def measure(self, attributes: Any, partition: Any, counts: Counts, shares: int) -> NoisyMarginal:
            return MeansOfNoisyCounts(self.inner).measure(attributes, partition, counts + self.count, shares)

    shifted = Inside(Measurements(plan, open_stream), 3, PublishedAnswers(document, plan))
    again = learn(plan, RowCounter(lambda: [codes]), shifted, words)
    assert published(plan, again) != published(plan, learnt)


def test_a_door_cannot_give_floats() -> None:
    """Neither integers held in floats nor quotients."""
    for sums in (np.asarray([3.0, 4.0]), np.asarray([1, 2], np.int32), [1, 2], np.asarray(["1"])):
        with pytest.raises(InvalidInput, match="64-bit integers"):
            NoisySums(sums, 3, 3, 1)  # type: ignore[arg-type]
    for numbers in ((3.0, 3, 1), (3, 3.0, 1), (3, 3, True), (0, 3, 1)):
        with pytest.raises(InvalidInput, match="must be integers"):
            NoisySums(np.asarray([1]), *numbers)  # type: ignore[arg-type]


def test_an_uncharged_count_is_found() -> None:
    def peeping(plan: LoglinearPlan, counter: Counter, doors: PrivateQueries, words: Any) -> Learnt:
        class Peeping:
            def measure(self, attributes: Any, partition: Any, counts: Counts, shares: int) -> NoisyMarginal:
                released = doors.measure(attributes, partition, counts, shares)
                if len(attributes) == 1:
                    return released
                exact = NoisySums(counts, 1, shares, released.releases[0].turn)
                return NoisyMarginal(attributes, (exact,), released.noise, released.amount)

            def choose(self, purpose: str, scores: Sequence[int]) -> int:
                return doors.choose(purpose, scores)

        return learn(plan, counter, Peeping(), words)

    assert "another model from the same answers" in audit(plan_of("40", "0"), peeping)[0]


def test_an_exact_number_of_rows_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def counting(plan: LoglinearPlan, counter: Counter, doors: PrivateQueries, words: Any) -> Learnt:
        (exact,) = counter.tables(Partition.finest(plan.domain), [(0,)])
        monkeypatch.setattr(learning, "estimate_total", lambda _: 3.0 * exact.sum())
        return learn(plan, counter, doors, words)

    assert audit(plan_of("40", "0"), counting)[0]


def test_a_bucket_that_depends_on_the_data_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    bucketed = learning.bucketed

    def bucketing(plan: LoglinearPlan, counter: Counter, doors: PrivateQueries, words: Any) -> Learnt:
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

    assert "another question" in audit(plan_of("40", "0"), bucketing, ALL_NEIGHBOURS)[0]


def test_a_score_that_one_row_moves_by_two_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    score = learning.score
    monkeypatch.setattr(learning, "score", lambda *arguments: 2 * score(*arguments))
    assert audit(plan_of("40", "0"))[0] == {"sensitivity of a score"}


def test_a_table_that_counts_rows_twice_is_found() -> None:
    def doubling(plan: LoglinearPlan, counter: Counter, doors: PrivateQueries, words: Any) -> Learnt:
        class Twice:
            def tables(self, partition: Any, wanted: Any) -> Any:
                return [2 * table for table in counter.tables(partition, wanted)]

        return learn(plan, Twice(), doors, words)

    assert "sensitivity of a table" in audit(plan_of("40", "0"), doubling)[0]


def independent(monkeypatch: pytest.MonkeyPatch) -> None:
    """In place of fits: the model of independent attributes, which takes no time."""

    def estimates(evidence: Evidence) -> Estimates:
        total, sizes = estimate_total(evidence.ones), evidence.shape.sizes
        margins = estimate_margins(evidence.ones, sizes, total)
        tables = (product([margins[i] for i in table.attributes], total) for table in evidence.tables)
        return Estimates(total, margins, tuple(tables))

    def fit(order: tuple[int, ...], _: Evidence, found: Estimates, *__: Any, **___: Any) -> Any:
        def expected(attributes: tuple[int, ...]) -> Any:
            return product([found.margins[i] for i in attributes], found.total)

        own = {"margins": found.margins, "tables": found.tables, "without": found.tables}
        return SimpleNamespace(total=found.total, order=order, expected=expected, **own)

    monkeypatch.setattr(learning, "estimates_from", estimates)
    monkeypatch.setattr(learning, "best_order", lambda *_: ())
    monkeypatch.setattr(learning, "fit_along", fit)


class Quick(Measurements):
    """Doors that choose whatever has the highest score."""

    def choose(self, purpose: str, scores: Sequence[int]) -> int:
        assert purpose in {"tree", "extra"}
        return int(np.argmax(scores))


def test_a_table_of_many_attributes_is_learnt_with_the_shares_that_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """So many that shares are at their largest, and with so much to go on that all tables are asked for."""
    independent(monkeypatch)
    m, people = drawn(125, least=81), 4_000
    wide = Domain(tuple(Attribute(f"a{i}", (0, 1), "nominal", (0, 0)) for i in range(m)), target="a0")
    plan = LoglinearRecipe(Fraction(60), Fraction(1, 10**6), "gaussian").calibrate(wide)
    draw = np.random.default_rng(list(b"a table of many attributes"))
    hidden = draw.integers(2, size=(people, 1))
    codes = np.where(draw.random((people, m)) < 0.7, hidden, draw.integers(2, size=(people, m))).astype(np.uint16)
    open_stream = partial(ReleaseKey(bytes(range(32))).stream, step="learn", inputs="wide")
    releases = Quick(plan, open_stream)
    learnt = learn(plan, RowCounter(lambda: [codes]), releases, words_of(open_stream))
    assert sum(plan.layout.one_way_shares) == FEWEST_SHARES * m
    assert releases.shares == plan.layout.table_shares
    assert len(learnt.choices) == plan.layout.choices
    assert len(learnt.tables) > 4 * m
