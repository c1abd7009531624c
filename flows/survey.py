"""The survey: from randomized responses to a published folder. No confidential data are read."""

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from prefect import flow

from deniable.local.estimates import LEVEL
from deniable.local.survey import Survey, read_survey
from deniable.local.words import guarantee_in_words
from flows.prefect_runs.run_page import completed, on_its_page
from infra.environment import state_folder
from stores.surveys.survey_folder import survey_text
from tasks.survey.collect_responses import collect_responses_task
from tasks.survey.estimate_shares import estimate_shares_task
from tasks.survey.publish_survey import publish_survey_task


@dataclass(frozen=True)
class Surveyed:
    """A published survey.

    Attributes:
        survey: the survey.
        folder: its public folder.
        respondents: number of respondents.
        repeated: number of lines left out because their respondent had responded before.
        unreadable: number of lines left out because they were not responses to the survey.
        rows: the rows of its estimates.
    """

    survey: Survey
    folder: Path
    respondents: int
    repeated: int
    unreadable: int
    rows: tuple[tuple[str, ...], ...]


@flow(name="survey", persist_result=False)
def survey(document: Path, responses: Path, state: Path | None = None, *, level: Fraction = LEVEL) -> Surveyed:
    """Publish the responses to a survey and estimates of shares, with a statement and a signed record.

    Args:
        document: the survey's document, JSON.
        responses: the responses, a line of JSON for each respondent, as `deniable data respond` writes them.
        state: the state folder; by default DENIABLE_STATE or `var`.
        level: probability with which an interval covers.

    Returns:
        What was published.

    Raises:
        DeniableError: the survey or its responses cannot be used, or a survey of that name is published already.
    """
    state = state or state_folder()
    text = survey_text(document)
    asked = read_survey(text)
    with on_its_page(f"survey {asked.name}") as page:
        collected = collect_responses_task(asked, responses)
        rows = estimate_shares_task(asked, collected, level)
        folder = publish_survey_task(state, asked, text, collected, rows, level)
        page.ended("published")
        page.say(f"{len(collected.rows):,} respondents", guarantee_in_words(asked), f"public: {folder}")
    found = Surveyed(asked, folder, len(collected.rows), collected.repeated, collected.unreadable, tuple(rows))
    return completed(f"published {asked.name}", found)
