"""A table with rules, released and verified: every record keeps them, and a forged record that breaks one is named."""

from fractions import Fraction
from hashlib import sha256

import numpy as np
import pytest

from deniable.verification.release import CSV
from tests.mechanisms.table import LEARNERS, SAMPLERS
from tests.people_with_rules import asked
from tests.published import Published
from tests.whole_release import drawn_release

KEPT = "every record keeps every rule of the schema"
WAYS = {
    "loglinear, from the model alone": {
        **LEARNERS["loglinear"].asked,
        "learner__noise": "gaussian",
        **SAMPLERS["seedless"],
    },
    "mst, from the model alone": {**LEARNERS["mst"].asked, **SAMPLERS["seedless"]},
    "aim, from a histogram": {**LEARNERS["aim"].asked, **SAMPLERS["histogram_seeds"]},
    "marginals, from tested seeds": {
        **LEARNERS["marginals"].asked,
        "learner__noise": "laplace",
        **SAMPLERS["tested_seeds"],
    },
    "marginals, from attempts that are filled up and raked": {
        **LEARNERS["marginals"].asked,
        "learner__noise": "laplace",
        "synthesis": SAMPLERS["poisson_seeds"]["synthesis"] | {"omega": 4, "public_rows": 2400},
    },
}


@pytest.fixture(scope="module", params=WAYS)
def published(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Published:
    drawn = drawn_release(tmp_path_factory.mktemp("rules"), "rules-1", bytes(range(32)), **asked(**WAYS[request.param]))
    drawn.publish()
    return Published.of(drawn)


def test_every_record_keeps_every_rule_and_anyone_sees_it(published: Published) -> None:
    report = published.verify(with_ledger=True)
    assert report.holds, report.lines
    assert any(line.startswith(f"ok      {KEPT} (4 rules)") for line in report.lines)
    assert [rule["kind"] for rule in published.document("schema.json")["rules"]] == [
        "skip",
        "order",
        "impossible",
        "derived",
    ]
    assert len(published.files[CSV].decode().splitlines()) > 50


def test_a_determined_column_is_computed_and_costs_nothing(published: Published) -> None:
    assert sorted(published.document("graph.json")["order"]) == ["age", "months", "sex", "weeks", "work"]
    assert "group" in published.files[CSV].decode().splitlines()[0]


@pytest.mark.parametrize(
    ("record", "broken"),
    [
        ("12,f,employed,1,2,child", "rule 1: work is inapplicable if and only if age is"),
        ("20,f,employed,3,2,adult", "rule 2: weeks is at most months"),
        ("12,f,inapplicable,3,8,child", "rule 3: it never occurs that age is"),
        ("20,f,employed,1,2,young", "rule 4: group is determined by age and work"),
    ],
)
def test_a_forged_record_that_breaks_a_rule_is_named_though_it_was_signed(
    published: Published, record: str, broken: str
) -> None:
    lines = published.files[CSV].decode().splitlines(keepends=True)
    lines[7] = record + "\r\n" if lines[7].endswith("\r\n") else record + "\n"
    forged = published.with_files({CSV: "".join(lines).encode()})
    before, after = (sha256(each.files[CSV]).hexdigest() for each in (published, forged))
    assert before != after
    checks = {check.name: check for check in forged.signed_again(forged.record).verify().checks}
    assert checks[KEPT].faults[0].startswith(f"{CSV}: record 7 breaks {broken}")


def test_a_schema_without_the_rules_is_not_that_of_the_record(published: Published) -> None:
    described = published.document("schema.json")
    del described["rules"]
    report = published.with_document("schema.json", described).verify()
    assert not report.holds
    assert any("schema.domain" in fault for check in report.checks for fault in check.faults)


def test_public_totals_are_in_the_model_and_in_the_consistent_tables(published: Published) -> None:
    model = published.document("model.json")["network"]
    if model["format"].startswith("deniable/bayes-net") and not model["graph"]["parents"]["sex"]:
        assert np.allclose(np.asarray(model["weights"]["sex"]) / 2**32, [1480 / 3000, 1520 / 3000], atol=1e-9)
    if "consistent.json" not in published.files:
        return
    found = published.document("consistent.json")
    probability = float(Fraction(found["public"]["probability"]))
    assert [total["attribute"] for total in found["public"]["totals"]] == [None, "sex"]
    (alone,) = [table for table in found["tables"] if table["attributes"] == ["sex"]]
    # A binomial number is known to within its variance; what was measured makes the estimate more precise, never less.
    assert (np.asarray(alone["variances"]) <= 1530 * probability * (1 - probability)).all()
    assert (np.abs(np.asarray(alone["estimates"]) - probability * np.asarray([1480, 1520])) < 6 * 30).all()
    forged = {**found, "public": {**found["public"], "probability": "1"}}
    report = published.with_document("consistent.json", forged).verify()
    assert any(
        "public is not what follows from measured.json" in fault for check in report.checks for fault in check.faults
    )
