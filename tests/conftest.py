"""Fixtures and settings that several kinds of tests share."""

import csv
import gc
import os
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest
from execnet import XSpec
from hypothesis import HealthCheck, settings

from deniable.foundation import keys
from tests import (
    garbage,  # noqa: F401 - before what is large
    made_once,  # noqa: F401 - by the process that all others are started by
    seconds,
)
from tests.chance import RepeatedChance
from tests.extent import drawn, left_out, repeats
from tests.workers import fork_workers

# No test has a time limit: machines are slow at times, and the first example compiles code.
settings.register_profile(
    "without a clock",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    max_examples=drawn(100),
    derandomize=repeats(),
)
settings.load_profile("without a clock")

ROOT = Path(__file__).resolve().parent.parent
_OF_A_STATE_FOLDER = ("DENIABLE_STATE", "PREFECT_HOME", "MLFLOW_TRACKING_URI", "PREFECT_API_URL")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes(config: pytest.Config, specs: list[XSpec]) -> None:
    """Import the tests once for all processes."""
    fork_workers(config, specs)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out tests that are too long, and begin with the longest files, so that all processes end at once."""
    left = {item for item in items if any(map(item.get_closest_marker, left_out()))}
    config.hook.pytest_deselected(items=[item for item in items if item in left])
    items[:] = [item for item in items if item not in left]
    taken = seconds.of_files()
    items.sort(key=lambda item: -taken.get(item.nodeid.partition("::")[0], 0))


def pytest_collection_finish() -> None:
    """Compile kernels once, and exclude imported objects, which are permanent, from garbage collection."""
    if "numba" in sys.modules:
        import_module("tests.compiled_once")
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def shared() -> Path:
    """Return the folder of test vectors and real data next to the checkout, which is not part of the project."""
    folder = ROOT.parent / "shared"
    if not folder.is_dir():
        pytest.skip(
            "needs the folder 'shared' beside the checkout: vectors and real data that are not part of the project"
        )
    return folder


@pytest.fixture(autouse=True)
def _usual_limit_of_fields() -> None:
    """Set Python's default limit on a CSV field before each test: frictionless, which only tests use, removes it."""
    csv.field_size_limit(131_072)


@pytest.fixture(scope="module", autouse=True)
def _environment_of_the_state_folder() -> Iterator[None]:
    """Restore after each file what a command that ran in this process set for its own state folder."""
    before = {name: os.environ.get(name) for name in _OF_A_STATE_FOLDER}
    yield
    for name, value in before.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


@pytest.fixture(scope="session", autouse=True)
def repeated_chance() -> Iterator[RepeatedChance]:
    """Provide secrets that are the same in every run of the tests, except at night."""
    chance = RepeatedChance()
    with pytest.MonkeyPatch.context() as patch:
        if repeats():
            patch.setattr(keys, "secrets", chance)
        yield chance


@pytest.fixture(scope="module", autouse=True)
def chance(request: pytest.FixtureRequest, repeated_chance: RepeatedChance) -> None:
    """Start again with every file, so that its secrets do not depend on the earlier files of its process."""
    repeated_chance.begin(request.node.nodeid)
