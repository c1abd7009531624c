"""Membership by shadow releases: the attacker sees the released records alone, and knows everyone but one person.

Every release is made many times on two neighbouring tables, under fixed keys. The person is the worst case: no other
record has a value of theirs. Half of the runs teach the attacker how records with and without the person differ; the
others give a lower bound on epsilon that is too large with a probability of at most 0.1 %.

Two controls go with each mechanism. **A hundred records** of the person, charged as one, must be found: beyond the
claim, wherever the number of runs can show more than that, and beyond chance anywhere else, for otherwise the attack
does not work on this mechanism. A mechanism that reads no record must release the same. **The same table** twice must
show nothing.

Source: shadow models of Shokri et al. 2017 and Stadler et al. 2022; bounds of Clopper and Pearson 1934 on the two error
rates, as Jagielski et al. 2020.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from benchmarks.audits.bounds import ALARM as ALARM_OF_AUDITS
from benchmarks.audits.bounds import epsilon_by_counting, threshold_of
from deniable.foundation.domain import Codes
from deniable.foundation.keys import ReleaseKey
from deniable.learners.registry import relation_of
from papers.lecture.made_up import integers, stream_of
from schemas.spec.plan import plan_release
from schemas.spec.release_spec import load_spec
from tests.mechanisms.audit.subjects import Release
from tests.mechanisms.table import ROWS
from tests.small_release import write_small_release

Floats = NDArray[np.float64]

RUNS: Final = 300
_FEWER: Final[Mapping[str, int]] = {
    "learner aim": 60,
    "learner imputed": 80,
    "learner mst": 100,
    "learner mst with a certificate": 100,
    "learner nist_mst": 200,
    "sampler per_draw from seeds of a public file": 200,
}
_SHOWING_LITTLE: Final = frozenset({"learner imputed"})
"""Mechanisms of which no threshold would show anything at the alarm at which thresholds are chosen otherwise."""
_PEOPLE: Final = 400
_COPIES: Final = 100
_CHUNK: Final = 2_000
ALARM: Final = 0.001
_ALL_READ: Final = {"split": {"shared": 1, "holdout": 0}, "thresholds": {}}


@dataclass(frozen=True)
class Shadows:
    """What the attacker found about one mechanism.

    Attributes:
        name: the mechanism.
        claimed: the epsilon of the release; infinite if it claims none.
        delta: its delta.
        found: a lower bound on epsilon.
        copied: the same if a hundred records of the person are charged as one; infinite if a mechanism that claims to
            read no record releases something else.
        nothing: the same if the two tables are one.
        power: the largest bound that this number of runs could show.
        runs: number of releases of each table.
    """

    name: str
    claimed: float
    delta: float
    found: float
    copied: float
    nothing: float
    power: float
    runs: int

    @property
    def is_within_reach(self) -> bool:
        """Whether a release that breaks its claim could be found by this number of runs; not if it reads no record."""
        return 0 < self.claimed < self.power

    @property
    def faults(self) -> list[str]:
        """What must not be."""
        found = []
        if self.found > self.claimed:
            found.append(f"{self.name} claims {self.claimed:.4g}, and {self.found:.4g} was found")
        if self.claimed and self.copied <= (self.claimed if self.is_within_reach else 0):
            found.append(f"{self.name}: a hundred records charged as one were not found ({self.copied:.4g})")
        if not self.claimed and self.copied:
            found.append(f"{self.name}: it claims to read no record, and its releases differ with the table")
        if self.nothing > 0:
            found.append(f"{self.name}: {self.nothing:.4g} was found where nobody joined")
        return found


def attacked(name: str, folder: Path, runs: int | None = None) -> Shadows:
    """Attack a mechanism.

    Args:
        name: its row in the tests' table of mechanisms.
        folder: an empty folder.
        runs: number of releases of each table; by default as many as its speed allows.
    """
    runs = _FEWER.get(name, RUNS) if runs is None else runs
    spec = load_spec(write_small_release(folder, **{**ROWS[name], **_ALL_READ}))
    subject = Release(name, spec, folder)
    total = plan_release(spec).accounts.total
    claimed, delta = (inf, 0.0) if total is None else (total.epsilon, total.delta)
    replaces = relation_of(dict(spec.learner)).is_replacement
    tables = [_table(subject, joined, replaces=replaces) for joined in (0, 1, _COPIES, 0)]
    # Of a mechanism that reads no record, releases of two tables are the same under the same keys.
    without, with_one, with_many, again = (
        np.stack([_seen(subject, table, _key(name, kind if claimed else 0, run)) for run in range(runs)])
        for kind, table in enumerate(tables)
    )
    chosen_at = ALARM if name in _SHOWING_LITTLE else ALARM_OF_AUDITS
    copied = _bound(with_many, without, delta, chosen_at) if claimed else inf if (with_many != without).any() else 0.0
    return Shadows(
        name=name,
        claimed=claimed,
        delta=delta,
        found=_bound(with_one, without, delta, chosen_at),
        copied=copied,
        nothing=_bound(again, without, delta, chosen_at),
        power=epsilon_by_counting([True] * (runs // 2), [False] * (runs // 2), delta, ALARM),
        runs=runs,
    )


def _key(name: str, kind: int, run: int) -> ReleaseKey:
    text = f"attack lab/{name}/{kind}/{run}".encode()
    return ReleaseKey(text.ljust(32, b"\0")[-32:])


def _table(subject: Release, joined: int, *, replaces: bool) -> Codes:
    """People who have no value of the person's; the person, so many times, or in place of so many of the others."""
    stream = stream_of(f"people of {subject.name}")
    sizes = [attribute.cardinality for attribute in subject.domain.attributes]
    people = np.stack([integers(stream, size - 1, _PEOPLE) for size in sizes], axis=1).astype(np.uint16)
    person = np.array([size - 1 for size in sizes], np.uint16)
    if not replaces:
        return np.concatenate([people, np.tile(person, (joined, 1))])
    # Of a neighbour by replacement, only the last attribute differs, such as the home of a worker.
    people[:joined, -1] = person[-1]
    return people


def _seen(subject: Release, table: Codes, key: ReleaseKey) -> Floats:
    """What the attacker reads off the released records: shares of the person's values, and of the person."""
    is_bounded = subject.sampler.prepare is not None or subject.spec.learner.is_drawn_from_counts
    chunks = subject.chunks(table, key) if is_bounded else subject.chunks(table, key, records=_CHUNK)
    width = len(subject.domain)
    records = np.concatenate([np.frombuffer(chunk, np.uint16).reshape(-1, width) for chunk in chunks])
    theirs = records == np.array([attribute.cardinality - 1 for attribute in subject.domain.attributes], np.uint16)
    if not len(theirs):
        return np.zeros(width + 2)
    return np.array([*theirs.mean(axis=0), theirs.all(axis=1).mean(), len(theirs)])


def _bound(there: Floats, elsewhere: Floats, delta: float, chosen_at: float) -> float:
    """A lower bound on epsilon, by a line that the first half of the runs gives."""
    half = len(there) // 2
    taught = [there[:half], elsewhere[:half]]
    spread = np.concatenate([each - each.mean(axis=0) for each in taught])
    covariance = spread.T @ spread / len(spread) + 1e-9 * np.eye(spread.shape[1])
    line = np.linalg.solve(covariance, taught[0].mean(axis=0) - taught[1].mean(axis=0))
    scores = [each @ line for each in (there, elsewhere)]
    threshold = threshold_of(scores[0][:half], scores[1][:half], delta, half, chosen_at)
    return epsilon_by_counting(scores[0][half:] >= threshold, scores[1][half:] >= threshold, delta, ALARM)


def all_names() -> Sequence[str]:
    """The mechanisms that are attacked."""
    return tuple(ROWS)
