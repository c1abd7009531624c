"""What is fitted for the draws of this learner, and the draws; see `deniable.mechanisms.ChargedDraws`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from deniable.foundation.domain import Codes, Domain
from deniable.foundation.tables import Counts
from deniable.learners.imputed.plan import imputation_plan, prior_weight, require_mass
from deniable.learners.imputed.regression import Features, fit, integer_probabilities
from deniable.learners.imputed.spec import Entry
from deniable.learners.pegs.plan import DrawsPlan
from deniable.mechanisms import Arrays, ChargedDraws, ChunkStreams, Counter, Draw
from deniable.models.urns import draw_weighted

if TYPE_CHECKING:
    from deniable.foundation.keys import Parameter


@dataclass
class FirstRows:
    """The first records of a part: a tally of nothing but themselves, for the fit.

    Attributes:
        attributes: number of attributes, m.
        most: largest number of records that are kept.
        codes: the records, shape (rows, m).
    """

    attributes: int
    most: int
    codes: Counts = field(init=False)

    def __post_init__(self) -> None:
        """Begin without records."""
        self.codes = np.zeros((0, self.attributes), np.int64)

    def add(self, codes: Codes) -> None:
        """Keep more records, value codes of shape (rows, m)."""
        self.codes = np.concatenate([self.codes, codes[: self.most - len(self.codes)].astype(np.int64)])

    def merge(self, other: "FirstRows") -> None:
        """Keep those of other rows of the same table, in their order."""
        self.codes = np.concatenate([self.codes, other.codes])[: self.most]

    @property
    def arrays(self) -> dict[str, Counts]:
        """The records, to be stored by name."""
        return {"codes": self.codes}

    def restore(self, arrays: Mapping[str, Counts]) -> None:
        """Restore the records from what was stored."""
        self.codes = arrays["codes"]


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
    )


def _fit(domain: Domain, rows: int, counter: Counter, _: Any) -> Arrays:
    codes = counter.count(partial(FirstRows, len(domain), rows), "rows").codes.astype(np.uint16)
    return [fit(domain, attribute, codes) for attribute in range(len(domain))]


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
