"""The Poisson form of Mechanism 1 releases Poisson numbers of every record, with the means that Theorem P is about."""

from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from deniable.foundation.domain import Attribute, Codes, Domain
from deniable.foundation.errors import InvalidInput
from deniable.foundation.keys import Parameter, ReleaseKey, WordStream
from deniable.learners.cfs.parameters import integer_weights
from deniable.models.bayes_net import BayesNet
from deniable.models.graph import Graph, topological_order
from deniable.plausible_deniability.pass_law import PassLaw, law_within
from deniable.plausible_deniability.plausible_seeds import SeedIndex
from deniable.plausible_deniability.poisson_attempts import (
    prefix_probabilities,
    release_from_seeds,
    wide_words,
    without_passed,
)
from deniable.privacy.loss import PASSES_OUT_OF
from deniable.samplers.poisson_seeds import sampler as poisson_sampler
from deniable.samplers.poisson_seeds.sampler import _open, law_of, sampler
from deniable.samplers.poisson_seeds.spec import Entry
from deniable.samplers.raked_goals import goals_for

FALSE_ALARM = 1e-9
DOMAIN = Domain(
    (
        Attribute("a", (0, 1), "nominal", (0, 1)),
        Attribute("b", (0, 1, 2), "nominal", (0, 1, 1)),
        Attribute("c", (0, 1), "nominal", (0, 1)),
    )
)
PARENTS = ((), (0,), (1,))
TABLES = ([[0.7, 0.3]], [[0.5, 0.25, 0.25], [0.1, 0.1, 0.8]], [[0.9, 0.1], [0.4, 0.6]])
NET = BayesNet(
    DOMAIN,
    Graph(PARENTS, topological_order(DOMAIN, PARENTS), ((), (0.5,), (0.5,))),
    tuple(integer_weights(np.array(table)) for table in TABLES),
)
SEEDS = np.array([[0, 0, 0]] * 5 + [[0, 1, 0]] * 3 + [[1, 2, 1]] * 4 + [[1, 0, 0]] + [[0, 2, 1]] * 2, np.uint16)
LAW = PassLaw(2, (PASSES_OUT_OF // 4, PASSES_OUT_OF // 2, 3 * (PASSES_OUT_OF // 4)))
TAU = Fraction(2, 3)
RUNS = 1500


def stream(name: str, chunk: int = 0) -> WordStream:
    key = ReleaseKey(bytes(range(32)))
    return key.stream(step="test", mechanism=name, inputs="", parameters={}, chunk=chunk)


def index(omega: int) -> SeedIndex:
    return SeedIndex.build(NET.in_order(SEEDS), {omega: 1})


def chance_of_rest(record: tuple[int, ...], length: int) -> float:
    """Probability of a record's values after the prefix, from the tables by hand."""
    a, b, c = record
    factors = (TABLES[0][0][a], TABLES[1][a][b], TABLES[2][(0, 1, 1)[b]][c])
    return float(np.prod(factors[length:]))


def means(length: int, *, tau: Fraction = TAU, law: PassLaw = LAW) -> dict[tuple[int, ...], float]:
    """Mean number released of each record: tau c q(c) times the probability of its completion."""
    rows = [tuple(row) for row in SEEDS.tolist()]
    found = {}
    for record in product(range(2), range(3), range(2)):
        count = sum(row[:length] == record[:length] for row in rows)
        passes = float(law.probability(np.array([count]))[0])
        found[record] = float(tau) * count * passes * chance_of_rest(record, length)
    return found


@lru_cache
def released(omega: int) -> list[Codes]:
    at = index(omega)
    return [release_from_seeds(NET, at, LAW, TAU, stream(f"release {omega}", run)) for run in range(RUNS)]


def p_value(seen: NDArray[np.int64], mean: float) -> float:
    """Of a total of Poisson numbers, on both sides."""
    total = int(seen.sum())
    return float(2 * min(stats.poisson.cdf(total, RUNS * mean), stats.poisson.sf(total - 1, RUNS * mean)))


@pytest.mark.parametrize("omega", [1, 2])
def test_every_record_is_released_a_poisson_number_of_times(omega: int) -> None:
    runs, length = released(omega), 3 - omega
    expected = means(length)
    for record, mean in expected.items():
        seen = np.array([int((codes == record).all(axis=1).sum()) for codes in runs])
        if mean == 0:
            assert not seen.any()
            continue
        assert p_value(seen, mean) > FALSE_ALARM / len(expected)
        # The variance of a Poisson number is its mean; that of a fixed number of attempts would be smaller.
        dispersion = seen.var() / mean
        assert abs(dispersion - 1) < 6.5 * np.sqrt((2 + 1 / mean) / RUNS)


def test_another_number_of_attempts_or_another_law_would_be_noticed() -> None:
    """Positive controls: a tenth more attempts, and a law that counts one row more."""
    totals = np.array([len(codes) for codes in released(1)])
    assert p_value(totals, sum(means(2).values())) > FALSE_ALARM
    assert p_value(totals, 1.1 * sum(means(2).values())) < FALSE_ALARM
    assert p_value(totals, sum(means(2, law=PassLaw(1, LAW.passes)).values())) < FALSE_ALARM


def test_numbers_of_different_prefixes_are_independent() -> None:
    runs = released(2)
    first = np.array([(codes[:, 0] == 0).sum() for codes in runs])
    second = np.array([(codes[:, 0] == 1).sum() for codes in runs])
    z = np.corrcoef(first, second)[0, 1] * np.sqrt(RUNS)
    assert abs(z) < stats.norm.isf(FALSE_ALARM / 2)


def test_no_record_with_fewer_plausible_seeds_than_the_floor_is_released() -> None:
    """With a floor of 4: one row has prefix (1, 0) and three have (0, 1), so that neither is ever released."""
    law = PassLaw(4, ())
    for run in range(300):
        codes = release_from_seeds(NET, index(1), law, Fraction(3), stream("floor", run))
        assert {tuple(row) for row in codes[:, :2].tolist()} <= {(0, 0), (1, 2)}


def test_the_same_stream_releases_the_same_records() -> None:
    first, second = (release_from_seeds(NET, index(1), LAW, TAU, stream("same")) for _ in range(2))
    assert first.tolist() == second.tolist()


def test_prefixes_of_several_lengths_are_refused() -> None:
    several = SeedIndex.build(NET.in_order(SEEDS), {1: 1, 2: 1})
    with pytest.raises(InvalidInput, match="prefixes of one length"):
        release_from_seeds(NET, several, LAW, TAU, stream("several"))


def test_records_of_the_model_alone_are_thinned_to_those_that_do_not_pass() -> None:
    words = stream("fill")
    records = NET.sample(words.take(3 * 60_000))
    kept = without_passed(NET, LAW, records, 2, public_rows=15, coins=wide_words(words, len(records)))
    for a, b in product(range(2), range(3)):
        drawn = int(((records[:, 0] == a) & (records[:, 1] == b)).sum())
        left = int(((kept[:, 0] == a) & (kept[:, 1] == b)).sum())
        expected = int(15 * chance_of_rest((a, b, 0), 0) / TABLES[2][(0, 1, 1)[b]][0] + 1e-9)
        passes = float(LAW.probability(np.array([expected]))[0])
        assert stats.binomtest(left, drawn, 1 - passes).pvalue > FALSE_ALARM / 6
        if 0 < passes < 1:
            assert stats.binomtest(left, drawn, passes / 2).pvalue < FALSE_ALARM


def test_probabilities_of_prefixes_are_products_of_the_tables() -> None:
    records = np.array(list(product(range(2), range(3), range(2))), np.uint16)
    for length in range(4):
        found = prefix_probabilities(NET, records, length)
        expected = [
            float(
                np.prod(
                    [
                        chance_of_rest(tuple(row), place) / chance_of_rest(tuple(row), place + 1)
                        for place in range(length)
                    ]
                )
            )
            for row in records.tolist()
        ]
        assert found.tolist() == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("public_rows", [4, 2000])
def test_the_records_that_start_from_a_seed_are_counted(public_rows: int) -> None:
    """Seeds have a value that the model never draws, so that their records are recognized."""
    tables = ([[1.0, 0.0]], *TABLES[1:])
    net = BayesNet(DOMAIN, NET.graph, tuple(integer_weights(np.array(table)) for table in tables))
    rows = np.array([[1, 0, 0]] * 200, np.uint16)
    entry = Entry.model_validate(
        {
            "guarantee": "poisson_seeds",
            "omega": 2,
            "plausible": 4,
            "epsilon": 1,
            "delta": 1e-6,
            "public_rows": public_rows,
            "records": 300,
            "chunk_candidates": 150,
        }
    )
    law = PassLaw(4, (PASSES_OUT_OF // 2,))
    counted: list[int] = []
    asked: list[tuple[object, ...]] = []

    def opener(*, mechanism: str, parameters: Mapping[str, Parameter], chunk: int) -> WordStream:
        asked.append((mechanism, chunk, *parameters))
        return stream(mechanism, chunk)

    opened = _open(
        entry,
        law,
        {"named": 1},
        net,
        SeedIndex.build(net.in_order(rows), {2: 1}),
        opener,
        counted.append,
    )
    found = [int((opened(chunk, 150)[:, 0] == 1).sum()) for chunk in range(2)]
    assert counted == found
    assert sorted(set(asked)) == sorted(asked), "each chunk has streams of its own"
    assert set(asked) == {(name, chunk, "named") for name in ("poisson_attempts", "fill") for chunk in range(2)}
    assert all(0 < number < 150 for number in found)


def spec_entry(**changes: Any) -> Entry:
    asked = {"omega": 2, "plausible": 4, "epsilon": 1, "delta": 1e-6, "public_rows": 90_000, "records": 300}
    return Entry.model_validate({"guarantee": "poisson_seeds", **asked, "chunk_candidates": 150, **changes})


def test_streams_name_how_many_values_are_copied_and_what_decides_the_attempts() -> None:
    changes: list[dict[str, Any]] = [{}, {"omega": 1}, {"plausible": 5}, {"public_rows": 80_000}, {"records": 301}]
    named = [sampler(spec_entry(**each), DOMAIN, lambda delta: delta).prepare.parameters for each in changes]
    assert len({str(sorted(parameters.items(), key=str)) for parameters in named}) == len(changes)


def test_a_law_is_sought_within_less_than_the_total(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums of floats are rounded: a law at the total itself might cost more."""
    totals: list[float] = []

    def noting(*args: Any, epsilon: float, **asked: Any) -> PassLaw | None:
        totals.append(epsilon)
        return law_within(*args, epsilon=epsilon, **asked)

    monkeypatch.setattr(poisson_sampler, "law_within", noting)
    law_of(spec_entry(epsilon=None, total=Fraction(1)), 1e-6)
    (total,) = totals
    assert 1 - 2e-9 < total < 1 - 1e-12


@pytest.mark.parametrize(("wanted", "aimed_at"), [(100, 20_000), (2_600, 20_800), (60_000, 400_000)])
def test_raking_aims_at_the_tables_of_eight_records_for_each_that_is_wanted(wanted: int, aimed_at: int) -> None:
    """At least 20,000 and at most 400,000 records of the model, none of which is of a person."""
    words = stream("goals")
    taken: list[int] = []

    class Noting:
        def take(self, count: int) -> NDArray[np.uint32]:
            taken.append(count)
            return words.take(count)

    assert not NET.has_pair_goals
    goals_for(NET, np.zeros((5, 3), np.uint16), wanted, Noting())  # type: ignore[arg-type]
    assert taken == [aimed_at * 3]
