"""NumPy alone finds in a model's document the probabilities by which compiled code draws records, to the last digit."""

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from deniable.foundation.domain import Codes
from deniable.foundation.errors import InvalidInput
from deniable.foundation.keys import ReleaseKey
from deniable.models.bayes_net import BayesNet
from deniable.models.conditionals import conditionals_of
from deniable.plausible_deniability.poisson_attempts import prefix_probabilities
from tests.domains_with_rules import random_constrained_net
from tests.loglinear_nets import random_net
from tests.property.test_attempts_are_the_same_in_blocks_and_one_by_one import junction_tree_net, random_bayes_net

KINDS = ["bayes", "junction", "loglinear", "one attribute", *(f"rules {number}" for number in range(1, 9))]


def words(number: int, name: str) -> NDArray[np.uint32]:
    return ReleaseKey(bytes(range(32))).stream(step="test", mechanism=name, inputs="", parameters={}).take(number)


def bayes_net() -> BayesNet:
    net = random_bayes_net("stated", 6)
    similarity = tuple((0.0,) * len(those) for those in net.graph.parents)
    return replace(net, graph=replace(net.graph, similarity=similarity))


def net_of(kind: str) -> Any:
    if kind.startswith("rules"):
        return random_constrained_net(kind)
    if kind in ("bayes", "junction"):
        return bayes_net() if kind == "bayes" else junction_tree_net()
    return random_net("stated", 6) if kind == "loglinear" else random_net("alone", 1)


def drawn(net: Any, name: str, count: int) -> Codes:
    """Return records of the network and, as many again, any records that keep its rules at least in part."""
    m = len(net.domain)
    own = net.in_order(net.sample(words(count * m, name)))
    other = np.concatenate([own[1:, : m // 2], own[:-1, m // 2 :]], axis=1)
    return np.ascontiguousarray(np.concatenate([own, other]))


@pytest.mark.parametrize("kind", KINDS)
def test_all_probabilities_are_those_of_compiled_code(kind: str) -> None:
    net = net_of(kind)
    conditionals = conditionals_of(net.domain, json.loads(json.dumps(net.document())))
    assert list(conditionals.order) == net.order.tolist()
    records = drawn(net, kind, 300)
    product = np.ones(len(records))
    for position, size in enumerate(conditionals.sizes):
        shares = conditionals.shares[position](records)
        assert shares.shape == (len(records), size)
        assert (shares.sum(axis=1) == 2**32).all()
        product *= shares[np.arange(len(records)), records[:, position]] / 2**32
        expected = prefix_probabilities(net, net.in_columns(records), position + 1)
        np.testing.assert_array_equal(product, expected)
    assert (product[:300] > 0).all()


@pytest.mark.parametrize("kind", ["bayes", "junction", "loglinear", "rules 1", "rules 2"])
def test_chances_of_drawn_prefixes_are_products_of_the_models_probabilities(kind: str) -> None:
    net = net_of(kind)
    m, count = len(net.domain), 300
    own = words(m * count, kind).reshape(m, count)
    conditionals = conditionals_of(net.domain, net.document())
    chances = conditionals.prefix_chances(own)
    records = np.zeros((count, m), np.uint16)
    for position, each in enumerate(own):
        running = np.cumsum(conditionals.shares[position](records), axis=1)
        records[:, position] = (running > each[:, None]).argmax(axis=1)
        expected = prefix_probabilities(net, net.in_columns(records), position + 1)
        np.testing.assert_array_equal(chances[position], expected)


def test_blocks_do_not_change_what_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    net = net_of("loglinear")
    conditionals, own = conditionals_of(net.domain, net.document()), words(6 * 100, "blocks").reshape(6, 100)
    at_once = conditionals.prefix_chances(own)
    monkeypatch.setattr("deniable.models.conditionals._AT_A_TIME", 1)
    np.testing.assert_array_equal(conditionals.prefix_chances(own), at_once)


def test_a_document_of_another_format_or_with_other_rules_is_refused() -> None:
    net = net_of("bayes")
    with pytest.raises(InvalidInput, match="a model must have one of the formats"):
        conditionals_of(net.domain, {**net.document(), "format": "deniable/bayes-net/9"})
    constrained = net_of("rules 1")
    for wrong in ({**constrained.document(), "rules": []}, constrained.base.document()):
        with pytest.raises(InvalidInput, match="a model must have the rules of the table's schema"):
            conditionals_of(constrained.domain, wrong)
