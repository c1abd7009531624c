"""Values and ranges are proposed at a cost that is charged once, kept with a signed record, and verified by anyone."""

import json
from fractions import Fraction
from hashlib import sha256
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deniable.cli.dispatch import main
from deniable.cli.dispatch import main as verify_command
from deniable.discovery.answers import Answers, RangeAnswer, ValuesAnswer
from deniable.discovery.plan import DiscoveryPlan, asked
from deniable.foundation.errors import InvalidInput, Refused
from deniable.foundation.keys import ReleaseKey
from deniable.ledger.budget import BudgetExceeded
from deniable.ledger.state import Charged
from deniable.record.attestation import DISCOVERY, Envelope, Statement, statement
from deniable.verification.discovery import DOCUMENT
from deniable.verification.release import RECORD
from flows import discovery
from flows.discovery import Discovered
from schemas.codebooks.proposals import proposed, with_proposals
from schemas.references import Audience
from schemas.spec.release_spec import ReleaseSpec, load_spec
from schemas.table import domain_of
from stores.keys.signing_keys import signing_key
from stores.ledger.evidence import NOTES, Witnesses
from stores.ledger.gate import books_of, missing_in
from stores.ledger.state_ledger import state_ledger
from stores.releases import discoveries
from stores.releases.resumable_releases import sweep_claims
from stores.tables.sources.reading import opened_source
from stores.tables.tables import write_snapshot
from stores.vault.custody import keep_key
from stores.vault.lease import LEASE, all_leased
from stores.vault.private_files import make_private_folder
from stores.vault.workspace import Workspace
from tasks.data.fit import fit_of
from tasks.discovery import answer_questions as answering
from tasks.discovery import copy_columns as copying
from tasks.discovery import publish_discovery as publishing
from tasks.discovery.answer_questions import drawn

SCHEMA = """from schemas.table import nominal, table

schema = table(
    {
        "sex": nominal(["f", "m"], label="sex"),
    },
)
"""
SPEC = """name: people
dataset: people.py
source: people.csv
epsilon: 1
budget: {epsilon: 4, delta: 0.001}
"""
RARE = "Quux of Elm Street"
QUESTIONS = asked(["charge"], ["age"], {"charge": ["?"], "age": ["?"]})
PLAN = DiscoveryPlan(questions=QUESTIONS, epsilon=Fraction(2), delta=Fraction(1, 10**6))


pytestmark = pytest.mark.usefixtures("prefect")


def discover(state: Path, spec: ReleaseSpec, plan: DiscoveryPlan, *, anew: bool = False) -> Discovered:
    """Run the flow; its parameters are those that Prefect shows."""
    return discovery.discover(spec.folder / "people.yaml", plan.document(), state, anew=anew)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    rows = ["person,sex,charge,age"]
    rows += [f"{number},f,{['theft', 'fraud', '?'][number % 3]},{20 + number % 20}.5" for number in range(1200)]
    rows.append(f"1200,m,{RARE},99887766")
    (tmp_path / "people.csv").write_text("\n".join(rows) + "\n")
    (tmp_path / "people.py").write_text(SCHEMA)
    (tmp_path / "people.yaml").write_text(SPEC)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def charges(folder: Path) -> list[Charged]:
    return state_ledger(folder / "state").charges("people")


def told(folder: Path, *more: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    status = main(["table", "discover", "people.yaml", "--state", str(folder / "state"), *more])
    said = capsys.readouterr()
    return status, said.out + said.err


ASK = ("--column", "charge", "--range", "age", "--missing", "?", "--epsilon", "2", "--delta", "1e-6")


def test_a_plan_states_cost_and_thresholds_and_reads_and_charges_nothing(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "people.csv").unlink()
    status, said = told(folder, *ASK, "--plan", capsys=capsys)
    assert status == 0
    assert "epsilon 2, delta 1e-6 in total" in said
    assert f"noise of scale 1 come to {PLAN.threshold} or more" in said
    assert "left now: people, lifetime: epsilon 0 of 4" in said
    assert "the release of people costs epsilon 0.99" in said
    assert "fits into what is left" in said
    assert charges(folder) == []
    assert not (folder / "state" / "discoveries").exists()


def test_proposals_are_charged_once_written_into_the_schema_and_verified(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, said = told(folder, *ASK, "--write", capsys=capsys)
    assert status == 0, said
    assert '"charge": nominal(["fraud", "theft"], other="other", missing=["?"], missing_as="missing"),' in said
    assert '"age": numeric(20.0, 39.9, step=0.1, round=True, clip=True, missing=["?"], missing_as=-1' in said
    assert "are noisy" in said
    assert "was charged epsilon 2, delta 1e-6 to people" in said
    assert RARE not in said
    (charged,) = charges(folder)
    assert charged.charge.claim.cost.epsilon == 2
    assert charged.output is not None
    domain = domain_of(load_spec(folder / "people.yaml").schema)
    assert domain.names == ("sex", "charge", "age")
    assert domain.attributes[1].values == ("fraud", "theft", "other", "missing")

    status, again = told(folder, *ASK, capsys=capsys)
    assert status == 0
    assert "shown again at no cost" in again
    assert "nothing was charged now" in again
    assert len(charges(folder)) == 1
    status, said = told(folder, *ASK, "--write", capsys=capsys)
    assert status == 1
    assert "charge, age is there already" in said

    (place,) = (folder / "state" / "discoveries").iterdir()
    assert sorted(path.name for path in place.iterdir()) == [DOCUMENT, RECORD]
    assert all(RARE not in path.read_text() for path in place.iterdir())
    assert verified(folder, place, capsys) == (0, 5)
    plan_status = main(["release", "plan", "people.yaml", "--state", str(folder / "state")])
    shown = " ".join(capsys.readouterr().out.split())
    assert plan_status == 0
    assert "discovered epsilon 2, delta" in shown
    assert place.name in shown
    assert "epsilon 2 of 4" in shown

    document = json.loads((place / DOCUMENT).read_text())
    document["answers"][0]["values"][0][1] += 1
    (place / DOCUMENT).write_text(json.dumps(document))
    assert verified(folder, place, capsys)[0] == 1


def test_columns_that_the_schema_declares_open_need_not_be_named_and_complete_it(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    declared = (
        '    open_columns={\n        "charge": open_values(missing=["?"]),\n        "age": open_range(),\n    },\n)'
    )
    imported = SCHEMA.replace("import nominal, table", "import nominal, open_range, open_values, table")
    (folder / "people.py").write_text(imported.replace("    },\n)", f"    }},\n{declared}"))
    status, planned = told(folder, "--epsilon", "2", "--plan", capsys=capsys)
    assert status == 0
    assert "charge: epsilon 1" in planned
    status, said = told(folder, "--epsilon", "2", "--write", capsys=capsys)
    assert status == 0, said
    assert '"charge": nominal(["fraud", "theft"], other="other", missing=["?"], missing_as="missing"),' in said
    assert domain_of(load_spec(folder / "people.yaml").schema).names == ("sex", "charge", "age")
    status, said = told(folder, "--epsilon", "2", capsys=capsys)
    assert status != 0
    assert "declare open_columns in the schema" in said


def verified(folder: Path, place: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, int]:
    """The status of verification, and how many checks hold."""
    state = folder / "state"
    assert main(["budget", "export", str(folder / "ledger.jsonl"), "--state", str(state)]) == 0
    capsys.readouterr()
    keys = str(state / "keys" / "trusted.json")
    status = verify_command(["audit", "verify", str(place), "--keys", keys, "--ledger", str(folder / "ledger.jsonl")])
    return status, sum(line.startswith("ok ") for line in capsys.readouterr().out.splitlines())


def test_a_discovery_that_was_ended_repeats_its_draws_and_is_charged_once(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec, state = load_spec(folder / "people.yaml"), folder / "state"

    def ended(*_: object) -> None:
        raise KeyboardInterrupt

    for module, step in ((answering, "document_text"), (publishing, "publish_discovery_folder")):
        with monkeypatch.context() as patched:
            patched.setattr(module, step, ended)
            with pytest.raises(KeyboardInterrupt):
                discover(state, spec, PLAN)
    assert len(charges(folder)) == 1
    (folder / "people.csv").write_text("person,sex,charge,age\n1,f,other,3\n")
    found = discover(state, spec, PLAN)
    (charged,) = charges(folder)
    assert charged.charge.release == found.discovery
    assert not found.charged
    begun = discoveries.begun_before(state, spec, discoveries.request_digest(spec, PLAN))
    assert begun is not None
    workspace = Workspace(state=state, release_id=found.discovery, spec=spec, mlflow_run_id="")
    snapshot = discoveries.require_same_copy(workspace, workspace.vault / "snapshot.parquet", begun.snapshot)
    assert drawn(workspace, PLAN, snapshot) == found.answers, "the key and the copy draw the same again"
    (workspace.vault / "snapshot.parquet").write_bytes(b"another")
    discoveries.note(workspace, discoveries.Begun(**{**vars(begun), "finished": False}))
    with pytest.raises(Refused, match="from the copy of the source that it began with"):
        discover(state, spec, PLAN)
    assert len(charges(folder)) == 1


def test_a_lie_that_its_maker_signed_is_found(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec, state = load_spec(folder / "people.yaml"), folder / "state"
    place = discover(state, spec, PLAN).folder
    honest, record = (place / DOCUMENT).read_text(), (place / RECORD).read_bytes()
    said = Statement.from_payload(Envelope.from_text(record).payload)

    def failed(document: str, **changed: object) -> list[str]:
        subjects = {DOCUMENT: sha256(document.encode()).hexdigest()}
        payload = statement(subjects, {**said.predicate, **changed}, version=DISCOVERY)
        (place / DOCUMENT).write_text(document)
        (place / RECORD).write_text(signing_key(state).sign(payload).to_text())
        return checks_that_fail(folder, place, capsys)

    assert failed(honest) == []
    follows, in_ledger = "answers, events and charge follow", "the exported ledger has the charge"
    assert failed(honest.replace('"epsilon":"2"', '"epsilon":"1"'))[0].startswith(follows)
    lower = json.loads(honest)
    lower["answers"][0]["values"].append(["zzz", PLAN.threshold - 1])
    assert failed(json.dumps(lower))[0].startswith(follows)
    more = json.loads(honest)
    more["answers"][0]["values"].append(["zzz", PLAN.threshold])
    (line,) = failed(json.dumps(more))
    assert line.startswith(in_ledger), "only what the ledger noted tells it from what was drawn"
    digests = sha256(honest.encode()).hexdigest(), sha256(json.dumps(more).encode()).hexdigest()
    (line,) = checks_that_fail(folder, place, capsys, digests)
    assert line.startswith(in_ledger), "nor can the ledger be altered to agree"
    named = said.predicate["discovery"]
    for lie in ({"dataset": "others"}, {"unit": "one person, by person, added or removed"}):
        assert failed(honest, discovery={**named, **lie})[0].startswith(follows)  # type: ignore[dict-item]
    assert failed(honest.replace('"missing":["?"]', '"missing":[]'))[0].startswith(follows), "the plan was charged"
    entry = dict(said.predicate["entry"])  # type: ignore[call-overload]
    entry["content"] = {**entry["content"], "release": "another"}
    assert failed(honest, entry=entry)[0].startswith("the record has exactly the form")


def checks_that_fail(
    folder: Path, place: Path, capsys: pytest.CaptureFixture[str], altered: tuple[str, str] = ("", "")
) -> list[str]:
    """The checks that fail, as verification names them, if one text of the exported ledger is altered."""
    state, ledger = folder / "state", folder / "ledger.jsonl"
    main(["budget", "export", str(ledger), "--state", str(state)])
    ledger.write_text(ledger.read_text().replace(*altered))
    capsys.readouterr()
    verify_command(
        ["audit", "verify", str(place), "--keys", str(state / "keys" / "trusted.json"), "--ledger", str(ledger)]
    )
    said = capsys.readouterr().out
    return [line.removeprefix("FAILED").strip() for line in said.splitlines() if line.startswith("FAILED")]


def test_what_is_kept_of_a_discovery_is_not_swept_away_with_releases_that_never_began(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec, state = load_spec(folder / "people.yaml"), folder / "state"

    def ended(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(copying, "note", ended)
        with pytest.raises(KeyboardInterrupt):
            discover(state, spec, PLAN)
    assert list((state / "vault").iterdir()) == [], "a key under which nothing was noted is not kept"
    with monkeypatch.context() as patched:
        patched.setattr(publishing, "publish_discovery_folder", ended)
        with pytest.raises(KeyboardInterrupt):
            discover(state, spec, PLAN)
    for _ in ("resumed", "shown again"):
        with all_leased(state, "a backup is made"):
            pass
        sweep_claims(state)
        unpacked = make_private_folder(state / "scratch" / "unpacked-1.scratch")
        (unpacked / LEASE).touch()
        assert not discover(state, spec, PLAN).charged
        assert not unpacked.exists(), "what a killed reader left is removed, though the source is not read again"
    assert len(charges(folder)) == 1


def test_no_release_is_moved_or_backed_up_while_a_discovery_draws(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec, state = load_spec(folder / "people.yaml"), folder / "state"
    document_text = discoveries.document_text

    def meanwhile(answers: Answers) -> str:
        with pytest.raises(Refused, match="no release may be in progress"), all_leased(state, "a backup is made"):
            pass
        return document_text(answers)

    monkeypatch.setattr(answering, "document_text", meanwhile)
    assert discover(state, spec, PLAN).charged


def test_a_scratch_folder_whose_ledger_counts_for_nothing_has_no_discoveries(folder: Path) -> None:
    with pytest.raises(Refused, match="got the scratch folder"):
        discover(folder / "people.scratch", load_spec(folder / "people.yaml"), PLAN)
    assert not (folder / "people.scratch").exists()


def test_asking_anew_has_fresh_noise_and_another_charge(folder: Path) -> None:
    spec, state = load_spec(folder / "people.yaml"), folder / "state"
    one, other = discover(state, spec, PLAN), discover(state, spec, PLAN, anew=True)
    assert one.discovery != other.discovery
    assert one.answers != other.answers
    assert [charged.charge.release for charged in charges(folder)] == [one.discovery, other.discovery]
    with pytest.raises(BudgetExceeded, match="only epsilon 0"):
        discover(state, spec, PLAN, anew=True)
    assert len(list((state / "discoveries").iterdir())) == 2


def test_columns_of_a_parquet_file_are_proposed_as_a_schema_reads_them(folder: Path) -> None:
    columns = {
        "sex": ["f"] * 900,
        "flag": pa.array([True, False, None] * 300),
        "code": pa.array([1.0, 2.0, 0.5] * 300, pa.float32()),
        "number": pa.array([7, 8, None] * 300, pa.int64()),
        "age": pa.array([20.1, 35.5, None] * 300, pa.float32()),
    }
    pq.write_table(pa.table(columns), folder / "people.parquet")
    (folder / "people.yaml").write_text(SPEC.replace("people.csv", "people.parquet"))
    questions = asked(["flag", "code", "number"], ["age"])
    plan = DiscoveryPlan(questions=questions, epsilon=Fraction(4), delta=Fraction(1, 10**6))
    spec, state = load_spec(folder / "people.yaml"), folder / "state"
    found = discover(state, spec, plan)
    flag, code, number, age = found.answers.answers
    assert isinstance(flag, ValuesAnswer)
    assert isinstance(code, ValuesAnswer)
    assert isinstance(number, ValuesAnswer)
    assert isinstance(age, RangeAnswer)
    values = [[value for value, _ in each.values] for each in (flag, code, number)]
    assert values == [["False", "True"], ["0.5", "1", "2"], ["7", "8"]]
    shown = found.answers.range_of(age)
    assert shown is not None
    assert shown.decimals == 1
    place = folder / "people.py"
    written = with_proposals(place.read_text(), proposed(found.answers), found.discovery)
    place.write_text(written.replace(', other="other"', ""))
    fit = fit_of(load_spec(folder / "people.yaml"), state)
    assert set(fit.by_finding) == {"flag", "number", "age"}
    assert all(set(counts) == {"missing"} for counts in fit.by_finding.values()), "what is proposed is what is read"


def test_records_without_a_person_count_for_no_one(folder: Path) -> None:
    rows = ["person,sex,charge,age"] + [f"{n},f,theft,30" for n in range(300)] + ["none,f,fraud,31"] * 900
    (folder / "people.csv").write_text("\n".join(rows) + "\n")
    (folder / "people.yaml").write_text(SPEC.replace("0.001}", "0.001, dataset: people-persons-person}"))
    plan = DiscoveryPlan(questions=asked(["charge"], []), epsilon=Fraction(3), delta=Fraction(1, 2))
    requests = set()
    for also in ("", 'missing={"person": ["none"]}'):
        table = SCHEMA.replace("    },\n)", f'    }},\n    person="person",\n    {also}\n)')
        (folder / "people.py").write_text(table)
        spec = load_spec(folder / "people.yaml")
        requests.add(discoveries.request_digest(spec, plan))
    assert discoveries.nobody(spec) == ["none"]
    assert len(requests) == 2, "a discovery is not resumed with other counts"
    workspace = Workspace(state=folder / "state", release_id="people", spec=spec, mlflow_run_id="")
    keep_key(workspace, ReleaseKey(bytes(32)))
    with opened_source(spec, folder, ("charge", "person")) as source:
        write_snapshot(workspace.vault / "snapshot.parquet", source)
    snapshot = workspace.refer("snapshot", "snapshot.parquet", Audience.RESTRICTED)
    assert answering._counted(workspace, plan, snapshot) == {"charge": {"theft": 300}}


def test_of_each_person_one_record_counts(folder: Path) -> None:
    rows = ["person,sex,charge,age"] + [f"{n % 300},f,theft,30" for n in range(1200)] + ["1,f,drawn,31"] * 900
    (folder / "people.csv").write_text("\n".join([*rows, ",f,theft,30"]) + "\n")
    (folder / "people.py").write_text(SCHEMA.replace("    },\n)", '    },\n    person="person",\n)'))
    (folder / "people.yaml").write_text(SPEC.replace("0.001}", "0.001, dataset: people-persons-person}"))
    spec = load_spec(folder / "people.yaml")
    plan = DiscoveryPlan(questions=asked(["charge"], []), epsilon=Fraction(3), delta=Fraction(1, 10**6))
    found = discover(folder / "state", spec, plan)
    ((value, count),) = found.answers.answers[0].document()["values"]
    assert value == "theft", "a person with 900 records of a value is one record of it"
    assert abs(count - 300) < 20
    (charged,) = state_ledger(folder / "state").charges("people-persons-person")
    assert charged.charge.parameters["person"] == "person"
    about = DiscoveryPlan(questions=asked([], ["person"]), epsilon=Fraction(1), delta=Fraction(0))
    with pytest.raises(InvalidInput, match="person identifies people"):
        discover(folder / "state", spec, about)


@pytest.mark.parametrize(
    ("more", "complaint"),
    [
        (("--epsilon", "1"), "must be about some column, got none"),
        (("--column", "charge", "--epsilon", "x"), "epsilon must be a number such as 0.5, got 'x'"),
        (("--column", "charge", "--epsilon", "1", "--delta", "0"), "delta must be in (0, 1)"),
        (("--column", "chargge", "--epsilon", "1"), "lacks chargge"),
        (("--column", "charge", "--epsilon", "5"), "only epsilon 4"),
        (("--column", "charge", "--range", "charge", "--epsilon", "1"), "about each column once"),
    ],
)
def test_what_cannot_be_asked_is_refused_and_charges_nothing(
    folder: Path, more: tuple[str, ...], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    status, said = told(folder, *more, capsys=capsys)
    assert status != 0
    assert complaint in said
    assert charges(folder) == []
    assert not (folder / "state" / "discoveries").exists()
    assert list((folder / "state" / "vault").glob("*/key")) == []


def test_a_ledger_that_was_lost_is_missed_by_the_record_of_a_discovery(folder: Path) -> None:
    spec, state = load_spec(folder / "people.yaml"), folder / "state"
    found = discover(state, spec, PLAN)
    missing = missing_in(books_of([]), Witnesses(state).proofs())
    assert {proof.witness for proof, _ in missing if proof.release == found.discovery} == {
        f"discoveries/{found.discovery}/{RECORD}",
        f"{NOTES}/{found.discovery}.jsonl",
    }
