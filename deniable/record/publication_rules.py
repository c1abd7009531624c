"""What the publication of a release itself discloses, and which rows its spec excludes.

Unless stated, no epsilon covers it. Everything follows from the spec: no number of rows is stated or needed. The
decisions and the reasons themselves are in `exact_stops`.
"""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from deniable.record.exact_stops import LEFT_OUT, STOPS, of_a_person

NOBODY = "nobody: it publishes by itself, whatever was measured of utility and risk"
APPROVED = "the person who approved it, as the record says, and who may have seen figures of the real records"
PERSON = "a person, who is asked whatever was measured, and may see figures of the real records"
EXACT = "exact figures of the real records, and a person where they leave it open"

_LIMITS = {
    "largest_share_of_invalid_rows": "max_invalid_share",
    "largest_share_of_rows_left_out": "max_dropped_share",
}


def rows_left_out(spec: Mapping[str, Any], person: Mapping[str, Any] | None, version: int) -> dict[str, Any]:
    """The rules by which rows are excluded from a release.

    Args:
        spec: the spec, as the record has it.
        person: the people, as in the record, if the table may have several records of each; otherwise None.
        version: the version of the statement.
    """
    of_people = [] if person is None else [of_a_person(person)]
    limits = {name: spec.get(entry) for name, entry in _LIMITS.items()}
    return {
        "rules": [*(reason.rule for reason in LEFT_OUT if reason.since <= version), *of_people],
        **{name: float(Fraction(share)) for name, share in limits.items() if share is not None},
        "number": "not stated: it is measured without noise",
    }


def publication(spec: Mapping[str, Any], *, approved: bool = False, version: int) -> dict[str, Any]:
    """What the fact of publication discloses about the real records, outside any epsilon.

    Args:
        spec: the spec, as the record has it.
        approved: whether a person approved the release; without a policy, this happens if noise leaves few uses.
        version: the version of the statement.
    """
    policy = spec.get("decision")
    by_itself = policy is not None and bool(policy["publish_within"]) and not policy["always_ask"]
    exact = policy is not None and (by_itself or bool(policy["refuse_beyond"]))
    alone = APPROVED if approved else NOBODY
    return {
        "decided_by": alone if policy is None else EXACT if exact else PERSON,
        "tells": [sentence for stop in STOPS if stop.since <= version for sentence in stop.reveals(spec)],
    }
