"""How often an adversary who knows some attributes infers a sensitive one from the released records."""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from deniable.evaluation.attacks.contrasts import WORST as WORST_OF
from deniable.evaluation.attacks.contrasts import excess, figures_of_contrast, values_of_contrast
from deniable.evaluation.contract import Attack, Figure, Scope, Value
from deniable.evaluation.disclosure import infer

if TYPE_CHECKING:
    from deniable.evaluation.evidence import AttackEvidence

WORST: Final = "inferred_excess_worst"
"""The largest excess over the sensitive attributes."""


def name_of(attribute: str) -> str:
    """First part of the names of figures on inferring an attribute."""
    return f"inferred_{re.sub('[^a-z0-9]+', '_', attribute.lower()).strip('_')}"


def guess_of(attribute: str) -> str:
    """Name of the success of always guessing the most common value, on people not used."""
    return f"{name_of(attribute)}_marginal"


def _figures(scope: Scope) -> Iterator[Figure]:
    for attribute in scope.sensitive:
        yield from figures_of_contrast(name_of(attribute))
        yield Figure(name=guess_of(attribute), better="neither")
    yield Figure(
        name=WORST,
        better="low",
        words="sensitive values inferred, in excess of people not used",
        summary="more inferred about people in the data used",
        is_listed=True,
    )


def _measure(evidence: "AttackEvidence") -> dict[str, Value]:
    known, index = evidence.known, evidence.domain.index
    guesses = {
        attribute: evidence.pool.submit(infer, evidence.tables, known=known, sensitive=index(attribute))
        for attribute in evidence.sensitive
    }
    values: dict[str, Value] = {}
    for attribute, guess in guesses.items():
        found = guess.result()
        share = found.marginal.holdout
        values |= values_of_contrast(name_of(attribute), found.attack)
        values[guess_of(attribute)] = Value(share.value, share.variance**0.5)
    worst = max(evidence.sensitive, key=lambda attribute: values[excess(name_of(attribute))].value)
    return {**values, WORST: replace(values[excess(name_of(worst))], texts={WORST_OF: (worst,)})}


ATTACK: Final = Attack(
    figures=_figures,
    measure=_measure,
    knows="some attributes",
    seeks="an attribute",
    control="people not used, and the most common value",
)
