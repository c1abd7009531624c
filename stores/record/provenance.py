"""Collects the provenance record of a release from its notes in the vault, its accounts, the ledger and the machine.

The model has two renderings: the public record is made when the release is published; the internal one contains the
same and the material for cleared staff. Signing does not belong here (stores.keys.signed_record).
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from prefect import runtime

from deniable.command_names import command_line
from deniable.foundation.errors import Refused
from deniable.ledger.entries import Charge, Entry, Fact, Output, Policy, Publication, day_of, digest_of
from deniable.privacy.step_costs import StepCost
from deniable.record.approval import subject_of
from schemas import datasets
from schemas.catalog import schema_code
from schemas.provenance import (
    Cost,
    Input,
    Internal,
    JointlySpent,
    LedgerPlace,
    LedgerSegment,
    PrivacyUnit,
    Provenance,
    Rehearsed,
    Released,
    Runs,
    RunTree,
    Signed,
    Spec,
    Step,
    StepSpent,
    TableSchema,
)
from schemas.references import Audience
from schemas.spec.accounts import Accounts
from schemas.spec.flow_steps import flow_steps
from schemas.spec.release_spec import ReleaseSpec
from stores.ledger.charging import open_ledger
from stores.record.rehearsals import last_rehearsal
from stores.vault.actors import people_of
from stores.vault.runtime_environment import code_that_runs, environment_here
from stores.vault.step_log import noted_steps, seeded_records, spent
from stores.vault.workspace import Workspace

SEAL = "seal"
"""The step that signs the internal record and is therefore not in it."""

_MOMENT = "%Y%m%dT%H%M%SZ"
_AFTER_PUBLICATION = ("publish", "report", SEAL)
_METHOD = (
    "The commitment is HMAC-SHA256 of the stored copy of the columns that were read. Its key is HMAC-SHA256, under the "
    "release key, of `deniable/v1/digest`, a zero byte and `artifact`. All digests of what is not public are made so. "
    "The commitment to the release key is SHA-256 of `deniable/v1/commitment`, a zero byte and the key."
)


def public_record(
    workspace: Workspace, accounts: Accounts, publishing: Step, *, records: int, signed: Signed
) -> Provenance:
    """Describe how a release was made, just before its publication.

    Args:
        workspace: the release.
        accounts: its privacy costs.
        publishing: the publication step, as far as it has progressed.
        records: number of records.
        signed: time and key of the signature, on the day of publication.

    Returns:
        The public rendering.
    """
    spec = workspace.spec
    done = [step for step in _steps(workspace) if step.step not in _AFTER_PUBLICATION]
    entries = open_ledger(workspace).entries()
    document = spec_document(spec)
    key = workspace.key().commitment()
    segment = ledger_segment(entries, release=workspace.release_id, dataset=spec.dataset_name, commitment=key)
    return Provenance(
        rendering="public",
        release=Released(
            id=workspace.release_id,
            title=spec.title,
            dataset=spec.dataset_name,
            records=records,
            seeded=seeded_records(workspace),
            previous=_previous(entries, workspace),
            # The ledger may be ahead of the day of publication if a clock was once fast.
            begun=min([signed.day, *(day_of(entry["time"]) for entry in segment.entries[:1])]),
            published=signed.day,
        ),
        spec=Spec(digest=digest_of(document), document=document),
        schema=_table_schema(spec),
        input=Input(commitment=_commitment(done), key=key, method=_METHOD),
        steps=tuple(step.public() for step in (*done, publishing)),
        cost=cost_of(spec, accounts),
        ledger=segment,
        code=code_that_runs(),
        environment=environment_here(),
        runs=Runs(
            prefect_flow_run=str(runtime.flow_run.id) if runtime.flow_run.id else None,
            mlflow_experiment=spec.dataset_name,
            mlflow_run=workspace.mlflow_run_id,
        ),
        people=people_of(workspace),
        signed=signed,
        **_rehearsed(workspace),  # a field that was not set is not written
    )


def _rehearsed(workspace: Workspace) -> dict[str, Any]:
    """Return the last rehearsal of the dataset that ended before the release began, if there was one."""
    # The name has the second in which it began; the ledger's times are in whole minutes.
    try:
        began = datetime.strptime(workspace.release_id.rpartition("-")[2], _MOMENT).replace(tzinfo=UTC)
    except ValueError:
        return {}
    rehearsal = last_rehearsal(workspace.state, workspace.spec.dataset_name, f"{began:%Y-%m-%dT%H:%M:%S.999999Z}")
    if rehearsal is None:
        return {}
    stand_in = rehearsal.stand_in
    told = Rehearsed(
        digest=rehearsal.digest,
        ended=day_of(rehearsal.ended),
        stand_in=stand_in.kind,
        name=stand_in.name,
        sha256=stand_in.sha256,
        epsilons=tuple(rung.epsilon for rung in rehearsal.rungs),
    )
    return {"rehearsal": told}


def with_publication(record: Provenance, publishing: Step) -> Provenance:
    """A public record with the current progress of publication, its last step."""
    return record.model_copy(update={"steps": (*record.steps[:-1], publishing.public())})


def internal_record(
    workspace: Workspace,
    public: Provenance,
    *,
    public_digest: str,
    run_tree: RunTree,
    signed: Signed,
    shelf: Mapping[str, str],
) -> Provenance:
    """Extend the public record by the material for cleared staff.

    Args:
        workspace: the release, which is published.
        public: its public record.
        public_digest: SHA-256 of that record's file.
        run_tree: MLflow's runs of the release.
        signed: time and key of the signature.
        shelf: digests of the files on its shelf.

    Returns:
        The internal rendering.
    """
    steps = [step for step in _steps(workspace) if step.step != SEAL]
    internal = {
        name: value
        for step in steps
        if step.part is None
        for name, value in (step.figures or {}).items()
        if name.startswith(f"{Audience.INTERNAL}/")
    }
    return Provenance(
        rendering="internal",
        release=public.release,
        spec=public.spec,
        schema=public.table_schema,
        input=public.input,
        steps=tuple(steps),
        cost=public.cost,
        ledger=ledger_segment(
            open_ledger(workspace).entries(),
            release=public.release.id,
            dataset=public.release.dataset,
            commitment=public.input.key,
            first=0 if public.ledger.before is None else public.ledger.before.number + 1,
        ),
        code=public.code,
        environment=public.environment,
        runs=public.runs,
        people=public.people,
        signed=signed,
        internal=Internal(figures=internal, public_record=public_digest, run_tree=run_tree, shelf=dict(shelf)),
    )


def spec_document(spec: ReleaseSpec) -> dict[str, Any]:
    """A spec in the form of the record: without the location of the source, and only with the name of the schema."""
    document: dict[str, Any] = spec.model_dump(mode="json", fallback=str, exclude={"source"})
    return document | {"dataset": Path(spec.dataset).name}


def approval_subject(workspace: Workspace, accounts: Accounts) -> dict[str, Any]:
    """What an approval of a release is bound to before its record is there (deniable.record.approval).

    Args:
        workspace: the release, whose steps are all charged.
        accounts: its privacy costs.
    """
    spec, document = workspace.spec, spec_document(workspace.spec)
    segment = ledger_segment(
        open_ledger(workspace).entries(),
        release=workspace.release_id,
        dataset=spec.dataset_name,
        commitment=workspace.key().commitment(),
    )
    return subject_of(
        {
            "release": {"id": workspace.release_id, "dataset": spec.dataset_name},
            "spec": {"digest": digest_of(document), "document": document},
            "schema": _table_schema(spec).model_dump(mode="json"),
            "cost": cost_of(spec, accounts).model_dump(mode="json"),
            "ledger": {"entries": segment.entries},
        }
    )


def cost_of(spec: ReleaseSpec, accounts: Accounts) -> Cost:
    """The costs of a release in the form of the record."""
    model = spent(accounts.model)
    if model is None:
        raise ValueError("a model has a guarantee")
    return Cost(
        kind=accounts.kind,
        model=model,
        total=spent(accounts.total),
        steps=tuple(
            StepSpent(
                step=step.step,
                part=step.part,
                probability=str(step.probability),
                guarantee=spent(step.guarantee),
                record=spent(step.record),
                events=tuple(event.to_record() for event in step.events),
                joint=_jointly_spent(step),
            )
            for step in accounts.steps
        ),
        split={name: str(probability) for name, probability in spec.split.probabilities.items()},
    )


def _jointly_spent(step: StepCost) -> JointlySpent | None:
    found = None if step.joint is None else spent(step.joint.guarantee)
    return None if found is None or step.joint is None else JointlySpent(cost=found, steps=step.joint.steps)


def ledger_segment(
    entries: Sequence[Entry], *, release: str, dataset: str, commitment: str, first: int | None = None
) -> LedgerSegment:
    """The entries from a release's first charge to the end of the ledger; entries that concern others are sealed.

    Charges under the release's key belong to it, whichever release they were first made for: a replay draws what they
    paid for.

    Args:
        entries: all entries of the ledger.
        release: the release's name.
        dataset: the dataset's name; its policies are also shown.
        commitment: commitment to the release key.
        first: the number of the first of these entries, if known; a release without charges has none yet.
    """
    facts = [entry.fact() for entry in entries]
    charged = {fact.identity for fact in facts if isinstance(fact, Charge) and fact.commitment == commitment}

    def is_shown(fact: Fact) -> bool:
        return (
            (isinstance(fact, Charge | Output) and fact.identity in charged)
            or (isinstance(fact, Publication) and fact.release == release)
            or (isinstance(fact, Policy) and fact.dataset == dataset)
        )

    own = (number for number, fact in enumerate(facts) if isinstance(fact, Charge) and fact.identity in charged)
    first = next(own, len(entries)) if first is None else first
    return LedgerSegment(
        before=_place(entries[first - 1]) if first else None,
        entries=tuple(
            entry.to_record() if is_shown(fact) else entry.sealed().to_record()
            for entry, fact in zip(entries[first:], facts[first:], strict=True)
        ),
        head=_place(entries[-1]),
    )


def _place(entry: Entry) -> LedgerPlace:
    return LedgerPlace(number=entry.number, digest=entry.digest)


def _previous(entries: Iterable[Entry], workspace: Workspace) -> str | None:
    """The previously published release of the dataset."""
    previous = None
    for fact in (entry.fact() for entry in entries if entry.kind == Publication.kind):
        if isinstance(fact, Publication) and fact.dataset == workspace.spec.dataset_name:
            if fact.release == workspace.release_id:
                break
            previous = fact.release
    return previous


def _steps(workspace: Workspace) -> tuple[Step, ...]:
    return noted_steps(workspace, tuple(flow_steps(workspace.spec)))


def _commitment(steps: Iterable[Step]) -> str:
    """Keyed digest of the snapshot, from the note of the step that made it."""
    for step in steps:
        for made in step.outputs:
            if made.name == "snapshot":
                return made.digest
    raise Refused(
        f"a release must have notes on each step in its vault, and has not; abandon it with "
        f"{command_line('release discard')}."
    )


def _table_schema(spec: ReleaseSpec) -> TableSchema:
    """The file that describes the table, unchanged."""
    shipped = Path(datasets.__path__[0]) / f"{spec.dataset}.py"
    path = spec.folder / spec.dataset if spec.dataset.endswith(".py") else shipped
    said = TableSchema(
        dataset=Path(spec.dataset).name,
        code=schema_code(spec.dataset, spec.folder),
        source=path.read_bytes().decode(),
        domain=spec.domain.digest,
    )
    if spec.person is None:
        return said
    unit = PrivacyUnit(column=spec.person.column, most_records=spec.person.most_records)
    return said.model_copy(update={"person": unit})
