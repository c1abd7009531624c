"""Confidential tables from published statistics: 60 bits from sums, and a block of seven people."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations, pairwise
from math import comb, sqrt
from statistics import median
from typing import Final, NamedTuple

import numpy as np
from scipy import optimize

from deniable.foundation.noise import DiscreteGaussian
from deniable.privacy.accounting import calibrate_discrete_gaussian
from papers.findings import Check, Part, Picture, Table, between, equal
from papers.lecture.made_up import Floats, integers, stream_of
from papers.lecture.pictures import draw_reconstruction

_BITS, _QUERIES, _TABLES = 60, 240, 6
_DEVIATIONS: Final = (0, 1, 2, 4, 8, 16)
_REFERENCE: Final = (1.0, 1.0, 0.9, 0.867, 0.633, 0.533)
_OLDEST: Final = 125


def bits() -> Part:
    """Sums over random subsets give the bits back unless their noise is about the square root of their number."""
    shares = [_share_right(deviation) for deviation in _DEVIATIONS]
    variance = calibrate_discrete_gaussian(outputs=_QUERIES, epsilon=1, delta=Fraction(1, 10**9))
    ours = sqrt(variance)
    at_ours = _share_right(ours)
    checks = [
        equal("share of bits right without noise", shares[0], 1, 1e-12),
        equal("share right at a deviation of 1", shares[1], 1, 0.01),
        Check("the share falls with the noise", all(a >= b - 0.02 for a, b in pairwise(shares))),
        between("share right at a deviation of 16", 0.45, shares[-1], 0.65),
        between("share right at the noise of epsilon 1", 0.4, at_ours, 0.6),
    ]
    rows = [
        (str(deviation), f"{reference:.3f}", f"{share:.3f}")
        for deviation, reference, share in zip(_DEVIATIONS, _REFERENCE, shares, strict=True)
    ]
    rows.append((f"{ours:.1f} (epsilon 1, delta 1e-9 for all sums)", "", f"{at_ours:.3f}"))
    return Part(
        name="Reconstruction",
        title="60 bits from 240 sums over random subsets",
        verdict="demonstrated",
        why="A linear program finds bits that fit the noisy sums best. Noise far below the square root of the "
        f"number of people, {sqrt(_BITS):.1f}, does not protect them (Dinur and Nissim); the first column of "
        f"shares is of one other table, ours of {_TABLES}. At the noise that our accountant demands for 240 sums "
        "at epsilon 1, guesses are as good as a coin.",
        product=("deniable/privacy/accounting.py", "deniable/foundation/noise.py"),
        checks=tuple(checks),
        table=Table(("deviation of the noise", "share right, another program", "ours"), tuple(rows)),
        picture=Picture(
            draw_reconstruction(_DEVIATIONS, shares, _BITS),
            "Share of 60 bits that are reconstructed, by the standard deviation of the noise on 240 sums",
        ),
    )


def _share_right(deviation: float) -> float:
    """The share of bits that the linear program gets right, over some tables."""
    right = 0.0
    for number in range(_TABLES):
        stream = stream_of("bits", number)
        secret, queries = integers(stream, 2, _BITS), integers(stream, 2, _QUERIES, _BITS).astype(np.float64)
        answers = queries @ secret
        if deviation:
            noise = DiscreteGaussian(Fraction(deviation) ** 2).sample(stream_of("noise of sums", number), _QUERIES)
            answers = answers + noise
        right += float(np.mean((_fitted(queries, answers) > 0.5) == secret)) / _TABLES
    return right


def _fitted(queries: Floats, answers: Floats) -> Floats:
    """Numbers in [0, 1] whose sums are nearest to the answers, in total absolute difference."""
    queried, number = queries.shape
    slack = np.eye(queried)
    found = optimize.linprog(
        np.r_[np.zeros(number), np.ones(queried)],
        A_ub=np.block([[queries, -slack], [-queries, -slack]]),
        b_ub=np.r_[answers, -answers],
        bounds=[(0, 1)] * number + [(0, None)] * queried,
        method="highs",
    )
    return np.asarray(found.x[:number])


class Person(NamedTuple):
    """One inhabitant of the block."""

    age: int
    sex: str
    race: str
    married: bool


_BLOCK: Final = (
    Person(8, "F", "B", married=False),
    Person(18, "M", "W", married=False),
    Person(24, "F", "W", married=False),
    Person(30, "M", "W", married=True),
    Person(36, "F", "B", married=True),
    Person(66, "F", "B", married=True),
    Person(84, "M", "B", married=True),
)
_PUBLISHED: Final[dict[str, tuple[int, float, float]]] = {
    "all": (7, 30, 38.0),
    "women": (4, 30, 33.5),
    "men": (3, 30, 44.0),
    "Black": (4, 51, 48.5),
    "White": (3, 24, 24.0),
    "married": (4, 51, 54.0),
    "Black women": (3, 36, 36.7),
}


def block() -> Part:
    """Seven people from seven lines of counts, medians and means."""
    groups = {
        "all": _BLOCK,
        "women": [each for each in _BLOCK if each.sex == "F"],
        "men": [each for each in _BLOCK if each.sex == "M"],
        "Black": [each for each in _BLOCK if each.race == "B"],
        "White": [each for each in _BLOCK if each.race == "W"],
        "married": [each for each in _BLOCK if each.married],
        "Black women": [each for each in _BLOCK if each.race == "B" and each.sex == "F"],
    }
    stated = {name: _line([each.age for each in own]) for name, own in groups.items()}
    solutions = list(_solutions())
    triples = [(a, 102 - a) for a in range(1, 31) if 30 <= 102 - a <= _OLDEST]
    return Part(
        name="Block of seven",
        title="seven people from counts, medians and means",
        verdict="corrected",
        why="All tables with these statistics are listed by hand-made steps: exactly one remains, the seven people. "
        "The slide says that a median of 30 and a mean of 44 leave 40 triples of men's ages; it leaves 30 (29 "
        "with three different ages). Its 317,750 triples without the statistics are right. A release of this "
        "project publishes no exact count, median or mean.",
        product=("deniable/foundation/noise.py",),
        checks=(
            *(
                Check(f"the seven people have the statistics of {name}", stated[name] == line)
                for name, line in _PUBLISHED.items()
            ),
            Check("exactly one table has the statistics", len(solutions) == 1),
            Check("it is the block", solutions == [tuple(sorted(_BLOCK))]),
            equal("triples of ages with a median of 30 and a mean of 44", len(triples), 30, 0),
            equal("the same for different ages", sum(a < 30 < c for a, c in triples), 29, 0),
            equal("triples of different ages up to 125", comb(_OLDEST, 3), 317_750, 0),
        ),
        table=Table(
            ("statistic", "published", "ours"),
            (
                *(
                    (
                        name,
                        _in_words(line),
                        _in_words(stated[name]),
                    )
                    for name, line in _PUBLISHED.items()
                ),
                ("triples of men's ages", "40", str(len(triples))),
                ("triples without statistics", "317,750", f"{comb(_OLDEST, 3):,}"),
                ("tables with all statistics", "1", str(len(solutions))),
            ),
        ),
    )


def _line(ages: Sequence[int]) -> tuple[int, float, float]:
    """Count, median and mean with one decimal."""
    return len(ages), float(median(ages)), round(sum(ages) / len(ages), 1)


def _in_words(line: tuple[int, float, float]) -> str:
    number, middle, mean = line
    return f"{number} people, median {middle:g}, mean {mean:.1f}"


def _solutions() -> Iterator[tuple[Person, ...]]:
    """All tables with the published statistics.

    The counts leave three Black women, one White woman, one Black man and two White men. Sums of ages follow from the
    means: 110 (the only sum with a mean of 36.7), 194 for Black people, 134 for women, 132 for men.
    """
    black_man, white_woman, white_men = 194 - 110, 134 - 110, 132 - (194 - 110)
    for youngest in range(37):
        black_women = (youngest, 36, 74 - youngest)
        for white_man in range(white_men // 2 + 1):
            men = (white_man, white_men - white_man)
            ages = {
                "all": (*black_women, white_woman, *men, black_man),
                "women": (*black_women, white_woman),
                "men": (*men, black_man),
                "Black": (*black_women, black_man),
                "White": (*men, white_woman),
                "Black women": black_women,
            }
            if max(ages["all"]) > _OLDEST or any(_line(own) != _PUBLISHED[name] for name, own in ages.items()):
                continue
            people: list[tuple[int, str, str]] = [(age, "F", "B") for age in black_women] + [
                (white_woman, "F", "W"),
                (black_man, "M", "B"),
            ]
            people += [(age, "M", "W") for age in men]
            for wed in combinations(range(len(people)), _PUBLISHED["married"][0]):
                own = [people[place][0] for place in wed]
                # Nobody is married before 15.
                if _line(own) == _PUBLISHED["married"] and min(own) >= 15:
                    yield tuple(sorted(Person(*each, married=place in wed) for place, each in enumerate(people)))
