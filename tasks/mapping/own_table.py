"""The R-U map of the table of a spec: its rows, what is measured of it, and its points; nothing is released or charged.

All figures are exact functions of the rows, and internal. A number in a spec that is chosen by the map of confidential
rows depends on them, and no guarantee covers that choice.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from deniable.foundation.domain import Codes, Domain
from deniable.foundation.errors import InvalidInput, Refused
from deniable.foundation.spec_values import LARGEST_EPSILON, SMALLEST_EPSILON
from deniable.learners.mapped import LARGEST_OF_RECORD, MODELS, Advance, Drawing, imputation, stream, ways
from deniable.samplers.mapped import NOTE
from reports.figures.confidentiality_map import ConfidentialityMap, MapPoint
from schemas.spec.release_spec import ReleaseSpec
from tasks.data.reading import valid_codes, without_quoting
from tasks.mapping.measures import Measured, RealTable
from tasks.mapping.points import baselines, points_of_guarantees, points_of_models, points_of_ways
from tasks.mapping.regressions import columns_of

EPSILONS: Final = (1.0, 10.0, 100.0)
TOTALS: Final = (0.1, 1.0, 10.0)
KEY_CELLS: Final = 2000
MOST_ROWS: Final = 100_000
"""Largest number of rows that a map uses; of more, a sample that is the same in every run."""
_MOST_COLUMNS = 1000
"""Largest number of columns of a regression; with more, no regression is measured."""


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What a map is to have.

    Attributes:
        epsilons: epsilons of one record.
        totals: total epsilons of models.
        records: number of records of each table that is charged by the record.
        repeats: number of tables behind each point, each drawn under its own key.
        fit_rows: number of rows to which perturbed multiple imputation is fitted; 0 to leave it out.
    """

    epsilons: Sequence[float] = EPSILONS
    totals: Sequence[float] = TOTALS
    records: int = 1000
    repeats: int = 3
    fit_rows: int = 0

    def __post_init__(self) -> None:
        """Refuse numbers that no map can have."""
        for name in ("records", "repeats"):
            if getattr(self, name) < 1:
                raise InvalidInput(f"--{name} must be at least 1, got {getattr(self, name)}.")
        for name, most in (("epsilons", LARGEST_OF_RECORD), ("totals", LARGEST_EPSILON)):
            own = getattr(self, name)
            if not own or min(own) < SMALLEST_EPSILON:
                raise InvalidInput(
                    f"--{name} must be numbers above 0, at least {float(SMALLEST_EPSILON):g}, got {_listed(own)}."
                )
            if max(own) > most:
                raise InvalidInput(f"--{name} must be at most {int(most):,}, got {_listed(own)}.")


def _listed(numbers: Sequence[float]) -> str:
    return " ".join(f"{number:g}" for number in numbers) or "none"


def rows_of(spec: ReleaseSpec, state: Path) -> Codes:
    """Read the valid rows of a spec's source.

    Args:
        spec: the spec.
        state: the state folder, in whose vault an error of the schema's own code, which may quote records, is kept.

    Raises:
        InvalidInput: the source is missing or lacks columns, or the schema does not fit it.
        Refused: no row is valid, or the schema's own code failed.
    """
    found = without_quoting(lambda: list(valid_codes(spec, state)), spec, state)
    if not (rows := sum(map(len, found))):
        raise Refused("a map must be of a table with valid rows, got none; see `deniable table check`.")
    codes = np.concatenate(found)
    if rows > MOST_ROWS:
        words = stream(0, "map", mechanism="rows", parameters={}).take(rows)
        codes = codes[np.sort(np.argsort(words, kind="stable")[:MOST_ROWS])]
    return codes


def measured_of(spec: ReleaseSpec, domain: Domain) -> tuple[Measured, str]:
    """The attributes that a map is about, from the spec's evaluation, and a remark on those that it leaves out.

    Distances are measured given the first attribute that the intruder knows. Regressions explain the first attribute
    with two values, the target if it has two, and the first numeric one; the intruder guesses the number of the first
    attribute in an order that is unknown.
    """
    asked = spec.evaluation
    known = domain.subset(asked.known)
    places = list(range(len(domain)))
    target = domain.index(asked.target or domain.target or domain.names[0])
    binary = [place for place in (target, *places) if domain.cardinalities[place] == 2]
    numeric = [place for place in places if domain.attributes[place].kind == "numeric" and place != target]
    ordered = [place for place in places if domain.attributes[place].kind != "nominal" and place not in known]
    explained = (*binary[:1], *numeric[:1])
    wide = [place for place in explained if columns_of(domain, place) > _MOST_COLUMNS]
    remark = (
        f"Regressions are left out: they would have more than {_MOST_COLUMNS:,} columns, one for each value of a "
        "nominal attribute."
    )
    return (
        Measured(
            given=(known or (target,))[:1] if len(domain) > 1 else (),
            explained=() if wide else explained,
            known=known,
            guessed=domain.subset(asked.sensitive),
            number=next((place for place in ordered if domain.cardinalities[place] > 2), None),
            linking=domain.subset(asked.quasi_identifiers),
        ),
        remark if wide else "",
    )


_NOTES = (
    """A table of records that are charged one by one costs as many times the epsilon of one record as it has records. A
    block of records costs the same however long it is; its epsilon is that of a record times its size.""",
    """Points of models are tables with as many records as half of the table has: further records cost nothing. The
    intruder sees as many of these as of all others.""",
    NOTE,
    """Nothing was released or charged. The figures are exact functions of the rows. Choose the numbers of a spec by the
    map of a public table: a choice by that of a confidential one depends on its rows, and no guarantee covers it.""",
)


def map_of(
    spec: ReleaseSpec, codes: Codes, asked: Asked, told: Callable[[MapPoint], None], advance: Advance = lambda _: None
) -> ConfidentialityMap:
    """Make the map of a table.

    Args:
        spec: the spec, of which the schema and the evaluation are used.
        codes: its rows.
        asked: what the map is to have.
        told: receives each point.
        advance: receives the work of fits.
    """
    domain = Domain(spec.domain.attributes, spec.domain.target)
    measured, remark = measured_of(spec, domain)
    real = RealTable(domain, codes, measured)
    drawing = Drawing(domain, codes, advance)
    some = (*ways(KEY_CELLS), *([imputation(asked.fit_rows)] if asked.fit_rows else ()))
    points: list[MapPoint] = []
    left_out: list[str] = []
    for made in (
        baselines(real, drawing, asked.records, asked.repeats),
        points_of_models(real, drawing, MODELS, asked.totals, asked.records, asked.repeats, left_out.append),
        points_of_guarantees(real, drawing, asked.totals, asked.records, asked.repeats, left_out.append),
        points_of_ways(real, drawing, some, asked.epsilons, asked.records, asked.repeats, left_out.append),
    ):
        for each in made:
            told(each)
            points.append(each)
    rules = "The rules of the table are not held by these records." if spec.domain.rules else ""
    notes = [*_NOTES, *filter(None, (remark, rules, *left_out))]
    return ConfidentialityMap(spec.title, real.measures, asked.repeats, points, notes)
