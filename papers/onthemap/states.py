"""A state's workers by destination and origin: LODES if the machine has it, otherwise made up.

LODES itself is infused with noise; here, as in the paper, it stands for the truth.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

import numpy as np

from deniable.evaluation.commutes import miles
from deniable.foundation.errors import InvalidInput
from deniable.foundation.keys import WordStream
from papers.chance import KEY, Floats, Integers, uniforms

PLACE: Final = "DENIABLE_LODES"
RHODE_ISLAND: Final = 406_052
"""Number of workers in LODES Rhode Island 2019, by which the file is recognized."""


def stream_of(what: str, number: int = 0) -> WordStream:
    """The words of one experiment."""
    return KEY.stream(step="paper", mechanism="commuting flows", inputs=what, parameters={"number": number})


_PLACES = ["tabblk2010", "trct", "blklatdd", "blklondd"]
ATTRIBUTES: Final = {"age": "SA", "earnings": "SE", "industry": "SI"}
"""The attributes of workers in LODES, with the beginning of their columns; each has three values."""
VALUES: Final = 3


@dataclass(frozen=True, eq=False)
class State:
    """The workers of a state by destination and origin, with coordinates.

    Attributes:
        destination: destination of each pair.
        origin: origin of each pair.
        workers: number of workers of each pair.
        destination_place: latitude and longitude of each destination, in degrees, shape (destinations, 2).
        origin_place: the same of origins.
        area: area of each origin, such as its census tract.
        destination_area: area of each destination.
        attributes: number of workers of each pair by value of an attribute, shape (pairs, 3), by attribute.
    """

    destination: Integers
    origin: Integers
    workers: Integers
    destination_place: Floats
    origin_place: Floats
    area: Integers
    destination_area: Integers
    attributes: Mapping[str, Integers]

    @property
    def is_rhode_island(self) -> bool:
        """Whether it is LODES Rhode Island 2019."""
        return int(self.workers.sum()) == RHODE_ISLAND

    @property
    def totals(self) -> tuple[int, ...]:
        """Number of workers of each destination."""
        sums = np.bincount(self.destination, weights=self.workers, minlength=len(self.destination_place))
        return tuple(sums.astype(np.int64).tolist())

    @property
    def areas(self) -> int:
        """Number of areas."""
        return int(self.area.max()) + 1


def read_lodes(folder: Path) -> State:
    """Read the origin-destination counts of a state, and its geography.

    Raises:
        InvalidInput: the folder has other files.
    """
    import pandas as pd  # noqa: PLC0415 - slow to import

    found = [sorted(folder.glob(pattern)) for pattern in ("*_od_main_JT00_*.csv.gz", "*_xwalk.csv.gz")]
    if [len(each) for each in found] != [1, 1]:
        raise InvalidInput(
            f"{PLACE} must name a folder with one file *_od_main_JT00_*.csv.gz and one *_xwalk.csv.gz, got {folder}, "
            f"which has {len(found[0])} and {len(found[1])}; correct it, or unset it for a made-up state."
        )
    (flows,), (places,) = found
    pairs = pd.read_csv(flows, dtype={"w_geocode": str, "h_geocode": str})
    where = pd.read_csv(places, dtype={"tabblk2010": str, "trct": str}, usecols=_PLACES).set_index("tabblk2010")
    destinations, origins = sorted(set(pairs["w_geocode"])), sorted(set(pairs["h_geocode"]))
    tracts = where.loc[origins, "trct"]
    return State(
        pd.Categorical(pairs["w_geocode"], destinations).codes.astype(np.int64),
        pd.Categorical(pairs["h_geocode"], origins).codes.astype(np.int64),
        pairs["S000"].to_numpy(np.int64),
        where.loc[destinations, ["blklatdd", "blklondd"]].to_numpy(np.float64),
        where.loc[origins, ["blklatdd", "blklondd"]].to_numpy(np.float64),
        pd.Categorical(tracts).codes.astype(np.int64),
        pd.Categorical(where.loc[destinations, "trct"]).codes.astype(np.int64),
        {
            name: pairs[[f"{column}0{value + 1}" for value in range(VALUES)]].to_numpy(np.int64)
            for name, column in ATTRIBUTES.items()
        },
    )


def made_up_state(destinations: int = 400, origins: int = 4000, areas: int = 80) -> State:
    """Make up a state: areas on a square, and workers who prefer to live near their work."""
    stream = stream_of("state")
    centres = 41 + uniforms(stream, areas, 2) * [0.8, 0.8] - [0, 112.5]
    area = np.sort(np.minimum((uniforms(stream, origins) * areas).astype(np.int64), areas - 1))
    origin_place = centres[area] + (uniforms(stream, origins, 2) - 0.5) * 0.04
    destination_area = (uniforms(stream, destinations) * areas).astype(np.int64)
    destination_place = centres[destination_area]
    sizes = np.maximum((3 / (uniforms(stream, destinations) + 1e-3) ** 0.7).astype(np.int64), 1)
    pairs = []
    for place, size in enumerate(sizes.tolist()):
        weights = np.cumsum(np.exp(-miles(destination_place[[place]], origin_place) / 6))
        homes = np.searchsorted(weights, uniforms(stream, size) * weights[-1])
        found, times = np.unique(np.minimum(homes, origins - 1), return_counts=True)
        pairs.append(np.stack([np.full(len(found), place), found, times]))
    destination, origin, workers = np.concatenate(pairs, axis=1)
    attributes = {name: _made_up_attribute(name, destination_area[destination], workers) for name in ATTRIBUTES}
    _, where = np.unique(destination_area, return_inverse=True)
    return State(destination, origin, workers, destination_place, origin_place, area, where, attributes)


def _made_up_attribute(name: str, area: Integers, workers: Integers) -> Integers:
    """Numbers of workers by value for each pair; shares depend on the area of the destination."""
    stream = stream_of(f"attribute {name}")
    cuts = np.sort(uniforms(stream, int(area.max()) + 1, VALUES - 1), axis=1)
    pair = np.repeat(np.arange(len(workers)), workers)
    value = (uniforms(stream, len(pair))[:, None] > cuts[area[pair]]).sum(axis=1)
    counts = np.zeros((len(workers), VALUES), np.int64)
    np.add.at(counts, (pair, value), 1)
    return counts


@cache
def the_state() -> State:
    """The state of this machine: that of the folder that DENIABLE_LODES names, or a made-up one."""
    place = os.environ.get(PLACE)
    return made_up_state() if not place else read_lodes(Path(place))


def words_for_made_up() -> str:
    """A sentence for the page if the state is not Rhode Island; otherwise nothing."""
    if the_state().is_rhode_island:
        return ""
    which = "is another than" if os.environ.get(PLACE) else "is made up, because DENIABLE_LODES names no folder with"
    return (
        f"The state {which} LODES of Rhode Island 2019. Only expectations that hold for any state are checked, and the "
        "text on differences from the paper is about Rhode Island."
    )
