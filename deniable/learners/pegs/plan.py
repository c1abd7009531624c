"""Keys, priors and blocks of the perturbed Gibbs sampler, and the cost of its draws, fixed before any record is read.

Needs no compiled code, because verification derives the same.

Source: Park, Ghosh, Shankar 2013; README.md derives the costs.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from math import isqrt
from typing import Any

from deniable.foundation.domain import Domain
from deniable.foundation.errors import InvalidInput
from deniable.privacy.loss import ApproximateEvent, DiscreteLaplaceEvent, MechanismEvent
from deniable.privacy.urn_costs import prior_for, urn_epsilon

FORMAT = "deniable/urns/1"
QUERY = "draws of records from exact counts"
MOST_CELLS = 1 << 26
"""Largest total number of cells of the tables, which are held in memory: half a gibibyte."""
MOST_SEEDS = 10_000
"""Largest number of seeds from a public file; the first valid ones are used."""
_ROOT_DIGITS = 10**6


def key_of(domain: Domain, order: Sequence[int], most: int) -> tuple[int, ...]:
    """The longest prefix of an order whose buckets have at most `most` combinations.

    The prefix ends at the first attribute that does not fit; none is skipped.

    Args:
        domain: the public domain.
        order: the other attributes, most informative first.
        most: largest number of combinations.

    Source: Park, Ghosh, Shankar 2013, section 3.2 (feature hashing).
    """
    key: list[int] = []
    combinations = 1
    for other in order:
        combinations *= domain.bucket_counts[other]
        if combinations > most:
            break
        key.append(other)
    return tuple(key)


def others_in_order(domain: Domain) -> tuple[tuple[int, ...], ...]:
    """For each attribute, all others in the order of the schema."""
    return tuple(tuple(j for j in range(len(domain)) if j != i) for i in range(len(domain)))


@dataclass(frozen=True)
class DrawsPlan:
    """The draws of a release.

    Attributes:
        domain: the public domain.
        records: number of records.
        epsilon: budget of one block.
        block: number of records in a block, B.
        draws_per_row: number of draws r from a row's urn in a block.
        by_values: whether the budget is divided among attributes in proportion to the square root of their number of
            values instead of equally.
    """

    domain: Domain
    records: int
    epsilon: Fraction
    block: int = 1
    draws_per_row: int = 1
    by_values: bool = False

    @property
    def blocks(self) -> int:
        """Number of blocks; the last one may be shorter, at the same cost."""
        return -(-self.records // self.block)

    @cached_property
    def priors(self) -> tuple[int, ...]:
        """Prior weight of each value of each attribute, in units of 1 / b records; 0 for an attribute of one value.

        Raises:
            InvalidInput: the budget is too small.
        """
        sizes = self.domain.cardinalities
        parts = [isqrt(size * _ROOT_DIGITS**2) if self.by_values else 1 for size in sizes]
        whole = sum(part for part, size in zip(parts, sizes, strict=True) if size > 1)
        return tuple(
            prior_for(self.epsilon * part / whole, self.draws_per_row) if size > 1 else 0
            for part, size in zip(parts, sizes, strict=True)
        )

    @property
    def block_epsilon(self) -> Fraction:
        """Cost of one block of any length: the sum over the attributes of ln(1 + r b / a)."""
        return sum((urn_epsilon(prior, self.draws_per_row) for prior in self.priors if prior), start=Fraction(0))

    @property
    def events(self) -> tuple[MechanismEvent, ...]:
        """The draws of all blocks; empty if no attribute has more than one value."""
        if not self.block_epsilon:
            return ()
        return (
            ApproximateEvent(
                query=QUERY, part="parameters", outputs=self.blocks, epsilon_per_output=self.block_epsilon
            ),
        )


def public_orders(domain: Domain, asked: Mapping[str, Sequence[str]] | None) -> tuple[tuple[int, ...], ...]:
    """For each attribute, the others in a public order.

    Args:
        domain: the public domain.
        asked: orders by attribute; missing ones, and all if None, follow the schema.

    Raises:
        InvalidInput: an order names an unknown attribute, the attribute itself, or another twice.
    """
    orders = list(others_in_order(domain))
    for name, others in (asked or {}).items():
        order = domain.subset(others)
        if domain.index(name) in order or len(set(order)) != len(order):
            raise InvalidInput(f"the order for {name} must name other attributes, each once, got {', '.join(others)}.")
        orders[domain.index(name)] = order
    return tuple(orders)


def bucketed_pairs(domain: Domain) -> tuple[tuple[int, int], ...]:
    """The pairs of attributes with more than one bucket, which are counted to measure orders."""
    several = [i for i, size in enumerate(domain.bucket_counts) if size > 1]
    return tuple(combinations(several, 2))


def pair_scale(domain: Domain, epsilon: Fraction) -> Fraction:
    """Scale of the noise of each count of a pair: one record is in one cell of each table."""
    return max(len(bucketed_pairs(domain)), 1) / epsilon


def order_events(domain: Domain, epsilon: Fraction) -> tuple[MechanismEvent, ...]:
    """The noisy tables of pairs behind measured orders.

    Args:
        domain: the public domain.
        epsilon: total budget of all tables.
    """
    pairs = len(bucketed_pairs(domain))
    if not pairs:
        return ()
    scale = pair_scale(domain, epsilon)
    return (
        DiscreteLaplaceEvent(
            query="tables of pairs of attributes' buckets", part="structure", outputs=pairs, sensitivity=1, scale=scale
        ),
    )


def keys_in_spec(
    domain: Domain, orders: Mapping[str, Sequence[str]] | None, key_cells: int
) -> tuple[tuple[int, ...], ...]:
    """The key of each attribute, by public orders.

    Args:
        domain: the public domain.
        orders: see `public_orders`.
        key_cells: largest number of combinations of a key.
    """
    return tuple(key_of(domain, order, key_cells) for order in public_orders(domain, orders))


def require_memory(domain: Domain, key_cells: int) -> None:
    """Refuse tables that may have too many cells, whatever the data.

    Raises:
        InvalidInput: they may have too many cells.
    """
    cells = sum(size * key_cells for size in domain.cardinalities)
    if cells > MOST_CELLS:
        raise InvalidInput(
            f"the tables of keys must have at most {MOST_CELLS:,} cells together, got up to {cells:,}; lower key_cells."
        )


def urns_document(
    domain: Domain, keys: Sequence[Sequence[int]], seed_weights: Mapping[str, Sequence[int]], **more: Any
) -> dict[str, Any]:
    """The public description of urns: everything except counts, and prior weights, which follow from the spec.

    Args:
        domain: the public domain.
        keys: the key of each attribute, by column number.
        seed_weights: public weights of the values of seeds, by attribute, if not uniform.
        more: further entries.
    """
    names = domain.names
    attributes = [
        {
            "name": name,
            "key": [names[other] for other in key],
            "seed_weights": list(seed_weights.get(name, ())),
        }
        for name, key in zip(names, keys, strict=True)
    ]
    return {"format": FORMAT, **more, "attributes": attributes}


def more_of_urns(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Further entries of the document that follow from a spec's entry; newer ones only if the spec has them.

    Args:
        asked: the learner's entry, as a document or as fields.
    """
    more: dict[str, Any] = {name: asked[name] for name in ("block", "draws_per_row")}
    if asked.get("sweeps", 1) > 1:
        more["sweeps"] = asked["sweeps"]
    if asked.get("alpha_shape"):
        more["alpha_shape"] = {name: list(weights) for name, weights in asked["alpha_shape"].items()}
    return more


def faults_of_seeds(domain: Domain, seeds: object) -> Iterator[str]:
    """Faults of the seeds from a public file, listed by their codes in the document of urns."""
    if not isinstance(seeds, list) or not 1 <= len(seeds) <= MOST_SEEDS:
        yield f"seeds must be from 1 to {MOST_SEEDS:,} records of the public file"
        return
    sizes = domain.cardinalities
    if any(
        not isinstance(seed, list)
        or len(seed) != len(sizes)
        or any(type(code) is not int or not 0 <= code < size for code, size in zip(seed, sizes, strict=True))
        for seed in seeds
    ):
        yield "seeds must be records of the schema's values, by their codes"


def faults_of_urns(document: Mapping[str, Any], right: Mapping[str, Any]) -> Iterator[str]:
    """Differences between the document of urns and what follows from the spec."""
    yield from (
        f"{name} differs from what follows from the spec" for name in right if document.get(name) != right[name]
    )
    yield from (f"{name} is unknown" for name in document if name not in right)
