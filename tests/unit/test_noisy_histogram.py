"""Counts of prefixes, thresholds, and the histogram that is left of the seeds."""

import json
import math
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deniable.foundation.domain import Attribute, Codes, Domain
from deniable.foundation.errors import InvalidInput
from deniable.foundation.keys import Parameter, ReleaseKey, StreamOpener, WordStream
from deniable.privacy.accounting import compose
from deniable.samplers.histogram_seeds.noisy_histogram import (
    HistogramRecipe,
    PrefixCounts,
    PrefixHistogram,
    discrete_laplace_tail,
    least_excess,
)

DOMAIN = Domain(
    (
        Attribute("age", (10, 20, 30, 40), "numeric", (0, 0, 1, 1)),
        Attribute("sex", ("f", "m"), "nominal", (0, 1)),
        Attribute("rate", (0.1, 0.25, 1.5), "numeric", (0, 1, 2)),
        Attribute("owner", (False, True), "nominal", (0, 1)),
    )
)
ORDER = (1, 3, 0, 2)
MICRO = Fraction(1, 10**6)
RECIPE = HistogramRecipe(epsilon=Fraction(1), delta=Fraction(1, 100))
FLOOR: dict[str, Any] = {"k": 50, "beta": MICRO, "max_rows": 10**6}

open_stream = partial(ReleaseKey(bytes(range(32))).stream, step="test", inputs="histogram seeds")


def people(name: str, rows: int = 3_000) -> Codes:
    draw = np.random.default_rng(list(name.encode()))
    return np.stack([(draw.random(rows) ** 2 * size).astype(np.uint16) for size in DOMAIN.cardinalities], axis=1)


def counted(codes: Codes, length: int) -> PrefixCounts:
    counts = PrefixCounts(DOMAIN, ORDER, length)
    counts.add(codes)
    return counts


def by_hand(codes: Codes, length: int) -> dict[tuple[int, ...], int]:
    found: dict[tuple[int, ...], int] = {}
    for record in codes.tolist():
        prefix = tuple(record[column] for column in ORDER[:length])
        found[prefix] = found.get(prefix, 0) + 1
    return found


def as_dict(counts: PrefixCounts | PrefixHistogram) -> dict[tuple[int, ...], int]:
    return {tuple(cell): count for cell, count in zip(counts.cells.tolist(), counts.counts.tolist(), strict=True)}


@pytest.mark.parametrize("length", range(5))
def test_prefixes_are_counted_in_lexicographic_order(length: int) -> None:
    codes = people("counted")
    counts = counted(codes, length)
    assert as_dict(counts) == by_hand(codes, length)
    assert counts.cells.tolist() == sorted(counts.cells.tolist())
    assert counts.rows == len(codes)


@pytest.mark.parametrize("length", [0, 2, 4])
def test_counts_of_chunks_and_of_parts_add_up_to_those_of_the_whole(length: int) -> None:
    codes = people("added up")
    whole, chunks, other = (PrefixCounts(DOMAIN, ORDER, length) for _ in range(3))
    whole.add(codes[::-1])
    for chunk in np.array_split(codes[:2_000], 7):
        chunks.add(chunk)
    other.add(codes[2_000:])
    other.add(codes[:0])
    chunks.merge(other)
    assert np.array_equal(whole.cells, chunks.cells)
    assert np.array_equal(whole.counts, chunks.counts)
    assert whole.rows == chunks.rows


def test_prefixes_of_more_values_than_fit_a_number_are_counted() -> None:
    domain = Domain(tuple(Attribute(f"a{i}", tuple(range(60_000)), "numeric", (0,) * 60_000) for i in range(6)))
    codes = np.random.default_rng(6).integers(0, 3, (500, 6)).astype(np.uint16) * 29_000
    whole, parts = PrefixCounts(domain, tuple(range(6)), 6), PrefixCounts(domain, tuple(range(6)), 6)
    whole.add(codes)
    for part in np.array_split(codes, 5):
        parts.add(part)
    cells, counts = np.unique(codes, axis=0, return_counts=True)
    assert np.array_equal(whole.cells, cells)
    assert np.array_equal(whole.counts, counts)
    assert np.array_equal(parts.cells, cells)
    assert np.array_equal(parts.counts, counts)


def test_counts_of_other_prefixes_are_not_added() -> None:
    with pytest.raises(InvalidInput, match="same attributes"):
        counted(people("a"), 2).merge(counted(people("a"), 3))
    with pytest.raises(InvalidInput, match="0 to 4 attributes"):
        PrefixCounts(DOMAIN, ORDER, 5)
    with pytest.raises(InvalidInput, match="must be in its attribute's domain"):
        counted(np.array([[0, 2, 0, 0]], np.uint16), 2)


@pytest.mark.parametrize(
    ("epsilon", "delta", "threshold", "achieved"),
    [
        (Fraction(1), MICRO, 15, 6.079e-7),
        (Fraction(1, 2), MICRO, 28, 8.534e-7),
        (Fraction(1), Fraction(1, 10**10), 24, 7.502e-11),
    ],
)
def test_thresholds_are_those_worked_out_by_hand(
    epsilon: Fraction, delta: Fraction, threshold: int, achieved: float
) -> None:
    mechanism = HistogramRecipe(epsilon=epsilon, delta=delta).calibrate()
    assert mechanism.threshold == threshold
    assert mechanism.guarantee.delta == pytest.approx(achieved, rel=1e-3)
    assert mechanism.guarantee.epsilon == epsilon


@pytest.mark.parametrize(
    ("k", "rows", "beta", "threshold"), [(50, 10**6, MICRO, 77), (50, 10**4, Fraction(1, 1000), 65)]
)
def test_floors_are_those_worked_out_by_hand(k: int, rows: int, beta: Fraction, threshold: int) -> None:
    recipe = HistogramRecipe(epsilon=Fraction(1), delta=Fraction(1, 100), k=k, beta=beta, max_rows=rows)
    assert recipe.calibrate().threshold == threshold


def test_thresholds_meet_the_vectors(shared: Path) -> None:
    vectors = json.loads((shared / "vectors" / "vectors.json").read_text())
    for epsilon, delta in (("1", "1e-06"), ("0.5", "1e-06"), ("1", "1e-10")):
        mechanism = HistogramRecipe(epsilon=Fraction(epsilon), delta=Fraction(delta)).calibrate()
        achieved = f"{mechanism.guarantee.delta:.4g}"
        assert [mechanism.threshold, achieved] == vectors[f"PHS tau(eps={epsilon},delta={delta}) and achieved delta"]
    for rows, beta in (("1000000", "1e-06"), ("10000", "0.001")):
        floor = replace(RECIPE, k=50, beta=Fraction(beta), max_rows=int(rows)).calibrate().threshold
        assert floor == vectors[f"PHS tau_k(k=50,n={rows},beta={beta},eps=1) = k-1+s"]


def test_the_larger_threshold_is_taken() -> None:
    floor = replace(RECIPE, **FLOOR)
    strict = Fraction(1, 10**40)
    assert floor.calibrate().threshold == 77 > RECIPE.calibrate().threshold
    assert (
        replace(floor, delta=strict).calibrate().threshold == replace(RECIPE, delta=strict).calibrate().threshold > 77
    )


@pytest.mark.parametrize("epsilon", [Fraction(1, 10**6), Fraction(1, 7), Fraction(1), Fraction(30)])
@pytest.mark.parametrize("probability", [Fraction(1, 10**300), MICRO, Fraction(1, 3), Fraction(999, 1000)])
def test_the_excess_is_the_smallest_that_is_rare_enough(epsilon: Fraction, probability: Fraction) -> None:
    z = least_excess(epsilon, probability)
    # in logarithms, which are apart by epsilon and so tell one z from the next
    log_tail = -float(epsilon) * z - math.log1p(math.exp(-epsilon))
    wanted = math.log(probability.numerator) - math.log(probability.denominator)
    assert log_tail <= wanted + 1e-9
    assert z == 0 or log_tail + float(epsilon) > wanted - 1e-9


def test_a_probability_a_hair_from_a_tail_is_told_from_it() -> None:
    """Where a float cannot see on which side of the ceiling it is, whole numbers can."""
    tail = RECIPE.calibrate()._cells_event.delta
    hair = Fraction(1, 10**30)
    above, below = (replace(RECIPE, delta=tail * (1 + sign * hair)).calibrate() for sign in (1, -1))
    assert float(above.recipe.delta) == float(below.recipe.delta)
    assert below.threshold == above.threshold + 1


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"epsilon": Fraction(0)}, "epsilon must be above 0"),
        ({"delta": Fraction(0)}, "delta must be in"),
        ({"delta": Fraction(1)}, "delta must be in"),
        ({"epsilon_rows": Fraction(1)}, "above epsilon_rows"),
        ({"epsilon_rows": Fraction(0)}, "epsilon_rows must be above 0"),
        ({"k": 50}, "given together"),
        ({"k": 50, "beta": MICRO}, "given together"),
        ({"max_rows": 50}, "given together"),
        (FLOOR | {"k": 0}, "k must be at least 1"),
        (FLOOR | {"beta": Fraction(1)}, "beta must be in"),
        (FLOOR | {"max_rows": 0}, "max_rows must be at least 1"),
    ],
)
def test_a_budget_that_is_none_and_half_a_promise_are_refused(change: dict[str, int | Fraction], match: str) -> None:
    with pytest.raises(InvalidInput, match=match):
        replace(RECIPE, **change)  # type: ignore[arg-type]


def test_the_least_promise_is_accepted() -> None:
    assert replace(RECIPE, k=1, beta=Fraction(1, 2), max_rows=1).calibrate().threshold == RECIPE.calibrate().threshold


def test_events_are_known_before_any_record_is_read() -> None:
    mechanism = HistogramRecipe(epsilon=Fraction(1), delta=MICRO).calibrate()
    (cells,) = mechanism.events
    assert (cells.epsilon, float(cells.delta), cells.outputs) == (1, mechanism.guarantee.delta, 1)
    totals = compose(mechanism.events, MICRO)
    assert totals["basic"].epsilon == 1
    assert totals["pld"].epsilon == pytest.approx(1, abs=0.02)


def test_the_number_of_records_is_paid_for_out_of_the_same_epsilon() -> None:
    mechanism = HistogramRecipe(epsilon=Fraction(1), delta=MICRO, epsilon_rows=Fraction(1, 10)).calibrate()
    cells, rows = mechanism.events
    assert (cells.epsilon, rows.epsilon) == (Fraction(9, 10), Fraction(1, 10))
    assert mechanism.guarantee.epsilon == 1
    assert mechanism.threshold == HistogramRecipe(epsilon=Fraction(9, 10), delta=MICRO).calibrate().threshold


def test_what_is_kept_has_noise_and_reaches_the_threshold() -> None:
    counts = counted(people("kept", 100), 3)
    mechanism = RECIPE.calibrate()
    histogram = mechanism.run(counts, open_stream)
    true = as_dict(counts)
    kept = as_dict(histogram)
    assert 0 < len(kept) < len(true)
    assert set(kept) <= set(true)
    assert min(kept.values()) >= mechanism.threshold
    assert any(true[cell] != count for cell, count in kept.items())
    assert all(abs(true[cell] - count) < 60 for cell, count in kept.items())
    assert histogram.rows is None
    assert histogram.columns == (1, 3, 0)


def test_noise_depends_neither_on_the_order_of_rows_nor_on_how_they_were_counted() -> None:
    codes = people("row order")
    mechanism = RECIPE.calibrate()
    first, turned = (mechanism.run(counted(those, 3), open_stream) for those in (codes, codes[::-1]))
    assert as_dict(first) == as_dict(turned)


def test_other_budgets_and_other_prefixes_draw_other_noise() -> None:
    codes = people("fresh", 30_000)
    counts = counted(codes, 2)
    noise = [
        tuple(mechanism.run(counts, open_stream).counts - counts.counts)
        for mechanism in (
            RECIPE.calibrate(),
            replace(RECIPE, delta=MICRO).calibrate(),
            replace(RECIPE, epsilon=Fraction(99, 100)).calibrate(),
        )
    ]
    assert len(set(noise)) == 3
    turned = PrefixCounts(DOMAIN, (3, 1, 0, 2), 2)
    turned.add(codes)
    assert tuple(RECIPE.calibrate().run(turned, open_stream).counts - turned.counts) not in noise


def test_a_histogram_survives_being_written_as_json() -> None:
    for recipe in (RECIPE, replace(RECIPE, epsilon_rows=Fraction(1, 10))):
        histogram = recipe.calibrate().run(counted(people("json"), 4), open_stream)
        document = json.loads(json.dumps(histogram.document()))
        again = PrefixHistogram.from_document(DOMAIN, document)
        assert again.document() == histogram.document()
        assert again.columns == histogram.columns
        assert np.array_equal(again.cells, histogram.cells)
        assert again.cells.dtype == np.uint16
        assert np.array_equal(again.counts, histogram.counts)
        assert again.rows == histogram.rows


def test_a_histogram_is_written_in_names_and_values() -> None:
    histogram = PrefixHistogram(DOMAIN, (1, 0), np.array([[0, 3], [1, 0]], np.uint16), np.array([20, 31]), rows=60)
    assert histogram.document() == {
        "format": "deniable/prefix-histogram/1",
        "attributes": ["sex", "age"],
        "cells": [["f", 40], ["m", 10]],
        "counts": [20, 31],
        "rows": 60,
    }


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"format": "deniable/prefix-histogram/2"}, "must have the format"),
        ({"cells": [["f", 40], ["m", 15]]}, "values of the domain"),
        ({"cells": [["f", 40], ["m"]]}, "values of the domain"),
        ({"cells": [["m", 10], ["f", 40]]}, "distinct and in order"),
        ({"cells": [["f", 40], ["f", 40]]}, "must be distinct"),
        ({"counts": [20]}, "a count of at least 1"),
        ({"counts": [20, 0]}, "a count of at least 1"),
        ({"attributes": ["sex", "colour"]}, "attribute must be one of"),
    ],
)
def test_a_document_of_anything_else_is_refused(change: dict[str, object], match: str) -> None:
    histogram = PrefixHistogram(DOMAIN, (1, 0), np.array([[0, 3], [1, 0]], np.uint16), np.array([20, 31]))
    with pytest.raises(InvalidInput, match=match):
        PrefixHistogram.from_document(DOMAIN, histogram.document() | change)


def test_the_mass_under_the_threshold_goes_to_the_model_only_where_it_was_asked_for() -> None:
    cells, counts = np.array([[0], [1]], np.uint16), np.array([20, 30])
    assert PrefixHistogram(DOMAIN, (1,), cells, counts).seedless_weight == 0
    assert PrefixHistogram(DOMAIN, (1,), cells, counts, rows=57).seedless_weight == 7
    assert PrefixHistogram(DOMAIN, (1,), cells, counts, rows=48).seedless_weight == 0
    assert PrefixHistogram(DOMAIN, (1,), cells[:0], counts[:0], rows=-3).seedless_weight == 1
    assert PrefixHistogram(DOMAIN, (1,), cells[:0], counts[:0]).seedless_weight == 1


def test_the_noisy_number_of_records_is_near_the_true_one() -> None:
    histogram = replace(RECIPE, epsilon_rows=Fraction(1, 10)).calibrate().run(counted(people("rows"), 2), open_stream)
    assert histogram.rows is not None
    assert 0 < abs(histogram.rows - 3_000) < 300


def test_the_number_of_no_records_has_noise_too() -> None:
    mechanism = replace(RECIPE, epsilon_rows=Fraction(1, 10)).calibrate()
    nobody = PrefixCounts(DOMAIN, (1, 3, 0), 2)

    def opener(number: int) -> StreamOpener:
        return partial(ReleaseKey(bytes([number]) * 32).stream, step="test", inputs="")

    found = {mechanism.run(nobody, opener(number)).rows for number in range(20)}
    assert len(found) > 5


def test_the_streams_of_a_histogram_name_what_decides_its_noise() -> None:
    mechanism, opened = replace(RECIPE, epsilon_rows=Fraction(1, 10)).calibrate(), []

    def noting(*, mechanism: str, parameters: dict[str, Parameter]) -> WordStream:
        opened.append((mechanism, parameters))
        return open_stream(mechanism=mechanism, parameters=parameters)

    counts = counted(people("names", 100), 3)
    mechanism.run(counts, noting)
    cells = {
        "epsilon": mechanism.recipe.epsilon_cells,
        "threshold": mechanism.threshold,
        "columns": " ".join(map(str, counts.columns)),
        "domain": DOMAIN.digest,
    }
    assert opened == [("prefix_histogram", cells), ("row_count", {"epsilon": Fraction(1, 10)})]


def test_no_records_leave_an_empty_histogram() -> None:
    histogram = RECIPE.calibrate().run(PrefixCounts(DOMAIN, ORDER, 2), open_stream)
    assert histogram.cells.shape == (0, 2)
    again = PrefixHistogram.from_document(DOMAIN, histogram.document())
    assert again.cells.shape == (0, 2)


def test_the_bound_on_failure_falls_with_the_threshold_and_is_one_where_nothing_is_known() -> None:
    mechanism = replace(RECIPE, **FLOOR).calibrate()
    assert 0 < mechanism.failure_probability(50, 10**6) <= 1e-6
    assert mechanism.failure_probability(51, 10**6) == pytest.approx(
        math.e * mechanism.failure_probability(50, 10**6), rel=1e-12
    )
    assert mechanism.failure_probability(78, 10**6) == 1


def test_the_bound_on_failure_is_the_tail_beyond_the_other_people() -> None:
    mechanism = replace(RECIPE, **FLOOR).calibrate()
    for k in (1, 2, 50, mechanism.threshold):
        tail = float(discrete_laplace_tail(RECIPE.epsilon_cells, mechanism.threshold - (k - 1)))
        assert mechanism.failure_probability(k, 3) == pytest.approx(min(1.0, 3 * tail), rel=1e-12)


def test_a_k_of_one_asks_no_more_than_the_threshold_of_delta() -> None:
    of_one = replace(RECIPE, k=1, beta=MICRO, max_rows=10**6).calibrate()
    assert of_one.threshold >= RECIPE.calibrate().threshold
