"""What the log-linear learner releases less what is true of the rows has the law that the plan's events name.

The truth is counted from the rows by hand, the law is read from the events, and the answers come through the learner's
own questions and doors. Streams are fixed, so that a test always passes or always fails on given code; the false-alarm
rate is what a test would have on another key.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, Literal

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from deniable.foundation.domain import Attribute, Codes, Domain
from deniable.foundation.errors import InvalidInput
from deniable.foundation.keys import ReleaseKey
from deniable.learners.loglinear.candidate_queries import CandidateQueries, CandidateQuery, score
from deniable.learners.loglinear.estimation.buckets import Bucketed
from deniable.learners.loglinear.estimation.counting import Partition, RowCounter
from deniable.learners.loglinear.measurements import Measurements
from deniable.learners.loglinear.plan import LoglinearPlan, LoglinearRecipe
from deniable.models.loglinear.flat_tables import Attributes
from deniable.models.noisy_marginals import NoisyMarginal
from deniable.privacy.loss import ApproximateEvent, DiscreteGaussianEvent, DiscreteLaplaceEvent, ExponentialEvent
from tests.drawn_noise import OneStream, each_is_on_its_own

Noise = Literal["laplace", "gaussian"]
Noises = NDArray[np.int64]

FALSE_ALARM = 1e-9
DRAWS = 20_000
# A fourth moment of Laplace noise is 24 scale^4, of Gaussian noise 3 variance^2.
KURTOSIS = {"laplace": 6.0, "gaussian": 3.0}
SIZES = (2, 3, 12, 6, 2)


def domain() -> Domain:
    return Domain(
        tuple(Attribute(f"a{i}", tuple(range(size)), "nominal", tuple(range(size))) for i, size in enumerate(SIZES)),
        target="a0",
    )


DOMAIN = domain()
ROWS: Codes = np.random.default_rng(list(b"rows")).integers(SIZES, size=(5_000, len(SIZES))).astype(np.uint16)
# Of the attribute of twelve values three share each bucket; all others have a bucket for each value.
BUCKETS = tuple(
    Bucketed((np.arange(size) // (3 if size == 12 else 1)).astype(np.uint16), np.ones(size)) for size in SIZES
)
QUESTIONS = CandidateQueries(DOMAIN, BUCKETS, target=0)
PLANS: dict[Noise, LoglinearPlan] = {
    "laplace": LoglinearRecipe(Fraction(1), Fraction(0)).calibrate(DOMAIN),
    "gaussian": LoglinearRecipe(Fraction(1), Fraction(1, 10**9), "gaussian").calibrate(DOMAIN),
}


def doors(plan: LoglinearPlan, name: str) -> Iterator[Measurements]:
    """Doors that nothing has gone through yet, one after the other, all noised by one stream."""
    opener = OneStream(name)
    while True:
        yield Measurements(plan, opener)


@dataclass(frozen=True)
class Asked:
    """A table that the learner may ask for, and what is true of it.

    Attributes:
        question: as the learner asks it; none for an attribute by itself.
        attributes: its attributes.
        truth: counted from the rows by hand.
        again: whether an attribute by itself is asked for once more, with shares of the tables.
    """

    question: CandidateQuery | None
    attributes: Attributes
    truth: Noises
    again: bool = False

    @cached_property
    def partition(self) -> Partition:
        """What the table tells apart."""
        return Partition.finest(DOMAIN) if self.question is None else QUESTIONS.partition_of(self.question)

    @cached_property
    def counts(self) -> Noises:
        """The same as the truth, but as learning counts it."""
        return self.counted_again(ROWS)

    def counted_again(self, rows: Codes) -> Noises:
        """The same of other rows."""
        counter = RowCounter(lambda: [rows[:3_000], rows[3_000:]])
        if self.question is None:
            return counter.tables(self.partition, [self.attributes])[0]
        return QUESTIONS.answers([self.question], counter)[self.question]

    @property
    def at_once(self) -> bool:
        """Whether it is released once, with all the shares that its event has."""
        return self.question is None and not self.again

    def shares(self, plan: LoglinearPlan, shares: int) -> int:
        """The shares with which it may be asked for: those that are given, unless they are planned."""
        return planned_shares(plan, self.attributes[0]) if self.at_once else shares

    def released(self, door: Measurements, shares: int) -> NoisyMarginal:
        """What the doors make of it, as learning goes through them."""
        if self.again:
            door.measure(self.attributes, self.partition, self.counts, planned_shares(door.plan, self.attributes[0]))
        return door.measure(self.attributes, self.partition, self.counts, shares)


def planned_shares(plan: LoglinearPlan, attribute: int) -> int:
    """The shares that an attribute has by itself."""
    return plan.layout.one_way_shares[plan.layout.counted.index(attribute)]


def counted(attributes: Sequence[int], by_values: int = -1) -> Noises:
    """Counts of the rows, attributes by their buckets but for one; nothing of the learner's own counting is used."""
    codes = [ROWS[:, i] if i == by_values else BUCKETS[i].of_value[ROWS[:, i]].astype(np.uint16) for i in attributes]
    shape = [SIZES[i] if i == by_values else BUCKETS[i].size for i in attributes]
    table = np.zeros(shape, np.int64)
    for cell in zip(*(column.tolist() for column in codes), strict=True):
        table[cell] += 1
    return table


ASKED = {
    "one attribute": Asked(None, (2,), counted((2,), by_values=2)),
    "one attribute again": Asked(None, (2,), counted((2,), by_values=2), again=True),
    "a pair": Asked(CandidateQuery((1, 2)), (1, 2), counted((1, 2))),
    "a difference": Asked(CandidateQuery((0, 3)), (0, 3), counted((0, 3))[1:] - counted((0, 3))[:1]),
    "a difference of differences": Asked(
        CandidateQuery((0, 4)),
        (0, 4),
        np.array([[counted((0, 4))[1, 1] - counted((0, 4))[1, 0] - counted((0, 4))[0, 1] + counted((0, 4))[0, 0]]]),
    ),
    "a triple with the target": Asked(
        CandidateQuery((0, 1, 3)), (0, 1, 3), counted((0, 1, 3))[1:] - counted((0, 1, 3))[:1]
    ),
    "values within buckets": Asked(CandidateQuery((2, 3), guided=2), (2, 3), counted((2, 3), by_values=2)),
}


def variance_of(plan: LoglinearPlan, asked: Asked, shares: int) -> Fraction | float:
    """Variance of the noise on a release of so many shares, by the events alone, for counts times the multiplier."""
    name = f"counts of {DOMAIN.names[asked.attributes[0]]}"
    alone = next(event for event in plan.events if event.query == name)
    tables = [event for event in plan.events if isinstance(event, ApproximateEvent)]
    if isinstance(alone, DiscreteGaussianEvent):
        if asked.at_once:
            assert alone.outputs == 1
            return alone.variance / alone.sensitivity**2
        # Each share is an output of its own, with noise of its own.
        names = {f"counts of {name}" for name in DOMAIN.names}
        (each_share,) = {
            event.variance
            for event in plan.events
            if isinstance(event, DiscreteGaussianEvent) and event.query not in names
        }
        return shares * each_share
    assert isinstance(alone, DiscreteLaplaceEvent)
    if asked.at_once:
        # The event is of all shares that the attribute gets by itself.
        assert shares == planned_shares(plan, asked.attributes[0])
        epsilon = alone.epsilon
    else:
        (whole,) = tables
        epsilon = shares * whole.epsilon_per_output / plan.layout.table_shares
    decay = math.exp(-float(epsilon))
    return 2 * decay / (1 - decay) ** 2


def has_law(noise: Noises, kind: Noise, variance: float) -> bool:
    """Whether noise has a law of that kind and variance: its second moment, and its shape as a whole."""
    error = variance * math.sqrt((KURTOSIS[kind] - 1) / noise.size)
    # Whole numbers lie on steps of one: half a step of the widest density is what they may be off by.
    wide = math.sqrt(variance)
    law = stats.norm(scale=wide) if kind == "gaussian" else stats.laplace(scale=wide / math.sqrt(2))
    step = float(law.pdf(0)) / 2
    distance = float(stats.kstest(noise.ravel(), law.cdf).statistic)
    allowed = step + math.sqrt(math.log(2 / FALSE_ALARM) / (2 * noise.size))
    return abs(float((noise.astype(float) ** 2).mean()) - variance) < 7 * error and distance < allowed


@pytest.mark.parametrize("shares", [1, 3, 7])
@pytest.mark.parametrize("what", ASKED)
@pytest.mark.parametrize("kind", PLANS)
def test_an_answer_has_the_noise_that_its_event_says(kind: Noise, what: str, shares: int) -> None:
    plan, asked = PLANS[kind], ASKED[what]
    shares = asked.shares(plan, shares)
    found = []
    for door in doors(plan, f"{kind} {what} {shares}"):
        (release,) = asked.released(door, shares).releases
        assert release.sums.dtype == np.int64
        assert release.multiplier == (shares if kind == "gaussian" and not asked.at_once else 1)
        found.append(release.sums - release.multiplier * asked.truth)
        if len(found) * asked.truth.size >= DRAWS:
            break
    noise, variance = np.stack(found), float(variance_of(plan, asked, shares))
    assert has_law(noise, kind, variance)
    for factor in (0.9, 1.1, 0.01):
        assert not has_law(noise, kind, variance * factor**2)
    assert not has_law(noise, kind, variance / 2)
    assert not has_law(0 * noise, kind, variance)
    other: Noise = "gaussian" if kind == "laplace" else "laplace"
    assert not has_law(noise, other, variance)


def opener(number: int) -> Any:
    """The streams of a release of its own."""
    key = ReleaseKey(number.to_bytes(32, "big"))
    return partial(key.stream, step="learn_parameters", inputs="rows")


@pytest.mark.parametrize("kind", PLANS)
def test_every_answer_has_noise_of_its_own(kind: Noise) -> None:
    """Cells, tables, shares, and the same question asked again."""
    counts, finest, keys = np.full(3, 5), Partition.finest(DOMAIN), 1_000
    found = []
    for number in range(keys):
        door = Measurements(PLANS[kind], opener(number))
        tables = [door.measure((1, 2), finest, counts, 2), door.measure((1, 2), finest, counts, 2)]
        tables.append(door.measure((1,), finest, counts, planned_shares(PLANS[kind], 1)))
        tables += [door.measure((1,), finest, counts, 2), door.measure((1, 3), finest, counts, 2)]
        releases = [release for table in tables for release in table.releases]
        found.append(np.concatenate([release.sums - release.multiplier * counts for release in releases]))
    noise = np.array(found, float)
    assert each_is_on_its_own(noise)
    assert not each_is_on_its_own(np.column_stack([noise, noise[:, 0]]))
    assert not each_is_on_its_own(np.column_stack([noise, -noise[:, 0]]))


def charged_choice(plan: LoglinearPlan) -> float:
    """Epsilon of one choice, as all events of choices say."""
    (epsilon,) = {event.epsilon_per_choice for event in plan.events if isinstance(event, ExponentialEvent)}
    return float(epsilon)


def scores_of(plan: LoglinearPlan) -> NDArray[np.int64]:
    """Scores of candidates that are about a third as likely, each, as the one before."""
    return np.round(np.array([0, 2, 4, 6]) / charged_choice(plan)).astype(np.int64)[::-1]


def chances(plan: LoglinearPlan, factor: float = 1.0) -> NDArray[np.float64]:
    """The law of a choice among such candidates by the exponential mechanism, sensitivity 1, at some of its epsilon."""
    scores = scores_of(plan)
    weights = np.exp(factor * charged_choice(plan) * (scores - scores.max()) / 2)
    return np.asarray(weights / weights.sum())


@pytest.mark.parametrize("purpose", ["tree", "extra"])
@pytest.mark.parametrize("kind", PLANS)
def test_a_choice_has_the_law_that_its_event_says(kind: Noise, purpose: str) -> None:
    plan = PLANS[kind]
    scores, many = scores_of(plan).tolist(), DRAWS // 2
    each = doors(plan, f"{kind} {purpose}")
    picks = [next(each).choose(purpose, scores) for _ in range(many)]
    found = np.bincount(picks, minlength=len(scores))

    def p_value(law: NDArray[np.float64]) -> float:
        return float(stats.chisquare(found, law * many).pvalue)

    assert p_value(chances(plan)) > FALSE_ALARM
    for factor in (0.9, 1.1, 2.0):
        assert p_value(chances(plan, factor)) < FALSE_ALARM


def test_a_choice_says_nothing_of_the_next_one() -> None:
    """Of the tree, of the tables beyond it, and between the two."""
    plan, keys = PLANS["laplace"], 1_500
    scores = scores_of(plan).tolist()
    picked = []
    for number in range(keys):
        door = Measurements(plan, opener(number))
        picked.append([door.choose(purpose, scores) for purpose in ("tree", "tree", "extra", "extra")])
    picks, law = np.array(picked), chances(plan)

    def p_value(first: NDArray[np.int64], second: NDArray[np.int64]) -> float:
        found = np.bincount(first * len(scores) + second, minlength=len(scores) ** 2)
        wanted = np.outer(law, law).ravel() * keys
        often = wanted >= 5
        observed, expected = (
            np.append(found[often], found[~often].sum()),
            np.append(wanted[often], wanted[~often].sum()),
        )
        return float(stats.chisquare(observed, expected).pvalue)

    for one in range(4):
        for other in range(one):
            assert p_value(picks[:, one], picks[:, other]) > FALSE_ALARM
    assert p_value(picks[:, 0], picks[:, 0]) < FALSE_ALARM


def most(ask: Any) -> int:
    """How often something may be asked before it is refused; at most a thousand times."""
    for asked in range(1_000):
        try:
            ask()
        except InvalidInput:
            return asked
    return 1_000


@pytest.mark.parametrize("target", ["a0", None])
@pytest.mark.parametrize("kind", PLANS)
def test_the_doors_let_through_what_the_events_charge_and_no_more(kind: Noise, target: str | None) -> None:
    table = Domain(DOMAIN.attributes, target=target)
    delta = Fraction(0) if kind == "laplace" else Fraction(1, 10**9)
    plan = LoglinearRecipe(Fraction(1), delta, kind).calibrate(table)
    door, finest, counts = Measurements(plan, OneStream("charged")), Partition.finest(table), np.zeros(1, np.int64)
    choices = sum(event.outputs for event in plan.events if isinstance(event, ExponentialEvent))
    assert sum(most(partial(door.choose, purpose, [0, 0])) for purpose in ("tree", "extra")) == choices
    # Tables take all that is theirs; what is then left is that of the attributes by themselves, each once.
    tables = most(partial(door.measure, (0, 1), finest, counts, 1))
    for i, shares in zip(plan.layout.counted, plan.layout.one_way_shares, strict=True):
        assert [most(partial(door.measure, (i,), finest, counts, shares + more)) for more in (-1, 1, 0)] == [0, 0, 1]
    alone = plan.layout.one_way_shares
    counting = [event for event in plan.events if not isinstance(event, ExponentialEvent)]
    if kind == "gaussian":
        assert all(isinstance(event, DiscreteGaussianEvent) and event.sensitivity == 1 for event in counting)
        ones, others = counting[: len(alone)], counting[len(alone) :]
        assert [(event.outputs, event.variance) for event in ones] == [(1, plan.amount / shares) for shares in alone]
        assert {event.variance for event in others} == {plan.amount}
        assert sum(event.outputs for event in others) == tables
    else:
        *ones, whole = counting
        assert [event.epsilon for event in ones] == [shares / plan.amount for shares in alone]
        assert (whole.epsilon, whole.outputs) == (tables / plan.amount, 1)
        assert sum(event.outputs * (event.epsilon or 0) for event in plan.events) == 1


@pytest.mark.parametrize("what", ASKED)
def test_a_row_more_changes_one_number_by_one_and_a_score_by_one_at_most(what: str) -> None:
    """Whatever row it is, and whatever was expected of the table."""
    asked = ASKED[what]
    draw = np.random.default_rng(list(what.encode()))
    assert np.array_equal(asked.counts, asked.truth)
    if asked.question is None:
        expected = draw.integers(500, size=asked.truth.shape).astype(float)
    else:
        shape = asked.partition.shape(asked.attributes)
        expected = draw.integers(4 * len(ROWS) // np.prod(shape), size=shape).astype(float)
    moved = set()
    for row in draw.integers(SIZES, size=(20, len(SIZES))).astype(np.uint16):
        counts = asked.counted_again(np.concatenate([ROWS, row[None]]))
        assert np.abs(counts - asked.counts).sum() == 1
        before, after = score(asked.counts, expected, 30.0), score(counts, expected, 30.0)
        assert abs(after - before) <= 1
        moved.add(after - before)
    assert moved - {0}


def test_the_number_of_rows_alone_does_not_move_a_score() -> None:
    """A table that is as expected, however many rows there are, is not worth asking for."""
    for rows in (1_000, 50_000):
        counts = np.full((3, 4), rows)
        assert score(counts, counts.astype(float), 30.0) == 0
