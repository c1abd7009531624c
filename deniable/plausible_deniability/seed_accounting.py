"""Total privacy loss of all candidates of a release, for the rows from which seeds are drawn.

The privacy loss of one attempt (privacy_tests) and noisy counts (accounting) do not belong here.
"""

from math import ceil, expm1, inf, log1p

import numpy as np
from numpy.typing import NDArray

from deniable.foundation.errors import InvalidInput
from deniable.plausible_deniability.privacy_tests import (
    NoiseLaw,
    attempt_guarantee,
    best_t,
    counts_that_matter,
    fail_probability,
    highest_of_falling_lines,
    largest_release_gain,
    smallest_drop_probability,
    theorem_1,
)
from deniable.plausible_deniability.sampled_tests import sampled_curves, sampled_record_guarantee
from deniable.privacy.composition import advanced_composition, optimal_composition, require_delta, zcdp_to_epsilon
from deniable.privacy.dominating_pair import composed_epsilon, connect_the_dots
from deniable.privacy.loss import Guarantee, PrivacyTestEvent, SampledTestEvent

# The curve of one attempt is truncated where all attempts together are below this share of delta.
_CUT_SHARE = 1e-3
# Bounds on the curve are raised by this relative amount, which exceeds all rounding errors in them.
_CURVE_ROUNDING = 1e-9
_STEPS_PER_EPS0 = 50
_LARGEST_STEP = 0.002
_MOST_STEPS = 10_000


def compose_candidates(event: PrivacyTestEvent, delta: float) -> dict[str, Guarantee]:
    """Guarantees for all candidates tested, released or not, by each theorem that applies.

    Theorem A is usually the tightest by far; the others compose Theorem 1 candidate by candidate. If plausible seeds
    are counted in a random sample of the rows, only Theorem A is used (sampled_tests).

    Args:
        event: Mechanism 1*, with its number of candidates.
        delta: total delta, in (0, 1).

    Returns:
        For each accountant that can certify a finite epsilon, the guarantee on records and "no output" together.
    """
    require_delta(delta)
    if isinstance(event, SampledTestEvent):
        total = theorem_a_epsilon(event, delta)
        return {"theorem_a": Guarantee(total, delta, "theorem_a")} if total < inf else {}
    found = {
        "basic": _basic(event, delta),
        "advanced": _advanced(event, delta),
        "zcdp": _zcdp(event, delta),
        "pld": _pld(event, delta),
        "theorem_a": theorem_a_epsilon(event, delta),
    }
    return {name: Guarantee(epsilon, delta, name) for name, epsilon in found.items() if epsilon < inf}


def best_for_candidates(event: PrivacyTestEvent, delta: float) -> Guarantee:
    """The tightest guarantee for all candidates tested.

    Raises:
        InvalidInput: no theorem certifies a finite epsilon.
    """
    totals = compose_candidates(event, delta)
    if not totals:
        raise InvalidInput(
            f"no theorem bounds the cost of {event.outputs:,} candidates at delta={delta:g}; test fewer candidates, "
            "raise k or the drop probability, or draw seeds from more public rows."
        )
    return min(totals.values(), key=lambda guarantee: guarantee.epsilon)


def theorem_a_epsilon(event: PrivacyTestEvent, delta: float, *, law: NoiseLaw = "discrete_laplace") -> float:
    """Epsilon of all candidates by Theorem A at a total delta; infinite if it certifies none.

    Args:
        event: Mechanism 1*, with its number of candidates.
        delta: total delta, in (0, 1).
        law: distribution of the noise on k.
    """
    require_delta(delta)
    cut = _where_curve_is_cut(event, _CUT_SHARE * delta / event.outputs, law)
    step = max(min(float(event.eps0) / _STEPS_PER_EPS0, _LARGEST_STEP), cut / _MOST_STEPS)
    added, removed = attempt_curves(event, np.arange(ceil(cut / step) + 1, dtype=np.float64) * step, law=law)
    infinite = max(float(added[-1]), float(removed[-1]))
    if infinite >= 1 or -expm1(event.outputs * log1p(-infinite)) >= delta:
        return inf
    return max(
        composed_epsilon(connect_the_dots(step, forward, backward), times=event.outputs, delta=delta)
        for forward, backward in ((added, removed), (removed, added))
    )


def _where_curve_is_cut(event: PrivacyTestEvent, level: float, law: NoiseLaw) -> float:
    """An epsilon at which the curve of one attempt is at most a given level, or nearly constant."""

    def is_cut(epsilon: float) -> bool:
        return all(float(bound[0]) <= level for bound in attempt_curves(event, np.array([epsilon]), law=law))

    # At this epsilon, adding a row increases the bracket only at count 0.
    low, high = 0.0, float(event.eps0) + log1p(float(event.ratio))
    if is_cut(high):
        while high > max(1.02 * low, float(event.eps0) / _STEPS_PER_EPS0):
            middle = (low + high) / 2
            low, high = (low, middle) if is_cut(middle) else (middle, high)
    return high


def attempt_curves(
    event: PrivacyTestEvent, epsilons: NDArray[np.float64], *, law: NoiseLaw = "discrete_laplace"
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Theorem A: bounds on the privacy curve of one attempt of Mechanism 1*, on records and "no output" together.

    An attempt is dropped with probability rho. Otherwise J is uniform on {1..max(n, N0)}; if J > n there is no output;
    if not, row J is the seed of one candidate, which is released if it passes the test. Let D' = D + d', a = e^epsilon
    >= 1, r = N0 / (N0 + 1), s = max(0, 1 + 1/N0 - a), and

        u(a) = max over c >= 0 and x in {1/gamma, gamma} of q(c+1) (1 + c x) - a c x q(c), or 0,
        w(a) = max over c of c gamma ((1 - q(c)) - a r (1 - q(c+1))), or 0.

    Then, for any number n of rows of D,

        E_a(F(D') || F(D)) <= (1 - rho) u(a) / N0 + max(0, (1 - rho) / N0 - rho (a - 1)),
        E_a(F(D) || F(D')) <= (1 - rho) s + max(0, (1 - rho) (1 / N0 + s + w(a) / N0) - rho (a - 1)).

    Proof. Let W = max(n, N0) and W' = max(n + 1, N0), y a record, p its probability under d', c the rows of D in p's
    bucket and S = c x p the sum of their probabilities. Adding: in the other buckets 1 / W' - a / W <= 0, so F'(y) -
    a F(y) <= (1 - rho) / W' ((S + p) q(c+1) - a S q(c)), which is linear in x, and the p sum to at most 1. No
    output: counts only grow, so no row fails more often, and the new row adds at most 1 / W'; dropping adds rho (1 -
    a). Removing: F(y) - a F'(y) <= F(y) max(0, 1 - a W / W') <= F(y) s. No output: padding contributes at most 1 /
    N0; rows whose bucket did not change s; the changed bucket S ((1 - q(c)) / W - a (1 - q(c+1)) / W'), at most w p /
    N0. Attempts are independent given D and the model, and dominating pairs compose adaptively.

    Given omega. If the number of copied attributes is drawn by public weights w, and the candidate is tested given it,
    so that its plausible seeds are the c rows with the copied prefix, gamma is 1: F = sum over l of w_l F_l with F_l
    the law for a fixed number, for which all plausible seeds give the candidate the same probability. The divergence is
    jointly convex, E_a(sum w_l F'_l || sum w_l F_l) <= sum w_l E_a(F'_l || F_l), and each term keeps to the bounds at
    gamma = 1, which depend on no prefix. This holds also if the number drawn is observed beside the record.

    Args:
        event: Mechanism 1*.
        epsilons: at least 0, ascending, shape (points,).
        law: distribution of the noise on k.

    Returns:
        Bounds for adding and for removing a row, each of shape (points,).
    """
    if isinstance(event, SampledTestEvent):
        return sampled_curves(event, epsilons)
    drop, places, gamma, eps0 = float(event.drop_probability), event.public_rows, float(event.ratio), float(event.eps0)
    excess = np.expm1(epsilons)
    released = largest_release_gain(excess, k=event.k, gamma=gamma, eps0=eps0, law=law) / places
    silent = (1 - drop) / places - drop * excess
    added = (1 - drop) * released + np.maximum(0.0, silent)

    counts = counts_that_matter(event.k, eps0)
    fails = counts * gamma * fail_probability(counts, k=event.k, eps0=eps0, law=law)
    fails_after = counts * gamma * fail_probability(counts + 1, k=event.k, eps0=eps0, law=law)
    discount = (1 + excess) * places / (places + 1)
    # Beyond the last count c (1 - q(c)) decreases, and is added in full.
    failing = highest_of_falling_lines(fails, fails_after, discount) + fails[-1]
    shrinking = np.maximum(0.0, 1 / places - excess)
    removed = (1 - drop) * shrinking + np.maximum(
        0.0, (1 - drop) * (1 / places + shrinking + failing / places) - drop * excess
    )
    return np.minimum(1.0, added * (1 + _CURVE_ROUNDING)), np.minimum(1.0, removed * (1 + _CURVE_ROUNDING))


def record_guarantee(event: PrivacyTestEvent, delta: float) -> Guarantee:
    """Guarantee for the record of one candidate at a given delta, by the exact form of Theorem 1.

    Raises:
        InvalidInput: no epsilon suffices at this delta, because k is too small.
    """
    if isinstance(event, SampledTestEvent):
        return sampled_record_guarantee(event, delta)
    return attempt_guarantee(
        delta=delta,
        k=event.k,
        gamma=event.ratio,
        eps0=event.eps0,
        public_rows=event.public_rows,
        drop_probability=event.drop_probability,
    )


def candidate_guarantee(event: PrivacyTestEvent, delta: float) -> Guarantee | None:
    """Theorem 1 for one candidate at a given delta, on records and "no output" together; None if it does not apply.

    For Mechanism 1* it holds for tables of any size if rho >= 1 / (1 + N0 (e^epsilon - 1)) and t <=
    gamma N0.

    Proof. With the notation of Theorem A: for records, the proof of Theorem 1 with W' instead of n + 1, and F(y) <=
    (1 + 1/N0) F'(y) with 1 + 1/N0 <= 1 + gamma / t. No output: the curves' second terms, where for c rows in the
    changed bucket 1 - q(c) <= e^eps0 (1 - q(c+1)), so that at a = e^epsilon both are max(0, (1 - rho) / N0 - rho (a -
    1)) = 0.
    """
    try:
        t = best_t(k=event.k, eps0=event.eps0, delta=delta)
    except InvalidInput:
        return None
    one = theorem_1(k=event.k, gamma=event.ratio, eps0=event.eps0, t=t)
    hidden = float(event.drop_probability) >= smallest_drop_probability(epsilon=one.epsilon, rows=event.public_rows - 1)
    return one if hidden and t <= event.ratio * event.public_rows else None


def _basic(event: PrivacyTestEvent, delta: float) -> float:
    one = candidate_guarantee(event, delta / event.outputs)
    return inf if one is None else event.outputs * one.epsilon


def _advanced(event: PrivacyTestEvent, delta: float) -> float:
    one = candidate_guarantee(event, delta / (2 * event.outputs))
    return inf if one is None else advanced_composition([(one.epsilon, event.outputs)], delta / 2)


def _zcdp(event: PrivacyTestEvent, delta: float) -> float:
    one = candidate_guarantee(event, delta / (2 * event.outputs))
    return inf if one is None else zcdp_to_epsilon(event.outputs * one.epsilon**2 / 2, delta / 2)


def _pld(event: PrivacyTestEvent, delta: float) -> float:
    one = candidate_guarantee(event, delta / (2 * event.outputs))
    if one is None:
        return inf
    return optimal_composition(epsilon=one.epsilon, delta=one.delta, times=event.outputs, total_delta=delta)
