"""All audits, by name, and the mechanisms that are not audited, with the reason."""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Final

from benchmarks.audits.auditing import Case
from benchmarks.audits.drawn import cases_of_discovery, cases_of_seeds, cases_of_surveys, cases_of_urns
from benchmarks.audits.releases import cases_of_certificates, cases_of_learners, cases_of_persons
from deniable.learners.registry import LEARNERS, entry_of
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
    released = {kind for kind in LEARNERS if entry_of(kind).parts and not entry_of(kind).is_drawn_from_counts}
    by_law = {case.kind for case in (*cases_of_urns(), *cases_of_seeds())}
    return {*LEARNERS, *SAMPLERS} - released - by_law - set(NOT_AUDITED)
