"""Answer the questions of a discovery: charge it, draw the noise, and note in the ledger what is released.

The requested columns are counted from the copy in the vault, so that an interrupted discovery repeats the same draws
when it is resumed, and is charged once. schemas.codebooks.proposals writes the proposals into a schema.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
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
from deniable.foundation.uniform import words_of_64_bits
from deniable.ledger.drawing_versions import stream_name
from deniable.ledger.entries import Entry
from deniable.privacy.loss import Guarantee
from deniable.privacy.one_person import kept_in_chunks, person_keys
from schemas.plain_text import fault_of_cell
from schemas.references import Reference
from stores.ledger.charging import open_ledger, reserve_charge
from stores.releases.discoveries import charge_of, document_text, nobody
from stores.tracking.step_run import recorded_step
from stores.vault.workspace import Workspace
from tasks.running.step import as_task


@dataclass(frozen=True)
class Answered:
    """The result of a discovery.

    Attributes:
        content: the text of its document.
        entry: the ledger entry of its charge.
        fresh: whether this run charged it; if not, an earlier one did.
    """

    content: str
    entry: Entry
    fresh: bool


def answer_questions(workspace: Workspace, plan: DiscoveryPlan, snapshot: Reference) -> Answered:
    """Charge the discovery, draw, and note what was drawn; a repeated run draws the same and charges nothing.

    Args:
        workspace: the discovery.
        plan: what is requested.
        snapshot: the copy of the columns.

    Raises:
        BudgetExceeded: the dataset's budget has no room for it; nothing was drawn.
    """
    with recorded_step(workspace, "answer_questions", [snapshot]) as step:
        commitment = workspace.key().commitment()
        charge = charge_of(workspace.spec, plan, workspace.release_id, inputs=snapshot.digest, commitment=commitment)
        reserved = reserve_charge(workspace, charge)
        cost = charge.claim.cost
        step.spent(Guarantee(float(cost.epsilon), float(cost.delta), charge.claim.accountant), plan.events)
        content = document_text(drawn(workspace, plan, snapshot))
        open_ledger(workspace).commit(reserved.identity, sha256(content.encode()).hexdigest())
        return Answered(content, reserved.entry, reserved.fresh)


def drawn(workspace: Workspace, plan: DiscoveryPlan, snapshot: Reference) -> Answers:
    """Return the answers from the copy of the source, drawn by the streams of the discovery's key; always the same.

    Args:
        workspace: the discovery, which must have been charged.
        plan: what is requested.
        snapshot: the copy.
    """
    open_stream = partial(workspace.key().stream, step=stream_name(STEP, STEP), inputs=snapshot.digest)
    return answers(plan, _counted(workspace, plan, snapshot), open_stream)


def _counted(workspace: Workspace, plan: DiscoveryPlan, snapshot: Reference) -> Mapping[str, Counter[str]]:
    """Count the records with each text in each column; one record per person counts, chosen at random."""
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
    """Whether a text counts as a value, by a rule for each text alone: not a missing code, and valid in files."""
    return text not in question.missing and (question.kind == "range" or fault_of_cell(text) is None)


def _batches(path: Path) -> Iterator[pa.RecordBatch]:
    with pq.ParquetFile(path) as file:
        for group in range(file.num_row_groups):
            yield from file.read_row_group(group, use_threads=False).combine_chunks().to_batches()


def _one_of_each(workspace: Workspace, snapshot: Reference, person: Person) -> Iterator[NDArray[np.bool_]]:
    """Yield which rows of each batch count: one per person, of however many a release may use several.

    Rows without an identifier do not count.
    """
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
            parameters={"person": person.column, "most_records": 1},
            chunk=chunk,
        )
        people.append(person_keys(text for text, counts in zip(identifiers, named, strict=True) if counts))
        words.append(words_of_64_bits(stream, int(named.sum())))
        known.append(named)
    for named, chosen in zip(known, kept_in_chunks(people, words), strict=True):
        rows = np.zeros(len(named), bool)
        rows[named] = chosen
        yield rows


answer_questions_task = as_task(answer_questions, kept=False)
