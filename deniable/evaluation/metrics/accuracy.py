"""How well classifiers that learn from a table predict the target in the holdout, and what is lost by the release.

Standard errors are over redrawn holdouts, given the classifiers.
"""

from collections.abc import Iterator
from math import sqrt
from typing import TYPE_CHECKING, Final

import numpy as np

from deniable.evaluation.contract import CLASSIFIERS, Figure, Metric, Scope, Table, Value, name_for, names_beside
from deniable.evaluation.utility import accuracy, share_error

if TYPE_CHECKING:
    from deniable.evaluation.evidence import UtilityEvidence

MAJORITY: Final = "accuracy_majority"
"""The accuracy of always predicting the most common value."""

_SUMMARIZED: Final = "forest"


def name_of(classifier: str, table: Table = "released") -> str:
    """Name of the accuracy of a classifier that learned from a table."""
    return name_for(table, f"accuracy_{classifier}")


def loss_of(classifier: str) -> str:
    """Name of the accuracy of a classifier that learned from real records, less that from released ones."""
    return f"accuracy_loss_{classifier}"


def _figures(scope: Scope) -> Iterator[Figure]:
    yield Figure(name=MAJORITY, better="neither")
    for classifier in scope.classifiers:
        beside = names_beside(name_of(classifier), scope)
        yield Figure(
            name=name_of(classifier),
            better="high",
            words=f"accuracy, {CLASSIFIERS[classifier]}",
            chance=MAJORITY,
            beside=beside,
        )
        yield from (Figure(name=name, better="high", chance=MAJORITY) for name in beside if name)
    for classifier in scope.classifiers:
        summary = f"accuracy lost by a {CLASSIFIERS[classifier]}" if classifier == _SUMMARIZED else ""
        yield Figure(name=loss_of(classifier), better="low", summary=summary)


def _measure(evidence: "UtilityEvidence") -> dict[str, Value]:
    begun = [(kind, name, evidence.predicted(kind, name)) for kind in evidence.classifiers for name in evidence.tables]
    truth = evidence.first_rows("holdout")[:, evidence.target]
    right = {(kind, name): labels.result() == truth for kind, name, labels in begun}
    majority = float(np.bincount(truth).max() / len(truth))
    shares = {MAJORITY: majority}
    shares |= {name_of(kind, name): accuracy(labels.result(), truth) for kind, name, labels in begun}
    values = {name: Value(share, share_error(share, len(truth))) for name, share in shares.items()}
    for kind in evidence.classifiers:
        real, released = (right[kind, name].astype(np.float64) for name in ("training", "released"))
        loss = shares[name_of(kind, "training")] - shares[name_of(kind)]
        values[loss_of(kind)] = Value(loss, float(np.std(real - released)) / sqrt(len(truth)))
    return values


METRIC: Final = Metric(figures=_figures, measure=_measure, needs=frozenset({"released", "training", "holdout"}))
