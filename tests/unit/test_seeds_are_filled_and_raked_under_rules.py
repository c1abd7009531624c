"""Under the rules of a schema, records from seeds are filled up and raked as anywhere, and keep every rule."""

from itertools import combinations

import numpy as np
import pytest

from deniable.foundation.domain import Codes, Domain
from deniable.foundation.keys import Parameter, ReleaseKey, WordStream
from deniable.plausible_deniability.pass_law import PassLaw
from deniable.plausible_deniability.plausible_seeds import SeedIndex
from deniable.privacy.loss import PASSES_OUT_OF
from deniable.samplers.poisson_seeds.sampler import _open
from deniable.samplers.poisson_seeds.spec import Entry
from deniable.samplers.seedless.sampler import sampler as seedless
from deniable.samplers.seedless.spec import Entry as SeedlessEntry
from tests.domains_with_rules import keeps_all, random_constrained_net

ROWS = 2000
LAW = PassLaw(4, (PASSES_OUT_OF // 2,) * 5_000)
"""Half of the attempts pass, whatever is copied; the model fills up the rest."""


def opened(*, mechanism: str, parameters: dict[str, Parameter], chunk: int) -> WordStream:
    key = ReleaseKey(bytes(range(32)))
    return key.stream(step="test", mechanism=mechanism, inputs="", parameters=parameters, chunk=chunk)


def distance(records: Codes, towards: Codes, domain: Domain) -> float:
    """Mean total variation distance of the two-way tables."""
    found = []
    for i, j in combinations(range(len(domain)), 2):
        width = domain.cardinalities[j]
        tables = [
            np.bincount(codes[:, i].astype(np.int64) * width + codes[:, j], minlength=domain.cardinalities[i] * width)
            / len(codes)
            for codes in (records, towards)
        ]
        found.append(0.5 * float(np.abs(tables[0] - tables[1]).sum()))
    return float(np.mean(found))


@pytest.mark.parametrize("name", ["4", "5"])
def test_records_from_seeds_under_rules_are_raked_whole_and_keep_them(name: str) -> None:
    net = random_constrained_net(name)
    m, draw = len(net.domain), np.random.default_rng(5)

    def sampled(rows: int) -> Codes:
        return net.sample(draw.integers(0, 2**32, rows * m, dtype=np.uint32))

    index = SeedIndex.build(net.in_order(sampled(ROWS)), {m - 1: 1})
    asked = {"guarantee": "poisson_seeds", "records": ROWS, "chunk_candidates": ROWS, "epsilon": "1", "delta": "1e-6"}
    entry = Entry.model_validate(asked | {"public_rows": ROWS, "omega": m - 1})
    seeded: list[int] = []
    records = _open(entry, LAW, {}, net, index, opened, seeded.append)(0, ROWS)
    assert 0.3 * ROWS < seeded[0] < 0.7 * ROWS
    assert keeps_all(net.domain, records).all()
    towards = sampled(100_000)
    at_random = min(distance(sampled(ROWS), towards, net.domain) for _ in range(20))
    assert distance(records, towards, net.domain) < 0.7 * at_random


@pytest.mark.parametrize("name", ["4", "5"])
def test_records_of_the_model_alone_are_raked_under_rules_too(name: str) -> None:
    net = random_constrained_net(name)
    m, draw = len(net.domain), np.random.default_rng(6)

    def sampled(rows: int) -> Codes:
        return net.sample_evenly(draw.integers(0, 2**32, rows * m, dtype=np.uint32))

    entry = SeedlessEntry(guarantee="seedless", records=ROWS, chunk_candidates=ROWS)
    records = seedless(entry, net.domain, lambda delta: delta).open(net, None, opened)(0, ROWS)
    assert keeps_all(net.domain, records).all()
    towards = sampled(100_000)
    not_raked = min(distance(sampled(ROWS), towards, net.domain) for _ in range(20))
    assert distance(records, towards, net.domain) < 0.7 * not_raked
