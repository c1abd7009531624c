"""The public folder of a survey: its document, the responses, the estimates, the statement and the signed record.

Everything in it follows from the survey's document and from responses, which respondents randomized themselves.
"""

import csv
from collections.abc import Iterable, Sequence
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from typing import Any

from deniable.foundation.errors import InvalidInput, Refused
from deniable.local.estimates import COLUMNS
from deniable.local.responses import Collected
from deniable.local.survey import Survey, read_survey
from deniable.local.words import statement_text
from deniable.record.attestation import SURVEY, statement
from deniable.verification.release import RECORD, RESPONSES
from deniable.verification.survey import DOCUMENT, ESTIMATES, STATEMENT, SURVEY_FILES, guarantee_document
from schemas.regular_files import opened_regular, read_regular
from stores.keys.signed_record import signed_now
from stores.keys.signing_keys import SigningKey
from stores.publication.release_folder import check_files, publish_folder
from stores.vault.runtime_environment import code_that_runs

_LARGEST_DOCUMENT = 1 << 22
_LONGEST_LINE = 1 << 20
_FOLDER = "surveys"


def survey_place(state: Path, survey: Survey) -> Path:
    """The public folder of a survey."""
    return state / _FOLDER / survey.name


def load_survey(path: Path) -> Survey:
    """Read the document of a survey from a file.

    Raises:
        InvalidInput: it is not a survey, or cannot be read.
    """
    return read_survey(survey_text(path))


def survey_text(path: Path) -> str:
    """The text of a survey's document.

    Raises:
        InvalidInput: it cannot be read.
    """
    try:
        return read_regular(path, "the survey", _LARGEST_DOCUMENT).decode()
    except OSError as error:
        raise InvalidInput(f"the survey must be a readable file, got {path}: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise InvalidInput(f"the survey must be UTF-8 text, got {path}; name another file.") from None


def response_lines(path: Path) -> list[str]:
    """Return the lines of a file of responses; lines that are too long or not UTF-8 are kept as unreadable.

    Raises:
        InvalidInput: it cannot be read.
    """
    lines = []
    try:
        with opened_regular(path, "the file of responses") as file:
            while line := file.readline(_LONGEST_LINE):
                lines.append(line.decode(errors="replace"))
    except OSError as error:
        raise InvalidInput(f"the responses must be a readable file, got {path}: {error.strerror}.") from None
    return lines


def stage_survey(
    folder: Path,
    survey: Survey,
    document: str,
    collected: Collected,
    rows: Iterable[Sequence[str]],
    level: Fraction,
) -> None:
    """Write all files of a survey except its record.

    Args:
        folder: an empty folder.
        survey: the survey.
        document: the text from which it was read.
        collected: the responses.
        rows: the rows of the estimates.
        level: probability with which an interval covers.
    """
    (folder / DOCUMENT).write_text(document, encoding="utf-8")
    with (folder / RESPONSES).open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(question.name for question in survey.questions)
        for row in collected.rows:
            writer.writerow(
                question.written(response) for question, response in zip(survey.questions, row, strict=True)
            )
    with (folder / ESTIMATES).open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(rows)
    told = statement_text(survey, len(collected.rows), collected.repeated, collected.unreadable, level)
    (folder / STATEMENT).write_text(told, encoding="utf-8")


def publish_survey_folder(staged: Path, destination: Path, key: SigningKey, predicate: dict[str, Any]) -> None:
    """Sign what was staged, and move it into place as a whole.

    Raises:
        Refused: a survey of that name is published already, or a file is missing.
    """
    if destination.exists():
        raise Refused(
            f"a survey is published once, and {destination} is there already; give the next survey another name."
        )
    check_files(staged, SURVEY_FILES)
    subjects = {name: sha256((staged / name).read_bytes()).hexdigest() for name in SURVEY_FILES}
    envelope = key.sign(statement(subjects, predicate, version=SURVEY))
    (staged / RECORD).write_text(envelope.to_text(), encoding="ascii")
    publish_folder(staged, destination)


def survey_predicate(
    survey: Survey, collected: Collected, level: Fraction, key: SigningKey, *, mlflow_run: str, prefect_flow_run: str
) -> dict[str, Any]:
    """Return the content of a survey's record.

    Args:
        survey: the survey.
        collected: the responses.
        level: probability with which an interval covers.
        key: the key that signs.
        mlflow_run: id of its run in MLflow.
        prefect_flow_run: id of its run in Prefect; empty outside a flow.
    """
    return {
        "rendering": "public",
        "survey": {"name": survey.name, "title": survey.title, "digest": survey.digest},
        "respondents": len(collected.rows),
        "left_out": {"repeated": collected.repeated, "unreadable": collected.unreadable},
        "level": str(level),
        "guarantee": guarantee_document(survey),
        "code": code_that_runs().model_dump(),
        "runs": {"mlflow_run": mlflow_run, "prefect_flow_run": prefect_flow_run},
        "signed": signed_now(key).model_dump(),
    }
