"""Verification of the steps that a release's record names: all of them, in order, each reading what was made before it.

What the steps cost does not belong here (cost_verification).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, TypeAlias

from deniable.foundation.checks import Check, found
from deniable.verification.planned_events import expected_steps

Step: TypeAlias = Mapping[str, Any]

_BEFORE = ("account", "ingest", "validate", "clean", "split")
_PUBLISH = "publish"
_AFTER = ("synthesize", "gather", "draw_baseline", "evaluate_utility", "evaluate_risk", "decide", _PUBLISH)

# Which of them there are depends on the learner, and on whether anybody is to decide.
_OPTIONAL = {"draw_baseline", "decide"}
_IN_PARTS = "synthesize"
_CHUNKS = re.compile(r"chunks (0|[1-9][0-9]*)-(0|[1-9][0-9]*)")
_SNAPSHOT = "snapshot"
_TABLE = {"synthetic": "synthetic.parquet"}


def flow_of(spec: Mapping[str, Any]) -> tuple[str, ...]:
    """All steps up to publication of a release of a spec, in the order of the flow."""
    return *_BEFORE, *(step.taken_in or name for name, step in expected_steps(spec).items()), *_AFTER


def check_lineage(record: Mapping[str, Any], subjects: Mapping[str, str]) -> Check:
    """Whether the steps are those of a release, and each read what one before it made.

    Args:
        record: the record's predicate.
        subjects: SHA-256 of each file that was signed, by name.
    """

    def faults() -> Iterator[str]:
        flow = flow_of(record["spec"]["document"])
        yield from _faults_of_order(record["steps"], flow)
        yield from _faults_of_parts(record)
        yield from _faults_of_things(record["steps"], record["input"]["commitment"])
        yield from _faults_of_public_things(record, subjects)

    return Check("every step is there once, in order, and read what was made before it", found(faults))


def _faults_of_order(steps: Sequence[Step], flow: Sequence[str]) -> Iterator[str]:
    """Where a step is missing, unknown, there twice, or in another place than the flow's."""
    names = [step["step"] for step in steps]
    yield from (f"step {name} is none that a release of this spec has" for name in names if name not in flow)
    yield from (f"step {name} is missing" for name in flow if name not in names and name not in _OPTIONAL)
    known = [name for name in names if name in flow]
    for before, after in pairwise(known):
        if flow.index(after) < flow.index(before):
            yield f"step {after} comes after {before}, and must come before it"
        if after == before != _IN_PARTS:
            yield f"step {after} is there twice"


def _faults_of_parts(record: Mapping[str, Any]) -> Iterator[str]:
    """Where the parts of the step that is carried out in parts are not all of it."""
    drawing = record["spec"]["document"]["synthesis"]
    chunks = -(-drawing.get("candidates", drawing["records"]) // drawing["chunk_candidates"])
    following = 0
    for step in record["steps"]:
        if step["step"] != _IN_PARTS:
            if step["part"] is not None:
                yield f"step {step['step']} is carried out as a whole, and is stated in parts"
            continue
        part = _CHUNKS.fullmatch(step["part"] or "")
        if part is None or int(part[1]) != following:
            yield f"step {_IN_PARTS}, {step['part']}: chunk {following} must come here"
        following = int(part[2]) + 1 if part is not None else following
    if following != chunks:
        yield f"step {_IN_PARTS}: it is stated for {following} chunks, and the spec makes them {chunks}"


def _faults_of_things(steps: Sequence[Step], commitment: str) -> Iterator[str]:
    """Where a step read what no step before it made."""
    made: set[tuple[str, str]] = set()
    for step in steps:
        for thing in step["inputs"]:
            if (thing["name"], thing["digest"]) not in made:
                yield f"step {_named(step)} read {thing['name']}, which no step before it made"
        made |= {(thing["name"], thing["digest"]) for thing in step["outputs"]}
    if (_SNAPSHOT, commitment) not in made:
        yield "input.commitment is not that of the snapshot that was taken"


def _faults_of_public_things(record: Mapping[str, Any], subjects: Mapping[str, str]) -> Iterator[str]:
    """Where what is public is not in the folder."""
    made = [step.makes for step in expected_steps(record["spec"]["document"]).values()]
    files = {name: file for each in (*made, _TABLE) for name, file in each.items()}
    for step in record["steps"]:
        for thing in step["outputs"]:
            file = files.get(thing["name"])
            if (thing["audience"] == "public") != (file is not None):
                yield f"step {_named(step)} made {thing['name']}, which must not be {thing['audience']}"
            elif file is not None and subjects.get(file) != thing["digest"]:
                yield f"step {_named(step)} made {thing['name']}, which is not {file} of the folder"
        if step["step"] == _PUBLISH:
            for artifact in step["artifacts"]:
                if subjects.get(artifact["name"]) != artifact["sha256"]:
                    yield f"step {_named(step)} left {artifact['name']} in MLflow, which is another in the folder"


def _named(step: Step) -> str:
    return f"{step['step']}, {step['part']}," if step["part"] is not None else str(step["step"])
