"""Keeps one record per person, so that a guarantee for one record holds for a person with any number of records.

Identifying people and selecting valid rows do not belong here (schemas.table, tasks.data.clean).

**Claim.** Tables are neighbouring if one is the other with all records of one person added or removed. One
record of each person is kept: the one with the smallest of independent uniform words, one per record. Let M be
(epsilon, delta)-differentially private for one record added or removed. Then M applied to the kept records is
(epsilon, delta)-differentially private for one person added or removed.

**Derivation.** Let D' be D with the records of person x. Which record of another person is kept depends only on that
person's records and words, so the kept records K of all others have the same distribution under D and D', and are
independent of the record c of x that is kept under D'. Given K = k and c, the tables k and k + c differ by one record.
So for every set S

    P[M(k + c) in S] <= e^epsilon P[M(k) in S] + delta   and   P[M(k) in S] <= e^epsilon P[M(k + c) in S] + delta.

Averaged over c and K, the left sides become P[M(D') in S] and P[M(D) in S], and the right sides follow; a person
without a valid record changes nothing. Nothing but its guarantee was assumed of M, so composition, noise and sampling
are the same as for records: each person's kept record is assigned to at most one part of a split, independently of the
others, as `composition.joint_split` requires.

Two records per person could not be kept with the noise for one: a count could change by two, and a split that assigned
them separately would read the person more often than its probability states. More than one is therefore refused.

Source: our own proof of a common step; Amin, Kulesza, Muñoz Medina, Vassilvitskii 2019, "Bounding User Contributions",
compare ways to bound the contribution of one person.
"""

from collections.abc import Iterable, Sequence
from hashlib import sha256
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

_BYTES = 16


def person_keys(identifiers: Iterable[str]) -> NDArray[np.uint64]:
    """Keys of 128 bits for identifiers; different identifiers have different keys.

    Args:
        identifiers: the identifiers, as text.

    Returns:
        The keys, shape (identifiers, 2).
    """
    digests = b"".join(sha256(identifier.encode()).digest()[:_BYTES] for identifier in identifiers)
    return np.frombuffer(digests, "<u8").reshape(-1, 2).astype(np.uint64)


def kept_records(people: NDArray[np.uint64], words: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Choose one record of each person, each with the same probability.

    Args:
        people: key of each record's person, shape (records, 2).
        words: an independent uniform word for each record, shape (records,).

    Returns:
        Whether each record is kept: it has the smallest word of its person, or is the first of several with that word.
        Equal 64-bit words among r records have a probability of at most r^2 / 2^65; the choice by the order of the
        records then depends on that person's records too.
    """
    kept = np.zeros(len(words), bool)
    if not len(words):
        return kept
    order = np.lexsort((words, people[:, 1], people[:, 0]))
    sorted_people = people[order]
    is_first = np.concatenate([[True], (sorted_people[1:] != sorted_people[:-1]).any(axis=1)])
    kept[order[is_first]] = True
    return kept


def kept_in_chunks(
    people: Sequence[NDArray[np.uint64]], words: Sequence[NDArray[np.uint64]]
) -> list[NDArray[np.bool_]]:
    """`kept_records` for records in chunks: one record per person across all chunks.

    Args:
        people: key of the person of each record, shape (records, 2) of each chunk.
        words: an independent uniform word for each record, shape (records,) of each chunk.

    Returns:
        Whether each record is kept, shape (records,) of each chunk.
    """
    if not people:
        return []
    kept = kept_records(np.concatenate(people), np.concatenate(words))
    ends = np.cumsum([0, *map(len, words)])
    return [kept[begin:end] for begin, end in pairwise(ends)]
