"""The fits and the draws of this learner; see `deniable.mechanisms.ChargedDraws`."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from deniable.foundation.domain import Codes, Domain
from deniable.foundation.tables import FirstRows
from deniable.learners.imputed.plan import imputation_plan, prior_weight, require_mass
from deniable.learners.imputed.regression import Features, fit, integer_probabilities, work_of
from deniable.learners.imputed.spec import Entry
from deniable.learners.pegs.plan import DrawsPlan
from deniable.mechanisms import Arrays, ChargedDraws, ChunkStreams, Counter, Draw
from deniable.models.urns import draw_weighted

if TYPE_CHECKING:
    from deniable.foundation.keys import Parameter

PROGRESS = 1000
"""The work of all fits, in the unit in which a fit reports it: thousandths."""


def draws(entry: Entry, domain: Domain, *, records: int, chunk: int) -> ChargedDraws:
    """Plan the draws; see `deniable.learners.registry.draws_of`.

    Raises:
        InvalidInput: the budget is too small.
    """
    plan = imputation_plan(domain, records, entry.epsilon)
    require_mass(domain, plan)
    parameters: dict[str, Parameter] = {
        "learner": entry.kind,
        "priors": list(plan.priors),
        "fit_rows": entry.fit_rows,
        "records": records,
        "chunk_candidates": chunk,
    }
    return ChargedDraws(
        events=plan.events,
        parameters=parameters,
        count=partial(_fit, domain, entry.fit_rows),
        open=partial(_open, domain, plan),
        work=PROGRESS,
    )


def _fit(domain: Domain, rows: int, counter: Counter, _: Any) -> Arrays:
    codes = counter.count(partial(FirstRows, len(domain), rows), "rows").codes.astype(np.uint16)
    attributes = range(len(domain))
    told = _in_thousandths(sum(work_of(domain, attribute, len(codes)) for attribute in attributes), counter)
    return [fit(domain, attribute, codes, told) for attribute in attributes]


def _in_thousandths(work: int, counter: Counter) -> Callable[[int], None]:
    """Report work to a counter as soon as another thousandth is done; a release that is stopped ends there.

    Args:
        work: all of it; if there is none, all is reported at once.
        counter: the counter.
    """
    done = reported = 0
    if not work:
        counter.advance(PROGRESS)

    def told(more: int) -> None:
        nonlocal done, reported
        done += more
        if (now := PROGRESS * done // work) > reported:
            counter.advance(now - reported)
            reported = now

    return told


def _open(
    domain: Domain, plan: DrawsPlan, document: Mapping[str, Any], fitted: Arrays, open_stream: ChunkStreams
) -> Draw:
    seeds = [each["seed_weights"] for each in document["attributes"]]

    def draw(chunk: int, candidates: int) -> Codes:
        parameters: dict[str, Parameter] = {"priors": list(plan.priors)}
        stream = open_stream(mechanism="imputation", parameters=parameters, chunk=chunk)
        codes = np.zeros((candidates, len(domain)), np.uint16)
        for attribute, size in enumerate(domain.cardinalities):
            if size > 1:
                weights = np.asarray(seeds[attribute] or [1] * size, np.int64)
                codes[:, attribute] = draw_weighted(stream, np.broadcast_to(weights, (candidates, size)), 0)
        for attribute, prior in enumerate(plan.priors):
            if prior:
                shares = integer_probabilities(Features(domain, attribute), fitted[attribute], codes)
                codes[:, attribute] = draw_weighted(stream, shares, prior_weight(prior))
        return codes

    return draw
