import re
import shutil
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from deniable.foundation.domain import Codes
from deniable.record.attestation import sign, statement
from schemas.provenance import RECORD
from schemas.references import Audience, Reference
from stores.tables.tables import load_codes, write_codes
from stores.vault.exact_counts import RefusedByCounts
from stores.vault.step_log import noted_steps
from stores.vault.workspace import Workspace
from tasks.data.split import split
from tests.tasks.hand_made import workspace_of, write_people

PARTS = ["seeds", "structure", "parameters", "holdout"]


def numbers(rows: int) -> Codes:
    """Records that can be told apart by their codes."""
    number = np.arange(rows)
    return np.stack([number % 82, number // 82 % 2, number // 164 % 2, number // 328 % 2], axis=1).astype(np.uint16)


def numbered(workspace: Workspace, rows: int) -> Reference:
    """Such records, written chunk by chunk."""
    with workspace.writing("codes.parquet", Audience.RESTRICTED) as path:
        write_codes(path, workspace.spec.domain, np.array_split(numbers(rows), 7))
    return workspace.refer("codes", "codes.parquet", Audience.RESTRICTED, rows)


def parts_of(workspace: Workspace, rows: int = 600) -> dict[str, Codes]:
    """The parts that so many records are split into."""
    parts = split(workspace, numbered(workspace, rows))
    return {name: load_codes(part.path, workspace.spec.domain) for name, part in parts.items()}


def test_each_record_goes_to_one_part_at_most(tmp_path: Path) -> None:
    with workspace_of(write_people(tmp_path, [])) as workspace:
        parts = parts_of(workspace)
    records = [tuple(record) for codes in parts.values() for record in codes.tolist()]
    assert list(parts) == PARTS
    assert len(set(records)) == len(records) == 600


def test_what_the_probabilities_leave_goes_nowhere(tmp_path: Path) -> None:
    split = {"seeds": 0.3, "structure": 0.1, "parameters": 0.1, "holdout": 0.1}
    with workspace_of(write_people(tmp_path, [], split=split)) as workspace:
        records = sum(map(len, parts_of(workspace).values()))
    assert 280 < records < 440


def test_a_part_without_a_probability_is_not_made(tmp_path: Path) -> None:
    learner = {"kind": "marginals", "noise": "laplace"}
    learner["parameters"] = {"epsilon": 1, "delta": 1e-6, "prior": 1, "estimate": "mean"}
    split = {"seeds": 0.5, "parameters": 0.25, "holdout": 0.25}
    with workspace_of(write_people(tmp_path, [], split=split, learner=learner)) as workspace:
        assert list(parts_of(workspace)) == ["seeds", "parameters", "holdout"]
        assert not (workspace.vault / "structure.parquet").exists()


def test_references_say_how_many_records_each_part_has(tmp_path: Path) -> None:
    with workspace_of(write_people(tmp_path, [])) as workspace:
        parts = split(workspace, numbered(workspace, 600))
        rows = {name: len(load_codes(part.path, workspace.spec.domain)) for name, part in parts.items()}
    assert {name: part.rows for name, part in parts.items()} == rows
    assert {part.audience for part in parts.values()} == {Audience.RESTRICTED}


def test_the_same_key_splits_the_same_records_in_the_same_way_and_another_key_does_not(tmp_path: Path) -> None:
    spec = write_people(tmp_path, [])
    seeds = []
    for key in (bytes(32), bytes(32), b"1" * 32):
        with workspace_of(spec, key) as workspace:
            seeds.append(parts_of(workspace)["seeds"].tolist())
    assert seeds[0] == seeds[1] != seeds[2]


def drawn(workspace: Workspace, records: Codes, chunks: int = 7) -> list[str]:
    """The part that each of some records goes to, all being different."""
    with workspace.writing("codes.parquet", Audience.RESTRICTED) as path:
        write_codes(path, workspace.spec.domain, np.array_split(records, chunks))
    codes = workspace.refer("codes", "codes.parquet", Audience.RESTRICTED, len(records))
    parts = {name: load_codes(part.path, workspace.spec.domain) for name, part in split(workspace, codes).items()}
    part_of = {tuple(record): name for name, codes in parts.items() for record in codes.tolist()}
    return [part_of[tuple(record)] for record in records.tolist()]


def test_other_records_are_split_by_other_draws(tmp_path: Path) -> None:
    with workspace_of(write_people(tmp_path, [])) as workspace:
        some, others = drawn(workspace, numbers(600)[:300]), drawn(workspace, numbers(600)[300:])
    # They agree by chance less often than once in 10^100.
    assert some != others


def test_chunks_are_split_by_draws_of_their_own(tmp_path: Path) -> None:
    """Were it one stream for all, the parts of a chunk's records would be those of the next one's."""
    chunks, each = 6, 100
    with workspace_of(write_people(tmp_path, [])) as workspace:
        parts = drawn(workspace, numbers(chunks * each), chunks)
    by_chunk = {tuple(parts[start : start + each]) for start in range(0, len(parts), each)}
    # Two of them agree by chance less often than once in 10^30.
    assert len(by_chunk) == chunks


def test_a_part_that_gets_no_record_is_refused_and_leaves_no_parts(tmp_path: Path) -> None:
    with workspace_of(write_people(tmp_path, [])) as workspace:
        codes = numbered(workspace, 1)
        with pytest.raises(
            RefusedByCounts, match="each part of the split must have a record, got one without"
        ) as caught:
            split(workspace, codes)
    assert sorted(path.name for path in workspace.vault.iterdir()) == ["codes.parquet", "errors", "key"]
    assert not re.search(r"\d", caught.value.sentence.replace("a holdout of 0", ""))
    assert "of 1 rows" in caught.value.counts()


@pytest.mark.parametrize("rows", [30, 600])
def test_fewer_seeds_than_k_end_nothing_and_are_told_to_cleared_staff_alone(tmp_path: Path, rows: int) -> None:
    """To stop below k would make an exact count decide whether there is a release."""
    spec = write_people(tmp_path, [], synthesis__k=50)
    with workspace_of(spec) as workspace:
        parts = parts_of(workspace, rows)
        (noted,) = [step for step in noted_steps(workspace, ["split"]) if step.step == "split"]
    assert (noted.figures or {})["internal/seeds_fewer_than_k"] == (len(parts["seeds"]) < 50) == (rows == 30)
    assert "seeds_fewer_than_k" not in noted.public().model_dump_json()


# ---- a further release with the model of an earlier one

LEARNT = {
    "learner": {
        "kind": "marginals",
        "noise": "laplace",
        "parameters": {"epsilon": 1, "delta": 1e-6, "prior": 1, "estimate": "mean"},
    },
    "split": {"shared": 0.6, "holdout": 0.3},
    "synthesis": {"guarantee": "seedless", "records": 400, "chunk_candidates": 128},
}
"""A tenth is neither read nor held out."""


def test_people_that_a_paid_model_was_learnt_from_are_not_held_out_of_a_further_release(tmp_path: Path) -> None:
    with workspace_of(write_people(tmp_path / "first", [], **LEARNT), b"1" * 32) as first:
        codes = numbered(first, 600)
        before = {name: load_codes(part.path, first.spec.domain).tolist() for name, part in split(first, codes).items()}
    release, again = "paid-1", "paid-2"
    said = {
        "release": {"id": release, "dataset": first.spec.dataset_name},
        "schema": {"domain": first.spec.domain.digest},
        "cost": {"model": {"epsilon": 1.0, "delta": 1e-6}},
        "spec": {"document": {"split": {"shared": "3/5", "holdout": "3/10"}, "learner": {"kind": "marginals"}}},
        "input": {"key": first.key().commitment()},
    }
    record = sign(statement({"model.json": "0" * 64}, said), Ed25519PrivateKey.generate()).to_text().encode()
    learner = {"kind": "released_model", "release": release, "record": sha256(record).hexdigest(), "model": "0" * 64}
    learner |= {"epsilon": 1, "delta": 1e-6}
    # A still later one reads the model through the second, which read it too.
    said |= {"release": {**said["release"], "id": again}}
    said |= {"spec": {"document": {"split": {"shared": "1"}, "learner": learner}}, "input": {"key": "0" * 64}}
    other = sign(statement({"model.json": "0" * 64}, said), Ed25519PrivateKey.generate()).to_text().encode()
    later = learner | {"release": again, "record": sha256(other).hexdigest()}

    def parts(named: dict[str, Any], place: str, *, kept: bool = True, same: bool = True) -> dict[str, list[list[int]]]:
        with workspace_of(write_people(tmp_path / place, [], **{**LEARNT, "learner": named}), bytes(32)) as begun:
            further = replace(begun, state=tmp_path / place / "state")
            shutil.copytree(begun.vault, further.vault)
            for name, content in ((release, record), (again, other)):
                folder = further.state / "releases" / name
                folder.mkdir(parents=True)
                (folder / RECORD).write_bytes(content)
            if kept:
                shutil.copytree(first.vault, further.state / "vault" / release)
            found = split(further, numbered(further, 600 if same else 599))
            (noted,) = [step for step in noted_steps(further, ["split"]) if step.step == "split"]
            assert (noted.figures or {})["internal/holdout_without_learnt_from"] == (kept and same)
            assert "learnt_from" not in noted.public().model_dump_json()
            return {name: load_codes(part.path, further.spec.domain).tolist() for name, part in found.items()}

    fresh, chained = parts(learner, "fresh"), parts(later, "chained")
    unknown, changed = parts(learner, "unknown", kept=False), parts(learner, "changed", same=False)
    assert fresh["holdout"] == [each for each in unknown["holdout"] if each not in before["shared"]]
    assert 0 < len(fresh["holdout"]) < len(unknown["holdout"])
    assert fresh["shared"] == unknown["shared"], "what is read is drawn as ever"
    assert chained == fresh
    assert any(each in before["shared"] for each in changed["holdout"])
