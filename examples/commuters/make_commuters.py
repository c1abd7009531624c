"""Writes commuters.csv, commuters.py and commuters.yaml: a table of workers by home and work, its schema and its spec.

With DENIABLE_LODES, the folder of a state's LODES files (*_od_main_JT00_*.csv.gz and *_xwalk.csv.gz), the workers are
those of the state: destinations are census tracts, origins block groups, and areas their tracts. If there is a
file *_od_aux_JT00_*, of workers who live in another state, their origin is that state, which has no place. Otherwise
the state is made up. The totals in the spec are public in LODES.

Each attribute of workers that LODES counts (age, earnings and industry) has a table, a schema and a spec of its own,
such as commuters_age.yaml: a release of workers by attribute and work, from the same budget. Records of the four
releases are not linked.
"""

import csv
import gzip
import math
import os
from collections import Counter
from pathlib import Path
from random import Random

HERE = Path(__file__).parent
DELTA = 1e-5
ATTRIBUTES = {
    "age": ("SA", ["29 or younger", "30 to 54", "55 or older"]),
    "earnings": ("SE", ["1250 a month or less", "1251 to 3333", "more than 3333"]),
    "industry": ("SI", ["goods", "trade and transport", "other services"]),
}
"""The attributes that LODES counts, with the beginning of their columns and their values."""


def lodes(folder):
    """Workers by (home, work), places, the length of an area's name, and workers by (value, work), from LODES."""
    (flows,), (places,) = folder.glob("*_od_main_JT00_*.csv.gz"), folder.glob("*_xwalk.csv.gz")
    sums = {}
    with gzip.open(places, "rt", newline="") as file:
        for row in csv.DictReader(file):
            for name in {row["trct"], row["bgrp"]}:
                y, x, blocks = sums.get(name, (0.0, 0.0, 0))
                sums[name] = (y + float(row["blklatdd"]), x + float(row["blklondd"]), blocks + 1)
    pairs, by_value = Counter(), {name: Counter() for name in ATTRIBUTES}
    for path in (flows, *folder.glob("*_od_aux_JT00_*.csv.gz")):
        with gzip.open(path, "rt", newline="") as file:
            for row in csv.DictReader(file):
                home = row["h_geocode"][:12] if path == flows else f"state {row['h_geocode'][:2]}"
                work = row["w_geocode"][:11]
                pairs[home, work] += int(row["S000"])
                for name, (column, values) in ATTRIBUTES.items():
                    for number, value in enumerate(values, start=1):
                        by_value[name][value, work] += int(row[f"{column}0{number}"])
    return pairs, {name: (y / blocks, x / blocks) for name, (y, x, blocks) in sums.items()}, 11, by_value


def made_up():
    """Make up the same for a fictitious state: 40 tracts of 3 block groups; workers live near their work."""
    chance = Random(1492)
    tracts = {f"t{number:02d}": (41 + 0.5 * chance.random(), -71 - 0.7 * chance.random()) for number in range(40)}
    groups = {
        f"{tract}{part}": (y + 0.01 * chance.random(), x + 0.01 * chance.random())
        for tract, (y, x) in tracts.items()
        for part in "abc"
    }
    pairs = Counter()
    for tract, (y, x) in tracts.items():
        near = [math.exp(-9 * math.hypot(y - v, x - w)) for v, w in groups.values()]
        workers = int(40 / (chance.random() + 0.02))
        pairs.update((home, tract) for home in chance.choices(list(groups), near, k=workers))
    by_value = {name: Counter() for name in ATTRIBUTES}
    for (_, work), workers in pairs.items():
        for name, (_, values) in ATTRIBUTES.items():
            # Tracts differ in the shares of their workers' values.
            weights = [1 + (len(work) * each + int(work[1:])) % 5 for each in range(1, len(values) + 1)]
            by_value[name].update((value, work) for value in chance.choices(values, weights, k=workers))
    return pairs, tracts | groups, 3, by_value


def write_table(name, origin, flows, works, buckets, label):
    """Write a table of workers, one in each row, and its schema."""
    with (HERE / f"{name}.csv").open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow([origin, "work"])
        for (value, work), workers in sorted(flows.items()):
            table.writerows([[value, work]] * workers)
    values = sorted({value for value, _ in flows})
    (HERE / f"{name}.py").write_text(
        f'"""Workers by {origin} and work."""\n\nfrom schemas.table import nominal, table\n\nschema = table(\n    {{\n'
        f'        "{origin}": nominal({values!r}{buckets}, label="{label}"),\n'
        f'        "work": nominal({works!r}, label="where the worker works"),\n    }},\n    target="work",\n)\n'
    )


def main():
    """Write the files."""
    folder = os.environ.get("DENIABLE_LODES")
    pairs, places, area, by_value = lodes(Path(folder)) if folder else made_up()
    homes, works = sorted({home for home, _ in pairs}), sorted({work for _, work in pairs})
    areas = {}
    for home in homes:
        areas.setdefault(home[:area], []).append(home)
    write_table("commuters", "home", pairs, works, f", buckets={list(areas.values())!r}", "where the worker lives")
    totals = Counter()
    for (_, work), workers in pairs.items():
        totals[work] += workers
    known = {name: places[name] for name in sorted({*homes, *works}) if name in places}
    same = {
        "records": sum(totals.values()),
        "totals": "\n".join(f'    "{work}": {totals[work]}' for work in works),
        "delta": f"{DELTA:.0e}",
    }
    commutes = COMMUTES.format(
        places="\n".join(f'      "{name}": [{y:.5f}, {x:.5f}]' for name, (y, x) in known.items())
    )
    spec = SPEC.format(
        name="commuters", file="commuters", origin="home", epsilon=4.6, coarsen=COARSENED, commutes=commutes, **same
    )
    (HERE / "commuters.yaml").write_text(spec)
    for attribute, flows in by_value.items():
        file = f"commuters_{attribute}"
        write_table(file, attribute, flows, works, "", f"{attribute} of the worker")
        spec = SPEC.format(
            name=f"commuters-{attribute}", file=file, origin=attribute, epsilon=1, coarsen="false", commutes="", **same
        )
        (HERE / f"{file}.yaml").write_text(spec)


COARSENED = "true # the areas of the schema are drawn, and then a home in the area"

SPEC = """\
name: {name}
title: Workers by {origin} and work
dataset: {file}.py

source: {{kind: file, path: {file}.csv}}

max_invalid_share: 0
chunk_rows: 100000
split: {{shared: 0.9, holdout: 0.1}}

learner:
  kind: origin_destination
  destination: work
  origin: {origin}
  privacy: pdp # or pure, without delta
  epsilon: {epsilon}
  delta: {delta}
  coarsen: {coarsen}
  totals: # public; or totals_epsilon, to measure them (for pure)
{totals}

synthesis:
  guarantee: per_draw
  records: {records} # the sum of the totals
  chunk_candidates: 65536
  delta: {delta}

budget: # the ledger adds guarantees of one kind: for a replaced origin (pdp), or for a record added or removed (pure)
  dataset: commuters-replaced # with pure: commuters
  epsilon: 10
  delta: 1.0e-3

evaluation:
  classifiers: [tree]
  train_rows: 10000
  quasi_identifiers: [{origin}, work]
  known: [work]
  sensitive: [{origin}]
{commutes}"""

COMMUTES = """\
  commutes: # the report draws flows on a map, and commutes by destination
    origin: home
    destination: work
    places:
{places}
"""

if __name__ == "__main__":
    main()
