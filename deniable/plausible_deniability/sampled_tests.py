"""Privacy test 2 with plausible seeds counted in a random sample of the rows: its law, and the cost of an attempt.

Source: Bindschaedler, Shokri, Gunter 2017, section 5, end the count early: at `max_plausible` plausible seeds, or
after `max_check_plausible` rows in random order. Their argument that Theorem 1 is unaffected does not extend to
Theorem A, which makes many candidates affordable. The account here is derived below.

A limit on the count. Let q be the probability of passing with a number of plausible seeds, and K the limit; a candidate
passes with probability q(min(c, K)). Theorem A and the exact form of Theorem 1 use only that q is non-decreasing and
depends on nothing but the number of rows in the candidate's own bucket. For c < K nothing changes. For c >= K the
bracket of u is q(K) (1 - (a - 1) c x), at most its value at c = K, which is at most the value without a limit, since
q(K + 1) >= q(K); and the bracket of w is S (1 - q(K)) (1 / W - a / W'), which is at most the share S / W of these rows
times s, as for rows whose bucket did not change. Hence a limit of at least k costs nothing, and the charge is the
same.

A random order. Inclusion among the first s of n rows in random order is not independent across rows: an additional row
displaces others, including those of other buckets, so that candidates of other rows fail more often. Adding a row then
changes "no output" by up to s (1 - e^-eps0) / n instead of 1 / n, and removing one lowers the probability of every
record by up to this share. Here, therefore, each row is scored with a public probability p = max_check_plausible / N0,
independently across rows and candidates. Then the number found in a bucket of c rows is binomial (c, p), whatever the
rows in other buckets, and

    q~(c) = E[q(min(Bin(c, p), K))]

is non-decreasing and depends on c alone: Theorem A and the exact form of Theorem 1 hold with q~ instead of q.

The two suprema over c are computed up to a C at which Pr[Bin(C, p) < M] <= e^-60, where M is K, or k + 60 / eps0 if
that is smaller. In the second case q(M) replaces q at all larger counts, an error of at most e^-60. From C on q~
varies by at most 2 e^-60, so that there (S + pi) q~(c+1) - a S q~(c) <= pi (1 - (a - 1) C x q~(C)) + 2 e^-60 S, where
pi is the probability of the record under the added row, and S f(c) / W - a S f(c+1) / W' <= (S / W) (2 e^-60 + s) with
f = 1 - q~. The shares S / W sum to at most 1: 4 e^-60, added once to both curves, covers all of this.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from math import ceil, exp, log1p

import numpy as np
from numpy.typing import NDArray

from deniable.foundation.errors import InvalidInput
from deniable.plausible_deniability.privacy_tests import (
    EXACT,
    fail_probability,
    highest_of_falling_lines,
    pass_probability,
)
from deniable.privacy.composition import require_delta
from deniable.privacy.loss import Guarantee, SampledTestEvent

Floats = NDArray[np.float64]

_REACH = 60.0
_NEVER = exp(-_REACH)
_TAIL = 4 * _NEVER
# Exceeds the accumulated relative floating-point errors of the binomial laws.
_ROUNDING = 1e-6
_MOST_STEPS = 2_000_000_000
_DECIMALS = 10**6


@dataclass(frozen=True, eq=False)
class SampledLaw:
    """Probabilities of passing and of failing, given 0 to C plausible seeds among all rows.

    Attributes:
        passes: q~(c), shape (C + 1,).
        fails: 1 - q~(c), to full relative precision, shape (C + 1,).
        rises: q~(c + 1) - q~(c), to full relative precision, shape (C,).
    """

    passes: Floats
    fails: Floats
    rises: Floats


@lru_cache(16)
def law_of(event: SampledTestEvent) -> SampledLaw:
    """The law of the test's decision.

    Raises:
        InvalidInput: the number of relevant counts is so large that the computation would take minutes.
    """
    k, eps0, p = event.k, event.eps0, float(event.check_probability)
    most = k + ceil(_REACH / eps0)
    if event.max_plausible:
        most = min(most, event.max_plausible)
    # Nothing beyond the mean plus nine standard deviations, or beyond the reach, is needed.
    if (most + 9 * most**0.5 + 100) / p * most > _MOST_STEPS:
        raise InvalidInput(
            f"max_check_plausible must be a larger share of public_rows for the cost to be computed, got about {p:.2g} "
            f"for k = {k} and eps0 = {float(eps0):g}; raise it, or raise eps0."
        )
    counts = np.arange(most + 1)
    passing, failing = pass_probability(counts, k=k, eps0=eps0), fail_probability(counts, k=k, eps0=eps0)
    # Differences of probabilities near 0 or 1, without loss of digits; beyond the last count they are 0.
    rising = np.append(np.where(counts[:-1] < k, np.diff(passing), -np.diff(failing)), 0.0)
    found = np.zeros(most + 1)
    found[0] = 1.0
    passes, fails, rises = [float(passing[0])], [float(failing[0])], []
    while float(found[:most].sum()) > _NEVER:
        rises.append(p * float((found * rising).sum()))
        moved = p * found
        moved[most] = 0.0
        found[:most] *= 1 - p
        found[1:] += moved[:-1]
        passes.append(float((found * passing).sum()))
        fails.append(float((found * failing).sum()))
    return SampledLaw(np.asarray(passes), np.asarray(fails), np.asarray(rises))


def _lines(event: SampledTestEvent) -> Iterator[tuple[Floats, Floats]]:
    """For each x, the line in a - 1 of each count: its height at 0 and its negative slope."""
    law = law_of(event)
    counts, gamma = np.arange(len(law.rises)), float(event.ratio)
    for x in {1 / gamma, gamma}:
        heights = law.passes[1:] + x * counts * law.rises
        yield (
            np.append(heights, 1.0) * (1 + _ROUNDING),
            np.append(x * counts * law.passes[:-1], x * len(counts) * law.passes[-1]) * (1 - _ROUNDING),
        )


def sampled_curves(event: SampledTestEvent, epsilons: Floats) -> tuple[Floats, Floats]:
    """Theorem A for q~: bounds on the privacy curve of one attempt, on records and "no output" together.

    Args:
        event: Mechanism 1*.
        epsilons: at least 0, ascending, shape (points,).

    Returns:
        Bounds for adding and for removing a row, each of shape (points,); see `seed_accounting.attempt_curves`.
    """
    law, places, drop = law_of(replace(event, outputs=1)), event.public_rows, float(event.drop_probability)
    excess, tail = np.expm1(epsilons), _TAIL
    released = np.zeros(len(excess))
    for heights, slopes in _lines(replace(event, outputs=1)):
        released = np.maximum(released, highest_of_falling_lines(heights, slopes, excess))
    added = (1 - drop) * (released / places + tail) + np.maximum(0.0, (1 - drop) / places - drop * excess)

    # f(c) - a r f(c+1) is the rise of q~ minus (a r - 1) f(c+1).
    counts = np.arange(len(law.rises)) * float(event.ratio) * (1 + _ROUNDING)
    beyond_one = (excess * places - 1) / (places + 1)
    failing = highest_of_falling_lines(counts * law.rises, counts * law.fails[1:], beyond_one)
    shrinking = np.maximum(0.0, 1 / places - excess)
    removed = (1 - drop) * shrinking + np.maximum(
        0.0, (1 - drop) * (1 / places + shrinking + failing / places + tail) - drop * excess
    )
    return np.minimum(1.0, added * (1 + _ROUNDING)), np.minimum(1.0, removed * (1 + _ROUNDING))


def sampled_record_guarantee(event: SampledTestEvent, delta: float) -> Guarantee:
    """The smallest epsilon at a given delta, with six decimals, for the record of one attempt: Theorem 1-T for q~.

    Raises:
        InvalidInput: no epsilon suffices at this delta.
    """
    require_delta(delta)
    room = (delta / (1 - float(event.drop_probability)) - _TAIL) * event.public_rows * (1 - _ROUNDING)
    excess = 1 / event.public_rows
    for heights, slopes in _lines(replace(event, outputs=1)):
        over = heights > room
        if bool((slopes[over] == 0).any()):
            raise InvalidInput(
                f"k must be larger for one record to have any epsilon at delta={delta:g}, with "
                f"eps0={float(event.eps0):g} and {event.public_rows:,} public rows, got {event.k}; raise k, eps0 or "
                "delta."
            )
        excess = max(excess, float(((heights[over] - room) / slopes[over]).max(initial=0.0)))
    return Guarantee(ceil(log1p(excess) * _DECIMALS * (1 + _ROUNDING)) / _DECIMALS, delta, EXACT)
