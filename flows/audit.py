"""The audit: whether MLflow, the shelf, the folder and the ledger still agree with the record of a release.

It changes none of them. Its findings are shown to the user who started it, and in Prefect.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from prefect import Task, flow
from prefect.artifacts import create_markdown_artifact

from deniable.foundation.checks import Check, printable
from deniable.foundation.errors import DeniableError
from flows.prefect_runs.run_page import completed, on_its_page
from infra.environment import state_folder
from stores.record.audit_target import AuditTarget, find_sealed
from stores.servers.patience import ServerDown
from stores.servers.ui_links import artifact_name
from tasks.audit.compare_discovery_run import compare_discovery_run_task
from tasks.audit.compare_ledger import compare_ledger_task
from tasks.audit.compare_records import compare_records_task
from tasks.audit.compare_runs import compare_runs_task
from tasks.audit.verify_discovery import verify_discovery_task
from tasks.audit.verify_folder import verify_folder_task
from tasks.running.check import Checks

_COMPARISONS = (verify_folder_task, compare_records_task, compare_runs_task, compare_ledger_task)
_OF_DISCOVERIES = (verify_discovery_task, compare_discovery_run_task)


@dataclass(frozen=True)
class Audited:
    """What an audit found.

    Attributes:
        release: the release's name.
        checks: the checks, in order.
    """

    release: str
    checks: tuple[Check, ...]

    @property
    def holds(self) -> bool:
        """Whether no check failed."""
        return all(check.holds for check in self.checks)

    @property
    def is_unsure(self) -> bool:
        """Whether no check failed, but some could not be made."""
        return not self.holds and not any(check.made for check in self.checks if not check.holds)

    @property
    def verdict(self) -> str:
        """The outcome in one sentence."""
        failed = [check for check in self.checks if not check.holds]
        unmade = sum(check.holds and not check.made for check in self.checks)
        if not failed and unmade:
            return (
                f"{self.release} is as it was when its record was signed, as far as can be seen from here: "
                f"{len(self.checks) - unmade} checks hold, and {unmade} could not be made with what was given."
            )
        if not failed:
            return f"{self.release} is as it was when its record was signed: all {len(self.checks)} checks hold."
        if self.is_unsure:
            return (
                f"{self.release} COULD NOT BE AUDITED AS A WHOLE: {len(failed)} of {len(self.checks)} checks could not "
                "be made, the others hold; follow their messages, and audit it again."
            )
        made = sum(check.made for check in failed)
        others = f", and {len(failed) - made} could not be made" if made < len(failed) else ""
        return (
            f"{self.release} IS NOT AS IT WAS WHEN ITS RECORD WAS SIGNED: {made} of {len(self.checks)} checks "
            f"failed{others}."
        )

    @property
    def lines(self) -> tuple[str, ...]:
        """One line for each check, followed by its findings, and the verdict."""
        return (*(line for check in self.checks for line in _lines(check)), self.verdict)


class AuditFailed(DeniableError):
    """A release is not as it was when its record was signed.

    Attributes:
        audited: what was found.
    """

    def __init__(self, audited: Audited) -> None:
        """Take the verdict as the message."""
        super().__init__(audited.verdict)
        self.audited = audited


class AuditHindered(AuditFailed, ServerDown):
    """A server that a release is compared with does not answer, which is no evidence of a change."""


@flow(name="audit", flow_run_name="audit {release}", persist_result=False)
def audit(release: str, state: Path | None = None, keys: Path | None = None) -> Audited:
    """Compare everything that is kept of a release with its record, and attach the findings to the run.

    Args:
        release: its name, or the path of its public folder.
        state: the state folder that it was made in; by default DENIABLE_STATE or `var`.
        keys: the trust file; by default the file named by DENIABLE_TRUSTED_KEYS, otherwise that of the state folder.

    Returns:
        What was found: nothing that is wrong.

    Raises:
        AuditFailed: something was changed.
        InvalidInput: there is no such release.
    """
    audited = audit_release(release, state or state_folder(), keys)
    return completed(audited.verdict, audited)


def audit_release(release: str, state: Path, keys: Path | None = None) -> Audited:
    """Audit a release, as `audit` does, within the current run.

    Args:
        release: its name, or the path of its public folder.
        state: the state folder that it was made in.
        keys: the trust file.

    Returns:
        What was found: nothing that is wrong.

    Raises:
        AuditFailed: something is not as it was.
        AuditHindered: no check failed, but some could not be made.
        InvalidInput: there is no such release.
    """
    with on_its_page(f"audit of {Path(release).name}") as page:
        sealed = find_sealed(release, state, keys)
        audited = _audited(sealed, _comparisons(sealed))
        key = artifact_name("audit", sealed.release_id)
        create_markdown_artifact(_page(audited), key=key, description=audited.verdict)
        page.say(*audited.lines[:-1])
        if not audited.holds:
            page.ended("could not be made as a whole" if audited.is_unsure else "NOT as it was")
            raise AuditHindered(audited) if audited.is_unsure else AuditFailed(audited)
        page.say(audited.verdict)
        page.ended("as it was")
        return audited


def audit_here(release: str, state: Path, keys: Path | None = None, ledger: Path | None = None) -> Audited:
    """Audit a release, as `audit` does, in this process and without Prefect.

    Args:
        release: its name, or the path of its public folder.
        state: the state folder that it was made in, or that of an auditor elsewhere.
        keys: the trust file.
        ledger: an export of the ledger, checked instead of the ledger itself.

    Returns:
        The findings, wrong or not.

    Raises:
        InvalidInput: there is no such release, or, for an auditor elsewhere, no trust file.
    """
    sealed = find_sealed(release, state, keys, ledger)
    return _audited(sealed, [comparison.fn for comparison in _comparisons(sealed)])


def _comparisons(sealed: AuditTarget) -> Sequence[Task[[AuditTarget], Checks]]:
    """Return the comparisons to make; a discovery has no internal record."""
    return _OF_DISCOVERIES if sealed.is_discovery else _COMPARISONS


def _audited(sealed: AuditTarget, comparisons: Iterable[Callable[[AuditTarget], Checks]]) -> Audited:
    if sealed.elsewhere:
        # Without a trust file nothing can be verified; that is not evidence against the release.
        sealed.trusted()
    return Audited(sealed.release_id, tuple(check for compare in comparisons for check in compare(sealed)))


def _lines(check: Check) -> list[str]:
    """Return the lines for a check and its findings; text from other sources cannot imitate such a line."""
    if check.holds:
        return [printable(check.line)]
    return [
        f"{'FAILED' if check.made else '--    '}  {check.name}:",
        *(f"        - {printable(fault)}" for fault in check.faults),
    ]


def _page(audited: Audited) -> str:
    """Return the findings in Markdown."""
    lines = "\n".join(audited.lines[:-1]).replace("```", "'''")
    return f"**{audited.verdict}**\n\n```text\n{lines}\n```\n"
