"""A data user's analysis: a cross-tabulation and its accuracy.

    .venv/bin/python examples/a_data_users_analysis.py FOLDER

FOLDER is a published release of examples/village, as examples/a_release_in_python.py makes it. Everything is read from
that folder; a data user needs pandas, and no part of this project.
"""

import json
import sys
from fractions import Fraction
from math import sqrt
from pathlib import Path

import pandas as pd

TWO_SIDED = 1.96


def main(folder: Path) -> None:
    people = pd.read_parquet(folder / "synthetic.parquet")
    privacy = json.loads((folder / "privacy.json").read_text())["total"]
    print(f"{len(people):,} synthetic records, epsilon {privacy['epsilon']:.4g} at delta {privacy['delta']:.4g}.\n")

    # The number of records has no meaning; only shares have.
    print("Trades by hamlet, in percent:")
    print((100 * pd.crosstab(people["hamlet"], people["trade"], normalize="index")).round(0).astype(int), "\n")

    # A cross-tabulation is only worth looking at if the two attributes were measured together.
    if not (folder / "measured.json").exists():
        print("This release has no measured.json: graph.json shows which attributes depend on which.")
        return
    measured = json.loads((folder / "measured.json").read_text())
    pair = frozenset(["hamlet", "trade"])
    together = any(pair <= frozenset(table["attributes"]) for table in measured["tables"])
    print(
        "Hamlet and trade were measured together." if together else "Their relation was never measured: do not use it."
    )

    # Shares of one attribute, with intervals that cover its noise, from the released integers.
    attributes = json.loads((folder / "schema.json").read_text())["attributes"]
    hamlets = next([value["value"] for value in each["values"]] for each in attributes if each["name"] == "hamlet")
    releases = next(table["releases"] for table in measured["tables"] if table["attributes"] == ["hamlet"])
    multiplier = sum(each["multiplier"] for each in releases)
    deviation = sqrt(Fraction(releases[0]["noise"]["variance"]) / multiplier)
    reach = TWO_SIDED * deviation / measured["records"]
    print("\nShares of the hamlets among the confidential records that were read, 95% intervals for the noise:")
    for place, hamlet in enumerate(hamlets):
        share = sum(each["sums"][place] for each in releases) / multiplier / measured["records"]
        print(f"  {hamlet:8}{share:6.1%}  ({share - reach:.1%} to {share + reach:.1%})")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
