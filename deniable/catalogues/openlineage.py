"""OpenLineage events, a line each: every step of the record starts and completes, within a run of the release.

A record states no time for its steps, so all events have that of the signature. Steps have a facet of their own for
what they spent.

Source: OpenLineage 2-0-2.
"""

from hashlib import sha256
from typing import Any, Final

from deniable.catalogues.described import PROGRAM, Described

_SCHEMA: Final = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent"
_FACETS: Final = "https://openlineage.io/spec/facets/"
_TYPES: Final = {"boolean": "boolean", "integer": "bigint", "number": "double", "string": "varchar"}
_COST: Final = ("epsilon", "delta", "accountant")
_COST_SCHEMA: Final = "urn:deniable:openlineage:PrivacyCostRunFacet:1"


def openlineage(release: Described) -> list[dict[str, Any]]:
    """The events of a release, in order."""
    root, job = _run_id(release, 0), f"release.{release.dataset}"
    events = [_event(release, "START", root, job, {}, [], [])]
    for number, step in release.steps():
        run = _run_id(release, number)
        parent = {"run": {"runId": root}, "job": {"namespace": _namespace(release), "name": job}}
        facets: dict[str, Any] = {"parent": _facet(release, "1-1-0/ParentRunFacet", parent)}
        cost = step["cost"]
        facets["deniable_privacyCost"] = {
            "_producer": _producer(release),
            "_schemaURL": _COST_SCHEMA,
            # A step without a cost that can be stated is not differentially private.
            **({"guarantee": "none"} if cost is None else {name: cost[name] for name in _COST}),
            "events": len(step["events"]),
        }
        inputs = [_dataset(release, item) for item in step["inputs"]]
        outputs = [_dataset(release, item) for item in step["outputs"]]
        name = f"{job}.{step['step'].replace(' ', '_')}"
        events.append(_event(release, "START", run, name, facets, inputs, []))
        events.append(_event(release, "COMPLETE", run, name, facets, inputs, outputs))
    table = [_published(release)]
    events.append(_event(release, "COMPLETE", root, job, {}, [], table))
    return events


def _event(
    release: Described,
    kind: str,
    run: str,
    job: str,
    facets: dict[str, Any],
    inputs: list[dict[str, Any]],
    outputs: list[dict[str, Any]],
) -> dict[str, Any]:
    about = {"processingType": "BATCH", "integration": "DENIABLE", "jobType": "RELEASE"}
    return {
        "eventType": kind,
        "eventTime": release.signed,
        "producer": _producer(release),
        "schemaURL": _SCHEMA,
        "run": {"runId": run, **({"facets": facets} if facets else {})},
        "job": {
            "namespace": _namespace(release),
            "name": job,
            "facets": {"jobType": _facet(release, "2-0-3/JobTypeJobFacet", about)},
        },
        "inputs": inputs,
        "outputs": outputs,
    }


def _run_id(release: Described, number: int) -> str:
    """The UUID of a run, of version 8, made of the record's digest and the number of a step."""
    found = sha256(f"{release.record_digest}/{number}".encode()).hexdigest()
    return f"{found[:8]}-{found[8:12]}-8{found[13:16]}-8{found[17:20]}-{found[20:32]}"


def _dataset(release: Described, item: Any) -> dict[str, Any]:
    """What a step read or made; of what is not public, a digest under the release's key."""
    version = {"datasetVersion": item["digest"]}
    return {
        "namespace": _namespace(release),
        "name": f"{release.name}/{item['name']}",
        "facets": {"version": _facet(release, "1-0-1/DatasetVersionDatasetFacet", version)},
    }


def _published(release: Described) -> dict[str, Any]:
    """The published table, with its columns and its licence's words."""
    columns = [
        {"name": field["name"], "type": _TYPES[field["type"]], "description": field.get("title", "")}
        for field in release.fields
    ]
    facets = {
        "schema": _facet(release, "1-2-0/SchemaDatasetFacet", {"fields": columns}),
        "documentation": _facet(release, "1-1-0/DocumentationDatasetFacet", {"description": release.text}),
        "version": _facet(release, "1-0-1/DatasetVersionDatasetFacet", {"datasetVersion": release.record_digest}),
    }
    return {"namespace": _namespace(release), "name": f"{release.name}/synthetic.csv", "facets": facets}


def _facet(release: Described, schema: str, content: dict[str, Any]) -> dict[str, Any]:
    version, _, name = schema.partition("/")
    return {"_producer": _producer(release), "_schemaURL": f"{_FACETS}{version}/{name}.json", **content}


def _namespace(release: Described) -> str:
    return f"deniable://{release.dataset}"


def _producer(release: Described) -> str:
    return f"urn:{PROGRAM.lower()}:program:{release.version}"
