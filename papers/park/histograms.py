"""Figure 4: histograms of records by PeGS and by PeGS.rs, beside those of real people."""

from collections.abc import Mapping
from typing import Final

import numpy as np

from deniable.foundation.domain import Codes, Domain
from papers.bindschaedler.people import People, the_people
from papers.chance import Floats
from papers.findings import Check, Part, Picture, Table
from papers.park.choices import BLOCKS, FROM_MARGINALS, PEGS, WHOLE, Sizes, all_ways, drawing, expected, named
from papers.park.pictures import draw_histograms

_SHOWN: Final = ("age", "edu", "occ", "hpw")
_EPSILONS: Final = (1, 10, 50)
_DRAWN_AT: Final = 50
_REAL: Final = "real people"
_CURVES: Final = (PEGS, BLOCKS, PEGS + FROM_MARGINALS, BLOCKS + FROM_MARGINALS)


def figure_4() -> Part:
    """Histograms of PeGS and PeGS.rs."""
    return histograms(the_people())


def unevenness(domain: Domain, codes: Codes) -> float:
    """Mean over the attributes of the total variation distance of a marginal from the uniform distribution."""
    return float(np.mean([np.abs(shares(domain, codes, name) - 1 / size).sum() / 2
                          for name, size in zip(domain.names, domain.cardinalities, strict=True)]))  # fmt: skip


def shares(domain: Domain, codes: Codes, name: str) -> Floats:
    """The share of each value of an attribute, shape (values,)."""
    place = domain.index(name)
    return np.bincount(codes[:, place], minlength=domain.cardinalities[place]) / len(codes)


def drawn_tables(people: People, sizes: Sizes) -> Mapping[tuple[str, int], list[Codes]]:
    """Tables under each key, by curve and epsilon of one record."""
    draw, found = drawing(people), {}
    for curve in _CURVES:
        for epsilon in _EPSILONS:
            make, _ = draw.drawer(named(all_ways(people), curve).at(epsilon), sizes.records)
            found[curve, epsilon] = [make(number) for number in range(1, sizes.keys + 1)]
    return found


def histograms(people: People, sizes: Sizes = WHOLE) -> Part:
    """Figure 4 on a table.

    Args:
        people: the table.
        sizes: how much is run.
    """
    domain, tables = people.domain, drawn_tables(people, sizes)
    uneven = {
        (curve, epsilon): float(np.mean([unevenness(domain, each) for each in own]))
        for (curve, epsilon), own in tables.items()
    }
    real = unevenness(domain, people.codes)
    near, reset = PEGS + FROM_MARGINALS, BLOCKS + FROM_MARGINALS
    checks = (
        Check(
            "from seeds like real people, histograms of PeGS.rs are flatter than those of PeGS at epsilon "
            f"{_DRAWN_AT}: {uneven[reset, _DRAWN_AT]:.3f}, {uneven[near, _DRAWN_AT]:.3f} from even",
            uneven[reset, _DRAWN_AT] < uneven[near, _DRAWN_AT] - 0.02,
        ),
        *(
            Check(
                f"all are flatter than those of real people, or as flat up to .02, at epsilon {epsilon}",
                all(uneven[curve, epsilon] < real + 0.02 for curve in _CURVES),
            )
            for epsilon in _EPSILONS
        ),
        Check(
            f"at epsilon 1, histograms of PeGS are flatter: {uneven[PEGS, 1]:.3f}, {uneven[BLOCKS, 1]:.3f}",
            uneven[PEGS, 1] < uneven[BLOCKS, 1] and uneven[near, 1] < uneven[reset, 1],
        ),
    )
    drawn = {_REAL: [people.codes], PEGS: tables[near, _DRAWN_AT], BLOCKS: tables[reset, _DRAWN_AT]}
    return Part(
        name="Figure 4",
        title="histograms of PeGS and PeGS.rs",
        verdict="close",
        why="In the paper, histograms of PeGS.rs are flatter, because rows that were used are uniform for the rest of "
        f"a block. Ours are so at epsilon {_DRAWN_AT} for one record, which is drawn, from seeds whose values are as "
        "common as among real people. At epsilon 1, those of PeGS are flatter: its prior weights are larger, because "
        "each of its records has to pay for itself. From seeds that are uniform over the domain, those of PeGS are "
        "flatter at every epsilon. The table has the mean distance of a histogram from the even one.",
        product=("deniable/learners/pegs/draws.py", "deniable/models/urns.py"),
        checks=expected(people, checks),
        table=Table(
            ("records by", *(f"ε = {epsilon} a record" for epsilon in _EPSILONS)),
            (
                (_REAL, *(f"{real:.3f}" for _ in _EPSILONS)),
                *((curve, *(f"{uneven[curve, epsilon]:.3f}" for epsilon in _EPSILONS)) for curve in _CURVES),
            ),
        ),
        picture=Picture(
            draw_histograms(
                {
                    name: {
                        table: np.mean([shares(domain, each, name) for each in own], axis=0)
                        for table, own in drawn.items()
                    }
                    for name in _SHOWN
                },
                {name: domain.attributes[domain.index(name)].values for name in _SHOWN},
            ),
            "Shares of the values of four attributes among real people, and among records by PeGS and by PeGS.rs",
        ),
    )
