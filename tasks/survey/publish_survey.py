"""Publish a survey: stage its files, note its run in MLflow, sign the record, move the folder into place."""

import tempfile
from fractions import Fraction
from pathlib import Path

from prefect import runtime, task
from prefect.cache_policies import NO_CACHE

from deniable.foundation.errors import Refused
from deniable.local.responses import Collected
from deniable.local.survey import Survey
from stores.keys.signing_keys import signing_key
from stores.surveys.survey_folder import publish_survey_folder, stage_survey, survey_place, survey_predicate
from stores.surveys.survey_run import recorded_survey


def publish_survey(
    state: Path, survey: Survey, document: str, collected: Collected, rows: list[tuple[str, ...]], level: Fraction
) -> Path:
    """Publish responses and estimates, with the statement and a signed record.

    Args:
        state: the state folder.
        survey: the survey.
        document: the text from which it was read.
        collected: the responses.
        rows: the rows of the estimates.
        level: probability with which an interval covers.

    Returns:
        The public folder.

    Raises:
        Refused: a survey of that name is published already.
    """
    destination = survey_place(state, survey)
    if destination.exists():
        raise Refused(
            f"a survey is published once, and {destination} is there already; give the next survey another name."
        )
    key = signing_key(state)
    destination.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".", dir=destination.parent) as scratch:
        staged = Path(scratch) / survey.name
        staged.mkdir()
        stage_survey(staged, survey, document, collected, rows, level)
        flow_run = str(runtime.flow_run.id or "")
        with recorded_survey(state, survey, collected, rows, staged, prefect_flow_run=flow_run) as run:
            predicate = survey_predicate(survey, collected, level, key, mlflow_run=run, prefect_flow_run=flow_run)
            publish_survey_folder(staged, destination, key, predicate)
    return destination


publish_survey_task = task(name="publish_survey", persist_result=False, cache_policy=NO_CACHE)(publish_survey)
