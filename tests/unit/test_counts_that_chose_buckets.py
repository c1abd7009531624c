"""Noisy counts that chose the buckets of their attribute are not summed over these buckets: the choice biases the sums.

The controls are the estimates of earlier releases, which did.
"""

import json
from dataclasses import replace
from functools import cache
from math import sqrt
from typing import Any

import numpy as np
import pytest

from deniable.foundation.domain import Domain
from deniable.inference import system
from deniable.inference.answers import Answer
from deniable.inference.comparisons import compare
from deniable.inference.estimation import Inference
from deniable.inference.interval_table import _rows, check_intervals, interval_table
from deniable.inference.quantiles import quantile
from deniable.inference.queries import Query
from deniable.inference.tables import table
from deniable.measurements.chosen_buckets import choosing_tables
from deniable.measurements.document import Measurements
from deniable.measurements.estimates import BEFORE, FORMAT, check_consistent, consistent
from deniable.record.schema_document import describe_domain
from tests.chosen_buckets import AMOUNT, FEWER, JOB, JOBS, PEOPLE, WORKERS, Chosen, Rule, people, released, workers
from tests.extent import drawn

RELEASES = drawn(480, least=100)
SOME = tuple(range(0, FEWER, 20))
BEYOND = 6.0
"""Standard errors of a mean, or of a coverage: exceeded by chance with a probability of 2e-9."""
RULES: tuple[tuple[Rule, tuple[int, int]], ...] = (("mst", (33, 15)), ("loglinear", (45, 60)))


@cache
def made(rule: Rule, sds: tuple[int, int]) -> tuple[Chosen, ...]:
    return tuple(released(workers(seed), seed, WORKERS, rule, sds) for seed in range(RELEASES))


@cache
def inferred(rule: Rule, sds: tuple[int, int], *, is_former: bool = False) -> tuple[Inference, ...]:
    return tuple(Inference(each.measured, is_former=is_former) for each in made(rule, sds))


@cache
def one() -> Chosen:
    return released(people(1), 1)


def errors(found: list[tuple[Answer, float]]) -> np.ndarray:
    return np.asarray([(answer.raw_estimate - right) / answer.noise_deviation for answer, right in found])


def covered(found: list[tuple[Answer, float]]) -> float:
    return float(np.mean([a.interval is not None and a.interval.low <= right <= a.interval.high for a, right in found]))


@pytest.mark.slow
@pytest.mark.parametrize(("rule", "sds"), RULES)
def test_totals_and_subtotals_are_unbiased_and_covered_whatever_buckets_were_chosen(
    rule: Rule, sds: tuple[int, int]
) -> None:
    questions: dict[str, Any] = {"": len, "sex=m": lambda rows: float(rows[:, 1].sum())}

    def answers(condition: str, *, is_former: bool = False) -> list[tuple[Answer, float]]:
        releases = zip(inferred(rule, sds, is_former=is_former), made(rule, sds), strict=True)
        return [(each.count(condition), questions[condition](own.rows)) for each, own in releases]

    for condition in questions:
        found = answers(condition)
        assert abs(errors(found).mean()) < BEYOND / sqrt(RELEASES)
        assert abs(covered(found) - 0.95) < BEYOND * sqrt(0.95 * 0.05 / RELEASES)
    assert errors(answers("", is_former=True)).mean() > BEYOND / sqrt(RELEASES), "the former way is biased"


@pytest.mark.slow
@pytest.mark.parametrize(("rule", "sds"), RULES)
def test_single_values_are_unbiased_and_covered_whether_they_have_a_bucket_or_not(
    rule: Rule, sds: tuple[int, int]
) -> None:
    found = [
        (each.count(f"job=j{code}"), float((own.rows[:, 0] == code).sum()))
        for each, own in zip(inferred(rule, sds), made(rule, sds), strict=True)
        for code in SOME
    ]
    assert abs(errors(found).mean()) < BEYOND / sqrt(len(found))
    assert abs(covered(found) - 0.95) < BEYOND * sqrt(0.95 * 0.05 / len(found)) + 0.01, "counts are whole numbers"


def test_a_question_about_one_such_attribute_is_answered_by_its_values_and_the_number_of_records() -> None:
    inference = Inference(one().measured)
    own = one().measured.tables[0].values
    for code in (0, 7, 123):
        answer = inference.count(f"job=j{code}")
        assert answer.raw_estimate == pytest.approx(own[code] - own.mean() + inference.records / JOBS)
        listed = table(inference, ["job"]).answers[code]
        assert listed.estimate == pytest.approx(answer.estimate)
        assert listed.interval == answer.interval
        assert listed.noise_deviation == pytest.approx(answer.noise_deviation)
    shares = [answer.raw_estimate for answer in table(inference, ["job"], "share").answers]
    assert sum(shares) == pytest.approx(1)


def test_an_attribute_of_very_many_values_has_no_contrasts_within_its_buckets(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = Inference(one().measured).count("job=j7")
    monkeypatch.setattr(system, "_MOST_VALUES", JOBS - 1)
    assert Inference(one().measured).count("job=j7").raw_estimate == pytest.approx(usual.raw_estimate, abs=1)


def test_a_question_about_several_attributes_uses_no_sum_of_the_counts_that_chose() -> None:
    """A share in a group has both of its parts from the same tables."""
    measured = one().measured
    [counts, *others], inference = measured.tables, Inference(measured)
    most = int(np.argmax(counts.values))
    sums = counts.releases[0].sums.copy()
    sums[[most, most - 1]] += [500, -500]
    changed = replace(measured, tables=(replace(counts, releases=(replace(counts.releases[0], sums=sums),)), *others))
    job = f"job={JOB.values[most]}"
    for ask in (
        lambda found: found.share("sex=f", job),
        lambda found: found.count("sex=f & region=n"),
        lambda found: found.count(""),
        lambda found: compare(found, "region=n", "sex").answers[-1],
    ):
        before, after = ask(inference), ask(Inference(changed))
        assert after.raw_estimate == pytest.approx(before.raw_estimate, rel=1e-9)
    assert Inference(changed).count(job).raw_estimate == pytest.approx(inference.count(job).raw_estimate + 500)


def test_estimates_are_the_weighted_sums_of_entries_that_their_variances_state() -> None:
    system = Inference(one().measured).system
    first = {0: np.eye(JOBS)[3]}
    in_bucket = {0: (system.buckets[0] == 2).astype(float), 1: np.eye(2)[0]}
    amounts = {3: np.asarray(AMOUNT.values, float)}
    for of in ({}, first, in_bucket, {1: np.eye(2)[1]}, amounts):
        functional = system.functional(Query.product(of))
        weights = system.weights(functional)
        assert sum((own.values * each).sum() for own, each in weights) == pytest.approx(system.value(functional))
        squares = sum(own.variance * (each**2).sum() for own, each in weights)
        assert squares == pytest.approx(system.variance(functional))
        assert sum(system.sources(functional).values()) == pytest.approx(1)
        lazily = [np.abs(each).sum() for own, each in system.each_weights(functional)]
        assert sum(lazily) == pytest.approx(sum(np.abs(each).sum() for _, each in weights))


def test_public_buckets_runs_and_later_counts_did_not_choose() -> None:
    measured = one().measured
    [job, *_] = measured.tables
    assert [len(choosing_tables(measured, i)) for i in range(len(PEOPLE))] == [1, 0, 0, 0, 0]
    declared = replace(JOB, buckets=tuple(measured.buckets[0].tolist()))
    public = replace(measured, domain=Domain((declared, *PEOPLE.attributes[1:])))
    assert choosing_tables(public, 0) == ()
    later = replace(job, releases=(replace(job.releases[0], turn=100),))
    assert choosing_tables(replace(measured, tables=(later, *measured.tables[1:])), 0) == ()
    assert choosing_tables(replace(measured, tables=(job,)), 0) == ()
    pooled = released(people(1), 1, rule="mst").measured
    assert [len(choosing_tables(pooled, i)) for i in (0, 3)] == [1, 1]
    tail = np.minimum(np.arange(JOBS), 20)
    at_the_end = replace(measured, buckets=(tail, *measured.buckets[1:]))
    assert choosing_tables(at_the_end, 0) == (job,)


def test_quantiles_of_a_pooled_number_are_those_of_its_values() -> None:
    chosen = released(people(2), 2, rule="mst")
    inference = Inference(chosen.measured)
    for probability in (0.5, 0.9):
        right = np.sort(chosen.rows[:, 3])[int(np.ceil(probability * len(chosen.rows))) - 1]
        answer = quantile(inference, "amount", probability)
        assert answer.interval is not None
        assert answer.grade == "measured"
        assert answer.interval.low <= AMOUNT.values[right] <= answer.interval.high
    within = quantile(inference, "amount", 0.5, "sex=f")
    assert within.interval is not None
    assert within.interval.low <= within.interval.high


def files(measured: Measurements, *, is_former: bool) -> tuple[dict[str, Any], dict[str, Any]]:
    document = json.loads(json.dumps(consistent(measured, is_former=is_former)))
    return document, json.loads(json.dumps(measured.document()))


def test_what_agrees_with_all_tables_says_which_attributes_are_by_themselves() -> None:
    measured = one().measured
    document, _ = files(measured, is_former=False)
    assert document["format"] == FORMAT
    assert document["apart"] == ["job"]
    assert "chose" in document["meaning"]
    inference = Inference(measured)
    assert document["records"] == pytest.approx(inference.records)
    assert document["records_variance"] == pytest.approx(inference.count("").noise_deviation ** 2)
    of = {tuple(each["attributes"]): each for each in document["tables"]}
    answers = table(inference, ["job"]).answers
    assert of["job",]["estimates"] == pytest.approx([answer.raw_estimate for answer in answers])
    assert of["job",]["variances"] == pytest.approx([answer.noise_deviation**2 for answer in answers])
    both = table(inference, ["job", "sex"]).answers
    assert np.ravel(of["job", "sex"]["estimates"]).tolist() == pytest.approx([answer.raw_estimate for answer in both])
    assert sum(of["job",]["estimates"]) == pytest.approx(np.sum(of["job", "sex"]["estimates"]))


@pytest.mark.parametrize("is_former", [False, True])
def test_files_of_this_and_of_earlier_releases_verify_and_altered_ones_do_not(*, is_former: bool) -> None:
    measured = one().measured
    described = json.loads(json.dumps(describe_domain(PEOPLE, {}, {})))
    document, written = files(measured, is_former=is_former)
    assert (document["format"] == BEFORE) == is_former
    assert check_consistent(described, written, document).holds
    other, _ = files(measured, is_former=not is_former)
    assert not check_consistent(described, written, {**other, "format": document["format"]}).holds
    document["records"] += 1
    assert not check_consistent(described, written, document).holds


@pytest.mark.parametrize("former", [frozenset[Any](), frozenset({"joint"}), frozenset({"joint", "outside"})])
def test_intervals_of_this_and_of_earlier_releases_verify_and_altered_ones_do_not(former: frozenset[Any]) -> None:
    measured = released(workers(1, 9_000), 1, WORKERS).measured
    described = json.loads(json.dumps(describe_domain(WORKERS, {}, {})))
    written = json.loads(json.dumps(measured.document()))
    lines = list(_rows(measured, None, former))
    content = "".join(f"{','.join(line)}\n" for line in lines)
    assert (content == interval_table(measured, None)) == (not former)
    assert check_intervals(described, written, content, None).holds
    altered = content.replace(lines[5][5], f"{float(lines[5][5]) + 1:.10g}", 1)
    assert altered != content
    assert not check_intervals(described, written, altered, None).holds
