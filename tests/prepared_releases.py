"""Releases whose quality is known, to try the report's verdict: four good, four useless, and four unsafe ones.

All are made by the steps of a release, of two tables of made-up people each. Useless ones are honest: too few people,
too little budget, one attribute too many, or amounts that may be far larger than any is. What
makes a release unsafe is done behind the back of its steps.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from unittest import mock

import numpy as np
from numpy.typing import NDArray

from deniable.evaluation.derived.verdict import Overall
from deniable.foundation import noise
from deniable.foundation.domain import Codes
from deniable.foundation.keys import WordStream
from reports.pages.report import ReportContent
from reports.plots.record_flow_diagram import RecordFlow, Stage
from schemas.references import Reference
from schemas.spec.release_spec import load_spec
from stores.tables.tables import load_codes, write_codes
from stores.vault.workspace import Workspace
from tests.small_release import write_small_release
from tests.whole_release import Drawn, drawn_by

Ints = NDArray[np.int64]
Table = dict[str, Ints]

TABLES: Final = (0, 1)
"""The two tables of each case."""

_SIZES: Final = {"sex": 2, "region": 12, "schooling": 5, "married": 3, "trade": 25, "owner": 2, "health": 4, "car": 2}


def townspeople(rows: int, table: int) -> Table:
    """Eleven attributes of people: eight nominal ones, age, hours of work and a yearly amount with a long tail.

    Args:
        rows: number of people.
        table: which of two populations, whose attributes depend on each other in different ways.
    """
    draw = np.random.default_rng([table, rows])
    age = np.clip(np.rint(draw.normal(44 + 4 * table, 15, rows)), 18, 90).astype(np.int64)
    sex, region = draw.integers(0, 2, rows), draw.choice(12, rows, p=_falling(12))
    schooling = np.clip(np.rint(draw.normal(2.4 - (age - 44) / 40, 1, rows)), 0, 4).astype(np.int64)
    trade = np.clip(schooling * 5 + draw.choice(9, rows, p=_falling(9)) - 2, 0, 24)
    hours = np.where(age > 66, 0, np.clip(np.rint(draw.normal(38 - 6 * sex * table, 8, rows)), 0, 60)).astype(np.int64)
    amount = np.exp(draw.normal(7 + schooling / 3 + hours / 40, 0.8 + 0.2 * table, rows)).astype(np.int64)
    rich = (np.log(amount + 1) > 8.6).astype(np.int64)
    return {
        "age": age,
        "sex": sex,
        "region": region,
        "schooling": schooling,
        "married": np.clip((age - 20) // 15 + draw.integers(-1, 2, rows), 0, 2),
        "trade": trade,
        "owner": np.where(draw.random(rows) < 0.8, rich, 1 - rich),
        "health": np.clip((age - 30) // 18 + draw.integers(-1, 2, rows), 0, 3),
        "car": (draw.random(rows) < 0.3 + 0.4 * rich).astype(np.int64),
        "hours": hours,
        "amount": np.minimum(amount, 999_999),
    }


def _falling(size: int) -> NDArray[np.float64]:
    shares = 0.75 ** np.arange(size)
    return np.asarray(shares / shares.sum())


def schema_of(table: Table, highest: int) -> str:
    """The schema of such a table; further attributes are nominal, with the values that their names end on.

    Args:
        table: the table.
        highest: the largest amount that may occur, less than a power of ten; there are nine bins for each power.
    """
    columns = []
    for name in table:
        kind = {
            "age": "numeric(18, 90)",
            "hours": "numeric(0, 60)",
            "amount": f"numeric(0, {highest}, bins={_edges(highest)})",
        }.get(name)
        size = _SIZES.get(name) or int(name.rpartition("_")[2] if "_" in name else 0)
        columns.append(f'        "{name}": {kind or f"nominal(list(range({size})))"},')
    lines = "\n".join(columns)
    return f"""
from schemas.table import nominal, numeric, table

schema = table(
    {{
{lines}
    }},
    description="Made-up people.",
    target="owner",
)
"""


def _edges(highest: int) -> list[int]:
    return [0, *(digit * 10**power for power in range(2, len(str(highest))) for digit in range(1, 10))]


@dataclass(frozen=True)
class Prepared:
    """A release whose quality is known.

    Attributes:
        verdict: what a report must say of it.
        rows: number of people.
        changes: changes to the spec of a good release.
        people: makes the table of people.
        spoil: makes the spoilt records of the released ones, the real ones and the names of the attributes.
        has_noise: whether noise is added.
        highest: the largest amount that the schema allows.
        attacked: the group or the attribute that a report must name.
    """

    verdict: Overall
    rows: int = 20_000
    changes: Callable[[], dict[str, Any]] = dict
    people: Callable[[int, int], Table] = townspeople
    spoil: Callable[[Codes, Codes, list[str]], Codes] | None = None
    has_noise: bool = True
    highest: int = 999_999
    attacked: str = ""


def bayesian() -> dict[str, Any]:
    """What to change for records of a Bayesian network, whose parents are chosen by the exponential mechanism."""
    budgets = {"structure": {"epsilon": 1, "degree": 2}, "parameters": {"epsilon": 2}}
    return {"learner": {"kind": "privbayes", "noise": "laplace", **budgets}}


def seedless(epsilon: float = 1, kind: str = "loglinear") -> dict[str, Any]:
    """What to change for records of a model."""
    return {"learner": {"kind": kind, "noise": "gaussian", "parameters": {"epsilon": epsilon, "delta": 1e-9}}}


def parcels(rows: int, table: int) -> Table:
    """The townspeople, each with a parcel of land that hardly anyone else has."""
    draw = np.random.default_rng([table, rows, 1])
    return {**townspeople(rows, table), "parcel_30000": draw.integers(0, 30_000, rows)}


def employers(rows: int, table: int) -> Table:
    """The townspeople, each with one of three thousand employers, whose sizes fall as the inverse of their rank."""
    draw = np.random.default_rng([table, rows, 2])
    shares = 1 / np.arange(3, 3003)
    # Their numbers say nothing of their sizes.
    numbers = draw.permutation(3000)
    return {**townspeople(rows, table), "employer_3000": numbers[draw.choice(3000, rows, p=shares / shares.sum())]}


def answers(rows: int, table: int) -> Table:
    """The townspeople, with fifty-five answers that depend on four traits of a person."""
    draw = np.random.default_rng([table, rows, 3])
    traits = draw.normal(0, 1, (4, rows))
    asked = {
        f"answer{i}_5": np.clip(np.rint(2 + traits[i % 4] + draw.normal(0, 0.5, rows)), 0, 4).astype(np.int64)
        for i in range(55)
    }
    return {**townspeople(rows, table), **asked}


@contextmanager
def no_noise() -> Iterator[None]:
    """No noise at all, though the events of its law are charged."""

    def nothing(_law: object, _stream: WordStream, size: int) -> Ints:
        return np.zeros(size, np.int64)

    with (
        mock.patch.object(noise, "_sample_by_inversion", nothing),
        mock.patch.object(noise, "_sample_by_rejection", nothing),
    ):
        yield


def copied(released: Codes, real: Codes, _names: list[str]) -> Codes:
    """One record in twenty is that of a person."""
    rows = len(released) // 20
    return np.concatenate((real[:rows], released[rows:]))


def memorised(released: Codes, real: Codes, names: list[str]) -> Codes:
    """The records of one trade are those of its people."""
    trade = names.index("trade")
    group = real[real[:, trade] == 23]
    return np.concatenate((group, released[released[:, trade] != 23]))[: len(released)]


def identified(released: Codes, real: Codes, names: list[str]) -> Codes:
    """Each record has the parcel of a person."""
    spoilt = released.copy()
    rows = min(len(released), len(real))
    spoilt[:rows, names.index("parcel_30000")] = real[:rows, names.index("parcel_30000")]
    return spoilt[:rows]


_USUAL: Final[dict[str, Any]] = {
    **seedless(),
    "split": {"shared": 0.7, "holdout": 0.3},
    "synthesis": {"guarantee": "seedless", "records": 12_000, "chunk_candidates": 16_384},
    "chunk_rows": 100_000,
    "evaluation": {
        "classifiers": ["forest"],
        "train_rows": 4000,
        "quasi_identifiers": ["age", "sex", "region", "trade"],
        "sensitive": ["married", "health"],
        "known": ["age", "sex", "region", "trade"],
    },
    "thresholds": {},
}

PREPARED: Final[dict[str, Prepared]] = {
    "of a log-linear model": Prepared("fit", rows=40_000),
    "of a tree of pairs": Prepared("fit", rows=60_000, changes=lambda: seedless(5, "mst")),
    "of many people": Prepared("fit", rows=60_000, changes=lambda: seedless(0.5)),
    "of a Bayesian network": Prepared("fit", rows=60_000, changes=bayesian),
    "drowned in noise": Prepared("unfit", changes=lambda: seedless(0.004)),
    "of 499 people": Prepared("unfit", rows=499),
    "of 814 people by 66 attributes": Prepared("unfit", rows=814, people=answers),
    "with an attribute lost": Prepared("unfit", people=employers, changes=lambda: seedless(0.3)),
    "with a wrong total": Prepared("unfit", highest=99_999_999, changes=lambda: seedless(1, "mst")),
    "with copies": Prepared("unsafe", spoil=copied),
    "without noise": Prepared("unsafe", people=parcels, has_noise=False, attacked="parcel_30000"),
    "with a memorised group": Prepared("unsafe", spoil=memorised, attacked="(trade=23)"),
    "with an attribute that identifies": Prepared(
        "unsafe", people=parcels, spoil=identified, attacked="(parcel_30000)"
    ),
}
"""The releases, by name."""


def prepare(name: str, table: int, folder: Path) -> ReportContent:
    """Make a release, and the content of its report.

    Args:
        name: its name.
        table: which of the two tables it is made of.
        folder: an empty folder.
    """
    made = PREPARED[name]
    people = made.people(made.rows, table)
    records = np.column_stack(list(people.values()))
    spec = load_spec(
        write_small_release(
            folder / "spec",
            people=records.astype(str).tolist(),
            names=list(people),
            schema=schema_of(people, made.highest),
            **{**_USUAL, "title": "Made-up people", **made.changes()},
        )
    )

    def spoilt(workspace: Workspace, released: Reference, parts: Mapping[str, Reference]) -> Reference:
        assert made.spoil is not None
        codes, real = (load_codes(table.path, spec.domain) for table in (released, parts["shared"]))
        changed = made.spoil(codes, real, list(spec.domain.names))
        with workspace.writing("spoilt.parquet", released.audience) as path:
            rows = write_codes(path, spec.domain, [changed])
        return workspace.refer("released", "spoilt.parquet", released.audience, rows)

    with nullcontext() if made.has_noise else no_noise():
        drawn = drawn_by(
            spec, folder, f"made-up-{table}", bytes([table + 1] * 32), folder.name, spoilt if made.spoil else None
        )
    return content_of(drawn)


def content_of(drawn: Drawn) -> ReportContent:
    """The content of the report of a release that was made without a flow."""
    spec = drawn.workspace.spec
    utility, risk = drawn.figures
    records = drawn.codes.rows or 0
    return ReportContent(
        release_id=drawn.workspace.release_id,
        spec=spec,
        accounts=drawn.accounts,
        flow=RecordFlow(
            stages=(Stage("in the source", records), Stage("valid", records, "invalid")),
            parts=dict.fromkeys(spec.split.probabilities, records),
            candidates=spec.synthesis.attempts,
            passed=records,
            released=records,
        ),
        weights={},
        utility=utility,
        risk=risk,
    )
