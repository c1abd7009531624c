"""Public totals of a whole table in estimates of the rows that were measured: unbiased, and never less precise."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from deniable.foundation.domain import Attribute, Domain
from deniable.foundation.rules import PublicTotal
from deniable.learners.cfs.parameters import integer_weights
from deniable.learners.under_rules import with_public_shares
from deniable.measurements.document import Measurements, Universe
from deniable.measurements.estimates import consistent, probability_of
from deniable.measurements.noisy_tables import MeasuredTable, NoiseLaw, Release
from deniable.models.bayes_net import BayesNet
from deniable.models.graph import Graph

ATTRIBUTES = (
    Attribute("sex", ("f", "m"), "nominal", (0, 1)),
    Attribute("area", ("a", "b", "c"), "nominal", (0, 1, 2)),
)
TOTALS = (PublicTotal("census", None, (1000,)), PublicTotal("census", "sex", (600, 400)))
SHARE = Fraction(4, 5)


def measured(sums: np.ndarray, totals: tuple[PublicTotal, ...] = TOTALS) -> Measurements:
    """One table of both attributes, with noise of variance 100."""
    release = Release(sums=sums, noise=NoiseLaw("gaussian", Fraction(100)), turn=1, multiplier=1)
    return Measurements(
        domain=Domain(ATTRIBUTES, totals=totals),
        learner="loglinear",
        universe=Universe("parameters"),
        buckets=(np.arange(2), np.arange(3)),
        tables=(MeasuredTable(attributes=(0, 1), releases=(release,), reason="tree"),),
        choices=(),
        records=800.0,
        order=(0, 1),
    )


def table(document: dict, names: list[str], what: str) -> np.ndarray:  # type: ignore[type-arg]
    return np.asarray(next(each[what] for each in document["tables"] if each["attributes"] == names))


def test_a_public_total_is_a_binomial_number_of_the_measured_rows_and_enters_by_its_precision() -> None:
    sums = np.asarray([[180, 170, 160], [100, 110, 90]])
    without, given = (consistent(measured(sums), probability=each) for each in (None, SHARE))
    assert "public" not in without
    assert given["public"] == {"probability": "4/5", "totals": [total.document() for total in TOTALS]}
    for names in (["sex"], ["sex", "area"]):
        if any(each["attributes"] == names for each in without["tables"]):
            assert (table(given, names, "variances") < table(without, names, "variances")).all()
    # By hand: for each sex the table says 510 and 300 with variance 300, the census 480 and 320 with 96 and 64; both
    # together say of their sum 800 with variance 160, and so does the number of records.
    precision = np.linalg.inv(np.diag([96.0, 64.0])) + np.eye(2) / 300 + np.ones((2, 2)) / 160
    right = np.linalg.solve(precision, np.asarray([480 / 96 + 510 / 300 + 5, 320 / 64 + 300 / 300 + 5]))
    pairs = table(given, ["sex", "area"], "estimates")
    assert pairs.sum(axis=1) == pytest.approx(right, rel=1e-4)


def test_the_probability_is_that_of_the_part_or_of_all_shared_rows() -> None:
    found = measured(np.zeros((2, 3), np.int64))
    assert probability_of(found, {"shared": "0.8", "holdout": "0.2"}) == SHARE
    assert probability_of(found, {"seeds": "0.3", "parameters": "0.25"}) == Fraction(1, 4)


def test_public_counts_replace_the_probabilities_of_an_attribute_without_parents() -> None:
    domain = Domain(ATTRIBUTES, totals=TOTALS)
    even = tuple(integer_weights(np.full((1, size), 1 / size)) for size in domain.cardinalities)
    net = BayesNet(domain, Graph.without_edges(domain), even)
    found = BayesNet.from_document(domain, with_public_shares(domain, net.document()))
    assert np.abs(found.weights[0] / 2**32 - [[0.6, 0.4]]).max() < 1e-9
    assert (found.weights[1] == even[1]).all()
    bare = replace(domain, totals=())
    assert with_public_shares(bare, net.document()) == net.document()


def test_a_model_of_another_kind_is_returned_unchanged() -> None:
    document = {"format": "deniable/another/1"}
    assert with_public_shares(Domain(ATTRIBUTES, totals=TOTALS), document) is document
