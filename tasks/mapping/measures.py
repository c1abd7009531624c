"""What a map measures of a synthetic table: its distances from the real one, and what an intruder guesses from it.

All are exact functions of real records, hence internal figures unless the real table is public.

Source: Park, Ghosh, Shankar 2013, section 4.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from deniable.evaluation.confidentiality_map import conditional_distance, marginal_distance
from deniable.evaluation.disclosure import Tables, error_of_guesses, infer, uniqueness
from deniable.foundation.domain import Attribute, Codes, Domain
from reports.figures.confidentiality_map import Measure
from tasks.mapping.regressions import Floats, regression

Figure = Callable[[Codes], float]


@dataclass(frozen=True)
class Measured:
    """The attributes that a map is about, by column number.

    Attributes:
        given: the attributes given which distances are measured, one at a time.
        explained: the attributes that regressions explain: with two values by logistic, others by linear regression.
        known: the attributes that the intruder knows, by their buckets.
        guessed: the attributes that the intruder guesses, one at a time.
        number: the attribute whose number the intruder guesses, if any.
        linking: the attributes in which records are unique or not.
    """

    given: tuple[int, ...]
    explained: tuple[int, ...]
    known: tuple[int, ...]
    guessed: tuple[int, ...]
    number: int | None
    linking: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class RealTable:
    """A real table with what is measured of others beside it.

    Attributes:
        domain: its domain, m attributes.
        codes: its records, shape (rows, m).
        measured: the attributes that the measures are about.
    """

    domain: Domain
    codes: Codes
    measured: Measured

    @property
    def measures(self) -> tuple[Measure, ...]:
        """What is measured, in the order of the figures."""
        return tuple(measure for measure, *_ in self._all)

    def figures(self, records: Codes, seen: int) -> tuple[float, ...]:
        """Measure a synthetic table.

        Args:
            records: codes, shape (records, m).
            seen: number of records that the intruder sees, the first ones: guesses, and records that are unique, of
                tables of different sizes could not be compared.
        """
        return tuple(figure(records[:seen] if is_guess else records) for _, figure, is_guess in self._all)

    @cached_property
    def _all(self) -> tuple[tuple[Measure, Figure, bool], ...]:
        distances = ((*both, False) for both in (*self._distances(), *self._regressions()))
        return (*distances, *((*both, True) for both in self._guesses()))

    @cached_property
    def _names(self) -> tuple[str, ...]:
        return self.domain.names

    def _distances(self) -> Iterator[tuple[Measure, Figure]]:
        yield (
            Measure("marginal", "Marginal", "mean over attributes of the total variation distance"),
            lambda records: marginal_distance(self.domain, self.codes, records),
        )
        for given in self.measured.given:
            name = self._names[given]
            yield (
                Measure(f"given {name}", f"Given {name}", f"the same for records alike in {name}"),
                lambda records, given=given: conditional_distance(  # type: ignore[misc]
                    self.domain, self.codes, records, given, bucketed=True
                ),
            )

    def _regressions(self) -> Iterator[tuple[Measure, Figure]]:
        for target in self.measured.explained:
            name, right = self._names[target], self.coefficients(target)
            kind = "Logistic" if self.domain.cardinalities[target] == 2 else "Linear"

            def distance(records: Codes, target: int = target, right: Floats = right) -> float:
                return float(np.linalg.norm(regression(self.domain, records, target) - right))

            note = f"{kind.lower()} regression of {name}, distance of coefficients"
            yield Measure(f"regression of {name}", f"{kind} regression", note), distance

    def coefficients(self, target: int) -> Floats:
        """The real table's coefficients of a regression."""
        return regression(self.domain, self.codes, target)

    def _guesses(self) -> Iterator[tuple[Measure, Figure]]:
        asked, names = self.measured, self._names
        known = ", ".join(names[other] for other in asked.known)
        for target in asked.guessed:
            yield (
                Measure(f"guess of {names[target]}", f"Guesses of {names[target]}", f"share right, knowing {known}"),
                lambda records, target=target: self._guessed(records, target),  # type: ignore[misc]
            )
        if asked.number is not None:
            name = names[asked.number]
            note = f"mean error of the guess, knowing {known}"
            yield Measure(f"error of {name}", f"Error of {name}", note), self._error
        if asked.linking:
            note = f"share of records that are alone in {', '.join(names[other] for other in asked.linking)}"
            yield Measure("unique", "Unique records", note), self._unique

    def _guessed(self, records: Codes, target: int) -> float:
        tables = self._bucketed(records, self.measured.known, target)
        columns = range(len(self.measured.known))
        return infer(tables, known=columns, sensitive=len(columns)).attack.training.value

    def _error(self, records: Codes) -> float:
        number = self.measured.number
        assert number is not None  # noqa: S101 - it is measured only if there is one
        tables = self._bucketed(records, self.measured.known, number)
        columns = range(len(self.measured.known))
        numbers = numbers_of(self.domain.attributes[number])
        return error_of_guesses(tables, known=columns, sensitive=len(columns), numbers=numbers)[0]

    def _unique(self, records: Codes) -> float:
        tables = Tables(records, self.codes, self.codes[:0], self.domain.cardinalities)
        return uniqueness(tables, self.measured.linking).released.value

    def _bucketed(self, records: Codes, columns: Sequence[int], target: int) -> Tables:
        """Some columns by their buckets, and then one by its values."""
        sizes = [*(self.domain.bucket_counts[column] for column in columns), self.domain.cardinalities[target]]

        def of(codes: Codes) -> Codes:
            found = [self.domain.attributes[column].bucket_of[codes[:, column]] for column in columns]
            return np.stack([*found, codes[:, target]], axis=1).astype(np.uint16)

        real = of(self.codes)
        return Tables(of(records), real, real[:0], tuple(sizes))


def numbers_of(attribute: Attribute) -> list[float]:
    """The number of each value: the middle of its bin, itself if it is a number, otherwise its place in the order."""
    if attribute.bins is not None:
        bins = zip(attribute.values, attribute.bins.last, strict=True)
        return [(float(first) + float(last)) / 2 for first, last in bins]
    if attribute.kind == "numeric":
        return [float(value) for value in attribute.values]
    return [float(place) for place in range(attribute.cardinality)]
