"""American Community Survey 2015 to 2018, Massachusetts: all persons, the attributes of an employment prediction task.

The file has codes as text, ages as floating-point numbers, and 0 where a question does not apply to a person.
"""

from collections.abc import Mapping

from pandera.pandas import Column

from schemas.acs_codes import (
    BELOW_DEGREE,
    BELOW_DIPLOMA,
    CITIZENSHIP,
    MARITAL_STATUS,
    NATIVITY,
    RACE,
    RELATIONSHIP,
    SCHOOLING,
    SEX,
    YES_NO,
)
from schemas.table import nominal, numeric, table

NOT_ASKED = {0: "not asked"}


def codes(values: Mapping[int, str], label: str, *buckets: range | tuple[int, ...]) -> Column:
    """Describe a column whose codes are text."""
    return nominal(
        {str(code): text for code, text in values.items()},
        buckets=[[str(code) for code in bucket] for bucket in buckets],
        label=label,
    )


schema = table(
    {
        "AGEP": numeric(0.0, 99.0, width=10, label="age in years"),
        "SCHL": codes(NOT_ASKED | SCHOOLING, "educational attainment", (0, *BELOW_DIPLOMA), BELOW_DEGREE),
        "MAR": codes(MARITAL_STATUS, "marital status"),
        "RELP": codes(
            RELATIONSHIP,
            "relationship to the reference person",
            (2, 3, 4, 14),  # children
            (5, 6, 8, 9, 10),  # other relatives
            (11, 12, 15),  # others who share the household
        ),
        "DIS": codes(YES_NO, "with a disability"),
        "ESP": codes(
            NOT_ASKED
            | {
                1: "two parents, both in the labor force",
                2: "two parents, father only in the labor force",
                3: "two parents, mother only in the labor force",
                4: "two parents, neither in the labor force",
                5: "father only, in the labor force",
                6: "father only, not in the labor force",
                7: "mother only, in the labor force",
                8: "mother only, not in the labor force",
            },
            "employment of parents (own children under 18)",
            range(1, 5),
            range(5, 9),
        ),
        "CIT": codes(CITIZENSHIP, "citizenship", (1, 2, 3)),
        "MIG": codes(
            {
                0: "under 1 year old",
                1: "same house",
                2: "outside the United States",
                3: "another house in the United States",
            },
            "where the person lived a year ago",
        ),
        "MIL": codes(
            NOT_ASKED
            | {
                1: "now on active duty",
                2: "on active duty in the past, but not now",
                3: "on active duty for training only",
                4: "never served",
            },
            "military service",
        ),
        "ANC": codes({1: "single", 2: "multiple", 3: "unclassified", 4: "not reported"}, "ancestry"),
        "NATIVITY": codes(NATIVITY, "nativity"),
        "DEAR": codes(YES_NO, "hearing difficulty"),
        "DEYE": codes(YES_NO, "vision difficulty"),
        "DREM": codes(NOT_ASKED | YES_NO, "cognitive difficulty"),
        "SEX": codes(SEX, "sex"),
        "RAC1P": codes(RACE, "race", (3, 4, 5)),
        "employed": nominal({0: "no", 1: "yes"}, label="civilian employed, at work"),
    },
    description="American Community Survey, public-use microdata samples of 2015 to 2018: persons in Massachusetts.",
    target="employed",
)
