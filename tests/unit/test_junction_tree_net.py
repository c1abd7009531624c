"""A graphical model in integers: its density is that of the cliques, and records are drawn with it."""

import json
import re
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from deniable.foundation.domain import Attribute, Domain
from deniable.foundation.errors import InvalidInput
from deniable.foundation.keys import ReleaseKey
from deniable.models.graphical.clique_tables import CliqueTable
from deniable.models.graphical.fitting import NoisyTable, fit
from deniable.models.graphical.junction_tree_net import MASS, JunctionTreeNet
from deniable.models.model_formats import model_from_document
from deniable.models.sequential_kernels import factor_of

SIZES = (3, 2, 4, 1, 3)
# All values of an attribute share a bucket: parents must enter by their values.
DOMAIN = Domain(
    tuple(Attribute(f"a{i}", tuple(range(size)), "nominal", (0,) * size) for i, size in enumerate(SIZES)), target="a1"
)
FALSE_ALARM = 1e-9
Document = dict[str, Any]


def table(attributes: tuple[int, ...], name: str) -> NoisyTable:
    draw = np.random.default_rng(list(name.encode()))
    return NoisyTable(attributes, draw.gamma(0.5, 400.0, [SIZES[i] for i in attributes]), 5.0)


@pytest.fixture(scope="module")
def net() -> JunctionTreeNet:
    """A model with a clique of three attributes, a chain, and attributes by themselves."""
    tables = [table((0, 1, 2), "triple"), table((2, 4), "pair")]
    return JunctionTreeNet.of(DOMAIN, fit(SIZES, tables, iterations=200).model)


def words(number: int, name: str) -> NDArray[np.uint32]:
    return ReleaseKey(bytes(range(32))).stream(step="test", mechanism=name, inputs="", parameters={}).take(number)


@numba.njit
def densities(net: Any, records: Any) -> Any:
    found = np.ones(len(records))
    for r in range(len(records)):
        for position in range(records.shape[1]):
            found[r] *= factor_of(net, position, records[r])
    return found


def every_record() -> NDArray[np.uint16]:
    return np.indices(SIZES).reshape(len(SIZES), -1).T.astype(np.uint16)


def test_the_density_is_the_product_of_the_cliques_over_their_separators() -> None:
    tables = [table((0, 1, 2), "triple"), table((2, 4), "pair")]
    model = fit(SIZES, tables, iterations=200).model
    own = JunctionTreeNet.of(DOMAIN, model)
    records = every_record()
    found = densities(own.arrays, own.in_order(records))
    triple, pair, one = (model.marginal(own) / model.total for own in ((0, 1, 2), (2, 4), (2,)))
    right = triple[tuple(records[:, i] for i in (0, 1, 2))] * pair[records[:, 2], records[:, 4]] / one[records[:, 2]]
    assert found.sum() == pytest.approx(1)
    assert np.abs(found - right).max() < 1e-7
    assert (found[right > 0] > 0).all(), "what is possible has a probability above 0"


def test_the_document_is_the_model(net: JunctionTreeNet) -> None:
    again = model_from_document(DOMAIN, json.loads(json.dumps(net.document())))
    assert isinstance(again, JunctionTreeNet)
    assert again.document() == net.document()
    records = every_record()
    assert np.array_equal(
        densities(net.arrays, net.in_order(records)), densities(again.arrays, again.in_order(records))
    )


@pytest.mark.parametrize("how", ["sample", "sample_evenly"])
def test_records_have_the_law_of_the_model(net: JunctionTreeNet, how: str) -> None:
    rows, m = 1 << 15, len(SIZES)
    codes = getattr(net, how)(words(rows * m, how))
    expected = rows * densities(net.arrays, net.in_order(every_record()))
    found = np.bincount(np.ravel_multi_index(tuple(codes.T.astype(np.int64)), SIZES), minlength=expected.size)
    often = expected >= 5
    observed, wanted = (np.append(each[often], each[~often].sum()) for each in (found, expected))
    statistic = float(((observed - wanted) ** 2 / wanted).sum())
    # Stratified records are nearer to their law than independent ones; neither may be further from it.
    assert stats.chi2.sf(statistic, len(wanted) - 1) > FALSE_ALARM
    if how == "sample_evenly":
        assert statistic < (len(wanted) - 1) / 2, "strata leave less to chance"
    shifted = np.roll(observed, 1)
    assert stats.chi2.sf(float(((shifted - wanted) ** 2 / wanted).sum()), len(wanted) - 1) < FALSE_ALARM


def test_each_stratified_record_has_the_law_of_the_model(net: JunctionTreeNet) -> None:
    """One record of many tables, so that what the others of its table are does not matter."""
    tables, rows, m = 1_500, 3, len(SIZES)
    first = np.array([net.sample_evenly(words(rows * m, f"table {number}"))[1] for number in range(tables)])
    expected = tables * densities(net.arrays, net.in_order(every_record()))
    found = np.bincount(np.ravel_multi_index(tuple(first.T.astype(np.int64)), SIZES), minlength=expected.size)
    often = expected >= 5
    observed, wanted = (np.append(each[often], each[~often].sum()) for each in (found, expected))
    assert stats.chisquare(observed, wanted * observed.sum() / wanted.sum()).pvalue > FALSE_ALARM


def test_combinations_that_never_occur_leave_an_attribute_as_it_is_on_the_whole() -> None:
    masses = np.array([[[3, 1, 0], [0, 0, 0]]])
    clique = CliqueTable((3,), (1, 0), masses)
    assert clique.of(0).tolist() == [[4, 0]]
    assert clique.of(1).tolist() == [[3, 1, 0], [3, 1, 0]]


def test_values_first_drawn_have_few_values(net: JunctionTreeNet) -> None:
    for clique in net.cliques:
        sizes = [SIZES[i] for i in clique.new]
        assert sizes == sorted(sizes)
        assert MASS * 0.99 < clique.masses.sum() < MASS * 1.01


def without(document: Document, change: Callable[[Document], Any]) -> Document:
    changed: Document = json.loads(json.dumps(document))
    change(changed)
    return changed


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda d: d.update(format="deniable/junction-tree/0"), "must have one of the formats"),
        (lambda d: d["cliques"].reverse(), "must be drawn before it"),
        (lambda d: d["cliques"].pop(), "must name each attribute once"),
        (lambda d: d["cliques"][0]["masses"].pop(), "whole masses"),
        (lambda d: d["cliques"][0]["masses"].__setitem__(0, -1), "none below 0"),
        (lambda d: d["cliques"][0]["masses"].__setitem__(0, 0.5), "whole masses"),
        (lambda d: d["cliques"][0]["masses"].__setitem__(0, 1 << 40), "less than 2^32"),
        (lambda d: d["cliques"][0].update(masses=[0] * len(d["cliques"][0]["masses"])), "more than 0"),
    ],
)
def test_what_is_no_model_is_refused(net: JunctionTreeNet, change: Callable[[Document], Any], said: str) -> None:
    with pytest.raises(InvalidInput, match=re.escape(said)):
        model_from_document(DOMAIN, without(net.document(), change))
