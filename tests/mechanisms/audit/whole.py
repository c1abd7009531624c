"""The audit of a mechanism by its name, honest or with a fault."""

from pathlib import Path

from schemas.spec.release_spec import load_spec
from tests.mechanisms.audit.audit import Audit
from tests.mechanisms.audit.code import broken
from tests.mechanisms.audit.others import Discovery, survey_findings
from tests.mechanisms.audit.subjects import Release
from tests.mechanisms.audit.twins import Twin
from tests.mechanisms.table import ROWS
from tests.small_release import write_small_release

DISCOVERY, SURVEY = "discovery", "survey"
SUBJECTS = (*ROWS, DISCOVERY, SURVEY)
"""Everything that is audited: each row of the tests' table, discovery, and the answers of a survey."""


def findings_of(name: str, folder: Path, *parts: str) -> list[str]:
    """What the audit of a mechanism finds; nothing if all is well.

    Args:
        name: its name.
        folder: an empty folder.
        parts: the parts of the audit; all if none is given.
    """
    if name == SURVEY:
        return [*survey_findings()]
    if name == DISCOVERY:
        return Audit(Discovery(folder)).found(*parts)
    spec = load_spec(write_small_release(folder, **ROWS[name]))
    return Audit(Release(name, spec, folder)).found(*parts)


def findings_of_twin(twin: Twin, folder: Path) -> list[str]:
    """What the parts that are named find in a mechanism with a fault."""
    with broken(twin):
        return findings_of(twin.subject, folder, *twin.parts)
