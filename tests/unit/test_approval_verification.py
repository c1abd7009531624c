"""A record without the required approval, or with that of a person who may not approve, does not verify."""

from typing import Any

import pytest

from deniable.verification.approval import asks_somebody, check_approval

POLICY: dict[str, Any] = {"publish_within": {"tvd_2way_max": 0.1}, "refuse_beyond": {}, "always_ask": False}
APPROVAL: dict[str, Any] = {"decision": "approved", "by": "ines", "identity": "account", "reason": "as agreed"}


def record(policy: object, approval: object, started_by: str = "ada") -> dict[str, Any]:
    document: dict[str, Any] = {"name": "people"}
    if policy is not None:
        document["decision"] = policy
    return {"spec": {"document": document}, "people": {"started_by": started_by, "approval": approval}}


@pytest.mark.parametrize(
    ("policy", "approval"),
    [
        (POLICY, None),
        (POLICY, APPROVAL),
        (None, APPROVAL),
        ({**POLICY, "approvers": ["ines", "bob"]}, APPROVAL),
        ({**POLICY, "always_ask": True}, APPROVAL),
        ({"publish_within": {}}, APPROVAL),
    ],
)
def test_an_approval_by_one_who_may_holds(policy: object, approval: object) -> None:
    made = record(policy, approval)
    assert asks_somebody(made)
    assert check_approval(made).faults == ()


@pytest.mark.parametrize(
    ("policy", "approval", "started_by", "said"),
    [
        ({**POLICY, "always_ask": True}, None, "ada", "no one approved it"),
        ({"publish_within": {}}, None, "ada", "no one approved it"),
        ({**POLICY, "exact_figures_decide": False}, None, "ada", "no one approved it"),
        (POLICY, {**APPROVAL, "decision": "refused"}, "ada", "ines did not approve it"),
        (POLICY, APPROVAL, "Ines", "but also started it"),
        ({**POLICY, "approvers": ["bob"]}, APPROVAL, "ada", "not one of its approvers (bob)"),
        ("yes", APPROVAL, "ada", "it cannot be evaluated"),
    ],
)
def test_an_approval_that_is_missing_or_by_one_who_may_not_is_found(
    policy: object, approval: object, started_by: str, said: str
) -> None:
    (fault,) = check_approval(record(policy, approval, started_by)).faults
    assert said in fault


def test_a_release_that_nobody_was_to_be_asked_about_is_not_looked_at() -> None:
    assert not asks_somebody(record(None, None))
