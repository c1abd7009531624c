"""The metrics and the attacks by which releases are evaluated. A new one is a module and a line here."""

from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import Any, Final

from deniable.evaluation.contract import Attack, Derived, Figure, Kind, Metric, Scope

METRICS: Final = (
    "compared_records",
    "marginal_distances",
    "jensen_shannon",
    "mutual_information",
    "distinguishing_game",
    "distinct_records",
    "accuracy",
    "agreement",
    "subsample",
    "groups",
    "analyses",
    "numbers",
    "rare_values",
    "undeclared_logic",
    "tails",
    "places.commutes",
)
"""Modules of `deniable.evaluation.metrics` and its rooms, in the order in which their figures are listed."""

DERIVED: Final = ("grades",)
"""Modules of `deniable.evaluation.derived`, whose figures follow from others; each declares DERIVED, a `Derived`."""

ATTACKS: Final = (
    "exact_matches",
    "reproduced_people",
    "memorised_groups",
    "unique_people",
    "singled_out",
    "nearest_records",
    "inference",
)
"""Modules of `deniable.evaluation.attacks`, in the same order."""


@cache
def metrics(kind: Kind) -> tuple[Metric[Any], ...]:
    """The metrics of utility, or the attacks, which measure risk."""
    if kind == "risk":
        return attacks()
    return tuple(import_module(f"deniable.evaluation.metrics.{name}").METRIC for name in METRICS)


@cache
def attacks() -> tuple[Attack[Any], ...]:
    """The attacks."""
    return tuple(import_module(f"deniable.evaluation.attacks.{name}").ATTACK for name in ATTACKS)


@cache
def derived() -> tuple[Derived, ...]:
    """What follows from the figures of utility."""
    return tuple(import_module(f"deniable.evaluation.derived.{name}").DERIVED for name in DERIVED)


@cache
def figures_of(scope: Scope) -> Mapping[str, Figure]:
    """Every figure of an evaluation by name: utility, risk, and what follows, in the order in which they are listed.

    Args:
        scope: what the evaluation covers.
    """
    sources: list[Metric[Any] | Derived] = [metric for kind in scope.kinds for metric in metrics(kind)]
    declared = (figure for source in (*sources, *derived()) for figure in source.figures(scope))
    return {figure.name: figure for figure in declared}


def listed_figures() -> Sequence[Figure]:
    """The figures that have a column in MLflow's list of releases, whatever a spec evaluates."""
    return [figure for figure in figures_of(Scope()).values() if figure.is_listed]
