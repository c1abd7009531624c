"""Randomized response in one half: every person answers about every attribute, and shares are estimated.

There is no trusted curator and no table of records. Only shares of single attributes are estimated; dependences between
attributes are lost in the noise of two answers.
"""

import time
from fractions import Fraction
from typing import Any

import numpy as np

from benchmarks.utility import Half
from deniable.foundation.domain import Attribute
from deniable.foundation.keys import ReleaseKey
from deniable.local.designs import Design, better_at_zero, ratio_of
from deniable.local.estimates import estimates
from deniable.local.responses import support_counts
from deniable.local.survey import Question, Survey
from deniable.verification.release import RESPONSES
from deniable.verification.survey import DOCUMENT, ESTIMATES


def survey_of(half: Half, epsilon: Fraction) -> Survey:
    """Return a survey with a question for each attribute of at least two values, each with an equal part of the budget.

    Args:
        half: the table; its values are the possible answers.
        epsilon: budget for all answers of one person together.
    """
    asked = [attribute for attribute in half.domain.attributes if attribute.cardinality > 1]
    ratio = ratio_of(epsilon / len(asked))
    return Survey("benchmark", "benchmark", tuple(_question(attribute, ratio) for attribute in asked), {})


def _question(attribute: Attribute, ratio: Fraction) -> Question:
    """Return the question with the design that has the smaller variance for a rare value."""
    values = attribute.cardinality
    design = Design(better_at_zero(values, ratio), values, ratio)
    return Question(attribute.name, attribute.name, tuple(map(str, range(values))), design)


def surveyed(half: Half, epsilon: Fraction, number: int) -> dict[str, float]:
    """Survey the learning half, and compare estimated shares with those of the other half.

    Args:
        half: both halves.
        epsilon: budget per person.
        number: the key.

    Returns:
        `tvd1`, the mean total variation distance of the attributes; `fit`, processor time of responding and
        estimating.
    """
    survey, key = survey_of(half, epsilon), ReleaseKey(number.to_bytes(32, "big"))
    start = time.process_time()
    responses = []
    for question in survey.questions:
        stream = key.stream(
            step="respond", mechanism=question.design.kind, inputs="benchmark", parameters={"question": question.name}
        )
        answers = half.train[question.name].tolist()
        responses.append([question.design.respond(answer, stream) for answer in answers])
    counts = support_counts(survey, zip(*responses, strict=True))
    distances = []
    for question, supported in zip(survey.questions, counts, strict=True):
        shares = [each.shown for each in estimates(question.design, supported, len(half.train))]
        real = half.holdout[question.name].to_numpy()
        width = half.meta["columns"][question.name].get("eval_coarsen", 1)
        distances.append(_distance(np.asarray(shares), real, width))
    # Attributes with one value have no question and no error.
    return {"tvd1": sum(distances) / len(half.domain), "fit": time.process_time() - start}


def _distance(shares: np.ndarray[Any, Any], real: np.ndarray[Any, Any], width: int) -> float:
    """Return the total variation distance between estimated shares and those of real codes, in the same bins."""
    found = np.bincount(real, minlength=len(shares)) / len(real)
    bins = np.arange(len(shares)) // width
    return float(np.abs(np.bincount(bins, weights=shares - found)).sum() / 2)


def described(half: Half, epsilon: Fraction) -> dict[str, Any]:
    """Return the claim of a survey, and what it publishes."""
    survey = survey_of(half, epsilon)
    return {
        "epsilon": survey.epsilon,
        "delta": 0.0,
        "noise": list(dict.fromkeys(question.design.kind for question in survey.questions)),
        "public": [DOCUMENT, RESPONSES, ESTIMATES],
    }
