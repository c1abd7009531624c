"""Compare MLflow's runs of a release with the signed list of them."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from deniable.foundation.checks import Check, printable
from schemas.provenance import RECORD, Provenance
from stores.record.audit_target import NO_MLFLOW, AuditTarget, internal_part
from stores.tracking.run_diff import changes, foreign
from stores.tracking.run_tree import UNDER_WAY, Listing, listing
from tasks.running.check import Checks, as_check, out_of_reach

_RUNS = "MLflow's runs are as they were when the record was signed"
_SINCE = "only the record was added to MLflow's runs since"
_FOREIGN = "nothing in MLflow that the record does not name claims to be of the release"
_FINISHED = "FINISHED"
_SIGNED = "the step that signed"
_NOTHING_SPENT = "0.0"
# What the signing step adds to its own run after signing.
_SIGNING = re.compile(
    r"status|end time|(entry 0 of )?metric (epsilon|delta)|input record [0-9a-f]+|row of .*", re.DOTALL
)
# What lists without the columns of MLflow's tables, signed by earlier versions, do not contain either.
_LISTED_LATER = re.compile(
    r"registered model .*|experiment [^/]*/(name|creation time)|version [^/]*/(status|status message|run link)",
    re.DOTALL,
)
_ROW = re.compile(r"row of (\w+)")
_COPY = f"artifact internal/{RECORD}"


def compare_runs(sealed: AuditTarget) -> Checks:
    """Check that MLflow's runs of a release are as they were when its record was signed.

    Args:
        sealed: the release.

    Returns:
        The checks.

    Raises:
        DeniableError: there is no record with a trusted signature, or MLflow does not have the release.
    """
    if sealed.mlflow_is_out_of_reach:
        return tuple(out_of_reach(name, NO_MLFLOW) for name in (_RUNS, _SINCE, _FOREIGN))
    signed = sealed.internal()
    record, tree = signed.record, internal_part(signed).run_tree
    items: Mapping[str, str] = tree.items
    owners = {place.partition("/")[0] for place in items}
    signing = sorted(owner for owner in owners if f"{owner}/{UNDER_WAY}" in items)
    under_way = [owner.removeprefix("run ") for owner in signing]
    now = listing(sealed.state, record.runs.mlflow_run, under_way, tree.columns or {}, owners)
    if tree.columns is None:
        kept = {place: now.items[place] for place in now.items if place in items or not _LISTED_LATER.fullmatch(place)}
        now = replace(now, items=kept)
    seen = {place: items[place] for place in items if not _is_hidden(place, now)}
    titles = {**_titles(record), **dict.fromkeys(signing, _SIGNED)}
    runs = sum(owner.startswith("run ") for owner in owners)
    return (
        Check(
            _RUNS,
            tuple(changes(seen, now, titles)),
            f"{len(seen)} things in {runs} runs" + _left_out(len(items) - len(seen)),
        ),
        Check(
            _SINCE,
            tuple(printable(fault) for fault in _since(now, f"run {record.runs.mlflow_run}", signing, signed.digest)),
        ),
        Check(_FOREIGN, tuple(foreign(tree.items, now))),
    )


def _is_hidden(place: str, now: Listing) -> bool:
    """Whether an item is in a table that MLflow does not show: a server other than ours, or another version's table."""
    row = _ROW.match(place.partition("/")[2])
    return row is not None and row[1] not in now.columns


def _left_out(hidden: int) -> str:
    return f"; {hidden} more are in columns of its database that cannot be seen from here" if hidden else ""


def _titles(record: Provenance) -> dict[str, str]:
    """Return the names of the runs as used in sentences, in order."""
    titles = {f"run {record.runs.mlflow_run}": "the release"}
    for step in record.steps:
        titles[f"run {step.mlflow_run}"] = " ".join(filter(None, ("step", step.step, step.part)))
    return titles


def _since(now: Listing, release: str, signing: Sequence[str], record: str) -> Iterator[str]:
    """Yield what was added after the record was signed, other than by signing.

    Args:
        now: the present state of the runs.
        release: the run of the release.
        signing: the runs of the signing step.
        record: SHA-256 of the record's file.
    """
    for owner, title in [(release, "the release"), *((owner, _SIGNED) for owner in signing)]:
        if now.ends.get(owner, _FINISHED) != _FINISHED:
            yield f"{title} must have ended well, and MLflow has it as {now.ends[owner]}"
    for owner in signing:
        if owner in now.ends and f"{owner}/{_COPY}" not in now.later:
            yield f"{_COPY} of {_SIGNED} was deleted"
    for place, digest in sorted(now.later.items()):
        what = place.partition("/")[2]
        if what == _COPY:
            if digest != record:
                yield f"{what} of {_SIGNED} was changed"
        elif not _SIGNING.fullmatch(what):
            yield f"{what} of {_SIGNED} was added"
        elif what.startswith("metric ") and now.shown[place] != _NOTHING_SPENT:
            yield f"{what} of {_SIGNED} was changed; it is now {now.shown[place]}"


compare_runs_task = as_check(compare_runs, "MLflow's runs")
