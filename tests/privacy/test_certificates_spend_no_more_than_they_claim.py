"""A certificate is one number that one record changes by 1, with the noise that is charged, and nothing else."""

from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from deniable.foundation.domain import Attribute, Codes, Domain
from deniable.foundation.keys import ReleaseKey
from deniable.foundation.noise import DiscreteGaussian, DiscreteLaplace
from deniable.learners import certified
from deniable.learners.certificate_costs import CertificateCost
from deniable.learners.certified import noisy_error
from deniable.learners.mst.spec import Entry as Mst
from deniable.learners.registry import LEARNERS, entries, steps_of
from deniable.measurements.certificate import (
    Certificate,
    Workload,
    largest_error,
    margin,
    scaled,
)
from deniable.measurements.noisy_tables import NoiseLaw
from deniable.mechanisms import PlannedStep
from deniable.privacy.accounting import best
from deniable.privacy.common_events import CERTIFICATE
from deniable.privacy.composition import epsilon_to_zcdp
from deniable.privacy.loss import DiscreteGaussianEvent, DiscreteLaplaceEvent
from tests.drawn_noise import OneStream
from tests.extent import drawn

FALSE_ALARM = 1e-9
Counts = NDArray[np.int64]
Score = Callable[[Codes, Sequence[Counts]], int]

SIZES = (3, 2, 4)
PAIRS = tuple(combinations(range(len(SIZES)), 2))
DOMAIN = Domain(
    tuple(
        Attribute(f"a{i}", tuple(range(size)), "nominal", tuple(range(size)))
        for i, size in enumerate((3, 2, 4, 5, 2, 3))
    ),
    target="a1",
)
WORKLOAD = Workload(PAIRS)


def counted(codes: Codes) -> list[Counts]:
    """The exact counts of all pairs."""
    tables = []
    for i, j in PAIRS:
        table = np.zeros((SIZES[i], SIZES[j]), np.int64)
        np.add.at(table, (codes[:, i], codes[:, j]), 1)
        tables.append(table)
    return tables


def honest(codes: Codes, population: Sequence[Counts]) -> int:
    """What is certified: the model's counts are scaled to a number that was released, here 40."""
    return largest_error(counted(codes), [scaled(own, 40, 1000) for own in population])


def of_large_cells(codes: Codes, population: Sequence[Counts]) -> int:
    """The workload is the cells that hold enough records, by the exact counts."""
    return max(
        (
            abs(int(count) - int(own))
            for table, other in zip(counted(codes), population, strict=True)
            for count, own in zip(table.ravel(), scaled(other, 40, 1000).ravel(), strict=True)
            if count >= 5
        ),
        default=0,
    )


def of_all_pairs_together(codes: Codes, population: Sequence[Counts]) -> int:
    """The errors of the pairs are added up."""
    model = [scaled(own, 40, 1000) for own in population]
    return sum(largest_error([table], [own]) for table, own in zip(counted(codes), model, strict=True))


def largest_change(score: Score) -> int:
    """The largest change by one record, over all neighbours of many small tables and models."""
    draw, most = np.random.default_rng(list(b"neighbours")), 0
    everyone = np.stack(np.meshgrid(*map(np.arange, SIZES), indexing="ij"), axis=-1).reshape(-1, len(SIZES))
    for _ in range(drawn(40, least=10)):
        shares = [draw.dirichlet(np.full(SIZES[i] * SIZES[j], 0.3)) for i, j in PAIRS]
        population = [
            draw.multinomial(1000, own).reshape(SIZES[i], -1) for own, (i, _) in zip(shares, PAIRS, strict=True)
        ]
        codes = (draw.integers(1 << 16, size=(40, len(SIZES))) % SIZES).astype(np.uint16)
        known = score(codes, population)
        fewer = [np.delete(codes, row, axis=0) for row in range(len(codes))]
        more = [np.concatenate([codes, each[None].astype(np.uint16)]) for each in everyone]
        most = max(most, *(abs(score(other, population) - known) for other in (*fewer, *more)))
    return most


def test_one_record_changes_the_largest_error_by_one() -> None:
    assert largest_change(honest) == 1


@pytest.mark.parametrize("broken", [of_large_cells, of_all_pairs_together])
def test_numbers_that_one_record_changes_by_more_are_found(broken: Score) -> None:
    assert largest_change(broken) > 1


def planned(kind: str, asked: dict[str, Any]) -> PlannedStep:
    entry = next(each for each in entries() if each.model_fields["kind"].annotation.__args__ == (kind,))
    *_, step = steps_of(entry.model_validate({"kind": kind, **asked}), DOMAIN, lambda delta: delta)
    return step


CASES = [
    ("loglinear", "gaussian", {"noise": "gaussian"}, {"epsilon": 1, "delta": 1e-9}),
    ("loglinear", "laplace", {"noise": "laplace"}, {"epsilon": 1, "delta": 1e-9}),
    ("loglinear", "laplace", {"noise": "auto"}, {"epsilon": 3, "delta": 1e-9}),
    ("mst", "gaussian", {}, {"epsilon": 2, "delta": 1e-6}),
    ("aim", "gaussian", {"workload": "pairs"}, {"epsilon": 0.5, "delta": 1e-6}),
    ("privbayes", "laplace", {"structure": {"epsilon": 1, "degree": 2}}, {"epsilon": 1}),
    ("pegs_noisy", "laplace", {}, {"epsilon": 1}),
]


@pytest.mark.parametrize(("kind", "noise", "asked", "budget"), CASES)
@pytest.mark.parametrize("share", ["1/1000", "1/100", "1/2"])
def test_model_and_certificate_together_stay_within_the_budget_of_the_parameters(
    kind: str, noise: str, asked: dict[str, Any], budget: dict[str, Any], share: str
) -> None:
    whole, delta = Fraction(str(budget["epsilon"])), Fraction(str(budget.get("delta", 0)))
    alone = planned(kind, {**asked, "parameters": {**budget, "epsilon": str(whole * (1 - Fraction(share)))}})
    step = planned(kind, {**asked, "parameters": budget, "certificate": {"share": share}})
    *others, event = step.events
    assert tuple(others) == alone.events
    assert step.guarantee == best(step.events, delta)
    assert step.guarantee.epsilon <= float(whole) * (1 + 1e-12)
    assert (event.query, event.outputs) == (CERTIFICATE, 1)
    if isinstance(event, DiscreteGaussianEvent):
        assert noise == "gaussian"
        rho = float(Fraction(share)) * epsilon_to_zcdp(float(whole), float(delta))
        assert 1 <= 2 * rho * float(event.variance) / event.sensitivity**2 < 1.002
    else:
        assert noise == "laplace"
        assert isinstance(event, DiscreteLaplaceEvent)
        assert event.sensitivity / event.scale == Fraction(share) * whole
    assert event.sensitivity == 1
    assert step.parameters["certificate"] == [noise, getattr(event, "scale", None) or event.variance]  # type: ignore[attr-defined]


LAWS = [NoiseLaw("gaussian", Fraction(9)), NoiseLaw("laplace", Fraction(5, 2))]


def p_value(noise: NDArray[np.int64], law: DiscreteGaussian | DiscreteLaplace) -> float:
    reach = 9
    middle = range(1 - reach, reach)
    expected = [law.tail(reach), *(law.probability(z) for z in middle), law.tail(reach)]
    clipped = np.clip(noise, -reach, reach)
    observed = [int((clipped == z).sum()) for z in range(-reach, reach + 1)]
    return float(stats.chisquare(observed, np.array(expected) / sum(expected) * len(noise)).pvalue)


@pytest.mark.parametrize("stated", LAWS)
def test_a_certificate_has_the_noise_that_is_charged(stated: NoiseLaw) -> None:
    codes = np.random.default_rng(1).integers(2, size=(50, 3)).astype(np.uint16)
    tables, stream = counted(codes), OneStream("certificates")
    model = [np.zeros_like(own) for own in tables]
    truth = max(int(own.max()) for own in tables)
    noise = np.array(
        [
            noisy_error(tables, model, stated, stream, DOMAIN, WORKLOAD) - truth
            for _ in range(drawn(20_000, least=8_000))
        ]
    )
    law = DiscreteGaussian if stated.law == "gaussian" else DiscreteLaplace
    assert p_value(noise, law(stated.amount)) > FALSE_ALARM
    narrower = Fraction(81, 100) if stated.law == "gaussian" else Fraction(9, 10)
    assert p_value(noise, law(stated.amount * narrower)) < FALSE_ALARM, "narrower noise would be noticed"


@pytest.mark.parametrize("stated", LAWS)
@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
def test_a_bound_is_exceeded_as_seldom_as_it_says_and_no_smaller_one_is(stated: NoiseLaw, level: float) -> None:
    law = (DiscreteGaussian if stated.law == "gaussian" else DiscreteLaplace)(stated.amount)
    q = margin(stated, level)
    assert law.tail(q + 1) <= 1 - level
    assert q == 0 or law.tail(q) > 1 - level


class Rows:
    """Counts rows that are held in memory, and notes what was counted."""

    def __init__(self, codes: Codes) -> None:
        self.codes, self.names = codes, list[str]()

    def count(self, empty: Callable[[], Any], name: str) -> Any:
        self.names.append(name)
        tally = empty()
        tally.add(self.codes)
        return tally

    def advance(self, amount: int) -> None:
        pass


def people(rows: int, name: bytes) -> Codes:
    draw = np.random.default_rng(list(name))
    hidden = draw.integers(3, size=rows)
    columns = [
        (hidden * (i + 1) + draw.integers(size, size=rows)) % size for i, size in enumerate(DOMAIN.cardinalities)
    ]
    return np.stack(columns, axis=1).astype(np.uint16)


@pytest.fixture
def small_population(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(certified, "POPULATION", 5_000)
    monkeypatch.setattr(certified, "_BLOCK", 2_000)


@pytest.mark.usefixtures("small_population")
def test_nothing_but_the_noisy_number_depends_on_the_rows_once_the_model_is_fixed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The model of one table, certified against others: with the number forced, the document is the same."""
    entry = Mst.model_validate({"kind": "mst", "parameters": {"epsilon": 2, "delta": 1e-6}, "certificate": {}})
    [step] = steps_of(entry, DOMAIN, lambda delta: delta)
    open_stream = partial(ReleaseKey(bytes(range(32))).stream, step="learn", inputs="people")
    counter = Rows(people(2_000, b"these"))
    made = step.run(counter, {}, open_stream)
    assert counter.names[-1] == "certificate"
    assert counter.names.count("certificate") == 1
    [learnt] = steps_of(certified.without_certificate(entry), DOMAIN, lambda delta: delta)
    products = learnt.run(Rows(people(2_000, b"these")), {}, open_stream).products
    assert products == {name: own for name, own in made.products.items() if name != "certificate"}
    [fixed] = [
        certified.certified(
            PlannedStep(**{**vars(learnt), "run": lambda *_: certified.Made(products=products)}),
            entry,
            DOMAIN,
            lambda d: d,
        )
    ]
    found = [fixed.run(Rows(people(rows, name)), {}, open_stream).products["certificate"] for rows, name in OTHERS]
    assert found[0] == made.products["certificate"]
    assert len({each["released"] for each in found}) > 1, "it does depend on the rows"
    monkeypatch.setattr(certified, "noisy_error", lambda *_: 77)
    forced = [fixed.run(Rows(people(rows, name)), {}, open_stream).products["certificate"] for rows, name in OTHERS]
    assert all(each == forced[0] for each in forced)


OTHERS = [(2_000, b"these"), (1_999, b"these"), (2_000, b"others"), (1, b"one")]


def test_the_bound_holds_as_often_as_it_says() -> None:
    """Over many keys, for the largest error itself; and a bound without the margin would be missed half the time."""
    law, cost = NoiseLaw("gaussian", Fraction(400)), []
    codes = people(500, b"bounded")[:, :3] % np.array(SIZES)
    tables, stream = counted(codes.astype(np.uint16)), OneStream("bounds")
    model = [np.full_like(own, 20) for own in tables]
    truth = largest_error(tables, model)
    for _ in range(times := 2_000):
        released = noisy_error(tables, model, law, stream, DOMAIN, WORKLOAD)
        made = Certificate(DOMAIN, "parameters", WORKLOAD, 500, 1000, tuple(model), released, law)
        cost.append((made.bound() >= truth, max(0, released) >= truth))
    held, without = np.sum(cost, axis=0)
    assert stats.binom.sf(held - 1, times, 1) == 0 or stats.binom.cdf(held, times, 0.95) > FALSE_ALARM
    assert stats.binom.sf(held - 1, times, 0.97) > FALSE_ALARM, "nor is it much too wide"
    assert stats.binom.cdf(without, times, 0.95) < FALSE_ALARM


def test_the_noise_is_laplace_where_all_else_is_pure() -> None:
    cost = CertificateCost(Fraction(1), Fraction(1, 10**6), Fraction(1, 50))
    pure = DiscreteLaplaceEvent(query="", part="", outputs=1, sensitivity=1, scale=Fraction(1))
    other = DiscreteGaussianEvent(query="", part="", outputs=1, sensitivity=1, variance=Fraction(1))
    assert cost.noise([pure]) == "laplace"
    assert cost.noise([pure, other]) == "gaussian"
    assert CertificateCost(Fraction(1), Fraction(0), Fraction(1, 50)).noise([other]) == "laplace"
    assert len(LEARNERS) > 10


@pytest.mark.parametrize("epsilon", ["1/1000", "1/7", "1", "20"])
def test_the_variance_is_rounded_up_to_four_digits(epsilon: str) -> None:
    cost = CertificateCost(Fraction(epsilon), Fraction(1, 10**6), Fraction(1, 50))
    exact = 1 / (2 * 0.02 * epsilon_to_zcdp(float(cost.epsilon), 1e-6))
    found = cost.amount("gaussian")
    digits = Decimal(found.numerator) / found.denominator
    assert len(digits.normalize().as_tuple().digits) <= 4
    assert exact < found <= exact * (1 + 1e-3)
