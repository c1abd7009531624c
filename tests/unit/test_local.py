"""Randomized response: its laws by enumeration, estimates by the vectors, coverage by summing the binomial law."""

import json
from collections import Counter
from dataclasses import replace
from decimal import Context, Decimal
from fractions import Fraction
from itertools import product
from math import exp, inf, log, nextafter

import numpy as np
import pytest
from scipy import stats

from deniable.foundation.errors import InvalidInput
from deniable.foundation.keys import ReleaseKey, WordStream
from deniable.local.designs import Design, Response, better_at_zero, log_above, ratio_of
from deniable.local.estimates import estimates, on_simplex
from deniable.local.responding import respond, respondent_of, written_line
from deniable.local.responses import read_responses, support_counts
from deniable.local.survey import Question, Survey, read_survey

THREE = Fraction(3)
ONE = ratio_of(Fraction(1))
DESIGNS = [
    Design("warner", 2, THREE),
    Design("forced", 2, THREE),
    Design("k_rr", 2, ONE),
    Design("k_rr", 5, ONE),
    Design("oue", 2, ONE),
    Design("oue", 4, Fraction(5, 2)),
]
QUESTIONS = [
    {"name": "smokes", "text": "Do you smoke?", "values": ["no", "yes"], "design": "warner", "truth": "3/4"},
    {"name": "cheats", "text": "Did you ever?", "values": ["no", "yes"], "design": "forced", "forced": "1/2"},
    {"name": "diet", "text": "Your diet?", "values": ["meat", "fish", "plants"], "design": "k_rr", "epsilon": "1"},
    {"name": "party", "text": "Your party?", "values": list("abcdef"), "design": "oue", "epsilon": "1"},
]
DOCUMENT = {"survey": "habits", "title": "Habits", "questions": QUESTIONS}
ANSWERS = {"smokes": "yes", "cheats": "no", "diet": "fish", "party": "d"}


def survey() -> Survey:
    return read_survey(json.dumps(DOCUMENT))


def key(number: int) -> ReleaseKey:
    return ReleaseKey(number.to_bytes(32, "big"))


class _Counted:
    """A stream whose words are given: each draw sees every one of its tickets once."""

    def __init__(self, words: list[int]) -> None:
        self._words = words

    def take(self, count: int) -> np.ndarray:
        taken, self._words = self._words[:count], self._words[count:]
        if len(taken) < count:
            raise IndexError
        return np.array(taken, np.uint32)


def _law(design: Design, answer: int) -> dict[Response, Fraction]:
    """The law of the response, by running `respond` on every sequence of tickets of a design with a small total."""
    a, b = design.ratio.numerator, design.ratio.denominator
    bound = {"warner": a + b, "forced": a + b, "k_rr": a + b * (design.values - 1), "oue": 2 * (a + b)}[design.kind]
    draws = design.values if design.kind == "oue" else 1
    law: dict[Response, Fraction] = {}
    shift = 32 - bound.bit_length()
    for tickets in product(range(bound), repeat=draws):
        response = design.respond(answer, _Counted([ticket << shift for ticket in tickets]))  # type: ignore[arg-type]
        law[response] = law.get(response, Fraction(0)) + Fraction(1, bound**draws)
    return law


SMALL = [
    Design("warner", 2, THREE),
    Design("warner", 2, Fraction(5, 2)),
    Design("forced", 2, THREE),
    Design("forced", 2, Fraction(7, 2)),
    Design("k_rr", 4, Fraction(5, 2)),
    Design("oue", 3, Fraction(3, 2)),
]


@pytest.mark.parametrize("design", SMALL, ids=str)
def test_a_response_has_the_stated_law_and_its_largest_ratio_is_e_to_the_epsilon(design: Design) -> None:
    laws = [_law(design, answer) for answer in range(design.values)]
    for answer, law in enumerate(laws):
        assert sum(law.values()) == 1
        assert law == {response: design.probability(response, answer) for response in design.responses()}
    largest = max(one[response] / other[response] for one in laws for other in laws for response in one)
    assert largest == design.ratio


def test_a_forced_response_is_as_probable_as_its_ratio_says() -> None:
    """The ratio of answers is (2 - f) / f."""
    for f in (Fraction(1, 2), Fraction(2, 5), Fraction(9, 10)):
        assert Design("forced", 2, (2 - f) / f).forced == f


class _Half(Design):
    """The broken twin: noise of half the strength is drawn, and the whole is claimed."""

    def respond(self, answer: int, stream: object) -> Response:
        return Design(self.kind, self.values, self.ratio**2).respond(answer, stream)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["warner", "forced"])
def test_a_respondent_who_randomizes_too_little_is_found(kind: str) -> None:
    claimed = _Half(kind, 2, THREE)  # type: ignore[arg-type]
    laws = [_law(replace(Design(kind, 2, THREE**2)), answer) for answer in range(2)]  # type: ignore[arg-type]
    twin = [
        {(0,): Fraction(0), (1,): Fraction(0)},
        {(0,): Fraction(0), (1,): Fraction(0)},
    ]
    bound = 10
    for answer in range(2):
        for ticket in range(bound):
            response = claimed.respond(answer, _Counted([ticket << 28]))
            twin[answer][response] += Fraction(1, bound)
    assert twin == laws
    assert max(twin[1][r] / twin[0][r] for r in twin[0]) > claimed.ratio


@pytest.mark.parametrize("epsilon", [Fraction(1, 1000), Fraction(1, 2), Fraction(1), Fraction(7), Fraction(20)])
def test_the_ratio_is_rounded_down(epsilon: Fraction) -> None:
    ratio = ratio_of(epsilon)
    assert ratio.denominator <= 1 << 20
    assert log(ratio) <= float(epsilon) + 1e-12
    assert log(ratio + Fraction(1, 1 << 20)) >= float(epsilon) - 1e-12
    assert Design("k_rr", 3, ratio).epsilon >= log(ratio)


@pytest.mark.parametrize("steps", [(1 << 20) + 1050, 3 << 20, 1_000_003 << 8])
def test_a_ratio_a_hair_below_a_multiple_is_not_rounded_up_to_it(steps: int) -> None:
    """The logarithm of a multiple of 2^-20 to 50 digits, less than float or 64 bits could tell from it."""
    exact = Fraction(Context(prec=50).ln(Decimal(steps) / (1 << 20)))
    hair = Fraction(1, 10**25)
    assert ratio_of(exact - hair) == Fraction(steps - 1, 1 << 20)


def test_ratios_of_at_most_2_to_the_40_are_accepted() -> None:
    largest = Fraction(1 << 40)
    assert Design("k_rr", 3, largest).ratio == largest
    assert Design("k_rr", 3, 1 + 1 / largest).ratio == 1 + 1 / largest
    for ratio in (largest + 1, 1 + 1 / (largest + 1), Fraction(1)):
        with pytest.raises(InvalidInput, match="above 1 and at most 2\\^40"):
            Design("k_rr", 3, ratio)


def test_drawn_responses_have_the_stated_law() -> None:
    """Chi-squared at a false-alarm rate of 1e-9; the law at 0.7 of epsilon must be rejected."""
    stream = key(1).stream(step="test", mechanism="responses", inputs="", parameters={})
    for design in DESIGNS:
        drawn = [design.respond(1, stream) for _ in range(6000)]
        found = np.array([drawn.count(response) for response in design.responses()])
        weaker = replace(design, ratio=Fraction(exp(0.7 * log(design.ratio))).limit_denominator(1000))
        p_values = []
        for law in (design, weaker):
            expected = np.array([float(law.probability(response, 1)) for response in design.responses()]) * len(drawn)
            p_values.append(stats.chisquare(found, expected * found.sum() / expected.sum()).pvalue)
        assert p_values[0] > 1e-9, design
        assert p_values[1] < 1e-9, design


def test_estimates_are_those_of_the_lecture_and_of_the_vectors() -> None:
    warner = estimates(Design("warner", 2, THREE), (600, 400), 1000)[1]
    assert warner.share == pytest.approx(0.3)
    assert warner.se_population == pytest.approx(0.030983866769659335)
    assert warner.se_given_sample == pytest.approx(0.027386127875258306)
    assert warner.interval == pytest.approx((0.23893797509782477, 0.3622431080882138))
    assert warner.simultaneous == warner.interval
    p, q = Design("k_rr", 5, ONE).support
    assert (float(p), float(q)) == pytest.approx((0.40460967519168967, 0.14884758120207758), rel=1e-6)
    k_rr = estimates(Design("k_rr", 5, ONE), (300, 175, 175, 175, 175), 1000)[0]
    assert k_rr.share == pytest.approx(0.5909883534346632, rel=1e-5)
    assert k_rr.se_population == pytest.approx(0.056659595329939756, rel=1e-5)
    assert k_rr.se_given_sample == pytest.approx(0.05448475588101027, rel=1e-5)
    assert k_rr.interval == pytest.approx((0.4804211953787704, 0.7061800858677054), rel=1e-5)
    assert k_rr.simultaneous[0] < k_rr.interval[0] < k_rr.interval[1] < k_rr.simultaneous[1]
    oue = estimates(Design("oue", 2, ONE), (330, 330), 1000)[0]
    assert float(Design("oue", 2, ONE).support[1]) == pytest.approx(0.2689414213699951, rel=1e-6)
    assert oue.share == pytest.approx(0.26425583932885816, rel=1e-5)
    assert oue.se_given_sample == pytest.approx(0.06282475798727781, rel=1e-5)
    assert oue.interval == pytest.approx((0.1382837817079091, 0.39457658237381393), rel=1e-5)


def test_variances_at_zero_and_the_better_design_are_those_of_the_vectors() -> None:
    for epsilon, k, k_rr, oue in ((1, 16, 5.662430016946315, 3.6826943768311695), (2, 26, 0.768962, 0.724062)):
        ratio = ratio_of(Fraction(epsilon))
        assert Design("k_rr", k, ratio).zero_variance == pytest.approx(k_rr, rel=1e-5)
        assert Design("oue", k, ratio).zero_variance == pytest.approx(oue, rel=1e-5)
        assert better_at_zero(k, ratio) == "oue"
    assert better_at_zero(10, ONE) == "k_rr"
    assert better_at_zero(11, ONE) == "oue"


@pytest.mark.parametrize("design", DESIGNS, ids=str)
@pytest.mark.parametrize("respondents", [40, 200])
def test_an_interval_covers_with_its_level_at_least(design: Design, respondents: int) -> None:
    """Coverage is summed over the binomial law of X, not simulated; a tenth of the noise left out must not cover."""
    p, q = map(float, design.support)
    worst, naive = 1.0, 1.0
    intervals = []
    for count in range(respondents + 1):
        others = respondents - count if design.kind != "oue" else 0
        rest = [others, *[0] * (design.values - 2)]
        intervals.append(estimates(design, (count, *rest), respondents)[0].interval)
    for share in np.linspace(0, 1, 21):
        law = stats.binom.pmf(np.arange(respondents + 1), respondents, q + share * (p - q))
        covers = [low <= share <= high for low, high in intervals]
        worst = min(worst, float(law @ covers))
        short = [low + (high - low) * 0.1 <= share <= high - (high - low) * 0.1 for low, high in intervals]
        naive = min(naive, float(law @ short))
    assert worst >= 0.95
    assert naive < 0.95


def test_simultaneous_intervals_cover_all_shares_of_a_question_together() -> None:
    """Coverage is summed over the multinomial law of the responses to three values; single intervals have less."""
    design, respondents = Design("k_rr", 3, Fraction(8)), 30
    p, q = map(float, design.support)
    outcomes = [(a, b, respondents - a - b) for a in range(respondents + 1) for b in range(respondents + 1 - a)]
    found = [estimates(design, counts, respondents) for counts in outcomes]
    together, apart = [], []
    for shares in product((0.0, 0.2, 0.3, 0.4, 0.5, 0.6), repeat=2):
        truth = np.array([*shares, 1 - sum(shares)])
        if truth[-1] < 0:
            continue
        law = stats.multinomial.pmf(outcomes, respondents, q + truth * (p - q))
        for kind, covered in (("simultaneous", together), ("interval", apart)):
            ends = np.array([[getattr(each, kind) for each in own] for own in found])
            holds = ((ends[:, :, 0] <= truth + 1e-12) & (truth - 1e-12 <= ends[:, :, 1])).all(axis=1)
            covered.append(float(law @ holds))
    assert min(together) >= 0.95
    assert min(together) < 0.98, "wider ones would cover, too"
    assert min(apart) < 0.95


def test_shares_are_projected_on_the_simplex() -> None:
    shown = on_simplex([0.7, 0.5, -0.3])
    assert shown == pytest.approx([0.6, 0.4, 0.0])
    assert on_simplex([0.2, 0.3, 0.5]) == pytest.approx([0.2, 0.3, 0.5])


TWINS = {
    "survey": "twins",
    "title": "Twins",
    "questions": [{**QUESTIONS[0], "name": name, "text": f"Do you {name}?"} for name in ("smoke", "drink")],
}


def test_every_question_and_every_answer_has_random_words_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also questions that differ by nothing but their names: their responses could else be taken off each other."""
    opened: list[str] = []
    honest = ReleaseKey.stream

    def stream(self: ReleaseKey, **arguments: object) -> WordStream:
        opened.append(repr(sorted(arguments.items())))
        return honest(self, **arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(ReleaseKey, "stream", stream)
    twins = read_survey(json.dumps(TWINS))
    for smokes, drinks in product(["no", "yes"], repeat=2):
        respond(twins, {"smoke": smokes, "drink": drinks}, key(1))
    assert len(opened) == 8
    assert len(set(opened)) == 4


def test_responses_to_two_questions_and_of_two_answers_are_independent() -> None:
    """Chi-squared of the four pairs at a false-alarm rate of 1e-9; equal responses would be rejected."""
    twins, drawn = read_survey(json.dumps(TWINS)), 1000
    law = {"yes": 3 / 4, "no": 1 / 4}
    both, changed = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    for number in range(drawn):
        given = respond(twins, {"smoke": "yes", "drink": "yes"}, key(number))
        other = respond(twins, {"smoke": "no", "drink": "no"}, key(number))
        both[given["smoke"], given["drink"]] += 1
        changed[given["smoke"], {"yes": "no", "no": "yes"}[other["smoke"]]] += 1
    pairs = list(product(law, repeat=2))
    expected = [drawn * law[one] * law[two] for one, two in pairs]
    for counted in (both, changed):
        assert stats.chisquare([counted[pair] for pair in pairs], expected).pvalue > 1e-9
    alike = [drawn * law[one] * (one == two) for one, two in pairs]
    assert stats.chisquare(alike, expected).pvalue < 1e-9


def test_the_same_answer_under_the_same_key_gets_the_same_response() -> None:
    asked = survey()
    assert respond(asked, ANSWERS, key(1)) == respond(asked, ANSWERS, key(1))
    other = read_survey(json.dumps({**DOCUMENT, "title": "Other habits"}))
    assert respondent_of(asked, key(1)) != respondent_of(other, key(1))
    differing = [respond(asked, ANSWERS, key(n)) != respond(other, ANSWERS, key(n)) for n in range(30)]
    assert sum(differing) > 20


def test_responses_of_many_respondents_estimate_the_shares_they_were_drawn_from() -> None:
    """Estimates of 3,000 respondents within 6 standard errors (false alarm 1e-8 for the 13 shares together)."""
    asked = survey()
    lines = []
    for number in range(3000):
        answers = {**ANSWERS, "smokes": "yes" if number % 5 == 0 else "no", "party": "ab"[number % 2]}
        lines.append(written_line(asked, key(number), respond(asked, answers, key(number))))
    collected = read_responses(asked, [*lines, lines[0], "{}", "", "no JSON"])
    assert (len(collected.rows), collected.repeated, collected.unreadable) == (3000, 1, 2)
    assert list(collected.rows) == sorted(collected.rows)
    truth = [(0.8, 0.2), (1, 0), (0, 1, 0), (0.5, 0.5, 0, 0, 0, 0)]
    counts = support_counts(asked, collected.rows)
    for question, supported, shares in zip(asked.questions, counts, truth, strict=True):
        found = estimates(question.design, supported, 3000)
        for estimate, share in zip(found, shares, strict=True):
            assert abs(estimate.share - share) < 6 * estimate.se_population, question.name


def test_the_guarantee_of_a_survey_adds_up_its_questions() -> None:
    asked = survey()
    assert asked.ratio == 9 * ONE**2
    assert asked.epsilon == pytest.approx(2 * log(3) + 2, abs=1e-5)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"epsilon": "0"}, "epsilon must be from 0.001 to 20, got 0"),
        ({"epsilon": "21"}, "epsilon must be from 0.001 to 20, got 21"),
        ({"epsilon": "1", "design": "laplace"}, "the design of diet must be one of warner, forced, k_rr, oue"),
        ({"epsilon": "1", "values": ["meat"]}, "2 to 1,000 possible answers, got 1"),
        ({"epsilon": "1", "values": ["meat", "meat"]}, "must differ, got one twice"),
        ({"epsilon": "1", "design": "warner"}, "warner needs 2 possible answers, got 3"),
        ({"truth": "1/3"}, "truth must be above 1/3 and below 1, got 1/3"),
        ({"truth": "1"}, "truth must be above 1/3 and below 1, got 1"),
        ({"forced": "1/2"}, "forced is not a parameter of k_rr"),
        ({"epsilon": 0.5}, "must be a number in quotes"),
        ({"epsilon": "1", "truth": "3/4"}, "one of epsilon, truth and forced"),
        ({"epsilon": "1", "name": "a diet"}, "letters, digits"),
    ],
)
def test_a_question_that_cannot_be_asked_is_refused_in_a_sentence(change: dict[str, object], says: str) -> None:
    question = {name: value for name, value in QUESTIONS[2].items() if name != "epsilon"} | change
    with pytest.raises(InvalidInput, match=says):
        read_survey(json.dumps({**DOCUMENT, "questions": [question]}))


def test_surveys_answers_and_responses_that_cannot_be_used_are_refused_without_a_quote() -> None:
    asked = survey()
    for questions, says in (([], "1 to 200 questions"), ([QUESTIONS[0]] * 2, "different names")):
        with pytest.raises(InvalidInput, match=says):
            read_survey(json.dumps({**DOCUMENT, "questions": questions}))
    for answers, says in (
        ({**ANSWERS, "diet": "secret"}, "the answer to diet must be one of meat, fish, plants, got another"),
        ({name: ANSWERS[name] for name in ("smokes", "diet")}, "no answer to cheats, party"),
        ({**ANSWERS, "age": "50"}, "another question"),
    ):
        with pytest.raises(InvalidInput, match=says) as refused:
            respond(asked, answers, key(1))
        assert "secret" not in str(refused.value)
    line = json.loads(written_line(asked, key(1), respond(asked, ANSWERS, key(1))))
    bad = [
        {**line, "survey": "0" * 64},
        {**line, "respondent": "me"},
        {**line, "responses": {**line["responses"], "party": "01"}},
        {**line, "responses": {**line["responses"], "diet": "bread"}},
        {**line, "responses": {"diet": "meat"}},
    ]
    with pytest.raises(InvalidInput, match="must have responses, got none"):
        read_responses(asked, map(json.dumps, bad))


@pytest.mark.parametrize(
    ("counts", "respondents", "says"),
    [((2, 3), 4, "add up to the 4 respondents"), ((-1, 5), 4, "from 0 to"), ((1, 1, 2), 4, "each of the 2 values")],
)
def test_counts_that_no_respondents_could_give_are_refused(
    counts: tuple[int, ...], respondents: int, says: str
) -> None:
    with pytest.raises(InvalidInput, match=says):
        estimates(Design("warner", 2, THREE), counts, respondents)


def test_a_question_reads_what_it_wrote() -> None:
    for question in survey().questions:
        for response in question.design.responses():
            assert question.read(question.written(response)) == response
    assert Question("q", "?", ("a", "b"), Design("oue", 2, THREE)).written((0, 1)) == "01"


def test_a_design_that_says_nothing_is_refused() -> None:
    with pytest.raises(InvalidInput, match="at 1 a response says nothing"):
        Design("warner", 2, Fraction(1))


@pytest.mark.parametrize("ratio", [Fraction(3), 1 + Fraction(1, 999), 1 + Fraction(1, 10**9), Fraction(10**12, 7)])
def test_the_logarithm_of_a_ratio_is_never_too_small(ratio: Fraction) -> None:
    exact = Context(prec=80).ln(Context(prec=80).divide(Decimal(ratio.numerator), Decimal(ratio.denominator)))
    assert 0 <= Decimal(log_above(ratio)) - exact <= exact * Decimal("1e-15")


def test_the_logarithm_of_a_rounded_ratio_is_too_small() -> None:
    """The control: near 1, the next float above it is not enough."""
    ratios = [1 + Fraction(1, n) for n in range(1_001, 1_200)]
    digits = Context(prec=80)
    exact = [digits.ln(digits.divide(Decimal(ratio.numerator), Decimal(ratio.denominator))) for ratio in ratios]
    rounded = [Decimal(nextafter(log(ratio), inf)) for ratio in ratios]
    assert any(short < right for short, right in zip(rounded, exact, strict=True))
