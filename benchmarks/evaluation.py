"""`python -m benchmarks.evaluation`: tests whether cheaper forests reach the same conclusions on releases.

Twenty releases of public halves (benchmarks.utility), of learners that are close to the data and of learners that are
not, are evaluated with forests of each kind in the same way as releases are: how well a forest distinguishes their
records from real ones, and how well it predicts after learning from them. A verdict is whether a figure meets a limit;
there is a limit at every .005 between .5 and 1. The chance that two forests disagree on a limit is compared with that
of two forests of the largest kind with different random numbers, a disagreement that more trees cannot remove.
"""

import time
from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from statistics import fmean
from typing import Final

import numpy as np

from benchmarks.utility import Budget, Half, options, prepare, released
from deniable.evaluation.utility import accuracy, distinguishing_game, predictions
from deniable.foundation.domain import Codes
from tasks.evaluation.evaluate_utility import Forest

LEARNERS: Final = ("loglinear", "mst", "privbayes", "marginals", "independent")
FORESTS: Final = ((100, None), (50, None), (34, None), (100, 0.33), (60, 0.33), (50, 0.5))
"""Number of trees, and the share of the records from which each learns; None for a bootstrap sample of all."""
LIMITS: Final = np.arange(0.5, 1, 0.005)
TRAIN_ROWS: Final = 20_000


def evaluated(half: Half, records: Codes, kind: tuple[int, float | None], seed: int) -> tuple[float, float]:
    """Return a forest's accuracy in distinguishing records from the other half, and in predicting the other half."""
    real = half.holdout.to_numpy().astype(np.uint16)[:TRAIN_ROWS]
    records = records[:TRAIN_ROWS]
    target = half.domain.index(half.domain.target or "")
    forest = partial(Forest, seed, *kind)
    told = distinguishing_game(forest, real, records)
    return told, accuracy(predictions(forest, records, real, target), real[:, target])


def disagreement(first: Sequence[tuple[float, float]], second: Sequence[tuple[float, float]]) -> float:
    """Return the share of verdicts, over all limits and figures of all releases, on which two evaluations disagree."""
    one, other = (np.asarray(figures)[..., None] < LIMITS for figures in (first, second))
    return float((one != other).mean())


def main() -> None:
    """Measure, and print a table."""
    parser = options("evaluation", __doc__)
    parser.add_argument("--keys", type=int, default=2, help="releases of each of five learners and two datasets")
    asked = parser.parse_args()
    prepare(asked.shared, asked.work)
    halves = [Half.read(asked.work, name) for name in ("adult", "acs13")]
    at_epsilon_1 = Budget(Fraction(1), Fraction(1, 10**9))
    tables = [
        (half, released(half, at_epsilon_1.entry(kind, half.domain, half.public), number).records)
        for half in halves
        for kind in LEARNERS
        for number in range(1, asked.keys + 1)
    ]
    found, seconds = {}, {}
    for forest, seed in [(FORESTS[0], 2), *((forest, 1) for forest in FORESTS)]:
        start = time.process_time()
        found[forest, seed] = [evaluated(half, records, forest, seed) for half, records in tables]
        seconds[forest, seed] = (time.process_time() - start) / len(tables)
    most = found[FORESTS[0], 1]
    print(f"{len(tables)} releases\n")
    print("| trees | each learns from | CPU s a release | told apart, change | accuracy, change | other verdicts |")
    print("| --- | --- | --- | --- | --- | --- |")
    for ((trees, share), seed), figures in found.items():
        changes = [fmean(own[i] - other[i] for own, other in zip(figures, most, strict=True)) for i in (0, 1)]
        name = f"{trees}, other random numbers" if seed == 2 else f"{trees}"
        print(
            f"| {name} | {share or 'all'} | {seconds[(trees, share), seed]:.2f} | {changes[0]:+.4f} | "
            f"{changes[1]:+.4f} | {disagreement(figures, most):.2%} |"
        )


if __name__ == "__main__":
    main()
