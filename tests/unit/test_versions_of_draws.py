"""What each version of a mechanism draws is pinned: the questions, the words taken for each, and what comes of them."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from hashlib import sha256
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

from deniable.discovery.answering import answers as discovered
from deniable.discovery.plan import DiscoveryPlan
from deniable.discovery.plan import asked as questions_about
from deniable.foundation.domain import Attribute, Codes, Domain
from deniable.foundation.keys import ReleaseKey, Words, WordStream
from deniable.foundation.noise import DiscreteGaussian, DiscreteLaplace
from deniable.foundation.tables import FamilyCounts, PairCounts
from deniable.learners.certified import noisy_error
from deniable.learners.cfs.parameters import ParameterRecipe
from deniable.learners.cfs.structure import StructureRecipe
from deniable.learners.imputed.regression import Features
from deniable.learners.loglinear.estimation.counting import RowCounter
from deniable.learners.loglinear.mechanism import learn_network
from deniable.learners.loglinear.plan import LoglinearRecipe
from deniable.learners.pegs.draws import draws
from deniable.learners.pegs.plan import keys_in_spec, urns_document
from deniable.learners.pegs.spec import Entry
from deniable.learners.registry import LEARNERS, draws_of, entries, steps_of
from deniable.ledger import drawing_versions
from deniable.ledger.drawing_versions import VERSIONS, drawing_of, mechanism_name, stream_name
from deniable.ledger.entries import canonical
from deniable.local.responding import respond
from deniable.local.survey import read_survey
from deniable.measurements.certificate import Workload
from deniable.measurements.noisy_tables import NoiseLaw
from deniable.models.bayes_net import BayesNet
from deniable.models.graph import Graph
from deniable.models.loglinear.matching import WHOLE, PairTable
from deniable.models.loglinear.net import LoglinearNet
from deniable.models.sequential_kernels import Network
from deniable.models.urns import draw_polya
from deniable.plausible_deniability.mechanism_one import (
    Counting,
    MechanismOne,
    synthesize,
    synthesize_by_scan,
    synthesize_counted,
)
from deniable.plausible_deniability.plausible_seeds import SeedIndex
from deniable.plausible_deniability.predictions import passing_shares
from deniable.plausible_deniability.privacy_tests import PrivacyTest
from deniable.plausible_deniability.resampling import SeedResampler
from deniable.privacy.loss import PASSES_OUT_OF
from deniable.samplers.histogram_seeds.noisy_histogram import HistogramRecipe, PrefixCounts
from deniable.samplers.poisson_seeds.sampler import sampler as poisson_seeds
from deniable.samplers.poisson_seeds.spec import Entry as PoissonEntry
from deniable.samplers.seedless.sampler import MOST_RAKED
from deniable.samplers.seedless.sampler import sampler as seedless
from deniable.samplers.seedless.spec import Entry as SeedlessEntry
from tests.loglinear_nets import random_net

PINNED: dict[str, str] = {
    "learn_structure/1": "1bd514c2fd0aaacca1c02269f1411c4e3074cbf4e85bb792a83f0a558d69e84c",
    "learn_parameters/1": "c9d9c955ac865eaebc5ec1c2721e6d906733f44b4638669ba1e35238b10ff4be",
    "learn_parameters/2": "80055417bab40d7e3df15aefc18142ff0f2a8213e584391cd34a5d2fd614e26d",
    "learn_loglinear/2": "b2287012502d773628a99fb6691a91408a5b448e4561d73e97006be1d072b5d8",
    "learn_loglinear/3": "c7c92f24c1883786119434a06883f61861093828bb7cd6c77d8c72780b304b59",
    "learn_loglinear/4": "c7c92f24c1883786119434a06883f61861093828bb7cd6c77d8c72780b304b59",
    "learn_loglinear/5": "c7c92f24c1883786119434a06883f61861093828bb7cd6c77d8c72780b304b59",
    "learn_loglinear/6": "ff158e9454b84148d06fe1540d16a6261adca196da97053345d0950bb1b17c16",
    "learn_loglinear/7": "471b74ec9df29da41a4396d45293414830f88565c619d20c189514faae4a199e",
    "learn_loglinear/8": "471b74ec9df29da41a4396d45293414830f88565c619d20c189514faae4a199e",
    "discover/1": "23d29a35efce88238910e61a59058706701eca2a6b405bbc6b5a0fc6e827f047",
    "noise_seeds/1": "5cc6c68abdb3041ca7ea33843b68acbc64a4965838ad66ab39cfffac7dc368cb",
    "synthesize/1": "ced796830f0df753b570d097e44d5830714e1c9995c4768219dea4b3dae5f372",
    "synthesize_scored/2": "538a6548114249e09ef72078e20002e080aa4d37db1a0ed8bba7a89a24d3afa3",
    "attempt_seeds/1": "eb96de4dd2361a8f116fc89057bb88299e795cf2100171f9f064a32850500e5d",
    "attempt_seeds/2": "d498cc0797a83c8b80002da628b1b32a80f79b2be5b815979cf556886827602f",
    "attempt_seeds/3": "d498cc0797a83c8b80002da628b1b32a80f79b2be5b815979cf556886827602f",
    "attempt_seeds/4": "2d0c4bb3025c2e0c2bc37a602c63c14b06c2fbee7a21658e5b1000a0dd7ead62",
    "synthesize_seedless/2": "48ea9dcf052563327b55ad22c0f06643b76690cb6cfccfa53c1fb9f363a1e9bf",
    "synthesize_seedless/3": "364f71d3502a29c7688bf687e2100d366192ffc4013906b223a3b097f55b4e0f",
    "draw_records/1": "ae9489ed0dc6415f40ea2d405a057f068339ce46b70aac905dac1c6d197fdb26",
    "structure_privbayes/1": "9909c3184a9467afc987dbb839d8e28d7ce285addf19d38b9231f75da1b0f5cb",
    "structure_pegs/1": "7847b1caa72226f09123c82f674d97761a5f333010a4839bc59d026d4970e86b",
    "learn_independent/1": "ba4eb4d4681192d3736ff937c8616cdefa97a9565285a4e82e4a24ca462f0ca3",
    "learn_privbayes/1": "6310610b873c09657158eeb3123b1459f38bb16af2bcfa51c458ee8d63fc3fec",
    "learn_privbayes/2": "e16a523a882f0aa0d8fd95f18f2634b930726260555a7428babd15aacb593320",
    "learn_mst/1": "8c76ee8e0658303b191122a458a78d1bb79cc39cc51e78e4b6a8e2fda8ff3cac",
    "learn_nist_mst/1": "e6754395f46dc87e787d1a7451be26701503ecf29cf7f3e42778579d8eb3efc7",
    "learn_aim/1": "01f491d89e96659b9e642cee24afe9f620b022ef43fecf3682a7b8b1126a3ad9",
    "learn_pegs_noisy/1": "b115e94bd73d2a29cabafaea14a0e5c1cb27707afd951cd06833d9b2eafafd82",
    "learn_pegs_noisy/2": "8c505d340655404a1be246b416b381de6895261a4339fed70135ee5c9099ad02",
    "learn_origin_destination/1": "f4a7fd5269d8600e4f0a935e12047977e08c4af4fcff0ae40a7bad5f30c649d8",
    "draw_diverse/1": "786146201eb335fc22abd31179380b2b13a7a62a41666e939b968e4cd000fad1",
    "draw_imputed/1": "743adf5a6bea45e6f51d9c8e9c048191593b3309b6157f0fac1d321edd2703c5",
    "draw_origin_destination/1": "0bd62c97ad4a6af3d236cef6287764d005421fe39d4fdb9b1cda6f0c4520582d",
    "draw_multinomial_sets/1": "9369c5ce4fe949bc1ee76bad885310109c7f744e7986ee9c3aab4237169cd5a7",
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

    def skip(self, count: int) -> None:
        self._tell(self.inner.peek(count))
        self.inner.skip(count)

    def take(self, count: int) -> Words:
        words = self.inner.take(count)
        self._tell(words)
        return words

    def _tell(self, words: Words) -> None:
        self.taken += len(words)
        self.words.update(np.ascontiguousarray(words, "<u4").tobytes())


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


def wide_network_learnt() -> str:
    """A table of so many attributes that later choices follow from zeros found in earlier answers."""
    attributes = [
        replace(attribute, name=f"{attribute.name}{turn}") for turn in range(7) for attribute in DOMAIN.attributes
    ]
    rows = np.concatenate([people()[:, [i]] for _ in range(7) for i in range(len(DOMAIN))], axis=1)
    opener = Traced()
    plan = LoglinearRecipe(epsilon=20 * EPSILON, delta=DELTA, noise="gaussian").calibrate(Domain(tuple(attributes)))
    learn_network(plan, RowCounter(lambda: [rows]), opener)
    return opener.digest("")


def tailed_network_learnt() -> str:
    """A number of so many values that it is counted by growing bins, too."""
    domain = Domain((*DOMAIN.attributes[:3], Attribute("wage", tuple(range(60)), "numeric", tuple(range(60)))))
    rows = np.concatenate([people()[:, :3], (people()[:, [1]] * 17 + people()[:, [2]] ** 2) % 60], axis=1)
    traced = []
    for noise in ("laplace", "gaussian"):
        opener = Traced()
        plan = LoglinearRecipe(epsilon=EPSILON, delta=DELTA, noise=noise).calibrate(replace(domain, target="a0"))
        learn_network(plan, RowCounter(lambda: [rows]), opener)
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


def network_drawn_from() -> BayesNet:
    """The network with which draws are pinned, from noisy counts as the first version used them, whatever is now."""
    graph = Graph.without_edges(DOMAIN)
    counts = FamilyCounts(DOMAIN, graph.parents)
    counts.add(people())
    recipe = ParameterRecipe(epsilon=EPSILON, delta=DELTA, noise="laplace", prior=Fraction(1), estimate="mean")
    with patch(f"{ParameterRecipe.__module__}.nearest_with_noisy_totals", lambda noisy: np.maximum(noisy, 0)):
        return recipe.calibrate(DOMAIN).run(counts, graph, Traced())


def network_with_tables() -> LoglinearNet:
    """A random network that keeps tables of pairs."""
    net = random_net("versions", 5, spread=6_000)
    codes = net.sample(KEY.stream(step="s", inputs="i", mechanism="tables", parameters={}).take(5 * 2_000))
    tables = []
    for pair in ((0, 1), (1, 2), (2, 4)):
        counts = np.zeros([net.size(i) for i in pair], np.int64)
        np.add.at(counts, tuple(net.buckets[i][np.roll(codes[:, i], i)] for i in pair), 1)
        tables.append(PairTable(pair, counts * WHOLE // len(codes)))
    return replace(net, tables=tuple(tables))


def records_of_the_model_drawn() -> str:
    """Two chunks of records that are raked and matched, and two of a larger release, which are not."""
    net, opener, made = network_with_tables(), Traced(), []
    for records in (300, MOST_RAKED + 1):
        entry = SeedlessEntry(guarantee="seedless", records=records, chunk_candidates=200)
        draw = seedless(entry, net.domain, lambda delta: delta).open(net, None, opener)
        made.append([draw(0, 200).tolist(), draw(1, 100).tolist()])
    return opener.digest(made)


def seeds_attempted() -> str:
    return attempts_of(network_drawn_from(), people())


def seeds_attempted_beside_tables() -> str:
    net = network_with_tables()
    rows = net.sample(KEY.stream(step="s", inputs="i", mechanism="rows", parameters={}).take(5 * 900))
    return attempts_of(net, rows)


def prefix_chosen() -> str:
    """The shares by which the prefix is chosen, and so all attempts of a spec that leaves it to the model."""
    found = []
    for net in (network_drawn_from(), network_with_tables()):
        law = [PASSES_OUT_OF // 100 * count for count in range(1, 90, 2)]
        found.append(passing_shares(net.domain, net.document(), plausible=30, law=law, public_rows=900))
    return str(found)


def attempts_of(net: Network, rows: Codes) -> str:
    """What attempts of some rows draw, in two chunks."""
    entry = PoissonEntry.model_validate(
        {
            "guarantee": "poisson_seeds",
            "omega": 3,
            "plausible": 20,
            "epsilon": EPSILON,
            "delta": DELTA,
            "public_rows": 900,
            "records": 300,
            "chunk_candidates": 200,
        }
    )
    opener = Traced()
    index = SeedIndex.build(net.in_order(rows), {3: 1})
    draw = poisson_seeds(entry, net.domain, lambda delta: delta).open(net, index, opener)
    made = [draw(0, 200).tolist(), draw(1, 100).tolist()]
    return opener.digest(made)


def candidates_tested() -> str:
    net = network_drawn_from()
    omega = {2: 1, 3: 1}
    attempt = MechanismOne(
        PrivacyTest(k=5, gamma=Fraction(4), eps0=Fraction(1), randomized=True), Fraction(1, 100), public_rows=500
    )
    opener = Traced()
    stream = opener(mechanism="mechanism_1_star", parameters=attempt.parameters(omega))
    records = synthesize(SeedResampler(net, omega), SeedIndex.build(people(), omega), attempt, stream, 300)
    assert 0 < len(records) < 300
    return opener.digest(records.tolist())


def candidates_tested_given_omega() -> str:
    net, omega = network_drawn_from(), {2: 1, 3: 1}
    attempt = MechanismOne(
        PrivacyTest(k=20, gamma=Fraction(4), eps0=Fraction(1), randomized=True), Fraction(1, 100), 500, given_omega=True
    )
    opener = Traced()
    stream = opener(mechanism="mechanism_1_star", parameters=attempt.parameters(omega))
    records = synthesize(SeedResampler(net, omega), SeedIndex.build(people(), omega), attempt, stream, 300)
    assert 0 < len(records) < 300
    return opener.digest(records.tolist())


def candidates_tested_among_some() -> str:
    net, omega = network_drawn_from(), {2: 1, 3: 1}
    attempt = MechanismOne(
        PrivacyTest(k=3, gamma=Fraction(4), eps0=Fraction(1), randomized=True), Fraction(1, 100), public_rows=500
    )
    opener, traced = Traced(), []
    for counting in (Counting(max_plausible=9), Counting(check_probability=Fraction(1, 4), max_plausible=9)):
        parameters = attempt.parameters(omega) | counting.parameters
        opened = [opener(mechanism=name, parameters=parameters) for name in ("mechanism_1_star", "scored_seeds")]
        model, index = SeedResampler(net, omega), SeedIndex.build(people(), omega)
        traced.append(synthesize_counted(model, index, attempt, *opened, 300, counting=counting).tolist())
        assert 0 < len(traced[-1]) < 300
    return opener.digest(traced)


def candidates_tested_by_scan() -> str:
    net = network_drawn_from()
    omega = {2: 1, 3: 1}
    attempt = MechanismOne(
        PrivacyTest(k=3, gamma=Fraction(4), eps0=Fraction(1), randomized=True), Fraction(1, 100), public_rows=500
    )
    opener, traced = Traced(), []
    for counting in (Counting(max_plausible=9), Counting(check_probability=Fraction(1, 4), max_plausible=9)):
        stream = opener(mechanism="mechanism_1_star", parameters=attempt.parameters(omega) | counting.parameters)
        model = SeedResampler(net, omega)
        traced.append(
            synthesize_by_scan(model, net.in_order(people()), attempt, stream, 200, counting=counting).tolist()
        )
    return opener.digest(traced)


def records_drawn_otherwise() -> str:
    file = {"path": "public.csv", "sha256": "0" * 64}
    asked = {"block": 3, "draws_per_row": 2, "sweeps": 2, "alpha_shape": {"a1": [1, 0, 2]}, "seed_file": file}
    entry = Entry.model_validate({"kind": "pegs", "epsilon": 3, "key_cells": 40, **asked})
    document = urns_document(DOMAIN, keys_in_spec(DOMAIN, None, entry.key_cells), {}, seeds=people()[:7].tolist())
    plan = draws(entry, DOMAIN, records=200, chunk=120)
    opener = Traced()
    draw = plan.open(document, plan.count(Counted(), document), opener)
    return opener.digest([draw(chunk, size).tolist() for chunk, size in ((0, 120), (1, 80))])


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


@dataclass
class Counted:
    """Counts the people above, or others."""

    codes: Codes = field(default_factory=people)

    def count(self, empty: Callable[[], Any], _: str) -> Any:
        tally = empty()
        tally.add(self.codes)
        return tally

    def advance(self, _: int) -> None:
        """Nobody waits."""


def step_run(
    step: str, asked: dict[str, Any], given: dict[str, Any] | None = None, domain: Domain = DOMAIN
) -> tuple[str, Any]:
    """What a step of a learner draws for the people, and what it makes."""
    entry = dict(zip(LEARNERS, entries(), strict=True))[asked["kind"]].model_validate(asked)
    planned = {each.name: each for each in steps_of(entry, domain, lambda delta: delta)}[step]
    opener = Traced()
    counted = Counted(people()[:, : len(domain)])
    products = dict(planned.run(counted, given or {}, opener).products)  # type: ignore[arg-type]
    return opener.digest(products.get("urns", products.get("network", ""))), products


def tables_learnt(kind: str, *asked: dict[str, Any], delta: float = 0, model: bool = False) -> Callable[[], str]:
    """What is drawn when a learner measures, which is all in `measured.json` where it has one; and the model of it."""

    def traced() -> str:
        found = []
        for each in asked or ({},):
            budget = {"epsilon": 2, **({"delta": delta} if delta else {})}
            entry = {"kind": kind, "parameters": budget, **each}
            digest, products = step_run(
                "learn_parameters", entry, {"graph": Graph.without_edges(DOMAIN).document(DOMAIN)}
            )
            found.append([digest, [table["releases"] for table in products.get("measured", {}).get("tables", ())]])
            found[-1] += [products["model"]] if model else []
        return str(found)

    return traced


def families_measured() -> str:
    network = [
        {"attribute": "a3", "parents": []},
        {"attribute": "a1", "parents": ["a3"]},
        {"attribute": "a0", "parents": ["a1", "a3"]},
        {"attribute": "a4", "parents": ["a0"]},
        {"attribute": "a2", "parents": ["a4", "a1"]},
    ]
    asked = {"kind": "privbayes", "structure": {"epsilon": 2, "degree": 2}, "parameters": {"epsilon": 2}}
    digest, products = step_run("learn_parameters", asked, {"network": network})
    return str([digest, [table["releases"] for table in products["measured"]["tables"]], products["model"]])


def parents_chosen() -> str:
    asked = {"kind": "privbayes", "structure": {"epsilon": 2, "degree": 2}, "parameters": {"epsilon": 2}}
    return step_run("learn_structure", asked)[0]


def orders_measured() -> str:
    return step_run("learn_structure", {"kind": "pegs", "epsilon": 3, "key_cells": 40, "structure": {"epsilon": 2}})[0]


FLOWS = Domain(
    tuple(
        Attribute(name, tuple(range(size)), "nominal", tuple(value // width for value in range(size)))
        for name, size, width in (("work", 3, 1), ("home", 8, 2))
    ),
    target="work",
)
COMMUTES = {"kind": "origin_destination", "destination": "work", "origin": "home", "epsilon": 3}


def commuters() -> Codes:
    rows = np.arange(900)
    return np.stack([rows % 5 % 3, (rows * rows + rows) // 3 % 8], axis=1).astype(np.uint16)


def totals_measured() -> str:
    entry = dict(zip(LEARNERS, entries(), strict=True))["origin_destination"]
    (step,) = steps_of(entry.model_validate({**COMMUTES, "totals_epsilon": 1}), FLOWS, lambda delta: delta)
    opener = Traced()
    return opener.digest(step.run(Counted(commuters()), {}, opener).products)  # type: ignore[arg-type]


def drawn_from_urns(
    domain: Domain, codes: Codes, *asked: dict[str, Any], fitted: Callable[[Domain], Any] | None = None
) -> str:
    """What is drawn for two chunks by a learner whose records are drawn from exact counts."""
    found = []
    for each in asked:
        entry = dict(zip(LEARNERS, entries(), strict=True))[each["kind"]].model_validate(each)
        (step,) = steps_of(entry, domain, lambda delta: delta)
        document = step.run(Counted(codes), {}, Traced()).products["urns"]  # type: ignore[arg-type]
        plan = draws_of(entry, domain, records=200, chunk=120)
        arrays = fitted(domain) if fitted else plan.count(Counted(codes), document)
        opener = Traced()
        draw = plan.open(document, arrays, opener)
        found.append(opener.digest([draw(chunk, size).tolist() for chunk, size in ((0, 120), (1, 80))]))
    return " ".join(found)


def diverse_drawn() -> str:
    asked = {"kind": "diverse", "diversity": 1.5, "key_cells": 40, "accept_no_differential_privacy": True}
    return drawn_from_urns(DOMAIN, people(), asked, asked | {"sensitive": ["a1", "a2"]})


def coefficients(domain: Domain) -> list[Any]:
    """Regressions that nobody fitted: their fit reads the records, and draws nothing."""
    shapes = [(int(Features(domain, i).places[-1]), size) for i, size in enumerate(domain.cardinalities)]
    return [np.arange(rows * size).reshape(rows, size) * 7919 % 200_003 - 100_000 for rows, size in shapes]


def imputed_drawn() -> str:
    return drawn_from_urns(DOMAIN, people(), {"kind": "imputed", "epsilon": 20}, fitted=coefficients)


def origins_drawn() -> str:
    totals = {"0": 80, "1": 70, "2": 50}
    probable = {"privacy": "pdp", "delta": 1e-3, "totals": totals}
    return drawn_from_urns(
        FLOWS,
        commuters()[:200],
        COMMUTES | {"totals": totals, "population": {"1": 3}},
        COMMUTES | {"totals": totals, "coarsen": False},
        COMMUTES | probable | {"sampling": 0.5, "coarsen": False},
        COMMUTES | probable | {"accept_reject": True},
    )


def origins_drawn_otherwise() -> str:
    totals = {"0": 80, "1": 70, "2": 50}
    staying = {"sampling": 0.25, "sampling_of": {"1": {"3": 1, "4": 0.5}}, "coarsen": False}
    return drawn_from_urns(
        FLOWS,
        commuters()[:200],
        COMMUTES | {"totals": totals, "prior_workers": {"1": 30, "6": 5}},
        COMMUTES | {"privacy": "pdp", "delta": 1e-3, "totals": totals} | staying,
    )


def sets_drawn() -> str:
    asked = {"kind": "multinomial_sets", "epsilon": 3, "sets": 2}
    return drawn_from_urns(FLOWS, commuters(), asked, asked | {"shared": True})


def schema_discovered() -> str:
    plan = DiscoveryPlan(questions=questions_about(["a"], ["b"]), epsilon=Fraction(1, 2), delta=Fraction(1, 10**6))
    counts = {"a": {f"v{number:02d}": number**2 for number in range(30)}, "b": {"1.5": 400, "-3": 90, "no": 7}}
    open_stream = partial(KEY.stream, step=stream_name("discover", "discover"), inputs="a table")
    return canonical(discovered(plan, counts, open_stream).document())


PUBLIC_TABLES = {
    "public_file": "public.csv",
    "sha256": "0" * 64,
    "tables": [{"attributes": ["a0", "a1"], "weight": 2}, {"attributes": ["a1", "a2", "a3"], "weight": 5}],
}

DRAWINGS: dict[str, Callable[[], str]] = {
    "structure_privbayes": parents_chosen,
    "structure_pegs": orders_measured,
    "learn_independent": tables_learnt("independent", {"bins": 4}),
    "learn_privbayes": families_measured,
    "learn_mst": tables_learnt("mst", {}, {"pooled": "uniform"}, delta=1e-6),
    "learn_nist_mst": tables_learnt("nist_mst", {"selection": PUBLIC_TABLES}, delta=1e-6),
    "learn_aim": tables_learnt("aim", {"workload": "pairs", "max_model": 0.005}, delta=1e-6),
    "learn_pegs_noisy": tables_learnt("pegs_noisy", {"orders": {"a4": ["a2", "a0"]}}, model=True),
    "learn_origin_destination": totals_measured,
    "draw_diverse": diverse_drawn,
    "draw_imputed": imputed_drawn,
    "draw_origin_destination": origins_drawn,
    "draw_multinomial_sets": sets_drawn,
    "learn_structure": graph_learnt,
    "learn_parameters": probabilities_learnt,
    "learn_loglinear": network_learnt,
    "discover": schema_discovered,
    "noise_seeds": histogram_noised,
    "synthesize": candidates_tested,
    "synthesize_seedless": records_of_the_model_drawn,
    "synthesize_scored": candidates_tested_among_some,
    "attempt_seeds": seeds_attempted,
    "draw_records": records_drawn,
}


OTHERWISE: dict[str, tuple[str, Callable[[], str]]] = {
    "synthesize/1 given omega": (
        "47ea8c39bb137f35288d5b69279717003b8c3279e524e30329df8ae7c3d44cfa",
        candidates_tested_given_omega,
    ),
    "attempt_seeds/4 beside tables": (
        "2b215bab97a58abbcb0926ecd62a7a44f55ffbb5f3f8a6b275ace37f164e6dee",
        seeds_attempted_beside_tables,
    ),
    "attempt_seeds/4 with a prefix chosen": (
        "f4ea050a1722d7ca4bd686a40cace552f699b0eb761e55fd07b485fdd6c4201a",
        prefix_chosen,
    ),
    "synthesize/1": ("054136eaaf749bc91618e0711e4ba1ba202d78ab5b24039482fff14d6541c72c", candidates_tested_by_scan),
    "draw_records/1": ("bd50c4f6531b2506c2c1c980cbeab6e0d5eb1072f5399a56ec19f078eb4b9e2f", records_drawn_otherwise),
    "draw_origin_destination/1": (
        "8e1601e4794d5e825744269b22e97a5b798be882142508c645efb5bc145c0ffa",
        origins_drawn_otherwise,
    ),
    "learn_loglinear/8 of a number with a tail": (
        "b06a9b1a4188e05c9e7c0f548606afccc6f638a62b21e8361858e2188b56d53a",
        tailed_network_learnt,
    ),
    "learn_loglinear/8 of a wide table": (
        "ee88a2e309603bb934e511ba9ba395323b599288d823dd6522eb5e49dabb7e46",
        wide_network_learnt,
    ),
}
"""What entries of a spec that came later draw, or wide tables, by the version that they have in common with others."""


def certificate_drawn() -> str:
    """The streams of a certificate, with each law, and its noisy error of tables that are given."""
    pairs = Workload(((0, 1), (1, 2)))
    tables = [np.arange(6).reshape(2, 3) * 40, np.arange(36).reshape(3, 12) * 7]
    model = [table[::-1].copy() for table in tables]
    found = []
    for law in (NoiseLaw("laplace", Fraction(9, 2)), NoiseLaw("gaussian", Fraction(70, 3))):
        opener = Traced()
        found.append(opener.digest(noisy_error(tables, model, law, opener, DOMAIN, pairs)))
    return " ".join(found)


def survey_answered() -> str:
    """The responses to questions of every design, and to the same with every other answer."""
    asked = [
        {"name": "smokes", "text": "Do you?", "values": ["no", "yes"], "design": "warner", "truth": "3/4"},
        {"name": "cheats", "text": "Did you?", "values": ["no", "yes"], "design": "forced", "forced": "1/2"},
        {"name": "diet", "text": "Which?", "values": ["meat", "fish", "plants"], "design": "k_rr", "epsilon": "1"},
        {"name": "party", "text": "Which?", "values": [*"abcdef"], "design": "oue", "epsilon": "1"},
    ]
    survey = read_survey(json.dumps({"survey": "habits", "title": "Habits", "questions": asked}))
    answers = [{each.name: each.values[place] for each in survey.questions} for place in (0, 1)]
    keys = [ReleaseKey(bytes([number] * 32)) for number in range(60)]
    return canonical([respond(survey, given, key) for key in keys for given in answers])


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


UNNAMED: dict[str, tuple[str, Callable[[], str]]] = {
    "certificate": ("8b1084e3e18e9be1db670ccef1d949bf174b7fa249db0bd97ac2b92fbf38a163", certificate_drawn),
    "survey": ("c5ee621c9b75337bb73c4f9bc977cf2ac94e6c66885ec44479415a44bdc0ff1c", survey_answered),
}
"""What is drawn without a version of its own, and must therefore always be the same."""


@pytest.mark.parametrize("name", UNNAMED)
def test_what_has_no_version_of_its_own_draws_what_it_always_drew(name: str) -> None:
    pinned, drawing = UNNAMED[name]
    found = sha256(f"{noise_drawn()} {drawing()}".encode()).hexdigest()
    assert found == pinned, f"the {name} is drawn otherwise than it was; under the same key both would be known"


@pytest.mark.parametrize("name", OTHERWISE)
def test_what_a_later_entry_of_a_spec_draws_is_what_it_always_drew(name: str) -> None:
    pinned, drawing = OTHERWISE[name]
    found = sha256(f"{noise_drawn()} {drawing()}".encode()).hexdigest()
    drawing_code, version = name.partition(" ")[0].split("/")
    assert mechanism_name(drawing_code, "step") == f"step/{version}"
    assert found == pinned, f"{name} draws otherwise than it did: raise its version, and pin {found} for the new one"


def test_every_mechanism_that_draws_has_a_version_that_is_pinned() -> None:
    assert set(VERSIONS) == set(DRAWINGS)


def test_every_learner_that_draws_has_its_own_line_or_shares_one_that_is_pinned_by_its_code() -> None:
    shared = {("cfs", "learn_structure"), ("cfs", "learn_parameters"), ("marginals", "learn_parameters")}
    shared.add(("pegs", "draw_records"))  # this line is pinned by the draws of this learner
    without = set()
    for kind, entry in zip(LEARNERS, entries(), strict=True):
        drawing = {step for step in entry.steps if entry.parts and step in {"learn_structure", "learn_parameters"}}
        for step in drawing | ({"draw_records"} if entry.is_drawn_from_counts else set()):
            if drawing_of(kind, step) == step:
                without.add((kind, step))
    # These make a graph without edges, list public urns, or derive tables from a public file: nothing is drawn.
    draws_nothing = {
        ("marginals", "learn_structure"),
        ("independent", "learn_structure"),
        ("origin_destination", "learn_structure"),
        ("nist_mst", "learn_structure"),
    }
    assert without == shared | draws_nothing


def test_the_sampler_decides_which_code_tests_candidates() -> None:
    assert drawing_of("cfs", "synthesize", {"max_check_plausible": None}) == "synthesize"
    assert drawing_of("cfs", "synthesize", {"guarantee": "seedless"}) == "synthesize_seedless"
    assert drawing_of("cfs", "synthesize", {"guarantee": "histogram_seeds"}) == "synthesize"
    assert drawing_of("cfs", "synthesize", {"max_check_plausible": 100}) == "synthesize_scored"
    assert drawing_of("cfs", "learn_structure", {"max_check_plausible": 100}) == "learn_structure"


def test_a_line_of_a_learner_is_its_own_and_a_charge_keeps_its_name_in_version_1() -> None:
    assert drawing_of("mst", "learn_parameters") == "learn_mst"
    assert drawing_of("pegs", "learn_structure") == "structure_pegs"
    assert drawing_of("cfs", "learn_structure") == "learn_structure"
    assert drawing_of("imputed", "draw_records") == "draw_imputed"
    for drawing, step in (("learn_mst", "learn_parameters"), ("draw_diverse", "draw_records")):
        assert mechanism_name(drawing, step) == f"{step}/1"
        assert stream_name(drawing, step) == step


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
