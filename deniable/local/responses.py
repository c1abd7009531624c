"""Reads collected responses: one line of JSON for each respondent.

Only the first line of each respondent is used, so that nobody counts twice. Lines that are not responses to this
survey are omitted and counted. No answers are ever seen here.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from deniable.foundation.errors import DeniableError, InvalidInput
from deniable.foundation.strict_json import parsed
from deniable.local.designs import Response
from deniable.local.survey import MOST_RESPONDENTS, Survey

Row = tuple[Response, ...]
_PSEUDONYM = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True)
class Collected:
    """The responses of a survey.

    Attributes:
        rows: one row per respondent, in the order of the questions; rows are sorted, so that the order of arrival is
            lost.
        repeated: number of lines omitted because their respondent had already responded.
        unreadable: number of lines omitted because they are not responses to this survey.
    """

    rows: tuple[Row, ...]
    repeated: int
    unreadable: int


def read_responses(survey: Survey, lines: Iterable[str]) -> Collected:
    """Read the lines that respondents sent.

    Args:
        survey: the survey.
        lines: the lines; empty ones are skipped.

    Raises:
        InvalidInput: there are no responses, or too many.
    """
    rows: list[Row] = []
    seen: set[str] = set()
    repeated = unreadable = 0
    for line in lines:
        if not line.strip():
            continue
        try:
            respondent, row = _read(survey, line)
        except DeniableError:
            unreadable += 1
            continue
        if respondent in seen:
            repeated += 1
            continue
        if len(rows) == MOST_RESPONDENTS:
            raise InvalidInput(f"a survey must have at most {MOST_RESPONDENTS:,} respondents, got more.")
        seen.add(respondent)
        rows.append(row)
    if not rows:
        raise InvalidInput("a survey must have responses, got none that can be read; collect some first.")
    return Collected(tuple(sorted(rows)), repeated, unreadable)


def _read(survey: Survey, line: str) -> tuple[str, Row]:
    value = parsed(line, "a response")
    if not isinstance(value, dict) or set(value) != {"survey", "respondent", "responses"}:
        raise InvalidInput("a response must have survey, respondent and responses and nothing else.")
    given, respondent = value["responses"], value["respondent"]
    if value["survey"] != survey.digest:
        raise InvalidInput("a response must be to this survey, got one to another.")
    if not isinstance(respondent, str) or not _PSEUDONYM.fullmatch(respondent):
        raise InvalidInput("a respondent must be a pseudonym of 32 hexadecimal digits, got something else.")
    if not isinstance(given, dict) or set(given) != {question.name for question in survey.questions}:
        raise InvalidInput("a response must be to every question of the survey, and to no other.")
    return respondent, tuple(question.read(given[question.name]) for question in survey.questions)


def support_counts(survey: Survey, rows: Iterable[Row]) -> tuple[tuple[int, ...], ...]:
    """For each question and each of its values, the number of responses that support the value."""
    counts = [[0] * len(question.values) for question in survey.questions]
    unary = [question.design.kind == "oue" for question in survey.questions]
    for row in rows:
        for place, response in enumerate(row):
            if unary[place]:
                for value, bit in enumerate(response):
                    counts[place][value] += bit
            else:
                counts[place][response[0]] += 1
    return tuple(map(tuple, counts))
