"""Questions about counts as linear functions of the joint counts of all values, made of products of single attributes.

Their estimation (system) and their syntax (conditions) do not belong here.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from deniable.measurements.noisy_tables import Cells


@dataclass(frozen=True, eq=False)
class Product:
    """A function of a record: a factor times a product of functions of single attributes.

    Attributes:
        of: by column number, the function's value for each value of the attribute; other attributes are omitted.
        factor: the factor.
    """

    of: Mapping[int, Cells]
    factor: float = 1.0

    def times(self, other: "Product") -> "Product":
        """The product of both functions."""
        both = dict(self.of)
        for i, values in other.of.items():
            both[i] = both[i] * values if i in both else values
        return Product(both, self.factor * other.factor)


@dataclass(frozen=True, eq=False)
class Query:
    """A sum of a function over all records: a count, or a total of an attribute.

    Attributes:
        terms: the function, as a sum of products.
    """

    terms: tuple[Product, ...]

    @classmethod
    def product(cls, of: Mapping[int, Cells], factor: float = 1.0) -> "Query":
        """The query with a single product; the number of records if there are no attributes."""
        return cls((Product({i: np.asarray(values, np.float64) for i, values in of.items()}, factor),))

    def times(self, factor: float) -> "Query":
        """The query times a factor."""
        return Query(tuple(Product(term.of, term.factor * factor) for term in self.terms))

    def plus(self, other: "Query") -> "Query":
        """The sum of two queries."""
        return Query((*self.terms, *other.terms))

    def minus(self, other: "Query") -> "Query":
        """The difference of two queries."""
        return self.plus(other.times(-1.0))

    def within(self, other: "Query") -> "Query":
        """The query for the product of both functions: for two counts, the count of their intersection."""
        return Query(tuple(one.times(two) for one in self.terms for two in other.terms))

    @property
    def attributes(self) -> tuple[int, ...]:
        """Column numbers of the attributes that it depends on, ascending."""
        return tuple(sorted({i for term in self.terms for i in term.of}))
