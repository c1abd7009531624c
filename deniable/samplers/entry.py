"""What the entries of samplers in a release spec have in common; each sampler's own is in its module `spec`."""

from collections.abc import Mapping
from typing import Annotated, ClassVar

from pydantic import Field

from deniable.foundation.spec_values import Count, Strict

_LARGEST_CHUNK = 100_000_000
LARGEST_K = 10**6


class SamplerEntry(Strict):
    """How records are drawn: the base of each sampler's entry.

    Attributes:
        parts: the parts of the rows that the sampler reads.
        steps: the step that takes from the rows what records are drawn from, with a sentence that says what it does.
        tests: whether candidates are tested, and some are not released.
        guarantee: the sampler's name.
        records: how many records are wanted.
        chunk_candidates: candidates that share one stream.
    """

    parts: ClassVar[tuple[str, ...]]
    steps: ClassVar[Mapping[str, str]] = {}
    tests: ClassVar[bool] = False

    guarantee: str
    records: Count
    chunk_candidates: Annotated[Count, Field(le=_LARGEST_CHUNK)]

    @property
    def attempts(self) -> int:
        """How many candidates are drawn."""
        return self.records

    @property
    def fewest_seeds(self) -> int | None:
        """How many seeds there must be for a candidate to be released at all; None where none are tested."""
        return None
