"""Workers' attributes as further tables: each by its destination as the origins are, and all together by counts."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

import numpy as np

from deniable.foundation.domain import Codes
from deniable.learners.origin_destination.draws import draw_origins
from deniable.learners.origin_destination.plan import FlowsPlan
from deniable.privacy.accounting import best
from papers.chance import KEY, Floats, Integers
from papers.findings import Check, Part, Table
from papers.learning import domain_of, synthetic
from papers.onthemap.published import DELTA, EPSILON
from papers.onthemap.states import ATTRIBUTES, VALUES, State, the_state
from papers.running import note

EPSILONS: Final = (Fraction(1), Fraction(2))
"""Budgets of one attribute."""
_TOGETHER: Final = "all three together, Bayesian network"
_STATE: Final = "shares of the state, for every destination"
_COPY: Final = "the workers themselves"
_PARENTS: Final = {"age": ["work"], "earnings": ["work", "age"], "industry": ["work", "earnings"]}
"""The graph of the attributes, chosen without looking at workers."""
_MOST: Final = 100
"""Destinations with fewer workers than this are few workers' destinations."""


@dataclass(frozen=True, eq=False)
class Found:
    """Synthetic attributes beside the real ones.

    Attributes:
        epsilon: cost of the attribute, or of all together; 0 without any.
        off: for each attribute, total variation distance of its shares at each destination, shape (destinations,).
        state: for each attribute, that of its shares in the state.
    """

    epsilon: Fraction
    off: Mapping[str, Floats]
    state: Mapping[str, float]


def attributes() -> Part:
    """Attributes of the workers of a state."""
    return attributed(the_state())


def counts_of(state: State) -> dict[str, Integers]:
    """Number of workers by area of their destination and value, shape (areas, 3), by attribute."""
    areas = state.destination_area[state.destination]
    found = {name: np.zeros((int(areas.max()) + 1, VALUES), np.int64) for name in ATTRIBUTES}
    for name, counts in found.items():
        np.add.at(counts, areas, state.attributes[name])
    return found


def plan_of(totals: Integers, epsilon: Fraction, *, pure: bool) -> FlowsPlan:
    """The plan of a release of one attribute: its values take the place of the origins."""
    return FlowsPlan(
        len(totals), VALUES, epsilon, Fraction(0) if pure else DELTA, totals=tuple(map(int, totals.tolist()))
    )


def drawn(counts: Integers, epsilon: Fraction, name: str, *, pure: bool) -> Integers:
    """Draw an attribute of as many workers as there are at each destination.

    Args:
        counts: number of workers by destination and value.
        epsilon: the budget.
        name: the attribute, which has its own words.
        pure: whether prior weights are those of pure privacy.

    Returns:
        Numbers of synthetic workers, of the same shape.
    """
    plan = plan_of(counts.sum(axis=1), epsilon, pure=pure)
    found = np.zeros_like(counts)
    for place, own in enumerate(counts):
        occupied = np.flatnonzero(own)
        stream = KEY.stream(
            step="paper", mechanism="attributes", inputs=f"{name} {epsilon} {pure}", parameters={"destination": place}
        )
        values = draw_origins(stream, plan, occupied, own[occupied], draws=int(own.sum()))
        found[place] = np.bincount(values, minlength=VALUES)
    return found


def workers_of(state: State) -> Codes:
    """A row for each worker: area of the destination, and the three attributes.

    LODES counts each attribute of a pair's workers apart. Of a pair with one worker, all attributes are known; of
    others, values are put together in the order in which they are counted.
    """
    pair = np.repeat(np.arange(len(state.workers)), state.workers)
    columns = [np.repeat(np.tile(np.arange(VALUES), len(pair_counts)), pair_counts.ravel())
               for pair_counts in state.attributes.values()]  # fmt: skip
    return np.stack([state.destination_area[state.destination[pair]], *columns], axis=1).astype(np.uint16)


def measured(real: Mapping[str, Integers], ours: Mapping[str, Integers], epsilon: Fraction) -> Found:
    """Compare synthetic attributes with the real ones; both are numbers of workers by destination and value."""

    def distance(one: Integers, other: Integers) -> Floats:
        shares = [each / np.maximum(each.sum(axis=-1, keepdims=True), 1) for each in (one, other)]
        return np.asarray(np.abs(shares[0] - shares[1]).sum(axis=-1) / 2)

    return Found(
        epsilon,
        {name: distance(real[name], ours[name]) for name in real},
        {name: float(distance(real[name].sum(axis=0), ours[name].sum(axis=0))) for name in real},
    )


def together(state: State, epsilon: int) -> tuple[dict[str, Integers], Codes, Codes]:
    """All attributes and the destination as one table, by a Bayesian network with a public graph.

    Args:
        state: the state.
        epsilon: its budget, for a worker added or removed.

    Returns:
        Number of synthetic workers by destination and value, by attribute; the real and the synthetic rows.
    """
    rows = workers_of(state)
    domain = domain_of({"work": int(rows[:, 0].max()) + 1, **dict.fromkeys(ATTRIBUTES, VALUES)})
    entry: dict[str, Any] = {
        "kind": "cfs",
        "noise": "laplace",
        "graph": {"parents": _PARENTS, "order": ["work", *ATTRIBUTES]},
        "parameters": {"epsilon": epsilon, "delta": str(float(DELTA))},
    }
    made = synthetic(entry, domain, rows, f"attributes of workers {epsilon}")
    found = {}
    for column, name in enumerate(ATTRIBUTES, start=1):
        found[name] = counts = np.zeros((domain.cardinalities[0], VALUES), np.int64)
        np.add.at(counts, (made[:, 0], made[:, column]), 1)
    return found, rows, made


def attributed(state: State) -> Part:
    """Attributes on a state."""
    real = counts_of(state)
    totals = next(iter(real.values())).sum(axis=1)
    whole = {name: counts.sum(axis=0) for name, counts in real.items()}
    found = {
        _COPY: measured(real, real, Fraction(0)),
        _STATE: measured(real, {name: np.tile(whole[name], (len(totals), 1)) for name in real}, Fraction(0)),
    }
    for epsilon in EPSILONS:
        for pure in (True, False):
            way = f"{'pure' if pure else 'theorem O'}, epsilon {epsilon} each"
            note(f"{way} ...")
            ours = {name: drawn(counts, epsilon, name, pure=pure) for name, counts in real.items()}
            found[way] = measured(real, ours, epsilon)
    note(f"{_TOGETHER} ...")
    ours, rows, made = together(state, 1)
    found[_TOGETHER] = measured(real, ours, Fraction(1))
    pairs, apart = _of_pairs(rows, made), _of_pairs(rows, _unlinked(rows))
    events = [event for plan in (
        FlowsPlan(len(totals), state.areas, EPSILON, DELTA, totals=tuple(totals.tolist())),
        *(plan_of(totals, EPSILONS[0], pure=False) for _ in ATTRIBUTES),
    ) for event in plan.events]  # fmt: skip
    total = best(events, (1 + len(ATTRIBUTES)) * DELTA)
    way = f"theorem O, epsilon {EPSILONS[0]} each"
    return Part(
        name="Attributes",
        title="workers' attributes as further tables",
        verdict="demonstrated",
        why="OnTheMap shows workers by age, earnings and industry as well; the figures above have origins alone. Here "
        "each attribute is a release of its own, of the same workers and from the same budget: destinations are "
        "tracts, and the three values of an attribute take the place of the origins. Origins at epsilon "
        f"{float(EPSILON):g} and three "
        f"attributes at epsilon 1 cost {total.epsilon:.1f} in total, at delta {total.delta:.0e}, for a worker whose "
        "origin and attributes are all replaced. With the bound of Theorem O, shares of a destination are off by "
        f"{_worst(found[way], totals):.3f} in the mean over workers, for the worst attribute, where the state's shares "
        f"would be off by {_worst(found[_STATE], totals):.3f}. With pure privacy at epsilon 1, prior workers outweigh "
        "real ones, and the state's shares are nearer. What is lacking: these releases are not linked. No record has a "
        "worker's origin and age, nor age and earnings, and their statements speak of an origin where an attribute is "
        "meant. Linked attributes need one table of destination and attributes, here by the learner `cfs` with a "
        "public graph: at epsilon 1 for all three together, they are off by "
        f"{_worst(found[_TOGETHER], totals):.3f}, and pairs of attributes in the state by {pairs:.4f}, where unlinked "
        f"ones would be off by {apart:.3f}. Its guarantee is for a worker added or removed, of whom the destination is "
        "hidden as well, so that a budget of replaced origins does not add it; and it has no origins. Prior weights "
        "hide one worker's value in draws from exact counts; noise on counts hides it once for all workers of a "
        "destination, and is far smaller than they are many. LODES counts each attribute of a pair of places apart; "
        "86 % of its workers are alone in their pair, and all of theirs are known.",
        product=(
            "deniable/learners/origin_destination/draws.py",
            "deniable/learners/origin_destination/plan.py",
            "deniable/learners/cfs/parameters.py",
        ),
        checks=(
            *_checks(found, totals),
            *_checks_of_costs(total.epsilon, state),
            *(_of_rhode_island(found, state, pairs, apart) if state.is_rhode_island else ()),
        ),
        table=Table(
            ("attributes by", "epsilon of an attribute", "epsilon of all", *(
                f"{name}, {what}" for name in ATTRIBUTES
                for what in ("of a destination", f"below {_MOST} workers", "state")
            )),
            tuple(
                (way, *_costs(way, each), *(cell for name in ATTRIBUTES for cell in (
                    f"{_mean(each.off[name], totals):.3f}",
                    f"{_mean(each.off[name], totals * (totals < _MOST)):.3f}",
                    f"{each.state[name]:.4f}",
                ))) for way, each in found.items()
            ),
        ),
    )  # fmt: skip


def _costs(way: str, found: Found) -> tuple[str, str]:
    if not found.epsilon:
        return "", "no DP" if way == _COPY else ""
    one = float(found.epsilon)
    return ("", f"{one:g}") if way == _TOGETHER else (f"{one:g}", f"{one * len(ATTRIBUTES):g}")


def _mean(off: Floats, weights: Integers) -> float:
    return float((off * weights).sum() / max(weights.sum(), 1))


def _worst(found: Found, totals: Integers) -> float:
    """The mean over workers of the distance at their destination, of the attribute for which it is largest."""
    return max(_mean(off, totals) for off in found.off.values())


def _of_pairs(rows: Codes, made: Codes) -> float:
    """Mean distance of the tables of two attributes in the state."""
    found = []
    for one in range(1, 1 + len(ATTRIBUTES)):
        for other in range(one + 1, 1 + len(ATTRIBUTES)):
            shares = [
                np.bincount(each[:, one].astype(int) * VALUES + each[:, other], minlength=VALUES**2) / len(each)
                for each in (rows, made)
            ]
            found.append(np.abs(shares[0] - shares[1]).sum() / 2)
    return float(np.mean(found))


def _unlinked(rows: Codes) -> Codes:
    """The attributes in orders of their own."""
    columns = [
        column[np.argsort(KEY.stream(step="paper", mechanism="attributes", inputs="unlinked", parameters={"column": i})
                          .take(len(column)), kind="stable")]
        for i, column in enumerate(rows.T)
    ]  # fmt: skip
    return np.stack(columns, axis=1)


def _checks(found: Mapping[str, Found], totals: Integers) -> list[Check]:
    worst = {way: _worst(each, totals) for way, each in found.items()}
    few = {way: max(_mean(off, totals * (totals < _MOST)) for off in each.off.values()) for way, each in found.items()}
    pure, bounded = ([f"{kind}, epsilon {epsilon} each" for epsilon in EPSILONS] for kind in ("pure", "theorem O"))
    return [
        Check(f"control: the workers themselves are off by 0: {worst[_COPY]:g}", worst[_COPY] == 0),
        *(Check(f"{ours} is nearer than {other}: {worst[ours]:.3f}, {worst[other]:.3f}", worst[ours] < worst[other])
          for ours, other in zip(bounded, pure, strict=True)),
        *(Check(f"{ours} is nearer than the state's shares: {worst[ours]:.3f}, {worst[_STATE]:.3f}",
                worst[ours] < worst[_STATE]) for ours in bounded),
        *(Check(f"a larger epsilon is nearer: {worst[ways[1]]:.3f}, {worst[ways[0]]:.3f}",
                worst[ways[1]] < worst[ways[0]]) for ways in (pure, bounded)),
        Check(f"destinations of fewer than {_MOST} workers are further off than all: {few[bounded[0]]:.3f}",
              few[bounded[0]] > worst[bounded[0]]),
    ]  # fmt: skip


def _checks_of_costs(total: float, state: State) -> list[Check]:
    right = float(EPSILON) + len(ATTRIBUTES) * float(EPSILONS[0])
    return [
        Check(f"origins and attributes cost their sum: {total:.6f}, {right:g}", abs(total - right) < 1e-6),
        Check("every worker has one value of each attribute", all(
            bool((counts.sum(axis=1) == state.workers).all()) for counts in state.attributes.values())),
    ]  # fmt: skip


def _of_rhode_island(found: Mapping[str, Found], state: State, pairs: float, apart: float) -> list[Check]:
    """What the text states of Rhode Island."""
    totals = next(iter(counts_of(state).values())).sum(axis=1)
    first = EPSILONS[0]
    pure, bounded, shares, linked = (
        _worst(found[way], totals)
        for way in (f"pure, epsilon {first} each", f"theorem O, epsilon {first} each", _STATE, _TOGETHER)
    )
    alone = float(state.workers[state.workers == 1].sum() / state.workers.sum())
    return [
        Check(f"pure privacy at epsilon {first} is further off than the state's shares: {pure:.3f}", pure > shares),
        Check(f"all together are nearer than each apart: {linked:.3f}, {bounded:.3f}", linked < bounded),
        Check(f"and are linked: pairs are off by {pairs:.4f}, unlinked ones by {apart:.4f}", pairs < apart / 5),
        Check(f"86 % of workers are alone in their pair: {alone:.1%}", round(alone, 2) == 0.86),
    ]
