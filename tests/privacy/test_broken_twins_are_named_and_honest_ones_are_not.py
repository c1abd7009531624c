"""Attacks name the known faults of other programs, and never the mechanism of this project that does the same work."""

import hashlib
from collections.abc import Callable
from fractions import Fraction
from functools import cache, partial
from itertools import combinations_with_replacement, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from deniable.foundation.keys import ReleaseKey, StreamOpener
from deniable.foundation.tables import FamilyCounts
from deniable.learners.aim.scores import sensitivity
from deniable.learners.independent.histograms import Histograms
from deniable.learners.loglinear.exponential_mechanism import choose
from deniable.learners.mst.measuring import Queries
from deniable.learners.mst.plan import Layout, MstPlan, MstRecipe
from deniable.learners.pegs.orders import noisy_pairs, orders_by_information, pair_tables
from deniable.learners.pegs.plan import order_events
from deniable.learners.privbayes.conditionals import learn_tables
from deniable.learners.privbayes.plan import network_plan
from deniable.learners.privbayes.structure import NetworkSearch
from deniable.models.bayes_net import UNIT, BayesNet
from deniable.models.graph import Graph
from deniable.models.graphical.fitting import NoisyTable, fixed_total
from deniable.plausible_deniability.privacy_tests import PrivacyTest, theorem_1
from deniable.privacy.urn_costs import UNIT as URN_UNIT
from deniable.privacy.urn_costs import prior_for, urn_epsilon
from deniable.samplers.histogram_seeds.noisy_histogram import HistogramRecipe, PrefixCounts
from tests.aim_scores import RECORDS, WEIGHTS, scores_of
from tests.attacks import (
    EPSILON,
    GUESSES,
    is_audited,
    is_beyond_its_law,
    is_found_by_difference,
    is_found_by_guessing,
    is_recomputed,
    is_told_by_its_last_bits,
    people,
    secret,
)
from tests.noisy_answers import Answer, Records, Release
from tests.output_law import MULTIPLICITY, NEIGHBOURS, ROWS, AnyTest, Mechanism, random_models
from tests.privacy.broken_twins import (
    default_seed,
    degree_from_rows,
    domain_from_data,
    epsilon_of_some,
    exact_table,
    exact_total,
    float_noise,
    half_the_noise,
    monotone_scores,
    noise_of_probabilities,
    overflowing_choice,
    private_order,
    private_seeds,
    twice_epsilon,
    unkeyed_hash,
)
from tests.privacy.broken_twins.exact_threshold import ExactThreshold
from tests.urn_law import Record, block_probability, plain_domain

TWINS = Path(__file__).parent / "broken_twins"
DELTA = Fraction(1, 10**6)
plain_domain = cache(plain_domain)


def streams(release_secret: bytes, records: Records) -> StreamOpener:
    """The streams of a step whose inputs are the records; their digest is not keyed, so that attackers know it too."""
    digest = hashlib.sha256(records.tobytes()).hexdigest()
    return partial(ReleaseKey(release_secret).stream, step="learn_parameters", inputs=digest)


class Rows:
    """Counts records as a step has them counted."""

    def __init__(self, records: Records) -> None:
        self._codes = records.astype(np.uint16)

    def count(self, empty: Callable[[], Any], _name: str) -> Any:
        tally = empty()
        tally.add(self._codes)
        return tally

    def advance(self, amount: int) -> None:
        """No progress is shown."""


# The honest mechanisms, called as the twins are.


def histograms(records: Records, sizes: tuple[int, ...], epsilon: float, own: bytes) -> list[Answer]:
    """Histograms of the learner `independent`; their shares times the number of records, which the attacks know."""
    mechanism, net = _histograms(records, sizes, epsilon, own)
    shares = [weights[0].astype(float) / UNIT for weights in net.weights]
    return [Answer((i,), float(mechanism.scale), share * len(records)) for i, share in enumerate(shares)]


def _histograms(records: Records, sizes: tuple[int, ...], epsilon: float, own: bytes) -> tuple[Histograms, BayesNet]:
    domain = plain_domain(*sizes)
    mechanism = Histograms(domain, Fraction(epsilon), bins=max(sizes))
    parents = ((),) * len(sizes)
    graph = Graph(parents=parents, order=tuple(range(len(sizes))), similarity=parents)
    counts = Rows(records).count(partial(FamilyCounts, domain, parents), "parameters")
    return mechanism, mechanism.run(counts, graph, streams(own, records))


def pairs(records: Records, sizes: tuple[int, ...], epsilon: float, own: bytes) -> list[Answer]:
    """The noisy tables of pairs by which the perturbed Gibbs sampler measures its orders."""
    domain = plain_domain(*sizes)
    tables = Rows(records).count(partial(pair_tables, domain), "pairs").tables
    (event,) = order_events(domain, Fraction(epsilon))
    (counts,) = noisy_pairs(domain, Fraction(epsilon), tables, streams(own, records))
    return [Answer((0, 1), float(event.scale), counts)]


def privbayes(records: Records, sizes: tuple[int, ...], epsilon: float, own: bytes) -> list[Answer]:
    """The choices of PrivBayes and its tables, half of epsilon for each."""
    plan = network_plan(
        plain_domain(*sizes),
        structure_epsilon=Fraction(epsilon) / 2,
        parameter_epsilon=Fraction(epsilon) / 2,
        degree=1,
        rows=None,
        least=Fraction(4),
        max_cells=max(sizes) ** 2,
    )
    counter, opened = Rows(records), streams(own, records)
    _, released = learn_tables(plan, NetworkSearch(plan, counter, opened).run(), counter, opened)
    return [Answer(table.attributes, float(plan.scale), table.releases[0].sums) for table in released]


def order(records: Records, sizes: tuple[int, ...], epsilon: float, own: bytes) -> tuple[int, ...]:
    """The first attribute's order by measured information."""
    domain = plain_domain(*sizes)
    tables = Rows(records).count(partial(pair_tables, domain), "pairs").tables
    return orders_by_information(domain, noisy_pairs(domain, Fraction(epsilon), tables, streams(own, records)))[0]


def values(records: Records, sizes: tuple[int, ...], epsilon: float, own: bytes) -> dict[int, int]:
    """The values of the first attribute that histograms can draw."""
    _, net = _histograms(records, sizes, epsilon, own)
    return {value: int(weight) for value, weight in enumerate(net.weights[0][0]) if weight}


def prefixes(records: Records, sizes: tuple[int, ...], epsilon: float, own: bytes) -> dict[int, int]:
    """The values of the first attribute that a histogram of prefixes lists: found in the records, above a threshold."""
    counts = PrefixCounts(plain_domain(*sizes), tuple(range(len(sizes))), 1)
    counts.add(records.astype(np.uint16))
    recipe = HistogramRecipe(
        epsilon=Fraction(epsilon), delta=DELTA, k=None, beta=None, max_rows=None, epsilon_rows=None
    )
    found = recipe.calibrate().run(counts, streams(own, records)).document()
    return {value: count for [value], count in zip(found["cells"], found["counts"], strict=True)}


@cache
def _mst(sizes: tuple[int, ...], epsilon: float) -> MstPlan:
    domain = plain_domain(*sizes)
    return MstRecipe(Fraction(epsilon), DELTA).calibrate(domain, Layout.of_cliques(domain, (), ()))


def total(records: Records, sizes: tuple[int, ...], epsilon: float, own: bytes) -> float:
    """The total of a model of MST, from its noisy tables of single attributes."""
    plan = _mst(sizes, epsilon)
    counts = Rows(records).count(partial(FamilyCounts, plan.domain, ((),) * len(sizes)), "ones")
    queries = Queries(plan, streams(own, records))
    measured = [queries.measure_one(i, table[0]) for i, table in enumerate(counts.tables)]
    return fixed_total([NoisyTable(own.attributes, own.values, own.variance**0.5) for own in measured])


def degree(_records: Records, sizes: tuple[int, ...], epsilon: float, _own: bytes) -> int:
    """The degree of PrivBayes, by the number of rows that its spec states."""
    plan = network_plan(
        plain_domain(*sizes),
        structure_epsilon=Fraction(epsilon) / 2,
        parameter_epsilon=Fraction(epsilon) / 2,
        degree=None,
        rows=1_000,
        least=Fraction(4),
        max_cells=None,
    )
    return plan.degree


def choice(scores: list[int], epsilon: float, own: bytes) -> int:
    """The exponential mechanism on integers."""
    stream = ReleaseKey(own).stream(step="test", mechanism="choice", inputs="", parameters={})
    return choose(scores, sensitivity=1, epsilon=Fraction(epsilon), stream=stream)


# What each attack makes of a mechanism: whether it names it.


def guessed(
    mechanism: Callable[..., Any],
    *,
    records: Records,
    sizes: tuple[int, ...],
    event: Callable[[Any], bool],
    delta: Fraction = Fraction(0),
) -> bool:
    """The target is the last of the records."""
    with_target, without = (
        [event(mechanism(table, sizes, EPSILON, secret(name, number))) for number in range(GUESSES)]
        for name, table in (("with", records), ("without", records[:-1]))
    )
    return is_found_by_guessing(with_target, without, float(delta))


# The target alone has the value 3.
_RARE = (
    guessed,
    {
        "records": np.array([[0, 0], [1, 1], [2, 0]] * 10 + [[3, 1]]),
        "sizes": (4, 2),
        "event": lambda listed: 3 in listed,
        "delta": DELTA,
    },
)
# The third attribute tells as much of the first as the second does, but for the target.
_ORDERED = (
    guessed,
    {
        "records": np.array([[0, 0, 0], [1, 1, 1]] * 10 + [[0, 0, 1], [0, 1, 0], [0, 1, 0]]),
        "sizes": (2, 2, 2),
        "event": lambda found: found[0] == 2,
    },
)
_COUNTED = (
    guessed,
    {
        "records": people(),
        "sizes": (64, 64),
        "event": lambda found: found > len(people()) - 0.5,
        "delta": DELTA,
    },
)
# Of three attributes, tables are useful from 128 records on if epsilon is 1.
_LEAST = guessed, {"records": np.zeros((128, 3), np.int64), "sizes": (2, 2, 2), "event": lambda found: found > 0}


def named_choice(mechanism: Callable[[list[int], float, bytes], int]) -> bool:
    """The target raises the second score by 1 and lowers the first by 1: with it the second is the better one."""
    with_target, without = [2_000, 2_001], [2_001, 2_000]
    chosen = (
        [mechanism(scores, EPSILON, secret(f"{scores}", number)) == 1 for number in range(GUESSES)]
        for scores in (with_target, without)
    )
    return is_found_by_guessing(*chosen)


def named_scores(log_law: Callable[[NDArray[np.float64], float, float], NDArray[np.float64]]) -> bool:
    def law(records: tuple[Record, ...]) -> NDArray[np.float64]:
        return np.exp(log_law(scores_of(records), sensitivity(WEIGHTS), EPSILON))

    tables = [table for size in range(4) for table in combinations_with_replacement(RECORDS, size)]
    return is_beyond_its_law(law, ((table, (*table, more)) for table in tables for more in RECORDS), EPSILON)


def log_law_of_choices(scores: NDArray[np.float64], scale: float, epsilon: float) -> NDArray[np.float64]:
    """The law of AIM's choices, which `test_the_choice_that_is_drawn_is_the_one_that_was_enumerated` holds it to."""
    return monotone_scores.log_law(scores, 2 * scale, epsilon)


def public_seed(rows: list[Record], prior: Fraction, outputs: list[Record]) -> list[Fraction]:
    """The law of a record that begins at a public seed, the very one that would tell most of the target."""
    domain, keys, seed = private_seeds.DOMAIN, private_seeds.KEYS, private_seeds.TARGET
    return [block_probability(rows, domain, keys, lambda _, __: prior, seed, [out]) for out in outputs]


def named_seeds(law_of: Callable[[list[Record], Fraction, list[Record]], list[Fraction]]) -> bool:
    prior, outputs = prior_for(Fraction(1, 3)), [(*first, 0, 0, 0) for first in product(range(2), repeat=3)]

    def law(rows: list[Record]) -> NDArray[np.float64]:
        return np.array(law_of(rows, Fraction(prior, URN_UNIT), outputs), float)

    neighbours = [(private_seeds.RECORDS, [*private_seeds.RECORDS, private_seeds.TARGET])]
    return is_beyond_its_law(law, neighbours, float(6 * urn_epsilon(prior)))


def named_test(privacy_test: AnyTest) -> bool:
    guarantee = theorem_1(k=4, gamma=2, eps0=1, t=1)
    neighbours = NEIGHBOURS[ROWS[NEIGHBOURS[:, 0]] >= 2]
    for model in random_models("broken twins", 20):
        laws = Mechanism(privacy_test).laws(model, MULTIPLICITY)[:, :-1]
        if is_beyond_its_law(laws.__getitem__, neighbours, guarantee.epsilon, guarantee.delta):
            return True
    return False


CASES: list[tuple[Callable[..., bool], Any, str, bool]] = []


def put(attack: Any, *, broken: list[Any], honest: list[Any]) -> None:
    """Put mechanisms to an attack; a twin is known by its module."""
    attack, how = attack if isinstance(attack, tuple) else (attack, {})
    for each, is_broken in (*((each, True) for each in broken), *((each, False) for each in honest)):
        name = getattr(each, "__module__" if is_broken else "__name__", type(each).__name__).rpartition(".")[2]
        CASES.append((partial(attack, **how), each, f"{name} by {attack.__name__}", is_broken))


SEEDS = [default_seed.release, unkeyed_hash.release]
put(is_recomputed, broken=SEEDS, honest=[histograms, pairs, privbayes])
put(is_found_by_difference, broken=SEEDS, honest=[histograms, pairs, privbayes])
put(
    is_audited,
    broken=[
        twice_epsilon.release,
        epsilon_of_some.release,
        noise_of_probabilities.release,
        half_the_noise.release,
        exact_table.release,
    ],
    honest=[histograms, pairs, privbayes],
)
put(is_told_by_its_last_bits, broken=[float_noise.release], honest=[pairs, privbayes])
put(_RARE, broken=[domain_from_data.release], honest=[values, prefixes])
put(_ORDERED, broken=[private_order.release], honest=[order])
put(_COUNTED, broken=[exact_total.release], honest=[total])
put(_LEAST, broken=[degree_from_rows.release], honest=[degree])
put(named_choice, broken=[overflowing_choice.choose], honest=[choice])
put(named_scores, broken=[monotone_scores.log_law], honest=[log_law_of_choices])
put(named_seeds, broken=[private_seeds.law], honest=[public_seed])
put(
    named_test,
    broken=[ExactThreshold(4, Fraction(2))],
    honest=[PrivacyTest(k=4, gamma=Fraction(2), eps0=Fraction(1), randomized=True)],
)


@pytest.mark.parametrize(
    ("attack", "mechanism", "is_broken"), [(a, m, b) for a, m, _, b in CASES], ids=[name for _, _, name, _ in CASES]
)
def test_an_attack_names_what_is_broken_and_nothing_else(
    attack: Callable[[Any], bool],
    mechanism: Release,
    is_broken: bool,  # noqa: FBT001
) -> None:
    assert attack(mechanism) == is_broken


@pytest.mark.parametrize("mechanism", [histograms, pairs])
def test_honest_mechanisms_that_state_half_of_what_they_spend_are_audited(mechanism: Release) -> None:
    assert is_audited(lambda records, sizes, epsilon, own: mechanism(records, sizes, 2 * epsilon, own))


def test_every_twin_is_named_by_an_attack_and_on_the_page_of_tests() -> None:
    twins = {path.stem for path in TWINS.glob("*.py")} - {"__init__"}
    assert twins == {name.partition(" ")[0] for _, _, name, is_broken in CASES if is_broken}
    page = (TWINS.parents[2] / "docs" / "developer" / "tests.md").read_text(encoding="utf-8")
    assert {twin for twin in twins if f"`{twin}`" not in page} == set()
