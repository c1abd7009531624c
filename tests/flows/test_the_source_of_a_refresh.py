"""A refresh of a deployment reads the source named now, not the one in its worker's environment."""

from pathlib import Path
from typing import Any

import pytest
from prefect.variables import Variable

from deniable.foundation.errors import InvalidInput
from flows.entrypoints import source_of
from tests.small_release import write_small_release

NAME = "DENIABLE_TEST_ARRIVAL"


@pytest.fixture
def old_environment(prefect: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(NAME, "/data/of-last-year.csv")


def spec_from(folder: Path, **source: Any) -> Path:
    return write_small_release(folder, source={"kind": "file", **source})


@pytest.mark.usefixtures("old_environment")
def test_what_prefect_s_variable_says_now_is_read(tmp_path: Path) -> None:
    spec = spec_from(tmp_path, environment=NAME, path="people.csv")
    for place in ("/data/of-this-year.csv", "s3://arrivals/of-next-year/"):
        Variable.set(NAME.lower(), place, overwrite=True)
        assert source_of(spec) == place
    Variable.unset(NAME.lower())
    assert source_of(spec) == str(tmp_path / "people.csv")


@pytest.mark.usefixtures("old_environment")
def test_a_source_that_only_the_worker_knows_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="set Prefect's variable deniable_test_arrival"):
        source_of(spec_from(tmp_path, environment=NAME, path=None))


@pytest.mark.usefixtures("old_environment")
def test_a_spec_without_such_a_variable_is_read_as_it_stands(tmp_path: Path) -> None:
    assert source_of(spec_from(tmp_path, path="people.csv")) is None
