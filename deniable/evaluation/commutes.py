"""Commute distances and flows of synthetic and real tables of commuters; internal figures, without noise.

Source: Machanavajjhala, Kifer, Abowd, Gehrke, Vilhuber 2008, figures 1 to 4.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deniable.foundation.domain import Codes

_EARTH_MILES = 3958.8

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Commuters:
    """A table of commuters.

    Attributes:
        origins: codes of origins, shape (rows,).
        destinations: codes of destinations, shape (rows,).
    """

    origins: Codes
    destinations: Codes


@dataclass(frozen=True, eq=False)
class Places:
    """Two columns that are places, and where the places are.

    Attributes:
        origin: column of origins.
        destination: column of destinations.
        origin_places: latitude and longitude of each origin in degrees, shape (origins, 2); NaN for one without a
            place, such as another state, from which no commute is measured.
        destination_places: the same of each destination.
    """

    origin: int
    destination: int
    origin_places: Floats
    destination_places: Floats

    def commuters(self, codes: Codes) -> Commuters:
        """The commuters of a table of codes, shape (rows, m), whose origin has a place."""
        rows = codes[np.isfinite(self.origin_places[:, 0])[codes[:, self.origin]]]
        return Commuters(rows[:, self.origin], rows[:, self.destination])

    def distances(self, *tables: Codes) -> list[Floats]:
        """The commute of each record in miles, shape (rows,), of each table."""
        return [
            miles(self.origin_places[each[:, self.origin]], self.destination_places[each[:, self.destination]])
            for each in tables
        ]

    def destinations(self, *tables: Codes) -> tuple[Integers, ...]:
        """The destination of each record, shape (rows,), of each table."""
        return tuple(each[:, self.destination].astype(np.int64) for each in tables)

    def flows(self, *tables: Codes) -> tuple[Integers, ...]:
        """The number of the flow, a pair of origin and destination, of each record, shape (rows,), of each table."""
        return tuple(
            destinations * len(self.origin_places) + each[:, self.origin]
            for each, destinations in zip(tables, self.destinations(*tables), strict=True)
        )


def miles(places: Floats, others: Floats) -> Floats:
    """Great-circle distances in miles between corresponding rows of two lists of places.

    Args:
        places: latitude and longitude in degrees, shape (rows, 2).
        others: the same.

    Returns:
        The distances, shape (rows,).
    """
    one, two = np.radians(places), np.radians(others)
    half = np.sin((two - one) / 2) ** 2
    chord = half[:, 0] + np.cos(one[:, 0]) * np.cos(two[:, 0]) * half[:, 1]
    return np.asarray(2 * _EARTH_MILES * np.arcsin(np.sqrt(np.clip(chord, 0, 1))))


def mean_commutes(table: Commuters, origin_places: Floats, destination_places: Floats) -> tuple[Integers, Floats]:
    """Number of workers at each destination, and their mean commute in miles.

    Args:
        table: the table.
        origin_places: latitude and longitude of each origin, shape (origins, 2).
        destination_places: the same of each destination, shape (destinations, 2).

    Returns:
        Both, shape (destinations,); the mean is of workers whose origin has a place, and NaN without any.
    """
    distances = miles(origin_places[table.origins], destination_places[table.destinations])
    known = np.isfinite(distances)
    workers, with_place = (
        np.bincount(each, minlength=len(destination_places)).astype(np.int64)
        for each in (table.destinations, table.destinations[known])
    )
    sums = np.bincount(table.destinations[known], weights=distances[known], minlength=len(destination_places))
    return workers, np.where(with_place > 0, sums / np.maximum(with_place, 1), np.nan)


def largest_flows(table: Commuters, origins: int, most: int) -> Integers:
    """The flows with the most workers, in descending order: origin, destination and workers, shape (flows, 3)."""
    cells = table.destinations.astype(np.int64) * origins + table.origins
    found, times = np.unique(cells, return_counts=True)
    first = np.argsort(-times, kind="stable")[:most]
    return np.stack([found[first] % origins, found[first] // origins, times[first]], axis=1)
