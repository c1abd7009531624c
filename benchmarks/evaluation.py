"""`python -m benchmarks.evaluation`: tests whether cheaper classifiers reach the same conclusions on releases.

Twenty releases of the people of `make release`, by learners that are close to the data and by learners that are not,
are evaluated with classifiers of each kind in the same way as releases are. The first kind is the most expensive one:
scikit-learn's classifiers, with 100 trees that learn from all records. Its conclusions are compared with those of every
other kind, and with its own conclusions for other random numbers, which differ as much as more trees cannot avoid.
`--kinds` measures some kinds alone, of which the first is the one to compare with.

A verdict is whether a figure meets a limit; there is a limit at every .005. A rank is which of two releases has the
larger figure, among all pairs of releases that differ by more than 1.96 standard errors. The interval is the one that
the report shows: 1.96 standard errors on both sides of the first kind's figure.
"""

import argparse
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial
from itertools import combinations
from math import sqrt
from pathlib import Path
from statistics import fmean
from typing import Final

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.ensemble import AdaBoostClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from benchmarks.measuring import markdown
from benchmarks.utility import ROOT, Budget, Half, released
from deniable.evaluation.classifiers import SHARE, TREES, AdaBoost, Trees
from deniable.evaluation.utility import (
    ClassifierFactory,
    accuracy,
    agreement_rate,
    distinguishing_game,
    predictions,
)
from deniable.foundation.domain import Codes
from deniable.foundation.keys import ReleaseKey
from schemas.spec.release_spec import load_spec
from stores.tables.sources import opened_source
from stores.tables.tables import VALID, encode, frame_of
from tasks.data.validate import Findings, examine

SPEC: Final = ROOT / "deployments/specs/acs_ma.yaml"
LEARNERS: Final = ("loglinear", "mst", "privbayes", "marginals", "independent")
LIMITS: Final = np.arange(-0.1, 1, 0.005)
TRAIN_ROWS: Final = 20_000
SIGMAS: Final = 1.96

Factories = Mapping[str, ClassifierFactory]
Figures = dict[str, float]


class Forest:
    """scikit-learn's random forest, as releases were evaluated with it.

    Args:
        seed: the seed of its random numbers.
        trees: number of trees.
        share: the share of the records from which each tree learns; None for a bootstrap sample of all.
    """

    def __init__(self, seed: int, trees: int, share: float | None) -> None:
        self._trees = RandomForestClassifier(trees, min_samples_leaf=5, max_samples=share, n_jobs=1, random_state=seed)

    def fit(self, codes: Codes, labels: NDArray[np.integer], /) -> None:
        """Learn from codes of shape (rows, attributes) and labels of shape (rows,)."""
        self._trees.fit(codes, labels)

    def predict(self, codes: Codes, /) -> NDArray[np.integer]:
        """Return a label for each row."""
        return np.asarray(self._trees.predict(codes))


def of_scikit_learn(trees: int, share: float | None, seed: int) -> Factories:
    """Return scikit-learn's classifiers."""
    return {
        "tree": lambda: DecisionTreeClassifier(min_samples_leaf=10, random_state=seed),
        "forest": partial(Forest, seed, trees, share),
        "adaboost": lambda: AdaBoostClassifier(random_state=seed),
    }


def of_ours(trees: int, share: float, seed: int) -> Factories:
    """Return our classifiers, with a forest of another kind."""
    words = ReleaseKey(seed.to_bytes(32, "big")).stream(step="", mechanism="", inputs="", parameters={})
    seeds = words.take(trees)
    return {
        "tree": partial(Trees, seeds[:1], 10, tries_all=True),
        "forest": partial(Trees, seeds, 5, share),
        "adaboost": AdaBoost,
    }


BEFORE: Final = "scikit-learn, 50 of half"
USED: Final = f"ours, {TREES} of {SHARE:g}"
KINDS: Final[dict[str, tuple[Callable[[int], Factories], int]]] = {
    "scikit-learn, 100 of all": (partial(of_scikit_learn, 100, None), 1),
    "scikit-learn, 100 of all, other random numbers": (partial(of_scikit_learn, 100, None), 2),
    BEFORE: (partial(of_scikit_learn, 50, 0.5), 1),
    f"{BEFORE}, other random numbers": (partial(of_scikit_learn, 50, 0.5), 2),
    **{
        f"ours, {trees} of {share:g}": (partial(of_ours, trees, share), 1)
        for trees, share in ((TREES, SHARE), (34, 0.5), (25, 0.5))
    },
}
"""What makes the classifiers of a kind from a seed, and the seed."""


def people(cache: Path) -> Half:
    """Return the people of the example: four fifths to learn from, and the others to compare with."""
    spec = load_spec(SPEC)
    findings, found = Findings(), []
    with opened_source(spec, cache) as source:
        for batch in source.batches():
            recoded = examine(spec.schema, frame_of(pa.Table.from_batches([batch])), findings)
            found.append(encode(recoded[recoded[VALID]], spec.domain))
    codes = np.concatenate(found)
    words = ReleaseKey(bytes(32)).stream(step="split", mechanism="", inputs="", parameters={})
    shuffled = pd.DataFrame(codes[np.argsort(words.take(len(codes)), kind="stable")], columns=spec.domain.names)
    fifth = len(codes) // 5
    return Half({}, spec.domain, shuffled[fifth:], shuffled[:fifth])


def evaluated(half: Half, factories: Factories, tables: Sequence[Codes]) -> Iterator[Figures]:
    """Return the figures of each table, as a release's evaluation measures them."""
    real, target = _some(half.holdout.to_numpy().astype(np.uint16)), half.domain.index(half.domain.target or "")
    trained = _some(half.train.to_numpy().astype(np.uint16))
    truth = real[:, target]
    best = {name: predictions(factory, trained, real, target) for name, factory in factories.items()}
    for records in map(_some, tables):
        found = {"distinguished": distinguishing_game(factories["forest"], real, records)}
        for name, factory in factories.items():
            labels = predictions(factory, records, real, target)
            found[f"accuracy_{name}"] = accuracy(labels, truth)
            found[f"accuracy_loss_{name}"] = accuracy(best[name], truth) - accuracy(labels, truth)
            found[f"agreement_{name}"] = agreement_rate(labels, best[name])
        yield found


def _some(table: Codes) -> Codes:
    return table[:TRAIN_ROWS]


def same_verdicts(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    """Return the share of limits, within the range of the figures, on whose verdicts two evaluations agree."""
    low, high = min(one.min(), other.min()) - 0.01, max(one.max(), other.max()) + 0.01
    limits = LIMITS[(low <= LIMITS) & (high >= LIMITS)]
    return float(((one[..., None] < limits) == (other[..., None] < limits)).mean())


def same_ranks(one: NDArray[np.float64], other: NDArray[np.float64], error: float) -> float:
    """Return the share of pairs of releases, of those that surely differ in the first evaluation, in equal order."""
    pairs = [(i, j) for i, j in combinations(range(len(one)), 2) if abs(one[i] - one[j]) > SIGMAS * sqrt(2) * error]
    return fmean((one[i] < one[j]) == (other[i] < other[j]) for i, j in pairs) if pairs else 1.0


def compared(first: Sequence[Figures], other: Sequence[Figures]) -> tuple[str, ...]:
    """Return how the conclusions of two evaluations compare: changes of two figures, verdicts, ranks and intervals."""
    verdicts, ranks, inside = [], [], []
    for name in first[0]:
        one, two = (np.array([figures[name] for figures in kind]) for kind in (first, other))
        errors = np.sqrt(np.abs(one) * (1 - np.abs(one)) / TRAIN_ROWS)
        verdicts.append(same_verdicts(one, two))
        ranks.append(same_ranks(one, two, float(errors.mean())))
        inside.append(float((np.abs(two - one) <= SIGMAS * errors).mean()))
    changes = [
        f"{fmean(two[name] - one[name] for one, two in zip(first, other, strict=True)):+.4f}"
        for name in ("distinguished", "accuracy_forest")
    ]
    return (*changes, *(f"{fmean(shares):.2%}" for shares in (verdicts, ranks, inside)))


def side_by_side(found: Mapping[str, Sequence[Figures]], names: Sequence[str]) -> str:
    """Return the figures of the releases by the first kind, by the one used before, and by the one that is used."""
    kinds = [kind for kind in dict.fromkeys((next(iter(found)), BEFORE, USED)) if kind in found]
    shown = ("distinguished", "accuracy_tree", "accuracy_forest", "accuracy_adaboost")
    rows = [
        [name, *(" / ".join(f"{found[kind][i][figure]:.4f}" for kind in kinds) for figure in shown)]
        for i, name in enumerate(names)
    ]
    return f"{'; '.join(kinds)}\n\n{markdown(['release', *shown], rows)}"


def main() -> None:
    """Measure, and print the figures and the conclusions."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.evaluation", description=__doc__)
    parser.add_argument("--keys", type=int, default=4, help="releases of each of five learners")
    parser.add_argument("--cache", type=Path, default=ROOT / "var/cache", help="folder for the example's package")
    parser.add_argument(
        "--kinds",
        nargs="+",
        choices=KINDS,
        default=list(KINDS),
        help="kinds of classifiers; the first is compared with",
    )
    asked = parser.parse_args()
    half = people(asked.cache)
    at_epsilon_1 = Budget(Fraction(1), Fraction(1, 10**9))
    named = [(kind, number) for kind in LEARNERS for number in range(1, asked.keys + 1)]
    tables = [
        released(half, at_epsilon_1.entry(kind, half.domain, half.public), number).records for kind, number in named
    ]
    found, seconds = {}, {}
    for name, (make, seed) in ((kind, KINDS[kind]) for kind in asked.kinds):
        list(evaluated(half, make(seed), tables[:1]))  # compiles what is not compiled yet
        start = time.process_time()
        found[name] = list(evaluated(half, make(seed), tables))
        seconds[name] = (time.process_time() - start) / len(tables)
    first = next(iter(found.values()))
    print(side_by_side(found, [f"{kind}, {number}" for kind, number in named]))
    heads = ["classifiers", "CPU s a release", "distinguished", "forest", "same verdicts", "same ranks", "in interval"]
    rows = [[name, f"{seconds[name]:.2f}", *compared(first, figures)] for name, figures in found.items()]
    print(f"\n{markdown(heads, rows)}")


if __name__ == "__main__":
    main()
