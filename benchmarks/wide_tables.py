"""`python -m benchmarks.wide_tables`: the log-linear learner on wide and heavy-tailed tables, over several keys.

Each table of benchmarks.development_tables is halved. A key gives one network, learnt from one half, and as many
records as the half has. They are scored against the other half in the same way as by the tools in the folder that
DENIABLE_EVALUATION names, whose own command needs a target with two values. Two more figures concern undeclared
structure: a rule is a pair of values of two attributes that never occur together in the learning half, although at
least 20 of its records would have both if the attributes were independent.

The figures of each key are appended to a file, and a key that is already in it, with this version of the learner, is
not run again. Delete the file after a change to a table or a score.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from statistics import fmean
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier

from benchmarks.development_tables import TABLES, prepare
from benchmarks.measuring import markdown, spread
from benchmarks.utility import ROOT, Budget, Half, budget, options, released, tools
from deniable.evaluation.utility import count_marginals, total_variation
from deniable.foundation.domain import Codes
from deniable.foundation.keys import ReleaseKey
from deniable.foundation.noise import DiscreteGaussian, DiscreteLaplace
from deniable.learners.loglinear.estimation.buckets import value_counts
from deniable.learners.loglinear.plan import LoglinearPlan, LoglinearRecipe
from deniable.ledger.drawing_versions import VERSIONS
from deniable.models.noisy_marginals import NoisyMarginal, NoisySums

SHOWN: Final = {
    "tvd1": "single",
    "worst_values": "worst single, values",
    "tvd2": "pairs",
    "tvd3": "triples",
    "disc_acc": "told apart",
    "worst_rule": "worst rule broken",
    "rules_broken": "rules broken in > .2 %",
    "fit": "fit, CPU s",
}
"""Figures, and their column headings."""
GOALS: Final = {
    "meps80": {"disc_acc": 0.78, "tvd2": 0.042, "worst_rule": 0.002},
    "meps": {"disc_acc": 0.72, "tvd2": 0.048, "worst_rule": 0.002},
    "diabetes": {"disc_acc": 0.66, "tvd2": 0.024, "worst_rule": 0.002},
    "persons": {"worst_rule": 0.002},
    "zip": {"worst_values": 0.30},
}
"""Goals for the figures at epsilon 1: their largest values."""

PLACE: Final = ("learner", "table", "way", "epsilon", "key")
"""Identity of a run: the version of the learner, and the request."""
Place = tuple[Any, ...]
Figures = dict[str, float]

_EXPECTED_TOGETHER = 20
_MOST_BROKEN = 0.002
_TRIPLES, _TREES = 100, 200


@dataclass(frozen=True)
class Scored:
    """A half and the scores of records.

    Attributes:
        half: the half.
        tools: the module of the tools' scores.
    """

    half: Half
    tools: Any

    def of(self, records: Codes) -> dict[str, float]:
        """Return all figures of some records."""
        half, n = self.half, len(self.half.holdout)
        synthetic = self.tools.shuffled(pd.DataFrame(records.astype(np.int64), columns=half.domain.names), n)
        broken = self.rules_broken(records)
        sizes, singles = half.domain.cardinalities, tuple((i,) for i in range(len(half.domain)))
        counts = (count_marginals([codes], sizes, singles) for codes in (records, half.public))
        return self._distances(synthetic) | {
            "worst_values": float(total_variation(*counts).max()),
            "disc_acc": self._told_apart(synthetic),
            "worst_rule": max(broken, default=0.0),
            "rules_broken": float(sum(share > _MOST_BROKEN for share in broken)),
        }

    def _distances(self, synthetic: pd.DataFrame) -> dict[str, float]:
        """Return mean distances of single attributes, of pairs, and of the triples that the tools select."""
        meta = self.half.meta
        names = list(meta["columns"])
        drawn, real = (self.tools.coarsen(rows, meta) for rows in (synthetic, self.half.holdout))
        sizes = {name: -(-entry["size"] // entry.get("eval_coarsen", 1)) for name, entry in meta["columns"].items()}
        triples = list(combinations(names, 3))
        picked = self.tools.np.random.default_rng(self.tools.SEED).choice(
            len(triples), min(_TRIPLES, len(triples)), replace=False
        )
        sets: dict[str, Sequence[tuple[str, ...]]] = {
            "tvd1": [(name,) for name in names],
            "tvd2": list(combinations(names, 2)),
            "tvd3": [triples[i] for i in picked],
        }
        return {
            figure: fmean(float(self.tools.tv(drawn, real, list(each), sizes)) for each in asked)
            for figure, asked in sets.items()
        }

    def _told_apart(self, synthetic: pd.DataFrame) -> float:
        """Accuracy of the tools' forest that tells synthetic from real records: half of both to learn, half to test."""
        both = pd.concat([self.half.holdout.reset_index(drop=True), synthetic], ignore_index=True)
        n = len(synthetic)
        label = np.repeat([0, 1], n)
        order = self.tools.np.random.default_rng(self.tools.SEED + 2).permutation(2 * n)
        learnt_from, tested = order[:n], order[n:]
        forest = RandomForestClassifier(_TREES, min_samples_leaf=5, n_jobs=1, random_state=self.tools.SEED)
        forest.fit(both.iloc[learnt_from], label[learnt_from])
        said = forest.predict_proba(both.iloc[tested])[:, 1] > 1 / 2
        return float((said == label[tested]).mean())

    def rules_broken(self, records: Codes) -> list[float]:
        """Return for each pair of attributes with an undeclared rule the share of the records that break it."""
        learnt, drawn = self._coarse(self.half.train.to_numpy()), self._coarse(records)
        sizes = [max(int(learnt[:, i].max()), int(drawn[:, i].max())) + 1 for i in range(learnt.shape[1])]
        alone = [np.bincount(learnt[:, i], minlength=size) for i, size in enumerate(sizes)]
        found = []
        for i, j in combinations(range(len(sizes)), 2):
            together = np.bincount(learnt[:, i] * sizes[j] + learnt[:, j], minlength=sizes[i] * sizes[j])
            expected = np.outer(alone[i], alone[j]).ravel() / len(learnt)
            never = (together == 0) & (expected >= _EXPECTED_TOGETHER)
            if never.any():
                found.append(float(never[drawn[:, i] * sizes[j] + drawn[:, j]].mean()))
        return found

    def _coarse(self, codes: NDArray[Any]) -> NDArray[np.int64]:
        widths = [column.get("eval_coarsen", 1) for column in self.half.meta["columns"].values()]
        return np.asarray(codes.astype(np.int64) // np.asarray(widths))


def learnt(half: Half, spent: Budget, number: int) -> tuple[Codes, dict[str, float]]:
    """Return records of the learner with one key, and its CPU time, which includes compilation the first time."""
    made = released(half, spent.entry("loglinear", half.domain, half.public), number)
    return made.records, {"fit": made.fit}


def independent(half: Half, spent: Budget, number: int) -> tuple[Codes, dict[str, float]]:
    """Return records with independent attributes, on which the learner's whole budget is spent.

    The budget is divided among the attributes as the learner divides its budget for single attributes, and they are
    denoised as by the learner. The number of records with each value is that of the denoised counts, up to rounding.
    """
    plan = LoglinearRecipe(spent.epsilon, spent.delta, "auto").calibrate(half.domain)
    key, rows = ReleaseKey(number.to_bytes(32, "big")), half.train.to_numpy()
    records = np.zeros(rows.shape, np.uint16)
    for i, shares in zip(plan.layout.counted, plan.layout.one_way_shares, strict=True):
        name, values = half.domain.names[i], half.domain.cardinalities[i]
        stream = key.stream(step="alone", mechanism="counts", inputs="benchmark", parameters={"attribute": name})
        law = _alone(plan, shares)
        sums = np.bincount(rows[:, i], minlength=values) + law.sample(stream, values)
        amount = law.sigma_squared if isinstance(law, DiscreteGaussian) else law.scale
        release = NoisySums(sums.astype(np.int64), 1, 1, 1)
        noisy = NoisyMarginal((i,), (release,), plan.noise, amount)
        counts = value_counts(half.domain.attributes[i], noisy, float(len(rows)))
        ends = np.rint(np.cumsum(counts) * (len(rows) / counts.sum())).astype(np.int64)
        drawn = np.repeat(np.arange(values), np.diff(ends, prepend=0))
        places = key.stream(step="alone", mechanism="places", inputs="benchmark", parameters={"attribute": name})
        records[np.argsort(places.take(len(rows)), kind="stable"), i] = drawn
    return records, {}


def _alone(plan: LoglinearPlan, shares: int) -> DiscreteGaussian | DiscreteLaplace:
    """Return the noise on an attribute if the whole plan's budget is divided among the single attributes."""
    part = Fraction(shares, sum(plan.layout.one_way_shares))
    if plan.noise == "laplace":
        return DiscreteLaplace(1 / (plan.recipe.epsilon * part))
    rho = Fraction(plan.layout.rho_of(float(plan.amount))).limit_denominator(10**9)
    return DiscreteGaussian(1 / (2 * rho * part))


WAYS: Final = {"loglinear": learnt, "independent": independent}


def main() -> None:
    """Measure, and print a line for each table."""
    parser = options("wide_tables", __doc__)
    parser.add_argument("--tables", nargs="+", default=list(TABLES), choices=TABLES)
    parser.add_argument("--epsilon", default="1", metavar="EPSILON[:DELTA]", help="budget; delta is 1e-9 by default")
    parser.add_argument("--keys", type=int, default=5)
    parser.add_argument("--ways", nargs="+", default=["loglinear"], choices=WAYS, help="what is measured")
    parser.add_argument("--kept", type=Path, default=ROOT / "var/utility/wide_tables.jsonl", help="file of all figures")
    asked = parser.parse_args()
    scores, spent, kept = tools(asked.shared), budget(asked.epsilon), read_kept(asked.kept)
    for name in asked.tables:
        prepare(name, asked.shared, asked.work)
        half = Half.read(asked.work, name)
        for way in asked.ways:
            runs = []
            for number in range(1, asked.keys + 1):
                place = (VERSIONS["learn_loglinear"], name, way, asked.epsilon, number)
                if place not in kept:
                    records, times = WAYS[way](half, spent, number)
                    kept[place] = Scored(half, scores).of(records) | times
                    append(asked.kept, place, kept[place])
                runs.append(kept[place])
            print(f"\n{name}, {way}, epsilon {asked.epsilon}, {asked.keys} keys\n\n{_page(name, runs)}", flush=True)


def read_kept(path: Path) -> dict[Place, Figures]:
    """Read the figures in a file, if it exists."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    return {tuple(line.get(each) for each in PLACE): line["figures"] for line in map(json.loads, lines)}


def append(path: Path, place: Place, figures: Figures) -> None:
    """Append the figures of a run to a file as a line of JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps({**dict(zip(PLACE, place, strict=True)), "figures": figures}) + "\n")


def _page(name: str, runs: Sequence[dict[str, float]]) -> str:
    """Return means, standard deviations and goals of the figures as a Markdown table."""
    rows = []
    for figure, head in SHOWN.items():
        if figure in runs[0]:
            values = [run[figure] for run in runs]
            goal = GOALS.get(name, {}).get(figure)
            aimed = "" if goal is None else f"{goal:g}, {'reached' if fmean(values) <= goal else 'missed'}"
            rows.append([head, f"{fmean(values):.4f}", f"{spread(values):.4f}", aimed])
    return markdown(["figure", "mean", "standard deviation", "goal"], rows)


if __name__ == "__main__":
    main()
