"""A schema that allows several records of each person: choice, split, noise, plan, ledger, statement, verification."""

import json
from collections import Counter
from copy import deepcopy
from fractions import Fraction
from hashlib import sha256
from math import exp
from pathlib import Path
from typing import Any

import pytest

from deniable.evaluation.subgroup_error import subgroup_error
from deniable.foundation.domain import Domain
from deniable.foundation.errors import InvalidInput, Refused
from deniable.inference.answers import Asked
from deniable.inference.estimation import Inference
from deniable.ledger.entries import Charge, Claim, Cost, Entry
from deniable.ledger.verification import records_of, verify
from deniable.measurements.document import Measurements, Sampling, with_sampling
from deniable.privacy.group_privacy import of_record
from deniable.privacy.loss import DiscreteGaussianEvent, Guarantee
from deniable.record.statement import of_each_person
from deniable.verification.cost import check_composition, check_totals, step_costs
from deniable.verification.planned_events import check_planned
from flows.cli.planning import show_plan
from schemas.rules import public_total
from schemas.spec.plan import plan_release
from schemas.spec.release_spec import load_spec
from schemas.table import nominal, table
from stores.record.provenance import cost_of, spec_document
from stores.tables.tables import load_codes, read_codes, read_first_rows
from tasks.audit.restage import restage
from tasks.data.clean import clean
from tasks.data.ingest import ingest
from tasks.data.split import split
from tasks.data.validate import validate
from tests.mechanisms.table import CERTIFIED, LEARNERS, SAMPLERS
from tests.published import Published, faults
from tests.small_release import HISTOGRAM_SEEDS, NAMES, QUICK, SPEC
from tests.tasks.hand_made import workspace_of
from tests.tasks.test_a_person_with_several_records import (
    COLUMN,
    ENDING,
    OF_PEOPLE,
    PEOPLE,
    UNIT,
    require_words_of_a_person,
    spec_of,
    stays,
)
from tests.whole_release import Drawn, drawn_release

MOST = 3
EPSILON, DELTA = 1.0, 1e-6


def allowing(most: int) -> str:
    """A schema that allows so many records of each person."""
    return OF_PEOPLE.replace(f'person="{COLUMN}"', f'person="{COLUMN}", most_records={most}')


LOGLINEAR: dict[str, Any] = {
    **QUICK,
    "learner": {
        "kind": "loglinear",
        "noise": "gaussian",
        "certificate": {"share": 0.05},
        "parameters": {"epsilon": EPSILON, "delta": DELTA},
    },
}


def several_records(most: int) -> dict[str, Any]:
    """Changes to the small spec: a table with several records of each person, of which so many are used."""
    return {"people": stays(), "names": [COLUMN, *NAMES], "schema": allowing(most), **LOGLINEAR}


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Drawn:
    return drawn_release(tmp_path_factory.mktemp("several"), "small-1", **several_records(MOST))


@pytest.fixture(scope="module")
def published(drawn: Drawn) -> Published:
    drawn.publish()
    return Published.of(drawn)


def test_the_release_holds_and_says_how_many_records_of_a_person_were_used(drawn: Drawn, published: Published) -> None:
    report = published.verify(with_ledger=True)
    assert report.holds, faults(report)
    said, record = published.document("privacy.json"), published.record
    assert said["privacy_unit"] == UNIT
    assert said["neighbouring_relation"].endswith("of each person at most 3 records, chosen at random, are used")
    assert said["of_each_person"]["most_records"] == MOST
    assert said["rows_left_out"]["rules"][-1].startswith("rows without patient, and of the other rows with the same")
    assert "all but 3, chosen at random; which ones are kept" in said["rows_left_out"]["rules"][-1]
    assert not any("People with several records" in line for line in said["not_covered"])
    assert record["schema"]["person"] == {"column": COLUMN, "most_records": MOST}
    assert record["release"]["dataset"] == f"people{ENDING}"
    words = " ".join(published.files["PRIVACY.md"].decode().split())
    assert "At most 3 records of each person were used" in words
    require_words_of_a_person(drawn, published)
    assert "Each person was selected for this, with all records used, with probability 0.8" in words
    assert "group privacy: as many times the cost of one record as records of a person are used" in words
    assert "at most 3 records each were used" in " ".join(published.files["README.md"].decode().split())
    assert "But only a random 80% of the people are read" in " ".join(published.files["index.html"].decode().split())
    assert not [name for name, content in published.files.items() if b"person0" in content]


def test_a_statement_of_version_3_holds_as_it_did_and_no_mixture_does(published: Published) -> None:
    stated = published.document("privacy.json")
    steps, person = published.record["cost"]["steps"], published.record["schema"]["person"]
    third = {**stated, **of_each_person(person, 3), "subgroup_error": subgroup_error(steps), "statement": 3}
    report = published.with_document("privacy.json", third).verify()
    assert report.holds, faults(report)
    for name in ("of_each_person", "subgroup_error"):
        mixed = {**third, name: stated[name]}
        assert f"privacy.json: {name}" in faults(published.with_document("privacy.json", mixed).verify())


def test_a_replay_makes_the_same_files(drawn: Drawn, published: Published) -> None:
    again = restage(drawn.workspace, drawn.codes, drawn.learnt, drawn.accounts, so_far=None, day="2026-01-01")
    for name in ("synthetic.csv", "schema.json", "intervals.csv", "consistent.json"):
        assert again[name] == sha256(published.files[name]).hexdigest(), name


def test_the_noise_is_scaled_so_that_a_person_costs_what_the_spec_says(tmp_path: Path) -> None:
    """By the law of discrete Gaussian noise itself, for one count that all records of a person change."""
    spec = load_spec(spec_of(tmp_path, schema=allowing(MOST), thresholds={}, split={"shared": 1, "holdout": 0}))
    (step,) = plan_release(spec).accounts.steps
    assert step.guarantee is not None
    assert EPSILON * 0.99 < step.guarantee.epsilon <= EPSILON
    assert DELTA * 0.98 < step.guarantee.delta <= DELTA
    assert step.guarantee.accountant.startswith("group_privacy + ")
    of_one = of_record(step.guarantee, MOST)
    assert of_one.epsilon == pytest.approx(step.guarantee.epsilon / MOST)
    variance = next(event.variance for event in step.events if isinstance(event, DiscreteGaussianEvent))
    own = [exp(-(z**2) / (2 * float(variance))) for z in range(-300, 301)]
    moved = [exp(-((z - MOST) ** 2) / (2 * float(variance))) for z in range(-300, 301)]
    apart = sum(max(two - exp(EPSILON) * one, 0.0) for one, two in zip(own, moved, strict=True)) / sum(own)
    assert apart <= DELTA
    one_record = load_spec(spec_of(tmp_path / "one", thresholds={}, split={"shared": 1, "holdout": 0}))
    less = next(
        event.variance for event in plan_release(one_record).accounts.events if isinstance(event, DiscreteGaussianEvent)
    )
    assert MOST**2 * less <= variance <= MOST**2 * less * Fraction(102, 100)
    (planned,) = [step for step in plan_release(spec).steps if step.part is not None]
    assert planned.guarantee is not None
    assert planned.guarantee.epsilon <= EPSILON / MOST


def counted_by(kind: str) -> dict[str, Any]:
    """What a spec says of a learner of noisy counts."""
    row = LEARNERS[kind]
    return {**SAMPLERS["seedless"], **row.asked, **row.with_noise(0)}


COUNTING = [kind for kind in LEARNERS if "parameters" in counted_by(kind).get("learner", SPEC["learner"])]


@pytest.mark.parametrize("row", [*COUNTING, *(f"{kind} with a certificate" for kind in CERTIFIED)])
@pytest.mark.parametrize("most", [2, 7])
def test_what_every_learner_plans_for_people_is_what_the_verifier_derives(row: str, most: int, tmp_path: Path) -> None:
    kind, *certified = row.split(" with ")
    changes = CERTIFIED[kind] if certified else counted_by(kind)
    spec = load_spec(spec_of(tmp_path, schema=allowing(most), **{**changes, "chunk_rows": 1000}))
    accounts = plan_release(spec).accounts
    record: dict[str, Any] = {
        "spec": {"document": spec_document(spec)},
        "schema": {"person": {"column": COLUMN, "most_records": most}},
        "cost": json.loads(cost_of(spec, accounts).model_dump_json()),
    }
    steps = step_costs(record)
    for check in (
        check_composition(record, steps),
        check_planned(record, spec.domain, steps),
        check_totals(record, steps),
    ):
        assert check.holds, check.faults
    if not steps:
        return
    # The same, if the record is said to be of one record of each person: more noise than is allowed to be claimed.
    of_records = deepcopy(record)
    of_records["schema"]["person"]["most_records"] = 1
    assert not check_planned(of_records, spec.domain, step_costs(of_records)).holds
    for step in record["cost"]["steps"]:
        one = of_record(Guarantee(step["guarantee"]["epsilon"], step["guarantee"]["delta"], ""), most)
        step["guarantee"] |= {"epsilon": one.epsilon, "delta": one.delta}
    cheaper = step_costs(record)
    assert not check_composition(record, cheaper).holds
    assert not check_planned(record, spec.domain, cheaper).holds


def test_at_most_so_many_records_of_each_person_are_kept_as_the_schema_allows(tmp_path: Path) -> None:
    held = Counter(row[0] for row in stays())
    assert max(held.values()) > 2
    with workspace_of(spec_of(tmp_path, schema=allowing(2), chunk_rows=100)) as workspace:
        codes = clean(workspace, validate(workspace, ingest(workspace)))
        first_rows = read_first_rows(codes.path)
    of_each = Counter(first_rows.tolist())
    assert sorted(of_each.values()) == sorted(min(number, 2) for number in held.values())
    assert codes.rows == len(first_rows) < len(stays())
    assert all(first_rows[first] == first for first in of_each)


def test_all_records_of_a_person_are_in_one_part(tmp_path: Path) -> None:
    """Everybody has a value of their own, so that the parts show who is in them."""
    schema = allowing(MOST).replace("numeric(18, 37, width=5)", "numeric(18, 99, width=5)")
    people = [[f"p{owner}", str(owner), "f", "none", "no"] for _ in range(4) for owner in range(18, 90)]
    shares = {"seeds": 0.3, "structure": 0.2, "parameters": 0.2, "holdout": 0.2}
    learner = SPEC["learner"]
    synthesis = QUICK["synthesis"]
    path = spec_of(tmp_path, people, schema=schema, split=shares, learner=learner, synthesis=synthesis, chunk_rows=50)
    with workspace_of(path) as workspace:
        codes = clean(workspace, validate(workspace, ingest(workspace)))
        parts = split(workspace, codes)
        found = {
            name: Counter(load_codes(part.path, workspace.spec.domain)[:, 0].tolist()) for name, part in parts.items()
        }
        for chunk in read_codes(codes.path, workspace.spec.domain):
            assert chunk.shape[1] == len(workspace.spec.domain)
    assert codes.rows == 72 * MOST
    assert all(set(own.values()) == {MOST} for own in found.values())
    assert sum(map(len, found.values())) == len({person for own in found.values() for person in own})
    # Neither everybody in one part nor nobody anywhere, but once in 10^20.
    assert all(3 <= len(own) <= 50 for own in found.values())


def test_people_are_split_independently_of_how_many_records_they_have(tmp_path: Path) -> None:
    """Of the 900 people 80 % are read: the number with one record, and with more, are each within six deviations."""
    with workspace_of(spec_of(tmp_path, schema=allowing(MOST), chunk_rows=100)) as workspace:
        codes = clean(workspace, validate(workspace, ingest(workspace)))
        rows = split(workspace, codes)["shared"].rows
        held = Counter(Counter(read_first_rows(codes.path).tolist()).values())
    assert rows is not None
    expected = 0.8 * codes.rows  # type: ignore[operator]
    deviation = (0.16 * sum(own**2 * people for own, people in held.items())) ** 0.5
    assert abs(rows - expected) < 6 * deviation
    assert sum(held.values()) == PEOPLE


def test_the_plan_says_how_many_records_are_used(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = load_spec(spec_of(tmp_path, schema=allowing(2)))
    show_plan(spec, tmp_path / "state")
    shown = " ".join(capsys.readouterr().out.split())
    assert f"privacy unit {UNIT}; at most 2 records of each, chosen at random, are used" in shown
    assert "scaled for one record" in shown


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"synthesis": SPEC["synthesis"], "learner": SPEC["learner"], "split": SPEC["split"]}, "fewer than k people"),
        ({**HISTOGRAM_SEEDS}, "by the records of a single person"),
        (
            {
                "learner": {"kind": "pegs", "epsilon": 1},
                "synthesis": {"guarantee": "per_draw", "records": 10, "chunk_candidates": 10, "delta": 0},
            },
            "not scaled to a budget for a person",
        ),
    ],
    ids=["tested_seeds", "histogram_seeds", "per_draw"],
)
def test_guarantees_that_count_records_are_refused(changes: dict[str, Any], what: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=what):
        load_spec(spec_of(tmp_path, schema=allowing(2), **changes))


def test_public_totals_of_all_records_are_refused() -> None:
    with pytest.raises(InvalidInput, match="public totals must be of a table of which one record"):
        table({"a": nominal([1, 2])}, person=COLUMN, most_records=2, totals=[public_total(900, source="a register")])


def test_what_is_stated_of_the_records_of_a_person_cannot_be_changed(published: Published) -> None:
    def refused(changed: Published) -> str:
        report = changed.verify(with_ledger=True)
        assert not report.holds
        return faults(report)

    for most in (1, 2, 4):
        person = {"column": COLUMN, "most_records": most}
        schema = published.document("schema.json") | {"person": person}
        assert "schema.domain is" in refused(published.with_document("schema.json", schema))
        record = published.record
        record["schema"]["person"] = person
        assert "most records of one person of step learn_parameters" in refused(published.signed_again(record))
    fewer = published.document("privacy.json")
    fewer["of_each_person"]["most_records"] = 2
    assert "of_each_person.most_records is 2" in refused(published.with_document("privacy.json", fewer))
    del fewer["of_each_person"]
    assert "of_each_person is missing" in refused(published.with_document("privacy.json", fewer))
    seeded = published.record
    seeded["spec"]["document"]["synthesis"]["guarantee"] = seeded["cost"]["kind"] = "histogram_seeds"
    assert "holds for one of each" in refused(published.signed_again(seeded))
    nobody = published.record
    nobody["schema"]["person"]["most_records"] = 10**6
    assert "most_records must be a whole number" in refused(published.signed_again(nobody))


def charges_of(lines: tuple[str, ...]) -> list[Charge]:
    facts = [Entry.from_record(record).fact() for record in records_of(lines)]
    return [fact for fact in facts if isinstance(fact, Charge)]


def test_a_ledger_that_charges_a_person_the_cost_of_one_record_is_found(published: Published) -> None:
    assert verify(records_of(published.ledger)).holds
    (charge,) = charges_of(published.ledger)
    assert charge.most_records == MOST
    assert charge.claim.cost.epsilon <= EPSILON
    entry = next(
        Entry.from_record(record)
        for record in records_of(published.ledger)
        if Entry.from_record(record).kind == charge.kind
    )
    cost = charge.claim.cost
    for epsilon, delta, most in (
        (cost.epsilon / MOST, cost.delta, MOST),
        (cost.epsilon, cost.delta / MOST / 2, MOST),
        (cost.epsilon, cost.delta, MOST + 1),
    ):
        claim = Claim(cost=Cost(epsilon=Fraction(f"{float(epsilon):.9f}"), delta=delta), accountant="pld")
        content = {**entry.content, "claim": claim.to_content(), "most_records": most}
        report = verify([{**entry.to_record(), "content": content}])
        (check,) = [each for each in report.checks if "compose" in each.name]
        assert any("for one of at most" in fault for fault in check.faults), (epsilon, delta, most)


def test_charges_of_one_record_each_are_written_as_ever(published: Published) -> None:
    (charge,) = charges_of(published.ledger)
    assert charge.to_content()["most_records"] == MOST
    content = {**charge.to_content()}
    del content["most_records"]
    assert Charge.from_content(content).most_records == 1
    assert "most_records" not in Charge.from_content(content).to_content()
    for wrong in (0, 101, True, "3", None):
        with pytest.raises(InvalidInput, match="most_records must be from 1 to 100"):
            Charge.from_content({**content, "most_records": wrong})


def test_intervals_are_of_the_rows_that_were_measured(published: Published) -> None:
    domain, document = Domain.from_document(published.document("schema.json")), published.document("measured.json")

    def inference(sampling: Sampling) -> Inference:
        return Inference(Measurements.from_document(domain.modelled, with_sampling(document, sampling)))

    assert inference("unknown").share("sex=f").of_what == "the rows that were measured"
    assert b"the rows that were measured" in published.files["intervals.csv"]
    assert b"the confidential table" not in published.files["intervals.csv"]
    with pytest.raises(Refused, match="used at most 3 records of each person"):
        inference("census").share("sex=f", asked=Asked(estimand="population"))
    sample = inference("simple random")
    asked = Asked(estimand="population")
    several = sample.share("sex=f", asked=asked)
    one = sample.share("sex=f", asked=Asked(estimand="population", design_effect=1.0))
    assert several.sampling_deviation == pytest.approx(MOST**0.5 * one.sampling_deviation)
    assert "with a design effect of 3" in several.condition
