"""The record of a release is true, whole and signed; what everybody may read of it holds nothing internal."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from mlflow import MlflowClient

from deniable.ledger.entries import digest_of, entry_of
from deniable.record.attestation import Envelope, verify
from reports.pages.public_page import PUBLIC_PAGE
from schemas.provenance import RECORD, Provenance
from schemas.record_schema import record_schema
from schemas.references import Reference
from schemas.spec.flow_steps import flow_steps
from stores.keys.signed_record import SignedRecord, read_signed
from stores.keys.trust_file import trusted_keys
from stores.ledger.charging import note_publication, open_ledger
from stores.vault.workspace import file_digest
from tests.isolation import own_state
from tests.whole_release import GUARANTEES, Drawn, drawn_release

KINDS: dict[str, dict[str, Any]] = {
    **GUARANTEES,
    "privacy test one": {
        "synthesis__test": 1,
        "synthesis__accept_no_differential_privacy": True,
        "budget": {"epsilon": 1000, "delta": 1},
    },
}
SEEDS = {"tested_seeds": "index_seeds", "privacy test one": "index_seeds", "histogram_seeds": "noise_seeds"}
STEPS_BEFORE = ["account", "ingest", "validate", "clean", "split", "learn_structure", "learn_parameters"]
STEPS_AFTER = ["gather", "draw_baseline", "evaluate_utility", "evaluate_risk", "publish"]
KEY = bytes(range(32))
# A time of day, but for the whole minutes of the ledger and the signature, and the one in the release's name.
FINE_TIME = re.compile(r"T\d\d:\d\d:(?!00(\.000000)?Z)\d\d")


@dataclass(frozen=True)
class Sealed:
    """A release that is published and sealed."""

    kind: str
    drawn: Drawn

    @property
    def folder(self) -> Path:
        return self.drawn.workspace.release_folder

    @cached_property
    def public(self) -> SignedRecord:
        return read_signed(self.folder / RECORD)

    @cached_property
    def internal(self) -> SignedRecord:
        return read_signed(self.drawn.workspace.shelf / RECORD)


@pytest.fixture(scope="module", params=KINDS)
def sealed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Sealed:
    drawn = drawn_release(tmp_path_factory.mktemp("recorded"), "people-2026", KEY, **KINDS[request.param])
    note_publication(drawn.workspace, drawn.publish())
    drawn.seal()
    return Sealed(request.param, drawn)


def stated(record: Provenance) -> dict[str, Any]:
    """What a record says, as it is read back from its text."""
    said: dict[str, Any] = json.loads(json.dumps(record.to_predicate()))
    return said


def leaves(value: object) -> Iterator[object]:
    if isinstance(value, dict):
        for inner in value.values():
            yield from leaves(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from leaves(inner)
    else:
        yield value


def test_the_record_is_about_every_file_as_it_is(sealed: Sealed) -> None:
    files = {path.name: sha256(path.read_bytes()).hexdigest() for path in sealed.folder.iterdir()}
    record = files.pop(RECORD)
    assert sealed.public.subjects == files
    assert sealed.internal.subjects == {**files, RECORD: record}
    assert sealed.internal.record.internal is not None
    assert sealed.internal.record.internal.public_record == record


def test_both_records_are_signed_by_the_trusted_key(sealed: Sealed) -> None:
    keys = trusted_keys(sealed.drawn.workspace.state)
    for place in (sealed.folder / RECORD, sealed.drawn.workspace.shelf / RECORD):
        envelope = Envelope.from_text(place.read_bytes())
        verify(envelope, keys.public_keys())
        signed = read_signed(place).record.signed
        assert envelope.keyid == signed.keyid
        assert keys.judge(signed.keyid, signed.time) is None


def test_both_records_are_of_the_published_schema(sealed: Sealed) -> None:
    validator = Draft202012Validator(record_schema(), format_checker=Draft202012Validator.FORMAT_CHECKER)
    for record in (sealed.public.record, sealed.internal.record):
        validator.validate(stated(record))


def test_the_steps_are_those_of_the_flow_in_its_order(sealed: Sealed) -> None:
    steps = [step.step for step in sealed.public.record.steps]
    seeds = [SEEDS[sealed.kind]] if sealed.kind in SEEDS else []
    assert list(dict.fromkeys(steps)) == [*STEPS_BEFORE, *seeds, "synthesize", *STEPS_AFTER]
    assert [step.step for step in sealed.internal.record.steps] == steps
    assert sorted(steps, key=list(flow_steps(sealed.drawn.workspace.spec)).index) == steps


def test_what_a_step_read_an_earlier_one_made(sealed: Sealed) -> None:
    made: set[tuple[str, str]] = set()
    for step in sealed.public.record.steps:
        assert {(thing.name, thing.digest) for thing in step.inputs} <= made
        made |= {(thing.name, thing.digest) for thing in step.outputs}
    assert ("synthetic", file_digest(sealed.folder / "synthetic.parquet")) in made


def test_every_digest_of_what_is_still_there_is_true(sealed: Sealed) -> None:
    workspace = sealed.drawn.workspace
    files = [
        path
        for folder in (workspace.vault, workspace.shelf, workspace.release_folder)
        for path in folder.rglob("*.*")
        if path.is_file() and not {"steps", "record"} & set(path.parts)
    ]
    for thing in (thing for step in sealed.public.record.steps for thing in step.outputs):
        candidates = [
            Reference(name=thing.name, path=path, digest=thing.digest, audience=thing.audience) for path in files
        ]
        assert sum(workspace.holds(candidate) for candidate in candidates) >= 1, thing.name
    assert workspace.key().commitment() == sealed.public.record.input.key
    snapshot = workspace.vault / "snapshot.parquet"
    assert workspace.key().digest("artifact", snapshot.read_bytes()) == sealed.public.record.input.commitment


def test_spec_and_schema_are_those_that_were_used(sealed: Sealed) -> None:
    record, spec = sealed.public.record, sealed.drawn.workspace.spec
    assert record.spec.digest == digest_of(record.spec.document)
    assert record.spec.document["synthesis"]["guarantee"] == record.cost.kind == spec.synthesis.guarantee
    assert sha256(record.table_schema.source.encode()).hexdigest() == record.table_schema.code
    assert (record.table_schema.dataset, record.table_schema.domain) == ("people.py", spec.domain.digest)


def test_the_cost_is_that_of_the_statement(sealed: Sealed) -> None:
    said = json.loads((sealed.folder / "privacy.json").read_text())
    cost = stated(sealed.public.record)["cost"]
    for name in ("model", "total"):
        assert (cost[name] is None) == (said[name] is None)
        if cost[name] is not None:
            assert {key: said[name][key] for key in ("epsilon", "delta", "accountant")} == cost[name]
    assert [step["events"] for step in cost["steps"]] == [step["events"] for step in said["steps"]]
    assert (cost["total"] is None) == (sealed.kind == "privacy test one")


def test_the_ledgers_entries_follow_from_each_other_and_hold_the_charges(sealed: Sealed) -> None:
    for record in (sealed.public.record, sealed.internal.record):
        entries = [entry_of(plain) for plain in record.ledger.entries]
        assert record.ledger.before is not None
        assert (entries[0].number, entries[0].previous) == (
            record.ledger.before.number + 1,
            record.ledger.before.digest,
        )
        assert entries[0].fault() is None
        assert {after.fault_after(before) for before, after in pairwise(entries)} == {None}
        assert (entries[-1].number, entries[-1].digest) == (record.ledger.head.number, record.ledger.head.digest)
        charged = [plain["content"] for plain in record.ledger.entries if plain["kind"] == "reserved"]
        assert [charge["events"] for charge in charged] == [
            [dict(event) for event in step.events] for step in record.cost.steps
        ]
    assert sealed.internal.record.ledger.entries[-1]["content"]["release"] == "people-2026"
    assert sealed.internal.record.ledger.head.digest == open_ledger(sealed.drawn.workspace).entries()[-1].digest


def test_everybody_may_read_the_public_record(sealed: Sealed) -> None:
    """The figures that the internal record has are looked for, so that this cannot hold for want of any."""
    public, internal = stated(sealed.public.record), stated(sealed.internal.record)
    told = set(leaves(public))
    # A figure may happen to be a number that stands there for another reason, such as 0.5 or 4.
    measured = set(internal["internal"]["figures"].values()) - set(leaves(public["spec"]))
    figures = {
        figure
        for figure in measured
        if figure > len(flow_steps(sealed.drawn.workspace.spec)) or not figure.is_integer()
    }
    assert len(figures) > 20
    assert figures <= set(leaves(internal))
    assert figures & told == set()
    text = json.dumps(public)
    for step in public["steps"]:
        assert step.keys() == {"step", "part", "inputs", "outputs", "cost", "events", "artifacts"}
        assert {artifact["audience"] for artifact in step["artifacts"]} <= {"public"}
    assert FINE_TIME.search(json.dumps({**public, "signed": None})) is None
    assert FINE_TIME.search(json.dumps(internal)) is not None
    for place in (str(sealed.drawn.workspace.state), str(Path.home()), "people.csv", "/tmp"):  # noqa: S108 - looked for
        assert place not in text
    for row in {json.loads(line)["started"] for line in _notes(sealed)}:
        assert row not in text.replace(json.dumps(public["signed"]), "")
    assert KEY.hex() not in text


def _notes(sealed: Sealed) -> list[str]:
    return [path.read_text() for path in (sealed.drawn.workspace.vault / "record").iterdir()]


def test_the_internal_record_says_all_that_the_public_one_says(sealed: Sealed) -> None:
    public, internal = stated(sealed.public.record), stated(sealed.internal.record)
    for name in public.keys() - {"rendering", "steps", "ledger", "signed"}:
        assert internal[name] == public[name]
    for shown, whole in zip(public["steps"], internal["steps"], strict=True):
        assert {artifact["name"] for artifact in shown["artifacts"]} <= {item["name"] for item in whole["artifacts"]}
        assert all(shown[name] == whole[name] for name in shown.keys() - {"artifacts"})


def test_mlflow_has_the_internal_record_and_its_digest(sealed: Sealed, tmp_path: Path) -> None:
    workspace = sealed.drawn.workspace
    client = MlflowClient(f"sqlite:///{own_state()}/mlflow/mlflow.db")
    run = client.get_run(workspace.mlflow_run_id)
    assert run.data.tags["record.digest"] == file_digest(workspace.shelf / RECORD)
    assert run.data.tags["record.public"] == file_digest(workspace.release_folder / RECORD)
    copied = Path(client.download_artifacts(workspace.mlflow_run_id, f"internal/{RECORD}", str(tmp_path)))
    assert copied.read_bytes() == (workspace.shelf / RECORD).read_bytes()


def test_a_release_with_the_same_key_has_the_same_record(sealed: Sealed, tmp_path: Path) -> None:
    """But for times, signatures, ids of runs, the salts of the ledger's entries, and what is committed meanwhile."""
    again = drawn_release(tmp_path, "people-2026", KEY, **KINDS[sealed.kind])
    again.publish()
    records = [stated(sealed.public.record), stated(read_signed(again.workspace.release_folder / RECORD).record)]
    for record in records:
        for name in ("signed", "runs"):
            del record[name]
        for part, names in {"release": ("begun", "published"), "code": ("commit", "dirty")}.items():
            for name in names:
                del record[part][name]
        record["ledger"] = [entry["content"] for entry in record["ledger"]["entries"]]
        artifacts = record["steps"][-1]["artifacts"]
        # The page shows where the ledger ends.
        record["steps"][-1]["artifacts"] = [item for item in artifacts if item["name"] != PUBLIC_PAGE]
        assert len(record["steps"][-1]["artifacts"]) == len(artifacts) - 1
    assert records[0] == records[1]


def test_the_record_names_the_release_before(tmp_path: Path) -> None:
    first = drawn_release(tmp_path, "people-1", **KINDS["seedless"])
    note_publication(first.workspace, first.publish())
    second = drawn_release(tmp_path, "people-2", **KINDS["seedless"])
    note_publication(second.workspace, second.publish())
    assert read_signed(first.workspace.release_folder / RECORD).record.release.previous is None
    record = read_signed(second.workspace.release_folder / RECORD).record
    assert record.release.previous == "people-1"
    assert not any("people-1" in json.dumps(entry) for entry in record.ledger.entries)


def test_a_release_is_sealed_again_as_it_is_by_then(sealed: Sealed) -> None:
    workspace = sealed.drawn.workspace
    before = sealed.internal
    sealed.drawn.seal()
    after = read_signed(workspace.shelf / RECORD)
    assert after.record.model_copy(update={"internal": None, "signed": before.record.signed}) == (
        before.record.model_copy(update={"internal": None})
    )
    tags = MlflowClient(f"sqlite:///{own_state()}/mlflow/mlflow.db").get_run(workspace.mlflow_run_id).data.tags
    assert tags["record.digest"] == after.digest
