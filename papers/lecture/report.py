"""The report of a release beside NIST's SDNist and others: their figures, where ours are, and how fast they are."""

from time import process_time
from typing import Final

import numpy as np

from deniable.evaluation.metrics.subsample import name_of, share_of
from deniable.evaluation.registry import figures_of
from deniable.evaluation.uses import USES
from papers.bindschaedler.controls import LOGLINEAR, Measured, measured
from papers.bindschaedler.people import SPEC, People, made_up
from papers.bindschaedler.releases import table
from papers.findings import Check, Part, Table, between
from papers.running import note
from schemas.spec.release_spec import load_spec

_ROWS: Final = 1_000_000
_SECONDS: Final = 2 * 20
"""CPU seconds of an evaluation, so 20 s on two cores."""
_TIMES: Final = 100
_GOALS: Final = (
    ("k-marginal score (SDNist)", "k_marginal_score", ""),
    ("equivalent share of the real records (SDNist)", share_of(2), "against records that are not among them"),
    ("single attributes, the worst", "tvd_1way_worst", "named in the report, with both histograms"),
    ("pairs and triples of attributes", "tvd_2way", ""),
    ("k-marginal by groups", "group_gap_worst", "an interval that covers all groups, which weights by size do not"),
    ("correlations", "correlation_gap_worst", "Pearson's; Kendall's would show ranks, as the quantiles do"),
    ("means and quantiles", "quantile_gap_worst", ""),
    ("regressions (SDNist, synthpop)", "analysis_gap_worst", "of declared analyses; densities by group are not drawn"),
    ("propensity, pMSE", "distinguished", "a forest's guesses of records; .5 is its null, so no ratio is needed"),
    ("inconsistencies", "logic_broken_worst", "of declared rules none can occur; these are patterns nobody declared"),
    ("classification", "accuracy_forest", "differences by sex or race are not measured; shares within groups are"),
    ("rare categories", "rare_values_lost", ""),
    ("unique exact matches", "reproduced_excess", "beyond those of people not used"),
    ("apparent matches", "unique_matches_unique_share", "the share of released records that look like one person"),
    ("nearest records", "nearer_to_training", "of people used or not used; .5 by chance"),
    ("disclosure (repU, DiSCO, DisclosureProtection)", "inferred_excess_worst",
     "beyond what is guessed of people not used, which these measures count as disclosure"),
)  # fmt: skip
"""The goals of a modern report: the goal, the figure in the project, and what is different."""
_ABSENT: Final = (
    ("principal components", "a picture without a rule: nobody could say from which distance on it is bad"),
    ("equalised odds", "it judges a classifier; a release has many uses, and groups are judged by shares within them"),
)


def report() -> Part:
    """A million made-up records against a million others."""
    return reported(_ROWS)


def reported(rows: int) -> Part:
    """The report on made-up people.

    Args:
        rows: number of released records, of records learnt from, and of others.
    """
    note("made-up people ...")
    people = made_up(2 * rows + rows // _TIMES)
    people, more = People(people.domain, people.codes[: 2 * rows], are_real=False), people.codes[2 * rows :]
    released = table(people, LOGLINEAR, of_half=True)
    began = process_time()
    found = measured(people, released)
    spent = process_time() - began
    note("a hundredth of as many others, each a hundred times ...")
    few = measured(people, np.tile(more, (_TIMES, 1))[:rows])
    scope = load_spec(SPEC).evaluation.scope
    described = [name for name, each in figures_of(scope).items() if each.words and name in found.figures]
    without = [name for name in described if figures_of(scope)[name].has_error and name not in found.errors]
    checks = (
        Check(f"{rows:,} records against {rows:,} take at most {_SECONDS} s of CPU time, so 20 s on two cores: "
              f"{spent:.1f} s", spent <= _SECONDS),
        between(f"{len(more):,} others are equivalent to about as many real records, by pairs", 0.8 * len(more),
                few.figures[name_of(2)], 1.25 * len(more)),
        Check("and are as many by triples, up to a quarter",
              abs(few.figures[name_of(3)] / len(more) - 1) < 0.25),
        Check("they are a smaller share than the release", few.figures[share_of(2)] < found.figures[share_of(2)]),
        Check("the k-marginal score of the release is between those of independent and of real records, up to twice "
              "its error",
              found.figures["k_marginal_score_baseline"] < found.figures["k_marginal_score"]
              <= found.figures["k_marginal_score_training"] + 2 * found.errors["k_marginal_score"]),
        Check(f"every use is judged: {len(found.grades)} of {len(USES)}", len(found.grades) == len(USES) == 12),
        Check("every goal has its figure", all(name in found.figures for _, name, _ in _GOALS)),
        Check(f"every figure that the report states in words has an interval, or is a largest one: "
              f"{', '.join(without) or 'all'}", all(name.endswith("_worst") for name in without)),
        Check("every comparison of utility has the real half and independent values beside it", all(
            f"{name}_training" in found.figures and f"{name}_baseline" in found.figures
            for name in ("k_marginal_score", "tvd_1way_worst", "tvd_2way", "distinguished", "accuracy_forest"))),
    )  # fmt: skip
    return Part(
        name="Report",
        title="the figures of a modern report",
        verdict="demonstrated",
        why="Not on the slides: of the measures of synthetic data in use, NIST's SDNist and synthpop have the longest "
        f"lists. Each of their figures, with ours, measured as of every release: {rows:,} records of the log-linear "
        f"learner at epsilon 1, which learns {rows:,} made-up people, against as many others, in less than 20 s on two "
        "cores. "
        "The real half and independent values are the best and the worst that a figure can be expected to be. "
        "The most readable figure is to how many real records a release is equivalent. Its control is "
        f"{len(more):,} other people, each {_TIMES} times: they are equivalent to {few.figures[name_of(2)]:,.0f} real "
        "ones by pairs. Intervals are of 95 %, and those of a worst group or attribute cover all of them, which Holm's "
        "steps would do for tests; attacks are tested together by Holm's steps. All of this is internal, since it is "
        "measured without noise.",
        product=(
            "deniable/evaluation/registry.py",
            "deniable/evaluation/metrics/subsample.py",
            "deniable/evaluation/uses.py",
            "reports/pages/fitness.py",
        ),
        checks=checks,
        table=Table(
            ("figure of others", "ours", "real half", "independent values", "released", "what differs"),
            (
                *((goal, name, _beside(found, name, "training"), _beside(found, name, "baseline"),
                   _shown(found, name), words) for goal, name, words in _GOALS),
                *((goal, "none", "", "", "", words) for goal, words in _ABSENT),
            ),
        ),
    )  # fmt: skip


def _beside(found: Measured, name: str, table_name: str) -> str:
    value = found.figures.get(f"{name}_{table_name}")
    return "" if value is None else f"{value:.4g}"


def _shown(found: Measured, name: str) -> str:
    error = found.errors.get(name)
    return f"{found.figures[name]:.4g}" + ("" if error is None else f" ± {1.96 * error:.2g}")
