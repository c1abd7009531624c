"""Utility against total epsilon for the three guarantees with both learners, in whole releases of the example data.

Budgets are divided in the same way for all. The part that is not for seeds goes to the learner: `cfs` spends half on
the structure and half on the parameters, `loglinear` all of it at once. Tested seeds get the smallest k of a public
list at which Theorem A meets the budget for seeds. DENIABLE_BENCH_TOTALS, numbers separated by commas, replaces the
totals of the table.
"""

import os
import subprocess
import sys
import tempfile
from fractions import Fraction
from math import exp, log
from pathlib import Path
from typing import Any, Literal, TypeAlias

from mlflow import MlflowClient
from ruamel.yaml import YAML

from benchmarks.measuring import Result
from deniable.plausible_deniability.seed_accounting import compose_candidates
from deniable.privacy.loss import PrivacyTestEvent

Learner: TypeAlias = Literal["cfs", "loglinear"]

ROOT = Path(__file__).resolve().parent.parent
SPEC = ROOT / "deployments" / "specs" / "acs_ma.yaml"
TOTALS = tuple(map(float, os.environ.get("DENIABLE_BENCH_TOTALS", "0.5,1,2,4").split(",")))
LEARNERS: tuple[Learner, ...] = ("cfs", "loglinear")
USED = 0.8
RECORDS = 20_000
SEED_SHARE = {"seedless": 0.0, "histogram_seeds": 0.2, "tested_seeds": 0.5}
FIGURES = ("tvd_1way", "tvd_2way", "distinguished", "accuracy_forest", "accuracy_forest_training")


def measure() -> list[Result]:
    """Release the example data with each guarantee at each total, and read the figures from the record."""
    results = []
    with tempfile.TemporaryDirectory(prefix="deniable-bench-") as folder:
        state = Path(folder) / "var"
        for total in TOTALS:
            for guarantee, share in SEED_SHARE.items():
                for learner in LEARNERS:
                    spec = _spec(learner, guarantee, share, total)
                    said = "no k of the list meets it" if spec is None else _release(spec, Path(folder), state)
                    results.append(Result(f"epsilon {total:g}, {guarantee}{_detail(spec)}, {learner}", said))
        for learner in LEARNERS:
            said = _release(_paper(learner), Path(folder), state)
            results.append(Result(f"the paper's test, k = 50, gamma = 4, eps0 = 1, {learner}", said))
    return results


def _release(spec: dict[str, Any], folder: Path, state: Path) -> str:
    """Make one release, and return its figures."""
    path = folder / "spec.yaml"
    with path.open("w") as file:
        YAML(typ="safe", pure=True).dump(spec, file)
    command = [sys.executable, "-m", "flows", "release", "make", str(path), "--state", str(state), "--new"]
    done = subprocess.run(command, env=dict(os.environ), capture_output=True, text=True, check=False)
    return _figures(state) if done.returncode == 0 else "no record passed"


def _paper(learner: Learner) -> dict[str, Any]:
    """Release with tested seeds at the paper's parameters, and with the model's budgets at a total of 1."""
    spec = _spec(learner, "seedless", 0.0, 1.0)
    if spec is None:
        raise AssertionError("seedless needs no k")
    spec["budget"] = {"dataset": f"acs_ma-paper-{learner}", "epsilon": 1000, "delta": 1e-4}
    spec["synthesis"] = {
        "guarantee": "tested_seeds",
        "records": RECORDS,
        "chunk_candidates": 65536,
        "omega": {9: 1, 10: 1, 11: 1},
        "k": 50,
        "gamma": 4,
        "eps0": 1,
        "test": 2,
        "epsilon": 1.2,
        "delta": 1e-9,
        "candidates": RECORDS * 6 // 5,
        "drop_probability": 0.01,
        "public_rows": 200_000,
        "total_delta": 1e-6,
    }
    return spec


def _spec(learner: Learner, guarantee: str, share: float, total: float) -> dict[str, Any] | None:
    """Return the example's spec with another learner, guarantee and total."""
    spec: dict[str, Any] = YAML(typ="safe", pure=True).load(SPEC)
    # One shared part, which contains a record with probability USED: amplification by sampling, inverted.
    budget = log(1 + (exp(total) - 1) / USED)
    for_seeds = round(budget * share, 4)
    for_model = round(budget - for_seeds, 4)
    half = round(for_model / 2, 4)
    spec["learner"] |= {"kind": learner, "noise": "gaussian"}
    spec["learner"]["structure"]["epsilon"] = half
    spec["learner"]["parameters"]["epsilon"] = half if learner == "cfs" else for_model
    spec["budget"] = {"dataset": f"acs_ma-{learner}-{guarantee}-{total:g}", "epsilon": 1000, "delta": 1e-4}
    drawn = {"guarantee": guarantee, "records": RECORDS, "chunk_candidates": 65536}
    if guarantee == "histogram_seeds":
        drawn |= {"omega": 11, "epsilon": for_seeds, "delta": 1e-9, "epsilon_rows": 0.01}
        drawn |= {"k": 50, "beta": 1e-6, "max_rows": 1_000_000}
    if guarantee == "tested_seeds":
        test = _smallest_test(for_seeds)
        if test is None:
            return None
        drawn |= test
    spec["synthesis"] = drawn
    return spec


def _smallest_test(epsilon: float) -> dict[str, Any] | None:
    """Return the privacy test with the smallest k at which all candidates together cost at most epsilon."""
    for k in (50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000):
        eps0 = 50 / k
        test = {
            "omega": 11,
            "k": k,
            "gamma": 4,
            "eps0": eps0,
            "test": 2,
            "epsilon": 3,
            "delta": 1e-9,
            "candidates": RECORDS * 3 // 2,
            "drop_probability": 0.1,
            "public_rows": 200_000,
            "total_delta": 1e-6,
        }
        event = PrivacyTestEvent(
            query="",
            part="seeds",
            outputs=test["candidates"],
            k=k,
            gamma=Fraction(4),
            eps0=Fraction(50, k),
            public_rows=200_000,
            drop_probability=Fraction(1, 10),
            equal_probabilities=True,
        )
        found = compose_candidates(event, 1e-6).values()
        if found and min(guarantee.epsilon for guarantee in found) <= epsilon:
            return test
    return None


def _detail(spec: dict[str, Any] | None) -> str:
    return f" (k = {spec['synthesis']['k']:,})" if spec is not None and "k" in spec["synthesis"] else ""


def _figures(state: Path) -> str:
    """Return the figures of the newest release."""
    client = MlflowClient(f"sqlite:///{state / 'mlflow' / 'mlflow.db'}")
    experiments = [experiment.experiment_id for experiment in client.search_experiments()]
    (run, *_) = client.search_runs(experiments, "metrics.epsilon.total > 0", order_by=["attributes.start_time DESC"])
    metrics = run.data.metrics
    tvd1, tvd2, told, forest, real = (metrics[f"internal/{name}"] for name in FIGURES)
    records = metrics.get("public/records", 0)
    return (
        f"claimed {metrics['epsilon.total']:.2f}; {records:,.0f} records; TVD1 {tvd1:.3f}; TVD2 {tvd2:.3f}; "
        f"distinguished {told:.2f}; forest {forest:.3f} (real {real:.3f})"
    )
