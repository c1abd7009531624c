"""Verification of the steps in a release's record: complete, in order, each reading only products of earlier steps.

The cost of the steps does not belong here (cost).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, TypeAlias

from deniable.foundation.checks import Check, found
from deniable.roles import Role
from deniable.verification.planned_events import expected_steps

Step: TypeAlias = Mapping[str, Any]

_BEFORE = ("account", "ingest", "validate", "clean", "split")
_PUBLISH = "publish"
_AFTER = (Role.CANDIDATES, "gather", "draw_baseline", "evaluate_utility", "evaluate_risk", "decide", _PUBLISH)

# Which of these occur depends on the learner, and on whether approval by a person is needed.
_OPTIONAL = {"draw_baseline", "decide"}
_IN_PARTS = Role.CANDIDATES
_CHUNKS = re.compile(r"chunks (0|[1-9][0-9]*)-(0|[1-9][0-9]*)")
_SNAPSHOT = "snapshot"
_TABLE = {"synthetic": "synthetic.parquet"}


def flow_of(spec: Mapping[str, Any]) -> tuple[str, ...]:
    """All steps of a spec's release up to publication, in the order of the flow."""
    return *_BEFORE, *(step.taken_in or name for name, step in expected_steps(spec).items()), *_AFTER


def check_lineage(record: Mapping[str, Any], subjects: Mapping[str, str]) -> Check:
    """Check that the steps are those of a release, and that each read only products of earlier steps.

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

    return Check("every step occurs once, in order, and read only products of earlier steps", found(faults))


def _faults_of_order(steps: Sequence[Step], flow: Sequence[str]) -> Iterator[str]:
    """Faults where a step is missing, unknown, repeated, or out of order."""
    names = [step["step"] for step in steps]
    yield from (f"step {name} is not a step of a release of this spec" for name in names if name not in flow)
    yield from (f"step {name} is missing" for name in flow if name not in names and name not in _OPTIONAL)
    known = [name for name in names if name in flow]
    for before, after in pairwise(known):
        if flow.index(after) < flow.index(before):
            yield f"step {after} comes after {before}, but must come before it"
        if after == before != _IN_PARTS:
            yield f"step {after} occurs twice"


def _faults_of_parts(record: Mapping[str, Any]) -> Iterator[str]:
    """Faults where parts of the step that runs in parts are missing."""
    drawing = record["spec"]["document"]["synthesis"]
    chunks = -(-drawing.get("candidates", drawing["records"]) // drawing["chunk_candidates"])
    following = 0
    for step in record["steps"]:
        if step["step"] != _IN_PARTS:
            if step["part"] is not None:
                yield f"step {step['step']} runs as a whole, but is stated in parts"
            continue
        part = _CHUNKS.fullmatch(step["part"] or "")
        if part is None or int(part[1]) != following:
            yield f"step {_IN_PARTS}, {step['part']}: chunk {following} must come here"
        following = int(part[2]) + 1 if part is not None else following
    if following != chunks:
        yield f"step {_IN_PARTS}: it is stated for {following} chunks, but the spec gives {chunks}"


def _faults_of_things(steps: Sequence[Step], commitment: str) -> Iterator[str]:
    """Faults where a step read something that no earlier step made."""
    made: set[tuple[str, str]] = set()
    for step in steps:
        for thing in step["inputs"]:
            if (thing["name"], thing["digest"]) not in made:
                yield f"step {_named(step)} read {thing['name']}, which no earlier step made"
        made |= {(thing["name"], thing["digest"]) for thing in step["outputs"]}
    if (_SNAPSHOT, commitment) not in made:
        yield "input.commitment is not that of the snapshot that was taken"


def _faults_of_public_things(record: Mapping[str, Any], subjects: Mapping[str, str]) -> Iterator[str]:
    """Faults where a public product is not in the folder."""
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
                    yield f"step {_named(step)} left {artifact['name']} in MLflow, which differs from the folder's"


def _named(step: Step) -> str:
    return f"{step['step']}, {step['part']}," if step["part"] is not None else str(step["step"])
