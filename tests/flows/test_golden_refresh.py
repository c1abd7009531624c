"""A refresh is, byte for byte, what it was when its digests were noted (tests.golden.made)."""

import json
from pathlib import Path

import pytest

from tests.golden.made import NOTED, REFRESH, compared, refreshed


@pytest.mark.nightly
def test_a_refresh_is_what_it_was(tmp_path: Path, prefect: None) -> None:
    assert compared(refreshed(tmp_path)) == compared(json.loads(NOTED.read_text())[REFRESH])
