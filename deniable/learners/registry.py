"""The learners, by their name in a spec. A new learner is a folder of its own and a line here.

Folders are imported on demand, so that verifying a release needs no learner's compiled code.
"""

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from deniable.foundation.domain import Domain
from deniable.privacy.planned import ExpectedStep

if TYPE_CHECKING:
    from deniable.learners.entry import LearnerEntry
    from deniable.mechanisms import Counter, PartDelta, PlannedStep

LEARNERS: Final = (
    "loglinear",
    "cfs",
    "marginals",
    "uniform",
    "independent",
    "privbayes",
    "mst",
    "nist_mst",
    "aim",
)


def expected_steps(kind: str) -> Mapping[str, ExpectedStep]:
    """What each step with a cost must do, by its name and in order; empty for an unknown learner."""
    if kind not in LEARNERS:
        return {}
    steps: Mapping[str, ExpectedStep] = import_module(f"deniable.learners.{kind}.verification").EXPECTED_STEPS
    return steps


def entries() -> "Sequence[type[LearnerEntry]]":
    """The classes of spec entries, one for each learner."""
    return [import_module(f"deniable.learners.{kind}.spec").Entry for kind in LEARNERS]


def kinds_that_read(part: str) -> list[str]:
    """Names of the learners that read a part of the rows."""
    return [kind for kind, entry in zip(LEARNERS, entries(), strict=True) if part in entry.parts]


def derived_from_public(entry: "LearnerEntry", domain: Domain, counter: "Counter", sha256: str) -> Mapping[str, Any]:
    """What an entry must state of the public file that it names, as its steps then compare it with the file.

    Args:
        entry: the entry, of a learner that counts a public file.
        domain: the public domain.
        counter: counts the rows of the file.
        sha256: digest of the file.

    Returns:
        The part of the entry as in a spec, ready for YAML.
    """
    derive = import_module(f"deniable.learners.{entry.kind}.steps").derived_from_public
    stated: Mapping[str, Any] = derive(entry, domain, counter, sha256)
    return stated


def steps_of(entry: "LearnerEntry", domain: Domain, delta_of: "PartDelta") -> "tuple[PlannedStep, ...]":
    """Plan the steps of a spec's entry, in order.

    Args:
        entry: the entry.
        domain: the public domain.
        delta_of: see PartDelta.

    Raises:
        InvalidInput: the budget does not suffice.
    """
    steps: tuple[PlannedStep, ...] = import_module(f"deniable.learners.{entry.kind}.steps").steps(
        entry, domain, delta_of
    )
    return steps
