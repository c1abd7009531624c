"""The published schema of the record is that of the model, and refuses a public record that holds anything internal."""

import json
from copy import deepcopy
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError

from schemas.provenance import Provenance
from schemas.record_schema import RECORD_SCHEMA, record_schema, to_text

DIGEST = "0" * 64
SPENT = {"epsilon": 1.0, "delta": 1e-6, "accountant": "basic"}
STEP: dict[str, Any] = {
    "step": "learn_parameters",
    "part": None,
    "inputs": [{"name": "parameters", "digest": DIGEST, "audience": "restricted"}],
    "outputs": [{"name": "model", "digest": DIGEST, "audience": "public"}],
    "cost": SPENT,
    "events": [{"mechanism": "discrete_laplace", "outputs": 4}],
    "artifacts": [{"name": "events.json", "audience": "public", "sha256": DIGEST}],
}
PUBLIC: dict[str, Any] = {
    "rendering": "public",
    "release": {
        "id": "people-20261120T074500Z",
        "title": "People",
        "dataset": "people",
        "records": 400,
        "previous": None,
        "begun": "2026-11-20",
        "published": "2026-11-20",
    },
    "spec": {"digest": DIGEST, "document": {"name": "people"}},
    "schema": {"dataset": "people.py", "code": DIGEST, "source": "schema = ...", "domain": DIGEST},
    "input": {"commitment": DIGEST, "key": DIGEST, "method": "keyed"},
    "steps": [STEP],
    "cost": {
        "kind": "seedless",
        "model": SPENT,
        "total": SPENT,
        "steps": [],
        "split": {"parameters": "3/5"},
    },
    "ledger": {"before": None, "entries": [], "head": {"number": 3, "digest": DIGEST}},
    "code": {"version": "0.1.0", "package": DIGEST, "commit": None, "dirty": None},
    "environment": {
        "python": "3.11.7",
        "implementation": "CPython",
        "platform": "Linux",
        "machine": "x86_64",
        "requirements": None,
        "packages": {"numpy": "2.3.0"},
    },
    "runs": {"prefect_flow_run": None, "mlflow_experiment": "people", "mlflow_run": "0"},
    "people": {"started_by": "custodian", "approval": None},
    "signed": {"time": "2026-11-20T07:45:00Z", "keyid": DIGEST},
}
INTERNAL_OF_A_STEP = {
    "started": "2026-11-20T07:45:00Z",
    "ended": "2026-11-20T07:45:01Z",
    "mlflow_run": "1",
    "prefect_task_run": None,
    "parameters": {"chunks": "0-3"},
    "figures": {"internal/rows": 3000.0},
}
INTERNAL = {
    **PUBLIC,
    "rendering": "internal",
    "steps": [{**STEP, **INTERNAL_OF_A_STEP}],
    "internal": {"figures": {}, "public_record": DIGEST, "run_tree": {"digest": DIGEST, "items": {}}},
}
VALIDATOR = Draft202012Validator(record_schema())


def test_the_file_in_the_package_is_the_schema_of_the_model() -> None:
    """Where this fails: python -m schemas.record_schema."""
    assert RECORD_SCHEMA.read_text(encoding="utf-8") == to_text(record_schema())


def test_the_schema_is_one_and_says_what_everything_is() -> None:
    schema = record_schema()
    Draft202012Validator.check_schema(schema)
    assert schema["$id"] == "urn:deniable:provenance:v2"
    assert all(part["description"] for part in [schema, *schema["$defs"].values()])
    released = schema["$defs"]["Released"]["properties"]
    assert released["begun"]["description"].endswith("the day of publication where the ledger is ahead of that.")


@pytest.mark.parametrize("record", [PUBLIC, INTERNAL], ids=["public", "internal"])
def test_a_record_of_either_rendering_is_accepted_by_schema_and_model_and_comes_back_the_same(
    record: dict[str, Any],
) -> None:
    VALIDATOR.validate(record)
    assert json.loads(json.dumps(Provenance.model_validate(record).to_predicate())) == record


@pytest.mark.parametrize("name", INTERNAL_OF_A_STEP)
def test_a_public_record_has_nothing_internal_of_a_step_and_an_internal_one_has_it_all(name: str) -> None:
    told, untold = deepcopy(PUBLIC), deepcopy(INTERNAL)
    told["steps"][0][name] = INTERNAL_OF_A_STEP[name]
    del untold["steps"][0][name]
    for record in (told, untold):
        with pytest.raises(ValidationError):
            VALIDATOR.validate(record)


@pytest.mark.parametrize(
    "change",
    [
        {"internal": INTERNAL["internal"]},
        {"steps": [{**STEP, "artifacts": [{"name": "report.html", "audience": "internal", "sha256": DIGEST}]}]},
        {"rows": 3000},
        {"release": {**PUBLIC["release"], "begun": "2026-11-20T07:45:12Z"}},
        {"input": {**PUBLIC["input"], "commitment": "3000"}},
        {"people": {"started_by": "custodian"}},
    ],
    ids=["internal part", "internal artifact", "another name", "a time", "no digest", "nobody asked"],
)
def test_what_a_public_record_must_not_say_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        VALIDATOR.validate({**PUBLIC, **change})


def test_a_public_step_leaves_out_what_is_internal() -> None:
    record = Provenance.model_validate(INTERNAL)
    step = record.steps[0].public()
    assert step.model_dump(mode="json", exclude_unset=True) == STEP
