"""The tables, besides ACS 2013, on which the log-linear learner is developed: unselected people and hospital stays.

Each table is coded, halved, and written in the form of the tools that made Adult and ACS 2013 (benchmarks.utility). Two
tables come from the folder that DENIABLE_EVALUATION names, one from a wheel of the package index, and one is made up.
The values are those that occur in the file, because this is a benchmark, in which nothing is protected.
"""

import json
import zipfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import norm

from benchmarks.population import stream
from schemas.spec.release_spec import PackageSource, PackageTable
from stores.tables.sources.reading import fetch_wheel

MEPS: Final = PackageSource(
    kind="package",
    package="aif360",
    version="0.3.0rc0",
    sha256="0db86e749bd8c6814023663cae76e1d7826a4596d1228cdaa758df3b0dccfd0a",
    tables=(PackageTable(member="aif360/data/raw/meps/h181.csv"),),
)
"""MEPS 2015, the full-year file of the Agency for Healthcare Research and Quality, from a package."""

Kind = Iterable[float] | None
"""The coding of a column: left edges of the values for a numeric column, None for a nominal one."""

_NOMINAL = None
_MONEY = (-1000, -15, -9, -8, -7, -3, -1, 0, 1, *(round(10 ** (step / 4)) for step in range(4, 24)))
_FEW = (-15, -9, -8, -7, -3, -2, -1, *range(9), 10, 12, 15, 20, 30, 50)
_AGE = (-9, -1, *range(0, 86, 2))
_SCORE = (-9, -1, *range(0, 80, 3))
_HOURS = (-9, -8, -7, -2, -1, *range(0, 100, 5))
_INCOME = (1, *(round(10 ** (step / 4)) for step in range(4, 25)))


def _nominal(names: str) -> dict[str, Kind]:
    return dict.fromkeys(names.split(), _NOMINAL)


_MEPS_40: Final[Mapping[str, Kind]] = {
    "AGE15X": _AGE,
    **_nominal("SEX RACETHX REGION15 MARRY15X"),
    "EDUCYR": (-9, -8, -7, -1, *range(18)),
    **_nominal("HIDEG FTSTU15X ACTDTY53 HONRDC53 RTHLTH53 MNHLTH53 HIBPDX CHDDX MIDX STRKDX EMPHDX CHOLDX CANCERDX"),
    **_nominal("DIABDX ARTHDX ARTHTYPE ASTHDX ADHDADDX PREGNT53 WLKLIM53 ACTLIM53 SOCLIM53 COGLIM53 ADSMOK42"),
    "PCS42": _SCORE,
    "MCS42": _SCORE,
    "K6SUM42": _FEW,
    **_nominal("EMPST53 INSCOV15 POVCAT15"),
    "FAMINC15": _MONEY,
    "OBTOTV15": _FEW,
    "ERTOT15": _FEW,
    "TOTEXP15": _MONEY,
}
_MEPS_81: Final[Mapping[str, Kind]] = {
    **_MEPS_40,
    **_nominal("EMPST31 EMPST42 RTHLTH31 RTHLTH42 MNHLTH31 MNHLTH42 MARRY31X REGION31 OCCCAT31 OCCCAT53 INDCAT31"),
    **_nominal("INDCAT53"),
    "HOUR31": _HOURS,
    "HOUR53": _HOURS,
    **_nominal("UNION53 SICPAY53 PAYDR53 SELFCM53 BORNUSA YRSINUS HWELLSPE ANGIDX OHRTDX CHBRON53 JTPAIN53 DFHEAR42"),
    **_nominal("DFSEE42 WRGLAS42 ADRISK42 ADGENH42 ADDAYA42 ADPAIN42"),
    "PHQ242": _FEW,
    "BMINDX53": (-9, -1, *range(0, 60, 2)),
    **_nominal("HAVEUS42"),
    "IPDIS15": _FEW,
    "RXTOT15": _FEW,
    "TTLP15X": _MONEY,
    "WAGEP15X": _MONEY,
    "SSECP15X": _MONEY,
    "PUBP15X": _MONEY,
}
_MEPS_160: Final[Mapping[str, Kind]] = {
    **_MEPS_81,
    **_nominal(
        "FAMSZE15 RUCLAS15 INTVLANG MARRY42X MARRY53X SPOUIN15 EDRECODE REFRL15X OTHLANG LANGSPK BPMLDX CHBRON31"
    ),
    **_nominal("JTPAIN31 ASSTIL53 ASATAK53 IADLHP53 ADLHLP53 AIDHLP53 WLKLIM31 LFTDIF53 STPDIF53 WLKDIF53 MILDIF53"),
    **_nominal("STNDIF53 BENDIF53 RCHDIF53 FNGRDF53 ACTLIM31 WRKLIM53 HSELIM53 SCHLIM53 SOCLIM31 COGLIM31 DFCOG42"),
    **_nominal("DFWLKC42 DFDRSB42 DFERND42 HEARAD42 CHPMED42 CHSERV42 CHLIMI42 DENTCK53 BPCHEK53 CHOLCK53 CHECK53"),
    **_nominal("NOFAT53 EXRCIS53 FLUSHT53 ASPRIN53 SEATBE53 ADILCR42 ADAPPT42 ADEGMC42 ADNSMK42 ADCLIM42 ADNRGY42"),
    **_nominal(
        "ADSOCA42 ADDOWN42 PROVTY42 PLCTYP42 MDUNAB42 MDDLAY42 DNUNAB42 PMUNAB42 MORJOB53 DISVW53X CHOIC53 PAYVAC53"
    ),
    **_nominal("RETPLN53 FOODST15 UNINS15 MCDEV15 MCREV15 PRVEV15"),
    "HOUR42": _HOURS,
    "DVTOT15": _FEW,
    "IPNGTD15": _FEW,
    "TOTSLF15": _MONEY,
    "RXEXP15": _MONEY,
}
_PERSONS: Final[Mapping[str, Kind]] = {
    "AGEP": range(100),
    **_nominal("COW SCHL MAR RAC1P SEX"),
    "WKHP": (-1, *range(0, 100, 5)),
    "WKWN": (-1, *range(0, 53, 4)),
    **_nominal("ESR NATIVITY CIT ENG MIL DIS HICOV"),
    "POVPIP": (-1, *range(0, 502, 25)),
    "WAGP": (-1e9, -1, 0, *_INCOME),
}
_WIDE: Final[Mapping[str, Kind]] = {
    "AGEP": range(100),
    **_nominal("SCHL OCCP INDP HISP STATE SEX"),
    "WKHP": (-1, *range(0, 100, 5)),
    "PINCP": (-1e9, -1e6, -1, 0, *_INCOME),
    **_nominal("ESR"),
}
_STAYS: Final[Mapping[str, Kind]] = {
    "time_in_hospital": range(1, 15),
    "num_lab_procedures": range(1, 133),
    "num_procedures": range(7),
    "num_medications": range(1, 82),
    "number_outpatient": range(43),
    "number_emergency": range(77),
    "number_inpatient": range(22),
    "number_diagnoses": range(1, 17),
}


@dataclass(frozen=True)
class Coded:
    """A table of codes.

    Attributes:
        rows: codes from 0, a column for each attribute.
        meta: the description of the columns, as the tools write it.
    """

    rows: pd.DataFrame
    meta: dict[str, Any]

    def halved(self, name: str, folder: Path) -> None:
        """Write the description and the halves in the form of the tools."""
        order = _shuffled(f"halves of {name}", len(self.rows))
        half = len(self.rows) // 2
        (folder / f"{name}_meta.json").write_text(json.dumps({"dataset": name, **self.meta}))
        for part, chosen in (("train", order[:half]), ("holdout", order[half : 2 * half])):
            self.rows.iloc[np.sort(chosen)].to_csv(folder / f"{name}_{part}.csv", index=False)


def prepare(name: str, shared: Path, folder: Path) -> None:
    """Make the halves of a table, if they do not exist yet."""
    if not (folder / f"{name}_holdout.csv").is_file():
        folder.mkdir(parents=True, exist_ok=True)
        TABLES[name](shared, folder).halved(name, folder)


def _shuffled(purpose: str, size: int) -> NDArray[np.int64]:
    """Return the numbers below a size in random order."""
    return np.argsort(stream(purpose).take(size), kind="stable")


def _coded(table: pd.DataFrame, kinds: Mapping[str, Kind], target: str, coarser: Mapping[str, int]) -> Coded:
    """Code columns.

    Args:
        table: the table.
        kinds: the coding of each column.
        target: name of the target.
        coarser: by column, the number of neighbouring codes that are scored together.
    """
    rows, columns = {}, {}
    for name, edges in kinds.items():
        if edges is None:
            values, codes = np.unique(table[name].astype(str), return_inverse=True)
            kind, size = "categorical", len(values)
        else:
            steps = np.unique(np.asarray(list(edges), float))
            codes = np.clip(np.searchsorted(steps, table[name].astype(float), side="right") - 1, 0, len(steps) - 1)
            kind, size = "numeric", len(steps)
        rows[name] = codes
        columns[name] = {"kind": kind, "size": size} | ({"eval_coarsen": coarser[name]} if name in coarser else {})
    return Coded(pd.DataFrame(rows), {"target": target, "columns": columns})


def _meps(kinds: Mapping[str, Kind]) -> Callable[[Path, Path], Coded]:
    def make(_: Path, folder: Path) -> Coded:
        with zipfile.ZipFile(fetch_wheel(MEPS, folder)) as wheel, wheel.open(MEPS.tables[0].member) as file:
            table = pd.read_csv(file, usecols=list(kinds))
        return _coded(table[table["AGE15X"] >= 0], kinds, "INSCOV15", {})

    return make


def _of_persons(kinds: Mapping[str, Kind], target: str, coarser: Mapping[str, int]) -> Callable[[Path, Path], Coded]:
    def make(shared: Path, _: Path) -> Coded:
        columns = sorted({*_PERSONS, *_WIDE})
        table = pd.read_parquet(shared / "data/acs2024/acs2024_persons_49states.parquet", columns=columns)
        table = table.sample(48_000, random_state=1)
        for name in columns:
            numeric = kinds.get(name) is not None
            below = -1e8 if name in {"PINCP", "WAGP"} else -1
            table[name] = (
                table[name].astype(float).fillna(below) if numeric else table[name].astype("string").fillna("NA")
            )
        return _coded(table, kinds, target, coarser)

    return make


def _stays(shared: Path, _: Path) -> Coded:
    table = pd.read_csv(shared / "data/diabetes130/diabetic_data.csv.gz", dtype=str, keep_default_na=False)
    table = table.drop_duplicates("patient_nbr").drop(columns=["encounter_id", "patient_nbr"])
    coarser = dict.fromkeys(("num_medications", "number_outpatient", "number_emergency"), 4)
    coarser |= dict.fromkeys(("diag_1", "diag_2", "diag_3"), 20) | {"num_lab_procedures": 6}
    return _coded(table, {name: _STAYS.get(name) for name in table}, "readmitted", coarser)


def _codes_with_a_tail(_: Path, __: Path) -> Coded:
    """Make up a table of 40,000 people: a ZIP code with 40,000 values and a job with 5,000, both by a power law."""
    people, codes, jobs = 40_000, 40_000, 5_000
    code, job = _with_a_tail("zip", codes, people), _with_a_tail("job", jobs, people)
    spread = norm.ppf((stream("ages").take(people) + 0.5) / 2**32)
    age = np.clip(40 + 3 * ((code // 400) % 7) + 18 * spread, 0, 99).astype(int) // 2
    income = ((job // 50) % 5 + stream("incomes").take(people) % 4 + (age > 25)) % 8
    outcome = ((income > 3) ^ (stream("outcomes").take(people) < 2**30)).astype(int)
    columns = {
        "zip": {"kind": "categorical", "size": codes, "eval_coarsen": 400},
        "job": {"kind": "categorical", "size": jobs, "eval_coarsen": 50},
        "age": {"kind": "numeric", "size": 50},
        "inc": {"kind": "categorical", "size": 8},
        "out": {"kind": "categorical", "size": 2},
    }
    rows = pd.DataFrame({"zip": code, "job": job, "age": age, "inc": income, "out": outcome})
    return Coded(rows, {"target": "out", "columns": columns})


def _with_a_tail(name: str, values: int, people: int) -> NDArray[np.int64]:
    """Draw values from a power law of exponent 1.1, with the frequent ones in random positions."""
    weights = (1 / (np.arange(values) + 3) ** 1.1)[_shuffled(f"values of {name}", values)]
    return np.searchsorted(np.cumsum(weights) / weights.sum(), stream(name).take(people) / 2**32, side="right")


TABLES: Final[Mapping[str, Callable[[Path, Path], Coded]]] = {
    "persons": _of_persons(_PERSONS, "HICOV", {"AGEP": 4}),
    "wide": _of_persons(_WIDE, "SEX", {"AGEP": 4, "OCCP": 20, "INDP": 10}),
    "diabetes": _stays,
    "meps": _meps(_MEPS_40),
    "meps80": _meps(_MEPS_81),
    "meps160": _meps(_MEPS_160),
    "zip": _codes_with_a_tail,
}
"""Functions that make each table from the shared folder and a folder for downloads."""
