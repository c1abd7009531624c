"""Compute the cost of the release before it reads a record."""

from schemas.spec.accounts import Accounts
from stores.ledger.charging import require_room
from stores.tracking.step_run import recorded_step
from stores.vault.workspace import Workspace
from tasks.running.step import as_task


def account(workspace: Workspace) -> Accounts:
    """Compute the cost of the model, of one attempt at a record, and of the whole release, and check the budget.

    Args:
        workspace: the release.

    Returns:
        The accounts, public.

    Raises:
        Refused: the release cannot give the guarantee that its spec requires.
        BudgetExceeded: the dataset's budget has no room for it.
    """
    with recorded_step(workspace, "account") as step:
        accounts = workspace.plan.accounts
        require_room(workspace, accounts)
        step.planned(accounts.total, accounts.events)
        spent = accounts.total or accounts.model_stated
        step.parameters(accountant="none" if spent is None else spent.accountant)
    return accounts


account_task = as_task(account, kept=False)
