"""What is compiled while the project is installed is all that a release of that spec needs compiled."""

import gc
from pathlib import Path

from numba.core.dispatcher import Dispatcher

from infra.compiled_ahead import compile_kernels
from schemas.spec.release_spec import load_spec
from tests.small_release import write_small_release
from tests.warm.pools import pool
from tests.whole_release import drawn_by

LOGLINEAR = {
    "learner": {"kind": "loglinear", "noise": "gaussian", "parameters": {"epsilon": 1, "delta": 1e-6}},
    "split": {"shared": 0.8, "holdout": 0.2},
    "synthesis": {"guarantee": "seedless", "records": 400, "chunk_candidates": 128},
}


def compiled() -> set[str]:
    """The kernels of this process, with their types."""
    kernels = [each for each in gc.get_objects() if isinstance(each, Dispatcher)]
    own = [each for each in kernels if each.py_func.__module__.startswith("deniable")]
    return {f"{each.py_func.__module__}.{each.py_func.__name__}{types}" for each in own for types in each.signatures}


def kernels_of_a_release(place: Path, folder: Path) -> tuple[set[str], set[str], set[str]]:
    """Compile kernels ahead, and make a release: what was compiled before that, then, and later.

    Args:
        place: the spec.
        folder: for the release.
    """
    # Imported objects of a forked process are hidden from the garbage collector.
    gc.unfreeze()
    before = compiled()
    compile_kernels(load_spec(place))
    ahead = compiled()
    drawn_by(load_spec(place), folder, "small-1", b"", "compiled ahead")
    return before, ahead, compiled() - ahead


def test_a_release_compiles_nothing_that_was_not_compiled_ahead(tmp_path: Path) -> None:
    place = write_small_release(tmp_path / "spec", **LOGLINEAR)
    with pool(1) as processes:
        before, ahead, later = processes.submit(kernels_of_a_release, place, tmp_path).result()
    assert before == set()
    assert len(ahead) > 15
    assert later == set()
