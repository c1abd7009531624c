"""The published schema of the record is that of the model, and refuses a public record that holds anything internal."""

import json
import re
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from jsonschema.validators import extend

from deniable.record.shape import faults_of_shape
from deniable.record.shape import record_schema as published_schema
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
    assert released["begun"]["description"].endswith("the day of publication if the ledger is ahead of that.")


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


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in a record, by the names and numbers that lead to it."""
    if path:
        yield path
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, inner in inside:
        yield from places(inner, (*path, name))


def holder(record: Any, path: tuple[Any, ...]) -> Any:
    """What holds the last of a path."""
    for name in path[:-1]:
        record = record[name]
    return record


def altered(record: Any) -> Iterator[Any]:
    """The record with one place altered, missing, or with more in it, for every place."""
    for path in places(record):
        for value in (
            None,
            True,
            0,
            1.5,
            3.0,
            "",
            DIGEST,
            f"{DIGEST}\n",
            "2026-11-20",
            "public",
            [],
            [0],
            {},
            {"a": 0},
        ):
            other = deepcopy(record)
            holder(other, path)[path[-1]] = value
            yield other
        other = deepcopy(record)
        within = holder(other, path)
        del within[path[-1]]
        yield other
        other = deepcopy(record)
        within = holder(other, path)
        if isinstance(within, dict):
            within[f"{path[-1]} too"] = within[path[-1]]
        else:
            within.append(within[path[-1]])
        yield other


def strict_pattern(_: object, pattern: str, value: object, __: object) -> Iterator[ValidationError]:
    """As ECMA-262 has it, and JSON Schema with it: `$` is the end of the text, and a digit is ASCII."""
    if isinstance(value, str) and not re.search(re.sub(r"\$$", r"\\Z", pattern), value, re.ASCII):
        yield ValidationError("another text")


STRICT = extend(
    Draft202012Validator,
    {"pattern": strict_pattern},
    type_checker=Draft202012Validator.TYPE_CHECKER.redefine("integer", lambda _, value: type(value) is int),
)


@pytest.mark.slow
@pytest.mark.parametrize("record", [PUBLIC, INTERNAL], ids=["public", "internal"])
def test_the_package_alone_judges_every_altered_record_as_jsonschema_does(record: dict[str, Any]) -> None:
    ours, theirs = published_schema(2), STRICT(record_schema())
    assert not faults_of_shape(record, ours)
    judged = [(not faults_of_shape(other, ours), theirs.is_valid(other), other) for other in altered(record)]
    assert [other for one, another, other in judged if one != another] == []
    assert {one for one, _, _ in judged} == {True, False}
    assert len(judged) > 1_000


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"input": {**PUBLIC["input"], "key": f"{DIGEST}\n"}}, "input.key must be written as ^[0-9a-f]{64}$"),
        (
            {"release": {**PUBLIC["release"], "begun": "2026-11-2\N{ARABIC-INDIC DIGIT ZERO}"}},
            "release.begun must be written as",
        ),
        ({"release": {**PUBLIC["release"], "records": 400.0}}, "release.records must be of the type integer"),
    ],
    ids=["a digest and a new line", "digits that are not ASCII", "a whole number that is written as a float"],
)
def test_what_jsonschema_takes_as_it_comes_and_a_record_must_not_hold_is_named(
    change: dict[str, Any], fault: str
) -> None:
    assert VALIDATOR.is_valid({**PUBLIC, **change})
    assert any(found.startswith(fault) for found in faults_of_shape({**PUBLIC, **change}, published_schema(2)))
