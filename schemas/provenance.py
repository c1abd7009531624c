"""The provenance record of a release: what was done, with what, at what cost, by whom; its public and internal form.

One model has both renderings: what is internal is absent from the public one. The record is a value; how it is signed
(deniable.record.attestation), collected (stores.record.provenance) and checked (deniable.verification.release) does
not belong here.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from deniable.ledger.entries import day_of
from schemas.references import Audience

RECORD = "record.dsse.json"
"""Name of the signed record's file in the release folder, on the shelf and in MLflow."""

Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Day = Annotated[str, Field(pattern=r"^\d{4}-\d\d-\d\d$")]
Time = Annotated[str, Field(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$")]


class Part(BaseModel):
    """What all parts of the record have in common: nothing may be added, nothing changed."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Released(Part):
    """Which release this is.

    Attributes:
        id: the release's name.
        title: what its spec calls it.
        dataset: the dataset's name.
        records: number of synthetic records.
        previous: the release of the same dataset that was published before it, if there is one.
        begun: day, by Coordinated Universal Time, on which its first charge was entered in the ledger; the day of
            publication where the ledger is ahead of that.
        published: day on which it was published and its record signed.
    """

    id: str
    title: str
    dataset: str
    records: int
    previous: str | None
    begun: Day
    published: Day


class Spec(Part):
    """What was to be released.

    Attributes:
        digest: SHA-256 of the document's canonical JSON.
        document: the spec, without the place of its source.
    """

    digest: Digest
    document: dict[str, Any]


class TableSchema(Part):
    """What a table may hold.

    Attributes:
        dataset: name of the schema, or of its file.
        code: SHA-256 of the file.
        source: the file; it is code, and says what was recoded.
        domain: digest of the public domain.
    """

    dataset: str
    code: Digest
    source: str
    domain: Digest


class Input(Part):
    """What went in, without showing it.

    Attributes:
        commitment: digest of the snapshot, keyed with the release key.
        key: commitment to the release key.
        method: how both were made.
    """

    commitment: Digest
    key: Digest
    method: str


class Resource(Part):
    """What a step read or made; its digest is keyed unless it is public."""

    name: str
    digest: Digest
    audience: Audience


class Artifact(Part):
    """A file that a step left in MLflow."""

    name: str
    audience: Audience
    sha256: Digest


class Spent(Part):
    """A guarantee. Its epsilon is None where no finite one holds."""

    epsilon: float | None
    delta: float
    accountant: str


class Step(Part):
    """One step, in the order of the flow; what follows `artifacts` is internal.

    Attributes:
        step: its name.
        part: which part of a mapped step it is.
        inputs: what it read.
        outputs: what it made.
        cost: what it spent; None where there is no differential privacy.
        events: what it did to the data.
        artifacts: the files that it left in MLflow; in the public rendering the public ones.
        started: when it started, and `ended` when it ended.
        mlflow_run: its run in MLflow, and `prefect_task_run` the one in Prefect.
        parameters: its parameters, as MLflow has them.
        figures: what it measured.
    """

    step: str
    part: str | None
    inputs: tuple[Resource, ...]
    outputs: tuple[Resource, ...]
    cost: Spent | None
    events: tuple[dict[str, Any], ...]
    artifacts: tuple[Artifact, ...]
    started: Time | None = None
    ended: Time | None = None
    mlflow_run: str | None = None
    prefect_task_run: str | None = None
    parameters: dict[str, str] | None = None
    figures: dict[str, float] | None = None

    def public(self) -> "Step":
        """The step as everybody may see it."""
        return Step(
            step=self.step,
            part=self.part,
            inputs=self.inputs,
            outputs=self.outputs,
            cost=self.cost,
            events=self.events,
            artifacts=tuple(item for item in self.artifacts if item.audience is Audience.PUBLIC),
        )


class StepSpent(Part):
    """What a step did to one part of the data, and what that costs.

    Attributes:
        step: name of the step.
        part: the part that it read, `shared` where all steps read the same records.
        probability: probability with which a record is in that part, exact.
        guarantee: what it costs; None where there is no differential privacy.
        record: cost of the record that one attempt may end with, by the exact form of Theorem 1, where candidates are
            tested.
        events: what was done.
    """

    step: str
    part: str
    probability: str
    guarantee: Spent | None
    record: Spent | None
    events: tuple[dict[str, Any], ...]


class Cost(Part):
    """What the release cost, and how the figures follow from the events.

    Attributes:
        kind: which guarantee the records have.
        model: cost of the model.
        total: cost of the whole release; None for privacy test 1.
        steps: the costs step by step.
        split: probability of each part of the data, exact.
    """

    kind: str
    model: Spent
    total: Spent | None
    steps: tuple[StepSpent, ...]
    split: dict[str, str]


class LedgerPlace(Part):
    """An entry of the ledger: its number and its digest."""

    number: int
    digest: Digest


class LedgerSegment(Part):
    """The entries from the release's first charge to its publication.

    Attributes:
        before: the entry before them; None where they begin the ledger.
        entries: the entries; those of other releases are sealed.
        head: the last of them.
    """

    before: LedgerPlace | None
    entries: tuple[dict[str, Any], ...]
    head: LedgerPlace


class Code(Part):
    """What ran.

    Attributes:
        version: version of the package.
        package: digest of all modules that make releases.
        commit: commit of the checkout; None outside one.
        dirty: whether the checkout had changes that were not committed.
    """

    version: str
    package: Digest
    commit: str | None
    dirty: bool | None


class Environment(Part):
    """What it ran on.

    Attributes:
        requirements: SHA-256 of the pinned requirements; None where they are not at hand.
        packages: versions of the installed packages that decide a release's bytes.
    """

    python: str
    implementation: str
    platform: str
    machine: str
    requirements: Digest | None
    packages: dict[str, str]


class Runs(Part):
    """Where it was watched."""

    prefect_flow_run: str | None
    mlflow_experiment: str
    mlflow_run: str


class Approval(Part):
    """What a person decided.

    Attributes:
        decision: `approved`, or `refused` in the record of a release that was not published.
        by: who decided.
        identity: `account`, the account that ran the command; `stated`, what a variable or a form said, which nobody
            checked.
        time: when.
        reason: why.
        seen: digest of what was seen and decided upon, keyed with the release key.
    """

    decision: Literal["approved", "refused"]
    by: str
    identity: Literal["account", "stated"]
    time: Time
    reason: str
    seen: Digest


class People(Part):
    """Who started the release, and who approved it; None where its spec asks nobody."""

    started_by: str
    approval: Approval | None


class Signed(Part):
    """When the record was signed, in whole minutes, and by which key."""

    time: Time
    keyid: Digest

    @property
    def day(self) -> Day:
        """The day on which it was signed."""
        return day_of(self.time)


class RunTree(Part):
    """MLflow's runs of the release as they were when the record was signed.

    Attributes:
        digest: SHA-256 of the items' canonical JSON.
        items: digest of every parameter, tag, metric history, artifact and state, by its place.
    """

    digest: Digest
    items: dict[str, Digest]


class Internal(Part):
    """What only cleared staff may see.

    Attributes:
        figures: what was measured on real records.
        public_record: SHA-256 of the public record's file.
        run_tree: MLflow's runs of the release.
        shelf: SHA-256 of each file on the release's shelf but this record; None where it was not noted.
    """

    figures: dict[str, float]
    public_record: Digest
    run_tree: RunTree
    shelf: dict[str, Digest] | None = None


class Provenance(Part):
    """The predicate of the record."""

    rendering: Literal["public", "internal"]
    release: Released
    spec: Spec
    table_schema: TableSchema = Field(alias="schema")
    input: Input
    steps: tuple[Step, ...]
    cost: Cost
    ledger: LedgerSegment
    code: Code
    environment: Environment
    runs: Runs
    people: People
    signed: Signed
    internal: Internal | None = None

    def to_predicate(self) -> dict[str, Any]:
        """The record as plain values; the public rendering has no place for what is internal."""
        said = self.model_dump(mode="json", by_alias=True, exclude_unset=self.rendering == "public")
        if self.internal is not None and self.internal.shelf is None:
            del said["internal"]["shelf"]
        return said


_ONCE_STATED_TWICE = ("structure", "parameters", "record", "record_t", "candidates", "histogram")


def current_form(version: int, predicate: Mapping[str, Any]) -> dict[str, Any]:
    """A predicate in the form of this version: costs that version 1 stated beside those of their steps are left out.

    Args:
        version: of its form.
        predicate: what the record says.
    """
    said = dict(predicate)
    if version == 1 and isinstance(said.get("cost"), Mapping):
        cost = {name: value for name, value in said["cost"].items() if name not in _ONCE_STATED_TWICE}
        steps = [{name: value for name, value in step.items() if name != "record_t"} for step in cost.get("steps", ())]
        said["cost"] = {**cost, "steps": steps}
    return said
