"""American Community Survey 2024: the published person file, recoded to the paper's attributes."""

import pandas as pd

from schemas.acs_codes import exceeds, occupation_group, paper_race, worker_columns
from schemas.table import table

READS = ("SPORDER", "AGEP", "COW", "SCHL", "MAR", "OCCP", "RAC1P", "SEX", "WKHP", "NATIVITY", "CIT", "WAGP")


def workers(person: pd.DataFrame) -> pd.Series:
    """Persons aged 17 to 95 who worked in the last twelve months, for pay or in a family business."""
    return person["AGEP"].between(17, 95) & person["COW"].between(1, 8) & person["WKHP"].between(1, 99)


def to_paper_coding(person: pd.DataFrame) -> pd.DataFrame:
    """Recode the survey's columns to the paper's; income is wages, which everyone in the universe has."""
    return pd.DataFrame(
        {
            "age": person["AGEP"] - 16,
            "wc": person["COW"],
            "edu": person["SCHL"],
            "ms": person["MAR"],
            "occ": occupation_group(person["OCCP"]),
            "race": paper_race(person["RAC1P"]),
            "sex": person["SEX"],
            "hpw": person["WKHP"],
            "incc": exceeds(person["WAGP"], 50_000) + 1,
            "native": person["NATIVITY"],
            "cit": person["CIT"],
            "householder": 1 - exceeds(person["SPORDER"], 1),
        }
    )


schema = table(
    worker_columns(),
    description="American Community Survey 2024, public-use microdata sample: persons who worked.",
    target="incc",
    reads=dict.fromkeys(READS, int),
    universe=workers,
    recode=to_paper_coding,
)
