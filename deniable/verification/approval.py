"""Verification of who approved a release, held against the policy of its spec, as its record has both.

Whether the figures are within that policy is internal, and nothing here can tell.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from deniable.foundation.checks import Check, found

_APPROVED = "approved"


def check_approval(record: Mapping[str, Any]) -> Check:
    """Whether a person approved the release where its spec always asks one, and one who might.

    Args:
        record: the record's predicate.
    """
    return Check("whoever approved the release is one whom its spec asks", found(lambda: _faults(record)))


def asks_somebody(record: Mapping[str, Any]) -> bool:
    """Whether a person was asked, or the spec says when one is."""
    return bool(record["people"]["approval"] or record["spec"]["document"].get("decision"))


def _faults(record: Mapping[str, Any]) -> Iterator[str]:
    """Where the approval is none, or not that of somebody who may approve."""
    policy = record["spec"]["document"].get("decision") or {}
    approval, started_by = record["people"]["approval"], record["people"]["started_by"]
    if approval is None:
        # Older records do not say whether exact figures decide: there they do wherever there are bounds.
        by_itself = policy.get("publish_within") and policy.get("exact_figures_decide", True)
        if policy.get("always_ask") or not by_itself:
            yield "nobody approved it, and its spec lets no release be published without asking"
        return
    if approval["decision"] != _APPROVED:
        yield f"{approval['by']} did not approve it, and it is published"
    if approval["by"].casefold() == started_by.casefold():
        yield f"{approval['by']} approved it, who also started it"
    approvers = policy.get("approvers")
    if approvers is not None and approval["by"] not in approvers:
        yield f"{approval['by']} approved it, who is none of its approvers ({', '.join(approvers)})"
