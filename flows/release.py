"""The release: from a confidential table to a published synthetic one."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prefect import Flow, flow, unmapped
from prefect.client.schemas.objects import FlowRun, State
from pydantic import TypeAdapter

from flows.environment import state_folder
from flows.held_runs import end_as_held
from flows.opening import opened_release
from flows.run_page import completed, on_its_page
from flows.summary import public_lines
from schemas.accounts import Accounts, accounts_of
from schemas.decision import Outcome
from schemas.evaluation import EvaluationFigures, Verdict
from schemas.references import Audience, Reference
from schemas.release_spec import load_spec
from stores.approval import candidate_digest, require_decision
from stores.charging import note_publication
from stores.held import held_note
from stores.signing_keys import signing_key
from stores.unfinished import ended_with, note_end, note_reported, what_comes_next
from stores.workspace import Workspace
from tasks.account import account_task
from tasks.clean import clean_task
from tasks.decide import Decided, decide_task
from tasks.draw_baseline import draw_baseline_task
from tasks.evaluate_risk import evaluate_risk_task
from tasks.evaluate_utility import evaluate_utility_task
from tasks.gather import gather_task
from tasks.index_seeds import index_seeds_task
from tasks.ingest import ingest_task
from tasks.learn_loglinear import learn_loglinear_task
from tasks.learn_parameters import learn_parameters_task
from tasks.learn_structure import learn_structure_task
from tasks.noise_seeds import noise_seeds_task
from tasks.publish import publish_task
from tasks.report import report_task
from tasks.seal import seal_task
from tasks.split import part, split_task
from tasks.synthesize import blocks, synthesize_task
from tasks.validate import validate_task
from tasks.verify_published import verify_published_task
from tasks.workers import require_workers, workers


@dataclass(frozen=True)
class Released:
    """What a release made, for whoever started it."""

    workspace: Workspace
    published: Reference
    passed: int
    utility: EvaluationFigures
    risk: EvaluationFigures
    verdicts: tuple[Verdict, ...]
    accounts: Accounts
    report: Reference
    record: Reference

    def told(self) -> str:
        """What the vault keeps of it until it is reported, as JSON: what does not follow from its workspace."""
        return json.dumps(_RELEASED.dump_python(self, mode="json", exclude={"workspace", "accounts"}))

    @classmethod
    def from_told(cls, workspace: Workspace, told: str) -> "Released":
        """Read it back."""
        followed = {"workspace": workspace, "accounts": accounts_of(workspace.spec)}
        return _RELEASED.validate_python({**json.loads(told), **followed})


_RELEASED = TypeAdapter(Released)


def note_told(flow: Flow[..., Any], flow_run: FlowRun, state: State[Any]) -> None:  # noqa: ARG001 - as hooks are called
    """Note that whoever started a release has been told of its end; a hook of flows."""
    released = state.result(raise_on_failure=False)
    if isinstance(released, Released):
        note_reported(released.workspace.state, released.workspace.release_id)


def told_later(flow: Flow[..., Any], flow_run: FlowRun, state: State[Any]) -> None:
    """Leave it to whoever runs a flow to note that its end was reported; a hook of flows, in the place of their own."""


@dataclass(frozen=True)
class Drawn:
    """What was learnt and drawn, before anybody judged it.

    Attributes:
        source: the rows as they were read.
        codes: the valid ones.
        parts: what they were split into.
        graph: which attributes depend on which.
        model: the model.
        measured: what the model was made of, where its learner says so.
        seeds: what records are drawn from beside the model, where there are some.
        passed: candidates that may be released, released or not.
        released: the records.
        baseline: records to compare them with.
    """

    source: Reference
    codes: Reference
    parts: dict[str, Reference]
    graph: Reference
    model: Reference
    measured: Reference | None
    seeds: Reference | None
    passed: int
    released: Reference
    baseline: Reference

    @property
    def tables(self) -> dict[str, Reference]:
        """All tables of people and of records."""
        return {"snapshot": self.source, "codes": self.codes, **self.parts, "released": self.released}

    @property
    def learnt(self) -> list[Reference]:
        """What was learnt and is public."""
        made = (self.graph, self.model, self.measured, self.seeds)
        return [item for item in made if item is not None and item.audience is Audience.PUBLIC]


@dataclass(frozen=True)
class Judged:
    """How good the records are, and how safe."""

    utility: EvaluationFigures
    risk: EvaluationFigures
    decided: Decided


# How each guarantee takes what it needs from the seeds.
_SEEDS = {"tested_seeds": index_seeds_task, "histogram_seeds": noise_seeds_task, "seedless": None}


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
    """Release what a spec describes, as `make_release` does, which says more."""
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
    """Release what a spec describes, or go on with the release of it that was not finished.

    One that was finished, and whose command ended before it had said so, is given back as it is: nothing is done again,
    and nothing is charged. Whoever runs this flow otherwise than by its name, as the command line does to have the last
    word, notes itself that the end was reported (stores.unfinished.note_reported).

    Args:
        spec: the release spec, YAML.
        state: the state folder; by default DENIABLE_STATE or `var`.
        key_file: the key of an earlier release, to replay it; by default a new one is made.
        anew: whether to begin another release although one of this spec is not finished.
        source: a file to read instead of what the spec names.
        begun_as: the release to go on with, where there may be several; by default the newest.

    Returns:
        References to what was made.

    Raises:
        Held: a person must decide; nothing is published yet.
        NotPublished: its policy or a person refused the release.
        DeniableError: the release failed; nothing was published, or what was is not reported on and sealed yet.
    """
    asked, state = load_spec(spec).reading(source), state or state_folder()
    counted = {"synthesize": asked.synthesis.attempts}
    with on_its_page(f"release of {asked.name}", is_release=True) as page, page.telling_steps(counted):
        page.about(asked.dataset_name)
        # What could not be signed in the end must not be begun.
        signing_key(state)
        require_workers(state)
        page.say(what_comes_next(state, asked, anew=anew))
        with opened_release(asked, state, key_file, anew=anew, begun_as=begun_as) as workspace:
            page.about(asked.dataset_name, workspace.release_id)
            told = ended_with(workspace)
            released = _made(workspace) if told is None else Released.from_told(workspace, told)
        page.ended("published")
        page.say(*(f"{name:<15}{text}" for name, text in public_lines(released)))
        page.say(f"{'public':<15}{released.workspace.release_folder}")
    return released


def _made(workspace: Workspace) -> Released:
    """Take all steps of a release that is open."""
    accounts = account_task(workspace)
    drawn = draw(workspace, ingest_task(workspace))
    judged = judge(workspace, drawn)
    _require_approval(workspace, accounts, drawn, judged)
    published = publish_task(workspace, drawn.released, drawn.learnt, accounts, wait_for=[judged.decided])
    note_publication(workspace, published)
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
    """Take the steps from the rows as they were read to the records.

    Args:
        workspace: the release.
        source: the rows.

    Returns:
        References to what was made.
    """
    spec = workspace.spec
    checked = validate_task(workspace, source)
    codes = clean_task(workspace, checked)
    parts = split_task(workspace, codes)

    if spec.learner.kind == "loglinear":
        graph, model, measured = learn_loglinear_task(workspace, part(parts, "parameters"))
    else:
        graph = learn_structure_task(workspace, part(parts, "structure") if spec.learner.structure else None)
        model, measured = learn_parameters_task(workspace, part(parts, "parameters"), graph), None
    prepare = _SEEDS[spec.synthesis.guarantee]
    seeds = prepare(workspace, part(parts, "seeds"), model) if prepare is not None else None
    kept = synthesize_task.map(unmapped(workspace), unmapped(model), unmapped(seeds), blocks(spec)).result()
    released = gather_task(workspace, kept, seeds)
    return Drawn(
        source=source,
        codes=codes,
        parts=parts,
        graph=graph,
        model=model,
        measured=measured,
        seeds=seeds,
        passed=sum(block.rows or 0 for block in kept),
        released=released,
        baseline=draw_baseline_task(workspace, part(parts, "parameters")),
    )


def judge(workspace: Workspace, drawn: Drawn) -> Judged:
    """Measure how good the records are, and how safe, and hold that against the spec."""
    useful = evaluate_utility_task.submit(workspace, drawn.released, drawn.parts, drawn.baseline)
    if not workers():
        # One machine has memory for one of them.
        useful.wait()
    safe = evaluate_risk_task.submit(workspace, drawn.released, drawn.parts)
    utility, risk = useful.result(), safe.result()
    return Judged(utility=utility, risk=risk, decided=decide_task(workspace, utility, risk))


def _require_approval(workspace: Workspace, accounts: Accounts, drawn: Drawn, judged: Judged) -> None:
    """Go on with a release that publishes by itself, or that a person approved as it is; what is public was decided."""
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
    require_decision(workspace, candidate, outcome, page)


def _report(
    workspace: Workspace,
    accounts: Accounts,
    drawn: Drawn,
    judged: Judged,
    *,
    verification: Sequence[str] = (),
    outcome: Outcome | None = None,
) -> Reference:
    """Write the report: the one to decide upon where an outcome is given, else the last one."""
    return report_task(
        workspace,
        tables=drawn.tables,
        graph=drawn.graph,
        measured=drawn.measured,
        accounts=accounts,
        passed=drawn.passed,
        utility=judged.utility,
        risk=judged.risk,
        verification=verification,
        outcome=outcome,
    )
