"""The discovery: from questions about columns that no codebook describes to public answers with a signed record."""

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from prefect import flow

from deniable.discovery.answers import Answers
from deniable.discovery.plan import DiscoveryPlan
from deniable.foundation.errors import InvalidInput, Refused
from deniable.privacy.rounding import rounded_up
from flows.prefect_runs.run_page import completed, on_its_page
from infra.environment import state_folder
from schemas.plain_text import fault_of_name
from schemas.spec.release_spec import ReleaseSpec, load_spec
from stores.keys.signing_keys import signing_key
from stores.ledger.accounts import admit
from stores.ledger.charging import policy_of
from stores.ledger.state_ledger import state_ledger
from stores.record.discovery_record import DISCOVERY_NOTE, discovery_place
from stores.releases.discoveries import (
    Begun,
    begun_as,
    begun_before,
    charge_of,
    note,
    released_answers,
    request_digest,
    require_unit,
    unit_in_words,
)
from stores.releases.discovery_run import recorded_discovery
from stores.vault.actors import note_start
from stores.vault.custody import end_custody, keep_key, require_same_key
from stores.vault.lease import leased, turn
from stores.vault.private_files import PRIVATE_FOLDER, make_private_folder
from stores.vault.scratch import is_scratch, sweep_scratch
from stores.vault.workspace import Workspace
from tasks.discovery.answer_questions import answer_questions_task
from tasks.discovery.copy_columns import copy_columns_task
from tasks.discovery.publish_discovery import publish_discovery_task
from tasks.running.cancellation import allow_steps

_MOST_AT_ONCE = 1000


@dataclass(frozen=True)
class Discovered:
    """A finished discovery.

    Attributes:
        discovery: its name.
        folder: the folder of what it released.
        answers: what it released.
        charged: whether this run charged it; if not, an earlier one did.
    """

    discovery: str
    folder: Path
    answers: Answers
    charged: bool


@flow(name="discovery", persist_result=False)
def discover(spec: Path, plan: Mapping[str, Any], state: Path | None = None, *, anew: bool = False) -> Discovered:
    """Answer the questions of a plan about the source of a spec; see `make_discovery`.

    Args:
        spec: the spec, YAML.
        plan: what is requested, in the form of `DiscoveryPlan.document`.
        state: the state folder; by default DENIABLE_STATE or `var`.
        anew: whether to begin another discovery, even if one of the same request is finished.
    """
    found = make_discovery(load_spec(spec), DiscoveryPlan.from_document(plan), state or state_folder(), anew=anew)
    return completed(f"published {found.discovery}", found)


def make_discovery(spec: ReleaseSpec, plan: DiscoveryPlan, state: Path, *, anew: bool = False) -> Discovered:
    """Answer the questions of a plan about the source of a spec, and keep the answers with a signed record.

    The same questions about the same source are answered from the stored answers at no further cost. An interrupted
    discovery is resumed.

    Args:
        spec: the spec, of which the source, the dataset, the person identifier and the custody of the key are used.
        plan: what is requested.
        state: the state folder.
        anew: whether to begin another discovery, even if one of the same request is finished. Its noise is fresh, and
            it is charged again.

    Raises:
        InvalidInput: the source lacks a column, or a question is not allowed.
        NoPolicy: neither the ledger nor the spec has a budget.
        BudgetExceeded: the dataset's budget has no room for it; nothing was drawn.
        Refused: the discovery's copy of the source was changed, or the state folder is a scratch folder of replays.
    """
    require_askable(spec, plan)
    if is_scratch(state):
        raise Refused(
            f"a discovery must be kept in a state folder, got the scratch folder {state}, whose charges do not count; "
            "name another with --state."
        )
    with on_its_page(f"discovery for {spec.name}") as page:
        page.about(spec.dataset_name)
        # A discovery that could not be signed at the end must not begin.
        signing_key(state)
        sweep_scratch(state)
        # One lock for all datasets, because specs, and so discoveries, may share a name.
        with turn(state, "discover"):
            begun = begun_before(state, spec, request_digest(spec, plan))
            if begun is not None and begun.finished and not anew:
                found = _as_before(state, spec, begun)
                page.about(spec.dataset_name, found.discovery)
                page.ended("shown again")
            else:
                unfinished = None if begun is None or begun.finished else begun
                with _opened(spec, plan, state, unfinished) as workspace:
                    page.about(spec.dataset_name, workspace.release_id)
                    found = _made(workspace, plan)
                page.ended("published")
        cost = f"epsilon {rounded_up(plan.epsilon)}, delta {rounded_up(plan.delta)} for {unit_in_words(spec)}"
        page.say(f"charged {'now' if found.charged else 'before'}: {cost}", f"public: {found.folder}")
    return found


def require_askable(spec: ReleaseSpec, plan: DiscoveryPlan) -> None:
    """Refuse questions about columns that are never released, or that no schema could contain.

    Raises:
        InvalidInput: a column identifies people, or its name is not valid in a schema; or the dataset's guarantees are
            for one record replaced.
    """
    require_unit(spec)
    for question in plan.questions:
        if fault := fault_of_name(question.column):
            raise InvalidInput(f"the name of a column {fault}.")
        if spec.person is not None and question.column == spec.person.column:
            raise InvalidInput(
                f"a discovery must be about columns that may be released, and {question.column} identifies people; "
                "leave it out."
            )


def _as_before(state: Path, spec: ReleaseSpec, begun: Begun) -> Discovered:
    """Return a finished discovery, unchanged."""
    # The run that published it may have ended before it destroyed the key.
    end_custody(Workspace(state=state, release_id=begun.discovery, spec=spec, mlflow_run_id=""))
    folder = discovery_place(state, begun.discovery)
    return Discovered(begun.discovery, folder, released_answers(state, begun.discovery), charged=False)


def _made(workspace: Workspace, plan: DiscoveryPlan) -> Discovered:
    """Run all steps of an open discovery."""
    snapshot = copy_columns_task(workspace, plan)
    answered = answer_questions_task(workspace, plan, snapshot)
    folder = publish_discovery_task(workspace, answered)
    answers = released_answers(workspace.state, workspace.release_id)
    return Discovered(workspace.release_id, folder, answers, charged=answered.fresh)


@contextmanager
def _opened(spec: ReleaseSpec, plan: DiscoveryPlan, state: Path, begun: Begun | None) -> Iterator[Workspace]:
    """Open a new or an unfinished discovery, and close it when the block ends.

    If it fails before its columns are copied, only MLflow's record remains, since nothing was charged yet.
    """
    name = _new_name(spec, plan, state) if begun is None else begun.discovery
    vault = state / "vault" / name
    if begun is None:
        make_private_folder(vault.parent)
        vault.mkdir(mode=PRIVATE_FOLDER)
    with leased(vault):
        allow_steps(name)
        try:
            with recorded_discovery(state, name, spec, plan, unit_in_words(spec)) as run_id:
                workspace = Workspace(state=state, release_id=name, spec=spec, mlflow_run_id=run_id)
                workspace.sweep()
                if begun is None:
                    keep_key(workspace)
                    note_start(workspace)
                else:
                    require_same_key(workspace, begun.commitment)
                yield workspace
                noted = begun_as(workspace)
                if noted is not None:
                    note(workspace, replace(noted, finished=True))
                end_custody(workspace)
        except BaseException:
            if not (vault / DISCOVERY_NOTE).exists():
                shutil.rmtree(vault, ignore_errors=True)
            raise


def _new_name(spec: ReleaseSpec, plan: DiscoveryPlan, state: Path) -> str:
    """Return the name of a discovery that begins now, if the budget has room for it; nothing is charged yet."""
    ledger = state_ledger(state)
    admit(state, spec, ledger, None if spec.budget is None else policy_of(spec, spec.budget))
    first = f"{spec.name}-discovery-{datetime.now(UTC):%Y%m%dT%H%M%SZ}"
    names = (first, *(f"{first}-{number}" for number in range(2, _MOST_AT_ONCE)))
    name = next(each for each in names if not (state / "vault" / each).exists())
    ledger.check(charge_of(spec, plan, name))
    return name
