"""What is run of the paper, and on which attributes; its own values of epsilon are not known here.

Its hospital discharges of California are not public. Attributes of ACS 2013 stand in for theirs: occupation for the
diagnosis, years of schooling for the charge, hours of work for the days of a stay, and the place of birth for the ZIP
code.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from deniable.learners.imputed.draws import PROGRESS
from deniable.learners.mapped import Drawing, Way, ways
from papers.bindschaedler.people import People
from papers.findings import Check
from papers.park.orders import by_information, from_marginals
from papers.running import note
from tasks.mapping.measures import Measured, RealTable

RECORDS: Final = 1000
"""Records of a point, as in the paper."""
EPSILONS: Final = (1, 5, 10, 20, 50, 100, 200)
"""Epsilons of one record."""
TOTALS: Final = (0.1, 1, 10)
"""Epsilons of the whole table, for models."""
KEY_CELLS: Final = 2000
DIVERSITIES: Final = (1.5, 2)
FROM_MARGINALS: Final = ", seeds from marginals"
IN_SCHEMA_ORDER: Final = ", schema order"

GIVEN: Final = ("age", "waob")
EXPLAINED: Final = ("incc", "hpw")
KNOWN: Final = ("age", "sex", "hpw", "waob")
GUESSED, NUMBER = "occ", "edu"
LINKING: Final = ("age", "sex", "waob")

PEGS, BLOCKS, POLYA, LONG_BLOCKS = "PeGS", "PeGS.rs, B = 10", "Polya, B = r = 10", "PeGS.rs, B = 100"


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """How much is run; smaller sizes are for tests.

    Attributes:
        epsilons: epsilons of one record.
        totals: total epsilons of models.
        records: records of each table that is charged by the record.
        keys: tables behind each point.
        keys_of_models: the same of models, which take longer.
        fit_rows: rows to which perturbed multiple imputation is fitted.
    """

    epsilons: tuple[float, ...] = EPSILONS
    totals: tuple[float, ...] = TOTALS
    records: int = RECORDS
    keys: int = 5
    keys_of_models: int = 2
    fit_rows: int = 20_000


WHOLE: Final = Sizes()


def real_table(people: People) -> RealTable:
    """The real table, with what is measured beside it."""
    domain = people.domain
    measured = Measured(
        given=domain.subset(GIVEN),
        explained=domain.subset(EXPLAINED),
        known=domain.subset(KNOWN),
        guessed=domain.subset([GUESSED]),
        number=domain.index(NUMBER),
        linking=domain.subset(LINKING),
    )
    return RealTable(domain, people.codes, measured)


@lru_cache(maxsize=2)
def drawing(people: People) -> Drawing:
    """Draws tables from the real one; what was counted and fitted serves all figures."""
    done = 0

    def advance(more: int) -> None:
        nonlocal done
        before, done = done, done + more
        if 10 * done // PROGRESS != 10 * before // PROGRESS:
            note(f"fits regressions of multiple imputation: {100 * (done % PROGRESS or PROGRESS) // PROGRESS} %")

    return Drawing(people.domain, people.codes, advance)


def papers_ways(people: People, **more: Any) -> tuple[Way, ...]:
    """The paper's samplers, with its orders: PeGS, PeGS.rs with two sizes of blocks, and Polya urns.

    Args:
        people: the real people.
        more: further entries of the learner.
    """
    return ways(KEY_CELLS, orders=by_information(people.domain, people.codes), **more)


def all_ways(people: People) -> tuple[Way, ...]:
    """The paper's samplers, the same from seeds like real people, and the same with orders of the schema."""
    seeds = from_marginals(people.domain, people.codes)
    orders = by_information(people.domain, people.codes)
    return (
        *papers_ways(people),
        *ways(KEY_CELLS, after=FROM_MARGINALS, orders=orders, seed_weights=seeds)[:2],
        *ways(KEY_CELLS, after=IN_SCHEMA_ORDER)[:2],
    )


def expected(people: People, checks: Iterable[Check]) -> tuple[Check, ...]:
    """Expectations that need real people; none of made-up ones."""
    return tuple(checks) if people.are_real else ()


def named(found: tuple[Way, ...], curve: str) -> Way:
    """The way with a name."""
    return next(way for way in found if way.curve == curve)
