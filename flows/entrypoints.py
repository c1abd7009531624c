"""The flows of the deployments, which can be started from Prefect's forms.

A form's entries can be sent unchecked, so the flows check their parameters again. They do the same as the command line.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from enum import StrEnum
from itertools import count
from pathlib import Path
from typing import Annotated, Any, Literal

from prefect import Flow, flow, get_client, runtime, suspend_flow_run
from prefect.client.schemas.filters import FlowRunFilter
from prefect.client.schemas.objects import FlowRun, State
from prefect.concurrency.sync import concurrency
from prefect.input import RunInput
from prefect.states import Completed, Failed
from prefect.variables import Variable
from pydantic import Field

from deniable.command_names import command_line
from deniable.foundation.errors import DeniableError, InvalidInput, Refused
from flows import audit as auditing
from flows import refresh as refreshing
from flows import release as releasing
from flows import replay as replaying
from flows.prefect_runs.automations import FAILED_AND_TOLD, WEBHOOK_BLOCK
from flows.prefect_runs.outages import OUTAGES, finished_in, is_last_attempt, is_scheduled, note_finished, resumable
from flows.prefect_runs.run_page import on_its_page
from flows.specs import spec_places
from infra.cluster.choosing import on_its_cluster
from infra.environment import state_folder
from schemas.provenance import RECORD
from schemas.spec.release_spec import FileSource, load_spec
from schemas.spec.source_kinds import TABLE_SUFFIXES
from stores.record.discovery_record import discovery_place
from stores.releases.deciding import decide, valid_decision
from stores.releases.resumable_releases import find_release, note_reported, releases_of_run
from stores.releases.signed_approvals import who_approves
from stores.servers.prefect_failures import asking_prefect
from stores.servers.webhook import are_one
from stores.statement.statement import as_text
from stores.tables.sources.partitions import is_in_a_store
from stores.vault.pending_approval import Held, HeldNote, held_notes, note_waiting

DATASET_LIMIT = "deniable-dataset-{}"
"""Name of the concurrency limit of a dataset: its releases run one at a time."""

_LEASE_S = 60

SpecName = StrEnum("SpecName", {name: name for name in spec_places()})  # type: ignore[misc] # named by what there is
SpecName.__doc__ = "A release spec that ships, or that is in a folder which deploy was given."

ReleaseName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_]+-\d{8}T\d{6}Z$", examples=["acs_ma-20261120T104151Z"])]
AuditedName = Annotated[
    str, Field(pattern=r"^[A-Za-z0-9_-]+-\d{8}T\d{6}Z(-\d+)?$", examples=["acs_ma-20261120T104151Z"])
]

_TABLE = "|".join(re.escape(suffix) for suffix in TABLE_SUFFIXES)
Arrival = Annotated[
    str, Field(pattern=rf"^(/.+({_TABLE}|/)|s3://[^@/?#]+(/[^?#]*)?)$", examples=["/data/people-2026.parquet"])
]


def note_told(flow: Flow[..., Any], flow_run: FlowRun, state: State[Any]) -> None:  # noqa: ARG001 - as hooks are called
    """Note that the end of a run and its releases were reported to Prefect; a flow hook."""
    for name in finished_in(flow_run.id):
        note_reported(state_folder(), name)


def source_of(spec: Path) -> str | None:
    """Return the source of new data for a run that names none: Prefect's variable, otherwise the spec's source.

    Args:
        spec: the release spec.

    Raises:
        InvalidInput: neither names a source.
    """
    asked = load_spec(spec)
    if not isinstance(asked.source, FileSource) or asked.source.environment is None:
        return None
    name = asked.source.environment.lower()
    if said := Variable.get(name):
        return str(said)
    if asked.source.path is None:
        raise InvalidInput(
            f"a refresh must have a source of new data, got none for {asked.name}: give the run a source, or set "
            f"Prefect's variable {name}; {asked.source.environment} in the worker's environment dates from its start."
        )
    place = asked.source.path
    return place if is_in_a_store(place) else str(asked.folder / place)


@flow(name="release", flow_run_name="release of {spec}", persist_result=False, on_completion=[note_told])
def release(spec: SpecName, begin_another: bool = False) -> State[Any]:  # noqa: FBT001, FBT002 - a box of a form
    """Release what a spec describes, or resume an unfinished release of it.

    A scheduled run makes its own release, after it has finished what an earlier run left unfinished. A run that is
    resumed after an outage makes only the release that it began.

    Args:
        spec: the release spec.
        begin_another: begin another release even if one of this spec is unfinished.

    Returns:
        The release's name, as the run's message.

    If a person must decide on a release, the run is suspended, and its process ends. The person who resumes it gives a
    name.

    Raises:
        DeniableError: the release failed, was refused, or could not be finished; another run resumes it.
    """
    place = spec_places()[spec]

    def release_it(mine: HeldNote | None) -> str:
        return _released(place, mine, begin_another=begin_another)

    return resumable(lambda: _once_decided(load_spec(place).dataset_name, release_it))


@flow(name="refresh", flow_run_name="refresh of {spec}", persist_result=False, on_completion=[note_told])
def refresh(spec: SpecName, source: Arrival | None = None) -> State[Any]:
    """Release new data of a dataset, unless exactly these data are already released, within this refresh's share.

    If a person must decide on the release, the run is suspended, as with `release`.

    Args:
        spec: the release spec, with an entry `refresh`.
        source: the new data: a file or a folder/ on the worker's machine, or s3://...; by default the source in the
            spec, or Prefect's variable with the name of the spec's variable in lower case. The worker's environment is
            not read: it dates from the worker's start.

    Returns:
        What was done, as the run's message; the drift of the table is an artifact of the run. A failed refresh that has
        itself notified the webhook that Prefect would notify ends as FailedAndTold.

    Raises:
        DeniableError: the refresh failed or was refused; what was published before is untouched.
    """
    place = spec_places()[spec]

    def refresh_it(_mine: HeldNote | None) -> str:
        # A held release is unfinished, and is finished first.
        silent_on = () if is_last_attempt() else OUTAGES
        done = refreshing.refresh_dataset(place, source=source or source_of(place), silent_on=silent_on)
        if done.released is not None:
            note_finished(done.current)
        return done.in_words

    def told_once() -> State[Any]:
        try:
            return _once_decided(load_spec(place).dataset_name, refresh_it)
        except DeniableError as error:
            told = refreshing.told_of(error)
            if told is None or not are_one(told, WEBHOOK_BLOCK):
                raise
            return Failed(name=FAILED_AND_TOLD, message=f"{type(error).__name__}: {error}", data=error)

    return resumable(told_once)


@flow(name="audit", flow_run_name="audit of {release}", persist_result=False)
def audit(release: AuditedName | None = None) -> State[Any]:
    """Check that a release, its runs in MLflow and its charges are unchanged since its record was signed.

    Args:
        release: name of a release or a discovery; by default all that are published.

    Returns:
        The verdict, as the run's message; the findings are an artifact of the run.

    Raises:
        AuditFailed: something is not as it was.
    """
    return resumable(lambda: _audited([release] if release else _published(state_folder())))


def _published(state: Path) -> list[str]:
    """Return the names of all published releases and discoveries."""
    discoveries = discovery_place(state, "").glob(f"*/{RECORD}")
    return [*published_releases(state), *sorted(place.parent.name for place in discoveries)]


def _audited(names: list[str]) -> State[Any]:
    """Audit releases, and continue with the others if one fails."""
    failed: list[auditing.AuditFailed] = []
    with on_its_page(f"audit of {names[0] if len(names) == 1 else 'all releases'}") as page:
        for name in names:
            try:
                auditing.audit_release(name, state_folder())
            except auditing.AuditFailed as failure:
                failed.append(failure)
        page.ended(f"{len(names) - len(failed)} of {len(names)} as they were")
        if failed:
            # Evidence of changes is reported first.
            raise min(failed, key=lambda failure: isinstance(failure, auditing.AuditHindered))
    beside = any(discovery_place(state_folder(), name).is_dir() for name in names)
    things = "releases and discoveries" if beside else "releases"
    return Completed(message=f"{len(names)} of {len(names)} {things} are as they were when their records were signed")


@flow(name="replay", flow_run_name="replay of {release}", persist_result=False)
def replay(release: ReleaseName) -> State[Any]:
    """Run a published release again from its record, and check that every step gives the same bytes.

    Args:
        release: the release's name.

    Returns:
        The verdict, as the run's message.

    Raises:
        ReplayDiffers: a step gave a different result; the message names the step and the reason.
    """
    return resumable(lambda: Completed(message=replaying.replay_release(release, state_folder()).verdict))


def published_releases(state: Path) -> list[str]:
    """Return the names of the published releases, the oldest first."""
    return sorted(path.name for path in (state / "releases").glob("*/"))


def _released(place: Path, mine: HeldNote | None, *, begin_another: bool) -> str:
    """Make the release of a run, and return the outcome in words.

    Args:
        place: the spec.
        mine: the release for which this run was suspended.
        begin_another: whether to begin another release even if one of the spec is unfinished.
    """
    state, here = state_folder(), _this_run()
    begun = releases_of_run(state, here) if here else []
    own = [each for each in begun if each.runs[0] == here]
    scheduled = is_scheduled()
    worked_for = own if scheduled or begin_another else begun
    if worked_for and worked_for[-1].ended:
        # Another run finished the release of this one while it was down.
        return f"published {worked_for[-1].release_id}"
    begun_as = mine.release if mine else own[-1].release_id if own else None
    anew = begin_another and begun_as is None
    while True:
        name = releasing.make_release(place, anew=anew, begun_as=begun_as).workspace.release_id
        if not scheduled or mine is not None or find_release(state, name).runs[:1] == (here,):
            note_finished(name)
            return f"published {name}"
        # It belongs to an earlier scheduled run, which did not get this far; its end is reported together with this
        # run's own.
        note_reported(state, name)
        begun_as = None


def _once_decided(dataset: str, work: Callable[[HeldNote | None], str]) -> State[Any]:
    """Do the work, and wait for a person's decision if the release is held.

    Args:
        dataset: the dataset, on which no other run works meanwhile.
        work: does the work, given the release for which this run was suspended, and returns the outcome in words.

    Returns:
        The outcome, as the run's message.
    """
    state, here = state_folder(), _this_run()
    while True:
        mine = _waited_for(state, here)
        if mine is not None and mine.action == "hold" and valid_decision(state, mine) is None:
            _ask(state, mine)
        try:
            with _alone(dataset):
                said = work(mine)
        except Held as held:
            if here is None:
                raise
            if held.note.flow_run != here and _is_waiting(held.note):
                return Completed(name="Held", message=f"{held.note.release} waits in flow run {held.note.flow_run}")
            note_waiting(state, held.note, here)
        else:
            return Completed(message=said)


class Answer(RunInput):
    """The form in Prefect for the person who decides on a held release."""

    decision: Literal["approved", "refused"]
    name: str = Field(min_length=1, description="Your name. Prefect does not verify it, and the record states that.")
    reason: str = Field(min_length=1, description="The reason, in words that may be published: the record holds them.")


def _by_command(release: str) -> str:
    """The remark on a form in Prefect by which nobody can approve."""
    approve = command_line(f"release approve {release}")
    return (
        "This form can only refuse: an approval is signed with the key of an approver, by the command "
        f'`{approve} --reason "..."`, which resumes this run.'
    )


def _ask(state: Path, note: HeldNote) -> None:
    """Suspend this run until a person decides, and record the decision; invalid answers are refused."""
    complaint = ""
    for number in count():
        # Prefect returns the answer for a key that it has used before, and asks for a new key.
        signed = who_approves(state).required
        form = Answer.with_initial_data(description=_question(note, complaint, signed=signed))
        answer = suspend_flow_run(wait_for_input=form, key=f"{note.candidate}-{number}")
        try:
            decide(state, note, answer.decision, by=answer.name, identity="stated", reason=answer.reason)
        except (InvalidInput, Refused) as refused:
            complaint = str(refused)
        else:
            return


def _question(note: HeldNote, complaint: str, *, signed: bool) -> str:
    """Return the text of the form, in Markdown.

    Args:
        note: the note on the release.
        complaint: why the last answer does not count; empty if there was none.
        signed: whether an approval must be signed with a key, which no form can do.
    """
    whoever = " or ".join(note.approvers) if note.approvers else f"anyone but {note.started_by}, who started it"
    return "\n\n".join(
        [
            *([f"**The last answer does not count:** {complaint}"] if complaint else []),
            f"**{as_text(note.title)}**: the release `{note.release}` waits for {whoever}.",
            "\n".join(f"- {reason}" for reason in note.why),
            f"Review `{note.page}`, the report of the candidate `{note.candidate[:16]}`.",
            *([_by_command(note.release)] if signed else []),
        ]
    )


def _this_run() -> str | None:
    """Return the current run if it belongs to a deployment, and so can be suspended; None otherwise."""
    return str(runtime.flow_run.id) if runtime.deployment.id and runtime.flow_run.id else None


def _waited_for(state: Path, here: str | None) -> HeldNote | None:
    """Return the release for which this run was suspended."""
    return next((note for note in held_notes(state) if here is not None and note.flow_run == here), None)


def _is_waiting(note: HeldNote) -> bool:
    """Whether the run that holds a release still waits for the decision."""
    there = FlowRunFilter.model_validate({"id": {"any_": [note.flow_run]}})
    with get_client(sync_client=True) as client:
        return any(
            run.state is not None and run.state.is_paused() for run in client.read_flow_runs(flow_run_filter=there)
        )


@contextmanager
def _alone(dataset: str) -> Iterator[None]:
    """Wait until no other run works on the dataset, by the concurrency limit that `deniable servers deploy` makes.

    A run whose machine has failed keeps the others waiting for a minute. A run that cannot reach Prefect for that long
    continues; if another one then begins, the locks of the state folder keep them apart.
    """
    with ExitStack() as stack:
        asking_prefect(
            lambda: stack.enter_context(
                concurrency(
                    DATASET_LIMIT.format(dataset),
                    occupy=1,
                    lease_duration=_LEASE_S,
                    strict=True,
                    raise_on_lease_renewal_failure=False,
                )
            )
        )
        yield


# The starter of a flow chooses the task runner: here by the job variables of the deployment.
release, refresh = on_its_cluster(release), on_its_cluster(refresh)
