"""Our trees, forests and AdaBoost classify as scikit-learn's do."""

from math import exp

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.ensemble import AdaBoostClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.tree import DecisionTreeClassifier

from deniable.evaluation.classifiers import SHARE, TREES, AdaBoost, Trees, classifiers
from deniable.evaluation.linear.classifier import RIDGE
from deniable.evaluation.tree_kernels import Cells, purest_stump
from deniable.foundation.domain import Attribute, Codes
from deniable.foundation.keys import ReleaseKey, Words, WordStream

CARDINALITIES = (100, 7, 2, 3, 40, 2)

ATTRIBUTES = [
    Attribute(f"a{i}", tuple(range(size)), "numeric" if size > 9 else "nominal", tuple(range(size)))
    for i, size in enumerate(CARDINALITIES)
]


def stream(name: str) -> WordStream:
    return ReleaseKey(bytes(32)).stream(step="test", mechanism=name, inputs="", parameters={})


def seeds(name: str, number: int = TREES) -> Words:
    return stream(name).take(number)


def table(name: str, rows: int) -> Codes:
    words = stream(name).take(rows * len(CARDINALITIES)).reshape(rows, -1)
    return (words % np.array(CARDINALITIES, np.uint32)).astype(np.uint16)


def labels(name: str, codes: Codes, number: int) -> NDArray[np.int64]:
    """A function of four attributes, replaced by another label for one record in five."""
    words = stream(f"{name}, labels").take(len(codes)).astype(np.int64)
    truth = codes[:, 0] // 30 + codes[:, 1] // 2 * codes[:, 2] + codes[:, 4] // 17
    return np.where(words % 5 == 0, words // 5, truth.astype(np.int64)) % number


@pytest.mark.parametrize("number", [2, 3, 7])
def test_adaboost_predicts_what_scikit_learn_predicts(number: int) -> None:
    codes, others = table("real", 3000), table("others", 3000)
    own, theirs = AdaBoost(), AdaBoostClassifier(random_state=1)
    for each in (own, theirs):
        each.fit(codes, labels("real", codes, number))
    assert (own.predict(others) == theirs.predict(others)).mean() > 0.999


def test_a_tree_predicts_what_scikit_learn_predicts() -> None:
    """Cuts that are equally good are chosen at random by both: few, in leaves of two hundred."""
    codes, others = table("real", 5000), table("others", 3000)
    own = Trees(seeds("tree", 1), least=200, tries_all=True)
    theirs = DecisionTreeClassifier(min_samples_leaf=200, random_state=1)
    for each in (own, theirs):
        each.fit(codes, labels("real", codes, 3))
    assert np.array_equal(own.predict(others), theirs.predict(others))


def test_a_value_between_two_that_were_learnt_goes_to_the_nearer() -> None:
    """At equal distances, to the smaller, as scikit-learn does: also where the sum of the two is odd."""
    codes = np.array([[4], [4], [8], [8], [11], [11]], np.uint16)
    wanted, others = np.array([0, 0, 1, 1, 2, 2]), np.arange(16, dtype=np.uint16)[:, None]
    own, theirs = Trees(seeds("tree", 1), least=1, tries_all=True), DecisionTreeClassifier(random_state=1)
    for each in (own, theirs):
        each.fit(codes, wanted)
    assert own.predict(others).tolist() == theirs.predict(others).tolist() == [0] * 7 + [1] * 3 + [2] * 6


@pytest.mark.slow
def test_a_forest_is_as_accurate_as_scikit_learns() -> None:
    """As many distinct records teach each tree, with and without replacement; forests of 100 trees differ by .005."""
    codes, others = table("real", 5000), table("others", 20_000)
    wanted, truth = labels("real", codes, 5), labels("others", others, 5)
    own = Trees(seeds("forest", 100), least=5, share=1 - exp(-1))
    theirs = RandomForestClassifier(100, min_samples_leaf=5, random_state=1)
    found = []
    for each in (own, theirs):
        each.fit(codes, wanted)
        found.append((each.predict(others) == truth).mean())
    assert found[0] == pytest.approx(found[1], abs=0.015)
    assert found[0] > np.bincount(truth).max() / len(truth) + 0.1


def test_a_forest_of_single_trees_that_learn_from_all_is_its_trees() -> None:
    """Votes are the shares of labels in leaves: of two trees, the surer one decides."""
    codes, others = table("real", 2000), table("others", 2000)
    words = seeds("pair", 2)
    pair, single = Trees(words, least=40), [Trees(words[i : i + 1], least=40) for i in range(2)]
    for each in (pair, *single):
        each.fit(codes, labels("real", codes, 2))
    one, two = (each.predict(others) for each in single)
    both = pair.predict(others)
    assert np.array_equal(both[one == two], one[one == two])
    assert {*both[one != two]} == {0, 1}


def test_a_prediction_does_not_depend_on_the_other_records() -> None:
    codes, others = table("real", 2000), table("others", 500)
    forest = Trees(seeds("forest"), least=5, share=SHARE)
    forest.fit(codes, labels("real", codes, 3))
    together = forest.predict(others)
    assert [forest.predict(others[r : r + 1])[0] for r in range(0, 500, 50)] == together[::50].tolist()


def test_many_values_and_labels_are_counted() -> None:
    """Every record has a value of its own in one attribute, and labels are as many as records."""
    rows = 3000
    codes = np.stack([np.arange(rows) * 20, np.arange(rows) % 3], axis=1).astype(np.uint16)
    tree = Trees(seeds("tree", 1), least=1, tries_all=True)
    tree.fit(codes, np.arange(rows))
    assert np.array_equal(tree.predict(codes), np.arange(rows))


def test_attributes_with_one_value_are_passed_over() -> None:
    """A node that draws only those draws on, until one of its attributes has several."""
    codes = np.zeros((400, 20), np.uint16)
    codes[:, 13] = np.arange(400) % 2
    forest = Trees(seeds("forest"), least=5, share=SHARE)
    forest.fit(codes, np.arange(400) % 2)
    assert np.array_equal(forest.predict(codes), np.arange(400) % 2)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("rows", [2, 5, 10])
def test_few_records_are_learnt_from(rows: int) -> None:
    codes, others = table("few", rows), table("others", 7)
    for factory in classifiers(stream("few"), 5, ATTRIBUTES).values():
        classifier = factory()
        classifier.fit(codes, np.arange(rows) % 2)
        assert classifier.predict(others).shape == (7,)


def test_without_a_cut_the_commonest_label_is_predicted() -> None:
    codes, wanted = np.zeros((9, 3), np.uint16), np.array([4, 6, 6, 4, 6, 6, 6, 4, 6])
    for classifier in (Trees(seeds("tree", 1), least=1, tries_all=True), AdaBoost()):
        classifier.fit(codes, wanted)
        assert classifier.predict(table("others", 4)[:, :3]).tolist() == [6] * 4


@pytest.mark.parametrize(("weights", "attribute"), [((1.0, 1e-30), -1), ((0.0, 1.0), -1), ((0.25, 0.75), 0)])
def test_a_part_whose_weight_is_lost_in_rounding_is_not_cut_off(weights: tuple[float, float], attribute: int) -> None:
    """AdaBoost makes records that are always right ever lighter; a division by 0 would end a release that was paid."""
    values = np.arange(2)
    cells = Cells(values[None].astype(np.uint32), np.array([0, 2]), values, values)
    of_cell = np.array(weights)
    found = purest_stump(cells, of_cell, of_cell.copy(), np.zeros(2), sum(weights))
    assert found[0] == attribute


def test_other_words_make_another_forest() -> None:
    codes, others = table("real", 1000), table("others", 1000)
    found = []
    for name in ("one", "one", "other"):
        forest = Trees(seeds(name), least=5, share=SHARE)
        forest.fit(codes, labels("real", codes, 7))
        found.append(forest.predict(others))
    assert np.array_equal(found[0], found[1])
    assert not np.array_equal(found[0], found[2])


def as_numbers(codes: Codes) -> NDArray[np.float64]:
    """The numbers of `deniable.evaluation.linear.records`, in the plain way and without the constant."""
    found = [
        codes[:, [i]] / (size - 1) if size > 9 else np.eye(size)[codes[:, i]] for i, size in enumerate(CARDINALITIES)
    ]
    return np.hstack(found) / np.sqrt(len(CARDINALITIES) + 1)


@pytest.mark.parametrize("number", [2, 3])
def test_logistic_regression_predicts_what_scikit_learn_predicts(number: int) -> None:
    """One label against the others; scikit-learn's C is 1 / (n lambda), and its constant is a column here."""
    codes, others = table("real", 2000), table("others", 2000)
    wanted = labels("real", codes, number)
    own = classifiers(stream("few"), 5, ATTRIBUTES)["logistic"]()
    own.fit(codes, wanted)
    constant = np.full((2000, 1), 1 / np.sqrt(len(CARDINALITIES) + 1))
    theirs = LogisticRegression(C=1 / (2000 * RIDGE), fit_intercept=False, tol=1e-9, max_iter=2000)
    theirs = theirs if number == 2 else OneVsRestClassifier(theirs)
    theirs.fit(np.hstack([as_numbers(codes), constant]), wanted)
    # Of several labels, scikit-learn compares probabilities, and ours margins, which have the same order.
    assert (own.predict(others) == theirs.predict(np.hstack([as_numbers(others), constant]))).mean() > 0.999


def test_the_support_vector_machine_finds_a_plane_between_two_halves() -> None:
    """On a margin that is wide, where a machine and a regression agree with the truth, and on labels in reverse."""
    codes, others = table("real", 2000), table("others", 2000)
    own = classifiers(stream("few"), 5, ATTRIBUTES)["svm"]()
    for sign in (1, -1):
        own.fit(codes, sign * (codes[:, 1] > 3))
        assert np.array_equal(own.predict(others), sign * (others[:, 1] > 3))


def test_a_minimiser_of_separable_records_is_used_as_far_as_it_was_found() -> None:
    """Evaluations do not fail on records that one step more would fit better."""
    codes = np.zeros((4, len(CARDINALITIES)), np.uint16)
    codes[2:, 1] = 6
    for name in ("logistic", "svm"):
        own = classifiers(stream("few"), 5, ATTRIBUTES)[name]()
        own.fit(codes, np.array([0, 0, 5, 5]))
        assert own.predict(codes).tolist() == [0, 0, 5, 5]
