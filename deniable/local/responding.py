"""Randomizes a respondent's answers, under a key that only the respondent has.

The same answer under the same key in the same survey always gets the same response: repeating the question and
averaging reveals nothing more. The storage of keys and responses does not belong here.
"""

import json
from collections.abc import Mapping

from deniable.foundation.keys import ReleaseKey
from deniable.local.survey import Survey, codes_of

_STEP = "respond"


def respondent_of(survey: Survey, key: ReleaseKey) -> str:
    """The respondent's pseudonym in one survey, 32 hexadecimal digits; it cannot be linked across surveys."""
    return key.digest("respondent", survey.digest.encode())[:32]


def respond(survey: Survey, answers: Mapping[str, object], key: ReleaseKey) -> dict[str, str]:
    """Randomize a respondent's answers.

    Args:
        survey: the survey.
        answers: an answer to every question, by its name. Confidential.
        key: the respondent's key, which must stay with the respondent.

    Returns:
        The response to each question, by name; locally differentially private with `survey.epsilon`.

    Raises:
        InvalidInput: an answer is missing or impossible.
    """
    given = {}
    for question, answer in zip(survey.questions, codes_of(survey, answers), strict=True):
        design = question.design
        stream = key.stream(
            step=_STEP,
            mechanism=design.kind,
            inputs=survey.digest,
            # The answer is an argument: otherwise two answers to one question would share their random words.
            parameters={"question": question.name, "values": design.values, "ratio": design.ratio, "answer": answer},
        )
        given[question.name] = question.written(design.respond(answer, stream))
    return given


def written_line(survey: Survey, key: ReleaseKey, given: Mapping[str, str]) -> str:
    """The line for the collector: the survey's digest, the pseudonym and the responses as one JSON object."""
    line = {"survey": survey.digest, "respondent": respondent_of(survey, key), "responses": dict(given)}
    return json.dumps(line, ensure_ascii=False)
