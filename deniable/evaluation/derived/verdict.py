"""The verdict on a whole release: fit, unfit or unsafe, by the grades of its uses and by what attacks found.

It decides nothing by itself, and is no figure: a person signs. The rules are public.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Final, Literal, TypeAlias

from deniable.evaluation.uses import GRADES, Grade
from deniable.evaluation.utility import certainly_above

Overall: TypeAlias = Literal["fit", "unfit", "unsafe", "not decided"]

ESSENTIAL: Final = ("shares", "attributes", "tables", "totals")
"""A release that is not to be used for one of these is unfit, whatever else it is good for, and none is called fit as
long as one of them is not decided."""

TOLERATED: Final = 0.01
"""The largest excess over chance that an attack may certainly have: one person, or guess, in a hundred."""

DOUBT: Final = 0.01
"""The probability that any attack is taken to succeed although none does."""


def successes(values: Sequence[float], errors: Sequence[float], chances: Sequence[float]) -> list[bool]:
    """Which attacks certainly succeed, by one-sided tests at 1% for all of them together.

    Args:
        values: the main figure of each attack.
        errors: their standard errors.
        chances: the values that chance gives.
    """
    return certainly_above(values, errors, chances, DOUBT)


def dangers(values: Sequence[float], errors: Sequence[float], chances: Sequence[float]) -> list[bool]:
    """Which attacks certainly succeed by more than is tolerated, by one-sided tests at 1% for all of them together.

    Args:
        values: the main figure of each attack.
        errors: their standard errors.
        chances: the values that chance gives.
    """
    return certainly_above(values, errors, [chance + TOLERATED for chance in chances], DOUBT)


def verdict_of(
    grades: Mapping[str, Grade | None], beyond_usable: Collection[str], dangerous: Collection[object]
) -> Overall:
    """The verdict on a release.

    It is unfit if it is not to be used for something essential, or if for more than half of the uses its error is
    beyond what is usable, whether or not that is certain of each of them. A sample of as few real people would not be.
    It is fit only if everything essential that was measured is decided.

    Args:
        grades: the grade of each use that was measured, by its name; None if it is not decided.
        beyond_usable: names of the uses for which the error itself is more than is usable.
        dangerous: the attacks that certainly succeed by more than is tolerated.
    """
    if dangerous:
        return "unsafe"
    if any(grades.get(name) == GRADES[0] for name in ESSENTIAL) or 2 * len(beyond_usable) > len(grades):
        return "unfit"
    usable = sum(grade in GRADES[1:] for grade in grades.values())
    return "fit" if 2 * usable >= len(grades) > 0 and not undecided(grades) else "not decided"


def undecided(grades: Mapping[str, Grade | None]) -> list[str]:
    """The essential uses that were measured and are not decided.

    Args:
        grades: the grade of each use that was measured, by its name; None if it is not decided.
    """
    return [name for name in ESSENTIAL if name in grades and grades[name] is None]
