"""Answers to queries: their sensitivities, differencing, auditing, composition, and consistent totals."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import permutations, product
from math import exp, log
from typing import Final

import numpy as np

from deniable.foundation.noise import DiscreteLaplace
from deniable.measurements.consistency import ConsistentTables, Observation
from papers.findings import Check, Part, Table, equal
from papers.lecture.made_up import stream_of

_AGES: Final = (20, 40, 60)
_ROWS: Final = 3
Rows = Sequence[int]


def sensitivities() -> Part:
    """The sensitivity of each kind of query, over all small tables and their neighbours."""
    queries: list[tuple[str, Callable[[Rows], Sequence[float]], str, str, float]] = [
        ("a count", lambda rows: [sum(age > 30 for age in rows)], "added", "1", 1),
        ("a fraction of n = 3", lambda rows: [sum(age > 30 for age in rows) / _ROWS], "replaced", "1 / n", 1 / _ROWS),
        ("GROUP BY age", lambda rows: [sum(age == value for age in rows) for value in _AGES], "added", "1", 1),
        ("m = 4 arbitrary counts", lambda rows: [sum(age > 30 for age in rows)] * 4, "added", "m", 4),
        ("the maximum", lambda rows: [max(rows)], "replaced", "unbounded", _AGES[-1] - _AGES[0]),
    ]
    rows, checks = [], []
    for name, query, change, published, expected in queries:
        found = _sensitivity(query, replaced=change == "replaced")
        rows.append((name, change, published, f"{found:.4g}"))
        checks.append(equal(f"sensitivity of {name}", found, expected, 1e-12))
    wider = max(
        _sensitivity(lambda own: [max(own)], replaced=True, ages=(20, 40, oldest)) - oldest + 20 for oldest in (90, 900)
    )
    checks.append(Check("the sensitivity of the maximum grows with the range of values", wider == 0))
    return Part(
        name="Sensitivities",
        title="how much one record changes an answer",
        verdict="reproduced",
        why="Every neighbouring pair of tables of up to three people with three possible ages is listed. The maximum "
        "changes by the whole range of the declared values: it is bounded only if they are.",
        product=("deniable/privacy/common_events.py", "deniable/privacy/loss.py"),
        checks=tuple(checks),
        table=Table(("query", "one record is", "published", "ours"), tuple(rows)),
    )


def _sensitivity(query: Callable[[Rows], Sequence[float]], *, replaced: bool, ages: Sequence[int] = _AGES) -> float:
    """The largest L1 change of an answer between neighbours."""
    largest = 0.0
    for table in product(ages, repeat=_ROWS):
        others = [(*table[1:], age) for age in ages] if replaced else [table[1:]]
        for other in others:
            moved = sum(abs(a - b) for a, b in zip(query(table), query(other), strict=True))
            largest = max(largest, moved)
    return largest


def differencing() -> Part:
    """Two counts that differ in one person."""
    rows, checks = [], []
    exact = 3005 - 3004, 202 - 201
    checks.append(Check("the two exact pairs of counts differ by one person who has the attribute", exact == (1, 1)))
    rows.append(("exact counts", "3,005 and 202; 3,004 and 201", "1.000", ""))
    for total in (Fraction(1, 10), Fraction(1), Fraction(4)):
        law = DiscreteLaplace(2 / total)
        right, bound = _right_guesses(law), exp(total) / (1 + exp(total))
        stream = stream_of("differencing", total.numerator)
        first, second = law.sample(stream, 20_000), law.sample(stream, 20_000)
        drawn = float(np.mean(np.concatenate([second - first < 1, second - first + 1 >= 1])))
        rows.append((f"noise, epsilon {float(total):g} in total", "two noisy counts", f"{right:.3f}", f"{bound:.3f}"))
        checks.append(
            Check(f"at epsilon {float(total):g} at most {bound:.4f} of guesses are right: {right:.4f}", right <= bound)
        )
        checks.append(equal(f"the same for 20,000 draws of our noise, epsilon {float(total):g}", drawn, right, 0.01))
    return Part(
        name="Differencing",
        title="3,005 people, 202 with the attribute; 3,004 and 201 the day after",
        verdict="demonstrated",
        why="The person who left has the attribute: the difference of two exact counts says so with certainty. Each "
        "noisy count of ours gets half the epsilon. The best guess from their difference is then right hardly "
        "more often than a coin, and never more often than e^epsilon / (1 + e^epsilon); the share is an exact "
        "sum.",
        product=("deniable/foundation/noise.py", "deniable/privacy/loss.py"),
        checks=tuple(checks),
        table=Table(("answers", "what is known", "share of right guesses", "bound"), tuple(rows)),
    )


def _right_guesses(law: DiscreteLaplace, reach: int = 2000) -> float:
    """How often it is right to guess that the person has the attribute if the noisy difference is 1 or more."""
    places = np.arange(-reach, reach + 1)
    one = np.array([law.probability(int(z)) for z in places])
    difference = np.convolve(one, one)
    middle = 2 * reach
    at_most_0 = float(difference[: middle + 1].sum())
    # Without the attribute the difference is the noise; with it, the noise plus 1.
    return (at_most_0 + float(difference[middle:].sum())) / 2


def auditing() -> Part:
    """Auditors that refuse what would disclose."""
    tables = list(permutations(range(1, 7), 3))
    disclosed = refused = 0
    for table in tables:
        whole, pair = max(table), max(table[:2])
        # The auditor refuses the second query if the answer would determine a value.
        if pair != whole:
            refused += 1
            candidates = {each[2] for each in tables if max(each) == whole and max(each[:2]) != whole}
            disclosed += candidates == {table[2]}
    share = disclosed / len(tables)
    answers, found = _tracker()
    return Part(
        name="Query auditing",
        title="refusing queries, and why it fails",
        verdict="demonstrated",
        why="An auditor answers the maximum of three different numbers, and refuses the maximum of two of them "
        "whenever the answer would determine the third. The refusal determines it: everyone can work out why the "
        "auditor refuses. A limit on the size of the group that is counted does not help either: three permitted "
        "counts give the forbidden one (a tracker). No flow of this project answers queries one by one from the "
        "records; noise is drawn and charged once, for all later questions.",
        product=("deniable/ledger/budget.py", "deniable/inference/queries.py"),
        checks=(
            equal("share of tables in which the auditor refuses", refused / len(tables), 1 / 3, 1e-12),
            Check("every refusal discloses the value that it protects", disclosed == refused > 0),
            Check("the tracker finds the count that the limit forbids", found == answers["forbidden"] == 1),
        ),
        table=Table(
            ("example", "what happens", "result"),
            (
                ("auditor of maxima, 120 tables of 3 values", "refuses the second query", f"{share:.3f}"),
                ("", "of these, value disclosed by the refusal", f"{disclosed / refused:.3f}"),
                ("counts of 10 to 90 of 100 people", "A", str(answers["A"])),
                ("", "A without the target", str(answers["A without target"])),
                ("", "difference: does the target have it?", str(found)),
            ),
        ),
    )


def _tracker() -> tuple[dict[str, int], int]:
    """A forbidden count of one person with the attribute, from permitted counts."""
    age, has = np.arange(100) % 50 + 20, np.arange(100) % 3 == 0
    target = np.arange(100) == 42
    group = (age < 45) & has
    answers = {
        "forbidden": int((target & has).sum()),
        "A": int((group | target & has).sum()),
        "A without target": int((group & ~target).sum()),
    }
    return answers, answers["A"] - answers["A without target"]


def composition() -> Part:
    """The total epsilon of four queries, two of which are of disjoint people."""
    epsilons = {
        "everyone": Fraction(1, 2),
        "men": Fraction(1, 5),
        "women": Fraction(1, 4),
        "older than 20": Fraction(1, 4),
    }
    found = {
        who: sum(_largest_loss(epsilons[each]) for each in ("everyone", who, "older than 20"))
        for who in ("men", "women")
    }
    total = float(sum(epsilons.values()))
    return Part(
        name="Composition",
        title="four queries, sequential and parallel",
        verdict="reproduced",
        why="One record is in at most one of the two groups, so only the larger of their epsilons counts. The slide "
        "explains sums by noise that is additive; the reason is that log-ratios of independent answers add up, "
        "for any mechanism. Ours are the largest log-ratios of the laws of the noise, for a man and for a woman "
        "older than 20.",
        product=("deniable/privacy/composition.py", "deniable/privacy/accounting.py"),
        checks=(
            equal("sum of all epsilons", total, 1.2, 1e-12),
            equal("largest log-ratio for one record", max(found.values()), 1.0, 1e-9),
            equal("for a man", found["men"], 0.95, 1e-9),
        ),
        table=Table(
            ("total", "published", "ours"),
            (("sequential", "1.2", f"{total:g}"), ("parallel", "1.0", f"{max(found.values()):.6g}")),
        ),
    )


def _largest_loss(epsilon: Fraction) -> float:
    """The largest log-ratio of a noisy count between neighbours."""
    law = DiscreteLaplace(1 / epsilon)
    return max(abs(log(law.probability(z) / law.probability(z - 1))) for z in range(-20, 21))


def consistency() -> Part:
    """A total and two parts made consistent."""
    epsilons = {"total": 0.5, "men": 0.2, "women": 0.25}
    noisy = {"total": 2005.0, "men": 1001.0, "women": 995.0}
    published = {"total": 2004.2, "men": 1006.0, "women": 998.2}
    variance = {name: 2 / epsilon**2 for name, epsilon in epsilons.items()}
    parts = Observation(
        (0,),
        np.array([noisy["men"], noisy["women"]]),
        1.0,
        {0: np.array([variance["men"], variance["women"]])},
    )
    alone = Observation((), np.array(noisy["total"]), variance["total"])
    both = ConsistentTables((2,), (alone, parts)).table((0,)).counts
    found = {"total": float(both.sum()), "men": float(both[0]), "women": float(both[1])}
    only = ConsistentTables((2,), (alone,)).table(()).counts
    return Part(
        name="Consistency",
        title="a noisy total and its two parts",
        verdict="reproduced",
        why="The parts are moved by shares of the gap in proportion to their variances, by the same least squares "
        "that make `consistent.json`. A total alone is a table of no attributes. The slide's fourth query, 1,789 "
        "people older than 20, is a part of which the rest was not counted; the total bounds it, and nothing "
        "else changes it.",
        product=("deniable/measurements/consistency.py",),
        checks=(
            *(equal(f"consistent {name}", found[name], published[name], 0.05) for name in found),
            equal("the parts add up to the total", found["men"] + found["women"], found["total"], 1e-9),
            equal("a total alone stays as it is", float(only), noisy["total"], 1e-9),
        ),
        table=Table(
            ("count", "epsilon", "noisy", "published", "ours"),
            tuple(
                (name, f"{epsilons[name]:g}", f"{noisy[name]:.0f}", f"{published[name]:.1f}", f"{found[name]:.1f}")
                for name in found
            ),
        ),
    )
