"""The page on nightly tests names every such test, and no file that does not exist."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "developer" / "what-the-night-tests.md").read_text(encoding="utf-8")
MARK = "pytest.mark." + "nightly"


def marked() -> set[str]:
    """Files with a test that only a night runs."""
    files = (ROOT / "tests").rglob("test_*.py")
    return {str(path.relative_to(ROOT)) for path in files if MARK in path.read_text(encoding="utf-8")}


def test_every_scenario_of_the_night_is_on_its_page() -> None:
    scenarios = PAGE.partition("## Scenarios that run only at night")[2]
    cells = re.findall(r"^\| (.*?) \|", scenarios, flags=re.MULTILINE)
    named = {path for cell in cells for path in re.findall(r"`(tests/.+?)`", cell)}
    assert len(named) >= 10
    assert named == marked()


def test_every_file_that_the_page_names_exists() -> None:
    named = set(re.findall(r"`((?:tests|infra)/[\w./-]+)`", PAGE))
    assert len(named) > 20
    assert [path for path in sorted(named) if not (ROOT / path).exists()] == []
