"""Document 000, run again: its mathematics on small tables, and its parts on made-up people."""

from fractions import Fraction
from itertools import product
from math import log
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from deniable.evaluation.linear import minimising
from deniable.evaluation.linear.losses import LOGISTIC, SVM, Loss
from deniable.evaluation.linear.minimising import minimised
from deniable.evaluation.linear.records import Records
from deniable.foundation.domain import Codes
from deniable.plausible_deniability.privacy_tests import pass_probability
from papers import __main__ as command
from papers.bindschaedler import (
    accuracy,
    attributes,
    comparing,
    controls,
    distances,
    erm,
    passing,
    people,
    private_training,
    releases,
)
from papers.bindschaedler.published import GAMMA, ORDER, PARENTS, SIZES
from papers.chance import uniforms
from papers.registry import paper_of

# A law of chance is refused by mistake with a probability below 1e-9.
RARE = 1e-9


@pytest.fixture(scope="module")
def crowd() -> people.People:
    """A few made-up people."""
    return people.made_up(4000)


def test_made_up_people_depend_on_each_other_along_the_authors_graph(crowd: people.People) -> None:
    assert dict(zip(crowd.domain.names, crowd.domain.cardinalities, strict=True)) == SIZES
    assert not crowd.are_real
    assert sorted(ORDER) == sorted(SIZES)
    assert all(ORDER.index(parent) < ORDER.index(child) for child, those in PARENTS.items() for parent in those)
    age, related = (crowd.codes[:, crowd.column(name)] for name in ("age", "rel"))
    assert stats.spearmanr(age, related).pvalue < RARE
    # A control: the same people in different orders.
    shuffled = comparing.shuffled(crowd)
    assert stats.spearmanr(shuffled[:, 0], shuffled[:, crowd.column("rel")]).pvalue > 1e-4


def test_a_machine_without_the_file_has_made_up_people_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    found = people.made_up(10)
    monkeypatch.setattr(people, "the_people", lambda: found)
    assert "made up" in people.words_for_made_up()
    assert people.PLACE in people.words_for_made_up()
    real = people.People(found.domain, found.codes, are_real=True)
    monkeypatch.setattr(people, "the_people", lambda: real)
    assert people.words_for_made_up() == ""


def test_the_file_that_is_named_is_read_in_a_fixed_order(tmp_path: Path, crowd: people.People) -> None:
    place = tmp_path / "people.csv"
    rows = crowd.codes[:50]
    values = [[str(each.values[code]) for each, code in zip(crowd.domain.attributes, row, strict=True)] for row in rows]
    lines = [",".join(crowd.domain.names), *(", ".join(row) for row in values)]
    place.write_text("\n".join(lines) + "\n", encoding="utf-8")
    found = people._read(place)
    assert found.are_real
    assert sorted(map(tuple, found.codes.tolist())) == sorted(map(tuple, rows.tolist()))
    assert found.codes.tolist() != rows.tolist()
    assert found.codes.tolist() == people._read(place).codes.tolist()


@pytest.mark.parametrize(
    ("text", "why"), [(None, "where there is no file"), ("age,sex\n1,1\n", "got none for wc, edu")]
)
def test_a_file_that_is_not_the_peoples_is_refused_in_one_sentence(
    text: str | None,
    why: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    place = tmp_path / "people.csv"
    if text is not None:
        place.write_text(text, encoding="utf-8")
    monkeypatch.setenv(people.PLACE, str(place))
    people.the_people.cache_clear()
    try:
        with pytest.raises(SystemExit) as refused:
            command.main(["000", "--to", str(tmp_path / "var"), "--pages", str(tmp_path / "pages")])
    finally:
        people.the_people.cache_clear()
    assert refused.value.code != 0
    said = capsys.readouterr().err
    assert people.PLACE in said
    assert why in said
    assert not (tmp_path / "var").exists()


def brute_force(net: object, codes: Codes, column: int) -> list[int]:
    """The most likely values, by the definition: the product of an attribute's probability and its children's."""
    domain, graph = net.domain, net.graph  # type: ignore[attr-defined]

    def probability(record: list[int], child: int) -> float:
        row = 0
        for parent in graph.parents[child]:
            row = row * domain.bucket_counts[parent] + int(domain.attributes[parent].bucket_of[record[parent]])
        return float(net.weights[child][row, record[child]])  # type: ignore[attr-defined]

    found = []
    for record in codes.tolist():
        scores = []
        for value in range(domain.cardinalities[column]):
            record[column] = value
            score = log(max(probability(record, column), 1e-300))
            score += sum(
                log(max(probability(record, child), 1e-300))
                for child, those in enumerate(graph.parents)
                if column in those
            )
            scores.append(score)
        found.append(int(np.argmax(scores)))
    return found


@pytest.mark.parametrize("name", ["edu", "sex", "incc"])
def test_the_most_likely_value_is_that_of_the_product_of_a_value_and_its_children(
    name: str, crowd: people.People
) -> None:
    net, rows = releases.without_noise(crowd, crowd.codes), crowd.codes[:40]
    column = crowd.column(name)
    likely = accuracy.most_likely(net, rows, column)
    assert likely.tolist() == brute_force(net, rows, column)
    # A control: the parents alone tell something else for some.
    apart = releases.without_noise(crowd, crowd.codes, independent=True)
    assert accuracy.most_likely(apart, rows, column).tolist() != likely.tolist() or name == "sex"


def test_the_model_without_noise_has_the_shares_of_the_records(crowd: people.People) -> None:
    net = releases.without_noise(crowd, crowd.codes, independent=True)
    for column, table in enumerate(net.weights):
        counts = np.bincount(crowd.codes[:, column], minlength=table.shape[1])
        assert np.allclose(table[0] / 2**32, (counts + 1 / len(counts)) / (counts.sum() + 1), atol=1e-9)


@pytest.mark.slow
def test_synthetic_tables_have_as_many_records_and_differ_by_run(crowd: people.People) -> None:
    tables = {name: releases.table(crowd, name, of_half=True) for name in ("marginals", "omega 9", "omega 11")}
    assert len(tables["marginals"]) == len(tables["omega 11"]) == crowd.half
    # Few of so few people have 50 who are alike in age and relationship.
    assert 0 < len(tables["omega 9"]) < crowd.half
    assert all((each.max(axis=0) < crowd.domain.cardinalities).all() for each in tables.values())
    assert (releases.table(crowd, "omega 11", of_half=True, number=1) != tables["omega 11"]).any()
    assert len(releases.as_many_as_the_paper(crowd, of_half=True)[1]) == 15 * crowd.half


@pytest.mark.slow
def test_attributes_and_the_share_that_passes_are_as_expected_of_made_up_people(
    crowd: people.People, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Fewer totals, of fewer candidates.
    monkeypatch.setattr(passing, "RECORDS", (10,))
    monkeypatch.setattr(passing, "KS", (10, 25, 50))
    for part in (attributes.attributes(crowd), passing.passing(crowd, candidates=2000)):
        assert [check.words for check in part.checks if not check.holds and "more than half" not in check.words] == []
    assert [part.name for part in (attributes.sizes(crowd), distances.distances(crowd, 1))] == ["Table 2", "Figure 3"]


@pytest.mark.slow
def test_a_copy_scores_as_real_and_whatever_else_does_not_is_found(crowd: people.People) -> None:
    copy = controls.measured(crowd, comparing.copied(crowd))
    names = [name for name in controls.compared_figures() if name in copy.figures]
    assert {"tvd_2way", "k_marginal_score", "distinguished", "accuracy_forest", "mutual_information_gap"} <= {*names}
    assert [check.words for check in controls.of_the_copy(copy, names) if not check.holds] == []
    assert copy.verdict == "unsafe"
    # Controls: shuffled records are no copy, and a copy is not independent.
    apart = controls.measured(crowd, comparing.shuffled(crowd))
    missed = [check.words for check in controls.of_the_copy(apart, names) if not check.holds]
    assert {"tvd_2way", "accuracy_forest", "mutual_information_gap"} <= {words.split()[5] for words in missed[:-8]}
    assert any("verdict" in words for words in missed)
    found = [check for check in controls.of_the_shuffled(copy, names) if "tvd_2way " in check.words]
    assert not any(check.holds for check in found)
    assert [check.words for check in controls.of_the_shuffled(apart, names) if not check.holds] == []


def test_the_expected_share_that_passes_counts_the_seeds_with_the_copied_prefix(crowd: people.People) -> None:
    net, seeds = releases.model(crowd, "cfs", "1", of_half=True), crowd.halves[0][:200]
    found = passing.expected(net, seeds, 9)
    prefixes = [tuple(row) for row in seeds[:, net.order[:2]].tolist()]
    for k in (10, 50):
        shares = [float(pass_probability(prefixes.count(each), k=k, eps0=Fraction(1))) for each in prefixes]
        assert found[k] == pytest.approx(np.mean(shares), rel=1e-12)


def test_a_fixed_omega_costs_less_than_a_random_one_and_gamma_matters_for_the_latter_alone() -> None:
    totals = {
        (gamma, random): passing.total(1000, 50, gamma, random=random, rows=50_000)
        for gamma, random in product(passing.GAMMAS, (False, True))
    }
    assert totals[2, False] == totals[GAMMA, False] < totals[2, True] < totals[GAMMA, True]


@pytest.mark.parametrize("loss", [LOGISTIC, SVM], ids=["logistic", "huber"])
def test_a_loss_has_the_derivatives_and_the_bound_that_are_stated(loss: Loss) -> None:
    m = np.linspace(-3, 3, 1213) + 0.00037
    step = 1e-5
    slope = (loss.value(m + step) - loss.value(m - step)) / (2 * step)
    assert np.abs(slope - loss.slope(m)).max() < 1e-5
    bend = (loss.slope(m + step) - loss.slope(m - step)) / (2 * step)
    corners = np.minimum(np.abs(m - 0.5), np.abs(m - 1.5)) < 1e-3 if loss is SVM else np.zeros(len(m), bool)
    assert np.abs(bend - loss.bend(m))[~corners].max() < 1e-5
    assert loss.c * (1 - 1e-3) <= loss.bend(m).max() <= loss.c
    assert np.abs(loss.slope(m)).max() <= 1


@pytest.mark.parametrize("loss", [LOGISTIC, SVM], ids=["logistic", "huber"])
def test_sums_over_values_and_pairs_are_those_over_records(loss: Loss, crowd: people.People) -> None:
    records = erm.encoded(crowd.domain, crowd.codes[:300], crowd.column("incc"))
    rows = np.hstack([numbers[column] for column, numbers in zip(records.columns, records.numbers, strict=True)])
    assert rows.shape == (300, 98)
    assert np.linalg.norm(rows, axis=1).max() <= 1
    w = uniforms(people.stream_of("a vector"), 98) - 0.5
    weights = uniforms(people.stream_of("weights"), 300)
    assert np.allclose(records.products(w), rows @ w)
    assert np.allclose(records.weighted(weights), weights @ rows)
    assert np.allclose(records.squares(weights), rows.T @ (rows * weights[:, None]))
    found = minimised(records, loss, 1e-3, pull=w / 300)
    margins = records.labels * (rows @ found)
    gradient = (loss.slope(margins) * records.labels) @ rows / 300 + 1e-3 * found + w / 300
    assert np.linalg.norm(gradient) <= 1e-7


@pytest.mark.slow
def test_the_noise_of_private_training_has_a_gamma_norm_and_any_direction() -> None:
    drawn = np.array([erm.noise(people.stream_of("tested noise", number), 5, 0.7) for number in range(2000)])
    norms = np.linalg.norm(drawn, axis=1)
    assert stats.kstest(norms, stats.gamma(5, scale=0.7).cdf).pvalue > RARE
    assert stats.kstest(norms, stats.gamma(4, scale=0.7).cdf).pvalue < RARE
    # A coordinate of a direction in five dimensions: (1 + u) / 2 has the beta law of (2, 2).
    assert stats.kstest((1 + drawn[:, 3] / norms) / 2, stats.beta(2, 2).cdf).pvalue > RARE


def test_output_perturbation_covers_the_most_that_a_minimiser_moves() -> None:
    """One attribute, all records alike but one: the bound 2 / (n lambda) is nearly reached."""
    rows, ridge = 50, 10.0
    alike = Records((np.zeros(rows, np.int64),), (np.ones((1, 1)),), np.ones(rows))
    labels = np.ones(rows)
    labels[0] = -1
    other = Records(alike.columns, alike.numbers, labels)
    moved = float(np.abs(minimised(alike, SVM, ridge) - minimised(other, SVM, ridge)).max())
    assert 0.9 * 2 / (rows * ridge) < moved <= 2 / (rows * ridge) + 1e-6
    assert erm.output_scale(rows, ridge, 1.0) == pytest.approx(2 / (rows * ridge))


def test_scales_of_noise_are_those_of_another_program_and_a_minimiser_moves_less_than_its_bound(
    crowd: people.People,
) -> None:
    checks = private_training._checks_of_noise(crowd)
    assert len(checks) == 3 * len(private_training.WORKED_OUT) + 4
    assert [check.words for check in checks if not check.holds] == []


def test_a_minimiser_that_is_not_reached_is_refused(monkeypatch: pytest.MonkeyPatch, crowd: people.People) -> None:
    monkeypatch.setattr(minimising, "_MOST_STEPS", 1)
    records = erm.encoded(crowd.domain, crowd.codes[:100], crowd.column("incc"))
    with pytest.raises(ArithmeticError, match="the gradient of logistic regression must fall to 1e-07"):
        minimised(records, LOGISTIC, 1e-3)


def test_the_paper_has_all_its_figures_and_tables() -> None:
    names = [name for name, _ in paper_of("000").parts]
    own = ["Controls"]
    assert sorted(names) == sorted([*(f"Figure {n}" for n in range(1, 7)), *(f"Table {n}" for n in range(1, 6)), *own])
