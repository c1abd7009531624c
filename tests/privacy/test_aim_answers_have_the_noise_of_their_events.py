"""What AIM releases less what is true of the rows has the law that the plan's events name, and costs what they cost.

Streams are fixed, so that a test always passes or always fails on given code; the false-alarm rate is what a test would
have on another key.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from deniable.foundation.domain import Attribute, Domain
from deniable.foundation.errors import InvalidInput
from deniable.foundation.keys import ReleaseKey
from deniable.foundation.tables import Counts
from deniable.learners.aim.engine import OwnEngine, Work
from deniable.learners.aim.plan import RoundsPlan, rho_of_choice, rho_of_table
from deniable.learners.aim.queries import PrivateQueries
from deniable.learners.aim.rounds import Learnt, learn
from deniable.learners.aim.scores import UNIT
from deniable.learners.aim.workload import Attributes, Workload
from deniable.privacy.loss import ConcentratedEvent, DiscreteGaussianEvent
from tests.drawn_noise import OneStream, each_is_on_its_own
from tests.extent import drawn

FALSE_ALARM = 1e-9
DRAWS = 20_000
SIZES = (2, 3, 5, 4)
DOMAIN = Domain(
    tuple(Attribute(f"a{i}", tuple(range(size)), "nominal", tuple(range(size))) for i, size in enumerate(SIZES))
)
PLAN = RoundsPlan.of(DOMAIN, Workload.of(DOMAIN, "triples"), Fraction(1), Fraction(1, 10**9))
ROWS = np.random.default_rng(list(b"rows")).integers(SIZES, size=(3_000, len(SIZES)))
ROWS[:, 3] = ROWS[:, 2] % 4


def counts_of(rows: NDArray[np.int64]) -> dict[Attributes, Counts]:
    """Counts of all candidates, by hand."""
    found = {}
    for own in PLAN.workload.candidates:
        table = np.zeros([SIZES[i] for i in own], np.int64)
        np.add.at(table, tuple(rows[:, i] for i in own), 1)
        found[own] = table
    return found


COUNTS = counts_of(ROWS)


def has_variance(noise: NDArray[np.int64], variance: float) -> bool:
    """Whether noise is Gaussian with a variance: its second moment, and its shape as a whole."""
    error = variance * math.sqrt(2 / noise.size)
    wide = math.sqrt(variance)
    law = stats.norm(scale=wide)
    # Whole numbers lie on steps of one.
    allowed = float(law.pdf(0)) / 2 + math.sqrt(math.log(2 / FALSE_ALARM) / (2 * noise.size))
    distance = float(stats.kstest(noise.ravel(), law.cdf).statistic)
    return abs(float((noise.astype(float) ** 2).mean()) - variance) < 7 * error and distance < allowed


@pytest.mark.parametrize("annealed", [0, 3])
def test_a_table_has_the_noise_that_is_charged(annealed: int) -> None:
    (event, *_) = PLAN.events
    assert isinstance(event, DiscreteGaussianEvent)
    assert event.sensitivity == 1
    amounts, variance = PLAN.first, event.variance
    for _ in range(annealed):
        amounts, variance = amounts.annealed(), variance / 4
    stream, truth, noise = OneStream(f"tables {annealed}"), COUNTS[1, 2], []
    while len(noise) * truth.size < DRAWS:
        queries = PrivateQueries(PLAN, stream)
        released = queries.measure((1, 2), truth, amounts.variance)
        assert released.dtype == np.int64
        assert queries.spent == 1 / (2 * variance)
        noise.append(released - truth)
    found = np.stack(noise)
    assert has_variance(found, float(variance))
    for factor in (0.9, 1.1):
        assert not has_variance(found, float(variance) * factor**2)


SCORES = [0, 17_000, 34_000, 51_000]


def law(epsilon: float, sensitivity: int) -> NDArray[np.float64]:
    """The law of a choice among SCORES with Pr[i] proportional to exp(epsilon q_i / (2 s))."""
    weights = np.exp(epsilon * (np.array(SCORES) - max(SCORES)) / (2 * sensitivity))
    return np.asarray(weights / weights.sum())


def test_a_choice_has_the_law_that_is_charged() -> None:
    epsilon, sensitivity = 8 * PLAN.first.epsilon, UNIT * 9
    stream, picks = OneStream("choices"), []
    for _ in range(DRAWS):
        queries = PrivateQueries(PLAN, stream)
        picks.append(queries.choose(SCORES, sensitivity, epsilon))
        assert queries.spent == epsilon**2 / 8
    found = np.bincount(picks, minlength=len(SCORES))

    def p_value(factor: float) -> float:
        return float(stats.chisquare(found, law(factor * float(epsilon), sensitivity) * len(picks)).pvalue)

    assert p_value(1.0) > FALSE_ALARM
    # Twice epsilon is the form for monotone scores.
    for factor in (0.9, 1.1, 2.0):
        assert p_value(factor) < FALSE_ALARM


def opener(number: int) -> Any:
    """The streams of a release of its own."""
    return partial(ReleaseKey(number.to_bytes(32, "big")).stream, step="learn_parameters", inputs="rows")


def test_every_answer_has_noise_of_its_own() -> None:
    """Cells, tables, and the same table asked again."""
    found = []
    for number in range(800):
        queries = PrivateQueries(PLAN, opener(number))
        variance = PLAN.first.variance
        found.append(
            np.concatenate(
                [queries.measure(own, np.zeros(2, np.int64), variance) for own in ((0,), (0,), (1,), (0, 1))]
            )
        )
    noise = np.array(found, float)
    assert each_is_on_its_own(noise)
    assert not each_is_on_its_own(np.column_stack([noise, noise[:, 0]]))


def test_what_is_spent_never_exceeds_what_is_charged_and_nothing_is_drawn_beyond_it() -> None:
    stream = OneStream("account")
    charged = sum((event.outputs * (event.rho or 0) for event in PLAN.events), Fraction(0))
    assert charged == PLAN.rho
    assert isinstance(PLAN.events[-1], ConcentratedEvent)
    queries = PrivateQueries(PLAN, stream)
    queries.measure((0,), COUNTS[0,], 1 / (2 * PLAN.rho))
    assert queries.left == 0
    before = stream(mechanism="", parameters={}).peek(1)[0]
    tiny = Fraction(1, 10**9)
    for refused in (
        partial(queries.measure, (0,), COUNTS[0,], 1 / tiny),
        partial(queries.choose, [1, 2], 1, tiny),
    ):
        with pytest.raises(InvalidInput, match="planned rho"):
            refused()
    assert stream(mechanism="", parameters={}).peek(1)[0] == before
    assert queries.turn == 1


def learnt(queries: Any, counts: dict[Attributes, Counts]) -> Learnt:
    return learn(PLAN, Fraction(1), counts, queries, OwnEngine(SIZES, Work()))


class Told(PrivateQueries):
    """The private queries, which note what they answered and were asked."""

    def __init__(self, plan: RoundsPlan, open_stream: Any) -> None:
        super().__init__(plan, open_stream)
        self.answers: list[Any] = []
        self.paid: list[Fraction] = []
        self.scored: list[tuple[list[int], int]] = []

    def measure(self, attributes: Attributes, counts: Counts, variance: Fraction) -> Counts:
        self.paid.append(rho_of_table(variance))
        self.answers.append(super().measure(attributes, counts, variance))
        return self.answers[-1]

    def choose(self, scores: Sequence[int], sensitivity: int, epsilon: Fraction) -> int:
        self.paid.append(rho_of_choice(epsilon))
        self.scored.append((list(scores), sensitivity))
        self.answers.append(super().choose(scores, sensitivity, epsilon))
        return int(self.answers[-1])


class Replayed(PrivateQueries):
    """The private queries, which answer what was answered before, whatever the counts are."""

    def __init__(self, plan: RoundsPlan, answers: list[Any]) -> None:
        super().__init__(plan, opener(0))
        self.answers = iter(answers)

    def measure(self, attributes: Attributes, counts: Counts, variance: Fraction) -> Counts:  # noqa: ARG002
        self._pay(rho_of_table(variance))
        answer: Counts = next(self.answers)
        assert answer.shape == counts.shape
        return answer

    def choose(self, scores: Sequence[int], sensitivity: int, epsilon: Fraction) -> int:  # noqa: ARG002
        self._pay(rho_of_choice(epsilon))
        return int(next(self.answers))


@pytest.fixture(scope="module")
def told() -> tuple[Told, Learnt]:
    queries = Told(PLAN, opener(1))
    return queries, learnt(queries, COUNTS)


def test_learning_knows_the_rows_by_the_answers_alone(told: tuple[Told, Learnt]) -> None:
    queries, found = told
    other = counts_of(np.random.default_rng(list(b"others")).integers(SIZES, size=(17, len(SIZES))))
    again = learnt(Replayed(PLAN, queries.answers), other)
    assert again.choices == found.choices
    assert again.spent == found.spent
    for one, two in zip(again.model.tables, found.model.tables, strict=True):
        assert one.tobytes() == two.tobytes()


def test_the_rounds_spend_all_of_rho_and_count_all_of_it(told: tuple[Told, Learnt]) -> None:
    queries, found = told
    assert sum(queries.paid, Fraction(0)) == found.spent == queries.spent
    assert PLAN.rho * (1 - Fraction(1, 10**5)) < found.spent <= PLAN.rho
    assert found.rounds > 3
    assert not found.stopped
    (first, *_) = found.released
    assert first.variance == PLAN.first.variance
    assert min(own.variance for own in found.released) < first.variance, "noise was reduced"


def test_one_record_changes_no_score_by_more_than_its_sensitivity(told: tuple[Told, Learnt]) -> None:
    queries, _ = told
    draw = np.random.default_rng(list(b"one record"))
    for row in draw.integers(SIZES, size=(drawn(6, 2), len(SIZES))):
        more = counts_of(np.concatenate([ROWS, row[None]]))
        moved = Told(PLAN, opener(1))
        # The answers are those of before, so that all models and all candidates are.
        both = Replayed(PLAN, queries.answers)
        both.choose = partial(_noting, moved, both.choose)  # type: ignore[method-assign]
        learnt(both, more)
        for (scores, sensitivity), (others, _) in zip(queries.scored, moved.scored, strict=True):
            change = np.abs(np.array(scores) - np.array(others))
            assert change.max() <= sensitivity
            assert change.max() > 0


def _noting(noted: Told, ask: Any, scores: Sequence[int], sensitivity: int, epsilon: Fraction) -> int:
    noted.scored.append((list(scores), sensitivity))
    return int(ask(scores, sensitivity, epsilon))
