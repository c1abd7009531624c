"""From the source to the parts a release holds some rows in memory at a time, however many the source has."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tasks.hand_made import NAMES, write_people

pytestmark = pytest.mark.nightly
ROOT = Path(__file__).resolve().parents[2]
ROWS = 100_000
CHUNK = 20_000
ALLOWED_GROWTH = 1.15

# In a process of its own, whose memory has held nothing else; VmHWM is the most that it ever held.
MEASURE = """
import json, sys
from pathlib import Path
from tests.tasks.hand_made import workspace_of
from tasks.data.clean import clean
from tasks.data.ingest import ingest
from tasks.data.split import split
from tasks.data.validate import validate
from stores.tables import sources
import pandas as pd

# Arrow reads up to 32 blocks ahead. Of blocks as small as these the smaller file has more than that.
sources._BLOCK_BYTES = 1 << 18

def most_held():
    (line,) = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")]
    return int(line.split()[1])

spec, way = Path(sys.argv[1]), sys.argv[2]
if way == "whole":
    rows = len(pd.read_csv(spec.parent / "hand_made.csv", dtype=object))
else:
    with workspace_of(spec) as workspace:
        source = ingest(workspace)
        parts = split(workspace, clean(workspace, validate(workspace, source)))
        rows = sum(part.rows for part in parts.values())
print(json.dumps({"rows": rows, "kilobytes": most_held()}))
"""


def write_table(folder: Path, rows: int) -> Path:
    """A table of made-up people, and a spec that releases it; the fewest rows are several blocks of the file."""
    folder.mkdir()
    spec = write_people(folder, [], chunk_rows=CHUNK)
    people = [
        f"{number % 100},person {number:080},{('clerk', 'nurse')[number % 2]},{1 + number % 2},{18 + number % 80}\n"
        for number in range(ROWS)
    ]
    block = "".join(people)
    with (folder / "hand_made.csv").open("w", encoding="utf-8") as file:
        file.write(",".join(NAMES) + "\n")
        for _ in range(rows // ROWS):
            file.write(block)
    return spec


def measured(spec: Path, way: str) -> dict[str, int]:
    """How many rows went through a process, and the most memory that it held."""
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, str(spec), way], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, int] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux, which says how much a process held")
def test_eight_times_the_rows_take_no_more_memory(tmp_path: Path) -> None:
    few, many = write_table(tmp_path / "few", ROWS), write_table(tmp_path / "many", 8 * ROWS)
    by_steps = [measured(spec, "by steps") for spec in (few, many)]
    assert [found["rows"] for found in by_steps] == [ROWS, 8 * ROWS]
    growth = by_steps[1]["kilobytes"] / by_steps[0]["kilobytes"]
    assert growth < ALLOWED_GROWTH

    whole = [measured(spec, "whole") for spec in (few, many)]
    assert whole[1]["kilobytes"] / whole[0]["kilobytes"] > ALLOWED_GROWTH
