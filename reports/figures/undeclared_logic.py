"""Prepares patterns that nobody declared for display, those that most records break first.

Nothing is found or counted here.
"""

from dataclasses import dataclass
from typing import Final

from deniable.evaluation.metrics import undeclared_logic as metric
from schemas.spec.evaluation import EvaluationFigures, beside_of

_SHOWN: Final = 20


@dataclass(frozen=True)
class BrokenPattern:
    """A pattern that all real records satisfy.

    Attributes:
        words: the pattern.
        line: the line of a schema that states it.
        share: share of the released records that break it.
    """

    words: str
    line: str
    share: float


@dataclass(frozen=True)
class UndeclaredLogic:
    """The patterns of a release.

    Attributes:
        found: number of patterns that all real records satisfy.
        broken: number of them that some released record breaks.
        shown: those that most records break.
    """

    found: int
    broken: int
    shown: tuple[BrokenPattern, ...]


def undeclared_logic(measured: EvaluationFigures) -> UndeclaredLogic | None:
    """The patterns of a release; None if none were sought.

    Args:
        measured: the results of the utility evaluation.
    """
    if metric.PATTERNS not in measured.figures:
        return None
    words, lines = (measured.texts.get(beside_of(metric.BROKEN, name), ()) for name in (metric.WORDS, metric.LINES))
    shares = measured.series.get(metric.BROKEN, ())
    patterns = [BrokenPattern(*each) for each in zip(words, lines, shares, strict=True)]
    return UndeclaredLogic(
        found=int(measured.figures[metric.PATTERNS]),
        broken=int(measured.figures[metric.PATTERNS_BROKEN]),
        shown=tuple(each for each in patterns if each.share > 0)[:_SHOWN],
    )
