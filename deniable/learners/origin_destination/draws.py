"""The counts and the draws of this learner; see `deniable.mechanisms.ChargedDraws`.

The order of records depends only on the key and their number. Each destination's urn has its own stream, and is drawn
once for all chunks of a block: a destination whose workers are in two blocks is drawn in both, with the same result.
Time and memory of a destination are proportional to its draws and its occupied origins, whatever the number of origins.
"""

# numba infers the types of kernels
# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False, disallow-untyped-decorators=False

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache, partial
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.evaluation.commutes import miles
from deniable.foundation.domain import Codes, Domain
from deniable.foundation.keys import Parameter, WordStream
from deniable.foundation.noise import uniform_below
from deniable.kernels import kernel
from deniable.learners.origin_destination.plan import FORMAT, KEPT_UNIT, TRIES, FlowsPlan, draws_of, plan_of
from deniable.learners.origin_destination.spec import Entry, SamplingByDistance
from deniable.mechanisms import ChargedDraws, ChunkStreams, Counter, Draw
from deniable.models.sequential_model import require_format
from deniable.models.urns import draw_polya
from deniable.privacy.urn_costs import UNIT

Integers = NDArray[np.int64]


@dataclass
class FlowCounts:
    """Numbers of workers by destination and origin, as a list of the pairs that occur.

    Attributes:
        destination: column of destinations.
        origin: column of origins.
        area_of: the area that is counted for each origin.
        pairs: destination times the number of areas, plus area; ascending.
        numbers: number of workers of each pair.
    """

    destination: int
    origin: int
    area_of: tuple[int, ...] = field(repr=False)
    pairs: Integers = field(init=False, repr=False)
    numbers: Integers = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Begin with no pairs."""
        self.pairs = np.empty(0, np.int64)
        self.numbers = np.empty(0, np.int64)

    def add(self, codes: Codes) -> None:
        """Count more rows, value codes of shape (rows, m)."""
        areas = np.asarray(self.area_of, np.int64)
        cells = codes[:, self.destination].astype(np.int64) * (int(areas.max()) + 1) + areas[codes[:, self.origin]]
        self._take(*np.unique(cells, return_counts=True))

    def merge(self, other: "FlowCounts") -> None:
        """Add the counts of other rows of the same table."""
        self._take(other.pairs, other.numbers)

    def _take(self, pairs: Integers, numbers: Integers) -> None:
        found, place = np.unique(np.concatenate([self.pairs, pairs]), return_inverse=True)
        summed = np.zeros(len(found), np.int64)
        np.add.at(summed, place, np.concatenate([self.numbers, numbers]))
        self.pairs, self.numbers = found, summed

    @property
    def arrays(self) -> dict[str, Integers]:
        """The counts so far, as named arrays to be stored."""
        return {"pairs": self.pairs, "numbers": self.numbers}

    def restore(self, arrays: Mapping[str, Integers]) -> None:
        """Restore the counts from the stored arrays."""
        self.pairs, self.numbers = arrays["pairs"], arrays["numbers"]


NEEDS_READ = True
"""Whether `draws` needs the probability with which a record is read."""


def draws(entry: Entry, domain: Domain, *, records: int, chunk: int, read: Fraction = Fraction(1)) -> ChargedDraws:
    """Plan the draws; see `deniable.learners.registry.draws_of`.

    Raises:
        InvalidInput: the table or the totals do not fit.
    """
    plan = plan_of(dict(entry), domain, read)
    if plan.totals is not None:
        draws_of(plan, plan.totals, records)
    plan.require_mass(records, sum(entry.prior_workers.values()))
    parameters: dict[str, Parameter] = {
        "learner": entry.kind,
        "origins": plan.origins,
        "epsilon": entry.epsilon,
        "delta": entry.delta,
        "bound": entry.bound,
        "sampling": Fraction(1) if plan.kept is None else plan.kept,
        "accept_reject": entry.accept_reject,
        "records": records,
        "chunk_candidates": chunk,
        **({"prior_workers": sorted(map(list, entry.prior_workers.items()))} if entry.prior_workers else {}),
        **({"sampling_of": _listed(entry.sampling_of)} if entry.sampling_of else {}),
        **({"sampling_by_distance": entry.sampling_by_distance.parameter} if entry.sampling_by_distance else {}),
    }
    return ChargedDraws(
        events=plan.events,
        parameters=parameters,
        count=partial(_count, entry, domain),
        open=partial(_open, entry, domain, plan, records, chunk),
    )


def _listed(sampling_of: Mapping[str, Mapping[str, Fraction]]) -> Sequence[Parameter]:
    """Destination, origin and probability of each pair, in order."""
    return [[work, home, kept] for work, those in sorted(sampling_of.items()) for home, kept in sorted(those.items())]


def area_of_origins(entry: Entry, domain: Domain) -> tuple[int, ...]:
    """The area that represents each origin in draws: its bucket, or itself."""
    origin = domain.attributes[domain.index(entry.origin)]
    return origin.buckets if entry.coarsen else tuple(range(origin.cardinality))


def _count(entry: Entry, domain: Domain, counter: Counter, _: Mapping[str, Any]) -> Sequence[NDArray[Any]]:
    destination, origin = domain.index(entry.destination), domain.index(entry.origin)
    empty = partial(FlowCounts, destination, origin, area_of_origins(entry, domain))
    counted = counter.count(empty, "flows")
    return counted.pairs, counted.numbers


def _open(
    entry: Entry,
    domain: Domain,
    plan: FlowsPlan,
    records: int,
    chunk_records: int,
    document: Mapping[str, Any],
    arrays: Sequence[NDArray[Any]],
    open_stream: ChunkStreams,
) -> Draw:
    require_format(document, FORMAT)
    workers = [urn["workers"] for urn in document["urns"]]
    drawn = draws_of(plan, workers, records)
    ends = np.cumsum(np.asarray(drawn, np.int64))
    pairs, numbers = arrays
    starts = np.searchsorted(pairs, np.arange(plan.destinations + 1) * plan.origins)
    within = Within.of(entry, domain) if entry.coarsen else None
    public, staying = public_workers(entry, domain), staying_origins(entry, domain, plan)
    staying_near = staying_by_distance(entry, domain, plan)
    destination, origin = domain.index(entry.destination), domain.index(entry.origin)

    def origins_of(place: int) -> Integers:
        occupied = slice(starts[place], starts[place + 1])
        # Everything that determines the urn's weights: otherwise urns with different weights would share random words.
        parameters: dict[str, Parameter] = {
            "destination": place,
            "draws": drawn[place],
            "origins": plan.origins,
            "epsilon": plan.epsilon,
            "delta": plan.delta,
            "bound": plan.bound,
            "sampling": Fraction(1) if plan.kept is None else plan.kept,
            "accept_reject": plan.accept_reject,
        }
        there, counted = pairs[occupied] - place * plan.origins, numbers[occupied]
        if public.any():
            parameters["public_workers"] = public.tolist()
            everybody = public.copy()
            everybody[there] += counted
            there = np.flatnonzero(everybody)
            counted = everybody[there]
        stays = staying.get(place)
        if stays is not None:
            parameters["staying"] = stays.tolist()
        elif staying_near is not None:
            stays = staying_near(place)
            parameters["staying"] = sha256(stays.astype("<i8").tobytes()).hexdigest()
        stream = open_stream(mechanism="flows", parameters=parameters, chunk=0)
        areas = draw_origins(stream, plan, there, counted, draws=drawn[place], stays=stays)
        return areas if within is None else within.draw(stream, areas)

    @cache
    def order() -> Integers:
        """The index among all draws of each record; the first records are a random sample."""
        stream = open_stream(mechanism="order", parameters={"records": records}, chunk=0)
        high, low = stream.take(2 * records).reshape(2, -1).astype(np.uint64)
        return np.argsort(high << np.uint64(32) | low, kind="stable")

    # Origins of all records by destination, as far as they are drawn, which needs less memory than the order.
    made, is_made = np.empty(sum(drawn), domain.code_type), np.zeros(plan.destinations, np.bool_)

    def draw(chunk: int, candidates: int) -> Codes:
        places = order()[chunk * chunk_records :][:candidates]
        codes = np.empty((candidates, 2), domain.code_type)
        found = np.searchsorted(ends, places, side="right")
        for place in np.unique(found[~is_made[found]]).tolist():
            made[ends[place] - drawn[place] : ends[place]] = origins_of(place)
            is_made[place] = True
        codes[:, destination], codes[:, origin] = found, made[places]
        return codes

    return draw


def public_workers(entry: Entry, domain: Domain) -> Integers:
    """Public numbers of workers added to each destination's counts, by area, shape (areas,).

    Weights b n_i + a become b (n_i + s_i) + a, with s_i public: prior weights of a / b + s_i, the smallest of which
    determines the cost and is at least a / b.
    """
    areas = np.asarray(area_of_origins(entry, domain), np.int64)
    values = domain.attributes[domain.index(entry.origin)].values
    found = np.zeros(int(areas.max()) + 1, np.int64)
    np.add.at(found, areas, np.array([entry.prior_workers.get(str(value), 0) for value in values], np.int64))
    return found


def staying_origins(entry: Entry, domain: Domain, plan: FlowsPlan) -> Mapping[int, Integers]:
    """Destinations' own probabilities with which empty origins stay, in units of 2^-32, by origin."""
    if plan.kept is None:
        return {}
    works, homes = (
        {str(value): place for place, value in enumerate(domain.attributes[domain.index(name)].values)}
        for name in (entry.destination, entry.origin)
    )
    found = {}
    for work, those in entry.sampling_of.items():
        found[works[work]] = stays = np.full(plan.origins, int(plan.kept * KEPT_UNIT), np.int64)
        for home, kept in those.items():
            stays[homes[home]] = int(kept * KEPT_UNIT)
    return found


def staying_by_distance(entry: Entry, domain: Domain, plan: FlowsPlan) -> Callable[[int], Integers] | None:
    """A function of a destination's number: the probabilities with which empty origins stay, as of `staying_origins`.

    Privacy needs them to depend on public places alone, and to be at least `plan.kept`, which is charged: they are
    bounded from below by it after they are rounded.
    """
    function = entry.sampling_by_distance
    if function is None or plan.kept is None:
        return None
    least = int(plan.kept * KEPT_UNIT)
    works, homes = (
        np.array([list(map(float, function.places[str(value)])) for value in attribute.values])
        for attribute in (domain.attributes[domain.index(name)] for name in (entry.destination, entry.origin))
    )
    return lambda place: kept_at(function, miles(works[[place]], homes), least)


def kept_at(function: SamplingByDistance, away: NDArray[np.float64], least: int) -> Integers:
    """The probabilities with which empty origins stay, given their distances.

    Args:
        function: the public function of distance.
        away: distances in miles, shape (origins,).
        least: the probability that is charged, in units of 2^-32.

    Returns:
        Probabilities of at least `least`, in units of 2^-32, shape (origins,).
    """
    if function.decay_miles is not None:
        return np.maximum((np.exp(-away / float(function.decay_miles)) * KEPT_UNIT).astype(np.int64), least)
    reach = np.array([float(distance) for distance, _ in function.within])
    kept = np.array([*(int(probability * KEPT_UNIT) for _, probability in function.within), least], np.int64)
    return np.maximum(kept[np.searchsorted(reach, away)], least)


def draw_origins(
    stream: WordStream,
    plan: FlowsPlan,
    occupied: Integers,
    numbers: Integers,
    *,
    draws: int,
    stays: Integers | None = None,
) -> Integers:
    """Draw the origins of a destination's workers.

    For probabilistic privacy the prior weight depends on the number of counted workers. It is equal in neighbouring
    tables, in which one worker has another origin, and so is the part of the rows that was read.

    Args:
        stream: the words of this destination.
        plan: the plan.
        occupied: the origins that have workers, ascending, shape (occupied,). Confidential.
        numbers: number of workers of each. Confidential.
        draws: number of draws.
        stays: probability with which each origin stays if it has no workers, in units of 2^-32, shape (origins,); the
            plan's by default.

    Returns:
        Origins in the order of the draws, shape (draws,).
    """
    if plan.origins == 1 or draws == 0:
        return np.zeros(draws, np.int64)
    people = int(numbers.sum())
    prior = plan.prior(people, draws)
    bounded = plan.has_bound(people, draws)
    if bounded and plan.accept_reject:
        return _accepted(stream, plan, prior, occupied, numbers, draws)
    if bounded and plan.kept is not None:
        kept = _kept(stream, plan.kept, occupied, plan.origins, stays)
        found = draw_polya(stream, numbers, prior, draws, values=len(occupied) + len(kept))
        return np.concatenate([occupied, kept])[found]
    return _all_origins(stream, prior, occupied, numbers, draws, plan.origins)


def _all_origins(
    stream: WordStream, prior: int, occupied: Integers, numbers: Integers, draws: int, origins: int
) -> Integers:
    """Draw from all origins, without listing those that have no workers."""
    found = draw_polya(stream, numbers, prior, draws, values=origins)
    empty = found - len(occupied)
    # The index of the u-th empty origin is u plus the number of occupied origins before it.
    before = np.searchsorted(occupied - np.arange(len(occupied)), empty, side="right")
    if not len(occupied):
        return found
    return np.where(empty < 0, occupied[np.minimum(found, len(occupied) - 1)], empty + before)


def _kept(stream: WordStream, kept: Fraction, occupied: Integers, origins: int, stays: Integers | None) -> Integers:
    """The empty origins that stay in the domain, each independently of the others; one word each."""
    empty = np.setdiff1d(np.arange(origins), occupied, assume_unique=True)
    below = kept.numerator * (KEPT_UNIT // kept.denominator) if stays is None else stays[empty]
    return empty[stream.take(len(empty)).astype(np.int64) < below]


def _accepted(
    stream: WordStream, plan: FlowsPlan, prior: int, occupied: Integers, numbers: Integers, draws: int
) -> Integers:
    """Draw TRIES times, and keep the first acceptable draws; if there are none, draw from the prior alone."""
    tries = [_all_origins(stream, prior, occupied, numbers, draws, plan.origins) for _ in range(TRIES)]
    nothing = np.empty(0, np.int64)
    tries.append(_all_origins(stream, prior, nothing, nothing, draws, plan.origins))
    good = [is_acceptable(each, occupied, numbers, prior, plan.growth) for each in tries[:-1]]
    return tries[[*good, True].index(True)]


def is_acceptable(drawn: Integers, occupied: Integers, numbers: Integers, prior: int, growth: Fraction) -> bool:
    """Whether draws represent the counts, and all counts in which one worker has another origin.

    Draws represent counts if m_i <= g (alpha + max(n_i - 1, 0)) for every origin. Testing the counts alone would not
    be differentially private for any epsilon: one worker could make draws impossible.

    Args:
        drawn: the origins drawn, shape (draws,).
        occupied: the origins that have workers, ascending.
        numbers: number of workers of each.
        prior: prior weight of each origin, in units of 1 / 2^20 workers.
        growth: g.

    Source: the paper (g-Rep and g-Good).
    """
    workers = dict(zip(occupied.tolist(), numbers.tolist(), strict=True))
    found, times = np.unique(drawn, return_counts=True)
    sampled = dict(zip(found.tolist(), times.tolist(), strict=True))

    def most(people: int) -> int:
        return growth.numerator * (prior + UNIT * max(people - 1, 0)) // (growth.denominator * UNIT)

    beyond = [origin for origin, count in sampled.items() if count > most(workers.get(origin, 0))]
    if not beyond:
        return True
    if len(beyond) > 1 or sampled[beyond[0]] > most(workers.get(beyond[0], 0) + 1):
        return False
    # A worker from another origin moves here, and that origin must still be represented; the one beyond never is.
    return any(sampled.get(origin, 0) <= most(count - 1) for origin, count in workers.items() if count)


@dataclass(frozen=True)
class Within:
    """Origins within their areas, drawn by public weights.

    Attributes:
        origins: the origins, sorted by area.
        starts: start of each area in `origins`, shape (areas + 1,).
        cumulative: running sums of the weights within each area.
    """

    origins: Integers
    starts: Integers
    cumulative: Integers

    @classmethod
    def of(cls, entry: Entry, domain: Domain) -> "Within":
        """The origins of a spec."""
        attribute = domain.attributes[domain.index(entry.origin)]
        areas = np.asarray(attribute.buckets, np.int64)
        order = np.argsort(areas, kind="stable")
        weights = np.array([entry.population.get(str(value), 1) for value in attribute.values], np.int64)[order]
        starts = np.searchsorted(areas[order], np.arange(attribute.bucket_count + 1))
        sums = np.cumsum(weights)
        before = np.concatenate([[0], sums])[starts[:-1]]
        return cls(order, starts, sums - np.repeat(before, np.diff(starts)))

    def draw(self, stream: WordStream, areas: Integers) -> Integers:
        """Draw an origin within each area."""
        found = np.empty(len(areas), np.int64)
        done, spare = 0, 64
        while done < len(areas):
            words = stream.peek(2 * (len(areas) - done) + spare)
            before = done
            done, used = _draw_within(words, areas, self.starts, self.cumulative, found, before)
            stream.skip(int(used))
            spare = 64 if done > before else 2 * spare
        return self.origins[found]


@kernel
def _draw_within(words, areas, starts, cumulative, found, first):
    """Continue draws of origins within areas at number `first`; return the number drawn, and the words used."""
    done = first
    used = 0
    position = np.int64(0)
    while done < len(areas) and position >= 0:
        start, stop = starts[areas[done]], starts[areas[done] + 1]
        target, position = uniform_below(words, position, cumulative[stop - 1])
        if position >= 0:
            low, high = start, stop - 1
            while low < high:
                middle = (low + high) >> 1
                if cumulative[middle] > target:
                    high = middle
                else:
                    low = middle + 1
            found[done] = low
            done += 1
            used = position
    return done, used
