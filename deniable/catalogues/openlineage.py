"""OpenLineage events, a line each: every step of the record starts and completes, within a run of the release.

A record states no time for its steps, so all events have that of the signature. The events that a release sends while
it runs have their own times (stores.lineage).

Source: OpenLineage 2-0-2.
"""

from typing import Any, Final

from deniable.catalogues.described import Described
from deniable.catalogues.lineage_events import Event, LineageEvents, run_id

_TYPES: Final = {"boolean": "boolean", "integer": "bigint", "number": "double", "string": "varchar"}


def openlineage(release: Described) -> list[Event]:
    """The events of a release, in order."""
    words = LineageEvents(release.dataset, release.name, release.version)
    root, time = run_id(release.record_digest, 0), release.signed
    events = [words.event("START", time, root, words.job())]
    for number, step in release.steps():
        run, job = run_id(release.record_digest, number), words.job(step["step"])
        facets = {**words.of_release(root), **words.cost(step["cost"], len(step["events"]))}
        inputs = [words.read_or_made(item["name"], item["digest"]) for item in step["inputs"]]
        outputs = [words.read_or_made(item["name"], item["digest"]) for item in step["outputs"]]
        events.append(words.event("START", time, run, job, facets, inputs))
        events.append(words.event("COMPLETE", time, run, job, facets, inputs, outputs))
    events.append(words.event("COMPLETE", time, root, words.job(), outputs=[_published(release, words)]))
    return events


def _published(release: Described, words: LineageEvents) -> dict[str, Any]:
    """The published table, with its columns and its licence's words."""
    columns = [
        {"name": field["name"], "type": _TYPES[field["type"]], "description": field.get("title", "")}
        for field in release.fields
    ]
    item = words.read_or_made("synthetic.csv", release.record_digest)
    item["facets"] = {
        "schema": words.facet("1-2-0/SchemaDatasetFacet", {"fields": columns}),
        "documentation": words.facet("1-1-0/DocumentationDatasetFacet", {"description": release.text}),
        **item["facets"],
    }
    return item
