"""Writes commuters.csv, commuters.py and commuters.yaml: a table of workers by home and work, its schema and its spec.

With DENIABLE_LODES, the folder of a state's LODES files (*_od_main_JT00_*.csv.gz and *_xwalk.csv.gz), the workers are
those of the state: destinations are census tracts, origins block groups, and areas their tracts. If there is a
file *_od_aux_JT00_*, of workers who live in another state, their origin is that state, which has no place. Otherwise
the state is made up. The totals in the spec are public in LODES.
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


def lodes(folder):
    """Numbers of workers by (home, work), and the places of both, from LODES."""
    (flows,), (places,) = folder.glob("*_od_main_JT00_*.csv.gz"), folder.glob("*_xwalk.csv.gz")
    sums = {}
    with gzip.open(places, "rt", newline="") as file:
        for row in csv.DictReader(file):
            for name in {row["trct"], row["bgrp"]}:
                y, x, blocks = sums.get(name, (0.0, 0.0, 0))
                sums[name] = (y + float(row["blklatdd"]), x + float(row["blklondd"]), blocks + 1)
    pairs = Counter()
    with gzip.open(flows, "rt", newline="") as file:
        for row in csv.DictReader(file):
            pairs[row["h_geocode"][:12], row["w_geocode"][:11]] += int(row["S000"])
    for others in folder.glob("*_od_aux_JT00_*.csv.gz"):
        with gzip.open(others, "rt", newline="") as file:
            for row in csv.DictReader(file):
                pairs[f"state {row['h_geocode'][:2]}", row["w_geocode"][:11]] += int(row["S000"])
    return pairs, {name: (y / blocks, x / blocks) for name, (y, x, blocks) in sums.items()}, 11


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
    return pairs, tracts | groups, 3


def main():
    """Write the three files."""
    folder = os.environ.get("DENIABLE_LODES")
    pairs, places, area = lodes(Path(folder)) if folder else made_up()
    homes, works = sorted({home for home, _ in pairs}), sorted({work for _, work in pairs})
    with (HERE / "commuters.csv").open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["home", "work"])
        for (home, work), workers in sorted(pairs.items()):
            table.writerows([[home, work]] * workers)
    areas = {}
    for home in homes:
        areas.setdefault(home[:area], []).append(home)
    (HERE / "commuters.py").write_text(
        '"""Workers by home and work."""\n\nfrom schemas.table import nominal, table\n\nschema = table(\n    {\n'
        f'        "home": nominal({homes!r}, buckets={list(areas.values())!r}, label="where the worker lives"),\n'
        f'        "work": nominal({works!r}, label="where the worker works"),\n    }},\n    target="work",\n)\n'
    )
    totals = Counter()
    for (_, work), workers in pairs.items():
        totals[work] += workers
    known = {name: places[name] for name in sorted({*homes, *works}) if name in places}
    (HERE / "commuters.yaml").write_text(
        SPEC.format(
            records=sum(totals.values()),
            totals="\n".join(f'    "{work}": {totals[work]}' for work in works),
            places="\n".join(f'      "{name}": [{y:.5f}, {x:.5f}]' for name, (y, x) in known.items()),
            delta=f"{DELTA:.0e}",
        )
    )


SPEC = """\
name: commuters
title: Workers by home and work
dataset: commuters.py

source: {{kind: file, path: commuters.csv}}

max_invalid_share: 0
chunk_rows: 100000
split: {{shared: 0.9, holdout: 0.1}}

learner:
  kind: origin_destination
  destination: work
  origin: home
  privacy: pdp # or pure, without delta
  epsilon: 4.6
  delta: {delta}
  coarsen: true # the areas of the schema are drawn, and then a home in the area
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
  quasi_identifiers: [home, work]
  known: [work]
  sensitive: [home]
  commutes: # the report draws flows on a map, and commutes by destination
    origin: home
    destination: work
    places:
{places}
"""

if __name__ == "__main__":
    main()
