"""A document of what was measured is held against the domain and against what was paid for, offline."""

import copy
import json
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest

from deniable.foundation.checks import Check
from deniable.foundation.domain import Attribute, Domain
from deniable.foundation.keys import ReleaseKey
from deniable.learners.loglinear import learning
from deniable.learners.loglinear.estimation import buckets
from deniable.learners.loglinear.estimation.counting import RowCounter
from deniable.learners.loglinear.mechanism import learn_network
from deniable.learners.loglinear.plan import Layout, LoglinearPlan, LoglinearRecipe
from deniable.learners.loglinear.published_measurements import check_measured
from deniable.measurements.document import Measurements
from deniable.record.schema_document import describe_domain

SIZES = (2, 3, 12, 4, 1, 40, 20)
DOMAIN = Domain(
    tuple(
        Attribute(f"a{i}", tuple(range(size)), "numeric" if size > 8 else "nominal", (0,) * size)
        for i, size in enumerate(SIZES)
    ),
    target="a0",
)
Document = dict[str, Any]


def layout_of_version_2(domain: Domain, _: str = "gaussian") -> Layout:
    return Layout.of_version_2(domain)


def layout_of_version_7(domain: Domain, _: str = "gaussian") -> Layout:
    return Layout.of_version_7(domain)


VERSIONS = {"as now": Layout.of, "as in version 2": layout_of_version_2, "as in version 7": layout_of_version_7}


def plan_of(noise: Any, version: str = "as now", domain: Domain = DOMAIN) -> LoglinearPlan:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Layout, "of", VERSIONS[version])
        return LoglinearRecipe(Fraction(40), Fraction(1, 10**6), noise).calibrate(domain)


def measured_by(plan: LoglinearPlan) -> Document:
    """What is measured of a table, of which the last two attributes are a recoding where the domain has so many."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("DRAFT_RECORDS", "OTHERS_RECORDS", "FINAL_RECORDS", "FEWEST_RECORDS"):
            patch.setattr(learning, name, 400)
        draw = np.random.default_rng(list(b"what was measured"))
        columns = [draw.integers(size, size=1_500) for size in plan.domain.cardinalities]
        columns[6:] = [columns[5] // 2 for _ in columns[6:]]
        codes = np.stack(columns, axis=1).astype(np.uint16)
        open_stream = partial(ReleaseKey(bytes(range(32))).stream, step="learn", inputs="measured")
        _, learnt = learn_network(plan, RowCounter(lambda: [codes]), open_stream)
        document: Document = json.loads(json.dumps(learnt.document(plan)))
    return document


@pytest.fixture(scope="module", params=["gaussian", "laplace"])
def measured(request: pytest.FixtureRequest) -> Document:
    """What was measured of a table with a recoding, so that there are tables of all kinds."""
    return measured_by(plan_of(request.param))


@pytest.fixture(scope="module", params=["gaussian", "laplace"])
def of_version_2(request: pytest.FixtureRequest) -> Document:
    """What version 2 of the learner measured of the same table."""
    return measured_by(plan_of(request.param, "as in version 2"))


def test_what_is_measured_of_a_wide_table_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Excess of single attributes is taken off equally, as if the table were wide."""
    plan = plan_of("gaussian")
    plain = measured_by(plan)
    monkeypatch.setattr(learning, "SEARCHED", 0)
    document = measured_by(plan)
    assert one(document, "a1")["denoised"] != one(plain, "a1")["denoised"]
    assert faults(document, plan) == ""
    one(document, "a1")["denoised"][0] += 10
    assert "the denoised counts of a1 do not follow" in faults(document, plan)


@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
def test_what_version_2_measured_of_many_values_holds(noise: str) -> None:
    """Shares of single attributes one by one, and rare values shrunk to even counts."""
    attributes = (*DOMAIN.attributes[:2], Attribute("a2", tuple(range(90)), "nominal", (0,) * 90))
    domain = Domain(attributes, target="a0")
    plan = plan_of(noise, "as in version 2", domain)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(buckets, "value_counts", buckets.smooth_value_counts)
        document = measured_by(plan)
    multipliers = [one(document, f"a{i}")["releases"][0]["multiplier"] for i in range(3)]
    assert multipliers == (list(plan.layout.one_way_shares) if noise == "gaussian" else [1] * 3)
    assert faults(document, plan, domain) == ""
    one(document, "a2")["denoised"][7] += 1
    assert "the denoised counts of a2 do not follow" in faults(document, plan, domain)


def law_of(document: Document) -> str:
    """The law of its noise; Gaussian if it states none, as the first version."""
    tables = document.get("tables") or [{}]
    releases = tables[0].get("releases") or [{"noise": {"law": "gaussian"}}]
    return str(releases[0]["noise"]["law"] if "noise" in releases[0] else document["noise"])


def checks(document: Document, plan: LoglinearPlan | None = None, domain: Domain = DOMAIN) -> tuple[Check, ...]:
    events = [event.to_record() for event in (plan or plan_of(law_of(document))).events]
    steps = [{"step": "learn_parameters", "events": json.loads(json.dumps(events))}]
    record = {"spec": {"document": {}}, "cost": {"steps": steps}}
    return check_measured(record, json.loads(json.dumps(describe_domain(domain, {}, {}))), document)


def faults(document: Document, plan: LoglinearPlan | None = None, domain: Domain = DOMAIN) -> str:
    return "; ".join(fault for check in checks(document, plan, domain) for fault in check.faults)


def test_what_was_measured_holds(measured: Document) -> None:
    found = checks(measured)
    assert [check.holds for check in found] == [True] * 3, faults(measured)
    assert {len(table["attributes"]) for table in measured["tables"]} == {1, 2, 3}
    assert any(table["by_values"] for table in measured["tables"] if len(table["attributes"]) > 1)
    assert any(table["differences"] for table in measured["tables"])
    assert "releases of" in found[0].note


def one(document: Document, name: str) -> Any:
    """The table of a single attribute."""
    return next(table for table in document["tables"] if table["attributes"] == [name])


def turns(document: Document) -> int:
    """The number of queries."""
    releases = [each for table in document["tables"] for each in (*table["releases"], *table.get("binned", ()))]
    return len(releases) + len([*document["choices"]])


def noise_of_tables(document: Document) -> Document:
    """Noise and multiplier of a table of several attributes."""
    release = larger(document)[0]["releases"][0]
    return {name: release[name] for name in ("noise", "multiplier")}


def larger(document: Document) -> list[Any]:
    """The tables of several attributes."""
    return [table for table in document["tables"] if len(table["attributes"]) > 1]


def first(document: Document, **wanted: Any) -> Any:
    """The first table of several attributes of which so much is so."""
    return next(
        table for table in larger(document) if all(bool(table[name]) == is_so for name, is_so in wanted.items())
    )


def last_row(values: Any) -> Any:
    return values if not isinstance(values[0], list) else last_row(values[-1])


def free(document: Document) -> int:
    """The turn after all others."""
    releases = [release for table in document["tables"] for release in table["releases"]]
    return 1 + max(query["turn"] for query in (*releases, *document["choices"]))


def other_noise(release: Document) -> None:
    """Noise of twice the amount."""
    [parameter] = set(release["noise"]) - {"law"}
    release["noise"][parameter] = str(2 * Fraction(release["noise"][parameter]))


CHANGES: dict[str, tuple[Callable[[Document], Any], str]] = {
    "a sum is a float": (
        lambda found: last_row(larger(found)[0]["releases"][0]["sums"]).__setitem__(0, 3.5),
        "must be 64-bit integers, got float64",
    ),
    "a whole number is written as a float": (
        lambda found: last_row(one(found, "a1")["releases"][0]["sums"]).__setitem__(0, 3.0),
        "must be 64-bit integers, got float64",
    ),
    "a sum is too large": (
        lambda found: last_row(larger(found)[0]["releases"][0]["sums"]).__setitem__(0, 2**70),
        "must be 64-bit integers",
    ),
    "another multiplier": (
        lambda found: one(found, "a2")["releases"][0].update(multiplier=50),
        "a2",
    ),
    "a multiplier is a float": (
        lambda found: one(found, "a2")["releases"][0].update(multiplier=1.0),
        "must be integers",
    ),
    "a value too few": (
        lambda found: one(found, "a2")["releases"][0]["sums"].pop(),
        "table of a2: its sums must have the shape (12,), got (11,)",
    ),
    "counts where differences are asked for": (
        lambda found: first(found, differences=True, by_values=False).update(differences=[]),
        "its differences must be those of a0",
    ),
    "another attribute by values": (
        lambda found: first(found, by_values=True).update(by_values=[]),
        "its sums must have the shape",
    ),
    "another bucket": (lambda found: found["buckets"]["a2"].__setitem__(0, 99), "each value of a2 must have a bucket"),
    "a turn twice": (
        lambda found: larger(found)[1]["releases"][0].update(turn=larger(found)[0]["releases"][0]["turn"]),
        "two queries have the same turn",
    ),
    "a release was left out": (
        lambda found: (
            [table["releases"].pop() for table in larger(found)[:1] if len(table["releases"]) > 1]
            or found["tables"].remove(larger(found)[0])
        ),
        "a query is missing from the document",
    ),
    "a choice was left out": (lambda found: found["choices"].pop(), "a query is missing from the document"),
    "a choice too many": (
        lambda found: found["choices"].extend([{"turn": free(found), "purpose": "tree", "candidates": 5, "chosen": 0}]),
        "choices were made for the purpose tree",
    ),
    "a choice of no candidate": (
        lambda found: found["choices"][0].update(chosen=found["choices"][0]["candidates"]),
        "a choice must be one of its candidates",
    ),
    "a table twice": (lambda found: found["tables"].append(copy.deepcopy(larger(found)[0])), "twice"),
    "another number of records": (lambda found: found.update(records=found["records"] + 1e-3), "records is"),
    "another signal": (
        lambda found: found["figures"].update(signal=found["figures"]["signal"] * (1 + 1e-6)),
        "signal is",
    ),
    "a figure more": (lambda found: found["figures"].update(mean=1.0), "must state the signal"),
    "other denoised counts": (
        lambda found: one(found, "a1")["denoised"].__setitem__(0, one(found, "a1")["denoised"][0] + 1),
        "the denoised counts of a1",
    ),
    "a denoised count below 0": (
        lambda found: last_row(larger(found)[0]["denoised"]).__setitem__(0, -1.0),
        "its denoised counts must be numbers, none below 0",
    ),
    "something else besides": (lambda found: found.update(noisy=[1.5]), "must have the entries of its format"),
    "a bin less": (lambda found: one(found, "a5")["binned"][0]["sums"].pop(), "its sums of growing bins must have"),
    "bins of an attribute that has none": (
        lambda found: one(found, "a1").update(binned=one(found, "a5")["binned"]),
        "only a number with growing bins",
    ),
    "a count of bins more than was charged": (
        lambda found: one(found, "a5")["binned"].append(
            {**one(found, "a5")["binned"][0], **noise_of_tables(found), "turn": turns(found) + 1}
        ),
        "were given noise of cost",
    ),
    "less noise of bins": (
        lambda found: [other_noise(each) for each in one(found, "a5")["binned"]],
        "counts of a5 by growing bins first had noise",
    ),
    "other counts of bins": (
        lambda found: one(found, "a5")["binned"][0]["sums"].__setitem__(4, 500),
        "the denoised counts of a5",
    ),
    "other noise": (
        lambda found: [other_noise(each) for table in found["tables"] for each in table["releases"]],
        "event has",
    ),
    "noise of another law": (
        lambda found: one(found, "a1")["releases"][0].update(noise={"law": "uniform", "scale": "3"}),
        "noise must state its law",
    ),
    "noise below 0": (
        lambda found: one(found, "a1")["releases"][0].update(noise={"law": "laplace", "scale": "-3"}),
        "must be a fraction above 0",
    ),
    "noise of two laws": (
        lambda found: [
            each["noise"].clear() or each["noise"].update(law=law, **amount)
            for law, amount, each in (
                ("gaussian", {"variance": "5"}, one(found, "a1")["releases"][0]),
                ("laplace", {"scale": "5"}, one(found, "a2")["releases"][0]),
            )
        ],
        "must have noise of one law",
    ),
    "another learner": (lambda found: found.update(learner="mst"), "must be of the learner loglinear"),
    "a part that is none": (lambda found: found["universe"].update(part=3), "must state part, sampling and rows"),
    "rows taken in no known way": (lambda found: found["universe"].update(sampling="any"), "sampling must be one of"),
    "an attribute left out of the order": (lambda found: found["order"].pop(), "the order must have each attribute"),
    "a later version": (lambda found: found.update(format="deniable/measured/5"), "must be of the format"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_was_changed_is_found(measured: Document, change: str) -> None:
    altered = copy.deepcopy(measured)
    made, said = CHANGES[change]
    made(altered)
    assert said in faults(altered)


def test_more_than_was_paid_for_is_found(measured: Document) -> None:
    altered = copy.deepcopy(measured)
    for table in larger(altered):
        for release in table["releases"]:
            if law_of(measured) == "gaussian":
                release["multiplier"] += 1
            else:
                release["noise"]["scale"] = str(Fraction(release["noise"]["scale"]) * Fraction(9, 10))
    assert "were given noise of cost" in faults(altered)


def test_a_first_release_has_as_many_draws_as_its_event() -> None:
    """The same cost in several draws is another mechanism than the one that was charged."""
    plan = plan_of("gaussian")
    altered = measured_by(plan)
    release = one(altered, "a1")["releases"][0]
    shares = plan.amount / Fraction(release["noise"]["variance"])
    release.update(multiplier=int(shares), noise={"law": "gaussian", "variance": str(plan.amount)})
    assert shares > 1
    assert f"a1 first had {shares} draws of noise, but its event has 1" in faults(altered, plan)


def test_a_repeated_attribute_has_the_noise_of_the_tables() -> None:
    plan = plan_of("gaussian")
    honest = measured_by(plan)
    for variance, is_said in ((plan.amount, False), (plan.amount / plan.layout.one_way_shares[1], True)):
        altered = copy.deepcopy(honest)
        releases = one(altered, "a1")["releases"]
        noise = {"law": "gaussian", "variance": str(variance)}
        releases.append({**copy.deepcopy(releases[0]), "turn": free(altered), "noise": noise})
        assert ("one variance beyond single attributes, got 2" in faults(altered, plan)) == is_said


def before(measured: Document) -> Document:
    """Measurements of version 2 of the learner, in format 2."""
    plan = plan_of(law_of(measured), "as in version 2")

    def old(entry: Document) -> Document:
        releases = [
            {name: each[name] for name in ("turn", "multiplier", "sums")}
            | {"shares": each["multiplier"] if plan.noise == "gaussian" else shares_of(each)}
            for each in entry["releases"]
        ]
        return {"releases": releases, "denoised": entry["denoised"]}

    def shares_of(release: Document) -> int:
        shares = plan.amount / Fraction(release["noise"]["scale"])
        assert shares.denominator == 1
        return shares.numerator

    kept = ("attributes", "reason", "by_values", "differences")
    return {
        "format": "deniable/measured/2",
        "noise": plan.noise,
        "amount": str(plan.amount),
        **{name: measured[name] for name in ("records", "order", "buckets")},
        "signal": measured["figures"]["signal"],
        "attributes": {
            table["attributes"][0]: old(table) for table in measured["tables"] if len(table["attributes"]) == 1
        },
        "tables": [{**{name: table[name] for name in kept}, **old(table)} for table in larger(measured)],
        "choices": [{name: each[name] for name in each if name != "turn"} for each in measured["choices"]],
    }


def test_a_release_in_the_format_before_still_holds(of_version_2: Document) -> None:
    """It is read as what it says in this format, and what is wrong with it is found as before."""
    old, plan = before(of_version_2), plan_of(law_of(of_version_2), "as in version 2")
    assert [check.holds for check in checks(old, plan)] == [True] * 3, faults(old, plan)
    now = Measurements.from_document(DOMAIN, old).document()
    assert json.loads(json.dumps(now)) == of_version_2
    for entry in (*old["attributes"].values(), *old["tables"]):
        for release in entry["releases"]:
            release["shares"] += 1
            release["multiplier"] = release["shares"] if old["noise"] == "gaussian" else 1
    assert "noise of cost" in faults(old, plan)
    late = before(of_version_2)
    late["choices"].pop()
    assert "a query is missing from the document" in faults(late, plan)


def test_a_document_that_is_none_is_found() -> None:
    for document in ({}, {"format": "deniable/measured/2"}, {"format": 2}, {"attributes": {}}):
        assert faults(document), document


def means(document: Document) -> Document:
    """The document as the first version had it."""

    def old(entry: Document) -> Document:
        values = sum(np.asarray(each["sums"]) for each in entry["releases"])
        multiplier = sum(each["multiplier"] for each in entry["releases"])
        return {"shares": multiplier, "noisy": (values / multiplier).tolist(), "denoised": entry["denoised"]}

    return {
        "attributes": {
            entry["attributes"][0]: old(entry) for entry in document["tables"] if len(entry["attributes"]) == 1
        },
        "tables": [old(entry) for entry in larger(document)],
    }


def test_means_of_gaussian_noise_are_said_not_to_be_private(of_version_2: Document) -> None:
    found = faults(means(of_version_2), plan_of(law_of(of_version_2), "as in version 2"))
    assert ("THE RELEASE IS NOT PRIVATE" in found) == (law_of(of_version_2) == "gaussian")
    assert ("epsilon and delta that it states do not hold" in found) == (law_of(of_version_2) == "gaussian")
    assert ("Withdraw it" in found) == (law_of(of_version_2) == "gaussian")
    powers = means(of_version_2)
    for entry in (*powers["attributes"].values(), *powers["tables"]):
        entry["shares"] = 8
    plan = plan_of(law_of(of_version_2), "as in version 2")
    eight = replace(plan, layout=replace(plan.layout, one_way_shares=(8,) * len(plan.layout.counted)))
    assert not faults(powers, eight)
    # Counted twice, first with shares that are no power of two, as five and three: the sum of both may be one.
    assert 5 in plan.layout.one_way_shares
    assert ("THE RELEASE IS NOT PRIVATE" in faults(powers, plan)) == (law_of(of_version_2) == "gaussian")
