"""Writes village.csv: 60,000 people who never lived, to try a schema and a spec of one's own on."""

import csv
from pathlib import Path
from random import Random

chance = Random(1742)
with (Path(__file__).parent / "village.csv").open("w", newline="") as file:
    people = csv.writer(file)
    people.writerow(["house", "age", "sex", "hamlet", "trade", "land"])
    for _ in range(60_000):
        age = min(int(chance.gammavariate(3, 12)), 99)
        sex = chance.choice("FM")
        hamlet = chance.choices(["mill", "church", "hill"], [5, 3, 2])[0]
        trades = {"mill": [1, 6, 1, 2], "church": [3, 1, 4, 2], "hill": [8, 1, 1, 2]}[hamlet]
        trade = chance.choices(["farmer", "miller", "smith", "weaver"], trades)[0]
        land = chance.random() < (0.6 if trade == "farmer" else 0.1) * (age > 24)
        trade = "?" if chance.random() < 0.03 else trade
        people.writerow([chance.randint(1, 9000), age, sex, hamlet, trade, "yes" if land else "no"])
