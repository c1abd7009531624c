"""The share of a refresh in its dataset's budget, by the policy of the spec, and whether its release exceeds it.

The dataset's caps belong to the ledger, which makes the final decision; nothing is charged here.
"""

from pathlib import Path

from deniable.foundation.errors import InvalidInput, Refused
from deniable.ledger.budget import LIFETIME, NOTHING, Balance, cost_of, counted
from deniable.ledger.entries import Cost
from deniable.ledger.state import NoPolicy
from deniable.privacy.rounding import rounded_down, rounded_up
from schemas.spec.plan import plan_release
from schemas.spec.refresh import RefreshBudget
from schemas.spec.release_spec import ReleaseSpec
from stores.ledger.charging import planned_charges, policy_of
from stores.ledger.state_ledger import state_ledger


class ShareExceeded(Refused):
    """A refresh requests more than its share of the dataset's budget; nothing was charged.

    Attributes:
        asked: the requested amount.
        share: its share.
    """

    def __init__(self, message: str, *, asked: Cost, share: Cost) -> None:
        super().__init__(message)
        self.asked, self.share = asked, share


def require_share(spec: ReleaseSpec, state: Path) -> None:
    """Refuse a refresh whose release costs more than its share.

    Args:
        spec: the release spec, with the policy for sharing the budget.
        state: the state folder, for its ledger.

    Raises:
        NoPolicy: neither the ledger nor the spec has a budget for the dataset.
        ShareExceeded: the release costs more.
    """
    if spec.refresh is None:
        raise InvalidInput(
            "a spec must have an entry refresh to be refreshed, got none; add one with the share of each refresh."
        )
    balance = _lifetime(spec, state)
    share = share_of(balance, spec.refresh.budget)
    asked = cost_of(planned_charges(spec, plan_release(spec).accounts), balance.seed_cost)
    if asked.epsilon > share.epsilon or asked.delta > share.delta:
        raise ShareExceeded(
            f"a refresh of dataset {balance.dataset} may spend epsilon {rounded_down(share.epsilon)} and delta "
            f"{rounded_down(share.delta)}, {_reckoned(spec.refresh.budget)}, and its release requests epsilon "
            f"{rounded_up(asked.epsilon)} and delta {rounded_up(asked.delta)}{counted(balance.seed_cost)}; nothing was "
            "charged: request less in the spec, or change its entry refresh.budget.",
            asked=asked,
            share=share,
        )


def share_of(balance: Balance, policy: RefreshBudget) -> Cost:
    """The share of one refresh.

    Args:
        balance: the dataset's lifetime cap, and the amount spent.
        policy: the policy for sharing it.
    """
    whole = balance.limit if policy.kind == "equal_share" else balance.left
    return Cost(epsilon=whole.epsilon / policy.parts, delta=whole.delta / policy.parts)


def _reckoned(policy: RefreshBudget) -> str:
    return (
        f"one of {policy.parts} equal shares of its lifetime cap"
        if policy.kind == "equal_share"
        else f"what is left of its lifetime cap over {policy.parts}"
    )


def _lifetime(spec: ReleaseSpec, state: Path) -> Balance:
    """The dataset's lifetime cap; the spec's budget if the dataset is not in the ledger."""
    try:
        balances = state_ledger(state).balances(spec.dataset_name)
    except NoPolicy:
        if spec.budget is None:
            raise
        policy = policy_of(spec, spec.budget)
        return Balance(
            dataset=spec.dataset_name, cap=LIFETIME, limit=policy.limit, spent=NOTHING, seed_cost=policy.seed_cost
        )
    return next(balance for balance in balances if balance.cap == LIFETIME)
