"""Compare MLflow's run of a discovery with the signed record, from which everything in the run follows."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from deniable.foundation.checks import Check
from deniable.verification.discovery import DOCUMENT, answers_in
from schemas.provenance import RECORD
from stores.keys.signed_record import read_record
from stores.own_files import read_own_text
from stores.record.audit_target import NO_MLFLOW, AuditTarget
from stores.record.discovery_record import trusted_discovery
from stores.releases.discovery_run import RunFound, Shown, found_run, shown_of
from stores.vault.workspace import file_digest
from tasks.running.check import Checks, as_check, differences, out_of_reach

_RUN = "MLflow's run shows what the record states, and nothing else"
_TOO_OLD = "it was made before discoveries had runs in MLflow"
_FINISHED = "FINISHED"
_CHARGED = "answer_questions"


def compare_discovery_run(sealed: AuditTarget) -> Checks:
    """Check that MLflow's run of a discovery shows what the record states.

    Args:
        sealed: the discovery.

    Returns:
        The check.

    Raises:
        DeniableError: there is no record with a trusted signature, or MLflow does not have the run.
    """
    if sealed.mlflow_is_out_of_reach:
        return (out_of_reach(_RUN, NO_MLFLOW),)
    place = sealed.folder / RECORD
    record = trusted_discovery(read_record(place), str(place), sealed.trusted())
    if "runs" not in record:
        return (out_of_reach(_RUN, _TOO_OLD),)
    shown = shown_of(record, answers_in(read_own_text(sealed.folder / DOCUMENT)))
    found = found_run(sealed.state, record["runs"]["mlflow_run"])
    faults = (*_otherwise(shown, found), *_of_files(sealed.folder, found.files), *_of_steps(shown, found))
    return (Check(_RUN, faults, f"{len(shown.parameters) + len(shown.metrics) + len(shown.tags)} things"),)


def _otherwise(shown: Shown, found: RunFound) -> Iterator[str]:
    """Yield the differences between the run and the record."""
    if found.status != _FINISHED:
        yield f"the run must have ended well, and MLflow has it as {found.status}"
    if found.is_deleted:
        yield "the run was deleted"
    for kind, stated, there in (
        ("parameter", shown.parameters, found.parameters),
        ("metric", {name: repr(value) for name, value in shown.metrics.items()}, found.metrics),
    ):
        for name, what in differences(stated, there):
            yield f"{kind} {name} was {what}" + (f"; it is now {there[name]}" if what == "changed" else "")
    for name, value in shown.tags.items():
        if found.tags.get(name) != value:
            yield f"tag {name} was changed; it is now {found.tags.get(name, 'deleted')}"


def _of_files(folder: Path, files: Mapping[str, str]) -> Iterator[str]:
    """Yield the differences between the run's files and the public ones."""
    stated = {f"public/{name}": file_digest(folder / name) for name in (DOCUMENT, RECORD)}
    for name, what in differences(stated, files):
        yield f"artifact {name} was {what}"


def _of_steps(shown: Shown, found: RunFound) -> Iterator[str]:
    """Yield finished steps that show a cost other than the charge; an interrupted, repeated step shows no cost."""
    total = {name: shown.metrics[f"{name}.total"] for name in ("epsilon", "delta")}
    answered = False
    for step in found.steps:
        if step.status == _FINISHED:
            is_charged = step.name == _CHARGED
            answered |= is_charged
            for name, value in total.items():
                if step.metrics.get(name) != repr(value if is_charged else 0.0):
                    yield f"metric {name} of step {step.name} was changed; it is now {step.metrics.get(name)}"
    if not answered:
        yield f"step {_CHARGED} was deleted"


compare_discovery_run_task = as_check(compare_discovery_run, "MLflow's run")
