"""The output distributions of Mechanism 1 and 1*, by enumeration, on all tables of a few rows of three kinds."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement, product
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from deniable.plausible_deniability.privacy_tests import bucket

Laws = NDArray[np.float64]
"""Probability of each record, and last of no output, shape (tables, records + 1)."""

KINDS = 3
TABLES = [table for rows in range(6) for table in combinations_with_replacement(range(KINDS), rows)]
"""All multisets of up to five rows of three kinds."""

ROWS = np.array([len(table) for table in TABLES])
MULTIPLICITY = np.array([[table.count(kind) for kind in range(KINDS)] for table in TABLES])
NEIGHBOURS = np.array(
    [
        (place, TABLES.index(tuple(sorted((*table, kind)))))
        for place, table in enumerate(TABLES)
        if len(table) < 5
        for kind in range(KINDS)
    ]
)
"""Places of a table and of the same table with one row added, shape (pairs, 2)."""
_SMALLER, _LARGER = NEIGHBOURS.T


def random_models(name: str, count: int) -> list[NDArray[np.float64]]:
    """Return models: two records that kinds of rows may share, at bucket bounds or inside, and one for each kind."""
    shares = [pair for pair in product((0.0, 0.125, 0.13, 0.26, 0.5, 0.99), repeat=2) if sum(pair) <= 1]
    draw = np.random.default_rng(list(name.encode()))
    models = []
    for _ in range(count):
        shared = np.array([shares[place] for place in draw.integers(len(shares), size=KINDS)])
        models.append(np.hstack((shared, np.diag(1 - shared.sum(axis=1)))))
    return models


def same_bucket(model: NDArray[np.float64], gamma: Fraction) -> NDArray[np.bool_]:
    """Whether two kinds of rows give a record probabilities in the same bucket, shape (records, kinds, kinds)."""
    buckets = [[bucket(p, gamma) if p > 0 else -1 for p in probabilities] for probabilities in model.T.tolist()]
    places = np.array(buckets)
    return (places[:, :, None] == places[:, None, :]) & (places[:, :, None] >= 0)


def in_window(model: NDArray[np.float64], gamma: Fraction) -> NDArray[np.bool_]:
    """The faulty rule that counts the rows whose probability is within a factor gamma of the seed's."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = model.T[:, :, None] / model.T[:, None, :]
    return (ratio <= float(gamma)) & (ratio >= 1 / float(gamma))


class AnyTest(Protocol):
    """A privacy test, possibly broken."""

    @property
    def gamma(self) -> Fraction:
        """Base of the buckets."""

    def pass_probability(self, count: int) -> float:
        """Return the probability that a record with a given number of plausible seeds is released."""


@dataclass(frozen=True)
class Mechanism:
    """Mechanism 1*; without padding and dropping, Mechanism 1.

    Attributes:
        test: the privacy test.
        drop_probability: probability of dropping an attempt, whatever the data.
        places: seeds are drawn from max(rows, places) places.
        plausible: which kinds of rows count as plausible seeds for another kind's candidate.
    """

    test: AnyTest
    drop_probability: float = 0.0
    places: int = 0
    plausible: Callable[[NDArray[np.float64], Fraction], NDArray[np.bool_]] = same_bucket

    def laws(self, model: NDArray[np.float64], multiplicity: NDArray[np.int64] = MULTIPLICITY) -> Laws:
        """Return the output distribution on each table, given by its rows of each kind, shape (tables, kinds)."""
        counts = np.einsum("tk,rsk->trs", multiplicity, self.plausible(model, self.test.gamma))
        passes = np.array([self.test.pass_probability(count) for count in range(int(counts.max()) + 1)])
        seeds = np.maximum(multiplicity.sum(axis=1), max(self.places, 1))
        released = np.einsum("ts,sr,trs->tr", multiplicity, model, passes[counts]) / seeds[:, None]
        released *= 1 - self.drop_probability
        return np.hstack((released, 1 - released.sum(axis=1, keepdims=True)))


def hockey_stick(epsilon: float, first: Laws, second: Laws) -> NDArray[np.float64]:
    """Return the divergence E_(e^epsilon) of each first distribution from each second, over all given outputs."""
    return np.asarray(np.maximum(first - np.exp(epsilon) * second, 0).sum(axis=-1))


def worst(epsilon: float, laws: Sequence[Laws], attempts: int = 1) -> tuple[float, float]:
    """Return the largest hockey-stick divergence when a row is added, and when one is removed."""

    def repeated(law: Laws) -> NDArray[np.float64]:
        joint = law
        for _ in range(attempts - 1):
            joint = np.einsum("ti,tj->tij", joint, law).reshape(len(law), -1)
        return joint

    joints = [repeated(law) for law in laws]
    added = max(hockey_stick(epsilon, joint[_LARGER], joint[_SMALLER]).max() for joint in joints)
    removed = max(hockey_stick(epsilon, joint[_SMALLER], joint[_LARGER]).max() for joint in joints)
    return float(added), float(removed)


def require_below(curves: tuple[Laws, Laws], laws: Sequence[Laws], epsilons: Laws) -> None:
    """Require that the divergences of neighbouring tables stay below the curves for adding and for removing a row."""
    for place, epsilon in enumerate(epsilons.tolist()):
        for side, found in enumerate(worst(epsilon, laws)):
            assert found <= curves[side][place] + 1e-12


def nearest_to(curves: tuple[Laws, Laws], laws: Sequence[Laws], epsilons: Laws) -> tuple[float, float]:
    """Return the largest ratio of a divergence to its curve, for adding and for removing a row."""
    found = [worst(epsilon, laws) for epsilon in epsilons.tolist()]
    first, second = (
        max((own[side] / float(curve[place]) for place, own in enumerate(found) if curve[place] > 1e-9), default=0.0)
        for side, curve in enumerate(curves)
    )
    return first, second
