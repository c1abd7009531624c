"""Verification of a release whose model another one was charged for, against the record of that one.

What the release itself states about the model does not belong here (deniable.learners.released_model.verification).
"""

from collections.abc import Callable, Iterator, Mapping
from hashlib import sha256
from typing import Any, TypeAlias

from deniable.foundation.checks import Check, found
from deniable.learners.registry import READING, paid_elsewhere
from deniable.record.attestation import Envelope, SignatureBroken, Statement, verify
from deniable.record.trust import TrustedKeys

RecordOfOther: TypeAlias = Callable[[str], bytes | None]
"""Finds the file of the record of another release by its name; None if it is not there."""

_NAME = "the model and its cost are those of the release that paid for it"
_FILES = ("graph.json", "model.json")


def no_other_release(_: str) -> bytes | None:
    """Find no other release."""
    return None


def check_earlier(
    record: Mapping[str, Any], subjects: Mapping[str, str], keys: TrustedKeys | None, record_of_other: RecordOfOther
) -> tuple[Check, ...]:
    """Check a release against the record of the earlier one that it names; no check if it names none.

    Args:
        record: the predicate of its record.
        subjects: SHA-256 of each of its files, by name.
        keys: the trusted keys.
        record_of_other: finds the record of the earlier release.
    """
    learner = record["spec"]["document"].get("learner")
    if not isinstance(learner, dict) or learner.get("kind") not in READING:
        return ()
    content = record_of_other(learner["release"])
    if content is None:
        note = f"not checked: the folder of {learner['release']} is not beside this one"
        return (Check(_NAME, (), note, made=False),)
    return (Check(_NAME, found(lambda: _faults(record, subjects, content, keys)), learner["release"]),)


def _faults(
    record: Mapping[str, Any], subjects: Mapping[str, str], content: bytes, keys: TrustedKeys | None
) -> Iterator[str]:
    asked = record["spec"]["document"]["learner"]
    if (digest := sha256(content).hexdigest()) != asked["record"]:
        yield f"the record of {asked['release']} has the SHA-256 {digest}, but the spec names {asked['record']}"
        return
    envelope = Envelope.from_text(content)
    earlier = Statement.from_payload(envelope.payload)
    said: Any = earlier.predicate
    cost = paid_elsewhere(asked)
    if (fault := _fault_of_signature(envelope, said, keys)) is not None:
        yield f"the record of {asked['release']}: {fault}"
    facts = [
        ("release.id", said["release"]["id"], asked["release"]),
        ("release.dataset", said["release"]["dataset"], record["release"]["dataset"]),
        ("schema.domain", said["schema"]["domain"], record["schema"]["domain"]),
        ("schema.person", said["schema"].get("person"), record["schema"].get("person")),
        *((name, earlier.subjects.get(name), subjects.get(name)) for name in _FILES),
        ("cost.model.epsilon", said["cost"]["model"]["epsilon"], cost and cost.epsilon),
        ("cost.model.delta", said["cost"]["model"]["delta"], cost and cost.delta),
    ]
    for name, one, other in facts:
        if one != other:
            yield f"{name} of {asked['release']} is {one}, but this release has {other}"


def _fault_of_signature(envelope: Envelope, said: Any, keys: TrustedKeys | None) -> str | None:
    if keys is None:
        return "there are no trusted keys to check its signature by"
    fault = keys.judge(envelope.keyid, said["signed"]["time"])
    if fault is None:
        try:
            verify(envelope, keys.public_keys())
        except SignatureBroken as error:
            fault = str(error)
    return fault
