"""Commuters by destination and by groups, from flows whose totals are public and whose privacy is probabilistic."""

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from math import sqrt

import numpy as np
import pytest

from deniable.foundation.domain import Attribute, Domain
from deniable.foundation.errors import Refused
from deniable.inference.answers import Answer, Asked
from deniable.inference.others.draws import UrnDraws
from deniable.inference.others.flows import FlowsInference
from deniable.learners.origin_destination.plan import FlowsPlan
from deniable.privacy.urn_costs import UNIT
from tests.extent import drawn

TOTALS = (120, 60, 40, 80, 0, 30)
WORKS, HOMES = tuple("mpqrst"), tuple("abcdefghij")
DOMAIN = Domain(
    (
        Attribute("work", WORKS, "nominal", tuple(range(len(WORKS)))),
        Attribute("home", HOMES, "nominal", tuple(range(len(HOMES)))),
    )
)
WORKERS = np.stack(
    [
        np.random.default_rng([1, d]).multinomial(n, np.random.default_rng([2, d]).dirichlet(np.full(10, 0.4)))
        for d, n in enumerate(TOTALS)
    ]
)
"""The confidential table: workers by destination and home."""


@cache
def plan(kept: Fraction) -> FlowsPlan:
    return FlowsPlan(len(TOTALS), len(HOMES), Fraction(3), Fraction(1, 1000), totals=TOTALS, read=kept)


def released(number: int, kept: Fraction) -> FlowsInference:
    """What is inferred from the release of a given number: workers are counted, and origins drawn, by their laws."""
    draw = np.random.default_rng([3, number])
    counted = draw.binomial(WORKERS, float(kept))
    codes = []
    for place, total in enumerate(TOTALS):
        prior = plan(kept).prior(int(counted[place].sum()), total) / UNIT
        if total:
            homes = draw.multinomial(total, draw.dirichlet(counted[place] + prior))
            codes.append(np.stack([np.full(total, place), np.repeat(np.arange(len(HOMES)), homes)], axis=1))
    return FlowsInference(
        DOMAIN,
        np.concatenate(codes),
        places=(0, 1),
        areas=np.arange(len(HOMES)),
        prior=[],
        prior_of=lambda place, workers: plan(kept).prior(workers, TOTALS[place]) / UNIT,
        workers=TOTALS,
        scale=None,
        kept=float(kept),
    )


def truth(works: str, homes: str) -> float:
    return float(WORKERS[np.ix_([WORKS.index(w) for w in works], [HOMES.index(h) for h in homes])].sum())


QUESTIONS: dict[str, tuple[Callable[[FlowsInference, Asked], Answer], float]] = {
    "commuters between groups": (
        lambda found, asked: found.count("work=m|p|r & home=a|b|c", asked),
        truth("mpr", "abc"),
    ),
    "commuters from some homes": (lambda found, asked: found.count("home=a|d|g", asked), truth(WORKS, "adg")),
    "a share in a group": (
        lambda found, asked: found.share("home=e|f", "work=p|q|r|s", asked),
        truth("pqrs", "ef") / truth("pqrs", HOMES),
    ),
    "commuters to one destination": (
        lambda found, asked: found.count("work=m & home=a|b|c|d", asked),
        truth("m", "abcd"),
    ),
}


def slack(rate: float, number: int) -> float:
    return 6 * sqrt(rate * (1 - rate) / number) + 2 / number


def coverage(name: str, kept: Fraction, number: int) -> tuple[float, float]:
    """How often intervals of releases cover, and how often those of half their width do."""
    ask, right = QUESTIONS[name]
    hits = naive = 0
    for release in range(number):
        answer = ask(released(release, kept), Asked())
        assert answer.grade == "measured"
        assert answer.interval is not None
        assert answer.interval.low <= answer.estimate <= answer.interval.high
        hits += answer.interval.low - 1e-9 <= right <= answer.interval.high + 1e-9
        naive += abs(answer.raw_estimate - right) <= 1.96 * answer.deviation / 2
    return hits / number, naive / number


@pytest.mark.slow
@pytest.mark.parametrize("kept", [Fraction(1), Fraction(7, 10)])
@pytest.mark.parametrize("name", QUESTIONS)
def test_intervals_cover_as_often_as_they_say(name: str, kept: Fraction) -> None:
    is_exact = name == "commuters to one destination"
    number = drawn(400 if kept == 1 else 24, least=6) if is_exact else drawn(600, least=50)
    covers, half = coverage(name, kept, number)
    assert covers >= 0.95 - slack(0.95, number)
    if not is_exact:
        # Of one destination each tail is at most half of what may be missed, and those who were counted are taken as a
        # sample of more: more is covered.
        assert covers <= 0.95 + slack(0.95, number)
        assert half < 0.95 - slack(0.95, number), "half of the width does not cover"


@pytest.mark.nightly
@pytest.mark.parametrize("kept", [Fraction(1), Fraction(7, 10)])
def test_the_coverage_of_many_releases_is_within_two_points(kept: Fraction) -> None:
    """Of 4,000 releases, whose coverage has a standard deviation of .0034."""
    covers, half = coverage("commuters between groups", kept, 4000)
    assert abs(covers - 0.95) <= 0.02
    assert half < 0.8


def test_one_destination_has_the_interval_of_its_own_urn() -> None:
    found = released(1, Fraction(1))
    own = found._drawn[0]
    prior = plan(Fraction(1)).prior(120, 120) / UNIT
    right = UrnDraws(
        drawn=int(own[:2].sum()), trials=120, urns=1, inside=2 * prior, outside=8 * prior, rows=(120, 120)
    ).share(0.95)
    answer = found.share("home=a|b", "work=m", Asked())
    assert answer.interval == right.interval
    count = found.count("home=a|b & work=m", Asked())
    assert count.interval is not None
    assert (count.interval.low, count.interval.high) == (right.interval.low * 120, right.interval.high * 120)
    assert count.of_what == "the confidential table"
    assert prior < plan(Fraction(1)).prior(119, 120) / UNIT or prior < 120 / (np.e**3 - 1)


def test_a_part_of_the_rows_has_the_prior_weights_of_all_numbers_of_workers_that_it_may_have() -> None:
    found = released(1, Fraction(7, 10))
    asked: list[int] = []
    prior_of = found._prior

    def noted(place: int, workers: int) -> float:
        asked.append(workers)
        return prior_of(place, workers)

    found._prior = noted
    answer = found.share("home=a|b", "work=m", Asked())
    assert min(asked) < 75
    assert max(asked) > 93
    assert answer.interval is not None
    assert answer.interval.low < answer.interval.high


def test_what_has_no_answer_is_refused_in_a_sentence() -> None:
    found = released(1, Fraction(1))
    noisy = FlowsInference(
        DOMAIN,
        np.array([[0, 0], [1, 1]]),
        places=(0, 1),
        areas=np.arange(10),
        prior=[1.0] * 6,
        workers=TOTALS,
        scale=2.0,
    )
    population = Asked(estimand="population", sampling="simple random")
    for ask, said in (
        (lambda: noisy.count("work=m & home=a", Asked()), "needs public numbers of workers"),
        (lambda: noisy.share("home=a", "work=m|p", Asked()), "of one destination"),
        (lambda: found.count("work=m", Asked()), "origins among workers"),
        (lambda: found.share("home=a", "work=s & home=a", Asked()), "one destination"),
        (lambda: found.share("home=a", "work=s|t", population), "must be of the table"),
        (lambda: found.count("home=a", population), "must be of the confidential table"),
    ):
        with pytest.raises(Refused, match=said):
            ask()
    assert found.count("work=s & home=a", Asked()).interval is not None
