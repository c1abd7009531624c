"""Whatever guarantee its records have, a release holds against its own record, by itself and with the whole ledger."""

import json
from collections import Counter
from copy import deepcopy
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from deniable.foundation.domain import Domain
from deniable.foundation.errors import Refused
from deniable.ledger.drawing_versions import VERSIONS
from deniable.ledger.entries import Publication, day_of
from deniable.plausible_deniability.privacy_tests import best_t, theorem_1
from deniable.record.publication_rules import publication, rows_left_out
from deniable.record.schema_document import describe_domain
from deniable.record.trust import Revocation, TrustedKeys
from deniable.verification.lineage import flow_of
from deniable.verification.release import CheckedContents
from schemas.catalog import load_schema
from schemas.spec.flow_steps import flow_steps
from schemas.spec.release_spec import load_spec
from schemas.table import domain_of
from stores.ledger.charging import note_publication, open_ledger
from stores.ledger.ledger import Ledger, ledger_place
from stores.record.folder_verification import require_verified, verified_release
from stores.record.provenance import spec_document
from tests.charging import charge, policy
from tests.extent import spread
from tests.published import InMemory, Published, another, as_version_1, faults, leaves, with_change
from tests.signing import trusted
from tests.small_release import write_small_release
from tests.whole_release import GUARANTEES, Drawn, drawn_release

SHARED: dict[str, Any] = {"split": {"shared": 0.8, "holdout": 0.2}}
KINDS: dict[str, dict[str, Any]] = {
    "tested seeds": GUARANTEES["tested_seeds"],
    "histogram seeds": {**GUARANTEES["histogram_seeds"], "learner__noise": "gaussian"},
    "seedless": GUARANTEES["seedless"],
    "shared, tested": SHARED,
    "shared, histogram": {**GUARANTEES["histogram_seeds"], **SHARED},
    "privacy test one": {
        "synthesis__test": 1,
        "synthesis__accept_no_differential_privacy": True,
        "budget": {"epsilon": 1000, "delta": 1},
    },
}
KEY = bytes(range(32))


@pytest.fixture(scope="module", params=KINDS)
def published(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Published:
    drawn = drawn_release(tmp_path_factory.mktemp("verified"), "people-1", **KINDS[request.param])
    drawn.publish()
    return Published.of(drawn)


def test_it_holds_by_itself_and_with_the_whole_ledger(published: Published) -> None:
    alone, with_ledger = published.verify(), published.verify(with_ledger=True)
    assert alone.holds, faults(alone)
    assert with_ledger.holds, faults(with_ledger)
    assert [check.made for check in alone.checks].count(False) == 1
    assert all(check.made for check in with_ledger.checks)
    assert with_ledger.verdict == f"The release people-1 holds: {len(with_ledger.checks)} checks."
    assert alone.verdict.endswith("and 1 that could not be made with what was given.")


def test_contents_that_were_checked_are_compared_by_their_digests(
    published: Published, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    of_files = InMemory.open
    monkeypatch.setattr(InMemory, "open", lambda self, name: (opened.append(name), of_files(self, name))[1])
    known = CheckedContents()
    before = published.verify(known=known)
    first = Counter(opened)
    opened.clear()
    assert published.verify(with_ledger=True, known=known) == published.verify(with_ledger=True)
    assert published.verify(known=known) == before
    opened.clear()
    published.verify(known=known)
    assert first["synthetic.csv"] > 1
    assert Counter(opened)["synthetic.csv"] == 1, "its digest alone"


def test_contents_are_checked_again_if_a_file_or_the_record_is_another(published: Published) -> None:
    lines = published.files["synthetic.csv"].splitlines(keepends=True)
    wrong = {"synthetic.csv": b"".join([*lines[:-1], b"999" * lines[-1].count(b",") + lines[-1]])}
    altered = published.with_files(wrong)
    signed = altered.signed_again(published.record)
    known = CheckedContents()
    assert published.verify(known=known).holds
    for other in (altered, signed, altered):
        report = other.verify(known=known)
        assert report == other.verify()
        assert [check.name for check in report.checks if check.name.startswith("synthetic.csv") and not check.holds]
    assert published.verify(known=known) == published.verify()


def test_no_figure_of_its_cost_can_be_changed(published: Published) -> None:
    record = published.record
    for place in spread(list(leaves(record["cost"])), least=12):
        altered = published.signed_again(with_change(record, ("cost", *place), another))
        assert not altered.verify().holds, place


def test_a_record_of_version_1_holds_and_no_figure_of_its_cost_can_be_changed(published: Published) -> None:
    record = as_version_1(published.record)
    report = published.signed_again(record, 1).verify(with_ledger=True)
    assert report.holds, faults(report)
    for place in spread(list(leaves(record["cost"])), least=12):
        altered = published.signed_again(with_change(record, ("cost", *place), another), 1)
        assert not altered.verify().holds, place
    for other, version in ((record, 2), (published.record, 1)):
        assert "cost." in faults(published.signed_again(other, version).verify())


def test_no_figure_of_its_statement_can_be_changed(published: Published) -> None:
    stated = published.document("privacy.json")
    for place in spread([place for place in leaves(stated) if place[0] != "not_covered"], least=12):
        altered = published.with_document("privacy.json", with_change(stated, place, another))
        assert not altered.verify(with_ledger=True).holds, place


def test_a_release_holds_though_a_fast_clock_once_wrote_to_its_ledger(tmp_path: Path) -> None:
    ledger = Ledger.open(ledger_place(tmp_path / "state"), lambda: "2199-12-31T23:59:00.000000Z")
    for dataset in ("another register", "people"):
        ledger.set_policy(policy(1000, "0.1", dataset=dataset))
    drawn = drawn_release(tmp_path, "people-1")
    drawn.publish()
    published = Published.of(drawn)
    release, entries = published.record["release"], published.record["ledger"]["entries"]
    assert {day_of(entry["time"]) for entry in entries} == {"2199-12-31"}
    assert release["begun"] == release["published"] < "2199-12-31"
    report = published.verify(with_ledger=True)
    assert report.holds, faults(report)


def test_a_release_of_which_one_attempt_is_counted_holds(tmp_path: Path) -> None:
    drawn = drawn_release(tmp_path, "people-1", budget={"epsilon": 1000, "delta": 0.1, "seed_cost": "per_record"})
    drawn.publish()
    published = Published.of(drawn)
    said = published.document("privacy.json")["dataset_so_far"]
    assert said["counted_against_the_budget"]["epsilon"] < said["epsilon"]
    for with_ledger in (False, True):
        report = published.verify(with_ledger=with_ledger)
        assert report.holds, faults(report)


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Drawn:
    return drawn_release(tmp_path_factory.mktemp("twice"), "people-1", KEY)


def test_a_second_release_of_a_dataset_holds_beside_the_first(drawn: Drawn, tmp_path: Path) -> None:
    first = drawn.moved_to(tmp_path / "state")
    note_publication(first.workspace, first.publish())
    ledger = open_ledger(first.workspace)
    ledger.set_policy(policy(dataset="another"))
    # A charge of another release to the same dataset, which was never published.
    ledger.reserve(charge(dataset="people", release="people-0", step="something else"))
    second = drawn_release(tmp_path, "people-2")
    second.publish()
    published = Published.of(second)
    report = published.verify(with_ledger=True)
    assert report.holds, faults(report)
    assert published.verify().holds
    record, said = published.record, published.document("privacy.json")["dataset_so_far"]
    assert record["release"]["previous"] == "people-1"
    assert said["releases"] == 3
    # What the first was charged is not shown.
    assert "people-1" not in json.dumps(record["ledger"])
    less = with_change(published.document("privacy.json"), ("dataset_so_far", "epsilon"), lambda epsilon: epsilon / 2)
    assert "dataset_so_far.epsilon" in faults(published.with_document("privacy.json", less).verify(with_ledger=True))
    much_less = with_change(published.document("privacy.json"), ("dataset_so_far", "epsilon"), lambda _: 0.1)
    assert "must be at least" in faults(published.with_document("privacy.json", much_less).verify())


def test_what_a_release_was_charged_must_all_be_shown(drawn: Drawn, tmp_path: Path) -> None:
    first = drawn.moved_to(tmp_path / "state")
    first.publish()
    published = Published.of(first)
    # One more draw is charged under the release's key after the record was made.
    open_ledger(first.workspace).reserve(
        charge(dataset="people", release="people-1", commitment=published.record["input"]["key"], step="once more")
    )
    lines = tuple(entry.to_line() for entry in open_ledger(first.workspace).entries())
    report = replace(published, ledger=lines).verify(with_ledger=True)
    assert f"entry {len(lines) - 1} of the exported ledger charges this release" in faults(report)


def test_a_release_under_the_key_of_another_shows_what_that_one_was_charged(drawn: Drawn, tmp_path: Path) -> None:
    first = drawn.moved_to(tmp_path / "state")
    note_publication(first.workspace, first.publish())
    again = drawn_release(tmp_path, "people-again", KEY)
    again.publish()
    published = Published.of(again)
    for with_ledger in (False, True):
        report = published.verify(with_ledger=with_ledger)
        assert report.holds, faults(report)
        assert "under the same key as release people-1, which was charged for it" in "\n".join(report.lines)
    shown = {entry["kind"] for entry in published.record["ledger"]["entries"] if "content" in entry}
    assert shown == {"reserved", "committed"}
    assert Publication.kind not in shown


def test_a_signature_counts_only_while_its_key_is_trusted(drawn: Drawn, tmp_path: Path) -> None:
    first = drawn.moved_to(tmp_path / "state")
    first.publish()
    published = Published.of(first)
    (key,) = published.keys
    superseded = Revocation(time="2098-01-01T00:00:00Z", reason="superseded")
    compromised = Revocation(time="2098-01-01T00:00:00Z", reason="compromised")
    early = replace(key, valid_from="2001-01-01T00:00:00Z", valid_until="2002-01-01T00:00:00Z")
    late = replace(key, valid_from="2098-01-01T00:00:00Z", valid_until="2099-01-01T00:00:00Z")
    judged = {
        "": published.keys,
        "superseded on 2098": published.keys.with_revoked(key.keyid, superseded),
        "none of its signatures are accepted": published.keys.with_revoked(key.keyid, compromised),
        "is not trusted": TrustedKeys((trusted("Ada"),)),
        "expired on 2002": TrustedKeys((early,)),
        "is not valid before 2098": TrustedKeys((late,)),
    }
    for said, keys in judged.items():
        report = published.verify(trusted=keys)
        assert report.holds == (said in ("", "superseded on 2098")), said
        assert said in report.checks[0].line


def test_what_does_not_hold_is_refused_before_it_is_published(drawn: Drawn, tmp_path: Path) -> None:
    first = drawn.moved_to(tmp_path / "state")
    first.publish()
    folder, keys = first.workspace.release_folder, Published.of(first).keys
    require_verified(verified_release(folder, keys))
    (folder / "graph.json").write_bytes(b"{}")
    with pytest.raises(Refused, match=r"does not: FAILED  every file .* graph.json .* nothing was published"):
        require_verified(verified_release(folder, keys))


def test_the_flow_that_verification_knows_is_the_one_that_there_is(tmp_path: Path) -> None:
    for name, changes in KINDS.items():
        spec = load_spec(write_small_release(tmp_path / name, people=[], **changes))
        assert (*flow_of(spec_document(spec)), "report", "seal") == tuple(flow_steps(spec))


@pytest.mark.parametrize("dataset", ["acs13", "acs2024_persons", "acs2024_workers", "adult"])
def test_the_domain_of_every_dataset_is_read_back_from_its_description(dataset: str) -> None:
    domain = domain_of(load_schema(dataset, Path()))
    described = json.loads(json.dumps(describe_domain(domain, {}, {})))
    assert Domain.from_document(described) == domain
    assert Domain.from_document(described).digest == domain.digest


def first_statement(stated: dict[str, Any], record: dict[str, Any]) -> dict[str, Any]:
    """What a statement of version 1 would have said."""
    added = {"trust_model", "rows_left_out", "publication", "subgroup_error", "hides", "adversary"}
    said = {name: deepcopy(value) for name, value in stated.items() if name not in added} | {"statement": 1}
    del said["model"]["choices"]
    said.get("plausible_deniability", {}).pop("fewer_than_k", None)
    if said.get("released_record"):
        del said["released_record"]["of"]
        said["released_record"]["t"] = record["cost"].get("record_t")
    return said


def second_statement(stated: dict[str, Any], record: dict[str, Any]) -> dict[str, Any]:
    """What a statement of version 2 would have said."""
    spec = record["spec"]["document"]
    kept = {name: deepcopy(value) for name, value in stated.items() if name not in {"hides", "adversary", "sampling"}}
    kept["trust_model"] = stated["trust_model"].replace(
        "drawn noise and records as the signed record says", "added the noise that the signed record names"
    )
    lists = {"rows_left_out": rows_left_out(spec, None, 2), "publication": publication(spec, version=2)}
    return {**kept, **lists, "statement": 2}


def test_a_statement_of_version_3_holds_as_it_did(published: Published) -> None:
    stated = published.document("privacy.json")
    report = published.with_document("privacy.json", {**stated, "statement": 3}).verify(with_ledger=True)
    assert report.holds, faults(report)


def test_a_statement_of_version_2_holds_as_it_did_and_no_mixture_does(published: Published) -> None:
    stated = published.document("privacy.json")
    second = second_statement(stated, published.record)
    report = published.with_document("privacy.json", second).verify(with_ledger=True)
    assert report.holds, faults(report)
    for name in ("adversary", "trust_model", "publication", "rows_left_out"):
        mixed = {**second, name: stated[name]}
        assert f"privacy.json: {name}" in faults(published.with_document("privacy.json", mixed).verify())


def test_a_statement_of_version_1_holds_as_it_did_and_no_mixture_does(published: Published) -> None:
    stated = published.document("privacy.json")
    first = first_statement(stated, published.record)
    report = published.with_document("privacy.json", first).verify(with_ledger=True)
    assert report.holds, faults(report)
    mixed = {**stated, "statement": 1}
    assert "privacy.json: trust_model is unknown" in faults(published.with_document("privacy.json", mixed).verify())
    assert "privacy.json: trust_model is missing" in faults(
        published.with_document("privacy.json", {**first, "statement": 2}).verify()
    )


def test_a_record_that_states_theorem_1_with_its_t_holds_as_it_did(drawn: Drawn, tmp_path: Path) -> None:
    first = drawn.moved_to(tmp_path / "state")
    first.publish()
    published = Published.of(first)
    record = as_version_1(published.record)
    asked = record["spec"]["document"]["synthesis"]
    eps0, delta = Fraction(asked["eps0"]), float(Fraction(asked["delta"]))
    t = best_t(k=asked["k"], eps0=eps0, delta=delta)
    by_theorem = theorem_1(k=asked["k"], gamma=Fraction(asked["gamma"]), eps0=eps0, t=t)
    said = {"epsilon": by_theorem.epsilon, "delta": by_theorem.delta, "accountant": by_theorem.accountant}
    for place in (record["cost"], record["cost"]["steps"][-1]):
        place.update(record=said, record_t=t)
    stated = first_statement(published.document("privacy.json"), record)
    stated["released_record"] |= said
    older = published.signed_again(record, 1).with_document("privacy.json", stated).verify()
    # Its ledger was charged by the exact form: that alone is left to say.
    (fault,) = faults(older).splitlines()
    assert fault.endswith("the cost of one record of step synthesize differs from the record")
    record["cost"]["steps"][-1]["record_t"] = t - 1
    used = f"Theorem 1 is used with t = {t - 1}, but the spec's delta requires {t}"
    assert used in faults(published.signed_again(record, 1).verify())


@pytest.mark.parametrize(
    ("learner", "right"), [("marginals", VERSIONS["learn_parameters"]), ("loglinear", VERSIONS["learn_loglinear"])]
)
def test_a_charge_for_a_draw_of_no_known_version_is_found(
    learner: str, right: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as later:
        later.setattr("stores.ledger.charging.mechanism_name", lambda _drawing, step: f"{step}/{right + 1}")
        drawn = drawn_release(tmp_path, "people-1", **{**GUARANTEES["seedless"], "learner__kind": learner})
    named = (
        rf"learn_parameters must be drawn by .*learn_parameters/{right}, got learn_parameters/{right + 1}; if a later"
    )
    with pytest.raises(Refused, match=named):
        drawn.publish()


def test_it_is_said_which_version_drew(drawn: Drawn, tmp_path: Path) -> None:
    first = drawn.moved_to(tmp_path / "state")
    first.publish()
    (line,) = [line for line in Published.of(first).verify().lines if "was charged once" in line]
    assert line.endswith("(drawn by learn_structure/1, learn_parameters/2, synthesize/1)")
