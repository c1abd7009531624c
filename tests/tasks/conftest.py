"""Steps are tested as plain functions, on a state folder of their own."""

from pathlib import Path

import pytest

from schemas.release_spec import ReleaseSpec
from stores.workspace import Workspace
from tests.isolation import STATE

__all__ = ["STATE"]


@pytest.fixture
def bare_workspace(tmp_path: Path) -> Workspace:
    """The workspace of a release that has no spec worth reading, for what does not read it."""
    return Workspace(state=tmp_path, release_id="bare", spec=ReleaseSpec.model_construct(), mlflow_run_id="none")
