"""The steps of a release, in order, each with a sentence that describes it, for browsing."""

from collections.abc import Mapping
from typing import Final

from deniable.roles import Role
from schemas.spec.release_spec import ReleaseSpec

_BEFORE: Final = {
    "account": "Computes the cost of the release, and checks the budget, before any record is read.",
    "ingest": "Copies the columns that the schema reads from the source into the vault.",
    "validate": "Checks every row against the schema, and counts invalid rows.",
    "clean": "Keeps the rows that are in scope, complete and valid, and writes them as codes.",
    "split": "Assigns each person at random to one part of the data, or to none.",
}

_AFTER: Final = {
    Role.CANDIDATES: "Draws candidates, and keeps those that may be released; their cost is charged before.",
    "gather": "Collects the first records that may be released, up to the number wanted.",
    "draw_baseline": "Draws records with independent attributes, for comparison; they stay internal.",
    "evaluate_utility": "Measures the utility of the records against people who were not used; stays internal.",
    "evaluate_risk": "Runs the same attacks on people who were used and people who were not; stays internal.",
    "decide": "Compares the figures with the thresholds of the spec; stays internal.",
    "publish": "Collects all public files, signs the record, verifies it, and publishes all of it or nothing.",
    "report": "Writes the report for cleared staff.",
    "seal": "Signs the internal record for cleared staff, and the state of its MLflow runs.",
}

DISCOVERY_STEPS: Final = {
    "copy_columns": "Copies the columns requested from the source into the vault, once.",
    "answer_questions": "Charges the discovery to the ledger; then draws noise, and answers.",
    "publish_discovery": "Signs the answers, and publishes them with their record.",
}
"""The steps of a discovery, which are in no release."""


def steps_of_run(spec: ReleaseSpec, name: str) -> Mapping[str, str]:
    """All steps of the run to which a step belongs: of a discovery or of a release."""
    return DISCOVERY_STEPS if name in DISCOVERY_STEPS else flow_steps(spec)


def flow_steps(spec: ReleaseSpec) -> Mapping[str, str]:
    """The description of each step of a release, by name: the common steps, and those of its mechanisms between."""
    return {**_BEFORE, **spec.learner.steps, **spec.synthesis.steps, **_AFTER}
