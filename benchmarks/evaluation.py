"""`python -m benchmarks.evaluation`: tests whether cheaper classifiers reach the same conclusions on releases.

Releases of the people of `make release`, by learners that are close to the data and by learners that are not, are
evaluated with classifiers of several kinds in the same way as releases are. They are evaluated by turns: a release by
all kinds, then the next one. The conclusions of the kind that was used before are compared with those of ours, and with
its own conclusions for other random numbers, which differ as much as more trees cannot avoid. One release of each
learner is also evaluated by the most expensive kind: scikit-learn's classifiers, with 100 trees that learn from all
records.

A verdict is whether a figure meets a limit; there is a limit at every .005. A rank is which of two releases has the
larger figure, among all pairs of releases that differ by more than 1.96 standard errors. The interval is the one that
the report shows: 1.96 standard errors on both sides of the first kind's figure.

Figures are kept in `benchmarks/evaluation.json`, from which three tables of `docs/developer/speed.md` are written. With
`--kinds` or `--keys`, other kinds or other numbers of releases are measured and printed, and nothing is kept.
"""

import argparse
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import combinations, product
from math import sqrt
from pathlib import Path
from statistics import fmean, median
from typing import Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.ensemble import AdaBoostClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from benchmarks.measuring import in_page, keep_figures, kept_figures, markdown, rewrite
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
from deniable.foundation.errors import InvalidInput
from deniable.foundation.keys import ReleaseKey
from schemas.spec.release_spec import load_spec
from tasks.data.reading import valid_codes

KEPT: Final = Path(__file__).with_suffix(".json")
PAGE: Final = ROOT / "docs/developer/speed.md"
SPEC: Final = ROOT / "deployments/specs/acs_ma.yaml"
LEARNERS: Final = ("loglinear", "mst", "privbayes", "marginals", "independent")
LIMITS: Final = np.arange(-0.1, 1, 0.005)
TRAIN_ROWS: Final = 20_000
SIGMAS: Final = 1.96
HALF: Final = 0.5
SECONDS: Final = "CPU s"
"""The name of the CPU seconds among the figures of a release."""
SHOWN: Final = {
    "distinguished": "distinguished",
    "accuracy_tree": "tree",
    "accuracy_forest": "forest",
    "accuracy_adaboost": "AdaBoost",
}
"""The figures that are shown for each release, and their column headings."""

Factories = Mapping[str, ClassifierFactory]
Figures = dict[str, float]
Kept = dict[str, dict[str, Figures]]
"""The figures of each release, by kind and release."""


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


def _ours(trees: int, share: float) -> str:
    """Return the name of a kind of ours."""
    return f"ours, {trees} of {'half' if share == HALF else f'{share:g}'}"


MOST: Final = "scikit-learn, 100 of all"
BEFORE: Final = "scikit-learn, 50 of half"
USED: Final = _ours(TREES, SHARE)
FEWER: Final = _ours(34, HALF)
AGAIN: Final = "other random numbers"
KINDS: Final[dict[str, tuple[Callable[[int], Factories], int]]] = {
    MOST: (partial(of_scikit_learn, 100, None), 1),
    f"{MOST}, {AGAIN}": (partial(of_scikit_learn, 100, None), 2),
    BEFORE: (partial(of_scikit_learn, 50, HALF), 1),
    f"{BEFORE}, {AGAIN}": (partial(of_scikit_learn, 50, HALF), 2),
    **{
        _ours(trees, share): (partial(of_ours, trees, share), 1)
        for trees, share in ((TREES, SHARE), (34, HALF), (25, HALF))
    },
}
"""What makes the classifiers of a kind from a seed, and the seed."""


@dataclass(frozen=True)
class Comparison:
    """A table of the page.

    Attributes:
        kinds: the kinds; the first is compared with.
        keys: number of releases of each learner.
    """

    kinds: Sequence[str]
    keys: int


OF_ALL: Final = Comparison((BEFORE, f"{BEFORE}, {AGAIN}", USED, FEWER), 4)
BESIDE_MOST: Final = Comparison((MOST, f"{MOST}, {AGAIN}", BEFORE, USED), 1)


def people(state: Path) -> Half:
    """Return the people of the example: four fifths to learn from, and the others to compare with."""
    spec = load_spec(SPEC)
    codes = np.concatenate(list(valid_codes(spec, state)))
    words = ReleaseKey(bytes(32)).stream(step="split", mechanism="", inputs="", parameters={})
    shuffled = pd.DataFrame(codes[np.argsort(words.take(len(codes)), kind="stable")], columns=spec.domain.names)
    fifth = len(codes) // 5
    return Half({}, spec.domain, shuffled[fifth:], shuffled[:fifth])


def evaluator(half: Half, factories: Factories) -> Callable[[Codes], Figures]:
    """Return what computes the figures of a table, as a release's evaluation does.

    Args:
        half: the people; classifiers learn from the real ones here, once.
        factories: the classifiers.
    """
    real, target = _some(half.holdout.to_numpy().astype(np.uint16)), half.domain.index(half.domain.target or "")
    trained = _some(half.train.to_numpy().astype(np.uint16))
    truth = real[:, target]
    best = {name: predictions(factory, trained, real, target) for name, factory in factories.items()}

    def evaluate(table: Codes) -> Figures:
        records = _some(table)
        found = {"distinguished": distinguishing_game(factories["forest"], real, records)}
        for name, factory in factories.items():
            labels = predictions(factory, records, real, target)
            found[f"accuracy_{name}"] = accuracy(labels, truth)
            found[f"accuracy_loss_{name}"] = accuracy(best[name], truth) - accuracy(labels, truth)
            found[f"agreement_{name}"] = agreement_rate(labels, best[name])
        return found

    return evaluate


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
    for name in (name for name in first[0] if name != SECONDS):
        one, two = (np.array([figures[name] for figures in kind]) for kind in (first, other))
        errors = np.sqrt(np.abs(one) * (1 - np.abs(one)) / TRAIN_ROWS)
        verdicts.append(same_verdicts(one, two))
        ranks.append(same_ranks(one, two, float(errors.mean())))
        inside.append(float((np.abs(two - one) <= SIGMAS * errors).mean()))
    changes = [
        _figure(fmean(two[name] - one[name] for one, two in zip(first, other, strict=True)), "+")
        for name in ("distinguished", "accuracy_forest")
    ]
    return (*changes, *(f"{fmean(shares):.2%}" for shares in (verdicts, ranks, inside)))


def _figure(value: float, sign: str = "") -> str:
    return f"{value:{sign}.4f}".replace("0.", ".", 1)


def releases(keys: int) -> list[str]:
    """Return the names of releases: a number of each learner.

    Args:
        keys: the number.
    """
    return [_release(learner, number) for learner in LEARNERS for number in range(1, keys + 1)]


def _release(learner: str, number: int) -> str:
    return f"{learner}, {number}"


def _of(found: Mapping[str, Mapping[str, Figures]], kind: str, keys: int) -> list[Figures]:
    """Return a kind's figures of the releases, in order; none if one is missing."""
    own = found.get(kind, {})
    return [own[name] for name in releases(keys)] if set(releases(keys)) <= set(own) else []


def conclusions(found: Mapping[str, Mapping[str, Figures]], of: Comparison) -> str:
    """Return a table of how the conclusions of other kinds compare with those of the first.

    Args:
        found: the figures by kind and release.
        of: the kinds and the releases.
    """
    heads = ["classifiers", "CPU s a release", "distinguished", "forest", "same verdicts", "same ranks", "in interval"]
    first, rows = _of(found, of.kinds[0], of.keys), []
    for kind in of.kinds:
        own = _of(found, kind, of.keys)
        cells = compared(first, own) if first and own and kind != of.kinds[0] else ("",) * 5
        rows.append([kind, f"{median(each[SECONDS] for each in own):.2f}" if own else "not measured", *cells])
    return markdown(heads, rows)


def side_by_side(found: Mapping[str, Mapping[str, Figures]], of: Comparison) -> str:
    """Return a table of the figures of each release by each of several kinds.

    Args:
        found: the figures by kind and release.
        of: the kinds and the releases.
    """
    kinds = [_of(found, kind, of.keys) for kind in of.kinds]
    rows = [
        [name, *(" / ".join(_figure(own[i][figure]) if own else "not measured" for own in kinds) for figure in SHOWN)]
        for i, name in enumerate(releases(of.keys))
    ]
    return markdown(["release", *SHOWN.values()], rows)


def page(text: str, found: Mapping[str, Mapping[str, Figures]]) -> str:
    """Return the page with the tables inserted.

    Args:
        text: the page.
        found: the figures by kind and release.

    Raises:
        ValueError: the page has no place for them.
    """
    for place, table in (
        ("bench-classifiers", conclusions(found, OF_ALL)),
        ("bench-classifiers, of each release", side_by_side(found, Comparison((BEFORE, USED), OF_ALL.keys))),
        ("bench-classifiers, beside 100 trees", conclusions(found, BESIDE_MOST)),
    ):
        text = in_page(text, place, table)
    return text


def measured(half: Half, keys: Mapping[str, int]) -> Kept:
    """Evaluate releases by turns, each by all kinds, and print the progress.

    Args:
        half: the people.
        keys: for each kind, how many releases of each learner it evaluates.
    """
    at_epsilon_1 = Budget(Fraction(1), Fraction(1, 10**9))
    evaluators: dict[str, Callable[[Codes], Figures]] = {}
    found: Kept = {kind: {} for kind in keys}
    turns = list(product(range(1, max(keys.values()) + 1), LEARNERS))
    for turn, (number, learner) in enumerate(turns, 1):
        table = released(half, at_epsilon_1.entry(learner, half.domain, half.public), number).records
        for kind in [kind for kind, own in keys.items() if number <= own]:
            if kind not in evaluators:
                make, seed = KINDS[kind]
                evaluators[kind] = evaluator(half, make(seed))
                evaluators[kind](table)  # compiles what is not compiled yet
            start = time.process_time()
            figures = evaluators[kind](table)
            found[kind][_release(learner, number)] = figures | {SECONDS: round(time.process_time() - start, 4)}
        print(f"release {turn} of {len(turns)}: {_release(learner, number)}", flush=True)
    return found


def main() -> None:
    """Measure, print the tables, keep the figures and write the page.

    Raises:
        SystemExit: the people of the example are not found.
    """
    asked = _asked()
    found: Kept = kept_figures(KEPT)
    is_part = asked.kinds is not None or asked.keys is not None
    shown = [OF_ALL, BESIDE_MOST]
    if is_part:
        shown = [Comparison(tuple(dict.fromkeys(asked.kinds or KINDS)), asked.keys or OF_ALL.keys)]
    if not asked.pages_only:
        # BESIDE_MOST has fewer releases, so that kinds in both have those of OF_ALL.
        keys = {kind: of.keys for of in reversed(shown) for kind in of.kinds}
        try:
            found = measured(people(asked.state), keys)
        except InvalidInput as failed:
            raise SystemExit(str(failed)) from failed
        for of in shown:
            both = [kind for kind in dict.fromkeys((of.kinds[0], BEFORE, USED)) if kind in of.kinds]
            cells = side_by_side(found, Comparison(both, of.keys))
            print(f"\n{conclusions(found, of)}\n\n{'; '.join(both)}\n\n{cells}", flush=True)
    if not is_part and not asked.print_only:
        keep_figures(KEPT, found)
        rewrite(PAGE, page(PAGE.read_text(encoding="utf-8"), found))


def _asked() -> argparse.Namespace:
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.evaluation", description=__doc__)
    parser.add_argument(
        "--kinds",
        nargs="+",
        metavar="KIND",
        help=f"measure these kinds alone and keep nothing; the first is compared with. Kinds: {'; '.join(KINDS)}",
    )
    parser.add_argument("--keys", type=int, help="measure so many releases of each learner, and keep nothing")
    parser.add_argument("--state", type=Path, default=ROOT / "var", help="state folder, for the example's package")
    parser.add_argument("--pages-only", action="store_true", help="measure nothing, and write the page")
    parser.add_argument("--print-only", action="store_true", help="neither keep the figures nor write the page")
    asked = parser.parse_args()
    if unknown := [kind for kind in asked.kinds or () if kind not in KINDS]:
        parser.error(f"--kinds must name kinds of classifiers, got {unknown[0]!r}; name one of {'; '.join(KINDS)}.")
    if asked.keys is not None and asked.keys < 1:
        parser.error(f"the number of releases of each learner must be 1 or more, got {asked.keys}.")
    if asked.pages_only and (asked.kinds is not None or asked.keys is not None):
        parser.error("--pages-only measures nothing, so --kinds and --keys must not be given with it; leave them out.")
    return asked


if __name__ == "__main__":
    main()
