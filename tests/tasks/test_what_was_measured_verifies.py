"""A release by the log-linear learner holds offline; one that was published with means of noisy counts does not."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deniable.data_user import read_release
from deniable.foundation.errors import Refused
from deniable.inference.answers import Asked
from deniable.inference.queries import Query
from deniable.record.trust import TrustedKeys
from deniable.verification.release import Trust
from stores.record.folder_verification import verified_release
from tests.published import InMemory, Published, faults, folder_in
from tests.small_release import QUICK
from tests.whole_release import drawn_release

LEARNER: dict[str, Any] = {
    "kind": "loglinear",
    "noise": "gaussian",
    "parameters": {"epsilon": 1, "delta": 1e-6, "prior": 1, "estimate": "mean"},
}


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Published:
    changes = {**QUICK, "learner": LEARNER, "sampling": {"kind": "simple random", "design_effect": 2}}
    drawn = drawn_release(tmp_path_factory.mktemp("measured"), "people-1", bytes(range(32)), **changes)
    drawn.publish()
    return Published.of(drawn)


def before(entry: dict[str, Any]) -> dict[str, Any]:
    """An entry as the first version of the document had it."""
    sums = sum(np.asarray(each["sums"]) for each in entry["releases"])
    shares = sum(each["multiplier"] for each in entry["releases"])
    kept = {name: entry[name] for name in ("attributes", "reason", "differences") if name in entry}
    return {
        **kept,
        "shares": shares,
        "deviation": 1.0,
        "noisy": (sums / shares).tolist(),
        "denoised": entry["denoised"],
    }


def with_means(published: Published) -> Published:
    """The same release as it was once published, without estimates."""
    document = published.document("measured.json")
    old = {name: document[name] for name in ("records", "order", "buckets")} | document["figures"]
    tables = {tuple(entry["attributes"]): before(entry) for entry in document["tables"]}
    old["attributes"] = {names[0]: entry for names, entry in tables.items() if len(names) == 1}
    old["tables"] = [entry for names, entry in tables.items() if len(names) > 1]
    record = published.record
    for step in record["steps"]:
        step["artifacts"] = [
            each for each in step["artifacts"] if each["name"] not in {"consistent.json", "intervals.csv"}
        ]
    then = published.with_files({"consistent.json": None, "intervals.csv": None}).signed_again(record)
    return then.with_document("measured.json", old)


def test_what_was_measured_holds(published: Published) -> None:
    report = published.verify(with_ledger=True)
    assert report.holds, faults(report)
    assert sum("measured" in check.name for check in report.checks) == 5


def test_a_release_with_means_of_noisy_counts_does_not_hold(published: Published, tmp_path: Path) -> None:
    """Verification and the audit, which asks it, say that it is not private, and what to do."""
    old = with_means(published)
    report = old.verify(with_ledger=True)
    assert "RELEASE IS NOT PRIVATE" in faults(report)
    assert "epsilon and delta that it states do not hold. Withdraw it" in faults(report)
    assert report.verdict.startswith("THE RELEASE DOES NOT HOLD: 1 of")
    folder = folder_in(tmp_path / "people-1", old)
    assert "RELEASE IS NOT PRIVATE" in "\n".join(verified_release(folder, old.keys).lines)


def test_a_sum_that_is_a_float_does_not_hold(published: Published) -> None:
    document = published.document("measured.json")
    [release] = [table["releases"][0] for table in document["tables"] if table["attributes"] == ["school"]]
    release["sums"][0] = float(release["sums"][0])
    assert "must be 64-bit integers, got float64" in faults(published.with_document("measured.json", document).verify())


def test_estimates_that_do_not_follow_do_not_hold(published: Published) -> None:
    document = published.document("consistent.json")
    document["records"] += 1
    altered = published.with_document("consistent.json", document)
    assert "estimates of the records do not follow from measured.json" in faults(altered.verify())
    without = published.with_files({"consistent.json": None}).signed_again(published.record)
    assert "consistent.json is missing" in faults(without.verify())


def test_intervals_that_do_not_follow_do_not_hold(published: Published) -> None:
    text = published.files["intervals.csv"].decode()
    assert text.startswith("table,attribute_1,values_1")
    lines = text.splitlines()
    cells = lines[-1].split(",")
    place = lines[0].split(",").index("count_high")
    changed = ",".join([*cells[:place], str(float(cells[place]) + 1), *cells[place + 1 :]])
    for altered, fault in [
        ([*lines[:-1], changed], f"line {len(lines)} does not follow from measured.json"),
        (lines[:-1], f"line {len(lines)} is missing, or is one too many"),
        ([*lines, lines[-1]], f"line {len(lines) + 1} is missing, or is one too many"),
        ([lines[0].replace("count", "number"), *lines[1:]], "its first line must name the columns"),
    ]:
        forged = published.with_files({"intervals.csv": ("\n".join(altered) + "\n").encode()})
        assert fault in faults(forged.signed_again(published.record).verify())


def test_only_what_was_signed_is_asked(published: Published) -> None:
    trust = Trust(published.keys, "in the test")
    read = read_release(InMemory(published.files), trust)
    assert read.notes == ()
    assert read.name == "people-1"
    asked = read.inference.count("sex=f")
    assert asked.of_what == "the confidential table"
    assert "measured with probability 0.8" in asked.condition
    assert read_release(InMemory(published.files)).notes == (
        "The signature was not checked: give trusted keys with --keys.",
    )
    document = published.document("measured.json")
    document["tables"][0]["releases"][0]["sums"][0] += 1
    altered = {**published.files, "measured.json": json.dumps(document).encode()}
    with pytest.raises(Refused, match=r"measured\.json must be what was signed, and was altered"):
        read_release(InMemory(altered), trust)
    forged = published.with_document("measured.json", document)
    stranger = Trust(TrustedKeys(()), "in the test")
    with pytest.raises(Refused, match="the record must be signed by a trusted key"):
        read_release(InMemory(forged.files), stranger)


def test_the_sampling_of_the_spec_is_in_what_was_measured(published: Published) -> None:
    document = published.document("measured.json")
    assert document["universe"]["sampling"] == "simple random"
    found = read_release(InMemory(published.files)).inference.share("sex=f", asked=Asked(estimand="population"))
    assert "the release states that the rows are a simple random sample with a design effect of 2" in found.condition
    document["universe"]["sampling"] = "census"
    said = faults(published.with_document("measured.json", document).verify())
    assert "must state the sampling of the spec, simple random, got census" in said


def test_the_synthetic_records_are_the_model(published: Published) -> None:
    inference = read_release(InMemory(published.files)).inference
    rows = published.files["synthetic.csv"].decode().splitlines()[1:]
    assert inference.model is not None
    assert inference.model.total(Query.product({})) == len(rows)
    women = inference.model.total(Query.product(inference.conditions.parse("sex=f")))
    assert women == sum(row.split(",")[1] == "f" for row in rows)
