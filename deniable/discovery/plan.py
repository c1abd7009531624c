"""The questions about a table, their cost and their mechanisms, fixed before any data are read.

Each column has an equal share of epsilon, and each column of categories an equal share of delta. Three quarters of the
share of a column of numbers are for its range and one quarter for its decimals. One record has one value in each
column, so costs are summed (basic composition). Drawing answers does not belong here (answering).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, Literal, TypeAlias, get_args

from deniable.discovery.number_grid import decimals_threshold, thresholds
from deniable.foundation.errors import InvalidInput
from deniable.foundation.exact_numbers import exact_number
from deniable.ledger.entries import ALL_ROWS
from deniable.privacy.loss import DiscreteLaplaceEvent, Guarantee, MechanismEvent, StabilityHistogramEvent
from deniable.privacy.rounding import float_above, rounded_down
from deniable.samplers.histogram_seeds.noisy_histogram import least_excess

STEP: Final = "discover"
"""The step under which a discovery is charged, and the name of its streams."""

Kind: TypeAlias = Literal["values", "range"]

_RANGE_SHARE = Fraction(3, 4)
_MOST_COLUMNS = 1000
_LEAST_EPSILON, _LARGEST_EPSILON = Fraction(1, 10**6), 100


@dataclass(frozen=True, kw_only=True)
class Question:
    """A question about a column.

    Attributes:
        column: its name.
        kind: `values` for the values of categories, `range` for the range of numbers.
        missing: the source's codes for missing values, which are neither proposed nor counted.
    """

    column: str
    kind: Kind
    missing: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse a question of another kind."""
        if self.kind not in get_args(Kind):
            raise InvalidInput(f"a question must be about values or a range, got {self.kind!r}.")

    def document(self) -> dict[str, Any]:
        """The question as plain values."""
        return {"column": self.column, "kind": self.kind, "missing": list(self.missing)}


@dataclass(frozen=True, kw_only=True)
class DiscoveryPlan:
    """The questions of a discovery, and their budget.

    Attributes:
        questions: the questions, about different columns.
        epsilon: total epsilon of all answers.
        delta: total delta of all answers; 0 if only ranges are requested.
    """

    questions: tuple[Question, ...]
    epsilon: Fraction
    delta: Fraction

    def __post_init__(self) -> None:
        """Refuse a plan without questions, with a repeated question, or with too small a budget."""
        names = [question.column for question in self.questions]
        if not names or len(names) > _MOST_COLUMNS:
            raise InvalidInput(f"a discovery must be about 1 to {_MOST_COLUMNS:,} columns, got {len(names):,}.")
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise InvalidInput(f"a discovery must ask about each column once, got {twice} twice; remove one.")
        if not 0 < self.epsilon <= _LARGEST_EPSILON:
            raise InvalidInput(
                f"epsilon must be above 0 and at most {_LARGEST_EPSILON}, got {float(self.epsilon):g}; give a number "
                "such as 0.5."
            )
        if self.epsilon < _LEAST_EPSILON:
            raise InvalidInput(
                f"epsilon must be at least {rounded_down(_LEAST_EPSILON)}, below which nothing would ever be proposed, "
                f"got {float(self.epsilon):g}; give a number such as 0.5."
            )
        if self._categories and not 0 < self.delta < 1:
            raise InvalidInput(
                f"delta must be in (0, 1), got {float(self.delta):g}, because values are requested; give a "
                "probability such as 1e-9."
            )
        if not self._categories and self.delta:
            raise InvalidInput(
                f"delta must be 0 if only ranges are requested, which need none, got {float(self.delta):g}; leave it "
                "out."
            )

    @property
    def _categories(self) -> int:
        return sum(question.kind == "values" for question in self.questions)

    @property
    def epsilon_per_column(self) -> Fraction:
        """Epsilon of the answer about one column."""
        return self.epsilon / len(self.questions)

    @property
    def epsilon_range(self) -> Fraction:
        """Epsilon of the noisy counts that imply the range of a column."""
        return self.epsilon_per_column * _RANGE_SHARE

    @property
    def epsilon_decimals(self) -> Fraction:
        """Epsilon of the noisy counts of numbers by their decimals."""
        return self.epsilon_per_column - self.epsilon_range

    @property
    def threshold(self) -> int:
        """The smallest noisy count at which a value is proposed.

        Theorem B of deniable.samplers.histogram_seeds.noisy_histogram: the smallest tau with Pr[1 + Z >= tau] at most
        the column's share of delta, for noise Z of scale 1 / epsilon. It is determined in integers.
        """
        return 1 + least_excess(self.epsilon_per_column, self.delta / self._categories)

    @property
    def range_thresholds(self) -> tuple[int, ...]:
        """Thresholds for the end of a range: noisy counts of one bucket, of ten, of a power of ten."""
        return thresholds(self.epsilon_range)

    @property
    def decimals_threshold(self) -> int:
        """The threshold for a number of decimals."""
        return decimals_threshold(self.epsilon_decimals)

    @property
    def events(self) -> tuple[MechanismEvent, ...]:
        """The mechanisms, in the order of the questions. One record is in one cell of each count."""
        events: list[MechanismEvent] = []
        for question in self.questions:
            if question.kind == "values":
                events.append(
                    StabilityHistogramEvent(
                        query=f"counts of the values of {question.column}",
                        part=ALL_ROWS,
                        outputs=1,
                        scale=1 / self.epsilon_per_column,
                        threshold=self.threshold,
                    )
                )
                continue
            events += [
                DiscreteLaplaceEvent(query=query, part=ALL_ROWS, outputs=1, sensitivity=1, scale=1 / epsilon)
                for query, epsilon in (
                    (f"counts of {question.column} on the public grid of numbers", self.epsilon_range),
                    (f"counts of {question.column} by decimals", self.epsilon_decimals),
                )
            ]
        return tuple(events)

    @property
    def guarantee(self) -> Guarantee:
        """The cost of all answers: the sums over the events, which are at most epsilon and delta."""
        delta = sum((event.outputs * event.delta for event in self.events), start=Fraction(0))
        return Guarantee(float_above(self.epsilon), float_above(delta) if delta else 0.0, "basic")

    def document(self) -> dict[str, Any]:
        """The plan as plain values."""
        return {
            "epsilon": str(self.epsilon),
            "delta": str(self.delta),
            "questions": [question.document() for question in self.questions],
        }

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> "DiscoveryPlan":
        """Read the plan of a document.

        Raises:
            InvalidInput: the document does not describe a plan.
        """
        try:
            questions = [
                Question(column=_text(each["column"]), kind=each["kind"], missing=tuple(map(_text, each["missing"])))
                for each in document["questions"]
                if set(each) == {"column", "kind", "missing"}
            ]
            whole = set(document) == {"epsilon", "delta", "questions"} and len(questions) == len(document["questions"])
            epsilon, delta = exact_number(document["epsilon"]), exact_number(document["delta"])
        except (AttributeError, KeyError, TypeError, ValueError):
            whole = False
        if not whole:
            raise InvalidInput("the plan of a discovery must have epsilon, delta and questions, and nothing else.")
        return cls(questions=tuple(questions), epsilon=epsilon, delta=delta)


def unit_in_words(person: str) -> str:
    """The privacy unit of a discovery.

    Args:
        person: the column that identifies people; empty if the unit is a record.
    """
    return f"one person, by {person}, added or removed" if person else "one record, added or removed"


def asked(
    values: Sequence[str], ranges: Sequence[str], missing: Mapping[str, Sequence[str]] | None = None
) -> tuple[Question, ...]:
    """Questions about some columns.

    Args:
        values: columns of categories.
        ranges: columns of numbers.
        missing: codes for missing values, by column.
    """
    kinds: list[tuple[str, Kind]] = [*((name, "values") for name in values), *((name, "range") for name in ranges)]
    known = missing or {}
    return tuple(Question(column=name, kind=kind, missing=tuple(known.get(name, ()))) for name, kind in kinds)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value
