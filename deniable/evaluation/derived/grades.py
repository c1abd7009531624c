"""For which uses a release is good: a grade for each, from the figures that decide (`deniable.evaluation.uses`)."""

from collections.abc import Iterator, Mapping
from typing import Final

from deniable.evaluation.contract import Derived, Figure, Scope, Value
from deniable.evaluation.uses import GRADES, USES, judged

GOOD: Final = "uses_good"
"""The number of uses for which the release is good."""
REFUSED: Final = "uses_refused"
"""The number of uses for which it is not to be used."""


def name_of(use: str) -> str:
    """Name of the grade of a use: 2 if the release is good for it, 1 with caution, 0 if it is not to be used."""
    return f"use_{use}"


def _figures(_: Scope) -> Iterator[Figure]:
    yield Figure(name=GOOD, better="high", is_count=True, has_error=False)
    yield Figure(name=REFUSED, better="low", is_count=True, has_error=False)
    yield from (Figure(name=name_of(use.name), better="high", is_count=True, has_error=False) for use in USES)


def _derive(values: Mapping[str, Value], scope: Scope) -> dict[str, Value]:
    grades = judged(values, scope)
    if not grades:
        return {}
    return {
        GOOD: Value(float(sum(grade == GRADES[-1] for grade in grades.values()))),
        REFUSED: Value(float(sum(grade == GRADES[0] for grade in grades.values()))),
        **{name_of(use): Value(float(GRADES.index(grade))) for use, grade in grades.items() if grade is not None},
    }


DERIVED: Final = Derived(figures=_figures, derive=_derive)
