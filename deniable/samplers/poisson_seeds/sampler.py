"""Makes all attempts of indexed seeds, fills up with records of the model alone, and chooses records by raking."""

from collections.abc import Mapping
from functools import partial
from math import ceil
from typing import Any

import numpy as np

from deniable.foundation.domain import Codes, Domain
from deniable.foundation.errors import InvalidInput
from deniable.foundation.keys import Parameter, StreamOpener
from deniable.mechanisms import ChunkStreams, Counter, Draw, Made, PartDelta, PlannedStep, Sampler
from deniable.models.model_formats import model_from_document
from deniable.models.raking import raked
from deniable.models.sequential_kernels import Network
from deniable.plausible_deniability.pass_law import PassLaw, law_within
from deniable.plausible_deniability.plausible_seeds import SeedIndex
from deniable.plausible_deniability.poisson_attempts import release_from_seeds, wide_words, without_passed
from deniable.plausible_deniability.seed_prefixes import SeedTally
from deniable.privacy.accounting import best
from deniable.samplers.poisson_seeds.spec import Entry
from deniable.samplers.poisson_seeds.verification import ATTEMPTS_PER_RECORD, STEP
from deniable.samplers.tested_seeds.sampler import SEED_INDEX

_LEAST_TARGET, _MOST_TARGET, _TARGETS_PER_RECORD = 20_000, 400_000, 8
"""Number of records of the model whose two-way tables raking aims at."""
_UNIT = 2.0**-64


def sampler(entry: Entry, domain: Domain, delta_of: PartDelta) -> Sampler:
    """Plan the sampler of a spec; see `deniable.samplers.registry.sampler_of`.

    Raises:
        InvalidInput: no law of passing is within the budget.
    """
    delta = delta_of(entry.delta)
    law = law_of(entry, float(delta))
    event = law.event(entry.attempts_per_row, "seeds")
    parameters: dict[str, Parameter] = {
        "omega": entry.omega,
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
            shown={"omega": entry.omega, "plausible": law.plausible, "half": law.half, "full": law.full},
            reads=("model",),
            makes=(SEED_INDEX,),
            joins_learner=True,
            taken_in="index_seeds",
            run=partial(_index_seeds, domain, entry.omega),
        ),
        open=partial(_open, entry, law, parameters),
    )


def law_of(entry: Entry, delta: float) -> PassLaw:
    """The law of passing that a spec's budget permits.

    Args:
        entry: the entry.
        delta: delta of all attempts for the records that are read.

    Raises:
        InvalidInput: there is none.
    """
    law = law_within(entry.attempts_per_row, plausible=entry.plausible, epsilon=float(entry.epsilon), delta=delta)
    if law is None:
        raise InvalidInput(
            f"the budget of the seeds must let records pass from some number of plausible seeds on, but at epsilon "
            f"{float(entry.epsilon):g} none passes with {float(entry.attempts_per_row):.3g} attempts per row; raise "
            "synthesis.epsilon or synthesis.delta, or release fewer records."
        )
    return law


def _index_seeds(domain: Domain, omega: int, counter: Counter, given: Mapping[str, Any], _: StreamOpener) -> Made:
    order = model_from_document(domain, given["model"]).order.tolist()
    tally = counter.count(partial(SeedTally, order, [len(order) - omega]), "seeds")
    return Made(products={"seed_index": SeedIndex.of(tally.prefixes, {omega: 1})})


def _open(
    entry: Entry,
    law: PassLaw,
    parameters: Mapping[str, Parameter],
    net: Network,
    index: SeedIndex,
    open_stream: ChunkStreams,
) -> Draw:
    def draw(chunk: int, wanted: int) -> Codes:
        share = entry.attempts_per_row * wanted / entry.records
        own = dict(parameters)
        attempts = open_stream(mechanism="poisson_attempts", parameters=own, chunk=chunk)
        seeded = release_from_seeds(net, index, law, share, attempts)
        # What follows reads no row.
        public = open_stream(mechanism="fill", parameters=own, chunk=chunk)
        m, more = len(net.domain), ceil(ATTEMPTS_PER_RECORD * wanted)
        filled = without_passed(
            net,
            law,
            net.sample_evenly(public.take(more * m)),
            m - entry.omega,
            public_rows=entry.public_rows,
            coins=wide_words(public, more),
        )
        pool = np.concatenate([seeded, filled])
        if len(pool) < wanted:
            pool = np.concatenate([pool, net.sample(public.take((wanted - len(pool)) * m))])
        goal = min(max(_LEAST_TARGET, _TARGETS_PER_RECORD * wanted), _MOST_TARGET)
        towards = net.sample_evenly(public.take(goal * m))
        start = float(wide_words(public, 1)[0]) * _UNIT
        chosen = pool[raked(pool, towards, wanted, domain=net.domain, start=min(start, 1 - 2.0**-53))]
        # Records from seeds come first in the pool; their places must not tell which they are.
        return chosen[np.argsort(wide_words(public, wanted), kind="stable")]

    return draw
