"""A rehearsal: what releases of public records were like at several epsilons, before epsilon was spent on others.

Everything in it is public: it follows from a spec, from public records, and from noise that protects nobody.
"""

import json
from hashlib import sha256
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from schemas.provenance import Digest, Time

Grade = Literal["good", "with caution", "do not", "not decided"]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class StandIn(_Part):
    """The public records that stood for the confidential ones.

    Attributes:
        kind: the last public release of the dataset, a public table, or records drawn from the schema.
        name: name of the release or of the file; empty for records drawn from the schema.
        sha256: digest of the file that was read, or of the records that were drawn.
        rows: number of records.
    """

    kind: Literal["release", "table", "schema"]
    name: str
    sha256: Digest
    rows: Annotated[int, Field(ge=1)]

    @property
    def words(self) -> str:
        """What it is, in words."""
        kinds = {
            "release": "the public release",
            "table": "the public table",
            "schema": "records drawn from the schema",
        }
        return f"{kinds[self.kind]} {self.name}".strip() + f", {self.rows:,} records"


class Rung(_Part):
    """What releases at one epsilon were like.

    Attributes:
        epsilon: of the whole release, as it was given.
        total: of the whole release, as it would be stated.
        uses: the most cautious grade of each use over all releases, by the name of the use.
        width: median width of the 95% intervals for shares of single values, which data users compute; None if the
            learner publishes no measurements.
        group_size: number of held-out records from which on groups were well described, the median over releases; None
            if not even the largest group was.
        passed: share of the candidates that passed the privacy test; None if none are tested.
        seconds: processor seconds of a release with its evaluation, the median over releases.
        memory: largest memory of the process so far, in MiB.
    """

    epsilon: str
    total: float
    uses: dict[str, Grade]
    width: float | None
    group_size: int | None
    passed: float | None
    seconds: float
    memory: int


class Rehearsal(_Part):
    """A rehearsal.

    Attributes:
        version: version of this form.
        dataset: name of the dataset.
        title: title of the release.
        learner: kind of the learner; `guarantee` is that of the sampler.
        records: number of records of a release.
        ended: time at which it ended.
        stand_in: the records that stood for the confidential ones.
        repeats: number of releases at each epsilon, each under its own key.
        own: epsilon of the spec itself.
        rungs: what was found, by ascending epsilon.
    """

    version: Literal[1] = 1
    dataset: str
    title: str
    learner: str
    guarantee: str
    records: int
    ended: Time
    stand_in: StandIn
    repeats: Annotated[int, Field(ge=1)]
    own: str
    rungs: Annotated[tuple[Rung, ...], Field(min_length=1)]

    @property
    def digest(self) -> str:
        """SHA-256 of its canonical JSON, which records of releases state."""
        said = json.dumps(self.model_dump(mode="json"), sort_keys=True, separators=(",", ":"))
        return sha256(said.encode()).hexdigest()

    @property
    def used(self) -> tuple[str, ...]:
        """The uses that were judged at some epsilon."""
        return tuple(dict.fromkeys(use for rung in self.rungs for use in rung.uses))
