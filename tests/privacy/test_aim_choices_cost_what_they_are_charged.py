"""Choices among scores that a record can raise or lower cost what they are charged, by enumeration of small tables.

The law of a choice is enumerated for all tables of a few records and all tables with one record more. A choice with
epsilon may change no probability by more than e^epsilon, and its rho of epsilon^2 / 8 rests on more: that the
logarithms of the ratios of all outcomes lie within an interval of length epsilon. The form for monotone scores, which a
program by others uses, keeps neither: it is the positive control.
"""

from collections.abc import Callable
from fractions import Fraction
from itertools import combinations_with_replacement

import numpy as np
import pytest
from numpy.typing import NDArray

from deniable.foundation.keys import ReleaseKey
from deniable.learners.aim.scores import UNIT, score, sensitivity
from deniable.learners.loglinear.exponential_mechanism import choose
from tests.aim_scores import EXPECTED, RECORDS, VARIANCE, WEIGHTS, scores_of
from tests.privacy.broken_twins import monotone_scores

EPSILON = Fraction(1)
_FLOATING = 1e-9
LogLaw = Callable[[NDArray[np.float64], float, float], NDArray[np.float64]]


def log_law(scores: NDArray[np.float64], sensitivity: float, epsilon: float) -> NDArray[np.float64]:
    """Logarithm of the law Pr[r] proportional to exp(epsilon q_r / 2s)."""
    return monotone_scores.log_law(scores, 2 * sensitivity, epsilon)


def losses(law: LogLaw) -> tuple[float, float]:
    """The largest change of a probability's logarithm by one record, and the widest interval of such changes."""
    worst, widest = 0.0, 0.0

    def of(records: tuple[tuple[int, ...], ...]) -> NDArray[np.float64]:
        return law(scores_of(records), sensitivity(WEIGHTS), float(EPSILON))

    for size in range(4):
        for records in combinations_with_replacement(RECORDS, size):
            before = of(records)
            for record in RECORDS:
                change = of((*records, record)) - before
                worst, widest = max(worst, np.abs(change).max()), max(widest, np.ptp(change))
    return worst, widest


def test_a_choice_changes_by_epsilon_at_most() -> None:
    worst, widest = losses(log_law)
    assert worst <= float(EPSILON) + _FLOATING
    assert widest <= float(EPSILON) + _FLOATING
    # The scores do rise and fall, so the bound on the interval is nearly met.
    assert widest > 0.9 * float(EPSILON)


def test_the_form_for_monotone_scores_costs_more_than_it_is_charged() -> None:
    worst, widest = losses(monotone_scores.log_law)
    assert worst > 1.2 * float(EPSILON)
    assert widest > 1.8 * float(EPSILON)


def test_scores_are_not_monotone() -> None:
    base = scores_of(())
    changes = np.array([scores_of((record,)) - base for record in RECORDS])
    assert changes.min() < 0 < changes.max()


def test_the_choice_that_is_drawn_is_the_one_that_was_enumerated() -> None:
    records, draws = (RECORDS[0], RECORDS[5]), 8_000
    stream = ReleaseKey(bytes(range(32))).stream(step="test", mechanism="enumerated", inputs="", parameters={})
    scores = [int(own) for own in scores_of(records)]
    picks = [choose(scores, sensitivity=sensitivity(WEIGHTS), epsilon=EPSILON, stream=stream) for _ in range(draws)]
    found = np.bincount(picks, minlength=len(scores)) / draws
    right, wrong = (
        np.exp(law(scores_of(records), sensitivity(WEIGHTS), float(EPSILON)))
        for law in (log_law, monotone_scores.log_law)
    )
    error = 7 / (2 * np.sqrt(draws))
    assert np.abs(found - right).max() < error
    assert np.abs(found - wrong).max() > error


@pytest.mark.parametrize("own", WEIGHTS)
def test_a_score_is_a_whole_number_of_units_that_a_record_moves_by_its_weight(own: tuple[int, ...]) -> None:
    counts, cell = np.arange(2 ** len(own)).reshape([2] * len(own)), (1,) * len(own)
    more = counts.copy()
    more[cell] += 1
    before, after = (score(each, EXPECTED[own], WEIGHTS[own], VARIANCE) for each in (counts, more))
    assert isinstance(before, int)
    assert after - before == WEIGHTS[own] * UNIT
