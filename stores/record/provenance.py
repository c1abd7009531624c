"""Collects the provenance record of a release: from its notes in the vault, its accounts, the ledger and the machine.

Two renderings of one model: the public record is made as the release is published, the internal one is the same with
what only cleared staff may see. How a record is signed does not belong here (stores.keys.signed_record).
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from prefect import runtime

from deniable.foundation.errors import Refused
from deniable.ledger.entries import Charge, Entry, Fact, Output, Policy, Publication, day_of, digest_of
from schemas import datasets
from schemas.catalog import schema_code
from schemas.provenance import (
    Cost,
    Input,
    Internal,
    LedgerPlace,
    LedgerSegment,
    Provenance,
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
from stores.vault.actors import people_of
from stores.vault.runtime_environment import code_that_runs, environment_here
from stores.vault.step_log import noted_steps, spent
from stores.vault.workspace import Workspace

SEAL = "seal"
"""The step that signs the internal record, and so is not in it."""

_AFTER_PUBLICATION = ("publish", "report", SEAL)
_METHOD = (
    "The commitment is HMAC-SHA256 of the stored copy of the columns that were read. Its key is HMAC-SHA256, under the "
    "release key, of `deniable/v1/digest`, a zero byte and `artifact`. All digests of what is not public are made so. "
    "The commitment to the release key is SHA-256 of `deniable/v1/commitment`, a zero byte and the key."
)


def public_record(
    workspace: Workspace, accounts: Accounts, publishing: Step, *, records: int, signed: Signed
) -> Provenance:
    """Say how a release was made, as it is about to be published.

    Args:
        workspace: the release.
        accounts: what it costs.
        publishing: the step that publishes it, as far as it has come.
        records: number of records.
        signed: when the record is signed, on the day of publication, and by which key.

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
            previous=_previous(entries, workspace),
            # A ledger that a fast clock once wrote to is ahead of the day of publication.
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
    )


def with_publication(record: Provenance, publishing: Step) -> Provenance:
    """A public record with publication, its last step, as far as it has come by now."""
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
    """Say the same as the public record, and what only cleared staff may see.

    Args:
        workspace: the release, which is published.
        public: its public record.
        public_digest: SHA-256 of that record's file.
        run_tree: MLflow's runs of the release.
        signed: when the record will be signed, and by which key.
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
    """A spec as the record has it: not where the source lies, and of the schema's file only its name."""
    document: dict[str, Any] = spec.model_dump(mode="json", fallback=str, exclude={"source"})
    return document | {"dataset": Path(spec.dataset).name}


def cost_of(spec: ReleaseSpec, accounts: Accounts) -> Cost:
    """What a release costs, as the record has it."""
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
            )
            for step in accounts.steps
        ),
        split={name: str(probability) for name, probability in spec.split.probabilities.items()},
    )


def ledger_segment(
    entries: Sequence[Entry], *, release: str, dataset: str, commitment: str, first: int | None = None
) -> LedgerSegment:
    """The entries from a release's first charge to the last there is; what concerns others is sealed.

    Charges under the release's key are its own, whichever release they were first made for: a replay draws what they
    paid for.

    Args:
        entries: all entries of the ledger.
        release: the release's name.
        dataset: the dataset's name, whose policies are shown too.
        commitment: commitment to the release key.
        first: the number of the first of them, where it is known; a release that was charged nothing has none yet.
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
    """The release of the dataset that was published last, before this one."""
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
    """Keyed digest of the snapshot, as the step that made it noted it."""
    for step in steps:
        for made in step.outputs:
            if made.name == "snapshot":
                return made.digest
    raise Refused(
        "a release must have noted in its vault what each step did, and has not; give it up by python -m flows discard."
    )


def _table_schema(spec: ReleaseSpec) -> TableSchema:
    """The file that describes the table, as it is."""
    shipped = Path(datasets.__path__[0]) / f"{spec.dataset}.py"
    path = spec.folder / spec.dataset if spec.dataset.endswith(".py") else shipped
    return TableSchema(
        dataset=Path(spec.dataset).name,
        code=schema_code(spec.dataset, spec.folder),
        source=path.read_bytes().decode(),
        domain=spec.domain.digest,
    )
