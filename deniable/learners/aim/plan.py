"""The budget of all rounds, fixed before any record is read.

Each one-way marginal is measured first. The number of rounds and their noise depend on earlier answers: amounts are
halved or doubled as the model improves. Fixed is the total rho, the parameter of zero-concentrated differential
privacy, of all choices and tables of the rounds: the rho of a query is subtracted before it is made, and no query is
made without enough left (`deniable.privacy.loss.ConcentratedEvent` has the proof). The plan reserves the whole rho,
and the cost is that of the plan in any case.

Source: McKenna, Mullins, Sheldon, Miklau 2022, Algorithms 1 to 3.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil, log10, pi, sqrt

from deniable.foundation.domain import Domain
from deniable.learners.aim.workload import Attributes, Workload
from deniable.privacy.accounting import best
from deniable.privacy.composition import epsilon_to_zcdp
from deniable.privacy.loss import ConcentratedEvent, DiscreteGaussianEvent, Guarantee, MechanismEvent

ROUNDS_PER_ATTRIBUTE = 16
"""T / d, the number of rounds per attribute if noise is never reduced."""
MEASURING = Fraction(9, 10)
"""alpha, the share of a round's rho for its table; the rest is for its choice."""
PART = "parameters"
_DIGITS = 6
_DOUBLED, _QUARTERED = 2, 4


@dataclass(frozen=True)
class Amounts:
    """The amounts of a round's queries.

    Attributes:
        epsilon: epsilon of its choice.
        variance: variance of the noise of its table.
    """

    epsilon: Fraction
    variance: Fraction

    @property
    def rho(self) -> Fraction:
        """The round's rho (zCDP)."""
        return rho_of_choice(self.epsilon) + rho_of_table(self.variance)

    def annealed(self) -> "Amounts":
        """The amounts with twice the epsilon and half the standard deviation, at four times the rho."""
        return Amounts(self.epsilon * _DOUBLED, self.variance / _QUARTERED)


def rho_of_choice(epsilon: Fraction) -> Fraction:
    """Rho of a choice by the exponential mechanism: epsilon^2 / 8 (Cesar and Rogers 2021, on bounded range)."""
    return epsilon**2 / 8


def rho_of_table(variance: Fraction) -> Fraction:
    """Rho of a table in which one record changes one count by 1 (Canonne, Kamath, Steinke 2020, Theorem 4)."""
    return 1 / (2 * variance)


@dataclass(frozen=True)
class RoundsPlan:
    """A budget with its first amounts.

    Attributes:
        domain: the public domain.
        workload: the tables that the model should reproduce well.
        epsilon: total epsilon of all queries.
        delta: total delta of all queries.
        rho: total rho of all queries.
    """

    domain: Domain
    workload: Workload
    epsilon: Fraction
    delta: Fraction
    rho: Fraction

    @classmethod
    def of(cls, domain: Domain, workload: Workload, epsilon: Fraction, delta: Fraction) -> "RoundsPlan":
        """The plan of a budget; only the budget and the public domain are used."""
        return cls(domain, workload, epsilon, delta, rounded(epsilon_to_zcdp(float(epsilon), float(delta)), -1))

    @cached_property
    def counted(self) -> Attributes:
        """The attributes with more than one value."""
        return tuple(i for i, size in enumerate(self.domain.cardinalities) if size > 1)

    @property
    def has_rounds(self) -> bool:
        """Whether there are choices: with one attribute, or no workload, all of rho is for the one-way marginals."""
        return len(self.counted) > 1 and bool(self.workload.tables)

    @property
    def rounds(self) -> int:
        """T, the number of rounds if noise is never reduced."""
        return ROUNDS_PER_ATTRIBUTE * len(self.counted)

    @cached_property
    def first(self) -> Amounts:
        """The amounts of the first round: sigma_0 = sqrt(T / (2 alpha rho)), epsilon_0 = sqrt(8 (1-alpha) rho / T)."""
        return _amounts(self.rho / self.rounds)

    @property
    def one_way_variance(self) -> Fraction:
        """Variance of the noise of a one-way marginal: sigma_0 squared."""
        if self.has_rounds:
            return self.first.variance
        return rounded(len(self.counted) / (2 * self.rho), 1)

    @property
    def rho_of_rounds(self) -> Fraction:
        """Total rho of all rounds."""
        return self.rho - len(self.counted) * rho_of_table(self.one_way_variance) if self.has_rounds else Fraction(0)

    def next_amounts(self, wished: Amounts, left: Fraction) -> Amounts | None:
        """The amounts of a round: as requested, or all that is left if that does not suffice for two such rounds.

        Args:
            wished: the amounts after annealing.
            left: the remaining rho.

        Returns:
            The amounts; None if too little is left for any round.
        """
        if left >= 2 * wished.rho:
            return wished
        # The rest that rounding leaves in the last round would suffice only for noise.
        return _amounts(left) if left * self.rounds * _QUARTERED > self.rho else None

    @property
    def events(self) -> tuple[MechanismEvent, ...]:
        """The events reserved and charged: an upper bound on the mechanisms applied, whatever the answers."""
        names = self.domain.names
        ones: list[MechanismEvent] = [
            DiscreteGaussianEvent(
                query=f"counts of {names[i]}", part=PART, outputs=1, sensitivity=1, variance=self.one_way_variance
            )
            for i in self.counted
        ]
        if not self.has_rounds:
            return tuple(ones)
        query = (
            "choices of tables, and the tables, as earlier answers divide their rho; the first choice has epsilon "
            f"{self.first.epsilon}, the first table noise of variance {self.first.variance}"
        )
        return (
            *ones,
            ConcentratedEvent(query=query, part=PART, outputs=1, rho_per_output=self.rho_of_rounds),
        )

    @cached_property
    def guarantee(self) -> Guarantee:
        """Total cost by the tightest accountant that applies."""
        return best(self.events, self.delta) if self.counted else Guarantee(0.0, 0.0, "basic")


def mean_noise(variance: Fraction) -> float:
    """Mean absolute noise of a count: sqrt(2 / pi) sigma."""
    return sqrt(2 / pi * float(variance))


def _amounts(rho: Fraction) -> Amounts:
    """The amounts of a round with at most this rho: a share alpha for the table, the rest for the choice."""
    choice = (1 - MEASURING) * rho
    epsilon = rounded(sqrt(8 * choice), -1)
    # A root may have been rounded up to a number that has six digits.
    if rho_of_choice(epsilon) > choice:
        epsilon *= 1 - Fraction(1, 10**_DIGITS)
    return Amounts(epsilon=epsilon, variance=rounded(1 / (2 * MEASURING * rho), 1))


def rounded(value: float | Fraction, direction: int) -> Fraction:
    """Round to six digits, up or down, so that machines whose roots differ in the last digit agree."""
    unit = Fraction(10) ** (int(log10(value) // 1) + 1 - _DIGITS)
    whole = Fraction(value) / unit
    return (ceil(whole) if direction > 0 else int(whole)) * unit
