"""The attacks of a release as a table: what each adversary knows and seeks, the control group, and what was found."""

from dataclasses import dataclass
from statistics import NormalDist
from typing import Final

from deniable.evaluation.attacks.contrasts import WORST
from deniable.evaluation.contract import Attack, Figure, Scope
from deniable.evaluation.derived.verdict import DOUBT, dangers, successes
from deniable.evaluation.registry import attacks
from reports.pages.headline_figures import Estimate, reach_of
from schemas.spec.evaluation import EvaluationFigures, beside_of

_POWER: Final = 0.8


@dataclass(frozen=True)
class AttackRow:
    """An attack, and its main figure.

    Attributes:
        attack: what the adversary knows and seeks, and the control group.
        figure: the figure.
        value: its value.
        excess: the value less what chance gives.
        succeeds: whether it is certainly beyond chance, allowing for the number of attacks; None if its error is not
            known.
        is_danger: whether it certainly succeeds by more than is tolerated.
        detectable: the excess over chance that would have been found four times out of five; None likewise.
        worst: the group or the attributes that the figure is about; empty if it is about all people.
    """

    attack: Attack[object]
    figure: Figure
    value: Estimate
    excess: float
    succeeds: bool | None
    is_danger: bool
    detectable: float | None
    worst: str = ""


def attack_rows(found: EvaluationFigures, scope: Scope) -> list[AttackRow]:
    """Show each figure of an attack that is described in words and was measured.

    Args:
        found: the results of the risk evaluation.
        scope: what the evaluation covers.
    """
    described = [
        (attack, figure)
        for attack in attacks()
        for figure in attack.figures(scope)
        if figure.words and figure.name in found.figures
    ]
    chances = [_chance(figure, found) for _, figure in described]
    known = [place for place, (_, figure) in enumerate(described) if figure.name in found.errors]
    names = [described[place][1].name for place in known]
    tested = (
        [found.figures[name] for name in names],
        [found.errors[name] for name in names],
        [chances[i] for i in known],
    )
    succeed, are_dangers = (dict(zip(known, test(*tested), strict=True)) for test in (successes, dangers))
    sigmas = NormalDist().inv_cdf(1 - DOUBT / max(len(known), 1)) + NormalDist().inv_cdf(_POWER)
    rows = []
    for place, (attack, figure) in enumerate(described):
        value, error = found.figures[figure.name], found.errors.get(figure.name)
        rows.append(
            AttackRow(
                attack=attack,
                figure=figure,
                value=Estimate(value, reach_of(found, figure.name)),
                excess=value - chances[place],
                succeeds=succeed.get(place),
                is_danger=are_dangers.get(place, False),
                # Without variation, as where all records are alike, an attack has no power that could be stated.
                detectable=sigmas * error if error else None,
                worst=", ".join(found.texts.get(beside_of(figure.name, WORST), ())),
            )
        )
    return rows


def _chance(figure: Figure, found: EvaluationFigures) -> float:
    """What chance gives."""
    return found.figures.get(figure.chance, 0.0) if isinstance(figure.chance, str) else figure.chance
