"""The summary of a finished release: lines that are public, and lines for cleared staff."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from deniable.command_names import command_line
from deniable.evaluation.registry import figures_of
from deniable.privacy.loss import Guarantee
from deniable.privacy.rounding import rounded, rounded_down
from schemas.spec.flow_steps import flow_steps
from stores.ledger.charging import open_ledger
from stores.lineage.receiver import receiver
from stores.statement.statement import in_words
from stores.vault.step_log import noted_steps
from tasks.data.validate import left_out_in_words

if TYPE_CHECKING:
    from flows.released import Released
    from stores.vault.workspace import Workspace


def public_lines(released: "Released") -> Iterator[tuple[str, str]]:
    """Yield lines on the number of records and their cost: a name and a text for each.

    Args:
        released: what the release made.
    """
    workspace, accounts = released.workspace, released.accounts
    yield "released", _records(released.published.rows or 0, workspace.spec.synthesis.records)
    if accounts.model_stated is not None:
        yield "model", _words(accounts.model_stated)
    if accounts.tested:
        yield "one attempt", _words(accounts.record)
        yield "all candidates", _words(accounts.candidates)
    if accounts.histogram is not None:
        yield "histogram", _words(accounts.histogram)
    if accounts.attempts is not None:
        yield "all attempts", _words(accounts.attempts)
    yield "whole release", _words(accounts.total)
    for balance in open_ledger(workspace).balances(workspace.spec.dataset_name):
        yield (
            "budget left",
            f"epsilon {rounded_down(balance.left.epsilon)} of {rounded(balance.limit.epsilon)}, {balance.cap}",
        )


def unsent_events(released: "Released") -> Iterator[tuple[str, str]]:
    """Yield a line if the lineage server that is configured did not take all events: a name and a text.

    Args:
        released: what the release made.
    """
    server = receiver(released.workspace.release_id)
    if server is not None and server.fault:
        later = command_line(f"audit events {released.workspace.release_id} --send")
        yield "events", f"{server.fault}; {later} sends them all"


def internal_lines(released: "Released") -> Iterator[str]:
    """Yield lines on what was measured on real records; they must not go into Prefect's database.

    Args:
        released: what the release made.
    """
    synthesis = released.workspace.spec.synthesis
    if released.accounts.tested:
        yield f"{released.passed / synthesis.attempts:.1%} of {synthesis.attempts:,} candidates passed the test"
    yield from _left_out(released.workspace)
    figures = {**released.utility.figures, **released.risk.figures}
    public = released.workspace.spec.evaluation.public
    if public is not None:
        yield f"utility was measured on the public table {public.file} alone; risk was not measured"
    elif not released.workspace.spec.is_evaluated:
        yield "utility was not measured on held-out records: none was held out"
    for figure in figures_of(released.workspace.spec.evaluation.scope).values():
        if figure.summary and figure.name in figures:
            value = figures[figure.name]
            yield f"{value:,.0f} {figure.summary}" if figure.is_count else f"{value:z.4f} {figure.summary}"
    missed = [verdict for verdict in released.verdicts if not verdict.met]
    yield f"{len(released.verdicts) - len(missed)} of {len(released.verdicts)} thresholds met"
    for verdict in missed:
        yield f"missed: {verdict.threshold} {verdict.bound:g}, got {verdict.value:.4g}"


def _left_out(workspace: "Workspace") -> Iterator[str]:
    """Yield how many rows in scope were left out, and why."""
    steps = noted_steps(workspace, tuple(flow_steps(workspace.spec)))
    figures = {step.step: step.figures or {} for step in steps if step.step in {"validate", "clean"}}
    counted = figures.get("validate", {})
    names = ("valid", "missing", "invalid", "malformed")
    if all(f"internal/rows_{name}" in counted for name in names):
        valid, missing, invalid, malformed = (int(counted[f"internal/rows_{name}"]) for name in names)
        in_scope = valid + missing + invalid + malformed
        yield left_out_in_words(in_scope, missing=missing, invalid=invalid, malformed=malformed)
    of_people = figures.get("clean", {}).get("internal/rows_of_the_same_person")
    if of_people is not None:
        yield f"{int(of_people):,} rows belong to a person of whom another row is used"


def _records(released: int, wanted: int) -> str:
    """Return the number of records, and the number requested if fewer passed."""
    return f"{released:,} records" if released >= wanted else f"{released:,} of {wanted:,} records requested"


def _words(guarantee: Guarantee | None) -> str:
    if guarantee is None:
        return "no differential privacy"
    return in_words(guarantee)
