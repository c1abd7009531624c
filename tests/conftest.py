"""What several kinds of tests share."""

import csv
import gc
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from deniable.foundation import keys
from tests import (
    garbage,  # noqa: F401 - before what is large
    made_once,  # noqa: F401 - by the process that all others are started by
    seconds,
)
from tests.chance import RepeatedChance
from tests.extent import drawn, is_night, repeats

# No test holds a limit of time: machines are slow at times, and compiled code is compiled in the first example.
settings.register_profile(
    "without a clock",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    max_examples=drawn(100),
    derandomize=repeats(),
)
settings.load_profile("without a clock")

ROOT = Path(__file__).resolve().parent.parent


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the longest scenarios to the night, and begin with the files that take longest, so that all end at once."""
    if not is_night():
        left = [item for item in items if item.get_closest_marker("nightly")]
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if item not in left]
    taken = seconds.of_files()
    items.sort(key=lambda item: -taken.get(item.nodeid.partition("::")[0], 0))


def pytest_collection_finish() -> None:
    """Have kernels compiled once; spare the tests from looking for garbage among all that was imported, which stays."""
    if "numba" in sys.modules:
        import_module("tests.compiled_once")
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of test vectors and real data that lies beside the checkout; not part of the project."""
    folder = ROOT.parent / "shared"
    if not folder.is_dir():
        pytest.skip(
            "needs the folder 'shared' beside the checkout: vectors and real data that are not part of the project"
        )
    return folder


@pytest.fixture(autouse=True)
def _usual_limit_of_fields() -> None:
    """Set Python's own limit of a field in CSV before each test: frictionless, which only tests use, takes it away."""
    csv.field_size_limit(131_072)


@pytest.fixture(scope="session", autouse=True)
def repeated_chance() -> Iterator[RepeatedChance]:
    """Secrets that are the same each time the tests are run, but for those at night."""
    chance = RepeatedChance()
    with pytest.MonkeyPatch.context() as patch:
        if repeats():
            patch.setattr(keys, "secrets", chance)
        yield chance


@pytest.fixture(scope="module", autouse=True)
def chance(request: pytest.FixtureRequest, repeated_chance: RepeatedChance) -> None:
    """Begin anew with every file, so that its secrets do not depend on which files its process had before."""
    repeated_chance.begin(request.node.nodeid)
