"""Public choices that are best with the real records at hand: the paper's orders, and seeds like real people.

The people here are public. For confidential records, both would be leaks: the paper orders keys by the exact mutual
information and charges nothing for it.
"""

import numpy as np

from deniable.foundation.domain import Codes, Domain
from deniable.learners.pegs.plan import others_in_order


def by_information(domain: Domain, codes: Codes) -> dict[str, tuple[str, ...]]:
    """For each attribute, the others by their mutual information with it, the most informative first.

    Args:
        domain: the domain.
        codes: the real records, shape (rows, m).
    """
    names = domain.names
    return {
        names[i]: tuple(names[j] for j in sorted(others, key=lambda j, i=i: -information(domain, codes, i, j)))  # type: ignore[misc]
        for i, others in enumerate(others_in_order(domain))
    }


def information(domain: Domain, codes: Codes, attribute: int, other: int) -> float:
    """Mutual information of an attribute's values and another's buckets, in nats."""
    buckets = domain.attributes[other].bucket_of[codes[:, other]].astype(np.int64)
    size = domain.bucket_counts[other]
    cells = codes[:, attribute].astype(np.int64) * size + buckets
    joint = np.bincount(cells, minlength=domain.cardinalities[attribute] * size).reshape(-1, size)
    shares = joint / joint.sum()
    apart = shares.sum(axis=1, keepdims=True) * shares.sum(axis=0, keepdims=True)
    here = shares > 0
    return float((shares[here] * np.log(shares[here] / apart[here])).sum())


def from_marginals(domain: Domain, codes: Codes) -> dict[str, list[int]]:
    """Weights by which the values of seeds are drawn as often as real people have them, and never not at all."""
    return {
        attribute.name: np.maximum(np.bincount(codes[:, place], minlength=attribute.cardinality), 1).tolist()
        for place, attribute in enumerate(domain.attributes)
    }
