"""The attacks of a release as a table: what each adversary knows and seeks, the control group, and what was found."""

from dataclasses import dataclass
from statistics import NormalDist
from typing import Final

from deniable.evaluation.contract import Attack, Figure, Scope
from deniable.evaluation.registry import attacks
from reports.pages.headline_figures import Estimate, reach_of
from schemas.spec.evaluation import EvaluationFigures

_POWER: Final = NormalDist().inv_cdf(0.975) + NormalDist().inv_cdf(0.8)


@dataclass(frozen=True)
class AttackRow:
    """An attack, and its main figure.

    Attributes:
        attack: what the adversary knows and seeks, and the control group.
        figure: the figure.
        value: its value.
        succeeds: whether its 95% interval is beyond what chance gives; None if its error is not known.
        detectable: the excess over chance that would have been found four times out of five; None likewise.
    """

    attack: Attack[object]
    figure: Figure
    value: Estimate
    succeeds: bool | None
    detectable: float | None


def attack_rows(found: EvaluationFigures, scope: Scope) -> list[AttackRow]:
    """Show each figure of an attack that is described in words and was measured.

    Args:
        found: the results of the risk evaluation.
        scope: what the evaluation covers.
    """
    described = ((attack, figure) for attack in attacks() for figure in attack.figures(scope) if figure.words)
    return [_row(attack, figure, found) for attack, figure in described if figure.name in found.figures]


def _row(attack: Attack[object], figure: Figure, found: EvaluationFigures) -> AttackRow:
    value, reach = found.figures[figure.name], reach_of(found, figure.name)
    chance = found.figures.get(figure.chance, 0.0) if isinstance(figure.chance, str) else figure.chance
    error = found.errors.get(figure.name)
    return AttackRow(
        attack,
        figure,
        Estimate(value, reach),
        None if reach is None else value - reach > chance,
        # Without variation, as where all records are alike, an attack has no power that could be stated.
        _POWER * error if error else None,
    )
