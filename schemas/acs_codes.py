"""The American Community Survey's public code lists, and recodes that several datasets share.

The columns and the universe of each dataset are defined in `schemas.datasets`.
"""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from pandera.pandas import Column

from schemas.table import UNREADABLE, nominal, numeric

YES_NO = {1: "yes", 2: "no"}
SEX = {1: "male", 2: "female"}
NATIVITY = {1: "native", 2: "foreign born"}
MARITAL_STATUS = {
    1: "married",
    2: "widowed",
    3: "divorced",
    4: "separated",
    5: "never married, or under 15 years old",
}
SCHOOLING = {
    1: "no schooling completed",
    2: "nursery school, preschool",
    3: "kindergarten",
    **{code: f"grade {code - 3}" for code in range(4, 15)},
    15: "12th grade, no diploma",
    16: "regular high school diploma",
    17: "GED or alternative credential",
    18: "some college, less than 1 year",
    19: "1 or more years of college credit, no degree",
    20: "associate's degree",
    21: "bachelor's degree",
    22: "master's degree",
    23: "professional degree beyond a bachelor's degree",
    24: "doctorate degree",
}
BELOW_DIPLOMA = range(1, 16)
BELOW_DEGREE = range(16, 20)
RELATIONSHIP = {
    0: "reference person",
    1: "husband or wife",
    2: "biological son or daughter",
    3: "adopted son or daughter",
    4: "stepson or stepdaughter",
    5: "brother or sister",
    6: "father or mother",
    7: "grandchild",
    8: "parent-in-law",
    9: "son-in-law or daughter-in-law",
    10: "other relative",
    11: "roomer or boarder",
    12: "housemate or roommate",
    13: "unmarried partner",
    14: "foster child",
    15: "other nonrelative",
    16: "institutionalized group quarters population",
    17: "noninstitutionalized group quarters population",
}
CITIZENSHIP = {
    1: "born in the United States",
    2: "born in Puerto Rico, Guam, the U.S. Virgin Islands, or the Northern Marianas",
    3: "born abroad of American parents",
    4: "citizen by naturalization",
    5: "not a citizen",
}
RACE = {
    1: "White alone",
    2: "Black or African American alone",
    3: "American Indian alone",
    4: "Alaska Native alone",
    5: "American Indian and Alaska Native tribes specified, or not specified",
    6: "Asian alone",
    7: "Native Hawaiian and other Pacific Islander alone",
    8: "some other race alone",
    9: "two or more races",
}
CLASS_OF_WORKER = {
    1: "employee of a private for-profit company",
    2: "employee of a private not-for-profit organization",
    3: "local government employee",
    4: "state government employee",
    5: "federal government employee",
    6: "self-employed, business not incorporated",
    7: "self-employed, business incorporated",
    8: "working without pay in a family business or farm",
}
AREA_OF_BIRTH = {
    1: "a state of the United States",
    2: "Puerto Rico and U.S. island areas",
    3: "Latin America",
    4: "Asia",
    5: "Europe",
    6: "Africa",
    7: "Northern America",
    8: "Oceania and at sea",
}

# The groups of the survey's occupations: first code and prefix of the titles, in the order of the codes.
_OCCUPATION_GROUPS = (
    (10, "MGR"),
    (500, "BUS"),
    (800, "FIN"),
    (1005, "CMM"),
    (1300, "ENG"),
    (1600, "SCI"),
    (2000, "CMS"),
    (2100, "LGL"),
    (2200, "EDU"),
    (2600, "ENT"),
    (3000, "MED"),
    (3600, "HLS"),
    (3700, "PRT"),
    (4000, "EAT"),
    (4200, "CLN"),
    (4300, "PRS"),
    (4700, "SAL"),
    (5000, "OFF"),
    (6005, "FFF"),
    (6200, "CON"),
    (6800, "EXT"),
    (7000, "RPR"),
    (7700, "PRD"),
    (9000, "TRN"),
    (9800, "MIL"),
)
_LAST_OCCUPATION = 9830  # 9920 is "unemployed, with no work experience in the last five years"
OCCUPATIONS = dict(enumerate(sorted(prefix for _, prefix in _OCCUPATION_GROUPS), start=1))

# Race as the plausible-deniability paper codes it, for each code of the survey.
PAPER_RACE = {
    1: "American Indian or Alaska Native",
    2: "Asian or Pacific Islander",
    3: "Black",
    4: "other, or two or more races",
    5: "White",
}
_PAPER_RACE_OF = {1: 5, 2: 3, 3: 1, 4: 1, 5: 1, 6: 2, 7: 2, 8: 4, 9: 4}


def paper_columns() -> dict[str, Column]:
    """The eleven attributes of the plausible deniability paper, in its coding and with its buckets.

    Source: Bindschaedler, Shokri, Gunter 2017, section 4 (table 1).
    """
    return {
        "age": numeric(1, 79, width=10, label="age in years, less 16"),
        "wc": nominal(CLASS_OF_WORKER, label="class of worker"),
        "edu": nominal(SCHOOLING, buckets=[BELOW_DIPLOMA, BELOW_DEGREE], label="educational attainment"),
        "ms": nominal(MARITAL_STATUS, label="marital status"),
        "occ": nominal(OCCUPATIONS, label="occupation, by the prefix of its title"),
        "rel": nominal(
            {code + 1: text for code, text in RELATIONSHIP.items()}, label="relationship to the reference person"
        ),
        "race": nominal(PAPER_RACE, label="race"),
        "sex": nominal(SEX, label="sex"),
        "hpw": numeric(1, 99, width=15, label="usual hours worked per week"),
        "waob": nominal(AREA_OF_BIRTH, label="world area of birth"),
        "incc": nominal({1: "at most 50,000 dollars", 2: "more than 50,000 dollars"}, label="yearly income class"),
    }


def worker_columns() -> dict[str, Column]:
    """The paper's attributes in a person file of 2024, with the closest equivalents of the two that it lacks."""
    columns = paper_columns()
    del columns["rel"], columns["waob"]
    return columns | {
        "native": nominal(NATIVITY, label="nativity"),
        "cit": nominal(CITIZENSHIP, label="citizenship"),
        "householder": nominal({0: "no", 1: "yes"}, label="first person listed in the household"),
    }


def occupation_group(codes: pd.Series) -> pd.Series:
    """Recode the survey's occupation codes to the paper's groups; null stays null."""
    number = {prefix: group for group, prefix in OCCUPATIONS.items()}
    firsts = [first for first, _ in _OCCUPATION_GROUPS]
    groups = np.array([UNREADABLE, *(number[prefix] for _, prefix in _OCCUPATION_GROUPS)])
    found = pd.Series(groups[np.searchsorted(firsts, codes, side="right")], codes.index)
    return found.mask(codes > _LAST_OCCUPATION, UNREADABLE).mask(codes.isna())


def paper_race(codes: pd.Series) -> pd.Series:
    """Recode the survey's race codes to the paper's; null stays null."""
    return recoded(codes, _PAPER_RACE_OF)


def recoded(codes: pd.Series, of: Mapping[int, int]) -> pd.Series:
    """Replace codes; a code without a replacement becomes unreadable, and null stays null."""
    return codes.map(of).fillna(UNREADABLE).mask(codes.isna())


def exceeds(amounts: pd.Series, limit: float) -> pd.Series:
    """1 if an amount is above a limit, otherwise 0; unreadable and null values stay so."""
    return (amounts > limit).astype(np.float64).where(np.isfinite(amounts), amounts)
