"""Keeps at most r records per person, so that the contribution of a person with any number of records is bounded.

Identifying people and selecting valid rows do not belong here (schemas.table, tasks.data.clean).

**Claim.** Tables are neighbouring if one is the other with all records of one person added or removed. The r records of
each person with the smallest of independent uniform words, one per record, are kept, or all if there are fewer. Let M
be (epsilon, delta)-differentially private for up to r records added or removed at once. Then M of the records kept is
(epsilon, delta)-differentially private for one person added or removed. For r = 1, M is private for one record; for
more, its guarantee for one record gives one for r (group_privacy).

**Derivation.** Let D' be D with the records of person x. Which record of another person is kept depends on that
person's records and words alone, so the records K of the others that are kept have the same law under D and D', and
are independent of the records c of x that are kept under D'. Given K = k and c, the tables k and k + c differ by at
most r records. So for every set S

    P[M(k + c) in S] <= e^epsilon P[M(k) in S] + delta   and   P[M(k) in S] <= e^epsilon P[M(k + c) in S] + delta.

Averaged over c and K, the left sides become P[M(D') in S] and P[M(D) in S], and the right sides follow; a person
without a valid record changes nothing. Several steps that read the same records compose: K and c are the same in all
of them, and given both, each is private for k and k + c.

**Split.** All records of a person go to the same part: the one that was drawn for the first of them that is kept. Which
record is first depends on that person's records and words alone, and the draws are independent of all records. So
people are assigned with the stated probabilities, each independently of the others, as `composition.joint_split`
requires, whose F_a is then the distribution with c in part a. (A part drawn for each record would be private, too: the
split amplifies the guarantee for one record, and r times that is less than the guarantee here. But then people would be
in the holdout as well as in what is learnt, and figures of risk would be of people who were used.) A person must not be
in a part because any of the records was drawn for it: that happens more often than the probability states.

Two records of a person could not simply be kept with the noise for one: a count may change by two.

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


def kept_records(people: NDArray[np.uint64], words: NDArray[np.uint64], most: int = 1) -> NDArray[np.bool_]:
    """Choose at most `most` records of each person, any so many with the same probability.

    Args:
        people: key of each record's person, shape (records, 2).
        words: an independent uniform word for each record, shape (records,).
        most: the most records of one person that are kept, r.

    Returns:
        Whether each record is kept: its word is among the r smallest of its person; of equal words the first counts.
        Equal 64-bit words among r records have a probability of at most r^2 / 2^65; the choice by the order of the
        records then depends on that person's records too.
    """
    kept = np.zeros(len(words), bool)
    if not len(words):
        return kept
    order = np.lexsort((words, people[:, 1], people[:, 0]))
    sorted_people = people[order]
    # In order of people and words, the r-th record before one that is not kept is of the same person.
    is_another = (sorted_people[most:] != sorted_people[:-most]).any(axis=1)
    is_kept = np.concatenate([np.ones(min(most, len(words)), bool), is_another])
    kept[order[is_kept]] = True
    return kept


def first_records(people: NDArray[np.uint64]) -> NDArray[np.int64]:
    """The place of the first record of each record's person.

    Args:
        people: key of the person of each record, shape (records, 2).

    Returns:
        Places, shape (records,). A record whose person has none before it has its own place.
    """
    first = np.arange(len(people))
    if not len(people):
        return first
    order = np.lexsort((first, people[:, 1], people[:, 0]))
    sorted_people = people[order]
    begins = np.concatenate([[True], (sorted_people[1:] != sorted_people[:-1]).any(axis=1)])
    first[order] = order[begins][np.cumsum(begins) - 1]
    return first


def kept_in_chunks(
    people: Sequence[NDArray[np.uint64]], words: Sequence[NDArray[np.uint64]], most: int = 1
) -> list[NDArray[np.bool_]]:
    """`kept_records` of records that are in chunks, whichever chunks have a person.

    Args:
        people: key of the person of each record, shape (records, 2) of each chunk.
        words: an independent uniform word for each record, shape (records,) of each chunk.
        most: the most records of one person that are kept.

    Returns:
        Whether each record is kept, shape (records,) of each chunk.
    """
    if not people:
        return []
    kept = kept_records(np.concatenate(people), np.concatenate(words), most)
    ends = np.cumsum([0, *map(len, words)])
    return [kept[begin:end] for begin, end in pairwise(ends)]
