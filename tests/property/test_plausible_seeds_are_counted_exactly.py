"""The prefix count of plausible seeds equals the definition, in exact rational arithmetic, over drawn cases."""

from collections import Counter
from fractions import Fraction
from math import prod

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable.foundation.domain import Attribute, Domain
from deniable.models.bayes_net import UNIT, BayesNet
from deniable.models.graph import Graph, topological_order
from deniable.plausible_deniability.plausible_seeds import SeedIndex, count_plausible, probability_classes
from tests.extent import drawn


@st.composite
def cases(draw: st.DrawFn) -> tuple[BayesNet, np.ndarray, dict[int, int], Fraction, np.ndarray, int]:
    """A network with dyadic or arbitrary weights, seeds, numbers of re-sampled attributes, gamma, and a candidate."""
    m = draw(st.integers(1, 5))
    sizes = [draw(st.integers(1, 3)) for _ in range(m)]
    domain = Domain(
        tuple(
            Attribute(f"x{i}", tuple(range(size)), "nominal", tuple(min(v, 1) for v in range(size)))
            for i, size in enumerate(sizes)
        )
    )
    parents = tuple(tuple(j for j in range(i) if domain.bucket_counts[j] > 1 and draw(st.booleans())) for i in range(m))
    weights = []
    for i in range(m):
        rows = prod(domain.bucket_counts[j] for j in parents[i])
        table = np.zeros((rows, sizes[i]), np.uint64)
        for row in range(rows):
            if draw(st.booleans()):  # dyadic: probabilities on the very edges of classes for gamma = 2 and 4
                cuts = {1: [32], 2: draw(st.sampled_from([[31, 31], [32]])), 3: [30, 30, 31]}[sizes[i]]
                table[row, : len(cuts)] = [2**cut for cut in cuts]
            else:
                shares = [draw(st.integers(1, 2**20)) for _ in range(sizes[i])]
                table[row] = [share * UNIT // sum(shares) for share in shares]
            table[row, 0] += np.uint64(UNIT - int(table[row].sum()))
        weights.append(table)
    net = BayesNet(domain, Graph(parents, topological_order(domain, parents), ((),) * m), tuple(weights))
    ordered = [sizes[i] for i in net.graph.order]
    seeds = np.asarray(
        draw(st.lists(st.tuples(*[st.integers(0, size - 1) for size in ordered]), min_size=1, max_size=12)), np.uint16
    )
    omega = {number: draw(st.integers(1, 5)) for number in draw(st.sets(st.integers(0, m), min_size=1, max_size=m + 1))}
    gamma = draw(st.sampled_from([Fraction(2), Fraction(4), Fraction(3, 2), Fraction(11, 10)]))
    seed = draw(st.integers(0, len(seeds) - 1))
    copied = m - draw(st.sampled_from(sorted(omega)))
    candidate = seeds[seed].copy()
    for position in range(copied, m):
        candidate[position] = draw(st.integers(0, ordered[position] - 1))
    return net, seeds, omega, gamma, candidate, seed


def exact_probability(net: BayesNet, omega: dict[int, int], candidate: np.ndarray, seed: np.ndarray) -> Fraction:
    """p_d(y) from its definition: over the numbers of re-sampled attributes, copy the prefix and multiply the rest."""
    m = len(candidate)
    columns = {attribute: int(candidate[position]) for position, attribute in enumerate(net.graph.order)}
    total = Fraction(0)
    for number, weight in omega.items():
        if list(seed[: m - number]) != list(candidate[: m - number]):
            continue
        product = Fraction(weight, sum(omega.values()))
        for attribute in net.graph.order[m - number :]:
            configuration = 0
            for parent in net.graph.parents[attribute]:
                bucket = net.domain.attributes[parent].buckets[columns[parent]]
                configuration = configuration * net.domain.bucket_counts[parent] + bucket
            product *= Fraction(int(net.weights[attribute][configuration, columns[attribute]]), UNIT)
        total += product
    return total


def exact_class(probability: Fraction, gamma: Fraction) -> int:
    """The i with gamma^(-i-1) < p <= gamma^-i, or -1 for p = 0."""
    if probability == 0:
        return -1
    i = 0
    while probability <= gamma ** -(i + 1):
        i += 1
    return i


@settings(max_examples=drawn(1500))
@given(cases())
def test_prefix_counts_equal_the_definition(
    case: tuple[BayesNet, np.ndarray, dict[int, int], Fraction, np.ndarray, int],
) -> None:
    net, seeds, omega, gamma, candidate, seed = case
    probabilities = [exact_probability(net, omega, candidate, row) for row in seeds]
    if probabilities[seed] == 0:  # a candidate that this seed cannot give
        return
    classes = [exact_class(probability, gamma) for probability in probabilities]
    index = SeedIndex.build(seeds, omega)
    arrays = probability_classes(gamma, len(candidate))
    found = count_plausible(net.arrays, index.arrays, arrays, candidate, seed, index.scratch())
    if len(omega) == 1:
        # All plausible seeds have one probability; the classes of a single level need not be looked at.
        assert found == sum(probability == probabilities[seed] for probability in probabilities)
    assert found == classes.count(classes[seed]), Counter(classes)
