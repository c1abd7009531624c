"""Releases of every kind under one key, and digests of what they make; `python -m tests.golden.made` notes them anew,
or those of some learners alone: `python -m tests.golden.made privbayes`.

They show whether a change of the code changes a release: every byte of the records and the products of learning, and
everything in the signed record and the ledger except times, places and versions.
"""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from hashlib import sha256
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

from tests.isolation import own_state  # noqa: F401 - before Prefect and MLflow are imported

from flows.refresh import refresh  # isort: skip
from flows.release import release  # isort: skip

import numpy as np

from deniable.foundation.keys import ReleaseKey
from schemas.provenance import RECORD, Provenance
from stores.keys.signed_record import read_signed
from stores.ledger.charging import note_publication
from stores.ledger.ledger import Ledger, ledger_place
from stores.vault.workspace import Workspace
from tests.mechanisms.table import CERTIFIED, CHARGED, LEARNERS, SAMPLERS
from tests.small_release import QUICK, made_up_people, write_small_release
from tests.tasks.test_several_records_of_each_person import several_records
from tests.whole_release import drawn_release

NOTED = Path(__file__).with_name("digests.json")
KEY = bytes(range(32))
REFRESH = "refresh"
MOST = 3
MEASURING = ("privbayes", "mst", "nist_mst", "aim")
SEEDED = ("tested_seeds", "histogram_seeds")
_LONGER_REST = {"pegs_noisy poisson_seeds": {"omega": 3}}
"""Entries of samplers in cases whose model predicts that no attempt passes with as many attributes copied as others."""
_OTHERS_MODELS = {"uniform", "independent"}
"""Learners whose models are of the kind that `cfs` and `privbayes` make."""
OF_PEOPLE = f"loglinear, of each person at most {MOST} records"
_FILES = (
    "synthetic.csv",
    "model.json",
    "graph.json",
    "network.json",
    "selection.json",
    "urns.json",
    "measured.json",
    "certificate.json",
    "histogram.json",
    "privacy.json",
    "schema.json",
)
_ON_ANY_PROCESSOR = {"synthetic.csv", "model.json", "urns.json", "histogram.json", "schema.json"}
# Entries that depend on when, where and by which version a release was made.
_TIMES = {"begun", "published", "started", "ended", "signed", "ledger"}
_PLACES = {"runs", "people", "internal", "shelf", "mlflow_run", "prefect_task_run"}
# Files of a step; lasting ones are compared by themselves, others depend on the time.
_PASSING = {"code", "environment", "sha256", *_TIMES, *_PLACES}


def compared(digests: Mapping[str, str]) -> dict[str, str]:
    """Return the digests that must be as recorded on this processor.

    Without AVX-512, NumPy's exp and log give different last digits, and so do denoised counts and epsilons; the draws
    are the same.
    """
    noted_alike = bool(np._core._multiarray_umath.__cpu_features__.get("X86_V4"))  # type: ignore[attr-defined]
    return {name: digest for name, digest in digests.items() if noted_alike or name in _ON_ANY_PROCESSOR}


def cases() -> dict[str, dict[str, Any]]:
    """Return each release's changes to the small spec, by learner, sampler and noise."""
    found = {}
    for learner, row in LEARNERS.items():
        for guarantee, drawn in SAMPLERS.items():
            if row.charges_draws != (guarantee == CHARGED):
                continue
            asked = {**drawn, **row.asked} if row.charges_draws else {**row.asked, **drawn}
            for number, noise in enumerate(row.noises or ("",)):
                found[f"{learner} {guarantee} {noise}".strip()] = {**asked, **row.with_noise(number)}
    for case, entries in _LONGER_REST.items():
        found[case] = {**found[case], "synthesis": {**found[case]["synthesis"], **entries}}
    found |= {f"{learner} certified": asked for learner, asked in CERTIFIED.items()}
    return {**found, OF_PEOPLE: several_records(MOST)}


def cases_of_rows() -> dict[str, str]:
    """Return the cases that the contract test of mechanisms makes and compares, by the name of its row."""
    found = {}
    for learner, row in LEARNERS.items():
        drawn = CHARGED if row.charges_draws else "seedless"
        found[f"learner {learner}"] = f"{learner} {drawn} {row.noises[0] if row.noises else ''}".strip()
    found |= {f"learner {learner} with a certificate": f"{learner} certified" for learner in CERTIFIED}
    return found | {f"sampler {drawn}": f"marginals {drawn} gaussian" for drawn in SAMPLERS if drawn != CHARGED}


def cases_of_models() -> set[str]:
    """Return the cases that the test of models from seeds makes and compares."""
    return {f"{learner} {drawn}" for learner in MEASURING for drawn in SEEDED}


def cases_at_night() -> set[str]:
    """Return the cases that run only at night: their noise or model, and their sampler, occur in others separately."""
    of_rows = set(cases_of_rows().values())
    found = {
        f"{learner} {drawn} {noise}"
        for learner, row in LEARNERS.items()
        for noise in row.noises
        for drawn in SEEDED
        if noise != "gaussian"
    } - of_rows
    by_day = {"loglinear poisson_seeds gaussian"}
    found |= {case for case in cases() if " poisson_seeds" in case} - of_rows - by_day
    return found | {f"{learner} {drawn}" for learner in _OTHERS_MODELS for drawn in SEEDED}


def made(folder: Path, changes: dict[str, Any], key: bytes = KEY) -> dict[str, str]:
    """Make a release, and return digests of it.

    Args:
        folder: where to.
        changes: what its spec says otherwise.
        key: its key.

    Returns:
        SHA-256 digests of the files, the record and the ledger, by name.
    """
    drawn = drawn_release(folder, "golden", key, run_name=f"golden-{folder.parent.name}-{folder.name}", **changes)
    note_publication(drawn.workspace, drawn.publish())
    return digests(drawn.workspace)


def refreshed(folder: Path) -> dict[str, str]:
    """Release a dataset, refresh it with other people, and return digests of the refresh; needs a Prefect server.

    Args:
        folder: where to.
    """
    changes = {**QUICK, "refresh": {"budget": {"kind": "equal_share", "refreshes": 4}}}
    spec, people = write_small_release(folder / "spec", **deepcopy(changes)), made_up_people()
    arrived = write_small_release(folder / "next", people=[*people[100:], *people[:50]]).parent / "people.csv"
    numbers = count()
    with patch.object(ReleaseKey, "generate", lambda: ReleaseKey(sha256(b"%d" % next(numbers)).digest())):
        before = release(spec, folder / "state").workspace.release_id
        done = refresh(spec, folder / "state", arrived)
    assert done.released is not None
    return digests(done.released.workspace, before)


def digests(workspace: Workspace, *others: str) -> dict[str, str]:
    """Return digests of a published release; its name, and the names of other releases, are replaced by one text."""
    names = (workspace.release_id, *others)
    return {
        **dict(_of_files(workspace, names)),
        "record": _of_record(workspace, names),
        "ledger": _of_ledger(workspace, names),
    }


def _of_files(workspace: Workspace, names: Sequence[str]) -> Iterator[tuple[str, str]]:
    for name in _FILES:
        place = workspace.release_folder / name
        if place.exists():
            yield name, sha256(_nameless(place.read_text(encoding="utf-8"), names).encode()).hexdigest()


def _of_record(workspace: Workspace, names: Sequence[str]) -> str:
    record: Provenance = read_signed(workspace.release_folder / RECORD).record
    return _digest(_lasting(record.model_dump(mode="json")), names)


def _lasting(value: Any) -> Any:
    """Return the part of a record that does not depend on time and place."""
    if isinstance(value, dict):
        return {name: _lasting(each) for name, each in value.items() if name not in _PASSING}
    return [_lasting(each) for each in value] if isinstance(value, list) else value


def _of_ledger(workspace: Workspace, names: Sequence[str]) -> str:
    """Return what was charged; entries also contain times and salts."""
    charges = Ledger.open(ledger_place(workspace.state)).charges(workspace.spec.dataset_name)
    return _digest([[each.entry.kind, each.entry.content, each.output] for each in charges], names)


def _digest(value: Any, names: Sequence[str]) -> str:
    return sha256(_nameless(json.dumps(value, sort_keys=True), names).encode()).hexdigest()


def _nameless(text: str, names: Sequence[str]) -> str:
    for name in names:
        text = text.replace(name, "RELEASE")
    return text


def note(only: Sequence[str] = ()) -> None:
    """Make all releases, or those of the given learners or names, and record their digests."""

    def is_asked_for(case: str) -> bool:
        return not only or case in only or case.split(maxsplit=1)[0] in only

    from prefect.testing.utilities import prefect_test_harness  # noqa: PLC0415 - imports Prefect's whole server

    found = json.loads(NOTED.read_text(encoding="utf-8")) if only else {}
    with TemporaryDirectory(prefix="deniable-golden-") as name:
        for case, changes in cases().items():
            if is_asked_for(case):
                found[case] = made(Path(name, case.replace(" ", "-")), changes)
        if is_asked_for(REFRESH):
            with prefect_test_harness(server_startup_timeout=120):
                found[REFRESH] = refreshed(Path(name, REFRESH))
    NOTED.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    note(sys.argv[1:])
