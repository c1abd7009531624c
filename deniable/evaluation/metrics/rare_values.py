"""The share of rare values that a release loses: those less than half as frequent in it as in the holdout.

A value of an attribute is rare if at most one real record in a hundred has it, and at least `FEWEST` do. Real training
records show how many are lost by chance.
"""

from collections.abc import Iterator
from math import hypot
from typing import TYPE_CHECKING, Final

from deniable.evaluation.contract import Figure, Metric, Scope, Value
from deniable.evaluation.utility import share_error

if TYPE_CHECKING:
    from deniable.evaluation.evidence import UtilityEvidence

LOST: Final = "rare_values_lost"
"""The share of rare values that the release loses, less the share that training records lose."""

FEWEST: Final = 10
MOST_SHARE: Final = 0.01
_HALF: Final = 0.5


def _figures(_: Scope) -> Iterator[Figure]:
    yield Figure(name=LOST, better="low", words="rare values lost, beyond chance")


def _measure(evidence: "UtilityEvidence") -> dict[str, Value]:
    if 1 not in evidence.marginals:
        return {}
    begun = {name: evidence.counts(1, name) for name in ("released", "training", "holdout")}
    counts = {name: counted.result() for name, counted in begun.items()}
    shares = {name: counted.counts / max(counted.rows, 1) for name, counted in counts.items()}
    rare = (shares["holdout"] <= MOST_SHARE) & (counts["holdout"].counts >= FEWEST)
    if not rare.any():
        return {}
    released, training = (
        float((shares[name][rare] < _HALF * shares["holdout"][rare]).mean()) for name in ("released", "training")
    )
    values = int(rare.sum())
    return {LOST: Value(released - training, hypot(share_error(released, values), share_error(training, values)))}


METRIC: Final = Metric(figures=_figures, measure=_measure, needs=frozenset({"released", "training", "holdout"}))
