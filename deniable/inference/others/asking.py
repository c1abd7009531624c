"""The questions that a release without noisy tables answers: counts or shares, each with an interval, or a refusal."""

from collections.abc import Mapping
from dataclasses import dataclass

from deniable.foundation.errors import Refused
from deniable.inference.answers import Answer, Asked
from deniable.inference.intervals import Interval

ROWS = "the rows that were counted"
TABLE = "the confidential table"
POPULATION = "the population that the rows were sampled from"


class OtherRelease:
    """A release whose records' law answers some questions; all others are refused."""

    kind = "release"
    answers = "nothing"

    def count(self, condition: str, asked: Asked) -> Answer:  # noqa: ARG002 - overridden where it can be answered
        """The number of records that satisfy a condition."""
        raise self.refusal("counts")

    def share(self, condition: str, given: str, asked: Asked) -> Answer:  # noqa: ARG002
        """The share of records that satisfy a condition, among those that satisfy another."""
        raise self.refusal("shares")

    def refusal(self, what: str) -> Refused:
        """The refusal of a question."""
        return Refused(f"{self.kind} answers {self.answers}, not {what}; ask for what it answers.")


@dataclass(frozen=True, kw_only=True)
class Found:
    """An estimate with its interval, before it becomes an answer.

    Attributes:
        estimate: the estimate.
        interval: its interval.
        noise: variance of the estimate given the rows.
        sampling: its sampling variance.
    """

    estimate: float
    interval: Interval
    noise: float
    sampling: float = 0.0


def answered(
    question: str,
    kind: str,
    found: Found,
    asked: Asked,
    condition: str,
    sources: Mapping[tuple[str, ...], float],
    rows: str = ROWS,
) -> Answer:
    """An answer of grade `measured`: its interval follows from a published law alone.

    Args:
        question: the question, in words.
        kind: `count` or `share`.
        found: the estimate.
        asked: level and estimand.
        condition: the condition under which the interval covers.
        sources: the tables that it is computed from.
        rows: what the estimand is if it is not the population, in words.
    """
    return Answer(
        question=question,
        kind=kind,
        estimate=found.interval.nearest(found.estimate),
        unrestricted=found.estimate,
        interval=found.interval,
        level=asked.level,
        estimand=asked.estimand,
        of_what=rows if asked.estimand == "finite" else POPULATION,
        grade="measured",
        condition=condition,
        noise_deviation=max(found.noise, 0.0) ** 0.5,
        sampling_deviation=max(found.sampling, 0.0) ** 0.5,
        sources=sources,
    )


def require_sample(asked: Asked) -> None:
    """Refuse the population as the estimand unless its rows are stated to be a simple random sample.

    Raises:
        Refused: they are not so stated.
    """
    if asked.estimand == "population" and asked.sampling != "simple random":
        raise Refused(
            "the release does not state how its rows were sampled from a population; ask for the confidential table "
            "(finite), or state that they are a simple random sample."
        )
    if asked.design_effect not in (None, 1):
        raise Refused("a design effect cannot be used here: the law of the draws is of a simple random sample.")


def told(what: str, asked: Asked) -> str:
    """The condition under which an interval based on the law of draws covers."""
    more = "; you state that the rows are a simple random sample" if asked.estimand == "population" else ""
    return f"The interval rests on the published law of {what}, and on no model or prior{more}."
