"""Figure 9: what an intruder guesses of real people from records, and how many records are unique."""

from typing import Final

from papers.bindschaedler.people import People, the_people
from papers.findings import Check, Part, Picture
from papers.park.choices import BLOCKS, FROM_MARGINALS, GUESSED, NUMBER, PEGS, WHOLE, Sizes, expected
from papers.park.controls import controls
from papers.park.mapped import BOOTSTRAP, INDEPENDENT, Figures, mapped, pictured, table_of
from reports.plots.confidentiality_map import draw_map

_COMPARABLE: Final = 1.35
"""A mean error of at most this many times that from real records is comparable."""
_CHANCE: Final = 0.01


def figure_9() -> Part:
    """The intruder's guesses, and unique records."""
    return intruders(the_people())


def intruders(people: People, sizes: Sizes = WHOLE) -> Part:
    """Figure 9 on a table.

    Args:
        people: the table.
        sizes: how much is run.
    """
    found = mapped(people, sizes)
    names = (f"guess of {GUESSED}", f"error of {NUMBER}", "unique")
    mode, error, unique = (Figures(found, name) for name in names)
    least, most = sizes.epsilons[0], sizes.epsilons[-1]
    curves = (PEGS, BLOCKS, PEGS + FROM_MARGINALS, BLOCKS + FROM_MARGINALS)
    checks = (
        *(
            Check(
                f"9a: guesses from {curve} at epsilon {least:g} are clearly below those from real records: "
                f"{mode.at(curve, least):.3f}, {mode.of(BOOTSTRAP):.3f}",
                mode.at(curve, least) < mode.of(BOOTSTRAP) - 2 * _CHANCE,
            )
            for curve in curves
        ),
        *(
            Check(
                f"9a: and never above them, up to {_CHANCE}: {curve}",
                max(mode.along(curve)) <= mode.of(BOOTSTRAP) + _CHANCE,
            )
            for curve in curves
        ),
        *(
            Check(
                f"9b: the mean error from {curve} at epsilon {most:g} is comparable: {error.at(curve, most):.2f}, "
                f"{error.of(BOOTSTRAP):.2f} from real records",
                error.at(curve, most) < _COMPARABLE * error.of(BOOTSTRAP),
            )
            for curve in curves
        ),
        *(
            Check(
                f"9c: more records of {curve} are unique than of real ones, up to {_CHANCE}, at every epsilon: at "
                f"least {min(unique.along(curve)):.3f}, {unique.of(BOOTSTRAP):.3f}",
                min(unique.along(curve)) > unique.of(BOOTSTRAP) - _CHANCE,
            )
            for curve in curves
        ),
        Check(
            "control: guesses from real records are better than from their marginals",
            mode.of(BOOTSTRAP) > mode.of(INDEPENDENT) + 2 * _CHANCE,
        ),
        *(
            check
            for name, own in zip(names, (mode, error, unique), strict=True)
            for check in controls(people, sizes, own, name, is_distance=False)
        ),
    )
    return Part(
        name="Figure 9",
        title="an intruder's guesses, and unique records",
        verdict="close",
        why="The intruder knows age, sex, hours of work and place of birth of the real people, ages and hours in "
        "groups, and sees 1,000 records. 9a: the guess of the occupation is the most common one among records alike, "
        f"and is right for {mode.at(BLOCKS, least):.1%} at epsilon {least:g} by PeGS.rs, for "
        f"{mode.of(BOOTSTRAP):.1%} if the records are real, and for {mode.of(INDEPENDENT):.1%} if they are drawn from "
        "the marginals: as in the paper, clearly below. 9b: the guess of the years of schooling is the mean of "
        "records alike; its error is comparable, as in the paper, except at a small epsilon from seeds that are "
        "uniform over the domain. 9c: more records are unique in age, sex and place of birth than among real ones, as "
        "in the paper. A unique record is no person: it is as unlike anybody as it is rare. The intruder's success "
        "from a model is that from as many of its records. It is higher, because the model is nearer to the truth: "
        "these guesses are knowledge of the population, which no such guarantee hides.",
        product=("deniable/evaluation/disclosure.py", "tasks/mapping/measures.py", "deniable/learners/pegs/draws.py"),
        checks=expected(people, checks),
        table=table_of(found, *names),
        picture=Picture(
            draw_map(pictured(found, *names)),
            "Share of right guesses of the occupation (9a), mean error of guessed years of schooling (9b) and share of "
            "unique records (9c), against the epsilon of the whole table, and of one record",
        ),
    )
