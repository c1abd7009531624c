"""How often a random forest tells records from real ones; by chance, half of the time."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from deniable.evaluation.contract import Figure, Metric, Scope, Table, Value, name_for, names_beside
from deniable.evaluation.utility import distinguishing_game, share_error

if TYPE_CHECKING:
    from deniable.evaluation.evidence import UtilityEvidence

FEWEST: Final = 2
"""The smallest number of records of each table for the game; with fewer, its figure is left out."""

_CHANCE: Final = 0.5


def name_of(table: Table = "released") -> str:
    """Name of the accuracy with which a table's records are distinguished from those of the holdout."""
    return name_for(table, "distinguished")


def _figures(scope: Scope) -> Iterator[Figure]:
    beside = names_beside(name_of(), scope)
    yield Figure(
        name=name_of(),
        better="near",
        words="records distinguished from real ones",
        summary="of records distinguished from real ones",
        chance=_CHANCE,
        beside=beside,
        is_listed=True,
    )
    yield from (Figure(name=name, better="near", chance=_CHANCE) for name in beside if name)


def _measure(evidence: "UtilityEvidence") -> dict[str, Value]:
    forest, real = evidence.factories["forest"], evidence.first_rows("holdout")
    games = {
        name: evidence.submit(distinguishing_game, forest, real, evidence.first_rows(name))
        for name in evidence.tables
        if min(len(real), len(evidence.first_rows(name))) >= FEWEST
    }
    fewest = min(len(real), *(len(evidence.first_rows(name)) for name in evidence.tables))
    shares = {name_of(name): game.result() for name, game in games.items()}
    return {name: Value(share, share_error(share, 2 * (fewest // 2))) for name, share in shares.items()}


METRIC: Final = Metric(figures=_figures, measure=_measure)
