"""The rehearsal: releases of public records at several epsilons, judged as releases are, before epsilon is spent.

It runs the steps of a release in a scratch folder with a ledger, a key and an MLflow of its own. The confidential
source is never opened, nothing is charged, and nothing is published.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from statistics import median
from sys import platform
from time import process_time
from typing import Any, Final

import numpy as np
from prefect import flow

from deniable.evaluation.contract import Value
from deniable.evaluation.metrics.groups import GOOD_FROM
from deniable.evaluation.uses import USES, judged
from deniable.foundation.errors import InvalidInput, Refused
from deniable.foundation.keys import ReleaseKey
from deniable.inference.answers import Asked
from deniable.inference.estimation import Inference
from deniable.inference.system import NotMeasured
from deniable.inference.tables import table
from deniable.learners.registry import READING
from deniable.ledger.entries import Cost
from deniable.measurements.document import Measurements
from deniable.measurements.estimates import probability_of
from flows.rehearsing.stand_ins import Standing
from flows.release import Drawn, Judged, draw_from_codes, judge
from flows.release_session import new_vault
from schemas.references import Audience
from schemas.rehearsal import Grade, Rehearsal, Rung
from schemas.spec.loading import read_yaml
from schemas.spec.release_spec import ReleaseSpec, spec_of
from stores.ledger.database import written_time
from stores.ledger.ledger import ledger_place
from stores.ledger.settled_ledger import write_settled_ledger
from stores.own_files import read_own
from stores.tables.tables import CodesWriter
from stores.tracking.release_run import recorded_release
from stores.vault.scratch import scratch_folder
from stores.vault.workspace import Workspace, discard_folders
from tasks.data.account import account_task
from tasks.running.cancellation import allow_steps, stop_steps

LADDER: Final = tuple(map(Fraction, ("0.25", "0.5", "1", "2", "4")))
"""The epsilons that are tried unless others are given; that of the spec is always among them."""

_ROOM = Cost(epsilon=Fraction(10**9), delta=Fraction(1))
_PATIENCE_S = 30.0
_LEFT_OUT = ("budget", "decision", "key", "publication", "refresh", "thresholds")
"""Entries of a spec that decide nothing about what is drawn and measured."""
_CAUTION: Final[tuple[Grade, ...]] = ("do not", "not decided", "with caution", "good")
_KIB = 1024
_MIB = 1 << 20


def rehearse(
    path: Path,
    state: Path,
    standing: Standing,
    epsilons: Sequence[Fraction],
    repeats: int,
    told: Callable[[Rung], None],
) -> Rehearsal:
    """Release public records at each epsilon, under several keys, and judge what was drawn.

    Args:
        path: the release spec.
        state: the state folder, for a scratch folder.
        standing: the public records.
        epsilons: epsilons of a whole release.
        repeats: number of releases at each epsilon, each under its own key.
        told: receives what was found at an epsilon, as soon as it is.

    Returns:
        The rehearsal.

    Raises:
        InvalidInput: the spec cannot be rehearsed at these epsilons.
        Refused: a release cannot be made of these records.
    """
    written = read_yaml(path)
    own = _own(written)
    specs = {epsilon: at_epsilon(written, path, epsilon) for epsilon in sorted({*epsilons, own})}
    spec, rungs = specs[own], list[Rung]()

    # Prefect would store the records if they were a parameter of the flow.
    @flow(name="rehearsal", persist_result=False)
    def climb() -> None:
        with scratch_folder(state, f"{spec.name}-rehearsal") as scratch:
            began = written_time(datetime.now(UTC))
            write_settled_ledger(Path(ledger_place(scratch)), spec.dataset_name, (), began, _ROOM)
            for epsilon, each in specs.items():
                rungs.append(_rung(scratch, each, epsilon, standing, repeats))
                told(rungs[-1])

    climb()
    return Rehearsal(
        dataset=spec.dataset_name,
        title=spec.title,
        learner=spec.learner.kind,
        guarantee=spec.synthesis.guarantee,
        records=spec.synthesis.records,
        ended=written_time(datetime.now(UTC)),
        stand_in=standing.what,
        repeats=repeats,
        own=_text(own),
        rungs=tuple(rungs),
    )


def _own(written: Mapping[str, Any]) -> Fraction:
    """Return the epsilon of the whole release that a spec states."""
    own = written.get("epsilon")
    if not isinstance(own, Fraction | int) or isinstance(own, bool):
        raise InvalidInput(
            "a spec must state epsilon, that of the whole release, to be rehearsed at several, and this one does not; "
            "write `epsilon: 1` in place of the budgets of its steps."
        )
    return Fraction(own)


def at_epsilon(written: Mapping[str, Any], path: Path, epsilon: Fraction) -> ReleaseSpec:
    """Return a spec as it would be at another epsilon of the whole release.

    Args:
        written: the spec as it was read.
        path: its file.
        epsilon: epsilon of the whole release.

    Raises:
        InvalidInput: the spec is wrong at that epsilon, or cannot be rehearsed.
    """
    budget = written.get("budget")
    named = {"dataset": budget["dataset"]} if isinstance(budget, Mapping) and "dataset" in budget else {}
    changed = {name: value for name, value in written.items() if name not in _LEFT_OUT}
    changed |= {"epsilon": epsilon, "budget": {**named, "epsilon": epsilon, "delta": Fraction(1)}}
    spec = spec_of(changed, path)
    if spec.learner.kind in READING:
        raise InvalidInput(
            f"a rehearsal must learn a model, and a learner of kind {spec.learner.kind} reads one that is paid for; "
            "rehearse the spec of that model."
        )
    return spec


def _rung(scratch: Path, spec: ReleaseSpec, epsilon: Fraction, standing: Standing, repeats: int) -> Rung:
    """Release the records at one epsilon, once under each key."""
    made, total = list[_Made](), 0.0
    # Public records do not say whose they are: each stands for a person.
    several = spec.most_records > 1
    for _ in range(repeats):
        vault = new_vault(scratch, spec.name)
        release_id = vault.name
        began = process_time()
        allow_steps(release_id)
        try:
            with recorded_release(scratch, release_id, spec) as run_id:
                workspace = Workspace(state=scratch, release_id=release_id, spec=spec, mlflow_run_id=run_id)
                with workspace.writing("key", Audience.RESTRICTED) as place:
                    place.write_bytes(ReleaseKey.generate().secret)
                with (
                    workspace.writing("codes.parquet", Audience.RESTRICTED) as place,
                    CodesWriter(place, spec.domain, spec.chunk_rows, of_people=several) as writer,
                ):
                    writer.write(standing.codes, np.arange(len(standing.codes)) if several else None)
                codes = workspace.refer("codes", "codes.parquet", Audience.RESTRICTED, len(standing.codes))
                reading = Workspace(
                    state=scratch, release_id=release_id, spec=spec.reading(codes.path), mlflow_run_id=run_id
                )
                accounts = account_task(reading)
                drawn = draw_from_codes(reading, codes, codes)
                made.append(_made(reading, drawn, judge(reading, drawn), began))
                total = accounts.total.epsilon if accounts.total is not None else float(epsilon)
        finally:
            # Steps in other threads must have ended before their files are removed.
            stop_steps(release_id, _PATIENCE_S)
            discard_folders(scratch, release_id)
    sizes = [each.group_size for each in made if each.group_size is not None]
    widths = [each.width for each in made if each.width is not None]
    return Rung(
        epsilon=_text(epsilon),
        total=total,
        uses={
            use.name: most_cautious(each.uses[use.name] for each in made)
            for use in USES
            if all(use.name in each.uses for each in made)
        },
        width=median(widths) if widths else None,
        group_size=int(median(sizes)) if len(sizes) == len(made) else None,
        passed=median(each.passed for each in made) if spec.synthesis.attempts != spec.synthesis.records else None,
        seconds=median(each.seconds for each in made),
        memory=_peak() // _MIB,
    )


def most_cautious(grades: Iterable[Grade]) -> Grade:
    """Return the grade that permits least: a choice by the best of several releases would be one by luck."""
    return min(grades, key=_CAUTION.index)


@dataclass(frozen=True)
class _Made:
    """What one release was like.

    Attributes:
        uses: the grade of each use that was judged.
        width: median width of the intervals of shares, if there are any.
        group_size: size from which on groups are well described, if any is.
        passed: share of the candidates that passed.
        seconds: processor seconds.
    """

    uses: Mapping[str, Grade]
    width: float | None
    group_size: int | None
    passed: float
    seconds: float


def _made(workspace: Workspace, drawn: Drawn, found: Judged, began: float) -> _Made:
    spec, figures = workspace.spec, found.utility.figures
    values = {name: Value(value, found.utility.errors.get(name)) for name, value in figures.items()}
    size = figures.get(GOOD_FROM)
    return _Made(
        uses={name: grade or "not decided" for name, grade in judged(values, spec.evaluation.scope).items()},
        width=_width(workspace, drawn),
        group_size=None if size is None else int(size),
        passed=drawn.passed / max(spec.synthesis.attempts, 1),
        seconds=process_time() - began,
    )


def _width(workspace: Workspace, drawn: Drawn) -> float | None:
    """Return the median width of the intervals for shares of single values; None if nothing is measured."""
    measured = drawn.made.get("measured")
    if measured is None:
        return None
    spec = workspace.spec
    known = Measurements.from_document(spec.domain.modelled, json.loads(read_own(measured.path)))
    try:
        inference = Inference(known, probability=probability_of(known, spec.split.probabilities))
        answers = [
            answer
            for name in known.domain.names
            for answer in table(inference, [name], "share", Asked(), sources=False).answers
        ]
    except (Refused, NotMeasured):
        return None
    widths = [answer.interval.high - answer.interval.low for answer in answers if answer.interval is not None]
    return median(widths) if widths else None


def _peak() -> int:
    """Return the largest memory of the process so far, in bytes."""
    return getrusage(RUSAGE_SELF).ru_maxrss * (1 if platform == "darwin" else _KIB)


def _text(epsilon: Fraction) -> str:
    return f"{float(epsilon):.6g}"
