"""Faults that other programs have had, or that the literature describes, put into the mechanisms of this one.

Each is one line changed in the real mechanism (tests.mechanisms.audit.twins). The audit that every mechanism must pass
is run on it, and must find it by the parts that are named for it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from tests.mechanisms.audit.audit import parts_of
from tests.mechanisms.audit.twins import TWINS, Twin
from tests.mechanisms.audit.whole import findings_of_twin

PUBLISHED: Final[Mapping[str, tuple[tuple[str, str], ...]]] = {
    "noise is too small for what is charged (DataSynthesizer, issue 34)": (
        ("learner independent", "half the noise that is charged"),
        ("learner mst", "pairs with half the variance"),
    ),
    "the domain is read from the data (reprosyn, issue 38; dpart, issue 6)": (
        ("learner marginals", "no value that occurs has a count of 0"),
        ("sampler histogram_seeds", "prefixes of few records are left out by exact counts"),
    ),
    "exact bounds of the data are released (dpsynth, issue 34)": (
        ("discovery", "values of few are left out by exact counts"),
        ("discovery", "buckets without a number have no noise"),
    ),
    "draws that should be independent are not (mbi, pull request 145)": (
        ("learner pegs", "chunks of records are copies of each other"),
    ),
    "the scale of the noise depends on the data": (
        ("learner cfs", "noise in proportion to the exact number of records"),
    ),
    "the sensitivity of one is charged for several": (
        ("discovery", "several records of a person count, with noise for one"),
        ("learner mst", "a score that a record moves by more than it says"),
        ("learner independent", "one charge fewer than there are histograms"),
    ),
    "one stream of noise is used for several counts, or in every release": (
        ("learner pegs_noisy", "tables of all keys have one stream"),
        ("learner independent", "equal histograms have one stream"),
        ("learner aim", "tables of all rounds have one stream"),
    ),
    "empty cells have no noise, so that a new value shows": (
        ("learner loglinear", "empty cells have no noise"),
        ("learner aim", "empty cells have no noise"),
    ),
    "exact totals are published beside noisy counts": (("learner origin_destination", "totals without noise"),),
    "tables are chosen without noise": (
        ("learner mst", "pairs by exact scores"),
        ("learner privbayes", "candidates that exact scores filter"),
    ),
    "choices cost more than they are charged": (
        ("learner privbayes", "choices at twice their epsilon"),
        ("learner aim", "half of what a query costs is counted"),
    ),
    "whether a release is refused depends on exact counts": (
        ("learner cfs", "a refusal by the exact number of records"),
    ),
    "the quality of a release is stated by exact figures": (
        ("learner pegs_noisy with a certificate", "a certificate without noise"),
        ("learner pegs_noisy with a certificate", "a certificate of pairs that exact counts choose"),
    ),
    "records start from real people, uncharged": (("learner pegs", "seeds are records of the table"),),
    "one respondent's answers share their randomness": (("survey", "all questions have one stream"),),
}
"""Kinds of faults, and the twins that have them: mechanism and fault."""


@dataclass(frozen=True)
class Caught:
    """What the audit found in a twin.

    Attributes:
        kind: the kind of fault.
        mechanism: the mechanism.
        fault: what was changed.
        finding: the first finding by a part that is named for it; empty if none found it.
    """

    kind: str
    mechanism: str
    fault: str
    finding: str


def twin_of(mechanism: str, fault: str) -> Twin:
    """The twin of a mechanism with a fault.

    Raises:
        LookupError: there is none, or more than one.
    """
    found = [twin for twin in TWINS if (twin.subject, twin.breaks) == (mechanism, fault)]
    if len(found) != 1:
        raise LookupError(f"one twin of {mechanism} must have the fault {fault!r}, got {len(found)}")
    return found[0]


def caught(kind: str) -> Iterator[Caught]:
    """Audit the twins of a kind of fault."""
    for mechanism, fault in PUBLISHED[kind]:
        twin = twin_of(mechanism, fault)
        with TemporaryDirectory() as folder:
            findings = findings_of_twin(twin, Path(folder))
        named = [each for each in findings if parts_of([each]) <= {*twin.parts}]
        complete = {*twin.parts} <= parts_of(findings)
        yield Caught(kind, mechanism, fault, named[0] if complete and named else "")
