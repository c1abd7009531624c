"""Intervals from sets, flows, responses and prefixes cover as often as they say, and refuse what they cannot answer."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from math import comb

import numpy as np
import pytest
from scipy import stats

from deniable.foundation.domain import Attribute, Domain
from deniable.foundation.errors import InvalidInput, Refused
from deniable.inference.answers import Answer, Asked
from deniable.inference.intervals import Interval
from deniable.inference.others.asking import OtherRelease
from deniable.inference.others.draws import UrnDraws, binomial_bounds
from deniable.inference.others.flows import FlowsInference
from deniable.inference.others.prefixes import PrefixInference, reach_of
from deniable.inference.others.responses import SurveyInference, binomial_interval
from deniable.inference.others.sets import ReleasedSetsInference
from deniable.local.designs import Design
from deniable.local.estimates import estimates
from deniable.local.survey import Question, Survey
from deniable.other_releases import _kept
from tests.extent import drawn

FALSE_ALARM = 1e-9
SAMPLE = Asked(estimand="population", sampling="simple random")


def covers_as_often_as_it_says(held: list[bool], level: float = 0.95) -> None:
    assert stats.binom.cdf(sum(held), len(held), level) > FALSE_ALARM, np.mean(held)


def inside(answer: Answer, truth: float) -> bool:
    assert answer.interval is not None
    return answer.interval.low <= truth <= answer.interval.high


def polya(draw: np.random.Generator, inner: float, outer: float, trials: int, urns: int) -> int:
    return sum(int(draw.binomial(trials, draw.beta(inner, outer))) for _ in range(urns))


@pytest.mark.slow
@pytest.mark.parametrize(("urns", "trials"), [(1, 60), (3, 20)])
def test_an_interval_of_draws_covers_what_it_is_of(urns: int, trials: int) -> None:
    draw = np.random.default_rng(list(b"draws of urns"))
    rows, finite, population, naive = 80, [], [], []
    for _ in range(drawn(400, least=150)):
        p = draw.uniform(0.02, 0.6)
        x = int(draw.binomial(rows, p))
        own = UrnDraws(polya(draw, x + 4.0, rows - x + 8.0, trials, urns), trials, urns, 4.0, 8.0, (rows, rows))
        found, wider = own.share(0.95), own.share(0.95, of_population=True)
        finite.append(found.interval.low <= x / rows <= found.interval.high)
        population.append(wider.interval.low <= p <= wider.interval.high)
        share = own.drawn / trials / urns
        naive.append(abs(share - p) <= 1.96 * np.sqrt(share * (1 - share) / trials / urns))
    covers_as_often_as_it_says(finite)
    covers_as_often_as_it_says(population)
    assert stats.binom.cdf(sum(naive), len(naive), 0.95) < 1e-3, "the naive interval fails"


def test_ends_of_an_interval_are_those_whose_tails_are_enumerated() -> None:
    """One urn of 6 rows and 5 draws, weights 1 and 2: sums of the beta-binomial law by hand."""
    own = UrnDraws(drawn=2, trials=5, urns=1, inside=1.0, outside=2.0, rows=(6, 6))

    def law(x: int, s: int) -> Fraction:
        rise = lambda a, k: np.prod([Fraction(a + j) for j in range(k)], initial=Fraction(1))  # noqa: E731
        return comb(5, s) * rise(x + 1, s) * rise(6 - x + 2, 5 - s) / rise(9, 5)  # type: ignore[no-any-return]

    right = [
        x
        for x in range(7)
        if sum(law(x, s) for s in range(3)) > Fraction(1, 10) and sum(law(x, s) for s in range(2, 6)) > Fraction(1, 10)
    ]
    interval = own.share(0.8).interval
    assert (interval.low, interval.high) == (min(right) / 6, max(right) / 6)
    unsure = UrnDraws(drawn=2, trials=5, urns=1, inside=1.0, outside=2.0, rows=(5, 7)).share(0.8).interval
    assert unsure.low <= interval.low
    assert unsure.high >= interval.high
    assert (unsure.low, unsure.high) == (
        min(_numbers(own, 5)[0] / 6, _numbers(own, 6)[0] / 7, _numbers(own, 7)[0] / 7),
        min(max(_numbers(own, 5)[1] / 5, _numbers(own, 6)[1] / 5, _numbers(own, 7)[1] / 6), 1.0),
    )
    large = UrnDraws(drawn=210, trials=200, urns=2, inside=1e-4, outside=1e-4, rows=(850, 950)).share(0.95).interval
    assert 0.46 < large.low < 0.47
    assert 0.57 < large.high < 0.6


def _numbers(draws: UrnDraws, rows: int) -> tuple[float, float]:
    """The ends of the interval, as numbers of rows."""
    interval = replace(draws, rows=(rows, rows)).share(0.8).interval
    return round(interval.low * rows), round(interval.high * rows)


def test_rows_of_a_part_are_within_their_bounds() -> None:
    low, high = binomial_bounds(1_000, 0.3, 0.001)
    assert stats.binom.cdf(low - 1, 1_000, 0.3) + stats.binom.sf(high, 1_000, 0.3) <= 0.001
    assert binomial_bounds(1_000, 1.0, 0.001) == (1_000, 1_000)


CROSSED = Domain(
    (
        Attribute("sex", ("f", "m"), "nominal", (0, 1)),
        Attribute("town", ("a", "b", "c"), "nominal", (0, 1, 2)),
    )
)


def sets_of(draw: np.random.Generator, truth: np.ndarray, people: int | None = 120) -> ReleasedSetsInference:
    counts = np.zeros(6, np.int64)
    for _ in range(2):
        counts += draw.multinomial(60, draw.dirichlet(truth + 3.0))
    return ReleasedSetsInference(CROSSED, counts.reshape(2, 3), trials=60, urns=2, prior=3.0, people=people)


def test_shares_of_sets_cover_those_of_the_rows() -> None:
    draw = np.random.default_rng(list(b"synthetic sets"))
    held = []
    for _ in range(drawn(200, least=80)):
        truth = draw.multinomial(120, [0.3, 0.1, 0.1, 0.2, 0.05, 0.25])
        answer = sets_of(draw, truth).share("town=a", "", Asked())
        held.append(inside(answer, truth[[0, 3]].sum() / 120))
        assert answer.grade == "measured"
    covers_as_often_as_it_says(held)


def test_flows_cover_the_shares_of_the_workers_who_were_counted() -> None:
    draw = np.random.default_rng(list(b"commuting flows"))
    domain = Domain(
        (
            Attribute("work", ("mill", "port"), "nominal", (0, 1)),
            Attribute("home", tuple("abcdef"), "nominal", (0, 0, 1, 1, 2, 2)),
        )
    )
    held = []
    for _ in range(drawn(200, least=80)):
        workers = draw.multinomial(200, [0.6, 0.3, 0.1])
        noisy = 200 + int(draw.geometric(0.5) - draw.geometric(0.5))
        areas = draw.multinomial(150, draw.dirichlet(workers + 5.0 + np.array([0, 30, 10])))
        homes = np.repeat([0, 2, 4], areas)
        codes = np.stack([np.zeros(150, int), homes], axis=1)
        found = FlowsInference(
            domain,
            codes,
            places=(0, 1),
            areas=np.asarray(domain.attributes[1].bucket_of),
            prior=[5.0, 0.0],
            added=[0, 30, 10],
            workers=[noisy, 0],
            scale=1 / np.log(2),
        )
        held.append(inside(found.share("home=a|b", "work=mill", Asked()), workers[0] / 200))
    covers_as_often_as_it_says(held)
    for condition, given, said in (
        ("home=a", "work=mill", "divides|edges|together|home"),
        ("home=a|b", "", "one destination"),
        ("work=mill", "work=mill", "origins among workers"),
        ("home=a|b", "work=port", "no worker"),
        ("home=a|b|c|d|e|f", "work=mill", "leave origins out"),
    ):
        with pytest.raises((Refused, InvalidInput), match=said):
            found.share(condition, given, Asked())


def test_exact_intervals_of_responses_are_those_of_clopper_and_pearson() -> None:
    for number, trials in ((0, 10), (3, 10), (10, 10), (480, 1_000)):
        low, high = binomial_interval(number, trials, 0.05)
        right_low = 0.0 if number == 0 else stats.beta.ppf(0.025, number, trials - number + 1)
        right_high = 1.0 if number == trials else stats.beta.ppf(0.975, number + 1, trials - number)
        assert (low, high) == pytest.approx((right_low, right_high), abs=1e-9)


def test_shares_of_answers_cover_those_of_the_population() -> None:
    draw = np.random.default_rng(list(b"responses"))
    values = ("never", "once", "often")
    design = Design("k_rr", 3, Fraction(4))
    survey = Survey("s", "t", (Question("used", "Have you?", values, design),), {})
    truth, held = np.array([0.6, 0.3, 0.1]), []
    p, q = map(float, design.support)
    for _ in range(drawn(200, least=80)):
        supported = draw.multinomial(300, q + truth * (p - q))
        found = SurveyInference(survey, [supported.tolist()], 300)
        held += [
            inside(found.share("used=once", "", SAMPLE), 0.3),
            inside(found.share("used=once|often", "", SAMPLE), 0.4),
        ]
    covers_as_often_as_it_says(held)
    with pytest.raises(Refused, match="there are none"):
        SurveyInference(survey, [[0, 0, 0]], 0).share("used=once", "", Asked())
    with pytest.raises(Refused, match="not related"):
        found.share("used=once", "used=often", Asked())
    with pytest.raises(Refused, match="shares of the answers to one question"):
        found.count("used=once", Asked())


def test_counts_of_prefixes_cover_and_absent_ones_are_below_the_threshold() -> None:
    draw = np.random.default_rng(list(b"prefixes"))
    scale, threshold, held = 4.0, 12, []
    p = np.exp(-1 / scale)
    truth = np.array([[40, 3, 0], [9, 100, 14]])
    for _ in range(drawn(300, least=100)):
        noisy = truth + draw.geometric(1 - p, truth.shape) - draw.geometric(1 - p, truth.shape)
        kept = (truth > 0) & (noisy >= threshold)
        cells = np.argwhere(kept)
        found = PrefixInference(CROSSED, (0, 1), cells, noisy[kept], scale=scale, threshold=threshold)
        held += [
            inside(found.count("sex=f & town=b", Asked()), 3),
            inside(found.count("sex=m & town=b", Asked()), 100),
            inside(found.count("sex=m", Asked()), 123),
        ]
    covers_as_often_as_it_says(held)
    reach = reach_of(scale, 0.05)
    assert 2 * p ** (reach + 1) / (1 + p) <= 0.05 < 2 * p**reach / (1 + p)
    first = PrefixInference(CROSSED, (0,), np.array([[1]]), np.array([50]), scale=1.0, threshold=5)
    with pytest.raises(Refused, match="counts of sex, not of town"):
        first.count("town=a", Asked())
    with pytest.raises(Refused, match="not shares"):
        first.share("sex=f", "", Asked())


@pytest.mark.parametrize("level", [0.6, 0.95])
def test_intervals_have_the_level_that_is_asked_for_and_no_more(level: float) -> None:
    """They are those of the laws by themselves; wider ones would cover, too."""
    asked = Asked(level=level)
    counts = np.array([[9, 4, 7], [30, 40, 30]])
    sets = ReleasedSetsInference(CROSSED, counts, trials=60, urns=2, prior=3.0, people=120)
    right = UrnDraws(drawn=39, trials=60, urns=2, inside=6.0, outside=12.0, rows=(120, 120)).share(level)
    assert sets.share("town=a", "", asked).interval == right.interval
    part = ReleasedSetsInference(CROSSED, counts, trials=60, urns=2, prior=3.0, people=120, kept=0.5)
    miss = 1e-4 * (1 - level)
    own = UrnDraws(drawn=39, trials=60, urns=2, inside=6.0, outside=12.0, rows=binomial_bounds(120, 0.5, miss))
    assert part.share("town=a", "", asked).interval == own.share(level + miss).interval
    codes = np.stack([np.zeros(150, int), np.repeat([0, 1, 2], [90, 20, 40])], axis=1)
    for scale in (None, 2.0):
        flows = FlowsInference(
            Domain((Attribute("work", ("mill",), "nominal", (0,)), CROSSED.attributes[1])),
            codes,
            places=(0, 1),
            areas=np.arange(3),
            prior=[5.0],
            added=[7, 30, 10],
            workers=[200],
            scale=scale,
        )
        miss = 0.2 * (1 - level)
        reach = 0 if scale is None else int(np.ceil(scale * np.log(1 / miss)))
        if scale is not None:
            p = np.exp(-1 / scale)
            assert 2 * p ** (reach + 1) / (1 + p) <= miss < 2 * p ** (reach - 1) / (1 + p)
        rows = (200 - reach, 200 + reach)
        own = UrnDraws(drawn=90, trials=150, urns=1, inside=12.0, outside=50.0, rows=rows)
        right = own.share(level if scale is None else level + miss)
        assert flows.share("town=a", "work=mill", asked).interval == right.interval
    design = Design("k_rr", 3, Fraction(4))
    survey = Survey("s", "t", (Question("used", "Have you?", ("never", "once", "often"), design),), {})
    answer = SurveyInference(survey, [[150, 90, 60]], 300).share("used=once", "", replace(SAMPLE, level=level))
    assert answer.interval is not None
    exact = estimates(design, (150, 90, 60), 300, Fraction(level))[1].interval
    assert (answer.interval.low, answer.interval.high) == pytest.approx(exact, abs=1e-9)
    prefixes = PrefixInference(CROSSED, (0, 1), np.array([[0, 0], [1, 0]]), np.array([90, 70]), scale=4.0, threshold=12)
    one, two = reach_of(4.0, 1 - level), reach_of(4.0, (1 - level) / 2)
    assert prefixes.count("sex=f & town=a", asked).interval == Interval(90.0 - one, 90.0 + one)
    assert prefixes.count("town=a", asked).interval == Interval(160.0 - 2 * two, 160.0 + 2 * two)
    assert prefixes.count("sex=f & town=b", asked).interval == Interval(0.0, 11.0 + one)


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda sets: sets.share("town=a", "sex=f", Asked()), "of all records"),
        (lambda sets: sets.share("town=a|b|c", "", Asked()), "leave records out"),
        (lambda sets: sets.share("town=a", "", Asked(estimand="population")), "simple random sample"),
        (
            lambda sets: sets.share(
                "town=a", "", Asked(estimand="population", sampling="simple random", design_effect=2)
            ),
            "design effect",
        ),
        (lambda sets: sets.count("town=a", Asked()), "shares of all records, not counts"),
    ],
)
def test_what_cannot_be_inferred_is_refused_in_a_sentence(ask: Callable[[OtherRelease], Answer], said: str) -> None:
    draw = np.random.default_rng(1)
    with pytest.raises(Refused, match=said):
        ask(sets_of(draw, np.full(6, 20)))
    with pytest.raises(Refused, match="--people"):
        sets_of(draw, np.full(6, 20), None).share("town=a", "", Asked())


def test_a_record_without_a_split_does_not_say_how_many_rows_there_were() -> None:
    assert _kept({"split": {"shared": "4/5"}}) == 0.8
    with pytest.raises(Refused, match="must state the split for estimates, and has none"):
        _kept({})
