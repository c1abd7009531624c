"""Disclosure of released records about the half from which they were learnt, measured alike for all learners.

Both figures compare people in the learning half with people in the other half, who were never used. Knowledge of the
population helps equally with both, so the difference is what the records disclose about the people used.
"""

from statistics import fmean
from typing import Final

import numpy as np

from benchmarks.utility import Half
from deniable.evaluation.disclosure import Tables, infer, nearer_to_training
from deniable.foundation.domain import Codes
from deniable.foundation.keys import ReleaseKey

RISKS: Final = {"nearer": "nearer", "guessed": "guessed"}
"""Figures of risk, and their column headings."""
MOST_RELEASED: Final = 10_000
"""Number of released records whose nearest real records are sought."""


def risks(half: Half, records: Codes) -> dict[str, float]:
    """Return the figures of risk for records learnt from the first half.

    `nearer`: the share of 10,000 records whose nearest real record, by the number of differing attributes, is in the
    learning half rather than the other half, with ties counted one half; .5 is harmless. `guessed`: the share of people
    in the learning half for whom an intruder who knows all other attributes guesses one attribute correctly, minus the
    same share in the other half, averaged over attributes; 0 is harmless.

    Args:
        half: the learning half and the other half.
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
