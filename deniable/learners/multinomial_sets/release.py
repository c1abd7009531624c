"""Reads a published release of synthetic sets, and computes the posterior of the population's shares.

Reads no files: the caller passes their contents. Needs NumPy alone.
"""

import csv
import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

import numpy as np

from deniable.foundation.domain import Domain
from deniable.foundation.errors import InvalidInput
from deniable.inference.conditions import Conditions
from deniable.learners.multinomial_sets.plan import FORMAT, SetsPlan, plan_of
from deniable.learners.multinomial_sets.posterior import binary_posterior, multinomial_posterior
from deniable.privacy.rounding import rounded
from deniable.privacy.urn_costs import UNIT


@dataclass(frozen=True)
class ReleasedSets:
    """The sets of a release.

    Attributes:
        domain: the public domain.
        plan: the urns that they were drawn from.
        people: number of people in the confidential table, if the release states it; otherwise None.
        counts: the number of records in each cell, for each set; the last attribute varies fastest.
    """

    domain: Domain
    plan: SetsPlan
    people: int | None
    counts: tuple[tuple[int, ...], ...]

    @property
    def cells(self) -> Iterator[str]:
        """The cells in words, in order."""
        values = [[f"{each.name} {value}" for value in each.values] for each in self.domain.attributes]
        return (", ".join(cell) for cell in product(*values))


def released_sets(described: Mapping[str, Any], urns: Mapping[str, Any], records: str) -> ReleasedSets:
    """Read the sets of a release.

    Args:
        described: `schema.json`.
        urns: `urns.json`.
        records: the text of `synthetic.csv`.

    Raises:
        InvalidInput: it is not a release of synthetic sets.
    """
    if urns.get("format") != FORMAT:
        raise InvalidInput("the release must be one of the learner multinomial_sets, got another.")
    domain = Domain.from_document(described)
    cells = prod(domain.cardinalities)
    reader = csv.reader(io.StringIO(records, newline=""))
    header = next(reader, [])
    if tuple(header) != domain.names:
        raise InvalidInput("the table must have the columns of the schema, got others.")
    codes = [{text: code for code, text in enumerate(each.written)} for each in domain.attributes]
    places = []
    for row in reader:
        place = 0
        for known, value, size in zip(codes, row, domain.cardinalities, strict=True):
            if value not in known:
                raise InvalidInput("the table must stay inside the domain, got another value.")
            place = place * size + known[value]
        places.append(place)
    plan = plan_of({"sets": urns["sets"], "shared": urns["shared"], "epsilon": urns["epsilon"]}, domain, len(places))
    counts = [[0] * cells for _ in range(plan.sets)]
    for number, place in enumerate(places):
        counts[number // plan.size][place] += 1
    return ReleasedSets(domain, plan, urns["people"], tuple(map(tuple, counts)))


def shares_of_sets(sets: ReleasedSets, condition: str) -> tuple[list[float], list[float]]:
    """The share of the records of each set that satisfy a condition, and its variance as if they were a sample.

    Raises:
        InvalidInput: it is not a condition.
    """
    allowed = Conditions(sets.domain).parse(condition)
    inside = np.ones(sets.domain.cardinalities, bool)
    for i, own in allowed.items():
        inside &= own.reshape([-1 if axis == i else 1 for axis in range(inside.ndim)]) > 0
    shares = [float(np.asarray(counts)[inside.ravel()].sum()) / sets.plan.size for counts in sets.counts]
    return shares, [share * (1 - share) / sets.plan.size for share in shares]


def posterior_lines(sets: ReleasedSets, people: int | None = None, level: float = 0.95) -> Iterator[str]:
    """The posterior of the population's shares as lines of text.

    Args:
        sets: the sets.
        people: number of people in the confidential table; by default as stated by the release.
        level: level of the intervals.

    Raises:
        InvalidInput: the number of people is unknown.
    """
    people = people if people is not None else sets.people
    if people is None:
        raise InvalidInput("the number of people must be known, and the release does not state it; give --people N.")
    plan, alpha = sets.plan, sets.plan.prior / UNIT
    urns = "one urn" if plan.shared or plan.sets == 1 else f"{plan.sets} urns"
    yield f"{plan.sets} sets of {plan.size:,} records from {urns}; {plan.cells} cells of prior weight {alpha:.6g} each"
    yield f"{people:,} people; flat prior of the shares"
    if plan.cells == 2:
        first = [counts[0] for counts in sets.counts]
        found = binary_posterior(first, size=plan.size, people=people, alpha=alpha, shared=plan.shared)
        low, high = found.interval(level)
        names = list(sets.cells)
        yield f"{names[0]}: {rounded(found.mean)}, from {rounded(low)} to {rounded(high)} with probability {level:g}"
        yield f"{names[1]}: {rounded(1 - found.mean)}, from {rounded(1 - high)} to {rounded(1 - low)}"
        return
    many = multinomial_posterior(sets.counts, people=people, alpha=alpha, shared=plan.shared)
    for cell, mean, deviation in zip(sets.cells, many.mean.tolist(), many.deviation.tolist(), strict=True):
        yield f"{cell}: {rounded(mean)}, standard deviation {rounded(deviation)}"
