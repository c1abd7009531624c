"""Verification of who approved a release against the policy of its spec, both as in its record.

The figures that the policy bounds are internal, so whether they were within the bounds cannot be verified here.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from deniable.foundation.checks import Check, found

_APPROVED = "approved"


def check_approval(record: Mapping[str, Any]) -> Check:
    """Check that an entitled person approved the release, if its spec always requires approval.

    Args:
        record: the record's predicate.
    """
    return Check("the release was approved as its spec requires", found(lambda: _faults(record)))


def asks_somebody(record: Mapping[str, Any]) -> bool:
    """Whether approval was required, or the spec states when it is."""
    return bool(record["people"]["approval"] or record["spec"]["document"].get("decision"))


def _faults(record: Mapping[str, Any]) -> Iterator[str]:
    """Faults where an approval is missing, or was given by a person who may not approve."""
    policy = record["spec"]["document"].get("decision") or {}
    approval, started_by = record["people"]["approval"], record["people"]["started_by"]
    if approval is None:
        # Older records do not state whether exact figures decide; in those they do if there are bounds.
        by_itself = policy.get("publish_within") and policy.get("exact_figures_decide", True)
        if policy.get("always_ask") or not by_itself:
            yield "no one approved it, but its spec requires approval of every release"
        return
    if approval["decision"] != _APPROVED:
        yield f"{approval['by']} did not approve it, but it is published"
    if approval["by"].casefold() == started_by.casefold():
        yield f"{approval['by']} approved it, but also started it"
    approvers = policy.get("approvers")
    if approvers is not None and approval["by"] not in approvers:
        yield f"{approval['by']} approved it, but is not one of its approvers ({', '.join(approvers)})"
