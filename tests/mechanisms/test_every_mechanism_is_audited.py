"""The audit finds nothing in any mechanism, and every small fault in one of them; nothing is added for a new one."""

from pathlib import Path

import pytest

from tests.extent import is_night
from tests.mechanisms.audit.audit import PARTS, parts_of
from tests.mechanisms.audit.twins import TWINS, Twin
from tests.mechanisms.audit.whole import SUBJECTS, findings_of, findings_of_twin

TRIED = [twin for twin in TWINS if is_night() or not twin.takes_long]


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
