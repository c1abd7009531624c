"""Counts the contents of the urns, charges all draws before the first is made, and makes them."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from deniable.foundation.keys import StreamOpener
from deniable.mechanisms import (
    EXACT_COUNTS,
    URNS,
    ChargedDraws,
    Counter,
    Made,
    PartDelta,
    PlannedStep,
    Sampler,
)
from deniable.privacy.accounting import best
from deniable.privacy.loss import NOTHING
from deniable.samplers.per_draw.spec import Entry
from deniable.samplers.per_draw.verification import STEP, TASK


def sampler(entry: Entry, draws: ChargedDraws, delta_of: PartDelta) -> Sampler:
    """Plan the draws of a spec; see `deniable.samplers.registry.sampler_of`."""
    charged = draws.events if draws.is_private else ()
    cost = best(charged, delta_of(entry.delta)) if charged else NOTHING
    prepare = PlannedStep(
        name=STEP,
        part="parameters",
        events=draws.events,
        guarantee=cost if draws.is_private else None,
        parameters=draws.parameters,
        caution=draws.caution,
        is_held=draws.is_held,
        reads=(URNS.name,),
        makes=(EXACT_COUNTS,),
        taken_in=TASK,
        work=draws.work,
        run=partial(_count, draws),
    )
    return Sampler(prepare=prepare, open=draws.open)


def _count(draws: ChargedDraws, counter: Counter, given: Mapping[str, Any], _: StreamOpener) -> Made:
    counts = draws.count(counter, given[URNS.name])
    return Made(products={EXACT_COUNTS.name: counts}, internal=draws.internal(counts))
