"""The law of a survey and of its synthetic sets: exact for two sets, drawn under a fixed key for more.

A survey counts x of n = 100 people in the first category, binomial with a share p. Each of M sets then has a
beta-binomial count, which is the law of the project's urns.
"""

from collections.abc import Callable
from functools import cache
from itertools import combinations_with_replacement

import numpy as np

from deniable.foundation.keys import WordStream
from deniable.learners.multinomial_sets.combining import Rule, combine
from deniable.learners.multinomial_sets.exact import beta_binomial_law, binomial_law, prior_weight
from papers.chance import KEY, Floats, Integers, uniforms
from papers.charest.published import PEOPLE

Counts = tuple[int, ...]


def stream_of(what: str, share: float, epsilon: float, sets: int) -> WordStream:
    """The words of one simulation."""
    return KEY.stream(
        step="paper",
        mechanism="charest",
        inputs=what,
        parameters={"share": str(share), "epsilon": str(epsilon), "sets": sets},
    )


@cache
def laws(epsilon: float, sets: int) -> Floats:
    """The law of one set's count given each number of people, shape (n + 1, n + 1)."""
    alpha = prior_weight(epsilon, sets, PEOPLE)
    return np.array([beta_binomial_law(PEOPLE, alpha + x, alpha + (PEOPLE - x)) for x in range(PEOPLE + 1)])


def expected(share: float, epsilon: float, value: Callable[[Counts], float]) -> float:
    """The expectation of a function of two sets, summed over all their counts.

    Args:
        share: share of the first category in the population.
        epsilon: total epsilon.
        value: a symmetric function of the two counts.
    """
    law = binomial_law(PEOPLE, share)
    of_set = laws(epsilon, 2)
    joint = np.einsum("x,xa,xb->ab", law, of_set, of_set)
    pairs = combinations_with_replacement(range(PEOPLE + 1), 2)
    return sum(float(joint[a, b]) * (1 if a == b else 2) * value((a, b)) for a, b in pairs)


def enumerated_moments(share: float, epsilon: float, sets: int) -> tuple[float, float]:
    """Mean and variance of the mean share of all sets, summed over the counts of people and of each set."""
    law, of_set = binomial_law(PEOPLE, share), laws(epsilon, sets)
    shares = np.arange(PEOPLE + 1) / PEOPLE
    given = (of_set * shares).sum(axis=1)
    within = (of_set * shares**2).sum(axis=1) - given**2
    mean = float((law * given).sum())
    return mean, float((law * (within / sets + given**2)).sum()) - mean**2


def drawn(share: float, epsilon: float, sets: int, runs: int) -> Integers:
    """Counts of the sets of simulated surveys, in increasing order, shape (runs, sets)."""
    stream = stream_of("counts", share, epsilon, sets)
    people = np.searchsorted(np.cumsum(binomial_law(PEOPLE, share)), uniforms(stream, runs), side="right")
    below = np.cumsum(laws(epsilon, sets), axis=1)
    found = np.empty((runs, sets), np.int64)
    chances = uniforms(stream, runs * sets).reshape(runs, sets)
    for x in np.unique(people):
        own = people == x
        found[own] = np.searchsorted(below[min(x, PEOPLE)], chances[own], side="right")
    return np.sort(np.minimum(found, PEOPLE), axis=1)


_known: dict[tuple[int, int, int, Rule], tuple[float, float, float]] = {}


def combined(counts: Counts, rule: Rule) -> tuple[float, float, float]:
    """Variance by a rule, and its 95 % interval from low to high; an empty interval if there is none.

    It depends on the sum of the counts and of their squares alone, so each such pair is combined once.
    """
    own = (len(counts), sum(counts), sum(count**2 for count in counts), rule)
    if own not in _known:
        shares = [count / PEOPLE for count in counts]
        found = combine(shares, [q * (1 - q) / PEOPLE for q in shares], rule, size=PEOPLE, people=PEOPLE)
        low, high = found.interval or (1.0, 0.0)
        _known[own] = found.variance, low, high
    return _known[own]
