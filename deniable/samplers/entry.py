"""The common part of the samplers' entries in a release spec; each sampler's own entry is in its module `spec`."""

from collections.abc import Mapping
from typing import Annotated, ClassVar

from pydantic import Field, ValidationInfo

from deniable.foundation.spec_values import Count, Strict, domain_known_to

_LARGEST_CHUNK = 100_000_000
LARGEST_K = 10**6


def leaves_a_prefix(omega: int, info: ValidationInfo) -> int:
    """A number of re-sampled attributes, if it leaves one to copy.

    Raises:
        ValueError: it leaves none.
    """
    domain = domain_known_to(info)
    if domain is not None and omega >= len(domain):
        raise ValueError(
            f"must be less than {len(domain)}, the number of attributes, got {omega}; to copy none use seedless"
        )
    return omega


class SamplerEntry(Strict):
    """The method of drawing records: the base class of the samplers' entries.

    Attributes:
        parts: the parts of the rows that the sampler reads.
        steps: the step that computes the source of draws from the rows, with a sentence that describes it.
        tests: whether candidates are tested, so that some may not be released.
        holds_rules: whether its records satisfy the rules of a table if the model's do.
        draws_from_counts: whether records are drawn from exact counts, with every draw charged.
        joins_learner: whether its plan depends on the learner's steps on the same records, with which it is charged.
        why_one_record_each: why no more than one record of each person may be used; empty if several may.
        guarantee: the sampler's name.
        records: the requested number of records.
        chunk_candidates: number of candidates per stream.
    """

    parts: ClassVar[tuple[str, ...]]
    steps: ClassVar[Mapping[str, str]] = {}
    tests: ClassVar[bool] = False
    holds_rules: ClassVar[bool] = True
    draws_from_counts: ClassVar[bool] = False
    joins_learner: ClassVar[bool] = False
    why_one_record_each: ClassVar[str] = ""

    guarantee: str
    records: Count
    chunk_candidates: Annotated[Count, Field(le=_LARGEST_CHUNK)]

    @property
    def attempts(self) -> int:
        """Number of candidates to draw."""
        return self.records

    @property
    def fewest_seeds(self) -> int | None:
        """Smallest number of seeds from which a candidate can be released; None if candidates are not tested."""
        return None
