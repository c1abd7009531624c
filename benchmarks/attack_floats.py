"""`python -m benchmarks.attack_floats`: searches public files for numbers that no neighbouring table could have given.

An attacker who knows everyone except one person knows every count to within one. A number computed from a count c and
noise, which no noise could have produced from c + 1 or c - 1, proves whether that person is in the table. The attack
reads public files, and uses the exact counts only to play this attacker. It must find nothing in a million numbers, nor
in whole releases with each learner and each guarantee. As a control, it must find the same numbers written as `c +
noise / shares`, the mean of noisy counts, which floating point rounds differently for each c.

Source: Mironov 2012, "On significance of the least significant bits for differential privacy".
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from deniable.foundation.domain import Attribute, Codes, Domain
from deniable.foundation.keys import ReleaseKey
from deniable.foundation.tables import Counts
from deniable.learners.cfs.parameters import integer_weights, posterior_mean
from deniable.learners.loglinear.estimation.counting import Partition, RowCounter
from deniable.learners.loglinear.mechanism import learn_network
from deniable.learners.loglinear.plan import LoglinearRecipe
from deniable.models.contrasts import contrast_counts
from deniable.models.document_formats import BAYES_NET as NETWORK
from deniable.roles import Role
from schemas.spec.release_spec import load_spec
from stores.tables.tables import encode
from tests.mechanisms.table import LEARNERS, SAMPLERS
from tests.small_release import NAMES, SPEC, made_up_people, write_small_release

Document = Mapping[str, Any]
Flags = NDArray[np.bool_]

NUMBERS = 1_000_000
_VALUES, _ATTRIBUTES, _PEOPLE = 60_000, 4, 200_000
_LEARNERS = ("loglinear", "cfs", "marginals")
"""Learners whose releases are attacked with each guarantee."""
_MEASURING = ("privbayes", "mst", "nist_mst", "aim", "pegs_noisy")
"""Further learners that publish noisy tables, each attacked once, because no guarantee changes what is measured."""
_SYNTHESIS: dict[str, dict[str, Any]] = {
    "tested_seeds": SPEC["synthesis"],
    "histogram_seeds": {
        "guarantee": "histogram_seeds",
        "omega": 1,
        "epsilon": 3,
        "delta": 1e-5,
        "k": 20,
        "beta": 1e-3,
        "max_rows": 10_000,
        "records": 400,
        "chunk_candidates": 200,
    },
    "seedless": {"guarantee": "seedless", "records": 400, "chunk_candidates": 200},
}
_SHARES_OF_ONE = 12
"""Number of shares of a single attribute in the first version, of which the control writes the mean."""
_MOST_IN_A_ROW = 4_000
"""The largest number of noisy records in a configuration for which counts that explain its probabilities are sought."""


@dataclass(frozen=True)
class Found:
    """The findings of the attack in one place.

    Attributes:
        numbers: how many numbers were examined.
        telling: how many of them a neighbouring table could not have given.
    """

    numbers: int
    telling: int

    def __add__(self, other: "Found") -> "Found":
        """The sum of two findings."""
        return Found(self.numbers + other.numbers, self.telling + other.telling)


NOTHING = Found(0, 0)


def attack_measured(document: Document, codes: Codes, domain: Domain) -> Found:
    """Attack `measured.json`, in the form of this version or the first.

    Args:
        document: its contents.
        codes: the people, shape (rows, m).
        domain: the public domain.
    """
    found = NOTHING
    for entry, counts in _counted(document, codes, domain):
        if "releases" in entry:
            for release in entry["releases"]:
                found += telling(
                    np.asarray(release["sums"]), counts, partial(as_integers, multiplier=release["multiplier"])
                )
        else:
            found += telling(np.asarray(entry["noisy"]), counts, partial(as_means, shares=entry["shares"]))
    return found


def telling(values: NDArray[Any], counts: Counts, possible: Callable[[NDArray[Any], Counts], Flags]) -> Found:
    """Return the number of values that are possible for a count and impossible for one more or one less."""
    one_more, one_less = possible(values, counts + 1), possible(values, counts - 1)
    return Found(values.size, int((possible(values, counts) & ~(one_more & one_less)).sum()))


def as_means(values: NDArray[Any], counts: Counts, *, shares: int) -> Flags:
    """Whether a count could give a value with some noise, in the form `count + noise / shares`."""
    nearest = np.rint((values - counts) * shares)
    return np.any([counts + (nearest + step) / shares == values for step in (-1, 0, 1)], axis=0)


def as_integers(values: NDArray[Any], counts: Counts, *, multiplier: int) -> Flags:
    """Whether a count could give a value, in the current form `multiplier * count + noise`.

    Any count can give any integer; if the value is a float, its digits are examined.
    """
    if values.dtype == np.int64:
        return np.ones(values.shape, np.bool_)
    return as_means(values / multiplier, counts, shares=multiplier)


def _counted(document: Document, codes: Codes, domain: Domain) -> Iterator[tuple[Document, Counts]]:
    """Yield each table's entry with its exact counts; the first version lists single attributes separately."""
    counter = RowCounter(lambda: [codes])
    buckets = Partition(tuple(np.asarray(document["buckets"][name], np.uint16) for name in domain.names))
    for name, entry in document.get("attributes", {}).items():
        [counts] = counter.tables(Partition.finest(domain), [(domain.index(name),)])
        yield entry, counts
    for entry in document["tables"]:
        attributes, partition = tuple(domain.index(name) for name in entry["attributes"]), buckets
        for name in entry.get("by_values", ()):
            partition = partition.by_values(domain.index(name))
        [counts] = counter.tables(partition, [attributes])
        # Formats before the third released every difference, and did not list them.
        is_whole = len(attributes) == 1 or not entry.get("differences", True)
        yield entry, counts if is_whole else contrast_counts(counts)


def attack_network(document: Document, prior: Fraction) -> Found:
    """Attack `model.json` of a network of counts: find rows of probabilities that no integers explain.

    Noise can turn any count into any integer, so whatever integers explain, every neighbour explains too.
    """
    found = NOTHING
    for weights in document["weights"].values():
        table = np.asarray(weights, np.uint64)
        rows = table.reshape(-1, table.shape[-1]) if table.ndim > 1 else table[None, :]
        if rows.shape[1] == 1:
            continue
        unexplained = sum(not _explained(row, float(prior / rows.shape[1])) for row in rows)
        found += Found(rows.size, unexplained)
    return found


def _explained(row: NDArray[np.uint64], prior: float) -> bool:
    """Whether some integers have these probabilities as their posterior mean."""
    share = row / row.sum()
    totals = np.arange(_MOST_IN_A_ROW)[:, None]
    numbers = np.rint(share * (totals + prior * len(row)) - prior)
    gap = np.abs(share * (totals + prior * len(row)) - prior - numbers).max(axis=1)
    fits = (numbers.sum(axis=1) == totals[:, 0]) & (numbers >= 0).all(axis=1) & (gap < 1e-3)
    return any(
        np.array_equal(integer_weights(posterior_mean(counts[None, :].astype(np.int64), prior))[0], row)
        for counts in numbers[fits]
    )


def attack_folder(folder: Path, codes: Codes, domain: Domain, prior: Fraction) -> Found:
    """Attack all public files of a release that contain noisy numbers.

    Args:
        folder: the public folder.
        codes: the people from whom the model was learnt, shape (rows, m); additional people do no harm.
        domain: the public domain.
        prior: the prior in the public spec, for a network of counts.
    """
    found = NOTHING
    if (folder / "measured.json").exists():
        found += attack_measured(json.loads((folder / "measured.json").read_text()), codes, domain)
    model = json.loads((folder / "model.json").read_text())
    if model["format"] == NETWORK:
        found += attack_network(model, prior)
    if (folder / "seeds.json").exists():
        seeds = json.loads((folder / "seeds.json").read_text())
        noisy = [number for number in (*seeds["counts"], seeds["rows"]) if number is not None]
        found += Found(len(noisy), sum(type(number) is not int for number in noisy))
    return found


def as_before(document: Document, codes: Codes, domain: Domain) -> Document:
    """Return the positive control: the same noise, written as floating-point means, as in the first version."""

    def mean(entry: Document, counts: Counts) -> Document:
        release = entry["releases"][0]
        noise = np.asarray(release["sums"]) - release["multiplier"] * counts
        # A count that is released once today was released share by share: its noise stands for that of all shares.
        shares = release["multiplier"] if release["multiplier"] > 1 else _SHARES_OF_ONE
        return {**{name: entry[name] for name in entry if name != "releases"}, "shares": shares} | {
            "noisy": (counts + noise / shares).tolist()
        }

    entries = [mean(entry, counts) for entry, counts in _counted(document, codes, domain)]
    single = {entry["attributes"][0]: entry for entry in entries if len(entry["attributes"]) == 1}
    return {
        "buckets": document["buckets"],
        "attributes": single,
        "tables": [entry for entry in entries if len(entry["attributes"]) > 1],
    }


def measured_of_many(
    key: ReleaseKey, *, values: int = _VALUES, people: int = _PEOPLE
) -> tuple[Document, Codes, Domain]:
    """Return the published document of a table whose attributes have very many values, as read from its file."""
    attribute = partial(Attribute, values=tuple(range(values)), kind="nominal", buckets=(0,) * values)
    domain = Domain(tuple(attribute(f"a{i}") for i in range(_ATTRIBUTES)))
    words = ReleaseKey(bytes(32)).stream(step="attack", inputs="people", mechanism="people", parameters={})
    uniform = words.take(people * _ATTRIBUTES).reshape(people, _ATTRIBUTES) / 2**32
    codes = (values * uniform**4).astype(np.uint16)
    plan = LoglinearRecipe(Fraction(1), Fraction(1, 10**9), "gaussian").calibrate(domain)
    stream = partial(key.stream, step=Role.PARAMETERS, inputs="many values")
    _, learnt = learn_network(plan, RowCounter(lambda: [codes]), stream)
    return json.loads(json.dumps(learnt.document(plan))), codes, domain


def main() -> None:
    """Attack a million numbers, the same numbers in the old form, and whole releases.

    Raises:
        SystemExit: something was found in a release, or nothing in the control.
    """
    missed = _many_numbers() + _releases()
    if missed:
        raise SystemExit(f"the attack must find only the control, got {'; '.join(missed)}.")
    print("No number was found that a neighbouring table could not have given; the control was found.")


def _many_numbers() -> list[str]:
    found, before, seconds = NOTHING, NOTHING, 0.0
    while found.numbers < NUMBERS:
        document, codes, domain = measured_of_many(ReleaseKey.generate())
        found += attack_measured(document, codes, domain)
        old = as_before(document, codes, domain)
        begun = time.perf_counter()
        before += attack_measured(old, codes, domain)
        seconds += time.perf_counter() - begun
        _say("log-linear learner, sums of counts and noise", found)
    _say(f"the same as means of noisy counts (the control, {seconds:.1f} s)", before)
    return [
        *(["telling numbers in the public files"] if found.telling else []),
        *([] if before.telling else ["nothing in the control"]),
    ]


def _releases() -> list[str]:
    """Attack each learner with each guarantee, on a table and on its neighbour with one more person."""
    missed = []
    people = made_up_people()
    with tempfile.TemporaryDirectory(prefix="deniable-attack-") as folder:
        for learner in _LEARNERS:
            for guarantee, synthesis in _SYNTHESIS.items():
                found = NOTHING
                for table in (people, [*people, people[0]]):
                    found += _release(Path(folder), table, _asked(learner, synthesis))
                missed += _missed(f"{learner}, {guarantee}", found)
        for learner in _MEASURING:
            found = NOTHING
            for table in (people, [*people, people[0]]):
                found += _release(Path(folder), table, SAMPLERS["seedless"] | LEARNERS[learner].asked)
            missed += _missed(learner, found)
    return missed


def _missed(what: str, found: Found) -> list[str]:
    """Print the findings in a release and its neighbour, and return any fault."""
    _say(f"{what}: a release and its neighbour", found)
    return [f"{found} in {what}"] if found.telling or not found.numbers else []


def _asked(learner: str, synthesis: dict[str, Any]) -> dict[str, Any]:
    """Return the entries of a spec whose learner every guarantee allows."""
    kept = [name for name in SPEC["learner"] if name != "structure" or learner != "marginals"]
    learning = {name: SPEC["learner"][name] for name in kept} | {"kind": learner, "noise": "gaussian"}
    return {"learner": learning, "synthesis": synthesis, "split": {"shared": 0.8, "holdout": 0.2}}


def _release(folder: Path, people: list[list[str]], changes: dict[str, Any]) -> Found:
    """Make a release with the project's command, and attack its public folder."""
    state = Path(tempfile.mkdtemp(dir=folder))
    spec = write_small_release(state / "spec", people=people, **changes)
    command = [sys.executable, "-m", "flows", "release", "make", str(spec), "--state", str(state / "var"), "--new"]
    done = subprocess.run(command, env=dict(os.environ), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"a release must succeed to be attacked, got exit code {done.returncode}:\n{done.stderr}")
    [released] = (state / "var" / "releases").iterdir()
    loaded = load_spec(spec)
    codes = encode(pd.DataFrame(people, columns=NAMES).astype({"age": int}), loaded.domain)
    return attack_folder(released, codes, loaded.domain, Fraction(str(SPEC["learner"]["parameters"]["prior"])))


def _say(what: str, found: Found) -> None:
    print(f"{what}: {found.numbers:,} numbers, {found.telling:,} of them impossible under a neighbour", flush=True)


if __name__ == "__main__":
    main()
