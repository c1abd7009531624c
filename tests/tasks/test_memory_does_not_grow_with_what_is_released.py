"""From the model to a verified release some records are in memory at a time, however many are released."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.nightly
ROOT = Path(__file__).resolve().parents[2]
FEW, MANY = 200_000, 3_000_000
ALLOWED_GROWTH_MIB = 15

# In a process of its own, whose memory has held nothing else; VmHWM is the most that it ever held. Evaluations look at
# samples of a fixed size, and the explorer holds a fixed number of bytes: here those that the smaller release has too.
MEASURE = """
import json, sys
from pathlib import Path
from tests.whole_release import SEEDLESS, drawn_release
import pandas as pd
from reports.pages import explorer
from stores.keys.trust_file import trusted_keys
from stores.record.folder_verification import require_verified, verified_release
from tasks.evaluation import evaluate_risk, evaluate_utility

evaluate_utility.MAX_COMPARED = evaluate_risk.MAX_ATTACKED = 20_000
explorer.MOST_BYTES = 100_000

def most_held():
    (line,) = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")]
    return int(line.split()[1])

folder, records = Path(sys.argv[1]), int(sys.argv[2])
changes = {**SEEDLESS, "chunk_rows": 20_000, "synthesis": {**SEEDLESS["synthesis"], "records": records}}
changes["synthesis"]["chunk_candidates"] = 65_536
release = drawn_release(folder, **changes)
published = release.publish()
require_verified(verified_release(published.path.parent, trusted_keys(release.workspace.state)))
by_steps = most_held()
assert published.rows == records
assert len(pd.read_csv(published.path.with_name("synthetic.csv"), dtype=object, nrows=1_000_000)) <= records
print(json.dumps({"by steps": by_steps / 1024, "whole": most_held() / 1024}))
"""


def mebibytes(folder: Path, records: int) -> dict[str, float]:
    """The most memory that a process held that released some records, and then read up to a million of them at once."""
    folder.mkdir()
    command = [sys.executable, "-c", MEASURE, str(folder), str(records)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux, which says how much a process held")
def test_fifteen_times_the_records_take_no_more_memory(tmp_path: Path) -> None:
    few, many = mebibytes(tmp_path / "few", FEW), mebibytes(tmp_path / "many", MANY)
    assert many["by steps"] - few["by steps"] < ALLOWED_GROWTH_MIB
    assert many["whole"] - few["by steps"] > ALLOWED_GROWTH_MIB


READ = """
import json, sys
from pathlib import Path
import numpy as np
import pyarrow.parquet as pq
from benchmarks.measuring import most_held_gib
from deniable.foundation.domain import Attribute, Domain
from reports.figures.marginals import shares_of
from stores.publication.release_folder import CSV, PARQUET, check_tables, write_table

folder, chunks, way = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
domain = Domain(tuple(Attribute(f"a{i}", tuple(range(200)), "nominal", tuple(range(200))) for i in range(16)))
codes = np.random.default_rng(1).integers(0, 200, (20_000, 16)).astype(np.uint16)
records = write_table(folder, domain, (np.roll(codes, chunk, axis=0) for chunk in range(chunks)))
check_tables(folder, domain, records)
shares_of(folder / PARQUET, domain)
if way == "whole":
    for batch in pq.ParquetFile(folder / PARQUET).iter_batches(20_000):
        pass
print(json.dumps(most_held_gib() * 1024))
"""


def read_mebibytes(folder: Path, chunks: int, way: str = "by groups") -> float:
    """The most memory that a process held which wrote chunks of a table, and read the table."""
    folder.mkdir()
    command = [sys.executable, "-c", READ, str(folder), str(chunks), way]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return float(done.stdout)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux, which says how much a process held")
def test_what_was_read_of_a_published_table_is_let_go(tmp_path: Path) -> None:
    """A Parquet reader that is asked for batches of a whole table keeps all it has read until it is at the end."""
    few, many = read_mebibytes(tmp_path / "few", 10), read_mebibytes(tmp_path / "many", 150)
    assert many - few < ALLOWED_GROWTH_MIB
    assert read_mebibytes(tmp_path / "whole", 150, "whole") - few > ALLOWED_GROWTH_MIB
