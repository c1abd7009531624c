"""Writes patients.csv: 6,000 stays in hospitals of patients who never lived, with what real tables have.

People with several stays, question marks for missing values, codes of diagnoses, groups of ages, amounts with a long
tail, drugs that nearly no one takes.
"""

import csv
from pathlib import Path
from random import Random

chance = Random(1999)
AGES = [f"[{low}-{low + 10})" for low in range(0, 100, 10)]
DRUGS = ["metformin", "insulin", "glipizide", "acarbose"]
DIAGNOSES = [f"{code:03d}" for code in range(240, 290)] + [f"{code}" for code in range(390, 460)] + ["V58", "E885"]
COLUMNS = ["stay_id", "patient_id", "race", "gender", "age", "weight", "admission_type", "discharged_to", "admitted"]
COLUMNS += ["days_in_hospital", "lab_procedures", "medications", "emergencies", "charges", "diagnosis", "glucose_test"]
COLUMNS += [*DRUGS, "note", "readmitted"]

with (Path(__file__).parent / "patients.csv").open("w", newline="") as file:
    stays = csv.DictWriter(file, COLUMNS)
    stays.writeheader()
    written = 0
    while written < 6_000:
        group = min(int(chance.gauss(6.5, 1.6)), 9) if chance.random() < 0.97 else 0
        person = {
            "patient_id": chance.randint(10**6, 10**8),
            "race": chance.choices(
                ["Caucasian", "AfricanAmerican", "Hispanic", "Asian", "Other", "?"], [74, 19, 2, 1, 2, 2]
            )[0],
            "gender": chance.choice(
                ["Female", "Female", "Male", "Male", "Unknown/Invalid"][: 4 if chance.random() < 0.999 else 5]
            ),
            "age": AGES[max(group, 0)],
            "weight": "?" if chance.random() < 0.9 else chance.choice(["[50-75)", "[75-100)", "[100-125)"]),
        }
        for _ in range(chance.choices([1, 2, 3, 6], [80, 12, 6, 2])[0]):
            written += 1
            emergency = chance.random() < 0.55
            days = min(14, 1 + int(chance.gammavariate(1.8, 2)))
            insulin = chance.choices(["No", "Steady", "Up", "Down"], [47, 30, 11, 12])[0]
            again = chance.random() < 0.05 + 0.03 * (insulin != "No") + 0.02 * emergency
            stays.writerow(
                person
                | {
                    "stay_id": 10**7 + written,
                    "admission_type": chance.choices([1, 2, 3, 5, 6], [80, 5, 5, 5, 5])[0] if emergency else 3,
                    "discharged_to": chance.choices([1, 3, 6, 11, 18], [60, 14, 13, 2, 11])[0],
                    "admitted": f"20{chance.randint(19, 22)}-{chance.randint(1, 12):02d}-{chance.randint(1, 28):02d}",
                    "days_in_hospital": days,
                    "lab_procedures": max(1, min(120, int(chance.gauss(40, 19)))),
                    "medications": max(1, min(80, int(chance.gammavariate(4, 3 + days / 4)))),
                    "emergencies": chance.choices([0, 1, 2, 9], [89, 8, 2, 1])[0],
                    "charges": -1 if chance.random() < 0.04 else min(250_000, int(chance.lognormvariate(8, 1.2))),
                    "diagnosis": "?"
                    if chance.random() < 0.002
                    else DIAGNOSES[int(len(DIAGNOSES) * chance.random() ** 3)],
                    "glucose_test": chance.choices(["None", "Norm", ">200", ">300"], [95, 3, 1, 1])[0],
                    **{drug: "No" if chance.random() < 0.9 else "Steady" for drug in DRUGS},
                    "insulin": insulin,
                    "note": "seen by the ward",
                    "readmitted": "<30" if again else chance.choices(["NO", ">30"], [60, 40])[0],
                }
            )
