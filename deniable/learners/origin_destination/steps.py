"""The steps of this learner: totals are measured if they are not public, and all destinations' urns listed."""

from collections.abc import Mapping
from fractions import Fraction
from functools import partial
from typing import Any

from deniable.foundation.domain import Domain
from deniable.foundation.keys import Parameter, StreamOpener
from deniable.foundation.noise import DiscreteLaplace
from deniable.foundation.tables import FamilyCounts
from deniable.learners.origin_destination.plan import TOTALS_QUERY, plan_of, urns_document
from deniable.learners.origin_destination.spec import Entry
from deniable.mechanisms import URNS, Counter, Made, PartDelta, PlannedStep
from deniable.privacy.accounting import best
from deniable.privacy.loss import DiscreteLaplaceEvent, MechanismEvent
from deniable.roles import Role


def totals_events(epsilon: Fraction) -> tuple[MechanismEvent, ...]:
    """The event of measuring the totals: a worker is counted in one of them."""
    return (DiscreteLaplaceEvent(query=TOTALS_QUERY, part="parameters", outputs=1, sensitivity=1, scale=1 / epsilon),)


def steps(entry: Entry, domain: Domain, _: PartDelta) -> tuple[PlannedStep, ...]:
    """Plan the steps of a spec; see `deniable.learners.registry.steps_of`."""
    decides: dict[str, Parameter] = {
        "learner": entry.kind,
        "privacy": entry.privacy,
        "epsilon": entry.epsilon,
        "delta": entry.delta,
        "bound": entry.bound,
        "coarsen": entry.coarsen,
        "accept_reject": entry.accept_reject,
    }
    if entry.totals_epsilon is None:
        listed = PlannedStep(
            name=Role.STRUCTURE,
            part=None,
            parameters=decides,
            shown=decides,
            makes=(URNS,),
            run=partial(_list, entry, domain),
        )
        return (listed,)
    events = totals_events(entry.totals_epsilon)
    measured = PlannedStep(
        name=Role.PARAMETERS,
        part="parameters",
        events=events,
        guarantee=best(events, 0),
        parameters=decides | {"totals_epsilon": entry.totals_epsilon},
        shown=decides,
        makes=(URNS,),
        run=partial(_measure, entry, domain),
    )
    return (measured,)


def _list(entry: Entry, domain: Domain, _: Counter, __: Mapping[str, Any], ___: StreamOpener) -> Made:
    plan = plan_of(dict(entry), domain)
    return Made(products={URNS.name: urns_document(dict(entry), domain, plan, plan.totals or ())})


def _measure(entry: Entry, domain: Domain, counter: Counter, _: Mapping[str, Any], open_stream: StreamOpener) -> Made:
    place = domain.index(entry.destination)
    counts = counter.count(partial(FamilyCounts, domain, ((),) * len(domain)), "totals").tables[place].ravel()
    law = DiscreteLaplace(1 / Fraction(entry.totals_epsilon or 1))
    parameters: dict[str, Parameter] = {"scale": law.scale, "domain": domain.digest}
    noisy = counts + law.sample(open_stream(mechanism="totals", parameters=parameters), len(counts))
    plan = plan_of(dict(entry), domain)
    return Made(products={URNS.name: urns_document(dict(entry), domain, plan, noisy.tolist())})
