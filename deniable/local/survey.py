"""The public document of a survey: its questions, the possible answers, and their designs.

Everything is fixed before anyone responds. Reading a file does not belong here.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from hashlib import sha256
from math import prod
from typing import Any

from deniable.foundation.errors import InvalidInput
from deniable.foundation.exact_numbers import exact_number
from deniable.foundation.strict_json import parsed
from deniable.local.designs import KINDS, Design, Response, log_above, ratio_of

MOST_QUESTIONS = 200
MOST_RESPONDENTS = 10_000_000
_LONGEST_NAME, _LONGEST_TEXT = 64, 1000
_HALF = Fraction(1, 2)


@dataclass(frozen=True)
class Question:
    """One question.

    Attributes:
        name: its name, a column of the responses.
        text: the question.
        values: the possible answers, in public order.
        design: the randomization of the answer.
    """

    name: str
    text: str
    values: tuple[str, ...]
    design: Design

    def code(self, answer: str) -> int:
        """The code of an answer.

        Raises:
            InvalidInput: it is not one of the possible answers. The message does not quote it.
        """
        try:
            return self.values.index(answer)
        except ValueError:
            raise InvalidInput(
                f"the answer to {self.name} must be one of {', '.join(self.values)}, got another; give one of these."
            ) from None

    def written(self, response: Response) -> str:
        """A response as text: a possible answer, or one bit per possible answer (OUE)."""
        return "".join(map(str, response)) if self.design.kind == "oue" else self.values[response[0]]

    def read(self, text: object) -> Response:
        """Read a response from its text.

        Raises:
            InvalidInput: it is not a possible response.
        """
        if isinstance(text, str) and self.design.kind == "oue":
            if len(text) == len(self.values) and set(text) <= {"0", "1"}:
                return tuple(map(int, text))
        elif isinstance(text, str) and text in self.values:
            return (self.values.index(text),)
        shape = f"{len(self.values)} bits" if self.design.kind == "oue" else "one of its possible answers"
        raise InvalidInput(f"the response to {self.name} must be {shape}, got something else.")


@dataclass(frozen=True)
class Survey:
    """A survey.

    Attributes:
        name: its name.
        title: its subject.
        questions: the questions, in order.
        document: the document that it was read from.
    """

    name: str
    title: str
    questions: tuple[Question, ...]
    document: Mapping[str, Any]

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the document, in hexadecimal: any change makes it another survey."""
        text = json.dumps(self.document, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return sha256(text.encode()).hexdigest()

    @property
    def ratio(self) -> Fraction:
        """Exact e^epsilon of all responses of one respondent: the product over the questions."""
        return prod((question.design.ratio for question in self.questions), start=Fraction(1))

    @property
    def epsilon(self) -> float:
        """Total epsilon of all responses of one respondent, rounded up."""
        return log_above(self.ratio)


def read_survey(text: str) -> Survey:
    """Read a survey's document.

    Args:
        text: JSON with `survey`, `title` and `questions`; each question has `name`, `text`, `values`, `design`, and
            `epsilon` or the design's own probability: `truth` (warner, k_rr) or `forced` (forced), as decimals or
            fractions in quotes.

    Raises:
        InvalidInput: it is not a survey.
    """
    document = _object(parsed(text, "the survey"), {"survey", "title", "questions"}, "the survey")
    listed = document["questions"]
    if not isinstance(listed, list) or not 1 <= len(listed) <= MOST_QUESTIONS:
        raise InvalidInput(f"a survey must have a list of 1 to {MOST_QUESTIONS} questions, got something else.")
    questions = tuple(map(_question, listed))
    names = [question.name for question in questions]
    if len(set(names)) != len(names):
        raise InvalidInput("the questions of a survey must have different names, got one twice; rename it.")
    return Survey(
        _name(document["survey"], "the name of a survey"),
        _text(document["title"], "the title of a survey", _LONGEST_TEXT),
        questions,
        document,
    )


def _question(value: object) -> Question:
    required = {"name", "text", "values", "design"}
    own = set(value) - required if isinstance(value, dict) else set()
    if len(own) != 1 or not own <= {"epsilon", "truth", "forced"}:
        raise InvalidInput(
            "a question must have name, text, values, design, and one of epsilon, truth and forced, got others."
        )
    asked = _object(value, required | own, "a question")
    name = _name(asked["name"], "the name of a question")
    values = asked["values"]
    if not isinstance(values, list) or not all(isinstance(each, str) for each in values):
        raise InvalidInput(f"the values of {name} must be a list of texts, got something else.")
    for each in values:
        _text(each, f"a possible answer to {name}", _LONGEST_TEXT)
    if len(set(values)) != len(values):
        raise InvalidInput(f"the possible answers to {name} must differ, got one twice; leave it out.")
    kind, parameter = asked["design"], next(iter(own))
    if kind not in KINDS:
        raise InvalidInput(f"the design of {name} must be one of {', '.join(KINDS)}, got something else.")
    try:
        ratio = _ratio(kind, parameter, _number(asked[parameter], f"{parameter} of {name}"), len(values))
        return Question(
            name,
            _text(asked["text"], f"the text of {name}", _LONGEST_TEXT),
            tuple(values),
            Design(kind, len(values), ratio),
        )
    except InvalidInput as error:
        raise InvalidInput(f"question {name}: {error}") from None


def _ratio(kind: str, parameter: str, number: Fraction, values: int) -> Fraction:
    """e^epsilon from the parameter stated for a question."""
    if parameter == "epsilon":
        return ratio_of(number)
    if parameter == "truth" and kind in {"warner", "k_rr"}:
        if not Fraction(1, max(values, 1)) < number < 1:
            raise InvalidInput(f"truth must be above 1/{values} and below 1, got {number}.")
        return number * (values - 1) / (1 - number)
    if parameter == "forced" and kind == "forced":
        if not 0 < number < 1:
            raise InvalidInput(f"forced must be in (0, 1), got {number}; give a probability such as 1/2.")
        return (2 - number) / number
    raise InvalidInput(f"{parameter} is not a parameter of {kind}; give epsilon.")


def _number(value: object, what: str) -> Fraction:
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise InvalidInput(f'{what} must be a number in quotes, such as "0.5" or "1/3", got something else.')
    return exact_number(str(value))


def _object(value: object, names: set[str], what: str) -> Mapping[str, Any]:
    if not isinstance(value, dict) or set(value) != names:
        raise InvalidInput(f"{what} must have {', '.join(sorted(names))} and nothing else.")
    return value


def _name(value: object, what: str) -> str:
    text = _text(value, what, _LONGEST_NAME)
    if not all(each.isascii() and (each.isalnum() or each in "_-") for each in text):
        raise InvalidInput(f"{what} must consist of letters, digits, - and _, got other characters.")
    return text


def _text(value: object, what: str, most: int) -> str:
    if not isinstance(value, str) or not 0 < len(value) <= most or not value.isprintable():
        raise InvalidInput(f"{what} must be a text of 1 to {most} printable characters, got something else.")
    return value


def codes_of(survey: Survey, answers: Mapping[str, object]) -> tuple[int, ...]:
    """The codes of a respondent's answers, in the order of the questions.

    Raises:
        InvalidInput: an answer is missing, unknown or not requested. The message does not quote it.
    """
    names = [question.name for question in survey.questions]
    if missing := [name for name in names if name not in answers]:
        raise InvalidInput(f"every question must be answered, got no answer to {', '.join(missing)}.")
    if set(answers) - set(names):
        raise InvalidInput(f"answers must be to {', '.join(names)}, got one to another question; leave it out.")
    return tuple(question.code(str(answers[question.name])) for question in survey.questions)


def rows_of(survey: Survey, responses: Sequence[Mapping[str, object]]) -> list[tuple[Response, ...]]:
    """Read the responses of several respondents, in the order of the questions."""
    return [tuple(question.read(given[question.name]) for question in survey.questions) for given in responses]
