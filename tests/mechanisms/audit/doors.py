"""The doors between counts and releases: noise that is added, choices, and the streams from which both are drawn.

Noise that is drawn behind the doors knows where it came from. Only if it is added to integers, and nothing else is done
to it, is the sum a release: it can then be forced to be what it was in an earlier run. Noise that is multiplied, masked
or rounded is an ordinary array, so that what is made of it depends on the counts, and forced replay shows it.
"""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deniable.foundation import keys
from deniable.foundation.keys import ReleaseKey, WordStream
from deniable.foundation.noise import DiscreteGaussian, DiscreteLaplace
from deniable.learners.loglinear.exponential_mechanism import choose

Integers = NDArray[np.int64]
Law = DiscreteLaplace | DiscreteGaussian


class Address(NamedTuple):
    """A stream, by everything that its key is derived from but the secret.

    Attributes:
        step: the step that draws.
        mechanism: what is drawn.
        rest: inputs, parameters and chunk, as text.
    """

    step: str
    mechanism: str
    rest: str


NOWHERE = Address("", "", "")
"""The address of words that come from no stream of a key."""


class StopRun(Exception):
    """Another question was asked than was answered, so there is nothing left to force."""


class Addressed(WordStream):
    """A stream that knows its address."""

    address: Address = NOWHERE


@dataclass(eq=False)
class Draw:
    """Noise that was drawn.

    Attributes:
        address: the stream.
        law: its law.
        noise: the noise, shape (n,).
        released: how many numbers of it went into releases.
    """

    address: Address
    law: Law
    noise: Integers
    released: int = 0


@dataclass(frozen=True, eq=False)
class Release:
    """Integers with noise.

    Attributes:
        draw: the noise.
        exact: the integers without it.
        sums: with it.
        times: how many numbers of the noise are in each.
    """

    draw: Draw
    exact: Integers
    sums: Integers
    times: int

    @property
    def question(self) -> tuple[Any, ...]:
        """What must be the same for every table."""
        return self.draw.address, self.draw.law, self.exact.shape, self.times


@dataclass(frozen=True, eq=False)
class Choice:
    """A choice that was made.

    Attributes:
        address: the stream.
        scores: the scores.
        sensitivity: how far one record may change a score, as the mechanism says.
        epsilon: its epsilon, as the mechanism says.
        picked: the number of the candidate.
    """

    address: Address
    scores: tuple[int, ...]
    sensitivity: int
    epsilon: Fraction
    picked: int

    @property
    def question(self) -> tuple[Any, ...]:
        """What must be the same for every table."""
        return self.address, len(self.scores), self.sensitivity, self.epsilon


class Noise(np.ndarray):  # type: ignore[type-arg]
    """Noise that has not been added to anything yet."""

    doors: "Doors"
    draw: Draw
    times: int

    def __array_finalize__(self, source: Any) -> None:
        """Views are of the same draw."""
        if isinstance(source, Noise):
            self.doors, self.draw, self.times = source.doors, source.draw, source.times

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = None, **named: Any) -> Any:
        """Added to integers it is a release; its sum is noise; whatever else is done to it, it is an array."""
        plain = [each.view(np.ndarray) if isinstance(each, Noise) else each for each in inputs]
        if ufunc is np.add and method == "__call__" and not any(isinstance(each, Noise) for each in out or ()):
            beside = [np.asarray(each) for each in inputs if not isinstance(each, Noise)]
            if len(beside) == 1 and np.issubdtype(beside[0].dtype, np.integer):
                sums = np.add(*plain)
                exact = np.array(np.broadcast_to(beside[0], sums.shape), np.int64)
                released = self.doors.released(self, exact, sums)
                if out is None:
                    return released
                out[0][...] = released
                return out[0]
        into = {} if out is None else {"out": tuple(np.asarray(each) for each in out)}
        made = getattr(ufunc, method)(*plain, **into, **named)
        if ufunc is np.add and method == "reduce" and out is None and named.get("axis") is not None:
            summed = np.asarray(made).view(Noise)
            summed.doors, summed.draw = self.doors, self.draw
            summed.times = self.times * self.size // max(summed.size, 1)
            return summed
        return made


@dataclass(eq=False)
class Doors:
    """What went through the doors of one run.

    Attributes:
        forced: the run whose releases and choices are given again; None to draw.
        draws: all noise drawn, in order.
        releases: all releases, in order.
        choices: all choices, in order.
        opened: the streams that were opened, in order.
        findings: in what a forced run differs from the run that it repeats.
    """

    forced: "Doors | None" = None
    draws: list[Draw] = field(default_factory=list)
    releases: list[Release] = field(default_factory=list)
    choices: list[Choice] = field(default_factory=list)
    opened: list[Address] = field(default_factory=list)
    findings: list[str] = field(default_factory=list)

    def released(self, noise: Noise, exact: Integers, sums: Integers) -> Integers:
        """Release the sums, or the sums of the run that is repeated."""
        made = Release(noise.draw, exact, sums, noise.times)
        noise.draw.released += sums.size * noise.times
        if self.forced is not None:
            before = self._before(self.forced.releases, len(self.releases), made.question, "a noisy table")
            made = Release(noise.draw, exact, before.sums, noise.times)
        self.releases.append(made)
        return made.sums.copy()

    def chosen(self, made: Choice) -> int:
        """Make a choice, or the choice of the run that is repeated."""
        if self.forced is not None:
            before = self._before(self.forced.choices, len(self.choices), made.question, "a choice")
            made = Choice(made.address, made.scores, made.sensitivity, made.epsilon, before.picked)
        self.choices.append(made)
        return made.picked

    def _before(self, those: Sequence[Any], number: int, question: tuple[Any, ...], what: str) -> Any:
        if number == len(those):
            self.findings.append(f"{what} more")
            raise StopRun
        if those[number].question != question:
            self.findings.append(f"{what} of another question")
            raise StopRun
        return those[number]

    @property
    def private(self) -> set[Address]:
        """The streams of noise and choices."""
        return {draw.address for draw in self.draws} | {choice.address for choice in self.choices}


@contextmanager
def through(doors: Doors) -> Iterator[Doors]:
    """Let all noise, choices and streams go through these doors."""
    inside = [False]

    def sampling(honest: Callable[..., Integers]) -> Callable[..., Integers]:
        def sample(law: Law, stream: WordStream, size: int) -> Integers:
            if inside[0]:  # proposals of a law that is drawn by means of another
                return honest(law, stream, size)
            inside[0] = True
            try:
                drawn = honest(law, stream, size)
            finally:
                inside[0] = False
            draw = Draw(getattr(stream, "address", NOWHERE), law, drawn)
            doors.draws.append(draw)
            noise = drawn.view(Noise)
            noise.doors, noise.draw, noise.times = doors, draw, 1
            return noise

        return sample

    def choosing(scores: Sequence[int], *, sensitivity: int, epsilon: Fraction, stream: WordStream) -> int:
        picked = choose(scores, sensitivity=sensitivity, epsilon=epsilon, stream=stream)
        address = getattr(stream, "address", NOWHERE)
        return doors.chosen(Choice(address, tuple(scores), sensitivity, epsilon, picked))

    opens = ReleaseKey.stream

    def opening(key: ReleaseKey, **arguments: Any) -> WordStream:
        stream = opens(key, **arguments)
        assert isinstance(stream, Addressed)
        stream.address = address_of(arguments)
        doors.opened.append(stream.address)
        return stream

    with (
        attribute(DiscreteLaplace, "sample", sampling(DiscreteLaplace.sample)),
        attribute(DiscreteGaussian, "sample", sampling(DiscreteGaussian.sample)),
        attribute(ReleaseKey, "stream", opening),
        attribute(keys, "WordStream", Addressed),
        replaced({id(choose): choose}, {id(choose): choosing}),
    ):
        yield doors


def address_of(arguments: Mapping[str, Any]) -> Address:
    """The address of a stream that is opened with these arguments."""
    rest = {name: _plain(value) for name, value in arguments.items() if name not in ("step", "mechanism")}
    return Address(arguments["step"], arguments["mechanism"], repr(sorted(rest.items())))


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return sorted((name, _plain(entry)) for name, entry in value.items())
    return [_plain(entry) for entry in value] if isinstance(value, list | tuple) else value


@contextmanager
def attribute(owner: Any, name: str, value: Any) -> Iterator[None]:
    """Give an object another attribute for a while."""
    before = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, before)


@contextmanager
def replaced(objects: Mapping[int, Any], by: Mapping[int, Any]) -> Iterator[None]:
    """Replace functions and classes for a while, under every name that a module of the project has for them.

    Args:
        objects: the objects, by their id.
        by: what replaces each, by the same id.
    """
    _rename({place: by[place] for place in objects})
    try:
        yield
    finally:
        # Modules that were imported in between have the others, too.
        _rename({id(by[place]): own for place, own in objects.items()})


def _rename(new: Mapping[int, Any]) -> None:
    for module in [each for name, each in sys.modules.items() if name.partition(".")[0] in ("deniable", "tasks")]:
        for name, value in list(vars(module).items()):
            if id(value) in new:
                setattr(module, name, new[id(value)])
