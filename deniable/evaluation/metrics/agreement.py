"""How often classifiers that learn from a table predict what those of real training records predict, right or wrong.

Standard errors are over redrawn holdouts, given the classifiers.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from deniable.evaluation.contract import Figure, Metric, Scope, Table, Value, name_for
from deniable.evaluation.utility import agreement_rate, share_error

if TYPE_CHECKING:
    from deniable.evaluation.evidence import UtilityEvidence


def name_of(classifier: str, table: Table = "released") -> str:
    """Name of the agreement of a classifier that learned from a table with one that learned from real records."""
    return name_for(table, f"agreement_{classifier}")


def _figures(scope: Scope) -> Iterator[Figure]:
    for classifier in scope.classifiers:
        independent = name_of(classifier, "baseline") if "baseline" in scope.beside else None
        yield Figure(name=name_of(classifier), better="high", beside=(None, independent))
        if independent is not None:
            yield Figure(name=independent, better="high")


def _measure(evidence: "UtilityEvidence") -> dict[str, Value]:
    begun = {(kind, name): evidence.predicted(kind, name) for kind in evidence.classifiers for name in evidence.tables}
    values = {}
    for (kind, name), labels in begun.items():
        if name != "training":
            predicted = labels.result()
            share = agreement_rate(predicted, begun[kind, "training"].result())
            values[name_of(kind, name)] = Value(share, share_error(share, len(predicted)))
    return values


METRIC: Final = Metric(figures=_figures, measure=_measure, needs=frozenset({"released", "training", "holdout"}))
