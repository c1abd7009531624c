"""AIM's scores on small tables of three attributes, with a model that is wrong about all of them."""

from fractions import Fraction
from itertools import product

import numpy as np
from numpy.typing import NDArray

from deniable.foundation.domain import Attribute, Domain
from deniable.learners.aim.scores import score
from deniable.learners.aim.workload import Workload

DOMAIN = Domain(tuple(Attribute(name, ("n", "y"), "nominal", (0, 1)) for name in ("a", "b", "c")))
VARIANCE = Fraction(4)
RECORDS = list(product(range(2), repeat=3))
WEIGHTS = Workload.of(DOMAIN, "pairs").candidates
# In the model everyone is (0, 0, 0): it expects too little of a, and too much of all other values.
EXPECTED = {own: np.zeros([2] * len(own)) for own in WEIGHTS}
for _own, _table in EXPECTED.items():
    _table[(0,) * len(_own)] = 0.3 if 0 in _own else 4.0


def scores_of(records: tuple[tuple[int, ...], ...]) -> NDArray[np.float64]:
    """Return the scores of all candidates."""
    found = []
    for own, weight in WEIGHTS.items():
        counts = np.zeros([2] * len(own), np.int64)
        for record in records:
            counts[tuple(record[i] for i in own)] += 1
        found.append(score(counts, EXPECTED[own], weight, VARIANCE))
    return np.array(found, float)
