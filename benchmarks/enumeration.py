"""Enumerates designs of Poisson attempts on small tables: what they spend, as a share of what is claimed.

Every output of every table of few rows is enumerated, that is the number released of each prefix and completion, for
laws that pass most and for arbitrary ones, and compared with the curves of Theorem P. The certificate of a law that
passes most is checked at every count, those with full pass included. Then a model with discrete Laplace noise chooses
the prefix by its answer: designs beside it spend no more than their total, and a law whose total is that of the worst
count, with the prefix fixed beforehand, spends more.

Distributions are SciPy's, and sums are taken over outputs: nothing of the product is used but what is claimed. Figures
are kept in `benchmarks/enumeration.json`, from which the table of `docs/statistician/mechanisms.md` is written.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement, pairwise
from math import exp, inf
from pathlib import Path
from statistics import median
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from benchmarks.measuring import in_page, keep_figures, markdown, rewrite
from benchmarks.population import stream
from deniable.foundation.keys import WordStream
from deniable.plausible_deniability.pass_law import PassLaw, largest_law, law_within
from deniable.plausible_deniability.privacy_tests import pass_probability
from deniable.privacy.loss import PASSES_OUT_OF, DiscreteLaplaceEvent
from deniable.privacy.poisson_pairs import poisson_curves

KEPT: Final = Path(__file__).with_suffix(".json")
PAGE: Final = Path(__file__).resolve().parent.parent / "docs/statistician/mechanisms.md"
DESIGNS: Final = 1_000
BESIDE: Final = 100
"""Number of designs beside a model that chooses the prefix."""
MOST: Final = 13
"""Numbers released of one record that are enumerated; the others have less than a ten-thousandth of the probability."""
MOST_ROWS: Final = 4
PREFIXES: Final = 2
EPSILONS: Final = np.array([0.0, 0.3, 1.0, 2.0])
FULL_COUNTS: Final = 40
"""Counts are certified up to so many times that from which all pass."""
_LEAST: Final = 1e-5
"""Bounds below this are compared without a ratio: what is not enumerated is not negligible against them."""
_ROUNDED: Final = 1e-2
"""A law is rounded down to 16 binary digits, so that a step may exceed the largest one by a 32,768th."""
_SEARCHED: Final = 1e-3
"""The total of the worst count is searched to a precision that changes a delta by less than this."""
_SCALE: Final = Fraction(2)
_TAUS: Final = (0.05, 0.1, 0.2, 0.35, 0.5)

Reals = NDArray[np.float64]


@dataclass(frozen=True)
class Design:
    """A design of attempts on a small table.

    Attributes:
        law: the law of passing.
        tau: the mean number of attempts of a row.
        model: probability of each completion of each prefix, shape (prefixes, completions).
        certified: epsilon and delta that each of its pairs keeps; None for an arbitrary law.
    """

    law: PassLaw
    tau: float
    model: Reals
    certified: tuple[float, float] | None

    def rate(self, count: int) -> float:
        """The mean number released of a prefix that so many rows have."""
        return self.tau * count * float(self.law.probability(np.array([count]))[0])


def _uniform(words: WordStream) -> float:
    return float(words.take(1)[0]) / 2**32


def _between(words: WordStream, low: float, high: float) -> float:
    return low + (high - low) * _uniform(words)


def _whole(words: WordStream, below: int) -> int:
    return int(_uniform(words) * below)


def designs(count: int) -> Iterator[Design]:
    """Yield designs, always the same: laws that pass most, laws at random, and thresholds with Laplace noise."""
    words = stream("designs of attempts")
    made = 0
    while made < count:
        tau, floor = _TAUS[_whole(words, len(_TAUS))], 1 + _whole(words, 3)
        model = np.array([[share, 1 - share] for share in (_uniform(words) for _ in range(PREFIXES))])
        epsilon, delta = _between(words, 0.2, 2.5), 10 ** _between(words, -4, -1)
        certified = None
        if made % 3 == 0:
            found = largest_law(tau, plausible=floor, epsilon=epsilon, delta=delta)
            certified = epsilon, delta
        elif made % 3 == 1:
            passes = np.sort([_uniform(words) for _ in range(_whole(words, 5))])
            found = PassLaw(floor, tuple(int(each * PASSES_OUT_OF) for each in passes))
        else:
            passes = pass_probability(np.arange(floor, floor + 8), k=3, eps0=epsilon)
            found = PassLaw(floor, tuple(int(each * PASSES_OUT_OF) for each in passes))
        if found is not None:
            made += 1
            yield Design(found, tau, model, certified)


def tables() -> Iterator[tuple[int, ...]]:
    """Yield all tables of few rows, by their prefixes."""
    for rows in range(MOST_ROWS + 1):
        yield from combinations_with_replacement(range(PREFIXES), rows)


def outputs(design: Design, table: Sequence[int]) -> Reals:
    """The probability of every output: of every number released of each prefix and completion."""
    found = np.ones(1)
    for prefix, mean in enumerate(design.rate(table.count(prefix)) for prefix in range(PREFIXES)):
        for chance in design.model[prefix]:
            found = np.multiply.outer(found, stats.poisson.pmf(np.arange(MOST), mean * chance)).ravel()
    return found


def nearest(design: Design) -> float:
    """The largest delta of any two neighbouring tables, as a share of the bound of Theorem P.

    It is infinite if a bound is exceeded that is too small for a share.
    """
    laws: dict[tuple[int, ...], Reals] = {}

    def of(table: tuple[int, ...]) -> Reals:
        if table not in laws:
            laws[table] = outputs(design, table)
        return laws[table]

    largest = 0.0
    for table in tables():
        before = of(table)
        for added in range(PREFIXES):
            after = of(tuple(sorted((*table, added))))
            count = table.count(added)
            bounds = poisson_curves(design.rate(count), design.rate(count + 1), EPSILONS)
            for place, epsilon in enumerate(EPSILONS.tolist()):
                more = float(np.maximum(after - exp(epsilon) * before, 0).sum())
                less = float(np.maximum(before - exp(epsilon) * after, 0).sum())
                for real, bound in ((more, float(bounds[0][place])), (less, float(bounds[1][place]))):
                    if bound >= _LEAST:
                        largest = max(largest, real / bound)
                    elif real > bound + 1e-12:
                        return inf
    return largest


def certificate(design: Design) -> float:
    """The largest delta of a law's pairs at any count, as a share of the delta on which it is built.

    All counts are tried up to a few beyond the first with full pass, and then some up to many times that.
    """
    assert design.certified is not None  # noqa: S101 - only such designs are passed
    epsilon, delta = design.certified
    full = design.law.full
    counts = [*range(full + 3), *np.unique(np.geomspace(full + 3, FULL_COUNTS * full, 40).astype(int)).tolist()]
    at, largest = np.array([epsilon]), 0.0
    for count in counts:
        pair = poisson_curves(design.rate(count), design.rate(count + 1), at)
        largest = max(largest, *(float(side[0]) / delta for side in pair))
    return largest


# ---- a model that chooses the prefix


MODEL: Final = DiscreteLaplaceEvent(query="", part="seeds", outputs=1, sensitivity=1, scale=_SCALE)
"""A noisy count of all rows, by whose answer the prefix is chosen."""


@cache
def _answers() -> tuple[Reals, Reals]:
    """The losses of the model's answers if a row is added, and their probabilities with it."""
    z = np.arange(-120, 121)
    weights = np.exp(-np.abs(z) / float(_SCALE))
    return (np.abs(z + 1) - np.abs(z)) / float(_SCALE), weights / weights.sum()


def _exact_curves(a: float, b: float, epsilons: Reals) -> tuple[Reals, Reals]:
    """Both curves of a pair of Poisson numbers, by sums over numbers."""
    numbers = np.arange(int(b + 12 * b**0.5 + 40))
    p, q = stats.poisson.pmf(numbers, b), stats.poisson.pmf(numbers, a)
    scaled = np.exp(epsilons)[:, None]
    return np.maximum(p - scaled * q, 0).sum(axis=1), np.maximum(q - scaled * p, 0).sum(axis=1)


def _deltas(design: Design, epsilon: float) -> tuple[float, float]:
    """Delta at a total: of the worst count, fixed beforehand, and if each answer leads to the count that is worst."""
    losses, probabilities = _answers()
    counts = range(design.law.plausible - 1, design.law.full + 2)
    rates = [design.rate(count) for count in counts]
    # The model's answers are symmetric, so that removing a row has the same losses.
    left = np.array([_exact_curves(a, b, epsilon - losses) for a, b in pairwise(rates) if b > a]) * probabilities
    return float(left.sum(axis=2).max()), float(left.max(axis=0).sum(axis=1).max())


@dataclass(frozen=True)
class Beside:
    """What a design beside a model spends, as shares of its delta.

    Attributes:
        within: with the prefix that is worst for each answer, at the total that it was designed for.
        control: the same at the total of the worst count, which is no bound.
    """

    within: float
    control: float


def beside(count: int) -> Iterator[Beside]:
    """Yield what designs beside the model spend, always the same ones."""
    words = stream("designs beside a model")
    made = 0
    while made < count:
        tau, floor = Fraction(1 + _whole(words, 8), 8), 1 + _whole(words, 4)
        total, delta = _between(words, 0.8, 2.5), 10 ** _between(words, -5, -2.5)
        law = law_within(tau, plausible=floor, epsilon=total, delta=delta, others=(MODEL,))
        if law is None:
            continue
        made += 1
        design = Design(law, float(tau), np.ones((1, 1)), None)
        low, high = 0.0, total
        while high - low > 1e-4:
            middle = (low + high) / 2
            low, high = (low, middle) if _deltas(design, middle)[0] <= delta else (middle, high)
        yield Beside(_deltas(design, total)[1] / delta, _deltas(design, high)[1] / delta)


# ---- figures and page


def measured(count: int = DESIGNS, count_beside: int = BESIDE) -> dict[str, Any]:
    """Return the figures of all designs: their number, and the least, median and largest share.

    Raises:
        SystemExit: a design spends more than is claimed, or the control does not.
    """
    drawn = list(designs(count))
    found = {
        "outputs": [nearest(design) for design in drawn],
        "certificate": [certificate(design) for design in drawn if design.certified is not None],
    }
    chosen = list(beside(count_beside))
    found |= {"within": [each.within for each in chosen], "control": [each.control for each in chosen]}
    return judged(found)


def judged(found: Mapping[str, Sequence[float]]) -> dict[str, Any]:
    """Return the figures of all shares; see `measured`."""
    figures = {
        name: {"designs": len(shares), "least": min(shares), "median": median(shares), "largest": max(shares)}
        for name, shares in found.items()
    }
    if figures["outputs"]["largest"] > 1 + 1e-6 or figures["within"]["largest"] > 1 + 1e-6:
        raise SystemExit("no design may spend more than is claimed, and one did.")
    if figures["certificate"]["largest"] > 1 + _ROUNDED:
        raise SystemExit(f"laws must keep their bound at each count, got {figures['certificate']['largest']} of it.")
    # Where one count is the worst whatever the answer, both are the same.
    if figures["control"]["least"] < 1 - _SEARCHED or figures["control"]["median"] <= 1:
        raise SystemExit(f"the total of the worst count must be exceeded, got {figures['control']} of it.")
    return figures


WHAT: Final = {
    "outputs": "delta of any two neighbouring tables, all outputs, to the bound of Theorem P",
    "certificate": "delta at any count, those with full pass included, to the delta of the law",
    "within": "delta where a model chooses the prefix, to the delta of the design",
    "control": "the same, where the total is that of the worst count (which is no bound)",
}


def page(text: str, found: Mapping[str, Any]) -> str:
    """Return the page of proofs with the table inserted.

    Args:
        text: the page.
        found: the figures.

    Raises:
        ValueError: the page has no place for them.
    """
    rows = [
        [what, f"{own['designs']:,}", *(f"{own[each]:.4f}" for each in ("least", "median", "largest"))]
        for name, what in WHAT.items()
        if (own := found.get(name))
    ]
    return in_page(text, "bench-enumeration", markdown(["share", "designs", "least", "median", "largest"], rows))


def main() -> None:
    """Enumerate all designs, keep the figures and write the page."""
    figures = measured(*map(int, sys.argv[1:3]))
    if len(sys.argv) == 1:
        keep_figures(KEPT, figures)
        rewrite(PAGE, page(PAGE.read_text(encoding="utf-8"), figures))
    for name, what in WHAT.items():
        print(what, figures[name])


if __name__ == "__main__":
    main()
