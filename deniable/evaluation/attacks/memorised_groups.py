"""Memorised groups: people with one value of one attribute, whose exact records were released.

A release may copy the people of one small group and nobody else, which is lost in a mean over all people. Every value
of every attribute is a group; the group with the largest certain excess is reported.
"""

from typing import TYPE_CHECKING, Final

from deniable.evaluation.attacks.contrasts import figures_of_contrast, worst_of
from deniable.evaluation.contract import Attack, Value
from deniable.evaluation.disclosure import reproduced_by_value

if TYPE_CHECKING:
    from deniable.evaluation.evidence import AttackEvidence

NAME: Final = "reproduced_group"
MOST_PEOPLE, MOST_VALUES, MOST_ATTRIBUTES = 100_000, 1_000, 100
"""The largest number of people of each part, of values of an attribute, and of attributes that are searched."""


def _measure(evidence: "AttackEvidence") -> dict[str, Value]:
    tables = evidence.first(released=len(evidence.tables.released), real=MOST_PEOPLE)
    small = [column for column, size in enumerate(tables.cardinalities) if 1 < size <= MOST_VALUES][:MOST_ATTRIBUTES]
    attributes = [evidence.domain.attributes[column] for column in small]
    names = [f"{attribute.name}={value}" for attribute in attributes for value in attribute.values]
    return worst_of(NAME, reproduced_by_value(tables, small), names)


ATTACK: Final = Attack(
    figures=lambda _: figures_of_contrast(
        NAME, words="people of one group reproduced, in excess of people not used, the worst group"
    ),
    measure=_measure,
    knows="all attributes",
    seeks="presence",
)
