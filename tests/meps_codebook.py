"""A codebook of 80 variables in AHRQ's codebook form, and a made-up table that it describes.

The variables are those of a year's consolidated file of the Medical Expenditure Panel Survey, with their usual codes
and our own ranges. The counts in the codebook are made up; they are never read.
"""

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

_SPECIAL = {-1: "INAPPLICABLE", -7: "REFUSED", -8: "DK", -9: "NOT ASCERTAINED"}
_HEALTH = {1: "EXCELLENT", 2: "VERY GOOD", 3: "GOOD", 4: "FAIR", 5: "POOR"}
_YES = {1: "YES", 2: "NO"}
_TIMES = ("31", "42", "53")


@dataclass(frozen=True)
class Described:
    """A variable: its codes with their labels, or its largest number, possibly with decimals."""

    name: str
    label: str
    codes: dict[int, str]
    most: int = 0
    decimals: int = 0

    @property
    def lines(self) -> Iterator[str]:
        """Yield its lines in a codebook."""
        width = max(2, len(str(self.most)))
        yield f" {self.name:<9} {self.label:<44} {width}.0  NUM  {100:>5} {100 + width:>5}"
        yield "           VALUE                            UNWEIGHTED    WEIGHTED BY PERWT"
        for code, label in (*_SPECIAL.items(), *self.codes.items()):
            yield f"           {f'{code} {label}':<32} {1_234:>10,} {12_345_678:>14,}"
        if self.most:
            unit, middle = 10**self.decimals, self.most * 10**self.decimals // 3
            yield f"           {0:<32} {2_345:>10,} {22_345_678:>14,}"
            for ends in ((1, middle), (middle + 1, self.most * unit - (unit > 1))):
                low, high = (f"{end / unit:.{self.decimals}f}" for end in ends)
                yield f"           {f'{low} - {high}':<32} {1_234:>10,} {12_345_678:>14,}"
        yield f"           {'TOTAL':<32} {35_427:>10,} {321_423_251:>14,}"


def _coded(label: str, *names: str, codes: dict[int, str]) -> Iterator[Described]:
    return (Described(name, label, codes) for name in names)


def _amounts(*of: tuple[str, str, int]) -> Iterator[Described]:
    return (Described(name, label, {}, most) for name, label, most in of)


VARIABLES = (
    *_amounts(("AGE15X", "AGE AS OF 12/31", 85), ("EDUCYR", "YEARS OF EDUCATION", 17)),
    *_coded("SEX", "SEX", codes={1: "MALE", 2: "FEMALE"}),
    *_coded(
        "RACE AND ETHNICITY",
        "RACETHX",
        codes={1: "HISPANIC", 2: "WHITE ONLY", 3: "BLACK ONLY", 4: "ASIAN ONLY", 5: "OTHER RACE OR SEVERAL"},
    ),
    *_coded(
        "MARITAL STATUS",
        "MARRY15X",
        codes={1: "MARRIED", 2: "WIDOWED", 3: "DIVORCED", 4: "SEPARATED", 5: "NEVER MARRIED", 6: "UNDER 16"},
    ),
    *_coded("CENSUS REGION", "REGION15", codes={1: "NORTHEAST", 2: "MIDWEST", 3: "SOUTH", 4: "WEST"}),
    *_coded(
        "INCOME AS PERCENT OF POVERTY LINE",
        "POVCAT15",
        codes={1: "POOR", 2: "NEAR POOR", 3: "LOW INCOME", 4: "MIDDLE INCOME", 5: "HIGH INCOME"},
    ),
    *_coded("HEALTH INSURANCE COVERAGE", "INSCOV15", codes={1: "ANY PRIVATE", 2: "PUBLIC ONLY", 3: "UNINSURED"}),
    *_coded("PERCEIVED HEALTH STATUS", *(f"RTHLTH{time}" for time in _TIMES), codes=_HEALTH),
    *_coded("PERCEIVED MENTAL HEALTH STATUS", *(f"MNHLTH{time}" for time in _TIMES), codes=_HEALTH),
    *_coded(
        "EMPLOYMENT STATUS",
        *(f"EMPST{time}" for time in _TIMES),
        codes={1: "EMPLOYED", 2: "JOB TO RETURN TO", 3: "JOB DURING PERIOD", 4: "NOT EMPLOYED"},
    ),
    *_coded(
        "DIAGNOSIS OR CONDITION",
        *[
            "HIBPDX",
            "CHDDX",
            "ANGIDX",
            "MIDX",
            "OHRTDX",
            "STRKDX",
            "EMPHDX",
            "CHBRON31",
            "CHOLDX",
            "CANCERDX",
            "DIABDX",
            "JTPAIN31",
            "ARTHDX",
            "ASTHDX",
        ],
        *["ADHDADDX", "PREGNT31"],
        codes=_YES,
    ),
    *_coded(
        "LIMITATION",
        *["WLKLIM31", "ACTLIM31", "SOCLIM31", "COGLIM31", "WRKLIM31", "HSELIM31", "SCHLIM31", "AIDHLP31"],
        *["IADLHP31", "ADLHLP31"],
        codes=_YES,
    ),
    *_coded(
        "SERIOUS DIFFICULTY",
        *["DFHEAR42", "DFSEE42", "DFCOG42", "DFWLKC42", "DFDRSB42", "DFERND42", "ANYLMT15"],
        codes=_YES,
    ),
    *_coded("CURRENTLY SMOKES, HAS A USUAL PROVIDER", "ADSMOK42", "HAVEUS42", codes=_YES),
    *_coded("STUDENT STATUS", "FTSTU31X", codes={1: "FULL-TIME", 2: "PART-TIME", 3: "NOT A STUDENT"}),
    Described("PCS42", "PHYSICAL COMPONENT SUMMARY", {}, 80, decimals=2),
    Described("MCS42", "MENTAL COMPONENT SUMMARY", {}, 80, decimals=2),
    *_coded("INSURED DURING THE YEAR", *["UNINS15", "PRVEV15", "MCREV15", "MCDEV15", "TRIEV15"], codes=_YES),
    *_amounts(
        ("K6SUM42", "FEELINGS IN THE PAST 30 DAYS", 24),
        ("PHQ242", "FEELINGS IN THE PAST TWO WEEKS", 6),
        ("OBTOTV15", "OFFICE-BASED VISITS", 600),
        ("OPTOTV15", "OUTPATIENT VISITS", 999),
        ("ERTOT15", "EMERGENCY ROOM VISITS", 40),
        ("IPDIS15", "HOSPITAL DISCHARGES", 30),
        ("IPNGTD15", "NIGHTS IN HOSPITAL", 999),
        ("DVTOT15", "DENTAL VISITS", 60),
        ("RXTOT15", "PRESCRIPTIONS AND REFILLS", 400),
        ("HHTOTD15", "HOME HEALTH DAYS", 1_200),
        ("TOTEXP15", "TOTAL HEALTH CARE EXPENSES", 1_000_000),
        ("TOTSLF15", "PAID BY SELF OR FAMILY", 200_000),
        ("TOTMCR15", "PAID BY MEDICARE", 900_000),
        ("TOTMCD15", "PAID BY MEDICAID", 900_000),
        ("TOTPRV15", "PAID BY PRIVATE INSURANCE", 900_000),
        ("OBVEXP15", "OFFICE-BASED EXPENSES", 999_999),
        ("RXEXP15", "PRESCRIPTION EXPENSES", 999_999),
        ("IPTEXP15", "INPATIENT EXPENSES", 900_000),
        ("ERTEXP15", "EMERGENCY ROOM EXPENSES", 200_000),
        ("DVTEXP15", "DENTAL EXPENSES", 100_000),
    ),
)
"""The variables, 80 of them."""


def codebook_text() -> str:
    """Return the codebook."""
    lines = ["                    CODEBOOK OF A MADE-UP SURVEY          DATE: May 1, 2025", ""]
    lines.append(" NAME      DESCRIPTION                                  FORMAT TYPE  START   END")
    lines += [line for variable in VARIABLES for line in variable.lines]
    return "\n".join(lines) + "\n"


def write_people(path: Path, rows: int) -> None:
    """Write a made-up table: the codebook's codes, including special ones, and amounts with long tails."""
    draw = np.random.default_rng(list(b"a made-up survey"))
    columns = []
    for variable in VARIABLES:
        codes = np.array([*variable.codes] or [0])
        values = draw.choice(codes, rows) if variable.codes else _tailed(draw, variable.most, rows)
        columns.append(np.where(draw.random(rows) < 0.1, draw.choice([*_SPECIAL], rows), values))
    with path.open("w", newline="") as file:
        lines = csv.writer(file)
        lines.writerow(["DUPERSID", *(variable.name for variable in VARIABLES), "PERWT15F"])
        lines.writerows([10_000 + row, *map(int, cells), 1.5] for row, cells in enumerate(zip(*columns, strict=True)))


def _tailed(draw: np.random.Generator, most: int, rows: int) -> np.ndarray:
    return np.minimum(most - 1, (most * draw.random(rows) ** 6).astype(np.int64))
