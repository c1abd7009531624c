"""Coded tables as learners read them: the domain that the tools describe, and a counter of rows.

Nothing here imports pandas: a learner that `make bench-peers` measures imports this, and no more than it needs.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from deniable.foundation.domain import Attribute, Codes, Domain


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
