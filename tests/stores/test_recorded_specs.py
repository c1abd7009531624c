"""A spec in a record is that of the version that wrote it, whatever later versions decide by default."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from schemas.spec.plan import plan_release
from schemas.spec.release_spec import load_spec
from stores.record.record_reader import recorded_spec
from tests.mechanisms.table import ROWS
from tests.small_release import write_small_release

_FLOWS = ROWS["sampler per_draw of origins whose destinations are public"]
_SAMPLED = {**_FLOWS, "learner": {**_FLOWS["learner"], "sampling": 0.5, "coarsen": False}}


@pytest.mark.parametrize("theorem", ["theorem_D", "theorem_5_2", None])
def test_a_replay_of_flows_is_charged_as_the_release_was(tmp_path: Path, theorem: str | None) -> None:
    """A record without `sampling_bound` is of a version that charged domain sampling by theorem 5.2."""
    learner = _SAMPLED["learner"] | {"sampling_bound": theorem or "theorem_5_2"}
    path = write_small_release(tmp_path / "spec", **_SAMPLED | {"learner": learner, "people": []})
    spec = load_spec(path)
    document: dict[str, Any] = spec.model_dump(mode="json")
    if theorem is None:
        del document["learner"]["sampling_bound"]
    schema = SimpleNamespace(dataset="people.py", source=(path.parent / "people.py").read_text())
    record = SimpleNamespace(spec=SimpleNamespace(document=document), table_schema=schema)
    again = tmp_path / "again"
    again.mkdir()
    found = recorded_spec(cast("Any", record), again)
    assert found.learner == spec.learner
    steps = [plan_release(each).sampler.prepare for each in (found, spec)]
    costs = {step and step.guarantee for step in steps}
    assert len(costs) == 1
    assert costs != {None}
