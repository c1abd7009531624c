"""Figures 5 to 7: R-U maps, with the epsilon of the whole table beside that of one record."""

from collections.abc import Iterator
from typing import Final

from deniable.learners.mapped import Way
from papers.bindschaedler.people import People, the_people
from papers.findings import Check, Part, Picture, equal
from papers.park.choices import (
    BLOCKS,
    EXPLAINED,
    FROM_MARGINALS,
    GIVEN,
    LONG_BLOCKS,
    PEGS,
    POLYA,
    WHOLE,
    Sizes,
    drawing,
    expected,
    papers_ways,
)
from papers.park.controls import controls
from papers.park.mapped import BOOTSTRAP, INDEPENDENT, SEEDED, Figures, mapped, pictured, table_of
from reports.plots.confidentiality_map import draw_map
from tasks.mapping.measures import Measured, RealTable

WORKED_OUT: Final = {
    (PEGS, 1): (0.354, 0.378),
    (PEGS, 5): (0.269, 0.286),
    (PEGS, 10): (0.227, 0.244),
    (PEGS, 20): (0.180, 0.204),
    (PEGS, 50): (0.143, 0.178),
    (BLOCKS, 1): (0.131, 0.158),
    (BLOCKS, 5): (0.079, 0.118),
    (BLOCKS, 10): (0.077, 0.119),
    (BLOCKS, 20): (0.077, 0.119),
    (BLOCKS, 50): (0.077, 0.119),
    (POLYA, 1): (0.239, 0.253),
    (POLYA, 5): (0.054, 0.100),
    (POLYA, 10): (0.049, 0.095),
    (POLYA, 20): (0.049, 0.096),
    (POLYA, 50): (0.049, 0.096),
    (LONG_BLOCKS, 1): (0.179, 0.215),
    (LONG_BLOCKS, 5): (0.180, 0.216),
    (LONG_BLOCKS, 10): (0.180, 0.216),
    (LONG_BLOCKS, 20): (0.180, 0.216),
    (LONG_BLOCKS, 50): (0.180, 0.216),
}
"""Marginal distance, and distance given age, that another program found, by curve and epsilon of one record."""
WORKED_OUT_BASELINES: Final = {BOOTSTRAP: (0.036, 0.068), INDEPENDENT: (0.036, 0.132)}
WORKED_OUT_LOGLINEAR: Final = (0.008, 0.03)
"""The same of the log-linear learner at a total of 1, at most."""
ONE_BLOCK: Final = {1: {1: 0.43, 5: 0.40, 10: 0.38}, 10: {1: 0.43, 5: 0.36, 10: 0.30}}
"""Marginal distance of one block for the whole table, by draws from a row and epsilon of the block."""
WITHIN: Final = 0.015
_WITHIN_GIVEN: Final = 0.02
"""Largest difference from these; distances given age are of fewer records, and vary more."""
_UP: Final = 0.015
"""By how much chance may raise a curve that falls."""
_PRODUCT: Final = (
    "deniable/learners/pegs/draws.py",
    "deniable/learners/imputed/draws.py",
    "deniable/learners/diverse/draws.py",
    "deniable/evaluation/confidentiality_map.py",
    "tasks/mapping/points.py",
)
_SEEN: Final = (
    "Points to the right of the dotted line limit next to nothing: a table of 1,000 records at epsilon 1 each costs "
    "1,000. The paper shows the epsilon of one record alone. "
)


def figure_5() -> Part:
    """The R-U map of marginals."""
    return marginals(the_people())


def figure_6() -> Part:
    """The R-U maps given an attribute."""
    return conditionals(the_people())


def figure_7() -> Part:
    """The R-U maps of regressions."""
    return regressions(the_people())


def marginals(people: People, sizes: Sizes = WHOLE) -> Part:
    """Figure 5 on a table.

    Args:
        people: the table.
        sizes: how much is run.
    """
    found = mapped(people, sizes)
    own = Figures(found, "marginal")
    blocks = one_block(people, sizes)
    said = ", ".join(f"{block:.2f}" for block in blocks[1].values())
    return Part(
        name="Figure 5",
        title="R-U map, marginal distance",
        verdict="close",
        why=_SEEN + "As in the paper, distances fall with epsilon, and at a small one PeGS.rs is much nearer than PeGS "
        "and multiple imputation. In the paper, PeGS is slightly nearer at a large one. Ours is so with seeds whose "
        "values are as common as among real people, from epsilon 10 on. From seeds that are uniform over the domain, "
        "one pass does not go far enough, whatever epsilon is. PeGS.rs stops falling because rows are reset, not "
        "because of prior weights: at "
        f"{own.at(BLOCKS, sizes.epsilons[-1]):.3f} with blocks of ten, and at "
        f"{own.at(LONG_BLOCKS, sizes.epsilons[-1]):.3f} with blocks of a hundred. Urns that serve ten draws stop at "
        f"{own.at(POLYA, sizes.epsilons[-1]):.3f}. The log-linear learner is nearer at a total of 1 than any of these. "
        f"The whole table as one block has a small total, and is useless: distances of {said} at totals of "
        f"{', '.join(map(str, blocks[1]))}.{_on_seeds(people, own, sizes)}",
        product=(*_PRODUCT, "deniable/samplers/mapped.py"),
        checks=expected(
            people,
            (
                *_shape(own, sizes),
                *_worked_out(people, own, 0, sizes),
                *_blocks(people, blocks, sizes),
                *_seeds(people, own, sizes),
                *controls(people, sizes, own, "marginal", is_distance=True),
            ),
        ),
        table=table_of(found, "marginal"),
        picture=Picture(
            draw_map(pictured(found, "marginal")),
            "Mean total variation distance of marginals against the epsilon of the whole table, and of one record",
        ),
    )


def _shape(own: Figures, sizes: Sizes) -> Iterator[Check]:
    least, most = sizes.epsilons[0], sizes.epsilons[-1]
    at_one = [own.at(curve, least) for curve in (BLOCKS, LONG_BLOCKS, POLYA, PEGS)]
    yield Check(
        f"at epsilon {least:g} a record, PeGS.rs with B = 10 is nearest, then B = 100, Polya urns, and PeGS: "
        + ", ".join(f"{each:.3f}" for each in at_one),
        at_one == sorted(at_one),
    )
    for curve in (PEGS, BLOCKS, POLYA, "PMI", PEGS + FROM_MARGINALS, BLOCKS + FROM_MARGINALS):
        rise = max(own.rises(curve))
        yield Check(f"{curve} falls with epsilon, up to {_UP}: rises by at most {rise:.3f}", rise <= _UP)
    yield Check(
        f"multiple imputation is further than PeGS.rs at epsilon {least:g}: {own.at('PMI', least):.3f}",
        own.at("PMI", least) > 2 * own.at(BLOCKS, least),
    )
    near, far = (own.at(curve + FROM_MARGINALS, most) for curve in (PEGS, BLOCKS))
    yield Check(
        f"from seeds like real people, PeGS is nearer than PeGS.rs at epsilon {most:g}: {near:.3f}, {far:.3f}",
        near < far,
    )
    near, far = (own.at(curve + FROM_MARGINALS, least) for curve in (BLOCKS, PEGS))
    yield Check(f"and further at epsilon {least:g}: {far:.3f}, {near:.3f}", near < far)
    totals = [own.least_total(curve) for curve in (PEGS, BLOCKS, LONG_BLOCKS, POLYA, "PMI")]
    yield Check(
        f"tables of {sizes.records:,} records that are charged one by one cost about {sizes.records * least:,.0f} in "
        f"total, or more: {min(totals):,.2f}",
        min(totals) >= 0.999 * sizes.records * least,
    )
    yield Check(
        f"log-linear records at a total of 1 are nearer than all of these: {own.of('log-linear', 1):.3f}",
        own.of("log-linear", 1) < min(own.at(curve, most) for curve in (PEGS, BLOCKS, POLYA, "PMI")),
    )


def _worked_out(people: People, own: Figures, which: int, sizes: Sizes) -> Iterator[Check]:
    """The figures of another program, of 1,000 real people."""
    if not people.are_real or sizes != WHOLE:
        return
    within = (WITHIN, _WITHIN_GIVEN)[which]
    for (curve, epsilon), right in WORKED_OUT.items():
        yield equal(f"{curve} at epsilon {epsilon} a record", own.at(curve, epsilon), right[which], within)
    for curve in (BLOCKS, LONG_BLOCKS):
        plateau = WORKED_OUT[curve, 50][which]
        yield equal(f"{curve} ends where it stops falling", own.at(curve, sizes.epsilons[-1]), plateau, within)
    for curve, right in WORKED_OUT_BASELINES.items():
        yield equal(curve, own.of(curve), right[which], within)
    if which == 0:
        yield equal("values drawn independently, and real records", own.of(INDEPENDENT), own.of(BOOTSTRAP), 0.01)
    most = WORKED_OUT_LOGLINEAR[which]
    yield Check(f"log-linear records at a total of 1: {own.of('log-linear', 1):.3f} is at most {most}",
                own.of("log-linear", 1) <= most)  # fmt: skip


_HISTOGRAM, _ATTEMPTS, _TESTED = SEEDED


def _on_seeds(people: People, own: Figures, sizes: Sizes) -> str:
    """What the points of records from seeds show of real people."""
    if not people.are_real or sizes != WHOLE:
        return ""
    least, one = sizes.totals[:2]
    return (
        " Records that start from seeds are charged as a whole, as those of models are. Poisson attempts cost hardly "
        f"any distance: {own.of(_ATTEMPTS, one):.3f} at a total of {one:g}, beside {own.of('log-linear', one):.3f} of "
        f"the model alone; at {least:g} they have no point, because the budget lets none pass. A histogram keeps the "
        f"prefixes that many people share: none at a total of {least:g}, where all records are drawn from the model, "
        f"at half of the total, and so few at {one:g} that these are too common ({own.of(_HISTOGRAM, one):.3f}). "
        f"{sizes.records:,} records from tested seeds, of three times as many candidates, cost "
        f"{own.total(_TESTED):.1f} in total, by Theorem A."
    )


def _seeds(people: People, own: Figures, sizes: Sizes) -> Iterator[Check]:
    """Expectations for what the text states."""
    if not people.are_real or sizes != WHOLE:
        return
    least, one = sizes.totals[:2]
    attempts, histogram, model = (own.of(curve, one) for curve in (_ATTEMPTS, _HISTOGRAM, "log-linear"))
    yield equal(f"records of Poisson attempts at a total of {one:g}, and of the model", attempts, model, 0.005)
    yield Check(
        f"{_ATTEMPTS} have no point at a total of {least:g}", len(own.along(_ATTEMPTS)) == len(sizes.totals) - 1
    )
    yield Check(
        f"records of a histogram are further at a total of {one:g} than at {least:g}, and than those of attempts: "
        f"{histogram:.3f}, {own.of(_HISTOGRAM, least):.3f}, {attempts:.3f}",
        histogram > own.of(_HISTOGRAM, least) > attempts,
    )
    yield Check(
        f"records from tested seeds cost more than five models: {own.total(_TESTED):.1f}", own.total(_TESTED) > 5
    )


def one_block(people: People, sizes: Sizes) -> dict[int, dict[int, float]]:
    """Marginal distances of tables that are one block each, by draws from a row and epsilon of the block."""
    real, draw, (pegs, *_) = _real(people), drawing(people), papers_ways(people)
    found: dict[int, dict[int, float]] = {}
    for draws, epsilons in ONE_BLOCK.items():
        way = Way("one block", {**pegs.entry, "draws_per_row": draws}, sizes.records)
        for epsilon in epsilons:
            make, _ = draw.drawer({**way.at(1), "epsilon": epsilon}, sizes.records)
            distances = [real.figures(make(number), sizes.records)[0] for number in range(1, sizes.keys + 1)]
            found.setdefault(draws, {})[epsilon] = sum(distances) / len(distances)
    return found


def _real(people: People) -> RealTable:
    """The real table for marginal distances alone."""
    return RealTable(people.domain, people.codes, Measured((), (), (), (), None, ()))


def _blocks(people: People, blocks: dict[int, dict[int, float]], sizes: Sizes) -> Iterator[Check]:
    if not people.are_real or sizes != WHOLE:
        return
    for draws, epsilons in ONE_BLOCK.items():
        for epsilon, right in epsilons.items():
            words = f"one block for the whole table, {draws} draws from a row, at a total of {epsilon}"
            yield equal(words, blocks[draws][epsilon], right, WITHIN + 0.005)


def conditionals(people: People, sizes: Sizes = WHOLE) -> Part:
    """Figure 6 on a table; for arguments see `marginals`."""
    found, names = mapped(people, sizes), [f"given {name}" for name in GIVEN]
    first, second = (Figures(found, name) for name in names)
    least, most = sizes.epsilons[0], sizes.epsilons[-1]
    checks = [*_worked_out(people, first, 1, sizes)]
    for name, own in zip(names, (first, second), strict=True):
        at_one = [own.at(curve, least) for curve in (BLOCKS, LONG_BLOCKS, POLYA, PEGS)]
        checks += [
            Check(
                f"{name}, the order at epsilon {least:g} is that of Figure 5: "
                + ", ".join(f"{each:.3f}" for each in at_one),
                at_one == sorted(at_one),
            ),
            Check(
                f"{name}, values drawn independently are further than real records: {own.of(INDEPENDENT):.3f}, "
                f"{own.of(BOOTSTRAP):.3f}",
                own.of(INDEPENDENT) > own.of(BOOTSTRAP) + 0.01,
            ),
            Check(
                f"{name}, PeGS.rs is much nearer than PeGS and imputation at epsilon {least:g}: "
                f"{own.at(BLOCKS, least):.3f}, {own.at(PEGS, least):.3f}, {own.at('PMI', least):.3f}",
                1.5 * own.at(BLOCKS, least) < min(own.at(PEGS, least), own.at("PMI", least)),
            ),
            Check(
                f"{name}, PeGS from seeds like real people is nearer than PeGS.rs at epsilon {most:g}",
                own.at(PEGS + FROM_MARGINALS, most) < own.at(BLOCKS + FROM_MARGINALS, most),
            ),
            *(
                Check(f"{name}, {curve} falls with epsilon, up to {_UP}", max(own.rises(curve)) <= _UP)
                for curve in (PEGS, BLOCKS, POLYA, "PMI", PEGS + FROM_MARGINALS)
            ),
            *controls(people, sizes, own, name, is_distance=True),
        ]
    return Part(
        name="Figure 6",
        title="R-U map, conditional distance",
        verdict="close",
        why=_SEEN + "6a is given the age, in groups of ten years, and 6b given the place of birth, in place of the "
        "ZIP code, which these people do not have. The curves have the order of Figure 5, as in the paper. Values "
        "drawn independently from the exact marginals are as near as real records in Figure 5; here, they are not.",
        product=_PRODUCT,
        checks=expected(people, checks),
        table=table_of(found, *names),
        picture=Picture(
            draw_map(pictured(found, *names)),
            "Mean total variation distance of marginals given age (6a) and given the place of birth (6b), against the "
            "epsilon of the whole table, and of one record",
        ),
    )


def regressions(people: People, sizes: Sizes = WHOLE) -> Part:
    """Figure 7 on a table; for arguments see `marginals`."""
    found, names = mapped(people, sizes), [f"regression of {name}" for name in EXPLAINED]
    least, most = sizes.epsilons[0], sizes.epsilons[-1]
    checks = []
    for name in names:
        own = Figures(found, name)
        nearest = min(own.at(curve, least) for curve in (PEGS, "PMI"))
        checks += [
            Check(
                f"{name}: PeGS.rs is nearest at epsilon {least:g}: {own.at(BLOCKS, least):.3f}, then {nearest:.3f}",
                own.at(BLOCKS, least) < nearest,
            ),
            Check(
                f"{name}: PeGS falls from epsilon {least:g} to {most:g}: {own.at(PEGS, least):.3f} to "
                f"{own.at(PEGS, most):.3f}",
                own.at(PEGS, most) < own.at(PEGS, least),
            ),
            Check(
                f"{name}: log-linear records at a total of 1 are nearer than all of these",
                own.of("log-linear", 1) < min(own.at(curve, most) for curve in (PEGS, BLOCKS, POLYA, "PMI")),
            ),
            *controls(people, sizes, own, name, is_distance=True),
        ]
    return Part(
        name="Figure 7",
        title="R-U map, regressions",
        verdict="close",
        why=_SEEN + "Distances are between coefficients: of a logistic regression of the income class, and of a linear "
        "one of the hours of work, on all other attributes, with a public standardisation and a small ridge. As in the "
        "paper, PeGS.rs is nearest at a small epsilon, and PeGS becomes nearer as epsilon rises. The logistic "
        "regression has 98 coefficients and 1,000 records, and even resampled real records are at a distance of "
        f"{Figures(found, names[0]).of(BOOTSTRAP):.2f}, so that its curves are flat.",
        product=(*_PRODUCT, "tasks/mapping/regressions.py"),
        checks=expected(people, checks),
        table=table_of(found, *names),
        picture=Picture(
            draw_map(pictured(found, *names)),
            "Distance of the coefficients of a logistic and of a linear regression, against the epsilon of the whole "
            "table, and of one record",
        ),
    )
