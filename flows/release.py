"""The release: from a confidential table to a published synthetic one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prefect import Flow, flow, unmapped
from prefect.client.schemas.objects import FlowRun, State

from deniable.mechanisms import PlannedStep, drawn_from
from flows.prefect_runs.held_runs import end_as_held
from flows.prefect_runs.run_page import completed, on_its_page
from flows.release_session import opened_release
from flows.released import Released
from flows.summary import public_lines, unsent_events
from infra.environment import state_folder
from schemas.references import Audience, Reference
from schemas.spec.accounts import Accounts
from schemas.spec.decision import Outcome
from schemas.spec.evaluation import EvaluationFigures
from schemas.spec.plan import plan_release
from schemas.spec.release_spec import load_spec
from stores.keys.signing_keys import signing_key
from stores.ledger.charging import note_publication
from stores.ledger.remembered_costs import remember_costs
from stores.lineage.receiver import receiver
from stores.releases.approval import candidate_digest, require_decision
from stores.releases.resumable_releases import ended_with, note_end, note_reported, what_comes_next
from stores.releases.status_file import renew_status_file
from stores.vault.pending_approval import held_note
from stores.vault.workspace import Workspace
from tasks.data.account import account_task
from tasks.data.clean import clean_task
from tasks.data.ingest import ingest_task
from tasks.data.public_rows import require_public_table
from tasks.data.split import part, split_task
from tasks.data.validate import validate_task
from tasks.evaluation.decide import Decided, decide_task
from tasks.evaluation.evaluate_risk import evaluate_risk_task
from tasks.evaluation.evaluate_utility import evaluate_utility_task
from tasks.learning.planned_step import planned_step_task
from tasks.publication.publish import publish_task
from tasks.publication.report import report_task
from tasks.publication.seal import seal_task
from tasks.publication.verify_published import verify_published_task
from tasks.running.workers import require_workers, workers
from tasks.synthesis.draw_baseline import draw_baseline_task
from tasks.synthesis.gather import gather_task
from tasks.synthesis.synthesize import blocks, synthesize_task


def note_told(flow: Flow[..., Any], flow_run: FlowRun, state: State[Any]) -> None:  # noqa: ARG001 - as hooks are called
    """Note that the end of a release was reported to the user who started it; a flow hook."""
    released = state.result(raise_on_failure=False)
    if isinstance(released, Released):
        note_reported(released.workspace.state, released.workspace.release_id)


def told_later(flow: Flow[..., Any], flow_run: FlowRun, state: State[Any]) -> None:
    """Leave it to the caller of a flow to note that its end was reported; this hook replaces the flow's own."""


@dataclass(frozen=True)
class Drawn:
    """What was learnt and drawn, before evaluation.

    Attributes:
        source: the rows as they were read.
        codes: the valid ones.
        parts: the parts they were split into.
        made: the learner's products by name: the graph, the model and possibly what it was made from, or the urns.
        seeds: what records are drawn from in addition to the model, if anything.
        passed: number of candidates that may be released, whether or not they are.
        released: the records.
        baseline: records to compare them with, if any.
    """

    source: Reference
    codes: Reference
    parts: dict[str, Reference]
    made: Mapping[str, Reference]
    seeds: Reference | None
    passed: int
    released: Reference
    baseline: Reference | None

    @property
    def tables(self) -> dict[str, Reference]:
        """All tables of people and of synthetic records, by name."""
        return {"snapshot": self.source, "codes": self.codes, **self.parts, "released": self.released}

    @property
    def learnt(self) -> list[Reference]:
        """The public products of learning, by name."""
        made = [*self.made.values(), *([] if self.seeds is None else [self.seeds])]
        return [item for item in made if item.audience is Audience.PUBLIC]


@dataclass(frozen=True)
class Judged:
    """The records' utility, their disclosure risk, and the decision."""

    utility: EvaluationFigures
    risk: EvaluationFigures
    decided: Decided


@flow(name="release", persist_result=False, on_failure=[end_as_held], on_completion=[note_told])
def release(
    spec: Path,
    state: Path | None = None,
    key_file: Path | None = None,
    *,
    anew: bool = False,
    source: Path | str | None = None,
    begun_as: str | None = None,
) -> Released:
    """Release what a spec describes; see `make_release`."""
    made = make_release(spec, state, key_file, anew=anew, source=source, begun_as=begun_as)
    return completed(f"published {made.workspace.release_id}", made)


def make_release(
    spec: Path,
    state: Path | None = None,
    key_file: Path | None = None,
    *,
    anew: bool = False,
    source: Path | str | None = None,
    begun_as: str | None = None,
) -> Released:
    """Release what a spec describes, or resume an unfinished release of it.

    If a release is finished but its command ended before reporting that, it is returned unchanged: nothing is repeated
    and nothing is charged. A caller that replaces the hooks of the flow, as the command line does, must itself note
    that the end was reported (stores.releases.resumable_releases.note_reported).

    Args:
        spec: the release spec, YAML.
        state: the state folder; by default DENIABLE_STATE or `var`.
        key_file: the key of an earlier release, to replay it; by default a new one is made.
        anew: whether to begin another release even if one of this spec is unfinished.
        source: a file to read instead of the spec's source.
        begun_as: the release to resume, if there are several; by default the newest.

    Returns:
        References to what was made.

    Raises:
        Held: a person must decide; nothing is published yet.
        NotPublished: its policy or a person refused the release.
        DeniableError: the release failed; nothing was published, or what was published lacks its report or seal.
    """
    asked, state = load_spec(spec).reading(source), state or state_folder()
    remember_costs(state)
    counted = plan_release(asked).work
    with on_its_page(f"release of {asked.name}", is_release=True) as page, page.telling_steps(counted):
        page.about(asked.dataset_name)
        # A release that could not be signed at the end must not begin.
        signing_key(state)
        require_workers(state)
        # An address of a lineage server that must not be used is refused before anything is read.
        receiver()
        require_public_table(asked, state)
        page.say(what_comes_next(state, asked, anew=anew))
        with opened_release(asked, state, key_file, anew=anew, begun_as=begun_as) as workspace:
            page.about(asked.dataset_name, workspace.release_id)
            told = ended_with(workspace)
            released = _made(workspace) if told is None else Released.from_told(workspace, told)
        page.ended("published")
        page.say(*(f"{name:<15}{text}" for name, text in public_lines(released)))
        page.say(f"{'public':<15}{released.workspace.release_folder}")
        page.say(*(f"{name:<15}{text}" for name, text in unsent_events(released)))
    return released


def _made(workspace: Workspace) -> Released:
    """Run all steps of an open release."""
    accounts = account_task(workspace)
    drawn = draw(workspace, ingest_task(workspace))
    judged = judge(workspace, drawn)
    _require_approval(workspace, accounts, drawn, judged)
    published = publish_task(workspace, drawn.released, drawn.learnt, accounts, wait_for=[judged.decided])
    note_publication(workspace, published)
    renew_status_file(workspace.state)
    verified = verify_published_task(workspace, wait_for=[published])
    report = _report(workspace, accounts, drawn, judged, verification=verified)
    record = seal_task(workspace, wait_for=[published, report])
    released = Released(
        workspace=workspace,
        published=published,
        passed=drawn.passed,
        utility=judged.utility,
        risk=judged.risk,
        verdicts=judged.decided.verdicts,
        accounts=accounts,
        report=report,
        record=record,
    )
    note_end(workspace, released.told())
    return released


def draw(workspace: Workspace, source: Reference) -> Drawn:
    """Run the steps that lead from the rows as read to the synthetic records.

    Args:
        workspace: the release.
        source: the rows.

    Returns:
        References to what was made.
    """
    checked = validate_task(workspace, source)
    return draw_from_codes(workspace, source, clean_task(workspace, checked))


def draw_from_codes(workspace: Workspace, source: Reference, codes: Reference) -> Drawn:
    """Run the steps that lead from valid records to synthetic ones.

    Args:
        workspace: the release.
        source: the rows as read.
        codes: the valid ones.

    Returns:
        References to what was made.
    """
    plan = workspace.plan
    parts = split_task(workspace, codes)

    made: dict[str, Reference] = {}
    for step in plan.learning:
        made |= _taken(workspace, step, parts, made)
    prepare = plan.sampler.prepare
    source_of_draws = drawn_from(made)
    prepared = {} if prepare is None else _taken(workspace, prepare, parts, made)
    # The first product is what records are drawn from; others are public.
    seeds = next(iter(prepared.values()), None)
    made |= dict(list(prepared.items())[1:])
    kept = synthesize_task.map(
        unmapped(workspace), unmapped(source_of_draws), unmapped(seeds), blocks(plan.spec)
    ).result()
    released = gather_task(workspace, kept, seeds)
    return Drawn(
        source=source,
        codes=codes,
        parts=parts,
        made=made,
        seeds=seeds,
        passed=sum(block.rows or 0 for block in kept),
        released=released,
        baseline=draw_baseline_task(workspace, part(parts, "parameters")),
    )


def _taken(
    workspace: Workspace, step: PlannedStep, parts: Mapping[str, Reference], made: Mapping[str, Reference]
) -> dict[str, Reference]:
    """Carry out a planned step, and return its products by name."""
    read = None if step.counts is None else part(parts, step.counts)
    found = planned_step_task(workspace, step.task, read, tuple(made[name] for name in step.reads))
    return {reference.name: reference for reference in found}


def judge(workspace: Workspace, drawn: Drawn) -> Judged:
    """Measure the utility of the records and their disclosure risk, and compare both with the spec."""
    useful = evaluate_utility_task.submit(workspace, drawn.released, drawn.parts, drawn.baseline)
    if not workers():
        # One machine has enough memory for only one of them at a time.
        useful.wait()
    safe = evaluate_risk_task.submit(workspace, drawn.released, drawn.parts)
    utility, risk = useful.result(), safe.result()
    decided = decide_task(workspace, utility, risk, drawn.made.get("measured"), drawn.released)
    return Judged(utility=utility, risk=risk, decided=decided)


def _require_approval(workspace: Workspace, accounts: Accounts, drawn: Drawn, judged: Judged) -> None:
    """Require that the release is published automatically, or was approved unchanged, or is published already."""
    outcome = judged.decided.outcome
    was_held = held_note(workspace.state, workspace.release_id) is not None
    if workspace.release_folder.exists() or (outcome.action == "publish" and not was_held):
        return
    page = _report(workspace, accounts, drawn, judged, outcome=outcome)
    candidate = candidate_digest(
        workspace,
        released=drawn.released,
        learnt=drawn.learnt,
        accounts=accounts,
        figures=(judged.utility, judged.risk),
        page=page,
    )
    require_decision(workspace, candidate, outcome, page, accounts)


def _report(
    workspace: Workspace,
    accounts: Accounts,
    drawn: Drawn,
    judged: Judged,
    *,
    verification: Sequence[str] = (),
    outcome: Outcome | None = None,
) -> Reference:
    """Write the report: the report for the decision if an outcome is given, otherwise the final report."""
    return report_task(
        workspace,
        tables=drawn.tables,
        graph=drawn.made.get("graph"),
        measured=drawn.made.get("measured"),
        certificate=drawn.made.get("certificate"),
        accounts=accounts,
        passed=drawn.passed,
        utility=judged.utility,
        risk=judged.risk,
        verification=verification,
        outcome=outcome,
    )
