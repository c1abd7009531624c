"""The urns of all destinations: their prior weights, and the cost of all draws, fixed before any origin is read.

Needs no compiled code, because verification derives the same.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from functools import lru_cache
from math import ceil, expm1
from threading import Lock
from typing import Any, Final

from deniable.foundation.domain import Domain
from deniable.foundation.errors import InvalidInput
from deniable.learners.origin_destination.bounds import (
    acceptance_growth,
    satisfies_theorem_4_4,
    satisfies_theorem_o,
    satisfies_theorem_o_for_fewer,
    theorem_4_4_alpha,
    theorem_o_alpha,
)
from deniable.learners.origin_destination.domain_sampling import added_by_theorem_5_2, added_by_theorem_d
from deniable.privacy.loss import ApproximateEvent, MechanismEvent
from deniable.privacy.urn_costs import UNIT, prior_for, require_mass

FORMAT: Final = "deniable/flows/1"
QUERY: Final = "origins of the workers of one destination, drawn from exact counts"
TOTALS_QUERY: Final = "numbers of workers of all destinations"
TRIES: Final = 64
"""Number of tries for a destination; all are made, and the first acceptable one is kept."""
KEPT_UNIT: Final = 1 << 32
"""The probability with which an empty origin stays in the domain is a multiple of this number's reciprocal."""
MOST_IN_ONE = 1_000_000
"""Largest number of workers of one destination."""
_FEW = 1000
_ONE_SEARCHES: Final = Lock()
_REMEMBERED = 1 << 16
_CONTEXT = Context(prec=80)
_DIGITS = Decimal(10) ** -20
# The accounting of a split uses floating-point arithmetic.
_LOST_BY_FLOATS = Decimal(10) ** -12


@dataclass(frozen=True)
class FlowsPlan:
    """A spec's request, in numbers.

    Attributes:
        destinations: number of destinations.
        origins: number of origins to draw from, k; areas if origins are coarsened.
        epsilon: budget of the draws of one destination, without the increase due to domain sampling.
        delta: probability that draws exceed epsilon; 0 for pure privacy.
        bound: `theorem_O` or `theorem_4_4`, for delta above 0.
        kept: smallest probability with which an empty origin stays in the domain; None without domain sampling.
        accept_reject: whether draws too far from the counts are rejected.
        totals: public number of workers of each destination; None if measured.
        read: probability with which a worker is in the part of the rows that is counted.
        by_distance: how the probability with which an empty origin stays depends on its distance, in words.
        sampling_bound: the theorem on what domain sampling adds to epsilon, `theorem_D` or `theorem_5_2`.
    """

    destinations: int
    origins: int
    epsilon: Fraction
    delta: Fraction = Fraction(0)
    bound: str = "theorem_O"
    kept: Fraction | None = None
    accept_reject: bool = False
    totals: tuple[int, ...] | None = None
    read: Fraction = Fraction(1)
    by_distance: str = ""
    sampling_bound: str = "theorem_D"

    def prior(self, people: int, draws: int) -> int:
        """Prior weight of each origin of a destination, in units of 1 / 2^20 workers; 0 if nothing is drawn.

        Args:
            people: number of workers n, equal in neighbouring tables; unused for pure privacy.
            draws: number of draws m.
        """
        if draws == 0:
            return 0
        if self.origins == 1 or not self.has_bound(people, draws):
            return prior_for(self.epsilon, draws)
        # Blocks are drawn at once, and each of them needs the same weights, in the same order.
        with _ONE_SEARCHES:
            return _probabilistic_prior(
                people, draws, self.origins, self.epsilon, self.delta, self.bound, self.kept, self.accept_reject
            )

    def has_bound(self, people: int, draws: int) -> bool:
        """Whether a theorem permits a smaller prior weight than pure privacy; some hold only for m = n."""
        if self.delta == 0 or people == 0:
            return False
        return people == draws or (self.bound == "theorem_O" and self.kept is None)

    def require_mass(self, records: int, more: int = 0) -> None:
        """Refuse urns whose weights might overflow 64 bits for some division of the records among destinations.

        The prior weight of pure privacy is the largest of all bounds; accept/reject may need slightly more.

        Args:
            records: number of records of the release.
            more: number of public workers added to each destination's.

        Raises:
            InvalidInput: they might overflow.
        """
        draws = min(max(self.totals, default=0) if self.totals is not None else records, MOST_IN_ONE)
        if draws and self.origins > 1:
            require_mass(max(prior_for(self.epsilon, draws), self.prior(draws, draws)), self.origins, draws + more)

    @property
    def growth(self) -> Fraction:
        """G of accept/reject, rounded down to a multiple of 1 / 2^20."""
        return Fraction(int(acceptance_growth(float(self.epsilon), float(self.delta)) * UNIT * (1 - 1e-12)), UNIT)

    @property
    def events(self) -> tuple[MechanismEvent, ...]:
        """All draws: a record is in one destination, so the draws of all destinations cost as much as those of one."""
        if self.origins == 1:
            return ()
        epsilon, delta = self.epsilon, self.delta
        if self.kept is not None:
            epsilon += self._added_by_sampling(self.kept)
        if self.accept_reject:
            delta += delta**TRIES
        if self.delta > 0:
            epsilon = before_sampling(epsilon, self.read)
        return (
            ApproximateEvent(
                query=QUERY + self.by_distance,
                part="parameters",
                outputs=1,
                epsilon_per_output=epsilon,
                delta_per_output=delta,
            ),
        )

    def _added_by_sampling(self, kept: Fraction) -> Fraction:
        """The epsilon that domain sampling adds: that of the destination for which it is largest."""
        priors = {people: self.prior(people, people) for people in {*(self.totals or ())} if people}
        if self.sampling_bound == "theorem_5_2":
            return added_by_theorem_5_2(kept, max(priors.values(), default=0))
        found = (added_by_theorem_d(people, self.origins, kept, prior) for people, prior in priors.items())
        return max(found, default=Fraction(0))


@lru_cache(_REMEMBERED)
def _probabilistic_prior(
    people: int,
    draws: int,
    origins: int,
    epsilon: Fraction,
    delta: Fraction,
    bound: str,
    kept: Fraction | None,
    accept_reject: bool,  # noqa: FBT001 - cached by position
) -> int:
    """The smallest prior weight found to satisfy the bound, rounded up and checked again after rounding."""
    level, chance = float(epsilon), float(delta)
    growth = float(FlowsPlan(1, origins, epsilon, delta).growth) if accept_reject else expm1(level)
    pure = -(-draws * UNIT * 10**12 // int(growth * 10**12)) if accept_reject else prior_for(epsilon, draws)

    def holds(prior: int) -> bool:
        alpha = prior / UNIT
        if bound == "theorem_4_4":
            return satisfies_theorem_4_4(people, origins, alpha, level, chance)
        if kept is not None:
            return satisfies_theorem_o_for_fewer(people, draws, origins, alpha, growth, chance, float(kept))
        return satisfies_theorem_o(people, draws, origins, alpha, growth, chance)

    if bound == "theorem_4_4":
        found = theorem_4_4_alpha(people, origins, level, chance, unit=UNIT)
    else:
        least = None if kept is None else float(kept)
        found = theorem_o_alpha(people, draws, origins, growth, chance, kept=least, unit=UNIT)
    prior = ceil(found * UNIT)
    for _ in range(_FEW):
        if prior >= pure or holds(prior):
            break
        prior += 1
    else:
        return pure
    return min(max(prior, 1), pure)


def before_sampling(epsilon: Fraction, read: Fraction) -> Fraction:
    """The epsilon that the accounting of a split maps back to epsilon: ln(1 + (e^epsilon - 1) / p), rounded up.

    A joint split lowers epsilon because, if the record is not read, the draws are those of a neighbouring table. This
    is proved for added and removed records. If neighbours differ only in an origin, the record is present in both, and
    the split lowers delta, but not epsilon.

    Args:
        epsilon: cost of one worker's origin.
        read: probability p with which a worker is in the part that is read.
    """
    growth = _CONTEXT.subtract(_CONTEXT.exp(_CONTEXT.divide(epsilon.numerator, Decimal(epsilon.denominator))), 1)
    ratio = _CONTEXT.divide(_CONTEXT.multiply(growth, Decimal(read.denominator)), Decimal(read.numerator))
    above = _CONTEXT.add(_CONTEXT.ln(_CONTEXT.add(1, ratio)), _LOST_BY_FLOATS)
    return Fraction(above.quantize(_DIGITS, rounding=ROUND_CEILING, context=_CONTEXT)) if read < 1 else epsilon


def kept_probability(asked: Fraction) -> Fraction:
    """The probability of domain sampling, rounded down to the precision of draws."""
    return Fraction(int(asked * KEPT_UNIT), KEPT_UNIT)


def plan_of(asked: Mapping[str, Any], domain: Domain, read: Fraction = Fraction(1)) -> FlowsPlan:
    """The plan of a learner's entry, as a document or as fields.

    Args:
        asked: the entry.
        domain: the public domain.
        read: probability with which a worker is in the part of the rows that is counted; only the cost depends on it.

    Raises:
        InvalidInput: the table is not one of destinations and origins, or the totals do not fit it.
    """
    require_attributes(asked["destination"], asked["origin"], domain)
    destination = domain.attributes[domain.index(asked["destination"])]
    origin = domain.attributes[domain.index(asked["origin"])]
    totals = asked["totals"]
    kept = asked["sampling"]
    return FlowsPlan(
        destinations=destination.cardinality,
        origins=origin.bucket_count if asked["coarsen"] else origin.cardinality,
        epsilon=Fraction(asked["epsilon"]),
        delta=Fraction(asked["delta"]),
        bound=asked["bound"],
        kept=None if kept is None else kept_probability(Fraction(kept)),
        accept_reject=asked["accept_reject"],
        totals=None if totals is None else totals_in_order(totals, destination.values),
        read=read,
        by_distance=_in_words(asked.get("sampling_by_distance"), asked["sampling"]),
        # Records of earlier versions have no such entry, and were charged by theorem 5.2.
        sampling_bound=asked.get("sampling_bound") or "theorem_5_2",
    )


def _in_words(function: Any, kept: Any) -> str:
    """What plan and record say about domain sampling by distance; a function as a document, or as fields."""
    if function is None:
        return ""
    fields = function if isinstance(function, Mapping) else dict(function)
    steps = [f"{float(Fraction(share)):g} within {float(Fraction(away)):g} miles" for away, share in fields["within"]]
    decay = fields.get("decay_miles")
    found = [f"exp(-miles / {float(Fraction(decay)):g}), at least {float(Fraction(kept)):g}"] if decay else []
    beyond = [] if decay else [f"{float(Fraction(kept)):g} beyond"]
    return f"; one without workers is in the domain with probability {', '.join([*steps, *found, *beyond])}"


def require_attributes(destination: str, origin: str, domain: Domain) -> None:
    """Refuse a table with attributes other than a destination and an origin.

    Raises:
        InvalidInput: it has other attributes.
    """
    if destination == origin or {destination, origin} != set(domain.names):
        raise InvalidInput(
            "destination and origin must be the two attributes of the table, "
            f"got {destination} and {origin} for {', '.join(domain.names)}."
        )


def totals_in_order(totals: Mapping[str, int], values: Sequence[object]) -> tuple[int, ...]:
    """Public totals in the order of the destinations.

    Raises:
        InvalidInput: a total is for an unknown destination, or one is missing.
    """
    names = [str(value) for value in values]
    by_name = {str(name): number for name, number in totals.items()}
    if set(by_name) != set(names):
        raise InvalidInput(
            f"totals must have a number for each of the {len(names):,} destinations and for no other, got "
            f"{len(set(names) - set(by_name)):,} missing and {len(set(by_name) - set(names)):,} unknown."
        )
    if any(not 0 <= number <= MOST_IN_ONE for number in by_name.values()):
        raise InvalidInput(f"totals must be from 0 to {MOST_IN_ONE:,} workers, got another number.")
    return tuple(by_name[name] for name in names)


def apportioned(noisy: Sequence[int], records: int) -> tuple[int, ...]:
    """Numbers of draws in proportion to noisy numbers of workers, by largest remainders; they sum to `records`.

    Negative numbers count as 0; if all are 0, the draws are divided equally.
    """
    weights = [max(each, 0) for each in noisy]
    if not any(weights):
        weights = [1] * len(noisy)
    whole = sum(weights)
    shares = [divmod(weight * records, whole) for weight in weights]
    left = records - sum(share for share, _ in shares)
    first = sorted(range(len(shares)), key=lambda place: -shares[place][1])[:left]
    more = set(first)
    return tuple(share + (place in more) for place, (share, _) in enumerate(shares))


def draws_of(plan: FlowsPlan, workers: Sequence[int], records: int) -> tuple[int, ...]:
    """Number of draws of each destination: as many as its public workers, or apportioned to measured ones.

    Args:
        plan: the plan.
        workers: the number of workers of each destination, from the urns' document.
        records: number of records of the release.

    Raises:
        InvalidInput: public totals do not sum to the number of records.
    """
    if plan.totals is None:
        draws = apportioned(workers, records)
        if max(draws, default=0) > MOST_IN_ONE:
            raise InvalidInput(f"at most {MOST_IN_ONE:,} origins can be drawn for one destination; lower records.")
        return draws
    if sum(plan.totals) != records:
        raise InvalidInput(
            f"synthesis.records must be the sum of the public totals, {sum(plan.totals):,}, got {records:,}."
        )
    return plan.totals


def urns_document(asked: Mapping[str, Any], domain: Domain, plan: FlowsPlan, workers: Sequence[int]) -> dict[str, Any]:
    """The public description of the urns: each destination's workers, public or measured, and the prior weights.

    The prior weight of pure privacy follows from the number of draws. It is omitted if that number is not yet known,
    for measured totals (`draws_of`), and for probabilistic privacy, where it also depends on the workers in the part
    of the rows that is read.
    """
    destination = domain.attributes[domain.index(asked["destination"])]
    urns = []
    for value, number in zip(destination.values, workers, strict=True):
        urn: dict[str, Any] = {"destination": value, "workers": number}
        stated = plan.totals is not None and plan.delta == 0
        urns.append(urn | {"prior": plan.prior(number, number)} if stated else urn)
    shape = asked.get("prior_workers") or {}
    return {
        "format": FORMAT,
        **({"prior_workers": dict(shape)} if shape else {}),
        "destination": asked["destination"],
        "origin": asked["origin"],
        "origins": plan.origins,
        "unit": UNIT,
        "urns": urns,
    }
