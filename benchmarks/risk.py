"""What released records disclose about the half they were learnt from, measured alike for every learner.

Both figures hold people who were learnt from against people of the other half, who never were. What is learnt of a
population helps with both alike, so the difference is what the records disclose about those learnt from.
"""

from statistics import fmean
from typing import Final

import numpy as np

from benchmarks.utility import Half
from deniable.evaluation.disclosure import Tables, infer, nearer_to_training
from deniable.foundation.domain import Codes
from deniable.foundation.keys import ReleaseKey

RISKS: Final = {"nearer": "nearer", "guessed": "guessed"}
"""Figures of risk, and the heads of their columns."""
MOST_RELEASED: Final = 10_000
"""Released records whose nearest real ones are sought."""


def risks(half: Half, records: Codes) -> dict[str, float]:
    """The figures of records that were learnt from the first half.

    `nearer`: share of 10,000 of the records whose nearest real record, by the number of attributes that differ, is in
    the half learnt from and not in the other, ties counted half; .5 is harmless. `guessed`: share of the people of the
    half learnt from for whom an intruder who knows all other attributes of a person guesses one right, less the same
    share of the other half; the mean over attributes; 0 is harmless.

    Args:
        half: what was learnt from, and the other half.
        records: the records.
    """
    stream = ReleaseKey(bytes(32)).stream(step="risks", mechanism="sample", inputs="benchmark", parameters={})
    rows = min(len(half.train), len(half.holdout))

    def some(codes: Codes, most: int) -> Codes:
        return np.ascontiguousarray(codes[np.argsort(stream.take(len(codes)), kind="stable")[:most]].astype(np.uint16))

    real = [some(part.to_numpy(), rows) for part in (half.train, half.holdout)]
    near = Tables(some(records, MOST_RELEASED), real[0], real[1], half.domain.cardinalities)
    tables = Tables(np.ascontiguousarray(records.astype(np.uint16)), real[0], real[1], half.domain.cardinalities)
    columns = range(len(half.domain))
    gains = [infer(tables, known=columns, sensitive=column).attack.excess for column in columns]
    return {"nearer": nearer_to_training(near), "guessed": fmean(gains)}
