"""The law of an estimate's error: a weighted sum of independent integer noise, plus a normal part.

Discrete Laplace noise enters through its characteristic function, inverted on a grid, and discrete Gaussian noise as a
normal variable; if all noise has one weight, the error lies on a lattice, and its law is computed exactly. Nothing is
simulated. The construction of intervals does not belong here.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import ceil, erf, exp, pi, sqrt
from statistics import NormalDist

import numpy as np

from deniable.measurements.noisy_tables import Cells, MeasuredTable, NoiseLaw

_STEPS = 50
"""Grid steps per standard deviation."""
_POINTS = 4096
_SMOOTHED = 1.5
"""Standard deviation, in steps, of a normal variable added for convergence of the inversion; widens by 0.05 %."""
_SMALL_PART = 1e-7
"""Share of the variance below which a Laplace variable is approximated as normal."""
_MOST_ON_A_LATTICE = 200.0
"""Standard deviation above which the discreteness of an integer variable is negligible."""
_ON_LATTICE = 1e-9
_FAR_APART = 10 * _ON_LATTICE
_ROUNDING = 1e-12


def normal_quantile(probability: float) -> float:
    """The quantile function of the standard normal distribution."""
    return NormalDist().inv_cdf(probability)


def two_sided(level: float) -> float:
    """The two-sided critical value of a level, in standard deviations."""
    return normal_quantile((1 + level) / 2)


@dataclass(frozen=True, eq=False)
class _Draws:
    """Independent draws of one law with a common weight."""

    noise: NoiseLaw
    weight: float
    count: int


@dataclass(frozen=True, eq=False)
class ErrorLaw:
    """A law symmetric about 0.

    Attributes:
        normal: variance of the normal part.
        draws: independent draws of integer noise, with their weights.
    """

    normal: float = 0.0
    draws: tuple[_Draws, ...] = field(default=())

    @classmethod
    def of(cls, weights: Sequence[tuple[MeasuredTable, Cells]], normal: float = 0.0) -> "ErrorLaw":
        """The law of an estimate's error.

        Args:
            weights: the weight of each released entry of each table (`MeasuredSystem.weights`).
            normal: variance of a normal part, such as that of sampling.
        """
        found: dict[tuple[str, str, str], _Draws] = {}
        # Smaller weights are rounding errors, and would obscure a lattice.
        least = _ROUNDING * max((float(np.max(np.abs(own))) for _, own in weights), default=0.0)
        for table, own in weights:
            first = table.releases[0].noise.variance
            precisions = [first / release.noise.variance for release in table.releases]
            whole = sum(p * release.multiplier for p, release in zip(precisions, table.releases, strict=True))
            values, counts = np.unique(_rounded(np.abs(own)), return_counts=True)
            for precision, release in zip(precisions, table.releases, strict=True):
                for value, count in zip(values.tolist(), counts.tolist(), strict=True):
                    weight = value * precision / whole
                    if value > least:
                        key = (release.noise.law, str(release.noise.amount), f"{weight:.10g}")
                        before = found[key].count if key in found else 0
                        found[key] = _Draws(release.noise, weight, before + count * release.multiplier)
        return cls(normal, tuple(found.values()))

    @classmethod
    def has_lattice(
        cls, weights: Iterable[tuple[MeasuredTable, Cells]], normal: float = 0.0, variance: float = 0.0
    ) -> bool:
        """Whether the law has a `step`; stops at the first two different weights.

        Args:
            weights: the weight of each released entry of each table.
            normal: variance of a normal part.
            variance: variance of the whole law; tables whose share of it is within rounding error are skipped.
        """
        if normal:
            return False
        found: list[tuple[MeasuredTable, Cells]] = []
        first = 0.0
        for table, own in weights:
            if table.variance * float((own**2).sum()) <= _ROUNDING**2 * variance:
                continue
            found.append((table, own))
            if _differ(own):
                return False
            for each in cls.of([found[-1]]).draws:
                first = first or each.weight
                # Weights have ten digits: within twice the limit, all of them together decide.
                if abs(each.weight - first) > 2 * _ON_LATTICE * first:
                    return False
        return cls.of(found).step > 0

    @cached_property
    def variance(self) -> float:
        """Its variance."""
        return self.normal + sum(each.count * each.weight**2 * each.noise.variance for each in self.draws)

    @cached_property
    def step(self) -> float:
        """Spacing of the lattice; 0 if there is none, or it is too fine to matter."""
        if self.normal or not self.draws:
            return 0.0
        weight = self.draws[0].weight
        if any(abs(each.weight - weight) > _ON_LATTICE * weight for each in self.draws):
            return 0.0
        return weight if sqrt(self.variance) <= _MOST_ON_A_LATTICE * weight else 0.0

    def reach(self, level: float) -> float:
        """The smallest distance from 0 within which the error lies with probability of at least a level."""
        deviation = sqrt(self.variance)
        if deviation == 0:
            return 0.0
        if not self.step and not self._is_heavy:
            return two_sided(level) * deviation
        step, inside = self._inside
        found = int(np.searchsorted(inside, level - 1e-12))
        if self.step or found == 0:
            return min(found, len(inside) - 1) * step
        # Between points the mass is taken as uniform.
        below, above = float(inside[found - 1]), float(inside[min(found, len(inside) - 1)])
        part = 1.0 if above <= below else min(max((level - below) / (above - below), 0.0), 1.0)
        return (found - 0.5 + part) * step

    def below(self, places: Cells) -> Cells:
        """The cumulative distribution function of the error at several points."""
        deviation = sqrt(self.variance)
        if deviation == 0:
            return (places >= 0).astype(np.float64)
        if not self.step and not self._is_heavy:
            scaled = (places.ravel() / deviation / sqrt(2)).tolist()
            return np.asarray((1 + np.asarray(list(map(erf, scaled)))) / 2).reshape(places.shape)
        step, inside = self._inside
        if self.step:
            # P(error <= k steps): all mass within k, and half of the mass outside.
            k = np.clip(np.floor(places / step + _ON_LATTICE), -len(inside), len(inside) - 1).astype(int)
            up = np.where(k >= 0, (1 + inside[np.maximum(k, 0)]) / 2, 0.0)
            down = (1 - inside[np.maximum(-k - 1, 0)]) / 2
            return np.asarray(np.where(k >= 0, up, down))
        at = np.concatenate([[0.0], (np.arange(len(inside)) + 0.5) * step])
        size = np.interp(np.abs(places), at, np.concatenate([[0.0], inside]))
        return np.asarray(0.5 + np.sign(places) * size / 2)

    @cached_property
    def _is_heavy(self) -> bool:
        return any(each.noise.law == "laplace" for each in self.draws)

    @cached_property
    def _inside(self) -> tuple[float, Cells]:
        """The grid spacing, and for each k the probability of an absolute error of at most k steps."""
        if self.step:
            return self.step, self._on_lattice()
        variance = self.variance
        step = sqrt(variance) / _STEPS
        angles = 2 * pi * np.fft.fftfreq(_POINTS)
        normal = self.normal + (_SMOOTHED * step) ** 2
        found = np.ones(_POINTS)
        for each in self.draws:
            part = each.count * each.weight**2 * each.noise.variance
            if each.noise.law == "gaussian" or part < _SMALL_PART * variance:
                normal += part
                continue
            p = exp(-float(1 / each.noise.amount))
            found *= ((1 - p) ** 2 / (1 - 2 * p * np.cos(each.weight / step * angles) + p * p)) ** each.count
        found = found * np.exp(-normal * (angles / step) ** 2 / 2)
        return step, _inside(np.real(np.fft.ifft(found)))

    def _on_lattice(self) -> Cells:
        most = 40 * ceil(sqrt(self.variance) / self.step) + 200
        places = np.arange(-most, most + 1)
        found = np.ones(len(places), np.complex128)
        for each in self.draws:
            amount = float(each.noise.amount)
            size = -np.abs(places) / amount if each.noise.law == "laplace" else -(places**2) / (2 * amount)
            mass = np.exp(size - size.max())
            found = found * np.fft.fft(np.fft.ifftshift(mass / mass.sum())) ** each.count
        return _inside(np.real(np.fft.ifft(found)))


def _inside(masses: Cells) -> Cells:
    """The probability of an absolute error of at most k steps, from the masses at 0, 1, ... , -1 steps."""
    half = np.maximum(masses[: (len(masses) + 1) // 2], 0.0)
    cumulated = 2 * np.cumsum(half) - half[0]
    return np.asarray(cumulated / cumulated[-1])


def _differ(weights: Cells) -> bool:
    """Whether weights differ by so much that rounding them cannot make them equal."""
    sizes = np.abs(weights)
    largest = float(sizes.max())
    least = float(sizes.min(where=sizes > _ROUNDING * largest, initial=largest))
    return largest - least > _FAR_APART * least


def _rounded(weights: Cells) -> Cells:
    """Weights rounded to ten digits, the rest being rounding error, so that equal weights are grouped."""
    flat = np.ravel(weights)
    with np.errstate(divide="ignore"):
        digits = np.where(flat > 0, np.floor(np.log10(np.where(flat > 0, flat, 1.0))), 0.0)
    scale = 10.0 ** (9 - digits)
    return np.asarray(np.rint(flat * scale) / scale)
