"""A log-linear network over codes: an order, and for each attribute small tables of log factors.

Drawing values, in integers only (kernels), and learning the tables do not belong here.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import ceil, log2
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.foundation.domain import Codes, Domain
from deniable.foundation.errors import InvalidInput
from deniable.models.document_formats import LOGLINEAR, LOGLINEAR_WITHOUT_TABLES
from deniable.models.loglinear.factors import LEADING, STEPS, WITHIN, Logs, LogTable, merged, running_within
from deniable.models.loglinear.flat_tables import Attributes, strides_of
from deniable.models.loglinear.kernels import LoglinearArrays, all_ends, sample, slack_of
from deniable.models.loglinear.matching import WHOLE, PairTable, matched, words_of_matching
from deniable.models.loglinear.stratified_sampling import Strata, no_strata, strata
from deniable.models.loglinear.vectors import LANES, row_width
from deniable.models.raking import Goals
from deniable.models.sequential_model import SequentialModel, places, require_format, starts

LARGEST_LOG = 1 << 24
"""Bound on the logarithms, 4096 bits."""
_MOST_FACTORS = 1 << 7
"""One less than this number of logarithms always sum to a 32-bit integer."""

# Running sums are precomputed if their table stays in the processor's cache.
_READY_CELLS = 1 << 17


@dataclass(frozen=True, eq=False)
class LoglinearNet(SequentialModel):
    """A product of log-linear conditional distributions along an order: Pr{x} = prod_i Pr{x_i | earlier buckets}.

    The factors determine the bucket, and weights the value within it; these may depend on the bucket of one other
    attribute, the guide, so that an attribute that recodes another also agrees with it within buckets.

    Attributes:
        domain: the table's domain, m attributes.
        order: column number of the attribute at each position, shape (m,).
        buckets: bucket of each value of each attribute.
        guides: for each attribute, the column number of the attribute on whose bucket its weights depend, or None.
        within: weights of the values, shape (buckets of the guide, cardinality) or (1, cardinality); in each row,
            those of each bucket sum to 2^30.
        factors: the factors of each attribute, by column number; the first has no parents.
        tables: the two-way tables that it was made of, the targets of `matched`.
    """

    domain: Domain
    order: NDArray[np.int64]
    buckets: tuple[Codes, ...]
    guides: tuple[int | None, ...]
    within: tuple[NDArray[np.int64], ...]
    factors: tuple[tuple[LogTable, ...], ...]
    tables: tuple[PairTable, ...] = ()

    def __post_init__(self) -> None:
        """Refuse an invalid network: children ordered before parents, tables of another shape or size."""
        place = places(self.order.tolist(), len(self.domain))
        if len(self.guides) != len(self.domain):
            raise InvalidInput("a network must state for each attribute its guide or that it has none.")
        for table in self.tables:
            shape = tuple(self.size(i) for i in table.attributes)
            if table.shares.shape != shape or bool((table.shares < 0).any()) or int(table.shares.sum()) > 2 * WHOLE:
                raise InvalidInput(f"a table of a network must have shape {shape} and shares of 2^24; learn it again.")
        for i, name in enumerate(self.domain.names):
            self._require_weights(i, place)
            if len(self.factors[i]) >= _MOST_FACTORS:
                raise InvalidInput(f"the attribute {name} must have less than {_MOST_FACTORS} factors; learn it again.")
            if not self.factors[i]:
                raise InvalidInput(f"the attribute {name} must have a factor; learn it again.")
            for factor in self.factors[i]:
                shape = tuple(self.size(other) for other in (*factor.parents, i))
                if any(place[other] >= place[i] for other in factor.parents):
                    raise InvalidInput(f"the parents of {name} must come before it in the order; order it again.")
                if factor.logs.shape != shape or bool((np.abs(factor.logs.astype(np.int64)) > LARGEST_LOG).any()):
                    raise InvalidInput(f"a factor of {name} must have shape {shape} and entries of at most 2^24.")

    def _require_weights(self, attribute: int, place: dict[int, int]) -> None:
        name, guide, bucket = self.domain.names[attribute], self.guides[attribute], self.buckets[attribute]
        if guide is not None and place.get(guide, place[attribute]) >= place[attribute]:
            raise InvalidInput(f"the guide of {name} must be one that comes before it in the order; order it again.")
        shape = (1 if guide is None else self.size(guide), self.domain.cardinalities[attribute])
        within = self.within[attribute]
        if within.shape != shape or bucket.shape != shape[1:]:
            raise InvalidInput(f"the values of {name} must have a bucket each and weights of shape {shape}.")
        sums = np.stack([np.bincount(bucket, weights=row) for row in within])
        if bool((sums != WITHIN).any()) or bool((within < 0).any()):
            raise InvalidInput(f"the values of {name} must have weights that sum to 2^30 in each bucket.")

    def size(self, attribute: int) -> int:
        """Number of buckets of an attribute."""
        return int(self.buckets[attribute].max()) + 1

    @property
    def edges(self) -> dict[int, Attributes]:
        """The attributes on which each attribute's distribution depends, by column number."""
        found = {}
        for i, guide in enumerate(self.guides):
            others = {other for factor in self.factors[i] for other in factor.parents}
            found[i] = tuple(sorted(others if guide is None else others | {guide}))
        return found

    @cached_property
    def arrays(self) -> LoglinearArrays:
        """The network as flat arrays, positions in its order."""
        place = places(self.order.tolist(), len(self.domain))
        every = [self.size(j) for j in range(len(self.domain))]
        groups = [merged(self.factors[i], every, _READY_CELLS) for i in self.order]
        flat = [LogTable(group.parents, _padded(group.logs)) for those in groups for group in those]
        sizes = np.asarray([self.size(i) for i in self.order], np.int64)
        members = [np.argsort(self.buckets[i], kind="stable") for i in self.order]
        inside = [np.bincount(self.buckets[i]) for i in self.order]
        guides = [self.guides[i] for i in self.order]
        low, high = zip(*(running_within(self.buckets[i], self.within[i]) for i in self.order), strict=True)
        slacks = [
            slack_of(size, int(counts.max()), [group.logs for group in those])
            for size, counts, those in zip(sizes.tolist(), inside, groups, strict=True)
        ]
        factors = [
            _factors(group.logs, is_used=slack > 0)
            for slack, those in zip(slacks, groups, strict=True)
            for group in those
        ]
        member_start, begun = [], 0
        for counts in inside:
            member_start.append(begun + np.concatenate([[0], np.cumsum(counts)]))
            begun += int(counts.sum())
        # Eight are read at a time, of the last ones too.
        upto = np.concatenate(
            [
                *(own.reshape(-1, len(each))[:, each].ravel() for own, each in zip(high, members, strict=True)),
                np.full(LANES, WITHIN),
            ]
        ).astype(np.int32)
        arrays = LoglinearArrays(
            size=sizes,
            shift=np.asarray([ceil(log2(size)) for size in sizes], np.int64),
            group_start=starts([len(those) for those in groups], closed=True),
            table_start=starts([group.logs.size for group in flat]),
            parent_start=starts([len(group.parents) for group in flat], closed=True),
            parent=np.asarray([place[other] for group in flat for other in group.parents], np.int64),
            stride=np.asarray(
                [stride for group in flat for stride in strides_of(group.logs.shape)[:-1].tolist()], np.int64
            ),
            # Places beside the last records stand at the first row, which may be shorter than the one that is read.
            logs=np.concatenate([*(group.logs.ravel() for group in flat), np.zeros(row_width(sizes.max()), np.int32)]),
            ready=np.full(len(sizes), -1, np.int64),
            ends=np.zeros(0, np.uint32),
            factors=np.concatenate([*(own.ravel() for own in factors), np.zeros(row_width(sizes.max()), np.float32)]),
            slack=np.asarray(slacks, np.float32),
            leading=LEADING,
            value_start=starts([len(self.buckets[i]) for i in self.order]),
            bucket=np.concatenate([self.buckets[i] for i in self.order]).astype(np.int32),
            within_start=starts([self.within[i].size for i in self.order]),
            guide=np.asarray([0 if guide is None else place[guide] for guide in guides], np.int64),
            guide_stride=np.asarray(
                [0 if guide is None else len(self.buckets[i]) for i, guide in zip(self.order, guides, strict=True)],
                np.int64,
            ),
            low=np.concatenate(low).astype(np.int32),
            high=np.concatenate(high).astype(np.int32),
            upto=upto,
            part=(upto / WITHIN).astype(np.float32),
            bucket_start=starts([len(counts) + 1 for counts in inside]),
            member_start=np.concatenate(member_start).astype(np.int64),
            member=np.concatenate(members).astype(np.int32),
        )
        ready, ends, begun = arrays.ready.copy(), [np.full(1, 0xFFFFFFFF, np.uint32)], 1
        for position, those in enumerate(groups):
            if len(those) == 1 and those[0].logs.size <= _READY_CELLS:
                table = np.empty((those[0].logs.size // sizes[position], row_width(sizes[position])), np.uint32)
                all_ends(arrays, position, table)
                ready[position] = begun
                ends.append(table.ravel())
                begun += table.size
        return arrays._replace(ready=ready, ends=np.concatenate(ends))

    def fill(self, words: NDArray[np.uint32], records: Codes) -> None:
        """Fill records, positions in order, from one word per value."""
        sample(self.arrays, no_strata(), words, np.arange(len(self.domain)), _nothing_given(records), records)

    @cached_property
    def strata(self) -> Strata:
        """The strata of stratified records."""
        order, sizes = self.order.tolist(), [self.size(i) for i in range(len(self.domain))]
        return strata(self.factors, sizes, order, places(order, len(order)))

    def sample_evenly(self, words: NDArray[np.uint32]) -> Codes:
        """Draw stratified records, which vary less than independent ones; see `SequentialModel`."""
        records = np.empty((len(words) // len(self.domain), len(self.domain)), np.uint16)
        sample(self.arrays, self.strata, words, self.order, _nothing_given(records), records)
        return records

    @property
    def completes_evenly(self) -> bool:
        """Whether prefixes are completed by stratified values; see `SequentialModel`."""
        return True

    def complete_evenly(self, prefixes: Codes, words: NDArray[np.uint32]) -> Codes:
        """Complete prefixes by stratified values; see `SequentialModel`."""
        records = np.empty((len(prefixes), len(self.domain)), np.uint16)
        sample(self.arrays, self.strata, words, self.order, prefixes, records)
        return records

    @property
    def has_pair_goals(self) -> bool:
        """Whether the network was made of tables of pairs; see `SequentialModel`."""
        return bool(self.tables)

    def pair_goals(self, codes: Codes) -> Goals:
        """The denoised tables of pairs, by buckets; see `SequentialModel`."""
        columns = [bucket[column] for bucket, column in zip(self.buckets, codes.T, strict=True)]
        pairs = [(table.attributes[0], table.attributes[1]) for table in self.tables]
        return Goals(np.stack(columns), pairs, [table.shares.astype(np.float64) for table in self.tables])

    def words_of_matching(self, records: int) -> int:
        """Number of words that `matched` takes for a number of records."""
        return words_of_matching(self.tables, self._guided, records)

    def matched(self, codes: Codes, words: NDArray[np.uint32]) -> Codes:
        """The records after exchanges that bring two-way tables nearer to the network's; see matching."""
        return matched(codes, self.tables, self.buckets, self._guided, words)

    @property
    def _guided(self) -> set[int]:
        """Attributes that agree with another one value by value: those with a guide, and the guides."""
        return {i for pair in enumerate(self.guides) if pair[1] is not None for i in pair if i is not None}

    def document(self) -> dict[str, Any]:
        """The network in names and integers, ready for JSON."""
        names = self.domain.names
        return {
            "format": LOGLINEAR,
            "steps": STEPS,
            "order": [names[i] for i in self.order],
            "attributes": {
                name: {
                    "buckets": self.buckets[i].tolist(),
                    "guide": None if (guide := self.guides[i]) is None else names[guide],
                    "within": self.within[i].tolist(),
                    "factors": [
                        {"parents": [names[other] for other in factor.parents], "logs": factor.logs.tolist()}
                        for factor in self.factors[i]
                    ],
                }
                for i, name in enumerate(names)
            },
            "tables": [
                {"attributes": [names[i] for i in table.attributes], "shares": table.shares.tolist()}
                for table in self.tables
            ],
        }

    @classmethod
    def from_document(cls, domain: Domain, document: Mapping[str, Any]) -> "LoglinearNet":
        """The network that a document describes.

        Raises:
            InvalidInput: the format is different, or the document does not describe a network over this domain.
        """
        form = require_format(document, LOGLINEAR, LOGLINEAR_WITHOUT_TABLES)
        tables = document["tables"] if form == LOGLINEAR else []
        own = [document["attributes"][name] for name in domain.names]
        return cls(
            domain=domain,
            order=np.asarray([domain.index(name) for name in document["order"]], np.int64),
            buckets=tuple(np.asarray(entry["buckets"], np.uint16) for entry in own),
            guides=tuple(None if entry["guide"] is None else domain.index(entry["guide"]) for entry in own),
            within=tuple(np.asarray(entry["within"], np.int64) for entry in own),
            factors=tuple(
                tuple(
                    LogTable(domain.subset(factor["parents"]), np.asarray(factor["logs"], np.int32))
                    for factor in entry["factors"]
                )
                for entry in own
            ),
            tables=tuple(
                PairTable(domain.subset(table["attributes"]), np.asarray(table["shares"], np.int64)) for table in tables
            ),
        )


def _nothing_given(records: Codes) -> Codes:
    return np.empty((len(records), 0), np.uint16)


def _padded(logs: Logs) -> Logs:
    """A table with rows padded by their first entry, which leaves their largest as it is."""
    size = logs.shape[-1]
    wide: Logs = logs[..., [*range(size), *[0] * (row_width(size) - size)]]
    return wide


def _factors(logs: Logs, *, is_used: bool) -> NDArray[np.float32]:
    """The powers of 2 of a table's entries, in rows padded by zeros; zeros if they are not used."""
    size = logs.shape[-1]
    found = np.zeros((*logs.shape[:-1], row_width(size)), np.float32)
    if is_used:
        found[..., :size] = np.exp2(logs / STEPS)
    return found
