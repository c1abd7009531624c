"""`python -m benchmarks.synthetic_sets`: Charest's tables with corrected units, and the coverage of intervals.

Moments are exact sums. Coverage is simulated under a fixed key, with sets drawn by the project's own urns. The
confidential table has n = 100 people, and each set has as many records.
"""

import argparse
from collections.abc import Mapping
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from deniable.foundation.keys import ReleaseKey, WordStream
from deniable.learners.multinomial_sets.combining import combine
from deniable.learners.multinomial_sets.exact import binomial_law, moments
from deniable.learners.multinomial_sets.plan import SetsPlan
from deniable.learners.multinomial_sets.posterior import binary_posterior
from deniable.models.urns import draw_polya
from deniable.privacy.urn_costs import UNIT

PEOPLE = 100
SETS = (1, 2, 5, 10)
SHARES = (0.25, 0.5)
FROM_THE_END = (0.005, 0.01, 0.02, 0.05, 0.1)
PRIOR = None
"""Instead of a share: one drawn for each survey from the posterior's own prior, for which its coverage is nominal."""
STATED = 0.93, 0.99
"""Range of the coverage of 95 % intervals on the whole grid."""
LARGE = 250
"""An epsilon at which the noise is negligible."""


def main() -> None:
    """Print both tables, then the coverage and its dependence on the share."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.synthetic_sets", description=__doc__)
    parser.add_argument("--runs", type=int, default=1000, help="simulated surveys for each line of coverage")
    runs = parser.parse_args().runs
    print_moments()
    print_by_share(runs)
    print_coverage(runs)


def print_moments() -> None:
    """Print the bias and variance of the mean over the sets, and the mean variances of the combining rules."""
    print("share | epsilon | sets | bias in points | relative % | variance x1e-4 | T_m rel. bias % | T_M rel. bias %")
    for share in SHARES:
        for epsilon in (2, LARGE):
            for sets in SETS:
                found = moments(share=share, epsilon=epsilon, sets=sets, people=PEOPLE, size=PEOPLE)
                rules = [
                    "-" if each is None else f"{100 * (each / found.variance - 1):.1f}"
                    for each in (found.missing, found.full)
                ]
                bias = 100 * (found.mean - share)
                print(
                    f"{share} | {epsilon} | {sets} | {bias:.6f} | {bias / share:.6f} | {1e4 * found.variance:.6f} | "
                    f"{' | '.join(rules)}"
                )


def print_by_share(runs: int) -> None:
    """Print how the posterior's coverage depends on the share, for ten sets at epsilon 1."""
    print("\nten sets at epsilon 1: share | own urns: posterior covers | shared urn: posterior covers")
    for share in (*FROM_THE_END, *SHARES, PRIOR):
        both = [coverage(share, Fraction(1), SETS[-1], runs, shared=shared)[1] for shared in (False, True)]
        print(f"{share or 'prior'} | {both[0]:.3f} | {both[1]:.3f}", flush=True)


def print_coverage(runs: int) -> None:
    """Print how often 95 % intervals cover the share: by the rule T_M*, and by the posterior that models the synthesis.

    Raises:
        SystemExit: with shares drawn from its own prior, the posterior's coverage is outside .93 to .99 by more than
            four standard errors.
    """
    print("\nshare | epsilon | sets | urns | T_M* covers | posterior covers | half-width of the posterior")
    found: dict[str, float] = {}
    for share in (*SHARES, PRIOR):
        for epsilon in (1, 2, 3, 10):
            for sets in SETS:
                for shared in (False, True) if sets > 1 else (False,):
                    star, covers, half = coverage(share, Fraction(epsilon), sets, runs, shared=shared)
                    urns = "shared" if shared else "own"
                    rule = "-" if star is None else f"{star:.3f}"
                    line = f"{share or 'prior'} | {epsilon} | {sets} | {urns}"
                    found[line] = covers
                    print(f"{line} | {rule} | {covers:.3f} | {half:.3f}", flush=True)
    if not print_verdict(found, runs):
        raise SystemExit("the posterior must cover with its level where shares are drawn from its own prior.")


def print_verdict(found: Mapping[str, float], runs: int) -> bool:
    """Print the range of the posterior's coverage, and return whether it is nominal where it must be.

    Args:
        found: coverage by line; lines with shares drawn from the prior begin with `prior`.
        runs: number of surveys per line.
    """
    low, high = STATED
    nominal = [covers for line, covers in found.items() if line.startswith("prior")]
    fixed = {line: covers for line, covers in found.items() if not line.startswith("prior")}
    print(f"\nshares drawn from the prior: the posterior covers {min(nominal):.3f} to {max(nominal):.3f}")
    print(f"fixed shares: {min(fixed.values()):.3f} to {max(fixed.values()):.3f}; beyond {low} to {high}:")
    beyond = [f"{line} | {covers:.3f}" for line, covers in fixed.items() if not low <= covers <= high]
    print("\n".join(beyond) or "none")
    # Four standard errors of a simulated share: a false alarm with probability 3e-5 per line.
    slack = 4 * (high * (1 - high) / runs) ** 0.5, 4 * (low * (1 - low) / runs) ** 0.5
    return low - slack[1] <= min(nominal) and max(nominal) <= high + slack[0]


def coverage(
    share: float | None, epsilon: Fraction, sets: int, runs: int, *, shared: bool = False
) -> tuple[float | None, float, float]:
    """Return the coverage of T_M* (None for one set) and of the posterior, and the posterior's median half-width.

    Args:
        share: share of the first category in the population; PRIOR if it is drawn.
        epsilon: total epsilon.
        sets: number of sets.
        runs: number of simulated surveys.
        shared: whether the sets share an urn.
    """
    plan = SetsPlan(2, sets, PEOPLE, epsilon, shared)
    stream = ReleaseKey(bytes(range(32))).stream(
        step="benchmark", mechanism="sets", inputs=str(share), parameters={"epsilon": epsilon, "sets": sets}
    )
    sums = None if share is None else np.cumsum(binomial_law(PEOPLE, share))
    star, covered, halves = 0, 0, []
    known: dict[tuple[int, ...], tuple[float, float]] = {}
    for _ in range(runs):
        own = uniform(stream) if share is None else share
        laws = np.cumsum(binomial_law(PEOPLE, own)) if sums is None else sums
        count = min(int(np.searchsorted(laws, uniform(stream))), PEOPLE)
        drawn = draw_sets(stream, plan, count)
        counts = tuple(int(number) for number in np.sort((drawn == 0).sum(axis=1)))
        each = (sum(counts),) if shared else counts
        if each not in known:
            alpha = plan.prior / UNIT
            size = PEOPLE * sets if shared else PEOPLE
            known[each] = binary_posterior(each, size=size, people=PEOPLE, alpha=alpha).interval()
        low, high = known[each]
        covered += low <= own <= high
        halves.append((high - low) / 2)
        if sets > 1:
            q = [number / PEOPLE for number in counts]
            v = [each_q * (1 - each_q) / PEOPLE for each_q in q]
            interval = combine(q, v, "T_M*", size=PEOPLE, people=PEOPLE).interval
            star += interval is not None and interval[0] <= own <= interval[1]
    return (star / runs if sets > 1 else None), covered / runs, float(np.median(halves))


def draw_sets(stream: WordStream, plan: SetsPlan, count: int) -> NDArray[np.int64]:
    """Draw sets for a table with a given number of people in the first category, shape (sets, records)."""
    counts = np.array([count, PEOPLE - count])
    if plan.shared:
        return draw_polya(stream, counts, plan.prior, plan.draws).reshape(plan.sets, plan.size)
    return np.stack([draw_polya(stream, counts, plan.prior, plan.draws) for _ in range(plan.sets)])


def uniform(stream: WordStream) -> float:
    """Return a number in [0, 1) from two words."""
    high, low = stream.take(2).tolist()
    return float((high << 32 | low) / 2**64)


if __name__ == "__main__":
    main()
