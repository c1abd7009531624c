"""The workload (the tables that the model should reproduce well), and the candidates that follow from it.

A candidate is any table whose attributes are among those of a table in the workload; its weight measures its overlap
with the workload.

Source: McKenna, Mullins, Sheldon, Miklau 2022, section 3 (workload-aware) and Algorithm 2 (the downward closure).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import chain, combinations
from math import lcm
from typing import Any

from deniable.foundation.domain import Domain

Attributes = tuple[int, ...]
"""Column numbers of a table's attributes, in ascending order."""

SIZES = {"pairs": 2, "triples": 3}
"""Number of attributes of the tables of a named workload."""
MOST_ATTRIBUTES = 5
"""Largest number of attributes k of a table, which has 2^k candidates."""


@dataclass(frozen=True)
class Workload:
    """Tables with weights.

    Attributes:
        tables: the attributes of each, by column number, without attributes of one value.
        weights: the weight of each, above 0.
    """

    tables: tuple[Attributes, ...]
    weights: tuple[Fraction, ...]

    @classmethod
    def of(cls, domain: Domain, asked: str | Sequence[Mapping[str, Any]]) -> "Workload":
        """The workload that a spec names or lists.

        Args:
            domain: the public domain.
            asked: `pairs`, `triples`, or for each table its `attributes` by name and its `weight`.
        """
        counted = [i for i, size in enumerate(domain.cardinalities) if size > 1]
        if isinstance(asked, str):
            tables = list(combinations(counted, min(SIZES[asked], len(counted)))) if counted else []
            return cls(tuple(tables), (Fraction(1),) * len(tables))
        found: dict[Attributes, Fraction] = {}
        for entry in asked:
            own = tuple(sorted(i for i in map(domain.index, entry["attributes"]) if i in counted))
            if own:
                found[own] = found.get(own, Fraction(0)) + Fraction(entry["weight"])
        return cls(tuple(found), tuple(found.values()))

    @cached_property
    def candidates(self) -> dict[Attributes, int]:
        """All candidates, each with its weight w_r = sum over tables s of c_s |r and s|, as integers in one unit.

        The unit is public: the smallest in which all weights of tables are integers.
        """
        unit = lcm(*(weight.denominator for weight in self.weights))
        whole = [(frozenset(own), int(weight * unit)) for own, weight in zip(self.tables, self.weights, strict=True)]
        closure = sorted(
            set(chain.from_iterable(_subsets(own) for own in self.tables)), key=lambda own: (len(own), own)
        )
        return {own: sum(weight * len(table.intersection(own)) for table, weight in whole) for own in closure}


def _subsets(attributes: Attributes) -> Iterable[Attributes]:
    return chain.from_iterable(combinations(attributes, size) for size in range(1, len(attributes) + 1))
