"""What is released less what is true follows the law that the events name, in every entropy and in every count."""

import math
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from deniable.foundation.domain import Attribute, Domain
from deniable.foundation.errors import Refused
from deniable.foundation.keys import Parameter, ReleaseKey, WordStream
from deniable.foundation.noise import DiscreteLaplace
from deniable.foundation.tables import FamilyCounts, PairCounts
from deniable.learners.cfs.entropies import (
    GRID,
    MIN_ROWS,
    EntropyMechanism,
    EntropyRecipe,
    Noise,
    count_table,
    entropy,
    grid_sensitivity,
    largest_entropy,
)
from deniable.learners.cfs.parameters import ParameterMechanism, ParameterRecipe
from deniable.models.graph import Graph, topological_order
from deniable.privacy.accounting import best
from deniable.privacy.loss import (
    ApproximateEvent,
    DiscreteGaussianEvent,
    DiscreteLaplaceEvent,
    MechanismEvent,
    StabilityHistogramEvent,
)
from deniable.samplers.histogram_seeds.noisy_histogram import HistogramMechanism, HistogramRecipe, PrefixCounts
from tests.drawn_noise import OneStream, each_is_on_its_own

KEYS = 1500
MANY_RUNS = 20_000
FALSE_ALARM = 1e-9
NOISES: list[Noise] = ["laplace", "gaussian"]
Table = NDArray[np.float64]

DOMAIN = Domain(
    (
        Attribute("work", tuple("abcd"), "nominal", (0, 0, 1, 1)),
        Attribute("school", tuple("pqr"), "nominal", (0, 1, 2)),
        Attribute("town", ("here",), "nominal", (0,)),
        Attribute("sex", ("f", "m"), "nominal", (0, 1)),
    )
)


def key(number: int) -> ReleaseKey:
    return ReleaseKey(number.to_bytes(32, "big"))


def people(rows: int) -> NDArray[np.uint16]:
    """So uneven that no entropy is near 0 or near its largest, where it would be cut off."""
    number = np.arange(rows)
    columns = [np.array([0, 0, 0, 1, 1, 2, 3, 0])[number % 8], np.array([0, 0, 1, 2, 0])[number % 5]]
    columns += [np.zeros(rows, int), np.array([0, 1, 0])[number % 3]]
    return np.stack(columns, axis=1).astype(np.uint16)


def spread(noise: Table, kind: Noise) -> float:
    """Scale of Laplace noise or standard deviation of Gaussian noise, the best estimate of each."""
    return float(np.abs(noise).mean() if kind == "laplace" else np.sqrt((noise**2).mean()))


def is_continuous(noise: Table, kind: Noise) -> bool:
    """Whether noise in units of its own spread has the law of that kind, its spread to five in a hundred."""
    law = stats.laplace if kind == "laplace" else stats.norm
    close = abs(spread(noise, kind) - 1) < 0.05
    return close and stats.kstest(noise.ravel(), law.cdf).pvalue > FALSE_ALARM


def is_discrete(noise: NDArray[np.int64], kind: Noise, amount: Fraction) -> bool:
    """Whether whole numbers have the law with that scale or variance: the variance, and all values one by one."""
    reach = 40 * math.ceil(amount)
    values = np.arange(-reach, reach + 1, dtype=float)
    weights = np.exp(-np.abs(values) / float(amount) if kind == "laplace" else -(values**2) / (2 * float(amount)))
    probabilities = weights / weights.sum()
    variance, fourth = (float((values**power * probabilities).sum()) for power in (2, 4))
    error = math.sqrt((fourth - variance**2) / noise.size)
    expected = probabilities * noise.size
    counted = np.bincount(np.clip(noise.ravel() + reach, 0, 2 * reach), minlength=len(values))
    often = expected >= 10
    observed = np.append(counted[often], counted[~often].sum())
    p_value = stats.chisquare(observed, np.append(expected[often], expected[~often].sum())).pvalue
    return abs(float((noise**2).mean()) - variance) < 6 * error and p_value > FALSE_ALARM


def assert_discrete(noise: NDArray[np.int64], kind: Noise, amount: Fraction) -> None:
    """Refuse noise of any other width than that of an event: a tenth narrower or wider, or none at all."""
    assert is_discrete(noise, kind, amount)
    for factor in (Fraction(9, 10), Fraction(11, 10)):
        assert not is_discrete(noise, kind, amount * (factor if kind == "laplace" else factor**2))
    assert not is_discrete(0 * noise, kind, amount)


def charged(events: tuple[MechanismEvent, ...], kind: Noise) -> Fraction:
    """Scale or variance that the last event names, for a sensitivity of 1."""
    event = events[-1]
    if kind == "laplace":
        assert isinstance(event, DiscreteLaplaceEvent)
        return event.scale / event.sensitivity
    assert isinstance(event, DiscreteGaussianEvent)
    return event.variance / event.sensitivity**2


ROWS = 120
BETA = Fraction(1, 20)


class EntropyRuns:
    """Structure learnt from the same people under many keys.

    Attributes:
        mechanism: the mechanism.
        rows_low: the lower bound on the number of rows, of each key, shape (keys,).
        noise: released less true entropies in units of 2^-32 bit, shape (keys, entropies).
    """

    def __init__(self, kind: Noise) -> None:
        recipe = EntropyRecipe(epsilon=Fraction(30), delta=10 * BETA, epsilon_rows=Fraction(1, 10), noise=kind)
        self.mechanism: EntropyMechanism = recipe.calibrate(DOMAIN)
        counts = PairCounts(DOMAIN)
        counts.add(people(ROWS))
        queries = self.mechanism.queries
        true = np.array([round(entropy(count_table(counts, query)) * GRID) for query in queries])
        runs = [
            self.mechanism.run(counts, partial(key(number).stream, step="learn_structure", inputs="people"))
            for number in range(KEYS)
        ]
        self.rows_low = np.array([run.rows_low for run in runs])
        released = np.array([[run.bits[query] for query in queries] for run in runs])
        self.cut_off = int((released == 0).sum())
        self.noise = released * GRID - true

    def in_units(self, sensitivity: NDArray[np.float64]) -> Table:
        """The noise in units of what it should be, where one row changes an entropy by so much for each key."""
        amount = float(charged(self.mechanism.events, self.mechanism.recipe.noise))
        width = amount if self.mechanism.recipe.noise == "laplace" else math.sqrt(amount)
        return np.asarray(self.noise / (sensitivity[:, None] * width))


@pytest.fixture(scope="module", params=NOISES)
def entropies(request: pytest.FixtureRequest) -> EntropyRuns:
    return EntropyRuns(request.param)


def one_row(rows: NDArray[np.int64]) -> NDArray[np.float64]:
    """Change of an entropy, in grid units, when one row unlike all others joins so many that are alike."""
    return np.array([entropy(np.array([count, 1])) * GRID for count in rows])


def test_entropies_have_the_noise_that_is_charged_at_the_lower_bound_on_the_rows(entropies: EntropyRuns) -> None:
    kind = entropies.mechanism.recipe.noise
    noise = entropies.in_units(one_row(entropies.rows_low))
    assert entropies.cut_off == 0
    assert is_continuous(noise, kind)
    for factor in (0.9, 1.1, 0.001, 0.0):
        assert not is_continuous(factor * noise, kind)
    # What is added up is rounded: two units are for that.
    unit = np.array([grid_sensitivity(int(count)) for count in entropies.rows_low])
    assert (np.abs(unit - one_row(entropies.rows_low) - 1.5) < 1).all()


def test_the_noise_of_entropies_does_not_depend_on_the_true_number_of_rows(entropies: EntropyRuns) -> None:
    kind = entropies.mechanism.recipe.noise
    for rows in (np.full(KEYS, ROWS), entropies.rows_low + entropies.mechanism.margin):
        assert not is_continuous(entropies.in_units(one_row(rows)), kind)


def test_every_entropy_has_noise_of_its_own(entropies: EntropyRuns) -> None:
    noise = entropies.in_units(one_row(entropies.rows_low))
    kind = entropies.mechanism.recipe.noise
    assert noise.shape[1] == len(entropies.mechanism.queries) == 9
    assert all(abs(spread(column, kind) - 1) < 0.15 for column in noise.T)
    with_rows = np.column_stack([noise, entropies.rows_low])
    assert each_is_on_its_own(with_rows)
    assert not each_is_on_its_own(np.column_stack([with_rows, noise[:, 0]]))
    assert not each_is_on_its_own(np.column_stack([with_rows, -noise[:, 0]]))


def test_the_lower_bound_on_the_rows_is_wrong_no_more_often_than_beta(entropies: EntropyRuns) -> None:
    def wrong(bounds: NDArray[np.int64]) -> int:
        return int((bounds > ROWS).sum())

    allowed = stats.binom.ppf(1 - FALSE_ALARM, KEYS, float(BETA))
    assert 0 < wrong(entropies.rows_low) <= allowed
    assert wrong(entropies.rows_low + entropies.mechanism.margin) > allowed


def test_each_noisy_answer_of_structure_learning_is_in_an_event(entropies: EntropyRuns) -> None:
    mechanism = entropies.mechanism
    noisy = [event for event in mechanism.events if isinstance(event, DiscreteLaplaceEvent | DiscreteGaussianEvent)]
    # One number of rows, and as many entropies as are released.
    assert [event.outputs for event in noisy] == [1, entropies.noise.shape[1]]
    assert len(mechanism.events) == len(noisy) + 1


@pytest.mark.parametrize("epsilon_rows", ["1/10", "1/3", "2"])
def test_the_bound_on_the_rows_is_wrong_no_more_often_than_its_event_says(epsilon_rows: str) -> None:
    recipe = EntropyRecipe(Fraction(30), Fraction(1, 10**6), epsilon_rows=Fraction(epsilon_rows), noise="laplace")
    mechanism = recipe.calibrate(DOMAIN)
    (bound,) = [event for event in mechanism.events if isinstance(event, ApproximateEvent)]
    rows = mechanism.events[0]
    assert isinstance(rows, DiscreteLaplaceEvent)
    noise = DiscreteLaplace(rows.scale)
    # Of n + 1 rows the bound must not exceed n.
    assert noise.tail(mechanism.margin) <= bound.delta
    assert noise.tail(mechanism.margin - 2 * math.ceil(rows.scale)) > bound.delta


def test_too_few_rows_are_refused_by_their_noisy_number_alone() -> None:
    recipe = EntropyRecipe(Fraction(30), Fraction(1, 10), epsilon_rows=Fraction(1, 10), noise="laplace")
    mechanism = recipe.calibrate(DOMAIN)
    counts = PairCounts(DOMAIN)
    counts.add(people(mechanism.margin))
    refused = []
    for number in range(200):
        open_stream = partial(key(number).stream, step="learn_structure", inputs="few people")
        stream = open_stream(mechanism="row_count", parameters={"epsilon": recipe.epsilon_rows})
        noise = int(DiscreteLaplace(1 / recipe.epsilon_rows).sample(stream, 1)[0])
        refused.append(noise < MIN_ROWS)
        if refused[-1]:
            with pytest.raises(Refused, match="must hold at least"):
                mechanism.run(counts, open_stream)
        else:
            assert mechanism.run(counts, open_stream).rows_low == noise
    assert 50 < sum(refused) < 150


@pytest.mark.nightly
def test_the_number_of_rows_has_the_noise_that_is_charged() -> None:
    mechanism = EntropyRecipe(Fraction(30), 10 * BETA, epsilon_rows=Fraction(1, 2), noise="laplace").calibrate(DOMAIN)
    event = mechanism.events[0]
    assert isinstance(event, DiscreteLaplaceEvent)
    counts = PairCounts(DOMAIN)
    counts.add(people(1_000))
    open_stream = OneStream("the number of rows")
    low = np.array([mechanism.run(counts, open_stream).rows_low for _ in range(MANY_RUNS)])
    noise = low + mechanism.margin - counts.rows
    assert_discrete(noise, "laplace", event.scale / event.sensitivity)


@pytest.mark.parametrize("kind", NOISES)
def test_the_noise_of_entropies_names_all_that_decides_it_and_leaves_none_impossible(kind: Noise) -> None:
    recipe = EntropyRecipe(Fraction(1, 5), Fraction(1, 10**6), epsilon_rows=Fraction(1, 10), noise=kind)
    mechanism, opened = recipe.calibrate(DOMAIN), {}

    def open_stream(*, mechanism: str, parameters: dict[str, Parameter]) -> WordStream:
        opened[mechanism] = parameters
        return key(7).stream(step="learn_structure", mechanism=mechanism, inputs="people", parameters=parameters)

    counts = PairCounts(DOMAIN)
    counts.add(people(1_000))
    found = mechanism.run(counts, open_stream)
    assert opened["row_count"] == {"epsilon": Fraction(1, 10)}
    assert opened["entropies"] == {
        "noise": kind,
        "ratio": mechanism.ratio,
        "sensitivity": grid_sensitivity(found.rows_low),
        "entropies": len(mechanism.queries),
        "domain": DOMAIN.digest,
    }
    # With so much noise some would be beyond both bounds.
    at_bounds = {bits in {0.0, largest_entropy(DOMAIN, query)} for query, bits in found.bits.items()}
    assert all(0 <= bits <= largest_entropy(DOMAIN, query) for query, bits in found.bits.items())
    assert True in at_bounds


@pytest.mark.parametrize("kind", NOISES)
def test_the_events_of_structure_learning_add_up_to_its_guarantee_within_its_budget(kind: Noise) -> None:
    recipe = EntropyRecipe(epsilon=Fraction(1), delta=Fraction(1, 10**6), epsilon_rows=Fraction(1, 10), noise=kind)
    mechanism = recipe.calibrate(DOMAIN)
    again = best(mechanism.events, recipe.delta)
    # Of Gaussian noise the whole budget may be stated, for it depends on the units, a little, what it costs.
    assert 0.8 < again.epsilon <= mechanism.guarantee.epsilon <= 1
    assert again.delta <= mechanism.guarantee.delta <= recipe.delta
    if kind == "laplace":
        assert again.epsilon == mechanism.guarantee.epsilon
    less = (*mechanism.events[:-1], with_noise(mechanism.events[-1], Fraction(9, 10)))
    assert best(less, recipe.delta).epsilon > again.epsilon


@pytest.mark.parametrize("kind", NOISES)
def test_entropies_leave_of_epsilon_and_delta_what_the_number_of_rows_and_beta_have(kind: Noise) -> None:
    recipe = EntropyRecipe(epsilon=Fraction(1), delta=Fraction(1, 10**6), epsilon_rows=Fraction(1, 10), noise=kind)
    rows, bound, entropies = recipe.calibrate(DOMAIN).events
    assert rows.epsilon is not None
    left = float(recipe.delta - bound.delta)
    assert best([entropies], left).epsilon <= recipe.epsilon - rows.epsilon
    if kind == "gaussian":
        assert best([entropies], left / 2).epsilon > recipe.epsilon - rows.epsilon


def with_noise(event: MechanismEvent, factor: Fraction) -> MechanismEvent:
    """The event of noise that is wider by some factor."""
    if isinstance(event, DiscreteLaplaceEvent):
        return replace(event, scale=event.scale * factor)
    assert isinstance(event, DiscreteGaussianEvent)
    return replace(event, variance=event.variance * factor**2)


# So many of one value that its share tells what one of another value is worth, to a quarter of a unit of 2^-32.
MANY = 2**30
SOME = 1000
PARENTS = ((), (0,), (), (0, 1))
GRAPH = Graph(PARENTS, topological_order(DOMAIN, PARENTS), tuple((0.0,) * len(those) for those in PARENTS))
MARGINALS = Graph.without_edges(DOMAIN)


class CountRuns:
    """Parameters learnt from the same counts under many keys.

    A table's shares in integers give back its noisy counts, to the unit, where one cell of each row holds very many:
    first one cell of a row, then another, so that all are seen.
    """

    def __init__(self, kind: Noise, graph: Graph) -> None:
        self.graph = graph
        recipe = ParameterRecipe(
            epsilon=Fraction(1), delta=Fraction(1, 10**6), noise=kind, prior=Fraction(1, 10**9), estimate="mean"
        )
        self.mechanism: ParameterMechanism = recipe.calibrate(DOMAIN)
        self.noise = np.concatenate([self._noise(0), self._noise(-1)], axis=1)

    def _noise(self, large: int) -> NDArray[np.int64]:
        """Noise of all cells but the large ones, shape (keys, cells)."""
        counts = self.counts(SOME, self.graph)
        for table in counts.tables:
            table[:, large] = MANY
        found = []
        for number in range(KEYS):
            open_stream = partial(key(number).stream, step="learn_parameters", inputs=f"counts {large}")
            weights = self.mechanism.run(counts, self.graph, open_stream).weights
            noisy = [table / table[:, [large]].astype(float) * MANY for table in weights if table.shape[1] > 1]
            found.append(np.concatenate([np.delete(np.rint(table), large, axis=1).ravel() for table in noisy]))
        return np.asarray(found).astype(np.int64) - SOME

    @staticmethod
    def counts(each: int, graph: Graph = GRAPH) -> FamilyCounts:
        counts = FamilyCounts(DOMAIN, graph.parents)
        for table in counts.tables:
            table[:] = each
        return counts


LEARNERS = {"cfs": GRAPH, "marginals": MARGINALS}


RUNS = [
    pytest.param((kind, learner), marks=[pytest.mark.nightly] if learner == "marginals" else [], id=f"{kind}-{learner}")
    for kind, learner in product(NOISES, LEARNERS)
]


@pytest.fixture(scope="module", params=RUNS)
def parameters(request: pytest.FixtureRequest) -> CountRuns:
    kind, learner = request.param
    return CountRuns(kind, LEARNERS[learner])


def test_counts_have_the_noise_that_is_charged(parameters: CountRuns) -> None:
    kind = parameters.mechanism.recipe.noise
    assert_discrete(parameters.noise, kind, charged(parameters.mechanism.events, kind))


def test_every_count_has_noise_of_its_own(parameters: CountRuns) -> None:
    kind = parameters.mechanism.recipe.noise
    cells = parameters.noise.astype(float)
    # Of 4, of 2 by 3 and of 6 by 2 cells, each row's first and then its last was the large one; or of 4, 3 and 2.
    assert cells.shape[1] == 2 * (3 + 2 + 1 if parameters.graph is MARGINALS else 3 + 2 * 2 + 6)
    widths = np.array([spread(column, kind) for column in cells.T])
    assert (np.abs(widths / spread(cells, kind) - 1) < 0.15).all()
    assert each_is_on_its_own(cells)
    assert not each_is_on_its_own(np.column_stack([cells, cells[:, 0]]))


@pytest.mark.parametrize("kind", NOISES)
def test_counts_of_nobody_have_noise_as_well(kind: Noise) -> None:
    """Were noise only for cells that are not empty, a first person would be seen at once."""
    recipe = ParameterRecipe(
        epsilon=Fraction(1), delta=Fraction(1, 10**6), noise=kind, prior=Fraction(1), estimate="mean"
    )
    mechanism = recipe.calibrate(DOMAIN)
    counts = CountRuns.counts(0)
    uneven = 0
    for number in range(200):
        open_stream = partial(key(number).stream, step="learn_parameters", inputs="nobody")
        tables = mechanism.run(counts, GRAPH, open_stream).weights
        uneven += sum(int((np.ptp(table.astype(np.int64), axis=1) > 2).sum()) for table in tables)
    rows = sum(len(table) for table, size in zip(counts.tables, DOMAIN.cardinalities, strict=True) if size > 1)
    # The noise of a row adds up to less than 0, and the row is even, in half of the cases; without noise all are even.
    assert uneven > 0.4 * 200 * rows


@pytest.mark.parametrize("kind", NOISES)
def test_one_person_changes_as_many_counts_by_one_as_are_charged(kind: Noise) -> None:
    recipe = ParameterRecipe(
        epsilon=Fraction(1), delta=Fraction(1, 10**6), noise=kind, prior=Fraction(1), estimate="mean"
    )
    mechanism = recipe.calibrate(DOMAIN)
    before, after = FamilyCounts(DOMAIN, PARENTS), FamilyCounts(DOMAIN, PARENTS)
    before.add(people(ROWS))
    after.add(people(ROWS + 1))
    changes = [np.abs(more - fewer) for more, fewer in zip(after.tables, before.tables, strict=True)]
    noised = [change for change in changes if change.shape[1] > 1]
    (event,) = mechanism.events
    assert [int(change.sum()) for change in noised] == [1] * event.outputs
    again = best(mechanism.events, recipe.delta)
    assert 0.8 < again.epsilon <= mechanism.guarantee.epsilon <= 1
    assert again.delta <= mechanism.guarantee.delta <= recipe.delta
    assert best([with_noise(event, Fraction(9, 10))], recipe.delta).epsilon > 1


HISTOGRAM: HistogramMechanism = HistogramRecipe(
    epsilon=Fraction(3, 4), delta=Fraction(1, 10**6), epsilon_rows=Fraction(1, 4)
).calibrate()


def prefixes(copies: int) -> PrefixCounts:
    """Counts of the prefixes of two attributes of forty people, each there several times."""
    counts = PrefixCounts(DOMAIN, (0, 1, 2, 3), 2)
    counts.add(np.repeat(people(40), copies, axis=0))
    return counts


@pytest.mark.nightly
def test_prefixes_and_their_number_have_the_noise_that_is_charged() -> None:
    mechanism, counts = HISTOGRAM, prefixes(50)
    runs = [
        mechanism.run(counts, partial(key(number).stream, step="noise_seeds", inputs="people"))
        for number in range(KEYS)
    ]
    assert all(len(run.counts) == len(counts.counts) for run in runs)
    cells = np.array([run.counts for run in runs]) - counts.counts
    rows = np.array([run.rows for run in runs]) - counts.rows
    of_cells, of_rows = mechanism.events
    assert isinstance(of_cells, StabilityHistogramEvent)
    assert isinstance(of_rows, DiscreteLaplaceEvent)
    assert_discrete(cells, "laplace", of_cells.scale)
    open_stream = OneStream("the number of records")
    more = [mechanism.run(counts, open_stream).rows for _ in range(MANY_RUNS)]
    assert_discrete(np.array(more) - counts.rows, "laplace", of_rows.scale / of_rows.sensitivity)
    together = np.column_stack([cells, rows]).astype(float)
    assert each_is_on_its_own(together)
    assert not each_is_on_its_own(np.column_stack([together, together[:, 0]]))
    assert mechanism.guarantee.epsilon == float(1 / of_cells.scale + of_rows.sensitivity / of_rows.scale) == 0.75


def test_the_threshold_is_reached_by_noisy_counts() -> None:
    """How often a prefix is kept is how often its count and the noise of the event reach the event's threshold."""
    of_cells, counts = HISTOGRAM.events[0], prefixes(6)
    assert isinstance(of_cells, StabilityHistogramEvent)
    noise = DiscreteLaplace(of_cells.scale)
    open_stream = OneStream("the threshold")
    kept = np.zeros(len(counts.counts), np.int64)
    places = {tuple(cell): place for place, cell in enumerate(counts.cells.tolist())}
    for _ in range(KEYS):
        kept[[places[tuple(cell)] for cell in HISTOGRAM.run(counts, open_stream).cells.tolist()]] += 1
    expected = np.array([noise.tail(of_cells.threshold - int(count)) for count in counts.counts])
    assert (expected > 0.2).any()
    assert (expected < 0.8).any()

    def p_value(chances: NDArray[np.float64]) -> float:
        deviations = (kept - KEYS * chances) ** 2 / (KEYS * chances * (1 - chances))
        return float(stats.chi2.sf(deviations.sum(), len(chances)))

    assert p_value(expected) > FALSE_ALARM
    for off in (-1, 1):
        moved = np.array([noise.tail(of_cells.threshold - off - int(count)) for count in counts.counts])
        assert p_value(moved) < FALSE_ALARM


def test_the_checks_tell_laws_apart() -> None:
    """Laplace noise is not taken for Gaussian noise of the same variance."""
    place = (np.arange(KEYS * 8) + 0.5) / (KEYS * 8)
    assert is_continuous(stats.laplace.ppf(place), "laplace")
    assert is_continuous(stats.norm.ppf(place), "gaussian")
    assert not is_continuous(stats.laplace.ppf(place) / math.sqrt(2), "gaussian")
    assert not is_continuous(stats.norm.ppf(place), "laplace")
