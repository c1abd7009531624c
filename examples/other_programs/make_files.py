"""Writes one made-up survey as three programs do: a file of SPSS, an archive's text with its syntax, and a database.

Nobody in it ever lived. `ranges.csv`, beside this program, states what not all three say: ranges of numbers and days.

    deniable table draft survey.sav ranges.csv
    deniable table draft survey.sps ranges.csv --source survey.dat
    deniable table draft ranges.csv --database sqlite:///survey.db --table survey
"""

import sqlite3
import sys
from contextlib import closing
from datetime import date, timedelta
from pathlib import Path
from random import Random

import pandas as pd
import pyreadstat

FOLDER = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
PEOPLE = 2_000
REGIONS = {1: "North", 2: "East", 3: "South", 4: "West"}
HEALTH = {1: "bad", 2: "fair", 3: "good"}
REFUSED = 9
SYNTAX = """* Positions and labels of survey.dat, as archives deliver them.
DATA LIST FILE='survey.dat' FIXED /1
  person 1-5 region 6 age 7-9 health 10
  wage 11-17 (2) begun 18-22 (A) seen 23-32 (A).
VARIABLE LABELS region 'region of the household' health 'health, as people see it' wage 'wage of a month'.
VALUE LABELS region 1 'North' 2 'East' 3 'South' 4 'West' / health 1 'bad' 2 'fair' 3 'good' 9 'refused'.
MISSING VALUES health (9).
"""
TABLE = """
CREATE TABLE survey (
    person INTEGER PRIMARY KEY,
    region INTEGER NOT NULL CHECK (region IN (1, 2, 3, 4)),
    age INTEGER CHECK (age BETWEEN 16 AND 99),
    health INTEGER CHECK (health IN (1, 2, 3)),
    wage NUMERIC(8, 2) CHECK (wage BETWEEN 0 AND 9999.99),
    begun TIME,
    seen DATE CHECK (seen BETWEEN '2025-01-01' AND '2025-12-31')
)
"""


def made_up() -> list[dict[str, object]]:
    """The people, of whom some work, and some refuse an answer."""
    chance, people = Random(7), []
    for number in range(PEOPLE):
        age = min(99, max(16, round(chance.gauss(47, 18))))
        works = age < 67 and chance.random() < 0.75
        minutes = 15 * round(chance.gauss(34, 4)) % 1440
        people.append(
            {
                "person": 10_000 + number,
                "region": chance.choices([*REGIONS], [4, 2, 3, 1])[0],
                "age": age,
                "health": REFUSED if chance.random() < 0.04 else chance.choices([1, 2, 3], [1 + age // 40, 3, 6])[0],
                "wage": round(min(9_999.99, chance.lognormvariate(7.8, 0.5)), 2) if works else 0.0,
                "begun": f"{minutes // 60:02}:{minutes % 60:02}",
                "seen": date(2025, 1, 1) + timedelta(days=chance.randrange(365)),
            }
        )
    return people


def main() -> None:
    """Write the three."""
    people = made_up()
    pyreadstat.write_sav(
        pd.DataFrame(people),
        FOLDER / "survey.sav",
        column_labels={
            "region": "region of the household",
            "health": "health, as people see it",
            "wage": "monthly wage",
        },
        variable_value_labels={"region": REGIONS, "health": {**HEALTH, REFUSED: "refused"}},
        missing_ranges={"health": [REFUSED]},
        variable_measure={"region": "nominal", "health": "ordinal", "age": "scale", "wage": "scale"},
    )
    (FOLDER / "survey.sps").write_text(SYNTAX)
    with (FOLDER / "survey.dat").open("w") as file:
        for each in people:
            cents = round(float(str(each["wage"])) * 100)
            start = f"{each['person']:>5}{each['region']}{each['age']:>3}{each['health']}"
            file.write(f"{start}{cents:>7}{each['begun']:>5}{each['seen']}\n")
    (FOLDER / "survey.db").unlink(missing_ok=True)
    with closing(sqlite3.connect(FOLDER / "survey.db")) as database:
        database.execute(TABLE)
        for each in people:
            answered = {
                **each,
                "health": None if each["health"] == REFUSED else each["health"],
                "seen": str(each["seen"]),
            }
            database.execute("INSERT INTO survey VALUES (?, ?, ?, ?, ?, ?, ?)", [*answered.values()])
        database.commit()


if __name__ == "__main__":
    main()
