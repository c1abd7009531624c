"""Noisy entropies, the only information about a table that structure learning receives.

Symmetrical uncertainty, merit and graphs do not belong here.

Source: Bindschaedler, Shokri, Gunter 2017, eq. 8-10; the sensitivity is ours.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import combinations, permutations
from typing import TYPE_CHECKING, Literal

from deniable.foundation.domain import Domain
from deniable.foundation.errors import InvalidInput, Refused
from deniable.foundation.keys import Parameter, StreamOpener
from deniable.privacy.accounting import best, calibrate_discrete_gaussian, calibrate_discrete_laplace
from deniable.privacy.loss import ApproximateEvent, Guarantee, MechanismEvent, noisy_integers

if TYPE_CHECKING:
    from deniable.foundation.noise import Law
    from deniable.foundation.tables import Counts, PairCounts

Noise = Literal["laplace", "gaussian"]
View = tuple[int, bool]
"""An attribute's column number, and whether its values are replaced by their buckets."""
Query = tuple[View, ...]
"""The views whose joint entropy is measured."""

GRID = 2**32
"""Entropies are released as integers, in units of 2^-32 bit, because noise on integers can be drawn exactly."""

MIN_ROWS = 2
"""Smallest number of rows to which noise is scaled."""

BETA_SHARE = Fraction(1, 10)
"""Share of delta for the event that the lower bound on the row count fails."""


def canonical(domain: Domain, views: Query) -> Query:
    """Normalize a query: identity buckets become values, and constants, which have no entropy, are removed."""
    reduced = []
    for attribute, coarse in views:
        description = domain.attributes[attribute]
        size = description.bucket_count if coarse else description.cardinality
        if size > 1:
            reduced.append((attribute, coarse and size < description.cardinality))
    return tuple(sorted(reduced))


def entropy_queries(domain: Domain) -> tuple[Query, ...]:
    """The distinct entropies that CFS needs.

    There are m of H(x_i), m of H(bkt x_i), m(m-1) of H(x_i, bkt x_j) and m(m-1)/2 of H(bkt x_i, bkt x_j), m(3m+1)/2 in
    total. Entropies that are equal because of the public buckets are measured once.
    """
    m = len(domain)
    wanted: list[Query] = [((i, coarse),) for coarse in (False, True) for i in range(m)]
    wanted += [((i, False), (j, True)) for i, j in permutations(range(m), 2)]
    wanted += [((i, True), (j, True)) for i, j in combinations(range(m), 2)]
    queries = dict.fromkeys(canonical(domain, query) for query in wanted)
    queries.pop((), None)
    return tuple(queries)


def entropy(counts: "Counts") -> float:
    """Shannon entropy of a table of counts, in bits; 0 for an empty table.

    The sum is rounded once (fsum), so its value depends neither on the order of summation nor on the processor.
    """
    cells = [count for count in counts.ravel().tolist() if count]
    total = sum(cells)
    if total == 0:
        return 0.0
    return max(0.0, math.log2(total) - math.fsum(count * math.log2(count) for count in cells) / total)


def entropy_sensitivity(rows: int) -> float:
    """Largest change of an entropy, in bits, when one row is added to `rows` rows: H_b(1/(n+1)).

    Moving from n to n+1 rows moves the distribution to (n p + e)/(n+1) for a point mass e. The entropy changes most
    when all of p sits in one cell and e in another, which is the binary entropy of 1/(n+1); it decreases in n, so a
    lower bound on n is safe. Eq. 9 of Bindschaedler, Shokri, Gunter 2017 is twice this, for replaced rows.

    Args:
        rows: number of rows of the smaller table, at least 1.
    """
    share = 1 / (rows + 1)
    return -share * math.log2(share) - (1 - share) * math.log1p(-share) / math.log(2)


def grid_sensitivity(rows: int) -> int:
    """Sensitivity of an entropy in grid units.

    Rounding changes each of the two values by at most half a unit; floating-point error is far smaller.
    """
    return math.floor(entropy_sensitivity(rows) * GRID) + 2


def count_table(counts: "PairCounts", query: Query) -> "Counts":
    """The joint counts of a query's views."""
    # Compiled code, which may be absent if only the cost of entropies is verified.
    from deniable.foundation.tables import bucketize  # noqa: PLC0415

    domain = counts.domain
    numbers = [attribute for attribute, _ in query]
    table = counts.one(*numbers) if len(numbers) == 1 else counts.pair(*numbers)
    for axis, (attribute, coarse) in enumerate(query):
        if coarse:
            table = bucketize(table, domain.attributes[attribute].bucket_of, axis)
    return table


@dataclass(frozen=True)
class NoisyEntropies:
    """Noisy entropies in bits, each clamped to its possible range over the domain.

    Attributes:
        domain: the table's domain.
        bits: the noisy entropy of each query.
        rows_low: the lower bound on the number of rows to which the noise was scaled.
    """

    domain: Domain
    bits: dict[Query, float]
    rows_low: int

    def of(self, *views: View) -> float:
        """The joint entropy of some views; views that are constant contribute nothing."""
        return self.bits.get(canonical(self.domain, views), 0.0)


def largest_entropy(domain: Domain, query: Query) -> float:
    """Largest possible entropy of a query, in bits: the logarithm of the number of cells."""
    attributes = domain.attributes
    return math.fsum(
        math.log2(attributes[i].bucket_count if coarse else attributes[i].cardinality) for i, coarse in query
    )


@dataclass(frozen=True)
class EntropyRecipe:
    """The total budget of the noisy entropies of a table.

    Attributes:
        epsilon: total epsilon of the entropies and the row count.
        delta: total delta of the entropies and the row count.
        epsilon_rows: epsilon of the noisy row count, less than `epsilon`.
        noise: discrete Laplace (the paper's, on integers) or discrete Gaussian.
    """

    epsilon: Fraction
    delta: Fraction
    epsilon_rows: Fraction
    noise: Noise

    def calibrate(self, domain: Domain) -> "EntropyMechanism":
        """Scale the noise to the budget; only the budget and the public domain are used.

        Raises:
            InvalidInput: the budget does not suffice.
        """
        queries = entropy_queries(domain)
        epsilon = self.epsilon - self.epsilon_rows
        if epsilon <= 0:
            msg = (
                f"epsilon_rows must be less than the structure's epsilon, got {self.epsilon_rows} of {self.epsilon}; "
                "the row count only bounds the noise, so a tenth of the budget is ample."
            )
            raise InvalidInput(msg)
        delta = self.delta * (1 - BETA_SHARE)
        return EntropyMechanism(self, domain, queries, _noise_to_sensitivity(self.noise, len(queries), epsilon, delta))


@lru_cache  # every step of a release needs its cost
def _noise_to_sensitivity(noise: Noise, outputs: int, epsilon: Fraction, delta: Fraction) -> Fraction:
    """Noise needed for a sensitivity of 1: the scale (Laplace) or the variance (Gaussian)."""
    if noise == "laplace":
        return 1 / calibrate_discrete_laplace(outputs=max(outputs, 1), epsilon=epsilon, delta=delta)
    return calibrate_discrete_gaussian(outputs=max(outputs, 1), epsilon=epsilon, delta=delta)


@dataclass(frozen=True)
class EntropyMechanism:
    """A noisy row count, followed by all entropies with noise scaled to their sensitivity at that count.

    Noise is added to the row count n first; n_low = noisy n - ln(1 / beta) / epsilon_rows is at most n except with
    probability beta, which is added to delta. The sensitivity decreases in n, so that at n_low is at least that at n.
    (Noise scaled to the noisy n itself would be too small half of the time.)

    Attributes:
        recipe: the budget.
        domain: the table's domain.
        queries: the entropies.
        ratio: scale (Laplace) or variance (Gaussian) of the noise for a sensitivity of 1.
    """

    recipe: EntropyRecipe
    domain: Domain
    queries: tuple[Query, ...]
    ratio: Fraction

    @property
    def margin(self) -> int:
        """Amount subtracted from the noisy row count.

        Discrete Laplace noise Z exceeds z - 1 with probability below e^(-epsilon z). So n + Z - margin exceeds n with
        probability below beta; for the neighbouring table of n + 1 rows, the bound exceeds the smaller count n with
        probability below beta as well.
        """
        beta = float(self.recipe.delta * BETA_SHARE)
        return math.ceil(math.log(1 / beta) / float(self.recipe.epsilon_rows))

    @property
    def events(self) -> tuple[MechanismEvent, ...]:
        """The mechanisms applied to the data, fixed before any row is read; entropies in units of their sensitivity."""
        part = "structure"
        rows = noisy_integers("laplace", 1 / self.recipe.epsilon_rows, query="number of rows", part=part, outputs=1)
        bound = ApproximateEvent(
            query="the lower bound on the number of rows is wrong",
            part=part,
            outputs=1,
            epsilon_per_output=Fraction(0),
            delta_per_output=self.recipe.delta * BETA_SHARE,
        )
        if not self.queries:
            return rows, bound
        query, outputs = "entropies in bits, in units of their sensitivity", len(self.queries)
        return rows, bound, noisy_integers(self.recipe.noise, self.ratio, query=query, part=part, outputs=outputs)

    @cached_property
    def guarantee(self) -> Guarantee:
        """Total cost by the tightest accountant."""
        found = best(self.events, self.recipe.delta)
        if self.recipe.noise == "laplace":
            return found
        # The budget holds for a grid of any fineness relative to the sensitivity; the events describe the finest.
        return Guarantee(float(self.recipe.epsilon), found.delta, found.accountant)

    def run(self, counts: "PairCounts", open_stream: StreamOpener) -> NoisyEntropies:
        """Draw the noisy row count and the noisy entropies.

        Args:
            counts: counts of the structure part.
            open_stream: opens the streams of this step.

        Raises:
            Refused: the noisy row count is too small for scaling the noise.
        """
        from deniable.foundation.noise import DiscreteGaussian, DiscreteLaplace  # noqa: PLC0415 - compiled code, as above

        epsilon_rows = self.recipe.epsilon_rows
        stream = open_stream(mechanism="row_count", parameters={"epsilon": epsilon_rows})
        noisy_rows = int((counts.rows + DiscreteLaplace(1 / epsilon_rows).sample(stream, 1))[0])
        rows_low = noisy_rows - self.margin
        if rows_low < MIN_ROWS:
            msg = (
                f"the structure part must hold at least {MIN_ROWS} rows to learn a graph, got a noisy count of "
                f"{noisy_rows}, less a safety margin of {self.margin}; give it a larger share of split, or raise "
                "epsilon_rows."
            )
            raise Refused(msg)
        unit = grid_sensitivity(rows_low)
        law: Law
        if self.recipe.noise == "laplace":
            law = DiscreteLaplace(unit * self.ratio)
        else:
            law = DiscreteGaussian(unit**2 * self.ratio)
        parameters: dict[str, Parameter] = {
            "noise": self.recipe.noise,
            "ratio": self.ratio,
            "sensitivity": unit,
            "entropies": len(self.queries),
            "domain": self.domain.digest,
        }
        noise = law.sample(open_stream(mechanism="entropies", parameters=parameters), len(self.queries))
        exact = [round(entropy(count_table(counts, query)) * GRID) for query in self.queries]
        bits = {}
        for query, noisy in zip(self.queries, (noise + exact).tolist(), strict=True):
            bits[query] = min(max(noisy / GRID, 0.0), largest_entropy(self.domain, query))
        return NoisyEntropies(self.domain, bits, rows_low)
