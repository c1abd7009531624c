"""Figure 8: coefficients of regressions on synthetic records, beside those on real ones."""

from typing import Final

import numpy as np

from deniable.learners.mapped import imputation
from papers.bindschaedler.people import People, the_people
from papers.chance import Floats
from papers.findings import Check, Part, Picture, Table
from papers.park.choices import BLOCKS, EXPLAINED, PEGS, WHOLE, Sizes, drawing, expected, named, papers_ways, real_table
from papers.park.pictures import draw_coefficients
from tasks.mapping.regressions import regression

_EPSILONS: Final = (1, 10, 50)
_DRAWN_AT: Final = 1
_BOOTSTRAP: Final = "bootstrap"


def figure_8() -> Part:
    """Coefficients of two regressions."""
    return coefficients(the_people())


def shrinkage(real: Floats, ours: Floats) -> float:
    """The factor by which slopes are multiplied, by least squares through zero; the first coefficient is no slope."""
    return float((real[1:] * ours[1:]).sum() / (real[1:] ** 2).sum())


def coefficients(people: People, sizes: Sizes = WHOLE) -> Part:
    """Figure 8 on a table.

    Args:
        people: the table.
        sizes: how much is run.
    """
    domain, real, draw = people.domain, real_table(people), drawing(people)
    some = {curve: named(papers_ways(people), curve) for curve in (PEGS, BLOCKS)} | {"PMI": imputation(sizes.fit_rows)}
    least = _EPSILONS[0]
    tables = {
        (curve, epsilon): [make(number) for number in range(1, sizes.keys + 1)]
        for curve, way in some.items()
        for epsilon in _EPSILONS
        for make, _ in [draw.drawer(way.at(epsilon), sizes.records)]
    }
    tables[_BOOTSTRAP, 0] = [draw.bootstrap(number, sizes.records) for number in range(1, sizes.keys + 1)]
    right = {name: real.coefficients(domain.index(name)) for name in EXPLAINED}
    ours = {
        (name, curve, epsilon): [regression(domain, each, domain.index(name)) for each in own]
        for name in EXPLAINED
        for (curve, epsilon), own in tables.items()
    }
    mean = {key: np.mean(own, axis=0) for key, own in ours.items()}
    distance = {
        key: float(np.mean([np.linalg.norm(each - right[key[0]]) for each in own])) for key, own in ours.items()
    }
    binary, number = EXPLAINED
    checks = (
        *(
            Check(
                f"slopes of {name} shrink by {curve} at epsilon {epsilon}: by the factor "
                f"{shrinkage(right[name], mean[name, curve, epsilon]):.2f}",
                0 < shrinkage(right[name], mean[name, curve, epsilon]) < 1,
            )
            for name in EXPLAINED for curve in (PEGS, BLOCKS) for epsilon in _EPSILONS[:2]
        ),
        *(
            Check(
                f"and by imputation by most: by the factor {shrinkage(right[name], mean[name, 'PMI', least]):.2f} at "
                f"epsilon {least}",
                shrinkage(right[name], mean[name, "PMI", least]) < 0.5,
            )
            for name in EXPLAINED
        ),
        *(
            Check(
                f"the intercept of {number} overshoots by {curve} at epsilon {least}: "
                f"{mean[number, curve, least][0]:.2f} for {right[number][0]:.2f}",
                bool(mean[number, curve, least][0] > right[number][0]),
            )
            for curve in (PEGS, BLOCKS, "PMI")
        ),
        *(
            Check(
                f"coefficients of {name} by PeGS.rs are nearest at epsilon {least}: "
                f"{distance[name, BLOCKS, least]:.3f}",
                distance[name, BLOCKS, least] < min(distance[name, curve, least] for curve in (PEGS, "PMI")),
            )
            for name in EXPLAINED
        ),
        *(
            Check(
                f"control: those of {name} of real records do not shrink: by the factor "
                f"{shrinkage(right[name], mean[name, _BOOTSTRAP, 0]):.2f}",
                shrinkage(right[name], mean[name, _BOOTSTRAP, 0]) > 0.8,
            )
            for name in EXPLAINED
        ),
    )  # fmt: skip
    return Part(
        name="Figure 8",
        title="coefficients of regressions",
        verdict="close",
        why="The paper explains charges; ours are the income class (logistic) and the hours of work (linear), whose "
        f"slopes on {len(people.codes):,} real records are on the horizontal axis. As in the paper, slopes "
        "shrink, because values that are drawn evenly depend on nothing, and PeGS.rs is nearest; the intercept of the "
        "hours overshoots, because even draws have longer hours than real people. That of the income class moves "
        "towards even chances, which is 0, for the same reason.",
        product=(
            "tasks/mapping/regressions.py",
            "deniable/learners/pegs/draws.py",
            "deniable/learners/imputed/draws.py",
        ),
        checks=expected(people, checks),
        table=Table(
            ("regression of", "records by", "ε of one record", "intercept", "factor of slopes", "distance"),
            tuple(
                row
                for name in EXPLAINED
                for row in (
                    (name, "real people", "", f"{right[name][0]:.3f}", "1", "0"),
                    *(
                        (
                            name,
                            curve,
                            str(epsilon or ""),
                            f"{mean[name, curve, epsilon][0]:.3f}",
                            f"{shrinkage(right[name], mean[name, curve, epsilon]):.2f}",
                            f"{distance[name, curve, epsilon]:.3f}",
                        )
                        for curve, epsilon in tables
                    ),
                )
            ),
        ),
        picture=Picture(
            draw_coefficients(
                {
                    f"{'logistic' if name == binary else 'linear'} regression of {name}": (
                        right[name],
                        {curve: mean[name, curve, _DRAWN_AT] for curve in some},
                    )
                    for name in EXPLAINED
                }
            ),
            f"Slopes of two regressions on synthetic records at epsilon {_DRAWN_AT} for one record against those on "
            "real ones, and their intercepts",
        ),
    )
