"""`make bench-anchors`: figures of the report beside those of the programs that defined them, on the same tables.

Each program runs in an environment of its own, as those of `make bench-peers` do. The k-marginal score must equal
SDNist's to twelve digits, and the intervals of what Anonymeter's inference attack finds beyond its control must overlap
with ours, on a half of ACS 2013 and on what is made of it. `docs/research/anchors.md` says what the figures mean;
nothing is kept.
"""

import json
import subprocess
import tempfile
from collections.abc import Mapping
from itertools import combinations
from math import hypot, isclose
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd

from benchmarks.environments import ROOT, Environment
from benchmarks.measuring import require
from benchmarks.mechanisms import half_of
from benchmarks.utility import options, prepare
from deniable.evaluation.disclosure import Share, Tables, infer
from deniable.evaluation.utility import count_marginals, total_variation
from deniable.foundation.domain import Codes, Domain

_DIGITS: Final = 1e-12
_SIGMAS: Final = 1.96
_ROWS, _PEOPLE, _GUESSES = 20_000, 5_000, 2_000
_KNOWN, _SECRET = ("age", "sex", "race", "edu", "occ", "wc"), "ms"


def asked_of(package: str, folder: Path, tables: Mapping[str, Codes], domain: Domain, **more: Any) -> dict[str, Any]:
    """What a program says of tables, which it reads as CSV files.

    Args:
        package: the program.
        folder: a folder for the files.
        tables: the tables, by the name of the program's argument.
        domain: their domain.
        more: further arguments.
    """
    named = {}
    for name, codes in tables.items():
        named[name] = str(folder / f"{name}.csv")
        pd.DataFrame(codes, columns=list(domain.names)).to_csv(named[name], index=False)
    request = folder / "request.json"
    request.write_text(json.dumps({"program": package, **named, **more}), encoding="utf-8")
    command = [Environment(package).python(), "-m", "benchmarks.peer_programs.anchors", str(request)]
    ended = subprocess.run(
        command,
        cwd=folder,
        env={"PYTHONPATH": str(ROOT), "HOME": str(folder)},
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, Any] = json.loads(ended.stdout.splitlines()[-1])
    return found


def k_marginal_score(domain: Domain, first: Codes, second: Codes) -> float:
    """The score as our report has it."""
    pairs = tuple(combinations(range(len(domain)), 2))
    counted = [count_marginals([table], domain.cardinalities, pairs) for table in (first, second)]
    return 1000 * (1 - float(total_variation(*counted).mean()))


def scores(domain: Domain, codes: Codes, folder: Path) -> list[tuple[str, bool]]:
    """Compare the k-marginal score of three pairs of tables."""
    one, other = codes[:_ROWS], codes[_ROWS : 2 * _ROWS]
    pairs = {
        "other rows": other,
        "each attribute of another row": np.column_stack([np.roll(column, 997 * j) for j, column in enumerate(one.T)]),
        "1,234 other rows": other[:1234],
    }
    found = []
    for name, second in pairs.items():
        theirs = asked_of("sdnist", folder, {"first": one, "second": second}, domain)["score"]
        ours = k_marginal_score(domain, one, second)
        said = f"k-marginal score, {name}: SDNist {theirs:.12f}, ours {ours:.12f}"
        print(said, flush=True)
        found.append((said, isclose(theirs, ours, rel_tol=_DIGITS)))
    return found


def rates(domain: Domain, codes: Codes, folder: Path) -> list[tuple[str, bool]]:
    """Compare the rates of right guesses about people used and not used, for three releases."""
    used, unused, others = (codes[start : start + _PEOPLE] for start in range(0, 3 * _PEOPLE, _PEOPLE))
    mixed = others.copy()
    mixed[: _PEOPLE // 10] = used[: _PEOPLE // 10]
    found = []
    for name, released in {"other people": others, "one in ten copied": mixed, "all copied": used}.items():
        tables = {"used": used, "unused": unused, "released": released}
        theirs = asked_of("anonymeter", folder, tables, domain, known=_KNOWN, secret=_SECRET, guesses=_GUESSES)
        own = infer(
            Tables(released=released, training=used, holdout=unused, cardinalities=domain.cardinalities),
            known=[domain.index(each) for each in _KNOWN],
            sensitive=domain.index(_SECRET),
        ).attack
        ours = {"used": _interval(own.training), "unused": _interval(own.holdout)}
        for people, rate in ours.items():
            shown = [f"{value:.3f} ± {reach:.3f}" for value, reach in (theirs[people], rate)]
            print(f"inference, {name}, people {people}: Anonymeter {shown[0]}, ours {shown[1]}", flush=True)
        found.append(agreeing(name, theirs, ours))
    return found


def agreeing(name: str, theirs: Mapping[str, Any], ours: Mapping[str, Any]) -> tuple[str, bool]:
    """Whether the intervals of two excesses overlap: rates of people used, less those of people not used.

    Rates themselves may differ, because the attacks guess differently where no released record agrees.

    Args:
        name: the release.
        theirs: rates of both groups with half of their 95% intervals.
        ours: the same.
    """
    excesses = [
        (each["used"][0] - each["unused"][0], hypot(each["used"][1], each["unused"][1])) for each in (theirs, ours)
    ]
    (first, reach), (second, about) = excesses
    said = f"inference, {name}, excess: Anonymeter {first:.3f} ± {reach:.3f}, ours {second:.3f} ± {about:.3f}"
    return said, abs(first - second) <= reach + about


def _interval(share: Share) -> tuple[float, float]:
    return share.value, _SIGMAS * share.variance**0.5


def main() -> None:
    """Compare, print, and fail if a figure differs."""
    asked = options("anchors", __doc__).parse_args()
    prepare(asked.shared, asked.work)
    half = half_of("acs13", asked.work)
    codes: Codes = np.ascontiguousarray(half.train.to_numpy().astype(np.uint16))
    with tempfile.TemporaryDirectory() as folder:
        found = [*scores(half.domain, codes, Path(folder)), *rates(half.domain, codes, Path(folder))]
    require(found, "figures must equal those of the programs that defined them; see above.")


if __name__ == "__main__":
    main()
