"""Traces the real mechanisms: what was added to which noise, and among which scores a choice was made.

A traced run draws as any other run does, with the words of its streams. Noise comes as an array that knows its law; the
one thing that may be done with it is to add it to exact counts, which is what is traced. A run may also be forced: it
then draws nothing, and releases the integers and choices of another run. The two together have the probability of one
output under two tables, by the stated law of every draw, whatever the mechanism asks and in whatever order.

A mechanism in which noise is scaled, masked, left out or added twice cannot be traced, and neither can one that asks
something else of a neighbouring table although all its answers are the same.
"""

import pkgutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, lru_cache
from importlib import import_module
from math import exp, log, log1p, pi
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from deniable import learners
from deniable.foundation import noise
from deniable.foundation.keys import WordStream
from deniable.foundation.noise import DiscreteGaussian, DiscreteLaplace
from deniable.learners.loglinear import exponential_mechanism

Law: TypeAlias = DiscreteLaplace | DiscreteGaussian
Integers: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float64]

_WIDE = 40
"""Variance from which the sum of a Gaussian over the integers is its integral, to float precision."""
_TAIL = 60.0
"""Probabilities below e^-60 are left out of convolutions."""


class Untraceable(Exception):
    """The mechanism does something that a mechanism with these events may not do."""


@dataclass(frozen=True, eq=False)
class Noised:
    """Exact integers to which noise was added.

    Attributes:
        law: the law of one draw.
        copies: number of draws that were summed for each integer.
        exact: the integers without noise.
        released: the integers with noise.
    """

    law: Law
    copies: int
    exact: Integers
    released: Integers

    def log_probability(self) -> float:
        """Return the logarithm of the probability of what was released."""
        return float(log_probabilities(self.law, self.copies, self.released - self.exact).sum())


@dataclass(frozen=True, eq=False)
class Chosen:
    """A choice by the exponential mechanism.

    Attributes:
        weights: epsilon times score over twice the sensitivity, for each candidate.
        picked: number of the chosen candidate.
    """

    weights: Floats
    picked: int

    def log_probability(self) -> float:
        """Return the logarithm of the probability of the choice."""
        return float(self.weights[self.picked] - np.logaddexp.reduce(self.weights))


Answer: TypeAlias = Noised | Chosen


def log_probabilities(law: Law, copies: int, draws: Integers) -> Floats:
    """Return the log probabilities of sums of noise, computed from the definition of the law."""
    if copies == 1:
        return _log_mass(law, draws)
    reach, table = _summed(law, copies)
    if np.abs(draws).max(initial=0) > reach:
        raise Untraceable("a sum of noise is farther from 0 than e^-60 allows.")
    return np.asarray(table[draws + reach], np.float64)


def _log_mass(law: Law, draws: Integers) -> Floats:
    if isinstance(law, DiscreteLaplace):
        rate = float(1 / law.scale)
        return np.asarray(-np.abs(draws) * rate + log(-np.expm1(-rate)) - log1p(exp(-rate)), np.float64)
    variance = float(law.sigma_squared)
    return np.asarray(-(draws.astype(np.float64) ** 2) / (2 * variance) - _log_sum(variance), np.float64)


@lru_cache
def _log_sum(variance: float) -> float:
    """Logarithm of the sum of exp(-z^2 / 2 variance) over all integers z."""
    if variance >= _WIDE:
        return 0.5 * log(2 * pi * variance)
    z = np.arange(-200, 201)
    return float(np.log(np.exp(-(z**2) / (2 * variance)).sum()))


@lru_cache
def _summed(law: Law, copies: int) -> tuple[int, Floats]:
    """Log probabilities of a sum of draws, and the magnitude up to which they are listed."""
    deviation = law.variance**0.5
    reach = int(np.ceil(_TAIL * max(deviation, 1.0) * (1 if isinstance(law, DiscreteLaplace) else 0.2)))
    mass = np.exp(_log_mass(law, np.arange(-reach, reach + 1)))
    whole = mass
    for _ in range(copies - 1):
        whole = np.convolve(whole, mass)
    with np.errstate(divide="ignore"):
        return copies * reach, np.log(whole)


@dataclass
class Trace:
    """The answers of a run, in order.

    Attributes:
        forced: the answers of the run whose output is forced; None if the run draws.
        draws_on: whether the run draws when it has given all forced answers.
        answers: the answers so far.
    """

    forced: Sequence[Answer] | None = None
    draws_on: bool = False
    answers: list[Answer] = field(default_factory=list)
    _pending: int = 0

    def add(self, given: "Noise", exact: Any) -> Integers:
        """Add noise to exact integers, or release what another run released."""
        self._pending -= 1
        counts = np.asarray(exact, np.int64)
        if self._draws:
            released = counts + given.view(np.ndarray)
        else:
            other = self._other(Noised)
            if other.released.shape != np.broadcast_shapes(counts.shape, given.shape):
                raise Untraceable("another number of integers is released of the neighbouring table.")
            released = other.released
        self.answers.append(Noised(given.law, given.copies, np.broadcast_to(counts, released.shape), released))
        return np.array(released)

    def choose(
        self,
        draw: Callable[..., int],
        scores: Sequence[int],
        *,
        sensitivity: int,
        epsilon: Any,
        stream: WordStream,
    ) -> int:
        """Make a choice, or the one that another run made."""
        weights = np.asarray(scores, np.float64) * float(epsilon / (2 * sensitivity))
        if self._draws:
            picked = draw(scores, sensitivity=sensitivity, epsilon=epsilon, stream=stream)
        else:
            other = self._other(Chosen)
            if other.weights.shape != weights.shape:
                raise Untraceable("there are other candidates for a choice in the neighbouring table.")
            picked = other.picked
        self.answers.append(Chosen(weights, picked))
        return picked

    def noise(self, law: Law, size: int, draw: Callable[[], Integers]) -> "Noise":
        """Draw noise, unless the output is forced."""
        self._pending += 1
        values = draw() if self._draws else np.zeros(size, np.int64)
        return Noise.of(values, self, law)

    def finish(self) -> None:
        """Require that all noise was added once, and all forced answers were given."""
        if self._pending:
            raise Untraceable("noise was drawn and not added, or added twice.")
        if self.forced is not None and not self.draws_on and len(self.answers) != len(self.forced):
            raise Untraceable("fewer questions are asked of the neighbouring table.")

    def log_probability(self) -> float:
        """Return the logarithm of the probability of all answers."""
        return sum((answer.log_probability() for answer in self.answers), start=0.0)

    @property
    def _draws(self) -> bool:
        return self.forced is None or (self.draws_on and len(self.answers) >= len(self.forced))

    def _other(self, kind: type[Any]) -> Any:
        place = len(self.answers)
        if self.forced is None or place >= len(self.forced) or not isinstance(self.forced[place], kind):
            raise Untraceable("another question is asked of the neighbouring table.")
        return self.forced[place]


class Noise(np.ndarray[Any, np.dtype[np.int64]]):
    """Draws that know their law, and can only be added to something."""

    trace: Trace
    law: Law
    copies: int

    @classmethod
    def of(cls, values: Integers, trace: Trace, law: Law) -> "Noise":
        """Return draws that know their law."""
        made = np.asarray(values, np.int64).view(cls)
        made.trace, made.law, made.copies = trace, law, 1
        return made

    def __array_finalize__(self, base: Any) -> None:
        """Let views know what they are views of."""
        for name in ("trace", "law", "copies"):
            if hasattr(base, name):
                setattr(self, name, getattr(base, name))

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        """Trace additions, and sums over whole draws; refuse everything else."""
        if ufunc is np.add and method == "__call__" and set(options) <= {"out"} and len(inputs) == 2:
            others = [each for each in inputs if not isinstance(each, Noise)]
            if len(others) == 1:
                return _put(self.trace.add(self, others[0]), *options.get("out", ()))
        if ufunc is np.add and method == "reduce" and options.get("axis") == 0 and self.copies == 1:
            summed = np.add.reduce(self.view(np.ndarray), axis=0).view(Noise)
            summed.trace, summed.law, summed.copies = self.trace, self.law, self.shape[0]
            return summed
        raise Untraceable(f"noise is not only added to counts ({ufunc.__name__}).")

    def __array_function__(self, function: Any, types: Any, arguments: Any, options: Any) -> Any:
        """Refuse what is not an addition, such as a choice between noise and something else."""
        if function is np.sum:
            return self.__array_ufunc__(np.add, "reduce", self, axis=options.get("axis"))
        raise Untraceable(f"noise is not only added to counts ({function.__name__}).")

    def __getitem__(self, place: Any) -> Any:
        """A draw by itself is one that knows its law, too."""
        if isinstance(place, int) and self.ndim == 1:
            if self.size > 1:
                raise Untraceable("some draws of noise are used and others are not.")
            return NoiseInteger.of(self)
        raise Untraceable("some draws of noise are used and others are not.")

    def tolist(self) -> Any:
        """Return draws that know their law, one by one."""
        self.trace._pending += self.size - 1  # noqa: SLF001 - its own array
        return [NoiseInteger.of(self.view(np.ndarray)[i : i + 1], self) for i in range(self.size)]

    def __iter__(self) -> Iterator[Any]:
        """Draw by draw."""
        return iter(self.tolist())


def _put(released: Integers, place: Integers | None = None) -> Integers:
    """Released integers, in an array that noise was added to in its place, if any."""
    if place is None:
        return released
    place[...] = released
    return place


class NoiseInteger(int):
    """One draw that knows its law."""

    whole: Noise

    @classmethod
    def of(cls, values: Any, of: Noise | None = None) -> "NoiseInteger":
        """Return the draw of an array of one."""
        base = values if of is None else of
        made = cls(np.asarray(values).view(np.ndarray)[0])
        made.whole = Noise.of(np.asarray(values).view(np.ndarray), base.trace, base.law)
        return made

    def __add__(self, other: int) -> int:
        """Add the draw to a count."""
        return int(self.whole.trace.add(self.whole, np.asarray([other]))[0])

    __radd__ = __add__

    def __mul__(self, other: object) -> Any:
        """Refuse to scale a draw."""
        raise Untraceable("noise is not only added to counts.")

    __rmul__ = __mul__


@cache
def importers_of_choices() -> tuple[tuple[str, str], ...]:
    """Return the modules that have imported the door to choices, and its name there.

    All that learners are made of is imported first: a module that is imported in a traced run would keep its door.
    """
    for part in pkgutil.walk_packages(learners.__path__, f"{learners.__name__}."):
        import_module(part.name)
    original = exponential_mechanism.choose
    return tuple(
        (name, found)
        for name, module in list(sys.modules.items())
        for found in [key for key, thing in vars(module).items() if thing is original]
    )


@contextmanager
def traced(forced: Sequence[Answer] | None = None, *, draws_on: bool = False) -> Iterator[Trace]:
    """Trace what a mechanism draws inside of a block; wherever it imported the two doors from, they are traced.

    Args:
        forced: the answers of the run whose output is forced; None to draw.
        draws_on: whether to draw when all forced answers are given.
    """
    trace, inside = Trace(forced, draws_on), False

    def sampled(own: Callable[..., Integers]) -> Callable[..., Any]:
        def sample(law: Law, stream: WordStream, size: int) -> Any:
            nonlocal inside
            if inside:  # a wide Gaussian draws its proposals from a Laplace
                return own(law, stream, size)
            inside = True
            try:
                return trace.noise(law, size, lambda: own(law, stream, size))
            finally:
                inside = False

        return sample

    def choose(scores: Sequence[int], *, sensitivity: int, epsilon: Any, stream: WordStream) -> int:
        return trace.choose(original, scores, sensitivity=sensitivity, epsilon=epsilon, stream=stream)

    original = exponential_mechanism.choose
    doors: list[tuple[Any, str, Any]] = [
        (sys.modules[module], name, original)
        for module, name in importers_of_choices()
        if getattr(sys.modules[module], name) is original  # a broken twin has another one, which calls this one
    ]
    laws = [(law, "sample", law.sample) for law in (noise.DiscreteLaplace, noise.DiscreteGaussian)]
    try:
        for module, name, _ in doors:
            setattr(module, name, choose)
        for law, name, own in laws:
            setattr(law, name, sampled(own))
        yield trace
        trace.finish()
    finally:
        for owner, name, own in [*doors, *laws]:
            setattr(owner, name, own)


def shifts_of(one: Sequence[Answer], other: Sequence[Answer]) -> Iterator[tuple[Law, int, int]]:
    """Yield law, number of summed draws and shift of each noisy integer that differs between two tables.

    Args:
        one: the answers of a run.
        other: the same answers, forced, of a neighbouring table.

    Raises:
        Untraceable: a law depends on the table.
    """
    for first, second in zip(one, other, strict=True):
        if isinstance(first, Chosen) or isinstance(second, Chosen):
            continue
        if (first.law, first.copies) != (second.law, second.copies):
            raise Untraceable("noise of another law is added for the neighbouring table.")
        for shift in (first.exact - second.exact)[first.exact != second.exact].tolist():
            yield first.law, first.copies, int(shift)
