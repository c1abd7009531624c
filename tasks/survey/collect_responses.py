"""Read the responses that respondents randomized and sent."""

from pathlib import Path

from prefect import task
from prefect.cache_policies import NO_CACHE

from deniable.local.responses import Collected, read_responses
from deniable.local.survey import Survey
from stores.surveys.survey_folder import response_lines


def collect_responses(survey: Survey, responses: Path) -> Collected:
    """Read a file of responses; see `deniable.local.responses.read_responses`.

    Args:
        survey: the survey.
        responses: the file, a line of JSON for each respondent.
    """
    return read_responses(survey, response_lines(responses))


collect_responses_task = task(name="collect_responses", persist_result=False, cache_policy=NO_CACHE)(collect_responses)
