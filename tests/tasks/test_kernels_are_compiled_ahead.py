"""What is compiled while the project is installed is all that a release of that spec needs compiled."""

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.flows.command import environment
from tests.small_release import write_small_release

ROOT = Path(__file__).resolve().parents[2]
LOGLINEAR = {
    "learner": {"kind": "loglinear", "noise": "gaussian", "parameters": {"epsilon": 1, "delta": 1e-6}},
    "split": {"shared": 0.8, "holdout": 0.2},
    "synthesis": {"guarantee": "seedless", "records": 400, "chunk_candidates": 128},
}
AHEAD = """
import gc, json, sys
from pathlib import Path
from tests import whole_release
from infra.compiled_ahead import compile_kernels
from numba.core.dispatcher import Dispatcher
from schemas.spec.release_spec import load_spec

def compiled():
    kernels = [each for each in gc.get_objects() if isinstance(each, Dispatcher)]
    own = [each for each in kernels if each.py_func.__module__.startswith("deniable")]
    return {f"{each.py_func.__module__}.{each.py_func.__name__}{types}" for each in own for types in each.signatures}

before, folder = compiled(), Path(sys.argv[2])
spec = load_spec(Path(sys.argv[1]))
compile_kernels(spec)
ahead = compiled()
whole_release.drawn_by(spec, folder, "small-1", b"", "compiled ahead")
print(json.dumps({"before": sorted(before), "ahead": sorted(ahead), "later": sorted(compiled() - ahead)}))
"""


def test_a_release_compiles_nothing_that_was_not_compiled_ahead(tmp_path: Path) -> None:
    spec = write_small_release(tmp_path / "spec", **LOGLINEAR)
    done = subprocess.run(
        [sys.executable, "-c", AHEAD, str(spec), str(tmp_path)],
        env={**environment(tmp_path), "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["before"] == []
    assert len(found["ahead"]) > 15
    assert found["later"] == []
