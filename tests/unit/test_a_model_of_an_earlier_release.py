"""The model of an earlier release: what may be read of it, what a record states about it, and how the costs add up."""

from collections.abc import Callable
from copy import deepcopy
from fractions import Fraction
from hashlib import sha256
from io import BytesIO
from itertools import pairwise
from math import expm1, log1p
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from deniable.folder_on_disk import record_beside
from deniable.foundation.errors import DeniableError, InvalidInput
from deniable.learners.registry import READING, expected_steps, paid_elsewhere
from deniable.learners.released_model.verification import check_model
from deniable.mechanisms import GRAPH, MODEL, EarlierRelease, Product
from deniable.privacy.loss import Guarantee
from deniable.privacy.poisson_pairs import released_rates
from deniable.privacy.step_costs import with_paid
from deniable.record.attestation import sign, statement
from deniable.record.trust import TrustedKey, TrustedKeys
from deniable.samplers.poisson_seeds.designs import Wish, composed_law, deltas_beside
from deniable.verification.earlier_release import check_earlier
from schemas.provenance import RECORD
from schemas.spec.plan import plan_release
from schemas.spec.release_spec import load_spec
from stores.vault.workspace import Workspace
from tasks.data.earlier_release import EarlierDocuments
from tests.small_release import QUICK, write_small_release

NAME = "small-20260101T000000Z"
KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
VALID = ("2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z")
TRUSTED = TrustedKeys((TrustedKey.of(KEY.public_key(), owner="Ada", valid_from=VALID[0], valid_until=VALID[1]),))
DOCUMENTS: dict[Product, Any] = {GRAPH: {"order": ["age", "sex"]}, MODEL: {"format": "a model", "weights": [1, 2]}}
SEEDS = {
    "guarantee": "poisson_seeds",
    "omega": 2,
    "plausible": 4,
    "epsilon": 1,
    "delta": 1e-6,
    "public_rows": 2400,
    "records": 300,
    "chunk_candidates": 128,
}


def written(product: Product) -> bytes:
    file = BytesIO()
    product.write(DOCUMENTS[product], file)
    return file.getvalue()


def digests() -> dict[str, str]:
    return {product.file: sha256(written(product)).hexdigest() for product in DOCUMENTS}


def signed(domain: str, changes: Callable[[dict[str, Any]], object] = lambda _: None) -> bytes:
    """The record of the earlier release, as far as anything reads it."""
    said: dict[str, Any] = {
        "release": {"id": NAME, "dataset": "people"},
        "schema": {"domain": domain},
        "cost": {"model": {"epsilon": 0.25, "delta": 1e-7}},
        "signed": {"time": "2026-06-01T00:00:00Z"},
    }
    changes(said)
    return sign(statement(digests(), said), KEY).to_text().encode()


def put(folder: Path, content: bytes) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / RECORD).write_bytes(content)
    for product in DOCUMENTS:
        (folder / product.file).write_bytes(written(product))


def asked_of(content: bytes) -> dict[str, Any]:
    return {
        "kind": READING[0],
        "release": NAME,
        "record": sha256(content).hexdigest(),
        "model": digests()[MODEL.file],
        "epsilon": 0.25,
        "delta": 1e-7,
    }


def reading(tmp_path: Path, content: bytes, **changes: Any) -> EarlierDocuments:
    spec = load_spec(
        write_small_release(tmp_path / "spec", **QUICK | {"learner": asked_of(content) | changes, "synthesis": SEEDS})
    )
    workspace = Workspace(state=tmp_path / "state", release_id="small-2", spec=spec, mlflow_run_id="")
    (step, _) = plan_release(spec).steps
    assert isinstance(step.public, EarlierRelease)
    return EarlierDocuments(workspace, step.public)


def domain_of(tmp_path: Path) -> str:
    return load_spec(write_small_release(tmp_path / "first", **QUICK)).domain.digest


@pytest.mark.parametrize("place", [f"state/releases/{NAME}", f"spec/{NAME}"])
def test_documents_are_read_from_the_state_folder_or_from_beside_the_spec(place: str, tmp_path: Path) -> None:
    content = signed(domain_of(tmp_path))
    files = reading(tmp_path, content)
    with pytest.raises(InvalidInput, match=r"must be in .*state/releases or beside the spec"):
        files.document(MODEL)
    put(tmp_path / place, content)
    for product, document in DOCUMENTS.items():
        assert files.document(product) == document


FAULTS: dict[str, tuple[dict[str, Any], str]] = {
    "another record": ({"record": "0" * 64}, "must be the one that learner.record names"),
    "another model": ({"model": "0" * 64}, "must have the model.json that learner.model states"),
    "a cheaper model": ({"epsilon": 0.2}, "must be those of the model of small-.*, 0.25 and 1e-07, got 0.2"),
    "a smaller delta": ({"delta": 1e-8}, "must be those of the model of small-"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_what_the_spec_states_of_the_earlier_release_must_be_true(name: str, tmp_path: Path) -> None:
    changes, said = FAULTS[name]
    content = signed(domain_of(tmp_path))
    put(tmp_path / "state/releases" / NAME, content)
    with pytest.raises(DeniableError, match=said):
        reading(tmp_path, content, **changes).document(MODEL)


def test_only_the_table_that_a_model_was_learnt_from_is_released_by_it(tmp_path: Path) -> None:
    for content in (
        signed("0" * 64),
        signed(domain_of(tmp_path), lambda said: said["release"].update(dataset="others")),
    ):
        put(tmp_path / "state/releases" / NAME, content)
        with pytest.raises(DeniableError, match="of the same dataset with the same schema, and is not"):
            reading(tmp_path, content).document(MODEL)


def test_a_file_that_was_altered_is_not_read(tmp_path: Path) -> None:
    content = signed(domain_of(tmp_path))
    folder = tmp_path / "state/releases" / NAME
    put(folder, content)
    (folder / MODEL.file).write_bytes(written(MODEL).replace(b"2", b"3"))
    with pytest.raises(DeniableError, match="must be as it was signed, and is not"):
        reading(tmp_path, content).document(MODEL)


def test_the_model_counts_in_the_total_and_only_the_attempts_are_charged(tmp_path: Path) -> None:
    content = signed(domain_of(tmp_path))
    accounts = plan_release(reading(tmp_path, content).workspace.spec).accounts
    (attempts,) = accounts.steps
    assert attempts.step == "attempt_seeds"
    assert attempts.joint is None
    assert accounts.total is not None
    # A record is read with probability 4/5, so that the attempts cost less for the whole table.
    alone = log1p(0.8 * expm1(attempts.charged.epsilon))
    assert accounts.total.epsilon == pytest.approx(0.25 + alone, rel=1e-9)
    assert accounts.total.delta == pytest.approx(1e-7 + 0.8 * attempts.charged.delta, rel=1e-9)
    assert accounts.model == paid_elsewhere(asked_of(content)) == Guarantee(0.25, 1e-7, "earlier_release")
    assert with_paid(None, accounts.model) is None
    assert with_paid(accounts.total, None) == accounts.total


def record_that_names(content: bytes, domain: str) -> tuple[dict[str, Any], dict[str, str]]:
    made = [{"name": "graph", "digest": digests()[GRAPH.file]}, {"name": "model", "digest": digests()[MODEL.file]}]
    record = {
        "release": {"dataset": "people"},
        "schema": {"domain": domain},
        "spec": {"document": {"learner": asked_of(content) | {"epsilon": "1/4", "delta": "1/10000000"}}},
        "steps": [{"outputs": made}],
    }
    return record, digests()


def test_a_record_is_checked_against_that_of_the_release_that_paid(tmp_path: Path) -> None:
    content = signed("d")
    put(tmp_path / NAME, content)
    record, files = record_that_names(content, "d")
    beside = record_beside(tmp_path / "small-2", RECORD)
    (check,) = check_earlier(record, files, TRUSTED, beside)
    assert (check.holds, check.made) == (True, True), check.line
    (check,) = check_earlier(record, files, TRUSTED, record_beside(tmp_path / NAME / "elsewhere", RECORD))
    assert (check.holds, check.made) == (True, False)
    assert "is not beside this one" in check.line
    assert check_earlier({"spec": {"document": {"learner": {"kind": "loglinear"}}}}, files, TRUSTED, beside) == ()
    assert beside(f"../../elsewhere/{NAME}") == content, "a name is never the path of another folder"


WRONG: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "epsilon": (lambda said: said["cost"]["model"].update(epsilon=0.3), "cost.model.epsilon of .* is 0.3"),
    "delta": (lambda said: said["cost"]["model"].update(delta=1e-6), "cost.model.delta"),
    "dataset": (lambda said: said["release"].update(dataset="others"), "release.dataset of .* is others"),
    "name": (lambda said: said["release"].update(id="small-3"), "release.id of .* is small-3"),
    "domain": (lambda said: said["schema"].update(domain="e"), "schema.domain of .* is e"),
    "people": (lambda said: said["schema"].update(person={"column": "id"}), "schema.person"),
    "time": (lambda said: said["signed"].update(time="2030-01-01T00:00:00Z"), "the record of small-.*: "),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_record_that_states_something_else_of_the_earlier_release_does_not_hold(name: str) -> None:
    changes, said = WRONG[name]
    content = signed("d", changes)
    record, files = record_that_names(content, "d")
    (check,) = check_earlier(record, files, TRUSTED, lambda _: content)
    assert not check.holds
    with pytest.raises(AssertionError, match=said):
        assert check.holds, check.line


def test_another_record_an_unknown_key_and_another_graph_do_not_hold() -> None:
    content = signed("d")
    record, files = record_that_names(content, "d")
    other = signed("d", lambda said: said["cost"].update(more=1))
    for found, keys, subjects, said in (
        (other, TRUSTED, files, "but the spec names"),
        (content, TrustedKeys(()), files, "the record of small-"),
        (content, None, files, "no trusted keys"),
        (content, TRUSTED, files | {GRAPH.file: "0" * 64}, "graph.json of small-"),
        (b"{}", TRUSTED, files, "but the spec names"),
    ):
        (check,) = check_earlier(record, subjects, keys, lambda _, found=found: found)  # type: ignore[misc]
        assert not check.holds
        assert said in check.line


def test_the_model_in_the_folder_must_be_the_one_that_the_spec_names() -> None:
    record, _ = record_that_names(signed("d"), "d")
    step = expected_steps(record["spec"]["document"]["learner"])["learn_parameters"]
    assert (step.part, dict(step.makes)) == (None, {"graph": "graph.json", "model": "model.json"})
    (check,) = check_model(record, {}, {})
    assert check.holds
    changed = deepcopy(record)
    changed["steps"][0]["outputs"][1]["digest"] = "0" * 64
    (check,) = check_model(changed, {}, {})
    assert not check.holds


def test_one_epsilon_for_the_whole_release_is_refused_beside_a_paid_model(tmp_path: Path) -> None:
    asked = QUICK | {"learner": asked_of(signed("d")), "synthesis": SEEDS, "epsilon": 1}
    with pytest.raises(InvalidInput, match="epsilon: must be left out for a model that is paid for"):
        load_spec(write_small_release(tmp_path, **asked))


@pytest.mark.slow
def test_attempts_that_are_planned_after_a_release_are_not_composed_with_its_noise() -> None:
    """Two laws, each within delta beside what was released; chosen by what was released, they are beyond it.

    Hence the costs of a further release are added, which holds for costs that are chosen by earlier outputs.
    """
    epsilon, delta, share = 1.0, 1e-6, 0.64
    pairs = []
    for records in (15, 1540):
        wish = Wish(records=records, public_rows=1000, plausible=1, epsilon=epsilon, delta=delta, share=share)
        law = composed_law(wish)
        assert law is not None
        rates = released_rates(Fraction(wish.attempts_per_row), law.plausible, law.passes)
        pairs.append(list(pairwise(rates.tolist())))
    for each in pairs:
        assert deltas_beside(each, wish.shift, epsilon)[1] <= delta
    assert deltas_beside(pairs[0] + pairs[1], wish.shift, epsilon)[1] > 1.02 * delta
