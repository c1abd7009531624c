"""The audited steps: those of the smallest release of every learner in the registry, as a flow plans and runs them."""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.audits.auditing import Case, Neighbours, key_of
from benchmarks.audits.drawn import plain_domain
from benchmarks.audits.learned import StepExperiment, made_up, series_of, series_of_many
from benchmarks.audits.tracing import Answer
from deniable.foundation.domain import Codes, Domain
from deniable.learners.registry import LEARNERS as REGISTERED
from deniable.learners.registry import entry_of, steps_of
from deniable.mechanisms import PlannedStep
from deniable.privacy.accounting import best
from deniable.privacy.group_privacy import of_person
from deniable.privacy.loss import ConcentratedEvent, ExponentialEvent, Guarantee
from schemas.spec.plan import plan_release
from schemas.spec.release_spec import ReleaseSpec, load_spec
from tasks.data.public_rows import PublicCounter
from tests.mechanisms.table import CERTIFIED, CHARGED, LEARNERS, SAMPLERS
from tests.small_release import write_small_release

TOGETHER = 3
"""Number of records of a person in the audits of group privacy."""
OF_PERSONS = (("independent", 0), ("marginals", 1), ("privbayes", 0))
"""Learners, and numbers of their noise, that are audited with several records of each person."""

SCHEMA = """
from schemas.table import nominal, numeric, table

schema = table(
    {
        "age": numeric(18, 21, width=2),
        "sex": nominal(["f", "m"]),
        "school": nominal(["none", "some", "degree"]),
        "employed": nominal(["no", "yes"]),
    },
    description="Made-up people of few ages.",
    target="employed",
)
"""
"""Few values, so that one record weighs as much as it can, and a run takes little time."""

_FOLDER = tempfile.TemporaryDirectory(prefix="deniable-audit-")


@cache
def spec_of(kind: str, noise: int = 0) -> ReleaseSpec:
    """Return the spec of a learner's smallest release.

    Args:
        kind: the learner.
        noise: number of the kind of noise.
    """
    own = LEARNERS[kind]
    return spec_with({**SAMPLERS["seedless"], **own.asked, **own.with_noise(noise)})


def spec_with(asked: Mapping[str, Any]) -> ReleaseSpec:
    """Return the spec of a small release with changes; of a table with few values, unless a public file has more."""
    folder = Path(tempfile.mkdtemp(dir=_FOLDER.name))
    has_public_file = any("public_file" in str(value) for value in asked.get("learner", {}).values())
    return load_spec(write_small_release(folder, **{**({} if has_public_file else {"schema": SCHEMA}), **asked}))


def steps_with_cost(spec: ReleaseSpec) -> Iterator[tuple[PlannedStep, Mapping[str, Any]]]:
    """Yield the steps of a learner that read confidential rows, and what earlier steps have made of no rows.

    What is made before is a public input of the audited step.
    """
    there: dict[str, Any] = {}
    *before, last = plan_release(spec).learning
    for step in before:
        if step.part is not None:
            yield step, dict(there)
        there |= made_before(spec, step, there)
    if last.part is not None:
        yield last, dict(there)


def made_before(spec: ReleaseSpec, step: PlannedStep, given: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the products of a step of a fixed table, under a fixed key."""
    key = key_of(step.name, "before", 0)
    if step.public is not None:
        counter = PublicCounter(spec, step.public, Path(_FOLDER.name))
        made = step.run(counter, given, lambda **_: key.stream(step="", mechanism="", inputs="", parameters={}))
        return made.products
    return StepExperiment(step, given).run(a_table(spec), key)[1].products


def a_table(spec: ReleaseSpec) -> Codes:
    """Return a table of 2,000 records of a domain."""
    draw = made_up(list(b"a table"))
    sizes = spec.domain.cardinalities
    return np.stack([draw.integers(size, size=2000) for size in sizes], axis=1).astype(np.uint16)


@cache
def cases_of_learners() -> tuple[Case, ...]:
    """Return the audits of all steps, of all learners in the registry, with each kind of noise."""
    return tuple(_of_learners())


def _of_learners() -> Iterator[Case]:
    for name, spec in specs_of_learners():
        yield from _of_steps(name, spec)
    domain = plain_domain(*(3,) * 6)
    entry = entry_of("loglinear")(kind="loglinear", noise="gaussian", parameters={"epsilon": 1, "delta": 1e-6})
    for step in steps_of(entry, domain, lambda delta: delta):
        if step.guarantee is not None:
            case = case_of_step("loglinear, gaussian noise and choices", step, {}, step.guarantee, domain)
            yield replace(case, series=(series_of_many(domain, 3000),))


@cache
def specs_of_learners() -> tuple[tuple[str, ReleaseSpec], ...]:
    """Return the smallest release of every learner in the registry with each kind of noise, and its name in audits."""
    return tuple(_specs_of_learners())


def _specs_of_learners() -> Iterator[tuple[str, ReleaseSpec]]:
    for kind in REGISTERED:
        noises = [number for number, name in enumerate(LEARNERS[kind].noises) if name != "auto"] or [0]
        for number in noises:
            named = f", {LEARNERS[kind].noises[number]} noise" if LEARNERS[kind].noises else ""
            yield f"{kind}{named}", spec_of(kind, number)
    yield "pegs with measured orders", spec_with(SAMPLERS[CHARGED])


def _of_steps(name: str, spec: ReleaseSpec) -> Iterator[Case]:
    for step, given in steps_with_cost(spec):
        yield case_of_step(name, step, given, guarantee_of(spec, step), spec.domain)


def case_of_step(
    name: str,
    step: PlannedStep,
    given: Mapping[str, Any],
    claim: Guarantee,
    domain: Domain,
    kind: str = "learners",
    together: int = 1,
) -> Case:
    """Return the audit of a step."""
    return Case(
        name=f"{name}: {step.name}",
        claim=claim,
        experiment=StepExperiment(step, given),
        series=series_of(domain, together),
        kind=kind,
        choice=claim_of_choices(step, together),
    )


def claim_of_choices(step: PlannedStep, together: int = 1) -> float | None:
    """Return the largest epsilon that a step claims for one choice; None if it makes none.

    Choices that are charged together with other answers, by their rho, have no claim of their own. Each spends at most
    that rho, and an exponential mechanism of epsilon has epsilon^2 / 8 (Cesar and Rogers 2021, on bounded range).
    """
    claims = [float(event.epsilon_per_choice) for event in step.events if isinstance(event, ExponentialEvent)]
    claims += [sqrt(8 * float(event.rho_per_output)) for event in step.events if isinstance(event, ConcentratedEvent)]
    return together * max(claims) if claims else None


def guarantee_of(spec: ReleaseSpec, step: PlannedStep) -> Any:
    """Return what the release states for a step, for the records that it reads."""
    stated = plan_release(spec).cost(step).guarantee
    if stated is None:
        raise ValueError(f"step {step.name} claims nothing")
    return stated


def cases_of_certificates() -> Iterator[Case]:
    """Yield the audits of a model with its certificate, and of the certificate alone, given everything before it."""
    for kind in CERTIFIED:
        spec = spec_with(CERTIFIED[kind])
        for step, given in steps_with_cost(spec):
            stated = guarantee_of(spec, step)
            whole = case_of_step(f"{kind} with a certificate", step, given, stated, spec.domain, "certificates")
            first, second, *_ = whole.series
            yield replace(whole, series=(first, second))
            event, before = step.events[-1], partial(_answers_before_the_last, StepExperiment(step, given), second)
            yield Case(
                name=f"certificate of {kind}, alone",
                claim=best([event], 0 if event.epsilon is not None else stated.delta),
                experiment=StepExperiment(step, given, before),
                series=whole.series[:4],
                kind="certificates",
            )


def _answers_before_the_last(whole: StepExperiment, series: Neighbours) -> Sequence[Answer]:
    return whole.run(series.table(series.centre), key_of("certificate", "before", 0))[0][:-1]


def cases_of_persons() -> Iterator[Case]:
    """Yield the audits of learners that read several records of each person."""
    for kind, noise in OF_PERSONS:
        spec = spec_of(kind, noise)
        entry = spec.learner.of_record(TOGETHER)
        there = dict(next(iter(steps_with_cost(spec)))[1])
        for step in steps_of(entry, spec.domain, lambda delta: delta):
            if step.part is not None and step.guarantee is not None:
                name, claim = f"{kind}, {TOGETHER} records of each person", of_person(step.guarantee, TOGETHER)
                yield case_of_step(name, step, dict(there), claim, spec.domain, "persons", TOGETHER)
            there |= made_before(spec, step, there)
