"""Disclosure measures on tables worked out by hand, and on a release that is nothing but the training data."""

from collections import Counter, defaultdict
from dataclasses import replace

import numpy as np
import pytest

from deniable.evaluation.disclosure import (
    Contrast,
    Share,
    Tables,
    error_of_guesses,
    exact_matches,
    infer,
    nearer_error,
    nearer_to_training,
    reproduced,
    singled_out,
    uniqueness,
)
from deniable.foundation.domain import Codes
from deniable.foundation.errors import InvalidInput
from deniable.foundation.keys import ReleaseKey


def codes(*rows: tuple[int, ...]) -> Codes:
    return np.array(rows, dtype=np.uint16)


SIZES = (20, 10, 8, 5, 2, 2)


def population(rows: int, name: str, sizes: tuple[int, ...] = SIZES) -> Codes:
    """Independent attributes: nothing can be guessed from the others, and 32,000 records are equally likely."""
    stream = ReleaseKey(bytes(32)).stream(step="test", mechanism=name, inputs="", parameters={})
    return np.column_stack([stream.take(rows) % size for size in sizes]).astype(np.uint16)


@pytest.fixture(scope="module")
def copied() -> Tables:
    training = population(3000, "training")
    return Tables(released=training, training=training, holdout=population(3000, "holdout"), cardinalities=SIZES)


@pytest.fixture(scope="module")
def harmless() -> Tables:
    return Tables(
        released=population(3000, "released"),
        training=population(3000, "training"),
        holdout=population(3000, "holdout"),
        cardinalities=SIZES,
    )


class TestContrast:
    def test_the_excess_and_its_standard_error_worked_out_by_hand(self) -> None:
        contrast = Contrast(training=Share(30, 100), holdout=Share(20, 100))
        assert contrast.excess == pytest.approx(0.1)
        assert contrast.standard_error == pytest.approx((0.3 * 0.7 / 100 + 0.2 * 0.8 / 100) ** 0.5)

    def test_a_share_of_no_case_is_nothing(self) -> None:
        assert Share(0, 0).value == Share(0, 0).variance == 0


class TestExactMatches:
    TABLES = Tables(
        released=codes((0, 0), (0, 0), (1, 1), (2, 2)),
        training=codes((0, 0), (1, 1), (2, 0)),
        holdout=codes((1, 1), (1, 1), (0, 2)),
        cardinalities=(3, 3),
    )

    def test_shares_of_released_records_worked_out_by_hand(self) -> None:
        found = exact_matches(self.TABLES)
        assert (found.training, found.holdout) == (Share(3, 4), Share(1, 4))

    def test_shares_of_real_people_worked_out_by_hand(self) -> None:
        assert reproduced(self.TABLES) == Contrast(training=Share(2, 3), holdout=Share(2, 3))

    def test_parts_of_different_sizes_are_not_compared(self) -> None:
        tables = Tables(
            released=codes((0, 0)), training=codes((0, 0), (1, 1)), holdout=codes((0, 0)), cardinalities=(2, 2)
        )
        with pytest.raises(InvalidInput, match="equal numbers"):
            exact_matches(tables)
        with pytest.raises(InvalidInput, match="equal numbers"):
            nearer_to_training(tables)

    def test_a_copy_of_the_training_data_is_flagged(self, copied: Tables) -> None:
        assert exact_matches(copied).training.value == 1
        assert exact_matches(copied).excess > 0.8
        assert reproduced(copied).excess > 0.8
        assert reproduced(copied).excess > 10 * reproduced(copied).standard_error

    def test_an_independent_sample_of_the_population_is_not(self, harmless: Tables) -> None:
        assert abs(exact_matches(harmless).excess) < 0.05
        assert abs(reproduced(harmless).excess) < 5 * reproduced(harmless).standard_error


class TestNearest:
    def test_nearest_records_worked_out_by_hand(self) -> None:
        tables = Tables(
            # Nearer to training, nearer to the holdout, equally near to both, nearer to training.
            released=codes((0, 0, 0), (1, 1, 1), (2, 2, 2), (0, 0, 1)),
            training=codes((0, 0, 1), (2, 2, 0)),
            holdout=codes((1, 1, 2), (2, 2, 1)),
            cardinalities=(3, 3, 3),
        )
        assert nearer_to_training(tables) == (1 + 0 + 0.5 + 1) / 4

    def test_near_copies_are_flagged_where_exact_matches_find_nothing(self) -> None:
        sizes = (6,) * 12
        training = population(1000, "nearly copied", sizes)
        near = training.copy()
        near[:, 0] = (near[:, 0] + 1) % 6
        tables = Tables(near, training, population(1000, "not copied", sizes), sizes)
        assert exact_matches(tables).excess == 0
        assert nearer_to_training(tables) > 0.8

    def test_a_copy_is_flagged_and_an_independent_sample_is_not(self, copied: Tables, harmless: Tables) -> None:
        assert nearer_to_training(copied) > 0.9
        assert abs(nearer_to_training(harmless) - 0.5) < 0.05


class TestUniqueness:
    def test_shares_worked_out_by_hand(self) -> None:
        tables = Tables(
            # On the first two attributes (0,0) is there twice; (1,1), (2,2) and (0,2) are unique.
            released=codes((0, 0, 1), (0, 0, 0), (1, 1, 0), (2, 2, 0), (0, 2, 1)),
            # People: (1,1) once, (2,2) twice, (0,1) once, (0,2) once.
            training=codes((1, 1, 1), (2, 2, 1), (0, 1, 0)),
            holdout=codes((2, 2, 0), (0, 2, 0)),
            cardinalities=(3, 3, 2),
        )
        found = uniqueness(tables, (0, 1))
        assert found.released == Share(3, 5)
        assert found.released_and_population == Share(2, 5)
        assert found.found == Contrast(training=Share(1, 2), holdout=Share(1, 1))

    def test_a_release_without_records_has_no_unique_ones(self) -> None:
        people = codes((1, 1), (0, 1))
        tables = Tables(released=people[:0], training=people[:1], holdout=people[1:], cardinalities=(2, 2))
        found = uniqueness(tables, (0, 1))
        assert found.released == Share(0, 0)
        assert found.found == Contrast(training=Share(0, 1), holdout=Share(0, 1))
        assert singled_out(tables, (0, 1)) == Contrast(training=Share(0, 1), holdout=Share(0, 1))

    def test_a_copy_of_the_training_data_is_flagged(self, copied: Tables) -> None:
        assert uniqueness(copied, (0, 1, 2, 3)).found.excess > 0.8

    def test_an_independent_sample_of_the_population_is_not(self, harmless: Tables) -> None:
        found = uniqueness(harmless, (0, 1, 2, 3)).found
        assert abs(found.excess) < 5 * found.standard_error


class TestIntruder:
    def test_guesses_worked_out_by_hand(self) -> None:
        tables = Tables(
            # Known 0: 1 twice, 0 once, so 1. Known 1: a tie of 2 and 0, so 0. Known 2: nothing, so the commonest, 0.
            released=codes((0, 1), (0, 1), (0, 0), (1, 2), (1, 0), (3, 0)),
            training=codes((0, 1), (1, 2), (2, 0), (2, 1)),
            holdout=codes((0, 0), (1, 0)),
            cardinalities=(4, 3),
        )
        inference = infer(tables, known=(0,), sensitive=1)
        assert inference.attack == Contrast(training=Share(2, 4), holdout=Share(1, 2))
        assert inference.marginal == Contrast(training=Share(1, 4), holdout=Share(2, 2))

    @pytest.mark.parametrize("sensitive", [0, 4])
    def test_guesses_are_those_of_counting_person_by_person(self, harmless: Tables, sensitive: int) -> None:
        known = [j for j in (1, 2, 4) if j != sensitive]
        of: dict[tuple[int, ...], Counter[int]] = defaultdict(Counter)
        for record in harmless.released:
            of[tuple(record[known])][int(record[sensitive])] += 1
        commonest = Counter(map(int, harmless.released[:, sensitive]))

        def right(people: Codes) -> Share:
            counts = (of.get(tuple(person[known]), commonest) for person in people)
            guesses = [min(those, key=lambda value: (-those[value], value)) for those in counts]
            return Share(int(sum(guesses == people[:, sensitive])), len(people))

        attack = infer(harmless, known=known, sensitive=sensitive).attack
        assert attack == Contrast(training=right(harmless.training), holdout=right(harmless.holdout))

    def test_the_sensitive_attribute_is_never_among_what_is_known(self) -> None:
        tables = Tables(
            released=codes((0, 0), (0, 0), (0, 1)), training=codes((0, 1)), holdout=codes((0, 1)), cardinalities=(1, 2)
        )
        assert infer(tables, known=(0, 1), sensitive=1).attack.training == Share(0, 1)

    def test_an_intruder_who_knows_nothing_makes_the_marginal_guess(self, harmless: Tables) -> None:
        inference = infer(harmless, known=(), sensitive=3)
        assert inference.attack == inference.marginal

    def test_errors_of_guessed_numbers_worked_out_by_hand(self) -> None:
        tables = Tables(
            # Known 0: the mean of 10 and 30 is 20; known 1: 30; known 2: nothing, so the mean of all, 70 / 3.
            released=codes((0, 0), (0, 1), (1, 1)),
            training=codes((0, 0), (1, 0), (2, 1)),
            holdout=codes((0, 0)),
            cardinalities=(3, 2),
        )
        guessed, always = error_of_guesses(tables, known=(0, 1), sensitive=1, numbers=(10, 30))
        assert guessed == pytest.approx((10 + 20 + 20 / 3) / 3)
        assert always == pytest.approx((40 / 3 + 40 / 3 + 20 / 3) / 3)
        assert error_of_guesses(tables, known=(), sensitive=1, numbers=(10, 30)) == pytest.approx((always, always))

    @pytest.mark.parametrize("part", ["released", "training"])
    def test_numbers_are_guessed_from_records_about_people(self, part: str) -> None:
        tables = Tables(codes((0, 0)), codes((0, 0)), codes((0, 0)), (1, 1))
        with pytest.raises(InvalidInput, match="must be made from released records about real people"):
            error_of_guesses(replace(tables, **{part: tables.released[:0]}), known=(0,), sensitive=1, numbers=(1,))

    def test_a_copy_of_the_training_data_is_flagged(self, copied: Tables) -> None:
        # What is known singles most people out, and the holdout can only be guessed at.
        inference = infer(copied, known=(0, 1, 2, 3, 4), sensitive=5)
        assert inference.attack.training.value > 0.85
        assert inference.attack.excess > 0.3

    def test_an_independent_sample_of_the_population_is_not(self, harmless: Tables) -> None:
        attack = infer(harmless, known=(0, 1, 2, 3, 4), sensitive=5).attack
        assert abs(attack.excess) < 5 * attack.standard_error

    def test_what_the_population_gives_away_is_no_disclosure(self) -> None:
        def smokers(rows: int, name: str) -> Codes:
            table = population(rows, name)
            table[:, 5] = table[:, 4]
            return table

        tables = Tables(smokers(500, "released"), smokers(500, "training"), smokers(500, "holdout"), SIZES)
        attack = infer(tables, known=(4,), sensitive=5).attack
        assert attack.training.value == attack.holdout.value == 1
        assert attack.excess == 0

    def test_nothing_released_teaches_nothing(self) -> None:
        nothing = np.empty((0, 2), np.uint16)
        with pytest.raises(InvalidInput, match="learn from"):
            infer(Tables(nothing, codes((0, 0)), codes((0, 0)), (2, 2)), known=(0,), sensitive=1)


def test_errors_of_copies_hold_where_many_released_records_are_equal() -> None:
    """Few combinations: a rare one that either part has by chance is matched by all of its released records."""
    draw = np.random.default_rng(6)
    shares = 0.85 ** np.arange(60)
    found, too_small, nearer = [], [], []
    for _ in range(400):
        parts = [draw.choice(60, size, p=shares / shares.sum())[:, None].astype(np.uint16) for size in (2000, 60, 60)]
        tables = Tables(parts[0], parts[1], parts[2], (60,))
        contrast = exact_matches(tables)
        found.append(abs(contrast.excess) > 1.96 * contrast.standard_error)
        too_small.append(abs(contrast.excess) > 1.96 * replace(contrast, alike=0.0).standard_error)
        nearer.append(abs(nearer_to_training(tables) - 0.5) > 1.96 * nearer_error(tables))
    assert np.mean(found) < 0.08
    assert np.mean(nearer) < 0.08
    assert np.mean(too_small) > 0.3
