"""Tests of steps as plain functions, on their own state folder."""

from pathlib import Path

import pytest

from schemas.spec.release_spec import load_spec
from stores.vault.workspace import Workspace
from tests.isolation import own_state
from tests.small_release import write_small_release

__all__ = ["own_state"]


@pytest.fixture
def bare_workspace(tmp_path: Path) -> Workspace:
    """Return the workspace of a release of the small spec, whose table has no rows."""
    return Workspace(
        state=tmp_path,
        release_id="bare",
        spec=load_spec(write_small_release(tmp_path / "spec", people=[])),
        mlflow_run_id="none",
    )
