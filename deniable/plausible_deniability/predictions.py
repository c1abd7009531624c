"""How many attempts pass, predicted from the public model alone, before anything is charged for them.

A prediction is post-processing of the model: it reads no row. What follows from it (prefix_choice), and the tests
themselves (privacy_tests, pass_law), do not belong here.
"""

# numba infers the types of kernels
# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False, disallow-untyped-decorators=False

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from deniable.foundation.domain import Codes
from deniable.foundation.keys import ReleaseKey
from deniable.kernels import kernel
from deniable.models.sequential_kernels import Network, factor_of

Reals: TypeAlias = NDArray[np.float64]

_RECORDS = 20_000
_PUBLIC: Final = ReleaseKey(bytes(32))
"""A key that everyone knows, so that everyone who has the model can repeat a prediction; no row is drawn with it."""


def predicted_records(net: Network) -> Codes:
    """Records of the model, which stand for rows in predictions, columns as in the domain."""
    words = _PUBLIC.stream(step="predict", mechanism="attempts", inputs="", parameters={})
    return net.sample_evenly(words.take(_RECORDS * len(net.domain)))


def passing_shares(
    net: Network, lengths: Sequence[int], passes: Callable[[Reals], Reals], *, public_rows: int
) -> list[float]:
    """The share of attempts that the model predicts to pass, for each of some lengths of the prefix.

    Attempts start from rows, and so from prefixes in proportion to their rows; records of the model stand for rows.

    Args:
        net: the model.
        lengths: the numbers of attributes copied.
        passes: the probability of passing with some expected numbers of plausible seeds, of the same shape.
        public_rows: a public number of rows.
    """
    probabilities = _of_all_prefixes(net, predicted_records(net), max(lengths))
    return [float(passes(probabilities[:, each] * public_rows).mean()) for each in lengths]


def prefix_probabilities(net: Network, records: Codes, length: int) -> NDArray[np.float64]:
    """Probability under the model of the prefix of each record, shape (records,).

    Args:
        net: the model.
        records: codes, columns as in the domain, shape (records, m).
        length: length of the prefix, L.
    """
    return _of_all_prefixes(net, records, length)[:, length]


def _of_all_prefixes(net: Network, records: Codes, longest: int) -> NDArray[np.float64]:
    """Probabilities of the prefixes of each record by their length, from 0 on, shape (records, longest + 1)."""
    found = np.ones((len(records), longest + 1))
    _multiply(net.arrays, net.in_order(records), found)
    return found


@kernel
def _multiply(net, records, found):
    """Fill in the products of the first factors of each record; the empty product is there."""
    for i in range(len(records)):
        for p in range(found.shape[1] - 1):
            found[i, p + 1] = found[i, p] * factor_of(net, p, records[i])
