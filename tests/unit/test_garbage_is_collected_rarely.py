"""The garbage collector scans imported objects at most once, and what comes later more often."""

import subprocess
import sys

import pytest

_SCANS = """
import gc
from infra.garbage import collect_rarely
{setting}
scans = []
gc.callbacks.append(lambda phase, found: scans.append(gc.get_freeze_count()) if phase == "stop" else None)
kept = [[] for _ in range({objects})]
print(len(scans), gc.get_freeze_count() >= {objects} // 2)
class Cycle:
    def __init__(self):
        self.own = self
    def __del__(self):
        collected.append(1)
collected = []
for _ in range(200_000):
    Cycle()
print(len(collected) >= 50_000)
"""


@pytest.mark.parametrize(
    ("setting", "objects", "expected"),
    [
        ("collect_rarely()", 300_000, ["0 False", "True"]),
        ("collect_rarely()", 450_000, ["1 True", "True"]),
        ("collect_rarely(); collect_rarely()", 450_000, ["1 True", "True"]),
    ],
)
def test_imported_objects_are_scanned_at_most_once_and_later_cycles_are_collected(
    setting: str, objects: int, expected: list[str]
) -> None:
    program = _SCANS.format(setting=setting, objects=objects)
    ran = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert ran.stdout.splitlines() == expected


def test_python_itself_scans_imported_objects_again_and_again() -> None:
    program = _SCANS.format(setting="", objects=450_000)
    ran = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    scans, frozen = ran.stdout.splitlines()[0].split()
    assert int(scans) > 100
    assert frozen == "False"
