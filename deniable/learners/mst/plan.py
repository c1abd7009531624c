"""The tables, the choices and their cost, fixed by spec and domain before any record is read.

The zCDP parameter rho is divided into three equal parts: counts of single attributes, choices of pairs, counts of the
pairs chosen. If nothing is chosen from confidential records, the second part is added to the third.

Source: McKenna, Miklau, Sheldon 2021, section 3; Cesar and Rogers 2021 for the cost of choices.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache, partial
from math import sqrt

from deniable.foundation.domain import Domain
from deniable.privacy.accounting import best, four_digits, least_noise
from deniable.privacy.composition import epsilon_to_zcdp
from deniable.privacy.loss import (
    NOTHING,
    DiscreteGaussianEvent,
    ExponentialEvent,
    Guarantee,
    MechanismEvent,
    noisy_integers,
)

PART = "parameters"
CHOICES = "choices of the pairs of a tree"
PAIRS = "tables of the chosen pairs of attributes"

PARTS = 3
"""Number of equal parts of rho: one for single attributes, one for choices, one for pairs."""


@dataclass(frozen=True)
class Layout:
    """The public layout of the measurements.

    Attributes:
        counted: attributes with more than one value.
        choices: number of pairs that are chosen privately and then counted.
        cliques: sets of attributes selected from a public file, which are counted.
        weights: weight of each such set; the variance of its noise is proportional to 1 / weight^2.
    """

    counted: tuple[int, ...]
    choices: int
    cliques: tuple[tuple[int, ...], ...] = ()
    weights: tuple[int, ...] = ()

    @classmethod
    def of_tree(cls, domain: Domain) -> "Layout":
        """A tree of pairs, chosen privately."""
        counted = tuple(i for i, size in enumerate(domain.cardinalities) if size > 1)
        return cls(counted, max(len(counted) - 1, 0))

    @classmethod
    def of_cliques(cls, domain: Domain, cliques: Sequence[tuple[int, ...]], weights: Sequence[int]) -> "Layout":
        """Sets of attributes that are known in advance."""
        return cls(cls.of_tree(domain).counted, 0, tuple(cliques), tuple(weights))

    @property
    def one_way_rho(self) -> Fraction:
        """The share of rho for the counts of single attributes; all of it if there is nothing else."""
        if not self.choices and not self.cliques:
            return Fraction(1)
        return Fraction(1, PARTS)

    @property
    def choice_rho(self) -> Fraction:
        """The share of rho for the choices."""
        return Fraction(1, PARTS) if self.choices else Fraction(0)

    def one_way_variance(self, rho: float) -> float:
        """Variance of the counts of each attribute: d / (2 rho_1)."""
        return len(self.counted) / (2 * float(self.one_way_rho) * rho)

    def choice_epsilon(self, rho: float) -> float:
        """Epsilon of one choice: sqrt(8 rho_2 / choices)."""
        return sqrt(8 * float(self.choice_rho) * rho / self.choices) if self.choices else 0.0

    def table_variances(self, rho: float) -> list[float]:
        """Variances of the further tables: one for the pairs, or one for each set in order."""
        rest = float(1 - self.one_way_rho - self.choice_rho) * rho
        if self.choices:
            return [self.choices / (2 * rest)]
        if not self.cliques:
            return []
        squares = [weight**2 for weight in self.weights]
        return [sum(squares) / (2 * rest * square) for square in squares]


@dataclass(frozen=True)
class MstRecipe:
    """The budget of the model.

    Attributes:
        epsilon: total epsilon of all queries.
        delta: total delta of all queries, above 0.
    """

    epsilon: Fraction
    delta: Fraction

    @property
    def rho(self) -> float:
        """A zCDP parameter rho that is certainly within the recipe."""
        return epsilon_to_zcdp(float(self.epsilon), float(self.delta))

    def calibrate(self, domain: Domain, layout: Layout) -> "MstPlan":
        """Scale the noise to the budget; only the budget and public values are used.

        Raises:
            InvalidInput: delta alone permits any amount of noise.
        """
        return _calibrate(self, domain, layout)


@dataclass(frozen=True)
class MstPlan:
    """A recipe with its noise: all mechanisms to be applied to the data.

    Attributes:
        recipe: the budget.
        domain: the public domain.
        layout: the layout of the measurements.
        one_way_variance: variance of the counts of single attributes.
        choice_epsilon: epsilon of one choice; 0 if there is none.
        table_variances: variance of the pairs' counts, or variances of the sets' counts in order.
    """

    recipe: MstRecipe
    domain: Domain
    layout: Layout
    one_way_variance: Fraction
    choice_epsilon: Fraction
    table_variances: tuple[Fraction, ...]

    @property
    def events(self) -> tuple[MechanismEvent, ...]:
        """The mechanisms applied to the data, fixed before any row is read.

        One record changes one count of each table by 1, and each score by at most 1.
        """
        layout = self.layout
        if not layout.counted:
            return ()
        names = self.domain.names
        ones = [
            noisy_integers("gaussian", self.one_way_variance, query=f"counts of {names[i]}", part=PART, outputs=1)
            for i in layout.counted
        ]
        if layout.choices:
            (variance,) = self.table_variances
            choice = self.choice_epsilon
            return (
                *ones,
                ExponentialEvent(query=CHOICES, part=PART, outputs=layout.choices, epsilon_per_choice=choice),
                noisy_integers("gaussian", variance, query=PAIRS, part=PART, outputs=layout.choices),
            )
        several = [
            noisy_integers("gaussian", variance, query=_query([names[i] for i in clique]), part=PART, outputs=1)
            for clique, variance in zip(layout.cliques, self.table_variances, strict=True)
        ]
        return (*ones, *several)

    @cached_property
    def guarantee(self) -> Guarantee:
        """Total cost by the tightest accountant."""
        return best(self.events, self.recipe.delta) if self.events else NOTHING

    @property
    def pair_noise(self) -> float | None:
        """Standard deviation of the noise of each cell of a table of several attributes; the least of all tables."""
        return sqrt(min(self.table_variances)) if self.table_variances else None

    @property
    def rho_of_ones(self) -> float:
        """The total rho implied by the variance of the counts of single attributes."""
        return len(self.layout.counted) / (2 * float(self.layout.one_way_rho * self.one_way_variance))

    def variance_of(self, number: int) -> Fraction:
        """Variance of a table of several attributes, by its number."""
        return self.table_variances[0 if self.layout.choices else number]


def planned(recipe: MstRecipe, domain: Domain, layout: Layout, rho: float) -> MstPlan:
    """The plan with a given total rho; amounts have four digits, rounded conservatively."""
    return MstPlan(
        recipe,
        domain,
        layout,
        four_digits(layout.one_way_variance(rho), 1) if layout.counted else Fraction(1),
        four_digits(layout.choice_epsilon(rho), -1),
        tuple(four_digits(variance, 1) for variance in layout.table_variances(rho)),
    )


def stated_plan(recipe: MstRecipe, domain: Domain, layout: Layout, events: Sequence[MechanismEvent]) -> MstPlan:
    """The plan with the amounts stated in events; arbitrary amounts if the events differ.

    Args:
        recipe: the budget.
        domain: the public domain.
        layout: the layout of the measurements.
        events: the events in the record.
    """
    variances = [event.variance for event in events if isinstance(event, DiscreteGaussianEvent)]
    choices = [event.epsilon_per_choice for event in events if isinstance(event, ExponentialEvent)]
    kinds = 1 if layout.choices else len(layout.cliques)
    ones = len(layout.counted)
    padded = [*variances, *[Fraction(1)] * (ones + kinds + 1)]
    choice = (choices or [Fraction(1)])[0] if layout.choices else Fraction(0)
    return MstPlan(recipe, domain, layout, padded[0], choice, tuple(padded[ones : ones + kinds]))


@lru_cache(maxsize=16)
def _calibrate(recipe: MstRecipe, domain: Domain, layout: Layout) -> MstPlan:
    """Approximately the least noise within a recipe, with all amounts scaled together."""
    if not layout.counted:
        return planned(recipe, domain, layout, 1.0)
    scaled = partial(planned, recipe, domain, layout)
    return least_noise(scaled, recipe.rho, recipe.epsilon, recipe.delta, otherwise="lower delta")


def _query(names: Sequence[str]) -> str:
    *most, last = names
    return f"table of {', '.join(most)} and {last}"
