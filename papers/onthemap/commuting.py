"""Figures 1 to 4: mean commutes of synthetic workers, for all and for short commutes, in two domains."""

from functools import lru_cache
from math import hypot, log
from typing import Final

import numpy as np

from deniable.learners.origin_destination.draws import kept_at
from deniable.learners.origin_destination.plan import FlowsPlan
from deniable.learners.origin_destination.spec import Entry
from deniable.learners.origin_destination.verification import relation
from deniable.privacy.urn_costs import UNIT
from papers.chance import uniforms
from papers.findings import Check, Part, Picture, Table, equal
from papers.onthemap.methods import (
    AREAS,
    BY_DISTANCE,
    COPY,
    LEAST,
    METHODS,
    NEAR,
    NOISY,
    SAMPLED,
    SAMPLED_BY_4_4,
    Drawn,
    drawn,
)
from papers.onthemap.pictures import draw_commutes
from papers.onthemap.published import BLOCKS, DELTA, DESTINATIONS, EPSILON, KEPT, MEAN_JOBS, SMALLEST_PRIOR
from papers.onthemap.states import State, stream_of, the_state

WORKED_OUT: Final = {
    "pure, origins": 6.3,
    "theorem 4.4, origins": 7.4,
    "theorem O, origins": 5.9,
    SAMPLED_BY_4_4: 4.4,
    SAMPLED: 4.8,
    "pure, areas": 4.4,
    AREAS: 3.8,
    NOISY: 4.4,
}
"""Biases in miles that another program found for 120 other destinations of Rhode Island; noise of a draw: about .4."""
OTHERS: Final = {
    "pure, origins": (0.011, 9.4, 5.9),
    "theorem 4.4, origins": (0.042, 9.8, 5.9),
    "theorem O, origins": (0.033, 8.9, 5.8),
    SAMPLED_BY_4_4: (0.243, 7.5, 3.1),
    "pure, areas": (0.288, 7.0, 4.1),
    AREAS: (0.349, 6.8, 2.7),
    NOISY: (0.315, 7.6, 2.2),
}
"""Overlap, root mean squared error and bias of the larger half, which the same program found."""
OF_SAMPLED: Final = 8.2
"""The error with a sampled domain; its bound left fewer prior workers, hence another overlap and larger half."""
_FEW: Final = 0.025
"""By how much overlaps differ at most; at origins, a few destinations of many workers have most of it."""
PRIORS: Final = {"experiment 1": 0.0385, "experiment 2": 0.0412}
"""Prior weights by Theorem 4.4 for 15 workers, as another program computed them."""
_SIZES: Final = ((1, 4), (5, 19), (20, 99), (100, 10**7))
_NOISE_OF_A_DRAW, _DEVIATIONS = 0.4, 3.0
_EXACT: Final = 1e-9
_ADDED: Final = log(1 / float(KEPT)) + log(2)
"""What domain sampling adds to epsilon by the paper, with a prior weight of at most 1."""
_TOTALS_ARE_PUBLIC: Final = "the number of workers of each destination, is public"
_PRODUCT = (
    "deniable/learners/origin_destination/draws.py",
    "deniable/learners/origin_destination/plan.py",
    "deniable/evaluation/commutes.py",
)


def figure_1() -> Part:
    """Commutes in experiment 1, all."""
    return all_methods(the_state())


def figure_2() -> Part:
    """Commutes in experiment 1, short."""
    return short_commutes(the_state(), SAMPLED, "Figure 2", "experiment 1")


def figure_3() -> Part:
    """Commutes in experiment 2, all."""
    return by_areas(the_state())


def figure_4() -> Part:
    """Commutes in experiment 2, short."""
    return short_commutes(the_state(), AREAS, "Figure 4", "experiment 2")


@lru_cache(maxsize=64)
def commutes(state: State, method: str, destinations: int = DESTINATIONS) -> Drawn:
    """Mean commutes of random destinations, the same for every method.

    Args:
        state: the state.
        method: how origins are drawn.
        destinations: number of destinations; all if there are fewer.
    """
    chosen = np.sort(np.argsort(uniforms(stream_of("destinations"), len(state.destination_place)))[:destinations])
    return drawn(state, chosen, method)


def biases(found: dict[str, Drawn]) -> list[Check]:
    """Whether each bias is that which another program found, within three standard errors of both."""
    checks = []
    for name, right in WORKED_OUT.items():
        apart = abs(found[name].bias - right) / hypot(found[name].deviation, _NOISE_OF_A_DRAW)
        words = (
            f"{name}: bias {found[name].bias:+.1f}, {right:+.1f} for other destinations: {apart:.1f} standard errors"
        )
        checks.append(Check(words, apart <= _DEVIATIONS))
    return checks


def others(found: dict[str, Drawn]) -> list[Check]:
    """Whether overlaps, errors and biases of larger halves are those of another program, for other destinations.

    Both programs have standard errors over 120 destinations, here taken to be equal.
    """
    checks = []
    for name, rights in {**OTHERS, SAMPLED: (None, OF_SAMPLED, None)}.items():
        own = found[name]
        for words, ours, right, deviation in zip(
            ("overlap", "root mean squared error", "bias of the larger half"),
            (own.overlap, own.error, own.larger.bias),
            rights,
            (own.deviation_of_overlap, own.deviation_of_error, own.larger.deviation),
            strict=True,
        ):
            if right is None:
                continue
            within = max(_DEVIATIONS * hypot(deviation, deviation), _FEW)
            checks.append(
                Check(f"{name}: {words} {ours:.3g}, {right:.3g} for other destinations, within {within:.2g}",
                      abs(ours - right) <= within)
            )  # fmt: skip
    return checks


def all_methods(state: State) -> Part:
    """Figure 1 of a state, with all ways to draw origins."""
    found = {name: commutes(state, name) for name in (*METHODS, NOISY)}
    mine, near, copy = found[SAMPLED], found[NEAR], commutes(state, COPY)
    share = found["pure, areas"].prior / found["pure, origins"].prior
    checks = [
        Check(f"commutes are too long, by more than three standard errors: {mine.bias:+.1f} ({mine.deviation:.1f})",
              mine.bias > _DEVIATIONS * mine.deviation),
        Check("the larger half of the destinations has the smaller error", mine.larger.error < mine.error),
        Check("Theorem O needs fewer prior workers than Theorem 4.4, and that fewer than pure privacy",
              found["theorem O, origins"].prior < found["theorem 4.4, origins"].prior < found["pure, origins"].prior),
        Check("with domain sampling there are fewer prior workers, and more workers at origins of real ones",
              mine.prior < found["theorem O, origins"].prior and mine.overlap > found["theorem O, origins"].overlap),
        equal("domain sampling adds to epsilon", _ADDED, 3.9685934, 1e-6),
        Check("no origin stays with a probability below that which is charged, with domain sampling by distance",
              min(kept_at(BY_DISTANCE, np.linspace(0, 500, 1001), LEAST)) == LEAST),
        Check(f"and commutes are nearer with it: {near.bias:+.1f} instead of {mine.bias:+.1f}",
              abs(near.bias) < abs(mine.bias) and near.error < mine.error),
        Check("the statement of a release with these bounds says that numbers of workers of destinations are public",
              _TOTALS_ARE_PUBLIC in relation({"privacy": "pdp", "totals": {}}).neighbouring),
        *_checks_of_priors(),
        Check(f"control: the workers themselves have no bias, no error, and all live where real ones do: "
              f"{copy.bias:.2g}, {copy.error:.2g}, {copy.overlap:.3f}",
              max(abs(copy.bias), copy.error, 1 - copy.overlap) < _EXACT),
        equal("prior workers of pure privacy are as many fewer as areas are", share, state.areas / len(state.area),
              1e-9),
        *((*biases(found), *others(found)) if state.is_rhode_island else ()),
    ]  # fmt: skip
    return Part(
        name="Figure 1",
        title="commutes in experiment 1, all",
        verdict="close",
        why="The paper draws points and prints no number. As in it, synthetic workers commute too far, because "
        "prior workers live anywhere in the state, and the error falls as a destination has more workers. The "
        f"picture is of {len(mine.workers)} random destinations by the paper's Algorithm 2, which samples the "
        f"domain: epsilon {float(EPSILON):g}, and by the paper {_ADDED:.2f} more for the sampling, delta "
        f"{float(DELTA):g}; Theorem 5.2 below has a smaller charge, and the paper's own weights. The paper's "
        f"smallest prior weight is {SMALLEST_PRIOR['experiment 1']}, which does not follow from Theorem 4.4: for "
        f"{BLOCKS['experiment 1']:,} blocks and {MEAN_JOBS} workers that gives {PRIORS['experiment 1']}. Our bound, "
        "Theorem O, needs less than Theorem 4.4. If origins without workers stay in the domain by their distance, with "
        "the paper's printed quantiles of commutes as the public histogram, the charge is the same and the bias "
        f"{near.bias:+.1f} miles; more prior workers remain, but they live near, so that fewer synthetic workers are "
        "at exactly the origins of real ones. The number of workers of each destination is assumed to be public, "
        "as in the paper.",
        product=_PRODUCT,
        checks=tuple(checks),
        table=Table(
            ("origins", "prior workers", "overlap", "bias, miles", "standard error", "root mean squared error",
             "bias, larger half"),
            tuple((name, f"{each.prior:,.0f}", f"{each.overlap:.3f}", f"{each.bias:+.1f}", f"{each.deviation:.1f}",
                   f"{each.error:.1f}", f"{each.larger.bias:+.1f}") for name, each in found.items()),
        ),
        picture=Picture(
            draw_commutes(mine),
            "Mean commute of each destination against its number of workers, real and synthetic, with a sampled domain",
        ),
    )  # fmt: skip


def _checks_of_priors() -> list[Check]:
    """Prior weights by Theorem 4.4 are those of another program, and the printed ones are not."""
    checks = []
    for name, blocks in BLOCKS.items():
        prior = FlowsPlan(1, blocks, EPSILON, DELTA, "theorem_4_4").prior(MEAN_JOBS, MEAN_JOBS) / UNIT
        checks.append(equal(f"prior weight by Theorem 4.4, {name}", prior, PRIORS[name], 1e-4))
        printed = SMALLEST_PRIOR[name]
        checks.append(Check(f"{printed}, which is printed for {name}, is less: {prior:.4f}", printed < prior))
    return checks


def by_areas(state: State) -> Part:
    """Figure 3 of a state."""
    of_areas, of_origins = commutes(state, AREAS), commutes(state, "theorem O, origins")
    checks = [
        Check("commutes are nearer with the smaller domain, at the same epsilon",
              abs(of_areas.bias) < abs(of_origins.bias) and of_areas.error < of_origins.error),
        Check("areas are drawn unless a spec says otherwise", Entry.model_fields["coarsen"].default is True),
        Check("more synthetic workers live where real ones do", of_areas.overlap > of_origins.overlap),
        Check("the larger half of the destinations has the smaller error", of_areas.larger.error < of_areas.error),
    ]  # fmt: skip
    return Part(
        name="Figure 3",
        title="commutes in experiment 2, all",
        verdict="close",
        why=f"The paper's second domain has {BLOCKS['experiment 2']:,} blocks instead of {BLOCKS['experiment 1']:,}. "
        f"Ours has {state.areas:,} areas instead of {len(state.area):,} blocks, a larger step in the same direction: "
        "an area is drawn, and then a block in it. As in the paper, the smaller domain is better. Coarsening has no "
        f"cost, so epsilon is {float(EPSILON):g} in total, where sampling the domain costs more, and it "
        "is better than that, too, if origins are kept alike at all distances.",
        product=_PRODUCT,
        checks=tuple(checks),
        table=_by_size(of_areas),
        picture=Picture(
            draw_commutes(of_areas),
            "Mean commute of each destination against its number of workers, real and synthetic, if areas are drawn",
        ),
    )


def short_commutes(state: State, method: str, name: str, experiment: str) -> Part:
    """Figure 2 or 4 of a state: destinations whose mean commute is below the median.

    Args:
        state: the state.
        method: how origins are drawn.
        name: the figure.
        experiment: the paper's experiment.
    """
    whole = commutes(state, method)
    middle = float(np.median(whole.real))
    found = whole.of(whole.real < middle)
    long = whole.of(whole.real >= middle)
    checks = [
        Check("short commutes are too long, by more than three standard errors",
              found.bias > _DEVIATIONS * found.deviation),
        Check("short commutes are overestimated by more than long ones", found.bias > long.bias),
        Check("the larger half of the destinations has the smaller bias", found.larger.bias < found.bias),
    ]  # fmt: skip
    return Part(
        name=name,
        title=f"commutes in {experiment}, short",
        verdict="close",
        why=f"The destinations of the figure before with a mean commute below the median, {middle:.1f} miles. As in "
        "the paper, their commutes are overestimated by most where there are few workers, because prior workers "
        f"live further away; long commutes are overestimated by less, {long.bias:+.1f} miles in the mean, because "
        "there prior workers may live nearer as well.",
        product=_PRODUCT,
        checks=tuple(checks),
        table=_by_size(found),
        picture=Picture(
            draw_commutes(found),
            f"Mean commute of each destination against its number of workers, in {experiment}, for short commutes",
        ),
    )


def _by_size(found: Drawn) -> Table:
    """Figures by the number of workers of destinations."""
    rows = []
    for least, most in _SIZES:
        some = found.of((found.workers >= least) & (found.workers <= most))
        if len(some.errors):
            words = f"{least} to {most}" if most < 10**6 else f"{least} or more"
            means = (some.real.mean(), np.nanmean(some.synthetic), some.bias, some.error)
            rows.append((words, str(len(some.workers)), *(f"{each:.1f}" for each in means)))
    heads = ("workers", "destinations", "mean commute, real", "synthetic", "bias, miles", "root mean squared error")
    return Table(heads, tuple(rows))
