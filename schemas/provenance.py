"""The provenance record of a release: its steps, inputs, costs and people, in a public and an internal rendering.

One model has both renderings: internal fields are absent from the public one. The record is a value; its signature
(deniable.record.attestation), collection (stores.record.provenance) and verification (deniable.verification.release)
do not belong here.
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
    """The base class of all parts of the record: frozen, without extra fields."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Released(Part):
    """The identity of the release.

    Attributes:
        id: the release's name.
        title: its title in the spec.
        dataset: the dataset's name.
        records: number of synthetic records.
        seeded: number of those that start from a seed, each of which was tested; the others are drawn from the model
            alone. None if all or none do.
        previous: the previously published release of the same dataset, if there is one.
        begun: day, in Coordinated Universal Time, on which its first charge was entered in the ledger; the day of
            publication if the ledger is ahead of that.
        published: day on which it was published and its record signed.
    """

    id: str
    title: str
    dataset: str
    records: int
    # Omitted from all written forms where no number is to be stated.
    seeded: int | None = Field(default=None, exclude_if=lambda seeded: seeded is None)
    previous: str | None
    begun: Day
    published: Day


class Spec(Part):
    """The release spec.

    Attributes:
        digest: SHA-256 of the document's canonical JSON.
        document: the spec, without the location of its source.
    """

    digest: Digest
    document: dict[str, Any]


class PrivacyUnit(Part):
    """The people of whom the table may have several records.

    Attributes:
        column: the identifier in the source that distinguishes them.
        most_records: the most records of one person that were used, chosen at random.
    """

    column: str
    most_records: int


class TableSchema(Part):
    """The table schema.

    Attributes:
        dataset: name of the schema, or of its file.
        code: SHA-256 of the file.
        source: the file; it is code, and defines the recodes.
        domain: digest of the public domain.
        person: how people are distinguished, if the privacy unit is a person.
    """

    dataset: str
    code: Digest
    source: str
    domain: Digest
    # Omitted from all written forms if the privacy unit is one record.
    person: PrivacyUnit | None = Field(default=None, exclude_if=lambda person: person is None)


class Input(Part):
    """Commitments to the input, which do not disclose it.

    Attributes:
        commitment: digest of the snapshot, keyed with the release key.
        key: commitment to the release key.
        method: how both were computed.
    """

    commitment: Digest
    key: Digest
    method: str


class Resource(Part):
    """An input or output of a step; its digest is keyed unless it is public."""

    name: str
    digest: Digest
    audience: Audience


class Artifact(Part):
    """A file that a step left in MLflow."""

    name: str
    audience: Audience
    sha256: Digest


class Spent(Part):
    """A guarantee. Its epsilon is None if no finite epsilon holds."""

    epsilon: float | None
    delta: float
    accountant: str


class Step(Part):
    """One step, in the order of the flow; fields after `artifacts` are internal.

    Attributes:
        step: its name.
        part: its part of a mapped step.
        inputs: what it read.
        outputs: what it made.
        cost: its cost; None if there is no differential privacy.
        events: its mechanism events.
        artifacts: the files that it left in MLflow; in the public rendering the public ones.
        started: when it started; `ended` is when it ended.
        mlflow_run: its run in MLflow; `prefect_task_run` is its run in Prefect.
        parameters: its parameters, as in MLflow.
        figures: the figures that it measured.
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
        """The step in the public rendering."""
        return Step(
            step=self.step,
            part=self.part,
            inputs=self.inputs,
            outputs=self.outputs,
            cost=self.cost,
            events=self.events,
            artifacts=tuple(item for item in self.artifacts if item.audience is Audience.PUBLIC),
        )


class JointlySpent(Part):
    """The cost of a step together with earlier ones, whose noise is composed with its own.

    Attributes:
        cost: their cost together, for which the ledger charges them.
        steps: names of the earlier steps, in order.
    """

    cost: Spent
    steps: tuple[str, ...]


class StepSpent(Part):
    """The mechanisms that a step applied to one part of the data, and their cost.

    Attributes:
        step: name of the step.
        part: the part that it read, `shared` if all steps read the same records.
        probability: probability that a record is in that part, exact.
        guarantee: its cost; None if there is no differential privacy.
        record: cost of the record of one attempt, by the exact form of Theorem 1, if candidates are tested.
        events: the mechanism events.
        joint: its cost together with earlier steps, if the ledger charges that instead of the sum.
    """

    step: str
    part: str
    probability: str
    guarantee: Spent | None
    record: Spent | None
    events: tuple[dict[str, Any], ...]
    # Records of steps that are charged alone remain as they were before there were others.
    joint: JointlySpent | None = Field(default=None, exclude_if=lambda joint: joint is None)


class Cost(Part):
    """The cost of the release, and the events from which it follows.

    Attributes:
        kind: the guarantee of the records.
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
        before: the entry before them; None if they begin the ledger.
        entries: the entries; those of other releases are sealed.
        head: the last of them.
    """

    before: LedgerPlace | None
    entries: tuple[dict[str, Any], ...]
    head: LedgerPlace


class Code(Part):
    """The code that ran.

    Attributes:
        version: version of the package.
        package: digest of all modules that make releases.
        commit: commit of the checkout; None outside a checkout.
        dirty: whether the checkout had uncommitted changes.
    """

    version: str
    package: Digest
    commit: str | None
    dirty: bool | None


class Environment(Part):
    """The environment in which it ran.

    Attributes:
        requirements: SHA-256 of the pinned requirements; None if they are not available.
        packages: versions of the installed packages that determine a release's bytes.
    """

    python: str
    implementation: str
    platform: str
    machine: str
    requirements: Digest | None
    packages: dict[str, str]


class Runs(Part):
    """Its runs in Prefect and MLflow."""

    prefect_flow_run: str | None
    mlflow_experiment: str
    mlflow_run: str


class SignedApproval(Part):
    """The signature of an approver's key, and what it binds an approval to.

    Attributes:
        version: version of what is signed.
        keyid: the key that signed.
        plan: digest of the spec and of the table's domain.
        cost: digest of the release's costs.
        charges: digest of the identities of its charges in the ledger.
        sentence: what is published, at what cost.
        signature: Ed25519 signature, in hexadecimal.
    """

    version: Literal[1]
    keyid: Digest
    plan: Digest
    cost: Digest
    charges: Digest
    sentence: str
    signature: Annotated[str, Field(pattern=r"^[0-9a-f]{128}$")]


class Approval(Part):
    """The decision of a person.

    Attributes:
        decision: `approved`, or `refused` in the record of a release that was not published.
        by: the person who decided.
        identity: `key`, the owner of the key that signed; `account`, the account that ran the command; `stated`, the
            content of a variable or a form, which was not verified.
        time: time of the decision.
        reason: the reason.
        seen: digest of what the person saw and decided on, keyed with the release key.
        signed: the signature of an approver's key; None if the decision was only stated.
    """

    decision: Literal["approved", "refused"]
    by: str
    identity: Literal["key", "account", "stated"]
    time: Time
    reason: str
    seen: Digest
    # Omitted from all written forms if there is none, as before approvals were signed.
    signed: SignedApproval | None = Field(default=None, exclude_if=lambda signed: signed is None)


class People(Part):
    """The people who started and approved the release; None if its spec requires no approval."""

    started_by: str
    approval: Approval | None


class Signed(Part):
    """When the record was signed, in whole minutes, and by which key."""

    time: Time
    keyid: Digest

    @property
    def day(self) -> Day:
        """The day of the signature."""
        return day_of(self.time)


class Rehearsed(Part):
    """The rehearsal of the release on public records, which cost nothing.

    Attributes:
        digest: SHA-256 of the rehearsal's canonical JSON.
        ended: day on which it ended.
        stand_in: the public records on which it was made: a public release, a public table, or records drawn from the
            schema.
        name: name of that release or file; empty for records drawn from the schema.
        sha256: digest of those records.
        epsilons: the epsilons that were tried, as they were given.
    """

    digest: Digest
    ended: Day
    stand_in: Literal["release", "table", "schema"]
    name: str
    sha256: Digest
    epsilons: tuple[str, ...]


class RunTree(Part):
    """MLflow's runs of the release at the time of the signature.

    Attributes:
        digest: SHA-256 of the items' canonical JSON.
        items: digest of every parameter, tag, metric history, artifact and state, by its place.
        columns: the columns of MLflow's tables whose values are among the items although its interface does not return
            them, by their table; None if not recorded.
    """

    digest: Digest
    items: dict[str, Digest]
    columns: dict[str, tuple[str, ...]] | None = None


class Internal(Part):
    """Fields that only cleared staff may see.

    Attributes:
        figures: figures measured on real records.
        public_record: SHA-256 of the public record's file.
        run_tree: MLflow's runs of the release.
        shelf: SHA-256 of each file on the release's shelf except this record; None if not recorded.
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
    # Omitted from all written forms if there was none.
    rehearsal: Rehearsed | None = Field(default=None, exclude_if=lambda rehearsal: rehearsal is None)
    internal: Internal | None = None

    def to_predicate(self) -> dict[str, Any]:
        """The record as plain values; the public rendering has no internal fields."""
        said = self.model_dump(mode="json", by_alias=True, exclude_unset=self.rendering == "public")
        if self.internal is not None and self.internal.shelf is None:
            del said["internal"]["shelf"]
        if self.internal is not None and self.internal.run_tree.columns is None:
            del said["internal"]["run_tree"]["columns"]
        return said


_ONCE_STATED_TWICE = ("structure", "parameters", "record", "record_t", "candidates", "histogram")


def current_form(version: int, predicate: Mapping[str, Any]) -> dict[str, Any]:
    """A predicate in the form of this version, without the costs that version 1 stated in addition to those of steps.

    Args:
        version: version of its form.
        predicate: the record's predicate.
    """
    said = dict(predicate)
    if version == 1 and isinstance(said.get("cost"), Mapping):
        cost = {name: value for name, value in said["cost"].items() if name not in _ONCE_STATED_TWICE}
        steps = [{name: value for name, value in step.items() if name != "record_t"} for step in cost.get("steps", ())]
        said["cost"] = {**cost, "steps": steps}
    return said
