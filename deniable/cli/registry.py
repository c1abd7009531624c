"""The groups, and the commands of the wheel. A new command is a module and a line.

Commands that need the project's checkout have a registry of their own, `flows/cli/registry.py`, beside this package.
"""

import os
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from typing import Final

from deniable.cli.contract import Line

GROUPS: Final = {
    "release": "make releases: plan, run, resume, decide, find, compare",
    "table": "describe a table: draft a schema, check it, complete it",
    "budget": "the privacy budget: set it, and show what was spent of it",
    "audit": "check a release, its record and the ledger; run it again",
    "data": "answers from a release, with intervals; surveys",
    "keys": "the keys that sign releases, approve them and set budgets",
    "servers": "MLflow, Prefect, schedules, clusters and backups",
    "mechanisms": "the methods that make synthetic records",
}

_OF_THE_WHEEL: Final = (
    Line("audit verify", "check a published release, survey or discovery, offline", "deniable.cli.audit.verify"),
    Line("audit summary", "who made a release, when, by which code, at what cost", "deniable.cli.audit.summary"),
    Line("audit record", "print the record of a release as JSON, unverified", "deniable.cli.audit.record"),
    Line("audit ledger", "check an exported privacy ledger, offline", "deniable.cli.audit.ledger"),
    Line("audit witness", "cosign a ledger's checkpoint, if it continues the last", "deniable.cli.audit.witness"),
    Line("data infer", "estimates with intervals, from what a release measured", "deniable.cli.data.infer"),
    Line("data explore", "find the page on which records are filtered and counted", "deniable.cli.data.explore"),
    Line("data describe", "a release in the words of catalogues and archives", "deniable.cli.data.describe"),
    Line("data posterior", "what synthetic sets say about the population", "deniable.cli.data.posterior"),
    Line("data combine", "combine estimates of several synthetic sets", "deniable.cli.data.combine"),
    Line("data from-measurements", "records from noisy tables of others", "deniable.cli.data.from_measurements"),
    Line("data respond", "respond to a survey, with randomized responses", "deniable.cli.data.respond"),
    Line("mechanisms list", "list the learners and samplers that a spec can name", "deniable.cli.mechanisms.list"),
)

_CHECKOUT: Final = ("flows", "cli", "registry")


@cache
def lines_here() -> Sequence[Line]:
    """The commands of this installation: those of the wheel, and in the project's checkout all others too."""
    # The checkout is found beside this package; a folder of the same name elsewhere on the path is not the project's.
    beside = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))  # noqa: PTH100, PTH120
    if not os.path.isfile(os.path.join(beside, *_CHECKOUT) + ".py"):  # noqa: PTH113, PTH118
        return _OF_THE_WHEEL
    of_the_checkout: Sequence[Line] = import_module(".".join(_CHECKOUT)).LINES
    order = list(GROUPS)
    return sorted((*of_the_checkout, *_OF_THE_WHEEL), key=lambda line: order.index(line.group))
