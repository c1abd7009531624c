"""The output law of a discovery, enumerated on small tables, and the law of its noise; mistakes exceed the claim."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import exp, prod

import numpy as np
import pytest
from scipy import stats

from deniable.discovery import answering
from deniable.discovery.answering import answers
from deniable.discovery.answers import Answers, RangeAnswer
from deniable.discovery.number_grid import BUCKETS, MOST_DECIMALS
from deniable.discovery.plan import DiscoveryPlan, asked
from deniable.foundation.keys import WordStream
from deniable.foundation.noise import DiscreteLaplace
from deniable.ledger.entries import Cost
from deniable.ledger.verification import fault_of_claim
from deniable.privacy.loss import DiscreteLaplaceEvent, StabilityHistogramEvent
from deniable.privacy.rounding import claimed
from tests.drawn_noise import OneStream

FALSE_ALARM = 1e-9
REACH = 12
# Probability of noise beyond the reach, with which nothing is enumerated: e^-12 for each of two cells.
LOST = 2e-5
PLAN = DiscoveryPlan(questions=asked(["charge"], []), epsilon=Fraction(1), delta=Fraction(1, 50))
TABLES = [{}, {"a": 1}, {"a": 2}, {"a": 1, "b": 1}, {"a": 2, "b": 1}, {"a": 3, "b": 2}, {"b": 6}, {"b": 7}]

Law = Mapping[object, float]
Mechanism = Callable[[dict[str, int]], Answers]


class Forced:
    """Noise that is given, not drawn."""

    noise: tuple[int, ...] = ()

    def __init__(self, scale: Fraction) -> None:
        self.scale = scale

    def sample(self, _: WordStream, size: int) -> np.ndarray:
        return np.array(self.noise[:size], np.int64)


@pytest.fixture
def forced(monkeypatch: pytest.MonkeyPatch) -> type[Forced]:
    monkeypatch.setattr(answering, "DiscreteLaplace", Forced)
    return Forced


def honest(table: dict[str, int]) -> Answers:
    return answers(PLAN, {"charge": table}, OneStream("forced"))


def lower_threshold(table: dict[str, int]) -> Answers:
    """The mistake of a threshold that is one too low."""
    made = answers(PLAN, {"charge": table}, OneStream("forced"))
    noisy = {value: count + noise for (value, count), noise in zip(sorted(table.items()), Forced.noise, strict=False)}
    kept = tuple((value, count) for value, count in noisy.items() if count >= PLAN.threshold - 1)
    return Answers(plan=made.plan, answers=(answering.ValuesAnswer("charge", kept),))


def law_of(mechanism: Mechanism, table: dict[str, int], scale: Fraction, forced: type[Forced]) -> Law:
    """Probability of each output, over all noise within reach."""
    law, found = DiscreteLaplace(scale), defaultdict[object, float](float)
    probability = {z: law.probability(z) for z in range(-REACH, REACH + 1)}
    for noise in product(probability, repeat=len(table)):
        forced.noise = noise
        found[mechanism(table).answers] += prod(probability[z] for z in noise)
    return found


def neighbours() -> Iterator[tuple[dict[str, int], dict[str, int]]]:
    """Pairs of tables of which one has a record more, in both directions."""
    for one, other in product(TABLES, repeat=2):
        if abs(sum(one.values()) - sum(other.values())) != 1:
            continue
        apart = sum(abs(one.get(value, 0) - other.get(value, 0)) for value in {*one, *other})
        if apart == 1:
            yield one, other


def excess(mechanism: Mechanism, scale: Fraction, forced: type[Forced]) -> float:
    """By how much the output laws exceed e^epsilon of each other, at most over all pairs of neighbours."""
    laws = {str(table): law_of(mechanism, table, scale, forced) for table in TABLES}
    factor = exp(PLAN.epsilon)
    return max(
        sum(max(0.0, one - factor * laws[str(q)].get(output, 0.0)) for output, one in laws[str(p)].items())
        for p, q in neighbours()
    )


def test_values_are_released_within_epsilon_and_delta(forced: type[Forced]) -> None:
    assert len(list(neighbours())) >= 8
    spent = excess(honest, 1 / PLAN.epsilon_per_column, forced)
    assert spent <= PLAN.delta + LOST
    (event,) = PLAN.events
    assert spent == pytest.approx(float(event.delta), abs=LOST), "and the event's delta is what a lone value costs"


def test_a_threshold_that_is_one_lower_and_noise_of_half_the_scale_are_found(forced: type[Forced]) -> None:
    assert excess(lower_threshold, 1 / PLAN.epsilon_per_column, forced) > PLAN.delta + LOST
    assert excess(honest, 1 / (2 * PLAN.epsilon_per_column), forced) > PLAN.delta + LOST


def test_a_value_that_no_record_has_is_never_released(forced: type[Forced]) -> None:
    forced.noise = (10**6,) * 9
    assert honest({"a": 0}).answers == honest({}).answers


@pytest.mark.parametrize(("values", "ranges"), [(1, 0), (0, 1), (3, 0), (0, 3), (2, 5), (12, 12)])
@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1, 3), Fraction(2)])
def test_the_events_cost_no_more_than_was_asked_for(values: int, ranges: int, epsilon: Fraction) -> None:
    delta = Fraction(1, 10**9) if values else Fraction(0)
    columns = asked([f"v{number}" for number in range(values)], [f"r{number}" for number in range(ranges)])
    plan = DiscoveryPlan(questions=columns, epsilon=epsilon, delta=delta)
    assert len(plan.events) == values + 2 * ranges
    basic = sum((event.outputs * (event.epsilon or 0) for event in plan.events), start=Fraction(0))
    assert basic == epsilon
    assert sum((event.outputs * event.delta for event in plan.events), start=Fraction(0)) <= delta
    cost = Cost(epsilon=epsilon, delta=min(claimed(plan.guarantee.delta), delta))
    assert fault_of_claim(plan.events, cost) is None
    assert fault_of_claim(plan.events, replace(cost, epsilon=epsilon * Fraction(1, 20))) is not None


@pytest.mark.parametrize("before", [{"20": 5, "20.5": 2}, {"20": 5}, {}], ids=len)
def test_one_record_changes_one_count_of_each_table_by_one(before: dict[str, int]) -> None:
    plan = DiscoveryPlan(questions=asked([], ["age"]), epsilon=Fraction(1), delta=Fraction(0))
    for number in ("20", "20.5", "-3", "1e300", "0", "0.0000001"):
        after = {**before, number: before.get(number, 0) + 1}
        (one,), (other,) = (
            answers(plan, {"age": table}, OneStream("the same noise")).answers for table in (before, after)
        )
        assert isinstance(one, RangeAnswer)
        assert isinstance(other, RangeAnswer)
        for counts, changed in ((one.counts, other.counts), (one.decimals, other.decimals)):
            assert sorted(np.array(changed) - counts)[-2:] == [0, 1]


def test_counts_of_numbers_have_the_noise_that_is_charged() -> None:
    plan = DiscoveryPlan(questions=asked([], ["age"]), epsilon=Fraction(1), delta=Fraction(0))
    grid, decimals = plan.events
    stream, runs = OneStream("numbers"), 40
    made = [answers(plan, {"age": {"20": 7, "35.5": 3}}, stream).answers[0] for _ in range(runs)]
    truth = {"counts": np.zeros(BUCKETS, np.int64), "decimals": np.zeros(MOST_DECIMALS + 1, np.int64)}
    for text, count in (("20", 7), ("35.5", 3)):
        place = answering.place_of(text)
        assert place is not None
        truth["counts"][place[0]] += count
        truth["decimals"][place[1]] += count
    for name, event in (("counts", grid), ("decimals", decimals)):
        assert isinstance(event, DiscreteLaplaceEvent)
        noise = np.concatenate([np.array(getattr(each, name)) - truth[name] for each in made])
        assert p_value(noise, event.scale) > FALSE_ALARM
        if name == "counts":
            assert p_value(noise, event.scale * Fraction(9, 10)) < FALSE_ALARM, "narrower noise would be noticed"
        else:
            assert p_value(noise, event.scale / 4) < FALSE_ALARM


def test_values_have_the_noise_that_is_charged() -> None:
    plan = DiscoveryPlan(questions=asked(["charge"], ["age"]), epsilon=Fraction(1), delta=Fraction(1, 10**6))
    event = plan.events[0]
    assert isinstance(event, StabilityHistogramEvent)
    stream, many = OneStream("values"), {f"v{number:03d}": 10_000 for number in range(500)}
    noise = np.concatenate(
        [
            np.array(
                [count - 10_000 for _, count in answers(plan, {"charge": many, "age": {}}, stream).answers[0].values]
            )
            for _ in range(40)
        ]
    )
    # The narrower noise has a p-value of 1e-45.
    assert len(noise) == 20_000
    assert p_value(noise, event.scale) > FALSE_ALARM
    assert p_value(noise, event.scale * Fraction(9, 10)) < FALSE_ALARM


def p_value(noise: np.ndarray, scale: Fraction) -> float:
    law = DiscreteLaplace(scale)
    reach = next(z for z in range(10_000) if len(noise) * law.tail(z) < 10)
    middle = range(1 - reach, reach)
    expected = [law.tail(reach), *(law.probability(z) for z in middle), law.tail(reach)]
    clipped = np.clip(noise, -reach, reach)
    observed = np.bincount(clipped + reach, minlength=2 * reach + 1)
    return float(stats.chisquare(observed, np.array(expected) * len(noise)).pvalue)
