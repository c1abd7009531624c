"""Audits one mechanism: what it claims, and what its experiment shows on the worst of several neighbouring tables."""

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from math import inf
from typing import Any, Protocol

from benchmarks.audits.tracing import Untraceable
from deniable.foundation.keys import ReleaseKey
from deniable.privacy.loss import Guarantee

_ROUNDING = 1e-9


@dataclass(frozen=True)
class Neighbours:
    """A series of tables, each a neighbour of the next.

    Attributes:
        words: what they are, for the page.
        table: the table of a number.
        centre: the two audited tables are this one and the next.
    """

    words: str
    table: Callable[[int], Any]
    centre: int = 0

    @property
    def pair(self) -> tuple[Any, Any]:
        """The two audited tables."""
        return self.table(self.centre), self.table(self.centre + 1)


@dataclass(frozen=True)
class Bound:
    """What an experiment shows.

    Attributes:
        shown: lower bound on epsilon at delta, from the exact probabilities of all outputs.
        method: how it was computed.
        neighbours: the neighbouring tables.
        runs: number of runs of the mechanism.
        counted: lower bound from how often an event happened, regardless of the stated laws; None if not counted.
        choice: largest log ratio of a candidate of one choice; None if there are no choices.
    """

    shown: float
    method: str
    neighbours: str
    runs: int
    counted: float | None = None
    choice: float | None = None


class Experiment(Protocol):
    """A mechanism whose outputs have known probabilities."""

    def bound(self, case: "Case", runs: int) -> Bound:
        """Bound the epsilon of a mechanism at its delta from below.

        Args:
            case: the audit.
            runs: number of runs on each of two tables by which events are counted.

        Raises:
            Untraceable: the mechanism does something that it may not do, or does not draw by its stated laws.
        """


@dataclass(frozen=True)
class Case:
    """An audit.

    Attributes:
        name: the mechanism.
        claim: what it claims for the neighbours.
        experiment: the mechanism.
        series: tables among which the worst neighbours are looked for.
        kind: kind of mechanism, under which the page lists it.
        choice: the epsilon that it claims for one choice, if it makes any.
    """

    name: str
    claim: Guarantee
    experiment: Experiment
    series: tuple[Neighbours, ...]
    kind: str = ""
    choice: float | None = None


@dataclass(frozen=True)
class Audit:
    """The result of an audit.

    Attributes:
        name: the mechanism.
        kind: its kind.
        epsilon: the epsilon that it claims.
        delta: the delta at which it claims this.
        choice: the epsilon that it claims for one choice.
        bound: what was shown.
        found: what the mechanism may not do and does.
    """

    name: str
    kind: str
    epsilon: float
    delta: float
    choice: float | None
    bound: Bound
    found: str = ""

    @property
    def exceeds(self) -> bool:
        """Whether the claim is refuted."""
        shown = max(self.bound.shown, self.bound.counted or 0.0)
        in_a_choice = self.bound.choice or 0.0
        return (
            bool(self.found)
            or shown > self.epsilon * (1 + _ROUNDING)
            or in_a_choice > (self.choice or 0.0) * (1 + _ROUNDING)
        )


def key_of(name: str, purpose: str, number: int) -> ReleaseKey:
    """Return the key of a run: the same in every audit of the same name."""
    return ReleaseKey(sha256(f"audit {name} {purpose} {number}".encode()).digest())


def audit(case: Case, runs: int) -> Audit:
    """Audit a mechanism.

    Args:
        case: the mechanism.
        runs: see `Experiment.bound`.
    """
    found = ""
    try:
        bound = case.experiment.bound(case, runs)
    except Untraceable as fault:
        found, bound = str(fault), Bound(inf, "refused", case.series[0].words, 0)
    return Audit(case.name, case.kind, case.claim.epsilon, case.claim.delta, case.choice, bound, found)
