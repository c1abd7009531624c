"""How many attempts pass, predicted from the public model alone, before anything is charged for them.

A prediction is post-processing of the model: it reads no row. It needs NumPy alone, and all machines find the same one
to the last digit, so that a verifier recomputes what a release states. What follows from it (prefix_choice), and the
tests themselves (privacy_tests, pass_law), do not belong here.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from deniable.foundation.domain import Domain
from deniable.foundation.keys import ReleaseKey
from deniable.models.conditionals import conditionals_of
from deniable.privacy.loss import PASSES_OUT_OF

Reals: TypeAlias = NDArray[np.float64]

RECORDS: Final = 20_000
"""Number of records of the model that stand for rows."""
_PUBLIC: Final = ReleaseKey(bytes(32))
"""A key that everyone knows, so that everyone who has the model can repeat a prediction; no row is drawn with it."""
_DIGITS: Final = 6
"""The digits of a share that are stated; it is a mean over some thousand records."""


def order_of(domain: Domain, model: Mapping[str, Any]) -> list[str]:
    """All attributes, in the order of the model that a document describes."""
    return [domain.names[column] for column in conditionals_of(domain, model).order]


def expected_rows(domain: Domain, model: Mapping[str, Any], *, public_rows: int) -> Reals:
    """The number of rows that are expected to share the prefix of a row, for many rows and all lengths.

    Args:
        domain: the table's domain, m attributes.
        model: the model's document.
        public_rows: a public number of rows.

    Returns:
        Numbers, shape (m - 1, RECORDS): for prefixes of 1, 2 ... attributes of each of some records of the model, which
        stand for rows.
    """
    length = len(domain) - 1
    words = _PUBLIC.stream(step="predict", mechanism="attempts", inputs="", parameters={}).take(length * RECORDS)
    return conditionals_of(domain, model).prefix_chances(words.reshape(length, RECORDS)) * public_rows


def passing_shares(
    domain: Domain, model: Mapping[str, Any], *, plausible: int, law: Sequence[int], public_rows: int
) -> list[float]:
    """The share of attempts that the model predicts to pass, for each length of the prefix from 1 to m - 1.

    Attempts start from rows, and so from prefixes in proportion to their rows.

    Args:
        domain: the table's domain, m attributes.
        model: the model's document.
        plausible: the floor, below which none passes.
        law: the probability of passing from the floor on, out of 2^64; 1 for every larger number of rows.
        public_rows: a public number of rows.

    Returns:
        Shares rounded to six digits. They are summed in integers.
    """
    table = [0, *law, PASSES_OUT_OF]
    shares = []
    for expected in expected_rows(domain, model, public_rows=public_rows):
        places = np.clip(expected.astype(np.int64) - plausible + 1, 0, len(table) - 1)
        numbers = np.bincount(places, minlength=len(table)).tolist()
        passed = sum(number * passes for number, passes in zip(numbers, table, strict=True))
        shares.append(float(round(Fraction(passed, RECORDS * PASSES_OUT_OF), _DIGITS)))
    return shares
