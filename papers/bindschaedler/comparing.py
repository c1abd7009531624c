"""The tables that Figures 3 and 4 and Tables 3 and 5 compare with a half of the real records."""

from collections.abc import Mapping
from typing import Final

import numpy as np

from deniable.foundation.domain import Codes
from papers.bindschaedler.people import People, stream_of
from papers.bindschaedler.releases import TABLES, table

RUNS: Final = 5
REALS: Final = "reals"
SHUFFLED: Final = "shuffled reals"
"""A control: real records in which every attribute is in an order of its own, as independent as marginals."""
COPY: Final = "copy of the reals"
"""A control: the records learnt from, in another order, as if they were a release."""
SYNTHETIC: Final = TABLES


def compared(people: People, run: int = 0) -> Mapping[str, Codes]:
    """The first half of the real records, and synthetic tables that are learnt from it.

    Args:
        people: the table.
        run: the run, which has its own noise and records.
    """
    return {REALS: people.halves[0], **{name: table(people, name, of_half=True, number=run) for name in SYNTHETIC}}


def shuffled(people: People, *, of_half: bool = True) -> Codes:
    """See `SHUFFLED`; of the first half, or of seven tenths."""
    reals = (people.halves if of_half else people.parts)[0]
    columns = [
        column[np.argsort(stream_of("shuffled", number).take(len(column)), kind="stable")]
        for number, column in enumerate(reals.T)
    ]
    return np.stack(columns, axis=1)


def copied(people: People, *, of_half: bool = True) -> Codes:
    """See `COPY`; of the first half, or of seven tenths."""
    reals = (people.halves if of_half else people.parts)[0]
    return reals[np.argsort(stream_of("copy").take(len(reals)), kind="stable")]


def mean_and_spread(values: list[float], *, percent: bool = True) -> str:
    """A mean over runs with its standard deviation, in per cent."""
    scale, digits = (100, 1) if percent else (1, 4)
    return f"{scale * np.mean(values):.{digits}f} ± {scale * np.std(values, ddof=min(len(values) - 1, 1)):.{digits}f}"
