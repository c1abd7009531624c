"""Discoveries: which ones were begun, under which key and from which copy of the source, and their folders.

A discovery has a vault, like a release: its key, the copy of the requested columns, and a note by which the same
command resumes it. Its folder, `discoveries/ID/`, contains the released answers and a signed record. The mechanism is
in deniable.discovery, the counting in tasks.discovery.answer_questions.
"""

import json
import shutil
from dataclasses import asdict, dataclass
from fractions import Fraction
from hashlib import sha256
from pathlib import Path

from deniable.discovery.answers import Answers
from deniable.discovery.plan import STEP, DiscoveryPlan
from deniable.discovery.plan import unit_in_words as unit_of
from deniable.foundation.domain import Person
from deniable.foundation.errors import InvalidInput, Refused
from deniable.ledger.drawing_versions import mechanism_name
from deniable.ledger.entries import ALL_ROWS, Charge, Claim, Cost, Entry, canonical, digest_of
from deniable.privacy.neighbours import REPLACED
from deniable.privacy.rounding import claimed
from deniable.record.attestation import DISCOVERY, statement
from deniable.verification.discovery import DOCUMENT, answers_in
from deniable.verification.release import RECORD
from schemas.kinds.description import described
from schemas.references import Audience, Reference
from schemas.spec.release_spec import ReleaseSpec
from stores.keys.signed_record import signed_now
from stores.keys.signing_keys import SigningKey
from stores.own_files import NotOurFile, read_own, read_own_text
from stores.publication.release_folder import check_files, publish_folder
from stores.record.discovery_record import DISCOVERY_NOTE, discovery_place
from stores.tracking.run_links import FLOW_RUN, prefect_tags
from stores.vault.actors import people_of
from stores.vault.runtime_environment import code_that_runs
from stores.vault.workspace import Workspace

SNAPSHOT = "snapshot.parquet"
"""The copy of the columns requested, in the vault."""


@dataclass(frozen=True)
class Begun:
    """The note of a discovery in the vault.

    Attributes:
        discovery: its name.
        dataset: the dataset's name in the ledger.
        request: digest of the request, and of what is read.
        commitment: commitment to its key.
        snapshot: keyed digest of the copy of the columns.
        finished: whether its folder is complete.
    """

    discovery: str
    dataset: str
    request: str
    commitment: str
    snapshot: str
    finished: bool = False


def request_digest(spec: ReleaseSpec, plan: DiscoveryPlan) -> str:
    """Return a digest of the request: the questions, the source, the privacy unit and the version of the mechanism.

    It covers everything that the counts depend on besides the copy of the columns, so that a discovery is resumed with
    the counts with which it began: the same noise on other counts would disclose more than was charged.
    """
    source = spec.source.model_dump(mode="json")
    person = None if spec.person is None else [Person(spec.person.column).document(), *nobody(spec)]
    return digest_of([spec.dataset_name, source, str(spec.folder), person, plan.document(), mechanism_name(STEP, STEP)])


def nobody(spec: ReleaseSpec) -> list[str]:
    """Return the texts by which the source marks a missing person identifier, in order."""
    if spec.person is None:
        return []
    return sorted(str(code) for code in described(spec.schema.columns[spec.person.column]).missing)


def begun_before(state: Path, spec: ReleaseSpec, request: str) -> Begun | None:
    """Return the latest discovery of the same request; None if there is none.

    Raises:
        Refused: a note that may belong to it cannot be read, and a new discovery would be charged again.
    """
    found = None
    for place in sorted((state / "vault").glob(f"*/{DISCOVERY_NOTE}")):
        try:
            begun = Begun(**json.loads(read_own(place)))
        except (NotOurFile, OSError, TypeError, ValueError):
            if place.parent.name.startswith(f"{spec.name}-"):
                raise Refused(
                    f"the note of a discovery must be readable, and {place} is not; restore it, or remove the folder "
                    "to give up what it may have been charged for."
                ) from None
            continue
        if begun.request == request:
            found = begun
    return found


def begun_as(workspace: Workspace) -> Begun | None:
    """Return the note of a discovery; None if its beginning is not noted yet."""
    place = workspace.vault / DISCOVERY_NOTE
    return Begun(**json.loads(read_own(place))) if place.exists() else None


def note(workspace: Workspace, begun: Begun) -> None:
    """Write the note of a discovery to the vault, completely or not at all."""
    with workspace.writing(DISCOVERY_NOTE, Audience.RESTRICTED) as path:
        path.write_text(json.dumps(asdict(begun)), encoding="utf-8")


def charge_of(
    spec: ReleaseSpec, plan: DiscoveryPlan, discovery: str, *, inputs: str = "planned", commitment: str = "planned"
) -> Charge:
    """Return the charge of a discovery: all of it at once, before any noise is drawn.

    Args:
        spec: the spec, for the dataset.
        plan: what is requested.
        discovery: its name.
        inputs: keyed digest of the copy of the columns.
        commitment: commitment to its key.
    """
    guarantee, events = plan.guarantee, plan.events
    cost = Cost(epsilon=plan.epsilon, delta=min(claimed(guarantee.delta), plan.delta))
    return Charge(
        dataset=spec.dataset_name,
        release=discovery,
        step=STEP,
        mechanism=mechanism_name(STEP, STEP),
        part=ALL_ROWS,
        probability=Fraction(1),
        split="",
        claim=Claim(cost=cost, accountant=guarantee.accountant),
        events=events,
        inputs=inputs,
        parameters={
            "events": digest_of([event.to_record() for event in events]),
            "plan": digest_of(plan.document()),
            "person": _person_of(spec),
        },
        commitment=commitment,
    )


def require_unit(spec: ReleaseSpec) -> None:
    """Refuse a dataset whose ledger adds up guarantees of another kind.

    Raises:
        InvalidInput: its guarantees are for a part of one record replaced.
    """
    if spec.dataset_name.endswith(REPLACED):
        raise InvalidInput(
            f"a discovery must be charged to a dataset whose guarantees are for a record added or removed, got "
            f"{spec.dataset_name}, whose are for a part of one replaced; use a spec with another learner."
        )


def unit_in_words(spec: ReleaseSpec) -> str:
    """Return the privacy unit of a discovery, in words."""
    return unit_of(_person_of(spec))


def _person_of(spec: ReleaseSpec) -> str:
    """Return the column that identifies people; empty if the privacy unit is a record."""
    return "" if spec.person is None else spec.person.column


def publish_discovery_folder(workspace: Workspace, content: str, entry: Entry, key: SigningKey) -> Path:
    """Sign the released answers, and move the folder into place as a whole.

    Args:
        workspace: the discovery.
        content: the text of its document.
        entry: the entry of its charge in the ledger.
        key: the key that signs.

    Returns:
        The folder.
    """
    destination = discovery_place(workspace.state, workspace.release_id)
    if destination.exists():
        # An earlier run ended after the move.
        return destination
    staged = workspace.staging
    shutil.rmtree(staged, ignore_errors=True)
    staged.mkdir(parents=True)
    (staged / DOCUMENT).write_text(content, encoding="utf-8")
    check_files(staged, (DOCUMENT,))
    predicate = {
        "rendering": "public",
        "discovery": {
            "id": workspace.release_id,
            "dataset": workspace.spec.dataset_name,
            "unit": unit_in_words(workspace.spec),
        },
        "entry": entry.to_record(),
        "code": code_that_runs().model_dump(),
        "people": {"started_by": people_of(workspace).started_by},
        "runs": {
            "mlflow_run": workspace.mlflow_run_id,
            "prefect_flow_run": prefect_tags().get(FLOW_RUN, ""),
        },
        "signed": signed_now(key).model_dump(),
    }
    subjects = {DOCUMENT: sha256(content.encode()).hexdigest()}
    envelope = key.sign(statement(subjects, predicate, version=DISCOVERY))
    (staged / RECORD).write_text(envelope.to_text(), encoding="ascii")
    publish_folder(staged, destination)
    return destination


def document_text(answers: Answers) -> str:
    """Return the text of the document that a discovery released."""
    return canonical(answers.document()) + "\n"


def released_answers(state: Path, discovery: str) -> Answers:
    """Return the answers that a finished discovery released.

    Raises:
        InvalidInput: its folder is missing, or is not the folder of a discovery.
    """
    place = discovery_place(state, discovery) / DOCUMENT
    try:
        return answers_in(read_own_text(place))
    except (OSError, UnicodeDecodeError):
        raise InvalidInput(f"the answers of a discovery must be readable, and {place} is not; restore it.") from None


def require_same_copy(workspace: Workspace, snapshot: Path, digest: str) -> Reference:
    """Return the copy of the columns with which a discovery began.

    Raises:
        Refused: it is missing or was changed; the counts of another copy would be a different draw with its own charge.
    """
    if not snapshot.is_file() or workspace.describe("snapshot", snapshot, Audience.RESTRICTED).digest != digest:
        raise Refused(
            f"a discovery must be resumed from the copy of the source that it began with, and that of "
            f"{workspace.release_id} is missing or changed; begin another with --new, which is charged again."
        )
    return workspace.describe("snapshot", snapshot, Audience.RESTRICTED)
