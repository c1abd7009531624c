"""Unique people: those with unique quasi-identifiers who are matched by a released record that is unique in them."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from deniable.evaluation.attacks.contrasts import figures_of_contrast, values_of_contrast
from deniable.evaluation.contract import Attack, Figure, Scope, Value
from deniable.evaluation.disclosure import uniqueness

if TYPE_CHECKING:
    from deniable.evaluation.evidence import AttackEvidence

NAME: Final = "unique_found"
RELEASED: Final = "unique_share"
"""The share of released records that are unique in the quasi-identifiers."""
MATCHING: Final = "unique_matches_unique_share"
"""The share of released records that are unique in them and match exactly one real person."""


def _figures(_: Scope) -> Iterator[Figure]:
    yield from figures_of_contrast(NAME, words="unique people found, in excess of people not used")
    yield Figure(name=RELEASED, better="neither")
    yield Figure(name=MATCHING, better="low")


def _measure(evidence: "AttackEvidence") -> dict[str, Value]:
    unique = uniqueness(evidence.tables, evidence.quasi_identifiers)
    shares = {RELEASED: unique.released, MATCHING: unique.released_and_population}
    return {
        **values_of_contrast(NAME, unique.found),
        **{name: Value(share.value, share.variance**0.5) for name, share in shares.items()},
    }


ATTACK: Final = Attack(figures=_figures, measure=_measure, knows="some attributes", seeks="identity")
