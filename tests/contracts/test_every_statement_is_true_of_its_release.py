"""A statement names the cost of all that was read, and promises nothing about records to which it does not apply.

Statements follow from a spec, so no release is made.
"""

import re
from dataclasses import dataclass
from typing import Any

import pytest

from schemas.spec.accounts import Accounts
from schemas.spec.plan import plan_release
from schemas.spec.release_spec import load_spec
from stores.statement.statement import in_words, statement, statement_in_words
from tests.mechanisms.table import LEARNERS, ROWS, SAMPLERS
from tests.small_release import SPEC, write_small_release

pytestmark = pytest.mark.slow

UNREAD = "No count of the confidential records went into this release."
RELEASED = "except the number of workers of each destination"
KINDS: dict[str, dict[str, Any]] = {
    **ROWS,
    "uniform with tested seeds": {**LEARNERS["uniform"].asked, "synthesis": SPEC["synthesis"]},
    "uniform with a histogram": {**LEARNERS["uniform"].asked, **SAMPLERS["histogram_seeds"]},
    "a histogram with records from the model alone": {
        **LEARNERS["marginals"].asked,
        "synthesis": {**SAMPLERS["histogram_seeds"]["synthesis"], "epsilon_rows": 0.1},
    },
}
"""Those of the contract of mechanisms, and combinations in which the learner or the sampler alone reads records."""


@dataclass(frozen=True)
class Said:
    """What is said of a release: its costs, and both statements."""

    accounts: Accounts
    words: str
    figures: dict[str, Any]


@pytest.fixture(scope="module", params=KINDS)
def said(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Said:
    spec = load_spec(write_small_release(tmp_path_factory.mktemp("spec"), **{"people": [], **KINDS[request.param]}))
    accounts = plan_release(spec).accounts
    words = " ".join(statement_in_words("release-1", spec, accounts).split())
    return Said(accounts, words, statement("release-1", spec, accounts))


def test_the_cost_of_each_step_that_reads_records_is_stated(said: Said) -> None:
    """Whatever a step measured is then not said to have been known beforehand."""
    for step in said.accounts.steps:
        if step.guarantee is not None:
            # Where a split does not lower epsilon, the cost of a step exceeds the claim for the sake of the account.
            stated = said.accounts.total if said.accounts.relation.sampling else step.guarantee
            assert stated is not None
            assert in_words(stated) in said.words, step.step
    measured = said.accounts.structure is not None
    assert not (measured and "keys were decided beforehand" in said.words)


def test_counts_are_said_not_to_have_been_used_only_if_nothing_was_read(said: Said) -> None:
    assert (UNREAD in said.words) == (not said.accounts.steps)


def test_what_holds_for_some_of_the_records_is_promised_for_no_others(said: Said) -> None:
    some = "of_records" in str(said.figures)
    promises = re.findall(r"No record (?:with|has|is released)[^.]*plausible seeds", said.words)
    assert not (some and promises)


def test_exact_figures_are_said_not_to_be_released_only_if_they_are_not(said: Said) -> None:
    sentences = re.findall(r"exact figures of the confidential records[^.]*(?:\. These[^.]*)?\.", said.words)
    assert bool(sentences) == said.accounts.from_counts
    replaced = said.accounts.relation.is_replacement
    assert all((RELEASED in sentence) == replaced for sentence in sentences)


def test_figures_beside_draws_are_not_called_those_of_a_model(said: Said) -> None:
    errors = said.figures["subgroup_error"]
    assert ("model" in errors["not_stated"]) == (not said.accounts.from_counts)
    assert not (said.accounts.from_counts and any("attribute" in each["counts"] for each in errors["counts"]))
