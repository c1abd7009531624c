"""A release that does not publish by itself waits for a person, and what was approved is what is published."""

import json
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any
from uuid import UUID

import pytest
from mlflow import MlflowClient
from prefect.client.orchestration import get_client

from deniable.foundation.errors import DeniableError, InvalidInput, Refused
from flows.cli.deciding import decide
from flows.cli.planning import show_plan
from flows.release import release
from flows.released import Released
from schemas.provenance import RECORD, Approval
from schemas.spec.release_spec import load_spec
from stores.keys.signed_record import read_signed
from stores.keys.trust_file import trusted_keys, trusted_keys_place, write_trusted_keys
from stores.ledger.approvers import revoke_approver
from stores.ledger.ledger import Ledger, kept_lines, ledger_place
from stores.ledger.state_ledger import state_ledger
from stores.record.folder_verification import verified_release
from stores.releases.life import Stage, stage_of
from stores.tracking.client import tracking_uri
from stores.tracking.release_search import release_filter
from stores.vault.actors import OPERATOR_VARIABLE
from stores.vault.decisions import decision_on, take_decision
from stores.vault.pending_approval import Held, HeldNote, NotPublished, find_held, held_note, held_notes
from tasks.running.progress import watching
from tests.approving import approver
from tests.extent import spread
from tests.flows.command import environment, variables_of_this_server
from tests.prototypes import Prototype
from tests.small_release import write_small_release
from tests.warm import run_module
from tests.watchers import Faulty

pytestmark = pytest.mark.usefixtures("prefect")

DECIDE: dict[str, Any] = {"exact_figures_decide": True}
ADA, INES, BOB = "ada", "ines", "bob"
ASKS = {**DECIDE, "publish_within": {"tvd_2way_max": 0.000001}, "approvers": [INES, BOB]}
ROOT = Path(__file__).resolve().parents[2]


class House:
    """A state folder, the spec of a release, and ada, who starts it."""

    def __init__(self, folder: Path, **decision: Any) -> None:
        self.folder, self.state = folder, folder / "state"
        self.spec = write_small_release(folder / "spec", decision=decision)

    def again(self, **changes: Any) -> Released:
        """Run the release, or go on with it, perhaps by a spec that was changed meanwhile."""
        if changes:
            write_small_release(self.folder / "spec", **changes)
        return release(self.spec, self.state)

    def hold(self) -> HeldNote:
        with pytest.raises(Held) as held:
            self.again()
        return held.value.note

    @property
    def note(self) -> HeldNote:
        """Of the release that is held."""
        (note,) = held_notes(self.state)
        return note

    def decide(self, word: Any = "approved", by: str = INES, reason: str = "as the board asked") -> Any:
        key = approver(self.state, by) if word == "approved" else None
        return decide(self.state, self.note, word, by=by, identity="account", reason=reason, key=key)

    @property
    def releases(self) -> list[Path]:
        return sorted((self.state / "releases").glob("*"))

    @property
    def charges(self) -> int:
        return len(Ledger.open(ledger_place(self.state)).charges("people"))

    def run(self, note: HeldNote) -> Any:
        return self.client.get_run(note.mlflow_run)

    @property
    def client(self) -> MlflowClient:
        return MlflowClient(tracking_uri(self.state))


@pytest.fixture(scope="module")
def within(prefect: None, tmp_path_factory: pytest.TempPathFactory) -> tuple[House, Released]:
    """A house whose release was published by its policy; tests must not change it."""
    limits = {"publish_within": {"tvd_2way_max": 0.9}, "refuse_beyond": {"exact_match_excess_max": 0.9}}
    here = House(tmp_path_factory.mktemp("within"), **DECIDE, **limits)
    return here, here.again()


@pytest.fixture(scope="module")
def beyond(prefect: None, tmp_path_factory: pytest.TempPathFactory) -> House:
    """A house whose release was refused by its policy; tests must not change it."""
    here = House(tmp_path_factory.mktemp("beyond"), **DECIDE, refuse_beyond={"tvd_2way_max": 0.000001})
    with pytest.raises(NotPublished, match="refused by the policy"):
        here.again()
    return here


@pytest.fixture(scope="module")
def judged_once(
    within: tuple[House, Released], beyond: House, tmp_path_factory: pytest.TempPathFactory
) -> tuple[House, Prototype]:
    """A house whose release failed just before it was decided upon, made after those that prototypes must not lose."""
    here = House(tmp_path_factory.mktemp("judged") / "house", **ASKS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(OPERATOR_VARIABLE, ADA)
        with watching(Faulty("decide")), pytest.raises(OSError, match="a passing fault"):
            here.again()
    return here, Prototype(here.folder)


@pytest.fixture(scope="module")
def held_once(judged_once: tuple[House, Prototype]) -> tuple[House, Prototype]:
    """The same, held."""
    here, prototype = judged_once
    prototype.restore()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(OPERATOR_VARIABLE, ADA)
        here.hold()
    return here, Prototype(here.folder, "held")


def restored(once: tuple[House, Prototype], monkeypatch: pytest.MonkeyPatch) -> House:
    monkeypatch.setenv(OPERATOR_VARIABLE, ADA)
    here, prototype = once
    prototype.restore()
    return here


@pytest.fixture
def judged(judged_once: tuple[House, Prototype], monkeypatch: pytest.MonkeyPatch) -> House:
    """A house whose release is about to be decided upon."""
    return restored(judged_once, monkeypatch)


@pytest.fixture
def held(held_once: tuple[House, Prototype], monkeypatch: pytest.MonkeyPatch) -> House:
    """A house whose release is held, as it was when that was just done."""
    return restored(held_once, monkeypatch)


def test_a_release_within_its_policy_publishes_by_itself(within: tuple[House, Released]) -> None:
    here, made = within
    record = read_signed(made.workspace.release_folder / RECORD).record
    assert record.people.approval is None
    assert record.spec.document["decision"]["publish_within"] == {"tvd_2way_max": 0.9}
    assert held_note(here.state, made.workspace.release_id) is None
    page = made.report.path.read_text()
    assert "Published without a decision by a person" in page
    description = here.client.get_run(made.workspace.mlflow_run_id).data.tags["mlflow.note.content"]
    assert "no one, because it meets the conditions under which its spec lets a release be" in description


def test_a_release_that_is_held_publishes_nothing_and_says_what_to_look_at(held: House) -> None:
    note = held.note
    assert held.releases == []
    assert stage_of(held.state, note.release) == Stage.HELD
    assert (note.action, note.started_by, note.approvers) == ("hold", ADA, (INES, BOB))
    assert "Held until a person decides" in note.page.read_text()
    said = str(Held(note))
    assert all(part in said for part in (note.release, str(note.page), "approve", "refuse", "tvd_2way"))
    run = held.run(note)
    assert run.info.status == "SCHEDULED"
    assert run.data.tags["status"] == "held"
    assert run.data.tags["approved_by"] == "nobody"
    assert "failure" not in run.data.tags


def how_prefect_has_the_run(client: MlflowClient, mlflow_run: str) -> tuple[str, str]:
    """Type and name of the state of the Prefect run that made a release."""
    with get_client(sync_client=True) as prefect:
        ended = prefect.read_flow_run(UUID(client.get_run(mlflow_run).data.tags["prefect.flow_run_id"])).state
    assert ended is not None
    return ended.type.value, ended.name


def test_a_run_whose_release_is_held_has_not_failed_and_one_that_failed_has(held: House, beyond: House) -> None:
    assert how_prefect_has_the_run(held.client, held.note.mlflow_run) == ("COMPLETED", "Held")
    assert how_prefect_has_the_run(beyond.client, beyond.note.mlflow_run) == ("FAILED", "Failed")


def test_what_was_approved_is_published_with_who_when_and_why_in_its_records(held: House) -> None:
    note = held.note
    charged = held.charges
    held.decide()
    assert stage_of(held.state, note.release) == Stage.APPROVED
    made = held.again()
    assert stage_of(held.state, note.release) == Stage.IN_FORCE
    assert held.charges == charged
    (folder,) = held.releases
    assert folder.name == note.release == made.workspace.release_id
    public, internal = read_signed(folder / RECORD).record, read_signed(made.record.path).record
    for approval in (public.people.approval, internal.people.approval):
        assert approval is not None
        assert (approval.decision, approval.by, approval.reason) == ("approved", INES, "as the board asked")
        assert (approval.seen, approval.identity) == (note.candidate, "key")
        assert approval.signed is not None
        assert approval.signed.keyid == approver(held.state, INES).keyid
        assert note.release in approval.signed.sentence
    assert public.people.started_by == ADA
    assert verified_release(folder, trusted_keys(held.state)).holds
    assert f"{INES}, signed with a key," in (folder / "index.html").read_text()
    assert f"Approved by {INES}</strong> (signed with the key" in made.report.path.read_text()
    description = held.run(note).data.tags["mlflow.note.content"]
    assert f"**approved** by {INES} (signed with the key {approver(held.state, INES).keyid[:16]})" in description
    assert note.page.exists()
    run = held.run(note)
    assert (run.info.status, run.data.tags["status"]) == ("FINISHED", "approved")
    assert run.data.tags["approved_by"] == INES
    found = held.client.search_runs([run.info.experiment_id], release_filter(approved_by=INES))
    assert [item.info.run_id for item in found] == [note.mlflow_run]


def test_a_release_that_waits_stays_the_same_whoever_looks_at_it_and_who_started_it_does_not_approve_it(
    held: House,
) -> None:
    first, charged = held.note, held.charges
    for name in (ADA, " Ada "):
        with pytest.raises(Refused, match="a person other than ada"):
            held.decide(by=name)
    assert held.hold() == first
    assert held.charges == charged
    assert held.releases == []


def test_the_digest_of_what_was_seen_tells_nothing_without_the_key(held: House) -> None:
    note = held.note
    key = held.state / "vault" / note.release / "key"
    key.write_bytes(bytes(32))
    with pytest.raises(DeniableError):
        held.again()


@pytest.mark.parametrize(("by", "reason"), [("", "why"), (INES, " "), (INES, "x" * 1001)])
def test_a_decision_has_a_name_and_a_reason(held: House, by: str, reason: str) -> None:
    with pytest.raises(InvalidInput, match="a name and a reason"):
        held.decide("refused", by=by, reason=reason)


def test_those_whom_the_spec_names_decide_once_and_a_double_click_changes_nothing(held: House) -> None:
    note = held.note
    with pytest.raises(Refused, match="one of its approvers"):
        held.decide(by="carol")
    first = held.decide(by=BOB)
    assert held.decide(reason="again") == first
    with pytest.raises(Refused, match="decided upon once"):
        held.decide("refused")
    assert decision_on(held.state, note) == first
    assert held.again().workspace.release_id == note.release
    assert len(held.releases) == 1


def test_a_release_that_was_refused_is_never_published(held: House) -> None:
    note, charged = held.note, held.charges
    held.decide("refused", reason="too near to the people")
    run = held.run(note)
    assert (run.info.status, run.data.tags["status"]) == ("FAILED", "refused")
    assert "too near to the people" in run.data.tags["failure"]
    changed: list[dict[str, Any]] = [{}, {"decision": {**ASKS, "approvers": [BOB]}}, {"decision": None}]
    for changes in spread(changed, least=2):
        with pytest.raises(NotPublished, match="refused by ines"):
            held.again(**changes)
    with pytest.raises(Refused):
        held.decide(by=BOB)
    assert held.releases == []
    assert held.charges == charged
    assert (held.state / "vault" / note.release).is_dir()
    assert held.run(note).info.status == "FAILED"
    assert stage_of(held.state, note.release) == Stage.REFUSED


def test_who_started_a_release_may_refuse_it(held: House) -> None:
    assert held.decide("refused", by=ADA).decision == "refused"


def test_a_release_beyond_its_policy_is_refused_and_nobody_can_approve_it(beyond: House) -> None:
    with pytest.raises(Refused, match="within the policy"):
        beyond.decide()
    run = beyond.run(beyond.note)
    assert (run.info.status, run.data.tags["status"]) == ("FAILED", "refused")
    assert beyond.releases == []
    assert stage_of(beyond.state, beyond.note.release) == Stage.REFUSED


CHANGES: dict[str, dict[str, Any]] = {
    "policy that publishes": {"decision": {**ASKS, "publish_within": {"tvd_2way_max": 0.9}}},
    "title": {"title": "Other people", "decision": ASKS},
    "figures": {"evaluation__train_rows": 300, "decision": ASKS},
    "policy": {"decision": {**ASKS, "publish_within": {"tvd_2way_max": 0.000002}}},
    "no policy": {},
}


def held_again(here: House, change: str) -> HeldNote:
    """Hold a release whose spec was changed after its approval, and approve it again."""
    before = here.note
    write_small_release(here.folder / "spec", **CHANGES[change])
    after = here.hold()
    assert after.release == before.release
    assert after.candidate != before.candidate
    assert any("differs from the candidate that was held before" in reason for reason in after.why)
    assert here.releases == []
    here.decide(by=BOB, reason="looked at again")
    return after


def require_published(here: House, seen: HeldNote) -> None:
    """Publish a release as bob has seen it."""
    made = here.again()
    approval = read_signed(made.workspace.release_folder / RECORD).record.people.approval
    assert approval is not None
    assert (approval.by, approval.seen) == (BOB, seen.candidate)


def test_an_approval_is_for_what_was_seen_and_for_nothing_else(held: House) -> None:
    held.decide()
    seen = [held_again(held, change) for change in spread(list(CHANGES), least=3)]
    assert len({note.candidate for note in seen}) == len(seen)
    assert seen[-1].approvers is None
    require_published(held, seen[-1])


@pytest.mark.nightly
@pytest.mark.parametrize("change", CHANGES)
def test_what_was_changed_and_approved_again_is_published(held: House, change: str) -> None:
    held.decide()
    require_published(held, held_again(held, change))


def test_a_report_that_was_changed_after_it_was_held_is_not_approved(held: House) -> None:
    note = held.note
    note.page.write_text(note.page.read_text().replace("Held", "Helt"))
    with pytest.raises(Refused, match="must be unchanged since"):
        held.decide()


def test_a_decision_upon_something_else_is_not_taken_for_one(held: House) -> None:
    note = held.note
    held.decide()
    (decision,) = (held.state / "vault" / note.release / "decisions").glob("*.json")
    moved = decision.with_name(f"{'0' * 64}.json")
    decision.rename(moved)
    assert held.hold().candidate == note.candidate


def test_releases_that_are_not_held_cannot_be_decided_upon(within: tuple[House, Released]) -> None:
    here, made = within
    with pytest.raises(InvalidInput, match="was published without one"):
        find_held(here.state, made.workspace.release_id)
    with pytest.raises(InvalidInput, match="lists the releases that wait"):
        find_held(here.state, "nothing-20260101T000000Z")


def test_a_forged_a_moved_and_a_voided_approval_publish_nothing(held: House) -> None:
    note = held.note
    forged = Approval(
        decision="approved", by=INES, identity="account", time=note.since, reason="me", seen=note.candidate
    )
    place = held.state / "vault" / note.release / "decisions" / f"{note.candidate}.json"
    place.parent.mkdir(mode=0o700)

    def put(made: Approval) -> None:
        place.write_text(made.model_dump_json())
        place.chmod(0o600)

    put(forged)
    with pytest.raises(Held, match="the approval by ines is not signed with the key of an approver"):
        held.again()
    made = held.decide()
    put(made.model_copy(update={"reason": "another"}))
    with pytest.raises(Held, match="is not what the key"):
        held.again()
    put(made)
    revoke_approver(held.state, state_ledger(held.state), INES, "compromised", by="the custodian")
    with pytest.raises(Held, match="revoked as compromised"):
        held.again()
    assert held.releases == []
    # Another approver looks at it again; the trust file may be an old one, and is brought up to date.
    held.decide(by=BOB)
    before = trusted_keys(held.state)
    write_trusted_keys(before.with_approvers(()), trusted_keys_place(held.state))
    held.again()
    (folder,) = held.releases
    assert verified_release(folder, trusted_keys(held.state), ledger=kept_lines(ledger_place(held.state))).holds
    # Later, bob's key is found to be compromised as well: what it approved is approved no longer.
    revoke_approver(held.state, state_ledger(held.state), BOB, "compromised", by="the custodian")
    for keys in (before, trusted_keys(held.state)):
        report = verified_release(folder, keys, ledger=kept_lines(ledger_place(held.state)))
        (failed,) = (check for check in report.checks if not check.holds)
        assert "revoked as compromised" in failed.line


MOMENTS = ["renaming held.json", "after decide", "before publish", "renaming published.json"]


@pytest.mark.parametrize("moment", spread(MOMENTS, least=2))
def test_a_release_that_is_killed_around_its_decision_is_held_and_published_all_the_same(
    moment: str, request: pytest.FixtureRequest
) -> None:
    decided = moment.endswith(("publish", "published.json"))
    here: House = request.getfixturevalue("held" if decided else "judged")
    if decided:
        here.decide()
    when, _, what = moment.partition(" ")
    told = {**environment(here.folder / "home"), OPERATOR_VARIABLE: ADA}
    # A server of the killed process's own would outlive it.
    told |= variables_of_this_server()
    told["DENIABLE_MLFLOW_TRACKING_URI"] = tracking_uri(here.state)
    killed = run_module("tests.flows.killed", [str(here.spec), str(here.state), when, what], env=told, cwd=ROOT)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert here.releases == []
    if not decided:
        here.hold()
        here.decide()
    charged = here.charges
    made = here.again()
    assert here.charges == charged
    approval = read_signed(made.workspace.release_folder / RECORD).record.people.approval
    assert approval is not None
    assert approval.by == INES


def test_two_who_decide_at_the_same_moment_leave_one_decision(held: House) -> None:
    note = held.note
    start = Barrier(8)

    def decided(number: int) -> str:
        start.wait()
        word: Any = "approved" if number % 2 else "refused"
        try:
            return take_decision(held.state, note, word, by=INES, identity="account", reason=str(number)).reason
        except Refused as refused:
            return str(refused)

    with ThreadPoolExecutor(8) as pool:
        said = list(pool.map(decided, range(8)))
    (kept,) = (held.state / "vault" / note.release / "decisions").glob("*")
    made = Approval.model_validate_json(kept.read_bytes())
    assert {reason for reason in said if reason.isdigit()} == {made.reason}
    assert sum("decided upon once" in reason for reason in said) == 4


def test_a_note_holds_no_figure_that_was_measured(held: House) -> None:
    note = held.note
    verdicts = held.client.search_runs([held.run(note).info.experiment_id], "tags.step = 'evaluate_utility'")[
        0
    ].data.metrics
    measured = repr(verdicts["internal/tvd_2way"])
    assert measured[:8] not in json.dumps(note.model_dump(mode="json"))


def test_the_plan_says_who_decides(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    policy = {
        "exact_figures_decide": True,
        "publish_within": {"tvd_2way_max": 0.25},
        "refuse_beyond": {"accuracy_tree_min": 0.5},
        "approvers": [INES],
    }
    for changes, said in (
        ({}, "itself, where tvd_2way is at most 0.25; else ines; no one, unless accuracy_tree is at least 0.5"),
        ({"always_ask": True}, "published by ines; no one, unless"),
    ):
        spec = load_spec(write_small_release(tmp_path, people=[], decision={**policy, **changes}))
        show_plan(spec, tmp_path / "state")
        assert said in " ".join(capsys.readouterr().out.split())
