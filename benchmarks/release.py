"""A whole release of one million records from 1.4 million: wall time, memory, and the time of each step.

It uses the real persons' file that DENIABLE_ACS2024 names, or an artificial table of the same size.
"""

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from mlflow import MlflowClient

from benchmarks.measuring import Result
from benchmarks.population import DOMAIN, people

SPECS = Path(__file__).parent / "specs"
ROWS = 1_400_000


def measure() -> list[Result]:
    """Run the release in a separate process, and read the times of its steps from MLflow."""
    with tempfile.TemporaryDirectory(prefix="deniable-bench-") as folder:
        state = Path(folder) / "var"
        environment = os.environ | {"DENIABLE_STATE": str(state)}
        spec = SPECS / "acs2024_million.yaml"
        if not Path(os.environ.get("DENIABLE_ACS2024", "")).is_file():
            made_up = Path(folder) / "people.parquet"
            codes = people(ROWS)
            pq.write_table(pa.table({name: codes[:, i] for i, name in enumerate(DOMAIN.names)}), made_up)
            environment["DENIABLE_PEOPLE"] = str(made_up)
            spec = SPECS / "people_million.yaml"
        start = time.perf_counter()
        done = subprocess.run([sys.executable, "-m", "flows", "release", str(spec)], env=environment, check=False)
        seconds = time.perf_counter() - start
        if done.returncode != 0:
            raise SystemExit(f"the release must succeed to be measured, got exit code {done.returncode}.")
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20
        results = [
            Result(f"whole release with {spec.stem}, two cores", f"{seconds:.0f} s", "180 s"),
            Result("peak memory of its largest process", f"{peak:.2f} GiB", "4 GiB"),
        ]
        return results + [Result(f"of it, {step}", f"{took:.1f} s") for step, took in _steps(state)]


def _steps(state: Path) -> list[tuple[str, float]]:
    """Return the wall time of each step from its runs in MLflow; for a mapped step, from the first part to the last."""
    client = MlflowClient(f"sqlite:///{state / 'mlflow' / 'mlflow.db'}")
    experiments = [experiment.experiment_id for experiment in client.search_experiments()]
    spans: dict[str, tuple[int, int]] = {}
    for run in client.search_runs(experiments, order_by=["attributes.start_time ASC"], max_results=1000):
        step = run.data.tags.get("step")
        if step is not None:
            first, last = spans.get(step, (run.info.start_time, run.info.end_time))
            spans[step] = min(first, run.info.start_time), max(last, run.info.end_time)
    return [(step, (last - first) / 1000) for step, (first, last) in spans.items()]
