"""How often the real record nearest to a released one is that of a person used; by chance, half of the time."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from deniable.evaluation.contract import Attack, Figure, Scope, Value
from deniable.evaluation.disclosure import nearer_error, nearer_to_training
from deniable.evaluation.utility import share_error

if TYPE_CHECKING:
    from deniable.evaluation.evidence import AttackEvidence

NAME: Final = "nearer_to_training"
MOST_RELEASED, MOST_REAL = 2_000, 20_000
"""The search for nearest records compares each of the former with each of the latter."""


def _figures(_: Scope) -> Iterator[Figure]:
    words = "records nearer to people used than to people not used"
    yield Figure(name=NAME, better="near", words=words, chance=0.5)


def _measure(evidence: "AttackEvidence") -> dict[str, Value]:
    sample = evidence.equal_parts(released=MOST_RELEASED, real=MOST_REAL)
    share = nearer_to_training(sample)
    return {NAME: Value(share, max(share_error(share, len(sample.released)), nearer_error(sample)))}


ATTACK: Final = Attack(figures=_figures, measure=_measure, knows="all attributes", seeks="presence")
