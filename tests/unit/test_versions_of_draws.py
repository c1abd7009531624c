"""What each version of a mechanism draws is pinned: the questions, the words taken for each, and what comes of them."""

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from hashlib import sha256
from typing import Any

import numpy as np
import pytest

from deniable.foundation.domain import Attribute, Codes, Domain
from deniable.foundation.keys import ReleaseKey, Words, WordStream
from deniable.foundation.noise import DiscreteGaussian, DiscreteLaplace
from deniable.foundation.tables import FamilyCounts, PairCounts
from deniable.learners.cfs.parameters import ParameterRecipe
from deniable.learners.cfs.structure import StructureRecipe
from deniable.learners.loglinear.estimation.counting import RowCounter
from deniable.learners.loglinear.mechanism import learn_network
from deniable.learners.loglinear.plan import LoglinearRecipe
from deniable.learners.pegs.draws import draws
from deniable.learners.pegs.plan import keys_in_spec, urns_document
from deniable.learners.pegs.spec import Entry
from deniable.ledger import drawing_versions
from deniable.ledger.drawing_versions import VERSIONS, mechanism_name, stream_name
from deniable.ledger.entries import canonical
from deniable.models.graph import Graph
from deniable.models.urns import draw_polya
from deniable.plausible_deniability.mechanism_one import MechanismOne, synthesize
from deniable.plausible_deniability.plausible_seeds import SeedIndex
from deniable.plausible_deniability.privacy_tests import PrivacyTest
from deniable.plausible_deniability.resampling import SeedResampler
from deniable.samplers.histogram_seeds.noisy_histogram import HistogramRecipe, PrefixCounts

PINNED: dict[str, str] = {
    "learn_structure/1": "1bd514c2fd0aaacca1c02269f1411c4e3074cbf4e85bb792a83f0a558d69e84c",
    "learn_parameters/1": "c9d9c955ac865eaebc5ec1c2721e6d906733f44b4638669ba1e35238b10ff4be",
    "learn_loglinear/2": "b2287012502d773628a99fb6691a91408a5b448e4561d73e97006be1d072b5d8",
    "learn_loglinear/3": "9985f5b7134a94d2197aa58e7ac707b6db83556b7ee6ed96ad358c5185d7aefc",
    "noise_seeds/1": "5cc6c68abdb3041ca7ea33843b68acbc64a4965838ad66ab39cfffac7dc368cb",
    "synthesize/1": "ced796830f0df753b570d097e44d5830714e1c9995c4768219dea4b3dae5f372",
    "draw_records/1": "ae9489ed0dc6415f40ea2d405a057f068339ce46b70aac905dac1c6d197fdb26",
}
"""What each version draws. Never alter a line of a version that anybody has used: add one, and raise the version."""

KEY = ReleaseKey(bytes(range(32)))
SIZES = (2, 3, 12, 4, 5)
DOMAIN = Domain(
    tuple(
        Attribute(
            f"a{i}", tuple(range(size)), "numeric" if size > 8 else "nominal", tuple(min(v, 5) for v in range(size))
        )
        for i, size in enumerate(SIZES)
    ),
    target="a0",
)
EPSILON, DELTA = Fraction(2), Fraction(1, 10**6)


def people() -> Codes:
    """900 records, by a rule and not by any generator of random numbers; attributes depend on the one before."""
    rows = np.arange(900)
    columns = [rows % 2]
    for i, size in enumerate(SIZES[1:], start=1):
        columns.append((columns[-1] * (i + 1) + (rows * rows + i * rows) // 7 % (1 + size // 2)) % size)
    return np.stack(columns, axis=1).astype(np.uint16)


@dataclass
class Traced:
    """Streams that tell what they were opened for, and which words were taken from them."""

    told: list[Any] = field(default_factory=list)

    def __call__(self, *, mechanism: str, parameters: dict[str, Any], chunk: int = 0) -> WordStream:
        name = [mechanism, {name: str(value) for name, value in parameters.items()}, chunk]
        stream = _Stream(KEY.stream(step="s", inputs="i", mechanism=mechanism, parameters=parameters, chunk=chunk))
        self.told.append((name, stream))
        return stream  # type: ignore[return-value] # it does what streams do

    def digest(self, made: object) -> str:
        """Digest of the questions, of the words that were taken, and of what was made of them."""
        asked = [[name, stream.taken, stream.words.hexdigest()] for name, stream in self.told]
        return sha256(canonical([asked, str(made)]).encode()).hexdigest()


class _Stream:
    def __init__(self, inner: WordStream) -> None:
        self.inner, self.taken, self.words = inner, 0, sha256()

    def peek(self, count: int) -> Words:
        return self.inner.peek(count)

    def take(self, count: int) -> Words:
        words = self.inner.take(count)
        self.taken += count
        self.words.update(np.ascontiguousarray(words, "<u4").tobytes())
        return words


def graph_learnt() -> str:
    traced, counts = [], PairCounts(DOMAIN)
    counts.add(people())
    for noise in ("laplace", "gaussian"):
        opener = Traced()
        recipe = StructureRecipe(epsilon=EPSILON, delta=DELTA, epsilon_rows=Fraction(1, 10), max_cost=60, noise=noise)
        graph = recipe.calibrate(DOMAIN).run(counts, opener)
        traced.append(opener.digest(graph.parents))
    return " ".join(traced)


def probabilities_learnt() -> str:
    traced = []
    graph = Graph.without_edges(DOMAIN)
    counts = FamilyCounts(DOMAIN, graph.parents)
    counts.add(people())
    for noise in ("laplace", "gaussian"):
        for estimate in ("mean", "sample"):
            opener = Traced()
            recipe = ParameterRecipe(epsilon=EPSILON, delta=DELTA, noise=noise, prior=Fraction(1), estimate=estimate)
            net = recipe.calibrate(DOMAIN).run(counts, graph, opener)
            made = [table.tolist() for table in net.weights] if estimate == "mean" else ""
            traced.append(opener.digest(made))
    return " ".join(traced)


def network_learnt() -> str:
    traced = []
    for noise in ("laplace", "gaussian"):
        opener = Traced()
        plan = LoglinearRecipe(epsilon=EPSILON, delta=DELTA, noise=noise).calibrate(DOMAIN)
        learn_network(plan, RowCounter(lambda: [people()]), opener)
        traced.append(opener.digest(""))
    return " ".join(traced)


def histogram_noised() -> str:
    traced, counts = [], PrefixCounts(DOMAIN, (0, 1, 2, 3, 4), 3)
    counts.add(people())
    for recipe in (
        HistogramRecipe(epsilon=EPSILON, delta=Fraction(1, 100)),
        HistogramRecipe(epsilon=EPSILON, delta=Fraction(1, 100), epsilon_rows=Fraction(1, 10)),
    ):
        opener = Traced()
        histogram = recipe.calibrate().run(counts, opener)
        traced.append(opener.digest([histogram.cells.tolist(), histogram.counts.tolist()]))
    return " ".join(traced)


def candidates_tested() -> str:
    graph = Graph.without_edges(DOMAIN)
    counts = FamilyCounts(DOMAIN, graph.parents)
    counts.add(people())
    recipe = ParameterRecipe(epsilon=EPSILON, delta=DELTA, noise="laplace", prior=Fraction(1), estimate="mean")
    net = recipe.calibrate(DOMAIN).run(counts, graph, Traced())
    omega = {2: 1, 3: 1}
    attempt = MechanismOne(
        PrivacyTest(k=5, gamma=Fraction(4), eps0=Fraction(1), randomized=True), Fraction(1, 100), public_rows=500
    )
    opener = Traced()
    stream = opener(mechanism="mechanism_1_star", parameters=attempt.parameters(omega))
    records = synthesize(SeedResampler(net, omega), SeedIndex.build(people(), omega), attempt, stream, 300)
    assert 0 < len(records) < 300
    return opener.digest(records.tolist())


def records_drawn() -> str:
    traced = []
    for asked in ({}, {"block": 6, "draws_per_row": 2}):
        entry = Entry.model_validate({"kind": "pegs", "epsilon": 3, "key_cells": 40, **asked})
        document = urns_document(DOMAIN, keys_in_spec(DOMAIN, None, entry.key_cells), {})
        plan = draws(entry, DOMAIN, records=200, chunk=120)
        opener = Traced()
        draw = plan.open(document, plan.count(Counted(), document), opener)
        traced.append(opener.digest([draw(chunk, size).tolist() for chunk, size in ((0, 120), (1, 80))]))
    stream = KEY.stream(step="s", inputs="i", mechanism="polya", parameters={})
    traced.append(str(draw_polya(stream, np.arange(9), 1 << 19, 300, values=40).tolist()))
    return " ".join(traced)


class Counted:
    """Counts the people above."""

    def count(self, empty: Callable[[], Any], _: str) -> Any:
        tally = empty()
        tally.add(people())
        return tally


DRAWINGS: dict[str, Callable[[], str]] = {
    "learn_structure": graph_learnt,
    "learn_parameters": probabilities_learnt,
    "learn_loglinear": network_learnt,
    "noise_seeds": histogram_noised,
    "synthesize": candidates_tested,
    "draw_records": records_drawn,
}


def noise_drawn() -> str:
    """What both laws of noise make of a stream: all mechanisms draw from them."""
    laws = (DiscreteLaplace(Fraction(7, 3)), DiscreteGaussian(Fraction(50, 7)))
    streams = [KEY.stream(step="noise", mechanism=str(i), inputs="", parameters={}) for i in range(len(laws))]
    return canonical([law.sample(stream, 500).tolist() for law, stream in zip(laws, streams, strict=True)])


@pytest.mark.parametrize("drawing", DRAWINGS)
def test_what_a_version_draws_is_what_it_always_drew(drawing: str) -> None:
    found = sha256(f"{noise_drawn()} {DRAWINGS[drawing]()}".encode()).hexdigest()
    name = f"{drawing}/{VERSIONS[drawing]}"
    assert PINNED.get(name) == found, (
        f"{name} asks other questions or draws otherwise than it did: raise its version in "
        "deniable/ledger/drawing_versions.py, so that nothing that was charged is drawn again with other noise, and "
        f"add a line for it here: {found}"
    )


def test_every_mechanism_that_draws_has_a_version_that_is_pinned() -> None:
    assert set(VERSIONS) == set(DRAWINGS)


def test_another_question_or_another_order_of_words_is_noticed() -> None:
    digests = set()
    for mechanisms, counts in ((("a", "b"), (3, 4)), (("b", "a"), (3, 4)), (("a", "b"), (4, 3)), (("a",), (3,))):
        opener = Traced()
        for mechanism, count in zip(mechanisms, counts, strict=True):
            opener(mechanism=mechanism, parameters={}).take(count)
        digests.add(opener.digest(""))
    assert len(digests) == 4


def test_a_version_is_in_the_charge_and_from_the_second_on_in_the_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drawing_versions, "VERSIONS", {"one": 1, "two": 2})
    assert (mechanism_name("one", "step"), stream_name("one", "step")) == ("step/1", "step")
    assert (mechanism_name("two", "step"), stream_name("two", "step")) == ("step/2", "step/2")
