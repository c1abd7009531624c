"""Copies: released records that equal the record of a person."""

from typing import TYPE_CHECKING, Final

from deniable.evaluation.attacks.contrasts import figures_of_contrast, values_of_contrast
from deniable.evaluation.contract import Attack, Value
from deniable.evaluation.disclosure import exact_matches

if TYPE_CHECKING:
    from deniable.evaluation.evidence import AttackEvidence

NAME: Final = "exact_match"


def _measure(evidence: "AttackEvidence") -> dict[str, Value]:
    equal = evidence.equal_parts(released=len(evidence.tables.released), real=len(evidence.tables.training))
    return values_of_contrast(NAME, exact_matches(equal))


ATTACK: Final = Attack(
    figures=lambda _: figures_of_contrast(
        NAME,
        words="copies of people used, in excess of copies of people not used",
        summary="more exact matches with people in the data used",
        is_listed=True,
    ),
    measure=_measure,
    knows="all attributes",
    seeks="presence",
)
