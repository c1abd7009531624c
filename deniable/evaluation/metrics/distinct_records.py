"""The share of distinct records; it is comparable between tables of equal size only."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from deniable.evaluation.contract import Figure, Metric, Scope, Table, Value, name_for, names_beside
from deniable.evaluation.utility import distinct_share

if TYPE_CHECKING:
    from deniable.evaluation.evidence import UtilityEvidence


def name_of(table: Table = "released") -> str:
    """Name of the share of distinct records of a table."""
    return name_for(table, "distinct_share")


def _figures(scope: Scope) -> Iterator[Figure]:
    beside = names_beside(name_of(), scope)
    yield Figure(name=name_of(), better="neither", beside=beside, has_error=False)
    yield from (Figure(name=name, better="neither", has_error=False) for name in beside if name)


def _measure(evidence: "UtilityEvidence") -> dict[str, Value]:
    cardinalities = evidence.domain.cardinalities
    shares = {
        name_of(name): evidence.submit(distinct_share, table, cardinalities) for name, table in evidence.tables.items()
    }
    return {name: Value(share.result()) for name, share in shares.items()}


METRIC: Final = Metric(figures=_figures, measure=_measure, needs=frozenset({"released"}))
