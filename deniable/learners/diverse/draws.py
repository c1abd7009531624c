"""The counts and the draws of this learner; see `deniable.mechanisms.ChargedDraws`."""

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from deniable.foundation.domain import Codes, Domain
from deniable.learners.diverse.diversity import diverse_priors
from deniable.learners.diverse.plan import EVENTS
from deniable.learners.diverse.spec import Entry
from deniable.learners.pegs.draws import count_by_keys, urns_of
from deniable.learners.pegs.plan import require_memory
from deniable.mechanisms import Arrays, ChargedDraws, ChunkStreams, Draw
from deniable.models.urns import EVEN, draw_blocks

if TYPE_CHECKING:
    from deniable.foundation.keys import Parameter


def draws(entry: Entry, domain: Domain, *, records: int, chunk: int) -> ChargedDraws:
    """Plan the draws; see `deniable.learners.registry.draws_of`.

    Raises:
        InvalidInput: the tables may be too large.
    """
    require_memory(domain, entry.key_cells)
    sensitive = entry.sensitive or domain.names
    parameters: dict[str, Parameter] = {
        "learner": entry.kind,
        "diversity": entry.diversity,
        "sensitive": list(sensitive),
        "records": records,
        "chunk_candidates": chunk,
    }
    priors = partial(_priors, domain, float(entry.diversity), sensitive)
    return ChargedDraws(
        events=EVENTS,
        is_private=False,
        parameters=parameters,
        count=partial(count_by_keys, domain),
        open=partial(_open, domain, priors),
        internal=lambda tables: {"rows_drawn_evenly": float(sum((each == EVEN).sum() for each in priors(tables)))},
    )


def _priors(domain: Domain, diversity: float, sensitive: tuple[str, ...], tables: Arrays) -> Arrays:
    """The prior weight of each row of each attribute; 0 for attributes that are not sensitive."""
    return [
        diverse_priors(table, diversity) if name in sensitive and table.shape[1] > 1 else np.zeros(len(table), np.int64)
        for name, table in zip(domain.names, tables, strict=True)
    ]


def _open(
    domain: Domain, priors: "partial[Arrays]", document: Mapping[str, Any], tables: Arrays, open_stream: ChunkStreams
) -> Draw:
    urns = urns_of(domain, document, tables, priors(tables))

    def draw(chunk: int, candidates: int) -> Codes:
        return draw_blocks(open_stream(mechanism="diverse_urns", parameters={}, chunk=chunk), urns, candidates)

    return draw
