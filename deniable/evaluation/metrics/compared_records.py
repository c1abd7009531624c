"""The number of records of each table that are compared with the holdout."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from deniable.evaluation.contract import Figure, Metric, Scope, Value

if TYPE_CHECKING:
    from deniable.evaluation.evidence import UtilityEvidence

NAME: Final = "compared_records"


def _figures(_: Scope) -> Iterator[Figure]:
    yield Figure(name=NAME, better="neither", is_count=True, has_error=False)


def _measure(evidence: "UtilityEvidence") -> dict[str, Value]:
    return {NAME: Value(float(len(evidence.table("released"))))}


METRIC: Final = Metric(figures=_figures, measure=_measure, needs=frozenset({"released"}))
