"""Utility measures on tables small enough to be worked out by hand."""

from itertools import pairwise

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from deniable.evaluation.utility import (
    MAX_CELLS,
    MarginalCounts,
    accuracy,
    agreement_rate,
    count_marginals,
    distinct_share,
    distinguishing_game,
    marginals_of_order,
    mean_distance_error,
    predictions,
    sample_rows,
    total_variation,
)
from deniable.foundation.domain import Codes
from deniable.foundation.errors import InvalidInput
from deniable.foundation.keys import ReleaseKey, Words, WordStream


def codes(*rows: tuple[int, ...]) -> Codes:
    return np.array(rows, dtype=np.uint16)


def words(name: str) -> WordStream:
    return ReleaseKey(bytes(32)).stream(step="test", mechanism=name, inputs="", parameters={})


def correlated(rows: int, name: str) -> Codes:
    """Four attributes in pairs that nearly copy each other: nothing that a product of marginals could imitate."""
    stream = words(name)
    first, second = (stream.take(rows) % 4 for _ in range(2))
    flips = [stream.take(rows) % 10 == 0 for _ in range(2)]
    return np.column_stack((first, (first + flips[0]) % 4, second, (second + flips[1]) % 4)).astype(np.uint16)


def shuffled_columns(table: Codes, name: str) -> Codes:
    """The product of the marginals: each column as it is, in an order of its own."""
    stream = words(name)
    return np.column_stack([column[np.argsort(stream.take(len(column)))] for column in table.T])


class Majority:
    """Predicts the commonest label it was shown."""

    def fit(self, X: Codes, y: Codes) -> "Majority":
        self.label, self.attributes = np.bincount(y).argmax(), X.shape[1]
        return self

    def predict(self, X: Codes) -> Codes:
        assert X.shape[1] == self.attributes
        return np.full(len(X), self.label)


def forest() -> RandomForestClassifier:
    return RandomForestClassifier(20, min_samples_leaf=5, random_state=1)


class TestMarginals:
    def test_all_pairs_of_four_attributes_are_listed_in_order(self) -> None:
        assert marginals_of_order((2, 2, 2, 2), 2) == ((0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3))

    def test_a_sample_of_triples_has_the_asked_number_and_is_always_the_same(self) -> None:
        sample = marginals_of_order((2,) * 17, 3, 100)
        assert len(set(sample)) == 100
        assert sample == marginals_of_order((2,) * 17, 3, 100)

    @pytest.mark.parametrize(("m", "order", "limit"), [(17, 3, 100), (9, 2, 35), (5, 3, 1), (6, 1, 4)])
    def test_a_sample_is_spread_evenly_over_the_whole_list(self, m: int, order: int, limit: int) -> None:
        whole = marginals_of_order((2,) * m, order)
        expected = [whole[i * len(whole) // limit] for i in range(limit)]
        assert list(marginals_of_order((2,) * m, order, limit)) == expected

    def test_a_sample_is_found_without_the_list_which_a_wide_table_has_no_time_for(self) -> None:
        # 167 thousand million triples.
        assert marginals_of_order((2,) * 10_001, 3, 2) == ((0, 1, 2), (2062, 9424, 9437))

    def test_a_limit_above_the_number_of_marginals_lists_all(self) -> None:
        assert marginals_of_order((2, 2, 2), 2, 100) == ((0, 1), (0, 2), (1, 2))

    def test_a_marginal_of_more_attributes_than_there_are_does_not_exist(self) -> None:
        assert marginals_of_order((2, 2), 3, 100) == ()

    def test_marginals_too_large_to_compare_are_left_out(self) -> None:
        large = MAX_CELLS // 2
        assert marginals_of_order((2, 3, large), 2) == ((0, 1), (0, 2))

    def test_counts_of_a_pair_are_laid_out_with_an_axis_an_attribute(self) -> None:
        counts = count_marginals([codes((0, 2), (0, 2), (1, 0))], (2, 3), ((0,), (0, 1)))
        assert counts.table((0,)).tolist() == [2, 1]
        assert counts.table((0, 1)).tolist() == [[0, 0, 2], [1, 0, 0]]

    def test_counts_of_chunks_are_the_counts_of_the_whole(self) -> None:
        table, sizes = correlated(101, "chunks"), (4, 4, 4, 4)
        marginals = marginals_of_order(sizes, 1) + marginals_of_order(sizes, 2) + marginals_of_order(sizes, 3)
        whole = count_marginals([table], sizes, marginals)
        merged = MarginalCounts(sizes, marginals)
        for start, end in pairwise((0, 7, 40, 101)):
            merged.merge(count_marginals([table[start:end]], sizes, marginals))
        assert merged.rows == whole.rows == 101
        np.testing.assert_array_equal(merged.counts, whole.counts)
        for marginal in marginals:
            columns = [table[:, j].astype(int) for j in marginal]
            expected = np.zeros((4,) * len(marginal), int)
            np.add.at(expected, tuple(columns), 1)
            np.testing.assert_array_equal(whole.table(marginal), expected)

    def test_a_code_outside_the_domain_is_refused_instead_of_counted_elsewhere(self) -> None:
        with pytest.raises(InvalidInput, match="domain"):
            count_marginals([codes((0, 3))], (2, 3), ((0, 1),))

    def test_a_table_with_another_number_of_columns_is_refused(self) -> None:
        with pytest.raises(InvalidInput, match="2 columns"):
            count_marginals([codes((0, 1, 1))], (2, 3), ((0, 1),))


class TestTotalVariation:
    MARGINALS = ((0,), (1,), (0, 1))

    def distances(self, first: Codes, second: Codes) -> list[float]:
        return total_variation(
            count_marginals([first], (2, 2), self.MARGINALS), count_marginals([second], (2, 2), self.MARGINALS)
        ).tolist()

    def test_a_table_is_at_no_distance_from_itself_repeated(self) -> None:
        table = codes((0, 1), (1, 0), (1, 1))
        assert self.distances(table, np.concatenate((table, table))) == [0, 0, 0]

    def test_tables_with_nothing_in_common_are_at_distance_one(self) -> None:
        assert self.distances(codes((0, 0)), codes((1, 1), (1, 1))) == [1, 1, 1]

    def test_distances_worked_out_by_hand(self) -> None:
        first = codes((0, 0), (0, 0), (1, 1), (1, 1))
        second = codes((0, 0), (0, 1), (0, 0), (1, 1))
        # x0: 2/4 against 3/4; x1: 2/4 against 2/4; pairs: 2/4 2/4 against 2/4 1/4 1/4.
        assert self.distances(first, second) == [0.25, 0, 0.25]

    def test_independent_attributes_are_far_from_equal_ones_in_the_pair_alone(self) -> None:
        equal = codes((0, 0), (1, 1))
        independent = codes((0, 0), (0, 1), (1, 0), (1, 1))
        assert self.distances(equal, independent) == [0, 0, 0.5]

    def test_an_empty_table_is_at_no_defined_distance(self) -> None:
        with pytest.raises(InvalidInput, match="must have rows"):
            self.distances(codes((0, 0)), np.empty((0, 2), np.uint16))

    def test_counts_of_different_marginals_are_not_compared(self) -> None:
        with pytest.raises(InvalidInput, match="same marginals"):
            total_variation(
                count_marginals([codes((0, 0))], (2, 2), ((0,),)), count_marginals([codes((0, 0))], (2, 2), ((1,),))
            )


class TestSampling:
    def test_a_sample_does_not_depend_on_the_chunks(self) -> None:
        table = correlated(200, "sampled")
        whole = sample_rows([table], words("chunks"), 50)
        cut = sample_rows([table[:30], table[30:31], table[31:]], words("chunks"), 50)
        assert whole.shape == (50, 4)
        np.testing.assert_array_equal(whole, cut)

    @pytest.mark.parametrize("digits", [32, 6])
    def test_a_long_table_gives_the_rows_of_the_smallest_words(self, digits: int) -> None:
        """Whatever was let go on the way; with six digits most words come many times, and the first row counts."""

        class Coarse(WordStream):
            def take(self, count: int) -> Words:
                return super().take(count) >> np.uint32(32 - digits)

        table = np.arange(5000, dtype=np.uint16).reshape(-1, 1)
        ranks = Coarse(bytes(32)).take(5000)
        sample = sample_rows([table[i : i + 70] for i in range(0, 5000, 70)], Coarse(bytes(32)), 40)
        assert sample[:, 0].tolist() == np.argsort(ranks, kind="stable")[:40].tolist()

    def test_a_sample_larger_than_the_table_is_the_table_in_another_order(self) -> None:
        table = np.arange(20, dtype=np.uint16).reshape(20, 1)
        sample = sample_rows([table], words("larger"), 100)
        assert sorted(sample[:, 0]) == list(range(20))
        assert sample[:, 0].tolist() != list(range(20))

    def test_every_row_is_as_likely_as_any_other(self) -> None:
        table, stream = np.arange(10, dtype=np.uint16).reshape(10, 1), words("uniform")
        drawn = np.concatenate([sample_rows([table[:4], table[4:]], stream, 3)[:, 0] for _ in range(4000)])
        # 12,000 draws over 10 rows: a standard deviation of about 29 each, and 200 is seven of them.
        assert np.abs(np.bincount(drawn, minlength=10) - 1200).max() < 200

    def test_no_row_is_drawn_twice(self) -> None:
        sample = sample_rows([np.arange(1000, dtype=np.uint16).reshape(-1, 1)], words("twice"), 400)
        assert len(np.unique(sample)) == 400

    def test_nothing_to_draw_from_is_refused(self) -> None:
        with pytest.raises(InvalidInput, match="at least one chunk"):
            sample_rows([], words("nothing"), 1)


class TestDistinctShare:
    def test_records_that_repeat_are_counted_once(self) -> None:
        assert distinct_share(codes((0, 1), (0, 1), (1, 0), (1, 1)), (2, 2)) == 0.75

    def test_an_empty_table_has_no_distinct_record(self) -> None:
        assert distinct_share(np.empty((0, 2), np.uint16), (2, 2)) == 0


class TestClassifiers:
    def test_accuracy_and_agreement_worked_out_by_hand(self) -> None:
        truth, first, second = np.array([1, 1, 0, 0]), np.array([1, 0, 0, 0]), np.array([0, 0, 0, 1])
        assert accuracy(first, truth) == 0.75
        assert accuracy(second, truth) == 0.25
        assert agreement_rate(first, second) == 0.5

    def test_accuracy_on_no_record_is_refused(self) -> None:
        with pytest.raises(InvalidInput, match="at least one"):
            accuracy(np.array([], int), np.array([], int))

    def test_a_classifier_never_sees_the_column_it_predicts(self) -> None:
        class Witness(Majority):
            def fit(self, X: Codes, y: Codes) -> "Witness":
                assert X.tolist() == [[1, 3], [1, 3], [1, 4]]
                assert y.tolist() == [7, 7, 8]
                super().fit(X, y)
                return self

            def predict(self, X: Codes) -> Codes:
                assert X.tolist() == [[5, 6]]
                return super().predict(X)

        assert predictions(Witness, codes((1, 7, 3), (1, 7, 3), (1, 8, 4)), codes((5, 9, 6)), target=1).tolist() == [7]

    def test_a_table_with_one_class_teaches_that_class_without_a_classifier(self) -> None:
        def never() -> Majority:
            raise AssertionError

        assert predictions(never, codes((0, 1), (1, 1)), codes((0, 0), (1, 0)), target=1).tolist() == [1, 1]

    def test_an_empty_table_teaches_nothing(self) -> None:
        with pytest.raises(InvalidInput, match="learn from"):
            predictions(Majority, np.empty((0, 2), np.uint16), codes((0, 0)), target=1)


class TestDistinguishingGame:
    def test_a_coin_wins_half_of_the_games(self) -> None:
        assert distinguishing_game(Majority, correlated(100, "coin"), correlated(100, "other coin")) == 0.5

    def test_two_samples_of_one_population_are_not_told_apart(self) -> None:
        # 4,000 records are told apart or not: a standard deviation of 0.008.
        assert abs(distinguishing_game(forest, correlated(4000, "one"), correlated(4000, "other")) - 0.5) < 0.05

    def test_a_product_of_marginals_is_told_apart(self) -> None:
        real = correlated(4000, "real")
        assert distinguishing_game(forest, real, shuffled_columns(correlated(4000, "imitated"), "columns")) > 0.8

    def test_a_product_of_marginals_is_not_seen_in_one_way_distances(self) -> None:
        real, product = correlated(4000, "real"), shuffled_columns(correlated(4000, "imitated"), "columns")
        sizes = (4, 4, 4, 4)
        for order, least, most in ((1, 0.0, 0.05), (2, 0.1, 1.0)):
            marginals = marginals_of_order(sizes, order)
            distance = total_variation(
                count_marginals([real], sizes, marginals), count_marginals([product], sizes, marginals)
            ).mean()
            assert least <= distance <= most

    def test_too_few_records_are_refused(self) -> None:
        with pytest.raises(InvalidInput, match="two records"):
            distinguishing_game(Majority, codes((0, 0)), codes((0, 0), (1, 1)))


def test_the_standard_error_of_a_mean_distance_is_the_spread_of_tables_drawn_anew() -> None:
    """Tables that differ by far, three hundred times; an error a fifth too small or too large would not do."""
    cardinalities, marginals = (4, 4, 4, 4), ((0, 1), (1, 2), (2, 3))
    means, errors = [], []
    for number in range(300):
        one, stream = correlated(400, f"one {number}"), words(f"other {number}")
        other = np.column_stack([stream.take(500) % 4 for _ in range(4)]).astype(np.uint16)
        counts = tuple(count_marginals([table], cardinalities, marginals) for table in (one, other))
        means.append(total_variation(*counts).mean())
        errors.append(mean_distance_error(one, other, (counts[0], counts[1])))
    spread, stated = float(np.std(means)), float(np.mean(errors))
    assert 0.8 < stated / spread < 1.25


def test_a_mean_distance_over_no_marginal_has_no_error() -> None:
    table = codes((0, 1), (1, 0))
    counts = count_marginals([table], (2, 2), ())
    assert mean_distance_error(table, table, (counts, counts)) == 0


def test_the_standard_error_is_that_of_the_records_own_sums() -> None:
    """In marginals of one, two and three attributes, against a sum for each record by hand."""
    sizes, marginals = (4, 4, 4, 4), ((2,), (0, 1), (1, 3), (0, 2, 3))
    one, other = correlated(60, "one"), shuffled_columns(correlated(50, "other"), "columns")
    counts = tuple(count_marginals([table], sizes, marginals) for table in (one, other))
    variance = 0.0
    for own, beside, table in ((0, 1, one), (1, 0, other)):
        pulls = np.zeros(len(table))
        for marginal in marginals:
            shares = [each.table(marginal) / each.rows for each in counts]
            slope = np.sign(shares[own] - shares[beside]) / 2
            pulls += slope[tuple(table[:, column].astype(int) for column in marginal)]
        variance += float(np.var(pulls / len(marginals))) / len(table)
    assert mean_distance_error(one, other, (counts[0], counts[1])) == pytest.approx(variance**0.5, rel=1e-12)
