"""Independent verification of a published survey, from its folder alone.

The guarantee is recomputed from the survey's document, the counts from the responses, the estimates from the counts.
An interval is checked by its defining equation, a sum of binomial probabilities, not by the quantile function that
computed it.
"""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from math import isclose, sqrt
from typing import Any

import numpy as np

from deniable.foundation.checks import Check, found
from deniable.foundation.errors import DeniableError, InvalidInput
from deniable.foundation.exact_numbers import exact_number
from deniable.local.designs import Design
from deniable.local.responses import Row, support_counts
from deniable.local.survey import Survey, read_survey
from deniable.local.words import VERSION, statement_text
from deniable.privacy.neighbours import ANSWERS
from deniable.verification.release import (
    FILE,
    FORM,
    RESPONSES,
    Folder,
    ReleaseReport,
    Trust,
    files_check,
    kind_of,
    record_of,
    signature_check,
    unread_report,
)

KIND = "survey"
DOCUMENT = "survey.json"
ESTIMATES = "estimates.csv"
STATEMENT = "PRIVACY.md"
SURVEY_FILES = (DOCUMENT, RESPONSES, ESTIMATES, STATEMENT)
"""The files of a published survey, besides its record."""

_MEMBERS = {"code", "guarantee", "left_out", "level", "rendering", "respondents", "runs", "signed", "survey"}
_LARGEST_FILE = 1 << 31
_CLOSE = 1e-9
_CLOSE_TAIL = 1e-6


def is_survey(folder: Folder) -> bool:
    """Whether a folder's record is that of a survey; its signature is not checked."""
    return kind_of(folder) == KIND


def guarantee_document(survey: Survey) -> dict[str, Any]:
    """The guarantee as stated in a record: exact ratios e^epsilon, which follow from the survey alone."""
    return {
        "kind": "local",
        "unit": ANSWERS.unit,
        "ratio": str(survey.ratio),
        "questions": [
            {"name": question.name, "design": question.design.kind, "ratio": str(question.design.ratio)}
            for question in survey.questions
        ],
    }


def survey_lines(record: Mapping[str, Any]) -> Iterator[str]:
    """The record of a survey as lines of text."""
    survey, guarantee = record["survey"], record["guarantee"]
    yield f"survey      {survey['name']}: {survey['title']}"
    yield f"digest      {survey['digest']}"
    yield f"respondents {record['respondents']:,}"
    yield f"guarantee   local differential privacy, e^epsilon {guarantee['ratio']} for all responses of one respondent"
    for question in guarantee["questions"]:
        yield f"  {question['name']}: {question['design']}, e^epsilon {question['ratio']}"
    yield f"signed      {record['signed']['time']}"


def verify_survey(folder: Folder, trust: Trust) -> ReleaseReport:
    """Check a published survey against its own signed record.

    Args:
        folder: the survey's folder.
        trust: the keys whose signatures are accepted.

    Returns:
        The report. The only errors raised are those of opening the folder.
    """
    names = folder.members()
    try:
        envelope, statement = record_of(folder, names, KIND)
    except DeniableError as error:
        return unread_report(error)
    record: Any = statement.predicate
    misshapen = found(lambda: _faults_of_form(record))
    respondents = 0 if misshapen else record["respondents"]
    checks = [
        signature_check(envelope, record, trust),
        files_check(folder, names, statement.subjects, respondents),
        Check(FORM, misshapen),
    ]
    if misshapen:
        return ReleaseReport("", tuple(checks))

    def of_files() -> Iterator[str]:
        missing = [name for name in SURVEY_FILES if names.get(name) != FILE]
        if missing:
            yield f"{', '.join(missing)} is missing"
            return
        texts = {name: _text(folder, name) for name in SURVEY_FILES}
        yield from _faults(record, texts)

    checks.append(Check("guarantee, statement, responses and estimates follow from the survey", found(of_files)))
    return ReleaseReport(record["survey"]["name"], tuple(checks))


def _text(folder: Folder, name: str) -> str:
    """The text of a file, whose size the check of files bounds if it passes."""
    with folder.open(name) as file:
        return file.read(_LARGEST_FILE).decode()


def _faults_of_form(record: Any) -> Iterator[str]:
    if set(record) != _MEMBERS:
        yield f"it must have {', '.join(sorted(_MEMBERS))} and nothing else"
        return
    if record["rendering"] != "public":
        yield "rendering must be public"
    if set(record["survey"]) != {"name", "title", "digest"} or set(record["left_out"]) != {"repeated", "unreadable"}:
        yield "survey must have name, title and digest, and left_out must have repeated and unreadable"
    counts = (record["respondents"], *record["left_out"].values())
    if not all(type(count) is int and count >= 0 for count in counts) or record["respondents"] < 1:
        yield "numbers of lines must be whole, and respondents at least 1"
    if not 0 < exact_number(record["level"]) < 1:
        yield "level must be in (0, 1)"


def _faults(record: Mapping[str, Any], texts: Mapping[str, str]) -> Iterator[str]:
    survey = read_survey(texts[DOCUMENT])
    stated = {"name": survey.name, "title": survey.title, "digest": survey.digest}
    if record["survey"] != stated:
        yield f"survey must be that of {DOCUMENT}"
    if record["guarantee"] != guarantee_document(survey):
        yield "guarantee must be what follows from the survey, got another"
    level = exact_number(record["level"])
    left = record["left_out"]
    lines = record["respondents"], left["repeated"], left["unreadable"]
    told = [statement_text(survey, *lines, level, version) for version in range(1, VERSION + 1)]
    if texts[STATEMENT] not in told:
        yield f"{STATEMENT} must say what follows from the survey, got another text"
    rows = list(_rows(survey, texts[RESPONSES]))
    if len(rows) != record["respondents"]:
        yield f"{RESPONSES} has {len(rows):,} responses, but respondents is {record['respondents']:,}"
    if rows != sorted(rows):
        yield f"{RESPONSES} must be sorted, so that it does not tell the order of arrival"
    if rows:
        counts = support_counts(survey, rows)
        yield from _faults_of_estimates(survey, counts, len(rows), level, texts[ESTIMATES])


def _rows(survey: Survey, text: str) -> Iterator[Row]:
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    names = [question.name for question in survey.questions]
    if next(reader, []) != names:
        raise InvalidInput(f"{RESPONSES} must have the columns {', '.join(names)}.")
    for row in reader:
        if len(row) != len(names):
            raise InvalidInput(f"{RESPONSES} must have a response to every question in each line.")
        yield tuple(question.read(each) for question, each in zip(survey.questions, row, strict=True))


def _faults_of_estimates(
    survey: Survey, counts: Sequence[Sequence[int]], respondents: int, level: Fraction, text: str
) -> Iterator[str]:
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    next(reader, None)
    for question, supported in zip(survey.questions, counts, strict=True):
        design = question.design
        together = 1 if design.kind != "oue" and design.values == 2 else design.values
        for value, count in zip(question.values, supported, strict=True):
            row = next(reader, [])
            place = f"{ESTIMATES}: {question.name}, {value}"
            if row[:3] != [question.name, value, str(count)]:
                yield f"{place} must be supported by {count:,} responses, got another line"
                return
            share, population, sample, low, high, outer_low, outer_high, shown = map(float, row[3:])
            if not _agree(design, count, respondents, (share, population, sample)):
                yield f"{place} has another share or standard error than follows from the responses"
            for bounds, alpha in (((low, high), 1 - level), ((outer_low, outer_high), (1 - level) / together)):
                if not _covers(design, count, respondents, bounds, float(alpha)):
                    yield f"{place} has an interval that is not the exact one"
            if not 0 <= shown <= 1 + _CLOSE:
                yield f"{place} is shown with a share outside [0, 1]"
    if next(reader, None) is not None:
        yield f"{ESTIMATES} has more lines than the survey has possible answers"


def _agree(design: Design, count: int, respondents: int, stated: tuple[float, float, float]) -> bool:
    """Whether share and standard errors follow from the count."""
    p, q = map(float, design.support)
    rate = count / respondents
    share = (rate - q) / (p - q)
    inside = min(max(share, 0.0), 1.0)
    population = sqrt(rate * (1 - rate) / respondents) / (p - q)
    sample = sqrt((inside * p * (1 - p) + (1 - inside) * q * (1 - q)) / respondents) / (p - q)
    return all(
        isclose(one, other, rel_tol=_CLOSE, abs_tol=_CLOSE)
        for one, other in zip(stated, (share, population, sample), strict=True)
    )


def _covers(design: Design, count: int, respondents: int, bounds: tuple[float, float], alpha: float) -> bool:
    """Whether an interval is Clopper and Pearson's: each tail beyond an end is alpha / 2, unless clipped."""
    p, q = map(float, design.support)
    low, high = (q + bound * (p - q) for bound in bounds)
    upper = 1.0 if count == 0 else _tail(count, respondents, low)
    lower = 1.0 if count == respondents else _tail(respondents - count, respondents, 1 - high)
    return _is_end(upper, alpha / 2, bounds[0]) and _is_end(lower, alpha / 2, 1 - bounds[1])


def _is_end(tail: float, half: float, distance: float) -> bool:
    """Whether the tail at an end is alpha / 2; at 0 and 1 the exact end may lie beyond."""
    if distance <= _CLOSE:
        return tail >= half * (1 - _CLOSE_TAIL)
    if distance >= 1 - _CLOSE:
        return tail <= half * (1 + _CLOSE_TAIL)
    return isclose(tail, half, rel_tol=_CLOSE_TAIL)


def _tail(least: int, trials: int, probability: float) -> float:
    """Pr[Binomial(trials, probability) >= least], summed."""
    if probability <= 0:
        return float(least == 0)
    if probability >= 1:
        return 1.0
    with np.errstate(divide="ignore"):
        logs = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, trials + 1)))])
    number = np.arange(least, trials + 1)
    terms = logs[trials] - logs[number] - logs[trials - number]
    terms += number * np.log(probability) + (trials - number) * np.log1p(-probability)
    return float(np.exp(terms).sum())
