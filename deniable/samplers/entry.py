"""The common part of the samplers' entries in a release spec; each sampler's own entry is in its module `spec`."""

from collections.abc import Mapping
from typing import Annotated, ClassVar

from pydantic import Field

from deniable.foundation.spec_values import Count, Strict

_LARGEST_CHUNK = 100_000_000
LARGEST_K = 10**6


class SamplerEntry(Strict):
    """How records are drawn: the base class of each sampler's entry.

    Attributes:
        parts: the parts of the rows that the sampler reads.
        steps: the step that computes from the rows what records are drawn from, with a sentence that describes it.
        tests: whether candidates are tested, so that some may not be released.
        holds_rules: whether its records keep the rules of a table if the model's do.
        draws_from_counts: whether records are drawn from exact counts, every draw charged.
        guarantee: the sampler's name.
        records: the number of records wanted.
        chunk_candidates: candidates that share one stream.
    """

    parts: ClassVar[tuple[str, ...]]
    steps: ClassVar[Mapping[str, str]] = {}
    tests: ClassVar[bool] = False
    holds_rules: ClassVar[bool] = True
    draws_from_counts: ClassVar[bool] = False

    guarantee: str
    records: Count
    chunk_candidates: Annotated[Count, Field(le=_LARGEST_CHUNK)]

    @property
    def attempts(self) -> int:
        """Number of candidates that are drawn."""
        return self.records

    @property
    def fewest_seeds(self) -> int | None:
        """Smallest number of seeds at which a candidate can be released; None if candidates are not tested."""
        return None
