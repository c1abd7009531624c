"""What the attack lab found about this program's mechanisms, as a release's statement for people names it.

The lab (`make attack-lab`) attacks made-up tables, and writes `attack_lab.json`; no release is attacked, and nothing
here depends on one. Which version of the lab, on which date and commit, is part of what is stated.
"""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

FILE: Final = Path(__file__).with_name("attack_lab.json")


@dataclass(frozen=True)
class LabFindings:
    """What the lab found about the mechanisms of a release.

    Attributes:
        version: the version of the lab.
        date: the date of its attacks by shadow releases.
        commit: the commit of the code that was attacked.
        mechanisms: of each mechanism its name, the claimed epsilon in words, and the epsilon that was found and that
            could have been found.
        faults: number of published faults that were put into the program.
        caught: number of those that were found.
    """

    version: int
    date: str
    commit: str
    mechanisms: tuple[tuple[str, str, float, float], ...]
    faults: int
    caught: int


def lab_findings(learner: str, guarantee: str) -> LabFindings | None:
    """The findings about a learner and a guarantee; None if neither was attacked.

    Args:
        learner: kind of the learner.
        guarantee: guarantee of the records.
    """
    found = _read()
    named = [name for name in (f"learner {learner}", f"sampler {guarantee}") if name in found["mechanisms"]]
    if not named:
        return None
    return LabFindings(
        version=found["version"],
        date=found["date"],
        commit=found["commit"],
        mechanisms=tuple((name, *found["mechanisms"][name]) for name in named),
        faults=found["faults"],
        caught=found["caught"],
    )


@cache
def _read() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return found
