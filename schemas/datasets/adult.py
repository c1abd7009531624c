"""UCI Adult: persons of the 1994 Current Population Survey, with an income class to predict.

Excluded: `fnlwgt`, the sampling weight, and `education-num`, a recode of `education`.
"""

import numpy as np
import pandas as pd

from schemas.table import nominal, numeric, table

UNKNOWN = ("?",)
GAIN_STEP = 1_000
LOSS_STEP = 100

# Spelt as in the file; its "South" is listed among the countries of Asia and is read as South Korea.
US_TERRITORIES = ("Puerto-Rico", "Outlying-US(Guam-USVI-etc)")
LATIN_AMERICA = (
    "Columbia",
    "Cuba",
    "Dominican-Republic",
    "Ecuador",
    "El-Salvador",
    "Guatemala",
    "Haiti",
    "Honduras",
    "Jamaica",
    "Nicaragua",
    "Peru",
    "Trinadad&Tobago",
)
EUROPE = (
    "England",
    "France",
    "Germany",
    "Greece",
    "Holand-Netherlands",
    "Hungary",
    "Ireland",
    "Italy",
    "Poland",
    "Portugal",
    "Scotland",
    "Yugoslavia",
)
ASIA = (
    "Cambodia",
    "China",
    "Hong",
    "India",
    "Iran",
    "Japan",
    "Laos",
    "Philippines",
    "South",
    "Taiwan",
    "Thailand",
    "Vietnam",
)


def round_amounts(person: pd.DataFrame) -> pd.DataFrame:
    """Round capital gains and losses up to their steps, so that only zero becomes zero."""
    return person.assign(
        **{
            "capital-gain": np.ceil(person["capital-gain"] / GAIN_STEP) * GAIN_STEP,
            "capital-loss": np.ceil(person["capital-loss"] / LOSS_STEP) * LOSS_STEP,
        }
    )


schema = table(
    {
        "age": numeric(17, 90, edges=[20, 30, 40, 50, 60, 70, 80, 90], label="age in years"),
        "workclass": nominal(
            [
                "Private",
                "Self-emp-not-inc",
                "Self-emp-inc",
                "Federal-gov",
                "Local-gov",
                "State-gov",
                "Without-pay",
                "Never-worked",
            ],
            missing=UNKNOWN,
            label="class of worker",
        ),
        "education": nominal(
            [
                "Preschool",
                "1st-4th",
                "5th-6th",
                "7th-8th",
                "9th",
                "10th",
                "11th",
                "12th",
                "HS-grad",
                "Some-college",
                "Assoc-voc",
                "Assoc-acdm",
                "Bachelors",
                "Masters",
                "Prof-school",
                "Doctorate",
            ],
            buckets=[
                ["Preschool", "1st-4th", "5th-6th", "7th-8th", "9th", "10th", "11th", "12th"],
                ["HS-grad", "Some-college"],
                ["Assoc-voc", "Assoc-acdm"],
            ],
            label="education",
        ),
        "marital-status": nominal(
            [
                "Married-civ-spouse",
                "Married-AF-spouse",
                "Married-spouse-absent",
                "Separated",
                "Divorced",
                "Widowed",
                "Never-married",
            ],
            label="marital status",
        ),
        "occupation": nominal(
            [
                "Adm-clerical",
                "Armed-Forces",
                "Craft-repair",
                "Exec-managerial",
                "Farming-fishing",
                "Handlers-cleaners",
                "Machine-op-inspct",
                "Other-service",
                "Priv-house-serv",
                "Prof-specialty",
                "Protective-serv",
                "Sales",
                "Tech-support",
                "Transport-moving",
            ],
            missing=UNKNOWN,
            label="occupation",
        ),
        "relationship": nominal(
            ["Husband", "Wife", "Own-child", "Other-relative", "Unmarried", "Not-in-family"],
            label="relationship in the family",
        ),
        "race": nominal(["Amer-Indian-Eskimo", "Asian-Pac-Islander", "Black", "Other", "White"], label="race"),
        "sex": nominal(["Female", "Male"], label="sex"),
        "capital-gain": numeric(
            0, 100_000, step=GAIN_STEP, edges=[1, 5_001, 10_001, 50_001], label="capital gain in dollars, rounded up"
        ),
        "capital-loss": numeric(
            0, 5_000, step=LOSS_STEP, edges=[1, 1_501, 2_001], label="capital loss in dollars, rounded up"
        ),
        "hours-per-week": numeric(1, 99, width=15, label="hours worked per week"),
        "native-country": nominal(
            ["United-States", "Canada", "Mexico", *US_TERRITORIES, *LATIN_AMERICA, *EUROPE, *ASIA],
            buckets=[US_TERRITORIES, LATIN_AMERICA, EUROPE, ASIA],
            missing=UNKNOWN,
            label="country of birth",
        ),
        "class": nominal(["<=50K", ">50K"], label="yearly income class"),
    },
    description="UCI Adult: persons of the 1994 Current Population Survey aged 17 to 90.",
    target="class",
    recode=round_amounts,
)
