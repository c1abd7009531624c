"""The workers: how many there are, where, and how far they commute, beside the paper's."""

from typing import TYPE_CHECKING, Final

import numpy as np

from deniable.evaluation.commutes import miles
from papers.findings import Check, Part, Table, equal
from papers.onthemap.published import BLOCKS, DESTINATIONS, MEAN_JOBS, QUANTILES
from papers.onthemap.states import RHODE_ISLAND, State, the_state

if TYPE_CHECKING:
    from papers.chance import Floats

_WORKED_OUT: Final = {0.5: (5.9, 0.2), 0.75: (11.3, 0.2), 0.9: (17.4, 0.5), 0.99: (29.1, 4.5)}
"""Commutes in miles by the share of workers below, as another program found them for some workers, with bounds."""
_FURTHEST: Final = 200
"""All commutes of the paper are below this many miles."""


def data() -> Part:
    """The workers of a state."""
    return described(the_state())


def commutes_of(state: State) -> dict[float, float]:
    """Commutes in miles by the share of workers below."""
    away: Floats = miles(state.destination_place[state.destination], state.origin_place[state.origin])
    order = np.argsort(away)
    below = np.cumsum(state.workers[order])
    return {share: float(away[order][np.searchsorted(below, share * below[-1])]) for share in _WORKED_OUT}


def described(state: State) -> Part:
    """The workers of one state."""
    totals, pairs = np.array(state.totals), len(state.workers)
    found, alone = commutes_of(state), float((state.workers == 1).mean())
    checks = [
        Check("every destination has a worker", int(totals.min()) >= 1),
        Check("half of the destinations have fewer workers than the mean", float(np.median(totals)) < totals.mean()),
        Check(
            "half of the paper's workers commute less than half of the 75 % do", QUANTILES[0.5] < QUANTILES[0.75] / 2
        ),
    ]
    if state.is_rhode_island:
        checks += [
            Check(f"{totals.sum():,} workers", int(totals.sum()) == RHODE_ISLAND),
            Check(f"{len(totals):,} destinations and {len(state.area):,} origins",
                  (len(totals), len(state.area)) == (8358, 17_127)),
            Check(f"{pairs:,} pairs", pairs == 372_191),
            equal("share of pairs with one worker", alone, 0.936, 0.0005),
            equal("mean number of workers of a destination", float(totals.mean()), 48.6, 0.05),
            equal("median", float(np.median(totals)), 8, 0),
            *(equal(f"miles that {share:.0%} of workers commute at most", found[share], right, within)
              for share, (right, within) in _WORKED_OUT.items()),
        ]  # fmt: skip
    return Part(
        name="Data",
        title="workers, places and commutes",
        verdict="close",
        why=f"The paper takes {DESTINATIONS} random destinations of Minnesota, with {MEAN_JOBS} workers in the mean, "
        "and two domains of origins, for its two experiments. Rhode Island is smaller, its commutes are shorter, and "
        "its destinations have more workers in the mean, because a few have very many. Most pairs of places have one "
        "worker, as everywhere: counts are too sparse to be published with noise by pair. LODES is itself made with "
        "noise, and stands for the truth, as in the paper.",
        product=("deniable/evaluation/commutes.py", "examples/commuters/make_commuters.py"),
        checks=tuple(checks),
        table=Table(
            ("", "published", "ours"),
            (
                ("blocks of origins, experiment 1", f"{BLOCKS['experiment 1']:,}", f"{len(state.area):,}"),
                ("blocks of origins, experiment 2", f"{BLOCKS['experiment 2']:,}", f"{state.areas:,} areas"),
                ("workers", "", f"{totals.sum():,}"),
                ("destinations", "", f"{len(totals):,}"),
                ("destinations in the figures", str(DESTINATIONS), str(min(DESTINATIONS, len(totals)))),
                ("workers of a destination, mean", str(MEAN_JOBS), f"{totals.mean():.1f}"),
                ("the same, median", "", f"{np.median(totals):g}"),
                ("pairs of places with workers", "", f"{pairs:,}"),
                ("of these with one worker", "", f"{alone:.1%}"),
                *(
                    (f"miles that {share:.0%} commute at most", f"{QUANTILES[share]:g}" if share in QUANTILES else "",
                     f"{miles_:.1f}")
                    for share, miles_ in found.items()
                ),
                ("miles that all commute at most", f"less than {_FURTHEST}", ""),
            ),
        ),
    )  # fmt: skip
