"""Reproduced people: those whose exact record was released."""

from typing import TYPE_CHECKING, Final

from deniable.evaluation.attacks.contrasts import figures_of_contrast, values_of_contrast
from deniable.evaluation.contract import Attack, Value
from deniable.evaluation.disclosure import reproduced

if TYPE_CHECKING:
    from deniable.evaluation.evidence import AttackEvidence

NAME: Final = "reproduced"


def _measure(evidence: "AttackEvidence") -> dict[str, Value]:
    return values_of_contrast(NAME, reproduced(evidence.tables))


ATTACK: Final = Attack(
    figures=lambda _: figures_of_contrast(NAME, words="people reproduced, in excess of people not used"),
    measure=_measure,
    knows="all attributes",
    seeks="presence",
)
