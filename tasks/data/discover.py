"""Propose values of open categories and ranges of numbers, at a cost that is charged before any noise is drawn.

The columns requested are copied into the vault once, and counted from the copy, so that a discovery that was ended
before its time repeats the same draws when it is resumed, and is charged once. How a schema states the proposals does
not belong here (schemas.codebooks.proposals).
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from hashlib import sha256
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from deniable.discovery.answering import answers
from deniable.discovery.answers import Answers
from deniable.discovery.plan import STEP, DiscoveryPlan, Question
from deniable.foundation.domain import Person
from deniable.foundation.errors import InvalidInput, Refused
from deniable.foundation.uniform import words_of_64_bits
from deniable.ledger.drawing_versions import stream_name
from deniable.ledger.entries import Entry
from deniable.privacy.one_person import kept_in_chunks, person_keys
from schemas.plain_text import fault_of_cell, fault_of_name
from schemas.references import Audience, Reference
from schemas.spec.release_spec import ReleaseSpec
from stores.keys.signing_keys import signing_key
from stores.ledger.charging import open_ledger, policy_of
from stores.ledger.state_ledger import state_ledger
from stores.releases.discoveries import (
    Begun,
    begun_before,
    charge_of,
    discovery_place,
    document_text,
    nobody,
    note,
    publish_discovery,
    released_answers,
    request_digest,
    require_same_copy,
    require_unit,
)
from stores.tables.sources import opened_source
from stores.tables.tables import write_snapshot
from stores.vault.custody import end_custody, keep_key, require_same_key
from stores.vault.lease import leased, turn
from stores.vault.private_files import PRIVATE_FOLDER, make_private_folder
from stores.vault.scratch import is_scratch
from stores.vault.workspace import Workspace

_SNAPSHOT = "snapshot.parquet"
_MOST_AT_ONCE = 1000


@dataclass(frozen=True)
class Discovered:
    """A finished discovery.

    Attributes:
        discovery: its name.
        folder: the folder of what it released.
        answers: what it released.
        charged: whether this run charged it; otherwise an earlier one did.
    """

    discovery: str
    folder: Path
    answers: Answers
    charged: bool


def require_askable(spec: ReleaseSpec, plan: DiscoveryPlan) -> None:
    """Refuse questions about columns that are never released, or that no schema could have.

    Raises:
        InvalidInput: a column identifies people, or has a name that no schema can have; or the dataset's guarantees are
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


def discover(state: Path, spec: ReleaseSpec, plan: DiscoveryPlan, *, anew: bool = False) -> Discovered:
    """Answer the questions of a plan about the source of a spec, and keep the answers with a signed record.

    The same questions about the same source are answered from what is kept, and cost nothing again; a discovery that
    was ended before its time is resumed.

    Args:
        state: the state folder.
        spec: the spec; its source, its dataset, its person and the custody of its key are used.
        plan: what is requested.
        anew: whether to begin another discovery, even if one of the same request is finished. Its noise is fresh, and
            it is charged again.

    Raises:
        InvalidInput: the source lacks a column, or a question cannot be requested.
        NoPolicy: neither the ledger nor the spec has a budget.
        BudgetExceeded: the dataset's budget has no room for it; nothing was drawn.
        Refused: the copy of the source that it began with was changed, or the state folder is one for replays.
    """
    require_askable(spec, plan)
    if is_scratch(state):
        raise Refused(
            f"a discovery must be kept in a state folder, got the scratch folder {state}, whose charges do not count; "
            "name another with --state."
        )
    request = request_digest(spec, plan)
    # One turn for all datasets, because specs may share a name, and thereby the names of discoveries.
    with turn(state, "discover"):
        begun = begun_before(state, spec, request)
        if begun is not None and begun.finished and not anew:
            folder = discovery_place(state, begun.discovery)
            # The run that published it may have been ended before its key was destroyed.
            end_custody(Workspace(state=state, release_id=begun.discovery, spec=spec, mlflow_run_id=""))
            return Discovered(begun.discovery, folder, released_answers(state, begun.discovery), charged=False)
        key = signing_key(state)
        if begun is None or begun.finished:
            begun = _begin(state, spec, plan, request)
        workspace = Workspace(state=state, release_id=begun.discovery, spec=spec, mlflow_run_id="")
        with leased(workspace.vault):
            require_same_key(workspace, begun.commitment)
            snapshot = require_same_copy(workspace, workspace.vault / _SNAPSHOT, begun.snapshot)
            content, entry, fresh = _answered(workspace, plan, snapshot)
            folder = publish_discovery(workspace, content, entry, key)
            note(workspace, replace(begun, finished=True))
            end_custody(workspace)
        return Discovered(begun.discovery, folder, released_answers(state, begun.discovery), charged=fresh)


def _begin(state: Path, spec: ReleaseSpec, plan: DiscoveryPlan, request: str) -> Begun:
    """Check the budget, make a key, copy the columns, and note all of it; nothing is charged yet."""
    ledger = state_ledger(state)
    if spec.budget is not None:
        ledger.set_policy(policy_of(spec, spec.budget), unless_set=True)
    first = f"{spec.name}-discovery-{datetime.now(UTC):%Y%m%dT%H%M%SZ}"
    names = (first, *(f"{first}-{number}" for number in range(2, _MOST_AT_ONCE)))
    name = next(each for each in names if not (state / "vault" / each).exists())
    ledger.check(charge_of(spec, plan, name))
    workspace = Workspace(state=state, release_id=name, spec=spec, mlflow_run_id="")
    # A source that cannot be read leaves no key behind.
    with opened_source(spec, state / "cache", columns_of(spec, plan)) as source:
        make_private_folder(workspace.vault.parent)
        workspace.vault.mkdir(mode=PRIVATE_FOLDER)
        with leased(workspace.vault):
            keep_key(workspace)
            with workspace.writing(_SNAPSHOT, Audience.RESTRICTED) as path:
                write_snapshot(path, source)
            copied = workspace.refer("snapshot", _SNAPSHOT, Audience.RESTRICTED)
            begun = Begun(name, spec.dataset_name, request, workspace.key().commitment(), copied.digest)
            note(workspace, begun)
    return begun


def columns_of(spec: ReleaseSpec, plan: DiscoveryPlan) -> tuple[str, ...]:
    """The columns of the source that are read: those requested, and the one that distinguishes people."""
    asked = tuple(question.column for question in plan.questions)
    return asked if spec.person is None else (*asked, spec.person.column)


def _answered(workspace: Workspace, plan: DiscoveryPlan, snapshot: Reference) -> tuple[str, Entry, bool]:
    """Charge the discovery, draw, and note that the output is stored; a repeated run does the same again."""
    ledger, spec = open_ledger(workspace), workspace.spec
    reserved = ledger.reserve(
        charge_of(spec, plan, workspace.release_id, inputs=snapshot.digest, commitment=workspace.key().commitment())
    )
    content = document_text(drawn(workspace, plan, snapshot))
    ledger.commit(reserved.identity, sha256(content.encode()).hexdigest())
    return content, reserved.entry, reserved.fresh


def drawn(workspace: Workspace, plan: DiscoveryPlan, snapshot: Reference) -> Answers:
    """The answers from the copy of the source, by the streams of the discovery's key: the same whenever it is called.

    Args:
        workspace: the discovery, which must have been charged.
        plan: what is requested.
        snapshot: the copy.
    """
    open_stream = partial(workspace.key().stream, step=stream_name(STEP, STEP), inputs=snapshot.digest)
    return answers(plan, _counted(workspace, plan, snapshot), open_stream)


def _counted(workspace: Workspace, plan: DiscoveryPlan, snapshot: Reference) -> Mapping[str, Counter[str]]:
    """For each column the number of records with each text; of each person one record counts, chosen at random."""
    counts: dict[str, Counter[str]] = {question.column: Counter() for question in plan.questions}
    person = workspace.spec.person
    kept = None if person is None else _one_of_each(workspace, snapshot, person)
    for batch in _batches(snapshot.path):
        chosen = batch if kept is None else batch.filter(pa.array(next(kept)))
        for question in plan.questions:
            found = pc.value_counts(chosen.column(question.column))
            texts, numbers = found.field("values").to_pylist(), found.field("counts").to_pylist()
            for text, number in zip(texts, numbers, strict=True):
                if text is not None and _counts(text, question):
                    counts[question.column][text] += number
    return counts


def _counts(text: str, question: Question) -> bool:
    """Whether a text is a value, by a rule for each text alone: no code for missing, and one that files can have."""
    return text not in question.missing and (question.kind == "range" or fault_of_cell(text) is None)


def _batches(path: Path) -> Iterator[pa.RecordBatch]:
    with pq.ParquetFile(path) as file:
        for group in range(file.num_row_groups):
            yield from file.read_row_group(group, use_threads=False).combine_chunks().to_batches()


def _one_of_each(workspace: Workspace, snapshot: Reference, person: Person) -> Iterator[NDArray[np.bool_]]:
    """Which rows of each batch count: one of each person. Rows without an identifier do not."""
    missing = set(nobody(workspace.spec))
    key = workspace.key()
    people, words, known = [], [], []
    for chunk, batch in enumerate(_batches(snapshot.path)):
        identifiers = batch.column(person.column).to_pylist()
        named = np.array([text is not None and text not in missing for text in identifiers], bool)
        stream = key.stream(
            step=stream_name(STEP, STEP),
            mechanism="one record of each person",
            inputs=snapshot.digest,
            parameters={"person": person.column, "most_records": person.most_records},
            chunk=chunk,
        )
        people.append(person_keys(text for text, counts in zip(identifiers, named, strict=True) if counts))
        words.append(words_of_64_bits(stream, int(named.sum())))
        known.append(named)
    for named, chosen in zip(known, kept_in_chunks(people, words), strict=True):
        rows = np.zeros(len(named), bool)
        rows[named] = chosen
        yield rows
