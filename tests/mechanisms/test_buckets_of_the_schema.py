"""The buckets of a schema change what a learner makes exactly if it says that it reads them; the plan says if not."""

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from deniable.foundation.domain import Domain
from deniable.foundation.keys import ReleaseKey
from flows.cli.planning import unused_buckets
from schemas.references import Audience, Reference
from schemas.spec.plan import plan_release
from schemas.spec.release_spec import load_spec
from stores.tracking.release_run import recorded_release
from stores.vault.workspace import Workspace
from tasks.data.account import account
from tasks.data.clean import clean
from tasks.data.ingest import ingest
from tasks.data.split import part, split
from tasks.data.validate import validate
from tasks.learning.planned_step import planned_step
from tests.extent import spread
from tests.isolation import own_state
from tests.mechanisms.table import CHARGED, LEARNERS, SAMPLERS
from tests.small_release import SCHEMA, write_small_release

KEY = bytes(range(32))
COARSE, FINE = SCHEMA, SCHEMA.replace(", width=5", "")


def asked(kind: str) -> dict[str, Any]:
    """A spec of the learner."""
    row = LEARNERS[kind]
    return {**SAMPLERS[CHARGED], **row.asked} if row.charges_draws else {**row.asked, **SAMPLERS["seedless"]}


def learnt(folder: Path, kind: str, schema: str) -> dict[str, str]:
    """Digests of what a learner makes of the same people under one key."""
    spec = load_spec(write_small_release(folder / "spec", schema=schema, **asked(kind)))
    with recorded_release(own_state(), f"buckets-{folder.name}-{kind}", spec) as run_id:
        workspace = Workspace(state=folder / "state", release_id="buckets-1", spec=spec, mlflow_run_id=run_id)
        with workspace.writing("key", Audience.RESTRICTED) as path:
            path.write_bytes(ReleaseKey(KEY).secret)
        account(workspace)
        parts = split(workspace, clean(workspace, validate(workspace, ingest(workspace))))
        made: dict[str, Reference] = {}
        for step in plan_release(spec).learning:
            read = None if step.part is None else part(parts, step.part)
            found = planned_step(workspace, step.task, read, tuple(made[name] for name in step.reads))
            made |= {reference.name: reference for reference in found}
    return {name: reference.digest for name, reference in made.items() if name not in {"graph", "exact_counts"}}


@pytest.mark.parametrize("kind", spread([kind for kind in LEARNERS if "schema" not in asked(kind)], 6))
def test_a_learner_reads_the_buckets_or_says_that_it_does_not(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All but one whose table is one of its own: of origins, whose buckets are its areas."""
    # The digest names the streams of noise: with it, all noise would be other noise.
    monkeypatch.setattr(Domain, "digest", "the same")
    write = partial(write_small_release, people=[])
    coarse = load_spec(write(tmp_path / "one", schema=COARSE, **asked(kind)))
    fine = load_spec(write(tmp_path / "two", schema=FINE, **asked(kind)))
    assert unused_buckets(fine) is None
    said = unused_buckets(coarse)
    assert (said is None) == coarse.learner.reads_buckets
    alike = learnt(tmp_path / "coarse", kind, COARSE) == learnt(tmp_path / "fine", kind, FINE)
    assert alike != coarse.learner.reads_buckets
    if said is not None:
        assert said.startswith(f"width, edges and buckets of age: a learner of kind {kind} ")
