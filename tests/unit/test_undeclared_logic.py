"""Patterns that all real records satisfy are found, and the line that states each forbids what breaks it."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from deniable.evaluation.contract import Value
from deniable.evaluation.evidence import UtilityEvidence
from deniable.evaluation.logic.finding import patterns_of_pair, sums
from deniable.evaluation.metrics import undeclared_logic
from deniable.evaluation.utility import count_marginals
from deniable.foundation.domain import Codes, Domain
from deniable.foundation.rules import Order
from schemas import rules, table
from tests.evaluated_release import KEY

ROWS = 3000
NAMES = ("age", "married", "hours", "overtime", "total", "district", "region", "town")
DISTRICTS = ["Ash", "Birch", "Cedar"]
COLUMNS = {
    "age": table.numeric(0, 99),
    "married": table.nominal(["no", "yes"]),
    "hours": table.numeric(0, 40),
    "overtime": table.numeric(0, 20),
    "total": table.numeric(0, 60),
    "district": table.nominal(DISTRICTS),
    "region": table.nominal(["north", "south"]),
    "town": table.nominal(["small", "large", "none"]),
}
DOMAIN = table.domain_of(table.table(COLUMNS, description="Made-up people.", target="region"))


def people(rows: int, name: str) -> Codes:
    """Nobody below 16 is married; overtime is at most hours; total is their sum; the district tells the region."""
    drawn = KEY.stream(step="test", mechanism=name, inputs="", parameters={})

    def below(size: int) -> NDArray[np.int64]:
        return drawn.take(rows).astype(np.int64) % size

    age, hours = below(100), below(41)
    married = below(2) * (age >= 16)
    overtime = np.minimum(below(21), hours)
    district = below(3)
    region = (district == 2).astype(np.int64)
    # No town exactly for those without hours of at least 10.
    town = np.where(hours < 10, 2, below(2))
    columns = (age, married, hours, overtime, hours + overtime, district, region, town)
    return np.column_stack(columns).astype(np.uint16)


def measured(released: Codes, domain: Domain = DOMAIN) -> dict[str, Value]:
    """What the metric measures of a release."""
    with ThreadPoolExecutor(2) as pool:
        evidence = UtilityEvidence(
            domain=domain,
            tables={"released": released, "training": people(ROWS, "training")},
            holdout=people(ROWS, "holdout"),
            rows=100,
            classifiers=(),
            factories={},
            groups=(),
            pool=pool,
        )
        return dict(undeclared_logic.METRIC.measure(evidence))


def listed(found: dict[str, Value]) -> dict[str, tuple[str, float]]:
    """The line of each pattern, and the share of records that break it, by the pattern in words."""
    worst = found[undeclared_logic.BROKEN]
    texts = worst.texts
    return {
        words: (line, share)
        for words, line, share in zip(
            texts[undeclared_logic.WORDS], texts[undeclared_logic.LINES], worst.summarizes, strict=True
        )
    }


LINES = {
    "it never occurs that age is at most 15 and married is yes": (
        'impossible({"age": lambda value: value <= 15, "married": \'yes\'}, source="...")'
    ),
    "overtime is at most hours": 'at_most("overtime", "hours", source="...")',
    "total is the sum of hours and overtime": (
        'derived("total", ["hours", "overtime"], lambda a, b: a + b, source="...")'
    ),
    "region follows from district": (
        "dependency(\"region\", \"district\", {'Ash': 'north', 'Birch': 'north', 'Cedar': 'south'}, source=\"...\")"
    ),
    "town is none if and only if hours is at most 9": (
        'skipped({"town": \'none\'}, when={"hours": lambda value: value <= 9}, source="...")'
    ),
}


def test_the_logic_of_real_records_is_found_and_a_sample_of_them_breaks_none_of_it() -> None:
    found = measured(people(ROWS, "released"))
    patterns = listed(found)
    assert {words: patterns[words][0] for words in LINES} == LINES
    assert found[undeclared_logic.PATTERNS_BROKEN].value == 0
    assert found[undeclared_logic.BROKEN].value == 0


def test_records_with_independent_attributes_break_it_as_often_as_counted() -> None:
    released = np.column_stack([people(ROWS, f"column {j}")[:, j] for j in range(len(NAMES))])
    patterns = listed(measured(released))
    age, married, hours, overtime, total, district, region, town = released.astype(int).T
    broken = {
        "it never occurs that age is at most 15 and married is yes": (age <= 15) & (married == 1),
        "overtime is at most hours": overtime > hours,
        "total is the sum of hours and overtime": total != hours + overtime,
        "region follows from district": region != (district == 2),
        "town is none if and only if hours is at most 9": (town == 2) != (hours <= 9),
    }
    assert {words: patterns[words][1] for words in broken} == {
        words: pytest.approx(float(each.mean())) for words, each in broken.items()
    }
    shares = [share for _, share in patterns.values()]
    assert shares == sorted(shares, reverse=True)


@pytest.mark.parametrize("words", list(LINES))
def test_the_line_is_a_rule_of_a_schema_that_forbids_exactly_these_records(words: str) -> None:
    rule = eval(LINES[words].replace("...", "codebook"), vars(rules).copy())  # noqa: S307 - our own text
    domain = table.domain_of(table.table(COLUMNS, rules=[rule], description="Made-up people.", target="region"))
    [stated] = domain.rules
    assert stated.holds(domain, people(ROWS, "training")).all()
    wrong = np.column_stack([people(ROWS, f"column {j}")[:, j] for j in range(len(NAMES))])
    expected = listed(measured(wrong))[words][1]
    assert float((~stated.holds(domain, wrong)).mean()) == pytest.approx(expected)
    # What is declared is no longer undeclared.
    assert words not in listed(measured(people(ROWS, "released"), domain))


def test_independent_attributes_have_no_logic() -> None:
    tables = [np.column_stack([people(ROWS, f"{k} {j}")[:, j] for j in range(len(NAMES))]) for k in range(2)]
    real = np.concatenate(tables)
    marginals = tuple((i, j) for i in range(len(NAMES)) for j in range(i))
    counts = count_marginals([real], DOMAIN.cardinalities, marginals)
    assert [each for pair in marginals for each in patterns_of_pair(DOMAIN, pair, counts.table(pair))] == []
    assert sums(DOMAIN, tables) == []


def test_numbers_of_different_size_are_no_order() -> None:
    codes = people(ROWS, "one")
    codes[:, 3] = codes[:, 2] // 4
    counts = count_marginals([codes], DOMAIN.cardinalities, ((2, 3),))
    assert "order" not in [each.kind for each in patterns_of_pair(DOMAIN, (2, 3), counts.table((2, 3)))]


def test_one_record_that_breaks_a_pattern_makes_it_none() -> None:
    real = people(ROWS, "one")
    pair = (2, 3)
    kept = count_marginals([real], DOMAIN.cardinalities, (pair,)).table(pair)
    assert [each.kind for each in patterns_of_pair(DOMAIN, pair, kept)] == ["order"]
    real[0, 2:4] = (3, 20)
    broken = count_marginals([real], DOMAIN.cardinalities, (pair,)).table(pair)
    assert "order" not in [each.kind for each in patterns_of_pair(DOMAIN, pair, broken)]


def test_a_declared_order_is_left_out() -> None:
    domain = replace(DOMAIN, rules=(Order("codebook", "overtime", "hours"),))
    assert "overtime is at most hours" not in listed(measured(people(ROWS, "released"), domain))
