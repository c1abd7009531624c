"""The replay: reruns a published release from its record alone, and compares the results bit for bit.

It runs in a scratch folder, with a ledger that has room only for the charges in the record, so a different draw is
refused before it is made. Nothing is charged, recorded in MLflow or published.
"""

import json
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from prefect import flow

from deniable.foundation.errors import DeniableError, InvalidInput, Refused
from deniable.foundation.keys import ReleaseKey
from deniable.ledger.budget import BudgetExceeded
from deniable.verification.release import ReleaseReport
from flows.prefect_runs.run_page import completed, on_its_page
from flows.release import draw, judge
from flows.release_session import read_key
from infra.environment import state_folder
from reports.pages.explorer import EXPLORER
from schemas.catalog import schema_code
from schemas.provenance import RECORD, Provenance, Step
from schemas.references import Audience, Reference
from schemas.regular_files import read_regular, require_regular
from schemas.spec.accounts import Accounts
from schemas.spec.flow_steps import flow_steps
from schemas.spec.release_spec import ReleaseSpec
from stores.keys.signed_record import SignedRecord
from stores.ledger.ledger import OtherOutput, ledger_place
from stores.ledger.settled_ledger import write_settled_ledger
from stores.record.folder_verification import verified_release
from stores.record.provenance import cost_of
from stores.record.record_reader import (
    find_release_folder,
    internal_record_of,
    keys_to_trust,
    recorded_spec,
    trusted_record,
    trusted_where,
)
from stores.record.replay_comparison import Finding, Reason, Replayed, compared, differing, names_in_order
from stores.statement.statement import spent_so_far_in
from stores.tracking.release_run import recorded_release
from stores.vault.custody import fetch_key
from stores.vault.exact_counts import RefusedByCounts
from stores.vault.private_files import make_private_folder
from stores.vault.runtime_environment import code_that_runs, environment_here
from stores.vault.scratch import scratch_folder
from stores.vault.step_log import noted_steps
from stores.vault.workspace import Workspace
from tasks.audit.restage import restage_task
from tasks.data.account import account_task
from tasks.data.ingest import ingest_task
from tasks.running.cancellation import allow_steps, stop_steps
from tasks.running.step import StepFailed

_PATIENCE_S = 30.0
_LARGEST_STATEMENT = 1 << 26

# Steps that measure on real records; their figures are only in the internal record.
_JUDGING = ("evaluate_utility", "evaluate_risk", "decide")
# Files for human readers, which do not depend on the draws alone.
_NOT_COMPARED = {"index.html", RECORD}


class ReplayDiffers(DeniableError):
    """A replayed release did not give the results that its record states.

    Attributes:
        replayed: the findings.
    """

    def __init__(self, replayed: Replayed) -> None:
        super().__init__(replayed)
        self.replayed = replayed

    def __str__(self) -> str:
        """The verdict, and the reasons."""
        return " ".join([self.replayed.verdict, *(f"Why: {reason}." for reason in self.replayed.reasons)])


@dataclass(frozen=True)
class _Told:
    """What the records state about the release.

    Attributes:
        folder: the release's folder.
        public: its public record.
        internal: its internal record, if available.
    """

    folder: Path
    public: SignedRecord
    internal: SignedRecord | None

    @property
    def record(self) -> Provenance:
        return self.public.record

    @property
    def steps(self) -> list[Step]:
        """The steps, with their figures if the internal record is available."""
        known = self.internal.record.steps if self.internal is not None else ()
        figures = {(step.step, step.part): step.figures for step in known}
        return [
            step.model_copy(update={"figures": figures.get((step.step, step.part))})
            for step in self.public.record.steps
        ]


@dataclass(frozen=True)
class _Brought:
    """Inputs of a replay that only cleared staff have.

    Attributes:
        state: the state folder.
        key_file: the release key; by default it is requested from its custodian.
        snapshot: the rows as read; by default those in the vault.
        source: the source from which they were read, to read it again.
    """

    state: Path
    key_file: Path | None
    snapshot: Path | None
    source: Path | str | None


@dataclass(frozen=True)
class _Again:
    """The outcome of running the steps again.

    Attributes:
        accounts: the accounts; None if the accounting step was not reached.
        files: digests of the public files, by name.
        failure: what ended the steps early, if anything did.
        reread: whether the source was read again.
    """

    accounts: Accounts | None
    files: Mapping[str, str]
    failure: DeniableError | None
    reread: bool


@flow(name="replay", persist_result=False)
def replay(
    release: str | Path,
    state: Path | None = None,
    key_file: Path | None = None,
    snapshot: Path | None = None,
    keys: Path | None = None,
    *,
    source: Path | str | None = None,
    keep: bool = False,
) -> Replayed:
    """Run a published release again from its record, and check that every step gives the same bytes.

    Args:
        release: the release's name in the state folder, or the path of its folder, wherever that is.
        state: the state folder; by default DENIABLE_STATE or `var`.
        key_file: the release key; by default it is requested from its custodian.
        snapshot: the rows as they were read; by default those in the release's vault.
        keys: the trust file; by default the one that DENIABLE_TRUSTED_KEYS names, else that of the state folder.
        source: the file from which the rows were read, to read it again instead of using the snapshot.
        keep: whether to keep the scratch folder, which holds the key and confidential records.

    Returns:
        The findings for each step; all steps gave the same.

    Raises:
        ReplayDiffers: a step gave a different result; the message names the step and the reason.
        InvalidInput: the release, key or snapshot is missing.
        DeniableError: the release does not match its own record, the record cannot be trusted, or the machine cannot
            run the release.
    """
    replayed = replay_release(release, state, key_file, snapshot, keys, source=source, keep=keep)
    return completed(replayed.verdict, replayed)


def replay_release(
    release: str | Path,
    state: Path | None = None,
    key_file: Path | None = None,
    snapshot: Path | None = None,
    keys: Path | None = None,
    *,
    source: Path | str | None = None,
    keep: bool = False,
) -> Replayed:
    """Replay a release, as `replay` does and with its arguments, within the current run."""
    with on_its_page(f"replay of {Path(release).name}") as page, page.telling_steps({}):
        replayed = _compared(release, state or state_folder(), key_file, snapshot, keys, source=source, keep=keep)
        page.say(*replayed.lines())
        if not replayed.same:
            page.ended("NOT the same")
            raise ReplayDiffers(replayed)
        page.ended("the same")
        return replayed


def _compared(
    release: str | Path,
    state: Path,
    key_file: Path | None,
    snapshot: Path | None,
    keys: Path | None,
    *,
    source: Path | str | None,
    keep: bool,
) -> Replayed:
    """Rerun a release whose record can be trusted, and return the findings."""
    folder = find_release_folder(release, state)
    trusted, where = keys_to_trust(state, keys), trusted_where(state, keys)
    public = trusted_record(folder / RECORD, trusted, where)
    _require_holds(verified_release(folder, trusted, where))
    told = _Told(folder, public, internal_record_of(public, state, trusted))
    with scratch_folder(state, told.record.release.id, keep=keep) as scratch:
        return _replayed(told, _Brought(state, key_file, snapshot, source), scratch, kept=scratch if keep else None)


def _require_holds(report: ReleaseReport) -> None:
    """Refuse a release that does not match its signed record: a replay of it would prove nothing."""
    wrong = next((check for check in report.checks if not check.holds), None)
    if wrong is not None:
        raise Refused(f"a release must match its own record to be run again, and does not: {wrong.line}.")


def _replayed(told: _Told, brought: _Brought, scratch: Path, *, kept: Path | None) -> Replayed:
    """Rerun the release in a scratch folder."""
    record = told.record
    release_id = record.release.id
    spec = recorded_spec(record, make_private_folder(scratch / "spec"), brought.source)
    differences = differing(record, code_that_runs(), environment_here(), schema_code(spec.dataset, spec.folder))
    key = _key(record, spec, brought)
    if key.commitment() != record.input.key:
        reason = Reason("key", f"the given key has the commitment {key.commitment()}, the record {record.input.key}")
        return _not_begun(told, "its snapshot cannot be compared under another key", reason, kept)
    with recorded_release(scratch, release_id, spec) as run_id:
        workspace = Workspace(state=scratch, release_id=release_id, spec=spec, mlflow_run_id=run_id)
        with workspace.writing("key", Audience.RESTRICTED) as path:
            path.write_bytes(key.secret)
        began = "" if record.cost.steps else f"{record.release.begun}T00:00:00.000000Z"
        write_settled_ledger(Path(ledger_place(scratch)), record.release.dataset, record.ledger.entries, began)
        rows = None if brought.source else _snapshot(workspace, brought)
        if rows is not None and rows.digest != record.input.commitment:
            reason = Reason("input", f"{rows.path} is not the snapshot that the record commits to")
            return _not_begun(told, "the given snapshot is another", reason, kept)
        again = _take_steps(told, workspace, rows)
    findings = _findings(told, workspace, again)
    first = next((finding for finding in findings if finding.contradicts), None)
    reasons = differences if first is None else _reasons(first, differences, record)
    return Replayed(release_id, findings, reasons, kept)


def _key(record: Provenance, spec: ReleaseSpec, brought: _Brought) -> ReleaseKey:
    """Return the given key, or the custodian's."""
    if brought.key_file is not None:
        return read_key(brought.key_file)
    release_id = record.release.id
    kept = Workspace(state=brought.state, release_id=release_id, spec=spec, mlflow_run_id=record.runs.mlflow_run)
    if spec.key.custodian == "destroyed" and not (kept.vault / "key").exists():
        raise InvalidInput(
            f"the key of {release_id} was destroyed on publication, as its spec requires, so that no one can replay it."
        )
    try:
        return fetch_key(kept)
    except InvalidInput as error:
        raise InvalidInput(f"{error} If the key is kept elsewhere, give it with --key FILE.") from None


def _snapshot(workspace: Workspace, brought: _Brought) -> Reference:
    """Return the rows as read, from the given file or the vault; they are not copied."""
    kept = brought.state / "vault" / workspace.release_id / "snapshot.parquet"
    place = brought.snapshot or kept
    require_regular(place, "the snapshot")
    try:
        return workspace.describe("snapshot", place, Audience.RESTRICTED)
    except OSError:
        raise InvalidInput(
            f"the snapshot of {workspace.release_id} must be readable, and {place} is not; give it with --snapshot "
            "FILE."
        ) from None


def _take_steps(told: _Told, workspace: Workspace, rows: Reference | None) -> _Again:
    """Run the steps of the release up to its publication.

    Args:
        told: what the records state about the release.
        workspace: the release, in a scratch folder.
        rows: the rows as they were read; None if they are to be read again.
    """
    said = json.loads(read_regular(told.folder / "privacy.json", "the privacy statement", _LARGEST_STATEMENT))
    accounts, files, failure = None, {}, None
    allow_steps(workspace.release_id)
    try:
        accounts = account_task(workspace)
        drawn = draw(workspace, rows or ingest_task(workspace))
        if told.internal is not None and _can_judge(workspace):
            judge(workspace, drawn)
        day = told.record.release.published
        so_far, approved = spent_so_far_in(said), told.record.people.approval is not None
        files = restage_task(
            workspace, drawn.released, drawn.learnt, accounts, so_far=so_far, approved=approved, day=day
        )
    except BaseException as error:
        # Steps in other threads must have ended before the scratch folder is removed.
        stop_steps(workspace.release_id, _PATIENCE_S)
        if not isinstance(error, Refused | InvalidInput | StepFailed):
            raise
        failure = error
    return _Again(accounts, files, failure, reread=rows is None)


def _can_judge(workspace: Workspace) -> bool:
    """Whether the tables for measuring figures are available; a spec's public table is not part of a record."""
    public = workspace.spec.evaluation.public
    return public is None or (workspace.spec.folder / public.file).is_file()


def _findings(told: _Told, workspace: Workspace, again: _Again) -> tuple[Finding, ...]:
    """Return the finding for each step, in the order of the flow; the first missing step is the one that failed."""
    notes = noted_steps(workspace, tuple(flow_steps(workspace.spec)))
    findings, ended = [], False
    for name in names_in_order(told.steps):
        recorded = [step for step in told.steps if step.step == name]
        done = [step for step in notes if step.step == name]
        if name == "ingest" and not again.reread:
            finding = Finding(name, "not replayed", "the snapshot is the one that the record commits to")
        elif name == "account" and again.accounts and cost_of(workspace.spec, again.accounts) != told.record.cost:
            finding = Finding(name, "differs", "it computed a different cost")
        elif name in _JUDGING and told.internal is None:
            finding = Finding(name, "not replayed", "its figures are in the internal record, which is not available")
        elif name in _JUDGING and not _can_judge(workspace):
            finding = Finding(name, "not replayed", "the public table that it measured on is not available")
        elif name == "publish" and again.failure is None:
            finding = _publication(told, again.files)
        elif again.failure is None or len(done) == len(recorded):
            finding = compared(name, recorded, done)
        elif not ended:
            finding, ended = _failing(name, again.failure, workspace), True
        else:
            finding = Finding(name, "not reached")
        findings.append(finding)
    return tuple(findings)


def _failing(name: str, failure: DeniableError, workspace: Workspace) -> Finding:
    """Return the step that failed, and why."""
    if isinstance(failure, OtherOutput):
        return Finding(name, "differs", "it drew something other than was charged")
    if isinstance(failure, BudgetExceeded):
        return Finding(name, "failed", "what it would draw is not what was charged, so nothing was drawn")
    if isinstance(failure, RefusedByCounts):
        return Finding(name, "failed", failure.sentence)
    if (workspace.vault / "errors").is_dir():
        return Finding(name, "failed", "it ended with an error; --keep keeps its details")
    return Finding(name, "failed", str(failure).rstrip("."))


def _publication(told: _Told, files: Mapping[str, str]) -> Finding:
    """Compare the public files with those of the record, except for files written for human readers."""
    recorded = {name: digest for name, digest in told.public.subjects.items() if name not in _NOT_COMPARED}
    written = {name: digest for name, digest in files.items() if name not in _NOT_COMPARED | _later_pages(recorded)}
    others = sorted(name for name in {*recorded, *written} if recorded.get(name) != written.get(name))
    if others:
        return Finding("publish", "differs", f"its outputs differ: {' and '.join(others)}")
    left = " and ".join(sorted(_NOT_COMPARED & {*told.public.subjects, RECORD}))
    return Finding("publish", "same", f"all {len(recorded)} files; {left} not compared")


def _later_pages(recorded: Container[str]) -> set[str]:
    """Return pages that releases of earlier versions lack; they derive from other files, which are compared."""
    return set() if EXPLORER in recorded else {EXPLORER}


def _not_begun(told: _Told, said: str, reason: Reason, kept: Path | None) -> Replayed:
    """Return the findings of a replay that cannot begin."""
    findings = tuple(
        Finding(name, "differs", said) if name == "ingest" else Finding(name, "not reached")
        for name in names_in_order(told.steps)
    )
    return Replayed(told.record.release.id, findings, (reason,), kept)


def _reasons(first: Finding, differences: Sequence[Reason], record: Provenance) -> tuple[Reason, ...]:
    """Return possible reasons for a step's different result."""
    reasons = list(differences)
    if first.step == "ingest":
        reasons.insert(0, Reason("input", "the source gave other rows than the snapshot that the record commits to"))
    elif first.inputs:
        reasons.insert(0, Reason("input", f"it read another {' and '.join(first.inputs)}"))
    if reasons:
        return tuple(reasons)
    here, there = code_that_runs().commit, record.code.commit
    elsewhere = here and there and here != there
    checkouts = f", although the checkout is at commit {here} and was at {there}" if elsewhere else ""
    return (Reason("unexplained", f"input, key, code and environment are those of the record{checkouts}"),)
