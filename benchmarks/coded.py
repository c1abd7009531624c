"""Coded tables as learners read them: the domain that the tools describe, and a counter of rows.

Nothing here imports pandas: a learner that `make bench-peers` measures imports this, and no more than it needs.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from deniable.foundation.domain import Attribute, Codes, Domain
from deniable.foundation.keys import ReleaseKey
from deniable.models.sequential_kernels import Network
from deniable.samplers.seedless.sampler import sampler
from deniable.samplers.seedless.spec import Entry


def domain_of(meta: Mapping[str, Any]) -> Domain:
    """Return the domain of a table of codes, in which every value is a bucket.

    Args:
        meta: the description of the columns, as the tools write it.
    """
    return Domain(
        tuple(
            Attribute(
                name,
                tuple(range(column["size"])),
                "numeric" if column["kind"] == "numeric" else "nominal",
                tuple(range(column["size"])),
            )
            for name, column in meta["columns"].items()
        ),
        target=meta["target"],
    )


def of_model(net: Network, key: ReleaseKey, records: int) -> Codes:
    """Return records of a model alone, drawn as in a release of one chunk.

    Args:
        net: the model.
        key: the key.
        records: number of records.
    """
    entry = Entry(guarantee="seedless", records=records, chunk_candidates=records)
    opened = partial(key.stream, step="draw", inputs="benchmark")
    return sampler(entry, net.domain, lambda delta: delta).open(net, None, opened)(0, records)


@dataclass(frozen=True)
class Rows:
    """A counter of rows, which all steps of a learner read."""

    codes: Codes

    def count(self, empty: Callable[[], Any], _: str) -> Any:
        """Count all rows; see `deniable.mechanisms.Counter`."""
        tally = empty()
        tally.add(self.codes)
        return tally

    def advance(self, amount: int) -> None:
        """Report nothing."""
