"""The respondent's side of a survey: the key, the prompt, and earlier responses, in private files of the respondent.

The randomization of answers does not belong here (deniable.local.responding).
"""

import json
import os
import sys
from collections.abc import Mapping
from math import fsum

from deniable.folder_on_disk import open_regular
from deniable.foundation.checks import printable
from deniable.foundation.errors import InvalidInput
from deniable.foundation.keys import ReleaseKey
from deniable.foundation.strict_json import parsed
from deniable.local.responding import respond, written_line
from deniable.local.survey import Survey, read_survey
from deniable.local.words import guarantee_in_words, question_lines
from deniable.privacy.rounding import rounded_up

_LARGEST_FILE = 1 << 24
_KEY_BYTES = 32
_OWN = 0o600
_GIVEN = ".given"


def respond_to(survey_file: str, key_file: str, answers_file: str | None, out: str | None) -> None:
    """Ask a respondent the questions of a survey, and write the randomized responses.

    A respondent who has already responded is not asked again: the same responses are written, because new ones would
    spend epsilon again.

    Args:
        survey_file: the survey's document.
        key_file: the respondent's key; it is made if there is none.
        answers_file: JSON with an answer to every question; without it, answers are typed.
        out: the file to which the line of responses is appended; standard output by default.

    Raises:
        InvalidInput: a file cannot be used, or an answer is impossible.
    """
    survey = read_survey(_text(survey_file, "the survey"))
    key = _key(key_file)
    before = _given_before(key_file)
    line = before.get(survey.digest, ("", 0.0))[0]
    if line:
        _say("You have responded to this survey: here are the same responses. To respond again would reveal more.")
    else:
        answers = _asked(survey) if answers_file is None else _answers(answers_file)
        line = written_line(survey, key, respond(survey, answers, key))
        before[survey.digest] = (line, survey.epsilon)
        _note(key_file, survey, line)
    _write(line, out)
    total = fsum(epsilon for _, epsilon in before.values())
    _say(guarantee_in_words(survey))
    surveys = "1 survey" if len(before) == 1 else f"{len(before)} surveys"
    _say(f"With this key you have responded to {surveys}, epsilon {rounded_up(total)} in total.")


def _asked(survey: Survey) -> dict[str, str]:
    """Read typed answers; prompts go to standard error, and the answers are not kept."""
    _say(survey.title)
    answers = {}
    for question in survey.questions:
        for told in (question.text, *question_lines(question)):
            _say(told)
        for number, value in enumerate(question.values, start=1):
            _say(f"  {number}  {value}")
        answers[question.name] = _choice(question.values)
    return answers


def _choice(values: tuple[str, ...]) -> str:
    while True:
        sys.stderr.write("your answer, by its number: ")
        sys.stderr.flush()
        typed = sys.stdin.readline()
        if not typed:
            raise InvalidInput("every question must be answered, got the end of the input; nothing was written.")
        if typed.strip().isdecimal() and 1 <= int(typed) <= len(values):
            return values[int(typed) - 1]
        _say(f"A number from 1 to {len(values)} is needed.")


def _answers(path: str) -> Mapping[str, object]:
    value = parsed(_text(path, "the file of answers"), "the file of answers")
    if not isinstance(value, dict):
        raise InvalidInput("the file of answers must have an answer for each question by its name, got no object.")
    return value


def _key(path: str) -> ReleaseKey:
    """The respondent's key, made if there is none; only its owner may read the file."""
    try:
        with open_regular(path) as file:
            if os.fstat(file.fileno()).st_mode & 0o077:
                raise InvalidInput(f"the key must be readable by you alone, got {path}; run chmod 600 on it.")
            secret = file.read(_KEY_BYTES + 1)
    except FileNotFoundError:
        key = ReleaseKey.generate()
        os.makedirs(os.path.dirname(path) or ".", mode=0o700, exist_ok=True)  # noqa: PTH103, PTH120
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _OWN)
        with open(descriptor, "wb") as file:  # noqa: PTH123
            file.write(key.secret)
        _say(f"A key was made for you: {path}. Keep it to yourself; anyone who has it can undo your responses.")
        return key
    except OSError as error:
        raise InvalidInput(f"the key must be a readable file, got {path}: {error.strerror}; name another.") from None
    return ReleaseKey(secret)


def _given_before(key_file: str) -> dict[str, tuple[str, float]]:
    """Earlier responses under a key: the line and its epsilon, by the survey's digest."""
    given = {}
    try:
        text = _text(key_file + _GIVEN, "the list of your responses")
    except FileNotFoundError:
        return {}
    for each in text.splitlines():
        entry = parsed(each, "the list of your responses")
        if not isinstance(entry, dict) or set(entry) != {"survey", "epsilon", "line"}:
            raise InvalidInput(f"{key_file}{_GIVEN} must be as it was written; restore it from a copy.")
        given[str(entry["survey"])] = (str(entry["line"]), float(entry["epsilon"]))
    return given


def _note(key_file: str, survey: Survey, line: str) -> None:
    """Store a response before it is sent: a second one with other answers would spend epsilon again."""
    entry = {"survey": survey.digest, "epsilon": survey.epsilon, "line": line}
    descriptor = os.open(key_file + _GIVEN, os.O_WRONLY | os.O_CREAT | os.O_APPEND, _OWN)
    with open(descriptor, "w", encoding="utf-8") as file:  # noqa: PTH123
        file.write(json.dumps(entry, ensure_ascii=False) + "\n")
        file.flush()
        os.fsync(file.fileno())


def _write(line: str, out: str | None) -> None:
    if out is None:
        print(line)  # noqa: T201 - this is the command line
        return
    try:
        with open(out, "a", encoding="utf-8") as file:  # noqa: PTH123
            file.write(line + "\n")
    except OSError as error:
        raise InvalidInput(f"the responses must be written to a file, got {out}: {error.strerror}.") from None


def _text(path: str, what: str) -> str:
    """A file's text.

    Raises:
        FileNotFoundError: there is no list of responses.
        InvalidInput: any other file cannot be read.
    """
    try:
        with open_regular(path) as file:
            content = file.read(_LARGEST_FILE + 1)
    except OSError as error:
        if isinstance(error, FileNotFoundError) and path.endswith(_GIVEN):
            raise
        raise InvalidInput(f"{what} must be a readable file, got {path}: {error.strerror}; name another.") from None
    if len(content) > _LARGEST_FILE:
        raise InvalidInput(f"{what} must have at most {_LARGEST_FILE:,} bytes, got {path}, which has more.")
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise InvalidInput(f"{what} must be UTF-8 text, got {path}; name another.") from None


def _say(sentence: str) -> None:
    print(printable(sentence), file=sys.stderr)  # noqa: T201 - this is the command line
