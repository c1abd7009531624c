"""The duration of each test file: `python -m tests.seconds REPORT` records it from a report of pytest.

The report is in JUnit's format, by `make test JUNIT=REPORT`. The longest files begin first (tests/conftest.py), so that
all processes end at the same time; a file without a record counts as 0 seconds.
"""

import json
import sys
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree as ET

NOTED = Path(__file__).with_name("seconds.json")
_LEAST_S = 2


def of_files() -> dict[str, int]:
    """Return seconds by the path of a file."""
    noted: dict[str, int] = json.loads(NOTED.read_text())
    return noted


def note(report: Path) -> None:
    """Record the durations in a report, the longest first."""
    taken: Counter[str] = Counter()
    for case in ET.parse(report).iter("testcase"):  # noqa: S314 - what pytest wrote here
        taken[case.attrib["classname"].replace(".", "/") + ".py"] += float(case.attrib["time"])  # type: ignore[assignment]
    lasting = {name: round(seconds) for name, seconds in taken.most_common() if seconds >= _LEAST_S}
    NOTED.write_text(json.dumps(lasting, indent=1) + "\n")


if __name__ == "__main__":
    note(Path(sys.argv[1]))
