"""The cost of learning, fixed before any data are read: the numbers of noisy tables and choices, and their noise.

The budget is divided into equal shares. The s shares of a one-way marginal follow from the public domain: it is
released once, with noise of an s-th of the variance of one share (with Laplace noise, of its scale). This is one event.
A table whose number of shares depends on earlier answers is counted once and released s times, each time with the noise
of one share (with Laplace noise once, with s times the epsilon). In every case the same multiset of mechanisms is run
on the same rows: by induction over the remaining shares, the composition is dominated by the product of their
dominating pairs, in any order. Hence the total is that of a composition fixed in advance, and tight accountants apply.
The selection of queries does not belong here.

An attribute with many values has a table with many cells, each with the noise of its shares. Its shares therefore grow
with the number of values, at the expense of all attributes: the total number of shares grows, and the noise of one
share is calibrated to it. Of the shares of a number with growing bins, some are for a second table, of its bins; this
is another event, and the cost of both is that of all its shares.

Laplace tables of several attributes have epsilons that depend on earlier answers and a fixed sum. Together they are one
interactive mechanism whose likelihood ratio is at most e^sum for any queries, and choices are made between its answers.
Interactive mechanisms with pure epsilon compose concurrently like randomized responses (Vadhan and Wang 2021 for pure
differential privacy; Vadhan and Zhang 2023 for any trade-off function): the dominating pair of such an event is that of
randomized response.

Source: Zhu, Dong, Wang 2022, Theorem 10, for the adaptive composition of dominating pairs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import combinations
from math import inf, pi, sqrt
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

from deniable.foundation.domain import Attribute, Domain
from deniable.foundation.errors import InvalidInput
from deniable.measurements.growing_bins import growing_bins
from deniable.privacy.accounting import best, four_digits, least_noise
from deniable.privacy.composition import epsilon_to_zcdp
from deniable.privacy.loss import (
    ApproximateEvent,
    ExponentialEvent,
    Guarantee,
    MechanismEvent,
    noisy_integers,
)

if TYPE_CHECKING:
    from deniable.foundation.noise import Law

Noise = Literal["laplace", "gaussian"]
NoiseChoice = Literal["auto", "laplace", "gaussian"]

ONE_WAY_SHARES = 12
"""Mean number of shares of a one-way marginal; if the total would be large, shares are fewer and larger."""
TABLE_SHARES = Fraction(11, 3)
"""Shares of tables of several attributes per share of a one-way marginal."""
MANY_ATTRIBUTES = 20
FEWEST_SHARES = 2
"""Smallest mean number of shares of a one-way marginal. Tables then get at least 7 shares per attribute, for at most 6
tables: one of the tree, one with the target, and four extra ones."""
_MANY_VALUES = 40
"""Number of values above which an attribute gets additional shares."""
_NEIGHBOURS = 2.5
"""Number of numeric values, informed by their neighbours, that need as many shares as one nominal value."""
_MOST_NEIGHBOURED = 1000.0
"""Number of nominal values whose shares no number with growing bins exceeds: its tail is in the counts of bins."""
_GROWTH = 2 / 3
"""Exponent of the growth of shares in the number of values: it minimises the sum of cells times Gaussian noise."""
_SHARES_OF_BINS = ((128, Fraction(1, 10)), (256, Fraction(15, 100)))
"""Part of a number's shares for its growing bins, up to so many values; with few, bins hold few values each."""
_MOST_OF_BINS = {"gaussian": Fraction(1, 3), "laplace": Fraction(2, 5)}
"""The same with more values, by the kind of noise."""
CHOICE_BUDGET = Fraction(3, 100)
"""Share of the budget for all choices."""

EXTRAS_PER_ATTRIBUTE = 4
"""Largest number of extra tables per attribute, beyond those of the tree and of the target."""
DECLARED_PER_ATTRIBUTE = 2
"""Largest number of declared pairs per attribute: with those of the tree and of the target, as many as there are shares
if most shares were spent on single attributes again."""
TABLES_PER_ATTRIBUTE = 3
"""Approximate number of tables of several attributes per attribute."""
BATCHES = 6
"""Number of batches in which extra tables are chosen and measured."""
_BATCHES_OF_VERSION_2 = 3
PART = "parameters"


@dataclass(frozen=True)
class LoglinearRecipe:
    """The budget of the model.

    Attributes:
        epsilon: total epsilon of all queries.
        delta: total delta of all queries; 0 for pure differential privacy.
        noise: discrete Laplace, discrete Gaussian, or the one with the smaller errors.
        together: sets of attributes, by name, of which all pairs are measured.
    """

    epsilon: Fraction
    delta: Fraction
    noise: NoiseChoice = "auto"
    together: tuple[tuple[str, ...], ...] = ()

    def calibrate(self, domain: Domain) -> "LoglinearPlan":
        """Scale the noise to the budget; only the budget and the public domain are used.

        Raises:
            InvalidInput: Gaussian noise is requested at delta 0, or at a delta that alone permits any amount of noise,
                or too many pairs are to be counted together.
        """
        noise = self.noise_for(Layout.of(domain))
        layout = Layout.of(domain, noise).with_declared(pairs_of(self.together, domain))
        most = DECLARED_PER_ATTRIBUTE * len(layout.counted)
        if len(layout.declared) > most:
            raise InvalidInput(
                f"counted_together must have at most {most:,} pairs of this "
                f"table's attributes, got {len(layout.declared):,}; leave out a set, or declare smaller ones."
            )
        return self.with_laplace(domain, layout) if noise == "laplace" else _calibrate_gaussian(self, domain, layout)

    def noise_for(self, layout: "Layout") -> Noise:
        """The kind of noise for a layout.

        Raises:
            InvalidInput: Gaussian noise is requested at delta 0.
        """
        if self.noise == "gaussian" and self.delta == 0:
            raise InvalidInput("delta must be above 0 for Gaussian noise, got 0; raise it or take Laplace noise.")
        if not layout.counted or self.delta == 0 or self.noise == "laplace":
            return "laplace"
        tables = TABLES_PER_ATTRIBUTE * len(layout.counted)
        typical = sqrt(2 / pi) * sqrt(tables / (2 * self.rho)), tables / self.epsilon
        return "laplace" if self.noise == "auto" and typical[0] >= typical[1] else "gaussian"

    def with_laplace(self, domain: Domain, layout: "Layout") -> "LoglinearPlan":
        """The plan with Laplace noise: epsilon is divided among all shares and choices, by basic composition."""
        if not layout.counted:
            return LoglinearPlan(self, domain, layout, "laplace", Fraction(1), Fraction(0))
        table_epsilon = self.epsilon * (1 - CHOICE_BUDGET * bool(layout.choices)) / layout.shares
        choice_epsilon = self.epsilon * CHOICE_BUDGET / max(layout.choices, 1)
        return LoglinearPlan(self, domain, layout, "laplace", 1 / table_epsilon, choice_epsilon)

    @property
    def rho(self) -> float:
        """A zCDP parameter rho that is certainly within the recipe."""
        return epsilon_to_zcdp(float(self.epsilon), float(self.delta))


@dataclass(frozen=True)
class Layout:
    """The number of queries of each kind; public.

    Attributes:
        counted: attributes with more than one value.
        tree_choices: number of pairs chosen for the tree.
        extra_choices: largest number of tables chosen beyond the tree.
        one_way_shares: shares of each one-way marginal; attributes with many values get more.
        bin_shares: those of them that are for its growing bins; 0 if it has none.
        table_shares: total shares of tables of several attributes.
        target: the attribute that is measured with each other one; None if there is no target with several values.
        batches: number of batches of extra tables.
        ones_at_once: whether a one-way marginal is released once, with all its shares.
        declared: pairs that are measured whatever the answers are, besides those with the target.
    """

    counted: tuple[int, ...]
    tree_choices: int
    extra_choices: int
    one_way_shares: tuple[int, ...]
    table_shares: int
    target: int | None
    batches: int = BATCHES
    ones_at_once: bool = True
    bin_shares: tuple[int, ...] = ()
    declared: tuple[tuple[int, int], ...] = ()

    def with_declared(self, pairs: Sequence[tuple[int, int]]) -> "Layout":
        """The layout with pairs that are measured whatever the answers are; the total of shares is the same."""
        own = [pair for pair in pairs if {*pair} <= {*self.counted} and self.target not in pair]
        return replace(self, declared=tuple(own))

    @classmethod
    def of(cls, domain: Domain, noise: Noise = "gaussian") -> "Layout":
        """The layout for a domain and a kind of noise."""
        earlier = cls.of_version_2(domain)
        binned = {i for i in earlier.counted if growing_bins(domain.attributes[i]) is not None}
        alone = cls._one_way_shares(domain, dict.fromkeys(binned, _MOST_NEIGHBOURED))
        own = zip(earlier.counted, alone, strict=True)
        bins = tuple(for_bins(domain.attributes[i], shares, noise) for i, shares in own)
        return replace(earlier, one_way_shares=alone, batches=BATCHES, ones_at_once=True, bin_shares=bins)

    @classmethod
    def of_version_7(cls, domain: Domain) -> "Layout":
        """The layout of versions 3 to 7 of the learner, without growing bins, for the verification of its releases."""
        earlier = cls.of_version_2(domain)
        return replace(earlier, one_way_shares=cls._one_way_shares(domain), batches=BATCHES, ones_at_once=True)

    @staticmethod
    def _one_way_shares(domain: Domain, most: Mapping[int, float] = MappingProxyType({})) -> tuple[int, ...]:
        """Shares of the one-way marginals, which grow with the number of values up to the given ones."""
        counted = [i for i, size in enumerate(domain.cardinalities) if size > 1]
        shares = zip(counted, _without_growth(domain, counted), strict=True)
        return tuple(max(1, round(own * _growth(domain.attributes[i], most.get(i, inf)))) for i, own in shares)

    @classmethod
    def of_version_2(cls, domain: Domain) -> "Layout":
        """The layout of version 2 of the learner, for the verification of its releases."""
        counted = [i for i, size in enumerate(domain.cardinalities) if size > 1]
        m = len(counted)
        target = None if domain.target is None else domain.index(domain.target)
        in_tree = m - (target in counted)
        pairs = m * (m - 1) // 2
        alone = _mean_shares(m)
        tables_first = max(in_tree - 1, 0) + (m - 1 if target in counted else 0)
        return cls(
            counted=tuple(counted),
            tree_choices=max(in_tree - 1, 0),
            extra_choices=EXTRAS_PER_ATTRIBUTE * m if pairs > tables_first else 0,
            one_way_shares=tuple(max(1, round(each)) for each in _without_growth(domain, counted)),
            table_shares=int(TABLE_SHARES * alone * m) if m > 1 else 0,
            target=target if target in counted else None,
            batches=_BATCHES_OF_VERSION_2,
            ones_at_once=False,
            bin_shares=(0,) * m,
        )

    @property
    def value_shares(self) -> tuple[int, ...]:
        """Shares of each one-way marginal by values."""
        return tuple(own - bins for own, bins in zip(self.one_way_shares, self.bin_shares, strict=True))

    @property
    def first_tables(self) -> int:
        """Number of tables of the tree, of the target and of declared pairs, which are measured before all others."""
        return self.tree_choices + (len(self.counted) - 1 if self.target is not None else 0) + len(self.declared)

    @property
    def extra_slots(self) -> list[str]:
        """Each choice beyond the tree, by its batch and position; earlier answers may cause some to be skipped."""
        sizes = in_batches(self.extra_choices, self.batches)
        return [f"batch {each}, {turn}" for each, size in enumerate(sizes, 1) for turn in range(1, size + 1)]

    @property
    def choices(self) -> int:
        """Total number of choices."""
        return self.tree_choices + self.extra_choices

    @property
    def shares(self) -> int:
        """Total number of shares."""
        return sum(self.one_way_shares) + self.table_shares

    def gaussian_variance(self, rho: float) -> float:
        """Noise variance of one share at which all shares and choices together satisfy rho-zCDP."""
        return self.shares / (2 * (rho - self._for_choices(rho)))

    def choice_epsilon(self, rho: float) -> float:
        """Epsilon of one choice at which all shares and choices together satisfy rho-zCDP."""
        return sqrt(8 * self._for_choices(rho) / self.choices) if self.choices else 0.0

    def rho_of(self, variance: float) -> float:
        """The zCDP parameter rho of all shares and choices together, given the noise variance of one share."""
        return self.shares / (2 * variance) / (1 - self._for_choices(1.0))

    def _for_choices(self, rho: float) -> float:
        return float(CHOICE_BUDGET) * rho if self.choices else 0.0


@dataclass(frozen=True)
class LoglinearPlan:
    """A recipe with its noise: all mechanisms to be applied to the data.

    Attributes:
        recipe: the budget.
        domain: the public domain.
        layout: the number of queries of each kind.
        noise: kind of noise of the tables.
        amount: variance (Gaussian) or scale (Laplace) of the noise of one share.
        choice_epsilon: epsilon of one choice.
    """

    recipe: LoglinearRecipe
    domain: Domain
    layout: Layout
    noise: Noise
    amount: Fraction
    choice_epsilon: Fraction

    @property
    def events(self) -> tuple[MechanismEvent, ...]:
        """An upper bound on the mechanisms applied to the data, fixed before any row is read.

        Each table of several attributes is listed with one share; the remaining shares are divided among the tables
        according to earlier answers. The share of a table that is not measured goes to another table or to a one-way
        marginal.
        """
        layout = self.layout
        return (
            *(
                self._counted(f"counts of {self.domain.names[i]}", shares, at_once=layout.ones_at_once)
                for i, shares in zip(layout.counted, layout.value_shares, strict=True)
            ),
            *(
                self._counted(f"counts of {self.domain.names[i]} by growing bins", shares, at_once=True)
                for i, shares in zip(layout.counted, layout.bin_shares, strict=True)
                if shares
            ),
            *(self._chosen(f"choice of tree table {turn}") for turn in range(1, layout.tree_choices + 1)),
            *(self._chosen(f"choice of extra table, {slot}") for slot in layout.extra_slots),
            *self._tables(),
        )

    @cached_property
    def guarantee(self) -> Guarantee:
        """Total cost by the tightest accountant."""
        return best(self.events, self.recipe.delta) if self.layout.counted else Guarantee(0.0, 0.0, "basic")

    def law(self, shares: int, *, at_once: bool = False) -> "Law":
        """Noise distribution of one release of a table with some shares.

        Args:
            shares: the shares.
            at_once: whether it is a single release with all shares, their number being fixed in advance.
        """
        # Noise is drawn by compiled code, which may be absent if a plan is only verified.
        from deniable.foundation.noise import DiscreteGaussian, DiscreteLaplace  # noqa: PLC0415

        if self.noise == "laplace":
            return DiscreteLaplace(self.amount / shares)
        return DiscreteGaussian(self.amount / shares if at_once else self.amount)

    def releases(self, shares: int, *, at_once: bool) -> int:
        """Number of releases of a table with some shares; see `law`."""
        return 1 if at_once or self.noise == "laplace" else shares

    def deviation(self, shares: float) -> float:
        """Standard deviation of the noise of a table with some shares, averaged over its releases."""
        if self.noise == "laplace":
            return sqrt(2) * float(self.amount) / shares
        return sqrt(float(self.amount) / shares)

    def mean_noise(self, shares: float) -> float:
        """Mean absolute noise of a table with some shares."""
        return self.deviation(shares) * (sqrt(0.5) if self.noise == "laplace" else sqrt(2 / pi))

    @property
    def pair_noise(self) -> float | None:
        """Standard deviation of the noise of a table of several attributes, if all such tables have equal shares."""
        layout = self.layout
        tables = min(layout.first_tables + layout.extra_choices, layout.table_shares)
        return self.deviation(layout.table_shares / tables) if tables else None

    def share_weight(self, cells: float) -> float:
        """Optimal number of shares of a table, up to a factor: it minimises the sum of cells times noise."""
        return float(cells ** (1 / 2 if self.noise == "laplace" else 2 / 3))

    def _tables(self) -> list[MechanismEvent]:
        """Events of the tables of several attributes."""
        layout, names = self.layout, self.domain.names
        if not layout.table_shares:
            return []
        if self.noise == "laplace":
            # Shares of Laplace noise are not composed individually: only their sum is known in advance.
            query = (
                "counts of several and single attributes, all tables together, as earlier answers divide their epsilon"
            )
            whole = layout.table_shares / self.amount
            return [ApproximateEvent(query=query, part=PART, outputs=1, epsilon_per_output=whole)]
        others = [i for i in layout.counted if i != layout.target] if layout.target is not None else []
        target = "" if layout.target is None else names[layout.target]
        queries = [
            *(f"tree table {turn}" for turn in range(1, layout.tree_choices + 1)),
            *(f"counts of {names[i]} and {target}" for i in others),
            *(f"counts of {names[i]} and {names[j]}, as declared" for i, j in layout.declared),
            *(f"extra table, {slot}" for slot in layout.extra_slots),
        ][: layout.table_shares]
        rest = layout.table_shares - len(queries)
        further = "further shares of such tables or of single attributes, as earlier answers divide them"
        return [*(self._counted(query, 1) for query in queries), *([self._counted(further, rest)] if rest else [])]

    def _counted(self, query: str, shares: int, *, at_once: bool = False) -> MechanismEvent:
        outputs = self.releases(shares, at_once=at_once)
        amount = self.amount * outputs / shares
        return noisy_integers(self.noise, amount, query=query, part=PART, outputs=outputs)

    def _chosen(self, query: str) -> MechanismEvent:
        return ExponentialEvent(query=query, part=PART, outputs=1, epsilon_per_choice=self.choice_epsilon)


@lru_cache(maxsize=16)
def _calibrate_gaussian(recipe: LoglinearRecipe, domain: Domain, layout: Layout) -> LoglinearPlan:
    """Approximately the least noise within a recipe, with shares and choices scaled together."""

    def plan(total: float) -> LoglinearPlan:
        variance, choice = layout.gaussian_variance(total), layout.choice_epsilon(total)
        return LoglinearPlan(recipe, domain, layout, "gaussian", four_digits(variance, 1), four_digits(choice, -1))

    otherwise = "lower delta or take Laplace noise"
    return least_noise(plan, recipe.rho, recipe.epsilon, recipe.delta, otherwise=otherwise)


def pairs_of(sets: Sequence[Sequence[str]], domain: Domain) -> tuple[tuple[int, int], ...]:
    """All pairs of attributes within some sets, by column number in ascending order.

    Args:
        sets: names of attributes; those that are not in the domain, because others determine them, are left out.
        domain: the public domain.
    """
    known = [sorted({domain.index(name) for name in each if name in domain.names}) for each in sets]
    return tuple(sorted({pair for each in known for pair in combinations(each, 2)}))


def in_batches(tables: int, batches: int) -> list[int]:
    """Numbers of tables in each batch; later batches, which are better informed, get any remainder.

    They are non-decreasing in the number of tables, so that fewer tables than planned fit into the planned batches.
    """
    return [(tables + batch) // batches for batch in range(batches)]


def _mean_shares(attributes: int) -> int:
    """Mean number of shares of a one-way marginal, excluding those for many values."""
    return max(FEWEST_SHARES, ONE_WAY_SHARES * MANY_ATTRIBUTES // max(attributes, MANY_ATTRIBUTES))


def _without_growth(domain: Domain, counted: Sequence[int]) -> list[float]:
    """Shares of the one-way marginals, as if no attribute had many values."""
    m = len(counted)
    weights = [sqrt(min(domain.cardinalities[i], _MANY_VALUES)) for i in counted]
    return [_mean_shares(m) * m * weight / sum(weights) for weight in weights]


def for_bins(attribute: Attribute, shares: int, noise: Noise) -> int:
    """How many shares of an attribute are for its growing bins; 0 if it has none."""
    if shares <= 1 or growing_bins(attribute) is None:
        return 0
    part = next((part for most, part in _SHARES_OF_BINS if attribute.cardinality <= most), _MOST_OF_BINS[noise])
    return max(1, round(part * shares))


def _growth(attribute: Attribute, most: float = inf) -> float:
    """Factor of the shares of an attribute for its number of values, up to a number at which it grows no more."""
    size = attribute.cardinality / (_NEIGHBOURS if attribute.kind == "numeric" else 1)
    return float(max(1.0, min(size, most) / _MANY_VALUES) ** _GROWTH)
