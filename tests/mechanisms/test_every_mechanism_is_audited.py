"""The audit finds nothing in any mechanism, and every small fault in one of them; nothing is added for a new one."""

from pathlib import Path

import pytest

from tests.extent import is_night
from tests.mechanisms.audit.audit import PARTS, parts_of
from tests.mechanisms.audit.twins import TWINS, Twin
from tests.mechanisms.audit.whole import SUBJECTS, findings_of, findings_of_twin

# By day one twin of each mechanism, and one for each combination of parts that must find it.
_SHORT = [twin for twin in reversed(TWINS) if not twin.takes_long]
_BY_DAY = [*{twin.subject: twin for twin in _SHORT}.values(), *{twin.parts: twin for twin in _SHORT}.values()]
TRIED = [twin for twin in TWINS if is_night() or any(each is twin for each in _BY_DAY)]


AUDITED = [
    pytest.param(name, marks=[pytest.mark.nightly] if name == "learner mst with a certificate" else [])
    for name in SUBJECTS
]


@pytest.mark.parametrize("name", AUDITED)
def test_nothing_is_found_in_a_mechanism(name: str, tmp_path: Path) -> None:
    findings = findings_of(name, tmp_path)
    assert not findings, "\n".join(findings)


@pytest.mark.parametrize("twin", TRIED, ids=lambda twin: f"{twin.subject}: {twin.breaks}")
def test_a_mechanism_with_a_fault_is_found(twin: Twin, tmp_path: Path) -> None:
    """By each of the parts that are named."""
    assert {*twin.parts} <= parts_of(findings_of_twin(twin, tmp_path))


def test_every_part_of_the_audit_finds_a_fault_that_the_others_need_not() -> None:
    assert {part for twin in TRIED for part in twin.parts} == {*PARTS}
    assert {twin.subject for twin in TWINS} <= {*SUBJECTS}
    assert [twin.fault() for twin in TWINS if twin.fault()] == []
