"""The released document of a discovery, in integers, and the range and values that follow from it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np

from deniable.discovery.number_grid import BUCKETS, MOST_DECIMALS, Range, range_shown
from deniable.discovery.plan import DiscoveryPlan
from deniable.foundation.errors import InvalidInput

FORMAT: Final = "deniable/discovery/1"


@dataclass(frozen=True)
class ValuesAnswer:
    """Values of a column of categories, each with its noisy count, in the order of their bytes."""

    column: str
    values: tuple[tuple[str, int], ...]

    def document(self) -> dict[str, Any]:
        """The answer as plain values."""
        return {"column": self.column, "values": [[value, count] for value, count in self.values]}


@dataclass(frozen=True)
class RangeAnswer:
    """Noisy counts of a column of numbers: of each bucket of the public grid, and by decimals."""

    column: str
    counts: tuple[int, ...]
    decimals: tuple[int, ...]

    def document(self) -> dict[str, Any]:
        """The answer as plain values."""
        return {"column": self.column, "counts": list(self.counts), "decimals": list(self.decimals)}


Answer: TypeAlias = ValuesAnswer | RangeAnswer


@dataclass(frozen=True, kw_only=True)
class Answers:
    """The answers to the questions of a plan, in their order.

    Attributes:
        plan: what was requested.
        answers: the released answers.
    """

    plan: DiscoveryPlan
    answers: tuple[Answer, ...]

    def range_of(self, answer: RangeAnswer) -> Range | None:
        """The range implied by an answer; None if there is none."""
        return range_shown(
            np.asarray(answer.counts, np.int64),
            np.asarray(answer.decimals, np.int64),
            self.plan.range_thresholds,
            self.plan.decimals_threshold,
        )

    def document(self) -> dict[str, Any]:
        """The answers, ready for JSON; released numbers are integers."""
        return {
            "format": FORMAT,
            "plan": self.plan.document(),
            "answers": [answer.document() for answer in self.answers],
        }

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> "Answers":
        """Read answers.

        Raises:
            InvalidInput: the document does not have the form of answers, or does not answer its plan.
        """
        if document.get("format") != FORMAT:
            raise InvalidInput(
                f"a discovery must have the format {FORMAT}, got another; read it with the version that wrote it."
            )
        plan = DiscoveryPlan.from_document(document.get("plan", {}))
        stated = document.get("answers")
        if set(document) != {"format", "plan", "answers"} or not isinstance(stated, list):
            raise InvalidInput("a discovery must have format, plan and answers, and nothing else.")
        if len(stated) != len(plan.questions):
            raise InvalidInput(f"a discovery must answer each question once, got {len(stated)} answers.")
        made: list[Answer] = []
        for question, answer in zip(plan.questions, stated, strict=True):
            fault = _fault(answer, question.column, question.kind, plan)
            if fault is not None:
                raise InvalidInput(f"the answer about {question.column} {fault}.")
            if question.kind == "values":
                made.append(ValuesAnswer(question.column, tuple((value, count) for value, count in answer["values"])))
            else:
                made.append(RangeAnswer(question.column, tuple(answer["counts"]), tuple(answer["decimals"])))
        return cls(plan=plan, answers=tuple(made))


def _fault(answer: Any, column: str, kind: str, plan: DiscoveryPlan) -> str | None:
    """The fault of an answer, as the end of a sentence; None if none."""
    members = {"column", "values"} if kind == "values" else {"column", "counts", "decimals"}
    if not isinstance(answer, dict) or set(answer) != members or answer["column"] != column:
        return f"must have {', '.join(sorted(members))}, and name its column"
    if kind == "values":
        return _fault_of_values(answer["values"], plan.threshold)
    sized = ((answer["counts"], BUCKETS), (answer["decimals"], MOST_DECIMALS + 1))
    whole = all(isinstance(counts, list) and len(counts) == size for counts, size in sized)
    if not whole or not all(type(count) is int for counts, _ in sized for count in counts):
        return "must have an integer for each bucket and for each number of decimals"
    return None


def _fault_of_values(values: Any, threshold: int) -> str | None:
    """The fault of values and their counts, as the end of a sentence; None if none."""
    if not isinstance(values, list) or not all(map(_is_counted, values)):
        return "must have texts with an integer each"
    texts = [value.encode() for value, _ in values]
    if texts != sorted(set(texts)):
        return "must have its values in the order of their bytes, each once"
    if any(count < threshold for _, count in values):
        return f"must have noisy counts of at least {threshold}"
    return None


def _is_counted(each: Any) -> bool:
    return isinstance(each, list) and len(each) == 2 and isinstance(each[0], str) and type(each[1]) is int
