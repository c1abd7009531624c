"""The steps of a release, in order, each with a sentence that says what it does, for those who browse."""

from collections.abc import Mapping
from typing import Final

from schemas.spec.release_spec import ReleaseSpec

_BEFORE: Final = {
    "account": "Works out what the release will cost, and sees that the budget has room, before a record is read.",
    "ingest": "Copies the columns that the schema reads from the source into the vault.",
    "validate": "Holds every row against the schema, and counts what does not fit.",
    "clean": "Keeps the rows that are in scope, complete and valid, and writes them as codes.",
    "split": "Gives each person to one part of the data, or to none, by a draw of its own.",
}

_AFTER: Final = {
    "synthesize": "Draws candidates, and keeps those that may be released; what it draws from is paid for before.",
    "gather": "Puts the first records that may be released together, up to the number wanted.",
    "draw_baseline": "Draws records with independent attributes, to compare with; they stay internal.",
    "evaluate_utility": "Measures how useful the records are, against people who were not used; stays internal.",
    "evaluate_risk": "Attacks people who were used and people who were not, alike; what comes out stays internal.",
    "decide": "Holds the figures against the thresholds of the spec; stays internal.",
    "publish": "Puts everything public together, signs its record, checks it, and gives it its place, or not at all.",
    "report": "Writes the report for cleared staff.",
    "seal": "Signs what cleared staff are to know of the release, and what MLflow says of it by now.",
}


def flow_steps(spec: ReleaseSpec) -> Mapping[str, str]:
    """What each step of a release does, by its name: those of every release, and those of its mechanisms between."""
    return {**_BEFORE, **spec.learner.steps, **spec.synthesis.steps, **_AFTER}
