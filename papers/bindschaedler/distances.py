"""Figures 3 and 4: distances of single attributes and of pairs from a half of the real records that no model saw."""

from typing import Final

import numpy as np

from deniable.evaluation.utility import MarginalCounts, count_marginals, marginals_of_order, total_variation
from deniable.foundation.domain import Codes
from papers.bindschaedler.comparing import COPY, REALS, SHUFFLED, compared, copied, shuffled
from papers.bindschaedler.people import People, the_people
from papers.bindschaedler.pictures import draw_boxes
from papers.bindschaedler.published import OMEGAS
from papers.bindschaedler.releases import OF_PAPERS_SIZE
from papers.chance import Floats
from papers.findings import Check, Part, Picture, Table, between, equal

_FEWER: Final = "reals, a quarter as many"
_YEARS: Final = 5
"""Width of bins of age and hours in the figures of another program."""
_KINDS: Final = {1: ("Figure 3", "single attributes"), 2: ("Figure 4", "pairs of attributes")}
_PRODUCT = ("deniable/evaluation/utility.py", "deniable/samplers/tested_seeds/sampler.py")


def figure_3() -> Part:
    """Distances of single attributes."""
    return distances(the_people(), 1)


def figure_4() -> Part:
    """Distances of pairs of attributes."""
    return distances(the_people(), 2)


def measured(people: People, order: int, *, years: int = 1) -> dict[str, Floats]:
    """Total variation distances of each table from the second half, by table; shape (marginals,).

    Args:
        people: the real table.
        order: number of attributes of a marginal.
        years: width of bins of numeric attributes.
    """
    widths = [years if each.kind == "numeric" else 1 for each in people.domain.attributes]
    sizes = tuple(-(-size // width) for size, width in zip(people.domain.cardinalities, widths, strict=True))
    marginals = marginals_of_order(sizes, order)

    def counted(codes: Codes) -> MarginalCounts:
        return count_marginals([codes // np.asarray(widths, codes.dtype)], sizes, marginals)

    others = people.halves[1]
    right = counted(others)
    tables = {**compared(people), SHUFFLED: shuffled(people), COPY: copied(people)}
    found = {name: np.asarray(total_variation(counted(each), right)) for name, each in tables.items()}
    few = len(others) // 4
    found[_FEWER] = np.asarray(total_variation(counted(people.halves[0][:few]), counted(others[:few])))
    return found


def distances(people: People, order: int) -> Part:
    """Figure 3 or 4 on a table.

    Args:
        people: the table.
        order: 1 or 2, the number of attributes.
    """
    found = measured(people, order)
    middle = {name: float(np.median(own)) for name, own in found.items()}
    mean = {name: float(own.mean()) for name, own in found.items()}
    name, subject = _KINDS[order]
    shown = {each: own for each, own in found.items() if each not in (SHUFFLED, COPY, _FEWER)}
    rows = tuple(
        (each, f"{own.mean():.4f}", *(f"{quantile:.4f}" for quantile in np.quantile(own, (0, 0.25, 0.5, 0.75, 1))))
        for each, own in found.items()
    )
    return Part(
        name=name,
        title=f"distances of {subject}",
        verdict="close",
        why=_why(order),
        product=_PRODUCT,
        checks=(
            Check(f"control: a copy of the reals has their distances, {mean[COPY]:.4f}, of all {subject}",
                  bool((found[COPY] == found[REALS]).all())),
            *((*_checks_of_singles(people, mean, middle), *_checks_of_hours(people, found))
            if order == 1
            else _checks_of_pairs(people, mean, middle)),
        ),
        table=Table(("table", "mean", "least", "first quartile", "median", "third quartile", "most"), rows),
        picture=Picture(
            draw_boxes(shown, middle[REALS], "total variation distance"),
            f"Total variation distances of {subject} from the other half of the real records, for the reals, "
            "marginals, each omega and the log-linear learner; the dashed line is the median of the reals",
        ),
    )  # fmt: skip


def _why(order: int) -> str:
    same = (
        "The paper draws boxes and prints no number. Each table is compared with a half of the real records that no "
        "model saw; boxes are quartiles, whiskers 1.5 interquartile ranges, and the dashed line is the median of the "
        "reals. These have as many records as all others, because the distance of two samples of one population is a "
        "floor that rises as there are fewer records. "
    )
    if order == 1:
        return same + (
            "As in the paper, distances are small, and marginals are as near as the synthetic records or nearer; "
            "the large distances at epsilon 1 are of `hpw`, whose values have the fewest records for each combination "
            "of parents. Single attributes say little about a table: shuffled reals, in which none depends on another, "
            "are on the floor."
        )
    return same + (
        "In the paper, the reals are nearest, and synthetic records clearly nearer than marginals. At the paper's "
        "size, ours are so too, for every omega. At epsilon 1 on 50,000 records, noise takes that advantage away: "
        "the model knows more than marginals do, but its tables are noisier, and the mean distance is about that of "
        "marginals. The log-linear learner, with the same "
        "budget and as many records, is nearer than the paper's model at the paper's size."
    )


def _checks_of_singles(people: People, mean: dict[str, float], middle: dict[str, float]) -> tuple[Check, ...]:
    found = [
        Check("the median distance of every table is below .05", max(middle.values()) < 0.05),
        Check("marginals are as near as every omega, up to .01",
              all(mean["marginals"] <= mean[omega] + 0.01 for omega in (*OMEGAS, *OF_PAPERS_SIZE))),
        Check("control: shuffled reals are reals to single attributes", abs(mean[SHUFFLED] - mean[REALS]) < 1e-12),
        Check("the floor is higher for a quarter of the records", mean[_FEWER] > 1.2 * mean[REALS]),
    ]  # fmt: skip
    if people.are_real:
        binned = {name: float(own.mean()) for name, own in measured(people, 1, years=_YEARS).items()}
        found.append(equal("mean distance of the reals, in bins of five years", binned[REALS], 0.006, 0.0015))
    return tuple(found)


def _checks_of_hours(people: People, found: dict[str, Floats]) -> tuple[Check, ...]:
    """The attribute whose distances are the largest, of real people."""
    if not people.are_real:
        return ()
    largest = {people.domain.names[int(found[omega].argmax())] for omega in OMEGAS}
    return (Check(f"the largest distance of every omega at epsilon 1 is of hpw: {', '.join(sorted(largest))}",
                  largest == {"hpw"}),)  # fmt: skip


def _checks_of_pairs(people: People, mean: dict[str, float], middle: dict[str, float]) -> tuple[Check, ...]:
    found = [
        Check("the reals are nearest", all(
            middle[REALS] < own for name, own in middle.items() if name not in {REALS, COPY, _FEWER})),
        *(Check(f"{omega}, is nearer than marginals", middle[omega] < middle["marginals"]) for omega in OF_PAPERS_SIZE),
        Check("log-linear is nearer than every omega at the same epsilon",
              all(mean["log-linear"] < mean[omega] for omega in OMEGAS)),
        Check("control: shuffled reals are as far as marginals, up to .01",
              abs(mean[SHUFFLED] - mean["marginals"]) < 0.01),
    ]  # fmt: skip
    if people.are_real:
        binned = {name: float(own.mean()) for name, own in measured(people, 2, years=_YEARS).items()}
        found += [
            equal("mean distance of the reals, in bins of five years", binned[REALS], 0.0164, 0.001),
            equal("mean distance of log-linear records, in bins of five years", binned["log-linear"], 0.0253, 0.002),
            between("mean distance of marginals, in bins of five years", 0.05, binned["marginals"], 0.09),
            *(between(f"mean distance of {omega}, in bins of five years", 0.03, binned[omega], 0.15)
              for omega in (*OMEGAS, *OF_PAPERS_SIZE)),
            Check("every omega at epsilon 1 is about as far as marginals in the mean, up to .01",
                  all(abs(mean[omega] - mean["marginals"]) < 0.01 for omega in OMEGAS)),
            Check("log-linear is nearer than every omega at the paper's size",
                  all(mean["log-linear"] < mean[omega] for omega in OF_PAPERS_SIZE)),
        ]  # fmt: skip
    return tuple(found)
