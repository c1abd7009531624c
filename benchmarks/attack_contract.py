"""`python -m benchmarks.attack_contract`: puts small faults into every mechanism, and shows what finds them.

Each twin is the project's own mechanism with one line changed: noise that is masked by counts, a stream that two
questions share, a choice at twice its epsilon. The audit of mechanisms (tests.mechanisms.audit) must find each twin, by
the parts that are named for it, and must find nothing in any mechanism as it is.
"""

import sys
import tempfile
from pathlib import Path

from tests.mechanisms.audit.audit import parts_of
from tests.mechanisms.audit.twins import TWINS
from tests.mechanisms.audit.whole import SUBJECTS, findings_of, findings_of_twin

_SHOWN = 110


def main() -> int:
    """Run the attack.

    Returns:
        1 if a twin is not found, or something is found in a mechanism as it is.
    """
    missed = []
    for twin in TWINS:
        with tempfile.TemporaryDirectory() as folder:
            findings = findings_of_twin(twin, Path(folder))
        is_found = {*twin.parts} <= parts_of(findings)
        print(f"{'found' if is_found else 'MISSED'}: {twin.subject}: {twin.breaks}", flush=True)
        for part in twin.parts:
            for finding in [each for each in findings if each.startswith(f"{part}:")][:1]:
                print(f"    by {finding[:_SHOWN]}")
        if not is_found:
            missed.append(twin.breaks)
    for name in SUBJECTS:
        with tempfile.TemporaryDirectory() as folder:
            findings = findings_of(name, Path(folder))
        print(f"{name}: {'nothing is found' if not findings else findings[0]}", flush=True)
        missed += findings
    print(f"{len(TWINS)} twins and {len(SUBJECTS)} mechanisms: {len(missed) or 'no'} surprises.")
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
