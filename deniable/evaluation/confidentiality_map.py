"""The distances on an R-U confidentiality map: between the marginals of a synthetic and of a real table.

They are functions of real records without noise, hence internal figures. The map's other axis, the cost of a table,
does not belong here; the distance of regressions is in benchmarks.regressions.

Source: Duncan, Keller-McNulty, Stokes 2001 (R-U maps); Park, Ghosh, Shankar 2013, section 4.3, which defines these
distances.
"""

import numpy as np
from numpy.typing import NDArray

from deniable.foundation.domain import Codes, Domain
from deniable.foundation.errors import InvalidInput


def marginal_distance(domain: Domain, real: Codes, synthetic: Codes) -> float:
    """Mean over the attributes of the total variation distance of their marginals; the L1 distance is twice that.

    Args:
        domain: the tables' domain, m attributes.
        real: codes, shape (rows, m).
        synthetic: codes, shape (records, m).
    """
    sizes = domain.cardinalities
    return float(np.mean([_total_variation(real[:, i], synthetic[:, i], size) for i, size in enumerate(sizes)]))


def conditional_distance(domain: Domain, real: Codes, synthetic: Codes, given: int, *, bucketed: bool = False) -> float:
    """Mean total variation distance of the other attributes' marginals given one, weighted by its real shares.

    A value that no synthetic record has counts as a distance of 1.

    Args:
        domain: the tables' domain, m attributes.
        real: codes, shape (rows, m).
        synthetic: codes, shape (records, m).
        given: column number of the conditioning attribute.
        bucketed: whether to condition on its buckets instead of its values.

    Raises:
        InvalidInput: there is no real record, or no other attribute.
    """
    if len(real) == 0 or len(domain) == 1:
        raise InvalidInput("a conditional distance must have real records and two attributes, got none of these.")
    groups = domain.attributes[given].bucket_of if bucketed else np.arange(domain.cardinalities[given])
    there, here = groups[real[:, given]], groups[synthetic[:, given]]
    others = [(i, size) for i, size in enumerate(domain.cardinalities) if i != given]
    found = 0.0
    for value in np.unique(there):
        one, other = real[there == value], synthetic[here == value]
        far = [_total_variation(one[:, i], other[:, i], size) if len(other) else 1.0 for i, size in others]
        found += len(one) / len(real) * float(np.mean(far))
    return found


def _total_variation(one: NDArray[np.integer], other: NDArray[np.integer], values: int) -> float:
    shares = [np.bincount(column, minlength=values) / max(len(column), 1) for column in (one, other)]
    return float(np.abs(shares[0] - shares[1]).sum() / 2)
