"""Tests whether intervals cover as often as the distribution of their errors implies, and makes the page that shows it.

benchmarks.inference computes the figures of releases. The expected coverages, and the list of intervals that may cover
more often, are here.
"""

from collections.abc import Iterator, Mapping, Sequence
from math import sqrt
from statistics import fmean, median, quantiles, stdev
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from benchmarks.measuring import in_page

LEVEL: Final = 0.95
DATA: Final = {"acs13": "ACS 2013", "adult": "Adult", "example": "the village of the guides"}
ROWS: Final = {"acs13": 25_000, "adult": 20_000, "example": 20_000}
"""Number of rows of a release, by population."""
FALSE_ALARM: Final = 1e-9
MOST: Final = 3
"""Largest deviation of a coverage from its expectation, in standard deviations."""
_MOST_OF_A_CLASS, _MOST_OF_A_RELEASE = 4, 6
"""The same for one of the ten classes of cells, and for the cells of any single release."""
_BEYOND = 0.02
"""Largest share of releases that may deviate by more than MOST; at least one may."""
_UNUSUAL = 1e-3
_MOST_BEYOND, _ROUNDING = 0.01, 1e-9
"""By how much a certificate's coverage may exceed the level, because its bound is a whole number of records."""
GOALS: Final = {"tables": 1.0, "question": 1e-3}
"""Goals in processor seconds: all tables of pairs, given the measurements; a question with interval and sources."""

EXACT: Final = {
    "measured cells": "the noise is Gaussian. Intervals of counts are truncated at 0, so the interval of an empty cell "
    "can miss on one side only, with probability 2.5 %. An interval of a share is never empty, so a share that the "
    "noise hides is covered with probability 95 to 97.5 %. The expected coverage of each cell follows from this",
    "shares, ratios and means": "Fieller's interval has the level if numerator and denominator are normal, as they are "
    "under the noise alone; errors of sampling are normal to first order",
    "differences and slopes": "they are normal to first order, and the errors of slopes allow any variance (HC1) where "
    "outcome and regressors were counted together",
    "certificates": "the noise is one draw of a known law, whose tail is known",
}
"""Intervals that must cover neither less nor more often than expected, and the reason."""
CONSERVATIVE: Final = {
    "medians": "a median is one of the values, and the interval includes both sides of a step",
    "answers of the grade bounded": "bounds hold for every dependence that the counts allow",
    "answers of the grade certified": "the bound is that of the worst cell of all pairs, and holds together with "
    "bounds by counts",
    "all cells of a table together": "the level of each cell is exact for independent cells (Šidák), and the cells of "
    "a table share noise",
}
"""Intervals that by construction cover more often than the level, and the reason; only undercoverage is a fault."""

NAMES: Final = ("empty", "below .0001", ".0001 to .001", ".001 to .01", "above .01")
"""Classes of cells by their share of the population."""
COLUMNS: Final = (
    "finite",
    "population",
    "naive",
    "expected",
    "expected_population",
    "width",
    "naive_width",
    "sampling_width",
)
"""The sums over the cells of a class, after their number."""

Figures = Mapping[str, Any]
"""The figures of one release."""


def expected_of_counts(truth: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the coverage probability of the interval for a count; for 0, only the lower end can miss."""
    return np.where(truth > 0, LEVEL, (1 + LEVEL) / 2)


def expected_of_shares(
    shares: NDArray[np.float64], records: int, noise: NDArray[np.float64], z: float
) -> NDArray[np.float64]:
    """Return the coverage probability of the interval for a share of the population, to first order.

    Let x be the estimated count, and s(p)^2 = noise + np(1 - p). The interval for a share p misses if x - np > z s(p)
    or x - np < -z s(p). If x < -z s(0), no share is compatible, and the interval is [0, z s(0) / n].

    Args:
        shares: the shares p.
        records: number of rows n.
        noise: variances of the noise on the counts.
        z: normal quantile of the level.
    """
    counts, none = shares * records, np.sqrt(noise)
    spread = np.sqrt(noise + counts * (1 - shares))
    empty = np.minimum(stats.norm.cdf(-(counts + z * none) / spread), (1 - LEVEL) / 2)
    return np.asarray(np.where(counts <= z * none, LEVEL + empty, LEVEL))


def differences(found: Mapping[str, Figures], column: str, expected: str | None, places: Sequence[int]) -> list[float]:
    """Return the covered share of the cells of some classes, minus its expectation, for each release."""
    made = []
    for own in found.values():
        chosen = [own["cells"][str(place)] for place in places if str(place) in own["cells"]]
        if chosen:
            sums = np.sum(chosen, axis=0)
            right = LEVEL * sums[0] if expected is None else sums[1 + COLUMNS.index(expected)]
            made.append(float((sums[1 + COLUMNS.index(column)] - right) / sums[0]))
    return made


def _deviations(values: Sequence[float]) -> float:
    """Return the mean divided by its standard error, estimated from the spread."""
    if len(values) <= 1 or not stdev(values):
        return 0.0
    return fmean(values) / (stdev(values) / sqrt(len(values)))


def outlying(values: Sequence[float]) -> list[float]:
    """Return how many standard deviations of all other values each value differs from their mean."""
    own = np.asarray(values)
    rest = [np.delete(own, place) for place in range(len(own))]
    return [float(abs(x - r.mean()) / r.std(ddof=1)) if r.std() else 0.0 for x, r in zip(own, rest, strict=True)]


def _holds(covered: Sequence[bool], expected: float, *, is_conservative: bool = False) -> bool:
    """Whether a rate of independent trials is within MOST binomial standard deviations, or at least not below them."""
    off = (fmean(covered) - expected) / sqrt(expected * (1 - expected) / len(covered))
    return off >= -MOST and (off <= MOST or is_conservative)


def verdicts(found: Mapping[str, Figures]) -> dict[str, bool]:
    """Return what must hold and what must fail, in the page's words, and whether it does.

    Cells of one release share noise, so their coverage is judged by its spread over releases. A named statistic is one
    trial per release. Tables are judged by chi-squared, individually and all together.
    """
    said: dict[str, bool] = {}
    every = range(len(NAMES))
    for column, expected in (("finite", "expected"), ("population", "expected_population")):
        own = differences(found, column, expected, every)
        said[f"measured cells, {column}"] = abs(_deviations(own)) <= MOST
        classes = [_deviations(differences(found, column, expected, [place])) for place in every]
        said[f"measured cells of each class, {column}"] = max(map(abs, classes)) <= _MOST_OF_A_CLASS
        off = outlying(own) if len(own) > MOST else [0.0]
        are_few = sum(each > MOST for each in off) <= max(1.0, _BEYOND * len(off))
        said[f"measured cells of each release, {column}"] = are_few and max(off) <= _MOST_OF_A_RELEASE
    said["naive intervals of cells fail"] = _deviations(differences(found, "naive", None, every)) < -MOST
    for name in next(iter(found.values()))["statistics"]:
        said |= dict(_of_statistic(name, [own["statistics"][name] for own in found.values()]))
    answered = [each for own in found.values() for each in own["statistics"].values() if "naive" in each]
    said["naive intervals of named statistics fail"] = not _holds(
        [each["naive"] for each in answered], LEVEL, is_conservative=True
    )
    tested = [(value, cells) for own in found.values() for value, cells in own["chi_squared"]]
    if tested:
        rarest = min(min(stats.chi2.sf(value, cells), stats.chi2.cdf(value, cells)) for value, cells in tested)
        said["each table by chi-squared"] = bool(rarest > FALSE_ALARM / len(tested))
        sums = np.sum(tested, axis=0)
        said["all tables together by chi-squared"] = _is_usual(float(stats.chi2.sf(*sums)))
    said |= dict(_of_tables(found))
    certificates = [own["certificate"] for own in found.values()]
    held = [own["error"] <= own["bound"] for own in certificates]
    expected_of_bounds = fmean(own["expected"] for own in certificates)
    # The expectation follows from the margin of the bound, so the level of the bound is not judged here.
    is_level = LEVEL - _ROUNDING <= expected_of_bounds <= LEVEL + _MOST_BEYOND
    said["certificates"] = is_level and _holds(held, expected_of_bounds)
    squares = sum(own["noise"] ** 2 for own in certificates)
    said["noise of certificates by chi-squared"] = _is_usual(float(stats.chi2.sf(squares, len(certificates))))
    for what, shown in (("tables", "all tables of pairs"), ("question", "a question")):
        middle = median(own["speed"][what] for own in found.values())
        said[f"{shown} within {GOALS[what]:g} s of processor time"] = middle <= GOALS[what]
    return said


def _is_usual(p_value: float) -> bool:
    return _UNUSUAL < p_value < 1 - _UNUSUAL


def _of_statistic(name: str, own: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, bool]]:
    """Yield the coverage of a named statistic, by grade: measured, bounded or certified."""
    for grade in ("measured", "certified", "bounded"):
        covers = [each["covers"] for each in own if each["grade"] == grade]
        if not covers:
            continue
        is_conservative = grade != "measured" or own[0]["kind"] == "median"
        more = "" if grade == "measured" else f" ({grade} in {len(covers)} releases)"
        for place, column in enumerate(("finite", "population")):
            held = [each[place] for each in covers]
            yield f"{name}, {column}{more}", _holds(held, LEVEL, is_conservative=is_conservative)


def _of_tables(found: Mapping[str, Figures]) -> Iterator[tuple[str, bool]]:
    """Yield the coverage of all cells of a table together, and of unmeasured cells; only undercoverage is a fault."""
    together = [fmean(own["together"]) - LEVEL for own in found.values() if own["together"]]
    if together:
        yield "all cells of a table together", _deviations(together) >= -MOST
    apart = [own["apart"][1] / own["apart"][0] - LEVEL for own in found.values() if own["apart"][0]]
    if apart:
        yield "cells that were not measured", _deviations(apart) >= -MOST


def cell_table(found: Mapping[str, Figures]) -> list[list[str]]:
    """Return the rows of the table of cells: all cells, and cells by their share of the population."""
    rows = []
    for label, places in (("all", range(len(NAMES))), *((name, (i,)) for i, name in enumerate(NAMES))):
        sums = np.zeros(1 + len(COLUMNS))
        for own in found.values():
            for place in places:
                sums += np.asarray(own["cells"].get(str(place), [0.0] * len(sums)))
        if sums[0]:
            means = dict(zip(COLUMNS, sums[1:] / sums[0], strict=True))
            shown = [f"{means[each]:.4f}" for each in ("finite", "expected", "population", "expected_population")]
            widths = [f"{means[each]:.4f}" for each in COLUMNS[5:]]
            rows.append([label, f"{int(sums[0]):,}", *shown, f"{means['naive']:.3f}", *widths])
    return rows


def _head(first: str, others: Sequence[str]) -> str:
    """Return the head of a table of numbers."""
    return f"| {first} | {' | '.join(others)} |\n|---|{'--:|' * len(others)}"


def _statistic_rows(found: Mapping[str, Figures]) -> Iterator[str]:
    for name in next(iter(found.values()))["statistics"]:
        every = [each["statistics"][name] for each in found.values()]
        own = [each for each in every if "covers" in each]
        if not own:
            yield f"| {name} | not answered |" + " |" * 7
            continue
        numbers = {grade: sum(each["grade"] == grade for each in own) for grade in ("measured", "certified", "bounded")}
        held = {grade: number for grade, number in numbers.items() if number}
        grades = ", ".join(f"{grade} {number}" if len(held) > 1 else grade for grade, number in held.items())
        shares = [fmean(each["covers"][0] for each in own), fmean(each["covers"][1] for each in own)]
        widths = [fmean(each["widths"][place] for each in own) for place in range(4)]
        figures = [f"{share:.3f}" for share in (*shares, fmean(each["naive"] for each in own))]
        yield f"| {name} | {grades} | " + " | ".join([*figures, *(f"{width:.3g}" for width in widths)]) + " |"


def section(name: str, found: Mapping[str, Figures]) -> str:
    """Return the part of the page on one population."""
    numbers = [own["measured"] / own["pairs"] for own in found.values()]
    seconds = fmean(own["seconds"] for own in found.values())
    said = f"{len(found)} releases of {ROWS[name]:,} rows; {100 * fmean(numbers):.0f} % of the pairs were measured"
    cells = ["cells", "finite", "expected", "population", "expected", "naive", "half-width", "naive", "sampling alone"]
    lines = [
        f"## {DATA[name][0].upper()}{DATA[name][1:]}",
        "",
        f"{said}; {seconds:.1f} CPU seconds a release.",
        "",
        _head("measured cells, by share", cells),
        *("| " + " | ".join(row) + " |" for row in cell_table(found)),
        "",
        _head(
            "statistic",
            ["grade", "finite", "population", "naive", "half-width, finite", "population", "naive", "sampling alone"],
        ),
        *_statistic_rows(found),
        "",
        _certificates(found),
        "",
        _others(found),
        "",
        _speed(found),
        "",
    ]
    lines += [f"- {'holds' if holds else '**does not hold**'}: {what}" for what, holds in verdicts(found).items()]
    return "\n".join(lines)


def _certificates(found: Mapping[str, Figures]) -> str:
    own = [each["certificate"] for each in found.values()]
    shown = [f"{fmean(each[what] for each in own):,.0f}" for what in ("error", "bound", "pairs")]
    held = sum(each["error"] <= each["bound"] for each in own)
    expected = fmean(each["expected"] for each in own)
    off = (held / len(own) - expected) / sqrt(expected * (1 - expected) / len(own))
    return (
        f"Certificates: the largest error was {shown[0]} records on average, the bound {shown[1]}, over {shown[2]} "
        f"pairs. It held in {held} of {len(own)} releases; {100 * expected:.1f} % are expected, and the difference is "
        f"{off:+.1f} binomial standard deviations."
    )


def _others(found: Mapping[str, Figures]) -> str:
    together = [held for own in found.values() for held in own["together"]]
    apart = np.sum([own["apart"] for own in found.values()], axis=0)
    said = ""
    if together:
        said += f"All cells of a table together were covered in {fmean(together):.3f} of {len(together):,} tables."
    if apart[0]:
        covered, width = (f"{apart[place] / apart[0]:.{digits}f}" for place, digits in ((1, 3), (2, 4)))
        which = f"{int(apart[0]):,} cells of pairs that were not measured"
        said += f" Of {which}, {covered} were covered, with a half-width of {width} of all rows."
    return said.strip()


def _speed(found: Mapping[str, Figures]) -> str:
    shown = []
    for what, unit in (("tables", 1.0), ("question", 1e3)):
        own = [each["speed"][what] * unit for each in found.values()]
        low, _, high = quantiles(own, n=4) if len(own) > 1 else own * 3
        shown.append(f"{median(own):.3g} (quartiles {low:.3g} and {high:.3g})")
    return (
        f"Processor time: all tables of pairs, from what was measured on, {shown[0]} s (goal {GOALS['tables']:g} s); a "
        f"question, with interval and sources, {shown[1]} ms (goal {1e3 * GOALS['question']:g} ms)."
    )


def page(text: str, found: Mapping[str, Mapping[str, Figures]]) -> str:
    """Return the page with the tables inserted.

    Raises:
        ValueError: the page has no place for them.
    """
    declared = [
        "## What is expected",
        "",
        "The level, in both directions, of:",
        "",
        *(f"- {what}: {why}." for what, why in EXACT.items()),
        "",
        "At least the level, and more by construction, of:",
        "",
        *(f"- {what}: {why}." for what, why in CONSERVATIVE.items()),
    ]
    parts = ["\n".join(declared), *(section(name, found[name]) for name in DATA if found.get(name))]
    return in_page(text, "bench-inference", "\n\n".join(parts))
