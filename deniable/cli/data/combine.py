"""Combines the estimates of several synthetic sets."""

import argparse
import os
from typing import Any

from deniable.cli.contract import Command
from deniable.cli.data.sets import released_sets_in
from deniable.cli.files import HOLDS, Unreadable, content
from deniable.console import show
from deniable.foundation.checks import printable
from deniable.foundation.errors import InvalidInput

# Those of deniable.learners.multinomial_sets.combining, which is slow to import.
_RULES = ("T_m", "T_M", "T_M*", "partial", "T_s", "T_p")
_SYNTHESES = ("differentially_private", "posterior_predictive", "partially_synthetic", "fitted_model")


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "sets", metavar="FILE_OR_RELEASE_DIR", help="a CSV file with estimate and variance of each set, or a release"
    )
    parser.add_argument("condition", nargs="?", default="", metavar="CONDITION", help="of a release: the share of what")
    parser.add_argument("--rule", choices=_RULES, help="the rule (default: all)")
    parser.add_argument("--synthesis", choices=_SYNTHESES, help="how the sets of a file were made")
    parser.add_argument("--size", type=int, metavar="N", help="number of records in a set of a file")
    parser.add_argument("--people", type=int, metavar="N", help="number of people in the confidential table")
    parser.add_argument("--level", type=float, default=0.95, metavar="P", help="level of intervals (default: 0.95)")


def _combine(asked: argparse.Namespace) -> int:
    from deniable.learners.multinomial_sets.combining import RULES, combined_lines  # noqa: PLC0415 - SciPy

    rules: Any = RULES if asked.rule is None else (asked.rule,)
    synthesis: Any = asked.synthesis or "differentially_private"
    try:
        (estimates, variances), size, people = _to_combine(asked)
        lines = list(
            combined_lines(
                estimates, variances, rules, size=size, people=people, synthesis=synthesis, level=asked.level
            )
        )
    except InvalidInput as error:
        raise Unreadable(f"{asked.sets}: {error}") from None
    show(map(printable, lines))
    return HOLDS


def _to_combine(asked: argparse.Namespace) -> tuple[tuple[list[float], list[float]], int, int]:
    """The estimates of sets with their variances, and the numbers of records in a set and of people.

    Raises:
        InvalidInput: options do not fit a release, or a file.
    """
    from deniable.learners.multinomial_sets.combining import read_estimates  # noqa: PLC0415 - SciPy
    from deniable.learners.multinomial_sets.release import shares_of_sets  # noqa: PLC0415 - as above

    size, people = asked.size, asked.people
    if os.path.isdir(asked.sets):  # noqa: PTH112
        if not asked.condition or asked.synthesis is not None or size is not None:
            raise InvalidInput("a release needs a condition, whose share is combined, and no --synthesis or --size.")
        released = released_sets_in(asked.sets)
        size, people = released.plan.size, people if people is not None else released.people
        estimates = shares_of_sets(released, asked.condition)
    else:
        if asked.condition or asked.synthesis is None or size is None:
            raise InvalidInput("a file of estimates needs --synthesis and --size, and no condition.")
        estimates = read_estimates(content(asked.sets, "the file of estimates").decode(errors="replace"))
    if people is None:
        raise InvalidInput("the number of people must be known; give --people N.")
    return estimates, size, people


COMMAND = Command(
    arguments=_add_arguments,
    run=_combine,
    description="Combine the estimates of several synthetic sets. No rule is valid for sets with differential "
    "privacy, as each says; use posterior or infer for these.",
    imports=("scipy",),
    installed_by="install deniable[learn]",
)
