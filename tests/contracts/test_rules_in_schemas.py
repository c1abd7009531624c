"""Rules in a table schema: what they say, what they cost a row that breaks them, and which are refused."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from pandera.pandas import Column, DataFrameSchema

from deniable.foundation.domain import Domain
from deniable.foundation.errors import InvalidInput
from deniable.learners.entry import LearnerEntry
from deniable.learners.registry import steps_of
from deniable.record.schema_document import describe_domain
from deniable.samplers.entry import SamplerEntry
from schemas.rules import (
    Statement,
    TotalStatement,
    at_most,
    dependency,
    derived,
    impossible,
    public_counts,
    public_total,
    required,
    skipped,
)
from schemas.spec.release_spec import load_spec
from schemas.table import dates, domain_of, nominal, numeric, ordered, table
from tasks.data.validate import Findings, examine
from tests.mechanisms.table import LEARNERS
from tests.people_with_rules import asked
from tests.small_release import write_small_release

BOOK = "codebook, page 3"


def people(*rules: Statement, totals: Sequence[TotalStatement] = ()) -> DataFrameSchema:
    """A small table with rules."""
    return table(
        {
            "age": numeric(10, 19, missing=[-1]),
            "work": nominal(["none", "some"]),
            "part": numeric(0, 3),
            "total": numeric(0, 3),
            "group": nominal(["child", "adult"]),
        },
        rules=rules,
        totals=totals,
    )


EVERY_KIND = (
    skipped({"work": "none"}, when={"age": lambda age: age < 16}, source=BOOK),
    at_most("part", "total", unless={"total": 3}, source=BOOK),
    impossible({"age": range(13), "total": [2, 3]}, source=BOOK),
    required({"age": 19}, {"work": "some"}, source=BOOK),
    dependency("group", "age", lambda age: "child" if age < 16 else "adult", source=BOOK),
)


def kept(schema: DataFrameSchema, *row: Any) -> bool:
    """Whether a row is valid."""
    findings = Findings()
    examine(schema, pd.DataFrame([row], columns=list(schema.columns)), findings)
    return findings.invalid == 0


def test_rows_that_break_a_rule_are_invalid_and_counted_by_it() -> None:
    schema = people(*EVERY_KIND)
    rows = [
        (15, "none", 0, 1, "child"),
        (15, "some", 0, 1, "child"),
        (17, "none", 0, 1, "adult"),
        (17, "some", 2, 1, "adult"),
        (17, "some", 2, 3, "adult"),
        (12, "none", 0, 2, "child"),
        (17, "some", 0, 0, "child"),
    ]
    findings = Findings()
    checked = examine(schema, pd.DataFrame(rows, columns=list(schema.columns)), findings)
    assert checked.iloc[:, -1].tolist() == [True, False, False, False, True, False, False]
    assert findings.invalid == 5
    assert findings.invalid_by_check == {
        ("row", "rule 1: work is none if and only if age is one of 6 values from 10 to 15"): 2,
        ("row", "rule 2: part is at most total, unless total is 3"): 1,
        ("row", "rule 3: it never occurs that age is 10 or 11 or 12 and total is 2 or 3"): 1,
        ("row", "rule 5: group is determined by age"): 1,
    }


def test_a_row_with_a_missing_or_invalid_value_is_not_said_to_break_a_rule_about_it() -> None:
    schema, findings = people(*EVERY_KIND), Findings()
    rows = [(-1, "some", 0, 1, "adult"), (99, "some", 0, 1, "adult")]
    examine(schema, pd.DataFrame(rows, columns=list(schema.columns)), findings)
    assert (findings.missing, findings.invalid) == (1, 1)
    assert {column for column, _ in findings.invalid_by_check} == {"age"}


def test_a_skip_pattern_without_a_condition_says_all_or_none() -> None:
    schema = people(skipped({"work": "none", "total": 0}, source=BOOK))
    assert kept(schema, 15, "none", 0, 0, "child")
    assert kept(schema, 15, "some", 0, 1, "child")
    assert not kept(schema, 15, "some", 0, 0, "child")


def test_a_strict_order_excludes_equal_numbers() -> None:
    schema = people(at_most("part", "total", strict=True, source=BOOK))
    assert kept(schema, 15, "none", 0, 1, "child")
    assert not kept(schema, 15, "none", 1, 1, "child")


def test_a_column_may_be_a_sum_and_sums_beyond_its_values_never_occur() -> None:
    rule = derived("total", ["part", "age"], lambda part, age: part + age - 10, source=BOOK)
    assert kept(people(rule), 11, "none", 2, 3, "child")
    assert not kept(people(rule), 11, "none", 2, 2, "child")
    assert not kept(people(rule), 12, "none", 2, 3, "child")


def test_a_domain_with_rules_and_totals_reads_back_from_its_document() -> None:
    totals = (
        public_total(50, source="census"),
        public_counts("work", {"none": 20, "some": 30}, source="census, table 2"),
    )
    domain = domain_of(people(*EVERY_KIND, totals=totals))
    document = json.loads(json.dumps(describe_domain(domain, {}, {})))
    again = Domain.from_document(document)
    assert again == domain
    assert again.digest == domain.digest != domain_of(people(*EVERY_KIND)).digest != domain_of(people()).digest
    assert domain.public_shares[1].tolist() == [0.4, 0.6]
    assert domain.modelled.names == ("age", "work", "part", "total")


def test_a_document_without_rules_is_as_it_was_before_there_were_any() -> None:
    assert set(describe_domain(domain_of(people()), {}, {})) == {"target", "attributes"}


REFUSED: dict[str, tuple[tuple[Statement, ...], str]] = {
    "no source": (
        (impossible({"age": 10}, source=" "),),
        "a rule of kind impossible must name the public document that states it, got none",
    ),
    "the data": (
        (impossible({"age": 10}, source="the data"),),
        "must come from a public document, got the source 'the data'; .* must be measured with noise, not declared",
    ),
    "confidential": (
        (impossible({"age": 10}, source="tabulation of the confidential file"),),
        "must come from a public document",
    ),
    "a column that is not there": ((impossible({"weight": 3}, source=BOOK),), "columns of the table, got weight"),
    "a value that is not there": ((impossible({"work": "much"}, source=BOOK),), "must have values of work, got 'much'"),
    "no value": ((impossible({"age": lambda _: False}, source=BOOK),), "at least one value of age, got none"),
    "an order of names": (
        (at_most("work", "total", source=BOOK),),
        "the same values in the same order, got work and total",
    ),
    "an order of one column": ((at_most("part", "part", source=BOOK),), "two different attributes, got part twice"),
    "one column alone": ((skipped({"work": "none"}, source=BOOK),), "must have a condition or several columns"),
    "two rules for a column": (
        (
            dependency("group", "age", lambda _: "child", source=BOOK),
            dependency("group", "work", {"none": "child", "some": "adult"}, source=BOOK),
        ),
        "determined by one rule, got several for group",
    ),
    "a circle": (
        (
            dependency("part", "total", lambda total: total, source=BOOK),
            dependency("total", "part", lambda part: part, source=BOOK),
        ),
        "columns must not determine each other, got part, total",
    ),
    "a contradiction": (
        (
            at_most("part", "total", strict=True, source=BOOK),
            at_most("total", "part", source=BOOK),
        ),
        "rules must leave some records possible, got none for part and total",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_rule_that_is_not_public_or_does_not_fit_is_refused_in_one_sentence(name: str) -> None:
    rules, sentence = REFUSED[name]
    with pytest.raises(InvalidInput, match=sentence) as caught:
        people(*rules)
    assert "\n" not in str(caught.value)
    assert str(caught.value).endswith(".")


@pytest.mark.parametrize(
    ("total", "sentence"),
    [
        (public_total(3, source=""), "a public total must name the public document"),
        (
            public_total(3, source="confidential count, held invariant"),
            "measured with noise, not declared or held invariant",
        ),
        (public_total(0, source=BOOK), "counts of at least 0, and of 1 in all"),
        (public_total(2.5, source=BOOK), "must be an integer, got one of the type float"),  # type: ignore[arg-type]
        (public_counts("work", {"none": 3}, source=BOOK), "for each value of work, and for no other"),
    ],
)
def test_a_total_that_is_not_public_is_refused(total: TotalStatement, sentence: str) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        people(totals=[total])


def test_totals_that_contradict_each_other_are_refused() -> None:
    totals = [public_total(5, source=BOOK), public_counts("work", {"none": 2, "some": 2}, source=BOOK)]
    with pytest.raises(InvalidInput, match="of the same number of records"):
        people(totals=totals)


@pytest.mark.parametrize("entry", [LearnerEntry, SamplerEntry])
def test_a_learner_or_sampler_that_cannot_hold_rules_is_refused_before_data_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, entry: type
) -> None:
    spec = write_small_release(tmp_path, **asked())
    (tmp_path / "people.csv").unlink()
    load_spec(spec)
    monkeypatch.setattr(entry, "holds_rules", False)
    what = "learner" if entry is LearnerEntry else "synthesis"
    with pytest.raises(InvalidInput, match=f"{what}.*: must hold the rules of the dataset, got one that cannot"):
        load_spec(spec)


def test_a_learner_that_draws_from_exact_counts_cannot_hold_rules(tmp_path: Path) -> None:
    spec = write_small_release(tmp_path, **asked(**LEARNERS["pegs"].asked))
    with pytest.raises(InvalidInput, match=r"learner.*: must hold the rules of the dataset, got one that cannot"):
        load_spec(spec)


def test_no_plan_is_made_for_a_learner_that_cannot_hold_rules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = load_spec(write_small_release(tmp_path, **asked()))
    monkeypatch.setattr(LearnerEntry, "holds_rules", False)
    with pytest.raises(InvalidInput, match=r"a learner of kind cfs must have a table without rules, .* got 4 rules"):
        steps_of(spec.learner, spec.domain, lambda delta: delta)


def test_the_target_of_a_release_is_modelled_though_rules_determine_it(tmp_path: Path) -> None:
    spec = load_spec(write_small_release(tmp_path, **asked()))
    assert "group" not in spec.domain.modelled.names
    changed = spec.model_copy(update={"evaluation": spec.evaluation.model_copy(update={"target": "group"})})
    assert "group" in changed.domain.modelled.names


def stays(*, end: Column | None = None, strict: bool = False) -> DataFrameSchema:
    """A table of stays that begin before they end, if they have ended."""
    days = ("2020-01-01", "2020-06-30")
    columns = {"start": dates(*days, by="month"), "end": end or dates(*days, by="month", missing_as="missing")}
    return table(columns, rules=[at_most("start", "end", strict=strict, source=BOOK)])


def test_dates_have_an_order_from_which_missing_ones_are_exempt() -> None:
    schema = stays()
    rule = domain_of(schema).rules[0]
    assert rule.sentence == "start is at most end, unless end is missing"
    ends = ["2020-03-02", None, "2020-02-29", None]
    frame = pd.DataFrame({"start": ["2020-03-01", "2020-03-31", "2020-03-01", "2020-06-30"], "end": ends})
    assert examine(schema, frame, Findings())["row is valid"].tolist() == [True, True, False, True]
    # Months, of which 15 pairs of six are in the wrong order.
    zeros = domain_of(schema).zeros([0, 1])
    assert zeros is not None
    assert zeros.sum() == 15
    assert domain_of(schema).attributes[1].written[-1] == "missing"
    assert not zeros[:, -1].any()
    again = Domain.from_document(json.loads(json.dumps(describe_domain(domain_of(schema), {}, {}))))
    assert again == domain_of(schema)


def test_dates_of_other_ranges_are_ordered_and_those_of_other_periods_are_refused() -> None:
    later = domain_of(stays(end=dates("2020-04-01", "2020-09-30", by="month")))
    zeros = later.zeros([0, 1])
    assert zeros is not None
    assert zeros.sum() == 3
    with pytest.raises(InvalidInput, match=r"two of dates by the same period, .* got start and end"):
        stays(end=dates("2020-01-01", "2020-06-30"))


def test_ordered_columns_of_one_scale_are_ordered_and_names_are_not() -> None:
    grades = ["none", "school", "college"]
    for kind, missing in ((ordered, {"missing_as": "?"}), (ordered, {})):
        columns = {"of the child": kind(grades), "of the parent": kind(grades, **missing)}
        domain = domain_of(table(columns, rules=[at_most("of the child", "of the parent", strict=True, source=BOOK)]))
        zeros = domain.zeros([0, 1])
        assert zeros is not None
        assert zeros.sum() == 6
    for other in (nominal(grades), ordered(grades[::-1]), numeric(0, 2)):
        with pytest.raises(InvalidInput, match="two ordered columns with the same values in the same order"):
            table({"a": ordered(grades), "b": other}, rules=[at_most("a", "b", source=BOOK)])


def test_a_missing_number_is_exempt_from_an_order() -> None:
    columns = {"part": numeric(0, 3, missing_as=-1), "total": numeric(0, 3, missing_as=-1)}
    schema = table(columns, rules=[at_most("part", "total", source=BOOK)])
    frame = pd.DataFrame({"part": [3, None, 3, 1], "total": [None, 0, 2, 1]})
    assert examine(schema, frame, Findings())["row is valid"].tolist() == [True, True, False, True]
