"""Random rules on random tables: a network's records keep them, and its density is the law of its sampler."""

from dataclasses import replace
from typing import Any

import numba
import numpy as np
import pytest
from numpy.typing import NDArray

from deniable.foundation import rule_components
from deniable.foundation.domain import Attribute, Codes, Domain
from deniable.foundation.errors import InvalidInput
from deniable.foundation.keys import ReleaseKey
from deniable.foundation.rules import Impossible, Order, Relation
from deniable.models.constrained_net import ConstrainedNet
from deniable.models.model_formats import model_from_document
from deniable.models.sequential_kernels import draw_next, factor_of, shares_of
from tests.domains_with_rules import (
    BOOK,
    every_record,
    keeps_all,
    random_bayes_net,
    random_constrained_net,
    random_domain,
)
from tests.extent import drawn

UNIT = 2**32
EXAMPLES = [f"rules-{number}" for number in range(drawn(200))]


@numba.njit
def factors_of(net: Any, records: Codes) -> NDArray[np.float64]:
    """Probability of each value given the earlier ones, positions in order."""
    found = np.empty(records.shape)
    for r in range(len(records)):
        for position in range(records.shape[1]):
            found[r, position] = factor_of(net, position, records[r])
    return found


@numba.njit
def drawn_from(net: Any, record: Codes, position: int, words: NDArray[np.uint32]) -> NDArray[np.int64]:
    """What some words select at a position."""
    found = np.empty(len(words), np.int64)
    for i in range(len(words)):
        found[i] = draw_next(net, position, record, words[i])
    return found


@numba.njit
def shares_at(net: Any, record: Codes, position: int, size: int) -> NDArray[np.int64]:
    """Shares of all values at a position."""
    found = np.empty(size, np.int64)
    shares_of(net, position, record, found)
    return found


def densities(net: ConstrainedNet, records: Codes) -> NDArray[np.float64]:
    found: NDArray[np.float64] = factors_of(net.arrays, net.in_order(records)).prod(axis=1)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", EXAMPLES)
def test_the_density_is_one_over_records_that_keep_the_rules_and_zero_elsewhere(name: str) -> None:
    net = random_constrained_net(name)
    records = every_record(net.domain)
    density = densities(net, records)
    assert (density[~keeps_all(net.domain, records)] == 0).all()
    # No beginning of a record is a dead end: else some of the mass would be lost.
    assert density.sum() == pytest.approx(1, abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("name", EXAMPLES[: drawn(60)])
def test_each_value_is_selected_by_exactly_the_share_of_words_that_its_density_states(name: str) -> None:
    net = random_constrained_net(name)
    records = every_record(net.domain)
    possible = net.in_order(records[densities(net, records) > 0])
    order = net.order.tolist()
    for position, column in enumerate(order):
        size = net.domain.cardinalities[column]
        begun = np.unique(possible[:, :position], axis=0)[:20]
        for beginning in begun:
            record = np.zeros(len(order), np.uint16)
            record[:position] = beginning
            shares = shares_at(net.arrays, record, position, size)
            assert shares.sum() == UNIT
            for value in range(size):
                record[position] = value
                assert factors_of(net.arrays, record[None])[0, position] * UNIT == shares[value]
            # Every word near a boundary, in whatever order the values lie, and a regular grid between.
            edges = np.cumsum(shares)[:-1]
            near = np.concatenate(
                [edges - 2, edges - 1, edges, edges + 1, np.linspace(0, UNIT - 1, 97).astype(np.int64)]
            )
            words = np.unique(near[(near >= 0) & (near < UNIT)]).astype(np.uint32)
            values = drawn_from(net.arrays, record, position, words)
            assert (shares[values] > 0).all()
            if net.relations[position] and (np.diff(values) >= 0).all():
                assert (values == np.searchsorted(np.cumsum(shares), words, side="right")).all()


@pytest.mark.slow
@pytest.mark.parametrize("name", EXAMPLES[: drawn(40)])
def test_no_record_that_is_drawn_breaks_a_rule_and_drawing_evenly_has_the_same_law(name: str) -> None:
    net = random_constrained_net(name)
    rows = 2_000
    words = ReleaseKey(bytes(32)).stream(step="test", mechanism="rules", inputs=name, parameters={})
    by_record = dict(zip(map(bytes, every_record(net.domain)), densities(net, every_record(net.domain)), strict=True))
    for sample in (net.sample, net.sample_evenly):
        records = sample(words.take(rows * len(net.domain)))
        assert keeps_all(net.domain, records).all()
        different, counts = np.unique(records, axis=0, return_counts=True)
        expected = np.asarray([by_record[bytes(record)] for record in different]) * rows
        assert (expected > 0).all()
        # Eight standard deviations of a Poisson count, beyond which chance leads once in 1e14.
        assert (np.abs(counts - expected) <= 8 * np.sqrt(expected) + 40).all()


def test_a_copied_beginning_of_a_valid_record_can_always_be_completed() -> None:
    net = random_constrained_net("copied")
    records = every_record(net.domain)
    valid = net.in_order(records[keeps_all(net.domain, records)])
    for position, column in enumerate(net.order.tolist()):
        for record in valid[:: max(1, len(valid) // 50)]:
            shares = shares_at(net.arrays, record, position, net.domain.cardinalities[column])
            assert shares.sum() == UNIT


def test_relations_of_pairs_are_all_kept_where_a_component_is_too_large_to_enumerate(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(rule_components, "MOST_CELLS", 1)
    monkeypatch.setattr(rule_components, "_pairs_fit", lambda _: True)
    attributes = tuple(Attribute(f"a{i}", (0, 1, 2), "numeric", (0, 0, 0)) for i in range(4))
    rules = (
        Order(BOOK, "a0", "a1"),
        Order(BOOK, "a1", "a2", strict=True),
        Impossible(BOOK, (("a0", (0,)), ("a3", (2,)))),
        Impossible(BOOK, (("a1", (1, 2)), ("a3", (0, 1)))),
    )
    domain = Domain(attributes, rules=rules)
    assert domain.components[0].joint is None
    monkeypatch.setattr(rule_components, "MOST_CELLS", 1 << 22)
    records = every_record(domain)
    for number in range(6):
        net = ConstrainedNet(domain, random_bayes_net(np.random.default_rng(number), domain))
        density = densities(net, records)
        assert (density[~keeps_all(domain, records)] == 0).all()
        assert density.sum() == pytest.approx(1, abs=1e-12)


def test_the_two_ways_to_combine_rules_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    compared = 0
    for number in range(drawn(400, least=60)):
        draw = np.random.default_rng([number, 7])
        domain = random_domain(draw, m=4)
        relations = [relation for rule in domain.rules for relation in rule.relations(domain)]
        monkeypatch.setattr(rule_components, "MOST_CELLS", 1 << 22)
        enumerated = rule_components.components(relations, domain.names)
        monkeypatch.setattr(rule_components, "MOST_CELLS", 0)
        monkeypatch.setattr(rule_components, "_pairs_fit", lambda _: True)
        try:
            paired = rule_components.components(relations, domain.names)
        except InvalidInput:
            continue
        monkeypatch.setattr(rule_components, "MOST_CELLS", 1 << 22)
        for one, other in zip(enumerated, paired, strict=True):
            assert one.joint is not None
            assert other.joint is None
            order = draw.permutation(one.columns).tolist()
            for length in range(1, len(order) + 1):
                assert (one.allowed(order[:length]) == other.allowed(order[:length])).all()
                compared += 1
    assert compared > 50


def test_closure_under_medians_is_recognised_by_corners() -> None:
    draw = np.random.default_rng(11)
    seen = set()
    for _ in range(drawn(2000)):
        pair = draw.random((draw.integers(1, 5), draw.integers(1, 5))) < draw.choice([0.3, 0.6, 0.9])
        left = pair[pair.any(axis=1)][:, pair.any(axis=0)]
        cells = np.argwhere(left)
        median = np.median(cells[np.stack(np.meshgrid(*[np.arange(len(cells))] * 3), axis=-1).reshape(-1, 3)], axis=1)
        closed = bool(left[tuple(median.astype(int).T)].all()) if len(cells) else True
        assert rule_components._is_median_closed(pair) == closed
        seen.add(closed)
    assert seen == {True, False}


def test_rules_that_are_neither_small_nor_threshold_like_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rule_components, "MOST_CELLS", 8)
    same = Relation((0, 1), (np.arange(3), np.arange(3)), ~np.eye(3, dtype=bool))
    with pytest.raises(InvalidInput, match="that connect a and b must leave at most 8 combinations"):
        rule_components.components([same], ["a", "b"])


def test_every_relation_says_what_its_rule_says() -> None:
    for number in range(drawn(200)):
        domain = random_domain(np.random.default_rng([number, 3]))
        records = every_record(domain)
        for rule in domain.rules:
            kept = np.ones(len(records), bool)
            for relation in rule.relations(domain):
                classes = (own[records[:, i]] for i, own in zip(relation.columns, relation.classes, strict=True))
                kept &= relation.allowed[tuple(classes)]
            assert (kept == rule.holds(domain, records)).all()


def test_zeros_are_the_combinations_that_no_valid_record_has() -> None:
    for number in range(drawn(100)):
        draw = np.random.default_rng([number, 5])
        domain = random_domain(draw)
        records = every_record(domain)
        valid = records[keeps_all(domain, records)]
        for known in (domain, domain.modelled):
            columns = draw.permutation(len(known))[: draw.integers(1, min(4, len(known) + 1))].tolist()
            there = np.zeros([known.cardinalities[column] for column in columns], bool)
            of = [domain.index(known.names[column]) for column in columns]
            there[tuple(valid[:, of].T)] = True
            zeros = known.zeros(columns)
            assert ((np.zeros(there.shape, bool) if zeros is None else zeros) == ~there).all()


def test_a_model_reads_back_with_its_rules_and_not_with_others() -> None:
    net = random_constrained_net("read back")
    again = model_from_document(net.domain, net.document())
    records = every_record(net.domain)
    assert isinstance(again, ConstrainedNet)
    assert (densities(again, records) == densities(net, records)).all()
    with pytest.raises(InvalidInput, match="a model must have the rules of the table's schema"):
        model_from_document(replace(net.domain, rules=()), net.document())
