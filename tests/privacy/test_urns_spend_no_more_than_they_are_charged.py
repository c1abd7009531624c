"""Draws from urns spend no more than they are charged: laws enumerated exactly, with wrong urns that exceed it."""

from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import product
from math import exp, lgamma

import numpy as np
import pytest
from scipy import stats

from deniable.foundation.errors import InvalidInput
from deniable.foundation.keys import ReleaseKey, WordStream
from deniable.foundation.tables import FamilyCounts
from deniable.learners.multinomial_sets.plan import plan_of as sets_plan_of
from deniable.learners.origin_destination.plan import FlowsPlan
from deniable.learners.pegs.draws import urns_of
from deniable.learners.pegs.plan import DrawsPlan
from deniable.models import urns as kernels
from deniable.models.urns import EVEN, Urns, draw_blocks, draw_polya
from deniable.privacy.urn_costs import UNIT, prior_for, require_mass, urn_epsilon
from tests.privacy.broken_twins import private_seeds
from tests.urn_law import Record, all_records, block_probability, plain_domain

FALSE_ALARM = 1e-9
DOMAIN = plain_domain(2, 2, 3)
KEYS = ((1,), (0,), (1, 0))
ROWS: list[Record] = [(0, 0, 0), (0, 0, 1), (0, 1, 1), (1, 0, 1), (1, 1, 1), (1, 1, 2), (0, 1, 2), (1, 1, 1)]
SPARSE = (ROWS[:0], ROWS[:1], ROWS)
"""No record, one record, and eight: the largest ratios are at empty rows beside full ones."""
LETTERS = plain_domain(2, 2)
LETTER_KEYS = ((1,), (0,))


def same(prior: Fraction) -> Callable[[int, list[int]], Fraction]:
    return lambda _, __: prior


def worst(ratios: Iterator[Fraction]) -> Fraction:
    return max(max(ratio, 1 / ratio) for ratio in ratios)


def test_one_record_costs_no_more_than_its_charge() -> None:
    plan = DrawsPlan(DOMAIN, 1, Fraction(1))
    (prior,) = set(plan.priors)
    law = same(Fraction(prior, UNIT))
    records = all_records(DOMAIN)

    def found(rows: list[Record]) -> Fraction:
        return worst(
            block_probability([*rows, added], DOMAIN, KEYS, law, seed, [out])
            / block_probability(rows, DOMAIN, KEYS, law, seed, [out])
            for added, seed, out in product(records, records[::5], records)
        )

    assert float(found(ROWS)) == pytest.approx(1.6495378411299624, rel=1e-6)
    for rows in SPARSE:
        assert found(rows) <= Fraction(exp(float(plan.block_epsilon)))


def block_worst(rows: list[Record], prior: Fraction, *, length: int, most: int, adds: int = 1) -> Fraction:
    """The largest ratio over all added records and all blocks of two binary attributes."""
    letters, law = all_records(LETTERS), same(prior)

    def ratio(added: Record, block: tuple[Record, ...]) -> Fraction:
        there, without = (
            block_probability(table, LETTERS, LETTER_KEYS, law, (0, 0), block, most=most, adds=adds)
            for table in ([*rows, added], rows)
        )
        return there / without

    return worst(ratio(added, block) for added in letters for block in product(letters, repeat=length))


@pytest.mark.parametrize("rows", [[], [(0, 1)] * 6 + [(1, 0)] * 6], ids=["no record", "records elsewhere"])
@pytest.mark.parametrize(("length", "most"), [(1, 1), (3, 1), (3, 2), (4, 2), (3, 3)])
def test_a_block_costs_no_more_than_its_charge_however_long_it_is(rows: list[Record], length: int, most: int) -> None:
    prior = prior_for(Fraction(1), most)
    charged = 2 * urn_epsilon(prior, most)
    assert block_worst(rows, Fraction(prior, UNIT), length=length, most=most) <= Fraction(exp(float(charged)))


def test_the_charge_of_an_urn_is_tight() -> None:
    prior = prior_for(Fraction(1), 3)
    far = [(0, 1)] * 60 + [(1, 0)] * 60
    assert block_worst(far, Fraction(prior, UNIT), length=3, most=3) > Fraction(exp(1)) * Fraction(9, 10)


def test_wrong_urns_cost_more() -> None:
    """Rows that are never reset; three draws without the urn's update at the price of one urn; half of alpha."""
    rows = [(0, 1)] * 20 + [(1, 0)] * 20
    prior = Fraction(prior_for(Fraction(1)), UNIT)
    charged = Fraction(exp(float(2 * urn_epsilon(prior_for(Fraction(1))))))
    assert block_worst(rows, prior, length=3, most=1) <= charged
    assert block_worst(rows, prior, length=3, most=3, adds=0) > charged, "never reset"
    of_three = Fraction(prior_for(Fraction(1), 3), UNIT)
    assert block_worst(rows, of_three, length=3, most=3) <= charged
    assert block_worst(rows, of_three / 2, length=3, most=3) > charged, "half of alpha"
    assert block_worst(rows, prior, length=3, most=3) > charged, "three draws charged as one"


def test_seeds_from_the_data_cost_more() -> None:
    """A seed that is a record of the table tells of it, whatever the urns do: no charge of theirs covers that."""
    prior = prior_for(Fraction(1, 3))
    charged = Fraction(exp(float(6 * urn_epsilon(prior))))
    outputs: list[Record] = [(*first, 0, 0, 0) for first in product(range(2), repeat=3)]
    tables = ([*private_seeds.RECORDS, private_seeds.TARGET], private_seeds.RECORDS)
    private = [private_seeds.law(rows, Fraction(prior, UNIT), outputs) for rows in tables]
    assert worst(one / other for one, other in zip(*private, strict=True)) > 2 * charged
    public = [
        [
            block_probability(
                rows, private_seeds.DOMAIN, private_seeds.KEYS, same(Fraction(prior, UNIT)), private_seeds.TARGET, [out]
            )
            for out in outputs
        ]
        for rows in tables
    ]
    assert worst(one / other for one, other in zip(*public, strict=True)) <= charged


def stream(name: str) -> WordStream:
    return ReleaseKey(bytes(range(32))).stream(step="test", mechanism=name, inputs="", parameters={})


def urns(rows: list[Record], prior: int, weights: dict[str, list[int]] | None = None) -> Urns:
    counts = FamilyCounts(DOMAIN, KEYS)
    counts.add(np.asarray(rows, np.uint16).reshape(len(rows), len(DOMAIN)))
    document = {
        "format": "deniable/urns/1",
        "attributes": [
            {
                "name": name,
                "key": [DOMAIN.names[other] for other in key],
                "seed_weights": (weights or {}).get(name, []),
            }
            for name, key in zip(DOMAIN.names, KEYS, strict=True)
        ],
    }
    priors = [np.full(len(table), prior, np.int64) for table in counts.tables]
    return urns_of(DOMAIN, document, counts.tables, priors)


def p_value(observed: dict[tuple[Record, ...], int], law: dict[tuple[Record, ...], Fraction], draws: int) -> float:
    """How likely counts as far from a law are, outcomes that are expected less than 5 times together."""
    often = [outcome for outcome, share in law.items() if share * draws >= 5]
    seen = [observed.get(outcome, 0) for outcome in often]
    expected = [float(law[outcome] * draws) for outcome in often]
    seen, expected = [*seen, draws - sum(seen)], [*expected, draws - sum(expected)]
    kept = slice(None) if expected[-1] >= 5 else slice(-1)
    scale = sum(seen[kept]) / sum(expected[kept])
    return float(stats.chisquare(seen[kept], np.array(expected[kept]) * scale).pvalue)


@pytest.mark.parametrize(("block", "most", "weights"), [(1, 1, {"a2": [1, 5, 2]}), (2, 1, {}), (2, 2, {"a0": [3, 1]})])
def test_the_kernel_draws_blocks_by_their_law(block: int, most: int, weights: dict[str, list[int]]) -> None:
    prior = UNIT * 7 // 10
    number = 40_000
    drawn = draw_blocks(stream(f"{block} {most}"), urns(ROWS, prior, weights), number * block, block=block, most=most)
    assert drawn.shape == (number * block, len(DOMAIN))
    observed: dict[tuple[Record, ...], int] = {}
    for each in drawn.reshape(number, block, len(DOMAIN)).tolist():
        made = tuple(tuple(record) for record in each)
        observed[made] = observed.get(made, 0) + 1
    starts = {
        seed: Fraction(
            np.prod([weights.get(f"a{i}", [1] * 3)[value] for i, value in enumerate(seed)]).item(),
            np.prod([sum(weights.get(f"a{i}", [1] * size)) for i, size in enumerate(DOMAIN.cardinalities)]).item(),
        )
        for seed in all_records(DOMAIN)
    }

    def law(prior: Fraction, most: int) -> dict[tuple[Record, ...], Fraction]:
        records = all_records(DOMAIN)
        return {
            blocks: sum(
                (
                    share * block_probability(ROWS, DOMAIN, KEYS, same(prior), seed, blocks, most=most)
                    for seed, share in starts.items()
                ),
                Fraction(0),
            )
            for blocks in product(records, repeat=block)
        }

    right = law(Fraction(7, 10), most)
    assert sum(right.values()) == 1
    assert p_value(observed, right, number) > FALSE_ALARM
    assert p_value(observed, law(Fraction(5, 10), most), number) < FALSE_ALARM, "another alpha would be noticed"
    if block > 1:
        assert p_value(observed, law(Fraction(7, 10), 3 - most), number) < FALSE_ALARM, "and so would other resets"


def test_rows_that_are_even_and_rows_without_weights_give_all_values_alike() -> None:
    for prior in (EVEN, 0):
        drawn = draw_blocks(stream(f"even {prior}"), urns([], prior), 30_000)
        counts = np.bincount(np.ravel_multi_index(tuple(drawn.T.astype(int)), DOMAIN.cardinalities), minlength=12)
        assert stats.chisquare(counts).pvalue > FALSE_ALARM


def test_blocks_are_the_same_however_many_are_drawn_at_once() -> None:
    whole = draw_blocks(stream("parts"), urns(ROWS, UNIT), 6001, block=3, most=2)
    first = draw_blocks(stream("parts"), urns(ROWS, UNIT), 3000, block=3, most=2)
    assert (whole[:3000] == first).all()


@pytest.mark.parametrize(("counts", "values", "prior"), [((5, 0, 2), 3, UNIT), ((1, 3), 6, UNIT // 3), ((), 4, UNIT)])
def test_a_polya_urn_draws_by_the_dirichlet_multinomial_law(counts: tuple[int, ...], values: int, prior: int) -> None:
    runs, draws, words = 20_000, 4, stream(f"polya {values}")
    first = np.asarray(counts, np.int64)
    observed: dict[tuple[int, ...], int] = {}
    for _ in range(runs):
        made = np.bincount(draw_polya(words, first, prior, draws, values=values), minlength=values)
        observed[tuple(made.tolist())] = observed.get(tuple(made.tolist()), 0) + 1
    alpha = np.array([*counts, *[0] * (values - len(counts))]) + prior / UNIT

    def log_law(made: tuple[int, ...], alpha: np.ndarray) -> float:
        ways = lgamma(draws + 1) - sum(lgamma(number + 1) for number in made)
        whole = lgamma(alpha.sum()) - lgamma(alpha.sum() + draws)
        return ways + whole + sum(lgamma(a + number) - lgamma(a) for a, number in zip(alpha, made, strict=True))

    outcomes = [made for made in product(range(draws + 1), repeat=values) if sum(made) == draws]
    for shift, fits in ((0, True), (0.4, False)):
        expected = np.array([exp(log_law(made, alpha + shift)) for made in outcomes]) * runs
        often = expected >= 5
        seen = np.array([observed.get(made, 0) for made in outcomes])
        pairs = [np.append(each[often], each[~often].sum()) for each in (seen, expected)]
        kept = pairs[1] >= 5
        found, right = pairs[0][kept], pairs[1][kept]
        assert (stats.chisquare(found, right * found.sum() / right.sum()).pvalue > FALSE_ALARM) == fits


WRAPS = 4096, 10_000, Fraction("0.00000232830372603748")
"""Cells, draws and an epsilon at which the prior weights sum to little more than 2^64."""


def test_prior_weights_that_wrap_around_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    cells, draws, epsilon = WRAPS
    prior = prior_for(epsilon, draws)
    assert 0 <= (prior * cells + (1 << 30)) % (1 << 64) < 1 << 31, "modulo 2^64 next to nothing is left of them"
    counts = np.zeros(cells, np.int64)
    counts[[5, 77]] = 6000, 4000
    with pytest.raises(InvalidInput, match="must fit into 64 bits"):
        draw_polya(stream("wraps"), counts, prior, draws)
    with pytest.raises(InvalidInput, match="must fit into 64 bits"):
        sets_plan_of({"sets": 1, "epsilon": epsilon, "shared": False}, plain_domain(*(2,) * 12), draws)
    for totals in (None, (draws, 7)):
        with pytest.raises(InvalidInput, match="must fit into 64 bits"):
            FlowsPlan(2, cells, epsilon, totals=totals).require_mass(draws)
    require_mass(prior, cells // 8, draws)
    monkeypatch.setattr(kernels, "require_mass", lambda *_: None)
    assert set(draw_polya(stream("wraps"), counts, prior, draws).tolist()) == {5, 77}, (
        "else records come out as they are"
    )
