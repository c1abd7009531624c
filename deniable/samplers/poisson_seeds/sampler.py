"""Makes all attempts of indexed seeds, fills up with records of the model alone, and chooses records by raking."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import ceil
from typing import Any, Final

import numpy as np

from deniable.foundation.domain import Codes, Domain
from deniable.foundation.errors import InvalidInput
from deniable.foundation.keys import Parameter, StreamOpener
from deniable.mechanisms import ChunkStreams, Counter, Draw, Made, PartDelta, PlannedStep, Product, Sampler
from deniable.models.raking import POOL_PER_RECORD, raked, words_of_raking
from deniable.models.sequential_kernels import Network
from deniable.plausible_deniability.pass_law import PassLaw, law_within
from deniable.plausible_deniability.plausible_seeds import SeedIndex
from deniable.plausible_deniability.poisson_attempts import (
    release_from_seeds,
    wide_words,
    without_passed,
)
from deniable.plausible_deniability.predictions import order_of, passing_shares
from deniable.plausible_deniability.prefix_choice import FILE, chosen_prefix, document_of
from deniable.plausible_deniability.seed_prefixes import SeedTally
from deniable.privacy.accounting import best
from deniable.privacy.loss import MechanismEvent
from deniable.privacy.loss_laws import without_law
from deniable.privacy.step_costs import FINENESS
from deniable.samplers.poisson_seeds.spec import Entry
from deniable.samplers.poisson_seeds.verification import STEP
from deniable.samplers.raked_goals import goals_for
from deniable.samplers.rows_of_prefixes import fewest_combinations, if_equally_common, require_reachable
from deniable.samplers.tested_seeds.sampler import SEED_INDEX

ENOUGH_ROWS: Final = 60_000
"""Number of rows below which the plan advises against seeds: with fewer, pairs of attributes were further away."""
_BELOW = 1 - 1e-9
"""A total is lowered by more than sums of floats are rounded."""

PREFIX = Product(name="prefix", file=FILE, is_shown=True)
"""The attributes that attempts copy, if the model chose their number, with the predictions (prefix_choice)."""


def sampler(entry: Entry, domain: Domain, delta_of: PartDelta, learnt: Sequence[PlannedStep] = ()) -> Sampler:
    """Plan the sampler of a spec; see `deniable.samplers.registry.sampler_of`.

    Raises:
        InvalidInput: no law of passing is within the budget, or none of the rows could pass by it.
    """
    delta = delta_of(entry.delta)
    law = law_of(entry, float(delta), learnt)
    require_reachable(
        law.half,
        "the number of plausible seeds at which half of the attempts pass",
        "lower synthesis.plausible, give the seeds more budget, release fewer records, or use the guarantee seedless",
        domain,
    )
    event = law.event(entry.attempts_per_row, "seeds")
    parameters: dict[str, Parameter] = {
        **({} if entry.omega is None else {"omega": entry.omega}),
        "plausible": law.plausible,
        "passes": event.passes,
        "attempts_per_row": entry.attempts_per_row,
        "public_rows": entry.public_rows,
        "records": entry.records,
    }
    return Sampler(
        prepare=PlannedStep(
            name=STEP,
            part="seeds",
            events=(event,),
            guarantee=best((event,), delta),
            parameters=parameters | {"chunk_candidates": entry.chunk_candidates},
            shown={
                **({} if entry.omega is None else {"omega": entry.omega}),
                "plausible": law.plausible,
                "half": law.half,
                "full": law.full,
            },
            caution=advice_on_law(entry, domain, law) or advice_on_rows(entry.public_rows),
            reads=("model",),
            makes=(SEED_INDEX,) if entry.omega is not None else (SEED_INDEX, PREFIX),
            joins_learner=True,
            foresee=partial(_foresee, entry, law, domain),
            taken_in="index_seeds",
            run=partial(_index_seeds, entry, law, domain),
        ),
        open=partial(_open, entry, law, parameters),
        counts_seeds=True,
    )


def advice_on_rows(public_rows: int) -> str:
    """Advice for small tables, a clause; empty if the public number of rows is that of a large one."""
    if public_rows >= ENOUGH_ROWS:
        return ""
    return (
        f"with fewer than {ENOUGH_ROWS:,} rows few combinations have enough plausible seeds, and the model feels what "
        "the seeds cost: the guarantee seedless comes closer to the records; synthesis.public_rows is "
        f"{public_rows:,}, state more if more are read"
    )


def advice_on_law(entry: Entry, domain: Domain, law: PassLaw) -> str:
    """Advice before a model is learnt, a clause; empty if half of the attempts would pass with common combinations."""
    length = 1 if entry.omega is None else len(domain) - entry.omega
    rows = entry.public_rows / fewest_combinations(domain, length)
    if rows >= law.half:
        return ""
    share = float(law.probability(np.array([int(rows)]))[0])
    return (
        f"half of the attempts pass from {law.half:,} plausible seeds on, but "
        f"{if_equally_common(domain, length, entry.public_rows)}, and {share:.1%} of the attempts would be "
        "expected to pass; the other records are drawn from the model alone: lower synthesis.plausible, release fewer "
        "records or copy fewer attributes, unless some combinations are known to be far more common"
    )


def law_of(entry: Entry, delta: float, learnt: Sequence[PlannedStep] = ()) -> PassLaw:
    """The law of passing that a spec's budget permits.

    Args:
        entry: the entry.
        delta: delta of all attempts for the records that are read.
        learnt: the learner's steps on the same records, with which `total` is shared.

    Raises:
        InvalidInput: there is none, or it passes nothing that so few rows could have.
    """
    epsilon, others = entry.epsilon, tuple[MechanismEvent, ...]()
    if entry.total is None:
        law = law_within(entry.attempts_per_row, plausible=entry.plausible, epsilon=float(epsilon or 0), delta=delta)
        remedy = "raise synthesis.epsilon or synthesis.delta, or release fewer records"
    else:
        epsilon = entry.total
        others = tuple(event for step in learnt for event in step.events)
        law = _law_beside(entry, float(entry.total), delta, learnt, others)
        remedy = "lower learner.parameters.epsilon, raise the total, or release fewer records"
    if law is None:
        beside = " beside the model" if others else ""
        raise InvalidInput(
            f"the budget of the seeds must let records pass from some number of plausible seeds on, but at epsilon "
            f"{float(epsilon or 0):g} none passes{beside} with {float(entry.attempts_per_row):.3g} attempts per row; "
            f"{remedy}."
        )
    if law.half > entry.public_rows:
        raise InvalidInput(
            f"records must be able to pass, but even odds need {law.half:,} plausible seeds, and synthesis.public_rows "
            f"is {entry.public_rows:,}; state more rows if more are read, {remedy}, or use the guarantee seedless."
        )
    return law


def _law_beside(
    entry: Entry, total: float, delta: float, learnt: Sequence[PlannedStep], others: tuple[MechanismEvent, ...]
) -> PassLaw | None:
    """The law of attempts that, with the learner's steps, cost at most a total."""
    spent = [step.guarantee for step in learnt if step.guarantee is not None]
    if without_law(others):
        # The costs are added up.
        total, others, whole = total - sum(each.epsilon for each in spent), (), delta
    else:
        # The delta at which all of them are charged together, to the last digit (step_costs).
        whole, total = sum(each.delta for each in spent) + delta, total / FINENESS if others else total
    return law_within(
        entry.attempts_per_row,
        plausible=entry.plausible,
        epsilon=total * _BELOW,
        delta=whole,
        others=others,
        own_delta=delta,
    )


def _chosen(entry: Entry, law: PassLaw, domain: Domain, given: Mapping[str, Any]) -> tuple[list[str], list[float], int]:
    """The model's order, the shares that it predicts to pass, and the length of the prefix; no row is read.

    Raises:
        RefusedForGood: no attempt is predicted to pass.
    """
    model, rows = given["model"], entry.public_rows
    names = order_of(domain, model)
    shares = passing_shares(domain, model, plausible=law.plausible, law=law.passes, public_rows=rows)
    attempts = float(entry.attempts_per_row * rows)
    return names, shares, chosen_prefix(names, shares, attempts=attempts, omega=entry.omega)


def _foresee(entry: Entry, law: PassLaw, domain: Domain, given: Mapping[str, Any]) -> None:
    """Refuse attempts of which, by the public model, none would pass."""
    _chosen(entry, law, domain, given)


def _index_seeds(
    entry: Entry, law: PassLaw, domain: Domain, counter: Counter, given: Mapping[str, Any], _: StreamOpener
) -> Made:
    names, shares, length = _chosen(entry, law, domain, given)
    tally = counter.count(partial(SeedTally, list(domain.subset(names)), [length]), "seeds")
    omega = len(names) - length
    prefix = document_of(names, shares, length, public_rows=entry.public_rows)
    return Made(
        products={
            "seed_index": SeedIndex.of(tally.prefixes, {omega: 1}),
            **({} if entry.omega is not None else {PREFIX.name: prefix}),
        },
        figures={"resampled_attributes": omega, "predicted_to_pass": shares[length - 1]},
    )


def _open(
    entry: Entry,
    law: PassLaw,
    parameters: Mapping[str, Parameter],
    net: Network,
    index: SeedIndex,
    open_stream: ChunkStreams,
    count_seeded: Callable[[int], None] = lambda _: None,
) -> Draw:
    # The index has one length of prefix; a length that was chosen determines the draws through it.
    length = int(index.arrays.levels[0])

    def draw(chunk: int, wanted: int) -> Codes:
        share = entry.attempts_per_row * wanted / entry.records
        own = dict(parameters)
        attempts = open_stream(mechanism="poisson_attempts", parameters=own, chunk=chunk)
        seeded = release_from_seeds(net, index, law, share, attempts)
        # What follows reads no row.
        public = open_stream(mechanism="fill", parameters=own, chunk=chunk)
        m, more = len(net.domain), ceil(POOL_PER_RECORD * wanted)
        drawn = net.sample_evenly(public.take(more * m))
        drawn = net.matched(drawn, public.take(net.words_of_matching(more)))
        coins = wide_words(public, more)
        filled = without_passed(net, law, drawn, length, public_rows=entry.public_rows, coins=coins)
        pool = np.concatenate([seeded, filled])
        if len(pool) < wanted:
            pool = np.concatenate([pool, net.sample(public.take((wanted - len(pool)) * m))])
        goals = goals_for(net, pool, wanted, public)
        places = raked(pool, goals, wanted, order=net.order, words=public.take(words_of_raking(wanted)))
        # Which records passed is what Theorem P covers; how many of them are chosen follows from that, and is public.
        count_seeded(int((places < len(seeded)).sum()))
        chosen = pool[places]
        # Records from seeds come first in the pool; their places must not tell which they are.
        return chosen[np.argsort(wide_words(public, wanted), kind="stable")]

    return draw
