"""Figures of an attack's success on people used and on people not used, and of the excess, which is disclosure."""

from collections.abc import Iterator, Sequence

from deniable.evaluation.contract import Figure, Value
from deniable.evaluation.disclosure import Contrast
from deniable.evaluation.utility import SIGMAS, widened

FEWEST = 10
"""The smallest number of cases on either side of a contrast that is one of many."""

WORST = "worst"
"""The text of a figure that says which of many groups or attributes it is about; it is internal, as the figure is."""


def used(attack: str) -> str:
    """Name of the success of an attack on people whose records were used."""
    return f"{attack}_training"


def not_used(attack: str) -> str:
    """Name of the success of an attack on people whose records were not used."""
    return f"{attack}_holdout"


def excess(attack: str) -> str:
    """Name of the difference between the two."""
    return f"{attack}_excess"


def figures_of_contrast(
    attack: str, *, words: str = "", summary: str = "", is_listed: bool = False
) -> Iterator[Figure]:
    """Declare the figures of an attack.

    Args:
        attack: the first part of their names.
        words: the excess, for the report.
        summary: the excess, for the summary.
        is_listed: whether MLflow's list of releases has a column for the excess.
    """
    sides = used(attack), not_used(attack)
    yield from (Figure(name=name, better="neither") for name in sides)
    yield Figure(name=excess(attack), better="low", words=words, summary=summary, beside=sides, is_listed=is_listed)


def values_of_contrast(attack: str, contrast: Contrast) -> dict[str, Value]:
    """The figures of an attack.

    Args:
        attack: the first part of their names.
        contrast: its success on both groups.
    """
    return {
        used(attack): Value(contrast.training.value, contrast.training.variance**0.5),
        not_used(attack): Value(contrast.holdout.value, contrast.holdout.variance**0.5),
        excess(attack): Value(contrast.excess, contrast.standard_error),
    }


def worst_of(attack: str, contrasts: Sequence[Contrast], names: Sequence[str]) -> dict[str, Value]:
    """The figures of an attack that is tried in many ways: those of the way that certainly succeeds most.

    The error of the excess is widened, so that an interval of 95% covers the excesses of all ways (Bonferroni).

    Args:
        attack: the first part of the names of the figures.
        contrasts: its success in each way; those with few cases are left out.
        names: what each way attacks, such as an attribute or a group.

    Returns:
        The figures, the excess with the name of its way as the text WORST; none if all have few cases.
    """
    ways = zip(contrasts, names, strict=True)
    tried = [(each, name) for each, name in ways if min(each.training.total, each.holdout.total) >= FEWEST]
    if not tried:
        return {}
    wider = widened(len(tried))
    worst, name = max(tried, key=lambda way: way[0].excess - SIGMAS * wider * way[0].cautious_error)
    values = values_of_contrast(attack, worst)
    return {**values, excess(attack): Value(worst.excess, worst.cautious_error * wider, texts={WORST: (name,)})}
