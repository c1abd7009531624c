"""All audits, by name, and the mechanisms that are not audited, with the reason."""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Final

from benchmarks.audits.auditing import Case
from benchmarks.audits.drawn import cases_of_discovery, cases_of_seeds, cases_of_surveys, cases_of_urns
from benchmarks.audits.releases import cases_of_certificates, cases_of_learners, cases_of_persons
from benchmarks.audits.twins import twins
from deniable.learners.registry import LEARNERS
from deniable.samplers.registry import SAMPLERS

NOT_AUDITED: Final[Mapping[str, str]] = {
    "uniform": "It reads no records.",
    "diverse": "It claims no differential privacy: its records are drawn from exact counts, and no ratio is bounded.",
    "seedless": "It reads no records: it draws from a model that has been released.",
    "per_draw": "It charges the draws that learners plan, and is audited with each of these learners.",
}
"""Learners and samplers without an audit of their own."""


def all_cases() -> Iterator[Case]:
    """Yield all audits, in the order of the page."""
    yield from cases_of_learners()
    yield from cases_of_certificates()
    yield from cases_of_persons()
    yield from cases_of_urns()
    yield from cases_of_seeds()
    yield from cases_of_discovery()
    yield from cases_of_surveys()


@cache
def case_of() -> Mapping[str, Case]:
    """Return all audits by name."""
    found: dict[str, Case] = {}
    for case in all_cases():
        if case.name in found:
            raise ValueError(f"two audits must not have one name, got {case.name} twice")
        found[case.name] = case
    return found


def without_an_audit() -> set[str]:
    """Return the learners and samplers of the registries that are not audited, and for which no reason is given.

    A learner that reads rows, and whose records are not drawn from exact counts, is audited by what it
    releases. Nothing is written for it.
    """
    return {*LEARNERS, *SAMPLERS} - {mechanism_of(name) for name in case_of()} - set(NOT_AUDITED)


def without_a_twin() -> set[str]:
    """Return the mechanisms that are audited, of which there is no broken twin."""
    return {mechanism_of(name) for name in case_of()} - {mechanism_of(twin.name) for twin in twins()}


def mechanism_of(name: str) -> str:
    """Return the mechanism that an audit is of."""
    if " records of each person" in name:
        return "persons"
    if "certificate" in name:
        return "certificate"
    return re.split(r"[ ,:]", name)[0]
